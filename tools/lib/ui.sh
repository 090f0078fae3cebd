# SPDX-License-Identifier: Apache-2.0
# tools/lib/ui.sh - the pages' own step of tools/test: types, tests, size, and that ui/dist is what ui/src makes; sourced
#
# Happens in build/ui, a copy with the packages that ui/package-lock.json names, which npm fetches once. $top, $results and
# logged() are tools/test's.

ui_max_bytes=153600   # of all of ui/dist in gzip
ui_first_bytes=102400 # of what a page needs to be there

# ui_packages: build/ui with its packages; false where they cannot be had
ui_packages() {
	mkdir -p "$top/build/ui" || return
	for file in build.mjs test.mjs package.json package-lock.json tsconfig.json .npmrc; do cp "$top/ui/$file" "$top/build/ui/"; done
	rm -rf "$top/build/ui/src" "$top/build/ui/test"
	cp -r "$top/ui/src" "$top/ui/test" "$top/build/ui/"
	cmp -s "$top/build/ui/package-lock.json" "$top/build/ui/node_modules/.fetched" && return
	(cd "$top/build/ui" && npm ci) >>"$top/build/ui.log" 2>&1 &&
		cp "$top/build/ui/package-lock.json" "$top/build/ui/node_modules/.fetched"
}

# ui_case NAME COMMAND...: quiet, or a failed case with its first line
ui_case() {
	ui_name=$1
	shift
	if "$@" >"$top/build/ui-$ui_name.out" 2>&1; then
		echo "ok ui.$ui_name"
	else
		echo "not ok ui.$ui_name: $(head -n 3 "$top/build/ui-$ui_name.out" | tr '\n' '|')"
	fi
}

ui_dist_is_made() { rm -rf dist && node build.mjs && diff -r dist "$top/ui/dist"; }
# ui_is_small MOST FILE..: in gzip, each by itself
ui_is_small() {
	most=$1
	shift
	bytes=$(for file; do gzip -9 -c "$file" | wc -c; done | awk '{ n += $1 } END { print n }')
	echo "$bytes bytes in gzip, at most $most"
	[ "$bytes" -le "$most" ]
}
# ui_named_by PAGE: the files that it names, where it is
ui_named_by() { sed -nE "s|.*(src\|href)=\"([^\"]*)\".*|${1%/*}/\2|p" "$1"; }
# Nothing is made code or markup out of text, and nobody else is asked. The names of XML's own vocabularies are no addresses.
ui_is_safe() {
	! grep -rnE 'innerHTML|dangerouslySet|eval\(|new Function|document\.write' "$top/ui/src" &&
		! grep -ohE 'https?://[^"`'"'"' )]*' "$top"/ui/dist/*.js "$top"/ui/dist/*.css "$top"/ui/dist/*.html | grep -v '^http://www.w3.org/'
}

# The cases of test.mjs. That it ends well, and that there are any, is one too.
ui_tests() {
	node test.mjs >"$top/build/ui-test.out" 2>>"$top/build/ui.log"
	ui_status=$?
	sed -n 's/^ok [0-9]* - \(.*\)/ok ui: \1/p; s/^not ok [0-9]* - \(.*\)/not ok ui: \1; see build\/ui-test.out/p' \
		"$top/build/ui-test.out"
	if ! grep -qE '^(not )?ok [0-9]' "$top/build/ui-test.out"; then
		echo "not ok ui: test.mjs ran no case, exit status $ui_status; see build/ui.log"
	elif [ $ui_status -ne 0 ] && ! grep -q '^not ok [0-9]' "$top/build/ui-test.out"; then
		echo "not ok ui: test.mjs ended with exit status $ui_status; see build/ui.log"
	fi
}

step_ui() {
	: >"$top/build/ui.log"
	for ui_tool in node npm; do
		command -v $ui_tool >/dev/null && continue
		echo "skip ui: $ui_tool is missing" >"$results/ui"
		return
	done
	if ! ui_packages; then
		[ "$(id -u)" -eq 0 ] && ui_verdict="not ok" || ui_verdict=skip
		echo "$ui_verdict ui: npm cannot fetch what ui/package-lock.json names; see build/ui.log" >"$results/ui"
	else
		cd "$top/build/ui" || return
		{
			ui_case types node_modules/.bin/tsc -p .
			ui_case dist_is_what_src_makes ui_dist_is_made
			ui_case size ui_is_small $ui_max_bytes "$top"/ui/dist/*
			# shellcheck disable=SC2046 # names without blanks
			ui_case first_page ui_is_small $ui_first_bytes "$top"/ui/dist/index.html "$top"/ui/dist/worker-* $(ui_named_by "$top/ui/dist/index.html")
			ui_case safe ui_is_safe
			ui_tests
		} >"$results/ui"
	fi
	grep '^not ok' "$results/ui"
}
