dnl SPDX-License-Identifier: Apache-2.0
dnl m4/decima_c.m4 - the C dialect and its warnings

dnl DECIMA_APPEND_FLAG(VARIABLE, flag [, extra flags for the probe])
dnl Appends the compiler flag when the compiler takes it without a word.
AC_DEFUN([DECIMA_APPEND_FLAG], [
	AS_VAR_PUSHDEF([decima_cv], [decima_cv_cflag_$2])
	AC_CACHE_CHECK([whether $CC takes $2], [decima_cv], [
		decima_save_CFLAGS=$CFLAGS
		CFLAGS="$CFLAGS -Werror $3 $2"
		AC_COMPILE_IFELSE([AC_LANG_PROGRAM([], [])],
			[AS_VAR_SET([decima_cv], [yes])], [AS_VAR_SET([decima_cv], [no])])
		CFLAGS=$decima_save_CFLAGS
	])
	AS_VAR_IF([decima_cv], [yes], [AS_VAR_APPEND([$1], [" $2"])])
	AS_VAR_POPDEF([decima_cv])
])

dnl DECIMA_APPEND_LDFLAG(VARIABLE, flag): the same for the linker.
AC_DEFUN([DECIMA_APPEND_LDFLAG], [
	AS_VAR_PUSHDEF([decima_cv], [decima_cv_ldflag_$2])
	AC_CACHE_CHECK([whether the linker takes $2], [decima_cv], [
		decima_save_LDFLAGS=$LDFLAGS
		LDFLAGS="$LDFLAGS -Wl,--fatal-warnings $2"
		AC_LINK_IFELSE([AC_LANG_PROGRAM([], [])],
			[AS_VAR_SET([decima_cv], [yes])], [AS_VAR_SET([decima_cv], [no])])
		LDFLAGS=$decima_save_LDFLAGS
	])
	AS_VAR_IF([decima_cv], [yes], [AS_VAR_APPEND([$1], [" $2"])])
	AS_VAR_POPDEF([decima_cv])
])

AC_DEFUN([DECIMA_C_STANDARD], [
	STD_CFLAGS=
	DECIMA_APPEND_FLAG([STD_CFLAGS], [-std=gnu17])
	AS_IF([test -z "$STD_CFLAGS"],
		[AC_MSG_ERROR([$CC has no -std=gnu17: use gcc 8 or clang 6, or newer (packages gcc, clang)])])
	AC_SUBST([STD_CFLAGS])
	AC_MSG_CHECKING([which compiler $CC is])
	AC_COMPILE_IFELSE([AC_LANG_PROGRAM([], [[
		#ifndef __clang__
		#error not clang
		#endif
	]])], [decima_compiler=clang], [decima_compiler=gcc])
	AC_MSG_RESULT([$decima_compiler])
])

dnl WARN_CFLAGS for all our code, CONVERSION_CFLAGS for the folders that count bytes. --enable-werror is what CI uses.
AC_DEFUN([DECIMA_WARNINGS], [
	WARN_CFLAGS=
	CONVERSION_CFLAGS=
	m4_foreach_w([flag], [-Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wformat=2],
		[DECIMA_APPEND_FLAG([WARN_CFLAGS], flag)])
	DECIMA_APPEND_FLAG([CONVERSION_CFLAGS], [-Wconversion])
	AC_ARG_ENABLE([werror],
		[AS_HELP_STRING([--enable-werror], [treat warnings as errors])], [], [enable_werror=no])
	WERROR_CFLAGS=
	AS_IF([test "x$enable_werror" = xyes], [WERROR_CFLAGS=-Werror])
	WARN_CFLAGS="$WARN_CFLAGS $WERROR_CFLAGS"
	AC_SUBST([WERROR_CFLAGS])
	AC_SUBST([WARN_CFLAGS])
	AC_SUBST([CONVERSION_CFLAGS])
])

dnl A profiler that cannot be profiled would be a poor advertisement: our own code keeps its frame pointers.
dnl --as-needed: a plugin links what it uses and not what its helper library might.
AC_DEFUN([DECIMA_CODEGEN], [
	CODEGEN_CFLAGS=
	LINK_LDFLAGS=
	DECIMA_APPEND_FLAG([CODEGEN_CFLAGS], [-fno-omit-frame-pointer])
	DECIMA_APPEND_FLAG([CODEGEN_CFLAGS], [-mno-omit-leaf-frame-pointer])
	DECIMA_APPEND_LDFLAG([LINK_LDFLAGS], [-Wl,--as-needed])
	AC_SUBST([CODEGEN_CFLAGS])
	AC_SUBST([LINK_LDFLAGS])
])
