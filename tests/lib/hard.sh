# SPDX-License-Identifier: Apache-2.0
# tests/lib/hard.sh - programs/hard.c: the ways it is built, and the chain that each case of it is in nearly all of the time.
# Sourced after tests/lib/chains.sh, with $dir there and roots run

hard_flags="-fomit-frame-pointer -Wl,-z,lazy"

# hard_built BUILD [FLAG..]: $dir/hard_BUILD. 1 where it cannot be made here, which has been said.
hard_built() {
	build=$1
	shift
	set -- "hard_$build" hard.c $hard_flags "$@"
	case $build in
	stripped) compile "$@" -s -Wl,--build-id=none ;;
	static) has_static_libc static && compile "$@" -static ;;
	pie) has_static_libc pie && compile "$@" -static-pie ;;
	clang) has clang clang && CC=clang compile "$@" ;;
	musl) has musl-gcc musl && CC=musl-gcc compile "$@" -static -DNO_UCONTEXT ;;
	lto) compile "$@" -flto=1 ;;
	o0) compile "$@" -O0 ;;
	*) compile "$@" ;;
	esac
}

# hard_chains BUILD CASE: as tests/lib/chain.awk takes them
hard_chains() {
	hard_root=$root
	at='hard_stripped[+]0x[0-9a-f]+'
	# What calls main in musl is where the program begins: nothing above it has unwind rows.
	[ "$1" = musl ] && hard_root='?_start *(_start_c|libc_start.*|__libc_start.*) main'
	case $1.$2 in
	stripped.alloca) printf %s "$(unnamed hard_stripped) $at $at" ;;
	musl.thread) printf %s "?(start|libc.*) thread_main spin|$hard_root threads" ;;
	musl.thread_vdso) printf %s "?(start|libc.*) asking_thread|$hard_root" ;;
	*.qsort) printf %s "$hard_root sorted *(_*qsort.*|_*msort.*|libc.*) compare spin" ;;
	*.alloca) printf %s "$hard_root scattered spin" ;;
	*.realigned) printf %s "$hard_root ?aligned_case aligned spin" ;;
	*.realigned_alloca) printf %s "$hard_root ?aligned_and_scattered_case aligned_and_scattered spin" ;;
	*.large) printf %s "$hard_root large spin" ;;
	*.recursion) printf %s "$hard_root ?ping_case $(repeat 150 "ping pong ")ping spin" ;;
	*.longjmp) printf %s "$hard_root jumper (thrower|after_jump) spin" ;;
	*.signal) printf %s "$hard_root interrupted (__restore_rt|libc.*) on_signal spin" ;;
	*.coroutine) printf %s "(__start_context|libc.*) coroutine spin|$hard_root resumed" ;;
	*.tail_call) printf %s "$hard_root tail_caller spin|$hard_root tail_caller tail_called" ;;
	*.noreturn) printf %s "$hard_root never_back finish spin" ;;
	*.split) printf %s "$hard_root ?split_case split(.cold)? rare spin" ;;
	lto.pushes) printf %s "$hard_root ?pushes eats spin" ;;
	*.pushes) printf %s "$hard_root pushes eats spin" ;;
	*.thread) printf %s "$thread spin|$hard_root threads" ;;
	*.lazy) printf %s "$hard_root lazy *(_dl_.*|do_lookup_x|check_match|ld-.*|rand.*|\\[plt\\].*|libc.*)" ;;
	*.vdso) printf %s "$hard_root asks *(now|_*clock_gettime.*|__vdso.*|\\[vdso\\].*)" ;;
	esac
}
