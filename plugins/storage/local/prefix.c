/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/prefix.c - four numbers side by side
 */
#include "plugins/storage/local/prefix.h"

#include <string.h>

#include <decima/plugin.h>

typedef uint32_t four __attribute__((vector_size(16)));
typedef int32_t signed_four __attribute__((vector_size(16)));
typedef uint32_t eight __attribute__((vector_size(32)));
typedef int32_t signed_eight __attribute__((vector_size(32)));
typedef int64_t wide_four __attribute__((vector_size(32)));
typedef uint64_t unsigned_four __attribute__((vector_size(32)));

#ifdef __x86_64__
#include <immintrin.h>

#define AVX2 __attribute__((target("avx2")))
#endif

static inline __attribute__((always_inline)) four load(const uint32_t *v)
{
	four x;

	memcpy(&x, v, sizeof(x));
	return x;
}

static inline __attribute__((always_inline)) void store(uint32_t *v, four x)
{
	memcpy(v, &x, sizeof(x));
}

static inline __attribute__((always_inline)) four last_of(four x)
{
	return __builtin_shufflevector(x, x, 3, 3, 3, 3);
}

/* Each with the one before it; and with the two before it. */
static inline __attribute__((always_inline)) four up_by_one(four x)
{
	return __builtin_shufflevector(x, (four){ 0 }, 4, 0, 1, 2);
}

static inline __attribute__((always_inline)) four up_by_two(four x)
{
	return __builtin_shufflevector(x, (four){ 0 }, 4, 4, 0, 1);
}

static inline __attribute__((always_inline)) four running(four x)
{
	x += up_by_one(x);
	return x + up_by_two(x);
}

#ifdef __x86_64__
/* The same of eight: the third adds what the lower half came to to the upper one. */
AVX2 static inline __attribute__((always_inline)) eight eight_up_by_one(eight x)
{
	return __builtin_shufflevector(x, (eight){ 0 }, 8, 0, 1, 2, 8, 4, 5, 6);
}

AVX2 static inline __attribute__((always_inline)) eight eight_up_by_two(eight x)
{
	return __builtin_shufflevector(x, (eight){ 0 }, 8, 8, 0, 1, 8, 8, 4, 5);
}

AVX2 static inline __attribute__((always_inline)) eight eight_up_by_four(eight x)
{
	return __builtin_shufflevector(x, (eight){ 0 }, 8, 8, 8, 8, 3, 3, 3, 3);
}

AVX2 static inline __attribute__((always_inline)) eight eight_running(eight x)
{
	x += eight_up_by_one(x);
	x += eight_up_by_two(x);
	return x + eight_up_by_four(x);
}

AVX2 static inline __attribute__((always_inline)) eight last_of_eight(eight x)
{
	return __builtin_shufflevector(x, x, 7, 7, 7, 7, 7, 7, 7, 7);
}

/* Eight signed numbers, each with the base added, to ret[8]. */
AVX2 static inline __attribute__((always_inline)) void put_eight(__m256i x, __m256i base, int64_t *ret)
{
	const __m256i low = _mm256_cvtepi32_epi64(_mm256_castsi256_si128(x)),
		      high = _mm256_cvtepi32_epi64(_mm256_extracti128_si256(x, 1));

	_mm256_storeu_si256((__m256i *)ret, _mm256_add_epi64(low, base));
	_mm256_storeu_si256((__m256i *)(ret + 4), _mm256_add_epi64(high, base));
}
#endif

static inline __attribute__((always_inline)) uint32_t any_of(four x)
{
	return x[0] | x[1] | x[2] | x[3];
}

static uint32_t bits_of(const uint32_t *v, uint32_t n)
{
	four bits = { 0 };
	uint32_t i = 0;

	for (; i + 4 <= n; i += 4)
		bits |= load(v + i);
	uint32_t all = any_of(bits);
	for (; i < n; i++)
		all |= v[i];
	return all;
}

/* -------------------------------------------------------------------------------------------------
 * Ids
 */

