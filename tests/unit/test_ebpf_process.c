/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_ebpf_process.c - processes and files as /proc shows them, with real children
 */
#include "tests/unit/unit.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/str.h"
#include "core/symbolize/elf.h"
#include "plugins/input/ebpf/cost.h"
#include "plugins/input/ebpf/process.h"
#include "tests/unit/ebpf_processes.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/trail_events.h"

#define MS 1000000ll

/* Field 22, read in another way than the code does. */
static uint64_t start_ns(pid_t pid)
{
	char path[64], line[1024];
	unsigned long long ticks = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	file = fopen(path, "r");
	assert_non_null(file);
	assert_non_null(fgets(line, sizeof(line), file));
	fclose(file);
	assert_int_equal(sscanf(strrchr(line, ')'),
				") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d "
				"%*d %*d %*d %llu",
				&ticks),
			 1);
	return ticks * 10000000;
}

static struct sampler_sample sample_of(pid_t pid, uint64_t exec_id)
{
	struct sampler_sample s = {
		.head = { .pid = (uint32_t)pid, .tid = (uint32_t)pid, .exec_id = exec_id }
	};

	/* The kernel's is not a round number of ticks. */
	s.head.start_ns = start_ns(pid) + 1234567;
	return s;
}

static pid_t spawn_sleeper(void)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		alarm(60);
		for (;;)
			pause();
	}
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void test_reads_once(void **state)
{
	struct fixture *f = *state;
	struct sampler_sample s = sample_of(getpid(), 3);
	struct process *p = processes__of(f->processes, &s, 1);
	char exe[4096];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	assert_non_null(p);
	exe[n] = 0;
	assert_string_equal(p->identity.exe, exe);
	assert_non_null(p->maps);
	assert_non_null(maps__find(p->maps, (uintptr_t)test_reads_once));
	assert_int_equal(p->id.start_ns, start_ns(getpid()));
	assert_int_equal(p->id.generation, 3);
	assert_ptr_equal(processes__of(f->processes, &s, 1), p);
	assert_int_equal(processes__stat(f->processes).reads, 1);
}

/* The symbol sources hear of what runs code that is in no file, and of nothing else. */
static void test_tells_of_memory(void **state)
{
	struct fixture *f = *state;
	struct sampler_sample s = sample_of(getpid(), 3);
	struct sampler_event e = event_of(&s, SAMPLER_EXEC, 4, 0);
	struct process *p;
	void *code;

	processes__of(f->processes, &s, 1);
	processes__event(f->processes, &e);
	e = event_of(&s, SAMPLER_EXIT, 3, 0);
	processes__event(f->processes, &e);
	assert_string_equal(f->host.events, "");
	s.head.exec_id = 4;
	p = processes__of(f->processes, &s, 1);
	processes__tell(f->processes, p);
	processes__tell(f->processes, p);
	assert_string_equal(f->host.events, "s");
	assert_int_equal(f->host.last_process.generation, 4);
	code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(code, MAP_FAILED);
	s.head.exec_id = 5;
	p = processes__of(f->processes, &s, 1);
	assert_true(p->is_told);
	assert_string_equal(f->host.events, "ss");
	processes__tell(f->processes, p);
	assert_string_equal(f->host.events, "ss");
	munmap(code, 4096);
}

/* The pid is there, but it is another process: nothing of it may be shown. */
static void test_reused_pid(void **state)
{
	struct fixture *f = *state;
	struct sampler_sample s = sample_of(getpid(), 3);
	struct process *p;

	s.head.start_ns -= 20000000;
	p = processes__of(f->processes, &s, 1);
	assert_non_null(p);
	assert_null(p->maps);
	assert_null(p->identity.exe);
	assert_int_equal(p->why, DCM_UNNAMED_FILE_GONE);
}

static void test_exec_and_exit(void **state)
{
	struct fixture *f = *state;
	struct sampler_sample s = sample_of(getpid(), 3), later;
	struct sampler_event e;
	struct process *old, *new;
	struct maps *maps;

	f->host.mono_ns = 1000 * MS;
	old = processes__of(f->processes, &s, 1);
	processes__tell(f->processes, old);
	maps = maps__ref(old->maps);
	/* exec came before /proc was read: what was read is the new image's. */
	e = event_of(&s, SAMPLER_EXEC, 4, 900 * MS);
	processes__event(f->processes, &e);
	assert_null(old->maps);
	assert_true(maps__is_wrong(maps));
	assert_string_equal(f->host.events, "se");
	assert_int_equal(f->host.last_process.generation, 4);
	maps__unref(maps);
	later = s;
	later.head.exec_id = 4;
	new = processes__of(f->processes, &later, 1);
	assert_ptr_not_equal(new, old);
	assert_non_null(new->maps);
	processes__tell(f->processes, new);
	/*
	 * An exec that comes after the reading leaves it alone, and a second telling changes
	 * nothing.
	 */
	e = event_of(&s, SAMPLER_EXEC, 5, 1100 * MS);
	processes__event(f->processes, &e);
	assert_non_null(new->maps);
	assert_false(maps__is_wrong(new->maps));
	assert_int_equal(new->replaced_ns, 1100 * MS);
	e = event_of(&s, SAMPLER_EXIT, 4, 1200 * MS);
	processes__event(f->processes, &e);
	processes__event(f->processes, &e);
	assert_string_equal(f->host.events, "sesex");
	/* Nobody has sampled it: nothing to tell. */
	e.head.pid = 1;
	processes__event(f->processes, &e);
	assert_string_equal(f->host.events, "sesex");
}

