/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_symbols.c - the symbol store: offers, learning, overlays, reasons, eviction, the
 * kernel
 *
 * The oracle for names is the dynamic linker (dladdr), for the overlay the batch itself.
 */
#include "tests/unit/unit.h"

#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <fcntl.h>
#include <link.h>
#include <limits.h>
#include <pthread.h>
#include <search.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/fd.h"
#include "core/base/str.h"
#include "core/batch/batch.h"
#include "core/batch/builder.h"
#include "core/symbolize/elf.h"
#include "core/symbolize/symbols.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/folder.h"
#include "tests/unit/native_batch.h"
#include "tests/unit/paths.h"
#include "tests/unit/shell.h"

static const int64_t SECOND = 1000000000;
DEFINE_FOLDER(dir, "symbols", 0700);

/* --- batches to ask about --- */

struct place {
	const char *build_id;
	uint64_t address;
	uint8_t addr_kind;
	uint8_t unnamed;
	uint64_t start, limit, offset; /* of the mapping */
	const char *file;
};

#define AT(id, where, of_kind)                                                                     \
	{                                                                                          \
		.build_id = (id), .address = (where), .addr_kind = (of_kind)                       \
	}

/* One location for each place, all in one stack. */
static struct dcm_batch *batch_of(const struct place *places, uint32_t n)
{
	CLEANUP(builder__freep) struct dcm_builder *b = builder__new(0);
	uint32_t locations[4096];

	assert_non_null(b);
	assert_true(n <= 4096);
	for (uint32_t i = 0; i < n; i++) {
		const struct place *p = &places[i];
		struct dcm_mapping m = { p->start,
					 p->limit,
					 p->offset,
					 builder__string(b, str__of(p->file ? p->file : "/x/libx.so")),
					 builder__string(b, str__of(p->build_id)),
					 DCM_MAPPING_FILE };
		struct dcm_process process = { .pid = 1 };
		struct dcm_location l = { .mapping = builder__mapping(b, &m),
					  .process = p->addr_kind == DCM_ADDR_RUNTIME
							     ? builder__process(b, &process)
							     : DCM_NONE,
					  .address = p->address,
					  .addr_kind = p->addr_kind,
					  .kind = DCM_FRAME_NATIVE,
					  .unnamed = p->unnamed };
		locations[i] = builder__location(b, &l, NULL, 0);
	}
	return native_batch__seal(b, locations, n);
}

static struct dcm_batch *resolve(struct symbols *s, struct dcm_batch *b, int64_t wait_ns)
{
	struct dcm_error err = DCM_ERROR_INIT;
	struct dcm_batch *named = NULL;

	if (symbols__resolve(s, b, wait_ns, &named, &err))
		fail_msg("%s", err.text);
	return named;
}

/* The name of the i-th frame, or "" and the reason. */
static const char *name_at(const struct dcm_batch *b, uint32_t i, uint8_t *ret_why)
{
	static char out[512];
	const struct dcm_location *l = &b->locations[b->stack_locations[b->stacks[0].off + i]];

	*ret_why = l->unnamed;
	out[0] = '\0';
	if (l->n_lines)
		snprintf(out, sizeof(out), "%.*s",
			 STR_ARG(b->strings[b->functions[b->lines[l->line_off].function].name]));
	return out;
}

static void assert_name(const struct dcm_batch *b, uint32_t i, const char *want)
{
	uint8_t why;

	assert_string_equal(name_at(b, i, &why), want);
}

static void assert_why(const struct dcm_batch *b, uint32_t i, enum dcm_unnamed want)
{
	uint8_t why;

	assert_string_equal(name_at(b, i, &why), "");
	assert_int_equal(why, want);
}

static struct symbols *store(const struct symbols_config *config)
{
	struct dcm_error err = DCM_ERROR_INIT;
	struct symbols *s = NULL;

	if (symbols__new(config, &s, &err))
		fail_msg("%s", err.text);
	return s;
}

static void offer(struct symbols *s, const char *id, const char *path)
{
	CLEANUP(fd__closep) int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	symbols__offer(s, str__of(id), str__of(path), fd);
}

/* --- addresses of this process, as the dynamic linker knows them --- */

