/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/broker/direct.c - what takes rights, done by the process itself
 *
 * Sources: perf_event_open(2), bpf(2), openat2(2), open_by_handle_at(2), proc(5); the handle of a
 * kernfs directory is its 64-bit id, of type 0xfe (include/linux/exportfs.h, FILEID_KERNFS).
 */
#include "core/broker/direct.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/bpf.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/base/cleanup.h"
#include "core/base/fd.h"

enum { KERNFS_HANDLE = 0xfe };

/* ------------------------------------------------------------------------------------------------
 * Files
 */

static int open_at(int dir, const char *name, int flags)
{
	int fd = openat(dir, name, flags | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* Takes an O_PATH descriptor. */
static int reopen_code(int at)
{
	CLEANUP(fd__closep) int path = at;
	CLEANUP(fd__closep) int fd = path < 0 ? path : fd__reopen_regular(path);
	char magic[SELFMAG];

	if (fd < 0)
		return fd;
	if (fd__pread_full(fd, magic, sizeof(magic), 0) < 0 || memcmp(magic, ELFMAG, SELFMAG) != 0)
		return -ENOEXEC;
	return take_fd(fd);
}

static int open_mapped(int dir, uint64_t start, uint64_t end)
{
	char name[64];

	snprintf(name, sizeof(name), "map_files/%" PRIx64 "-%" PRIx64, start, end);
	return reopen_code(open_at(dir, name, O_PATH));
}

static int open_inside(int dir, const char *path)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT };
	long fd = syscall(SYS_openat2, dir, path, &how, sizeof(how));

	return fd < 0 ? -errno : (int)fd;
}

/* perf-DIGITS.map, jit-DIGITS.dump */
static bool has_name_of_names(const char *path)
{
	static const char *const parts[][2] = { { "perf-", ".map" }, { "jit-", ".dump" } };
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	for (size_t i = 0; i < 2; i++) {
		size_t n = strlen(parts[i][0]), digits;

		if (strncmp(name, parts[i][0], n) != 0)
			continue;
		digits = strspn(name + n, "0123456789");
		return digits && strcmp(name + n + digits, parts[i][1]) == 0;
	}
	return false;
}

static int open_names(int dir, const char *path)
{
	CLEANUP(fd__closep) int at = -1;

	if (!has_name_of_names(path))
		return -EPERM;
	at = fd__open_beneath(dir, path);
	return at < 0 ? at : fd__reopen_regular(at);
}

static int open_cgroup(int dir, uint64_t id)
{
	union {
		struct file_handle handle;
		uint8_t bytes[sizeof(struct file_handle) + sizeof(id)];
	} of = { .handle = { .handle_bytes = sizeof(id), .handle_type = KERNFS_HANDLE } };
	int fd;

	memcpy(of.bytes + sizeof(struct file_handle), &id, sizeof(id));
	fd = open_by_handle_at(dir, &of.handle, O_PATH | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int direct__open(const struct dcm_guarded *g)
{
	switch ((enum dcm_guarded_kind)g->what) {
	case DCM_GUARDED_MAPS:
		return open_at(g->dir, "maps", O_RDONLY);
	case DCM_GUARDED_ENVIRON:
		return open_at(g->dir, "environ", O_RDONLY);
	case DCM_GUARDED_EXE:
		return reopen_code(open_at(g->dir, "exe", O_PATH));
	case DCM_GUARDED_EXE_PATH:
		return open_at(g->dir, "exe", O_PATH);
	case DCM_GUARDED_ROOT:
		return open_at(g->dir, "root", O_PATH | O_DIRECTORY);
	case DCM_GUARDED_MOUNTS:
		return open_at(g->dir, "ns/mnt", O_PATH);
	case DCM_GUARDED_MAPPED:
		return open_mapped(g->dir, g->start, g->end);
	case DCM_GUARDED_CODE:
		return reopen_code(open_inside(g->dir, g->path));
	case DCM_GUARDED_NAMES:
		return open_names(g->dir, g->path);
	case DCM_GUARDED_CGROUP:
		return open_cgroup(g->dir, g->start);
	}
	return -EINVAL;
}

int direct__open_kallsyms(void)
{
	return open_at(AT_FDCWD, "/proc/kallsyms", O_RDONLY);
}

/* ------------------------------------------------------------------------------------------------
 * The kernel's objects
 */

int direct__perf_event(const struct perf_event_attr *attr, uint32_t cpu)
{
	long fd = syscall(SYS_perf_event_open, attr, -1, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : (int)fd;
}

static int bpf(enum bpf_cmd cmd, union bpf_attr *attr)
{
	long r = syscall(SYS_bpf, cmd, attr, sizeof(*attr));

	return r < 0 ? -errno : (int)r;
}

int direct__bpf_array(uint32_t value_bytes, uint32_t n)
{
	union bpf_attr attr = { 0 };

	attr.map_type = BPF_MAP_TYPE_ARRAY;
	attr.key_size = sizeof(uint32_t);
	attr.value_size = value_bytes;
	attr.max_entries = n;
	attr.map_flags = BPF_F_MMAPABLE;
	snprintf(attr.map_name, sizeof(attr.map_name), "decima");
	return bpf(BPF_MAP_CREATE, &attr);
}

int direct__bpf_put(int array_of_maps, uint32_t index, int array)
{
	union bpf_attr attr = { 0 };

	attr.map_fd = (uint32_t)array_of_maps;
	attr.key = (uintptr_t)&index;
	attr.value = (uintptr_t)&array;
	return bpf(BPF_MAP_UPDATE_ELEM, &attr);
}
