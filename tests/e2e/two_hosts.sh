#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/two_hosts.sh - an agent and a server in two network namespaces: every sample arrives once, whatever the network does
#
# conf/agent.yaml and conf/server.yaml, as a new user takes them: the files of certificates, a token and the place of the
# data are set beside them, and the server's name stands in an /etc/hosts of the agent's own. What can be counted exactly
# is pushed to the agent, each with a stack and a number of its own; what it said yes to has to be at the server, and nothing
# there twice. What its sampler takes is in a store of its own, too, which the server has to agree with.
#
# $SEED repeats the moments of the kills.
#
# runs beside others
set -u
. "$top_srcdir/tests/e2e/lib.sh"

[ "$(id -u)" = 0 ] || skip_all "needs root"
[ -e "$plugins/input_receive.so" ] || skip_all "built without receive"
[ -e "$plugins/output_decima.so" ] || skip_all "built without the output decima"
[ -e "$plugins/storage_local.so" ] || skip_all "built without the storage local"
for tool in openssl ip nsenter unshare curl; do
	command -v "$tool" >/dev/null || skip_all "$tool is missing"
done

host=profiles.example.org
agent_ip=10.213.1.1 server_ip=10.213.1.2
bad_agent_ip=10.213.2.1 bad_server_ip=10.213.2.2
agent_net=decima-agent-$$ server_net=decima-server-$$
agent='' server='' link='' pusher=''
finish() {
	for process in $pusher $agent $server $link; do kill -KILL "$process" 2>/dev/null; done
	wait
	for net in "$agent_net" "$server_net"; do ip netns del "$net" 2>/dev/null; done
	rm -rf "$dir"
}
trap finish EXIT
trap 'exit 1' INT TERM HUP

# ---- two hosts ----
ip netns add "$agent_net" 2>"$dir/err" && ip netns add "$server_net" 2>>"$dir/err" &&
	ip -n "$agent_net" link add wire type veth peer name wire netns "$server_net" 2>>"$dir/err" ||
	skip_all "no network namespaces: $(tail -n 1 "$dir/err")"
# host_up NAMESPACE ADDRESS
host_up() { ip -n "$1" address add "$2/30" dev wire && ip -n "$1" link set wire up && ip -n "$1" link set lo up; }
host_up "$agent_net" "$agent_ip" && host_up "$server_net" "$server_ip" || skip_all "no addresses can be given"
unshare -m true 2>/dev/null || skip_all "no mount namespaces"
# on NAMESPACE COMMAND..: on that host
on() {
	at=$1
	shift
	nsenter "--net=/run/netns/$at" "$@"
}
# Nobody hears of it: frames go to an address that nobody has. deaf NAMESPACE ADDRESS: what that host sends is lost
deaf() { ip -n "$1" neighbour replace "$2" dev wire lladdr 02:00:00:00:00:fe nud permanent; }
heard() { ip -n "$1" neighbour del "$2" dev wire; }
server_is_at() { printf '127.0.0.1 localhost\n%s %s\n' "$1" "$host" >"$dir/hosts"; }
server_is_at "$server_ip"

certificates_made two_hosts tls server "$host"
certificates_made two_hosts tls client agent
printf 'letmein-letmein\n' >"$dir/token"

# ---- nobody opens a port to everybody by accident ----
# refused NAME ARGUMENT..: a server that does not start, and says what to do
refused() {
	name=$1
	shift
	on "$server_net" timeout 20 "$decima" run --plugin-path "$plugins" --data "$dir/none" "$@" >"$dir/out" 2>"$dir/err"
	expect_status "two_hosts.$name" 2 $?
	expect "two_hosts.${name}_says_what_to_do" "set server.tokens, server.proxy or server.tls.client_ca_file, or server.insecure: true" "$dir/err"
}
refused open_port --listen "$server_ip:7070"
refused open_port_for_all --listen 0.0.0.0:7070
# A name that is let be, and leads elsewhere on this machine.
printf '%s localhost\n' "$server_ip" >"$dir/astray"
# shellcheck disable=SC2016 # for the shell there
on "$server_net" timeout 20 unshare -m sh -c 'mount --bind "$0" /etc/hosts && exec "$@"' "$dir/astray" \
	"$decima" run --plugin-path "$plugins" --data "$dir/none" --listen localhost:7070 >"$dir/out" 2>"$dir/err"
