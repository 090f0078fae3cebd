/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/pprof_scrape/kube_selector.h - is a text a selector that a Kubernetes API server would take?
 *
 * A configuration with one that it would refuse is refused where it stands, not at each list. Sources: kubernetes.io,
 * "Labels and Selectors" and "Field Selectors"; apimachinery's labels.Parse and fields.ParseSelector.
 */
#ifndef DECIMA_PPROF_SCRAPE_KUBE_SELECTOR_H
#define DECIMA_PPROF_SCRAPE_KUBE_SELECTOR_H

#include <stdbool.h>

/* "app=web,tier in (a, b),!canary"; "" selects all. */
bool kube_selector__is_of_labels(const char *text);
/* "status.phase=Running,spec.nodeName!=n"; a comma in a value stands behind a backslash. "" selects all. */
bool kube_selector__is_of_fields(const char *text);

#endif
