# SPDX-License-Identifier: Apache-2.0
# plugins/output/web/local.mk - the pages of ui/dist, as gzip, in an output that gets no batches
if PLUGIN_OUTPUT_WEB
pkglib_LTLIBRARIES += plugins/output_web.la
endif
plugins_output_web_la_SOURCES = plugins/output/web/web.c plugins/output/web/embed.h
plugins_output_web_la_CFLAGS = $(AM_CFLAGS)
plugins_output_web_la_LDFLAGS = $(LDFLAGS_PLUGIN)
plugins_output_web_la_LIBADD = $(BASE_LA)

# A row for each file that ui/dist/files lists.
EXTRA_DIST += ui/dist ui/src ui/build.mjs ui/package.json ui/package-lock.json ui/shot.mjs ui/test ui/test.mjs ui/tsconfig.json ui/.npmrc
CLEANFILES += plugins/output/web/assets.h plugins/output/web/*.gz
plugins/output/web/assets.h: ui/dist/files plugins/output/web/local.mk
	$(AM_V_GEN)$(MKDIR_P) $(@D) && \
	cut -f 1 $(top_srcdir)/ui/dist/files | while read -r name; do \
		gzip -9nc "$(top_srcdir)/ui/dist/$$name" >"$(@D)/$$name.gz" || exit 1; done && \
	awk -F '\t' -v dir='$(abs_top_builddir)/$(@D)' ' \
		BEGIN { print "#include \"plugins/output/web/embed.h\"" } \
		{ printf "EMBED(%d, \"%s/%s.gz\");\n", NR, dir, $$1; \
		  row[NR] = sprintf("\t{ \"%s\", \"%s\", embedded_%d, embedded_end_%d, %s, true },", $$1, $$2, NR, NR, $$3 ? "true" : "false") } \
		END { print "static const struct asset assets[] = {"; for (i = 1; i <= NR; i++) print row[i]; print "};" }' \
		$(top_srcdir)/ui/dist/files >$@.tmp && mv $@.tmp $@
$(plugins_output_web_la_OBJECTS): plugins/output/web/assets.h