status=$?
if [ $status -ne 0 ] && [ $status -ne 124 ]; then ok two_hosts.localhost_is_elsewhere; else not_ok two_hosts.localhost_is_elsewhere "exit status $status"; fi
expect two_hosts.localhost_is_elsewhere_says_where "that name is $server_ip here, which other machines reach" "$dir/err"
# TLS alone asks nobody who he is.
set_tls() { echo "--set server.tls.cert_file=$dir/tls/server.pem --set server.tls.key_file=$dir/tls/server.key"; }
# shellcheck disable=SC2046 # words
refused open_port_with_tls -c "$top_srcdir/conf/server.yaml" $(set_tls) --set server.tls.client_ca_file=

# ---- both start ----
# is_up LOG PROCESS
is_up() { grep -q 'is ready at' "$1" || ! kill -0 "$2"; }
# up SIDE PROCESS: it is ready, or the script ends
up() {
	wait_for 60 is_up "$dir/$1.log" "$2"
	grep -q 'is ready at' "$dir/$1.log" && kill -0 "$2" && return
	not_ok "two_hosts.$1_starts" "$(last_words "$dir/$1.log")"
	exit 1
}
server_start() {
	: >"$dir/server.log"
	# shellcheck disable=SC2046 # words
	nsenter "--net=/run/netns/$server_net" "$decima" run --plugin-path "$plugins" --data "$dir/server" -c "$top_srcdir/conf/server.yaml" \
		--set "server.listen=[\"0.0.0.0:7070\",\"unix:$dir/server.sock\"]" $(set_tls) \
		--set "server.tls.client_ca_file=$dir/tls/ca.pem" --set server.tls.client_role=read \
		--set "server.tokens=[{token_file: $dir/token, role: write}]" \
		--set inputs.receive.silent_after=3s >"$dir/out" 2>"$dir/server.log" &
	server=$!
	up server "$server"
}
agent_start() {
	: >"$dir/agent.log"
	# shellcheck disable=SC2016 # for the shell there
	nsenter "--net=/run/netns/$agent_net" unshare -m sh -c 'mount --bind "$0" /etc/hosts && exec "$@"' "$dir/hosts" \
		"$decima" run --plugin-path "$plugins" --data "$dir/agent" -c "$top_srcdir/conf/agent.yaml" \
		--listen "unix:$dir/agent.sock" --set node=agent-7 \
		--set "outputs.decima.tls_config.ca_file=$dir/tls/ca.pem" \
		--set "outputs.decima.tls_config.cert_file=$dir/tls/agent.pem" \
		--set "outputs.decima.tls_config.key_file=$dir/tls/agent.key" \
		--set "outputs.decima.bearer_token_file=$dir/token" --set outputs.decima.write_timeout=2s \
		--set inputs.receive.answer=stored --set 'storage.local={}' $sampler >"$dir/out" 2>"$dir/agent.log" &
	agent=$!
	up agent "$agent"
}
# stop SIGNAL PROCESS
stop() {
	kill "-$1" "$2" 2>/dev/null
	wait "$2" 2>/dev/null
}
sampler='--set inputs.ebpf.window=1s'
[ -e "$plugins/input_ebpf.so" ] || sampler='--set inputs.ebpf.enabled=false'
server_start
agent_start
ok two_hosts.start

