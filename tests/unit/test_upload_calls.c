/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_upload_calls.c - Parca's debuginfo service: what is wanted, what is taken, and what hostile streams come to
 */
#include "tests/unit/unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/api/api.h"
#include "core/api/uploads.h"
#include "core/base/cleanup.h"
#include "core/base/fd.h"
#include "core/base/mem.h"
#include "core/base/protobuf.h"
#include "core/base/str.h"
#include "core/deflate/deflate.h"
#include "core/net/grpc.h"
#include "tests/unit/kept_program.h"
#include "tests/unit/shell.h"

#define SERVICE "/parca.debuginfo.v1alpha1.DebuginfoService/"

enum { MOST = 64 << 20 };

/* A service, and the last answer of it. */
struct service {
	struct api *api;
	struct http_routes *routes;
	struct clock clock;
	enum http_role role;
	const char *peer;
	const char *coding; /* that packed messages say; NULL: none */
	int status;
	struct buf body;
	char upload_id[UPLOADS_ID];
	uint64_t n_left; /* bytes of the last stream's file */
};

static void open_service(struct service *v, struct symbols *s)
{
	struct dcm_error err = DCM_ERROR_INIT;

	*v = (struct service){ .clock = clock__fake(1, 1), .role = HTTP_ROLE_WRITE, .peer = "10.0.0.1" };
	v->routes = http_routes__new();
	assert_int_equal(
		api__new(&(struct api_config){ .symbols = s, .upload_bytes = MOST, .clock = &v->clock },
			 &v->api, &err),
		0);
	assert_int_equal(api__add_routes(v->api, v->routes, &err), 0);
}

static void close_service(struct service *v)
{
	api__free(v->api);
	http_routes__free(v->routes);
	buf__fini(&v->body);
}

static void call(struct service *v, const char *method, const struct buf *message,
		 const struct http_file *file)
{
	struct arena arena = { 0 };
	struct dcm_budget budget = { 0 };
	struct http_response r = { .status = 200 };
	struct http_request req = { .method = HTTP_POST,
				    .role = v->role,
				    .peer = str__of(v->peer),
				    .arena = &arena,
				    .budget = &budget,
				    .file = file };
	const struct dcm_field coding = { STR("grpc-encoding"), str__of(v->coding ? v->coding : "") };
	char target[128];

	req.headers = &coding;
	req.n_headers = v->coding != NULL;
	snprintf(target, sizeof(target), SERVICE "%s", method);
	if (message)
		req.body = buf__view(message);
	assert_int_equal(http_request__set_target(&req, str__of(target)), 0);
	http_routes__dispatch(v->routes, &req, &r);
	v->status = r.status;
	buf__fini(&v->body);
	v->body = r.body;
	r.body = (struct buf){ 0 };
	http_response__fini(&r);
	arena__fini(&arena);
}

static void assert_answer(struct service *v, int status, const char *part)
{
	if (v->status != status ||
	    !memmem(v->body.n ? (const char *)v->body.data : "", v->body.n, part, strlen(part)))
		fail_msg("%d, not %d with \"%s\": %.*s", v->status, status, part, (int)v->body.n,
			 v->body.n ? (const char *)v->body.data : "");
}

static void put_text(struct buf *b, uint32_t number, const char *text)
{
	pb__put_bytes(b, number, text, strlen(text));
}

struct asked {
	const char *build_id, *hash;
	bool force;
	unsigned type, id_type;
};

static bool should(struct service *v, const struct asked *q, const char *reason)
{
	struct buf b = { 0 };
	bool yes;

	put_text(&b, 1, q->build_id);
	if (q->hash)
		put_text(&b, 2, q->hash);
	pb__put_varint(&b, 3, q->force);
	pb__put_varint(&b, 4, q->type);
	pb__put_varint(&b, 5, q->id_type);
	call(v, "ShouldInitiateUpload", &b, NULL);
	assert_answer(v, 200, reason);
	yes = v->body.data[0] == (1 << 3 | PB_VARINT) && v->body.data[1] == 1;
	buf__fini(&b);
	return yes;
}

