/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/contract/storage_sql.c - tables, and the SQL behind each question
 *
 *	profile      one for each type of each profile written
 *	row          rows of one (stack, label set) of a profile added up
 *	series_label, set_label
 *
 * `every` is all rows with their profiles, and one row without a stack for a profile that has none.
 * `increase` is what each row of a cumulative profile adds over the profile before.
 */
#include "tests/contract/storage_sql.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

#include "core/base/str.h"
#include "core/batch/identity.h"
#include "core/batch/type.h"
#include "core/config/regex.h"

struct sql {
	sqlite3 *db;
	const struct dcm_select *sel; /* of the question at hand: what matches() looks at */
};

static const char schema[] =
	"CREATE TABLE seen(lo, hi, sequence);"
	"CREATE TABLE series(id INTEGER PRIMARY KEY, labels TEXT UNIQUE);"
	"CREATE TABLE series_label(series, name TEXT, value TEXT);"
	"CREATE TABLE sset(id INTEGER PRIMARY KEY, labels TEXT UNIQUE);"
	"CREATE TABLE set_label(sset, name TEXT, value TEXT);"
	"CREATE TABLE profile(id INTEGER PRIMARY KEY AUTOINCREMENT, series, type TEXT, "
	"temporality, time_ms, duration,"
	"  period);"
	"CREATE TABLE raw(profile, stack TEXT, sset, value);"
	"CREATE INDEX raw_profile ON raw(profile);"
	"CREATE INDEX profile_i ON profile(series, type, temporality, time_ms);"
	"CREATE INDEX series_label_i ON series_label(series, name);"
	"CREATE INDEX set_label_i ON set_label(sset, name);"
	"CREATE VIEW row AS SELECT profile, stack, sset, SUM(value) AS value FROM raw GROUP BY "
	"profile, stack, sset;"
	/* One row a profile and row, or one without a stack. */
	"CREATE VIEW every AS SELECT p.*, r.stack, r.sset, r.value FROM profile p JOIN row r ON "
	"r.profile = p.id"
	"  UNION ALL SELECT p.*, NULL, 0, 0 FROM profile p WHERE NOT EXISTS (SELECT 1 FROM raw "
	"WHERE profile = p.id);"
	"CREATE VIEW before AS SELECT p.id, (SELECT q.id FROM profile q WHERE q.series = p.series "
	"AND q.type = p.type AND"
	"  q.temporality = p.temporality AND q.time_ms < p.time_ms ORDER BY q.time_ms DESC LIMIT "
	"1) AS prev FROM profile p"
	"  WHERE p.temporality = 2;"
	/* Materialised by refresh(): views of views of views are slow. */
	"CREATE TABLE m_row(profile, stack, sset, value);"
	"CREATE INDEX m_row_i ON m_row(profile, stack, sset);"
	"CREATE TABLE m_before(id INTEGER PRIMARY KEY, prev, reset);"
	"CREATE TABLE increase(profile, stack, sset, value);"
	"CREATE INDEX increase_i ON increase(profile, stack, sset);"
	"CREATE TABLE m_every(id, series, type, temporality, time_ms, duration, period, stack, "
	"sset, value);";

static void check(struct sql *s, int code)
{
	if (code != SQLITE_OK && code != SQLITE_ROW && code != SQLITE_DONE) {
		fprintf(stderr, "sqlite: %s\n", sqlite3_errmsg(s->db));
		abort();
	}
}

static void run(struct sql *s, const char *text)
{
	check(s, sqlite3_exec(s->db, text, NULL, NULL, NULL));
}

static struct dcm_str text_of(sqlite3_value *v)
{
	return (struct dcm_str){ (const char *)sqlite3_value_text(v), (uint32_t)sqlite3_value_bytes(v) };
}

