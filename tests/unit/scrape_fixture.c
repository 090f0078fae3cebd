/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/scrape_fixture.c - the scraper's one job, with the core's real services and without its thread
 */
#include "tests/unit/scrape_fixture.h"

#include <string.h>

#include "core/base/str.h"
#include "plugins/input/pprof_scrape/sync.h"
#include "tests/unit/unit.h"

void scrape_fixture__read(struct scrape_fixture *f, const char *yaml)
{
	struct options_env env = { .arena = &f->arena, .problems = &f->problems };
	struct dcm_error err = DCM_ERROR_INIT;
	struct tree **tree = f->trees[0] ? &f->trees[1] : &f->trees[0];

	assert_null(*tree);
	assert_int_equal(tree__load_text("s.yaml", str__of(yaml), tree, &err), 0);
	f->config.all = options__fill_one(&env, "input pprof_scrape", (*tree)->root,
					  &scrape_options__table);
	assert_non_null(f->config.all);
	assert_int_equal(f->problems.n, 0);
	f->config.options = f->config.all->scrape_configs.items;
}

void scrape_fixture__open(struct scrape_fixture *f, const char *yaml,
			  void (*adjust)(struct host_services *services))
{
	struct dcm_error err = DCM_ERROR_INIT;

	memset(f, 0, sizeof(*f));
	room__init(&f->memory.answers, MEMORY_ANSWERS_BYTES);
	f->memory.max_delta_bytes = (uint64_t)1 << 30;
	f->services.host.node = "here";
	services__init(&f->services);
	if (adjust)
		adjust(&f->services.host);
	assert_int_equal(host__new("scrape", &f->services.host, &f->host, &err), 0);
	scrape_fixture__read(f, yaml);
	f->loop = loop__new(f->host);
	f->config.host = f->host;
	f->config.loop = f->loop;
	f->config.memory = &f->memory;
	f->config.texts = &f->texts;
	if (job__new(&f->config, &f->job, &err) < 0)
		fail_msg("%s", err.text);
}

struct target *scrape_fixture__find_one(struct scrape_fixture *f, struct source *source)
{
	struct groups g = { 0 };

	job__go_live(f->job, NULL);
	assert_int_equal(groups__add(&g, STR("a:1"), NULL, 0), 0);
	assert_int_equal(job__found(f->job, source, &g), 0);
	assert_int_equal(sync__run(f->job), 0);
	assert_int_equal(f->job->targets.n, 1);
	return f->job->targets.v[0];
}

void scrape_fixture__close(struct scrape_fixture *f)
{
	job__free(f->job);
	assert_int_equal(f->texts.n, 0);
	assert_true(f->memory.n_delta_bytes == 0 && f->memory.answers.n_bytes == 0);
	room__fini(&f->memory.answers);
	texts__fini(&f->texts);
	loop__free(f->loop);
	tree__free(f->trees[0]);
	tree__free(f->trees[1]);
	problems__fini(&f->problems);
	arena__fini(&f->arena);
	host__free(f->host);
	services__fini(&f->services);
}
