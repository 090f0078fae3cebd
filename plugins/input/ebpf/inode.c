/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/inode.c - which inode a mapping is of, and whether an open file is that
 */
#include "plugins/input/ebpf/inode.h"

#include <linux/fs.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>

#include "plugins/input/ebpf/maps.h"

bool inode__generation(int fd, uint64_t *ret)
{
	/* Declared as a long, it is written as an int. */
	uint32_t generation[2] = { 0 };

	if (ioctl(fd, FS_IOC_GETVERSION, generation) < 0)
		return false;
	*ret = generation[0];
	return true;
}

struct inode inode__of(const struct maps_range *range, int fd, const struct stat *st)
{
	struct inode inode = {
		.major = range->major,
		.minor = range->minor,
		.number = range->ino,
		.generation = range->generation,
		.has_generation = range->is_told,
	};
	bool is_same_device = st->st_dev == makedev(range->major, range->minor);
	bool is_proven = inode__generation(fd, &inode.generation);

	inode.has_generation |= is_proven;
	/* tmpfs draws one and does not tell; overlayfs and FUSE leave it 0. */
	inode.is_unique = is_same_device && (is_proven || inode.generation != 0);
	return inode;
}

bool inode__is_of(const struct inode *inode, const struct maps_range *range)
{
	if (inode->number != range->ino || inode->major != range->major || inode->minor != range->minor)
		return false;
	return !range->is_told || (inode->has_generation && inode->generation == range->generation);
}

bool inode__agrees(int fd, const struct stat *st, const struct maps_range *range)
{
	uint64_t generation;

	if (st->st_ino != range->ino)
		return false;
	return !range->is_told || !inode__generation(fd, &generation) || generation == range->generation;
}

bool inode__device_agrees(int fd, const struct stat *st, const struct maps_range *range)
{
	struct statfs fs;

	if (st->st_dev == makedev(range->major, range->minor))
		return true;
	return range->is_told && fstatfs(fd, &fs) == 0 &&
	       (fs.f_type == BTRFS_SUPER_MAGIC || fs.f_type == OVERLAYFS_SUPER_MAGIC);
}

int64_t inode__date_ns(struct timespec date)
{
	int64_t ns;

	if (__builtin_mul_overflow((int64_t)date.tv_sec, 1000000000, &ns) ||
	    __builtin_add_overflow(ns, (int64_t)date.tv_nsec, &ns))
		return date.tv_sec < 0 ? INT64_MIN : INT64_MAX;
	return ns;
}
