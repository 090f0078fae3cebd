/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/maps.c - the executable mappings of one process at one moment
 *
 * Format: proc(5), /proc/pid/maps. The kernel lists mappings in ascending order, and never twice.
 */
#include "plugins/input/ebpf/maps.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/fd.h"
#include "core/base/hash.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/base/vec.h"
#include "plugins/input/ebpf/files.h"
#include "plugins/input/ebpf/guarded.h"
#include "plugins/input/ebpf/labels.h"
#include "plugins/input/ebpf/thread.h"

enum { BLOCK_BYTES = 16 * 1024 };

/* Hexadecimal or decimal digits at *p, and the character `end` behind them. */
static bool number(const char **p, unsigned base, char end, uint64_t *ret)
{
	uint64_t v = 0;
	const char *at = *p;

	for (;; at++) {
		unsigned d;

		if (*at >= '0' && *at <= '9')
			d = (unsigned)(*at - '0');
		else if (base == 16 && *at >= 'a' && *at <= 'f')
			d = (unsigned)(*at - 'a') + 10;
		else
			break;
		if (v > (UINT64_MAX - d) / base)
			return false;
		v = v * base + d;
	}
	if (at == *p || *at != end)
		return false;
	*p = at + 1;
	*ret = v;
	return true;
}

/* Memory that has a name, but no file that could be read. */
static bool is_memory(struct dcm_str name)
{
	return str__starts(name, STR("/dev/zero")) || str__starts(name, STR("/SYSV")) ||
	       str__starts(name, STR("/anon_hugepage"));
}

static uint8_t kind_of(const struct maps_range *r)
{
	if (str__eq(r->name, STR("[vdso]")))
		return DCM_MAPPING_VDSO;
	if (r->ino == 0 || r->name.n == 0 || r->name.p[0] != '/' || is_memory(r->name))
		return DCM_MAPPING_ANON;
	return DCM_MAPPING_FILE;
}

/*
 * What the kernel counts as executable: neither writable nor a stack. The vsyscall page is not
 * mapped.
 */
static bool is_counted(const struct maps_range *r, bool is_writable)
{
	return !is_writable && !str__eq(r->name, STR("[vsyscall]")) &&
	       !str__eq(r->name, STR("[stack]"));
}

/*
 * start-end perms offset major:minor inode name; false for what is not executable or makes no
 * sense.
 */
static bool parse_line(const char *p, struct maps_range *ret)
{
	uint64_t major, minor;
	struct maps_range r = { 0 };
	const char *perms;

	if (!number(&p, 16, '-', &r.start) || !number(&p, 16, ' ', &r.end) || r.end <= r.start)
		return false;
	if (strnlen(p, 5) < 5 || p[2] != 'x' || p[4] != ' ')
		return false;
	perms = p;
	p += 5;
	if (!number(&p, 16, ' ', &r.offset) || !number(&p, 16, ':', &major) ||
	    !number(&p, 16, ' ', &minor))
		return false;
	/* The inode is followed by blanks and a name, or by nothing. */
	while (*p >= '0' && *p <= '9') {
		if (r.ino > UINT64_MAX / 10 - 1)
			return false;
		r.ino = r.ino * 10 + (uint64_t)(*p++ - '0');
	}
	while (*p == ' ')
		p++;
	r.major = (uint32_t)major;
	r.minor = (uint32_t)minor;
	r.name = str__of(p);
	r.kind = kind_of(&r);
	r.is_counted = is_counted(&r, perms[1] == 'w');
	*ret = r;
	return true;
}