/* accepts(matcher, value) */
static void sql_accepts(sqlite3_context *ctx, int n, sqlite3_value **v)
{
	const struct sql *s = sqlite3_user_data(ctx);
	const struct dcm_matcher *m = &s->sel->matchers[sqlite3_value_int(v[0])];
	struct dcm_str value = text_of(v[1]);
	bool yes = false;
	(void)n;

	switch (m->op) {
	case DCM_EQ:
		yes = str__eq(value, m->value);
		break;
	case DCM_NE:
		yes = !str__eq(value, m->value);
		break;
	case DCM_RE:
		yes = regex__matches(m->regex, value);
		break;
	case DCM_NRE:
		yes = !regex__matches(m->regex, value);
		break;
	}
	sqlite3_result_int(ctx, yes);
}

/* floor_div(a, b), b > 0 */
static void sql_floor_div(sqlite3_context *ctx, int n, sqlite3_value **v)
{
	int64_t a = sqlite3_value_int64(v[0]), b = sqlite3_value_int64(v[1]);
	(void)n;

	sqlite3_result_int64(ctx, a / b - (a % b < 0));
}

struct sql *sql__new(void)
{
	struct sql *s = calloc(1, sizeof(*s));

	check(s, sqlite3_open(":memory:", &s->db));
	check(s, sqlite3_create_function(s->db, "accepts", 2, SQLITE_UTF8, s, sql_accepts, NULL, NULL));
	check(s, sqlite3_create_function(s->db, "floor_div", 2, SQLITE_UTF8, s, sql_floor_div, NULL,
					 NULL));
	run(s, schema);
	run(s, "INSERT INTO sset VALUES(0, '')");
	return s;
}

void sql__free(struct sql *s)
{
	if (!s)
		return;
	sqlite3_close(s->db);
	free(s);
}

static sqlite3_stmt *prepare(struct sql *s, const char *text)
{
	sqlite3_stmt *st = NULL;

	check(s, sqlite3_prepare_v2(s->db, text, -1, &st, NULL));
	return st;
}

static void bind_str(sqlite3_stmt *st, int at, struct dcm_str v)
{
	sqlite3_bind_text(st, at, v.n ? v.p : "", (int)v.n, SQLITE_TRANSIENT);
}

static int64_t single(struct sql *s, sqlite3_stmt *st, int64_t otherwise)
{
	int code = sqlite3_step(st);
	int64_t v = code == SQLITE_ROW ? sqlite3_column_int64(st, 0) : otherwise;

	check(s, code);
	sqlite3_finalize(st);
	return v;
}

static void finish(struct sql *s, sqlite3_stmt *st)
{
	check(s, sqlite3_step(st));
	sqlite3_finalize(st);
}

/* -------------------------------------------------------------------------------------------------
 * Writing
 */

/* The id of a text in series or sset; *ret_new when it had to be made. */
static int64_t id_of(struct sql *s, const char *table, const struct buf *labels, bool *ret_new)
{
	char text[128];
	snprintf(text, sizeof(text), "SELECT id FROM %s WHERE labels = ?", table);
	sqlite3_stmt *st = prepare(s, text);
	bind_str(st, 1, buf__view(labels));
	int64_t id = single(s, st, -1);

	*ret_new = id < 0;
	if (id >= 0)
		return id;
	snprintf(text, sizeof(text), "INSERT INTO %s(labels) VALUES(?)", table);
	st = prepare(s, text);
	bind_str(st, 1, buf__view(labels));
	finish(s, st);
	return sqlite3_last_insert_rowid(s->db);
}

static void insert_label(struct sql *s, const char *table, int64_t of, struct dcm_str name,
			 struct dcm_str value)
{
	char text[128];
	snprintf(text, sizeof(text), "INSERT INTO %s VALUES(?, ?, ?)", table);
	sqlite3_stmt *st = prepare(s, text);

	sqlite3_bind_int64(st, 1, of);
	bind_str(st, 2, name);
	bind_str(st, 3, value);
	finish(s, st);
}