/* Takes the id that it gives, when it gives one. */
static void initiate(struct service *v, const struct asked *q, uint64_t bytes)
{
	struct buf b = { 0 };
	const uint8_t *at;

	put_text(&b, 1, q->build_id);
	pb__put_varint(&b, 2, bytes);
	if (q->hash)
		put_text(&b, 3, q->hash);
	pb__put_varint(&b, 4, q->force);
	pb__put_varint(&b, 5, q->type);
	pb__put_varint(&b, 6, q->id_type);
	call(v, "InitiateUpload", &b, NULL);
	buf__fini(&b);
	if (v->status != 200)
		return;
	at = memmem(v->body.data, v->body.n, "\x12\x24", 2);
	assert_non_null(at);
	memcpy(v->upload_id, at + 2, UPLOADS_ID - 1);
	/* The strategy: over this very service. */
	assert_memory_equal(at + 2 + UPLOADS_ID - 1, "\x18\x01", 2);
}

static void put_frame(struct buf *b, const struct buf *message)
{
	grpc_head__append(b, 0, (uint32_t)message->n);
	buf__append(b, message->data, message->n);
}

static void put_info(struct buf *b, const char *build_id, const char *id, unsigned type)
{
	struct buf info = { 0 }, message = { 0 };

	put_text(&info, 1, build_id);
	put_text(&info, 2, id);
	pb__put_varint(&info, 3, type);
	pb__put_bytes(&message, 1, info.data, info.n);
	put_frame(b, &message);
	buf__fini(&info);
	buf__fini(&message);
}

static void put_chunk(struct buf *b, const void *data, size_t n)
{
	struct buf message = { 0 };

	pb__put_bytes(&message, 2, data, n);
	put_frame(b, &message);
	buf__fini(&message);
}

/* A file in chunks of all sizes. */
static void put_file(struct buf *b, int fd)
{
	size_t n = 1;
	char *piece = malloc(1 << 20);
	ssize_t got;

	for (off_t at = 0; (got = pread(fd, piece, n, at)) > 0; at += got) {
		put_chunk(b, piece, (size_t)got);
		n = n < 1 << 20 ? n * 2 : n;
	}
	put_chunk(b, "", 0);
	free(piece);
}

static uint64_t size_of(int fd)
{
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	return (uint64_t)st.st_size;
}

/* Sends it as the body of Upload. */
static void stream(struct service *v, struct buf *b)
{
	struct http_file file = { .fd = memfd_create("body", MFD_CLOEXEC), .n = b->n };

	assert_int_equal(b->error, 0);
	assert_int_equal(fd__write_all(file.fd, b->data, b->n), 0);
	call(v, "Upload", NULL, &file);
	v->n_left = size_of(file.fd);
	close(file.fd);
	buf__fini(b);
}

static void mark(struct service *v, const char *build_id, const char *id, unsigned type)
{
	struct buf b = { 0 };

	put_text(&b, 1, build_id);
	put_text(&b, 2, id);
	pb__put_varint(&b, 3, type);
	call(v, "MarkUploadFinished", &b, NULL);
	buf__fini(&b);
}

/* Initiate and Upload of a file that is what it says. */
static void upload(struct service *v, const struct asked *q, int fd)
{
	struct buf b = { 0 };

	initiate(v, q, size_of(fd));
	assert_answer(v, 200, v->upload_id);
	put_info(&b, q->build_id, v->upload_id, q->type);
	put_file(&b, fd);
	stream(v, &b);
}

static void test_a_file_is_taken_and_names(void **state)
{
	(void)state;
	kept__need_objcopy();
	CLEANUP(symbols__freep) struct symbols *s = kept__symbols(&(struct symbols_config){ 0 });
	CLEANUP(fd__closep) int bare = kept__open_bare(), whole = kept__open_self();
	const struct asked q = { .build_id = kept.build_id, .hash = "a", .id_type = 1 };
	struct service v;

	open_service(&v, s);
	symbols__offer(s, str__of(kept.build_id), STR("/gone/program"), bare);
	kept__assert_named(s, "", DCM_UNNAMED_NO_DEBUGINFO);
	kept__await(s, 1);
	assert_true(should(&v, &q, "First time we see this Build ID"));
	upload(&v, &q, whole);
	assert_answer(&v, 200, kept.build_id);
	assert_int_equal(v.n_left, size_of(whole));
	mark(&v, q.build_id, v.upload_id, 0);
	assert_answer(&v, 200, "");
	assert_int_equal(v.body.n, 0);
	kept__ask_once(s);
	kept__assert_named(s, "hidden_function", DCM_UNNAMED_NOT_TRIED);
	assert_false(should(&v, &q, "therefore no new upload is needed"));
	initiate(&v, &q, 100);
	assert_answer(&v, 409, "therefore no new upload is needed");
	assert_true(should(&v, &(struct asked){ q.build_id, NULL, .force = true },
			   "requested to be forced"));
	close_service(&v);
}

