# SPDX-License-Identifier: Apache-2.0
# tests/lib/wait.sh - waiting for what a loaded machine takes longer for; sourced by the scripts that wait

# wait_for SECONDS COMMAND..: asks every 50 ms until it succeeds
wait_for() {
	tries=$(($1 * 20))
	shift
	while ! "$@" >/dev/null 2>&1; do
		tries=$((tries - 1))
		[ $tries -gt 0 ] || return 1
		sleep 0.05
	done
}
