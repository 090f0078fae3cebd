/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_log.c - one line per call, whatever is in it; JSON lines are JSON
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "core/base/log.h"
#include "core/base/log_tail.h"
#include "core/base/str.h"
#include "core/base/units.h"
#include "core/main/log_setup.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

/* A log into a pipe, and what came out of it. */
struct capture {
	struct log log;
	int fd;
	char text[8192];
};

static void capture_init(struct capture *c, enum log_format format, int level)
{
	int fds[2];

	assert_int_equal(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
	*c = (struct capture){ .log = { .fd = fds[1], .format = format, .level = level }, .fd = fds[0] };
}

static const char *captured(struct capture *c)
{
	ssize_t n = read(c->fd, c->text, sizeof(c->text) - 1);

	c->text[n > 0 ? n : 0] = '\0';
	return c->text;
}

static void capture_fini(struct capture *c)
{
	close(c->fd);
	close(c->log.fd);
}

static void test_formats(void **state)
{
	struct capture c;
	const char *text;

	(void)state;
	capture_init(&c, LOG_TEXT, DCM_LOG_INFO);
	log__line(&c.log, DCM_LOG_WARNING, "ebpf", "n is %d", 7);
	text = captured(&c);
	for (int i = 0; i < 8; i++)
		assert_true(i % 3 == 2 ? text[i] == ':' : text[i] >= '0' && text[i] <= '9');
	assert_string_equal(text + 8, " warning ebpf: n is 7\n");
	capture_fini(&c);

	capture_init(&c, LOG_KERNEL, DCM_LOG_DEBUG);
	for (int level = DCM_LOG_ERROR; level <= DCM_LOG_DEBUG; level++)
		log__line(&c.log, level, "a", "x");
	assert_string_equal(captured(&c), "<3>a: x\n<4>a: x\n<6>a: x\n<7>a: x\n");
	capture_fini(&c);
}

static void test_levels(void **state)
{
	const struct log_area areas[] = { { "loud", DCM_LOG_DEBUG }, { "quiet", DCM_LOG_ERROR } };
	static const char *const asked[] = { "loud", "quiet", "other" };
	static const int limits[] = { DCM_LOG_DEBUG, DCM_LOG_ERROR, DCM_LOG_INFO };
	struct capture c;

	(void)state;
	capture_init(&c, LOG_KERNEL, DCM_LOG_INFO);
	c.log.areas = areas;
	c.log.n_areas = 2;
	for (int i = 0; i < 3; i++) {
		for (int l = DCM_LOG_ERROR; l <= DCM_LOG_DEBUG; l++) {
			log__line(&c.log, l, asked[i], "x");
			assert_int_equal(captured(&c)[0] != '\0', l <= limits[i]);
		}
	}
	log__line(&c.log, -1, "loud", "x");
	log__line(&c.log, 99, "loud", "x");
	assert_string_equal(captured(&c), "");
	capture_fini(&c);
}

static const char *member(const json_t *json, const char *name)
{
	const char *value = json_string_value(json_object_get(json, name));

	assert_non_null(value);
	return value;
}

/* Random bytes as area and message: one line always, and in JSON they come back but for '?'. */
static void test_hostile_text(void **state)
{
	static const char bytes[] = "ab\"\\\n\r\t\x1b[\x7f\xc3\xa4\xc2\x9b\xe2\x82\xac\xff{}";
	struct random r = { 21 };
	struct capture json, text;

	(void)state;
	capture_init(&json, LOG_JSON, DCM_LOG_INFO);
	capture_init(&text, LOG_TEXT, DCM_LOG_INFO);
	for (unsigned i = 0; i < 20000; i++) {
		char area[8] = { 0 }, message[24] = { 0 };
		json_error_t error;
		json_t *line;
		const char *p;
		int64_t ns;

		random__text(&r, area, random__below(&r, sizeof(area)), bytes, sizeof(bytes) - 1);
		random__text(&r, message, random__below(&r, sizeof(message)), bytes, sizeof(bytes) - 1);
		log__line(&json.log, DCM_LOG_ERROR, area, "%s", message);
		log__line(&text.log, DCM_LOG_ERROR, area, "%s", message);

		p = captured(&json);
		assert_ptr_equal(strchr(p, '\n'), p + strlen(p) - 1);
		line = json_loads(p, 0, &error);
		assert_non_null(line);
		str__clean(area, strlen(area));
		str__clean(message, strlen(message));
		assert_string_equal(member(line, "area"), area);
		assert_string_equal(member(line, "message"), message);
		assert_string_equal(member(line, "level"), "error");
		assert_int_equal(units__parse_time(str__of(member(line, "time")), 0, &ns), 0);
		assert_int_equal(json_object_size(line), 4);
		json_decref(line);

		p = captured(&text);
		assert_ptr_equal(strchr(p, '\n'), p + strlen(p) - 1);
		assert_non_null(strstr(p, message));
	}
	capture_fini(&json);
	capture_fini(&text);
}

/* The longest message, all of quotes or of two-byte characters, still makes a whole line. */
static void test_long_text(void **state)
{
	static const char *const units[] = { "\"", "\xc3\xa4", "x" };
	static char message[10000], area[300];
	struct capture c;
	json_error_t error;
	json_t *line;

	(void)state;
	for (int i = 0; i < 3; i++) {
		size_t n = strlen(units[i]);

		capture_init(&c, LOG_JSON, DCM_LOG_INFO);
		for (size_t j = 0; j + n < sizeof(message); j += n)
			memcpy(message + j, units[i], n);
		memcpy(area, message, sizeof(area) - 1);
		log__line(&c.log, DCM_LOG_INFO, area, "%s", message);
		line = json_loads(captured(&c), 0, &error);
		assert_non_null(line);
		assert_in_range(strlen(member(line, "message")), 2046, 2047);
		assert_int_equal(strncmp(member(line, "message"), message, 2046), 0);
		assert_in_range(strlen(member(line, "area")), 63, 64);
		json_decref(line);
		capture_fini(&c);
	}
}

static void test_errno_and_memory(void **state)
{
	struct capture c;

	(void)state;
	capture_init(&c, LOG_KERNEL, DCM_LOG_INFO);
	errno = ENOENT;
	failmalloc__arm(1);
	log__line(&c.log, DCM_LOG_INFO, "a", "%m");
	assert_false(failmalloc__disarm()); /* works when memory is out */
	assert_int_equal(errno, ENOENT);
	assert_string_equal(captured(&c), "<6>a: No such file or directory\n");
	close(c.fd);
	close(c.log.fd);
	c.log.fd = -1;
	errno = ENOENT;
	log__line(&c.log, DCM_LOG_INFO, "a", "lost"); /* nobody to tell */
	assert_int_equal(errno, ENOENT);
}

enum { N_THREADS = 4, N_LINES = 400 };

static void *write_lines(void *arg)
{
	struct log *log = arg;

	for (int i = 0; i < N_LINES; i++)
		log__line(log, DCM_LOG_INFO, "thread", "%0*d", 1 + i, 0);
	return NULL;
}

/* Lines of several threads do not mix. */
static void test_threads(void **state)
{
	char path[] = "/tmp/decima-log-XXXXXX", line[1024];
	struct log log = { .fd = mkostemp(path, O_APPEND | O_CLOEXEC),
			   .format = LOG_KERNEL,
			   .level = DCM_LOG_INFO };
	unsigned seen[N_LINES + 1] = { 0 };
	pthread_t threads[N_THREADS];
	FILE *file;

	(void)state;
	assert_true(log.fd >= 0);
	for (int i = 0; i < N_THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, write_lines, &log), 0);
	for (int i = 0; i < N_THREADS; i++)
		pthread_join(threads[i], NULL);
	file = fopen(path, "r");
	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		size_t n = strlen(line) - strlen("<6>thread: \n");

		assert_int_equal(strncmp(line, "<6>thread: ", 11), 0);
		assert_int_equal(strspn(line + 11, "0"), n);
		assert_in_range(n, 1, N_LINES);
		seen[n]++;
	}
	for (int i = 1; i <= N_LINES; i++)
		assert_int_equal(seen[i], N_THREADS);
	fclose(file);
	close(log.fd);
	unlink(path);
}

