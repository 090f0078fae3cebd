/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_ebpf_flush.c - a window becomes a batch: every kind of frame, notes, labels,
 * quality
 *
 * The window is made by hand, the batch by the real builder, and read back as lines of text.
 */
#include "tests/unit/unit.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/str.h"
#include "core/batch/batch.h"
#include "plugins/input/ebpf/flush.h"
#include "tests/unit/ebpf_host.h"
#include "tests/unit/failmalloc.h"

/* Ranges of the process: a file with a build id, one that is gone, JIT code. */
#define FILE_AT 0x100000ull
#define GONE_AT 0x200000ull
#define JIT_AT	0x300000ull
#define KERNEL	0xffffffff81000000ull

struct fixture {
	struct ebpf_host host;
	struct files *files;
	struct flush flush;
	struct aggregate *window;
	struct process process;
	struct file *file, *gone;
	uint32_t series;
	bool kernel_cut; /* of stacks that are added */
};

static struct maps *make_maps(struct fixture *f)
{
	static const char text[] = "100000-110000 r-xp 00002000 08:01 1 /bin/x\n"
				   "200000-210000 r-xp 00000000 08:01 2 /bin/gone\n"
				   "300000-310000 rwxp 00000000 00:00 0 \n";
	struct maps_parser p;
	struct maps *m = NULL;

	assert_int_equal(maps__parse_begin(&p), 0);
	maps__parse(&p, text, sizeof(text) - 1);
	assert_int_equal(maps__parse_end(&p, &m), 0);
	f->file = calloc(1, sizeof(*f->file));
	f->gone = calloc(1, sizeof(*f->gone));
	f->file->refs = f->gone->refs = 1;
	f->file->offer_fd = f->gone->offer_fd = -1;
	f->file->is_code = true;
	f->file->path = strdup("/bin/x");
	strncpy(f->file->build_id, "abcd", 5);
	f->gone->why = DCM_UNNAMED_FILE_GONE;
	f->gone->path = strdup("");
	m->ranges[0].file = f->file;
	m->ranges[1].file = f->gone;
	return m;
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	ebpf_host__init(&f->host);
	f->host.jit_names = true;
	f->files = files__new(&f->host.host);
	f->flush = (struct flush){
		.host = &f->host.host,
		.files = f->files,
		.period_ns = 1000,
		.labels = { .pid = true, .thread_id = true, .thread_name = true, .cpu = true }
	};
	f->window = aggregate__new(1, (struct aggregate_limits){ 0 });
	f->window->start_real_ns = 5000000000;
	f->window->start_mono_ns = 10;
	f->window->end_mono_ns = 1010;
	f->process = (struct process){ .id = { 42, 7, 1000 } };
	f->process.maps = make_maps(f);
	assert_int_equal(aggregate__series(f->window, STR("web"), STR("x"),
					   STR("exe\0/bin/x\0cgroup\0/g\0"), &f->series),
			 0);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	aggregate__free(f->window);
	maps__unref(f->process.maps);
	files__free(f->files);
	ebpf_host__fini(&f->host);
	free(f);
	return 0;
}

/* Adds one sample of that stack; kernel frames are those above the user's half. */
static void sample(struct fixture *f, enum sampler_outcome outcome, bool certain,
		   const uint64_t *frames, size_t n)
{
	struct aggregate_stack s = {
		.frames = frames, .outcome = outcome, .maps_certain = certain, .kernel_cut = f->kernel_cut
	};
	struct aggregate_row row = {
		.series = f->series, .pid = 42, .tid = 43, .cpu = 1, .n_samples = 1, .cpu_ns = 1000
	};

	row.thread_name = intern__add(&f->window->texts, STR("worker"));
	for (size_t i = 0; i < n; i++)
		if (frames[i] >> 63)
			s.n_kernel++;
	s.n_user = (uint16_t)(n - s.n_kernel);
	if (s.n_user)
		assert_int_equal(aggregate__image(f->window, &f->process, f->process.maps, &s.image), 0);
	if (!aggregate__find_stack(f->window, &s, &row.stack))
		assert_int_equal(aggregate__add_stack(f->window, &s, &row.stack), 0);
	assert_int_equal(aggregate__add(f->window, &row), 0);
}
#define SAMPLE(f, outcome, certain, ...)                                                           \
	sample(f, SAMPLER_OUTCOME_##outcome, certain, (const uint64_t[]){ __VA_ARGS__ },           \
	       sizeof((const uint64_t[]){ __VA_ARGS__ }) / 8)

/* ------------------------------------------------------------------------------------------------
 * The batch as text
 */