static int64_t put_series(struct sql *s, const struct dcm_batch *b, uint32_t series)
{
	struct dcm_span span = b->series[series];
	struct buf text = { 0 };
	bool is_new;

	for (uint32_t i = 0; i < span.n; i++)
		buf__printf(&text, "%.*s=%.*s,", STR_ARG(b->strings[b->pairs[span.off + i].name]),
			    STR_ARG(b->strings[b->pairs[span.off + i].value]));
	int64_t id = id_of(s, "series", &text, &is_new);
	for (uint32_t i = 0; is_new && i < span.n; i++)
		insert_label(s, "series_label", id, b->strings[b->pairs[span.off + i].name],
			     b->strings[b->pairs[span.off + i].value]);
	buf__fini(&text);
	return id;
}

static int64_t put_set(struct sql *s, const struct dcm_batch *b, uint32_t set)
{
	struct dcm_span span = b->label_sets[set];
	struct buf text = { 0 };
	bool is_new;

	for (uint32_t i = 0; i < span.n; i++) {
		const struct dcm_label *l = &b->labels[span.off + i];
		buf__printf(&text, "%.*s=%.*s/%" PRId64 "/%u%.*s,", STR_ARG(b->strings[l->name]),
			    STR_ARG(b->strings[l->str]), l->num, l->unit == DCM_NONE,
			    STR_ARG(b->strings[l->unit == DCM_NONE ? 0 : l->unit]));
	}
	int64_t id = id_of(s, "sset", &text, &is_new);
	for (uint32_t i = 0; is_new && i < span.n; i++) {
		const struct dcm_label *l = &b->labels[span.off + i];
		char number[24];

		snprintf(number, sizeof(number), "%" PRId64, l->num);
		insert_label(s, "set_label", id, b->strings[l->name],
			     l->unit == DCM_NONE ? b->strings[l->str] : str__of(number));
	}
	buf__fini(&text);
	return id;
}

static void put_profile(struct sql *s, const struct dcm_batch *b, const struct dcm_profile *p, uint32_t k)
{
	const struct dcm_type *t = &b->types[p->type_off + k];
	int64_t time_ms = p->time_ns / 1000000 - (p->time_ns % 1000000 < 0);
	int64_t series = put_series(s, b, p->series);
	char type[1024];
	type__format(b, t, type, sizeof(type));

	if (t->temporality != DCM_DELTA) {
		sqlite3_stmt *st = prepare(
			s,
			"DELETE FROM profile WHERE series = ? AND type = ? AND temporality = ? AND "
			"time_ms = ?");
		sqlite3_bind_int64(st, 1, series);
		bind_str(st, 2, str__of(type));
		sqlite3_bind_int64(st, 3, t->temporality);
		sqlite3_bind_int64(st, 4, time_ms);
		finish(s, st);
		run(s, "DELETE FROM raw WHERE profile NOT IN (SELECT id FROM profile)");
	}
	sqlite3_stmt *st = prepare(s, "INSERT INTO profile VALUES(NULL, ?, ?, ?, ?, ?, ?)");
	sqlite3_bind_int64(st, 1, series);
	bind_str(st, 2, str__of(type));
	sqlite3_bind_int64(st, 3, t->temporality);
	sqlite3_bind_int64(st, 4, time_ms);
	sqlite3_bind_int64(st, 5, p->duration_ns);
	sqlite3_bind_int64(st, 6, p->period);
	finish(s, st);
	int64_t id = sqlite3_last_insert_rowid(s->db);

	st = prepare(s, "INSERT INTO raw VALUES(?, ?, ?, ?)");
	for (uint32_t i = 0; i < p->n_rows; i++) {
		struct buf stack = { 0 };

		answers__put_hash(&stack, identity__stack(b, b->row_stacks[p->row_off + i]));
		sqlite3_bind_int64(st, 1, id);
		bind_str(st, 2, buf__view(&stack));
		sqlite3_bind_int64(st, 3, put_set(s, b, b->row_labels[p->row_off + i]));
		sqlite3_bind_int64(st, 4, b->values[p->value_off + (uint64_t)i * p->n_types + k]);
		check(s, sqlite3_step(st));
		sqlite3_reset(st);
		buf__fini(&stack);
	}
	sqlite3_finalize(st);
}

