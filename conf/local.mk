# SPDX-License-Identifier: Apache-2.0
# conf/local.mk - the configurations, the service file, the completions
#
# The directories are known to make alone, so the service file is filled in here and not by configure. The
# configuration is installed once: what an administrator wrote there later stays.
EXTRA_DIST += conf/decima.service.in conf/decima-server.service.in conf/decima.yaml conf/leave_out.awk

# What an administrator may copy, if he wants that for the whole machine.
examplesdir = $(docdir)/examples
dist_examples_DATA = conf/decima-sysctl.conf conf/agent.yaml conf/scraper.yaml conf/server.yaml
dist_examples_SCRIPTS = tools/certificates

# They ask `decima complete`, so they are the same for every version and set of plugins.
bashcompletiondir = $(datadir)/bash-completion/completions
dist_bashcompletion_DATA = conf/completion/decima
zshcompletiondir = $(datadir)/zsh/site-functions
dist_zshcompletion_DATA = conf/completion/_decima
fishcompletiondir = $(datadir)/fish/vendor_completions.d
dist_fishcompletion_DATA = conf/completion/decima.fish

fill_in_unit = $(SED) -e 's|@bindir[@]|$(bindir)|g; s|@sysconfdir[@]|$(sysconfdir)|g; s|@docdir[@]|$(docdir)|g'
conf/decima.service: $(srcdir)/conf/decima.service.in Makefile
	$(AM_V_GEN)$(MKDIR_P) $(@D) && $(fill_in_unit) $(srcdir)/conf/decima.service.in > $@.tmp && mv $@.tmp $@
conf/decima-server.service: $(srcdir)/conf/decima-server.service.in Makefile
	$(AM_V_GEN)$(MKDIR_P) $(@D) && $(fill_in_unit) $(srcdir)/conf/decima-server.service.in > $@.tmp && mv $@.tmp $@
# The agent has the rights of the whole, and so the same file; it is either or, since two samplers cost twice.
conf/decima-agent.service: conf/decima.service
	$(AM_V_GEN)$(SED) -e 's|^# conf/.*|# conf/decima-agent.service - decima.service for an agent, with $(sysconfdir)/decima/agent.yaml (an example is in $(docdir)/examples)|' \
		-e 's|^Description=.*|Description=Decima, agent of a server of profiles|' \
		-e 's|^After=.*|&\nConflicts=decima.service\nAssertPathExists=$(sysconfdir)/decima/agent.yaml|' \
		-e 's|/decima\.yaml|/agent.yaml|; s|^\(StateDirectory\)=decima$$|\1=decima-agent|; s|^\(RuntimeDirectory\)=decima$$|\1=decima-agent|; s|/var/lib/decima|&-agent|' \
		conf/decima.service > $@.tmp && mv $@.tmp $@
units = conf/decima.service conf/decima-agent.service conf/decima-server.service
CLEANFILES += $(units)
if SYSTEMD_UNIT
systemdsystemunit_DATA = $(units)
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