static bool ids_slowly(uint32_t *v, uint32_t n, uint32_t *next)
{
	uint64_t id = *next;

	for (uint32_t i = 0; i < n; i++) {
		id += v[i];
		if (id >= DCM_NONE)
			return false;
		v[i] = (uint32_t)id++;
	}
	*next = (uint32_t)id;
	return true;
}

/* As many of them as fit; how many. */
static uint32_t ids_by_four(uint32_t *v, uint32_t n, uint32_t *next)
{
	four before = (four){ 0 } + (*next - 1);
	uint32_t i = 0;

	for (; i + 4 <= n; i += 4) {
		const four x = running(load(v + i) + 1) + before;

		store(v + i, x);
		before = last_of(x);
	}
	*next = before[0] + 1;
	return i;
}

#ifdef __x86_64__
/* What is before eight is known without waiting for them: their sum is added to it. */
AVX2 static uint32_t ids_by_eight(uint32_t *v, uint32_t n, uint32_t *next)
{
	eight before = (eight){ 0 } + (*next - 1), x;
	uint32_t i = 0;

	for (; i + 8 <= n; i += 8) {
		memcpy(&x, v + i, sizeof(x));
		x = eight_running(x + 1);
		const eight here = x + before;
		memcpy(v + i, &here, sizeof(here));
		before += last_of_eight(x);
	}
	*next = before[0] + 1;
	return i;
}
#endif

bool prefix__ids(uint32_t *v, uint32_t n, uint32_t *next)
{
	uint32_t done = 0;

	/* A page of gaps this small stays far below 2^32. */
	if (*next >> 31 || bits_of(v, n) >> 22)
		return ids_slowly(v, n, next);
#ifdef __x86_64__
	if (__builtin_cpu_supports("avx2"))
		done = ids_by_eight(v, n, next);
#endif
	done += ids_by_four(v + done, n - done, next);
	return ids_slowly(v + done, n - done, next);
}

/* -------------------------------------------------------------------------------------------------
 * Ranks
 */

/* From twice the way round to once. */
static inline __attribute__((always_inline)) four within(four x, four end)
{
	const four last = end - 1;

	return x - (end & (four)((signed_four)x > (signed_four)last));
}

static bool ranks_by_four(uint32_t *v, uint32_t n, uint32_t n_ranks)
{
	const four end = (four){ 0 } + n_ranks, last = end - 1;
	four rank = { 0 }, wrong = { 0 };

	for (uint32_t i = 0; i < n; i += 4) {
		four x = load(v + i);

		/* A way of 2^31 and more is seen by its sign. */
		wrong |= x | (four)((signed_four)x > (signed_four)last);
		x = within(x + up_by_one(x), end);
		x = within(x + up_by_two(x), end);
		x = within(x + rank, end);
		store(v + i, x);
		rank = last_of(x);
	}
	return !(any_of(wrong) >> 31);
}

#ifdef __x86_64__
AVX2 static inline __attribute__((always_inline)) eight eight_within(eight x, eight end)
{
	return (eight)_mm256_min_epu32((__m256i)x, (__m256i)(x - end));
}

AVX2 static bool ranks_by_eight(uint32_t *v, uint32_t n, uint32_t n_ranks)
{
	const eight end = (eight){ 0 } + n_ranks, last = end - 1;
	eight rank = { 0 }, wrong = { 0 }, x;

	for (uint32_t i = 0; i < n; i += 8) {
		memcpy(&x, v + i, sizeof(x));
		wrong |= x | (eight)((signed_eight)x > (signed_eight)last);
		x = eight_within(x + eight_up_by_one(x), end);
		x = eight_within(x + eight_up_by_two(x), end);
		x = eight_within(x + eight_up_by_four(x), end);
		const eight here = eight_within(x + rank, end);
		memcpy(v + i, &here, sizeof(here));
		rank = eight_within(rank + last_of_eight(x), end);
	}
	return !_mm256_movemask_ps((__m256)wrong);
}
#endif

bool prefix__ranks(uint32_t *v, uint32_t n, uint32_t n_ranks)
{
	for (; n % 8; n++)
		v[n] = 0;
#ifdef __x86_64__
	if (__builtin_cpu_supports("avx2"))
		return ranks_by_eight(v, n, n_ranks);
#endif
	return ranks_by_four(v, n, n_ranks);
}

