/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/plan_sample.c - a loader along the build tree, and plans made with it
 */
#include "tests/unit/plan_sample.h"

#include "tests/unit/paths.h"
#include "tests/unit/unit.h"

struct loader *plan_sample__loader(void)
{
	struct dcm_error err = DCM_ERROR_INIT;
	struct loader *loader = NULL;

	if (loader__new(TEST_BUILDDIR "/plugins/.libs:" TEST_BUILDDIR "/tests/plugins/.libs", false,
			&loader, &err) < 0)
		fail_msg("%s", err.text);
	return loader;
}

struct plan *plan_sample__load(struct loader *loader, const char *yaml)
{
	struct problems problems = { 0 };
	struct dcm_error err = DCM_ERROR_INIT;
	struct plan *plan = NULL;

	if (plan__load(&(struct plan_source){ .text = yaml }, &loader, &problems, &plan) < 0) {
		problems__first(&problems, &err);
		fail_msg("%s", err.text);
	}
	problems__fini(&problems);
	return plan;
}
