dnl SPDX-License-Identifier: Apache-2.0
dnl m4/decima_plugins.m4 - which plugins are built, and what the eBPF one needs

dnl DECIMA_PLUGIN(kind, name): --disable-KIND-NAME, the condition PLUGIN_KIND_NAME, HAVE_KIND_NAME, a line in the summary.
dnl The option spells an underscore as a dash, as options do.
AC_DEFUN([DECIMA_PLUGIN], [
	AC_ARG_ENABLE([$1-]m4_translit([$2], [_], [-]),
		[AS_HELP_STRING([--disable-$1-]m4_translit([$2], [_], [-]), [leave out plugins/$1/$2])],
		[], [enable_$1_$2=yes])
	AM_CONDITIONAL([PLUGIN_]m4_toupper([$1_$2]), [test "x$enable_$1_$2" = xyes])
	AS_IF([test "x$enable_$1_$2" = xyes],
		[AC_DEFINE([HAVE_]m4_toupper([$1_$2]), [1], [$1/$2 is built])])
	AS_IF([test "x$enable_$1_$2" = xyes],
		[decima_plugins="$decima_plugins
    $1/$2: on"],
		[decima_plugins="$decima_plugins
    $1/$2: off (--disable-$1-]m4_translit([$2], [_], [-])[)"])
])

dnl DECIMA_TOOL(VARIABLE, program names, Debian package, what for): an absolute path from the environment wins.
AC_DEFUN([DECIMA_TOOL], [
	AC_PATH_PROGS([$1], [$2], [], [$PATH:/usr/sbin:/sbin])
	AS_IF([test -z "$$1"], [AC_MSG_ERROR([$4 needs one of: $2. Install the package $3, or configure with --disable-ebpf, which leaves out the sampler])])
])

dnl The eBPF sampler is on by default. Its programs are compiled by clang for the bpf target, and bpftool turns them
dnl into a C header; both happen at build time, whatever CC is.
AC_DEFUN([DECIMA_EBPF], [
	AC_ARG_ENABLE([ebpf],
		[AS_HELP_STRING([--disable-ebpf],
			[leave out the eBPF sampler; clang, bpftool and libbpf are not needed then])],
		[], [enable_ebpf=yes])
	AC_ARG_VAR([BPF_CLANG], [clang that has the bpf target (absolute path)])
	AC_ARG_VAR([BPFTOOL], [bpftool (absolute path)])
	AS_IF([test "x$enable_ebpf" = xyes], [
		DECIMA_TOOL([BPF_CLANG], [clang clang-19 clang-18 clang-17 clang-16 clang-15 clang-14],
			[clang], [the eBPF sampler])
		DECIMA_TOOL([BPFTOOL], [bpftool], [bpftool], [the eBPF sampler])
		PKG_CHECK_MODULES([BPF], [libbpf >= 1.0], [],
			[AC_MSG_ERROR([libbpf >= 1.0 is missing: install the package libbpf-dev, or configure with --disable-ebpf, which leaves out the sampler])])
		DECIMA_BPF_TARGET
		decima_plugins="$decima_plugins
    input/ebpf: on"
	], [decima_plugins="$decima_plugins
    input/ebpf: off (--disable-ebpf)"])
	AM_CONDITIONAL([PLUGIN_INPUT_EBPF], [test "x$enable_ebpf" = xyes])
	AS_IF([test "x$enable_ebpf" = xyes], [AC_DEFINE([HAVE_INPUT_EBPF], [1], [input/ebpf is built])])
])

dnl BPF_CPPFLAGS: kernel headers live in a per-architecture folder that clang does not search for a foreign target.
AC_DEFUN([DECIMA_BPF_TARGET], [
	AS_CASE([$host_cpu],
		[x86_64], [decima_bpf_arch=x86],
		[aarch64], [decima_bpf_arch=arm64],
		[AC_MSG_ERROR([the eBPF sampler knows x86_64 and aarch64, not $host_cpu: configure with --disable-ebpf])])
	decima_multiarch=`$CC -print-multiarch 2>/dev/null`
	AS_IF([test -z "$decima_multiarch"], [decima_multiarch=$host_cpu-linux-gnu])
	BPF_CPPFLAGS="-D__TARGET_ARCH_$decima_bpf_arch"
	AS_IF([test -d "/usr/include/$decima_multiarch"],
		[BPF_CPPFLAGS="$BPF_CPPFLAGS -idirafter /usr/include/$decima_multiarch"])
	AC_SUBST([BPF_CPPFLAGS])
	AC_MSG_CHECKING([whether $BPF_CLANG compiles for bpf with libbpf's headers])
	AC_LANG_CONFTEST([AC_LANG_SOURCE([[
		#include <linux/bpf.h>
		#include <bpf/bpf_helpers.h>
		char LICENSE[] SEC("license") = "Dual BSD/GPL";
	]])])
	AS_IF([$BPF_CLANG -target bpf -O2 -g $BPF_CPPFLAGS $BPF_CFLAGS -c conftest.c -o conftest.bpf.o >&AS_MESSAGE_LOG_FD 2>&1],
		[AC_MSG_RESULT([yes])], [
		AC_MSG_RESULT([no])
		AC_MSG_ERROR([$BPF_CLANG cannot compile for bpf (see config.log): install clang, libbpf-dev and linux-libc-dev, or configure with --disable-ebpf])
	])
	AC_MSG_CHECKING([whether $BPFTOOL makes skeletons])
	AS_IF([$BPFTOOL gen help >&AS_MESSAGE_LOG_FD 2>&1], [AC_MSG_RESULT([yes])], [
		AC_MSG_RESULT([no])
		AC_MSG_ERROR([$BPFTOOL does not run (see config.log): install the package bpftool, or configure with --disable-ebpf])
	])
	rm -f conftest.bpf.o
])
