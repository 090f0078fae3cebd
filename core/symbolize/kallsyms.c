/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/symbolize/kallsyms.c - the kernel's own symbols
 *
 * The file (5 MiB and 120,000 lines are usual) is streamed in pieces and parsed line by line. What
 * is kept: a sorted array of symbols, and one block of names that they point into. Both are made
 * where they stay, in pages of their own: a daemon reads the list again for each BPF program that
 * is new, and a second copy of 5 MiB that free() keeps would be a quarter of its memory. Markers of
 * sections are kept without a name, so that nothing is named past the end of the kernel's text.
 *
 * Threads: a finished table is constant. Limits: KALLSYMS_MAX_BYTES of text, MAX_MODULES.
 * Sources: kernel/kallsyms.c (s_show), kernel/module/procfs.c (m_show) of Linux.
 */
#include "core/symbolize/kallsyms.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/error.h"
#include "core/base/fd.h"
#include "core/base/intern.h"
#include "core/base/mem.h"
#include "core/base/region.h"
#include "core/base/str.h"

#define NO_NAME UINT32_MAX

enum {
	READ_BYTES = 128 << 10,
	MAX_LINE = 4096,
	FIRST_BYTES = 1 << 20, /* of symbols and of names; more is room, and taken when it is touched */
	MAX_MODULES = UINT16_MAX,
	MAX_MODULES_BYTES = 4 << 20
};

struct symbol {
	uint64_t address;
	uint32_t name; /* offset in names, or NO_NAME for a marker of an end */
	uint16_t module;
	uint8_t rank; /* higher is better among those of one address */
};

/* Where a module lies: symbols of it are not looked for beyond its end. */
struct module_range {
	uint64_t start, end;
};

struct kallsyms {
	struct region symbols; /* struct symbol [n]: ascending addresses, each once, when all are read */
	struct region names; /* [names_bytes], each with its NUL */
	size_t n, names_bytes;
	struct intern module_names;  /* 0: the kernel */
	struct module_range *ranges; /* [module_names.n]; 0,0 when /proc/modules does not say */
};

struct parser {
	struct kallsyms *table;
	uint64_t n_text;
	bool any_address;
};

/* --- parts of a line --- */

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

/*
 * Length of the hexadecimal number at p, which it yields; 0 when there is none of at most 16
 * digits.
 */
static size_t parse_hex(const char *p, size_t n, uint64_t *ret)
{
	uint64_t v = 0;
	size_t i = 0;

	for (; i < n && hex_digit(p[i]) >= 0; i++) {
		if (i == 16)
			return 0;
		v = v << 4 | (uint64_t)hex_digit(p[i]);
	}
	*ret = v;
	return i;
}

/* Ends of regions: what lies behind them belongs to nobody. */
static bool is_end(struct dcm_str name)
{
	return str__eq(name, STR("_etext")) || str__eq(name, STR("_einittext")) ||
	       str__eq(name, STR("__entry_text_end"));
}

/* Marks of regions that share their address with a function, whose name is the better one. */
static bool is_mark(struct dcm_str name)
{
	return str__eq(name, STR("_text")) || str__eq(name, STR("_stext")) ||
	       str__eq(name, STR("_sinittext")) || str__ends(name, STR("_text_start")) ||
	       str__ends(name, STR("_text_end"));
}

static uint8_t rank_of(char type, struct dcm_str name)
{
	if (is_mark(name))
		return 0;
	return type == 'T' ? 3 : type == 'W' || type == 'w' ? 2 : 1;
}

/* --- the table while it grows --- */

static struct symbol *symbols_of(const struct kallsyms *t)
{
	return t->symbols.p;
}

static const char *name_of(const struct kallsyms *t, const struct symbol *s)
{
	return (const char *)t->names.p + s->name;
}

/*
 * True when a is the better one of two with one address: rank, fewer underscores, shorter, byte
 * order.
 */
