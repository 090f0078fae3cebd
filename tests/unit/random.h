/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/random.h - numbers that look random and are the same in every run
 *
 * splitmix64 (https://prng.di.unimi.it/splitmix64.c, public domain). A zeroed struct is a
 * generator.
 */
#ifndef DECIMA_TESTS_UNIT_RANDOM_H
#define DECIMA_TESTS_UNIT_RANDOM_H

#include <stddef.h>
#include <stdint.h>

struct random {
	uint64_t state;
};

static inline uint64_t random__next(struct random *r)
{
	uint64_t z = (r->state += 0x9e3779b97f4a7c15u);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

/* In [0, n), n > 0. */
static inline uint64_t random__below(struct random *r, uint64_t n)
{
	return random__next(r) % n;
}

/* A number whose magnitude is as likely small as large, so that edges and tiny values come up. */
static inline uint64_t random__wide(struct random *r)
{
	return random__next(r) >> random__below(r, 64);
}

/* n bytes, each one of the characters of `alphabet`, [n_alphabet]. */
static inline void random__text(struct random *r, char *p, size_t n, const char *alphabet, size_t n_alphabet)
{
	for (size_t i = 0; i < n; i++)
		p[i] = alphabet[random__below(r, n_alphabet)];
}

#endif
