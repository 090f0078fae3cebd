/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_ebpf_trail.c - side-band records made by hand, and the trail of processes they
 * leave
 */
#include "tests/unit/unit.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/base/str.h"
#include "plugins/input/ebpf/trail.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/random.h"
#include "tests/unit/trail_events.h"

/* ------------------------------------------------------------------------------------------------
 * Records
 */

struct raw {
	uint8_t bytes[512];
	size_t n;
};

static void put(struct raw *r, const void *p, size_t n)
{
	memcpy(r->bytes + r->n, p, n);
	r->n += n;
}

static void put32(struct raw *r, uint32_t v)
{
	put(r, &v, sizeof(v));
}

static void put64(struct raw *r, uint64_t v)
{
	put(r, &v, sizeof(v));
}

static struct raw begin(uint32_t type, uint16_t misc)
{
	struct raw r = { .n = 0 };
	struct perf_event_header h = { .type = type, .misc = misc };

	put(&r, &h, sizeof(h));
	return r;
}

/* The sample_id behind the record, and the length in its header. */
static void finish(struct raw *r, uint64_t time_ns)
{
	uint16_t size;

	put64(r, time_ns);
	size = (uint16_t)r->n;
	memcpy(r->bytes + offsetof(struct perf_event_header, size), &size, sizeof(size));
}

static struct raw mmap2(uint16_t misc, const char *name)
{
	struct raw r = begin(PERF_RECORD_MMAP2, misc);
	char padded[64] = { 0 };

	put32(&r, 11);
	put32(&r, 12);
	put64(&r, 0x400000);
	put64(&r, 0x2000);
	put64(&r, 0x1000);
	put32(&r, 8);
	put32(&r, 1);
	put64(&r, 4711);
	put64(&r, 0xdecade);
	put32(&r, PROT_READ | PROT_EXEC);
	put32(&r, MAP_PRIVATE);
	memcpy(padded, name, strlen(name));
	put(&r, padded, (strlen(name) / 8 + 1) * 8);
	finish(&r, 77);
	return r;
}

static struct raw ksymbol(uint32_t len, uint16_t type, uint16_t flags)
{
	struct raw r = begin(PERF_RECORD_KSYMBOL, 0);

	put64(&r, 0xffffffffa0001000);
	put32(&r, len);
	put(&r, &type, sizeof(type));
	put(&r, &flags, sizeof(flags));
	put(&r, "bpf_prog_12_x\0\0", 16);
	finish(&r, 78);
	return r;
}

static void test_bpf_programs(void **state)
{
	struct raw r = ksymbol(0x40, PERF_RECORD_KSYMBOL_TYPE_BPF, 0);
	struct perf_record p;

	(void)state;
	assert_int_equal(perf_record__parse(r.bytes, r.n, &p), 0);
	assert_int_equal(p.kind, PERF_RECORD_OF_SYMBOL);
	assert_int_equal(p.time_ns, 78);
	assert_int_equal(p.start, 0xffffffffa0001000);
	assert_int_equal(p.end, 0xffffffffa0001040);
	assert_false(p.is_gone);
	assert_true(str__eq(p.name, STR("bpf_prog_12_x")));
	r = ksymbol(0x40, PERF_RECORD_KSYMBOL_TYPE_BPF, PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER);
	assert_int_equal(perf_record__parse(r.bytes, r.n, &p), 0);
	assert_true(p.is_gone);
	/* Others' code, code of no length, a record that is cut off. */
	r = ksymbol(0x40, PERF_RECORD_KSYMBOL_TYPE_OOL, 0);
	assert_int_equal(perf_record__parse(r.bytes, r.n, &p), 0);
	assert_int_equal(p.kind, PERF_RECORD_OF_OTHER);
	r = ksymbol(0, PERF_RECORD_KSYMBOL_TYPE_BPF, 0);
	assert_int_equal(perf_record__parse(r.bytes, r.n, &p), -EBADMSG);
	r = begin(PERF_RECORD_KSYMBOL, 0);
	put64(&r, 0xffffffffa0001000);
	finish(&r, 78);
	assert_int_equal(perf_record__parse(r.bytes, r.n, &p), -EBADMSG);
}

