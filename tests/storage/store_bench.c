/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/storage/store_bench.c - the local store on a simulated disk, beside what it was told
 */
#include "tests/storage/store_bench.h"

#include "tests/unit/random_batch.h"
#include "tests/unit/unit.h"

static void complain(void *ctx, enum dcm_log_level level, const char *sentence)
{
	struct bench *b = ctx;

	print_message("%s\n", sentence);
	b->n_complaints += level == DCM_LOG_ERROR;
}

void bench__prepare(struct bench *b, uint64_t seed, enum sim_model model)
{
	*b = (struct bench){
		.options = { .seal_ms = 3600000,
			     .head_max_bytes = 64 << 20,
			     .segment_bytes = 1 << 20,
			     .align = 512,
			     .report = complain,
			     .report_ctx = b },
		.sim = sim__new(seed, model),
	};
	assert_non_null(b->sim);
	storage__host(&b->storage);
	b->storage.real_ns = RANDOM_BASE_NS + INT64_C(3600) * 1000000000;
}

void bench__open(struct bench *b)
{
	struct commit_found found;

	assert_int_equal(
		store__open(&b->storage.host, sim__vfs(b->sim), &b->options, &found, &b->store, NULL), 0);
}

void bench__init(struct bench *b, uint64_t seed)
{
	bench__prepare(b, seed, SIM_PREFIX);
	bench__open(b);
}

void bench__fini(struct bench *b)
{
	store__close(b->store);
	assert_int_equal(sim__n_open(b->sim), 0);
	sim__free(b->sim);
	content__fini(&b->told);
}

void bench__restart(struct bench *b, bool power_cut)
{
	store__close(b->store);
	b->store = NULL;
	sim__restart(b->sim, power_cut);
	bench__open(b);
}

void bench__compare(struct bench *b)
{
	content__compare_store(&b->told, b->store);
}
