/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/config/options.c - a YAML node and option tables become filled structs
 *
 * One recursion over rows: a value that is absent becomes the row's default, parsed as if it stood
 * in the file; so there is one path for both. Faults are reported and the walk goes on; after a
 * fault the struct is thrown away.
 */
#include "core/config/options.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/error.h"
#include "core/base/fd.h"
#include "core/base/str.h"
#include "core/config/expand.h"
#include "core/config/path.h"
#include "core/config/regex.h"
#include "core/config/scalar.h"
#include "core/config/suggest.h"
#include "core/config/table.h"

enum {
	STRUCTS_MAX_BYTES = 256 << 20,
	SECRET_MAX_BYTES = 64 << 10,
	SCALAR_MAX_BYTES = 1 << 20,
	EXPANDED_MAX_BYTES = 16 << 20,
	DEPTH_MAX = 2 * (TREE_MAX_DEPTH + TABLE_MAX_DEPTH), /* a struct counts twice */
	KNOWN_SHOWN = 8 /* names that a sentence lists when none is near */
};

struct filler {
	const struct options_env *env;
	const char *object;
	struct path path; /* from the object to the value at hand */
	size_t allocated_bytes, expanded_bytes;
	unsigned depth;
};

/* Where a value is, and where a value that is not there would be. */
struct spot {
	const struct node *node; /* NULL: absent */
	struct place at;
	bool no_env; /* inherited from the rows above */
};

static void report_as(struct filler *f, enum problem_severity severity, const struct place *at,
		      const char *text)
{
	const char *path = path__text(&f->path);

	problems__add(f->env->problems, severity, at, "%s%s%s%s%s", f->object ? f->object : "",
		      f->object && f->object[0] ? ": " : "", path, path[0] ? ": " : "", text);
}