/* What the questions read. */
static void refresh(struct sql *s)
{
	run(s,
	    "DELETE FROM m_row; INSERT INTO m_row SELECT * FROM row;"
	    "DELETE FROM m_every; INSERT INTO m_every SELECT * FROM every;"
	    "DELETE FROM m_before; INSERT INTO m_before SELECT id, prev,"
	    "  EXISTS(SELECT 1 FROM m_row o LEFT JOIN m_row n ON n.profile = b.id AND n.stack = "
	    "o.stack AND"
	    "         n.sset = o.sset WHERE o.profile = b.prev AND COALESCE(n.value, 0) < o.value) "
	    "OR"
	    "  EXISTS(SELECT 1 FROM m_row n WHERE n.profile = b.id AND n.value < 0 AND NOT EXISTS"
	    "         (SELECT 1 FROM m_row o WHERE o.profile = b.prev AND o.stack = n.stack AND "
	    "o.sset = n.sset))"
	    "  FROM before b;"
	    "DELETE FROM increase; INSERT INTO increase SELECT n.profile, n.stack, n.sset, n.value "
	    "-"
	    "  CASE WHEN b.reset THEN 0 ELSE COALESCE((SELECT o.value FROM m_row o WHERE o.profile "
	    "= b.prev AND"
	    "  o.stack = n.stack AND o.sset = n.sset), 0) END FROM m_row n JOIN m_before b ON b.id "
	    "= n.profile"
	    "  WHERE b.prev IS NOT NULL");
}

void sql__write(struct sql *s, const struct dcm_batch *batch)
{
	sqlite3_stmt *st = prepare(
		s, "SELECT COUNT(*) FROM seen WHERE lo = ? AND hi = ? AND sequence = ?");

	sqlite3_bind_int64(st, 1, (int64_t)batch->id.source.lo);
	sqlite3_bind_int64(st, 2, (int64_t)batch->id.source.hi);
	sqlite3_bind_int64(st, 3, (int64_t)batch->id.sequence);
	if (single(s, st, 0))
		return;
	run(s, "BEGIN");
	st = prepare(s, "INSERT INTO seen VALUES(?, ?, ?)");
	sqlite3_bind_int64(st, 1, (int64_t)batch->id.source.lo);
	sqlite3_bind_int64(st, 2, (int64_t)batch->id.source.hi);
	sqlite3_bind_int64(st, 3, (int64_t)batch->id.sequence);
	finish(s, st);
	for (uint32_t i = 0; i < batch->n_profiles; i++)
		for (uint32_t k = 0; k < batch->profiles[i].n_types; k++)
			put_profile(s, batch, &batch->profiles[i], k);
	refresh(s);
	run(s, "COMMIT");
}

/* -------------------------------------------------------------------------------------------------
 * Questions
 */

/* A name as an SQL string. */
static void put_quoted(struct buf *q, struct dcm_str s)
{
	buf__byte(q, '\'');
	for (uint32_t i = 0; i < s.n; i++) {
		if (s.p[i] == '\'')
			buf__byte(q, '\'');
		buf__byte(q, (uint8_t)s.p[i]);
	}
	buf__byte(q, '\'');
}

/* The row's value of a name, or NULL: the series' label hides the sample's. */
static void put_value(struct buf *q, struct dcm_str name)
{
	buf__text(q,
		  "COALESCE((SELECT value FROM series_label WHERE series = e.series AND name = ");
	put_quoted(q, name);
	buf__text(q, "), (SELECT value FROM set_label WHERE sset = e.sset AND name = ");
	put_quoted(q, name);
	buf__text(q, "))");
}

