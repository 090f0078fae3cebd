#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/data/pprof/record_go.sh - makes the profiles of go*/ anew: those that the runtimes of some versions of Go write
#
#	tests/data/pprof/record_go.sh VERSION..
#
# The last of the oldest and of the newest that can be had are kept here, so that the ordinary run reads both
# (tests/e2e/codec_pprof.sh); `tools/test go` runs the programs of each between them. `go` fetches each version (150 MB, once).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
for v; do
	root=$(GOTOOLCHAIN=go$v GOFLAGS='' go env GOROOT)
	(cd "$here/../../programs/go_profiles" && GOTOOLCHAIN=local GOCACHE=$dir/cache "$root/bin/go" build -trimpath -o "$dir/go_profiles" .)
	mkdir -p "$here/go$v"
	"$dir/go_profiles" "$here/go$v"
	"$root/bin/go" version
done