struct known {
	char path[PATH_MAX];
	uint64_t vaddr, offset;
};

static int find_object(struct dl_phdr_info *info, size_t size, void *ctx)
{
	uint64_t *address = ctx; /* [0]: asked for, and then its vaddr; [1]: file offset */

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type == PT_LOAD && address[0] >= info->dlpi_addr + p->p_vaddr &&
		    address[0] < info->dlpi_addr + p->p_vaddr + p->p_memsz) {
			address[0] -= info->dlpi_addr;
			address[1] = address[0] - p->p_vaddr + p->p_offset;
			return 1;
		}
	}
	return 0;
}

static struct known where(const void *code)
{
	uint64_t address[2] = { (uint64_t)(uintptr_t)code, 0 };
	struct known k = { 0 };
	Dl_info info;

	assert_int_not_equal(dladdr(code, &info), 0);
	assert_non_null(realpath(info.dli_fname, k.path));
	assert_int_equal(dl_iterate_phdr(find_object, address), 1);
	k.vaddr = address[0];
	k.offset = address[1];
	return k;
}

static void test_names_come_by_any_kind_of_address(void **state)
{
	CLEANUP(symbols__freep) struct symbols *s = store(NULL);
	struct known k = where((void *)lfind);
	struct place places[] = {
		AT("aa", k.vaddr, DCM_ADDR_VADDR),
		AT("aa", k.offset + 1, DCM_ADDR_FILE_OFFSET),
		{ "aa", 0x7f0000000000 + k.offset, DCM_ADDR_RUNTIME, 0, 0x7f0000000000,
		  0x7fffffff0000, 0, NULL },
		AT("aa", 0x10, DCM_ADDR_VADDR),
		{ "aa", 0x6f0000000000, DCM_ADDR_RUNTIME, 0, 0x7f0000000000, 0x7fffffff0000, 0, NULL },
	};
	CLEANUP(batch__unrefp) struct dcm_batch *b = batch_of(places, 5), *named = NULL;
	struct symbols_stat stat;

	(void)state;
	offer(s, "aa", k.path);
	named = resolve(s, b, 10 * SECOND);
	assert_name(named, 0, "lfind");
	assert_name(named, 1, "lfind");
	assert_name(named, 2, "lfind");
	assert_why(named, 3, DCM_UNNAMED_STRIPPED);
	assert_why(named, 4, DCM_UNNAMED_NOT_TRIED);
	/* One function for all three, and what was sealed has not changed. */
	assert_int_equal(named->n_functions, b->n_functions + 1);
	assert_int_equal(b->locations[0].n_lines, 0);
	assert_true(named->location_hashes == b->location_hashes);
	symbols__stat(s, &stat);
	assert_int_equal(stat.files_read, 1);
	assert_int_equal(stat.hits, 3);
	assert_int_equal(stat.lookups, stat.hits + stat.misses);
}

static void test_cxx_names_are_demangled(void **state)
{
	char path[256];

	(void)state;
	snprintf(path, sizeof(path), "%s/names.so", dir);
	if (!shell_has("c++"))
		skip_because("a C++ compiler is needed");
	assert_int_equal(shell("c++ -O1 -shared -fPIC -o %s %s/tests/programs/sym_names.cc", path,
			       TEST_SRCDIR),
			 0);
	void *lib = dlopen(path, RTLD_NOW);
	assert_non_null(lib);
	struct known k = where(dlsym(lib, "_ZNK3sym3boxIlE5twiceEv"));
	struct place places[] = { AT("bb", k.vaddr, DCM_ADDR_VADDR) };
	CLEANUP(symbols__freep) struct symbols *s = store(NULL);
	CLEANUP(batch__unrefp) struct dcm_batch *b = batch_of(places, 1), *named = NULL;

	offer(s, "bb", path);
	named = resolve(s, b, 10 * SECOND);
	assert_name(named, 0, "sym::box<long>::twice");
	const struct dcm_function *f = &named->functions[named->lines[named->locations[0].line_off].function];
	assert_true(str__eq(named->strings[f->system_name], STR("_ZNK3sym3boxIlE5twiceEv")));
	dlclose(lib);
}

