#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/daemon.sh - the daemon with an input that needs no rights: questions, reload, a failing output, a clean end
set -u
. "$top_srcdir/tests/e2e/lib.sh"

# The example is not installed: it is copied beside the plugins that are.
cp -L "$top_builddir/plugins/.libs/input_example.so" "$plugins/" && chmod 755 "$plugins/input_example.so"
mkdir "$dir/files"
# A disk of its own, which can be filled.
disk=
if mount -t tmpfs -o size=16m tmpfs "$dir/files" 2>"$dir/mount"; then
	disk=$dir/files
	trap 'daemon_stop; umount "$disk"; rm -rf "$dir"' EXIT
fi

config() { # SHAPE [LINE]...: the configuration, with further lines at its end
	shape=$1
	shift
	cat >"$dir/decima.yaml" <<END
inputs:
  example: { interval: 50ms, shape: $shape }
storage:
  memory: {}
outputs:
  file: { directory: $dir/files, format: folded }
labels: { env: test }
END
	for line in "$@"; do printf '%s\n' "$line" >>"$dir/decima.yaml"; done
}

rows() { get /metrics | sed -n 's/^decima_written_rows_total{instance="memory"} //p'; }
more_rows() { [ "$(rows)" -gt "$1" ]; }
state_of() { get /api/v1/pipeline | grep -o "\"name\":\"$1\"[^}]*\"state\":\"[a-z]*\"" | sed 's/.*"state":"//;s/"//'; }
is_state() { [ "$(state_of "$1")" = "$2" ]; }

config steady
daemon_begin start -c "$dir/decima.yaml"
ok start

# --- every question answers about what the example emitted
wait_for 10 more_rows 0 || not_ok rows "nothing was stored"
for verb in types labels "values service_name" "series $cpu" "top $cpu" "flame $cpu" "stacks $cpu" "callers main $cpu" \
	"callees main $cpu" "diff $cpu $cpu" "diff --report functions $cpu $cpu"; do
	# shellcheck disable=SC2086 # the verb's words
	ask query $verb >"$dir/answer" 2>"$dir/err"
	status=$?
	name=query_$(echo "$verb" | cut -d' ' -f1)
	if [ $status -ne 0 ]; then
		not_ok "$name" "$(head -n 1 "$dir/err")"
	elif [ ! -s "$dir/answer" ]; then
		not_ok "$name" "it printed nothing"
	else
		ok "$name"
	fi
	case $verb in
	stacks*) ;;
	*)
		# shellcheck disable=SC2086
		ask query $verb --format json 2>&1 | python3 -c 'import json,sys; json.load(sys.stdin)' 2>"$dir/err"
		expect_status "${name}_json" 0 $?
		;;
	esac
done

# --- a diff of the time before the last second with that: rates, z and verdicts are those of its own totals
# diff_sides FORMAT: into $dir/answer; A begins before the daemon did, so its time is what the store knows of it
diff_sides() {
	ask query diff "$cpu" "$cpu" --a-from now-1h --a-to "$now" --b-from "$now" --b-to "$((now + 1))" --format "$1" \
		>"$dir/answer" 2>"$dir/err"
}
both_sides() {
	now=$(($(date +%s) - 1))
	diff_sides json && ! grep -q '"untested":"' "$dir/answer" &&
		tr -d '\n' <"$dir/answer" | grep -q '"samples":[1-9].*"samples":[1-9]'
}
if wait_for 20 both_sides; then ok diff_has_both_sides; else not_ok diff_has_both_sides "$(cat "$dir/err" "$dir/answer" | head -c 300)"; fi
python3 - "$dir/answer" "$now" >"$dir/err" 2>&1 <<'END'
import json, math, sys
d, now = json.load(open(sys.argv[1])), int(sys.argv[2]) * 1000
c, n = d["compare"], d["nodes"]
a, b = c["sides"]
assert c["by"] == "rate" and c["untested"] is None, c
assert now - 3600000 < a["from_ms"] < now == a["to_ms"] == b["from_ms"] == b["to_ms"] - 1000, c
assert [round(s["seconds"] * 1000) for s in (a, b)] == [s["to_ms"] - s["from_ms"] for s in (a, b)], c
N = [s["samples"] for s in (a, b)]
assert [t / s["period"] for t, s in zip(d["total"], (a, b))] == N and min(N) > 0, d["total"]
for ta, tb, delta, change, z, significant in zip(n["total"], n["total_b"], n["delta"], n["change"], n["z"], n["significant"]):
    want = tb / b["seconds"] - ta / a["seconds"]
    assert math.isclose(delta, want, rel_tol=1e-9, abs_tol=1e-3), (delta, want)
    assert change is None if ta == 0 else math.isclose(change, want / (ta / a["seconds"]), rel_tol=1e-9, abs_tol=1e-9)
    xa, xb = ta / a["period"], tb / b["period"]
    p = (xa + xb) / sum(N)
    want = (xb / N[1] - xa / N[0]) / math.sqrt(p * (1 - p) * (1 / N[0] + 1 / N[1])) if 0 < p < 1 else 0
    assert math.isclose(z, want, rel_tol=1e-9, abs_tol=1e-9), (z, want)
    assert significant == (abs(z) >= c["level"] and min(N) * min(p, 1 - p) >= 5), (z, significant)
