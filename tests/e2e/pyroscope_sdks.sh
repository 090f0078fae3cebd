#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/pyroscope_sdks.sh - programs with Pyroscope's SDKs for Python and Node push here as they are (Go's is in receive.sh)
#
# runs beside others
set -u
. "$top_srcdir/tests/e2e/lib.sh"

[ -e "$plugins/input_receive.so" ] || skip_all "built without receive"

cat >"$dir/receive.yaml" <<YAML
inputs: { receive: {} }
storage: { memory: {} }
YAML
daemon_begin pyroscope_sdks.starts -c "$dir/receive.yaml" --set 'server.listen=["127.0.0.1:0"]'
DECIMA_URL=$(sed -n 's|.*is ready at \(http://[^ ,]*\).*|\1|p' "$dir/log" | head -n 1)
export DECIMA_URL
cp -R "$top_srcdir/tests/programs/pyroscope_sdks" "$dir/sdks"
cd "$dir/sdks" || exit 1

# pushes LANGUAGE TYPE COMMAND...: most of the time that came is in work(), with the labels of the program and of the moment
pushes() {
	language=$1 type=$2
	shift 2
	if ! timeout 120 "$@" "$DECIMA_URL" >"$dir/err" 2>&1; then
		not_ok "pyroscope_sdks.$language" "it does not work: $(last_words "$dir/err")"
		return
	fi
	"$decima" query stacks "$type{service_name=\"shop.$language\"}" --group-by region,controller >"$dir/stacks" 2>"$dir/err"
	part=$(grep '^region=eu;controller=slow;.*[;:]work[:; ]' "$dir/stacks" | sum_of_lines) all=$(sum_of_lines <"$dir/stacks")
	# Each burns for 4 s or more, however much else the machine has to do.
	if [ "$all" -ge 2000000000 ] && [ $((part * 10)) -ge $((all * 7)) ]; then ok "pyroscope_sdks.$language"; else
		not_ok "pyroscope_sdks.$language" "$part of $all: $(cat "$dir/err") $(sort -k 2nr "$dir/stacks" | head -n 3 | cut -c 1-300 | tr '\n' '|') $(last_words "$dir/log")"
	fi
}

if ! command -v python3 >/dev/null; then
	skip pyroscope_sdks.python "python3 is not installed; apt-get install python3"
elif ! python3 -m venv venv >"$dir/err" 2>&1; then
	skip pyroscope_sdks.python "no venv; apt-get install python3-venv"
elif fetched pyroscope_sdks.python 240 venv/bin/pip install -q --disable-pip-version-check -r requirements.txt; then
	pushes python process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta venv/bin/python pushing.py
fi
if ! command -v npm >/dev/null; then
	skip pyroscope_sdks.node "npm is not installed; apt-get install npm"
elif fetched pyroscope_sdks.node 240 npm ci --ignore-scripts --no-audit --no-fund; then
	pushes node process_cpu:cpu:nanoseconds:wall:nanoseconds:delta node pushing.js
fi
refused=$(curl -s "$DECIMA_URL/metrics" | sed -n 's/^decima_receive_refused_total{.*} //p')
if [ "$refused" = 0 ]; then ok pyroscope_sdks.refuses_none; else not_ok pyroscope_sdks.refuses_none "$refused"; fi
