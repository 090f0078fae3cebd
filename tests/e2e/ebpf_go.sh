#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/ebpf_go.sh - Go's stacks, through leaves without a frame, C, callbacks from C, and the vDSO
#
# Nearly all of the time goes to one chain (tests/lib/chain.awk); what Go's runtime does besides, in threads of its own,
# has its own roots.
#
set -u
. "$top_srcdir/tests/host/lib.sh"
need_root
command -v go >/dev/null || skip_all "go is missing"
command -v gcc >/dev/null || skip_all "gcc is missing, which cgo needs"

GOCACHE=${GOCACHE:-$dir/cache} GO111MODULE=off GOFLAGS='' GOTOOLCHAIN=local HOME=$dir
export GOCACHE GO111MODULE GOFLAGS GOTOOLCHAIN HOME

# What begins a goroutine or a thread of the runtime, and no chain goes on with; what the runtime does in between.
goexit='runtime[.]goexit.*'
main="$goexit runtime[.]main main[.]main"
# Its assembler's functions have names of their own; signals make goroutines give way.
other="$other|(runtime|time|internal/[a-z/]*|sync.*)[.].*|gogo|[a-z]*body|aeshash.*"
runtime="$goexit|runtime[.](mstart|mcall|rt0_go).*|_rt0_.*"
into_c='main[.]_Cfunc_[a-z_]*.* runtime[.]cgocall runtime[.]asmcgocall.* _cgo_.*'
into_go='go_callback crosscall2 runtime[.]cgocallback.* *runtime[.]cgocallbackg.* runtime[.]cgocallbackg1.* _cgoexp_.*'

# one NAME MODE CHAIN: of program $dir/NAME; CHAIN is what follows main.run.
one() { case_of "$1.$2" "$main main[.]run $3|$runtime" "$dir/$1" "$2"; }

# built NAME OPTION..
built() {
	built_name=$1
	shift
	go build "$@" -o "$dir/$built_name" "$programs/cgo/main.go" 2>"$dir/log" && return
	not_ok "$built_name" "cannot be built"
	return 1
}

# Go's runtime works beside each program, which is in no whole chain of it.
right='99.5 90'

# through_c NAME MODE CHAIN: before Go 1.21 asmcgocall keeps no record of the stack that it comes from, which ends all of these
through_c() {
	case $(go env GOVERSION) in
	go1.1[89]* | go1.20*)
		right='0 0'
		one "$@"
		right='99.5 90'
		;;
	*) one "$@" ;;
	esac
}

if built go; then
	one go leaf 'main[.]calls main[.]leaf'
	through_c go c "$into_c c_outer c_leaf"
	through_c go callback "$into_c c_calls_go $into_go main[.]calls main[.]leaf"
	# Go's scheduler asks for the CPU by way of morestack, which leaves no record of the stack that it comes from.
	right='98 90'
	one go clock 'main[.]clock *(time[.].*|runtime[.].*|[a-z_]*clock_gettime.*|\[vdso\].*)'
	right='99.5 90'
fi
if built go_pie -buildmode=pie -ldflags=-w; then
	one go_pie leaf 'main[.]calls main[.]leaf'
	through_c go_pie c "$into_c c_outer c_leaf"
fi
if go build -o "$dir/chain" "$programs/chain.go" 2>"$dir/log"; then
	case_of chain "$main main[.]alpha main[.]beta main[.]spin|$runtime" "$dir/chain" 600
	# Handlers of Go's own, without a C library: back to what was interrupted. Signals make goroutines give way, and reach
	# threads that wait: how much of the time is the scheduler's, by way of morestack too, depends on how many come.
	right='98 90'
	handled="main[.]spin *runtime[.].*|= runtime[.](mcall|mstart).* *runtime[.].*"
	case_of signals "$main main[.]alpha main[.]beta $handled|$runtime" "$dir/chain" 600
	right='99.5 90'
	while kill -URG "$pid"; do :; done 2>/dev/null &
fi

judge 'frequency: 997Hz' 1
if [ -e "$dir/chain" ]; then
	check signals.seen "$(rows | grep -c 'main.spin;runtime.sigreturn[^;]*;runtime.sigtramp')" -gt 0
fi
