dnl SPDX-License-Identifier: Apache-2.0
dnl m4/decima_hardening.m4 - the flags that make a bug harder to exploit, each probed
dnl
dnl HARDEN_CFLAGS, HARDEN_CPPFLAGS, HARDEN_LDFLAGS for everything; LDFLAGS_EXE for programs; LDFLAGS_MODULE for
dnl plugins. --disable-hardening switches all of them off but the position independence.

AC_DEFUN([DECIMA_HARDENING], [
	AC_ARG_ENABLE([hardening],
		[AS_HELP_STRING([--disable-hardening], [build without RELRO, stack protector, FORTIFY, CET])],
		[], [enable_hardening=yes])
	HARDEN_CFLAGS=
	HARDEN_CPPFLAGS=
	HARDEN_LDFLAGS=
	LDFLAGS_EXE=
	LDFLAGS_MODULE=
	DECIMA_APPEND_FLAG([HARDEN_CFLAGS], [-fPIE])
	DECIMA_APPEND_LDFLAG([LDFLAGS_EXE], [-pie])
	decima_fortify=off
	decima_cet=off
	AS_IF([test "x$enable_hardening" = xyes], [
		DECIMA_APPEND_FLAG([HARDEN_CFLAGS], [-fstack-protector-strong])
		DECIMA_APPEND_FLAG([HARDEN_CFLAGS], [-fstack-clash-protection])
		DECIMA_APPEND_LDFLAG([HARDEN_LDFLAGS], [-Wl,-z,relro,-z,now])
		DECIMA_APPEND_LDFLAG([HARDEN_LDFLAGS], [-Wl,-z,noexecstack])
		DECIMA_FORTIFY
		DECIMA_CET
	])
	dnl A plugin must find every symbol in what it links: clang's sanitizers leave theirs to the program.
	AS_IF([test "x$enable_sanitizers$enable_fuzzing" = xnono],
		[DECIMA_APPEND_LDFLAG([LDFLAGS_MODULE], [-Wl,-z,defs])])
	AC_SUBST([HARDEN_CFLAGS])
	AC_SUBST([HARDEN_CPPFLAGS])
	AC_SUBST([HARDEN_LDFLAGS])
	AC_SUBST([LDFLAGS_EXE])
	AC_SUBST([LDFLAGS_MODULE])
])

dnl _FORTIFY_SOURCE works only when the compiler optimises, and blinds the sanitizers. A packager's own setting wins.
AC_DEFUN([DECIMA_FORTIFY], [
	decima_fortify_level=
	AC_COMPILE_IFELSE([AC_LANG_PROGRAM([], [[
		#if !defined(__OPTIMIZE__) || defined(_FORTIFY_SOURCE)
		#error no need
		#endif
	]])], [decima_fortify_level=probe], [decima_fortify="off (no optimisation, or set by the flags given)"])
	AS_IF([test "x$enable_sanitizers" != xno], [
		decima_fortify_level=
		decima_fortify="off (sanitizers)"
	])
	AS_IF([test -n "$decima_fortify_level"], [
		decima_fortify_level=2
		AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[
			#define _FORTIFY_SOURCE 3
			#include <features.h>
			#if __USE_FORTIFY_LEVEL < 3
			#error this C library or compiler stops at 2
			#endif
		]], [])], [decima_fortify_level=3])
		HARDEN_CPPFLAGS="-D_FORTIFY_SOURCE=$decima_fortify_level"
		decima_fortify="level $decima_fortify_level"
	])
])

dnl Intel's control-flow enforcement. The distribution's crt files may carry no note, so the linker is told.
AC_DEFUN([DECIMA_CET], [
	decima_cet_cflags=
	decima_cet_ldflags=
	AS_CASE([$host_cpu], [x86_64|i?86], [
		DECIMA_APPEND_FLAG([decima_cet_cflags], [-fcf-protection])
		DECIMA_APPEND_LDFLAG([decima_cet_ldflags], [-Wl,-z,ibt,-z,shstk])
	])
	AS_IF([test -n "$decima_cet_cflags" && test -n "$decima_cet_ldflags"], [
		HARDEN_CFLAGS="$HARDEN_CFLAGS$decima_cet_cflags"
		HARDEN_LDFLAGS="$HARDEN_LDFLAGS$decima_cet_ldflags"
		decima_cet=on
	], [decima_cet="off ($host_cpu, or its toolchain, has none)"])
])
