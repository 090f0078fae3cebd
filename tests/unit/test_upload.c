/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_upload.c - files that are sent: what they name, from when on, what they never
 * change, and why others are refused; through the symbol store, and through /api/v1/debuginfo
 */
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/api/api.h"
#include "core/base/cleanup.h"
#include "core/base/fd.h"
#include "core/base/str.h"
#include "core/batch/batch.h"
#include "core/symbolize/elf.h"
#include "core/symbolize/symbols.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/kept_program.h"
#include "tests/unit/shell.h"

/* What came of an upload, 0 or an error; *ret_text is its sentence. */
static int upload(struct symbols *s, int fd, bool replace, struct symbols_uploaded *ret,
		  const char **ret_text)
{
	static struct dcm_error err;

	err = (struct dcm_error)DCM_ERROR_INIT;
	*ret_text = err.text;
	return symbols__upload(s, &(struct symbols_upload){ .fd = fd, .replace = replace }, ret, &err);
}

static void assert_uploaded(struct symbols *s, int fd, bool replace, enum symbols_upload_fate want)
{
	struct symbols_uploaded done;
	const char *text;
	int rc = upload(s, fd, replace, &done, &text);

	if (rc)
		fail_msg("%d: %s", rc, text);
	assert_int_equal(done.fate, want);
	assert_string_equal(done.build_id, kept.build_id);
	assert_true(done.functions);
}

static void assert_refused(struct symbols *s, int fd, int rc, const char *sentence)
{
	struct symbols_uploaded done;
	const char *text;

	assert_int_equal(upload(s, fd, false, &done, &text), rc);
	if (!strstr(text, sentence))
		fail_msg("no \"%s\" in: %s", sentence, text);
}

/* At once: nobody waits for what an upload has read. */
static void test_an_upload_names_what_was_stripped(void **state)
{
	(void)state;
	kept__need_objcopy();
	CLEANUP(fd__closep) int bare = kept__open_bare(), whole = kept__open_self();
	struct symbols *s = kept__symbols(&(struct symbols_config){ 0 });

	symbols__offer(s, str__of(kept.build_id), STR("/gone/program"), bare);
	kept__assert_named(s, "", DCM_UNNAMED_NO_DEBUGINFO);
	kept__await(s, 1);
	assert_uploaded(s, whole, false, SYMBOLS_UPLOAD_STORED);
	kept__ask_once(s);
	kept__assert_named(s, "hidden_function", DCM_UNNAMED_NOT_TRIED);
	assert_uploaded(s, whole, false, SYMBOLS_UPLOAD_KNOWN);
	assert_uploaded(s, whole, true, SYMBOLS_UPLOAD_KNOWN);
	symbols__free(s);
	s = kept__symbols(&(struct symbols_config){ 0 });
	kept__assert_named(s, "hidden_function", DCM_UNNAMED_NOT_TRIED);
	symbols__free(s);
}

/* Nothing was ever offered; and what was offered could not be read. */
static void test_an_upload_alone_names(void **state)
{
	CLEANUP(symbols__freep) struct symbols *s = kept__symbols(&(struct symbols_config){ 0 });
	CLEANUP(fd__closep) int whole = kept__open_self();
	CLEANUP(fd__closep) int text = open("/proc/self/status", O_RDONLY | O_CLOEXEC);

	(void)state;
	symbols__offer(s, str__of(kept.build_id), STR("/gone/program"), text);
	kept__assert_named(s, "", DCM_UNNAMED_BAD_FILE);
	assert_uploaded(s, whole, false, SYMBOLS_UPLOAD_STORED);
	kept__assert_named(s, "hidden_function", DCM_UNNAMED_NOT_TRIED);
	/* What was read from the disk is not put there once more. */
	assert_int_equal(kept__await(s, 1).store_files, 1);
}

int __real_elf__load(int fd, int debug_fd, const struct elf_limits *limits,
		     struct elf_symbols **ret, struct dcm_error *err);
int __wrap_elf__load(int fd, int debug_fd, const struct elf_limits *limits,
		     struct elf_symbols **ret, struct dcm_error *err);

static _Atomic bool holds, is_held;

/* The next reading has looked for debuginfo, found none, and goes on when an upload has put some. */
int __wrap_elf__load(int fd, int debug_fd, const struct elf_limits *limits,
		     struct elf_symbols **ret, struct dcm_error *err)
{
	char put[sizeof(kept.dir) + sizeof(kept.build_id) + 32];

	if (atomic_exchange(&holds, false)) {
		is_held = true;
		snprintf(put, sizeof(put), "%s/.build-id/%.2s/%s.debug", kept.dir, kept.build_id,
			 kept.build_id + 2);
		for (int i = 0; i < 10000 && access(put, F_OK) < 0; i++)
			usleep(1000);
		usleep(200000); /* and waits for us */
	}
	return __real_elf__load(fd, debug_fd, limits, ret, err);
}

