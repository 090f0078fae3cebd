# SPDX-License-Identifier: Apache-2.0
# docs/local.mk - manual pages and shell completions, printed by the program that they describe
#
# decima(1) and the completions come from the table of verbs, decima-KIND-NAME(5) from a plugin's option table. A
# plugin is copied into a fresh folder first: a build run by root in somebody else's checkout would rightly refuse to
# load it from there. Cross-compiled, nothing can be run, and nothing of this is made. The pages are built
# beside docs/, because the folder goes into the tarball as it is.
EXTRA_DIST += docs

man5_pages =
if PLUGIN_INPUT_EBPF
man5_pages += man/decima-input-ebpf.5
endif
if PLUGIN_INPUT_PERF_MAP
man5_pages += man/decima-input-perf_map.5
endif
if PLUGIN_STORAGE_MEMORY
man5_pages += man/decima-storage-memory.5
endif
if PLUGIN_OUTPUT_FILE
man5_pages += man/decima-output-file.5
endif

if !CROSS_COMPILING
nodist_man1_MANS = man/decima.1
nodist_man5_MANS = $(man5_pages)
bashcompletiondir = $(datadir)/bash-completion/completions
nodist_bashcompletion_DATA = completion/bash/decima
zshcompletiondir = $(datadir)/zsh/site-functions
nodist_zshcompletion_DATA = completion/zsh/_decima
fishcompletiondir = $(datadir)/fish/vendor_completions.d
nodist_fishcompletion_DATA = completion/fish/decima.fish
endif

man/decima.1: decima$(EXEEXT)
	$(AM_V_GEN)$(MKDIR_P) $(@D) && ./decima generate man >$@.tmp && mv $@.tmp $@
completion/bash/decima: decima$(EXEEXT)
	$(AM_V_GEN)$(MKDIR_P) $(@D) && ./decima generate bash >$@.tmp && mv $@.tmp $@
completion/zsh/_decima: decima$(EXEEXT)
	$(AM_V_GEN)$(MKDIR_P) $(@D) && ./decima generate zsh >$@.tmp && mv $@.tmp $@
completion/fish/decima.fish: decima$(EXEEXT)
	$(AM_V_GEN)$(MKDIR_P) $(@D) && ./decima generate fish >$@.tmp && mv $@.tmp $@

$(man5_pages): decima$(EXEEXT) $(pkglib_LTLIBRARIES)
	$(AM_V_GEN)$(MKDIR_P) $(@D) && plugins=`mktemp -d` && \
	page=$(@F) && plugin=$${page#decima-} && plugin=$${plugin%.5} && \
	kind=$${plugin%%-*} && name=$${plugin#*-} && \
	cp plugins/.libs/$${kind}_$$name.so $$plugins/ && \
	./decima describe --plugin-path $$plugins --format man $$kind/$$name >$@.tmp && mv $@.tmp $@; \
	status=$$?; rm -rf "$$plugins"; exit $$status

CLEANFILES += man/decima.1 $(man5_pages) completion/bash/decima completion/zsh/_decima completion/fish/decima.fish
