#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/ebpf_go.sh - Go's stacks, through leaves without a frame, C, callbacks from C, and the vDSO
#
# Nearly all of the time goes to one chain; what Go's runtime does besides, in threads of its own, has
# its own roots. Nothing may show main.run without the chain that leads to it.
set -u
. "$top_srcdir/tests/host/lib.sh"
need_root
command -v go >/dev/null || skip_all "go is missing"
command -v gcc >/dev/null || skip_all "gcc is missing, which cgo needs"

GOCACHE=${GOCACHE:-$dir/cache} GO111MODULE=off GOFLAGS='' GOTOOLCHAIN=local HOME=$dir
export GOCACHE GO111MODULE GOFLAGS GOTOOLCHAIN HOME

root='runtime\.goexit[^;]*;runtime\.main;main\.main;main\.run'
into_c='main\._Cfunc_[a-z_]*[^;]*;runtime\.cgocall;runtime\.asmcgocall[^;]*;_cgo_[^;]*'
into_go='go_callback;crosscall2;runtime\.cgocallback[^;]*;(runtime\.cgocallbackg1?[^;]*;)+_cgoexp_[^;]*'
end='(;[a-z_]*(asm_|irq|entry|ret_from)[^;]*(;[^;]*)*)?$'

# one NAME MODE CHAIN: of program $dir/NAME; CHAIN is what follows main.run.
one() {
	start "$dir/$1" "$2"
	warm 20
	sample_work "{frequency: 397Hz, filter: {pids: [$pid]}}" 2
	at_least "$1.$2" 95 "^$root;$3$end"
	at_least "$1.$2.from_the_root" 100 "^$root|^runtime\.(goexit|mstart|mcall|rt0_go)|^\[truncated: "
	kill -9 "$pid"
}

# built NAME OPTION..
built() {
	built_name=$1
	shift
	go build "$@" -o "$dir/$built_name" "$programs/cgo/main.go" 2>"$dir/log" && return
	not_ok "$built_name" "cannot be built"
	return 1
}

if built go; then
	one go leaf 'main\.calls;main\.leaf'
	one go c "$into_c;c_outer;c_leaf"
	one go callback "$into_c;c_calls_go;$into_go;main\.calls;main\.leaf"
	one go clock 'main\.clock(;time\.[^;]*)*(;[a-z_]*clock_gettime[^;]*|;\[vdso\][^;]*)?'
fi
if built go_pie -buildmode=pie -ldflags=-w; then
	one go_pie leaf 'main\.calls;main\.leaf'
	one go_pie c "$into_c;c_outer;c_leaf"
fi