/* The file that the worker is reading: what came meanwhile is read behind it. */
static void test_an_upload_while_the_file_is_read(void **state)
{
	(void)state;
	kept__need_objcopy();
	CLEANUP(fd__closep) int bare = kept__open_bare(), whole = kept__open_self();
	CLEANUP(symbols__freep) struct symbols *s = kept__symbols(&(struct symbols_config){ 0 });

	holds = true;
	symbols__offer(s, str__of(kept.build_id), STR("/gone/program"), bare);
	while (!is_held)
		usleep(1000);
	assert_uploaded(s, whole, false, SYMBOLS_UPLOAD_STORED);
	kept__ask_once(s);
	kept__assert_named(s, "hidden_function", DCM_UNNAMED_NOT_TRIED);
}

#define RENAMED "objcopy --strip-debug --redefine-sym hidden_function=forged_function made"

/* Of two that tell as much the first one stays, until an administrator has it replaced. */
static void test_an_upload_replaces_nothing_by_itself(void **state)
{
	(void)state;
	kept__need_objcopy();
	CLEANUP(fd__closep) int names = kept__open_made("objcopy --strip-debug made");
	CLEANUP(fd__closep) int forged = kept__open_made(RENAMED), whole = kept__open_self();
	struct symbols *s = kept__symbols(&(struct symbols_config){ 0 });
	struct symbols_stat stat;

	assert_uploaded(s, forged, false, SYMBOLS_UPLOAD_STORED);
	kept__assert_named(s, "forged_function", DCM_UNNAMED_NOT_TRIED);
	assert_refused(s, names, -EEXIST, "names its addresses otherwise");
	kept__assert_named(s, "forged_function", DCM_UNNAMED_NOT_TRIED);
	assert_refused(s, whole, -EEXIST, "names its addresses otherwise");
	assert_uploaded(s, whole, true, SYMBOLS_UPLOAD_REPLACED);
	kept__assert_named(s, "hidden_function", DCM_UNNAMED_NOT_TRIED);
	assert_refused(s, names, -EEXIST,
		       "tells more: it has functions and lines, this file has functions");
	assert_refused(s, forged, -EEXIST, "names its addresses otherwise");
	assert_uploaded(s, forged, true, SYMBOLS_UPLOAD_REPLACED);
	kept__assert_named(s, "forged_function", DCM_UNNAMED_NOT_TRIED);
	symbols__free(s); /* writes down what it knows */
	s = kept__symbols(&(struct symbols_config){ 0 });
	kept__assert_named(s, "forged_function", DCM_UNNAMED_NOT_TRIED);
	assert_uploaded(s, names, true, SYMBOLS_UPLOAD_REPLACED);
	assert_uploaded(s, whole, false, SYMBOLS_UPLOAD_STORED); /* the same names, and lines */
	symbols__stat(s, &stat);
	assert_int_equal(stat.store_files, 1);
	symbols__free(s);
	s = kept__symbols(&(struct symbols_config){ 0 });
	kept__assert_named(s, "hidden_function", DCM_UNNAMED_NOT_TRIED);
	symbols__free(s);
}

/* The program that was sampled is kept by itself; its own file, sent, is nothing new. */
static void test_an_upload_of_what_was_sampled(void **state)
{
	(void)state;
	kept__need_objcopy();
	CLEANUP(fd__closep) int forged = kept__open_made(RENAMED), whole = kept__open_self();
	CLEANUP(symbols__freep) struct symbols *s = kept__symbols(&(struct symbols_config){ 0 });

	kept__offer(s);
	kept__assert_named(s, "hidden_function", DCM_UNNAMED_NOT_TRIED);
	kept__await(s, 1);
	assert_uploaded(s, whole, false, SYMBOLS_UPLOAD_KNOWN);
	assert_refused(s, forged, -EEXIST, "names its addresses otherwise");
	assert_uploaded(s, forged, true, SYMBOLS_UPLOAD_REPLACED);
	kept__assert_named(s, "forged_function", DCM_UNNAMED_NOT_TRIED);
	assert_int_equal(access(kept.path, F_OK), -1);
}

static int dies_of_it(void *ctx, const struct symbols_reduction *r)
{
	(void)ctx;
	(void)r;
	return -EPROTO;
}

