#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/store_power.sh - the local store after power cuts: what was acknowledged is there, on ext4 that was not unmounted
#
# A daemon stores in a guest (tests/kernels/guest/power.sh), on disks that forget what was not flushed: QEMU logs what is
# written and flushed, and of that log tests/storage/power_cut makes the disk that a cut at any moment leaves. Each is
# mounted here, asked, checked, and taken over by a daemon that goes on. The numbers that were acknowledged before the
# cut are known exactly, since the log has them between the writes. So that it is known to see what it looks for, another
# daemon stores beside it whose log is not synced: acknowledged profiles have to be missing then.
#
# takes at most 2000 s
#
# runs beside others
set -u
. "$top_srcdir/tests/e2e/lib.sh"
. "$top_srcdir/tests/lib/ledger.sh"
PATH=$PATH:/usr/sbin:/sbin
kernel=6.1
n_cuts=${DECIMA_POWER_CUTS:-20}
# Which of how many moments: while the store is made, and all over its life.
cuts="$(seq -f %g/800 12) $(seq -f "%g/$n_cuts" "$n_cuts")"
power_cut=$top_builddir/tests/storage/power_cut
trap 'daemon_stop; umount "$dir/mnt" 2>/dev/null; rm -rf "$dir"' EXIT
trap 'exit 1' INT TERM
[ "$(id -u)" = 0 ] || skip_all "needs root, to mount"
command -v mkfs.ext4 >/dev/null || skip_all "mkfs.ext4 is missing"
[ -x "$power_cut" ] || skip_all "$power_cut is not built"

mkdir "$dir/mnt"
truncate -s 512M "$dir/blank"
# What is behind the file system is the ledger's. Inode tables that are made later would be flushed, with all the rest.
mkfs.ext4 -q -F -b 4096 -E lazy_itable_init=0 "$dir/blank" 510M || not_ok mkfs "exit status $?"
mount -o loop "$dir/blank" "$dir/mnt" 2>"$dir/err" || skip_all "no ext4 can be mounted from a file: $(head -n 1 "$dir/err")"
umount "$dir/mnt"
blank() { cp --sparse=always "$dir/blank" "$1"; }

blank "$dir/vda"
blank "$dir/vdb"
"$top_srcdir/tests/kernels/run" -t "${DECIMA_GUEST_SECONDS:-1500}" -w "$dir/vda" -w "$dir/vdb" "$kernel" -- \
	sh "$top_srcdir/tests/kernels/guest/power.sh" >"$dir/guest" 2>"$dir/guest.err"
status=$?
[ $status -ne 77 ] || skip_all "$(tail -n 1 "$dir/guest.err")"
sed -n "s/^\(not \)*ok /\1ok $kernel./p" "$dir/guest"
grep -q '^vdb [1-9]' "$dir/guest" || {
	not_ok guest "exit status $status: $(tail -n 1 "$dir/guest.err")"
	exit 0
}

# cut DISK NUMBER/OF: the disk after it is in $dir/mnt, and the books say what it must and may have. Each has a file of
# its own: a mount namespace that somebody made meanwhile has the last one mounted yet, which would be mounted again.
n_disks=0
cut() {
	rm -f "$dir/disk.$n_disks"
	n_disks=$((n_disks + 1))
	blank "$dir/disk.$n_disks"
	config "$dir/books" "$dir/mnt/store"
	"$power_cut" "$dir/$1.log" "$dir/disk.$n_disks" "${2%/*}" "${2#*/}" >"$books/acknowledged" 2>"$dir/where" &&
		seq "$(sed -n "s/^$1 //p" "$dir/guest")" >"$books/emitted" && mount -o loop "$dir/disk.$n_disks" "$dir/mnt" 2>>"$dir/where"
}

# survives NUMBER/OF: prints what is wrong after that cut, if anything is
survives() {
	if ! cut vda "$1"; then
		echo "the disk cannot be mounted"
		return
	fi
	# Before the first acknowledgement there may be no store yet.
	if [ -s "$books/acknowledged" ]; then
		lacks --data "$store"
		"$decima" store check "$store" >"$dir/answer" 2>&1 || tail -n 1 "$dir/answer"
	fi
	if daemon_start -c "$dir/decima.yaml"; then
		wait_for 60 acknowledged_more_than $(($(n_acknowledged) + 20)) || echo "the daemon acknowledges nothing"
		lacks --url "unix:$dir/sock"
		ask store check >"$dir/answer" 2>&1 || tail -n 1 "$dir/answer"
		daemon_stop
	else
		tail -n 1 "$dir/log"
	fi
	umount "$dir/mnt"
}

n_good=0 n_bad=0
for number in $cuts; do
	survives "$number" >"$dir/verdict"
	if [ -s "$dir/verdict" ]; then
		n_bad=$((n_bad + 1))
		not_ok "cut_$number" "$(head -n 1 "$dir/verdict"); $(tail -n 1 "$dir/where")"
	else
		n_good=$((n_good + 1))
	fi
done
[ $n_bad -gt 0 ] || ok "cuts: $n_good; the last $(tail -n 1 "$dir/where")"

# Where the log was not synced, what came since the last seal has to be missing.
n_lost=0
for number in 3 4 5 6; do
	cut vdb $number/8 || not_ok forgetful "the disk cannot be mounted; $(tail -n 1 "$dir/where")"
	lacks --data "$store" >"$dir/verdict"
	umount "$dir/mnt"
	grep 'acknowledged profiles are missing' "$dir/verdict" >>"$dir/lost" && n_lost=$((n_lost + 1))
done
if [ $n_lost -gt 0 ]; then ok "forgetful: seen after $n_lost cuts of 4; $(tail -n 1 "$dir/lost")"; else
	not_ok forgetful "nothing is missing; $(cat "$dir/verdict" "$dir/where" | tr '\n' ';')"
fi
