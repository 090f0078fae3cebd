/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_ebpf_tables_threads.c - tables are made, walked, taken away and made again at the same time
 *
 * Some threads announce images, bind their mappings to files and let them go; others walk stacks of
 * any content by them; one lets time pass, so that what nobody uses makes room: there is too little
 * for all files. TSan sees who announces, binds, makes and takes away; of the walks, which read beside
 * what they look for (native.c), only ASan sees what they read that is no table.
 */
#include "tests/unit/ebpf_memory.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "plugins/input/ebpf/tables/state.h" /* time is let pass with its lock */
#include "tests/unit/random.h"

enum {
	FILES = 200, /* more than the heap has room for */
	MIN_FILE = 64 << 10,
	MAX_FILE = 4 << 20,
	WORKING_SET = 24, /* files that images have at a time */
	IMAGES = 8,
	RANGES = 6,
	CODE_BYTES = 256 << 10, /* of a mapping */
	ROUNDS = 500,		/* at least, of each thread, */
	EVICTIONS = 3,		/* until so many tables were taken away, */
	TICKS = 120000,		/* or so much time has passed */
	FRAMES = 200,
	STACK_BYTES = 2048,
};

struct file {
	int fd;
	char build_id[40];
};

struct fixture {
	struct ebpf_memory memory;
	struct tables *tables;
	struct file files[FILES];
	uint32_t n_files;
	_Atomic uint32_t n_announced, n_walked, n_unknown, n_pending, n_faults;
	_Atomic uint32_t first; /* of the working set */
	_Atomic bool done;
};

struct worker {
	struct fixture *f;
	struct random seed;
	pthread_t thread;
};

/* With a build id of its own; takes the descriptor. */
static void add_file(struct fixture *f, int fd)
{
	struct file *file = &f->files[f->n_files];

	file->fd = fd;
	snprintf(file->build_id, sizeof(file->build_id), "file%u", f->n_files++);
}

/* Libraries of this machine, or of another processor's. */
static void collect(struct fixture *f, const char *pattern)
{
	glob_t g;

	if (glob(pattern, 0, NULL, &g) == 0)
		for (size_t i = 0; i < g.gl_pathc && f->n_files < FILES; i++) {
			struct stat st;
			int fd = open(g.gl_pathv[i], O_RDONLY | O_CLOEXEC);

			if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
			    st.st_size < MIN_FILE || st.st_size > MAX_FILE) {
				close(fd);
				continue;
			}
			add_file(f, fd);
		}
	globfree(&g);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct tables_memory memory = ebpf_memory__of(&f->memory);

	collect(f, "/usr/lib/*-linux-gnu/lib*.so.*");
	collect(f, "/usr/lib/lib*.so.*");
	/* The same under more names, where there are not enough. */
	for (uint32_t i = 0; f->n_files >= WORKING_SET && f->n_files < FILES; i++)
		add_file(f, dup(f->files[i].fd));
	f->tables = tables__new(&memory, 1);
	assert_non_null(f->tables);
	assert_int_equal(tables__start(f->tables), 0);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	tables__free(f->tables);
	for (uint32_t i = 0; i < f->n_files; i++)
		close(f->files[i].fd);
	free(f);
	return 0;
}

/* The same in all threads: pid and pages of an image are known by its number. */
static struct tables_image image_of(uint32_t i)
{
	return (struct tables_image){ .pid = 100 + i, .start_ns = 1 + i, .exec_id = 1 };
}
static uint64_t start_of(uint32_t range)
{
	return 0x400000 + (uint64_t)range * 2 * CODE_BYTES;
}

/* So that others come to their turn. */
static void rest(long ms)
{
	nanosleep(&(struct timespec){ .tv_nsec = ms * 1000000 }, NULL);
}

static void *announce(void *arg)
{
	struct worker *w = arg;
	struct fixture *f = w->f;

	for (int i = 0; i < ROUNDS || !f->done; i++) {
		const struct tables_image image = image_of((uint32_t)random__below(&w->seed, IMAGES));
		struct tables_range ranges[RANGES];
		const struct file *files[RANGES];

		for (uint32_t k = 0; k < RANGES; k++) {
			files[k] = &f->files[(f->first + random__below(&w->seed, WORKING_SET)) % f->n_files];
			ranges[k] = (struct tables_range){ start_of(k), start_of(k) + CODE_BYTES, 0,
							   TABLES_PENDING, NULL };
			if (tables__file(f->tables, files[k]->build_id, files[k]->fd) < 0)
				f->n_faults++;
			if (random__below(&w->seed, 2)) {
				ranges[k].code = TABLES_FILE;
				ranges[k].build_id = files[k]->build_id;
			}
		}
		const int r = tables__announce(f->tables, &image, 1 + random__below(&w->seed, 9),
					       ranges, RANGES);

		if (r < 0 && r != -ENOSPC)
			f->n_faults++;
		/* Another thread may have announced something else of it, or let it go. */
		for (uint32_t k = 0; k < RANGES; k++)
			tables__bind(f->tables, &image, start_of(k), TABLES_FILE, files[k]->build_id);
		if (random__below(&w->seed, 8) == 0)
			tables__gone(f->tables, &image);
		f->n_announced++;
		rest(5); /* what was announced before rests for a second, and takes room meanwhile */
	}
	return NULL;
}

