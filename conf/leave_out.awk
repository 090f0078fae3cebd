# SPDX-License-Identifier: Apache-2.0
# conf/leave_out.awk - a configuration without some plugins: awk -v left_out=' NAME NAME ' -f leave_out.awk decima.yaml
#
# A plugin's block is its key, two spaces in, what stands deeper below it, and the comment right above it.
/^  # / {
	held = held $0 "\n"
	next
}
/^  [a-z_]+:/ {
	skip = index(left_out, " " substr($1, 1, length($1) - 1) " ")
}
/^[^ ]/ {
	skip = 0
}
{
	if (!skip)
		printf "%s%s\n", held, $0
	held = ""
}