END
expect_status diff_compares_rates 0 $?
diff_sides text
expect diff_tells_its_sides '; B: ' "$dir/answer"
expect diff_tells_what_the_star_means '* its share of the samples changed: |z| >= 2.58' "$dir/answer"
ask query diff "$cpu" "$cpu" --report tables >"$dir/answer" 2>&1
expect_status diff_of_no_report_is_usage 2 $?
ask query values env >"$dir/answer"
expect external_label test "$dir/answer"
ask query pprof "$cpu" -o "$dir/x.pb.gz" 2>"$dir/err"
expect_status query_pprof 0 $?
mkfifo "$dir/pipe"
cat "$dir/pipe" >"$dir/piped" &
reader=$!
ask query pprof "$cpu" -o "$dir/pipe" 2>"$dir/err"
expect_status query_into_a_pipe 0 $?
if [ -p "$dir/pipe" ] && wait $reader && [ -s "$dir/piped" ]; then
	ok query_into_a_pipe_arrives
else
	kill $reader 2>/dev/null
	not_ok query_into_a_pipe_arrives "the pipe was replaced"
fi
ask query top "$cpu{service_name=\"no such\"}" >"$dir/answer" 2>&1
expect_status empty_answer_is_no_error 0 $?
ask query pprof "$cpu{service_name=\"no such\"}" -o "$dir/none.pb.gz" >"$dir/answer" 2>&1
expect_status no_profile_is_a_no 1 $?
expect no_profile_says_so 'nothing is stored that the selector asks for' "$dir/answer"
ask query top 'nonsense{' >"$dir/answer" 2>&1
expect_status wrong_selector_is_usage 2 $?
expect wrong_selector_names_the_place 'column' "$dir/answer"
ask query top "$cpu{a=~\"(?=x)\"}" >"$dir/answer" 2>&1
expect_status refused_regex 2 $?
"$decima" query types --url http://127.0.0.1:1 >"$dir/answer" 2>&1
expect_status nobody_there 1 $?
expect nobody_there_says_so 'is decima running there' "$dir/answer"
ask query types --timeout soon >"$dir/answer" 2>&1
expect_status wrong_timeout_is_usage 2 $?
# The server speaks of parameters; the command line of its options.
# wrong_option OPTION WORDS..
wrong_option() {
	option=$1
	shift
	"$decima" query "$@" --url "unix:$dir/sock" >"$dir/answer" 2>&1
	expect_status "wrong${option}_is_usage" 2 $?
	expect "wrong${option}_is_named" "decima query $1: $option: " "$dir/answer"
}
wrong_option --from top "$cpu" --from soon
wrong_option --max-rows flame "$cpu" --max-rows x
wrong_option --only-stacks stacks "$cpu" --only-stacks '('
wrong_option --step series "$cpu" --step x
wrong_option --a-to diff "$cpu" "$cpu" --a-to x
"$decima" query --help >"$dir/answer" 2>&1
expect_status help_of_a_group 0 $?
expect help_of_a_group_lists_it '  query flame SELECTOR' "$dir/answer"
if grep -q '^  record' "$dir/answer"; then not_ok help_of_a_group_is_its_own "it lists record"; else ok help_of_a_group_is_its_own; fi
ask query tpo "$cpu" >"$dir/answer" 2>&1
expect_status unknown_verb_is_usage 2 $?
expect unknown_verb_has_a_neighbour '"query top"' "$dir/answer"
mkdir "$dir/empty"
"$decima" plugins --plugin-path "$dir/empty" >"$dir/answer" 2>&1
expect_status no_plugins_is_a_no 1 $?
expect no_plugins_says_where "no plugins in $dir/empty" "$dir/answer"
"$decima" describe input/none --plugin-path "$dir/empty" >"$dir/answer" 2>&1
expect_status no_such_plugin_is_a_no 1 $?
expect no_such_plugin_names_the_option '; say where it is with --plugin-path' "$dir/answer"
# Two of one name: the first is used, and nobody has to guess.
mkdir -m 755 "$dir/second"
cp "$plugins/input_example.so" "$dir/second/" && chmod 755 "$dir/second/input_example.so"
"$decima" plugins --plugin-path "$plugins:$dir/second" >"$dir/answer" 2>&1
expect_status plugins_of_one_name 0 $?
expect plugins_of_one_name_are_listed "not used: $plugins/input_example.so comes first" "$dir/answer"
"$decima" check --config-only --plugin-path "$dir/second:$plugins" --set 'inputs.example={}' -c /dev/null >"$dir/answer" 2>&1
expect_status check_of_one_name 0 $?
expect check_tells_of_one_name "$dir/second/input_example.so is used, and not $plugins/input_example.so" "$dir/answer"
# What looks at no configuration takes no option of one.
for option in "-c $dir/none.yaml" "--set nonsense=1" "--data $dir" "--listen zzz:9" "--log-level debug"; do
	name=$(expr "$option" : '-*\([a-z]*\)')
	for verb in plugins describe; do
		# shellcheck disable=SC2086 # two words
		"$decima" $verb $option >"$dir/answer" 2>&1
		expect_status "${verb}_has_no_$name" 2 $?
	done