/* Adds a range behind the others, with a copy of its name: 0 or -ENOMEM. */
static int append(struct maps *m, size_t *cap, struct maps_range r)
{
	if (r.is_counted)
		m->exec_bytes += r.end - r.start;
	if (m->n == MAPS_RANGES) {
		m->cut = true;
		return 0;
	}
	if (m->n == *cap) {
		size_t more = *cap ? *cap * 2 : 16;
		struct maps_range *grown = mem__resize(m->ranges, more, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		m->ranges = grown;
		*cap = more;
	}
	/* The segments of one file follow each other. */
	if (m->n && str__eq(r.name, m->ranges[m->n - 1].name))
		r.name = m->ranges[m->n - 1].name;
	else
		r.name = arena__str(&m->arena, r.name);
	if (!r.name.p)
		return -ENOMEM;
	if (r.file)
		file__ref(r.file);
	m->ranges[m->n++] = r;
	return 0;
}

static void take_line(struct maps_parser *p)
{
	struct maps *m = p->maps;
	struct maps_range r;

	if (parse_line(p->line, &r) && (m->n == 0 || r.start >= m->ranges[m->n - 1].end))
		p->error = append(m, &p->cap, r);
}

struct maps *maps__empty(void)
{
	struct maps *m = NEW(struct maps);

	if (m)
		m->refs = 1;
	return m;
}

int maps__parse_begin(struct maps_parser *p)
{
	p->n = p->cap = 0;
	p->overlong = false;
	p->error = 0;
	p->maps = maps__empty();
	return p->maps ? 0 : -ENOMEM;
}

static void end_line(struct maps_parser *p)
{
	if (!p->overlong && p->n && !p->error) {
		p->line[p->n] = 0;
		take_line(p);
	}
	p->n = 0;
	p->overlong = false;
}

void maps__parse(struct maps_parser *p, const char *text, size_t n)
{
	while (n > 0 && !p->error) {
		const char *end = memchr(text, '\n', n);
		size_t piece = end ? (size_t)(end - text) : n;

		if (p->n + piece >= sizeof(p->line)) {
			p->overlong = true;
		} else {
			memcpy(p->line + p->n, text, piece);
			p->n += piece;
		}
		if (end) {
			end_line(p);
			piece++;
		}
		text += piece;
		n -= piece;
	}
}

int maps__parse_end(struct maps_parser *p, struct maps **ret_maps)
{
	end_line(p);
	if (p->error) {
		maps__unref(take_ptr(p->maps));
		return p->error;
	}
	*ret_maps = take_ptr(p->maps);
	return 0;
}

/*
 * *fd is -1 when the thread that reads has it. A text that takes too long in all is none either, but one that is
 * complete is one, however long it took.
 */
static int read_text(int *fd, struct maps_reader *reader, struct maps_parser *p, size_t *ret_bytes)
{
	CLEANUP(mem__freep) struct errand *errand = errand__new(BLOCK_BYTES);
	int64_t until_ns = thread__mono_ns() + reader->patience_ns;
	ssize_t n;

	*ret_bytes = 0;
	if (!errand)
		return -ENOMEM;
	errand->kind = ERRAND_TEXT;
	errand->place = errand__process(reader->pid);
	errand->n = BLOCK_BYTES;
	do {
		if (*ret_bytes && reader->errands && thread__mono_ns() > until_ns)
			return -ETIMEDOUT;
		n = errands__make(reader->errands, &errand, fd);
		/* It hangs with this process since before, or with so many others. */
		if (n == -EBUSY)
			n = errands__is_stuck_at(reader->errands, errand->place) ? -ETIMEDOUT : -EAGAIN;
		if (n < 0)
			return (int)n;
		reader->cpu_ns += reader->errands ? errand->cpu_ns : 0;
		*ret_bytes += (size_t)n;
		maps__parse(p, errand->data, (size_t)n);
	} while (n == BLOCK_BYTES);
	return 0;
}

int maps__read(const struct dcm_host *host, int proc_dir, struct maps_reader *reader, struct maps **ret_maps)
{
	CLEANUP(fd__closep) int fd = guarded__open(host, proc_dir, DCM_GUARDED_MAPS);
	CLEANUP(maps__unrefp) struct maps *maps = NULL;
	struct maps_reader alone = { 0 };
	struct maps_parser p;
	size_t bytes;
	int r, read_error;

	if (fd < 0)
		return fd == -ENOENT ? -ESRCH : fd;
	r = maps__parse_begin(&p);
	if (r < 0)
		return r;
	if (!reader)
		reader = &alone;
	read_error = read_text(&fd, reader, &p, &bytes);
	r = maps__parse_end(&p, &maps);
	if (r < 0)
		return r;
	if (read_error < 0)
		return read_error;
	if (bytes == 0)
		return -ENODATA;
	for (uint32_t i = 0; i < maps->n; i++)
		maps->ranges[i].time_ns = reader->time_ns;
	*ret_maps = take_ptr(maps);
	return 0;
}

struct maps_range *maps__find_from(const struct maps *m, uint64_t address)
{
	uint32_t lo = 0, hi = m->n;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (address >= m->ranges[mid].end)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < m->n ? &m->ranges[lo] : NULL;
}

struct maps_range *maps__find(const struct maps *m, uint64_t address)
{
	struct maps_range *r = maps__find_from(m, address);

	return r && address >= r->start ? r : NULL;
}

static bool same_range(const struct maps_range *a, const struct maps_range *b)
{
	return a->start == b->start && a->end == b->end && a->offset == b->offset && a->ino == b->ino &&
	       a->major == b->major && a->minor == b->minor && a->is_told == b->is_told &&
	       a->generation == b->generation && str__eq(a->name, b->name);
}

bool maps_range__same_file(const struct maps_range *a, const struct maps_range *b)
{
	/* What the kernel tells and what /proc shows of one file may differ, where file systems lie on others. */
	if (a->is_told != b->is_told)
		return str__eq(labels__without_deleted(a->name), labels__without_deleted(b->name));
	return a->ino == b->ino && a->major == b->major && a->minor == b->minor &&
	       (!a->is_told || a->generation == b->generation);
}

bool maps__equal(const struct maps *a, const struct maps *b)
{
	if (a->n != b->n || a->exec_bytes != b->exec_bytes || a->cut || b->cut)
		return false;
	for (uint32_t i = 0; i < a->n; i++)
		if (!same_range(&a->ranges[i], &b->ranges[i]))
			return false;
	return true;
}

uint64_t maps__hash(const struct maps *m)
{
	uint64_t h = m->n;

	for (uint32_t i = 0; i < m->n; i++)
		h = hash__mix(hash__mix(hash__mix(h, m->ranges[i].start), m->ranges[i].end),
			      m->ranges[i].ino);
	return h;
}

void maps__take_files(struct maps *m, const struct maps *older)
{
	for (uint32_t i = 0, k = 0; i < m->n && k < older->n;) {
		if (same_range(&m->ranges[i], &older->ranges[k]) && older->ranges[k].file)
			m->ranges[i].file = file__ref(older->ranges[k].file);
		if (m->ranges[i].start < older->ranges[k].start)
			i++;
		else
			k++;
	}
}

/* ------------------------------------------------------------------------------------------------
 * One state from another
 */

struct maps_range maps__range_of(const struct perf_record *record)
{
	struct maps_range r = {
		.start = record->start,
		.end = record->end,
		.offset = record->offset,
		.ino = record->ino,
		.major = record->major,
		.minor = record->minor,
		.name = record->name,
		.is_told = true,
		.generation = record->generation,
		.time_ns = record->time_ns,
	};

	r.kind = kind_of(&r);
	r.is_counted = is_counted(&r, record->is_writable);
	return r;
}

/* The part of a range in [start, end). */
static struct maps_range part(const struct maps_range *r, uint64_t start, uint64_t end)
{
	struct maps_range p = *r;

	if (start > p.start) {
		if (p.kind != DCM_MAPPING_ANON)
			p.offset += start - p.start;
		p.start = start;
	}
	if (end < p.end)
		p.end = end;
	return p;
}

/* Ascending ranges that do not overlap. */
struct layer {
	VEC(struct maps_range) ranges;
};

/* Lays `r` over what is there: what it covers goes, what it cuts is kept in parts. */
static bool lay(struct layer *l, const struct maps_range *r)
{
	struct maps_range *v, before, after;
	size_t first = 0, last, n_new = 1;

	if (!vec__reserve(&l->ranges, 2))
		return false;
	v = l->ranges.v;
	while (first < l->ranges.n && v[first].end <= r->start)
		first++;
	for (last = first; last < l->ranges.n && v[last].start < r->end; last++)
		;
	/* [first, last) is touched: at most a part of the first and one of the last remain. */
	if (last > first) {
		before = part(&v[first], 0, r->start);
		after = part(&v[last - 1], r->end, UINT64_MAX);
	} else {
		before = after = (struct maps_range){ 0 };
	}
	n_new += (before.start < before.end) + (after.start < after.end);
	memmove(v + first + n_new, v + last, (l->ranges.n - last) * sizeof(*v));
	l->ranges.n = l->ranges.n - (last - first) + n_new;
	if (before.start < before.end)
		v[first++] = before;
	v[first++] = *r;
	if (after.start < after.end)
		v[first] = after;
	return true;
}

/* Everything of base that the layer does not cover, and the layer itself, in order. */
static int merge(const struct maps *base, const struct layer *l, struct maps *m)
{
	uint64_t covered_until = 0;
	size_t cap = 0, at = 0;
	int error = 0;

	for (uint32_t i = 0; base && i < base->n && error == 0; i++) {
		struct maps_range rest = part(&base->ranges[i], covered_until, UINT64_MAX);

		for (; at < l->ranges.n && l->ranges.v[at].start < rest.end && error == 0; at++) {
			struct maps_range before = part(&rest, 0, l->ranges.v[at].start);

			if (before.start < before.end)
				error = append(m, &cap, before);
			if (error == 0)
				error = append(m, &cap, l->ranges.v[at]);
			covered_until = l->ranges.v[at].end;
			rest = part(&rest, covered_until, UINT64_MAX);
		}
		if (rest.start < rest.end && error == 0)
			error = append(m, &cap, rest);
	}
	for (; at < l->ranges.n && error == 0; at++)
		error = append(m, &cap, l->ranges.v[at]);
	return error;
}

int maps__apply(const struct maps *base, const struct maps_range *newer, uint32_t n, struct maps **ret_maps)
{
	CLEANUP(maps__unrefp) struct maps *m = maps__empty();
	struct layer l = { 0 };
	int error = 0;

	if (!m)
		return -ENOMEM;
	m->cut = base && base->cut;
	for (uint32_t i = 0; i < n && error == 0; i++)
		error = lay(&l, &newer[i]) ? 0 : -ENOMEM;
	if (error == 0)
		error = merge(base, &l, m);
	vec__fini(&l.ranges);
	if (error < 0)
		return error;
	*ret_maps = take_ptr(m);
	return 0;
}

static int by_address(const void *a, const void *b)
{
	const struct maps_range *x = *(const struct maps_range *const *)a,
				*y = *(const struct maps_range *const *)b;

	return (x->start > y->start) - (x->start < y->start);
}

struct maps *maps__of_frames(const struct maps *m, const uint64_t *frames, uint32_t n, struct maps *judge)
{
	CLEANUP(mem__freep) const struct maps_range **met = mem__zalloc(n, sizeof(*met));
	CLEANUP(maps__unrefp) struct maps *few = met ? maps__empty() : NULL;
	size_t cap = 0;
	uint32_t n_met = 0;

	if (!few)
		return NULL;
	few->wrong = m->wrong;
	few->judge = maps__ref(judge);
	for (uint32_t i = 0; i < n; i++) {
		const struct maps_range *r = maps__find(m, frames[i] - (i > 0));

		if (r && (n_met == 0 || met[n_met - 1] != r))
			met[n_met++] = r;
	}
	qsort(met, n_met, sizeof(const struct maps_range *), by_address);
	for (uint32_t i = 0; i < n_met; i++)
		if ((i == 0 || met[i] != met[i - 1]) && append(few, &cap, *met[i]) < 0)
			return NULL;
	few->exec_bytes = 0;
	return take_ptr(few);
}

size_t maps__bytes(const struct maps *m)
{
	return sizeof(*m) + m->n * sizeof(*m->ranges) + m->arena.total_bytes;
}

void maps__unref(struct maps *m)
{
	if (!m || atomic_fetch_sub_explicit(&m->refs, 1, memory_order_acq_rel) > 1)
		return;
	maps__unref(m->judge);
	for (uint32_t i = 0; i < m->n; i++)
		file__unref(m->ranges[i].file);
	free(m->ranges);
	arena__fini(&m->arena);
	free(m);
}
