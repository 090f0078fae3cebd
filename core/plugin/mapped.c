/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/plugin/mapped.c - files in memory that may not end the process
 *
 * Mappings stand in slots of groups that are never freed, so that the handler can walk them at any
 * moment. A slot's end is set before its begin and its begin taken away first: who sees a begin
 * sees the end that belongs to it, or, while the slot changes hands, one that was right a moment
 * ago, which nobody touches then.
 *
 * mmap(2) is not on POSIX's list of functions for handlers; on Linux it is a system call and no
 * more.
 */
#include "core/plugin/mapped.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/mem.h"

enum { GROUP_SLOTS = 256 };

struct slot {
	_Atomic uintptr_t begin; /* 0: free */
	_Atomic uintptr_t end;
};

struct group {
	struct slot slots[GROUP_SLOTS];
	struct group *_Atomic next;
};

static struct group first;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* around changes of the slots */
static struct sigaction before;				 /* ours was installed */
static bool installed;
static uintptr_t page_bytes;
static _Atomic uint64_t n_lost;

static bool is_mapped(uintptr_t at)
{
	for (struct group *g = &first; g; g = atomic_load(&g->next))
		for (unsigned i = 0; i < GROUP_SLOTS; i++) {
			const uintptr_t begin = atomic_load(&g->slots[i].begin);

			if (begin && at >= begin && at < atomic_load(&g->slots[i].end))
				return true;
		}
	return false;
}

/* What would have happened without us; the instruction is tried again where that is the default. */
static void pass_on(int number, siginfo_t *info, void *context)
{
	if (before.sa_flags & SA_SIGINFO && before.sa_sigaction)
		before.sa_sigaction(number, info, context);
	else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN)
		before.sa_handler(number);
	else
		signal(number, SIG_DFL);
}

static void on_sigbus(int number, siginfo_t *info, void *context)
{
	const int error = errno;
	const uintptr_t at = (uintptr_t)info->si_addr;
	bool mended = false;

	/* Positive codes are the kernel's: what kill(2) sends has no address. */
	if (info->si_code > 0 && is_mapped(at))
		mended = mmap((void *)(at & ~(page_bytes - 1)), page_bytes, PROT_READ,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED;
	if (mended)
		atomic_fetch_add(&n_lost, 1);
	else
		pass_on(number, info, context);
	errno = error;
}

/* With the lock. */
static int install(void)
{
	struct sigaction ours = { .sa_sigaction = on_sigbus,
				  .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART };

	if (installed)
		return 0;
	page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
	sigemptyset(&ours.sa_mask);
	if (sigaction(SIGBUS, &ours, &before) < 0)
		return -errno;
	installed = true;
	return 0;
}

/* With the lock. NULL: memory ran out. */
static struct slot *find_free(void)
{
	struct group *g = &first;

	for (;;) {
		for (unsigned i = 0; i < GROUP_SLOTS; i++)
			if (!atomic_load(&g->slots[i].begin))
				return &g->slots[i];
		struct group *next = atomic_load(&g->next);

		if (!next) {
			next = NEW(struct group);
			if (!next)
				return NULL;
			atomic_store(&g->next, next);
		}
		g = next;
	}
}

int mapped__add(int fd, size_t n, const uint8_t **ret)
{
	void *p = mmap(NULL, n, PROT_READ, MAP_SHARED, fd, 0);
	int r;

	if (p == MAP_FAILED)
		return -errno;
	pthread_mutex_lock(&lock);
	r = install();
	struct slot *slot = r ? NULL : find_free();
	if (slot) {
		atomic_store(&slot->end, (uintptr_t)p + n);
		atomic_store(&slot->begin, (uintptr_t)p);
	}
	pthread_mutex_unlock(&lock);
	if (!slot) {
		munmap(p, n);
		return r ? r : -ENOMEM;
	}
	*ret = p;
	return 0;
}

static void forget(uintptr_t begin)
{
	for (struct group *g = &first; g; g = atomic_load(&g->next))
		for (unsigned i = 0; i < GROUP_SLOTS; i++)
			if (atomic_load(&g->slots[i].begin) == begin) {
				atomic_store(&g->slots[i].begin, 0);
				return;
			}
}

void mapped__remove(const uint8_t *p, size_t n)
{
	if (!p)
		return;
	/* Off the list first: what is mapped at this address next is somebody else's. */
	pthread_mutex_lock(&lock);
	forget((uintptr_t)p);
	pthread_mutex_unlock(&lock);
	munmap((void *)(uintptr_t)p, n);
}

uint64_t mapped__n_lost(void)
{
	return atomic_load(&n_lost);
}
