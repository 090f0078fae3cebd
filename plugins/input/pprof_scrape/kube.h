/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/pprof_scrape/kube.h - what a discovery knows of a Kubernetes cluster, and how it is kept up
 *
 * A kube_watch keeps the objects of one resource in one namespace (or all of them): a list in pages,
 * then a watch from the list's resource version on, which is begun anew from where it ended; a list
 * again when the server does not know that version any more (410), or an event could not be taken. Of
 * an object only that is kept which labels are made of (kube_doc.h).
 *
 * Targets are made of objects of the role, and of others that these are joined with. What is joined is
 * asked for by name (kube__find()), and each object of the role remembers what was asked for it, found or
 * not: of another that comes, changes or goes, those are made anew that had asked for it.
 * On the loop's thread.
 * Source: kubernetes.io, "Kubernetes API concepts".
 */
#ifndef DECIMA_PPROF_SCRAPE_KUBE_H
#define DECIMA_PPROF_SCRAPE_KUBE_H

#include <decima/plugin.h>

#include "core/base/vec.h"
#include "plugins/input/pprof_scrape/discovery.h"
#include "plugins/input/pprof_scrape/kube_auth.h"
#include "plugins/input/pprof_scrape/kube_doc.h"
#include "plugins/input/pprof_scrape/loop.h"
#include "plugins/input/pprof_scrape/query.h"

enum kube_resource {
	KUBE_NODE,
	KUBE_POD,
	KUBE_SERVICE,
	KUBE_ENDPOINTS,
	KUBE_SLICE,
	KUBE_INGRESS,
	KUBE_NAMESPACE,
	KUBE_REPLICASET,
	KUBE_JOB,
};

struct kube_resource_kind {
	const char *group, *name;	/* of the path */
	const struct kube_mask *mask;	/* of the role's */
	const struct kube_mask *joined; /* of those that are joined with the role's; NULL: the same */
	bool has_no_namespace;
};
extern const struct kube_resource_kind kube_resources[]; /* by enum kube_resource */

struct kube_selector {
	int32_t role; /* enum kube_resource, of the first six */
	const char *label, *field;
};

struct kube_namespaces {
	bool own_namespace;
	struct dcm_list names; /* of const char * */
};

struct kube_attach {
	bool node, namespace, deployment, job, cronjob;
};

struct kube_options {
	const char *api_server, *kubeconfig_file;
	int32_t role;
	struct dcm_http_options http;
	struct kube_namespaces namespaces;
	struct kube_attach attach;
	struct dcm_list selectors; /* of struct kube_selector */
};

struct kube_object {
	struct kube_object *next; /* of its bucket */
	uint32_t hash;
	bool is_seen, is_dirty;
	struct kube_doc *doc;
	struct source source; /* of the role's: its targets */
	VEC(uint32_t) asked;  /* of the role's: what its targets were joined with (name_of()) */
	char key[];	      /* NAMESPACE/NAME, or NAME */
};

struct kube;

struct kube_watch {
	struct kube *kube;
	enum kube_resource resource;
	const char *namespace; /* NULL: all of them, or it has none */
	bool is_primary;       /* the role's */
	bool is_synced;	       /* a list has been whole */
	struct kube_object **buckets;
	uint32_t n_buckets, n;
	size_t n_bytes;	      /* of the objects */
	char *version, *more; /* of the list: its resource version, where the next page begins */
	struct query *query;
	bool is_listing;
	int64_t began_mono_ns;
	uint32_t n_seen;     /* of the list at hand */
	uint32_t n_left_out; /* since it began */
	uint32_t n_failures; /* in a row */
	bool is_told;	     /* of the last one */
	struct loop_timer again;
};

/* So many that of ten objects that changed, one in 26,000 others is taken for one of them. */
enum { KUBE_CHANGED_BITS = 1 << 18 };

struct kube {
	struct discovery *d;
	const struct kube_options *options;
	struct kube_access access;
	struct dcm_http_client *client;
	VEC(struct kube_watch *) watches;
	struct loop_timer rebuild;

	/* Names of joined objects that changed since the last rebuild: a bit for each hash. */
	uint64_t changed[KUBE_CHANGED_BITS / 64];
	struct kube_object *building; /* what kube__find() asks for */
	bool is_out_of_memory;	      /* for what is asked */
	bool is_built;		      /* each list has been whole, and its targets made */
};

/* Begins with a list. 0 or -ENOMEM. */
int kube_watch__new(struct kube *k, enum kube_resource resource, const char *namespace, bool is_primary);
void kube_watch__free(struct kube_watch *w);
/* NULL: there is none. */
struct kube_object *kube_watch__find(const struct kube_watch *w, const char *key);

/* The object came, changed, or goes. */
void kube__changed(struct kube_watch *w, struct kube_object *o);
/* A list is whole. */
void kube__listed(struct kube *k);

/* The object of that name, for the one whose targets are being made; NULL: there is none. */
const struct kube_value *kube__find(struct kube *k, enum kube_resource resource,
				    const char *namespace, const char *name);

/* The targets of an object of the role. 0, -E2BIG, -ENOMEM. */
int kube_roles__build(struct kube *k, const struct kube_value *object, struct groups *found);

#endif