static void write_frame(struct buf *out, const struct dcm_batch *b, uint32_t id)
{
	static const char *const kinds[] = { "none", "vaddr", "file", "run" };
	static const char *const unnamed[DCM_UNNAMED_N] = {
		[DCM_UNNAMED_STRIPPED] = "stripped",	[DCM_UNNAMED_FILE_GONE] = "gone",
		[DCM_UNNAMED_NO_PERMISSION] = "denied", [DCM_UNNAMED_JIT_NOT_IN_MAP] = "not-in-map",
		[DCM_UNNAMED_KALLSYMS] = "kallsyms",
	};
	const struct dcm_location *l = &b->locations[id];

	if (l->n_lines)
		buf__str(out, b->strings[b->functions[b->lines[l->line_off].function].name]);
	if (l->mapping != DCM_NONE) {
		const struct dcm_mapping *m = &b->mappings[l->mapping];

		buf__printf(out, "{%.*s,%.*s}", STR_ARG(b->strings[m->file]),
			    STR_ARG(b->strings[m->build_id]));
	}
	if (l->addr_kind != DCM_ADDR_NONE)
		buf__printf(out, "%s+%" PRIx64, kinds[l->addr_kind], l->address);
	if (l->process != DCM_NONE)
		buf__printf(out, "@%u.%u", b->processes[l->process].pid,
			    b->processes[l->process].generation);
	if (l->n_lines == 0 && l->unnamed)
		buf__printf(out, "!%s", unnamed[l->unnamed]);
}

/* series|labels|leaf;..;root=value, a line per row */
static void write_batch(struct buf *out, const struct dcm_batch *b)
{
	for (uint32_t p = 0; p < b->n_profiles; p++) {
		const struct dcm_profile *pr = &b->profiles[p];

		for (uint32_t row = 0; row < pr->n_rows; row++) {
			const struct dcm_span *stack = &b->stacks[b->row_stacks[pr->row_off + row]];
			const struct dcm_span *labels = &b->label_sets[b->row_labels[pr->row_off + row]];

			buf__str(out, b->strings[b->types[pr->type_off].name]);
			for (uint32_t i = 0; i < labels->n; i++) {
				const struct dcm_label *l = &b->labels[labels->off + i];

				buf__printf(out, " %.*s=", STR_ARG(b->strings[l->name]));
				if (l->unit == DCM_NONE)
					buf__str(out, b->strings[l->str]);
				else
					buf__printf(out, "%" PRId64, l->num);
			}
			buf__text(out, " | ");
			for (uint32_t i = 0; i < stack->n; i++) {
				if (i)
					buf__byte(out, ';');
				write_frame(out, b, b->stack_locations[stack->off + i]);
			}
			buf__printf(out, " = %" PRId64 "\n", b->values[pr->value_off + row]);
		}
	}
}

static struct dcm_batch *flush(struct fixture *f)
{
	struct dcm_builder *builder = f->host.host.builder_new(&f->host.host, 0);
	struct dcm_error err = DCM_ERROR_INIT;
	struct dcm_batch *batch = NULL;
	int r = flush__batch(&f->flush, f->window, builder, &batch, &err);

	if (r < 0)
		fail_msg("%s", err.text);
	f->host.host.builder_free(builder);
	return batch;
}

static void assert_lines(struct fixture *f, const char *const *lines, size_t n)
{
	struct dcm_batch *batch = flush(f);
	struct buf text = { 0 };

	write_batch(&text, batch);
	for (size_t i = 0; i < n; i++)
		if (!strstr((const char *)text.data, lines[i]))
			fail_msg("no line \"%s\" in:\n%s", lines[i], (const char *)text.data);
	batch__unref(batch);
	buf__fini(&text);
}
#define LINES(f, ...)                                                                              \
	assert_lines(f, (const char *const[]){ __VA_ARGS__ },                                      \
		     sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(const char *))

/* ------------------------------------------------------------------------------------------------
 * Tests
 */

static void test_frames(void **state)
{
	struct fixture *f = *state;

	/*
	 * The leaf's address is its own; a caller's is one less. Page 0 of the kernel is its own,
	 * page 1 a module's.
	 */
	SAMPLE(f, ROOT, true, KERNEL + 0x10, KERNEL + 0x1011, FILE_AT + 0x21, FILE_AT + 0x31,
	       GONE_AT + 0x41);
	SAMPLE(f, ROOT, true, JIT_AT + 0x10, JIT_AT + 0x2011, JIT_AT + 0x1011, FILE_AT + 1);
	LINES(f, "process_cpu cpu=1 pid=42 thread_name=worker tid=43 | kf0{[kernel],",
	      "}vaddr+ffffffff81000010;kf1{[mod],}vaddr+ffffffff81001010;{/bin/x,abcd}file+2021;"
	      "{/bin/x,abcd}file+2030;{/bin/gone,}file+40!gone = 1000\n",
	      "| "
	      "j0{[anon],}run+300010@42.7;j2{[anon],}run+302010@42.7;{[anon],}run+301010@42.7!not-"
	      "in-map;"
	      "{/bin/x,abcd}file+2000 = 1000\n",
	      "decima_quality comm=web | unnamed: process or file ended before it could be read = "
	      "1\n",
	      "decima_quality comm=web | unnamed: JIT code that the perf map does not list = 1\n");
}