/* As Parca's agent sends what has no build id: by a hash of its own, by which profiles call it, too. */
static void test_a_file_without_a_build_id(void **state)
{
	static const char hash[] = "00112233445566778899aabbccddeeff";

	(void)state;
	kept__need_objcopy();
	CLEANUP(symbols__freep) struct symbols *s = kept__symbols(&(struct symbols_config){ 0 });
	CLEANUP(fd__closep)
	int nameless = kept__open_made("objcopy --remove-section .note.gnu.build-id made");
	CLEANUP(fd__closep) int whole = kept__open_self();
	char none[ELF_BUILD_ID_TEXT];
	struct asked q = { .build_id = hash, .hash = "a", .id_type = 2 };
	struct service v;

	assert_int_equal(elf__build_id(nameless, none), -ENODATA);
	open_service(&v, s);
	kept__assert_names(s, hash, "", DCM_UNNAMED_NOT_HERE);
	assert_true(should(&v, &q, "First time we see this Build ID"));
	upload(&v, &q, nameless);
	assert_answer(&v, 200, hash);
	mark(&v, q.build_id, v.upload_id, 0);
	kept__assert_names(s, hash, "hidden_function", DCM_UNNAMED_NOT_TRIED);
	assert_false(should(&v, &q, "therefore no new upload is needed"));
	/* One that has one goes by that. */
	q.build_id = "ffeeddccbbaa99887766554433221100";
	upload(&v, &q, whole);
	assert_answer(&v, 422, "its build id is another one");
	/* Without a word of a hash it has to have one. */
	q.id_type = 1;
	q.hash = "b";
	upload(&v, &q, nameless);
	assert_answer(&v, 422, "it has no build id");
	close_service(&v);
}

/* What is kept names functions alone: more is welcome, the same is not. */
static void test_more_is_wanted_of_what_has_no_lines(void **state)
{
	(void)state;
	kept__need_objcopy();
	CLEANUP(symbols__freep) struct symbols *s = kept__symbols(&(struct symbols_config){ 0 });
	CLEANUP(fd__closep) int names = kept__open_made("objcopy --strip-debug made");
	CLEANUP(fd__closep) int whole = kept__open_self();
	struct asked q = { .build_id = kept.build_id, .hash = "names" };
	struct service v;

	open_service(&v, s);
	upload(&v, &q, names);
	assert_answer(&v, 200, kept.build_id);
	mark(&v, q.build_id, v.upload_id, 0);
	assert_false(should(&v, &q, "the proposed hash is the same"));
	initiate(&v, &q, 100);
	assert_answer(&v, 412, "the proposed hash is the same");
	q.hash = "whole";
	assert_true(should(&v, &q, "one that tells more is accepted"));
	upload(&v, &q, whole);
	assert_answer(&v, 200, kept.build_id);
	assert_false(should(&v, &(struct asked){ q.build_id, NULL, .type = 1 },
			    "no new upload is needed"));
	close_service(&v);
}