static void copy_file(const char *from, const char *to)
{
	struct buf data = { 0 };
	CLEANUP(fd__closep) int fd = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);

	assert_true(fd >= 0);
	assert_int_equal(fd__read_path(AT_FDCWD, from, 256 << 20, &data), 0);
	assert_int_equal(fd__write_all(fd, data.data, data.n), 0);
	buf__fini(&data);
}

static void test_a_file_that_is_gone_after_the_offer_is_still_read(void **state)
{
	CLEANUP(symbols__freep) struct symbols *s = store(NULL);
	struct known k = where((void *)lfind);
	struct place places[] = { AT("aa", k.vaddr, DCM_ADDR_VADDR) };
	CLEANUP(batch__unrefp) struct dcm_batch *b = batch_of(places, 1), *named = NULL;
	char path[256];

	(void)state;
	snprintf(path, sizeof(path), "%s/gone.so", dir);
	copy_file(k.path, path);
	for (unsigned i = 0; i < 20; i++) {
		char id[8];

		snprintf(id, sizeof(id), "%02x", i);
		offer(s, id, path);
	}
	offer(s, "aa", path);
	unlink(path);
	named = resolve(s, b, 10 * SECOND);
	assert_name(named, 0, "lfind");
}

static void test_files_are_not_read_when_names_are_made_elsewhere(void **state)
{
	CLEANUP(symbols__freep)
	struct symbols *s = store(&(struct symbols_config){ .no_files = true });
	struct known k = where((void *)lfind);
	struct place place = AT("aa", k.vaddr, DCM_ADDR_VADDR);
	CLEANUP(batch__unrefp) struct dcm_batch *b = batch_of(&place, 1), *named = NULL;
	struct symbols_stat stat;

	(void)state;
	offer(s, "aa", k.path);
	named = resolve(s, b, 10 * SECOND);
	assert_why(named, 0, DCM_UNNAMED_NOT_HERE);
	symbols__stat(s, &stat);
	assert_int_equal(stat.files_read + stat.n_files + stat.n_queued, 0);
}

static void test_more_offers_than_descriptors_are_read_at_once(void **state)
{
	struct symbols_config config = { .max_files = 1 };
	CLEANUP(symbols__freep) struct symbols *s = store(&config);
	struct known k = where((void *)lfind);
	struct symbols_stat stat;
	struct place places[40];
	char ids[40][8];

	(void)state;
	for (unsigned i = 0; i < 40; i++) {
		snprintf(ids[i], sizeof(ids[i]), "%02x", i);
		places[i] = (struct place)AT(ids[i], k.vaddr, DCM_ADDR_VADDR);
		offer(s, ids[i], k.path);
	}
	CLEANUP(batch__unrefp)
	struct dcm_batch *b = batch_of(places, 40), *named = resolve(s, b, 20 * SECOND);
	for (unsigned i = 0; i < 40; i++)
		assert_name(named, i, "lfind");
	symbols__stat(s, &stat);
	assert_int_equal(stat.files_read, 40);
	assert_true(stat.files_inline > 0);
	offer(s, "00", k.path);
	symbols__stat(s, &stat);
	assert_int_equal(stat.files_known, 1);
}

static void test_what_was_learned_outlives_its_table(void **state)
{
	struct symbols_config config = { .table_bytes = 1 }; /* room for the newest one only */
	CLEANUP(symbols__freep) struct symbols *s = store(&config);
	struct known k = where((void *)lfind), other = where((void *)l64a);
	struct place first[] = { AT("aa", k.vaddr, DCM_ADDR_VADDR) };
	struct place both[] = { AT("aa", k.vaddr, DCM_ADDR_VADDR),
				AT("aa", other.vaddr, DCM_ADDR_VADDR) };
	struct place last[] = { AT("bb", k.vaddr, DCM_ADDR_VADDR) };
	CLEANUP(batch__unrefp)
	struct dcm_batch *b1 = batch_of(first, 1), *b2 = batch_of(both, 2), *b3 = batch_of(last, 1),
			 *n1 = NULL, *n2 = NULL, *n3 = NULL;
	struct symbols_stat stat;

	(void)state;
	offer(s, "aa", k.path);
	symbols__learn(s, b1);
	offer(s, "bb", k.path);
	n3 = resolve(s, b3, 10 * SECOND); /* by now the table of aa is gone */
	assert_name(n3, 0, "lfind");
	n1 = resolve(s, b2, 0);
	assert_name(n1, 0, "lfind");
	assert_why(n1, 1, DCM_UNNAMED_NOT_HERE);
	symbols__stat(s, &stat);
	assert_int_equal(stat.tables_evicted, 1);
	assert_int_equal(stat.n_tables, 1);
	assert_int_equal(stat.batches_learned, 1);
	/* The next offer of an evicted file counts. */
	offer(s, "aa", k.path);
	n2 = resolve(s, b2, 10 * SECOND);
	assert_name(n2, 0, "lfind");
	assert_name(n2, 1, "l64a");
}

