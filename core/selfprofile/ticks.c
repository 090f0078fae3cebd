/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/selfprofile/ticks.c - stacks of this process's own threads, one for each 10 ms of CPU that one takes
 *
 * The handler touches its own stack, atomics, and the logs of recordings, which it takes room in by
 * one addition. A log is freed when it is in no place any more and nobody is inside the handler.
 * Signals belong to the process, and so does what the handler must find without an argument: `here`
 * is the one static state of core/. The handler stays installed, because a signal may still be on its way
 * when the last timer has gone, and would end the process.
 *
 * What the handler reads of a stack lies between the interrupted stack pointer and the stack's end: the
 * thread pointer, which pthread_create() puts at the top of each stack that it makes (also of one
 * that it was given), and of the first thread the end of [stack]. So no frame pointer, however
 * wrong, makes it read what is not there.
 *
 * Sources: timer_create(2), SIGEV_THREAD_ID; clock ids of threads: Linux include/linux/posix-timers.h;
 * Go's runtime/signal_unix.go, setThreadCPUProfilerHz.
 */
#include "core/selfprofile/ticks.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/base/mem.h"
#include "core/base/vec.h"

/* 100 samples a second of 20 frames for a minute on each of four CPUs. */
#define LOG_WORDS ((uint64_t)512 << 10)

enum { HEAD_WORDS = 2, MAX_PERIODS = 0xffff };

/* glibc's names for struct sigevent's union came late. */
#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

struct thread {
	uint32_t tid;
	timer_t timer;
	bool has_timer, is_seen;
	char name[16];
};

/* A log is words: a head (depth, periods, tid), the word on top of the stack, the addresses. Zeroes end it. */
struct ticks {
	uint64_t *words; /* [LOG_WORDS] */
	_Atomic uint64_t n_taken, n_lost;
	uint32_t place;
	bool is_on;
	VEC(struct thread) threads; /* as they were at its end */
};

static struct {
	_Atomic(struct ticks *) logs[TICKS_MAX_RECORDINGS];
	_Atomic uint32_t n_inside;
	_Atomic uintptr_t main_end; /* of the first thread's stack */

	pthread_mutex_t lock; /* of what follows */
	bool is_installed;
	uint32_t n_logs;
	VEC(struct thread) threads;
} here = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* ------------------------------------------------------------------------------------------------
 * In the handler: nothing that may allocate, lock or wait
 */

#define IN_HANDLER __attribute__((no_sanitize("address", "thread", "undefined")))

struct registers {
	uintptr_t pc, fp, sp;
};

#if defined(__x86_64__)
static inline struct registers registers_of(const ucontext_t *c)
{
	return (struct registers){ (uintptr_t)c->uc_mcontext.gregs[REG_RIP],
				   (uintptr_t)c->uc_mcontext.gregs[REG_RBP],
				   (uintptr_t)c->uc_mcontext.gregs[REG_RSP] };
}
static inline uintptr_t thread_pointer(void)
{
	uintptr_t p;

	__asm__("mov %%fs:0, %0" : "=r"(p));
	return p;
}
#elif defined(__aarch64__)
static inline struct registers registers_of(const ucontext_t *c)
{
	return (struct registers){ c->uc_mcontext.pc, c->uc_mcontext.regs[29], c->uc_mcontext.sp };
}
static inline uintptr_t thread_pointer(void)
{
	uintptr_t p;

	__asm__("mrs %0, tpidr_el0" : "=r"(p));
	return p;
}
#else
#error "the registers of this processor are not known to core/selfprofile"
#endif

/* Frames of a stack that ends at `end` (0: nobody knows); frame records are (caller's frame pointer, return address). */
IN_HANDLER static uint32_t walk(const struct registers *r, uintptr_t end,
				uint64_t pcs[static TICKS_MAX_DEPTH])
{
	uintptr_t fp = r->fp, low = r->sp;
	uint32_t n = 1;

	pcs[0] = r->pc;
	while (end && n < TICKS_MAX_DEPTH && fp >= low && fp <= end - 2 * sizeof(uintptr_t) &&
	       fp % sizeof(uintptr_t) == 0) {
		const uintptr_t *record = (const uintptr_t *)fp; /* NOLINT: an address of the stack */

		if (record[1] < 4096)
			break;
		pcs[n++] = record[1] - 1;
		low = fp + 1; /* callers lie above */
		fp = record[0];
	}
	return n;
}

IN_HANDLER static void put(struct ticks *t, const struct tick *tick)
{
	uint64_t at = atomic_fetch_add(&t->n_taken, HEAD_WORDS + tick->n);

	if (at + HEAD_WORDS + tick->n > LOG_WORDS) {
		atomic_fetch_add(&t->n_lost, tick->n_periods);
		return;
	}
	for (uint32_t i = 0; i < tick->n; i++)
		t->words[at + HEAD_WORDS + i] = tick->pcs[i];
	t->words[at + 1] = tick->top;
	t->words[at] = (uint64_t)tick->tid << 32 | (uint64_t)tick->n_periods << 16 | tick->n;
}

