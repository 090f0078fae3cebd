#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/docs.sh - the documents are true: their commands run, their code builds, what they name is there
#
# README's sh blocks run as written against a daemon of our own: `decima` and `curl` are wrapped, so that they find this
# daemon and this installation.
set -u
. "$top_srcdir/tests/e2e/lib.sh"
cd "$top_srcdir" || exit 1
documents="README.md ARCHITECTURE.md NEWS.md docs/*.md"

verdict() { # NAME TEXT: no text is a pass
	if [ -z "$2" ]; then ok "$1"; else not_ok "$1" "$(echo "$2" | head -n 5 | tr '\n' ';')"; fi
}

# block FILE LANGUAGE FIRST_LINE: the first fenced block of that language whose first line has that text
block() {
	awk -v fence="\`\`\`$2" -v want="$3" '
		$0 == fence { n = 0; inside = 1; next }
		/^```/ { inside = 0 }
		inside && ++n == 1 { take = !done && index($0, want); done = done || take }
		inside && take' "$1"
}

# --- what the documents name

# links TITLE FOLDER DOCUMENT: all lead to something there
links() {
	faults=$(grep -o '](\([^)#:]*\))' "$2/$3" | sed 's/^](//; s/)$//' | while read -r to; do
		[ -e "$(dirname "$2/$3")/$to" ] || echo "no $to"
	done)
	verdict "$1 of $3" "$faults"
}

for document in $documents; do
	links links . "$document"
	links "links as installed" "$destdir$prefix/share/doc/decima" "$document"

	# Placeholders are in capitals. A program in bench/ or tests/ is there as its source.
	faults=$(grep -o '`[^` ]*`' "$document" | tr -d '`' | sort -u | while read -r name; do
		case $name in
		*NAME* | *KIND* | *'<'* | *'$'*) continue ;;
		core/* | plugins/* | include/* | bpf/* | conf/* | tests/* | fuzz/* | bench/* | tools/* | docs/* | m4/* | LICENSE)
			# shellcheck disable=SC2086 # the name may be a pattern
			[ -n "$(ls -d $name "$name.c" 2>/dev/null)" ] || echo "no $name" ;;
		*/*) ;;
		*.[ch] | *.sh) [ -n "$(find core include plugins bpf tests bench -name "$name" -print -quit)" ] || echo "no $name" ;;
		esac
	done)
	verdict "paths of $document" "$faults"
done

faults=$(find core plugins tests fuzz bpf conf bench tools m4 docs include -mindepth 1 -name '*.*' -type f |
	sed -E 's|^(core/[^/]*)/.*|\1|; s|^(plugins/[^/]*/[^/]*)/.*|\1|; s|^(tests/[^/]*)/.*|\1|
		s|^include/decima/.*|include/decima|; s|^(fuzz\|bpf\|conf\|bench\|tools\|m4\|docs)/.*|\1|' |
	grep -v '^tests/[^/]*\.' | sort -u | while read -r folder; do
	[ ! -d "$folder" ] || grep -qF "| \`$folder\` |" ARCHITECTURE.md || echo "no row for $folder"
done)
verdict "folders of ARCHITECTURE.md" "$faults"

faults=$(awk '/^(build|ebpf)/ && $2 ~ /^lib.*-dev$/ && $2 !~ /libc/ { print $2 }' tools/packages | while read -r package; do
	grep -qF "$package" ARCHITECTURE.md || echo "no row for $package"
done)
verdict "dependencies of ARCHITECTURE.md" "$faults"

# reasons LIST HEADER: each text of that list of X(NAME, metric, text) is in docs/STACKS.md
reasons() {
	awk -v list="define $1(X)" 'index($0, list) { on = 1; next } on { print } on && !/\\$/ { exit }' "$2" |
		grep -o ', "[^"]*")' | sed 's/^, "//; s/")$//' | sort -u >"$dir/reasons"
	[ -s "$dir/reasons" ] || echo "no reasons in $2"
	while read -r reason; do grep -qF -e "| \`$reason\` |" -e "| $reason |" docs/STACKS.md || echo "no row for: $reason"; done <"$dir/reasons"
}
verdict "reasons of STACKS.md" "$(reasons SAMPLER_OUTCOMES bpf/sampler.h)$(reasons UNWIND_GAPS bpf/unwind.h)"

# losses: each reason in the source has a row in docs/LOSSES.md, and the page says to do what the row says
losses() {
	find core plugins -name '*.c' ! -path '*/example/*' -exec cat {} + | tr '\n' ' ' |
		grep -oE '(drop|dropped|lost|lose|lose_new|lose_moved|count_lost|discard)\([^;{}]*"[a-z_]+"|reason = "[a-z_]+"' |
		grep -oE '"[a-z_]+"' | tr -d '"' | sort -u >"$dir/reasons"
	[ "$(wc -l <"$dir/reasons")" -ge 30 ] || echo "hardly any reasons in the source"
	while read -r reason; do grep -q "^| \`$reason\` |" docs/LOSSES.md || echo "no row for: $reason"; done <"$dir/reasons"
	sed -n 's/^| `\([a-z_]*\)` |.*/\1/p' docs/LOSSES.md | sort | comm -23 - "$dir/reasons" | sed 's/^/nothing is lost for: /'
	sed -n 's/^| `\([a-z_]*\)` | .* | \(.*\) |$/  \1: "\2",/p' docs/LOSSES.md | tr -d '`' >"$dir/rows"
	grep '^  [a-z_]*: "' ui/src/app/losses.ts | diff "$dir/rows" - || echo "docs/LOSSES.md and ui/src/app/losses.ts differ"
}
verdict "reasons of LOSSES.md" "$(losses)"

# pages: the numbers of docs/PAGES.md are 1 to 84, and each case that it names is there
pages() {
	sed -n 's/^| \([0-9]*\) |.*/\1/p' docs/PAGES.md >"$dir/numbers"
	seq 84 | diff "$dir/numbers" - >/dev/null || echo "the numbers are not 1 to 84"
	sed -n 's/^| [0-9]* | .* | \(.*\) |$/\1/p' docs/PAGES.md | grep -v '^none: ' | sed 's/, `/\n`/g' | while read -r case; do
		word=$(echo "$case" | tr -d '`' | sed 's/^bench\/ui //')
		case $case in
		'`bench/ui`'*) grep -qF "\"$word\"" bench/pages.mjs ;;
		'`ui: '*) grep -qF "test(\"${word#ui: }\"" ui/test/*.ts ;;
		'`ui.'*) grep -q "ui_case ${word#ui.} " tools/lib/ui.sh ;;
		'`web.search_that_never_ends_'*) grep -qF 'check(`search_that_never_ends_${ms}`' tests/e2e/web.mjs ;;
		'`web.'*) grep -qE "(check\\(\"${word#web.}\"|(header|expect) (web\\.)?${word#web.} )" tests/e2e/web*.mjs tests/e2e/web.sh ;;
		'`test_'*) grep -q "^static void $word(" tests/unit/test_pages.c ;;
		*) false ;;
		esac || echo "no case $case"
	done
}
verdict "cases of PAGES.md" "$(pages)"

# flags: each key that FROM_PARCA.md names is one of what `decima generate conf` writes, in conf/ or with the output parca, and each row has a flag and a word for "-"
flags() {
	printf 'outputs:\n  parca:\n    url: http://127.0.0.1:7070\n' >"$dir/parca.yaml"
	"$decima" generate conf "$dir/parca.yaml" --plugin-path "$plugins" >"$dir/parca_conf" || echo "no configuration with the output parca"
	# Keys with those above them: what stands below another is further in, as a comment or set.
	awk '/^ *#?[a-z][a-z0-9_]*:/ {
		match($0, /^ */)
		depth = RLENGTH / 2
		key = $0
		sub(/^ *#?/, "", key)
		sub(/:.*/, "", key)
		path[depth] = depth ? path[depth - 1] "." key : key
		print path[depth]
	}' conf/decima.yaml conf/agent.yaml conf/server.yaml conf/scraper.yaml "$dir/parca_conf" | sort -u >"$dir/keys"
	sed -n 's/^| `--[^|]* | \([^|]*\) | [^|]*|$/\1/p' docs/FROM_PARCA.md | sort -u >"$dir/named"
	[ "$(grep -c . "$dir/named")" -ge 30 ] || echo "hardly any keys"
	grep -vx -e - "$dir/named" | tr -d '`' | sort -u | comm -23 - "$dir/keys" | sed 's/^/no key /'
	grep '^| `--' docs/FROM_PARCA.md | grep -vE '^\| `--[a-z0-9-]+`(, `--[a-z0-9-]+`)* \| (`[a-z0-9_.]+` \|.*|- \| .+) \|$' | sed 's/^/odd row: /'
	sed 's/^## /\n&/' docs/FROM_PARCA.md | awk 'BEGIN { RS = "\n## " } { n = split($0, word, /`/); delete seen
		for (i = 2; i <= n; i += 2) if (word[i] ~ /^--[a-z]/ && seen[word[i]]++) print "twice: " word[i] }' | grep -v -e '--set'
}
verdict "keys of FROM_PARCA.md" "$(flags)"

