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
#include "core/base/mem.h"
#include "core/base/str.h"
#include "plugins/input/ebpf/files.h"

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
static uint64_t counted_bytes(const struct maps_range *r, const char *perms)
{
	if (perms[1] == 'w' || str__eq(r->name, STR("[vsyscall]")) || str__eq(r->name, STR("[stack]")))
		return 0;
	return r->end - r->start;
}

/*
 * start-end perms offset major:minor inode name; false for what is not executable or makes no
 * sense.
 */
static bool parse_line(const char *p, struct maps_range *ret, uint64_t *ret_counted)
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
	*ret_counted = counted_bytes(&r, perms);
	*ret = r;
	return true;
}

static void take_line(struct maps_parser *p)
{
	struct maps *m = p->maps;
	struct maps_range r;
	uint64_t counted;

	if (!parse_line(p->line, &r, &counted) || (m->n && r.start < m->ranges[m->n - 1].end))
		return;
	m->exec_bytes += counted;
	if (m->n == MAPS_RANGES) {
		m->cut = true;
		return;
	}
	if (m->n == p->cap) {
		size_t cap = p->cap ? p->cap * 2 : 16;
		struct maps_range *grown = mem__resize(m->ranges, cap, sizeof(*grown));

		if (!grown) {
			p->error = -ENOMEM;
			return;
		}
		m->ranges = grown;
		p->cap = cap;
	}
	/* The segments of one file follow each other. */
	if (m->n && str__eq(r.name, m->ranges[m->n - 1].name))
		r.name = m->ranges[m->n - 1].name;
	else
		r.name = arena__str(&m->arena, r.name);
	if (!r.name.p) {
		p->error = -ENOMEM;
		return;
	}
	m->ranges[m->n++] = r;
}

int maps__parse_begin(struct maps_parser *p)
{
	p->n = p->cap = 0;
	p->overlong = false;
	p->error = 0;
	p->maps = NEW(struct maps);
	if (!p->maps)
		return -ENOMEM;
	p->maps->refs = 1;
	return 0;
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

static int read_text(int fd, struct maps_parser *p, size_t *ret_bytes)
{
	char block[16 * 1024];

	*ret_bytes = 0;
	for (;;) {
		ssize_t n = read(fd, block, sizeof(block));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return 0;
		*ret_bytes += (size_t)n;
		maps__parse(p, block, (size_t)n);
	}
}

int maps__read(int proc_dir, struct maps **ret_maps)
{
	CLEANUP(fd__closep) int fd = openat(proc_dir, "maps", O_RDONLY | O_CLOEXEC);
	CLEANUP(maps__unrefp) struct maps *maps = NULL;
	struct maps_parser p;
	size_t bytes;
	int r, read_error;

	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	r = maps__parse_begin(&p);
	if (r < 0)
		return r;
	read_error = read_text(fd, &p, &bytes);
	r = maps__parse_end(&p, &maps);
	if (r < 0)
		return r;
	if (read_error < 0)
		return read_error;
	if (bytes == 0)
		return -ENODATA;
	*ret_maps = take_ptr(maps);
	return 0;
}

struct maps_range *maps__find(const struct maps *m, uint64_t address)
{
	uint32_t lo = 0, hi = m->n;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (address >= m->ranges[mid].end)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < m->n && address >= m->ranges[lo].start ? &m->ranges[lo] : NULL;
}

static bool same_range(const struct maps_range *a, const struct maps_range *b)
{
	return a->start == b->start && a->end == b->end && a->offset == b->offset && a->ino == b->ino &&
	       a->major == b->major && a->minor == b->minor && str__eq(a->name, b->name);
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

void maps__unref(struct maps *m)
{
	if (!m || atomic_fetch_sub_explicit(&m->refs, 1, memory_order_acq_rel) > 1)
		return;
	for (uint32_t i = 0; i < m->n; i++)
		file__unref(m->ranges[i].file);
	free(m->ranges);
	arena__fini(&m->arena);
	free(m);
}