/* Names stay, but for an administrator's force. */
static void test_force_takes_the_role_admin(void **state)
{
	(void)state;
	kept__need_objcopy();
	CLEANUP(symbols__freep) struct symbols *s = kept__symbols(&(struct symbols_config){ 0 });
	CLEANUP(fd__closep)
	int forged = kept__open_made(
		"objcopy --strip-debug --redefine-sym hidden_function=forged_function made");
	CLEANUP(fd__closep) int whole = kept__open_self();
	struct asked q = { .build_id = kept.build_id, .hash = "a", .force = true };
	struct service v;

	open_service(&v, s);
	upload(&v, &q, whole);
	assert_answer(&v, 200, kept.build_id);
	mark(&v, q.build_id, v.upload_id, 0);
	q.hash = "b";
	upload(&v, &q, forged);
	assert_answer(&v, 409, "an administrator");
	mark(&v, q.build_id, v.upload_id, 0);
	assert_answer(&v, 409, "nothing of this upload was taken");
	kept__assert_named(s, "hidden_function", DCM_UNNAMED_NOT_TRIED);
	v.role = HTTP_ROLE_ADMIN;
	upload(&v, &q, forged);
	assert_answer(&v, 200, kept.build_id);
	kept__assert_named(s, "forged_function", DCM_UNNAMED_NOT_TRIED);
	v.role = HTTP_ROLE_READ;
	call(&v, "ShouldInitiateUpload", &(struct buf){ 0 }, NULL);
	assert_answer(&v, 403, "needs the role write");
	close_service(&v);
}

static void test_one_at_a_time(void **state)
{
	CLEANUP(symbols__freep) struct symbols *s = kept__symbols(&(struct symbols_config){ 0 });
	struct asked q = { .build_id = "abcd", .hash = "a" };
	char first[UPLOADS_ID];
	struct service v;
	struct buf b = { 0 };

	(void)state;
	open_service(&v, s);
	initiate(&v, &q, 100);
	memcpy(first, v.upload_id, sizeof(first));
	assert_false(should(&v, &q, "still in-progress and not stale"));
	initiate(&v, &q, 100);
	assert_answer(&v, 409, "still in-progress and not stale");
	/* Its program is another file. */
	assert_true(should(&v, &(struct asked){ "abcd", NULL, .type = 1 }, "First time"));
	v.clock.fake_mono_ns += UPLOADS_STALE_NS;
	assert_false(should(&v, &q, "still in-progress"));
	v.clock.fake_mono_ns += 1;
	assert_true(should(&v, &q, "is now stale"));
	initiate(&v, &q, 4);
	assert_string_not_equal(first, v.upload_id);
	q.force = true;
	assert_true(should(&v, &q, "accepting restart"));
	put_info(&b, q.build_id, first, 0);
	put_chunk(&b, "abcd", 4);
	stream(&v, &b);
	assert_answer(&v, 400, "upload_id");
	memcpy(first, v.upload_id, sizeof(first));
	initiate(&v, &q, 4);
	mark(&v, q.build_id, first, 0);
	assert_answer(&v, 400, "upload_id");
	mark(&v, q.build_id, v.upload_id, 0);
	assert_answer(&v, 409, "nothing of this upload was taken");
	mark(&v, "abce", v.upload_id, 0);
	assert_answer(&v, 404, "no upload");
	close_service(&v);
}

/* As two that ask at once meet, each of which was told before that it may. */
static void test_two_at_once(void **state)
{
	const struct uploads_key key = { STR("abcd"), 0 };
	struct uploads_claim claim = { .key = key, .hash = STR("a"), .bytes = 7 };
	struct clock clock = clock__fake(1, 1);
	struct uploads *u = uploads__new(&clock);
	char first[UPLOADS_ID], second[UPLOADS_ID];
	struct uploads_terms terms;
	bool is_same;

	(void)state;
	assert_int_equal(uploads__begin(u, &claim, first), 0);
	assert_int_equal(uploads__begin(u, &claim, second), -EBUSY);
	assert_int_equal(uploads__open(u, &key, str__of(second), &terms), -EINVAL);
	assert_int_equal(uploads__open(u, &key, str__of(first), &terms), 0);
	assert_int_equal(terms.bytes, 7);
	assert_int_equal(uploads__open(u, &key, str__of(first), &terms), -EALREADY);
	/* The disk was full: it may be sent again. */
	uploads__close(u, str__of(first), UPLOADS_TRY_AGAIN);
	assert_int_equal(uploads__look(u, &key, STR("b"), &is_same), UPLOADS_STALE);
	assert_int_equal(uploads__open(u, &key, str__of(first), &terms), 0);
	claim.force = true;
	assert_int_equal(uploads__begin(u, &claim, second), 0);
	uploads__close(u, str__of(first), UPLOADS_TAKEN);
	assert_int_equal(uploads__finish(u, &key, str__of(second)), -EAGAIN);
	assert_int_equal(uploads__open(u, &key, str__of(second), &terms), 0);
	uploads__close(u, str__of(second), UPLOADS_TAKEN);
	assert_int_equal(uploads__open(u, &key, str__of(second), &terms), -EALREADY);
	assert_int_equal(uploads__finish(u, &key, str__of(second)), 0);
	assert_int_equal(uploads__finish(u, &key, str__of(second)), 0);
	uploads__free(u);
}

