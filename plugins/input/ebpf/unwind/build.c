/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/unwind/build.c - a table while it is being made
 */
#include "plugins/input/ebpf/unwind/build.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/unwind_arch.h"
#include "core/base/error.h"
#include "core/base/mem.h"

enum {
	DEFAULT_BYTES = 512 << 20,
	DEFAULT_FDES = 4 << 20,
	DEFAULT_ROWS = 64 << 20,
	TICK = 64,  /* work of a description, beside its bytes */
	DIGIT = 11, /* bits sorted by at once */
};

int build__init(struct build *b, const struct image *im, const struct unwind_limits *limits,
		bool with_rbx, struct dcm_error *err)
{
	uint64_t low = UINT64_MAX, high = 0;
	int rc;

	*b = (struct build){ .image = im, .with_rbx = with_rbx };
	if (limits)
		b->limits = *limits;
	if (!b->limits.max_bytes)
		b->limits.max_bytes = DEFAULT_BYTES;
	if (!b->limits.max_fdes)
		b->limits.max_fdes = DEFAULT_FDES;
	if (!b->limits.max_rows)
		b->limits.max_rows = DEFAULT_ROWS;
	if (b->limits.max_rows > b->limits.max_bytes / 4 / sizeof(struct build_row))
		b->limits.max_rows = (uint32_t)(b->limits.max_bytes / 4 / sizeof(struct build_row));
	for (uint32_t i = 0; i < im->n_segments; i++) {
		const struct image_segment *s = &im->segments[i];

		if (!s->executable || !s->bytes)
			continue;
		low = s->vaddr < low ? s->vaddr : low;
		high = s->vaddr + s->bytes > high ? s->vaddr + s->bytes : high;
	}
	if (low >= high)
		return error__set(err, -ENOEXEC, "has no executable segment");
	if (high - low > UINT32_MAX)
		return error__set(err, -ENOEXEC, "has code more than 4 GiB apart");
	b->base = low;
	b->span = (uint32_t)(high - low);
	rc = rules__init(&b->rules);
	return rc ? error__nomem(err) : 0;
}

void build__fini(struct build *b)
{
	rules__fini(&b->rules);
	vec__fini(&b->rows);
	vec__fini(&b->layer);
	vec__fini(&b->table);
	vec__fini(&b->bare);
}

int build__tick(struct build *b)
{
	return image__work(b->image, TICK);
}

static bool in_segment(const struct image_segment *s, uint64_t vaddr)
{
	return s && s->executable && vaddr - s->vaddr < s->bytes;
}

bool build__range(struct build *b, uint64_t vaddr, uint64_t n, uint32_t *ret_start, uint32_t *ret_end)
{
	const struct image *im = b->image;
	uint64_t left;

	for (uint32_t i = 0; !in_segment(b->code, vaddr); i++) {
		if (i == im->n_segments)
			return false;
		b->code = &im->segments[i];
	}
	left = b->code->bytes - (vaddr - b->code->vaddr);
	if (n > left)
		n = left;
	*ret_start = (uint32_t)(vaddr - b->base);
	*ret_end = (uint32_t)(vaddr + n - b->base);
	return n > 0;
}

static bool is_by_rbx(const struct build *b, struct unwind_rule rule)
{
	return b->image->machine == EM_X86_64 && (rule.cfa == UNWIND_CFA_REG + UNWIND_X86_RBX ||
						  rule.cfa == UNWIND_CFA_REG_DEREF + UNWIND_X86_RBX);
}

int build__row(struct build *b, uint32_t at, struct unwind_rule rule)
{
	int index = rules__index(&b->rules, rule);

	if (index < 0)
		return index;
	b->wants_rbx |= is_by_rbx(b, rule);
	if (rule.cfa == UNWIND_CFA_UNSUPPORTED)
		b->gaps[rule.cfa_off]++;
	if (b->rows.n >= b->limits.max_rows)
		return -EFBIG;
	return vec__push(&b->rows, (struct build_row){ at, (uint16_t)index }) ? 0 : -ENOMEM;
}

int build__stretch(struct build *b, uint32_t start, uint32_t end, uint32_t first)
{
	struct build_stretch s = {
		.start = start, .end = end, .first = first, .n = (uint32_t)b->rows.n - first
	};

	return vec__push(&b->layer, s) ? 0 : -ENOMEM;
}

int build__plain(struct build *b, uint32_t start, uint32_t end, struct unwind_rule rule)
{
	uint32_t first = (uint32_t)b->rows.n;
	int rc = build__row(b, start, rule);

	return rc ? rc : build__stretch(b, start, end, first);
}

/* ------------------------------------------------------------------------------------------------
 * Layers
 */

static bool is_sorted(const struct build_list *l)
{
	for (size_t i = 1; i < l->n; i++)
		if (l->v[i - 1].start > l->v[i].start)
			return false;
	return true;
}

