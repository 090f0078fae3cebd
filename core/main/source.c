/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/main/source.c - options of the command line as a source of configuration
 */
#include "core/main/source.h"

#include <errno.h>

#include "core/base/mem.h"

int source__sets(const struct args *a, const char ***ret_sets, uint32_t *ret_n)
{
	const char **sets = mem__zalloc(a->n_given + 1, sizeof(*sets));
	uint32_t n = 0;

	if (!sets)
		return -ENOMEM;
	while (args__nth(a, "set", n)) {
		sets[n] = args__nth(a, "set", n);
		n++;
	}
	*ret_sets = sets;
	*ret_n = n;
	return 0;
}

int source__from_args(const struct args *a, struct plan_source *ret, const char ***ret_sets)
{
	const char **sets;
	uint32_t n;

	if (source__sets(a, &sets, &n) < 0)
		return -ENOMEM;
	*ret = (struct plan_source){
		.path = args__get(a, "config", NULL),
		.text = plan__default_text,
		.sets = sets,
		.n_sets = n,
		.listen = args__get(a, "listen", NULL),
		.data = args__get(a, "data", NULL),
		.plugin_path = args__get(a, "plugin-path", NULL),
		.log_level = args__get(a, "log-level", NULL),
		.elsewhere = args__has(a, "config-only"),
	};
	*ret_sets = sets;
	return 0;
}