__attribute__((format(printf, 3, 4))) static void report(struct filler *f, const struct place *at,
							 const char *fmt, ...)
{
	char text[sizeof(((struct dcm_error *)NULL)->text)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	report_as(f, PROBLEM_ERROR, at, text);
}

static void no_memory(struct filler *f)
{
	problems__nomem(f->env->problems);
}

static void *allocate(struct filler *f, const struct place *at, size_t n, size_t size)
{
	if (size && n > (STRUCTS_MAX_BYTES - f->allocated_bytes) / size) {
		report(f, at, "takes more than %d MiB; split it up", STRUCTS_MAX_BYTES >> 20);
		return NULL;
	}
	void *p = arena__zalloc(f->env->arena, n, size);
	if (!p)
		no_memory(f);
	f->allocated_bytes += n * size;
	return p;
}

static struct dcm_str keep_text(struct filler *f, struct dcm_str s)
{
	struct dcm_str own = arena__str(f->env->arena, s);

	if (!own.p)
		no_memory(f);
	return own;
}

static const char *kind_text(const struct node *n)
{
	if (n->kind == NODE_SCALAR)
		return node__is_null(n) ? "nothing" : "a single value";
	return n->kind == NODE_MAP ? "a map" : "a list";
}

/* ------------------------------------------------------------------------------------------------
 * Single values
 */

/*
 * The scalar's text with its variables, in the arena. False: reported, or `elsewhere` and absent.
 */
static bool scalar_text(struct filler *f, const struct spot *s, struct dcm_str *ret)
{
	struct dcm_str text = s->node->text;
	struct dcm_error err = DCM_ERROR_INIT;
	struct buf out = { .limit = SCALAR_MAX_BYTES };

	if (s->no_env || !expand__is_needed(text)) {
		*ret = keep_text(f, text);
		return ret->p;
	}
	int r = expand__text(text, f->env->get_variable, f->env->ctx, &out, &err);
	f->expanded_bytes += out.n;
	if (!r && f->expanded_bytes > EXPANDED_MAX_BYTES)
		r = error__set(&err, -EFBIG, "more than %d MiB come from variables",
			       EXPANDED_MAX_BYTES >> 20);
	if (r == -ENOMEM)
		no_memory(f);
	else if (r)
		report_as(f, r == -ENOENT && f->env->elsewhere ? PROBLEM_WARNING : PROBLEM_ERROR,
			  &s->at, err.text);
	else
		*ret = keep_text(f, buf__view(&out));
	buf__fini(&out);
	return !r && ret->p;
}

/* Types that the scalar's grammar cannot judge alone. */
static int check_text(struct filler *f, const struct dcm_option *row, struct dcm_str text,
		      struct dcm_error *err)
{
	if (row->type == DCM_OPT_REGEX)
		return regex__check(text, err);
	if (row->type == DCM_OPT_SELECTOR && f->env->check_selector)
		return f->env->check_selector(f->env->ctx, text, err);
	return 0;
}

/* A relative path starts where the configuration file is. NULL: reported. */
static char *path_from_file(struct filler *f, struct dcm_str path, const struct place *at)
{
	const char *slash = at->file && at->line ? strrchr(at->file, '/') : NULL;
	int dir_n = slash && path.n && path.p[0] != '/' ? (int)(slash - at->file + 1) : 0;
	char *full = arena__printf(f->env->arena, "%.*s%s", dir_n, dir_n ? at->file : "", path.p);

	if (!full)
		no_memory(f);
	return full;
}

/* False: absent after all (a variable of another machine). */
static bool fill_scalar(struct filler *f, const struct dcm_option *row, const struct spot *s, void *to)
{
	struct dcm_error err = DCM_ERROR_INIT;
	struct dcm_str text = { NULL, 0 };
	union scalar v;

	if (s->node->kind != NODE_SCALAR) {
		char type[48];
		report(f, &s->at, "must be a single value (%s), not %s",
		       table__type_text(row, type), kind_text(s->node));
		return true;
	}
	if (!scalar_text(f, s, &text))
		return !f->env->elsewhere;
	int r = scalar__parse(row, text, &v, &err);
	if (!r && (row->flags & DCM_OPT_PATH)) {
		v.text = path_from_file(f, text, &s->at);
		r = v.text ? 0 : -ENOMEM;
	}
	if (!r)
		r = check_text(f, row, text, &err);
	if (r == -ENOMEM)
		no_memory(f);
	else if (r)
		report(f, &s->at, "%s", err.text);
	else
		scalar__store(row, &v, to);
	return true;
}

/* ------------------------------------------------------------------------------------------------
 * Values of any kind
 */

static bool write_json(struct filler *f, const struct node *n, bool no_env, struct buf *out);

/* As RFC 8259 has numbers; what YAML has besides (0x10, 1_000, .inf) is a text there. */
static bool is_json_number(const char *s)
{
	const char *digits = s += *s == '-';

	s += strspn(s, "0123456789");
	if (s == digits || (digits[0] == '0' && s > digits + 1))
		return false;
	if (*s == '.') {
		digits = ++s;
		s += strspn(s, "0123456789");
		if (s == digits)
			return false;
	}
	if (*s == 'e' || *s == 'E') {
		digits = s += s[1] == '+' || s[1] == '-' ? 2 : 1;
		s += strspn(s, "0123456789");
		if (s == digits)
			return false;
	}
	return !*s;
}

static bool write_json_scalar(struct filler *f, const struct node *n, bool no_env, struct buf *out)
{
	const struct spot s = { n, n->at, no_env };
	struct dcm_str text;

	if (node__is_null(n)) {
		buf__text(out, "null");
		return true;
	}
	if (!scalar_text(f, &s, &text))
		return false;
	if (n->plain &&
	    (is_json_number(text.p) || str__eq(text, STR("true")) || str__eq(text, STR("false"))))
		buf__append(out, text.p, text.n);
	else
		buf__json(out, text);
	return true;
}

static bool write_json_member(struct filler *f, const struct member *m, bool no_env, struct buf *out)
{
	const struct node key = { .kind = NODE_SCALAR, .at = m->at, .text = m->key };
	bool is_whole = write_json_scalar(f, &key, no_env, out);

	buf__text(out, ": ");
	return is_whole && write_json(f, m->value, no_env, out);
}

static bool write_json_items(struct filler *f, const struct node *n, bool no_env, struct buf *out)
{
	const bool is_map = n->kind == NODE_MAP;
	bool is_whole = true;

	buf__byte(out, is_map ? '{' : '[');
	for (uint32_t i = 0; i < n->n && is_whole; i++) {
		buf__text(out, i ? ", " : "");
		is_whole = is_map ? write_json_member(f, &n->members[i], no_env, out)
				  : write_json(f, n->items[i], no_env, out);
	}
	buf__byte(out, is_map ? '}' : ']');
	return is_whole;
}

/* False: reported, or absent after all. No deeper than the tree is. */
static bool write_json(struct filler *f, const struct node *n, bool no_env, struct buf *out)
{
	return n->kind == NODE_SCALAR ? write_json_scalar(f, n, no_env, out)
				      : write_json_items(f, n, no_env, out);
}

static void fill_json(struct filler *f, const struct spot *s, void *to)
{
	struct buf out = { .limit = EXPANDED_MAX_BYTES };

	if (write_json(f, s->node, s->no_env, &out)) {
		if (out.error == -ENOMEM)
			no_memory(f);
		else if (out.error)
			report(f, &s->at, "is larger than %d MiB", EXPANDED_MAX_BYTES >> 20);
		else
			*(const char **)to = keep_text(f, buf__view(&out)).p;
	}
	buf__fini(&out);
}

/* ------------------------------------------------------------------------------------------------
 * Secrets in files
 */

/* "NAME_file" of the same map, unless a row of its own is called so. */
static const struct member *secret_file(const struct dcm_table *table, const struct dcm_option *row,
					const struct node *map)
{
	char name[128];
	struct dcm_option other;

	int n = snprintf(name, sizeof(name), "%s_file", row->name);
	if (n < 0 || (size_t)n >= sizeof(name) || table__find(table, str__of(name), &other))
		return NULL;
	return tree__member(map, str__of(name));
}

static void read_secret(struct filler *f, const struct place *at, const char *path, void *to)
{
	struct buf b = { .limit = SECRET_MAX_BYTES + 2 };
	char text[256];
	int r = f->env->read_secret ? f->env->read_secret(f->env->ctx, path, &b)
				    : fd__read_path(AT_FDCWD, path, SECRET_MAX_BYTES, &b);

	while (!r && b.n > 0 && (b.data[b.n - 1] == '\n' || b.data[b.n - 1] == '\r'))
		b.n--;
	struct dcm_str secret = buf__view(&b);
	text[0] = '\0';
	if (r == -ENOMEM)
		no_memory(f);
	else if (r)
		snprintf(text, sizeof(text), "%s; put the secret there, readable for our user",
			 strerrordesc_np(-r));
	else if (secret.n == 0)
		snprintf(text, sizeof(text), "is empty; write the secret into it");
	else if (memchr(secret.p, '\0', secret.n) || !str__is_utf8(secret))
		snprintf(text, sizeof(text), "is not text in UTF-8");
	else
		*(const char **)to = keep_text(f, secret).p;
	if (text[0]) {
		char line[700];
		snprintf(line, sizeof(line), "%.400s: %s", path, text);
		report_as(f, r && f->env->elsewhere ? PROBLEM_WARNING : PROBLEM_ERROR, at, line);
	}
	buf__wipe(&b);
}

/* True when the file's key stands in the map, whether it could be read or not. */
static bool fill_secret_file(struct filler *f, const struct dcm_table *table,
			     const struct dcm_option *row, const struct node *map, bool no_env, void *to)
{
	const struct member *m = secret_file(table, row, map);
	struct dcm_str name = { NULL, 0 };

	if (!m || node__is_null(m->value))
		return false;
	size_t mark = path__push(&f->path, m->key.p);
	struct spot s = { m->value, m->value->at, no_env };
	const struct node *direct = tree__get(map, row->name);
	if (direct && !node__is_null(direct)) {
		report(f, &m->at, "stands beside %s; keep one of the two", row->name);
	} else if (m->value->kind != NODE_SCALAR) {
		report(f, &s.at, "must be a path, not %s", kind_text(m->value));
	} else if (scalar_text(f, &s, &name)) {
		char *path = path_from_file(f, name, &s.at);
		if (path)
			read_secret(f, &s.at, path, to);
	}
	path__pop(&f->path, mark);
	return true;
}

/* ------------------------------------------------------------------------------------------------
 * Lists, maps, unions, structs
 */

static void fill_value(struct filler *f, const struct dcm_option *row, const struct spot *s, void *to);
static void fill_struct(struct filler *f, const struct dcm_table *table, const struct spot *s,
			bool given, void *to);

/* An element; a null one is an error except for a struct, which then has its defaults. */
static void fill_element(struct filler *f, const struct dcm_option *element, const struct node *n,
			 bool no_env, void *to)
{
	struct spot s = { n, n->at, no_env };

	if (!node__is_null(n)) {
		fill_value(f, element, &s, to);
	} else if (element->type == DCM_OPT_STRUCT) {
		s.node = NULL;
		fill_struct(f, element->table, &s, true, to);
	} else {
		report(f, &n->at, "is empty; give it a value, or take it away");
	}
}

static bool is_of_kind(struct filler *f, const struct spot *s, enum node_kind kind)
{
	if (s->node->kind == kind)
		return true;
	if (kind == NODE_LIST && s->node->kind == NODE_SCALAR)
		report(f, &s->at, "must be a list, not a single value");
	else
		report(f, &s->at, "must be %s, not %s", kind == NODE_LIST ? "a list" : "a map",
		       kind_text(s->node));
	return false;
}

/* A table's value may be: somebody may have put there what belongs into a row of it. */
static bool may_be_secret(const struct dcm_option *row)
{
	return row->type == DCM_OPT_SECRET || !table__is_scalar(row->type);
}

static void fill_list(struct filler *f, const struct dcm_option *row, const struct spot *s, void *to)
{
	struct dcm_option element = table__element(row);
	size_t size = table__size_of(&element);
	bool alone = s->node->kind == NODE_SCALAR && (row->flags & DCM_OPT_ONE_IS_LIST);
	uint32_t n = alone ? 1 : s->node->n;

	if (s->node->kind == NODE_SCALAR && !alone && !may_be_secret(&element)) {
		report(f, &s->at, "must be a list, not a single value; write [%.80s]", s->node->text.p);
		return;
	}
	if (!alone && (!is_of_kind(f, s, NODE_LIST) || n == 0))
		return;
	char *items = allocate(f, &s->at, n, size);
	for (uint32_t i = 0; items && i < n; i++) {
		size_t mark = path__push_index(&f->path, i);
		fill_element(f, &element, alone ? s->node : s->node->items[i], s->no_env,
			     items + i * size);
		path__pop(&f->path, mark);
	}
	*(struct dcm_list *)to = (struct dcm_list){ items, items ? n : 0 };
}

static void fill_map(struct filler *f, const struct dcm_option *row, const struct spot *s, void *to)
{
	struct dcm_option element = table__element(row);
	size_t size = table__size_of(&element);

	if (!is_of_kind(f, s, NODE_MAP) || s->node->n == 0)
		return;
	uint32_t n = s->node->n;
	const char **keys = allocate(f, &s->at, n, sizeof(*keys));
	char *items = keys ? allocate(f, &s->at, n, size) : NULL;
	for (uint32_t i = 0; items && i < n; i++) {
		const struct member *m = &s->node->members[i];
		size_t mark = path__push(&f->path, m->key.p);
		keys[i] = keep_text(f, m->key).p;
		fill_element(f, &element, m->value, s->no_env, items + i * size);
		path__pop(&f->path, mark);
	}
	*(struct dcm_map *)to = (struct dcm_map){ keys, items, items ? n : 0 };
}

/* "a, b, c" of the table's names; longer lists end in "...". */
static void list_names(const struct dcm_table *table, unsigned depth, struct buf *out, unsigned *n)
{
	for (uint32_t i = 0; i < table->n_options; i++) {
		struct dcm_option row = table__row(table, i);

		if (!row.name[0]) {
			if (row.type == DCM_OPT_STRUCT && depth < TABLE_MAX_DEPTH)
				list_names(row.table, depth + 1, out, n);
			continue;
		}
		if (*n < KNOWN_SHOWN)
			buf__printf(out, "%s%s", *n ? ", " : "", row.name);
		else if (*n == KNOWN_SHOWN)
			buf__text(out, ", ...");
		++*n;
	}
}

/* SECRET rows also answer to NAME_file; true when `key` is one of those. */
static bool offer_names(const struct dcm_table *table, unsigned depth, struct suggest *near,
			struct dcm_str key)
{
	for (uint32_t i = 0; i < table->n_options; i++) {
		struct dcm_option row = table__row(table, i);
		struct dcm_str stem = { key.p, key.n - 5 };

		if (row.name[0])
			suggest__offer(near, row.name);
		else if (row.type == DCM_OPT_STRUCT && depth < TABLE_MAX_DEPTH &&
			 offer_names(row.table, depth + 1, near, key))
			return true;
		if (row.type == DCM_OPT_SECRET && str__ends(key, STR("_file")) &&
		    str__eq(stem, str__of(row.name)))
			return true;
	}
	return false;
}

static const char *const no_names[] = { NULL };

/* Keys that the table takes from other programs' files without a meaning of its own. */
static const char *const *ignored_names(const struct dcm_table *table)
{
	return DCM_HAS(table, ignored) && table->ignored ? table->ignored : no_names;
}

/* Keys of such files for what nobody does here. */
static const char *const *absent_names(const struct dcm_table *table)
{
	bool has = DCM_HAS(table, absent_means) && table->absent && table->absent_means;

	return has ? table->absent : no_names;
}

static bool is_among(const char *const *names, struct dcm_str key)
{
	for (; *names; names++)
		if (str__eq(key, str__of(*names)))
			return true;
	return false;
}

static void offer_all(struct suggest *near, const char *const *names)
{
	for (; *names; names++)
		suggest__offer(near, *names);
}

/* Is it a key that the table takes and does nothing with? The warning says so. */
static bool take_for_nothing(struct filler *f, const struct dcm_table *table, const struct member *m)
{
	char text[sizeof(((struct dcm_error *)NULL)->text)];

	if (is_among(absent_names(table), m->key))
		snprintf(text, sizeof(text), "\"%.64s\" is not supported, and is ignored: %s",
			 m->key.p, table->absent_means);
	else if (is_among(ignored_names(table), m->key))
		snprintf(text, sizeof(text), "\"%.64s\" has no meaning here, and is ignored", m->key.p);
	else
		return false;
	report_as(f, PROBLEM_WARNING, &m->at, text);
	return true;
}

/* Is the key one of the tables'? Reports it when not. */
static void check_key(struct filler *f, const struct member *m, const struct options_part *parts,
		      uint32_t n_parts, const char *what)
{
	struct suggest near = suggest__begin(m->key);
	struct dcm_option row;
	struct buf names = { 0 };
	unsigned n = 0;
	char hint[128];

	for (uint32_t i = 0; i < n_parts; i++)
		if (table__find(parts[i].table, m->key, &row))
			return;
	for (uint32_t i = 0; i < n_parts; i++)
		if (take_for_nothing(f, parts[i].table, m))
			return;
	for (uint32_t i = 0; i < n_parts; i++)
		if (offer_names(parts[i].table, 0, &near, m->key))
			return;
	for (uint32_t i = 0; i < n_parts; i++) {
		offer_all(&near, ignored_names(parts[i].table));
		offer_all(&near, absent_names(parts[i].table));
	}
	for (uint32_t i = 0; !near.best && i < n_parts; i++)
		list_names(parts[i].table, 0, &names, &n);
	struct dcm_str known = buf__view(&names);
	report(f, &m->at, "unknown %s \"%.64s\"%s%s%.*s", what, m->key.p, suggest__text(&near, hint),
	       near.best ? ""
	       : known.n ? "; there are "
			 : "; there are none",
	       STR_ARG(known));
	buf__fini(&names);
}

/*
 * One row of a union: does its key (of a secret: or NAME_file) stand in the map, and if so, its
 * value.
 */
static void fill_kind(struct filler *f, const struct dcm_table *table, uint32_t i,
		      const struct spot *s, struct dcm_union *to)
{
	struct dcm_option kind = table__row(table, i);
	const struct member *m = tree__member(s->node, str__of(kind.name));
	const struct member *file = NULL;
	bool no_env = s->no_env || (kind.flags & DCM_OPT_NO_ENV);

	if (kind.type == DCM_OPT_SECRET)
		file = secret_file(table, &kind, s->node);
	if (!m && !file)
		return;
	if (to->value) {
		struct dcm_option first = table__row(table, (uint32_t)to->which);
		report(f, m ? &m->at : &file->at, "%s stands beside %s; keep one of the two",
		       kind.name, first.name);
		return;
	}
	to->value = allocate(f, &s->at, 1, table__size_of(&kind));
	to->which = (int32_t)i;
	if (!to->value)
		return;
	if (file) {
		fill_secret_file(f, table, &kind, s->node, no_env, to->value);
		return;
	}
	size_t mark = path__push(&f->path, kind.name);
	fill_element(f, &kind, m->value, no_env, to->value);
	path__pop(&f->path, mark);
}

static void fill_union(struct filler *f, const struct dcm_option *row, const struct spot *s,
		       struct dcm_union *to)
{
	struct options_part part = { row->table, NULL };

	*to = (struct dcm_union){ -1, NULL };
	if (!is_of_kind(f, s, NODE_MAP))
		return;
	for (uint32_t i = 0; i < s->node->n; i++)
		check_key(f, &s->node->members[i], &part, 1, "kind");
	for (uint32_t i = 0; i < row->table->n_options; i++)
		fill_kind(f, row->table, i, s, to);
	if (s->node->n == 0)
		report(f, &s->at, "is an empty map; name the kind");
}

static void fill_value(struct filler *f, const struct dcm_option *row, const struct spot *s, void *to)
{
	struct spot inner = *s;

	inner.no_env |= row->flags & DCM_OPT_NO_ENV;
	if (f->depth >= DEPTH_MAX) {
		report(f, &s->at, "is nested too deep");
		return;
	}
	f->depth++;
	switch (row->type) {
	case DCM_OPT_STRUCT:
		fill_struct(f, row->table, &inner, true, to);
		break;
	case DCM_OPT_LIST:
		fill_list(f, row, &inner, to);
		break;
	case DCM_OPT_MAP:
		fill_map(f, row, &inner, to);
		break;
	case DCM_OPT_UNION:
		fill_union(f, row, &inner, to);
		break;
	case DCM_OPT_JSON:
		fill_json(f, &inner, to);
		break;
	default:
		fill_scalar(f, row, &inner, to);
		break;
	}
	f->depth--;
}

/* The default, read like a value of the file. */
static void fill_default(struct filler *f, const struct dcm_option *row, const struct spot *s, void *to)
{
	struct node scalar = { .kind = NODE_SCALAR, .text = str__of(row->def) };
	struct spot def = { &scalar, s->at, s->no_env };
	CLEANUP(tree__freep) struct tree *t = NULL;
	struct dcm_error err = DCM_ERROR_INIT;

	if (row->type == DCM_OPT_UNION)
		((struct dcm_union *)to)->which = -1;
	if (!row->def) {
		def.node = NULL;
		if (row->type == DCM_OPT_STRUCT)
			fill_struct(f, row->table, &def, false, to);
		return;
	}
	if (!table__is_scalar(row->type)) {
		int r = tree__load_text("default", str__of(row->def), &t, &err);
		if (r == -ENOMEM)
			no_memory(f);
		else if (r)
			report(f, &s->at, "%s", err.text);
		if (r)
			return;
		def.node = t->root;
	}
	fill_value(f, row, &def, to);
}

/* One row of a struct whose map is s->node (NULL: nothing is set there). */
static void fill_row(struct filler *f, const struct dcm_table *table, const struct dcm_option *row,
		     const struct spot *s, bool given, char *to)
{
	const struct member *m = tree__member(s->node, str__of(row->name));
	bool no_env = s->no_env || (row->flags & DCM_OPT_NO_ENV);
	size_t mark = path__push(&f->path, row->name);
	struct spot value = { m ? m->value : NULL, m ? m->value->at : s->at, no_env };

	if (row->type == DCM_OPT_UNION)
		((struct dcm_union *)(to + row->offset))->which = -1;
	if (m && !node__is_null(m->value)) {
		if (!table__is_scalar(row->type))
			fill_value(f, row, &value, to + row->offset);
		else if (!fill_scalar(f, row, &value, to + row->offset))
			fill_default(f, row, &value, to + row->offset);
		if (row->type == DCM_OPT_SECRET) {
			path__pop(&f->path, mark);
			fill_secret_file(f, table, row, s->node, no_env, to + row->offset);
			return;
		}
	} else {
		path__pop(&f->path, mark);
		if (row->type == DCM_OPT_SECRET &&
		    fill_secret_file(f, table, row, s->node, no_env, to + row->offset))
			return;
		if (given && (row->flags & DCM_OPT_REQUIRED)) {
			report(f, &value.at, "%s is missing; add \"%s: ...\"%s", row->name,
			       row->name, row->type == DCM_OPT_SECRET ? " or its _file" : "");
			return;
		}
		mark = path__push(&f->path, row->name);
		fill_default(f, row, &value, to + row->offset);
	}
	path__pop(&f->path, mark);
}

/* What a table's check says stands at the option whose path its sentence begins with. */
static void report_check(struct filler *f, const struct spot *s, const char *sentence)
{
	const struct place *at = path__place(s->node, sentence);

	report(f, at ? at : &s->at, "%s", sentence);
}

/*
 * The rows of a table from a map that is known to be one, or NULL; keys are checked by the caller.
 */
static void fill_rows(struct filler *f, const struct dcm_table *table, const struct spot *s,
		      bool given, void *to)
{
	const struct problems *p = f->env->problems;
	uint32_t n_before = p->n_errors;
	struct dcm_error err = DCM_ERROR_INIT;

	if (f->depth >= DEPTH_MAX) {
		report(f, &s->at, "is nested too deep");
		return;
	}
	f->depth++;
	for (uint32_t i = 0; i < table->n_options; i++) {
		struct dcm_option row = table__row(table, i);

		if (row.name[0]) {
			fill_row(f, table, &row, s, given, to);
		} else if (row.type == DCM_OPT_STRUCT) {
			struct spot inner = *s;
			inner.no_env |= row.flags & DCM_OPT_NO_ENV;
			fill_rows(f, row.table, &inner, given, (char *)to + row.offset);
		}
	}
	f->depth--;
	if (!given || p->n_errors != n_before || p->no_memory)
		return;
	int r = table__run_check(table, to, &err);
	if (r == -ENOMEM)
		no_memory(f);
	else if (r)
		report_check(f, s, err.text[0] ? err.text : "is refused");
}

static void fill_struct(struct filler *f, const struct dcm_table *table, const struct spot *s,
			bool given, void *to)
{
	struct options_part part = { table, to };
	struct dcm_option inner;

	if (table__is_transparent(table, &inner)) {
		if (s->node)
			fill_value(f, &inner, s, (char *)to + inner.offset);
		else
			fill_default(f, &inner, s, (char *)to + inner.offset);
		return;
	}
	if (s->node && !is_of_kind(f, s, NODE_MAP))
		return;
	for (uint32_t i = 0; s->node && i < s->node->n; i++)
		check_key(f, &s->node->members[i], &part, 1, "option");
	fill_rows(f, table, s, given, to);
}

/* What both ways of filling share; strict: a key that no part knows is an error. */
static int fill_parts(const struct options_env *env, const char *object, const struct node *node,
		      struct options_part *parts, uint32_t n_parts, bool strict)
{
	struct filler f = { .env = env, .object = object };
	uint32_t n_before = env->problems->n_errors;
	void *values[OPTIONS_PARTS_MAX] = { NULL };
	struct spot s = { NULL, { NULL, 0, 0 }, false };

	if (n_parts > OPTIONS_PARTS_MAX)
		return -EINVAL;
	if (node && !node__is_null(node))
		s.node = node;
	if (node)
		s.at = node->at;
	if (s.node && !is_of_kind(&f, &s, NODE_MAP))
		return -EINVAL;
	for (uint32_t i = 0; strict && s.node && i < s.node->n; i++)
		check_key(&f, &s.node->members[i], parts, n_parts, "option");
	for (uint32_t i = 0; i < n_parts; i++) {
		values[i] = allocate(&f, &s.at, 1, parts[i].table->struct_size);
		if (values[i])
			fill_rows(&f, parts[i].table, &s, true, values[i]);
	}
	if (env->problems->no_memory)
		return -ENOMEM;
	if (env->problems->n_errors != n_before)
		return -EINVAL;
	for (uint32_t i = 0; i < n_parts; i++)
		parts[i].value = values[i];
	return 0;
}

int options__fill(const struct options_env *env, const char *object, const struct node *node,
		  struct options_part *parts, uint32_t n_parts)
{
	return fill_parts(env, object, node, parts, n_parts, true);
}

int options__try_defaults(const struct options_env *env, const struct dcm_table *table)
{
	struct filler f = { .env = env };
	struct spot s = { NULL, { NULL, 0, 0 }, false };
	void *value = allocate(&f, &s.at, 1, table->struct_size);

	if (value)
		fill_struct(&f, table, &s, false, value);
	return problems__code(env->problems);
}

void *options__peek(const struct options_env *env, const char *object, const struct node *node,
		    const struct dcm_table *table)
{
	struct options_part part = { table, NULL };

	return fill_parts(env, object, node, &part, 1, false) ? NULL : part.value;
}

void *options__fill_one(const struct options_env *env, const char *object, const struct node *node,
			const struct dcm_table *table)
{
	struct options_part part = { table, NULL };

	return options__fill(env, object, node, &part, 1) ? NULL : part.value;
}
