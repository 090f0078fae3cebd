# SPDX-License-Identifier: Apache-2.0
# conf/leave_out.awk - a configuration without some plugins: awk -v left_out=' NAME NAME=OTHER ' -f leave_out.awk decima.yaml
#
# A plugin's block is its key, two spaces in, what stands deeper below it, and the comment right above it. NAME=OTHER puts
# another one there, with its defaults; pprof_scrape, which has nothing to do by default, with a job for this daemon itself.
/^  # / {
	held = held $0 "\n"
	next
}
/^  [a-z_]+:/ {
	name = substr($1, 1, length($1) - 1)
	skip = index(left_out, " " name " ")
	if (!skip && (at = index(left_out, " " name "="))) {
		split(substr(left_out, at + length(name) + 2), other, " ")
		if (other[1] == "pprof_scrape")
			printf "  # Scrapes profiles that programs serve over HTTP: conf/scraper.yaml has every option.\n" \
				"  pprof_scrape:\n    scrape_configs:\n      - job_name: decima\n" \
				"        static_configs:\n          - targets:\n              - 127.0.0.1:7070\n"
		else
			printf "  %s: {}\n", other[1]
		skip = 1
	}
}
/^($|[^ ])/ {
	skip = 0
}
{
	if (!skip)
		printf "%s%s\n", held, $0
	held = ""
}
