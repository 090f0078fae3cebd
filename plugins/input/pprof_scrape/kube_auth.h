/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/pprof_scrape/kube_auth.h - how an API server of Kubernetes is reached, and as whom
 *
 * In a pod, by what its service account has; by a kubeconfig; or as the configuration says.
 */
#ifndef DECIMA_PPROF_SCRAPE_KUBE_AUTH_H
#define DECIMA_PPROF_SCRAPE_KUBE_AUTH_H

#include <decima/plugin.h>

#include "core/base/arena.h"

struct kube_access {
	struct arena arena; /* of all texts */
	const char *server; /* without a slash at its end */
	struct dcm_http_options http;
};
void kube_access__fini(struct kube_access *a);

/*
 * Of a pod's service account, whose files are below `dir`; the token's file is read again when it
 * changes. 0; -EINVAL: this is no pod; -ENOMEM.
 */
int kube_access__in_cluster(struct kube_access *a, const char *dir, struct dcm_error *err);
/* The file's own namespace of that account. */
int kube_access__own_namespace(struct kube_access *a, const char *dir, const char **ret,
			       struct dcm_error *err);

/*
 * Of a kubeconfig's current context: token, tokenFile, basic auth, client certificate, CA, proxy-url,
 * tls-server-name, insecure-skip-tls-verify; paths are relative to the file. 0; -EINVAL with a
 * sentence that names the file (also for exec and auth-provider, which would run programs); -ENOMEM.
 */
int kube_access__kubeconfig(struct kube_access *a, const char *path, struct dcm_error *err);

#endif