/* The kernel's count of executable pages of this process. */
static uint64_t counted_pages(void)
{
	int dir = open("/proc/self", O_PATH | O_DIRECTORY);
	struct maps *m = NULL;
	uint64_t pages;

	assert_int_equal(maps__read(&ebpf_host__rights, dir, NULL, &m), 0);
	close(dir);
	pages = m->exec_bytes / (uint64_t)sysconf(_SC_PAGESIZE);
	maps__unref(m);
	return pages;
}

static int opens_maps_slowly(const struct dcm_host *host, const struct dcm_guarded *g)
{
	if (g->what == DCM_GUARDED_MAPS)
		((struct ebpf_host *)(uintptr_t)host)->mono_ns += 50 * MS;
	return ebpf_host__rights.open_guarded(host, g);
}

/* What a reading shows was there when it began, or came from a file that was: by that time files are judged. */
static void test_mappings_are_of_when_reading_began(void **state)
{
	struct fixture *f = *state;
	struct sampler_sample s = sample_of(getpid(), 1);
	const struct maps *maps;

	f->host.mono_ns = 1000 * MS;
	f->host.host.open_guarded = opens_maps_slowly;
	maps = processes__of(f->processes, &s, 1)->maps;
	assert_non_null(maps);
	assert_true(f->host.mono_ns > 1000 * MS);
	assert_true(maps->n > 0);
	for (uint32_t i = 0; i < maps->n; i++)
		assert_int_equal(maps->ranges[i].time_ns, 1000 * MS);
}

static void test_maps_of_samples(void **state)
{
	struct fixture *f = *state;
	struct sampler_sample s = sample_of(getpid(), 1);
	struct process *p;
	struct maps *first, *second;
	void *page;
	bool certain;

	f->host.mono_ns = 1000 * MS;
	s.exec_pages = counted_pages();
	p = processes__of(f->processes, &s, 1);
	first = p->maps;
	assert_ptr_equal(processes__maps(f->processes, p, &s, false, &certain), first);
	assert_true(certain);
	/* Another count, but the sample was taken before the reading: nothing to be learned. */
	page = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	s.exec_pages++;
	s.head.time_ns = 500 * MS;
	f->host.mono_ns = 5000 * MS;
	assert_ptr_equal(processes__maps(f->processes, p, &s, false, &certain), first);
	assert_false(certain);
	/* Taken after it, but too soon for another reading. */
	s.head.time_ns = 1005 * MS;
	f->host.mono_ns = 1010 * MS;
	assert_ptr_equal(processes__maps(f->processes, p, &s, false, &certain), first);
	assert_false(certain);
	f->host.mono_ns = 1030 * MS;
	second = processes__maps(f->processes, p, &s, false, &certain);
	assert_ptr_not_equal(second, first);
	assert_true(certain);
	assert_non_null(maps__find(second, (uintptr_t)page));
	/* A sample of before still gets the maps of before. */
	s.exec_pages--;
	assert_ptr_equal(processes__maps(f->processes, p, &s, false, &certain), first);
	assert_true(certain);
	munmap(page, 4096);
}

/* Readings that find nothing new come ever more rarely, up to a minute. */
static void test_waits_grow(void **state)
{
	struct fixture *f = *state;
	struct sampler_sample s = sample_of(getpid(), 1);
	struct process *p;
	uint64_t reads;
	bool certain;

	f->host.mono_ns = 1000 * MS;
	s.exec_pages = UINT64_MAX / 8192;
	p = processes__of(f->processes, &s, 1);
	for (int i = 0; i < 10000; i++) {
		f->host.mono_ns += 10 * MS;
		s.head.time_ns = (uint64_t)f->host.mono_ns;
		processes__maps(f->processes, p, &s, true, &certain);
		assert_false(certain);
	}
	/* After 20, 40, 80, ... ms: 12 doublings fill 100 s. */
	reads = processes__stat(f->processes).reads;
	assert_in_range(reads, 10, 14);
	f->host.mono_ns += 60000 * MS;
	s.head.time_ns = (uint64_t)f->host.mono_ns;
	processes__maps(f->processes, p, &s, true, &certain);
	assert_int_equal(processes__stat(f->processes).reads, reads + 1);
	p->ended_ns = 1;
	f->host.mono_ns += 600000 * MS;
	s.head.time_ns = (uint64_t)f->host.mono_ns;
	processes__maps(f->processes, p, &s, true, &certain);
	assert_int_equal(processes__stat(f->processes).reads, reads + 1);
}