done
"$decima" record --max-rows many -- touch "$dir/ran" >"$dir/answer" 2>&1
expect_status wrong_rows_are_usage 2 $?
[ ! -e "$dir/ran" ] && ok wrong_usage_runs_nothing || not_ok wrong_usage_runs_nothing "the command ran"
get '/api/v1/pipeline?format=text' >"$dir/answer"
expect pipeline_as_text QUEUE "$dir/answer"
"$decima" check --config-only --plugin-path "$plugins" --listen nowhere >"$dir/answer" 2>&1
expect_status wrong_address_is_usage 2 $?
expect wrong_address_is_named '--listen: configuration: server.listen: "nowhere" is no address' "$dir/answer"
ask targets >"$dir/answer" 2>&1
expect targets example "$dir/answer"
[ "$(get /-/healthy)" = ok ] && ok healthy || not_ok healthy "$(get /-/healthy)"
[ "$(get /-/ready)" = ok ] && ok ready || not_ok ready "$(get /-/ready)"
wait_for 10 sh -c "ls $dir/files/*/*.folded" && ok file_output || not_ok file_output "no file in $dir/files"

# --- a backup answers like the store it was made of
ask query types >/dev/null
now=$(date +%s)
ask store backup "$dir/backup" 2>"$dir/err"
expect_status backup 0 $?
ask query stacks "$cpu" --from 0 --to "$((now - 1))" >"$dir/live"
"$decima" query stacks "$cpu" --from 0 --to "$((now - 1))" --data "$dir/backup" >"$dir/offline" 2>"$dir/err"
expect_status offline_answers 0 $?
if cmp -s "$dir/live" "$dir/offline"; then ok offline_is_the_same; else not_ok offline_is_the_same "$(head -n 1 "$dir/err")"; fi
ask store backup "$dir/backup" 2>"$dir/err"
expect_status backup_twice_is_refused 1 $?
ask store stat >"$dir/answer"
expect store_stat 'profiles ' "$dir/answer"
ask store check >"$dir/answer"
expect store_check sound "$dir/answer"
"$decima" store check "$dir/backup" >"$dir/answer"
expect_status backup_is_sound 0 $?
"$decima" store restore "$dir/backup" "$dir/restored" 2>"$dir/err"
expect_status restore 0 $?
"$decima" store stat "$dir/backup" --format json | sed 's/"bytes":[0-9]*//' >"$dir/live"
"$decima" store stat "$dir/restored" --format json | sed 's/"bytes":[0-9]*//' >"$dir/offline"
if cmp -s "$dir/live" "$dir/offline"; then ok restored_is_the_same; else not_ok restored_is_the_same "$(cat "$dir/offline")"; fi
"$decima" store backup "$dir/again" --data "$dir/restored" 2>"$dir/err"
expect_status backup_without_a_daemon 0 $?
printf damage | dd of="$dir/restored/000000.batch" bs=1 seek=100 conv=notrunc 2>/dev/null
"$decima" store check "$dir/restored" 2>"$dir/err"
expect_status damage_is_found 1 $?
expect damage_is_named 'restored/000000.batch' "$dir/err"
"$decima" store restore "$dir/restored" "$dir/never" 2>"$dir/err"
expect_status damage_is_not_restored 1 $?
[ ! -e "$dir/never" ] && ok damage_is_not_copied || not_ok damage_is_not_copied "$dir/never is there"