/* --- several files with one build id --- */

__attribute__((noinline, used)) static int hidden_function(int x)
{
	return x * 2 + 1;
}

/*
 * This program as if it were stripped: its symbol table is marked as that for the linker, where one
 * symbol is left, which calls hidden_function() "function".
 */
static void strip_to(const char *to, uint64_t vaddr)
{
	struct buf data = { 0 };
	CLEANUP(fd__closep) int fd = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);

	assert_true(fd >= 0);
	assert_int_equal(fd__read_path(AT_FDCWD, "/proc/self/exe", 256 << 20, &data), 0);
	const ElfW(Ehdr) *head = (const void *)data.data;
	ElfW(Shdr) *sections = (void *)(data.data + head->e_shoff);
	for (unsigned i = 0; i < head->e_shnum; i++) {
		ElfW(Sym) *symbols = (void *)(data.data + sections[i].sh_offset);

		if (sections[i].sh_type == SHT_DYNSYM)
			sections[i].sh_type = SHT_PROGBITS;
		if (sections[i].sh_type != SHT_SYMTAB)
			continue;
		sections[i].sh_type = SHT_DYNSYM;
		for (size_t k = 0; k < sections[i].sh_size / sizeof(*symbols); k++) {
			if (symbols[k].st_value == vaddr)
				symbols[k].st_name += sizeof("hidden_") - 1;
			else
				symbols[k] = (ElfW(Sym)){ 0 };
		}
	}
	assert_int_equal(fd__write_all(fd, data.data, data.n), 0);
	buf__fini(&data);
}

/* Until the store has read so many files: what it reads again, nobody waits for. */
static struct symbols_stat await_read(struct symbols *s, uint64_t n)
{
	struct symbols_stat stat;

	do {
		usleep(1000);
		symbols__stat(s, &stat);
	} while (stat.files_read < n || stat.n_queued > 0);
	return stat;
}

static void assert_named(struct symbols *s, const char *id, const struct known *k, const char *want)
{
	struct place places[] = { AT(id, k->vaddr, DCM_ADDR_VADDR) };
	CLEANUP(batch__unrefp)
	struct dcm_batch *b = batch_of(places, 1), *named = resolve(s, b, 10 * SECOND);

	assert_name(named, 0, want);
}

static void test_a_better_file_takes_the_place_of_a_stripped_one(void **state)
{
	CLEANUP(symbols__freep) struct symbols *s = store(NULL);
	struct known k = where((void *)hidden_function);
	struct symbols_stat stat;
	char path[300];

	(void)state;
	snprintf(path, sizeof(path), "%s/stripped", dir);
	strip_to(path, k.vaddr);
	offer(s, "aa", path);
	assert_named(s, "aa", &k, "function");
	offer(s, "aa", "/proc/self/exe");
	await_read(s, 2);
	assert_named(s, "aa", &k, "hidden_function");
	/* The other way round the stripped one is not even read; nor is the same one twice. */
	offer(s, "aa", path);
	offer(s, "bb", "/proc/self/exe");
	offer(s, "bb", path);
	assert_named(s, "bb", &k, "hidden_function");
	stat = await_read(s, 3);
	assert_int_equal(stat.files_read, 3);
	assert_int_equal(stat.files_known, 2);
}