bool prefix__below(const uint32_t *v, uint32_t n, uint32_t limit)
{
	const four last = (four){ 0 } + limit - 1;
	four wrong = { 0 };
	uint32_t i = 0;

	for (; i + 4 <= n; i += 4) {
		const four x = load(v + i);

		wrong |= x | (four)((signed_four)x > (signed_four)last);
	}
	bool below = !(any_of(wrong) >> 31);
	for (; i < n; i++)
		below &= v[i] < limit;
	return below;
}

/* -------------------------------------------------------------------------------------------------
 * Times
 */

bool prefix__times(int64_t *v, uint32_t n, struct prefix_clock *from)
{
	uint64_t time = (uint64_t)from->time, step = (uint64_t)from->step;
	bool back = false;

	for (uint32_t i = 0; i < n; i++) {
		step += (uint64_t)zigzag__back((uint64_t)v[i]);
		time += step;
		/* Times may be any: it is the wrapped sum that must not go down. */
		back |= (int64_t)time < (int64_t)(time - step);
		v[i] = (int64_t)time;
	}
	*from = (struct prefix_clock){ (int64_t)time, (int64_t)step };
	return !back;
}

/*
 * Numbers v[n], n a multiple of 4, as long as they are so small that times stay within 31 bits of
 * the first. 1, 0 when they are not, or -1 when times go down.
 */
static inline __attribute__((always_inline)) int short_times(const uint32_t *v, uint32_t n,
							     struct prefix_clock *from, int64_t *ret)
{
	const wide_four base = (wide_four){ 0 } + from->time;
	four step = (four){ 0 } + (uint32_t)from->step, time = { 0 }, back = { 0 }, bits = { 0 },
	     sum = { 0 };

	for (uint32_t i = 0; i < n; i += 4) {
		const four x = load(v + i);
		const four steps = running((x >> 1) ^ -(x & 1)) + step;
		const four times = running(steps) + time;
		const wide_four wide = __builtin_convertvector((signed_four)times, wide_four) + base;

		memcpy(ret + i, &wide, sizeof(wide));
		bits |= x;
		sum += x;
		back |= steps;
		step = last_of(steps);
		time = last_of(times);
	}
	/* No step was longer than 2^22 then, nor the page than 2^30. */
	if ((any_of(bits) | (sum[0] + sum[1] + sum[2] + sum[3])) >> 21)
		return 0;
	from->time += (int32_t)time[0];
	from->step = (int32_t)step[0];
	return any_of(back) >> 31 ? -1 : 1;
}

#ifdef __x86_64__
AVX2 static int short_times_avx2(const uint32_t *v, uint32_t n, struct prefix_clock *from, int64_t *ret)
{
	return short_times(v, n, from, ret);
}
#endif

static int times_at_once(const uint32_t *v, uint32_t n, struct prefix_clock *from, int64_t *ret)
{
	/* A base that every 31 bits may be added to. */
	if (from->step < 0 || from->step >> 21 || from->time > INT64_MAX - INT32_MAX ||
	    from->time < INT64_MIN - (int64_t)INT32_MIN)
		return 0;
#ifdef __x86_64__
	if (__builtin_cpu_supports("avx2"))
		return short_times_avx2(v, n, from, ret);
#endif
	return short_times(v, n, from, ret);
}

bool prefix__small_times(const uint32_t *v, uint32_t n, struct prefix_clock *from, int64_t *ret)
{
	const int r = times_at_once(v, n - n % 4, from, ret);
	const uint32_t done = r ? n - n % 4 : 0;

	for (uint32_t i = done; i < n; i++)
		ret[i] = v[i];
	return prefix__times(ret + done, n - done, from) && r >= 0;
}

/* -------------------------------------------------------------------------------------------------
 * Times by steps
 */

