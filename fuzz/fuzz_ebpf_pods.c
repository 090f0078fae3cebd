/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz/fuzz_ebpf_pods.c - what Kubernetes and container runtimes say of containers, as labels
 */
#include <stdint.h>
#include <stdlib.h>

#include "core/base/str.h"
#include "plugins/input/ebpf/containers.h"
#include "plugins/input/ebpf/kubernetes.h"
#include "plugins/input/ebpf/tags.h"
#include "tests/unit/no_metrics.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct dcm_host host = { .size = sizeof(host),
					      .metric = no_metrics__make,
					      .metric_set = no_metrics__set };
	static const struct settings_kubernetes settings = { .source = SETTINGS_KUBERNETES_KUBELET };
	struct kubernetes *k = kubernetes__new(&host, &settings);
	struct dcm_str at, name, value;
	struct buf rows = { 0 };

	if (k) {
		kubernetes__take_node(k, (const char *)data, size);
		if (kubernetes__take(k, (const char *)data, size) == 0)
			kubernetes__find(k, STR("a"), &rows);
	}
	for (int i = 0; i < CONTAINERS_N_RUNTIMES; i++)
		containers__parse((enum containers_runtime)i, "a", (const char *)data, size, &rows);
	at = buf__view(&rows);
	while (tags__next(&at, &name, &value))
		if (name.n == 0 || value.n == 0 || value.n > TAGS_VALUE_BYTES || !str__is_utf8(value))
			abort();
	buf__fini(&rows);
	kubernetes__free(k);
	return 0;
}
