// SPDX-License-Identifier: Apache-2.0
//go:build !without_kubernetes

package main

// Its client is most of what there is to compile: without_kubernetes leaves it out.
import _ "github.com/prometheus/prometheus/discovery/kubernetes"