/* Of the interrupted thread; 0: nobody knows. */
IN_HANDLER static uintptr_t end_of_stack(uint32_t tid, uintptr_t sp)
{
	uintptr_t end = tid == (uint32_t)getpid() ? atomic_load(&here.main_end) : thread_pointer();

	return end > sp && end - sp >= 2 * sizeof(uintptr_t) ? end : 0;
}

IN_HANDLER static void on_tick(int number, siginfo_t *info, void *context)
{
	const struct registers r = registers_of(context);
	struct tick tick = { .tid = (uint32_t)info->si_value.sival_int, .n_periods = 1 };
	uintptr_t end = end_of_stack(tick.tid, r.sp);
	uint64_t pcs[TICKS_MAX_DEPTH];
	int saved = errno;

	(void)number;
	/* Somebody's kill(1) tells nothing about CPU time. */
	if (info->si_code != SI_TIMER)
		return;
	if (info->si_overrun > 0)
		tick.n_periods += (uint32_t)info->si_overrun < MAX_PERIODS ? (uint32_t)info->si_overrun
									   : MAX_PERIODS - 1;
	tick.n = walk(&r, end, pcs);
	tick.pcs = pcs;
	tick.top = end ? *(const uintptr_t *)r.sp : 0; /* NOLINT: an address of the stack */
	atomic_fetch_add(&here.n_inside, 1);
	for (uint32_t i = 0; i < TICKS_MAX_RECORDINGS; i++) {
		struct ticks *t = atomic_load(&here.logs[i]);

		if (t)
			put(t, &tick);
	}
	atomic_fetch_sub(&here.n_inside, 1);
	errno = saved;
}

/* ------------------------------------------------------------------------------------------------
 * Threads and their timers, with the lock
 */

static void read_name(struct thread *t)
{
	char path[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%u/comm", t->tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	n = read(fd, t->name, sizeof(t->name) - 1);
	close(fd);
	if (n > 0)
		t->name[t->name[n - 1] == '\n' ? n - 1 : n] = '\0';
}

/* A thread that has ended meanwhile has none: nothing is missed. */
static void start_timer(struct thread *t)
{
	struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGPROF };
	struct itimerspec spec = { .it_interval = { .tv_nsec = TICKS_PERIOD_NS } };
	/* The clock of a thread's CPU time: CPUCLOCK_PERTHREAD_MASK | CPUCLOCK_SCHED. */
	clockid_t clock = (clockid_t)(~t->tid << 3 | 4 | 2);

	event.sigev_value.sival_int = (int)t->tid;
	event.sigev_notify_thread_id = (pid_t)t->tid;
	if (timer_create(clock, &event, &t->timer) < 0)
		return;
	/* The first not after a whole period: short threads would never be seen. */
	spec.it_value.tv_nsec = 1 + (long)(t->tid * 2654435761u % (uint32_t)TICKS_PERIOD_NS);
	if (timer_settime(t->timer, 0, &spec, NULL) < 0)
		timer_delete(t->timer);
	else
		t->has_timer = true;
}

static void stop_timer(struct thread *t)
{
	if (t->has_timer)
		timer_delete(t->timer);
	t->has_timer = false;
}

static struct thread *find(uint32_t tid)
{
	for (size_t i = 0; i < here.threads.n; i++)
		if (here.threads.v[i].tid == tid)
			return &here.threads.v[i];
	return NULL;
}

static void meet(uint32_t tid)
{
	struct thread *t = find(tid);
	struct thread new = { .tid = tid, .is_seen = true };

	if (t && t->has_timer) {
		t->is_seen = true;
		return;
	}
	if (!t) {
		if (here.threads.n == TICKS_MAX_THREADS || !vec__push(&here.threads, new))
			return;
		t = &here.threads.v[here.threads.n - 1];
	}
	t->is_seen = true;
	start_timer(t);
	read_name(t);
}

/* The names of those that went stay until the last recording ends: it may have stacks of theirs. */
static void look(void)
{
	DIR *tasks = opendir("/proc/self/task");
	const struct dirent *e;

	if (!tasks)
		return;
	for (size_t i = 0; i < here.threads.n; i++)
		here.threads.v[i].is_seen = false;
	while ((e = readdir(tasks))) {
		char *end;
		unsigned long tid = strtoul(e->d_name, &end, 10);

		if (*end == '\0' && tid > 0 && tid <= INT32_MAX)
			meet((uint32_t)tid);
	}
	closedir(tasks);
	for (size_t i = 0; i < here.threads.n; i++)
		if (!here.threads.v[i].is_seen)
			stop_timer(&here.threads.v[i]);
}

