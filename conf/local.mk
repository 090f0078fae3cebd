# SPDX-License-Identifier: Apache-2.0
# conf/local.mk - the configurations, the service file, the completions
#
# The directories are known to make alone, so the service file is filled in here and not by configure. The
# configuration is installed once: what an administrator wrote there later stays.
EXTRA_DIST += conf/decima.service.in conf/decima.yaml

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

install-data-local:
	$(MKDIR_P) "$(DESTDIR)$(sysconfdir)/decima"
	test -e "$(DESTDIR)$(sysconfdir)/decima/decima.yaml" || \
		$(INSTALL_DATA) $(srcdir)/conf/decima.yaml "$(DESTDIR)$(sysconfdir)/decima/decima.yaml"
uninstall-local:
	if cmp -s $(srcdir)/conf/decima.yaml "$(DESTDIR)$(sysconfdir)/decima/decima.yaml"; then \
		rm -f "$(DESTDIR)$(sysconfdir)/decima/decima.yaml"; \
	fi