static int (*open_at_once)(const struct dcm_host *host, const struct dcm_guarded *g);

static int open_slowly(const struct dcm_host *host, const struct dcm_guarded *g)
{
	((struct ebpf_host *)(uintptr_t)host)->mono_ns += 50 * MS;
	return open_at_once(host, g);
}

/* A reading that was held up is followed by another one after ten times that, not 500 times. */
static void test_rests_by_what_it_cost(void **state)
{
	struct fixture *f = *state;
	struct sampler_sample s = sample_of(getpid(), 1);
	struct process *p;

	f->host.mono_ns = 1000 * MS;
	open_at_once = f->host.host.open_guarded;
	f->host.host.open_guarded = open_slowly;
	p = processes__of(f->processes, &s, 1);
	assert_int_equal(processes__stat(f->processes).reads, 1);
	assert_true(p->rest_ns >= COST_WAIT * 50 * MS && p->rest_ns < COST_CPU * 50 * MS / 2);
}

static void test_sweep(void **state)
{
	struct fixture *f = *state;
	struct sampler_sample s = sample_of(getpid(), 1);
	struct sampler_event e = event_of(&s, SAMPLER_EXIT, 1, 1);

	processes__of(f->processes, &s, 5);
	processes__sweep(f->processes, 35);
	assert_int_equal(processes__stat(f->processes).n, 1);
	processes__sweep(f->processes, 36);
	assert_int_equal(processes__stat(f->processes).n, 0);
	processes__of(f->processes, &s, 40);
	processes__event(f->processes, &e);
	processes__sweep(f->processes, 42);
	assert_int_equal(processes__stat(f->processes).n, 1);
	processes__sweep(f->processes, 43);
	assert_int_equal(processes__stat(f->processes).n, 0);
}

/* A pid that no process has. */
enum { NOBODY = 0x7ffffffe };

static uint64_t pages_of(const struct maps *maps)
{
	return maps->exec_bytes / (uint64_t)sysconf(_SC_PAGESIZE);
}

/* A child that ended before it could be read, and called no exec(), is its parent's image. */
static void test_inherits(void **state)
{
	struct fixture *f = *state;
	struct sampler_sample parent = sample_of(getpid(), 1), child;
	struct process *p = processes__of(f->processes, &parent, 1), *c;
	pid_t pid = spawn_sleeper();

	child = sample_of(pid, 1);
	child.ppid = (uint32_t)getpid();
	child.exec_pages = pages_of(p->maps);
	end(pid);
	c = processes__of(f->processes, &child, 1);
	assert_ptr_equal(c->maps, p->maps);
	assert_string_equal(c->identity.exe, p->identity.exe);
	assert_ptr_equal(
		processes__file(f->processes, c, maps__find(c->maps, (uintptr_t)test_inherits)),
		processes__file(f->processes, p, maps__find(p->maps, (uintptr_t)test_inherits)));
	assert_true(maps__find(p->maps, (uintptr_t)test_inherits)->file->is_code);
	/* It called exec(): nothing is known. */
	child.head.exec_id = 2;
	assert_null(processes__of(f->processes, &child, 1)->maps);
	/* Other code: it mapped some, or somebody else has adopted it, who called exec() as often. */
	child.head.exec_id = 1;
	child.head.start_ns++;
	child.exec_pages++;
	assert_null(processes__of(f->processes, &child, 1)->maps);
}

/* A parent that waits is never sampled: it is read once for all children that have ended, and were as they were forked. */
static void test_inherits_of_one_that_waits(void **state)
{
	struct fixture *f = *state;
	struct trail *trail = trail__new();
	struct processes *t = processes__new(&f->host.host, f->files, NULL, trail);
	struct sampler_sample parent = sample_of(getpid(), 1), child;
	uint64_t pages = pages_of(processes__of(f->processes, &parent, 1)->maps);
	pid_t pid = spawn_sleeper();
	struct process *c;

	child = sample_of(pid, 1);
	child.ppid = (uint32_t)getpid();
	child.exec_pages = pages;
	end(pid);
	/* Nobody says that it is as it was forked. */
	assert_null(processes__of(t, &child, 1)->maps);
	assert_int_equal(processes__stat(t).reads, 0);
	child.head.flags = SAMPLER_AS_FORKED;
	child.head.start_ns++;
	c = processes__of(t, &child, 1);
	assert_non_null(c->maps);
	assert_true(maps__find(c->maps, (uintptr_t)test_inherits)->kind == DCM_MAPPING_FILE);
	assert_non_null(c->identity.exe);
	child.head.start_ns++;
	assert_ptr_equal(processes__of(t, &child, 1)->maps, c->maps);
	assert_int_equal(processes__stat(t).reads, 1);
	/* The parent has ended, too. */
	child.ppid = NOBODY;
	child.head.start_ns++;
	assert_null(processes__of(t, &child, 1)->maps);
	processes__free(t);
	trail__free(trail);
}