/* The settings may go before the log does: with a plan that came to nothing. */
static void test_areas_are_kept(void **state)
{
	char loud[] = "loud", endless[LOG_AREA_MAX + 2];
	const char *keys[] = { endless, loud };
	int32_t levels[] = { DCM_LOG_ERROR, DCM_LOG_DEBUG };
	struct log_settings settings = { .level = DCM_LOG_INFO,
					 .areas = { .keys = keys, .items = levels, .n = 2 } };
	struct log_area areas[2];
	struct capture c;

	(void)state;
	memset(endless, 'x', sizeof(endless));
	endless[sizeof(endless) - 1] = '\0';
	capture_init(&c, LOG_KERNEL, 0);
	int fd = c.log.fd;
	c.log = log_setup__from(&settings, areas, 2);
	c.log.fd = fd;
	memset(loud, 'x', sizeof(loud) - 1);
	memset(levels, 0, sizeof(levels));
	assert_int_equal(c.log.n_areas, 1);
	log__line(&c.log, DCM_LOG_DEBUG, "loud", "word");
	assert_non_null(strstr(captured(&c), "loud: word"));
	log__line(&c.log, DCM_LOG_DEBUG, "other", "word");
	assert_string_equal(captured(&c), "");
	capture_fini(&c);
}

struct told {
	uint32_t n;
	char first[LOG_TAIL_TEXT + 1], last[LOG_TAIL_TEXT + 1];
	int64_t before_ns;
};