static void test_truncated(void **state)
{
	struct fixture *f = *state;

	SAMPLE(f, BAD_FP, true, FILE_AT);
	SAMPLE(f, READ_FAULT, true, FILE_AT);
	/*
	 * An address outside of every mapping: no code when the mappings are certain, else nobody
	 * knows.
	 */
	SAMPLE(f, ROOT, true, FILE_AT, 0x900001, FILE_AT);
	SAMPLE(f, ROOT, false, FILE_AT, 0x900001, FILE_AT + 9);
	/* The leaf was run, whatever the mappings say. */
	SAMPLE(f, ROOT, true, 0x901000, FILE_AT + 1);
	f->host.jit_names = false;
	LINES(f, "| {/bin/x,abcd}file+2000;[truncated: no frame pointer] = 1000\n",
	      "| {/bin/x,abcd}file+2000;[truncated: stack memory not readable] = 1000\n",
	      "| {/bin/x,abcd}file+2000;[truncated: return address is not code] = 1000\n",
	      "| {/bin/x,abcd}file+2000;run+900000@42.7!gone;{/bin/x,abcd}file+2008 = 1000\n",
	      "| run+901000@42.7!gone;{/bin/x,abcd}file+2000 = 1000\n",
	      "decima_quality comm=web | truncated: no frame pointer = 1\n",
	      "decima_quality comm=web | truncated: stack memory not readable = 1\n",
	      "decima_quality comm=web | truncated: return address is not code = 1\n");
}

/* The kernel enters through more than one frame, so one alone is where its unwinder gave up. */
static void test_kernel_stack_of_one_frame(void **state)
{
	struct fixture *f = *state;

	SAMPLE(f, ROOT, true, KERNEL + 0x10, FILE_AT + 1);
	SAMPLE(f, BAD_FP, true, KERNEL + 0x20, FILE_AT + 1);
	SAMPLE(f, ROOT, true, KERNEL + 0x30, KERNEL + 0x41, FILE_AT + 1);
	LINES(f,
	      "}vaddr+ffffffff81000010;[truncated: the kernel's unwinder ends here];"
	      "{/bin/x,abcd}file+2001 = 1000\n",
	      "}vaddr+ffffffff81000020;[truncated: the kernel's unwinder ends here];"
	      "{/bin/x,abcd}file+2001;[truncated: no frame pointer] = 1000\n",
	      "}vaddr+ffffffff81000040;{/bin/x,abcd}file+2001 = 1000\n",
	      "decima_quality comm=web | truncated: the kernel's unwinder ends here = 1\n",
	      "decima_quality comm=web | truncated: no frame pointer = 1\n");
}

/* As many frames as the kernel gives are no whole stack, and the reason is the bound that holds. */
static void test_kernel_stack_is_cut(void **state)
{
	uint64_t frames[SAMPLER_KERNEL_FRAMES + 1];
	struct fixture *f = *state;

	f->kernel_cut = true;
	SAMPLE(f, ROOT, true, KERNEL + 0x30, KERNEL + 0x41, FILE_AT + 1);
	SAMPLE(f, ROOT, true, KERNEL + 0x50, FILE_AT + 1);
	for (size_t i = 0; i < SAMPLER_KERNEL_FRAMES; i++)
		frames[i] = KERNEL + 0x61;
	frames[SAMPLER_KERNEL_FRAMES] = FILE_AT + 1;
	sample(f, SAMPLER_OUTCOME_ROOT, true, frames, SAMPLER_KERNEL_FRAMES + 1);
	LINES(f,
	      "}vaddr+ffffffff81000040;[truncated: kernel stack deeper than "
	      "kernel.perf_event_max_stack];{/bin/x,abcd}file+2001 = 1000\n",
	      "}vaddr+ffffffff81000050;[truncated: kernel stack deeper than "
	      "kernel.perf_event_max_stack];{/bin/x,abcd}file+2001 = 1000\n",
	      "}vaddr+ffffffff81000060;[truncated: kernel stack deeper than 127];"
	      "{/bin/x,abcd}file+2001 = 1000\n",
	      "decima_quality comm=web | truncated: kernel stack deeper than "
	      "kernel.perf_event_max_stack = 2\n");
}

