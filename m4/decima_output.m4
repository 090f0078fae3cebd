dnl SPDX-License-Identifier: Apache-2.0
dnl m4/decima_output.m4 - the directories, the generated files, and the summary at the end

AC_DEFUN([DECIMA_DIRS], [
	AC_ARG_WITH([systemdsystemunitdir],
		[AS_HELP_STRING([--with-systemdsystemunitdir=DIR], [where the service file goes; "no" for nowhere])],
		[], [with_systemdsystemunitdir='${prefix}/lib/systemd/system'])
	AS_IF([test "x$with_systemdsystemunitdir" = xno], [with_systemdsystemunitdir=])
	AC_SUBST([systemdsystemunitdir], [$with_systemdsystemunitdir])
	AM_CONDITIONAL([SYSTEMD_UNIT], [test -n "$with_systemdsystemunitdir"])
])

AC_DEFUN([DECIMA_CONFIG_FILES], [
	AC_CONFIG_FILES([Makefile decima.pc tests/unit/paths.h])
])

AC_DEFUN([DECIMA_SUMMARY], [
	AC_MSG_NOTICE([

  decima $PACKAGE_VERSION
    compiler:   $CC ($decima_compiler) $CFLAGS
    prefix:     $prefix
    hardening:  $enable_hardening; FORTIFY: $decima_fortify; CET: $decima_cet
    sanitizers: $enable_sanitizers; fuzzing: $enable_fuzzing; warnings are errors: $enable_werror
    unit tests: $decima_why_CMOCKA; SQL oracle: $decima_why_SQLITE
  plugins:$decima_plugins
])
])
