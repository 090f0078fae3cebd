/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/symbolize/kallsyms.c - the kernel's own symbols
 *
 * The file (5 MiB and 120,000 lines are usual) is streamed in pieces and parsed line by line. What
 * is kept: a sorted array of addresses, beside it an offset into one block of names and the number
 * of a module. Markers of sections are kept without a name, so that nothing is named past the end
 * of the kernel's text.
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
#include "core/base/str.h"
#include "core/base/vec.h"

#define NO_NAME UINT32_MAX

enum {
	READ_BYTES = 128 << 10,
	MAX_LINE = 4096,
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
	uint64_t *addresses; /* [n] ascending, each once */
	uint32_t *names;     /* [n] */
	uint16_t *modules;   /* [n] ids in module_names */
	uint32_t n;
	char *text;
	size_t text_bytes;
	struct intern module_names;  /* 0: the kernel */
	struct module_range *ranges; /* [module_names.n]; 0,0 when /proc/modules does not say */
};

struct parser {
	VEC(struct symbol) symbols;
	struct buf names;
	struct intern *modules;
	uint64_t n_text;
	bool any_address;
};

/* --- one line --- */

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
	id = module.n ? intern__add(p->modules, module) : 0;
	if (id == INTERN_NONE)
		return -ENOMEM;
	if (id > MAX_MODULES)
		return -EFBIG;
	s.module = (uint16_t)id;
	s.rank = rank_of(type, name);
	s.name = is_end(name) && module.n == 0 ? NO_NAME : (uint32_t)p->names.n;
	if (s.name != NO_NAME) {
		buf__str(&p->names, name);
		buf__byte(&p->names, 0);
	}
	return p->names.error || !vec__push(&p->symbols, s) ? -ENOMEM : 0;
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
 * True when a is the better one of two with one address: rank, fewer underscores, shorter, byte
 * order.
 */
static bool better(const struct symbol *a, const struct symbol *b, const char *names)
{
	const char *s, *t;
	size_t ns, nt;

	if (a->name == NO_NAME || b->name == NO_NAME)
		return b->name == NO_NAME;
	if (a->rank != b->rank)
		return a->rank > b->rank;
	s = names + a->name;
	t = names + b->name;
	ns = strspn(s, "_");
	nt = strspn(t, "_");
	if (ns != nt)
		return ns < nt;
	ns = strlen(s);
	nt = strlen(t);
	return ns != nt ? ns < nt : strcmp(s, t) < 0;
}

/*
 * In order of address, the best of each; returns how many there are. The kernel's own part comes
 * sorted already.
 */
static size_t choose(struct symbol *v, size_t n, const char *names)
{
	size_t kept = 0;

	for (size_t i = 1; i < n; i++) {
		if (v[i].address < v[i - 1].address) {
			qsort(v, n, sizeof(*v), by_address);
			break;
		}
	}
	for (size_t i = 0; i < n; i++) {
		if (kept == 0 || v[kept - 1].address != v[i].address)
			v[kept++] = v[i];
		else if (better(&v[i], &v[kept - 1], names))
			v[kept - 1] = v[i];
	}
	return kept;
}

/* Copies the chosen ones into arrays of their exact size. */
static int build(struct kallsyms *t, struct parser *p)
{
	struct symbol *v = p->symbols.v;
	size_t kept = choose(v, p->symbols.n, (const char *)p->names.data), bytes = 0;

	for (size_t i = 0; i < kept; i++)
		bytes += v[i].name == NO_NAME ? 0 : strlen((char *)p->names.data + v[i].name) + 1;
	t->addresses = mem__zalloc(kept, sizeof(*t->addresses));
	t->names = mem__zalloc(kept, sizeof(*t->names));
	t->modules = mem__zalloc(kept, sizeof(*t->modules));
	t->text = mem__zalloc(bytes + 1, 1);
	if (!t->addresses || !t->names || !t->modules || !t->text)
		return -ENOMEM;
	for (size_t i = 0; i < kept; i++) {
		t->addresses[i] = v[i].address;
		t->modules[i] = v[i].module;
		t->names[i] = NO_NAME;
		if (v[i].name == NO_NAME)
			continue;
		size_t len = strlen((char *)p->names.data + v[i].name) + 1;

		memcpy(t->text + t->text_bytes, p->names.data + v[i].name, len);
		t->names[i] = (uint32_t)t->text_bytes;
		t->text_bytes += len;
	}
	t->n = (uint32_t)kept;
	return 0;
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
	rc = build(t, p);
	if (!rc)
		rc = parse_modules(t, modules);
	return rc ? error__nomem(err) : 0;
}

static int load(int fd, struct dcm_str modules, struct kallsyms **ret, struct dcm_error *err)
{
	CLEANUP(kallsyms__freep) struct kallsyms *t = NEW(struct kallsyms);
	struct parser p = { .names = { .limit = KALLSYMS_MAX_BYTES } };
	int rc = t ? intern__init(&t->module_names) : -ENOMEM;

	if (!rc) {
		p.modules = &t->module_names;
		rc = parse_fd(&p, fd);
	}
	if (rc == -ENOMEM)
		error__nomem(err);
	else if (rc == -EFBIG)
		error__set(err, rc, "kallsyms: larger than %d MiB, which no kernel's is",
			   KALLSYMS_MAX_BYTES >> 20);
	else if (rc)
		error__sys(err, rc, "kallsyms: cannot be read");
	else
		rc = finish(t, &p, modules, err);
	vec__fini(&p.symbols);
	buf__fini(&p.names);
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
	free(t->addresses);
	free(t->names);
	free(t->modules);
	free(t->text);
	free(t->ranges);
	intern__fini(&t->module_names);
	free(t);
}

int kallsyms__find(const struct kallsyms *t, uint64_t address, struct kallsyms_symbol *ret)
{
	uint32_t lo = 0, hi = t->n;
	const struct module_range *range;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (t->addresses[mid] <= address)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo-- == 0 || t->names[lo] == NO_NAME || address - t->addresses[lo] >= KALLSYMS_MAX_SPAN)
		return -ENOENT;
	range = &t->ranges[t->modules[lo]];
	if (t->addresses[lo] >= range->start && t->addresses[lo] < range->end && address >= range->end)
		return -ENOENT;
	*ret = (struct kallsyms_symbol){
		.name = str__of(t->text + t->names[lo]),
		.module = intern__text(&t->module_names, t->modules[lo]),
		.start = t->addresses[lo],
	};
	return 0;
}

size_t kallsyms__bytes(const struct kallsyms *t)
{
	return sizeof(*t) + t->n * (sizeof(*t->addresses) + sizeof(*t->names) + sizeof(*t->modules)) +
	       t->text_bytes +
	       t->module_names.n * (sizeof(*t->ranges) + sizeof(*t->module_names.texts)) +
	       t->module_names.arena.total_bytes;
}
