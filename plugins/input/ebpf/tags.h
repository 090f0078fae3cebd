/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/tags.h - the labels that a process gives its series and its samples
 *
 * Rows of tags are one text: name, NUL, value, NUL, name, ... So they are compared, interned and
 * copied as one. Which there are is the configuration's to say (settings_labels); docs/SAMPLER.md
 * lists them all. Pure; any thread.
 */
#ifndef DECIMA_EBPF_TAGS_H
#define DECIMA_EBPF_TAGS_H

#include <decima/plugin.h>

#include "core/base/buf.h"
#include "plugins/input/ebpf/executables.h"
#include "plugins/input/ebpf/settings.h"

enum {
	TAGS_MAX = 128,		/* labels of one process */
	TAGS_VALUE_BYTES = 1024 /* beyond which a value is cut */
};

/* What is known of a process; all borrowed, "" and NULL for what is not known. */
struct tags_facts {
	uint32_t pid, ppid;
	struct dcm_str exe, cgroup;
	struct dcm_str environment; /* as in /proc/PID/environ */
	struct dcm_str cmdline;	    /* arguments with blanks between them */
	const struct executable *executable;
	struct dcm_str pod; /* rows of tags from Kubernetes and runtimes (kubernetes.h, containers.h) */
};

/* Rows for the series and for each sample; `ret` gets an error when memory ran out. */
void tags__series(const struct settings_labels *on, const struct tags_facts *facts, struct buf *ret);
void tags__sample(const struct settings_labels *on, const struct tags_facts *facts, struct buf *ret);

/*
 * Adds a row, unless the value is empty, the name is there already or TAGS_MAX are. The name
 * becomes a legal one ([a-zA-Z_][a-zA-Z0-9_]*), the value clean UTF-8.
 */
void tags__add(struct buf *rows, struct dcm_str name, struct dcm_str value);

/* The next row, and *at moves behind it; false at the end. */
bool tags__next(struct dcm_str *at, struct dcm_str *ret_name, struct dcm_str *ret_value);

/* The value of a row, or "". */
struct dcm_str tags__value(struct dcm_str rows, struct dcm_str name);

#endif
