#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/completion.sh - what a Tab makes of a line, in bash, zsh and fish, each on a terminal of its own
#
# Lines with a Tab in them are typed to a shell that has just the installed completion, and a `decima` in its PATH that
# answers `decima complete` and notes what else it is called with: so a case is what ran, not what a shell said.
set -u
. "$top_srcdir/tests/e2e/lib.sh"

command -v script >/dev/null || { skip completion "script (bsdutils) is missing"; exit 0; }
script -q -c true /dev/null </dev/null >/dev/null || { skip completion "there are no pseudo terminals here"; exit 0; }
share=$destdir$prefix/share
tab=$(printf '\t')
mkdir -p "$dir/bin" "$dir/home/a-folder"
: >"$dir/home/some file.pb.gz"
cat >"$dir/bin/decima" <<END
#!/bin/sh
if [ "\$1" = complete ]; then
	exec "$decima" "\$@"
fi
for word; do printf '<%s>' "\$word"; done >>"$dir/ran"
echo >>"$dir/ran"
END
printf '#!/bin/sh\n' >"$dir/bin/decima-test-command"
chmod +x "$dir/bin/decima" "$dir/bin/decima-test-command"

cat >"$dir/decima.yaml" <<'END'
inputs: { example: { interval: 100ms } }
storage: { memory: {} }
END
install -m 0755 "$top_builddir/plugins/.libs/input_example.so" "$plugins/"
daemon_begin start -c "$dir/decima.yaml"
has_types() { ask query types | grep -q "$cpu"; }
wait_for 30 has_types || { not_ok types "the example's type is not there"; exit 1; }

# begin SHELL COMMAND...: the shell on a terminal, with its first prompt there
begin() {
	shell=$1
	shift
	mkfifo "$dir/keys"
	rm -f "$dir/ran" "$dir/screen"
	(
		cd "$dir/home" || exit
		HOME=$dir/home XDG_CONFIG_HOME=$dir/home XDG_DATA_HOME=$dir/home TERM=xterm LC_ALL=C.UTF-8 \
			PATH="$dir/bin:$PATH" DECIMA_URL="unix:$dir/sock" SHELL=/bin/sh \
			exec timeout -k 5 300 script -q -f -c "$*" "$dir/screen" <"$dir/keys" >/dev/null 2>&1
	) &
	terminal=$!
	exec 3>"$dir/keys"
	wait_for 60 grep -q 'ready>' "$dir/screen" || not_ok "$shell.begins" "no prompt: $(tail -n 2 "$dir/screen")"
}

# types NAME KEYS WANT: the line is run when it is complete; WANT is how decima was called
types() {
	: >"$dir/ran"
	printf '%s\r' "$2" >&3
	wait_for 60 test -s "$dir/ran"
	wait_for 5 grep -qxF "$3" "$dir/ran" && ok "$shell.$1" || not_ok "$shell.$1" "ran $(cat "$dir/ran"), wanted $3"
}

end() {
	printf 'exit\r' >&3
	exec 3>&-
	wait $terminal
	rm "$dir/keys"
}

cases() {
	types verb "decima targ$tab" '<targets>'
	types second_word "decima query fla${tab}x" '<query><flame><x>'
	types second_word_of_another_group "decima debuginfo e${tab}x" '<debuginfo><extract><x>'
	types option "decima query top --max$tab 3 x" '<query><top><--max-rows><3><x>'
	types option_without_verb "decima --log$tab info" '<--log-level><info>'
	types choice "decima query top --format j${tab}x" '<query><top><--format><json><x>'
	types choice_in_one_word "decima query top --format=j$tab" '<query><top><--format=json>'
	types profile_type "decima query top proc$tab" "<query><top><$cpu>"
	types profile_type_from_its_middle "decima query top process_cpu:c$tab" "<query><top><$cpu>"
	types label "decima query values service_n$tab" '<query><values><service_name>'
	types label_of_a_list "decima query stacks --group-by=x,service_n$tab" '<query><stacks><--group-by=x,service_name>'
	types comma_in_a_name "decima query stacks --group-by '\"a,b\",service_n$tab" '<query><stacks><--group-by><"a,b",service_name>'
	types comma_in_a_name_of_one_word "decima query stacks --group-by=\\\"a,b\\\",service_n$tab" '<query><stacks><--group-by="a,b",service_name>'
	types words_in_quotes "decima query 'stacks' --group-by \"x y,service_n$tab" '<query><stacks><--group-by><x y,service_name>'
	types plugin "decima describe --plugin-path $plugins storage/m$tab" "<describe><--plugin-path><$plugins><storage/memory>"
	types file "decima convert some$tab" '<convert><some file.pb.gz>'
	types file_of_an_option "decima check --config=some$tab" '<check><--config=some file.pb.gz>'
	types folder "decima store backup a-f${tab}x" '<store><backup><a-folder/x>'
	types command "decima record -- decima-test-c$tab" '<record><--><decima-test-command>'
	types file_of_a_command "decima record decima-test-command some$tab" '<record><decima-test-command><some file.pb.gz>'
}

if command -v bash >/dev/null; then
	begin bash "PS1='ready>' bash --norc --noprofile -i"
	printf '. %s\r' "$share/bash-completion/completions/decima" >&3
	cases
	end
else
	skip completion.bash "bash is missing"
fi
if command -v zsh >/dev/null; then
	begin zsh "PS1='ready>' zsh -f -i"
	printf 'fpath=(%s $fpath); autoload -Uz compinit; compinit -u -D\r' "$share/zsh/site-functions" >&3
	cases
	end
else
	skip completion.zsh "zsh is missing"
fi
if command -v fish >/dev/null; then
	begin fish "fish --no-config -i -C 'function fish_prompt; echo \"ready>\"; end; set -p fish_complete_path $share/fish/vendor_completions.d'"
	cases
	end
else
	skip completion.fish "fish is missing"
fi
rm -f "$plugins/input_example.so"