static void test_what_is_not_wanted(void **state)
{
	CLEANUP(symbols__freep) struct symbols *s = kept__symbols(&(struct symbols_config){ 0 });
	struct symbols *nowhere;
	struct service v;
	struct buf b = { 0 };
	static const char *const ids[] = { "",	   "ab",    "abc", "../../../../tmp/x",
					   "ABCD", "ab/cd", "abcg" };

	(void)state;
	open_service(&v, s);
	for (unsigned type = 2; type < 5; type++)
		assert_false(should(&v, &(struct asked){ "abcd", NULL, .type = type }, "Neither sources"));
	for (unsigned type = 3; type < 6; type++)
		assert_false(should(&v, &(struct asked){ "a/b", NULL, .id_type = type }, "GNU build id"));
	initiate(&v, &(struct asked){ "abcd", "a", .type = 2 }, 1);
	assert_answer(&v, 409, "Neither sources");
	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		initiate(&v, &(struct asked){ ids[i], "a", .force = false }, 1);
		assert_answer(&v, 400, "build_id: ");
	}
	initiate(&v, &(struct asked){ "abcd", NULL, .force = false }, 1);
	assert_answer(&v, 400, "hash: missing");
	initiate(&v, &(struct asked){ "abcd", "a", .force = false }, 0);
	assert_answer(&v, 400, "size: ");
	initiate(&v, &(struct asked){ "abcd", "a", .force = false }, UINT64_MAX);
	assert_answer(&v, 400, "size: ");
	initiate(&v, &(struct asked){ "abcd", "a", .force = false }, MOST + 1);
	assert_answer(&v, 400, "symbols.max_bytes");
	buf__text(&b, "\x0a\x7f");
	call(&v, "ShouldInitiateUpload", &b, NULL);
	assert_answer(&v, 400, "no ShouldInitiateUploadRequest");
	call(&v, "InitiateUpload", &b, NULL);
	assert_answer(&v, 400, "no InitiateUploadRequest");
	call(&v, "MarkUploadFinished", &b, NULL);
	assert_answer(&v, 400, "no MarkUploadFinishedRequest");
	buf__fini(&b);
	close_service(&v);
	assert_int_equal(symbols__new(NULL, &nowhere, NULL), 0);
	open_service(&v, nowhere);
	assert_false(should(&v, &(struct asked){ "abcd", NULL, .force = true }, "Nothing is kept here"));
	close_service(&v);
	symbols__free(nowhere);
}

/* Begins the stream of an upload of so many bytes. */
static struct buf begun(struct service *v, uint64_t bytes)
{
	const struct asked q = { .build_id = kept.build_id, .hash = "a", .force = true };
	struct buf b = { 0 };

	initiate(v, &q, bytes);
	put_info(&b, q.build_id, v->upload_id, 0);
	return b;
}

