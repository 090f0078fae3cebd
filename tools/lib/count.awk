# SPDX-License-Identifier: Apache-2.0
# tools/lib/count.awk - sums up the lines `ok NAME`, `not ok NAME: why`, `skip NAME: why`
#
#	awk -f count.awk FILE...
#
# A file is BUILD/results/TEST or BUILD.lines; its name tells where a case ran. Prints the skipped ones, then the failed
# ones, then alone on the last line `N passed, N failed, N skipped`. Exits 1 when something failed, or nothing ran.
FNR == 1 {
	where = FILENAME
	sub(/^.*build\//, "", where)
	sub(/\/tests\/results\//, " ", where)
	sub(/\.lines$/, "", where)
	sub(/\/results\//, " ", where)
}
/^ok / { passed++ }
/^not ok / { failed++; bad[failed] = where ": " substr($0, 8) }
/^skip / { skipped++; later[skipped] = where ": " substr($0, 6) }
END {
	for (i = 1; i <= skipped; i++)
		print "SKIPPED " later[i]
	for (i = 1; i <= failed; i++)
		print "FAILED  " bad[i]
	printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped
	exit failed > 0 || passed == 0
}