/* ------------------------------------------------------------------------------------------------
 * What the kernel tells
 */

static struct sampler_sample sample_told(uint32_t pid, uint64_t exec_id, int64_t time_ns, uint64_t pages)
{
	struct sampler_sample s = { .head = { .pid = pid,
					      .tid = pid,
					      .exec_id = exec_id,
					      .start_ns = 1,
					      .time_ns = (uint64_t)time_ns },
				    .exec_pages = pages };

	return s;
}

static struct dcm_str name_at(const struct maps *m, uint64_t address)
{
	const struct maps_range *r = m ? maps__find(m, address) : NULL;

	return r ? r->name : STR("");
}

/* It has ended before we came, and is known all the same. */
static void test_ended_early(void **state)
{
	struct fixture *f = *state;
	struct trail *trail = trail__new();
	struct processes *t = processes__new(&f->host.host, f->files, NULL, trail);
	struct sampler_sample s = sample_told(NOBODY, 3, 150, 2);
	struct process *p;
	struct file *file;
	bool certain;

	trail_events__add(trail, PERF_RECORD_OF_FORK, NOBODY, 1, 90);
	trail_events__add(trail, PERF_RECORD_OF_EXEC, NOBODY, 0, 100);
	trail_events__add_mapping(trail, NOBODY, 0x1000, "/program", 110);
	trail_events__add_mapping(trail, NOBODY, 0x5000, "/library", 120);
	trail_events__add_mapping(trail, NOBODY, 0x9000, "/later", 160);
	trail_events__add(trail, PERF_RECORD_OF_EXIT, NOBODY, 1, 170);
	p = processes__of(t, &s, 1);
	assert_string_equal(p->identity.exe, "/program");
	assert_ptr_equal(processes__maps(t, p, &s, false, &certain), p->maps);
	assert_true(certain);
	assert_int_equal(p->maps->n, 2);
	assert_true(str__eq(name_at(p->maps, 0x5000), STR("/library")));
	assert_int_equal(processes__stat(t).reads, 0);
	/* A file that cannot be opened any more, and nobody knew, is gone. */
	file = processes__file(t, p, maps__find(p->maps, 0x5000));
	assert_false(file->is_code);
	assert_int_equal(file->why, DCM_UNNAMED_FILE_GONE);
	/* A child of it that never called exec() is the same program. */
	trail_events__add(trail, PERF_RECORD_OF_FORK, NOBODY - 1, NOBODY, 130);
	trail_events__add_mapping(trail, NOBODY - 1, 0xd000, "/own", 140);
	s = sample_told(NOBODY - 1, 3, 150, 3);
	p = processes__of(t, &s, 1);
	assert_string_equal(p->identity.exe, "/program");
	assert_int_equal(p->maps->n, 3);
	assert_true(str__eq(name_at(p->maps, 0xd000), STR("/own")));
	/* And so is a grandchild, of a child that nobody sampled. */
	trail_events__add(trail, PERF_RECORD_OF_FORK, NOBODY - 2, NOBODY - 1, 135);
	trail_events__add(trail, PERF_RECORD_OF_FORK, NOBODY - 3, NOBODY - 2, 136);
	s = sample_told(NOBODY - 3, 3, 150, 2);
	p = processes__of(t, &s, 1);
	assert_string_equal(p->identity.exe, "/program");
	assert_int_equal(p->maps->n, 2);
	processes__free(t);
	trail__free(trail);
}

/*
 * Two libraries of one size that take turns at one address: only the kernel's word tells them
 * apart.
 */
