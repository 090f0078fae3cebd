/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decima/options.h - options: a row is the only place where a setting is described; a part of <decima/plugin.h>
 *
 * The host reads the YAML under the instance's key, checks it against the table, and fills a zeroed
 * struct of `struct_size` bytes: each row says at which offset its value goes. The host owns the
 * struct and everything it points to; it lives from open() or prepare() until the instance stops or
 * the next commit() has returned. The same row makes the error messages, `decima describe`, the
 * manual page, the comments in conf/ and the page of settings.
 */
#ifndef DECIMA_OPTIONS_H
#define DECIMA_OPTIONS_H

#include <decima/base.h>

#ifdef __cplusplus
extern "C" {
#endif

enum dcm_option_type {
	DCM_OPT_BOOL,	/* bool */
	DCM_OPT_INT,	/* int64_t; may be written with its unit: 19Hz */
	DCM_OPT_FLOAT,	/* double */
	DCM_OPT_STRING, /* const char *; NULL when absent without a default */
	DCM_OPT_SECRET, /* const char *; never printed, logged or shown; `NAME_file` reads it from a file, unless a row is called so */
	DCM_OPT_CHOICE, /* int32_t: index into `choices` */
	DCM_OPT_DURATION, /* int64_t nanoseconds; written 10s, 1h30m */
	DCM_OPT_SIZE,	  /* int64_t bytes; written 64MiB */
	DCM_OPT_REGEX, /* const char *; checked at load: RE2's subset, anchored by whoever compiles it */
	DCM_OPT_SELECTOR, /* const char *; checked at load: type{label="value",...} */
	DCM_OPT_STRUCT,	  /* a sub-table in place, of table->struct_size bytes */
	DCM_OPT_LIST,	  /* struct dcm_list of elements */
	DCM_OPT_MAP,	  /* struct dcm_map of elements, in the file's order; keys are unique */
	DCM_OPT_UNION,	  /* struct dcm_union: exactly one key of `table` may stand here */
	DCM_OPT_JSON, /* const char *: whatever stands there, of any kind, as JSON; numbers, true and false without quotes stay such */
	DCM_OPT_SHARED, /* a table that the host owns, by name in `shared`: see enum dcm_shared */
};

/* [n] elements of the row's element type, each as large as that type's C type above. */
struct dcm_list {
	void *items;
	uint32_t n;
};
struct dcm_map {
	const char **keys; /* [n] */
	void *items;	   /* [n], like a list's */
	uint32_t n;
};
struct dcm_union {
	int32_t which; /* index of the row in the table; -1: none given */
	void *value;   /* the C type of that row; NULL: none */
};

/* Tables that several plugins share. The C type is named beside. */
enum dcm_shared {
	DCM_SHARED_RELABEL_RULES, /* struct dcm_list of struct dcm_relabel_rule: Prometheus' relabel_configs */
	DCM_SHARED_HTTP_CLIENT, /* struct dcm_http_options in place, its keys among the table's own */
};

enum dcm_option_flag {
	DCM_OPT_REQUIRED = 1,	 /* an error when absent */
	DCM_OPT_RESTART = 2,	 /* prepare() refuses a change of it; the host says so by name */
	DCM_OPT_NO_ENV = 4,	 /* ${NAME} is not replaced in here: it has a meaning of its own */
	DCM_OPT_ONE_IS_LIST = 8, /* a single value may stand for a list of it alone */
	/* a string of which each instance needs its own, unless `read_only` is set; in no nested table */
	DCM_OPT_UNIQUE = 16,
	/* a string, or strings, with the path of a file: a relative one starts where the configuration file is */
	DCM_OPT_PATH = 32,
	/* a size in which KB, MB, GB and TB are of 1024, as files of Prometheus mean them */
	DCM_OPT_BINARY = 64,
};

struct dcm_table;

/*
 * A row named "" has no key of its own. Of type DCM_OPT_STRUCT it puts its table's keys among those
 * of the table it stands in (a client's options inside a job). Of any other type it must be its
 * table's only row, and its value stands where the struct would: so a list or map can hold lists.
 */
struct dcm_option {
	const char *name; /* as in YAML: lower case, digits, underscores; or "" */
	enum dcm_option_type type;
	uint32_t offset; /* of the value in the struct: use offsetof */
	const char *def; /* default as it would stand in the file; NULL: zero, absent or empty */
	const char *min, *max; /* inclusive bounds, written like the value; NULL: none */
	const char *unit; /* DCM_OPT_INT, _FLOAT: "Hz", "" ; shown, and accepted behind the number */
	const char *const *choices;    /* DCM_OPT_CHOICE: NULL-terminated */
	const struct dcm_table *table; /* DCM_OPT_STRUCT, _UNION, and lists and maps of these */
	enum dcm_option_type element; /* DCM_OPT_LIST, _MAP: what they hold (not LIST, MAP or SHARED) */
	enum dcm_shared shared;	      /* DCM_OPT_SHARED */
	uint32_t flags;		      /* enum dcm_option_flag */
	const char *doc;	      /* one or two sentences, with what it costs */
};

struct dcm_table {
	uint32_t size;	      /* sizeof(struct dcm_table) */
	uint32_t option_size; /* sizeof(struct dcm_option) as this plugin knew it */
	uint32_t struct_size; /* of the struct the offsets point into */
	uint32_t n_options;
	const struct dcm_option *options; /* [n_options] */
	/* Optional: what single rows cannot say; any thread. A fault is placed at the row that begins it: "tls.key: ..." */
	int (*check)(const void *config, struct dcm_error *err);
	/*
	 * Optional, ends with NULL: keys that files of other programs have at this place and that
	 * mean nothing here. They are taken, whatever they hold, with a warning.
	 */
	const char *const *ignored;
	/*
	 * Optional, ends with NULL: keys of such files that would do something, which nobody does here.
	 * They are taken too; the warning ends with what is lost by it, and what to do: `absent_means`.
	 */
	const char *const *absent;
	const char *absent_means;
};

#define DCM_TABLE(struct_type, rows)                                                               \
	{                                                                                          \
		.size = sizeof(struct dcm_table), .option_size = sizeof(struct dcm_option),        \
		.struct_size = sizeof(struct_type), .n_options = sizeof(rows) / sizeof((rows)[0]), \
		.options = (rows)                                                                  \
	}

/* DCM_SHARED_RELABEL_RULES: one rule (prometheus.io: configuration, relabel_config). */
enum dcm_relabel_action {
	DCM_RELABEL_REPLACE,
	DCM_RELABEL_KEEP,
	DCM_RELABEL_DROP,
	DCM_RELABEL_KEEPEQUAL,
	DCM_RELABEL_DROPEQUAL,
	DCM_RELABEL_HASHMOD,
	DCM_RELABEL_LABELMAP,
	DCM_RELABEL_LABELDROP,
	DCM_RELABEL_LABELKEEP,
	DCM_RELABEL_LOWERCASE,
	DCM_RELABEL_UPPERCASE,
};
struct dcm_relabel_rule {
	struct dcm_list source_labels; /* of const char * */
	const char *separator;
	const char *target_label;
	const char *regex;
	int64_t modulus;
	const char *replacement;
	int32_t action; /* enum dcm_relabel_action */
};

#ifdef __cplusplus
}
#endif

#endif
