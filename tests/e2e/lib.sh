# SPDX-License-Identifier: Apache-2.0
# tests/e2e/lib.sh - what the scripts here share: verdicts, and a daemon in a folder of its own; sourced
#
# $decima, $destdir, $prefix, $top_srcdir and $top_builddir come from tools/test.

. "$top_srcdir/tests/lib/wait.sh"
. "$top_srcdir/tests/lib/compile.sh"

dir=$(mktemp -d /tmp/decima-e2e.XXXXXX) || exit 1
daemon=
trap 'daemon_stop; rm -rf "$dir"' EXIT
plugins=$destdir$prefix/lib/decima
DECIMA_PLUGIN_PATH=$plugins
export DECIMA_PLUGIN_PATH
cpu=process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta

ok() { echo "ok $1"; }
not_ok() { echo "not ok $1: $2"; }
skip() { echo "skip $1: $2"; }
# skip_all REASON: ends the script, which cannot run here
skip_all() {
	skip "$(basename "$0" .sh)" "$*"
	exit 0
}
# need_sampler: where a daemon can sample
need_sampler() {
	[ "$(id -u)" = 0 ] || skip_all "needs root"
	[ -e "$plugins/input_ebpf.so" ] || skip_all "built without eBPF"
}

# one that nobody had a moment ago; nothing without python3
free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])' 2>/dev/null; }

# fetched NAME SECONDS COMMAND..: what a registry has, or NAME is skipped; what the command said is in $dir/err
fetched() {
	fetched=$1 bound=$2
	shift 2
	timeout "$bound" "$@" >"$dir/err" 2>&1 && return
	skip "$fetched" "what it needs cannot be fetched: $(grep -v '^ *$' "$dir/err" | tail -n 1 | cut -c 1-200)"
	return 1
}

# go_modules NAME: `go`, from where the user's fetches, with what it fetches left nowhere; or NAME is skipped
go_modules() {
	command -v go >/dev/null || {
		skip "$1" "go is not installed; apt-get install golang-go"
		return 1
	}
	GOPROXY=$(go env GOPROXY) GOSUMDB=$(go env GOSUMDB) GONOSUMDB=$(go env GONOSUMDB)
	GOFLAGS=-modcacherw GOTOOLCHAIN=local GOCACHE=${GOCACHE:-$dir/cache} GOPATH=$dir/gopath HOME=$dir
	export GOFLAGS GOPROXY GOSUMDB GONOSUMDB GOTOOLCHAIN GOCACHE GOPATH HOME
}

# go_fetched NAME FOLDER ARGUMENT..: what `go ARGUMENT..` fetches for the module in FOLDER; where it cannot be had NAME is skipped
go_fetched() {
	fetched_for=$1 fetched_in=$2
	shift 2
	(cd "$fetched_in" && fetched "$fetched_for" 200 go "$@")
}
# go_builds NAME FOLDER PROGRAM [PACKAGE]: of what was fetched, into $dir/PROGRAM; what does not build is a failed case. By
# -trimpath what is compiled once is found again in the next script's folder.
go_builds() {
	(cd "$2" && GOPROXY=off timeout 900 go build -trimpath -ldflags=-w -o "$dir/$3" "${4:-.}") >"$dir/err" 2>&1 && return
	not_ok "$1" "it does not build: $({ grep -v '^#' "$dir/err" || echo "900 s were not enough"; } | head -n 1)"
	return 1
}
# go_program NAME PROGRAM SOURCE [MODULE]: tests/programs/SOURCE as $dir/PROGRAM, with MODULE of that folder's files as its go.mod
go_program() {
	go_modules "$1" || return
	go_source=$dir/$2.src
	cp -R "$top_srcdir/tests/programs/$3" "$go_source"
	[ $# -lt 4 ] || cp "$top_srcdir/tests/programs/$4" "$go_source/go.mod"
	# What go.sum names is all there is to fetch; without one the imports say it.
	if [ -e "$go_source/go.sum" ]; then go_fetched "$1" "$go_source" mod download; else go_fetched "$1" "$go_source" mod tidy; fi &&
		go_builds "$1" "$go_source" "$2"
}
# discovered_made NAME: Prometheus' own discovery (tests/programs/discovered), $dir/discovered; or NAME is skipped, or has
# failed. In a shell of its own, as `go` is given another environment.
discovered_made() {
	(
		go_modules "$1" || exit
		GOFLAGS="$GOFLAGS -tags=without_kubernetes"
		# What it is made of, and no more of what go.sum names, which is Kubernetes' too.
		go_fetched "$1" "$top_srcdir/tests/programs/discovered" list -deps . &&
			go_builds "$1" "$top_srcdir/tests/programs/discovered" discovered
	)
	[ -x "$dir/discovered" ]
}
# go_command NAME PACKAGE@VERSION: a published command, into $dir by its own name
go_command() {
	go_modules "$1" || return
	go_source=$dir/$(basename "${2%@*}").src
	mkdir -p "$go_source"
	printf 'module test\n' >"$go_source/go.mod"
	go_fetched "$1" "$go_source" get "$2" && go_builds "$1" "$go_source" "$(basename "${2%@*}")" "${2%@*}"
}
# grpcurl_made NAME: grpc-go as a command, $dir/grpcurl; or NAME is skipped, or has failed
grpcurl_made() { go_command "$1" github.com/fullstorydev/grpcurl/cmd/grpcurl@v1.9.3; }

# certificates_made NAME HOW ARGUMENT...: by tools/certificates, into $dir/HOW; one that fails is a failure, and the end
certificates_made() {
	made=$1 made_in=$2
	shift 2
	"$top_srcdir/tools/certificates" "$dir/$made_in" "$@" >"$dir/err" 2>&1 && return
	not_ok "$made.certificates" "$(tail -n 2 "$dir/err" | tr '\n' '|')"
	exit 1
}

# grpc_framed FILE: a message of less than 64 KiB as gRPC has it on the wire, not packed
grpc_framed() {
	framed=$(wc -c <"$1")
	# shellcheck disable=SC2059 # made of digits
	printf "\\000\\000\\000\\$(printf %o $((framed / 256)))\\$(printf %o $((framed % 256)))"
	cat "$1"
}

# expect NAME WANT FILE: the file has a line with that text (fixed string).
expect() {
	if grep -qF -e "$2" "$3"; then ok "$1"; else not_ok "$1" "no \"$2\" in: $(head -c 300 "$3" | tr '\n' '|')"; fi
}

# expect_status NAME WANT GOT
expect_status() {
	if [ "$2" -eq "$3" ]; then ok "$1"; else not_ok "$1" "exit status $3, not $2"; fi
}

# The daemon is ready, or gone.
settled() { grep -q 'is ready at' "$dir/log" || ! kill -0 "$daemon"; }

# daemon_start [ARGUMENT]...: on a unix socket unless told otherwise, ready when it returns; its log is $dir/log.
daemon_start() {
	case "$*" in *--listen* | *server.listen=*) ;; *) set -- --listen "unix:$dir/sock" "$@" ;; esac
	# Before it is forked: the daemon before this one was ready, too.
	: >"$dir/log"
	"$decima" run --plugin-path "$plugins" --data "$dir/data" "$@" >"$dir/out" 2>"$dir/log" &
	daemon=$!
	wait_for 60 settled
	grep -q 'is ready at' "$dir/log" && return
	kill "$daemon" 2>/dev/null
	wait "$daemon"
	daemon_status=$?
	daemon=
	return 1
}