/* A copy of this program that somebody owns. */
static const char *owned_by(uid_t owner)
{
	static char path[300];

	snprintf(path, sizeof(path), "%s/of-%u", dir, (unsigned)owner);
	copy_file("/proc/self/exe", path);
	assert_int_equal(chown(path, owner, 0), 0);
	return path;
}

static void test_a_better_file_of_somebody_else_names_nothing(void **state)
{
	CLEANUP(symbols__freep) struct symbols *s = store(NULL);
	struct known k = where((void *)hidden_function);
	char path[300];

	(void)state;
	snprintf(path, sizeof(path), "%s/of-root", dir);
	strip_to(path, k.vaddr);
	if (chown(path, 12345, 0) < 0 || chown(path, 0, 0) < 0)
		skip_because("files of others are made by root");
	offer(s, "aa", path);
	assert_named(s, "aa", &k, "function");
	offer(s, "aa", owned_by(12345));
	assert_int_equal(await_read(s, 1).files_known, 1);
	assert_named(s, "aa", &k, "function");
	/* Nor another user's in the place of a user's; his own does, and root's. */
	assert_int_equal(chown(path, 12345, 0), 0);
	for (uid_t owner = 0; owner <= 12345; owner += 12345) {
		const char *id = owner ? "bb" : "cc";

		offer(s, id, path);
		assert_named(s, id, &k, "function");
		offer(s, id, owned_by(12346));
		assert_named(s, id, &k, "function");
		offer(s, id, owned_by(owner));
		await_read(s, owner ? 5 : 3);
		assert_named(s, id, &k, "hidden_function");
	}
}

/* Stripped files that differ in nothing, as in the layers of many containers. */
static void test_files_of_one_build_id_are_read_so_many_times(void **state)
{
	CLEANUP(symbols__freep) struct symbols *s = store(NULL);
	struct known k = where((void *)hidden_function);
	struct symbols_stat stat;
	char path[300];

	(void)state;
	for (unsigned i = 0; i < 20; i++) {
		snprintf(path, sizeof(path), "%s/stripped%u", dir, i);
		strip_to(path, k.vaddr);
		for (unsigned n = 0; n < 3; n++) {
			offer(s, "aa", path);
			assert_named(s, "aa", &k, "function");
		}
		await_read(s, 1);
	}
	stat = await_read(s, 1);
	assert_true(stat.files_read <= 4);
	assert_true(stat.files_known >= 60 - 4);
	/* What is no program at all may be followed by one that is. */
	snprintf(path, sizeof(path), "%s/broken", dir);
	copy_file("/proc/self/status", path);
	offer(s, "bb", path);
	while (stat.files_bad == 0) {
		usleep(1000);
		symbols__stat(s, &stat);
	}
	offer(s, "bb", path);
	offer(s, "bb", "/proc/self/exe");
	assert_named(s, "bb", &k, "hidden_function");
	symbols__stat(s, &stat);
	assert_int_equal(stat.files_bad, 1);
}

static void test_every_reason(void **state)
{
	CLEANUP(symbols__freep) struct symbols *s = store(NULL);
	struct place places[] = {
		{ "", 1, DCM_ADDR_VADDR, 0, 0, 0, 0, "/x/none" },
		AT("cc", 1, DCM_ADDR_VADDR),
		AT("dd", 1, DCM_ADDR_VADDR),
		{ "dd", 2, DCM_ADDR_VADDR, DCM_UNNAMED_NO_PERMISSION, 0, 0, 0, NULL },
		{ "", 2, DCM_ADDR_VADDR, DCM_UNNAMED_FILE_GONE, 0, 0, 0, "/x/none" },
	};
	CLEANUP(batch__unrefp) struct dcm_batch *b = batch_of(places, 5), *named = NULL;
	struct symbols_stat stat;
	char path[256];

	(void)state;
	snprintf(path, sizeof(path), "%s/bad", dir);
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(fd__write_all(fd, "\177ELF nonsense", 13), 0);
	close(fd);
	offer(s, "cc", path);
	offer(s, "", path);
	named = resolve(s, b, 10 * SECOND);
	assert_why(named, 0, DCM_UNNAMED_NO_BUILD_ID);
	assert_why(named, 1, DCM_UNNAMED_BAD_FILE);
	assert_why(named, 2, DCM_UNNAMED_NOT_HERE);
	assert_why(named, 3, DCM_UNNAMED_NO_PERMISSION);
	assert_why(named, 4, DCM_UNNAMED_FILE_GONE);
	symbols__stat(s, &stat);
	assert_int_equal(stat.files_bad, 1);
	for (int why = 0; why < DCM_UNNAMED_N; why++)
		assert_true(strlen(symbols__why((enum dcm_unnamed)why)) > 20);
}

