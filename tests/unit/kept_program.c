/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/kept_program.c - this program as a file that a symbol store keeps on disk, and names by
 */
#include "tests/unit/kept_program.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include "core/base/cleanup.h"
#include "core/base/fd.h"
#include "core/base/str.h"
#include "core/batch/batch.h"
#include "tests/unit/folder.h"
#include "tests/unit/native_batch.h"

static const int64_t SECOND = 1000000000;
DEFINE_FOLDER(root, "kept", 0700);
struct kept_program kept;

static __attribute__((noinline)) int hidden_function(int n)
{
	__asm__ volatile("" : "+r"(n));
	return n;
}

int kept__make_root(void **state)
{
	CLEANUP(fd__closep) int fd = kept__open_self();

	return make_root(state) == 0 && elf__build_id(fd, kept.build_id) == 0 && hidden_function(1)
		       ? 0
		       : -1;
}

int kept__remove_root(void **state)
{
	return remove_root(state);
}

int kept__new_dir(void **state)
{
	static unsigned n;

	(void)state;
	snprintf(kept.dir, sizeof(kept.dir), "%s/%u", root, n++);
	snprintf(kept.path, sizeof(kept.path), "%s/.build-id/%.2s/%s.elf", kept.dir, kept.build_id,
		 kept.build_id + 2);
	return 0;
}

int kept__open_self(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

int kept__open_made(const char *command)
{
	char path[512];
	int fd;

	assert_int_equal(shell("mkdir -p %s && cd %s && rm -f made && cp /proc/%d/exe made && %s",
			       kept.dir, kept.dir, (int)getpid(), command),
			 0);
	snprintf(path, sizeof(path), "%s/made", kept.dir);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

int kept__open_bare(void)
{
	return kept__open_made("objcopy --strip-all made");
}

struct symbols *kept__symbols(const struct symbols_config *config)
{
	struct symbols_config c = *config;
	struct dcm_error err = DCM_ERROR_INIT;
	struct symbols *s = NULL;

	c.store_dir = c.store_dir ? c.store_dir : kept.dir;
	if (symbols__new(&c, &s, &err))
		fail_msg("%s", err.text);
	return s;
}

void kept__offer(struct symbols *s)
{
	CLEANUP(fd__closep) int fd = kept__open_self();

	symbols__offer(s, str__of(kept.build_id), STR("/gone/program"), fd);
}

struct symbols_stat kept__await(struct symbols *s, uint64_t n)
{
	struct symbols_stat stat;

	do {
		usleep(1000);
		symbols__stat(s, &stat);
	} while (stat.store_put + stat.store_failed < n || stat.store_waiting);
	return stat;
}

int kept__disk_is_full(void *ctx, const struct symbols_reduction *reduction)
{
	(void)ctx, (void)reduction;
	return -ENOSPC;
}

static int find_load(struct dl_phdr_info *info, size_t size, void *ctx)
{
	(void)size;
	*(uint64_t *)ctx -= info->dlpi_addr; /* the program itself comes first */
	return 1;
}

struct dcm_batch *kept__batch(const char *id)
{
	uint64_t address = (uint64_t)(uintptr_t)hidden_function;

	dl_iterate_phdr(find_load, &address);
	return native_batch__of("/gone/program", id, &address, 1);
}

void kept__ask_once(struct symbols *s)
{
	CLEANUP(batch__unrefp) struct dcm_batch *b = kept__batch(kept.build_id), *named = NULL;

	assert_int_equal(symbols__resolve(s, b, 0, &named, NULL), 0);
}

void kept__assert_names(struct symbols *s, const char *id, const char *want, uint8_t want_why)
{
	CLEANUP(batch__unrefp) struct dcm_batch *b = kept__batch(id), *named = NULL;
	struct dcm_error err = DCM_ERROR_INIT;
	char name[256] = "";

	assert_int_equal(symbols__resolve(s, b, 60 * SECOND, &named, &err), 0);
	const struct dcm_location *l = &named->locations[0];
	if (l->n_lines)
		snprintf(name, sizeof(name), "%.*s",
			 STR_ARG(named->strings[named->functions[named->lines[l->line_off].function].name]));
	assert_string_equal(name, want);
	assert_int_equal(l->unnamed, want_why);
}

void kept__assert_named(struct symbols *s, const char *want, uint8_t want_why)
{
	kept__assert_names(s, kept.build_id, want, want_why);
}