bool prefix__steps(const uint64_t *n_steps, const uint64_t *over, uint32_t n, uint64_t step,
		   int64_t *time, int64_t *ret)
{
	int64_t before = *time;
	bool back = false;

	for (uint32_t i = 0; i < n; i++) {
		const uint64_t steps = (uint64_t)zigzag__back(n_steps[i]) + 1;
		const uint64_t gap = steps * step + (uint64_t)zigzag__back(over[i]);
		const int64_t at = (int64_t)((uint64_t)before + gap);

		back |= at < before;
		ret[i] = before = at;
	}
	*time = before;
	return !back;
}

/*
 * n a multiple of 4, as long as times stay within 31 bits of the first: 1, 0 when they do not, or -1
 * when times go down.
 */
static inline __attribute__((always_inline)) int short_steps(const uint32_t *n_steps,
							     const uint32_t *over, uint32_t n,
							     uint32_t step, int64_t *time, int64_t *ret)
{
	const wide_four base = (wide_four){ 0 } + *time;
	four at = { 0 }, back = { 0 }, bits = { 0 }, steps = { 0 }, rest = { 0 };

	for (uint32_t i = 0; i < n; i += 4) {
		const four k = load(n_steps + i), more = load(over + i);
		const four gap = (((k >> 1) ^ -(k & 1)) + 1) * step + ((more >> 1) ^ -(more & 1));
		const four times = running(gap) + at;
		const wide_four wide = __builtin_convertvector((signed_four)times, wide_four) + base;

		memcpy(ret + i, &wide, sizeof(wide));
		bits |= k | more;
		steps += k;
		rest += more;
		back |= gap;
		at = last_of(times);
	}
	/* A zigzag is not below what it stands for, so no gap left 31 bits, nor did all of them. */
	const uint64_t n_all = (uint64_t)n + steps[0] + steps[1] + steps[2] + steps[3];
	const uint64_t over_all = (uint64_t)rest[0] + rest[1] + rest[2] + rest[3];
	if (any_of(bits) >> 22 || (n_all * step + over_all) >> 31)
		return 0;
	*time += (int32_t)at[0];
	return any_of(back) >> 31 ? -1 : 1;
}

#ifdef __x86_64__
/* The same of eight; n a multiple of 8. */
AVX2 static int short_steps_by_eight(const uint32_t *n_steps, const uint32_t *over, uint32_t n,
				     uint32_t step, int64_t *time, int64_t *ret)
{
	const eight large = (eight){ 0 } - (1u << 22);
	const __m256i base = _mm256_set1_epi64x(*time);
	eight at = { 0 }, back = { 0 }, bits = { 0 }, steps = { 0 }, rest = { 0 }, k, more;
	uint64_t all = (uint64_t)n * step;

	for (uint32_t i = 0; i < n; i += 8) {
		memcpy(&k, n_steps + i, sizeof(k));
		memcpy(&more, over + i, sizeof(more));
		const eight gap = (((k >> 1) ^ -(k & 1)) + 1) * step + ((more >> 1) ^ -(more & 1));
		const eight times = eight_running(gap);
		put_eight((__m256i)(times + at), base, ret + i);
		bits |= k | more;
		steps += k;
		rest += more;
		back |= gap;
		at += last_of_eight(times);
	}
	for (unsigned i = 0; i < 8; i++)
		all += (uint64_t)steps[i] * step + rest[i];
	if (!_mm256_testz_si256((__m256i)bits, (__m256i)large) || all >> 31)
		return 0;
	*time += (int32_t)at[0];
	return _mm256_movemask_ps((__m256)back) ? -1 : 1;
}
#endif

/* As many of them at once as fit: *ret_n. */
static int steps_at_once(const uint32_t *n_steps, const uint32_t *over, uint32_t n, uint64_t step,
			 int64_t *time, int64_t *ret, uint32_t *ret_n)
{
	*ret_n = n - n % 4;
	if (step >> 31 || *time > INT64_MAX - INT32_MAX || *time < INT64_MIN - (int64_t)INT32_MIN)
		return 0;
#ifdef __x86_64__
	if (__builtin_cpu_supports("avx2")) {
		*ret_n = n - n % 8;
		return short_steps_by_eight(n_steps, over, *ret_n, (uint32_t)step, time, ret);
	}
#endif
	return short_steps(n_steps, over, *ret_n, (uint32_t)step, time, ret);
}