static void test_swap_of_equal_size(void **state)
{
	struct fixture *f = *state;
	struct trail *trail = trail__new();
	struct processes *t = processes__new(&f->host.host, f->files, NULL, trail);
	struct sampler_sample s = sample_told(NOBODY, 1, 120, 1);
	struct maps *a, *b;
	struct process *p;
	bool certain;

	trail_events__add(trail, PERF_RECORD_OF_EXEC, NOBODY, 0, 100);
	trail_events__add_mapping(trail, NOBODY, 0x1000, "/a", 110);
	trail_events__add_mapping(trail, NOBODY, 0x1000, "/b", 210);
	trail_events__add_mapping(trail, NOBODY, 0x1000, "/a", 310);
	p = processes__of(t, &s, 1);
	a = processes__maps(t, p, &s, false, &certain);
	assert_true(str__eq(name_at(a, 0x1000), STR("/a")));
	s.head.time_ns = 220;
	b = processes__maps(t, p, &s, false, &certain);
	assert_true(str__eq(name_at(b, 0x1000), STR("/b")));
	assert_true(certain);
	/* One that was taken before, and comes late from another CPU. */
	s.head.time_ns = 150;
	assert_ptr_equal(processes__maps(t, p, &s, false, &certain), a);
	/* Back again: the same state, so that stacks are added up. */
	s.head.time_ns = 320;
	assert_ptr_equal(processes__maps(t, p, &s, false, &certain), a);
	s.head.time_ns = 220;
	assert_ptr_equal(processes__maps(t, p, &s, false, &certain), b);
	processes__free(t);
	trail__free(trail);
}

/* The library that took its turn at 0x1000 when the sample was taken. */
static struct dcm_str turn_at(struct processes *t, struct process *p, struct sampler_sample s,
			      int64_t time_ns, uint64_t exec_pages)
{
	bool certain;

	s.head.time_ns = (uint64_t)time_ns;
	s.exec_pages = exec_pages;
	return name_at(processes__maps(t, p, &s, false, &certain), 0x1000);
}

/* /proc is read for one sample while others, which were taken before, wait: it speaks of now. */
static void test_swap_behind_a_reading(void **state)
{
	struct fixture *f = *state;
	struct trail *trail = trail__new();
	struct processes *t = processes__new(&f->host.host, f->files, NULL, trail);
	struct sampler_sample s = sample_of(getpid(), 3);
	const uint64_t n = counted_pages(), odd = 12345678;
	struct process *p;

	/* The first reading, too. */
	trail_events__add_mapping(trail, (uint32_t)getpid(), 0x1000, "/a", 900 * MS);
	trail_events__add_mapping(trail, (uint32_t)getpid(), 0x1000, "/b", 950 * MS);
	f->host.mono_ns = 1000 * MS;
	s.head.time_ns = 910 * MS;
	s.exec_pages = n + 1;
	p = processes__of(t, &s, 1);
	assert_true(str__eq(turn_at(t, p, s, 910 * MS, n + 1), STR("/a")));
	assert_true(str__eq(turn_at(t, p, s, 960 * MS, n + 1), STR("/b")));

	trail_events__add_mapping(trail, (uint32_t)getpid(), 0x1000, "/a", 1100 * MS);
	trail_events__add_mapping(trail, (uint32_t)getpid(), 0x1000, "/b", 1200 * MS);
	trail_events__add_mapping(trail, (uint32_t)getpid(), 0x1000, "/a", 1300 * MS);
	assert_true(str__eq(turn_at(t, p, s, 1110 * MS, n + 1), STR("/a")));
	/* No state has so many pages, as between two turns: /proc is read. */
	f->host.mono_ns = 1400 * MS;
	assert_int_equal(processes__stat(t).reads, 1);
	turn_at(t, p, s, 1120 * MS, odd);
	assert_int_equal(processes__stat(t).reads, 2);
	assert_true(str__eq(turn_at(t, p, s, 1130 * MS, n + 1), STR("/a")));
	assert_true(str__eq(turn_at(t, p, s, 1220 * MS, n + 1), STR("/b")));
	assert_true(str__eq(turn_at(t, p, s, 1230 * MS, odd), STR("/b")));
	assert_true(str__eq(turn_at(t, p, s, 1320 * MS, n + 1), STR("/a")));
	assert_true(str__eq(turn_at(t, p, s, 1210 * MS, n + 1), STR("/b")));

	/* The same while it is being read, which takes its time. */
	trail_events__add_mapping(trail, (uint32_t)getpid(), 0x1000, "/b", 1990 * MS);
	trail_events__add_mapping(trail, (uint32_t)getpid(), 0x1000, "/a", 2030 * MS);
	f->host.mono_ns = 2000 * MS;
	open_at_once = f->host.host.open_guarded;
	f->host.host.open_guarded = open_slowly;
	turn_at(t, p, s, 1980 * MS, odd);
	assert_int_equal(processes__stat(t).reads, 3);
	assert_true(str__eq(turn_at(t, p, s, 1995 * MS, n + 1), STR("/b")));
	assert_true(str__eq(turn_at(t, p, s, 2010 * MS, n + 1), STR("/b")));
	assert_true(str__eq(turn_at(t, p, s, 2040 * MS, n + 1), STR("/a")));
	assert_true(str__eq(turn_at(t, p, s, 2060 * MS, n + 1), STR("/a")));
	assert_true(str__eq(turn_at(t, p, s, 2020 * MS, n + 1), STR("/b")));
	processes__free(t);
	trail__free(trail);
}