/* WITH m AS (the rows that match, with their group g). */
static void put_matching(struct sql *s, struct buf *q, const struct asked *a, uint32_t side)
{
	const struct dcm_select *sel = &a->sel[side];

	s->sel = sel;
	buf__text(q, "WITH m AS (SELECT e.*, ");
	if (a->what == ASK_POINTS && a->step_ms == 0 && a->by.n == 0)
		buf__text(q, "(SELECT labels FROM series WHERE id = e.series)");
	else
		buf__text(q, "''");
	for (uint32_t i = 0; i < a->by.n; i++) {
		buf__text(q, " || ");
		put_quoted(q, a->by.labels[i]);
		buf__text(q, " || '=' || COALESCE(");
		put_value(q, a->by.labels[i]);
		buf__text(q, ", '') || ','");
	}
	buf__printf(q, " AS g FROM m_every e WHERE e.time_ms >= %" PRId64 " AND e.time_ms < %" PRId64,
		    sel->from_ms, sel->to_ms);
	if (sel->type.n) {
		buf__text(q, " AND e.type = ");
		put_quoted(q, sel->type);
	}
	for (uint32_t i = 0; i < sel->n_matchers; i++) {
		buf__printf(q, " AND accepts(%u, COALESCE(", i);
		put_value(q, sel->matchers[i].name);
		buf__text(q, ", ''))");
	}
	buf__text(q, ") ");
}

/* Prints the columns of every row of the answer, with '|' between them. */
static void answer(struct sql *s, struct buf *q, struct buf *out)
{
	sqlite3_stmt *st;
	int code;

	buf__byte(q, '\0');
	st = prepare(s, (const char *)q->data);
	while ((code = sqlite3_step(st)) == SQLITE_ROW) {
		for (int i = 0; i < sqlite3_column_count(st); i++) {
			const char *p = (const char *)sqlite3_column_text(st, i);

			if (i > 0)
				buf__byte(out, '|');
			buf__append(out, p ? p : "", (size_t)sqlite3_column_bytes(st, i));
		}
		buf__byte(out, '\n');
	}
	check(s, code);
	sqlite3_finalize(st);
	buf__fini(q);
	*q = (struct buf){ 0 };
}

/* The step in which alias's profile begins; WHOLE_RANGE: all in one. */
#define WHOLE_RANGE -1
static void put_bucket(struct buf *q, const char *alias, int64_t step_ms)
{
	if (step_ms > 0)
		buf__printf(q, "floor_div(%s.time_ms, %" PRId64 ") * %" PRId64, alias, step_ms, step_ms);
	else
		buf__printf(q, step_ms == 0 ? "%s.time_ms + 0" : "%s.time_ms * 0", alias);
}

/* k: the row's stack when the whole range is merged, else its step. */
static void put_key(struct buf *q, int64_t step_ms)
{
	if (step_ms == WHOLE_RANGE)
		buf__text(q, "m.stack");
	else
		put_bucket(q, "m", step_ms);
	buf__text(q, " AS k");
}

/*
 * SELECT g, k, value in fixed point: cumulative and delta rows added up; a gauge's sum by series
 * and step divided by the number of profiles that the series has there, whether they match or not.
 */
static void put_sums(struct buf *q, const struct dcm_select *sel, int64_t step_ms)
{
	buf__text(q, "SELECT g, ");
	put_key(q, step_ms);
	buf__text(q, ", SUM(value) * 1048576 AS v FROM m WHERE temporality = 0 AND stack IS NOT "
		     "NULL GROUP BY g, k "
		     "UNION ALL SELECT g, ");
	put_key(q, step_ms);
	buf__text(q, ", SUM((SELECT i.value FROM increase i WHERE i.profile = m.id AND i.stack = "
		     "m.stack AND "
		     "i.sset = m.sset)) * 1048576 AS v FROM m WHERE temporality = 2 AND stack IS "
		     "NOT NULL GROUP BY g, k "
		     "UNION ALL SELECT g, k, floor_div(2 * 1048576 * SUM(value) + n, 2 * n) AS v "
		     "FROM (SELECT g, ");
	put_key(q, step_ms);
	buf__text(q, ", series, type, ");
	put_bucket(q, "m", step_ms);
	buf__printf(q,
		    " AS b, value, (SELECT COUNT(*) FROM profile p WHERE p.series = m.series AND "
		    "p.type = m.type AND "
		    "p.temporality = 1 AND p.time_ms >= %" PRId64 " AND p.time_ms < %" PRId64
		    " AND (",
		    sel->from_ms, sel->to_ms);
	put_bucket(q, "p", step_ms);
	buf__text(q, ") = (");
	put_bucket(q, "m", step_ms);
	buf__text(q, ")) AS n FROM m WHERE temporality = 1 AND stack IS NOT NULL) GROUP BY g, k, "
		     "series, type, b, n");
}

