#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/kernels/guest/power.sh - a daemon stores on disks whose writes are logged (tests/kernels/run -w)
#
# Run by tests/e2e/store_power.sh, which cuts the power later, wherever it likes in the log. On /dev/vda the daemon is as
# it is; on /dev/vdb its log is not synced (tests/storage/no_sync.c). Nothing else makes anything durable here: there is
# no writeback, and the journal is committed when somebody asks. The last 4096 bytes of each disk, behind the file
# system, are the ledger's.
#
# Prints `DISK LAST` for each disk, the last number that was emitted there, or a failed case.
set -u
. "$top_srcdir/tests/e2e/lib.sh"
. "$top_srcdir/tests/lib/ledger.sh"
no_sync=$top_builddir/tests/storage/.libs/no_sync.so
echo 0 >/proc/sys/vm/dirty_writeback_centisecs

# Numbers of blocks go up.
sealed() { find "$store/blocks" -name '*.blk' | sed 's|.*/||; s/\.blk$//' | awk -v least="$1" '$1 >= least { n = 1 } END { exit !n }'; }
# Some of the first are gone. Not which: of a seal on the day on which an era begins the oldest is not the first.
compacted() { [ "$(find "$store/blocks" -name '*.blk' | sed 's|.*/||; s/\.blk$//' | awk '$1 <= 20' | wc -l)" -lt 20 ]; }
# store_more PROFILES BLOCK: until so many more are acknowledged, and there was a block of that number
store_more() {
	acknowledged=$(n_acknowledged)
	wait_for 300 acknowledged_more_than $((acknowledged + $1)) && wait_for 300 sealed "$2" ||
		not_ok "$disk" "$(n_acknowledged) profiles, blocks $(ls "$store/blocks"): $(tail -n 1 "$dir/log")"
}
killed() {
	kill -9 "$daemon"
	wait "$daemon" 2>/dev/null
	daemon=
}
# After its last daemon.
told() { echo "$disk $(tail -n 1 "$books/emitted")"; }

# on DISK: mounts it, and prepares a daemon
on() {
	disk=$1
	mkdir "/mnt/$disk"
	mount -t ext4 -o commit=10000,noauto_da_alloc "/dev/$disk" "/mnt/$disk" || not_ok "$disk" "it cannot be mounted"
	config "$dir/books.$disk" "/mnt/$disk/store" "marks: /dev/$disk, late: 1h"
}

# What is late stands in windows that are over, so that a second start has blocks to compact: it looks for them at once.
on vda
start
store_more 200 20
killed
start
store_more 200 40
wait_for 300 compacted || not_ok "$disk" "no block was compacted: $(tail -n 1 "$dir/log")"
killed
told

on vdb
export LD_PRELOAD="$no_sync"
start
store_more 100 1
unset LD_PRELOAD
killed
told