/* One pass of a radix sort: stable, by the digit at `shift`. */
static void sort_digit(const struct build_stretch *from, struct build_stretch *to, size_t n, unsigned shift)
{
	uint32_t count[1 << DIGIT] = { 0 }, sum = 0;
	const uint32_t mask = (1 << DIGIT) - 1;

	for (size_t i = 0; i < n; i++)
		count[from[i].start >> shift & mask]++;
	for (uint32_t i = 0; i <= mask; i++) {
		uint32_t c = count[i];

		count[i] = sum;
		sum += c;
	}
	for (size_t i = 0; i < n; i++)
		to[count[from[i].start >> shift & mask]++] = from[i];
}

static int sort(struct build_list *l)
{
	CLEANUP(mem__freep) struct build_stretch *other = NULL;

	if (is_sorted(l))
		return 0;
	other = mem__zalloc(l->n, sizeof(*other));
	if (!other)
		return -ENOMEM;
	sort_digit(l->v, other, l->n, 0);
	sort_digit(other, l->v, l->n, DIGIT);
	sort_digit(l->v, other, l->n, 2 * DIGIT);
	memcpy(l->v, other, l->n * sizeof(*other));
	return 0;
}

/* Of two stretches that overlap, the one that starts later has the bytes from there on. */
static void cut_overlaps(struct build_list *l)
{
	size_t n = 0;

	for (size_t i = 0; i < l->n; i++) {
		struct build_stretch s = l->v[i];

		if (i + 1 < l->n && l->v[i + 1].start < s.end)
			s.end = l->v[i + 1].start;
		if (s.start < s.end)
			l->v[n++] = s;
	}
	l->n = n;
}

/* A copy of `s` that covers less of it. */
static bool add_part(struct build_list *to, struct build_stretch s, uint32_t start, uint32_t end)
{
	if (start >= end)
		return true;
	s.start = start;
	s.end = end;
	return vec__push(to, s);
}

int build__layer_done(struct build *b)
{
	struct build_list out = { 0 };
	const struct build_list *upper = &b->table, *lower = &b->layer;
	size_t u = 0;
	bool good = true;

	if (sort(&b->layer))
		return -ENOMEM;
	cut_overlaps(&b->layer);
	for (size_t i = 0; i < lower->n && good; i++) {
		const struct build_stretch *s = &lower->v[i];
		uint32_t from = s->start;

		for (; u < upper->n && upper->v[u].start < s->end && good; u++) {
			good = add_part(&out, *s, from, upper->v[u].start) &&
			       vec__push(&out, upper->v[u]);
			from = upper->v[u].end > from ? upper->v[u].end : from;
		}
		good = good && add_part(&out, *s, from, s->end);
	}
	for (; u < upper->n && good; u++)
		good = vec__push(&out, upper->v[u]);
	if (!good) {
		vec__fini(&out);
		return -ENOMEM;
	}
	vec__fini(&b->table);
	b->table = out;
	b->layer.n = 0;
	return 0;
}