bool prefix__small_steps(const uint32_t *n_steps, const uint32_t *over, uint32_t n, uint64_t step,
			 int64_t *time, int64_t *ret)
{
	uint32_t done;
	const int r = steps_at_once(n_steps, over, n, step, time, ret, &done);
	uint64_t wide_steps[PFOR_PAGE], wide_over[PFOR_PAGE];

	done = r ? done : 0;
	for (uint32_t i = done; i < n; i++) {
		wide_steps[i] = n_steps[i];
		wide_over[i] = over[i];
	}
	return prefix__steps(wide_steps + done, wide_over + done, n - done, step, time, ret + done) &&
	       r >= 0;
}

/* -------------------------------------------------------------------------------------------------
 * Sums
 */

static inline __attribute__((always_inline)) uint64_t sum(const uint32_t *v, uint32_t n)
{
	wide_four sums = { 0 };
	uint32_t i = 0;

	for (; i + 4 <= n; i += 4)
		sums += __builtin_convertvector(load(v + i), wide_four);
	uint64_t all = (uint64_t)(sums[0] + sums[1] + sums[2] + sums[3]);
	for (; i < n; i++)
		all += v[i];
	return all;
}

#ifdef __x86_64__
AVX2 static uint64_t sum_avx2(const uint32_t *v, uint32_t n)
{
	return sum(v, n);
}
#endif

uint64_t prefix__sum(const uint32_t *v, uint32_t n)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("avx2"))
		return sum_avx2(v, n);
#endif
	return sum(v, n);
}

/* -------------------------------------------------------------------------------------------------
 * Running sums
 */

static inline __attribute__((always_inline)) uint64_t running_sums(const uint32_t *v, uint32_t n,
								   uint64_t before, uint64_t *ret)
{
	const unsigned_four none = { 0 };
	unsigned_four sum = none + before;
	uint32_t i = 0;

	for (; i + 4 <= n; i += 4) {
		const four x = load(v + i);
		const signed_four signs = (signed_four)((x >> 1) ^ -(x & 1));
		unsigned_four sums = (unsigned_four) __builtin_convertvector(signs, wide_four);

		sums += __builtin_shufflevector(sums, none, 4, 0, 4, 2);
		sums += __builtin_shufflevector(sums, none, 4, 4, 1, 1);
		const unsigned_four here = sums + sum;
		memcpy(ret + i, &here, sizeof(here));
		sum += __builtin_shufflevector(sums, sums, 3, 3, 3, 3);
	}
	before = sum[0];
	for (; i < n; i++)
		ret[i] = before += (uint64_t)zigzag__back(v[i]);
	return before;
}

#ifdef __x86_64__
/* Sums of eight at a time within 32 bits; false when they may leave these. n a multiple of 8. */
AVX2 static bool short_sums_by_eight(const uint32_t *v, uint32_t n, uint64_t *before, uint64_t *ret)
{
	const eight large = (eight){ 0 } - (1u << 22);
	const __m256i base = _mm256_set1_epi64x((int64_t)*before);
	eight sum = { 0 }, bits = { 0 }, x;

	for (uint32_t i = 0; i < n; i += 8) {
		memcpy(&x, v + i, sizeof(x));
		bits |= x;
		x = eight_running((x >> 1) ^ -(x & 1));
		put_eight((__m256i)(x + sum), base, (int64_t *)ret + i);
		sum += last_of_eight(x);
	}
	if (!_mm256_testz_si256((__m256i)bits, (__m256i)large))
		return false;
	*before += (uint64_t)(int32_t)sum[0];
	return true;
}

AVX2 static uint64_t running_sums_avx2(const uint32_t *v, uint32_t n, uint64_t before, uint64_t *ret)
{
	const uint32_t done = short_sums_by_eight(v, n - n % 8, &before, ret) ? n - n % 8 : 0;

	return running_sums(v + done, n - done, before, ret + done);
}
#endif

uint64_t prefix__running(const uint32_t *v, uint32_t n, uint64_t before, uint64_t *ret)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("avx2"))
		return running_sums_avx2(v, n, before, ret);
#endif
	return running_sums(v, n, before, ret);
}