static void test_mmap(void **state)
{
	struct raw r = mmap2(0, "/lib/libc.so.6");
	struct perf_record p;

	(void)state;
	assert_int_equal(perf_record__parse(r.bytes, r.n, &p), 0);
	assert_int_equal(p.kind, PERF_RECORD_OF_MMAP);
	assert_int_equal(p.pid, 11);
	assert_int_equal(p.tid, 12);
	assert_int_equal(p.time_ns, 77);
	assert_int_equal(p.start, 0x400000);
	assert_int_equal(p.end, 0x402000);
	assert_int_equal(p.offset, 0x1000);
	assert_int_equal(p.ino, 4711);
	assert_int_equal(p.major, 8);
	assert_int_equal(p.minor, 1);
	assert_int_equal(p.generation, 0xdecade);
	assert_false(p.is_writable);
	assert_true(str__eq(p.name, STR("/lib/libc.so.6")));
	r = mmap2(0, "//anon");
	assert_int_equal(perf_record__parse(r.bytes, r.n, &p), 0);
	assert_int_equal(p.name.n, 0);
}

/*
 * The flag that a build id stands in the place of device and inode is somebody else's: the kernel
 * leaves it there for the readers after the one that asked for it.
 */
static void test_mmap_with_a_flag_left_there(void **state)
{
	struct raw r = mmap2(1 << 14, "/a");
	struct perf_record p;
	struct maps_range range;

	(void)state;
	assert_int_equal(perf_record__parse(r.bytes, r.n, &p), 0);
	assert_int_equal(p.major, 8);
	assert_int_equal(p.minor, 1);
	assert_int_equal(p.ino, 4711);
	assert_int_equal(p.generation, 0xdecade);
	range = maps__range_of(&p);
	assert_int_equal(range.kind, DCM_MAPPING_FILE);
	assert_int_equal(range.ino, 4711);
	assert_int_equal(range.generation, 0xdecade);
	assert_int_equal(range.time_ns, 77);
	assert_true(range.is_told);
	assert_true(range.is_counted);
	p.is_writable = true;
	assert_false(maps__range_of(&p).is_counted);
	p.ino = 0;
	assert_int_equal(maps__range_of(&p).kind, DCM_MAPPING_ANON);
}

static void test_tasks(void **state)
{
	struct raw r = begin(PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC);
	struct perf_record p;

	(void)state;
	put32(&r, 5);
	put32(&r, 5);
	put(&r, "name\0\0\0", 8);
	finish(&r, 9);
	assert_int_equal(perf_record__parse(r.bytes, r.n, &p), 0);
	assert_int_equal(p.kind, PERF_RECORD_OF_EXEC);
	assert_int_equal(p.pid, 5);
	/* A new name is no exec. */
	memset(r.bytes + offsetof(struct perf_event_header, misc), 0, 2);
	assert_int_equal(perf_record__parse(r.bytes, r.n, &p), 0);
	assert_int_equal(p.kind, PERF_RECORD_OF_OTHER);
	r = begin(PERF_RECORD_FORK, 0);
	put32(&r, 6);
	put32(&r, 5);
	put32(&r, 7);
	put32(&r, 8);
	put64(&r, 1);
	finish(&r, 10);
	assert_int_equal(perf_record__parse(r.bytes, r.n, &p), 0);
	assert_int_equal(p.kind, PERF_RECORD_OF_FORK);
	assert_int_equal(p.pid, 6);
	assert_int_equal(p.ppid, 5);
	assert_int_equal(p.tid, 7);
	assert_int_equal(p.time_ns, 10);
	r = begin(PERF_RECORD_LOST, 0);
	put64(&r, 1);
	put64(&r, 42);
	finish(&r, 11);
	assert_int_equal(perf_record__parse(r.bytes, r.n, &p), 0);
	assert_int_equal(p.kind, PERF_RECORD_OF_LOST);
	assert_int_equal(p.n_lost, 42);
}