/* Two turns without a sample: one of between comes late. */
static void test_swap_unnoticed(void **state)
{
	struct fixture *f = *state;
	struct trail *trail = trail__new();
	struct processes *t = processes__new(&f->host.host, f->files, NULL, trail);
	struct sampler_sample s = sample_told(NOBODY, 1, 120, 1);
	struct process *p;

	trail_events__add(trail, PERF_RECORD_OF_EXEC, NOBODY, 0, 100);
	trail_events__add_mapping(trail, NOBODY, 0x1000, "/a", 110);
	trail_events__add_mapping(trail, NOBODY, 0x1000, "/b", 210);
	trail_events__add_mapping(trail, NOBODY, 0x1000, "/a", 310);
	p = processes__of(t, &s, 1);
	assert_true(str__eq(turn_at(t, p, s, 120, 1), STR("/a")));
	assert_true(str__eq(turn_at(t, p, s, 320, 1), STR("/a")));
	assert_true(str__eq(turn_at(t, p, s, 220, 1), STR("/b")));
	assert_true(str__eq(turn_at(t, p, s, 315, 1), STR("/a")));
	assert_true(str__eq(turn_at(t, p, s, 130, 1), STR("/a")));
	assert_true(str__eq(turn_at(t, p, s, 330, 1), STR("/a")));
	/* Deferred ones come behind all others, more turns than states are kept or steps remembered. */
	for (int i = 4; i < 1000; i++)
		trail_events__add_mapping(trail, NOBODY, 0x1000, i % 2 ? "/a" : "/b", i * 100 + 10);
	for (int i = 990; i < 1000; i++)
		turn_at(t, p, s, i * 100 + 20, 1);
	for (int i = 900; i < 910; i++)
		assert_true(str__eq(turn_at(t, p, s, i * 100 + 20, 1), i % 2 ? STR("/a") : STR("/b")));
	assert_true(str__eq(turn_at(t, p, s, 99920, 1), STR("/a")));
	processes__free(t);
	trail__free(trail);
}

/*
 * The parent began before we listened and is never sampled: it is read once for all its children.
 */
static void test_children_of_a_stranger(void **state)
{
	struct fixture *f = *state;
	struct trail *trail = trail__new();
	struct processes *t = processes__new(&f->host.host, f->files, NULL, trail);
	uint32_t parent = (uint32_t)getpid();

	f->host.mono_ns = 1000 * MS;
	for (uint32_t i = 0; i < 5; i++) {
		struct sampler_sample s = sample_told(NOBODY - i, 3, (100 + i) * MS, counted_pages());
		struct process *p;

		/* Children's start times are not before their parent's. */
		s.head.start_ns = start_ns(getpid()) + 1;
		trail_events__add(trail, PERF_RECORD_OF_FORK, NOBODY - i, parent, 90 * MS);
		p = processes__of(t, &s, 1);
		assert_non_null(p->maps);
		assert_non_null(maps__find(p->maps, (uintptr_t)test_children_of_a_stranger));
		assert_non_null(p->identity.exe);
	}
	assert_int_equal(processes__stat(t).reads, 1);
	/* One that has exec'ed since says nothing of what it was. */
	trail_events__add(trail, PERF_RECORD_OF_FORK, NOBODY - 9, 1, 90 * MS);
	trail_events__add(trail, PERF_RECORD_OF_EXEC, 1, 0, 95 * MS);
	{
		struct sampler_sample s = sample_told(NOBODY - 9, 4, 100 * MS, 1);

		assert_null(processes__of(t, &s, 1)->maps);
	}
	processes__free(t);
	trail__free(trail);
}

static int opens_nothing(const struct dcm_host *host, const struct dcm_guarded *g)
{
	(void)host;
	(void)g;
	return -EACCES;
}

/* One that may not be read is one entry all the same, and is asked now and then. */
static void test_children_of_a_forbidden_stranger(void **state)
{
	struct fixture *f = *state;
	struct trail *trail = trail__new();
	struct processes *t = processes__new(&f->host.host, f->files, NULL, trail);

	f->host.host.open_guarded = opens_nothing;
	f->host.mono_ns = 1000 * MS;
	for (uint32_t i = 0; i < 100; i++) {
		struct sampler_sample s = sample_told(NOBODY - i, 3, (100 + i) * MS, counted_pages());

		s.head.start_ns = start_ns(getpid()) + 1;
		trail_events__add(trail, PERF_RECORD_OF_FORK, NOBODY - i, (uint32_t)getpid(), 90 * MS);
		assert_null(processes__of(t, &s, 1)->maps);
	}
	assert_int_equal(processes__stat(t).n, 101);
	assert_int_equal(processes__stat(t).reads, 1);
	processes__free(t);
	trail__free(trail);
}