static void test_uploads_are_refused_for_a_reason(void **state)
{
	(void)state;
	kept__need_objcopy();
	struct symbols *s = kept__symbols(&(struct symbols_config){ 0 });
	CLEANUP(fd__closep) int bare = kept__open_bare(), whole = kept__open_self();
	CLEANUP(fd__closep)
	int anonymous = kept__open_made("objcopy --remove-section .note.gnu.build-id made");
	CLEANUP(fd__closep) int cut = kept__open_made("truncate -s 5000 made");
	CLEANUP(fd__closep) int head = kept__open_made("truncate -s 4 made");
	CLEANUP(fd__closep) int text = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	struct symbols_stat stat;

	assert_refused(s, text, -ENOEXEC, "not an ELF file");
	assert_refused(s, cut, -ENOMSG, "cut off");
	assert_refused(s, head, -ENOEXEC, "not an ELF file");
	assert_refused(s, anonymous, -ENODATA, "no build id");
	assert_refused(s, bare, -ENOMSG, "stripped");
	symbols__stat(s, &stat);
	assert_int_equal(stat.store_files, 0);
	assert_int_equal(shell("test -z \"$(ls %s | grep new-)\"", kept.dir), 0);
	symbols__free(s);
	s = kept__symbols(&(struct symbols_config){ .reduce = kept__disk_is_full });
	assert_refused(s, whole, -ENOSPC, "No space left");
	symbols__free(s);
	s = kept__symbols(&(struct symbols_config){ .reduce = dies_of_it });
	assert_refused(s, whole, -EPROTO, "hostile");
	symbols__free(s);
	assert_int_equal(symbols__new(NULL, &s, NULL), 0);
	assert_refused(s, whole, -ENOTSUP, "nothing is kept here");
	symbols__free(s);
}

static void test_uploads_without_memory(void **state)
{
	(void)state;
	kept__need_objcopy();
	CLEANUP(symbols__freep) struct symbols *s = kept__symbols(&(struct symbols_config){ 0 });
	CLEANUP(fd__closep) int names = kept__open_made("objcopy --strip-debug made");

	FAILMALLOC_SWEEP (i) {
		struct symbols_uploaded done;
		struct dcm_error err = DCM_ERROR_INIT;
		int rc = symbols__upload(s, &(struct symbols_upload){ .fd = names }, &done, &err);

		failmalloc__disarm();
		/* libelf does not tell them from damage. */
		assert_true(rc == 0 || rc == -ENOMEM || rc == -ENOEXEC);
		assert_true(rc == 0 || err.text[0]);
	}
	kept__assert_named(s, "hidden_function", DCM_UNNAMED_NOT_TRIED);
}

/* --- over /api/v1 --- */

struct sent {
	struct api *api;
	struct http_routes *routes;
	struct stats *stats;
};

static void open_api(struct sent *a, struct symbols *s, uint64_t max_bytes)
{
	struct dcm_error err = DCM_ERROR_INIT;

	a->routes = http_routes__new();
	assert_int_equal(stats__new(NULL, &a->stats), 0);
	assert_int_equal(
		api__new(&(struct api_config){ .stats = a->stats, .symbols = s, .upload_bytes = max_bytes },
			 &a->api, &err),
		0);
	assert_int_equal(api__add_routes(a->api, a->routes, &err), 0);
}

static void close_api(struct sent *a)
{
	api__free(a->api);
	http_routes__free(a->routes);
	stats__free(a->stats);
}

/* Sends it, and holds the status and a part of the answer against what is expected. */
static void post(struct sent *a, const char *target, enum http_role role,
		 const struct http_file *file, int status, const char *want)
{
	struct arena arena = { 0 };
	struct dcm_budget budget = { 0 };
	struct http_response r = { .status = 200 };
	struct http_request req = {
		.method = HTTP_POST, .role = role, .arena = &arena, .budget = &budget, .file = file
	};

	assert_int_equal(http_request__set_target(&req, str__of(target)), 0);
	http_routes__dispatch(a->routes, &req, &r);
	buf__byte(&r.body, '\0');
	if (r.status != status || !strstr((const char *)r.body.data, want))
		fail_msg("%d, not %d with \"%s\": %s", r.status, status, want, (const char *)r.body.data);
	http_response__fini(&r);
	arena__fini(&arena);
}

static double counted(const struct sent *a, const char *label, const char *value)
{
	bool taken = strcmp(label, "result") == 0;

	return stats__value(a->stats,
			    taken ? "decima_symbols_uploads_total" : "decima_symbols_uploads_refused_total",
			    STATS_LABELS({ label, value }));
}

#define ROUTE "/api/v1/debuginfo"

