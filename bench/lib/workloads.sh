# SPDX-License-Identifier: Apache-2.0
# bench/lib/workloads.sh - what bench/sampler samples; sourced. Each takes the seconds that it shall last as its last word.

# Waits behind a gate, so that everything is in place before its first process: $gate is its parent.
gate() {
	rm -f "$dir/gate"
	mkfifo "$dir/gate"
	# shellcheck disable=SC2046
	(
		trap - EXIT INT TERM
		read -r _ <"$dir/gate"
		"workload_${1%% *}" $(echo "$1" | cut -s -d ' ' -f 2-) "$2" >/dev/null 2>&1
	) &
	gate=$!
}
go() { echo >"$dir/gate"; }

workload_chains() { one_on_each chain "$1"; }
# The same with frame pointers and without unwind tables.
workload_framed() { one_on_each framed "$1"; }

# one_on_each PROGRAM SECONDS
one_on_each() {
	cpu=0
	while [ $cpu -lt "$cores" ]; do
		taskset -c $cpu "$dir/$1" "$2" 37 &
		cpu=$((cpu + 1))
	done
	wait
}

workload_storm() {
	cpu=0
	while [ $cpu -lt "$cores" ]; do
		"$dir/churn" "$1" 5 150 "$2" &
		cpu=$((cpu + 1))
	done
	wait
}

# Programs of a second, each with a build id of its own, whose files are gone before they end; and short-lived ones.
workload_hour() {
	passing_n=0 passing_until=$(($(date +%s) + $1))
	while [ "$(date +%s)" -lt $passing_until ]; do
		passing=$dir/passing$((passing_n += 1))
		${CC:-cc} -O2 -fomit-frame-pointer -pthread -Wl,--build-id=0x"$(printf %040x $passing_n)" -o "$passing" \
			"$src/tests/programs/chain.c"
		"$passing" 1 37 &
		sleep 0.5
		rm "$passing"
		"$dir/churn" exec 5 20 1
		wait $!
		sleep "$hour_pause_s"
	done
}

distro_comms='perl|mawk|bash|dash|[a-z0-9]*zip2?|xz|(sha|md5|b2)[0-9]*sum|c?k?sum|base.*|od|tr|cat|wc|cmp|dd|seq|yes|shuf|openssl|tar'

# 30 programs that every Debian has, each busy by itself for as long as it lasts.
workload_distro() {
	seconds=$1
	while read -r line; do
		timeout "$seconds" sh -c "exec $line" </dev/zero >/dev/null 2>&1 &
	done <<-'END'
		perl -e 'while (1) { my %h; $h{$_ % 1000} .= "x" for 1 .. 9999; join(",", sort keys %h) =~ s/x/y/g }'
		mawk 'BEGIN { while (1) { x = x "a"; if (length(x) > 999) { gsub(/a/, "b", x); x = "" } } }'
		bash -c 'while :; do x=$((x + 1)); y="${x//1/2}"; done'
		dash -c 'while :; do x=$((x + 1)); done'
		gzip -c
		bzip2 -c
		xz -0 -c
		sha1sum
		sha224sum
		sha256sum
		sha384sum
		sha512sum
		md5sum
		b2sum
		cksum
		sum
		base64
		base32
		basenc --base16
		od -v
		tr a b
		cat -v
		wc
		cmp - /dev/zero
		dd of=/dev/null bs=4k
		seq 1 9999999999
		yes
		shuf -r -i 1-99999
		openssl speed -seconds 60 sha256
		tar cf /dev/stdout / --exclude=/proc --exclude=/sys
	END
	wait
}