static void test_fallback_names(void **state)
{
	static const struct {
		uint32_t kind;
		const char *file, *want;
	} cases[] = {
		{ DCM_MAPPING_FILE, "/usr/lib/libfoo.so.1", "libfoo.so.1+0x1234" },
		{ DCM_MAPPING_FILE, "memfd:jit (deleted)", "memfd:jit (deleted)+0x1234" },
		{ DCM_MAPPING_FILE, "", "[file]+0x1234" },
		{ DCM_MAPPING_VDSO, "[vdso]", "[vdso]+0x1234" },
		{ DCM_MAPPING_ANON, "", "[anon]+0x1234" },
		{ DCM_MAPPING_KERNEL, "[kernel]", "[kernel]+0x1234" },
		{ DCM_MAPPING_MODULE, "[ext4]", "[ext4]+0x1234" },
	};
	char out[64];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct dcm_str strings[] = { STR(""), str__of(cases[i].file) };
		struct dcm_mapping m = { .file = 1, .kind = cases[i].kind };
		struct dcm_location l = { .address = 0x1234 };
		struct dcm_batch b = { .strings = strings, .mappings = &m, .locations = &l };

		assert_int_equal(symbols__fallback_name(&b, 0, out, sizeof(out)), strlen(cases[i].want));
		assert_string_equal(out, cases[i].want);
		for (size_t cap = 1; cap < sizeof(out); cap++)
			assert_true(symbols__fallback_name(&b, 0, out, cap) < cap);
	}
	struct dcm_location l = { .mapping = DCM_NONE, .address = 5 };
	struct dcm_batch b = { .locations = &l };
	symbols__fallback_name(&b, 0, out, sizeof(out));
	assert_string_equal(out, "[anon]+0x5");
	for (unsigned bit = 0; bit <= 64; bit++) {
		const uint64_t around[] = { bit < 64 ? (uint64_t)1 << bit : 0,
					    (bit < 64 ? (uint64_t)1 << bit : 0) - 1 };

		for (unsigned k = 0; k < 2; k++) {
			char want[64];

			l.address = around[k];
			snprintf(want, sizeof(want), "[anon]+0x%" PRIx64, l.address);
			assert_int_equal(symbols__fallback_name(&b, 0, out, sizeof(out)), strlen(want));
			assert_string_equal(out, want);
		}
	}
}

/* --- the kernel --- */

static void write_text(const char *name, const char *text)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	CLEANUP(fd__closep) int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_int_equal(fd__write_all(fd, text, strlen(text)), 0);
}

static void assert_kernel(struct symbols *s, uint64_t address, int want_rc, const char *want,
			  const char *module)
{
	struct dcm_str name = STR(""), in = STR("");

	assert_int_equal(symbols__kernel(s, address, &name, &in), want_rc);
	if (want_rc == 0) {
		assert_true(str__eq(name, str__of(want)));
		assert_true(str__eq(in, str__of(module)));
	}
}

/* A BPF program whose name stays the same is not worth a reading each minute. */
static void names_that_stay(struct symbols *s, struct clock *clock)
{
	static const struct {
		unsigned after_s;
		const char *name, *next;
		uint64_t n_loads;
	} names[] = { { 61, "third", "third", 7 },  { 61, "third", "third", 7 },
		      { 60, "third", "fourth", 8 }, { 239, "third", "fourth", 8 },
		      { 2, "fourth", "fourth", 9 }, { 61, "fourth", "fourth", 10 } };
	struct symbols_stat stat;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		char text[128];

		clock->fake_mono_ns += names[i].after_s * SECOND;
		assert_kernel(s, 0x2004, 0, names[i].name, "bpf");
		symbols__stat(s, &stat);
		assert_int_equal(stat.kallsyms_loads, names[i].n_loads);
		snprintf(text, sizeof(text), "1000 T one\n1100 T _etext\n2000 t %s\t[bpf]\n",
			 names[i].next);
		write_text("kallsyms", text);
	}
}