static void test_the_route(void **state)
{
	(void)state;
	kept__need_objcopy();
	CLEANUP(symbols__freep) struct symbols *s = kept__symbols(&(struct symbols_config){ 0 });
	CLEANUP(fd__closep) int names = kept__open_made("objcopy --strip-debug made");
	CLEANUP(fd__closep) int forged = kept__open_made(RENAMED);
	const struct http_file good = { .fd = names }, bad = { .fd = forged };
	struct sent a;
	char want[256];

	open_api(&a, s, 1 << 20);
	snprintf(want, sizeof(want),
		 "{\"build_id\":\"%s\",\"result\":\"stored\","
		 "\"functions\":true,\"lines\":false,\"bytes\":",
		 kept.build_id);
	post(&a, ROUTE, HTTP_ROLE_WRITE, &good, 201, want);
	post(&a, ROUTE, HTTP_ROLE_WRITE, &good, 200, "\"result\":\"known\"");
	post(&a, ROUTE "?replace=0", HTTP_ROLE_WRITE, &good, 200, "\"result\":\"known\"");
	post(&a, ROUTE, HTTP_ROLE_ADMIN, &bad, 409, "names its addresses otherwise");
	post(&a, ROUTE "?replace=1", HTTP_ROLE_WRITE, &bad, 403, "needs the role admin");
	kept__assert_named(s, "hidden_function", DCM_UNNAMED_NOT_TRIED);
	post(&a, ROUTE "?replace=1", HTTP_ROLE_ADMIN, &bad, 201, "\"result\":\"replaced\"");
	kept__assert_named(s, "forged_function", DCM_UNNAMED_NOT_TRIED);
	assert_true(counted(&a, "result", "stored") == 1 && counted(&a, "result", "known") == 2 &&
		    counted(&a, "result", "replaced") == 1 && counted(&a, "reason", "conflict") == 1 &&
		    counted(&a, "reason", "no_permission") == 1);
	close_api(&a);
}

static void test_the_route_refuses(void **state)
{
	(void)state;
	kept__need_objcopy();
	struct symbols *s = kept__symbols(&(struct symbols_config){ 0 });
	CLEANUP(fd__closep) int bare = kept__open_bare(), whole = kept__open_self();
	CLEANUP(fd__closep) int text = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	static const struct {
		int error, status;
		const char *reason, *want;
	} bodies[] = {
		{ -EFBIG, 413, "too_large", "larger than the 1048576 bytes of symbols.max_bytes" },
		{ -ENOSPC, 507, "disk_full", "No space left on device" },
		{ -EDQUOT, 507, "disk_full", "quota" },
		{ -EAGAIN, 503, "busy", "try again" },
		{ -ENOTSUP, 501, "not_kept", "no data directory" },
		{ -EIO, 503, "failed", "Input/output error" },
	};
	struct sent a;

	open_api(&a, s, 1 << 20);
	post(&a, ROUTE, HTTP_ROLE_READ, &(struct http_file){ .fd = whole }, 403, "needs the role write");
	post(&a, ROUTE "?replace=yes", HTTP_ROLE_ADMIN, &(struct http_file){ .fd = whole }, 400, "0 or 1");
	post(&a, ROUTE, HTTP_ROLE_WRITE, NULL, 501, "--url");
	post(&a, ROUTE, HTTP_ROLE_WRITE, &(struct http_file){ .fd = text }, 422, "not an ELF file");
	post(&a, ROUTE, HTTP_ROLE_WRITE, &(struct http_file){ .fd = bare }, 422, "stripped");
	for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
		double before = counted(&a, "reason", bodies[i].reason);

		post(&a, ROUTE, HTTP_ROLE_WRITE,
		     &(struct http_file){ .fd = -1, .error = bodies[i].error }, bodies[i].status,
		     bodies[i].want);
		assert_true(counted(&a, "reason", bodies[i].reason) == before + 1);
	}
	assert_true(counted(&a, "reason", "not_elf") == 1 && counted(&a, "reason", "names_nothing") == 1);
	close_api(&a);
	symbols__free(s);
	s = kept__symbols(&(struct symbols_config){ .reduce = kept__disk_is_full });
	open_api(&a, s, 1 << 20);
	post(&a, ROUTE, HTTP_ROLE_WRITE, &(struct http_file){ .fd = whole }, 507, "No space left");
	close_api(&a);
	symbols__free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_an_upload_names_what_was_stripped, kept__new_dir),
		cmocka_unit_test_setup(test_an_upload_alone_names, kept__new_dir),
		cmocka_unit_test_setup(test_an_upload_while_the_file_is_read, kept__new_dir),
		cmocka_unit_test_setup(test_an_upload_replaces_nothing_by_itself, kept__new_dir),
		cmocka_unit_test_setup(test_an_upload_of_what_was_sampled, kept__new_dir),
		cmocka_unit_test_setup(test_uploads_are_refused_for_a_reason, kept__new_dir),
		cmocka_unit_test_setup(test_uploads_without_memory, kept__new_dir),
		cmocka_unit_test_setup(test_the_route, kept__new_dir),
		cmocka_unit_test_setup(test_the_route_refuses, kept__new_dir),
	};

	return cmocka_run_group_tests_name("upload", tests, kept__make_root, kept__remove_root);
}
