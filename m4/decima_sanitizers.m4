dnl SPDX-License-Identifier: Apache-2.0
dnl m4/decima_sanitizers.m4 - --enable-sanitizers and --enable-fuzzing

dnl --enable-sanitizers=address|thread: address brings undefined with it; what they find ends the program.
AC_DEFUN([DECIMA_SANITIZERS], [
	AC_ARG_ENABLE([sanitizers],
		[AS_HELP_STRING([--enable-sanitizers=address|thread],
			[build for AddressSanitizer with UndefinedBehaviorSanitizer, or for ThreadSanitizer])],
		[], [enable_sanitizers=no])
	SAN_CFLAGS=
	AS_CASE([$enable_sanitizers],
		[no], [],
		[address], [SAN_CFLAGS="-fsanitize=address,undefined"],
		[thread], [SAN_CFLAGS="-fsanitize=thread"],
		[AC_MSG_ERROR([--enable-sanitizers=$enable_sanitizers: say address or thread])])
	AS_IF([test -n "$SAN_CFLAGS"], [
		SAN_CFLAGS="$SAN_CFLAGS -fno-sanitize-recover=all"
		AC_MSG_CHECKING([whether $CC links with $SAN_CFLAGS])
		decima_save_CFLAGS=$CFLAGS
		CFLAGS="$CFLAGS $SAN_CFLAGS"
		AC_LINK_IFELSE([AC_LANG_PROGRAM([], [])], [AC_MSG_RESULT([yes])], [
			AC_MSG_RESULT([no])
			AC_MSG_ERROR([the sanitizers' runtime is missing: for clang install libclang-rt-14-dev (of clang's version), for gcc it comes with gcc])
		])
		CFLAGS=$decima_save_CFLAGS
	])
	AC_SUBST([SAN_CFLAGS])
	AM_CONDITIONAL([SANITIZERS], [test "x$enable_sanitizers" != xno])
])

dnl --enable-fuzzing: the targets in fuzz/ become libFuzzer programs. Without it they replay their corpus.
AC_DEFUN([DECIMA_FUZZING], [
	AC_ARG_ENABLE([fuzzing],
		[AS_HELP_STRING([--enable-fuzzing], [build fuzz/ as libFuzzer programs (clang only)])],
		[], [enable_fuzzing=no])
	FUZZ_LDFLAGS=
	AS_IF([test "x$enable_fuzzing" = xyes], [
		AS_IF([test "x$decima_compiler" != xclang],
			[AC_MSG_ERROR([--enable-fuzzing needs libFuzzer, which gcc does not have: configure with CC=clang (packages clang and libclang-rt-14-dev)])])
		FUZZ_LDFLAGS="-fsanitize=fuzzer"
		SAN_CFLAGS="$SAN_CFLAGS -fsanitize=fuzzer-no-link"
		AC_MSG_CHECKING([whether $CC links with $FUZZ_LDFLAGS])
		decima_save_CFLAGS=$CFLAGS
		CFLAGS="$CFLAGS $SAN_CFLAGS $FUZZ_LDFLAGS"
		AC_LINK_IFELSE([AC_LANG_SOURCE([[
			#include <stddef.h>
			#include <stdint.h>
			int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
			int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
			{
				return data && size > 100000;
			}
		]])], [AC_MSG_RESULT([yes])], [
			AC_MSG_RESULT([no])
			AC_MSG_ERROR([libFuzzer is missing: install libclang-rt-14-dev (of clang's version)])
		])
		CFLAGS=$decima_save_CFLAGS
	])
	AC_SUBST([FUZZ_LDFLAGS])
	AM_CONDITIONAL([FUZZING], [test "x$enable_fuzzing" = xyes])
])
