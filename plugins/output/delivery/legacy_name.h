/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/output/delivery/legacy_name.h - names of labels for servers that know none but [a-zA-Z_][a-zA-Z0-9_]*
 *
 * Pyroscope and Parca refuse a profile with another name (a label of a sample counts for Pyroscope as one of its series; Parca takes those), and one
 * that has a name twice. Such names stay as they are. Of the others:
 *   dots       become '_', as in Pyroscope since 1.6: http.method is http_method, and service.name is the service_name that it asks for;
 *   the rest   is encoded as Prometheus does it for those without UTF-8 ("values", prometheus.io/docs/instrumenting/escaping_schemes):
 *              "U__", then '_' as "__" and what is not allowed as its code point in hexadecimal between two '_': a,b is U__a_2c_b.
 *              So are dots where another label of the same series, or sample, is called the same but for dots and '_', where a name
 *              would begin with "__" then, and all in a name that begins with "U__": of two names none becomes the other.
 * Series that differ in nothing but a dot of a name are one there. Which name a label has depends on nothing but its series or its sample's
 * labels, so it is the same in every batch. Pure but for the cache; one thread at a time.
 */
#ifndef DECIMA_OUTPUT_DELIVERY_LEGACY_NAME_H
#define DECIMA_OUTPUT_DELIVERY_LEGACY_NAME_H

#include <stdbool.h>

#include <decima/plugin.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/vec.h"

/* For the options of such an output. */
#define LEGACY_NAMES_DOC                                                                           \
	"Names of labels are of letters, digits and \"_\" there: dots become \"_\", other names "  \
	"are encoded "                                                                             \
	"as Prometheus does it for those without UTF-8 (a,b is U__a_2c_b), and so are dots where " \
	"two "                                                                                     \
	"labels would have one name. Series that differ in nothing but such a dot are one there."

/* Appends the name of the i-th label of the series. */
void legacy_name__put_pair(struct buf *out, const struct dcm_batch *b, struct dcm_span series,
			   uint32_t i);

/* A batch whose sample labels have such names, for the host's encode(). Zeroed at first. */
struct legacy_labels {
	const struct dcm_batch *of; /* which the view is of; NULL: there is none */
	struct dcm_batch view;
	VEC(struct dcm_str) strings;
	struct dcm_label *labels;
	struct arena text;
};

/*
 * *ret is b itself where all are such, and else a view that lives until the next call or l's end, and not longer than b. 0 or -ENOMEM.
 * Asked again for the same batch, it has the answer: legacy_labels__fini() belongs between it and another that may be at the same address.
 */
int legacy_labels__of(struct legacy_labels *l, const struct dcm_batch *b, const struct dcm_batch **ret);
void legacy_labels__fini(struct legacy_labels *l); /* zeroed behind it */

#endif