static bool better(const struct symbol *a, const struct symbol *b, const struct kallsyms *t)
{
	const char *x, *y;
	size_t nx, ny;

	if (a->name == NO_NAME || b->name == NO_NAME)
		return b->name == NO_NAME;
	if (a->rank != b->rank)
		return a->rank > b->rank;
	x = name_of(t, a);
	y = name_of(t, b);
	nx = strspn(x, "_");
	ny = strspn(y, "_");
	if (nx != ny)
		return nx < ny;
	nx = strlen(x);
	ny = strlen(y);
	return nx != ny ? nx < ny : strcmp(x, y) < 0;
}

/*
 * Puts the name behind the others. The names' sum is less than the file's bytes, which have a
 * limit that 32 bits hold.
 */
static int put_name(struct kallsyms *t, struct dcm_str name, uint32_t *ret_at)
{
	const size_t end = t->names_bytes + name.n + 1;
	int rc = region__grow(&t->names, end < FIRST_BYTES ? FIRST_BYTES : end);

	if (rc)
		return rc;
	*ret_at = (uint32_t)t->names_bytes;
	memcpy((char *)t->names.p + t->names_bytes, name.p, name.n);
	((char *)t->names.p)[end - 1] = 0;
	t->names_bytes = end;
	return 0;
}

/*
 * Where the last symbol has this address already, as aliases have in a list that is sorted, the
 * better one stays, and the other's name takes no room.
 */
static int add(struct kallsyms *t, struct symbol s, struct dcm_str name)
{
	struct symbol *last = t->n ? &symbols_of(t)[t->n - 1] : NULL;
	const size_t before = t->names_bytes;
	int rc = s.name == NO_NAME ? 0 : put_name(t, name, &s.name);

	if (rc)
		return rc;
	if (last && last->address == s.address) {
		if (!better(&s, last, t)) {
			t->names_bytes = before;
			return 0;
		}
		if (last->name != NO_NAME) {
			memmove((char *)t->names.p + last->name, name_of(t, &s), name.n + 1);
			s.name = last->name;
			t->names_bytes = s.name + name.n + 1;
		}
		*last = s;
		return 0;
	}
	rc = region__grow(&t->symbols, t->n ? (t->n + 1) * sizeof(s) : FIRST_BYTES);
	if (!rc)
		symbols_of(t)[t->n++] = s;
	return rc;
}

/* --- one line --- */

/* "ffffffff81000000 T name[\t[module]]", without the newline. A line of another form is skipped. */
static int parse_line(struct parser *p, const char *line, size_t n)
{
	struct symbol s = { 0 };
	struct dcm_str name, module = STR("");
	size_t at = parse_hex(line, n, &s.address);
	const char *tab;
	uint32_t id;
	char type;

	if (at == 0 || n < at + 4 || line[at] != ' ' || line[at + 2] != ' ')
		return 0;
	type = line[at + 1];
	if (type != 't' && type != 'T' && type != 'w' && type != 'W')
		return 0;
	name = (struct dcm_str){ line + at + 3, (uint32_t)(n - at - 3) };
	tab = memchr(name.p, '\t', name.n);
	if (tab) {
		module = (struct dcm_str){ tab + 1, name.n - (uint32_t)(tab + 1 - name.p) };
		name.n = (uint32_t)(tab - name.p);
		if (module.n > 2 && module.p[0] == '[' && module.p[module.n - 1] == ']') {
			module.p++;
			module.n -= 2;
		}
	}
	if (name.n == 0 || memchr(name.p, 0, name.n))
		return 0;
	p->n_text++;
	if (s.address == 0)
		return 0;
	p->any_address = true;
	id = module.n ? intern__add(&p->table->module_names, module) : 0;
	if (id == INTERN_NONE)
		return -ENOMEM;
	if (id > MAX_MODULES)
		return -EFBIG;
	s.module = (uint16_t)id;
	s.rank = rank_of(type, name);
	s.name = is_end(name) && module.n == 0 ? NO_NAME : 0;
	return add(p->table, s, name);
}