static void test_too_short(void **state)
{
	struct raw r = mmap2(0, "/lib");
	struct perf_record p = { .pid = 99 };
	uint16_t size;

	(void)state;
	/* Whole, but for the name: fine. Shorter: not. */
	for (size_t n = 0; n < 8 + 64 + 8; n++) {
		size = (uint16_t)n;
		memcpy(r.bytes + offsetof(struct perf_event_header, size), &size, sizeof(size));
		assert_int_equal(perf_record__parse(r.bytes, n, &p), -EBADMSG);
	}
	assert_int_equal(p.pid, 99);
	assert_int_equal(perf_record__parse(r.bytes, r.n, &p), -EBADMSG);
}

/* ------------------------------------------------------------------------------------------------
 * The trail
 */

static struct trail_mappings told;

static void test_origin_and_mappings(void **state)
{
	struct trail *t = trail__new();
	struct trail_origin o;

	(void)state;
	assert_int_equal(trail__origin(t, 5, 1000).kind, TRAIL_UNKNOWN);
	trail_events__add(t, PERF_RECORD_OF_FORK, 5, 4, 100);
	trail_events__add(t, PERF_RECORD_OF_EXEC, 5, 0, 200);
	trail_events__add_mapping(t, 5, 0x1000, "/a", 210);
	/* From another CPU's ring, which was emptied later. */
	trail_events__add_mapping(t, 5, 0x3000, "/c", 230);
	trail_events__add_mapping(t, 5, 0x2000, "/b", 220);
	/* A thread is no new process. */
	trail_events__add(t, PERF_RECORD_OF_FORK, 5, 5, 240);
	o = trail__origin(t, 5, 150);
	assert_int_equal(o.kind, TRAIL_FORK);
	assert_int_equal(o.ppid, 4);
	assert_int_equal(o.time_ns, 100);
	o = trail__origin(t, 5, 300);
	assert_int_equal(o.kind, TRAIL_EXEC);
	assert_int_equal(o.time_ns, 200);
	assert_int_equal(trail__origin(t, 5, 99).kind, TRAIL_UNKNOWN);
	assert_true(trail__replaced(t, 5, 150));
	assert_false(trail__replaced(t, 5, 200));
	assert_int_equal(trail__mappings(t, 5, 200, 225, &told), 0);
	assert_int_equal(told.n, 2);
	assert_int_equal(told.v[0].start, 0x1000);
	assert_int_equal(told.v[1].start, 0x2000);
	assert_int_equal(told.last_ns, 220);
	assert_true(str__eq(told.v[1].name, STR("/b")));
	assert_int_equal(told.v[0].time_ns, 210);
	assert_int_equal(told.v[1].time_ns, 220);
	assert_int_equal(told.v[1].ino, 'b');
	assert_int_equal(trail__mappings(t, 5, 220, 1000, &told), 0);
	assert_int_equal(told.n, 1);
	assert_int_equal(told.v[0].start, 0x3000);
	trail__free(t);
}

/* Files of one path and number, the second made after the first was gone: two all the same. */
static void test_generations(void **state)
{
	struct perf_record r = { .kind = PERF_RECORD_OF_MMAP,
				 .pid = 5,
				 .time_ns = 210,
				 .start = 0x1000,
				 .end = 0x2000,
				 .ino = 9,
				 .generation = 1,
				 .name = STR("/a") };
	struct maps *first = NULL, *second = NULL;
	struct trail *t = trail__new();

	(void)state;
	trail_events__add(t, PERF_RECORD_OF_EXEC, 5, 0, 200);
	trail__add(t, &r);
	r.generation = 2;
	r.time_ns = 220;
	trail__add(t, &r);
	assert_int_equal(trail__mappings(t, 5, 200, 300, &told), 0);
	assert_int_equal(told.n, 2);
	assert_int_equal(told.v[0].generation, 1);
	assert_int_equal(told.v[1].generation, 2);
	assert_int_equal(maps__apply(NULL, told.v, 1, &first), 0);
	assert_int_equal(maps__apply(first, told.v, 2, &second), 0);
	assert_int_equal(second->n, 1);
	assert_false(maps__equal(first, second));
	assert_true(maps__equal(second, second));
	maps__unref(first);
	maps__unref(second);
	trail__free(t);
}

