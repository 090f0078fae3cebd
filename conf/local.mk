# SPDX-License-Identifier: Apache-2.0
# conf/local.mk - the configurations, the service file, the completions
#
# The directories are known to make alone, so the service file is filled in here and not by configure. The
# configuration is installed once: what an administrator wrote there later stays.
EXTRA_DIST += conf/decima.service.in conf/decima.yaml conf/scraper.yaml conf/agent.yaml conf/server.yaml conf/leave_out.awk

# What an administrator may copy, if he wants that for the whole machine.
examplesdir = $(docdir)/examples
dist_examples_DATA = conf/decima-sysctl.conf

# They ask `decima complete`, so they are the same for every version and set of plugins.
bashcompletiondir = $(datadir)/bash-completion/completions
dist_bashcompletion_DATA = conf/completion/decima
zshcompletiondir = $(datadir)/zsh/site-functions
dist_zshcompletion_DATA = conf/completion/_decima
fishcompletiondir = $(datadir)/fish/vendor_completions.d
dist_fishcompletion_DATA = conf/completion/decima.fish

conf/decima.service: $(srcdir)/conf/decima.service.in Makefile
	$(AM_V_GEN)$(MKDIR_P) $(@D) && \
	$(SED) -e 's|@bindir[@]|$(bindir)|; s|@sysconfdir[@]|$(sysconfdir)|; s|@docdir[@]|$(docdir)|' $(srcdir)/conf/decima.service.in > $@.tmp && \
	mv $@.tmp $@
CLEANFILES += conf/decima.service
if SYSTEMD_UNIT
systemdsystemunit_DATA = conf/decima.service
endif

# What is installed names no plugin that was left out of the build.
plugins_left_out =
if !PLUGIN_INPUT_EBPF
if PLUGIN_INPUT_PPROF_SCRAPE
plugins_left_out += ebpf=pprof_scrape
else
plugins_left_out += ebpf
endif
endif
if !PLUGIN_INPUT_PERF_MAP
plugins_left_out += perf_map
endif
if !PLUGIN_STORAGE_LOCAL
plugins_left_out += local=memory
endif
conf/installed.yaml: $(srcdir)/conf/decima.yaml $(srcdir)/conf/leave_out.awk Makefile
	$(AM_V_GEN)$(MKDIR_P) $(@D) && \
	$(AWK) -v left_out=' $(plugins_left_out) ' -f $(srcdir)/conf/leave_out.awk $(srcdir)/conf/decima.yaml >$@.tmp && \
	mv $@.tmp $@
noinst_DATA = conf/installed.yaml
CLEANFILES += conf/installed.yaml

install-data-local: conf/installed.yaml
	$(MKDIR_P) "$(DESTDIR)$(sysconfdir)/decima"
	test -e "$(DESTDIR)$(sysconfdir)/decima/decima.yaml" || \
		$(INSTALL_DATA) conf/installed.yaml "$(DESTDIR)$(sysconfdir)/decima/decima.yaml"
uninstall-local:
	if cmp -s conf/installed.yaml "$(DESTDIR)$(sysconfdir)/decima/decima.yaml"; then \
		rm -f "$(DESTDIR)$(sysconfdir)/decima/decima.yaml"; \
	fi
