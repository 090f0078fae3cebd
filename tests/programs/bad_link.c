/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/programs/bad_link.c - a slow link that loses packets, between two network namespaces; no kernel needs netem
 *
 *	bad_link NAMESPACE NAMESPACE DELAY_MS LOSS_PER_MILLE SEED
 *
 * In each of the two (a file as /run/netns/a) it makes an interface `bad`, to be given an address and set up by whoever
 * started this, and says "ready". What goes into one comes out of the other that much later, or never. On SIGTERM it ends,
 * the interfaces with it, and says how many packets there were, and how many of them it lost. It ends after ten minutes in
 * any case.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { PACKET_MAX = 2048, QUEUE_MAX = 4096 };

struct packet {
	int64_t due_ns;
	size_t n;
	char data[PACKET_MAX];
};

/* What came in at an interface, in order, until it goes out at the other. */
struct way {
	struct packet queue[QUEUE_MAX];
	size_t first, n;
	int out;
};

static struct way ways[2];
static volatile sig_atomic_t ends;

static void on_signal(int number)
{
	(void)number;
	ends = 1;
}

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static void die(const char *what)
{
	fprintf(stderr, "bad_link: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* The device belongs to the namespace in which it is opened. */
static int open_in(const char *namespace)
{
	struct ifreq request = { .ifr_name = "bad", .ifr_flags = IFF_TUN | IFF_NO_PI };
	int ns = open(namespace, O_RDONLY | O_CLOEXEC), tun;

	if (ns < 0 || setns(ns, CLONE_NEWNET) < 0)
		die(namespace);
	close(ns);
	tun = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (tun < 0 || ioctl(tun, TUNSETIFF, &request) < 0)
		die("/dev/net/tun");
	return tun;
}

/* Knuth's MMIX: the same packets of a row are lost with the same seed. */
static uint32_t draw(uint64_t *seed)
{
	*seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(*seed >> 33);
}

int main(int argc, char **argv)
{
	struct pollfd in[2];
	uint64_t seed, n_packets = 0, n_lost = 0;
	int64_t delay_ns;
	uint32_t loss;

	if (argc != 6) {
		fprintf(stderr, "bad_link NAMESPACE NAMESPACE DELAY_MS LOSS_PER_MILLE SEED\n");
		return 2;
	}
	signal(SIGTERM, on_signal);
	alarm(600);
	delay_ns = atoll(argv[3]) * 1000000;
	loss = (uint32_t)atoi(argv[4]);
	seed = strtoull(argv[5], NULL, 10);
	for (int i = 0; i < 2; i++)
		in[i] = (struct pollfd){ .fd = open_in(argv[1 + i]), .events = POLLIN };
	ways[0].out = in[1].fd;
	ways[1].out = in[0].fd;
	puts("ready");
	fflush(stdout);
	while (!ends) {
		int64_t now = now_ns(), wait_ns = INT64_C(1000000000);

		for (int i = 0; i < 2; i++) {
			struct way *w = &ways[i];
			struct packet *p;

			while (w->n > 0 && (p = &w->queue[w->first])->due_ns <= now) {
				/* An interface that is down takes none: lost, as on a wire. */
				if (write(w->out, p->data, p->n) < 0)
					n_lost++;
				w->first = (w->first + 1) % QUEUE_MAX;
				w->n--;
			}
			if (w->n > 0 && w->queue[w->first].due_ns - now < wait_ns)
				wait_ns = w->queue[w->first].due_ns - now;
		}
		/* Rounded up: not to come too early, again and again. */
		if (poll(in, 2, (int)(wait_ns / 1000000 + 1)) <= 0)
			continue;
		now = now_ns();
		for (int i = 0; i < 2; i++) {
			struct way *w = &ways[i];
			struct packet *p = &w->queue[(w->first + w->n) % QUEUE_MAX];
			ssize_t n;

			while (w->n < QUEUE_MAX && (n = read(in[i].fd, p->data, PACKET_MAX)) > 0) {
				n_packets++;
				if (draw(&seed) % 1000 < loss) {
					n_lost++;
					continue;
				}
				p->n = (size_t)n;
				p->due_ns = now + delay_ns;
				w->n++;
				p = &w->queue[(w->first + w->n) % QUEUE_MAX];
			}
			if (in[i].revents & POLLERR)
				usleep(1000); /* not up yet */
		}
	}
	printf("%llu packets, %llu lost\n", (unsigned long long)n_packets, (unsigned long long)n_lost);
	return 0;
}
