# SPDX-License-Identifier: Apache-2.0
# tests/cmocka-lines.awk - a cmocka XML report to `ok NAME`, `not ok NAME: why`, `skip NAME: why`
#
#	awk -f cmocka-lines.awk OUTPUT REPORT.xml
#
# cmocka has no room for the reason of a skip. A test prints it, as a line `skip: NAME: why` (see skip_because() in
# tests/unit/unit.h), which is read from the program's OUTPUT.

FILENAME == ARGV[1] {
	if (match($0, /skip: [A-Za-z0-9_]+: /)) {
		rest = substr($0, RSTART + 6)
		colon = index(rest, ": ")
		reason[substr(rest, 1, colon - 1)] = substr(rest, colon + 2)
	}
	next
}

/<testsuite / {
	suite = attribute("name")
	sub(/^tests$/, "", suite)
	# A failing group fixture runs no case and fails none.
	if (attribute("tests") == 0 && attribute("errors") > 0)
		print "not ok " suite ": the group's setup failed"
}
/<testcase / {
	name = suite (suite == "" ? "" : ".") attribute("name")
	bare = attribute("name")
	state = "ok"
	why = ""
}
/<skipped\/>/ { state = "skip" }
/<failure>/, /<\/failure>/ {
	state = "not ok"
	text = $0
	gsub(/^ *<failure><!\[CDATA\[|\]\]><\/failure>$/, "", text)
	why = why (why == "" ? "" : " | ") text
}
/<\/testcase>/ {
	if (state == "skip")
		print "skip " name ": " (bare in reason ? reason[bare] : "it gave no reason")
	else if (state == "not ok")
		print "not ok " name ": " why
	else
		print "ok " name
}

function attribute(key,    rest) {
	rest = $0
	if (!sub(".*[ ]" key "=\"", "", rest))
		return ""
	sub(/".*/, "", rest)
	return rest
}