static void test_hostile_streams(void **state)
{
	CLEANUP(symbols__freep) struct symbols *s = kept__symbols(&(struct symbols_config){ 0 });
	struct service v;
	struct buf b = { 0 };

	(void)state;
	open_service(&v, s);
	stream(&v, &b);
	assert_answer(&v, 400, "message 0: the stream ends in its head");
	put_chunk(&b, "\177ELF", 4);
	stream(&v, &b);
	assert_answer(&v, 400, "message 0: it should be an UploadInfo");
	put_frame(&b, &(struct buf){ 0 });
	stream(&v, &b);
	assert_answer(&v, 400, "message 0: it should be an UploadInfo");
	put_info(&b, kept.build_id, "no id", 0);
	put_chunk(&b, "\177ELF", 4);
	stream(&v, &b);
	assert_answer(&v, 409, "call InitiateUpload first");
	b = begun(&v, 4);
	put_info(&b, kept.build_id, v.upload_id, 0);
	stream(&v, &b);
	assert_answer(&v, 400, "message 1: it should be chunk_data");
	b = begun(&v, 4);
	buf__append(&b, "\0\0\0\0\x06\x12\x03xyz\x01", 11);
	stream(&v, &b);
	assert_answer(&v, 400, "message 1: chunk_data is not all of it");
	b = begun(&v, 4);
	buf__append(&b, "\0\0\0\0\x06\x12\x80\x80\x80\x80\x0f", 11);
	stream(&v, &b);
	assert_answer(&v, 400, "message 1: chunk_data is not all of it");
	b = begun(&v, 4);
	buf__append(&b, "\0\xff\xff\xff\xff\x12", 6);
	stream(&v, &b);
	assert_answer(&v, 400, "message 1: it is shorter than its head says");
	b = begun(&v, 4);
	buf__append(&b, "\0\0\0\0", 4);
	stream(&v, &b);
	assert_answer(&v, 400, "message 1: the stream ends in its head");
	b = begun(&v, 4);
	buf__append(&b, "\1\0\0\0\1x", 6);
	stream(&v, &b);
	assert_answer(&v, 501, "message 1 is packed");
	b = begun(&v, 4);
	buf__append(&b, "\2\0\0\0\1x", 6);
	stream(&v, &b);
	assert_answer(&v, 400, "neither 0 nor 1");
	b = begun(&v, 4);
	put_chunk(&b, "\177ELFF", 5);
	stream(&v, &b);
	assert_answer(&v, 400, "5 bytes came, and InitiateUpload said 4");
	b = begun(&v, 4);
	put_chunk(&b, "text", 4);
	stream(&v, &b);
	assert_answer(&v, 422, "not an ELF file");
	close_service(&v);
}

/* What came was refused: it is not asked for again, and nothing is left of it. */
/* Each message of a stream in gzip, but every third. */
static struct buf packed(struct buf *stream)
{
	struct buf all = { 0 };

	for (size_t at = 0, i = 0; at < stream->n; i++) {
		struct buf one = { 0 };
		struct grpc_head head;

		assert_true(grpc_head__read(stream->data + at, &head));
		at += GRPC_HEAD_BYTES;
		if (i % 3 == 2)
			buf__append(&one, stream->data + at, head.n);
		else
			assert_int_equal(deflate__pack(stream->data + at, head.n, 6, &one), 0);
		grpc_head__append(&all, 0, (uint32_t)one.n);
		all.data[all.n - GRPC_HEAD_BYTES] = i % 3 != 2;
		buf__append(&all, one.data, one.n);
		at += head.n;
		buf__fini(&one);
	}
	buf__fini(stream);
	return all;
}

static void test_packed_streams(void **state)
{
	(void)state;
	kept__need_objcopy();
	CLEANUP(symbols__freep) struct symbols *s = kept__symbols(&(struct symbols_config){ 0 });
	CLEANUP(fd__closep) int bare = kept__open_bare(), whole = kept__open_self();
	CLEANUP(mem__freep) char *zeroes = mem__zalloc(1 << 20, 1);
	struct service v;
	struct buf b, all;

	open_service(&v, s);
	symbols__offer(s, str__of(kept.build_id), STR("/gone/program"), bare);
	/* Cut off, damaged, in another coding, and a bomb. */
	b = begun(&v, 4);
	put_chunk(&b, "\177ELF", 4);
	all = packed(&b);
	all.data[all.n - 5] ^= 0xff;
	v.coding = "gzip";
	stream(&v, &all);
	assert_answer(&v, 400, "message 1: its gzip is damaged");
	b = begun(&v, 4);
	all = packed(&b);
	v.coding = "snappy";
	stream(&v, &all);
	assert_answer(&v, 501, "message 0 is packed by \\\"snappy\\\"");
	b = begun(&v, 4);
	for (int i = 0; i < MOST >> 20; i++)
		put_chunk(&b, zeroes, 1 << 20);
	for (int i = 0; i < 2; i++)
		put_chunk(&b, zeroes, 1 << 20);
	all = packed(&b);
	v.coding = "gzip";
	stream(&v, &all);
	assert_answer(&v, 413, "larger than symbols.max_bytes");
	/* And one that is what it says. */
	b = begun(&v, size_of(whole));
	put_file(&b, whole);
	all = packed(&b);
	stream(&v, &all);
	assert_answer(&v, 200, kept.build_id);
	assert_int_equal(v.n_left, size_of(whole));
	kept__ask_once(s);
	kept__assert_named(s, "hidden_function", DCM_UNNAMED_NOT_TRIED);
	close_service(&v);
}