static void test_kernel_names_follow_the_modules(void **state)
{
	struct clock clock = clock__fake(1, 1);
	char kallsyms[256], modules[256];
	struct symbols_config config = { .kallsyms_path = kallsyms,
					 .modules_path = modules,
					 .clock = &clock };
	struct symbols_stat stat;
	struct dcm_str kept, in;

	(void)state;
	snprintf(kallsyms, sizeof(kallsyms), "%s/kallsyms", dir);
	snprintf(modules, sizeof(modules), "%s/modules", dir);
	CLEANUP(symbols__freep) struct symbols *s = store(&config);

	write_text("kallsyms", "0 T a\n0 T b\n");
	assert_kernel(s, 0x1000, -EACCES, "", "");
	write_text("kallsyms", "1000 T one\n1100 T _etext\n2000 t prog\t[bpf]\n");
	assert_kernel(s, 0x1000, -EACCES, "", ""); /* it is not read at every question */
	clock.fake_mono_ns += 61 * SECOND;
	assert_int_equal(symbols__kernel(s, 0x1004, &kept, &in), 0);
	assert_kernel(s, 0x2004, 0, "prog", "bpf");

	write_text("kallsyms",
		   "1000 T one_changed\n1100 T _etext\n300000 t two\t[m]\n2000 t other\t[bpf]\n");
	write_text("modules", "m 4096 0 - Live 0x300000\n");
	assert_kernel(s, 0x300000, -ENOENT, "", "");
	clock.fake_mono_ns += 2 * SECOND;
	assert_kernel(s, 0x300000, 0, "two", "m");
	assert_kernel(s, 0x1004, 0, "one_changed", "");
	assert_true(str__eq(kept, STR("one"))); /* what was given lives on */

	/* Memory of BPF programs is used again without a trace in the modules. */
	write_text("kallsyms",
		   "1000 T one\n1100 T _etext\n2000 t third\t[bpf]\n400000 t late\t[bpf]\n");
	assert_kernel(s, 0x2004, 0, "other", "bpf");
	clock.fake_mono_ns += 11 * SECOND;
	assert_kernel(s, 0x400004, 0, "late", "bpf"); /* unknown: read again */
	assert_kernel(s, 0x2004, 0, "third", "bpf");
	symbols__stat(s, &stat);
	assert_int_equal(stat.kallsyms_loads, 3);
	assert_int_equal(stat.kallsyms_errors, 1);

	/* An address that nothing explains is not worth a reading each time. */
	static const struct {
		unsigned after_s;
		uint64_t n_loads;
	} misses[] = { { 11, 4 }, { 11, 4 }, { 10, 5 }, { 39, 5 }, { 2, 6 } };
	for (size_t i = 0; i < sizeof(misses) / sizeof(*misses); i++) {
		clock.fake_mono_ns += misses[i].after_s * SECOND;
		assert_kernel(s, 0x500000, -ENOENT, "", "");
		symbols__stat(s, &stat);
		assert_int_equal(stat.kallsyms_loads, misses[i].n_loads);
	}
	names_that_stay(s, &clock);
}

/* --- failures and threads --- */