/* /proc speaks of the program that runs now: not of the one that was sampled before the exec. */
static void test_replaced_before_reading(void **state)
{
	struct fixture *f = *state;
	struct trail *trail = trail__new();
	struct processes *t = processes__new(&f->host.host, f->files, NULL, trail);
	struct sampler_sample s = sample_of(getpid(), 3);
	struct process *p;

	s.head.time_ns = 100;
	trail_events__add(trail, PERF_RECORD_OF_EXEC, (uint32_t)getpid(), 0, 200);
	p = processes__of(t, &s, 1);
	assert_null(p->maps);
	assert_null(p->identity.exe);
	assert_int_equal(processes__stat(t).reads, 0);
	s.head.exec_id++;
	s.head.time_ns = 300;
	p = processes__of(t, &s, 1);
	assert_non_null(p->maps);
	assert_non_null(p->identity.exe);
	processes__free(t);
	trail__free(trail);
}

/* Records were lost: what is known may be old, so /proc is read, once for each loss. */
static void test_lost_records(void **state)
{
	struct fixture *f = *state;
	struct trail *trail = trail__new();
	struct processes *t = processes__new(&f->host.host, f->files, NULL, trail);
	struct sampler_sample s = sample_of(getpid(), 3);
	struct process *p;
	bool certain;

	f->host.mono_ns = 1000 * MS;
	s.head.time_ns = 1000 * MS;
	s.exec_pages = counted_pages();
	p = processes__of(t, &s, 1);
	assert_int_equal(processes__stat(t).reads, 1);
	f->host.mono_ns = 2000 * MS;
	trail_events__add(trail, PERF_RECORD_OF_LOST, 0, 0, 1500 * MS);
	for (int i = 1; i < 4; i++) {
		s.head.time_ns = (uint64_t)(2000 + i) * MS;
		processes__maps(t, p, &s, false, &certain);
		assert_true(certain);
		assert_int_equal(processes__stat(t).reads, 2);
	}
	processes__free(t);
	trail__free(trail);
}

static void test_only_some_groups(void **state)
{
	struct fixture *f = *state;
	struct sampler_sample s = sample_of(getpid(), 1);
	const char *mine, *others[] = { "/no/such/group" };
	struct dcm_list list = { others, 1 };
	struct process *p = processes__of(f->processes, &s, 1);

	assert_false(p->is_filtered);
	mine = strdup(p->identity.cgroup ? p->identity.cgroup : "/");
	assert_int_equal(processes__only(f->processes, &list), 0);
	s.head.exec_id++;
	assert_true(processes__of(f->processes, &s, 1)->is_filtered);
	others[0] = mine;
	assert_int_equal(processes__only(f->processes, &list), 0);
	s.head.exec_id++;
	assert_false(processes__of(f->processes, &s, 1)->is_filtered);
	free((char *)(uintptr_t)mine);
}

static void test_kernel_thread(void **state)
{
	struct fixture *f = *state;
	struct sampler_sample s = { .head = { .pid = 2, .tid = 2, .flags = SAMPLER_KTHREAD } };
	struct process *p = processes__of(f->processes, &s, 1);

	assert_true(p->kthread);
	assert_null(p->maps);
	assert_string_equal(f->host.events, "");
}

/* ------------------------------------------------------------------------------------------------
 * Files
 */

static struct file *file_of(struct fixture *f, const struct maps *m, const void *address)
{
	int dir = open("/proc/self", O_PATH | O_DIRECTORY);
	struct file *file = files__of(f->files, dir, maps__find(m, (uintptr_t)address), 1);

	close(dir);
	return file;
}

static struct maps *own_maps(void)
{
	int dir = open("/proc/self", O_PATH | O_DIRECTORY);
	struct maps *m = NULL;

	assert_int_equal(maps__read(&ebpf_host__rights, dir, NULL, &m), 0);
	close(dir);
	return m;
}

static void test_file_of_own_program(void **state)
{
	struct fixture *f = *state;
	struct maps *m = own_maps();
	struct file *file = file_of(f, m, test_file_of_own_program), *again;
	int fd = open("/proc/self/exe", O_RDONLY);
	char want[129];

	assert_int_equal(elf__build_id(fd, want), 0);
	close(fd);
	assert_string_equal(file->build_id, want);
	assert_true(file->is_code);
	again = file_of(f, m, test_file_of_own_program);
	assert_ptr_equal(again, file);
	files__offer(f->files, file);
	files__offer(f->files, file);
	assert_int_equal(f->host.n_offered, 1);
	file__unref(file);
	file__unref(again);
	maps__unref(m);
	assert_int_equal(files__count(f->files), 1);
	files__sweep(f->files, 3);
	assert_int_equal(files__count(f->files), 1);
	files__sweep(f->files, 4);
	assert_int_equal(files__count(f->files), 0);
}