void ticks__look(void)
{
	pthread_mutex_lock(&here.lock);
	if (here.n_logs)
		look();
	pthread_mutex_unlock(&here.lock);
}

/* ------------------------------------------------------------------------------------------------
 * Recordings
 */

static uintptr_t end_of_main_stack(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	unsigned long long low, high, end = 0;
	char line[512];

	while (maps && !end && fgets(line, sizeof(line), maps))
		if (strstr(line, "[stack]") && sscanf(line, "%llx-%llx", &low, &high) == 2)
			end = high;
	if (maps)
		fclose(maps);
	return (uintptr_t)end;
}

static int install(struct dcm_error *err)
{
	struct sigaction action = { .sa_sigaction = on_tick, .sa_flags = SA_SIGINFO | SA_RESTART };

	if (here.is_installed)
		return 0;
	atomic_store(&here.main_end, end_of_main_stack());
	sigfillset(&action.sa_mask);
	if (sigaction(SIGPROF, &action, NULL) < 0)
		return error__sys(err, -errno, "cannot take the signal SIGPROF");
	here.is_installed = true;
	return 0;
}

/* With the lock. */
static int put_in_place(struct ticks *t, struct dcm_error *err)
{
	int r = install(err);

	if (r < 0)
		return r;
	for (t->place = 0; t->place < TICKS_MAX_RECORDINGS; t->place++)
		if (!atomic_load(&here.logs[t->place]))
			break;
	if (t->place == TICKS_MAX_RECORDINGS)
		return error__set(err, -EBUSY, "%d recordings are under way already; ask again when one has ended",
				  TICKS_MAX_RECORDINGS);
	atomic_store(&here.logs[t->place], t);
	t->is_on = true;
	here.n_logs++;
	look();
	return 0;
}

int ticks__begin(struct ticks **ret, struct dcm_error *err)
{
	struct ticks *t = NEW(struct ticks);
	int r;

	if (!t)
		return error__nomem(err);
	/* Zeroes that cost memory only where something is written. */
	t->words = mmap(NULL, LOG_WORDS * sizeof(*t->words), PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (t->words == MAP_FAILED) {
		free(t);
		return error__nomem(err);
	}
	pthread_mutex_lock(&here.lock);
	r = put_in_place(t, err);
	pthread_mutex_unlock(&here.lock);
	if (r < 0) {
		ticks__free(t);
		return r;
	}
	*ret = t;
	return 0;
}

/* Names change until a thread has settled down. */
static void take_names(struct ticks *t)
{
	for (size_t i = 0; i < here.threads.n; i++) {
		read_name(&here.threads.v[i]);
		if (!vec__push(&t->threads, here.threads.v[i]))
			return;
	}
}

void ticks__end(struct ticks *t)
{
	if (!t || !t->is_on)
		return;
	pthread_mutex_lock(&here.lock);
	take_names(t);
	atomic_store(&here.logs[t->place], NULL);
	if (--here.n_logs == 0) {
		for (size_t i = 0; i < here.threads.n; i++)
			stop_timer(&here.threads.v[i]);
		vec__fini(&here.threads);
	}
	pthread_mutex_unlock(&here.lock);
	/* Who took the log before it went is done within microseconds, once it has a CPU. */
	while (atomic_load(&here.n_inside))
		sched_yield();
	t->is_on = false;
}

void ticks__free(struct ticks *t)
{
	if (!t)
		return;
	ticks__end(t);
	munmap(t->words, LOG_WORDS * sizeof(*t->words));
	vec__fini(&t->threads);
	free(t);
}

bool ticks__next(const struct ticks *t, uint64_t *at, struct tick *ret)
{
	uint64_t head = *at < LOG_WORDS ? t->words[*at] : 0;

	if (!head)
		return false;
	*ret = (struct tick){ .tid = (uint32_t)(head >> 32),
			      .n_periods = (uint32_t)(head >> 16 & MAX_PERIODS),
			      .top = t->words[*at + 1],
			      .pcs = &t->words[*at + HEAD_WORDS],
			      .n = (uint32_t)(head & 0xffff) };
	*at += HEAD_WORDS + ret->n;
	return true;
}

uint64_t ticks__n_lost(const struct ticks *t)
{
	return atomic_load(&t->n_lost);
}

void ticks__thread_name(const struct ticks *t, uint32_t tid, char ret[static 16])
{
	ret[0] = '\0';
	for (size_t i = 0; i < t->threads.n; i++)
		if (t->threads.v[i].tid == tid)
			memcpy(ret, t->threads.v[i].name, 16);
}
