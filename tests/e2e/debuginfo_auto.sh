#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/debuginfo_auto.sh - an agent sends debuginfo by itself: of what its profiles have, when it is told to, to who wants
# it, once; to another Decima, and to a server by grpc-go. The last part, with the sampler, needs root
#
# runs beside others
set -u
# shellcheck source=tests/e2e/lib.sh
. "$top_srcdir/tests/e2e/lib.sh"

[ -e "$plugins/input_receive.so" ] || skip_all "built without receive"
[ -e "$plugins/output_decima.so" ] || skip_all "built without the output decima"
for tool in "${CC:-cc}" readelf eu-strip nm curl python3; do
	command -v "${tool%% *}" >/dev/null || skip_all "$tool is missing"
done
server='' program=''
trap 'kill $server $program 2>/dev/null; far_stop; daemon_stop; rm -rf "$dir"' EXIT
cd "$dir" || exit 1

# build NAME [FLAG]..: whose function is only_NAME
build() {
	cat >"$1.c" <<-END
		volatile unsigned long turns;
		__attribute__((noinline)) void only_$1(void) { for (;;) turns++; }
		int main(void) { only_$1(); return 0; }
	END
	${CC:-cc} -g -O1 -no-pie -fno-omit-frame-pointer -Wl,--build-id -o "$@" "$1.c" || exit 1
}
id_of() { readelf -n "$1" | sed -n 's/.*Build ID: //p'; }
# push NAME [PATH]: a profile of addresses of the program NAME, as if its file were at PATH
push() {
	python3 "$top_srcdir/tests/programs/address_profile.py" "$(nm "$1" | sed -n "s/ T only_$1//p")" "$(id_of "$1")" "${2:-$dir/$1}" |
		curl -s -f -o answer --unix-socket "$dir/sock" --data-binary @- \
			"http://localhost/api/v1/ingest?name=pushed&label=service_name=$1" || not_ok debuginfo_auto.push "$1"
}
cat >far.yaml <<'YAML'
inputs: { receive: {} }
storage: { local: {} }
server: { tokens: [ { token: letmein, role: write } ] }
YAML
# near DEBUGINFO [LINE]..: an agent that names nothing itself; its option is DEBUGINFO
near() {
	cat >near.yaml <<-YAML
		node: near
		inputs: { receive: {} }
		storage: { memory: {} }
		symbols: { files: false }
		outputs:
		  decima: { url: "http://127.0.0.1:$port", bearer_token: letmein, selector: '{service_name!="kept_here"}'$1 }
	YAML
	daemon_begin debuginfo_auto.near_starts -c near.yaml
}
on=', debuginfo: { enabled: true, timeout: 20s }'
counter() { get /metrics | sed -n "s/^decima_debuginfo_$1{instance=\"[a-z]*\"} //p"; }
# counts WHAT N
counts() { [ "$(counter "$1")" = "$2" ]; }
stored() { curl -s --unix-socket far.sock http://localhost/metrics | sed -n 's/^decima_symbols_uploads_total{result="stored"} //p'; }
# there NAME: what the far side calls it
there() {
	"$decima" query stacks "$type{service_name=\"$1\"}" --from 0 --to now+1h --url "unix:$dir/far.sock" >stacks 2>&1
	grep -q "only_$1" stacks
}
has_arrived() {
	"$decima" query stacks "$type{service_name=\"$1\"}" --from 0 --to now+1h --url "unix:$dir/far.sock" >stacks 2>&1
	grep -q "$1" stacks
}
# says NAME N WHAT: the counter gets there
says() { if wait_for 30 counts "$3" "$2"; then ok "debuginfo_auto.$1"; else not_ok "debuginfo_auto.$1" "$(get /metrics | grep '^decima_debuginfo' | tr '\n' '|') $(last_words log)"; fi; }
named() { if wait_for 30 there "$2"; then ok "debuginfo_auto.$1"; else not_ok "debuginfo_auto.$1" "$(head -c 300 stacks) $(last_words log)"; fi; }

for name in first second kept_here away large whole; do build $name; done
far_begin debuginfo_auto.far_starts

# ---- off unless it is told ----
near ""
push first
types() {
	type=$("$decima" query types --from now-1d --url "unix:$dir/far.sock" 2>err | sed -n 's/^\(pushed:samples:count[^ ]*\).*/\1/p')
	[ -n "$type" ]
}
wait_for 20 types || not_ok debuginfo_auto.type "$(head -c 300 err)"
wait_for 20 has_arrived first || not_ok debuginfo_auto.arrives "$(head -c 300 stacks)"
sleep 1
if [ "$(stored)" = 0 ] && ! there first && ! get /metrics | grep -q '^decima_debuginfo_asked_total'; then ok debuginfo_auto.off_by_default; else
	not_ok debuginfo_auto.off_by_default "$(stored) $(head -c 300 stacks)"
fi
daemon_stop

# ---- on: what its profiles have, and nothing else ----
near "$on"
push first
named names first
says is_sent 1 sent_total
push kept_here
push second
named names_the_next second
says only_what_is_sent 2 asked_total
push first
push second
sleep 1
says once 2 asked_total
# Whose file is another one by now, is stripped, or nowhere.
cp whole elsewhere
eu-strip -f split whole -o bare
split=split.d/.build-id/$(id_of whole | cut -c 1-2)
mkdir -p "$split"
mv split "$split/$(id_of whole | cut -c 3-).debug"
push whole "$dir/second"
says another_file 1 not_found_total
daemon_stop

# ---- a second start asks, and sends nothing ----
near "$on"
push first
push second
says known 2 known_total
says nothing_again 0 sent_total
push whole "$dir/bare"
says stripped 1 nameless_total
daemon_stop
[ "$(stored)" = 2 ] && ok debuginfo_auto.two_are_stored || not_ok debuginfo_auto.two_are_stored "$(stored)"

# ---- separate debuginfo ----
sed -i "s|^symbols:.*|symbols: { files: false, debuginfo: [\"$dir/split.d\"] }|" near.yaml
daemon_begin debuginfo_auto.split_starts -c near.yaml
push whole "$dir/bare"
named separate whole
daemon_stop

# ---- too large is told ----
near ', debuginfo: { enabled: true, max_bytes: 1KiB }'
push large
says too_large 1 too_large_total
get /api/v1/pipeline >pipeline
push large
state() { get /api/v1/pipeline | grep -q 'debuginfo of [^ ]*large is not sent: reduced, it has'; }
if wait_for 10 state; then ok debuginfo_auto.too_large_in_the_state; else not_ok debuginfo_auto.too_large_in_the_state "$(get /api/v1/pipeline | head -c 400)"; fi
expect debuginfo_auto.too_large_in_the_log "large (build id $(id_of large)) is not sent: reduced, it has" log
daemon_stop

# ---- the other side is away, and comes back ----
near "$on"
far_stop
push away
sleep 1
far_again debuginfo_auto.far_again
named away_and_back away
daemon_stop

# ---- a server by grpc-go ----
grpc_go() {
	[ -e "$plugins/output_parca.so" ] || { skip debuginfo_auto.grpc_go "built without the output parca"; return; }
	go_program debuginfo_auto.grpc_go server debuginfo_server || return
	mkdir has
	./server has >goport 2>>calls &
	server=$!
	wait_for 20 test -s goport
	parca_near() {
		cat >near.yaml <<-YAML
			inputs: { receive: {} }
			storage: { memory: {} }
			symbols: { files: false }
			outputs:
			  parca: { url: "http://127.0.0.1:$(cat goport)", bearer_token: letmein, debuginfo: { enabled: $1 } }
		YAML
		daemon_begin debuginfo_auto.parca_starts -c near.yaml
	}
	asked() { grep -v WriteRaw calls | tr '\n' ' '; }
	parca_near false
	push first
	wait_for 20 grep -q WriteRaw calls
	sleep 1
	[ -z "$(asked)" ] && ok debuginfo_auto.parca_off || not_ok debuginfo_auto.parca_off "$(asked)"
	daemon_stop
	parca_near true
	# Twice the server turns the stream away.
	echo 2 >has/busy
	push first
	says parca_sent 1 sent_total
	"$decima" debuginfo extract first -o want >/dev/null
	if [ "$(grep -c '^Upload' calls)" = 3 ] && nm "has/$(id_of first)" | grep -q only_first; then ok debuginfo_auto.parca_at_last; else
		not_ok debuginfo_auto.parca_at_last "$(asked)"
	fi
	daemon_stop
	: >calls
	parca_near true
	push first
	says parca_known 1 known_total
	[ "$(asked)" = 'ShouldInitiateUpload ' ] && ok debuginfo_auto.parca_asks_alone || not_ok debuginfo_auto.parca_asks_alone "$(asked)"
	# To a signed URL, where no token goes.
	: >calls
	: >has/signed
	: >has/puts
	push second
	says parca_signed 1 sent_total
	[ "$(asked)" = 'ShouldInitiateUpload InitiateUpload PUT MarkUploadFinished ' ] && nm "has/$(id_of second)" | grep -q only_second &&
		ok debuginfo_auto.parca_signed_put || not_ok debuginfo_auto.parca_signed_put "$(asked)"
	daemon_stop
	# And as a client, whose messages are packed.
	if ./server send "127.0.0.1:$port" "$(id_of kept_here)" kept_here 2>err; then ok debuginfo_auto.gzip_taken; else
		not_ok debuginfo_auto.gzip_taken "$(head -n 1 err)"
	fi
}
grpc_go

# ---- programs that run here, in a root of their own, and end ----
need_sampler
build sampled
cat >near.yaml <<YAML
node: near
inputs: { ebpf: { window: 1s } }
storage: { memory: {} }
symbols: { files: false, lines: false }
outputs:
  decima: { url: "http://127.0.0.1:$port", bearer_token: letmein, selector: '$cpu{comm="sampled"}'$on }
YAML
daemon_begin debuginfo_auto.sampler_starts -c near.yaml
mkdir private
unshare -m sh -c 'mount -t tmpfs none "$1/private" && cp "$1/sampled" "$1/private" && rm "$1/sampled" && exec timeout 4 "$1/private/sampled"' sh "$dir" &
program=$!
sampled_there() {
	"$decima" query stacks "$cpu{comm=\"sampled\"}" --from 0 --to now+1h --url "unix:$dir/far.sock" >stacks 2>&1
	grep -q only_sampled stacks
}
if wait_for 60 sampled_there; then ok debuginfo_auto.sampled_is_named; else not_ok debuginfo_auto.sampled_is_named "$(head -c 300 stacks) $(last_words log)"; fi
wait "$program" 2>/dev/null
program=
daemon_stop