static void test_lost_records(void **state)
{
	struct trail *t = trail__new();

	(void)state;
	trail_events__add(t, PERF_RECORD_OF_EXEC, 5, 0, 200);
	trail_events__add_mapping(t, 5, 0x1000, "/a", 210);
	trail_events__add(t, PERF_RECORD_OF_LOST, 0, 0, 250);
	assert_int_equal(trail__mappings(t, 5, 200, 220, &told), -ENODATA);
	assert_int_equal(trail__mappings(t, 6, 200, 220, &told), -ENODATA);
	assert_int_equal(trail__mappings(t, 5, 250, 300, &told), 0);
	trail__free(t);
}

/* One process that maps without end keeps its last mappings, and says that some are missing. */
static void test_many_of_one(void **state)
{
	struct trail *t = trail__new();
	int64_t n = 10000;

	(void)state;
	for (int64_t i = 1; i <= n; i++)
		trail_events__add_mapping(t, 5, 0x1000, "/a", i);
	assert_true(trail__stat(t).n_steps <= TRAIL_MAPPINGS + 32);
	assert_int_equal(trail__stat(t).n_steps + trail__stat(t).n_forgotten, n);
	assert_int_equal(trail__mappings(t, 5, 0, n, &told), -ENODATA);
	assert_int_equal(trail__mappings(t, 5, n - 3072, n, &told), 0);
	assert_int_equal(told.n, 3072);
	trail__free(t);
}

/* More than there is room for: the ones that did nothing for longest go, and that is said. */
static void test_many_processes(void **state)
{
	struct trail *t = trail__new();
	uint32_t n = 140000;

	(void)state;
	for (uint32_t pid = 1; pid <= n; pid++)
		trail_events__add_mapping(t, pid, 0x1000, "/a", pid);
	assert_int_equal(trail__stat(t).n_steps, 131072);
	assert_int_equal(trail__stat(t).n_forgotten, n - 131072);
	assert_int_equal(trail__mappings(t, n, n - 1, n, &told), 0);
	assert_int_equal(told.n, 1);
	/* Gone; and one that was never there could be one that has gone. */
	assert_int_equal(trail__mappings(t, 1, 0, n, &told), -ENODATA);
	assert_int_equal(trail__mappings(t, n + 1, 0, n, &told), -ENODATA);
	assert_int_equal(trail__mappings(t, n + 1, n, 2 * n, &told), 0);
	/* Back again: what it did before is missing still. */
	trail_events__add_mapping(t, 1, 0x2000, "/b", n + 1);
	assert_int_equal(trail__mappings(t, 1, 0, n + 1, &told), -ENODATA);
	assert_int_equal(trail__mappings(t, 1, n, n + 1, &told), 0);
	assert_int_equal(told.n, 1);
	trail__free(t);
}

static void test_end(void **state)
{
	struct trail *t = trail__new();
	const int64_t second = 1000000000;

	(void)state;
	trail_events__add(t, PERF_RECORD_OF_EXEC, 5, 0, second);
	trail_events__add_mapping(t, 5, 0x1000, "/a", second);
	trail_events__add(t, PERF_RECORD_OF_EXEC, 6, 0, second);
	trail_events__add(t, PERF_RECORD_OF_EXIT, 5, 0, 2 * second);
	trail__sweep(t, 4 * second);
	assert_int_equal(trail__stat(t).n_pids, 2);
	trail__sweep(t, 4 * second + 1);
	assert_int_equal(trail__stat(t).n_pids, 1);
	assert_int_equal(trail__origin(t, 5, 3 * second).kind, TRAIL_UNKNOWN);
	assert_int_equal(trail__origin(t, 6, 3 * second).kind, TRAIL_EXEC);
	/* The leader has ended, a thread runs on. */
	trail_events__add(t, PERF_RECORD_OF_EXIT, 6, 0, 5 * second);
	trail_events__add_mapping(t, 6, 0x1000, "/a", 6 * second);
	trail__sweep(t, 100 * second);
	assert_int_equal(trail__stat(t).n_pids, 1);
	assert_int_equal(trail__stat(t).n_forgotten, 0);
	/* An end at the last time there is stays ahead of every clock. */
	trail_events__add(t, PERF_RECORD_OF_EXIT, 6, 0, INT64_MAX);
	trail__sweep(t, 100 * second);
	assert_int_equal(trail__stat(t).n_pids, 1);
	trail__free(t);
}

