dnl SPDX-License-Identifier: Apache-2.0
dnl m4/decima_libs.m4 - libraries, each missing one an error that names its Debian package

dnl DECIMA_LIB(VARIABLE, pkg-config condition, Debian package)
AC_DEFUN([DECIMA_LIB], [
	PKG_CHECK_MODULES([$1], [$2], [],
		[AC_MSG_ERROR([$2 is missing: install the package $3])])
])

dnl DECIMA_LIB_OPTIONAL(VARIABLE, pkg-config condition, Debian package, what is off without it)
dnl Sets the condition HAVE_VARIABLE, and decima_why_VARIABLE for the summary.
AC_DEFUN([DECIMA_LIB_OPTIONAL], [
	PKG_CHECK_MODULES([$1], [$2], [
		have_$1=yes
		decima_why_$1="on"
	], [
		have_$1=no
		decima_why_$1="off: $2 is missing (package $3)"
		AC_MSG_NOTICE([without $3: no $4])
	])
	AM_CONDITIONAL([HAVE_$1], [test "x$have_$1" = xyes])
	AS_IF([test "x$have_$1" = xyes], [AC_DEFINE([HAVE_$1], [1], [$2 is there])])
])

dnl On x86, libxxhash may choose xxh3's vectors by the processor (Debian's does).
AC_DEFUN([DECIMA_XXH3_DISPATCH], [
	decima_save_LIBS=$LIBS
	LIBS="$XXHASH_LIBS $LIBS"
	AC_CHECK_HEADER([xxh_x86dispatch.h],
		[AC_CHECK_FUNC([XXH3_128bits_dispatch],
			[AC_DEFINE([HAVE_XXH3_DISPATCH], [1], [xxh_x86dispatch.h and its functions are there])])])
	LIBS=$decima_save_LIBS
])

dnl DECIMA_CURL_OPENSSL - libcurl's other builds read the system's authorities for each connection; where curl-config does
dnl not say which one it is, it is taken as it is
AC_DEFUN([DECIMA_CURL_OPENSSL], [
	AC_CHECK_PROG([CURL_CONFIG], [curl-config], [curl-config])
	AS_IF([test -n "$CURL_CONFIG" && ! "$CURL_CONFIG" --ssl-backends | grep OpenSSL >/dev/null],
		[AC_MSG_ERROR([libcurl is built with another library than OpenSSL: install the package libcurl4-openssl-dev])])
])

dnl libiberty has no .pc file. Distributions differ in where its header lies.
AC_DEFUN([DECIMA_LIB_IBERTY], [
	AC_CHECK_HEADERS([libiberty/demangle.h demangle.h], [break])
	AC_CHECK_LIB([iberty], [cplus_demangle], [IBERTY_LIBS=-liberty],
		[AC_MSG_ERROR([libiberty is missing: install the package libiberty-dev])])
	AS_IF([test "x$ac_cv_header_libiberty_demangle_h$ac_cv_header_demangle_h" = xnono],
		[AC_MSG_ERROR([libiberty/demangle.h is missing: install the package libiberty-dev])])
	AC_SUBST([IBERTY_LIBS])
])