# ---- what is pushed, and what is there ----
: >"$dir/tried"
: >"$dir/yes"
last=1000
# push N: that many profiles; those that the agent said yes to are noted
push() {
	first=$((last + 1)) last=$((last + $1))
	for n in $(seq "$first" "$last"); do
		line="$n $((n % 7 + 1))"
		echo "$line" >>"$dir/tried"
		printf 'main;s%s\n' "$line" | curl -s -f -o /dev/null --max-time 20 --unix-socket "$dir/agent.sock" --data-binary @- \
			"http://localhost/api/v1/ingest?name=demo&time=now&label=n=$((n % 5))" && echo "$line" >>"$dir/yes"
	done
}
# asks SIDE ARGUMENT..: the command line, of that daemon
asks() {
	side=$1
	shift
	"$decima" "$@" --url "unix:$dir/$side.sock" 2>/dev/null
}
# What the server has of it: a line for each stack, "NUMBER VALUE".
stacks() {
	asks server query stacks 'demo:samples:count:::delta' --from now-1h --to now+1m |
		sed -n 's/.*s\([0-9]*\) \([0-9]*\)$/\1 \2/p' | sort
}
numbers() { cut -d ' ' -f 1 "$@"; }
missing() { stacks | numbers >"$dir/got" && numbers "$dir/sorted" | comm -13 "$dir/got" -; }
none_is_missing() { [ -z "$(missing)" ]; }
now_ms() { echo $(($(date +%s%N) / 1000000)); }
# all NAME: the server has all that the agent said yes to, and nothing twice, nor what nobody sent
all() {
	sort "$dir/yes" >"$dir/sorted"
	sort "$dir/tried" >"$dir/sorted_tried"
	since=$(now_ms)
	wait_for 100 none_is_missing
	echo "note: $1: $(wc -l <"$dir/yes") are there $(($(now_ms) - since)) ms later"
	wrong=$(stacks | comm -23 - "$dir/sorted_tried" | head -n 3 | tr '\n' '|')
	missing=$(missing | head -n 3 | tr '\n' '|')
	if [ -z "$missing$wrong" ]; then ok "two_hosts.$1"; else
		not_ok "two_hosts.$1" "missing: $missing wrong: $wrong SEED=$first_seed $(last_words "$dir/agent.log")"
	fi
}
# metric NAME: of the agent's output
metric() { curl -s --unix-socket "$dir/agent.sock" http://localhost/metrics | sed -n "s/^decima_$1{instance=\"decima\"} //p"; }
targets() { asks server targets --format json | tr '{' '\n' | grep -A 2 '"job":"decima"' | tr -d '\n'; }
# shows TEXT: what the server says of the agent
shows() { targets | grep -qE -e "$1"; }
# listed NAME TEXT: it comes to say so
listed() { if wait_for 20 shows "$2"; then ok "two_hosts.$1"; else not_ok "two_hosts.$1" "$(targets)"; fi; }
seed=${SEED:-$(date +%s)}
first_seed=$seed
# below LIMIT: into $below
below() {
	seed=$(((seed * 1103515245 + 12345) % 2147483648))
	below=$((seed / 65536 % $1))
}

push 20
all arrives
listed listed '"health":"up".*"node":"agent-7","version":"decima/[0-9.]+","clock_skew_ms":"-?[0-9]{1,3}".*"last":"20'
asks server targets >"$dir/targets"
expect two_hosts.listed_as_text agent-7 "$dir/targets"

# ---- a stranger on the agent's host ----
# stranger NAME WANT CURL-ARGUMENT..: the status, or 000
stranger() {
	name=$1 want=$2
	shift 2
	got=$(printf 'main;s999 1\n' | on "$agent_net" curl -s -m 20 -o "$dir/answer" -w '%{http_code}' --cacert "$dir/tls/ca.pem" \
		--connect-to "$host:7070:$server_ip:7070" --data-binary @- "$@" "https://$host:7070/api/v1/ingest?name=demo&time=now")
	if [ "$got" = "$want" ]; then ok "two_hosts.$name"; else not_ok "two_hosts.$name" "$got, not $want: $(head -c 200 "$dir/answer")"; fi
}
stranger without_a_certificate 000
stranger without_a_token 403 --cert "$dir/tls/agent.pem" --key "$dir/tls/agent.key"
stranger with_another_token 401 --cert "$dir/tls/agent.pem" --key "$dir/tls/agent.key" -H 'Authorization: Bearer guessed-guessed'

# ---- a person there, with a certificate and no token, who may read ----
# person ARGUMENT..: the command line
person() {
	nsenter "--net=/run/netns/$agent_net" unshare -m sh -c 'mount --bind "$0" /etc/hosts && exec "$@"' "$dir/hosts" \
		"$decima" targets --url "https://$host:7070" --ca-file "$dir/tls/ca.pem" "$@" >"$dir/out" 2>"$dir/err"
}
person --cert-file "$dir/tls/agent.pem" --key-file "$dir/tls/agent.key"
expect_status two_hosts.person 0 $?
expect two_hosts.person_sees agent-7 "$dir/out"
person
expect two_hosts.person_without_a_certificate certificate "$dir/err"
person --cert-file "$dir/tls/agent.pem"
expect two_hosts.person_without_a_key '--key-file: is missing' "$dir/err"
person --cert-file "$dir/tls/agent.pem" --key-file "$dir/tls/server.key"
expect two_hosts.person_with_another_key 'our certificate cannot be used' "$dir/err"

# ---- the cable is pulled ----
# away NAME SECONDS: the agent goes on meanwhile, and is shown as silent
away() {
	push 10
	sleep "$2"
	push 10
	listed "$1_is_shown" '"health":"down","error":"nothing has come for [0-9ms]+; does it run, and reach this server\?"'
}
# back NAME
back() {
	all "$1"
	listed "$1_is_shown_again" '"health":"up","error":""'
}
ip -n "$server_net" link set wire down
away cut 4
ip -n "$server_net" link set wire up
back cut

# ---- every packet is lost, and nobody says so ----
deaf "$agent_net" "$server_ip"
deaf "$server_net" "$agent_ip"
away silence 5
heard "$agent_net" "$server_ip"
heard "$server_net" "$agent_ip"
back silence

# ---- what the server answers is lost: it has what the agent will send again ----
deaf "$server_net" "$agent_ip"
failures=$(metric decima_failures_total)
push 10
sleep 5
again=$(($(metric decima_failures_total) - ${failures:-0}))
if [ "$again" -gt 0 ]; then ok two_hosts.answers_are_waited_for; else not_ok two_hosts.answers_are_waited_for "no try failed"; fi
heard "$server_net" "$agent_ip"
back answers

# ---- the server moves: nothing answers at its old address, and the way to its new one is slow, and loses packets ----
if [ -c /dev/net/tun ] && compile bad_link bad_link.c; then
	"$dir/bad_link" "/run/netns/$agent_net" "/run/netns/$server_net" 50 20 7 >"$dir/bad_link.out" 2>&1 &
	link=$!
	wait_for 20 grep -q ready "$dir/bad_link.out"
	for at in "$agent_net $bad_agent_ip $bad_server_ip" "$server_net $bad_server_ip $bad_agent_ip"; do
		# shellcheck disable=SC2086 # words
		set -- $at
		ip -n "$1" address add "$2" peer "$3" dev bad && ip -n "$1" link set bad up
	done
	deaf "$agent_net" "$server_ip"
	deaf "$server_net" "$agent_ip"
	server_is_at "$bad_server_ip"
	push 30
	back moved
	push 30
	back bad_link
	# Until one of them is started anew, all goes over that link.
	server_is_at "$server_ip"
	heard "$agent_net" "$server_ip"
	heard "$server_net" "$agent_ip"
else
	skip two_hosts.moved "no /dev/net/tun, or no compiler"
fi

# ---- what the sampler took: two stores, one answer ----
is_sent() { [ "$(metric spool_batches)" = 0 ]; }
samples() { asks "$1" query stacks "$cpu"'{node="agent-7"}' --group-by comm --from now-1h --to "$2" | sort >"$dir/$1.samples"; }
if [ ! -e "$plugins/input_ebpf.so" ]; then
	skip two_hosts.sampled "built without eBPF"
elif [ ! -r /sys/kernel/btf/vmlinux ]; then
	skip two_hosts.sampled "this kernel has no BTF"
elif asks agent status >"$dir/status" && grep -q 'ebpf.*failed' "$dir/status"; then
	not_ok two_hosts.sampled "the sampler does not run: $(grep 'ebpf.*failed' "$dir/status" | head -n 1)"
else
	stop TERM "$agent"
	until=$(date -u +%Y-%m-%dT%H:%M:%SZ)
	agent_start
	wait_for 60 is_sent
	samples agent "$until"
	samples server "$until"
	if [ -s "$dir/agent.samples" ] && cmp -s "$dir/agent.samples" "$dir/server.samples"; then ok two_hosts.sampled; else
		not_ok two_hosts.sampled "$(diff "$dir/agent.samples" "$dir/server.samples" | head -n 4 | cut -c 1-300 | tr '\n' '|')"
	fi
	echo "note: sampled: $(wc -l <"$dir/server.samples") stacks"
fi

# ---- each of them stops or is killed, at any moment ----
for round in 1 2 3 4 5 6 7 8; do
	push 20 &
	pusher=$!
	# The numbers are spent here, too.
	last=$((last + 20))
	below 40
	sleep "$(printf '0.%02d' "$below")"
	case $((round % 4)) in
	1 | 0) signal=TERM ;;
	*) signal=KILL ;;
	esac
	if [ $((round % 2)) = 0 ]; then
		stop "$signal" "$server"
		server_start
	else
		stop "$signal" "$agent"
		agent_start
	fi
	wait "$pusher"
	pusher=
done
back killed

if [ -n "$link" ]; then
	kill "$link"
	wait "$link"
	link=
	echo "note: the bad link: $(tail -n 1 "$dir/bad_link.out")"
	if grep -qE ' [1-9][0-9]* lost' "$dir/bad_link.out"; then ok two_hosts.packets_were_lost; else
		not_ok two_hosts.packets_were_lost "$(tail -n 1 "$dir/bad_link.out")"
	fi
fi
if wait_for 30 is_sent; then ok two_hosts.nothing_waits; else not_ok two_hosts.nothing_waits "$(metric spool_batches) batches"; fi