static void ask_points(struct sql *s, const struct asked *a, struct buf *out)
{
	struct buf q = { 0 };

	put_matching(s, &q, a, 0);
	buf__text(&q, ", sums AS (");
	put_sums(&q, &a->sel[0], a->step_ms);
	buf__text(&q, "), counts AS (SELECT g, k, SUM(duration) AS d, COUNT(*) AS n FROM (SELECT "
		      "DISTINCT g, ");
	put_key(&q, a->step_ms);
	buf__text(&q,
		  ", id, duration FROM m) GROUP BY g, k) "
		  "SELECT c.g, c.k, COALESCE((SELECT floor_div(SUM(v) + 524288, 1048576) FROM sums "
		  "WHERE "
		  "sums.g = c.g AND sums.k = c.k), 0), c.d, c.n FROM counts c ORDER BY c.g, c.k");
	answer(s, &q, out);
}

/* What one selection contributes, into a temporary table. */
static void merge_side(struct sql *s, const struct asked *a, uint32_t side)
{
	struct buf q = { 0 };

	buf__text(&q, "INSERT INTO merged ");
	put_matching(s, &q, a, side);
	buf__printf(&q, "SELECT g, k, %u, floor_div(SUM(v) + 524288, 1048576) FROM (", side);
	put_sums(&q, &a->sel[side], WHOLE_RANGE);
	buf__text(&q, ") GROUP BY g, k");
	answer(s, &q, NULL);
}

static void ask_merge(struct sql *s, const struct asked *a, struct buf *out)
{
	struct buf q = { 0 };
	int64_t from = a->sel[0].from_ms;

	run(s, "CREATE TEMP TABLE merged(g, k, side, v)");
	for (uint32_t i = 0; i < a->n_sel; i++) {
		merge_side(s, a, i);
		from = a->sel[i].from_ms < from ? a->sel[i].from_ms : from;
	}
	run(s, "DELETE FROM merged WHERE (g, k) NOT IN (SELECT g, k FROM merged WHERE v != 0)");
	/* Heads: of the profiles of the first selection. */
	put_matching(s, &q, a, 0);
	buf__printf(&q, "SELECT h.g, 'head', %" PRId64 " * 1000000, COALESCE(c.d, 0), COALESCE(c.p, 0), ",
		    from);
	put_quoted(&q, a->sel[0].type);
	if (a->n_sel > 1) {
		buf__text(&q, ", ");
		put_quoted(&q, a->sel[1].type);
	}
	buf__text(&q, " FROM (SELECT DISTINCT g FROM merged) h LEFT JOIN (SELECT g, SUM(duration) "
		      "AS d, CASE WHEN "
		      "MIN(period) = MAX(period) THEN MIN(period) ELSE 0 END AS p FROM (SELECT "
		      "DISTINCT g, id, duration, "
		      "period FROM m) GROUP BY g) c ON c.g = h.g");
	answer(s, &q, out);
	buf__text(&q, "SELECT g, k, SUM(CASE WHEN side = 0 THEN v ELSE 0 END), SUM(CASE WHEN side "
		      "= 1 THEN v ELSE 0 END) "
		      "FROM merged GROUP BY g, k");
	answer(s, &q, out);
	run(s, "DROP TABLE merged");
	for (uint32_t i = 0; i < a->n_sel; i++) {
		put_matching(s, &q, a, i);
		buf__printf(&q,
			    "SELECT 'side', %u, COUNT(*), COALESCE(SUM(duration), 0), CASE WHEN "
			    "MIN(period) = MAX(period) THEN MIN(period) ELSE 0 END FROM "
			    "(SELECT DISTINCT id, duration, period FROM m)",
			    i);
		answer(s, &q, out);
	}
	if (out->n)
		answers__sort_lines(out);
}

