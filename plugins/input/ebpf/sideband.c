/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/sideband.c - what the kernel tells of processes: exec, fork, exit, mappings
 *
 * Times are those of CLOCK_MONOTONIC, the clock of the samples. A ring is one page of control and a
 * power of two of data; 132 KiB for each CPU stay below kernel.perf_event_mlock_kb (516 KiB a CPU).
 * Source: perf_event_open(2).
 */
#include "plugins/input/ebpf/sideband.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "core/base/fd.h"
#include "core/base/mem.h"
#include "core/base/vec.h"
#include "plugins/input/ebpf/pulse.h"

enum {
	RING_BYTES = 128 * 1024,
	RECORD_BYTES_MAX = 65536, /* the size in a record's header has 16 bits */
};

struct ring {
	uint32_t cpu;
	int fd;
	struct pulse pulse;
	struct perf_event_mmap_page *control;
	const uint8_t *data; /* [RING_BYTES] */
};

struct sideband {
	const struct dcm_host *host;
	int poll_fd;
	size_t page_bytes;
	VEC(struct ring) rings;
	struct cpus attached;
	struct sideband_stat stat;
	uint8_t record[RECORD_BYTES_MAX]; /* one that goes around the ring's end */
};

/* ------------------------------------------------------------------------------------------------
 * One ring per CPU
 */

static int open_event(const struct sideband *s, uint32_t cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TIME,
		.read_format = PULSE_READ_FORMAT,
		.sample_id_all = 1,
		.mmap = 1, /* executable ones only: mmap_data is off */
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.ksymbol = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.watermark = 1,
		.wakeup_watermark = RING_BYTES / 4, /* the rest is for as long as we get no CPU */
	};

	return s->host->perf_event(s->host, &attr, cpu);
}

static void ring_close(const struct sideband *s, struct ring *r)
{
	if (r->control)
		munmap(r->control, s->page_bytes + RING_BYTES);
	fd__close(r->fd);
}

static int ring_open(struct sideband *s, uint32_t cpu, struct ring *ret)
{
	struct ring r = { .cpu = cpu, .fd = open_event(s, cpu) };
	void *p;

	if (r.fd < 0)
		return r.fd;
	p = mmap(NULL, s->page_bytes + RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, r.fd, 0);
	if (p == MAP_FAILED) {
		int error = -errno;

		fd__close(r.fd);
		return error;
	}
	r.control = p;
	r.data = (const uint8_t *)p + s->page_bytes;
	*ret = r;
	return 0;
}

static int add_cpu(struct sideband *s, uint32_t cpu)
{
	struct epoll_event wake = { .events = EPOLLIN };
	struct ring r;
	int error = ring_open(s, cpu, &r);

	if (error < 0)
		return error;
	wake.data.fd = r.fd;
	if (epoll_ctl(s->poll_fd, EPOLL_CTL_ADD, r.fd, &wake) < 0) {
		error = -errno;
		ring_close(s, &r);
		return error;
	}
	if (!vec__push(&s->rings, r)) {
		ring_close(s, &r);
		return -ENOMEM;
	}
	s->attached.bits[cpu / 64] |= 1ull << (cpu % 64);
	return 0;
}

static void remove_gone(struct sideband *s, const struct cpus *online)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->rings.n; i++) {
		struct ring r = s->rings.v[i];

		if (cpus__has(online, r.cpu)) {
			s->rings.v[kept++] = r;
			continue;
		}
		ring_close(s, &r);
		cpus__remove(&s->attached, r.cpu);
	}
	s->rings.n = kept;
}

int sideband__update(struct sideband *s, const struct cpus *online, bool feel)
{
	struct cpus alive = *online;
	int error = 0;

	if (feel)
		for (size_t i = 0; i < s->rings.n; i++)
			if (!pulse__beats(&s->rings.v[i].pulse, s->rings.v[i].fd))
				cpus__remove(&alive, s->rings.v[i].cpu);
	if (memcmp(&alive, &s->attached, sizeof(alive)) == 0)
		return 0;
	remove_gone(s, &alive);
	for (uint32_t cpu = 0; cpu <= cpus__highest(online); cpu++)
		if (cpus__has(online, cpu) && !cpus__has(&s->attached, cpu)) {
			int r = add_cpu(s, cpu);

			/* It went away in between. */
			if (r < 0 && r != -ENODEV)
				error = r;
		}
	return error;
}

int sideband__open(const struct dcm_host *host, struct sideband **ret)
{
	CLEANUP(sideband__freep) struct sideband *s = NEW(struct sideband);
	struct cpus online;
	int error;

	if (!s)
		return -ENOMEM;
	s->host = host;
	s->page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	s->poll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (s->poll_fd < 0)
		return -errno;
	error = cpus__read("online", &online);
	if (error == 0)
		error = sideband__update(s, &online, false);
	if (error < 0)
		return error;
	*ret = take_ptr(s);
	return 0;
}

void sideband__free(struct sideband *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->rings.n; i++)
		ring_close(s, &s->rings.v[i]);
	vec__fini(&s->rings);
	fd__close(s->poll_fd);
	free(s);
}

int sideband__wake_fd(const struct sideband *s)
{
	return s->poll_fd;
}

/* ------------------------------------------------------------------------------------------------
 * Reading
 */

/* n bytes of the ring from position `at`, in one piece. */
static const uint8_t *piece(struct sideband *s, const struct ring *r, uint64_t at, size_t n)
{
	size_t from = at % RING_BYTES, first = RING_BYTES - from;

	if (n <= first)
		return r->data + from;
	memcpy(s->record, r->data + from, first);
	memcpy(s->record + first, r->data, n - first);
	return s->record;
}

static void take(struct sideband *s, const uint8_t *data, size_t n, sideband_fn each, void *ctx)
{
	struct perf_record record;

	if (perf_record__parse(data, n, &record) < 0) {
		s->stat.n_malformed++;
		return;
	}
	s->stat.n_records++;
	s->stat.n_lost += record.n_lost;
	if (record.kind != PERF_RECORD_OF_OTHER)
		each(ctx, &record);
}

static void drain_ring(struct sideband *s, struct ring *r, sideband_fn each, void *ctx)
{
	uint64_t head = __atomic_load_n(&r->control->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = r->control->data_tail;

	while (tail < head) {
		struct perf_event_header h;

		memcpy(&h, piece(s, r, tail, sizeof(h)), sizeof(h));
		/* Nothing behind a record without a length can be found. */
		if (h.size < sizeof(h) || h.size > head - tail) {
			s->stat.n_malformed++;
			tail = head;
			break;
		}
		take(s, piece(s, r, tail, h.size), h.size, each, ctx);
		tail += h.size;
	}
	__atomic_store_n(&r->control->data_tail, tail, __ATOMIC_RELEASE);
}

void sideband__drain(struct sideband *s, sideband_fn each, void *ctx)
{
	for (size_t i = 0; i < s->rings.n; i++)
		drain_ring(s, &s->rings.v[i], each, ctx);
}

struct sideband_stat sideband__stat(const struct sideband *s)
{
	struct sideband_stat stat = s->stat;

	stat.n_cpus = (uint32_t)s->rings.n;
	return stat;
}