/* Maps a file of that content executable, with no name left; returns the address. */
static char *map_unnamed(const void *content, size_t n)
{
	char path[] = "/tmp/decima-test (deleted)-XXXXXX";
	int fd = mkstemp(path);
	char *at;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, content, n), n);
	assert_int_equal(ftruncate(fd, 4096), 0);
	at = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	unlink(path);
	close(fd);
	if (at == MAP_FAILED)
		return NULL;
	return at;
}

static void test_deleted_files(void **state)
{
	struct fixture *f = *state;
	/* An ELF file without anything: no build id. */
	Elf64_Ehdr elf = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			   .e_type = ET_DYN,
			   .e_machine = EM_X86_64,
			   .e_version = EV_CURRENT,
			   .e_ehsize = sizeof(Elf64_Ehdr),
			   .e_phentsize = sizeof(Elf64_Phdr),
			   .e_shentsize = sizeof(Elf64_Shdr) };
	char *code = map_unnamed(&elf, sizeof(elf)), *text = map_unnamed("text", 4);
	struct maps *m;
	struct file *file;

	if (!code || !text || geteuid() != 0)
		skip_because("needs root for /proc/PID/map_files, and an executable /tmp");
	m = own_maps();
	file = file_of(f, m, code);
	assert_true(file->is_code);
	assert_int_equal(file->build_id[0], '~');
	assert_int_equal(strlen(file->build_id), 17);
	assert_null(strstr(file->path + strlen(file->path) - 11, " (deleted)"));
	file__unref(file);
	file = file_of(f, m, text);
	assert_false(file->is_code);
	assert_int_equal(file->why, DCM_UNNAMED_BAD_FILE);
	file__unref(file);
	maps__unref(m);
	munmap(code, 4096);
	munmap(text, 4096);
}

static void test_gone(void **state)
{
	struct fixture *f = *state;
	struct maps *m = own_maps();
	struct file *file = files__of(f->files, -1, maps__find(m, (uintptr_t)test_gone), 1);

	assert_false(file->is_code);
	assert_int_equal(file->why, DCM_UNNAMED_FILE_GONE);
	file__unref(file);
	maps__unref(m);
}

static void test_vdso(void **state)
{
	struct fixture *f = *state;
	struct maps_range r = { .kind = DCM_MAPPING_VDSO, .name = STR("[vdso]") };
	struct file *file = files__of(f->files, -1, &r, 1);

	assert_true(file->is_code);
	assert_string_equal(file->path, "[vdso]");
	files__offer(f->files, file);
	assert_int_equal(f->host.n_offered, 1);
	file__unref(file);
}

static void test_no_memory(void **state)
{
	struct fixture *f = *state;
	struct sampler_sample s = sample_of(getpid(), 1);

	FAILMALLOC_SWEEP (i) {
		struct files *files = files__new(&f->host.host);
		struct processes *t = files ? processes__new(&f->host.host, files, NULL, NULL) : NULL;
		struct process *p = t ? processes__of(t, &s, 1) : NULL;
		struct maps_range *range;

		if (p && p->maps) {
			range = maps__find(p->maps, (uintptr_t)test_no_memory);
			if (range)
				assert_non_null(processes__file(t, p, range));
		}
		failmalloc__disarm();
		processes__free(t);
		files__free(files);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_reads_once),
		TEST(test_tells_of_memory),
		TEST(test_reused_pid),
		TEST(test_exec_and_exit),
		TEST(test_mappings_are_of_when_reading_began),
		TEST(test_maps_of_samples),
		TEST(test_waits_grow),
		TEST(test_rests_by_what_it_cost),
		TEST(test_sweep),
		TEST(test_inherits),
		TEST(test_inherits_of_one_that_waits),
		TEST(test_ended_early),
		TEST(test_swap_of_equal_size),
		TEST(test_swap_behind_a_reading),
		TEST(test_swap_unnoticed),
		TEST(test_children_of_a_stranger),
		TEST(test_children_of_a_forbidden_stranger),
		TEST(test_replaced_before_reading),
		TEST(test_lost_records),
		TEST(test_only_some_groups),
		TEST(test_kernel_thread),
		TEST(test_file_of_own_program),
		TEST(test_deleted_files),
		TEST(test_gone),
		TEST(test_vdso),
		TEST(test_no_memory),
	};

	return cmocka_run_group_tests_name("ebpf_process", tests, NULL, NULL);
}