static void test_files_that_are_no_use(void **state)
{
	(void)state;
	kept__need_objcopy();
	CLEANUP(symbols__freep) struct symbols *s = kept__symbols(&(struct symbols_config){ 0 });
	CLEANUP(fd__closep) int cut = kept__open_made("truncate -s 5000 made");
	CLEANUP(fd__closep) int names = kept__open_made("objcopy --strip-debug made");
	struct asked q = { .build_id = kept.build_id, .hash = "cut" };
	struct symbols_stat stat;
	struct service v;

	open_service(&v, s);
	upload(&v, &q, cut);
	assert_answer(&v, 422, "cut off");
	assert_false(should(&v, &q, "would result in the same invalid debuginfos"));
	initiate(&v, &q, 100);
	assert_answer(&v, 412, "would result in the same");
	assert_true(should(&v, &(struct asked){ q.build_id, NULL, .force = false }, "Hash the debuginfo"));
	assert_true(should(&v, &(struct asked){ q.build_id, "other", .force = false },
			   "will be accepted"));
	q = (struct asked){ .build_id = "abcd", .hash = "names" };
	upload(&v, &q, names);
	assert_answer(&v, 422, "another one than was announced");
	symbols__stat(s, &stat);
	assert_int_equal(stat.store_files, 0);
	assert_int_equal(shell("test -z \"$(ls %s | grep new-)\"", kept.dir), 0);
	close_service(&v);
}

/* More than there is room for: those that ended give way, those under way do not, and one client has no more than three quarters. */
static void test_many_uploads(void **state)
{
	CLEANUP(symbols__freep) struct symbols *s = kept__symbols(&(struct symbols_config){ 0 });
	struct asked q = { .hash = "a" };
	struct service v;
	char id[16];

	(void)state;
	open_service(&v, s);
	q.build_id = id;
	for (unsigned i = 0; i < UPLOADS_MAX; i++) {
		snprintf(id, sizeof(id), "%08x", i);
		if (i == UPLOADS_CLIENT_MAX) {
			initiate(&v, &q, 1);
			assert_answer(&v, 503, "or 768 of this client's");
			v.peer = "10.0.0.2";
		}
		initiate(&v, &q, 1);
		assert_int_equal(v.status, 200);
	}
	snprintf(id, sizeof(id), "%08x", UPLOADS_MAX);
	initiate(&v, &q, 1);
	assert_answer(&v, 503, "uploads are under way");
	/* Of the first one nothing has come. */
	v.clock.fake_mono_ns += UPLOADS_HURRY_NS + 1;
	initiate(&v, &q, 1);
	assert_int_equal(v.status, 200);
	snprintf(id, sizeof(id), "%08x", 1);
	initiate(&v, &q, 1);
	assert_int_equal(v.status, 409);
	snprintf(id, sizeof(id), "%08x", 0);
	initiate(&v, &q, 1);
	assert_int_equal(v.status, 200);
	close_service(&v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_a_file_is_taken_and_names, kept__new_dir),
		cmocka_unit_test_setup(test_a_file_without_a_build_id, kept__new_dir),
		cmocka_unit_test_setup(test_more_is_wanted_of_what_has_no_lines, kept__new_dir),
		cmocka_unit_test_setup(test_force_takes_the_role_admin, kept__new_dir),
		cmocka_unit_test_setup(test_one_at_a_time, kept__new_dir),
		cmocka_unit_test(test_two_at_once),
		cmocka_unit_test_setup(test_what_is_not_wanted, kept__new_dir),
		cmocka_unit_test_setup(test_hostile_streams, kept__new_dir),
		cmocka_unit_test_setup(test_packed_streams, kept__new_dir),
		cmocka_unit_test_setup(test_files_that_are_no_use, kept__new_dir),
		cmocka_unit_test_setup(test_many_uploads, kept__new_dir),
	};

	return cmocka_run_group_tests_name("upload_calls", tests, kept__make_root, kept__remove_root);
}
