/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/inode.h - which inode a mapping is of, and whether an open file is that
 *
 * The kernel's records name a mapped file by device, inode and the inode's generation, which tells
 * it from a later file that was given the same number; /proc/PID/maps has no generation. An open
 * file shows device and inode by fstat(2), and its generation by FS_IOC_GETVERSION on ext4, xfs,
 * btrfs, f2fs. btrfs and overlayfs show another device to fstat(2) than in maps and records.
 *
 * Pure but for the system calls on the descriptor. Source: ioctl_iflags(2), perf_event_open(2).
 */
#ifndef DECIMA_EBPF_INODE_H
#define DECIMA_EBPF_INODE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

struct maps_range;

/* As records and maps name it. */
struct inode {
	uint32_t major, minor;
	uint64_t number;
	uint64_t generation; /* when it is known */
	bool has_generation;
	/*
	 * No other file has all of this, not even later: the generation counts, and the device is
	 * that of fstat(2). Subvolumes of btrfs share theirs in maps, and number files alike.
	 */
	bool is_unique;
};

/*
 * That of a mapping whose file is open, with its fstat(2); where the mapping lacks the generation,
 * the file tells it.
 */
struct inode inode__of(const struct maps_range *range, int fd, const struct stat *st);

/* The mapping is of that inode, as far as can be told. */
bool inode__is_of(const struct inode *inode, const struct maps_range *range);

/* The generation of an open file; false where the file system does not tell. */
bool inode__generation(int fd, uint64_t *ret);

/*
 * The open file, whose fstat(2) is given, has the mapping's number and, where both are known,
 * generation.
 */
bool inode__agrees(int fd, const struct stat *st, const struct maps_range *range);

/*
 * It has the mapping's device as well, or lies where that cannot be compared: what the kernel told has a generation, which
 * stands in for it; what only /proc showed has none, and is of the very device.
 */
bool inode__device_agrees(int fd, const struct stat *st, const struct maps_range *range);

/* A date of stat(2); INT64_MAX or INT64_MIN beyond the years 1677 to 2262. */
int64_t inode__date_ns(struct timespec date);

#endif