static void test_maps_unknown(void **state)
{
	struct fixture *f = *state;
	struct maps *maps = f->process.maps;

	f->process.maps = NULL;
	f->process.why = DCM_UNNAMED_NO_PERMISSION;
	SAMPLE(f, ROOT, false, FILE_AT, FILE_AT + 1);
	f->process.maps = maps;
	maps->wrong = true;
	SAMPLE(f, ROOT, true, FILE_AT + 4);
	LINES(f, "| run+100000@42.7!denied;run+100000@42.7!denied = 1000\n",
	      "| run+100004@42.7!gone = 1000\n", "unnamed: not readable by Decima = 1\n");
}

/* What was heard of BPF programs goes before what the host has read of them. */
static void test_bpf_program_that_is_new(void **state)
{
	struct fixture *f = *state;
	struct perf_record r = { .kind = PERF_RECORD_OF_SYMBOL,
				 .start = KERNEL + 0x100,
				 .end = KERNEL + 0x140,
				 .name = STR("bpf_prog_12_x") };

	f->flush.symbols = ksymbols__new();
	ksymbols__add(f->flush.symbols, &r);
	SAMPLE(f, NONE, false, KERNEL + 0x110, KERNEL + 0x141);
	LINES(f, "| bpf_prog_12_x{[bpf],", ";kf0{[kernel],");
	ksymbols__free(f->flush.symbols);
	f->flush.symbols = NULL;
}

static void test_kernel_without_symbols(void **state)
{
	struct fixture *f = *state;

	f->host.kernel_answer = -EACCES;
	SAMPLE(f, NONE, false, KERNEL, KERNEL + 0x11);
	LINES(f, "}vaddr+ffffffff81000000!kallsyms;", "unnamed: kernel symbols are hidden = 1\n");
	assert_int_equal(f->flush.kallsyms_error, -EACCES);
}

static void test_kernel_address_without_a_symbol(void **state)
{
	struct fixture *f = *state;

	f->host.kernel_answer = -ENOENT;
	SAMPLE(f, NONE, false, KERNEL, KERNEL + 0x11);
	LINES(f, "}vaddr+ffffffff81000000!stripped;");
	assert_int_equal(f->flush.kallsyms_error, 0);
}

/* A sandbox shows an empty file in its place, with the rights that it takes. */
static void test_kernel_with_an_empty_list(void **state)
{
	struct fixture *f = *state;

	f->host.kernel_answer = -ENODATA;
	SAMPLE(f, NONE, false, KERNEL, KERNEL + 0x11);
	LINES(f, "}vaddr+ffffffff81000000!kallsyms;", "unnamed: kernel symbols are hidden = 1\n");
	assert_int_equal(f->flush.kallsyms_error, -ENODATA);
}

static void test_overflow_and_losses(void **state)
{
	struct fixture *f = *state;
	struct aggregate_row row = { .series = f->series, .pid = 42, .n_samples = 3, .cpu_ns = 3000 };

	assert_int_equal(aggregate__add(f->window, &row), 0);
	f->window->lost[AGGREGATE_LOSS_RING_FULL] = 5;
	f->window->lost[AGGREGATE_LOSS_BUSY] = 2;
	f->window->lost[AGGREGATE_LOSS_NOT_RUN] = 7;
	f->window->lost[AGGREGATE_LOSS_THROTTLED] = 9;
	LINES(f, "process_cpu | [overflow] = 3000\n",
	      "decima_quality comm=web | truncated: more different stacks than a window holds = "
	      "3\n",
	      "decima_quality | lost: ring buffer full = 5\n",
	      "decima_quality | lost: interrupted another sample = 2\n",
	      "decima_quality | lost: the kernel did not run the sampler (another BPF program ran, "
	      "or "
	      "late timers) = 7\n",
	      "decima_quality | lost: the kernel held up the timer "
	      "(kernel.perf_event_max_sample_rate) = 9\n");
}

/* Each by itself is something to tell, in words of its own. */
static void test_every_loss(void **state)
{
	struct fixture *f = *state;
	char seen[AGGREGATE_LOSS_N][128];

	for (int i = 0; i < AGGREGATE_LOSS_N; i++) {
		struct buf text = { 0 };
		struct dcm_batch *b;

		memset(f->window->lost, 0, sizeof(f->window->lost));
		f->window->lost[i] = 11;
		b = flush(f);
		assert_non_null(b);
		write_batch(&text, b);
		assert_int_equal(sscanf((const char *)text.data,
					"decima_quality | lost: %127[^=]= 11", seen[i]),
				 1);
		for (int k = 0; k < i; k++)
			assert_string_not_equal(seen[i], seen[k]);
		batch__unref(b);
		buf__fini(&text);
	}
}