/* One that was forgotten lends its memory to the next, and nothing else. */
static void test_spare(void **state)
{
	struct trail *t = trail__new();
	const int64_t second = 1000000000;

	(void)state;
	for (uint32_t pid = 1; pid <= 1000; pid++) {
		trail_events__add(t, PERF_RECORD_OF_EXEC, pid, 0, second);
		trail_events__add_mapping(t, pid, 0x1000, "/a", 2 * second);
		trail_events__add(t, PERF_RECORD_OF_EXIT, pid, 0, 3 * second);
	}
	trail__sweep(t, 10 * second);
	assert_int_equal(trail__stat(t).n_pids, 0);
	assert_int_equal(trail__stat(t).n_steps, 0);
	for (uint32_t pid = 1; pid <= 1000; pid++) {
		trail_events__add(t, PERF_RECORD_OF_FORK, pid, 4000, second);
		assert_int_equal(trail__origin(t, pid, 3 * second).kind, TRAIL_FORK);
		assert_int_equal(trail__mappings(t, pid, 0, 3 * second, &told), 0);
		assert_int_equal(told.n, 0);
	}
	assert_int_equal(trail__stat(t).n_steps, 1000);
	/* Sooner than what ran in that memory before. */
	for (uint32_t pid = 1; pid <= 1000; pid++)
		trail_events__add(t, PERF_RECORD_OF_EXIT, pid, 0, 2 * second);
	trail__sweep(t, 4 * second + 1);
	assert_int_equal(trail__stat(t).n_pids, 0);
	trail__free(t);
}

/* Those that have ended make room, in the order of their ends, for the only one that lives. */
static void test_room_of_ended(void **state)
{
	struct trail *t = trail__new();
	const uint32_t n = 131072;

	(void)state;
	for (uint32_t pid = 1; pid < n; pid++) {
		trail_events__add_mapping(t, pid, 0x1000, "/a", n + pid);
		trail_events__add(t, PERF_RECORD_OF_EXIT, pid, 0, n + pid);
	}
	for (uint32_t i = 0; i < 10; i++)
		trail_events__add_mapping(t, n, 0x1000 + i * 0x1000, "/a", 1 + i);
	assert_int_equal(trail__stat(t).n_steps, n);
	assert_int_equal(trail__stat(t).n_forgotten, 0);
	assert_int_equal(trail__stat(t).n_pids, n - 9);
	assert_int_equal(trail__mappings(t, n, 0, 10, &told), 0);
	assert_int_equal(told.n, 10);
	assert_int_equal(trail__mappings(t, 9, 0, 3 * n, &told), 0);
	assert_int_equal(told.n, 0);
	assert_int_equal(trail__mappings(t, 10, 0, 3 * n, &told), 0);
	assert_int_equal(told.n, 1);
	trail__free(t);
}

static void test_no_memory(void **state)
{
	(void)state;
	FAILMALLOC_SWEEP (i) {
		struct trail *t = trail__new();

		if (t) {
			trail_events__add(t, PERF_RECORD_OF_EXEC, 5, 0, 100);
			trail_events__add_mapping(t, 5, 0x1000, "/a", 110);
		}
		failmalloc__disarm();
		if (!t)
			continue;
		/* All of it, or told that it is not all. */
		if (trail__mappings(t, 5, 100, 200, &told) == 0 && !failmalloc__failed())
			assert_int_equal(told.n, 1);
		else if (failmalloc__failed())
			assert_true(trail__origin(t, 5, 200).kind == TRAIL_UNKNOWN ||
				    trail__mappings(t, 5, 100, 200, &told) == -ENODATA);
		trail__free(t);
	}
}

/* ------------------------------------------------------------------------------------------------
 * Mappings laid over others, against an array with one entry for each page
 */

enum { PAGES = 64, FILES = 5 };

