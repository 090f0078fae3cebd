# SPDX-License-Identifier: Apache-2.0
# tests/lib/scratch.sh - where a test puts what it writes

# Makes a folder and prints its name: in memory where there is a gigabyte for it, because what a sync costs is the disk's
# matter, and no question of most tests.
scratch() {
	room=$(df -Pk /dev/shm 2>/dev/null | awk 'NR == 2 { print $4 }')
	[ "${room:-0}" -ge 1048576 ] && mktemp -d -p /dev/shm 2>/dev/null && return
	mktemp -d
}