static void test_profile(void **state)
{
	struct fixture *f = *state;
	struct dcm_batch *b;
	uint32_t other;

	f->flush.labels = (struct settings_labels){ 0 };
	SAMPLE(f, ROOT, true, FILE_AT);
	assert_int_equal(aggregate__series(f->window, STR("other"), STR("o"), STR(""), &other), 0);
	f->series = other;
	SAMPLE(f, ROOT, true, FILE_AT);
	b = flush(f);
	assert_int_equal(b->n_profiles, 2);
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(b->profiles[i].time_ns, 5000000000);
		assert_int_equal(b->profiles[i].duration_ns, 1000);
		assert_int_equal(b->profiles[i].period, 1000);
		assert_int_equal(b->profiles[i].n_rows, 1);
		assert_int_equal(b->row_labels[b->profiles[i].row_off], 0);
		assert_int_equal(b->types[b->profiles[i].type_off].temporality, DCM_DELTA);
	}
	assert_true(
		str__eq(batch__series_label(b, b->profiles[0].series, STR("comm")), STR("web")));
	assert_true(
		str__eq(batch__series_label(b, b->profiles[0].series, STR("exe")), STR("/bin/x")));
	assert_true(
		str__eq(batch__series_label(b, b->profiles[0].series, STR("cgroup")), STR("/g")));
	assert_true(str__eq(batch__series_label(b, b->profiles[0].series, STR("service_name")), STR("x")));
	assert_true(str__eq(batch__series_label(b, b->profiles[1].series, STR("exe")), STR("")));
	batch__unref(b);
}

/* Windows that follow one another add up to the time between, wherever in a millisecond they end. */
static void test_lengths_are_whole_ms(void **state)
{
	static const int64_t ends[] = { 1999999, 10003999999, 20004000000, 30003000001 };
	struct fixture *f = *state;
	int64_t sum_ns = 0;

	for (int i = 0; i < 3; i++) {
		f->window->start_mono_ns = ends[i];
		f->window->end_mono_ns = ends[i + 1];
		SAMPLE(f, ROOT, true, FILE_AT);
		struct dcm_batch *b = flush(f);

		assert_int_equal(b->profiles[0].duration_ns % 1000000, 0);
		sum_ns += b->profiles[0].duration_ns;
		batch__unref(b);
	}
	assert_int_equal(sum_ns, 30002000000);
}

static void test_nothing(void **state)
{
	struct fixture *f = *state;

	assert_null(flush(f));
	f->window->n_reduced = 4;
	f->window->reduced_why = "over a budget";
	f->window->reduced_hz = 49;
	LINES(f, "decima_quality frequency=49 | reduced: over a budget = 4\n");
}

static void test_no_memory(void **state)
{
	struct fixture *f = *state;
	struct dcm_builder *builder = f->host.host.builder_new(&f->host.host, 0);

	SAMPLE(f, ROOT, true, KERNEL, KERNEL + 0x1000, FILE_AT, JIT_AT, GONE_AT);
	SAMPLE(f, BAD_FP, true, FILE_AT, JIT_AT + 0x1000, 0x900000);
	FAILMALLOC_SWEEP (i) {
		struct dcm_error err = DCM_ERROR_INIT;
		struct dcm_batch *b = NULL;
		int r = flush__batch(&f->flush, f->window, builder, &b, &err);

		failmalloc__disarm();
		if (r == 0) {
			assert_int_equal(b->n_rows, 2 + 3);
			batch__unref(b);
			continue;
		}
		assert_int_equal(r, -ENOMEM);
		assert_null(b);
	}
	f->host.host.builder_free(builder);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_frames),
		TEST(test_truncated),
		TEST(test_kernel_stack_of_one_frame),
		TEST(test_kernel_stack_is_cut),
		TEST(test_maps_unknown),
		TEST(test_bpf_program_that_is_new),
		TEST(test_kernel_without_symbols),
		TEST(test_kernel_address_without_a_symbol),
		TEST(test_kernel_with_an_empty_list),
		TEST(test_overflow_and_losses),
		TEST(test_every_loss),
		TEST(test_profile),
		TEST(test_lengths_are_whole_ms),
		TEST(test_nothing),
		TEST(test_no_memory),
	};

	return cmocka_run_group_tests_name("ebpf_flush", tests, NULL, NULL);
}