size_t build__first(const struct build *b, uint32_t at)
{
	size_t low = 0, high = b->table.n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (b->table.v[mid].end <= at)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

const struct build_stretch *build__find(const struct build *b, uint32_t at)
{
	size_t i = build__first(b, at);

	return i < b->table.n && b->table.v[i].start <= at ? &b->table.v[i] : NULL;
}

/* ------------------------------------------------------------------------------------------------
 * The finished table
 */

static void put(struct unwind_rows *r, uint32_t at, uint16_t rule)
{
	if (r->n && r->at[r->n - 1] == at)
		r->n--;
	if (r->n && r->rule[r->n - 1] == rule)
		return;
	r->at[r->n] = at;
	r->rule[r->n++] = rule;
}

static void put_stretch(const struct build *b, struct unwind_rows *r, const struct build_stretch *s)
{
	const struct build_row *row = &b->rows.v[s->first];

	for (uint32_t i = 0; i < s->n; i++) {
		if (row[i].at >= s->end)
			break;
		if (i + 1 < s->n && row[i + 1].at <= s->start)
			continue;
		put(r, row[i].at < s->start ? s->start : row[i].at, row[i].rule);
	}
}

/*
 * Functions that are returned to without having been called begin a byte early, for who looks up
 * the byte before a return address.
 */
static bool begins_early(const struct build *b, const struct build_stretch *s)
{
	const struct build_row *first = &b->rows.v[s->first];
	uint8_t cfa = b->rules.v[first->rule].cfa;

	return first->at == s->start && (cfa == UNWIND_CFA_ROOT || cfa == UNWIND_CFA_SIGNAL);
}

/*
 * Code without a description: what is known of a little of it, and of much of it together, where
 * b->bare says no better.
 */
struct undescribed {
	uint16_t little, much;
	size_t next; /* of b->bare */
};

static void put_gap(const struct build *b, struct unwind_rows *r, uint32_t at, uint32_t end,
		    struct undescribed *rules)
{
	put(r, at, end - at >= BUILD_MUCH_CODE ? rules->much : rules->little);
	for (; rules->next < b->bare.n && b->bare.v[rules->next].at < end; rules->next++)
		if (b->bare.v[rules->next].at >= at)
			put(r, b->bare.v[rules->next].at, b->bare.v[rules->next].rule);
}

/* The stretches of one segment, from `*i` on, and what is between them. */
static void put_segment(struct build *b, struct unwind_rows *r, const struct unwind_segment *seg,
			struct undescribed *rules, size_t *i)
{
	uint32_t start = (uint32_t)(seg->vaddr - b->base), end = (uint32_t)(start + seg->size),
		 at = start;

	for (; *i < b->table.n && b->table.v[*i].start < end; (*i)++) {
		struct build_stretch s = b->table.v[*i];

		if (s.start - at > BUILD_GAP || (at == start && s.start > at))
			put_gap(b, r, at, s.start, rules);
		if (s.start > at && begins_early(b, &s)) {
			put(r, s.start - 1, b->rows.v[s.first].rule);
		}
		put_stretch(b, r, &s);
		r->covered_bytes += s.end - s.start;
		at = s.end;
	}
	if (end - at > BUILD_GAP || at == start)
		put_gap(b, r, at, end, rules);
	put(r, end, RULES_NONE);
	r->code_bytes += end - start;
}

static int by_vaddr(const void *a, const void *b)
{
	const struct unwind_segment *x = a, *y = b;

	return (x->vaddr > y->vaddr) - (x->vaddr < y->vaddr);
}

/* The executable segments in order; where they overlap, the later one begins later. */
static int segments(const struct build *b, struct unwind_rows *r)
{
	const struct image *im = b->image;
	uint64_t end = 0;
	uint32_t n = 0;

	r->segments = mem__zalloc(im->n_segments, sizeof(*r->segments));
	if (!r->segments)
		return -ENOMEM;
	for (uint32_t i = 0; i < im->n_segments; i++) {
		const struct image_segment *s = &im->segments[i];

		if (s->executable && s->bytes)
			r->segments[r->n_segments++] = (struct unwind_segment){ s->vaddr, s->offset,
										s->bytes };
	}
	qsort(r->segments, r->n_segments, sizeof(*r->segments), by_vaddr);
	for (uint32_t i = 0; i < r->n_segments; i++) {
		struct unwind_segment s = r->segments[i];
		uint64_t cut = end > s.vaddr ? end - s.vaddr : 0;

		if (cut >= s.size)
			continue;
		r->segments[n++] = (struct unwind_segment){ s.vaddr + cut, s.offset + cut, s.size - cut };
		end = s.vaddr + s.size;
	}
	r->n_segments = n;
	return 0;
}

/* Gives back what was reserved too much; that it may fail does not matter. */
static void trim(struct unwind_rows *r)
{
	void *at = mem__resize(r->at, r->n, sizeof(*r->at));
	void *rule = mem__resize(r->rule, r->n, sizeof(*r->rule));

	r->at = at ? at : r->at;
	r->rule = rule ? rule : r->rule;
}

int build__frame_pointer(struct build *b, enum unwind_cfa cfa)
{
	return rules__index(&b->rules,
			    (struct unwind_rule){ .cfa = (uint8_t)cfa,
						  .saved = unwind_saved(UNWIND_FP_CFA, UNWIND_RA_WORD),
						  .off = -16,
						  .cfa_off = 16 });
}

int build__finish(struct build *b, struct unwind_rows **ret_rows)
{
	CLEANUP(unwind_rows__freep) struct unwind_rows *r = NEW(struct unwind_rows);
	int little = build__frame_pointer(b, UNWIND_CFA_FRAME_POINTER);
	int much = build__frame_pointer(b, UNWIND_CFA_FRAME_RECORDS);
	struct undescribed rules = { .little = (uint16_t)little, .much = (uint16_t)much };
	size_t room = b->rows.n + b->bare.n + 3 * b->table.n + 3 * b->image->n_segments, next = 0;
	int rc;

	if (!r || little < 0 || much < 0)
		return -ENOMEM;
	r->at = mem__zalloc(room, sizeof(*r->at));
	r->rule = mem__zalloc(room, sizeof(*r->rule));
	rc = segments(b, r);
	if (rc || !r->at || !r->rule)
		return -ENOMEM;
	r->base = b->base;
	for (uint32_t i = 0; i < r->n_segments; i++)
		put_segment(b, r, &r->segments[i], &rules, &next);
	trim(r);
	r->machine = b->image->machine;
	r->n_fdes = b->n_fdes;
	r->rules = take_ptr(b->rules.v);
	r->n_rules = b->rules.n;
	b->gaps[UNWIND_GAP_RULES] += b->rules.overflow;
	memcpy(r->gaps, b->gaps, sizeof(r->gaps));
	*ret_rows = take_ptr(r);
	return 0;
}