# --- reload: the same, a change, and a fault, over HTTP and by signal
reload() { curl -s -X POST --unix-socket "$dir/sock" http://localhost/-/reload; }
reload >"$dir/answer"
expect reload_the_same '"reloaded":true' "$dir/answer"
config wave
reload >"$dir/answer"
expect reload_a_change '"reloaded":true' "$dir/answer"
get /api/v1/config >"$dir/answer"
expect configuration_is_of_now '    shape: wave' "$dir/answer"
expect configuration_has_defaults '    retention: 1h  # default' "$dir/answer"
sed -i "s|$dir/files|$dir/files_2|" "$dir/decima.yaml"
reload >"$dir/answer"
expect reload_another_directory '"reloaded":true' "$dir/answer"
sed -i "s|$dir/files_2|/proc/nope|" "$dir/decima.yaml"
reload >"$dir/answer"
expect reload_refuses_what_cannot_start '"status":422' "$dir/answer"
get /api/v1/config >"$dir/answer"
expect configuration_is_not_what_was_refused "directory: $dir/files_2" "$dir/answer"
get /api/v1/pipeline | tr '{' '\n' | grep -F '"name":"file"' >"$dir/answer"
expect who_cannot_restart_goes_on '"state":"ok"' "$dir/answer"
# Under another name, in the directory that the one that goes still has.
config wave
sed -i "s|  file: {|  file: { name: archive,|" "$dir/decima.yaml"
reload >"$dir/answer"
expect reload_another_name '"reloaded":true' "$dir/answer"
get /api/v1/pipeline | tr '{' '\n' | grep -F '"name":"archive"' >"$dir/answer"
expect another_name_runs '"state":"ok"' "$dir/answer"
config wave
reload >/dev/null
config wave 'server: { max_queries: 5 }'
reload >"$dir/answer"
expect reload_refuses_what_needs_a_restart 'only change with a restart' "$dir/answer"
config wave
sed -i '/^storage:/,/memory/d' "$dir/decima.yaml"
reload >"$dir/answer"
expect reload_keeps_the_store 'restart decima' "$dir/answer"
# A store that has its one series: the next one is told wherever losses are.
config wave
sed -i 's|memory: {}|memory: { max_series: 1 }|; s|shape: wave|shape: wave, service_name: second|' "$dir/decima.yaml"
reload >"$dir/answer"
expect reload_another_series '"reloaded":true' "$dir/answer"
overflows() { get /metrics | grep '^decima_dropped_total.*reason="series_folded"' | grep -qv ' 0$'; }
if wait_for 20 overflows; then ok overflow.metric; else not_ok overflow.metric "$(get /metrics | grep dropped)"; fi
ask query values service_name >"$dir/answer"
if grep -q second "$dir/answer"; then not_ok overflow.has_no_labels "second is there"; else ok overflow.has_no_labels; fi
ask query values __overflow__ >"$dir/answer"
expect overflow.is_a_series true "$dir/answer"
ask store stat >"$dir/answer"
expect overflow.stat 'rows of new series are in {__overflow__="true"}' "$dir/answer"
get /api/v1/pipeline >"$dir/answer"
expect overflow.losses '"reason":"series_folded"' "$dir/answer"
expect overflow.sentence 'max_series: there is no room for more series: the store has 2 series (among the newest 2 the label ' "$dir/log"
config steady 'nonsense: 1'
reload >"$dir/answer"
expect reload_refuses_a_fault 'nothing was changed' "$dir/answer"
expect reload_names_the_place 'decima.yaml:8:1' "$dir/answer"
before=$(rows)
wait_for 10 more_rows "$before" && ok refused_reload_disturbs_nothing || not_ok refused_reload_disturbs_nothing "no new rows"
config steady 'outputs: {}'
reload >"$dir/answer"
expect duplicate_key_is_refused 'twice' "$dir/answer"
kill -HUP "$daemon"
wait_for 5 grep -q 'not reloaded' "$dir/log" && ok sighup_reports || not_ok sighup_reports "$(tail -n 1 "$dir/log")"

# --- an input that goes, an output that goes: the rest lives on
sed -e '/^  example:/s/{/{ enabled: false,/' "$dir/decima.yaml" | grep -v '^outputs: {}' >"$dir/new" && mv "$dir/new" "$dir/decima.yaml"
reload >"$dir/answer"
expect input_unloads '"reloaded":true' "$dir/answer"
get /api/v1/pipeline >"$dir/answer"
if grep -q '"name":"example"' "$dir/answer"; then not_ok input_is_gone "it is still listed"; else ok input_is_gone; fi
ask query top "$cpu" >"$dir/answer" 2>&1
expect_status data_stays 0 $?
config steady
reload >/dev/null
before=$(rows)
wait_for 10 more_rows "$before" && ok input_comes_back || not_ok input_comes_back "no new rows"

# --- a full disk under `file`: it says so, the store goes on, and it recovers
if [ -n "$disk" ]; then
	head -c 16m /dev/zero >"$disk/full" 2>/dev/null
	wait_for 20 is_state file degraded && ok full_disk_degrades || not_ok full_disk_degrades "state: $(state_of file)"
	before=$(rows)
	wait_for 10 more_rows "$before" && ok full_disk_spares_the_store || not_ok full_disk_spares_the_store "no new rows"
	rm -f "$disk/full"
	wait_for 30 is_state file ok && ok full_disk_recovers || not_ok full_disk_recovers "state: $(state_of file)"
else
	for name in full_disk_degrades full_disk_spares_the_store full_disk_recovers; do
		skip $name "no small file system can be mounted: $(head -n 1 "$dir/mount")"
	done
fi
daemon_stop
expect_status clean_end 0 "$daemon_status"
if [ -e "$dir/sock" ]; then not_ok socket_is_removed "it is still there"; else ok socket_is_removed; fi

status() { curl -s -o "$dir/answer" -w '%{http_code}' "$@"; }
address() { sed -n 's|.*is ready at \(http:[^ ]*\)$|\1|p' "$dir/log"; }

# --- behind a proxy that says who asks: what it names counts, from where it is
printf '%s\n' 'storage: { memory: {} }' 'server:' '  proxy: { from: 127.0.0.2, groups_header: Remote-Groups, groups: { sre: admin } }' \
	"  tokens: [ { token: 'sha256:$(printf sesame | sha256sum | cut -d' ' -f1)', role: write } ]" >"$dir/proxy.yaml"
if daemon_start -c "$dir/proxy.yaml" --listen 127.0.0.1:0; then
	at=$(address)
	behind() { status --interface 127.0.0.2 "$@"; }
	expect_status a_proxy_that_names_nobody 401 "$(behind "$at/api/v1/types")"
	expect_status a_proxys_user 200 "$(behind -H 'X-Forwarded-User: alice' "$at/api/v1/types")"
	expect_status a_proxys_user_twice 400 "$(behind -H 'X-Forwarded-User: alice' -H 'X-Forwarded-User: bob' "$at/api/v1/types")"
	expect_status a_proxys_user_administers_nothing 403 "$(behind -X POST -H 'X-Forwarded-User: alice' -H 'Remote-Groups: dev' "$at/-/reload")"
	expect_status a_proxys_group_does 200 "$(behind -X POST -H 'X-Forwarded-User: alice' -H 'Remote-Groups: dev, sre' "$at/-/reload")"
	expect_status who_is_no_proxy_names_nobody 401 "$(status -H 'X-Forwarded-User: alice' "$at/api/v1/types")"
	expect_status a_hashed_token 200 "$(status -H 'Authorization: Bearer sesame' "$at/api/v1/types")"
	expect_status its_hash_is_none 401 "$(status -H "Authorization: Bearer $(printf sesame | sha256sum | cut -d' ' -f1)" "$at/api/v1/types")"
	daemon_stop
else
	not_ok proxy "$(tail -n 1 "$dir/log")"
fi

# --- a reload takes tokens and reads their files again
printf 'old\n' >"$dir/rotated"
printf '%s\n' 'storage: { memory: {} }' "server: { tokens: [ { token_file: '$dir/rotated', role: admin } ] }" >"$dir/rotation.yaml"
if daemon_start -c "$dir/rotation.yaml" --listen 127.0.0.1:0; then
	at=$(address)
	expect_status the_old_token 200 "$(status -H 'Authorization: Bearer old' "$at/api/v1/types")"
	printf 'new\n' >"$dir/rotated"
	expect_status a_reload_takes_the_new_token 200 "$(status -X POST -H 'Authorization: Bearer old' "$at/-/reload")"
	expect_status the_new_token 200 "$(status -H 'Authorization: Bearer new' "$at/api/v1/types")"
	expect_status the_old_token_is_none_now 401 "$(status -H 'Authorization: Bearer old' "$at/api/v1/types")"
	printf '%s\n' 'storage: { memory: {} }' >"$dir/rotation.yaml"
	expect_status a_reload_takes_all_tokens 200 "$(status -X POST -H 'Authorization: Bearer new' "$at/-/reload")"
	expect_status then_nobody_needs_one 200 "$(status "$at/api/v1/types")"
	daemon_stop
else
	not_ok rotation "$(tail -n 1 "$dir/log")"
fi

# --- with tokens, nobody reads or writes without one; root on the socket is root
printf '%s\n' 'storage: { memory: {} }' 'server:' '  tokens: [ { token: sesame, role: read } ]' >"$dir/tokens.yaml"
if daemon_start -c "$dir/tokens.yaml" --listen 127.0.0.1:0; then
	at=$(address)
	expect_status nothing_without_a_token 401 "$(status "$at/api/v1/types")"
	expect_status no_metrics_without_a_token 401 "$(status "$at/metrics")"
	expect_status health_without_a_token 200 "$(status "$at/-/healthy")"
	expect_status reading_with_a_token 200 "$(status -H 'Authorization: Bearer sesame' "$at/api/v1/types")"
	expect_status configuration_with_a_token 200 "$(status -H 'Authorization: Bearer sesame' "$at/api/v1/config")"
	expect configuration_hides_the_token '      token: <hidden>' "$dir/answer"
	expect_status no_token_in_the_configuration 1 "$(grep -c sesame "$dir/answer" >/dev/null; echo $?)"
	"$decima" check --config-only --print -c "$dir/tokens.yaml" >"$dir/answer" 2>"$dir/err"
	expect_status check_prints 0 $?
	expect check_prints_what_holds '  base_path: ""  # default' "$dir/answer"
	expect check_tells_beside_it ok "$dir/err"
	expect_status no_more_than_the_token_says 403 \
		"$(status -X POST -H 'Authorization: Bearer sesame' "$at/-/reload")"
	echo sesame >"$dir/token"
	"$decima" query types --url "$at" --token-file "$dir/token" >"$dir/answer" 2>&1
	expect_status cli_with_a_token 0 $?
	daemon_stop
else
	not_ok tokens "$(tail -n 1 "$dir/log")"
fi

# --- what cannot start says why, and where
refuse() { # NAME STATUS WANT ARGUMENT...
	name=$1 want_status=$2 want=$3
	shift 3
	if daemon_start "$@"; then
		daemon_stop
		not_ok "$name" "it started"
		return
	fi
	expect_status "$name" "$want_status" "$daemon_status"
	expect "${name}_sentence" "$want" "$dir/log"
}
bad() { printf '%s\n' "$@" >"$dir/bad.yaml"; }

bad 'inputs: { example: { interval: 10ms'
refuse broken_yaml 2 "bad.yaml:2:1: not YAML: while parsing a flow mapping that began on line 1, did not find expected ',' or '}'; close the map with }" -c "$dir/bad.yaml"
bad 'inputs:' '  example: { intervall: 10ms }'
refuse unknown_key 2 'bad.yaml:2:14: input example: unknown option "intervall"; did you mean "interval"?' -c "$dir/bad.yaml"
said=$(grep -c intervall "$dir/log")
if [ "$said" -eq 1 ]; then ok fault_is_said_once; else not_ok fault_is_said_once "$said times"; fi
bad 'inputs:' '  example: { enabled: false, interval: 1ms }'
refuse fault_of_what_is_off 2 'bad.yaml:2:40: input example: interval' -c "$dir/bad.yaml"
bad 'inputs:' '  example: { interval: [] }'
refuse wrong_type 2 'bad.yaml:2:24: input example: interval: must be a single value (duration), not a list' -c "$dir/bad.yaml"
bad 'inputs:' '  example: { interval: 1ms }'
refuse out_of_bounds 2 'bad.yaml:2:24: input example: interval: 1ms is below the minimum of 10ms' -c "$dir/bad.yaml"
# shellcheck disable=SC2016 # the file's variable, not ours
bad 'labels: { env: "${DECIMA_NO_SUCH_VARIABLE}" }'
refuse missing_variable 2 'bad.yaml:1:16: configuration: labels.env: the environment has no DECIMA_NO_SUCH_VARIABLE; set it, or write ${DECIMA_NO_SUCH_VARIABLE:-default}' -c "$dir/bad.yaml"
bad 'inputs:' '  example: [ { name: x }, { name: x } ]'
refuse one_name_twice 2 'bad.yaml:2:27: input example: a second input is called "x", after the one at' -c "$dir/bad.yaml"
bad 'inputs: { exampel: {} }'
refuse unknown_plugin 2 'bad.yaml:1:11: input exampel: no input_exampel.so in' -c "$dir/bad.yaml"
expect unknown_plugin_nearest 'did you mean "example"?' "$dir/log"
bad 'server: { listen: ["0.0.0.0:0"] }'
refuse open_to_everybody 2 'server.tokens' -c "$dir/bad.yaml" --listen 0.0.0.0:0
refuse no_such_file 2 'there is no such file' -c "$dir/none.yaml"

python3 -c '
import socket, sys, time
s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen()
print(s.getsockname()[1], flush=True); time.sleep(20)' >"$dir/port" &
holder=$!
wait_for 5 test -s "$dir/port"
bad 'storage: { memory: {} }'
refuse port_in_use 1 'the port is in use' -c "$dir/bad.yaml" --listen "127.0.0.1:$(cat "$dir/port")"
kill $holder

if [ "$(id -u)" -eq 0 ]; then
	chmod 777 "$plugins/input_example.so"
	bad 'inputs: { example: {} }'
	refuse untrusted_plugin 2 'chmod go-w' -c "$dir/bad.yaml"
	"$decima" plugins --plugin-path "$plugins" >"$dir/answer" 2>&1
	expect_status plugins_trusts_as_the_daemon 1 $?
	grep -F 'input_example.so' "$dir/answer" | grep refused >"$dir/line"
	expect plugins_refuses_it 'chmod go-w' "$dir/line"
	"$decima" describe input/example --plugin-path "$plugins" >"$dir/answer" 2>&1
	expect_status describe_trusts_as_the_daemon 1 $?
	expect describe_refuses_it 'chmod go-w' "$dir/answer"
	"$decima" complete -- describe --plugin-path "$plugins" '' >"$dir/answer" 2>&1
	expect completion_knows_the_others 'storage/memory' "$dir/answer"
	if grep -q input/example "$dir/answer"; then not_ok completion_does_not_load_it "it is listed"; else ok completion_does_not_load_it; fi
	chmod 755 "$plugins/input_example.so"
else
	skip plugins_trusts_as_the_daemon "only a privileged process asks for trust"
	skip plugins_refuses_it "only a privileged process asks for trust"
	skip describe_trusts_as_the_daemon "only a privileged process asks for trust"
	skip describe_refuses_it "only a privileged process asks for trust"
	skip completion_knows_the_others "only a privileged process asks for trust"
	skip completion_does_not_load_it "only a privileged process asks for trust"
	skip untrusted_plugin "only a privileged daemon asks for trust"
	skip untrusted_plugin_sentence "only a privileged daemon asks for trust"
fi
rm -f "$plugins/input_example.so"