/* Parses whole lines of p[n]; *ret_rest bytes at the end are a line that has not ended. */
static int parse_lines(struct parser *p, const char *text, size_t n, size_t *ret_rest)
{
	size_t at = 0;

	while (at < n) {
		const char *end = memchr(text + at, '\n', n - at);
		int rc;

		if (!end)
			break;
		rc = parse_line(p, text + at, (size_t)(end - (text + at)));
		if (rc)
			return rc;
		at = (size_t)(end - text) + 1;
	}
	*ret_rest = n - at;
	return 0;
}

static int parse_fd(struct parser *p, int fd)
{
	CLEANUP(mem__freep) char *block = malloc(READ_BYTES);
	size_t have = 0, total = 0;

	if (!block)
		return -ENOMEM;
	for (;;) {
		ssize_t got = read(fd, block + have, READ_BYTES - have);
		size_t rest;
		int rc;

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			return parse_line(p, block, have);
		total += (size_t)got;
		if (total > KALLSYMS_MAX_BYTES)
			return -EFBIG;
		rc = parse_lines(p, block, have + (size_t)got, &rest);
		if (rc)
			return rc;
		/* A line longer than any symbol is no line of kallsyms: it is left out. */
		if (rest > MAX_LINE)
			rest = 0;
		memmove(block, block + have + (size_t)got - rest, rest);
		have = rest;
	}
}

/* --- /proc/modules: "name 16384 2 other, Live 0xffffffffc0000000 (OE)" --- */

static void parse_module(struct kallsyms *t, const char *line, size_t n)
{
	const char *space = memchr(line, ' ', n), *at = memmem(line, n, " 0x", 3);
	uint64_t size = 0, start;
	uint32_t id;

	if (!space || !at)
		return;
	for (const char *p = space + 1; p < line + n && *p >= '0' && *p <= '9'; p++) {
		if (size > UINT32_MAX)
			return;
		size = size * 10 + (uint64_t)(*p - '0');
	}
	id = intern__find(&t->module_names, (struct dcm_str){ line, (uint32_t)(space - line) });
	if (id == INTERN_NONE || parse_hex(at + 3, n - (size_t)(at + 3 - line), &start) == 0 ||
	    start == 0 || start + size < start)
		return;
	t->ranges[id] = (struct module_range){ start, start + size };
}

static int parse_modules(struct kallsyms *t, struct dcm_str text)
{
	t->ranges = mem__zalloc(t->module_names.n, sizeof(*t->ranges));
	if (!t->ranges)
		return -ENOMEM;
	for (size_t at = 0; at < text.n;) {
		const char *line = text.p + at, *end = memchr(line, '\n', text.n - at);
		size_t n = end ? (size_t)(end - line) : text.n - at;

		parse_module(t, line, n);
		at += n + 1;
	}
	return 0;
}

/* --- the table --- */

static int by_address(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	return (x->address > y->address) - (x->address < y->address);
}

/*
 * The kernel's own part comes sorted, and modules lie behind it (x86) or before it (arm64): what
 * follows the first one that is out of order is sorted, and all of it only where that is not enough.
 */
static void sort(struct symbol *v, size_t n)
{
	size_t sorted = 1;

	while (sorted < n && v[sorted - 1].address <= v[sorted].address)
		sorted++;
	if (sorted >= n)
		return;
	qsort(v + sorted, n - sorted, sizeof(*v), by_address);
	if (v[sorted].address < v[sorted - 1].address)
		qsort(v, n, sizeof(*v), by_address);
}