/* A stack of return addresses into the mappings, and of places in itself. */
static void fill(struct random *seed, struct sampler_raw *raw)
{
	uint64_t *stack = (uint64_t *)(raw + 1);

	memset(raw, 0, sizeof(*raw));
	raw->start = 0x7ffd00000000;
	raw->n_bytes = STACK_BYTES;
	for (uint32_t k = 0; k < STACK_BYTES / 8; k++)
		stack[k] = random__below(seed, 2) ? start_of((uint32_t)random__below(seed, RANGES)) +
							    random__below(seed, CODE_BYTES)
						  : raw->start + random__below(seed, STACK_BYTES);
	for (int k = 0; k < SAMPLER_REGS; k++)
		raw->regs[k] = raw->start + random__below(seed, STACK_BYTES);
	raw->pc = start_of((uint32_t)random__below(seed, RANGES)) + random__below(seed, CODE_BYTES);
}

static void *walk(void *arg)
{
	struct worker *w = arg;
	struct fixture *f = w->f;
	struct sampler_raw *raw = malloc(sizeof(*raw) + STACK_BYTES);

	for (int i = 0; i < ROUNDS || !f->done; i++) {
		const struct tables_image image = image_of((uint32_t)random__below(&w->seed, IMAGES));
		struct tables_walk walk;
		uint64_t frames[FRAMES];

		fill(&w->seed, raw);
		const int r = tables__walk(f->tables, &image, raw, frames, FRAMES, &walk);

		if (r == -ESRCH)
			f->n_unknown++;
		else if (r < 0 || walk.n < 1 || walk.n > FRAMES || walk.outcome >= SAMPLER_OUTCOME_N)
			f->n_faults++;
		else if (walk.outcome == SAMPLER_OUTCOME_PENDING)
			f->n_pending++;
		else
			f->n_walked++;
		if (i % 16 == 0)
			rest(1);
	}
	free(raw);
	return NULL;
}

static void *pass_time(void *arg)
{
	struct worker *w = arg;
	struct fixture *f = w->f;
	uint64_t before = 0;

	for (int i = 0; i < TICKS && !f->done; i++) {
		const uint64_t changes = tables__changes(f->tables);
		const struct tables_stat stat = tables__stat(f->tables);

		if (changes < before || stat.n_ready > stat.n_files)
			f->n_faults++;
		before = changes;
		f->done = stat.evictions >= EVICTIONS && f->n_walked >= ROUNDS;
		tables__woken(f->tables);
		/* Now and then the time of an epoch is over, and other files are in use. */
		if (random__below(&w->seed, 20) == 0) {
			f->first += WORKING_SET / 4;
			pthread_mutex_lock(&f->tables->bg.lock);
			f->tables->epoch_ns = 0;
			pthread_mutex_unlock(&f->tables->bg.lock);
		}
		tables__tick(f->tables);
		rest(1);
	}
	f->done = true;
	return NULL;
}

static void test_all_at_once(void **state)
{
	void *(*const bodies[])(void *) = { pass_time, announce, announce, walk, walk };
	enum { N = sizeof(bodies) / sizeof(*bodies) };
	struct fixture *f = *state;
	struct worker workers[N];

	if (f->n_files < WORKING_SET)
		skip_because("this machine has %u libraries that are small enough", f->n_files);
	for (uint32_t i = 0; i < N; i++) {
		workers[i] = (struct worker){ .f = f, .seed = { i } };
		assert_int_equal(pthread_create(&workers[i].thread, NULL, bodies[i], &workers[i]), 0);
	}
	for (uint32_t i = 0; i < N; i++)
		pthread_join(workers[i].thread, NULL);
	const struct tables_stat stat = tables__stat(f->tables);

	fprintf(stderr, "note: %u announced, %u walked, %u waited, %u not known; %llu tables made, %llu taken away\n",
		f->n_announced, f->n_walked, f->n_pending, f->n_unknown,
		(unsigned long long)stat.builds, (unsigned long long)stat.evictions);
	assert_int_equal(f->n_faults, 0);
	assert_true(f->n_announced >= 2 * ROUNDS && f->n_walked >= ROUNDS && stat.evictions >= EVICTIONS);
	/* Nothing of the images is left behind. */
	for (uint32_t i = 0; i < IMAGES; i++) {
		const struct tables_image image = image_of(i);

		tables__gone(f->tables, &image);
	}
	assert_int_equal(tables__stat(f->tables).n_images, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_all_at_once, setup, teardown),
	};

	return cmocka_run_group_tests_name("tables_threads", tests, NULL, NULL);
}
