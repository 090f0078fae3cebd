/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/output/otlp/names.c - what OpenTelemetry calls what labels and frames say
 */
#include "plugins/output/otlp/names.h"

#include "core/base/str.h"

struct dcm_str names__key(struct dcm_str name, struct names_beside beside)
{
	static const struct {
		const char *name, *key, *key_of_pod; /* NULL: the same */
	} known[] = {
		{ "service_name", "service.name", NULL },
		{ "service_namespace", "service.namespace", NULL },
		{ "service_version", "service.version", NULL },
		{ "instance", "service.instance.id", NULL },
		{ "host_name", "host.name", NULL },
		{ "node", "host.name", "k8s.node.name" },
		{ "pod", "k8s.pod.name", NULL },
		{ "namespace", "k8s.namespace.name", NULL },
		{ "container", "container.name", "k8s.container.name" },
		{ "container_id", "container.id", NULL },
		{ "container_runtime", "container.runtime", NULL },
		{ "comm", "process.executable.name", NULL },
		{ "exe", "process.executable.path", NULL },
		{ "pid", "process.pid", NULL },
		{ "tid", "thread.id", NULL },
		{ "thread_name", "thread.name", NULL },
		{ "cpu", "cpu.logical_number", NULL },
	};

	if (beside.host_name && str__eq(name, STR("node")))
		return STR("k8s.node.name");
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (str__eq(name, str__of(known[i].name)))
			return str__of(beside.pod && known[i].key_of_pod ? known[i].key_of_pod
									 : known[i].key);
	return name;
}

struct dcm_str names__frame(enum dcm_frame_kind kind, struct dcm_str file)
{
	static const struct {
		enum dcm_frame_kind kind;
		const char *end, *type;
	} runtimes[] = {
		{ DCM_FRAME_JIT, ".java", "jvm" },
		{ DCM_FRAME_JIT, ".kt", "jvm" },
		{ DCM_FRAME_JIT, ".scala", "jvm" },
		{ DCM_FRAME_JIT, ".js", "v8js" },
		{ DCM_FRAME_JIT, ".mjs", "v8js" },
		{ DCM_FRAME_JIT, ".ts", "v8js" },
		{ DCM_FRAME_JIT, ".cs", "dotnet" },
		{ DCM_FRAME_INTERPRETED, ".py", "cpython" },
		{ DCM_FRAME_INTERPRETED, ".rb", "ruby" },
		{ DCM_FRAME_INTERPRETED, ".php", "php" },
		{ DCM_FRAME_INTERPRETED, ".pl", "perl" },
		{ DCM_FRAME_INTERPRETED, ".pm", "perl" },
		{ DCM_FRAME_INTERPRETED, ".lua", "lua" },
		{ DCM_FRAME_INTERPRETED, ".erl", "beam" },
		{ DCM_FRAME_INTERPRETED, ".ex", "beam" },
	};

	for (size_t i = 0; i < sizeof(runtimes) / sizeof(runtimes[0]); i++)
		if (runtimes[i].kind == kind && str__ends(file, str__of(runtimes[i].end)))
			return str__of(runtimes[i].type);
	switch (kind) {
	case DCM_FRAME_KERNEL:
		return STR("kernel");
	case DCM_FRAME_JIT:
		return STR("jit");
	case DCM_FRAME_INTERPRETED:
		return STR("interpreted");
	case DCM_FRAME_NOTE:
		return STR("abort-marker");
	default:
		return STR("native");
	}
}
