#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/tools_run.sh - what tools/run does around a build: here the build is a stand-in, and so is what packages are missing
#
# runs beside others
set -u
. "$top_srcdir/tests/e2e/lib.sh"

tree=$dir/tree
mkdir -p "$tree/tools/lib" "$dir/bin"
cp "$top_srcdir/tools/run" "$tree/tools/run"
echo 'packages_missing() { :; }' >"$tree/tools/lib/packages.sh"
# Makes a decima that says how it was called.
cat >"$tree/configure" <<'SH'
#!/bin/sh
echo "configured: $*" >>configure.log
cat >Makefile <<MAKE
prefix = ${1#--prefix=}
all:
	printf '#!/bin/sh\\necho "called: \$\$*"\\n[ "\$\$1\$\$CANNOT_SAMPLE" != recordyes ] || { echo no right >&2; exit 1; }\\n' >decima
	chmod +x decima
install: all
	mkdir -p \$(prefix)/bin
	cp decima \$(prefix)/bin/decima
	mkdir -p \$(prefix)/share/man/man1
	echo manual >\$(prefix)/share/man/man1/decima.1
MAKE
SH
chmod +x "$tree/configure"

run() {
	CANNOT_SAMPLE=${CANNOT_SAMPLE:-} DECIMA_PREFIX=$dir/prefix DECIMA_LINK=$dir/bin/decima PATH=$dir/bin:$PATH \
		"$tree/tools/run" "$@" >"$dir/out" 2>"$dir/err"
}
run --log-level debug
expect_status runs 0 $?
conf=scraper
[ "$(id -u)" -ne 0 ] || conf=decima
expect passes_on_what_it_was_given "called: run -c $tree/conf/$conf.yaml" "$dir/out"
expect with_its_words '--log-level debug' "$dir/out"
if [ "$(id -u)" -eq 0 ]; then
	expect says_how_to_ask 'in another terminal: decima query flame process_cpu:' "$dir/err"
	expect links_the_manual manual "$dir/share/man/man1/decima.1"
	CANNOT_SAMPLE=yes run
	expect says_why_it_does_not_sample 'a first sample failed: no right' "$dir/err"
	expect scrapes_itself_then "called: run -c $tree/conf/scraper.yaml" "$dir/out"
	# Somebody else's decima comes first in PATH.
	rm "$dir/bin/decima"
	printf '#!/bin/sh\n' >"$dir/bin/decima"
	chmod +x "$dir/bin/decima"
	run
	expect leaves_what_is_no_link "$dir/bin/decima is not a link" "$dir/err"
	expect says_how_to_ask_with_the_path "in another terminal: $dir/prefix/bin/decima query flame" "$dir/err"
else
	expect says_how_to_ask "in another terminal: $tree/build/run/decima query flame process_cpu:" "$dir/err"
fi

# ---- who may not sample, and has no clang: it is built without eBPF, and anew once it can be built with it ----
chmod 755 "$dir"
cp -R "$tree" "$dir/users"
rm -rf "$dir/users/build"
cat >"$dir/users/tools/lib/packages.sh" <<'SH'
packages_missing() { case " $* " in *" ebpf "*) echo $LACKS ;; esac; }
packages_may_install() { return 1; }
SH
as_user() { "$@"; }
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
	chown -R 65534:65534 "$dir/users"
	as_user() { setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; }
fi
if [ "$(id -u)" -eq 0 ] && ! command -v setpriv >/dev/null; then
	skip tools_run.user "setpriv is not there"
else
	users() { as_user env LACKS="$1" DECIMA_PREFIX="$dir/prefix" "$dir/users/tools/run" >"$dir/out" 2>"$dir/err"; }
	users clang
	expect_status tools_run.user_runs 0 $?
	expect tools_run.user_is_told 'this build is without eBPF' "$dir/err"
	expect tools_run.user_scrapes "called: run -c $dir/users/conf/scraper.yaml" "$dir/out"
	users clang
	users ''
	got=$(sed 's/--prefix=[^ ]*//' "$dir/users/build/run/configure.log" | tr -d '\n')
	[ "$got" = 'configured:  --disable-ebpfconfigured: ' ] && ok tools_run.user_configures || not_ok tools_run.user_configures "$got"
fi
