/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/prefix.c - four numbers side by side
 */
#include "plugins/storage/local/prefix.h"

#include <string.h>

#include <decima/plugin.h>

typedef uint32_t four __attribute__((vector_size(16)));
typedef int32_t signed_four __attribute__((vector_size(16)));
typedef int64_t wide_four __attribute__((vector_size(32)));

#ifdef __x86_64__
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

bool prefix__ids(uint32_t *v, uint32_t n, uint32_t *next)
{
	/* A page of gaps this small stays far below 2^32. */
	if (*next >> 31 || bits_of(v, n) >> 22)
		return ids_slowly(v, n, next);

	four before = (four){ 0 } + (*next - 1);
	uint32_t i = 0;

	for (; i + 4 <= n; i += 4) {
		const four x = running(load(v + i) + 1) + before;

		store(v + i, x);
		before = last_of(x);
	}
	*next = before[0] + 1;
	return ids_slowly(v + i, n - i, next);
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

static inline __attribute__((always_inline)) bool ranks(uint32_t *v, uint32_t n, uint32_t n_ranks)
{
	const four end = (four){ 0 } + n_ranks, last = end - 1;
	four rank = { 0 }, wrong = { 0 };

	for (; n % 4; n++)
		v[n] = 0;
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
AVX2 static bool ranks_avx2(uint32_t *v, uint32_t n, uint32_t n_ranks)
{
	return ranks(v, n, n_ranks);
}
#endif

bool prefix__ranks(uint32_t *v, uint32_t n, uint32_t n_ranks)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("avx2"))
		return ranks_avx2(v, n, n_ranks);
#endif
	return ranks(v, n, n_ranks);
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
 * Signs
 */

static inline __attribute__((always_inline)) void signs(const uint32_t *v, uint32_t n, int64_t *ret)
{
	uint32_t i = 0;

	for (; i + 4 <= n; i += 4) {
		const four x = load(v + i);
		const wide_four wide = __builtin_convertvector((signed_four)((x >> 1) ^ -(x & 1)),
							       wide_four);

		memcpy(ret + i, &wide, sizeof(wide));
	}
	for (; i < n; i++)
		ret[i] = zigzag__back(v[i]);
}

#ifdef __x86_64__
AVX2 static void signs_avx2(const uint32_t *v, uint32_t n, int64_t *ret)
{
	signs(v, n, ret);
}
#endif

void prefix__signs(const uint32_t *v, uint32_t n, int64_t *ret)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("avx2")) {
		signs_avx2(v, n, ret);
		return;
	}
#endif
	signs(v, n, ret);
}