# --- a daemon, and the plugins of the HOWTOs in it

PKG_CONFIG_SYSROOT_DIR=$destdir
PKG_CONFIG_LIBDIR=$destdir$prefix/lib/pkgconfig
export PKG_CONFIG_SYSROOT_DIR PKG_CONFIG_LIBDIR

# plugin KIND NAME DOCUMENT: builds the one that is shown there, checks it, and puts it beside the others
plugin() {
	block "docs/$3" c "/* $1_$2.c - " >"$dir/$1_$2.c"
	flags="-std=gnu17 -O2 -Wall -Wextra -Werror -fPIC -fvisibility=hidden -shared $(pkg-config --cflags decima)"
	for compiler in gcc clang; do
		if ! command -v $compiler >/dev/null; then
			skip "$3.$compiler" "$compiler is missing"
			continue
		fi
		# shellcheck disable=SC2086 # the flags are words
		$compiler $flags -Wl,-z,defs -o "$dir/$1_$2.so" "$dir/$1_$2.c" 2>"$dir/out" && status=0 || status=1
		verdict "$3.$compiler" "$([ $status -eq 0 ] || cat "$dir/out")"
	done
	"$destdir$prefix/bin/decima-plugin-check" "$dir/$1_$2.so" >"$dir/out" 2>&1 && status=0 || status=1
	verdict "$3.plugin_check" "$([ $status -eq 0 ] || tail -n 3 "$dir/out")"
	install -m 0755 "$dir/$1_$2.so" "$plugins/"
}
plugin input rss HOWTO_ADD_INPUT.md
plugin output totals HOWTO_ADD_OUTPUT.md
install -m 0755 "$top_builddir/plugins/.libs/input_example.so" "$plugins/"

