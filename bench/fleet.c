/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench/fleet.c - the profiles of a made-up fleet
 */
#include "bench/fleet.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/random.h"

enum { HERTZ = 19, TICK_S = 10, SHIFT_TICKS = 6 * 240, POPULATION_MAX = 20000 };
static const int64_t NS_A_SAMPLE = 1000000000 / HERTZ, BEGIN_MS = 1700000000000;

static void *room(size_t n, size_t size)
{
	void *p = calloc(n ? n : 1, size);

	if (!p) {
		fputs("out of memory\n", stderr);
		exit(1);
	}
	return p;
}

static double uniform(struct random *r)
{
	return (double)(random__next(r) >> 11) * 0x1p-53;
}

/*
 * Knuth, The Art of Computer Programming, volume 2, 3.4.1; a normal approximation where the mean is
 * large.
 */
static uint32_t poisson(struct random *r, double mean)
{
	double p = 1, limit = exp(-mean);
	uint32_t n = 0;

	if (mean > 60) {
		const double z = sqrt(-2 * log(uniform(r) + 1e-300)) * cos(6.283185307 * uniform(r));
		return (uint32_t)fmax(0, mean + z * sqrt(mean) + 0.5);
	}
	while ((p *= uniform(r)) > limit)
		n++;
	return n;
}

/* How often each rank of a population is drawn, added up: [n] ascending to 1. */
static double *ladder_of(uint32_t n, double skew)
{
	double *ladder = room(n, sizeof(*ladder)), sum = 0;

	for (uint32_t i = 0; i < n; i++)
		ladder[i] = sum += pow(i + 2.7, -skew);
	for (uint32_t i = 0; i < n; i++)
		ladder[i] /= sum;
	return ladder;
}

static uint32_t climb(const double *ladder, uint32_t n, double to)
{
	uint32_t low = 0, high = n - 1;

	while (low < high) {
		const uint32_t mid = (low + high) / 2;

		if (ladder[mid] < to)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/*
 * Another order of [0, n) for every shift: a multiplication modulo a prime above the largest
 * population.
 */
static uint32_t reordered(uint32_t rank, uint32_t n, uint32_t shift)
{
	return (uint32_t)((uint64_t)(rank + 1) * (7919 + 2 * shift) % 20011 % n);
}

static int ascending(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* The draws of one profile, equal ones together. */
static void add_profile(struct fleet_series *s, uint32_t *draws, uint32_t n, uint32_t base)
{
	uint64_t began = s->n;

	qsort(draws, n, sizeof(*draws), ascending);
	for (uint32_t i = 0; i < n; i++) {
		if (s->n == began || s->stacks[s->n - 1] != base + draws[i]) {
			s->stacks[s->n] = base + draws[i];
			s->values[s->n++] = 0;
		}
		s->values[s->n - 1] += NS_A_SAMPLE;
	}
	s->n_rows[s->n_profiles] = (uint32_t)(s->n - began);
}

static double share_of(const struct fleet *f, uint32_t at)
{
	double sum = 0;

	for (uint32_t i = 0; i < f->n_series; i++)
		sum += 1.0 / (i + 1);
	return 1.0 / (at + 1) / sum;
}

void fleet__series(const struct fleet *f, uint32_t at, struct fleet_series *ret)
{
	struct random r = { f->seed * 1000003 + at };
	const double mean = f->cores * HERTZ * TICK_S * share_of(f, at);
	const uint32_t each = f->n_stacks / f->n_series;
	const uint32_t n = each < 1 ? 1 : each < POPULATION_MAX ? each : POPULATION_MAX;
	double *ladder = ladder_of(n, f->skew);
	uint32_t *draws = room((size_t)(mean * 2) + 200, sizeof(*draws));
	const size_t most = (size_t)(mean * f->n_ticks) + 100000;

	*ret = (struct fleet_series){
		.time_ms = room(f->n_ticks, sizeof(int64_t)),
		.n_rows = room(f->n_ticks, sizeof(uint32_t)),
		.stacks = room(most, sizeof(uint32_t)),
		.values = room(most, sizeof(int64_t)),
	};
	for (uint32_t tick = 0; tick < f->n_ticks; tick++) {
		const double load = 0.5 + 0.35 * sin(tick * 6.283185307 / 8640);
		uint32_t k = poisson(&r, mean * load);

		for (uint32_t i = 0; i < k; i++) {
			const uint32_t rank = climb(ladder, n, uniform(&r));

			draws[i] = uniform(&r) < 0.3 ? reordered(rank, n, tick / SHIFT_TICKS % 6) : rank;
		}
		if (!k)
			continue;
		ret->time_ms[ret->n_profiles] = BEGIN_MS + (int64_t)tick * TICK_S * 1000 +
						(int64_t)random__below(&r, 41) - 20;
		add_profile(ret, draws, k, at * n);
		ret->n_profiles++;
	}
	free(ladder);
	free(draws);
}

void fleet_series__fini(struct fleet_series *s)
{
	free(s->time_ms);
	free(s->n_rows);
	free(s->stacks);
	free(s->values);
	*s = (struct fleet_series){ 0 };
}