struct page {
	uint32_t file; /* 0: none */
	uint64_t offset;
};

static struct maps_range random_range(struct random *seed)
{
	uint64_t start = random__below(seed, PAGES - 1), n = 1 + random__below(seed, PAGES - start - 1);
	static const char *const names[FILES] = { "/a", "/b", "/c", "/d", "/e" };
	uint32_t file = (uint32_t)random__below(seed, FILES);

	return (struct maps_range){
		.start = (start + 1) * 4096,
		.end = (start + 1 + n) * 4096,
		.offset = random__below(seed, 16) * 4096,
		.kind = DCM_MAPPING_FILE,
		.ino = file + 1,
		.name = str__of(names[file]),
		.is_counted = true,
	};
}

static void map_pages(struct page *pages, const struct maps_range *r)
{
	for (uint64_t at = r->start; at < r->end; at += 4096)
		pages[at / 4096] = (struct page){ (uint32_t)r->ino, r->offset + at - r->start };
}

static void check_pages(const struct maps *m, const struct page *pages)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < m->n; i++) {
		assert_true(m->ranges[i].start < m->ranges[i].end);
		assert_true(i == 0 || m->ranges[i - 1].end <= m->ranges[i].start);
	}
	for (uint64_t i = 0; i <= PAGES; i++) {
		const struct maps_range *r = maps__find(m, i * 4096);

		assert_int_equal(r ? r->ino : 0, pages[i].file);
		if (r)
			assert_int_equal(r->offset + i * 4096 - r->start, pages[i].offset);
		bytes += r ? 4096 : 0;
	}
	assert_int_equal(m->exec_bytes, bytes);
}

static void test_apply_random(void **state)
{
	struct random seed = { 1 };

	(void)state;
	for (int turn = 0; turn < 2000; turn++) {
		struct page pages[PAGES + 1] = { { 0 } };
		struct maps *m = NULL, *next = NULL;

		for (int step = 0; step < 4; step++) {
			struct maps_range newer[8];
			uint32_t n = (uint32_t)random__below(&seed, 8);

			for (uint32_t i = 0; i < n; i++) {
				newer[i] = random_range(&seed);
				map_pages(pages, &newer[i]);
			}
			assert_int_equal(maps__apply(m, newer, n, &next), 0);
			check_pages(next, pages);
			assert_true(maps__equal(next, next));
			maps__unref(m);
			m = next;
		}
		maps__unref(m);
	}
}

static void test_apply_no_memory(void **state)
{
	struct maps_range newer[] = {
		{ .start = 0x1000, .end = 0x9000, .kind = DCM_MAPPING_FILE, .name = STR("/a") },
		{ .start = 0x3000, .end = 0x4000, .kind = DCM_MAPPING_FILE, .name = STR("/b") },
	};
	struct maps *base = NULL;

	(void)state;
	assert_int_equal(maps__apply(NULL, newer, 2, &base), 0);
	assert_int_equal(base->n, 3);
	FAILMALLOC_SWEEP (i) {
		struct maps *m = NULL;
		int r = maps__apply(base, newer, 1, &m);

		failmalloc__disarm();
		assert_int_equal(r, m ? 0 : -ENOMEM);
		if (m)
			assert_int_equal(m->n, 1);
		maps__unref(m);
	}
	maps__unref(base);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bpf_programs),
		cmocka_unit_test(test_mmap),
		cmocka_unit_test(test_mmap_with_a_flag_left_there),
		cmocka_unit_test(test_tasks),
		cmocka_unit_test(test_too_short),
		cmocka_unit_test(test_origin_and_mappings),
		cmocka_unit_test(test_generations),
		cmocka_unit_test(test_lost_records),
		cmocka_unit_test(test_many_of_one),
		cmocka_unit_test(test_many_processes),
		cmocka_unit_test(test_end),
		cmocka_unit_test(test_spare),
		cmocka_unit_test(test_room_of_ended),
		cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_apply_random),
		cmocka_unit_test(test_apply_no_memory),
	};

	return cmocka_run_group_tests_name("ebpf_trail", tests, NULL, NULL);
}