cat >"$dir/decima.yaml" <<-'END'
	inputs:
	  example: { interval: 100ms }
	  perf_map: {}
	  rss: { interval: 200ms }
	storage: { memory: {} }
	outputs: { totals: {} }
END
if daemon_start -c "$dir/decima.yaml"; then
	ok daemon
else
	not_ok daemon "$(tail -n 1 "$dir/log")"
	exit
fi
shows() { ask query top "$1" | grep -q "$2"; }
wait_for 10 shows "$cpu" work && ok example_answers || not_ok example_answers "no function \"work\""
wait_for 10 shows process_memory:resident:bytes:space:bytes decima && ok HOWTO_ADD_INPUT.md.answers ||
	not_ok HOWTO_ADD_INPUT.md.answers "no process \"decima\""
wait_for 10 grep -q '^[0-9]* process_cpu:cpu [0-9]*$' "$dir/data/totals/totals.txt" && ok HOWTO_ADD_OUTPUT.md.writes ||
	not_ok HOWTO_ADD_OUTPUT.md.writes "$(ls "$dir/data" "$dir/data/totals" 2>&1 | tr '\n' ' ')"

# --- README's commands

mkdir "$dir/bin" "$dir/work"
cat >"$dir/bin/decima" <<END
#!/bin/sh
case \$1 in
query | targets | convert) exec "$decima" "\$@" ;;
esac
verb=\$1
shift
exec "$decima" "\$verb" --plugin-path "$plugins" "\$@"
END
printf '#!/bin/sh\nexec "%s" --fail-with-body --unix-socket "%s" "$@"\n' "$(command -v curl)" "$dir/sock" >"$dir/bin/curl"
chmod +x "$dir/bin/decima" "$dir/bin/curl"
DECIMA_URL=unix:$dir/sock
PATH=$dir/bin:$PATH:/usr/local/go/bin
PPROF_TMPDIR=$dir
export DECIMA_URL PATH PPROF_TMPDIR

