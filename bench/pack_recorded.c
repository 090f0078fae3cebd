/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench/pack_recorded.c - makes a recorded set of what a sampler gave, without the machine's names
 *
 *	pack_recorded SET.zst FILE.batch...	the files of a backup of the memory store; prints what
 *						is in the set (recorded.h)
 *
 * Profiles are put in order of time and moved so that the first starts at RECORDED_BASE_NS; the
 * short ones of a sampler that begins are left out.
 *
 * Renaming. Names of labels and types, of kernel functions and of notes stay. In every other text
 * each word, a run of letters and digits, becomes another one of the same length and the same kinds
 * of characters, or of hexadecimal digits where it was a long number of these: the same word always
 * the same, two different words never, so that all lengths, equalities and shared parts are left.
 * What stays: words of one character, numbers of two digits, and the words below, which stand for
 * every Debian machine. The words are drawn with a random number that is not kept: nobody can ask
 * whether a name that he knows is in the set.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "bench/figure.h"
#include "bench/recorded.h"
#include "core/base/fd.h"
#include "core/base/intern.h"
#include "core/base/str.h"
#include "core/base/vec.h"
#include "core/batch/batch.h"
#include "core/batch/builder.h"
#include "core/batch/copy.h"
#include "core/codec/wire.h"
#include "tests/unit/random.h"

/* -------------------------------------------------------------------------------------------------
 * Words
 */

/* Folders, programs, libraries, compilers and kernel threads that every Debian machine may have. */
static const char public_words[] =
	"usr bin sbin lib lib64 libexec local share etc opt var tmp home proc sys dev run srv root "
	"x86 64 aarch64 linux gnu so ld libc libm libstdc libgcc libpthread libdl libz libcrypto "
	"libssl libgmp libmpfr libmpc libisl libbfd libopcodes libzstd liblzma libpython libperl "
	"libLLVM libclang libxxhash libhiredis libselinux libpcre2 libtinfo libacl libattr libcap "
	"kernel vdso vsyscall anon heap stack ext4 decima true false "
	"system slice service scope user init systemd journald udevd dbus daemon cron sshd getty "
	"GCC Debian GNU clang LLVM rustc Go version python perl ruby nodejs java go runtime "
	"sh bash dash login su sudo env nice renice chrt taskset timeout sleep ps pgrep kill true "
	"cat cp mv rm ln ls mkdir rmdir touch chmod chown install mktemp stat find xargs test expr "
	"echo printf head tail cut tr sort uniq wc tee comm join cmp diff patch basename dirname "
	"grep egrep fgrep sed awk mawk gawk tar gzip bzip2 xz zstd md5sum sha256sum xxd od strings "
	"gcc g++ cpp cc cc1 cc1plus collect2 lto1 as ar nm ranlib objcopy objdump readelf strip "
	"make cmake ninja libtool automake autoconf autom4te aclocal m4 config status configure "
	"ccache python3 perl5 node npm java rustc cargo git curl wget ssh gdb strace perf qemu "
	"swapper kworker ksoftirqd migration rcu sched preempt kthreadd kswapd0 kcompactd0 jbd2 "
	"kauditd khugepaged ksmd writeback kblockd events unbound mm percpu wq flush";

struct renamer {
	struct intern words, made; /* what was met; and what it became: no two the same */
	VEC(uint32_t) becomes;	   /* [words.n] id in `made` */
	struct random random;
};

static void put_word(struct renamer *r, struct dcm_str word, struct dcm_str becomes)
{
	const uint32_t id = intern__add(&r->made, becomes);

	need(id != INTERN_NONE && intern__add(&r->words, word) == r->becomes.n &&
		     vec__push(&r->becomes, id),
	     "out of memory");
}

static void renamer__init(struct renamer *r)
{
	*r = (struct renamer){ 0 };
	need(intern__init(&r->words) == 0 && intern__init(&r->made) == 0 && vec__push(&r->becomes, 0),
	     "out of memory");
	need(getrandom(&r->random.state, sizeof(r->random.state), 0) == sizeof(r->random.state),
	     "no random number");
	for (const char *p = public_words; *p; p += *p == ' ') {
		const struct dcm_str word = { p, (uint32_t)strcspn(p, " ") };

		if (intern__find(&r->words, word) == INTERN_NONE)
			put_word(r, word, word);
		p += word.n;
	}
}

