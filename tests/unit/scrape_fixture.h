/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/scrape_fixture.h - the scraper's one job, with the core's real services and without its thread
 */
#ifndef DECIMA_SCRAPE_FIXTURE_H
#define DECIMA_SCRAPE_FIXTURE_H

#include "core/config/options.h"
#include "core/config/tree.h"
#include "core/main/services.h"
#include "plugins/input/pprof_scrape/job.h"

struct scrape_fixture {
	struct services services;
	struct dcm_host *host;
	struct arena arena;
	struct problems problems;
	struct tree *trees[2];
	struct loop *loop;
	struct memory memory;
	struct texts texts;
	struct job_config config;
	struct job *job; /* of the first of scrape_configs; neither started nor live */
};

/* `adjust` puts the test's own functions in the place of the core's; NULL: there are none. */
void scrape_fixture__open(struct scrape_fixture *f, const char *yaml,
			  void (*adjust)(struct host_services *services));
/* Another configuration, once, for a job that the test makes: f->config. */
void scrape_fixture__read(struct scrape_fixture *f, const char *yaml);
/* Goes live, and has a source find "a:1": the target of the job's one profile. */
struct target *scrape_fixture__find_one(struct scrape_fixture *f, struct source *source);
void scrape_fixture__close(struct scrape_fixture *f); /* and asserts that nothing is left */

#endif