# last_words LOG: on one line, for a verdict
last_words() { tail -n 3 "$1" | tr '\n' '|'; }

# daemon_begin NAME [ARGUMENT]...: as daemon_start; who does not start fails that case and ends the script.
daemon_begin() {
	begun=$1
	shift
	daemon_start "$@" && return
	not_ok "$begun" "$(last_words "$dir/log")"
	exit 1
}

# Asks it to stop, and takes its exit status into $daemon_status.
daemon_stop() {
	[ -n "$daemon" ] || return 0
	kill "$daemon" 2>/dev/null
	wait "$daemon"
	daemon_status=$?
	daemon=
}

# The daemon that is sent to, with $dir/far.yaml; its log is $dir/far.log.
far=
far_stop() {
	[ -n "$far" ] || return 0
	kill "$far" 2>/dev/null
	wait "$far"
	far=
}
far_settled() { grep -q 'is ready at' "$dir/far.log" || ! kill -0 "$far"; }
# far_start PORT: at that port of this machine, 0: any, and at $dir/far.sock
far_start() {
	: >"$dir/far.log"
	"$decima" run --plugin-path "$plugins" --data "$dir/far" -c "$dir/far.yaml" \
		--set "server.listen=[\"127.0.0.1:$1\",\"unix:$dir/far.sock\"]" >"$dir/far.out" 2>"$dir/far.log" &
	far=$!
	wait_for 60 far_settled
	grep -q 'is ready at' "$dir/far.log"
}
# far_begin NAME: at any port, $port, of the address $url; as daemon_begin
far_begin() {
	if ! far_start 0; then
		not_ok "$1" "$(last_words "$dir/far.log")"
		exit 1
	fi
	url=$(sed -n 's|.*is ready at \(https\{0,1\}://[^ ,]*\).*|\1|p' "$dir/far.log" | head -n 1)
	port=${url##*:}
	port=${port%%/*}
}
# far_again NAME: at the same port
far_again() { far_start "$port" || not_ok "$1" "$(last_words "$dir/far.log")"; }

# together NAME SOCKET BATCHES: so many that waited have come there in fewer requests, at first one by one, then two, ..
together() {
	requests=$(curl -s --unix-socket "$2" http://localhost/metrics | sed -n 's/^decima_receive_requests_total{.*} //p')
	if [ "${requests:-999999}" -lt $(($3 * 5 / 6)) ]; then ok "$1"; else not_ok "$1" "$requests requests for $3 batches"; fi
}

ask() { "$decima" "$@" --url "unix:$dir/sock"; }
# what stands at the ends of lines, as of folded stacks, added up
sum_of_lines() { awk '{ n += $NF } END { printf "%.0f\n", n }'; }
get() { curl -s --unix-socket "$dir/sock" "http://localhost$1"; }