void sql__ask(struct sql *s, const struct asked *a, struct buf *out)
{
	struct buf q = { 0 };

	switch (a->what) {
	case ASK_TYPES:
		put_matching(s, &q, a, 0);
		buf__text(&q, "SELECT type, temporality, COUNT(DISTINCT id), MIN(time_ms), "
			      "MAX(time_ms) FROM m "
			      "GROUP BY type, temporality ORDER BY type, temporality");
		answer(s, &q, out);
		break;
	case ASK_LABELS:
		put_matching(s, &q, a, 0);
		buf__text(&q, "SELECT name, COUNT(*) FROM (SELECT l.name, m.series FROM m JOIN "
			      "series_label l ON "
			      "l.series = m.series UNION SELECT l.name, m.series FROM m JOIN "
			      "set_label l ON "
			      "l.sset = m.sset) GROUP BY name ORDER BY name");
		answer(s, &q, out);
		break;
	case ASK_VALUES:
		put_matching(s, &q, a, 0);
		buf__text(&q, "SELECT v, COUNT(DISTINCT series) FROM (SELECT e.series, ");
		put_value(&q, a->name);
		buf__text(&q, " AS v FROM m e) WHERE v IS NOT NULL GROUP BY v ORDER BY v");
		answer(s, &q, out);
		break;
	case ASK_SERIES:
		put_matching(s, &q, a, 0);
		buf__text(&q, "SELECT labels FROM series WHERE id IN (SELECT series FROM m) ORDER "
			      "BY labels");
		answer(s, &q, out);
		break;
	case ASK_POINTS:
		ask_points(s, a, out);
		break;
	case ASK_MERGE:
		ask_merge(s, a, out);
		break;
	default:
		abort();
	}
}

/* -------------------------------------------------------------------------------------------------
 * Removing
 */

uint64_t sql__remove(struct sql *s, const struct dcm_select *sel)
{
	struct asked a = { .what = ASK_TYPES, .sel = { *sel } };
	struct buf q = { 0 };

	run(s, "BEGIN; CREATE TEMP TABLE gone(profile, stack, sset)");
	buf__text(&q, "INSERT INTO gone ");
	put_matching(s, &q, &a, 0);
	buf__text(&q, "SELECT id, stack, sset FROM m");
	answer(s, &q, NULL);
	uint64_t n = (uint64_t)single(s, prepare(s, "SELECT COUNT(DISTINCT profile) FROM gone"), 0);
	run(s, "DELETE FROM raw WHERE (profile, stack, sset) IN (SELECT profile, stack, sset FROM "
	       "gone);"
	       "DELETE FROM profile WHERE id IN (SELECT profile FROM gone) AND id NOT IN (SELECT "
	       "profile FROM raw);"
	       "DROP TABLE gone");
	refresh(s);
	run(s, "COMMIT");
	return n;
}

uint64_t sql__retain(struct sql *s, int64_t cutoff_ms)
{
	sqlite3_stmt *st = prepare(s, "DELETE FROM profile WHERE time_ms < ?");

	sqlite3_bind_int64(st, 1, cutoff_ms);
	finish(s, st);
	uint64_t n = (uint64_t)sqlite3_changes(s->db);
	run(s, "DELETE FROM raw WHERE profile NOT IN (SELECT id FROM profile)");
	refresh(s);
	return n;
}

void sql__stat(struct sql *s, struct dcm_store_stat *ret)
{
	ret->n_profiles = (uint64_t)single(s, prepare(s, "SELECT COUNT(*) FROM profile"), 0);
	ret->n_rows = (uint64_t)single(s, prepare(s, "SELECT COUNT(*) FROM m_row"), 0);
	ret->n_series = (uint64_t)single(s, prepare(s, "SELECT COUNT(DISTINCT series) FROM profile"), 0);
	ret->first_ms = single(s, prepare(s, "SELECT COALESCE(MIN(time_ms), 0) FROM profile"), 0);
	ret->last_ms = single(s, prepare(s, "SELECT COALESCE(MAX(time_ms), 0) FROM profile"), 0);
}
