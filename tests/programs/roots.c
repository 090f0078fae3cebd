/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/programs/roots.c - how many frames stand above main(), and above a thread's function
 *
 * Says both numbers, as libgcc's unwinder counts them.
 */
#include <pthread.h>
#include <stdio.h>
#include <unwind.h>

static _Unwind_Reason_Code count(struct _Unwind_Context *context, void *n)
{
	/* It ends with an address that is none. */
	*(int *)n += _Unwind_GetIP(context) != 0;
	return _URC_NO_REASON;
}

static void *thread_main(void *n)
{
	_Unwind_Backtrace(count, n);
	return n;
}

int main(void)
{
	/* The frame that asks is not above itself. */
	int n = -1, n_thread = -1;
	pthread_t thread;

	_Unwind_Backtrace(count, &n);
	if (pthread_create(&thread, NULL, thread_main, &n_thread) != 0 || pthread_join(thread, NULL) != 0)
		return 1;
	printf("%d %d\n", n, n_thread);
	return 0;
}