static void test_failing_allocations(void **state)
{
	struct known k = where((void *)lfind);
	struct place places[] = { AT("aa", k.vaddr, DCM_ADDR_VADDR),
				  AT("aa", k.vaddr + 1, DCM_ADDR_VADDR) };
	CLEANUP(batch__unrefp) struct dcm_batch *b = batch_of(places, 2);

	(void)state;
	FAILMALLOC_SWEEP (i) {
		struct dcm_error err = DCM_ERROR_INIT;
		struct symbols *s = NULL;
		int rc = symbols__new(NULL, &s, &err);

		failmalloc__disarm();
		if (rc == 0)
			symbols__free(s);
		else
			assert_int_equal(rc, -ENOMEM);
	}
	/* Offered with failures, then without: it is named at the end. */
	CLEANUP(symbols__freep)
	struct symbols *s = store(&(struct symbols_config){ .max_files = 1 });
	FAILMALLOC_SWEEP (i) {
		CLEANUP(fd__closep) int fd = open(k.path, O_RDONLY | O_CLOEXEC);

		symbols__offer(s, STR("aa"), STR(""), fd);
		symbols__learn(s, b);
	}
	offer(s, "aa", k.path);
	FAILMALLOC_SWEEP (i) {
		struct dcm_error err = DCM_ERROR_INIT;
		struct dcm_batch *named = NULL;
		int rc = symbols__resolve(s, b, 10 * SECOND, &named, &err);

		failmalloc__disarm();
		if (rc == 0) {
			assert_name(named, 0, "lfind");
			batch__unref(named);
		} else {
			assert_int_equal(rc, -ENOMEM);
			assert_null(named);
		}
	}
}

struct racer {
	struct symbols *s;
	struct dcm_batch *b;
	const char *path;
	unsigned id;
};

static void *race(void *ctx)
{
	struct racer *r = ctx;

	for (unsigned i = 0; i < 30; i++) {
		struct dcm_batch *named = NULL;
		char id[8];

		snprintf(id, sizeof(id), "%02x", (r->id + i) % 5);
		int fd = open(r->path, O_RDONLY | O_CLOEXEC);
		symbols__offer(r->s, str__of(id), STR(""), fd);
		close(fd);
		symbols__learn(r->s, r->b);
		if (symbols__resolve(r->s, r->b, i % 3 ? 0 : SECOND, &named, NULL) == 0)
			batch__unref(named);
		struct symbols_stat stat;
		symbols__stat(r->s, &stat);
	}
	return NULL;
}

static void test_threads(void **state)
{
	struct symbols_config config = { .table_bytes = 600 << 10,
					 .max_files = 2,
					 .learned_bytes = 16 << 10 };
	CLEANUP(symbols__freep) struct symbols *s = store(&config);
	struct known k = where((void *)lfind);
	static char ids[5][8];
	struct place places[5];
	pthread_t threads[4];
	struct racer racers[4];

	(void)state;
	for (unsigned i = 0; i < 5; i++) {
		snprintf(ids[i], sizeof(ids[i]), "%02x", i);
		places[i] = (struct place)AT(ids[i], k.vaddr, DCM_ADDR_VADDR);
	}
	CLEANUP(batch__unrefp) struct dcm_batch *b = batch_of(places, 5);
	for (unsigned i = 0; i < 4; i++) {
		racers[i] = (struct racer){ s, b, k.path, i };
		assert_int_equal(pthread_create(&threads[i], NULL, race, &racers[i]), 0);
	}
	for (unsigned i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	/* Whatever was evicted meanwhile, the last one offered is named. */
	offer(s, "00", k.path);
	CLEANUP(batch__unrefp) struct dcm_batch *named = resolve(s, b, 10 * SECOND);
	assert_name(named, 0, "lfind");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_come_by_any_kind_of_address),
		cmocka_unit_test(test_cxx_names_are_demangled),
		cmocka_unit_test(test_a_file_that_is_gone_after_the_offer_is_still_read),
		cmocka_unit_test(test_files_are_not_read_when_names_are_made_elsewhere),
		cmocka_unit_test(test_more_offers_than_descriptors_are_read_at_once),
		cmocka_unit_test(test_what_was_learned_outlives_its_table),
		cmocka_unit_test(test_a_better_file_takes_the_place_of_a_stripped_one),
		cmocka_unit_test(test_a_better_file_of_somebody_else_names_nothing),
		cmocka_unit_test(test_files_of_one_build_id_are_read_so_many_times),
		cmocka_unit_test(test_every_reason),
		cmocka_unit_test(test_fallback_names),
		cmocka_unit_test(test_kernel_names_follow_the_modules),
		cmocka_unit_test(test_failing_allocations),
		cmocka_unit_test(test_threads),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
