/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/perf_record.c - the kernel's side-band records, checked and unpacked
 *
 * Layouts: perf_event_open(2). A build id in the place of device and inode (since 5.12) is written
 * only for events that ask for it, and ours must not: the kernel leaves the flag that says so,
 * PERF_RECORD_MISC_MMAP_BUILD_ID, in the header of the same record for the readers that it serves
 * next, and perf 6.1 ends by SIGABRT on it. For the same reason it says nothing in our records:
 * somebody else's event may have left it there.
 */
#include "plugins/input/ebpf/perf_record.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/mman.h>

#include "core/base/str.h"

/* The fixed part of PERF_RECORD_MMAP2, behind the header. */
struct mmap2 {
	uint32_t pid, tid;
	uint64_t addr, len, pgoff;
	uint32_t major, minor;
	uint64_t ino, generation;
	uint32_t prot, flags;
};
_Static_assert(sizeof(struct mmap2) == 64, "as in perf_event.h");

struct comm {
	uint32_t pid, tid;
};

/* PERF_RECORD_FORK and PERF_RECORD_EXIT. */
struct task {
	uint32_t pid, ppid, tid, ptid;
	uint64_t time;
};

struct ksymbol {
	uint64_t addr;
	uint32_t len;
	uint16_t type, flags;
};
_Static_assert(sizeof(struct ksymbol) == 16, "as in perf_event.h");

struct lost {
	uint64_t id, n;
};

/* Where the text of a record, padded with NULs to 8 bytes, ends. */
static struct dcm_str text_of(const char *p, size_t n)
{
	return (struct dcm_str){ p, (uint32_t)strnlen(p, n) };
}

static int parse_mmap(const char *p, size_t n, struct perf_record *ret)
{
	struct mmap2 m;

	if (n < sizeof(m))
		return -EBADMSG;
	memcpy(&m, p, sizeof(m));
	if (m.len == 0 || m.addr + m.len < m.addr)
		return -EBADMSG;
	ret->kind = PERF_RECORD_OF_MMAP;
	ret->pid = m.pid;
	ret->tid = m.tid;
	ret->start = m.addr;
	ret->end = m.addr + m.len;
	ret->offset = m.pgoff;
	ret->is_writable = m.prot & PROT_WRITE;
	ret->major = m.major;
	ret->minor = m.minor;
	ret->ino = m.ino;
	ret->generation = m.generation;
	ret->name = text_of(p + sizeof(m), n - sizeof(m));
	/* What the kernel could not name ("//anon", "//enomem", "//toolong") has no name. */
	if (str__starts(ret->name, STR("//")))
		ret->name = STR("");
	return 0;
}

static int parse_comm(const char *p, size_t n, unsigned misc, struct perf_record *ret)
{
	struct comm c;

	if (n < sizeof(c))
		return -EBADMSG;
	if (!(misc & PERF_RECORD_MISC_COMM_EXEC))
		return 0;
	memcpy(&c, p, sizeof(c));
	ret->kind = PERF_RECORD_OF_EXEC;
	ret->pid = c.pid;
	ret->tid = c.tid;
	return 0;
}

static int parse_task(const char *p, size_t n, enum perf_record_kind kind, struct perf_record *ret)
{
	struct task t;

	if (n < sizeof(t))
		return -EBADMSG;
	memcpy(&t, p, sizeof(t));
	ret->kind = kind;
	ret->pid = t.pid;
	ret->tid = t.tid;
	ret->ppid = t.ppid;
	return 0;
}

static int parse_ksymbol(const char *p, size_t n, struct perf_record *ret)
{
	struct ksymbol k;

	if (n < sizeof(k))
		return -EBADMSG;
	memcpy(&k, p, sizeof(k));
	if (k.type != PERF_RECORD_KSYMBOL_TYPE_BPF)
		return 0;
	if (k.len == 0 || k.addr + k.len < k.addr)
		return -EBADMSG;
	ret->kind = PERF_RECORD_OF_SYMBOL;
	ret->start = k.addr;
	ret->end = k.addr + k.len;
	ret->is_gone = k.flags & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER;
	ret->name = text_of(p + sizeof(k), n - sizeof(k));
	return 0;
}

static int parse_lost(const char *p, size_t n, struct perf_record *ret)
{
	struct lost l;

	if (n < sizeof(l))
		return -EBADMSG;
	memcpy(&l, p, sizeof(l));
	ret->kind = PERF_RECORD_OF_LOST;
	ret->n_lost = l.n;
	return 0;
}

int perf_record__parse(const void *data, size_t n, struct perf_record *ret)
{
	struct perf_record r = { .kind = PERF_RECORD_OF_OTHER };
	struct perf_event_header h;
	const char *p = data;
	uint64_t time;
	int error = 0;

	if (n < sizeof(h) + sizeof(time))
		return -EBADMSG;
	memcpy(&h, p, sizeof(h));
	if (h.size != n)
		return -EBADMSG;
	/* The time stands behind every record, whatever its kind. */
	memcpy(&time, p + n - sizeof(time), sizeof(time));
	r.time_ns = (int64_t)(time & INT64_MAX);
	p += sizeof(h);
	n -= sizeof(h) + sizeof(time);
	switch (h.type) {
	case PERF_RECORD_MMAP2:
		error = parse_mmap(p, n, &r);
		break;
	case PERF_RECORD_COMM:
		error = parse_comm(p, n, h.misc, &r);
		break;
	case PERF_RECORD_FORK:
		error = parse_task(p, n, PERF_RECORD_OF_FORK, &r);
		break;
	case PERF_RECORD_EXIT:
		error = parse_task(p, n, PERF_RECORD_OF_EXIT, &r);
		break;
	case PERF_RECORD_KSYMBOL:
		error = parse_ksymbol(p, n, &r);
		break;
	case PERF_RECORD_LOST:
		error = parse_lost(p, n, &r);
		break;
	default:
		break;
	}
	if (error == 0)
		*ret = r;
	return error;
}
