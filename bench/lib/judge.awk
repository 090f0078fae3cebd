# SPDX-License-Identifier: Apache-2.0
# bench/lib/judge.awk - passes a bench's lines on, and counts its targets
#
#	figures | awk -f judge.awk
#
# The last line says how many targets were met, how many are missed for a reason that is known ("explained" in their line),
# and the names of the others. Exit status 1: there are others.
{
	print
	fflush()
	if ($0 !~ /"met":(true|false)/) next
	n++
	if ($0 ~ /"met":true/) met++
	else if ($0 ~ /"explained":/) explained++
	else {
		match($0, /"name":"[^"]*"/) || match($0, /"bench":"[^"]*"/)
		name = substr($0, RSTART, RLENGTH)
		sub(/^"[a-z]*":/, "", name)
		missed = missed (missed == "" ? "" : ",") name
	}
}
END {
	printf "{\"bench\":\"targets\",\"value\":%d,\"unit\":\"met\",\"compared_with\":{\"what\":\"all\",\"value\":%d,\"unit\":\"met\"}," \
		"\"explained\":%d,\"missed\":[%s]}\n", met, n, explained, missed
	exit missed != ""
}