static void renamer__fini(struct renamer *r)
{
	intern__fini(&r->words);
	intern__fini(&r->made);
	vec__fini(&r->becomes);
}

enum { LONG_HEX = 16, DRAWS_MAX = 100000 };

/* Bytes of other scripts are parts of words, and become letters. */
static bool is_word_byte(unsigned char c)
{
	return c >= 0x80 || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static uint32_t count(struct dcm_str s, const char *of)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < s.n; i++)
		n += s.p[i] && strchr(of, s.p[i]);
	return n;
}

static void draw(struct renamer *r, struct dcm_str word, char *to)
{
	static const char lower[] = "abcdefghijklmnopqrstuvwxyz",
			  upper[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	static const char hex[] = "0123456789abcdef";
	const bool is_hex = word.n >= LONG_HEX && count(word, hex) == word.n;

	for (uint32_t i = 0; i < word.n; i++) {
		const char c = word.p[i];

		if (is_hex)
			to[i] = hex[random__below(&r->random, 16)];
		else if (c >= '0' && c <= '9')
			to[i] = hex[random__below(&r->random, 10)];
		else
			to[i] = (c >= 'A' && c <= 'Z' ? upper : lower)[random__below(&r->random, 26)];
	}
}

/* A word that nothing has become yet. */
static void put_renamed(struct renamer *r, struct dcm_str word)
{
	char *text = calloc(word.n, 1);
	const struct dcm_str becomes = { text, word.n };
	int n = 0;

	need(text, "out of memory");
	do
		draw(r, word, text);
	while (intern__find(&r->made, becomes) != INTERN_NONE && ++n < DRAWS_MAX);
	need(n < DRAWS_MAX, "there are too many words of one form");
	put_word(r, word, becomes);
	free(text);
}

static struct dcm_str renamed_word(struct renamer *r, struct dcm_str word)
{
	uint32_t id = intern__find(&r->words, word);

	if (id == INTERN_NONE) {
		id = r->words.n;
		if (word.n == 1 || (word.n == 2 && count(word, "0123456789") == 2))
			put_word(r, word, word);
		else
			put_renamed(r, word);
	}
	return intern__text(&r->made, r->becomes.v[id]);
}

/* The text with its words renamed, in the arena. */
static struct dcm_str renamed(struct renamer *r, struct dcm_str text, struct arena *arena)
{
	const struct dcm_str s = arena__str(arena, text);
	char *to = (char *)(uintptr_t)s.p;

	need(to, "out of memory");
	for (uint32_t i = 0, n; i < s.n; i += n ? n : 1) {
		for (n = 0; i + n < s.n && is_word_byte((unsigned char)s.p[i + n]); n++)
			;
		if (n)
			memcpy(to + i, renamed_word(r, (struct dcm_str){ text.p + i, n }).p, n);
	}
	return s;
}

/* -------------------------------------------------------------------------------------------------
 * Batches
 */

/* Strings that stay as they are: what names a label, a type, a kernel function, or is a note. */
static void mark_kept(const struct dcm_batch *b, bool *kept)
{
	kept[0] = true;
	for (uint32_t i = 0; i < b->n_pairs; i++)
		kept[b->pairs[i].name] = true;
	for (uint32_t i = 0; i < b->n_labels; i++) {
		kept[b->labels[i].name] = true;
		if (b->labels[i].unit != DCM_NONE)
			kept[b->labels[i].unit] = true;
	}
	for (uint32_t i = 0; i < b->n_types; i++) {
		const struct dcm_type *t = &b->types[i];

		kept[t->name] = kept[t->sample_type] = kept[t->sample_unit] = true;
		kept[t->period_type] = kept[t->period_unit] = true;
	}
	for (uint32_t i = 0; i < b->n_locations; i++) {
		const struct dcm_location *l = &b->locations[i];

		if (l->kind != DCM_FRAME_KERNEL && l->kind != DCM_FRAME_NOTE)
			continue;
		for (uint32_t k = 0; k < l->n_lines; k++) {
			const uint32_t f = b->lines[l->line_off + k].function;

			if (f != DCM_NONE)
				kept[b->functions[f].name] = kept[b->functions[f].system_name] = true;
		}
	}
}

/* The batch with other texts, and without profiles of less than min_ns. Drops the reference. */
static struct dcm_batch *rename_batch(struct renamer *r, struct dcm_batch *b, int64_t min_ns)
{
	struct arena *arena;
	struct dcm_batch *o = batch__overlay(b, &arena);
	bool *kept = calloc(b->n_strings, sizeof(*kept));
	struct dcm_str *strings = o ? arena__zalloc(arena, b->n_strings, sizeof(*strings)) : NULL;
	struct dcm_profile *profiles = o ? arena__zalloc(arena, b->n_profiles, sizeof(*profiles)) : NULL;

	need(kept && strings && profiles, "out of memory");
	mark_kept(b, kept);
	for (uint32_t i = 0; i < b->n_strings; i++)
		strings[i] = kept[i] ? b->strings[i] : renamed(r, b->strings[i], arena);
	o->n_profiles = 0;
	for (uint32_t i = 0; i < b->n_profiles; i++)
		if (b->profiles[i].duration_ns >= min_ns)
			profiles[o->n_profiles++] = b->profiles[i];
	o->strings = strings;
	o->profiles = profiles;
	batch__account(o);
	batch__unref(b);
	free(kept);
	return o;
}

static int by_time(const void *a, const void *b)
{
	const struct dcm_profile *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x->row_off < y->row_off ? -1 : x->row_off > y->row_off;
}

/* All of them as one, in order and moved. */
static struct dcm_batch *join(struct dcm_batch **batches, uint32_t n)
{
	struct dcm_builder *builder = builder__new((uint64_t)4 << 30);
	struct dcm_error err = DCM_ERROR_INIT;
	struct dcm_batch *all = NULL;
	struct arena *arena;

	need(builder && batch__merge(batches, n, builder, &all, &err) == 0, err.text);
	builder__free(builder);
	need(all->n_profiles > 0, "there are no profiles");
	struct dcm_batch *o = batch__overlay(all, &arena);
	struct dcm_profile *profiles = o ? arena__zalloc(arena, all->n_profiles, sizeof(*profiles))
					 : NULL;
	need(profiles, "out of memory");
	memcpy(profiles, all->profiles, all->n_profiles * sizeof(*profiles));
	qsort(profiles, all->n_profiles, sizeof(*profiles), by_time);
	const int64_t shift_ns = RECORDED_BASE_NS - profiles[0].time_ns;
	for (uint32_t i = 0; i < all->n_profiles; i++)
		profiles[i].time_ns += shift_ns;
	o->profiles = profiles;
	o->id = (struct dcm_batch_id){ 0 };
	batch__account(o);
	batch__unref(all);
	return o;
}

static struct dcm_batch *read_batch(const char *path)
{
	struct buf bytes = { 0 };
	struct dcm_batch *b = NULL;
	struct dcm_error err = DCM_ERROR_INIT;

	need(fd__read_path(AT_FDCWD, path, (size_t)1 << 30, &bytes) == 0, path);
	need(wire__decode(bytes.data, bytes.n, &b, &err) == 0, err.text);
	buf__fini(&bytes);
	return b;
}

int main(int argc, char **argv)
{
	const uint32_t n = argc > 2 ? (uint32_t)argc - 2 : 0;
	struct dcm_batch **batches = calloc(n ? n : 1, sizeof(struct dcm_batch *)), *set, *written;
	struct dcm_error err = DCM_ERROR_INIT;
	struct buf text = { 0 };
	struct renamer r;
	int64_t longest_ns = 0;

	if (!n) {
		fputs("usage: pack_recorded SET.zst FILE.batch...\n", stderr);
		return 2;
	}
	need(batches, "out of memory");
	renamer__init(&r);
	for (uint32_t i = 0; i < n; i++) {
		batches[i] = read_batch(argv[i + 2]);
		for (uint32_t k = 0; k < batches[i]->n_profiles; k++)
			if (batches[i]->profiles[k].duration_ns > longest_ns)
				longest_ns = batches[i]->profiles[k].duration_ns;
	}
	for (uint32_t i = 0; i < n; i++)
		batches[i] = rename_batch(&r, batches[i], longest_ns / 2);
	set = join(batches, n);
	need(recorded__write(argv[1], set, &err) == 0, err.text);
	/* What is described is what others will read. */
	need(recorded__read(argv[1], &written, &err) == 0, err.text);
	need(recorded__describe(written, &text) == 0, "out of memory");
	fputs((const char *)text.data, stdout);
	buf__fini(&text);
	batch__unref(written);
	batch__unref(set);
	for (uint32_t i = 0; i < n; i++)
		batch__unref(batches[i]);
	free(batches);
	renamer__fini(&r);
	return 0;
}