static void tell(void *ctx, const struct log_tail_line *line)
{
	struct told *t = ctx;

	assert_true(line->real_ns >= t->before_ns);
	t->before_ns = line->real_ns;
	assert_string_equal(line->level_name, "warning");
	assert_true(str__eq(line->area, STR("area")));
	snprintf(t->n++ ? t->last : t->first, sizeof(t->last), "%.*s", STR_ARG(line->text));
}

/* The last ones, in their order; what the log leaves out by its level is in neither. */
static void test_tail(void **state)
{
	CLEANUP(log_tail__freep) struct log_tail *tail = log_tail__new();
	struct told told = { 0 };
	struct capture c;
	char text[2 * LOG_TAIL_TEXT];

	(void)state;
	assert_non_null(tail);
	capture_init(&c, LOG_KERNEL, DCM_LOG_WARNING);
	c.log.tail = tail;
	for (int i = 0; i < LOG_TAIL_LINES + 7; i++) {
		log__line(&c.log, DCM_LOG_WARNING, "area", "line %d", i);
		log__line(&c.log, DCM_LOG_INFO, "area", "not wanted");
		captured(&c);
	}
	log_tail__each(tail, tell, &told);
	assert_int_equal(told.n, LOG_TAIL_LINES);
	assert_string_equal(told.first, "line 7");
	snprintf(text, sizeof(text), "line %d", LOG_TAIL_LINES + 6);
	assert_string_equal(told.last, text);
	/* A text that has no room is cut between its characters: here after an odd number of bytes. */
	text[0] = 'x';
	for (size_t i = 1; i + 2 < sizeof(text); i += 2)
		memcpy(text + i, "\303\244", 3);
	log__line(&c.log, DCM_LOG_WARNING, "area", "%s", text);
	told = (struct told){ 0 };
	log_tail__each(tail, tell, &told);
	assert_int_equal(strlen(told.last), LOG_TAIL_TEXT - 1);
	assert_memory_equal(told.last, text, LOG_TAIL_TEXT - 1);
	assert_string_equal(told.first, "line 8");
	capture_fini(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_formats),		 cmocka_unit_test(test_levels),
		cmocka_unit_test(test_hostile_text),	 cmocka_unit_test(test_long_text),
		cmocka_unit_test(test_errno_and_memory), cmocka_unit_test(test_threads),
		cmocka_unit_test(test_areas_are_kept),	 cmocka_unit_test(test_tail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
