# SPDX-License-Identifier: Apache-2.0
# tools/lib/packages.sh - which packages of tools/packages are missing, and their installation; sourced

# packages_missing PURPOSE...: prints the packages of these purposes that are neither installed nor stood in for by
# the command in the third column, one a line.
packages_missing() {
	awk -v purposes=" $* " '/^[a-z]/ && index(purposes, " " $1 " ") && !seen[$2]++ { print $2, $3 }' \
		"$top/tools/packages" | while read -r package command; do
		[ -n "$command" ] && PATH="$PATH:/usr/sbin:/sbin" command -v "$command" >/dev/null && continue
		case $(dpkg-query -W -f '${Status}' "$package" 2>/dev/null) in
		"install ok installed") ;;
		*) echo "$package" ;;
		esac
	done
}

# packages_install PACKAGE...: by apt-get, as root. Fails when apt-get does; what is there stays untouched.
packages_install() {
	[ $# -gt 0 ] || return 0
	echo "installing: $*"
	export DEBIAN_FRONTEND=noninteractive
	as_root=
	[ "$(id -u)" -eq 0 ] || as_root=sudo
	$as_root apt-get update -q >/dev/null && $as_root apt-get install -q -y --no-install-recommends "$@" >/dev/null
}

# May we become root: either we are, or sudo lets us (asking on the terminal, if there is one)?
packages_may_install() {
	[ "$(id -u)" -eq 0 ] && return 0
	command -v sudo >/dev/null || return 1
	sudo -n true 2>/dev/null || { [ -t 0 ] && sudo -v; }
}