# why_not COMMAND: why this machine cannot run it; nothing when it can
why_not() {
	case $1 in
	"decima record"*)
		[ "$(id -u)" -eq 0 ] || echo "sampling takes root"
		[ -r /sys/kernel/btf/vmlinux ] || echo "this kernel has no BTF"
		[ -e "$plugins/input_ebpf.so" ] || echo "built without eBPF"
		;;
	"decima describe input/ebpf") [ -e "$plugins/input_ebpf.so" ] || echo "built without eBPF" ;;
	*) command -v "${1%% *}" >/dev/null || echo "${1%% *} is missing" ;;
	esac
}

# Where the sampler cannot run, what it would have recorded comes from the daemon.
decima query stacks "$cpu" >"$dir/work/machine.folded"
awk '/^```sh$/ { inside = 1; next } /^```/ { inside = 0 }
	inside { line = line $0; if (sub(/\\$/, "", line)) next; gsub(/\t+/, " ", line); print line; line = "" }' README.md >"$dir/commands"
[ "$(wc -l <"$dir/commands")" -ge 15 ] && ok commands || not_ok commands "README has less than 15 commands in sh blocks"
n=0
while read -r command; do
	n=$((n + 1))
	why=$(why_not "$command" | head -n 1)
	if [ -n "$why" ]; then
		skip "README.$n ($command)" "$why"
		continue
	fi
	(cd "$dir/work" && timeout -k 5 180 sh -c "$command") >"$dir/answer" 2>"$dir/err" </dev/null
	status=$?
	if [ $status -ne 0 ]; then
		not_ok "README.$n ($command)" "exit status $status: $(tail -n 1 "$dir/err") $(tail -n 1 "$dir/answer" | cut -c 1-200)"
	elif [ ! -s "$dir/answer" ] && ! echo "$command" | grep -qE ' -o | convert '; then
		not_ok "README.$n ($command)" "it prints nothing"
	else
		ok "README.$n ($command)"
	fi
done <"$dir/commands"
for file in cpu.pb.gz machine.folded machine.speedscope.json; do
	[ -s "$dir/work/$file" ] && ok "README.$file" || not_ok "README.$file" "it was not written"
done

# --- the API's paths, both ways

get /api/v1 | grep -o '"method":"[A-Z]*","path":"[^"]*"' | sed 's/"method":"\([A-Z]*\)","path":"\(.*\)"/\1 \2/' | sort >"$dir/routes"
grep -oE '(GET|POST|DELETE) /[^`]*' docs/API.md | grep -vx 'GET /api/v1' | sort -u >"$dir/named"
verdict API.md.paths "$(diff "$dir/routes" "$dir/named" | grep '^[<>]')"
[ -s "$dir/routes" ] && ok API.md.list || not_ok API.md.list "/api/v1 lists nothing"
daemon_stop

# --- configurations and faults

for document in $documents; do
	awk -v to="$dir/config" '/^```yaml$/ { inside = 1; n++; next } /^```/ { inside = 0 } inside { print >(to "." n ".yaml") }' "$document"
	for file in "$dir"/config.*.yaml; do
		[ -e "$file" ] || continue
		"$decima" check --config-only --plugin-path "$plugins" -c "$file" >"$dir/out" 2>&1 && status=0 || status=1
		verdict "configuration in $document" "$([ $status -eq 0 ] || head -n 1 "$dir/out")"
		rm "$file"
	done
done

block docs/HOWTO_ADD_OPTION.md text decima.yaml >"$dir/want"
for value in 'max_agee: 36h' 'max_age: soon'; do
	printf 'outputs:\n  file: { %s }\n' "$value" >"$dir/work/decima.yaml"
	(cd "$dir/work" && "$decima" check --config-only --plugin-path "$plugins" -c decima.yaml 2>&1 | head -n 1)
done >"$dir/got"
verdict HOWTO_ADD_OPTION.md.faults "$(diff "$dir/want" "$dir/got")"

# --- the script of HOWTO_ADD_TEST

block docs/HOWTO_ADD_TEST.md sh '#!/bin/sh' >"$dir/example.sh"
sh "$dir/example.sh" >"$dir/out" 2>&1
if grep -q '^ok answers' "$dir/out" && ! grep -q '^not ok' "$dir/out"; then
	ok HOWTO_ADD_TEST.md.script
else
	not_ok HOWTO_ADD_TEST.md.script "$(tail -n 1 "$dir/out")"
fi
rm -f "$plugins/input_rss.so" "$plugins/output_totals.so" "$plugins/input_example.so"