/* In order of address, the best of each, and no page more than that takes. */
static int settle(struct kallsyms *t)
{
	struct symbol *v = symbols_of(t);
	size_t kept = 0;
	int rc;

	sort(v, t->n);
	for (size_t i = 0; i < t->n; i++) {
		if (kept == 0 || v[kept - 1].address != v[i].address)
			v[kept++] = v[i];
		else if (better(&v[i], &v[kept - 1], t))
			v[kept - 1] = v[i];
	}
	t->n = kept;
	rc = region__resize(&t->symbols, kept * sizeof(*v));
	return rc ? rc : region__resize(&t->names, t->names_bytes);
}

static int finish(struct kallsyms *t, struct parser *p, struct dcm_str modules, struct dcm_error *err)
{
	int rc;

	if (p->n_text == 0)
		return error__set(err, -ENODATA,
				  "kallsyms: no symbol of the kernel's text: is it built in?");
	if (!p->any_address)
		return error__set(err, -EACCES,
				  "kallsyms: the kernel hides its addresses: set "
				  "kernel.kptr_restrict to 0, or to 1 and give CAP_SYSLOG");
	rc = settle(t);
	if (!rc)
		rc = parse_modules(t, modules);
	return rc ? error__nomem(err) : 0;
}

static int load(int fd, struct dcm_str modules, struct kallsyms **ret, struct dcm_error *err)
{
	CLEANUP(kallsyms__freep) struct kallsyms *t = NEW(struct kallsyms);
	struct parser p = { .table = t };
	int rc = t ? intern__init(&t->module_names) : -ENOMEM;

	if (!rc)
		rc = parse_fd(&p, fd);
	if (rc == -ENOMEM)
		error__nomem(err);
	else if (rc == -EFBIG)
		error__set(err, rc, "kallsyms: larger than %d MiB, which no kernel's is",
			   KALLSYMS_MAX_BYTES >> 20);
	else if (rc)
		error__sys(err, rc, "kallsyms: cannot be read");
	else
		rc = finish(t, &p, modules, err);
	if (!rc)
		*ret = take_ptr(t);
	return rc;
}

int kallsyms__load(const char *kallsyms_path, const char *modules_path, struct kallsyms **ret_table,
		   struct dcm_error *err)
{
	CLEANUP(fd__closep) int fd = open(kallsyms_path, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? error__sys(err, -errno, "%s", kallsyms_path)
		      : kallsyms__read(fd, modules_path, ret_table, err);
}

int kallsyms__read(int fd, const char *modules_path, struct kallsyms **ret_table, struct dcm_error *err)
{
	struct buf modules = { 0 };
	int rc;

	/* Without it the modules' ends are not known; their names are. */
	fd__read_path(AT_FDCWD, modules_path, MAX_MODULES_BYTES, &modules);
	rc = load(fd, buf__view(&modules), ret_table, err);
	buf__fini(&modules);
	return rc;
}

void kallsyms__free(struct kallsyms *t)
{
	if (!t)
		return;
	region__fini(&t->symbols);
	region__fini(&t->names);
	free(t->ranges);
	intern__fini(&t->module_names);
	free(t);
}

int kallsyms__find(const struct kallsyms *t, uint64_t address, struct kallsyms_symbol *ret)
{
	const struct symbol *v = symbols_of(t);
	const struct module_range *range;
	size_t lo = 0, hi = t->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (v[mid].address <= address)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo-- == 0 || v[lo].name == NO_NAME || address - v[lo].address >= KALLSYMS_MAX_SPAN)
		return -ENOENT;
	range = &t->ranges[v[lo].module];
	if (v[lo].address >= range->start && v[lo].address < range->end && address >= range->end)
		return -ENOENT;
	*ret = (struct kallsyms_symbol){
		.name = str__of(name_of(t, &v[lo])),
		.module = intern__text(&t->module_names, v[lo].module),
		.start = v[lo].address,
	};
	return 0;
}

size_t kallsyms__bytes(const struct kallsyms *t)
{
	return sizeof(*t) + t->symbols.bytes + t->names.bytes +
	       t->module_names.n * (sizeof(*t->ranges) + sizeof(*t->module_names.texts)) +
	       t->module_names.arena.total_bytes;
}
