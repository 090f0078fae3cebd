/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/contract/storage_host.h - a storage plugin under test, and the host that it sees
 *
 * The host is made of the core's own builder, encoding and regexes; its clocks stand still until a
 * test moves them.
 */
#ifndef DECIMA_TESTS_CONTRACT_STORAGE_HOST_H
#define DECIMA_TESTS_CONTRACT_STORAGE_HOST_H

#include <stdatomic.h>
#include <stdbool.h>

#include <decima/plugin.h>

#include "core/base/arena.h"

/* Every host has the same address as its storage, whose first member it is. */
struct storage {
	struct dcm_host host;
	const struct dcm_plugin *plugin;
	const struct dcm_storage_ops *ops;
	void *instance;
	struct arena arena; /* of the configuration */
	_Atomic int64_t real_ns, mono_ns;
	_Atomic uint64_t n_dropped; /* by host->drop() */
	uint64_t next_sequence;	    /* of batches built through the host */
};

/* Fills in a host alone. */
void storage__host(struct storage *s);

/*
 * Loads the plugin, fills its options from `yaml` ("" for the defaults), opens and starts it. False
 * with the reason on stderr when that fails.
 */
bool storage__open(struct storage *s, const char *file, const char *yaml);
/* The same for a description that is linked in. */
bool storage__open_plugin(struct storage *s, const struct dcm_plugin *plugin, const char *yaml,
			  struct dcm_error *err);
void storage__close(struct storage *s);

#endif
