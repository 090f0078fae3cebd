/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_http2.c - frames of HTTP/2 written by hand against the listener: requests, bodies, resets, floods
 *
 * What RFC 9113 and 7541 ask of frames and fields h2spec asks in tests/e2e/tls.sh; here is what is ours.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/str.h"
#include "tests/unit/listening.h"
#include "tests/unit/unit.h"

enum {
	DATA,
	HEADERS,
	PRIORITY,
	RST_STREAM,
	SETTINGS,
	PUSH_PROMISE,
	PING,
	GOAWAY,
	WINDOW_UPDATE,
	CONTINUATION
};
enum { END_STREAM = 1, ACK = 1, END_HEADERS = 4 };
enum { NO_ERROR = 0, PROTOCOL_ERROR = 1, CANCEL = 8, ENHANCE_YOUR_CALM = 11 };
enum { HEAD_BYTES = 9, MOST_BYTES = 16384 };

struct frame {
	uint32_t n;
	uint8_t type, flags;
	uint32_t id;
	uint8_t data[MOST_BYTES];
};

static void put_frame(struct buf *b, uint8_t type, uint8_t flags, uint32_t id, const void *data, size_t n)
{
	const uint8_t head[HEAD_BYTES] = {
		(uint8_t)(n >> 16),  (uint8_t)(n >> 8),	  (uint8_t)n,	      type,	  flags,
		(uint8_t)(id >> 24), (uint8_t)(id >> 16), (uint8_t)(id >> 8), (uint8_t)id
	};

	buf__append(b, head, sizeof(head));
	buf__append(b, data, n);
}

static void send_all(int fd, struct buf *b)
{
	for (size_t at = 0; at < b->n;) {
		ssize_t n = send(fd, b->data + at, b->n - at, MSG_NOSIGNAL);

		if (n <= 0)
			break; /* it may have hung up on us: what comes of it is looked at */
		at += (size_t)n;
	}
	buf__fini(b);
}

static void send_frame(int fd, uint8_t type, uint8_t flags, uint32_t id, const void *data, size_t n)
{
	struct buf b = { 0 };

	put_frame(&b, type, flags, id, data, n);
	send_all(fd, &b);
}

/* RFC 7541, 5.1, with a prefix of 7 bits. */
static void put_length(struct buf *b, size_t n)
{
	if (n < 127) {
		buf__byte(b, (uint8_t)n);
		return;
	}
	buf__byte(b, 127);
	buf__varint(b, n - 127);
}

/* RFC 7541, 6.2.2: a literal that is not indexed. */
static void put_field(struct buf *b, const char *name, const char *value)
{
	buf__byte(b, 0);
	put_length(b, strlen(name));
	buf__text(b, name);
	put_length(b, strlen(value));
	buf__text(b, value);
}

static void put_request(struct buf *b, const char *method, const char *path)
{
	put_field(b, ":method", method);
	put_field(b, ":scheme", "http");
	put_field(b, ":authority", "localhost");
	put_field(b, ":path", path);
}

static void ask(int fd, uint32_t id, const char *method, const char *path, bool ends)
{
	struct buf b = { 0 };

	put_request(&b, method, path);
	send_frame(fd, HEADERS, (uint8_t)(END_HEADERS | (ends ? END_STREAM : 0)), id, b.data, b.n);
	buf__fini(&b);
}

static bool read_exactly(int fd, void *to, size_t n)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	uint8_t *at = to;

	while (n > 0) {
		ssize_t r = poll(&p, 1, 20000) > 0 ? read(fd, at, n) : -1;

		if (r <= 0)
			return false;
		at += r;
		n -= (size_t)r;
	}
	return true;
}

static bool next_frame(int fd, struct frame *f)
{
	uint8_t h[HEAD_BYTES];

	if (!read_exactly(fd, h, sizeof(h)))
		return false;
	f->n = (uint32_t)h[0] << 16 | (uint32_t)h[1] << 8 | h[2];
	f->type = h[3];
	f->flags = h[4];
	f->id = (uint32_t)h[5] << 24 | (uint32_t)h[6] << 16 | (uint32_t)h[7] << 8 | h[8];
	assert_true(f->n <= MOST_BYTES);
	return read_exactly(fd, f->data, f->n);
}

/* The next frame of that type and stream; false: the connection ended before. */
static bool await(int fd, uint8_t type, uint32_t id, struct frame *f)
{
	while (next_frame(fd, f))
		if (f->type == type && f->id == id)
			return true;
	return false;
}

/* A connection with its preface, and the server's settings taken: from here on a window has a MiB. */
static int begin(void)
{
	int fd = listening_connect();
	struct buf b = { 0 };
	struct frame f;

	buf__text(&b, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
	put_frame(&b, SETTINGS, 0, 0, "", 0);
	send_all(fd, &b);
	assert_true(await(fd, SETTINGS, 0, &f));
	send_frame(fd, SETTINGS, ACK, 0, "", 0);
	return fd;
}

static bool await_update(int fd, struct frame *f)
{
	while (next_frame(fd, f))
		if (f->type == WINDOW_UPDATE)
			return true;
	return false;
}

static uint32_t number_at(const struct frame *f, size_t at)
{
	return (uint32_t)f->data[at] << 24 | (uint32_t)f->data[at + 1] << 16 |
	       (uint32_t)f->data[at + 2] << 8 | f->data[at + 3];
}

/* Windows are opened as what comes is read. */
static void open_windows(int fd, uint32_t id, uint32_t n)
{
	const uint8_t more[4] = { (uint8_t)(n >> 24), (uint8_t)(n >> 16), (uint8_t)(n >> 8), (uint8_t)n };

	send_frame(fd, WINDOW_UPDATE, 0, 0, more, 4);
	send_frame(fd, WINDOW_UPDATE, 0, id, more, 4);
}

/* The body of an answer to its end; the whole connection's other frames are passed over. */
static size_t read_body(int fd, uint32_t id, char *to, size_t cap)
{
	struct frame f = { .n = 0 };
	size_t n = 0;

	while (!(f.flags & END_STREAM) || f.id != id || f.type > HEADERS) {
		assert_true(next_frame(fd, &f));
		if (f.type != DATA || f.id != id)
			continue;
		for (uint32_t i = 0; i < f.n && n < cap - 1; i++)
			to[n++] = (char)f.data[i];
	}
	to[n] = '\0';
	return n;
}

static void assert_answer(int fd, uint32_t id, const char *part)
{
	char text[4096];

	read_body(fd, id, text, sizeof(text));
	if (!strstr(text, part))
		fail_msg("\"%s\" is not in: %s", part, text);
}

static void assert_reset(int fd, uint32_t id, uint32_t code)
{
	struct frame f;

	assert_true(await(fd, RST_STREAM, id, &f));
	assert_int_equal(number_at(&f, 0), code);
}

/* GOAWAY for this reason, and the end. */
static void assert_goodbye(int fd, uint32_t code)
{
	struct frame f;

	assert_true(await(fd, GOAWAY, 0, &f));
	assert_int_equal(number_at(&f, 4), code);
	while (next_frame(fd, &f))
		;
	close(fd);
}

/* ------------------------------------------------------------------------------------------------
 * Requests
 */

static void test_answers(void **state)
{
	int fd = begin();

	(void)state;
	ask(fd, 1, "GET", "/quick", true);
	assert_answer(fd, 1, "quick");
	ask(fd, 3, "GET", "/echo", true);
	assert_answer(fd, 3, "0:2");
	ask(fd, 5, "HEAD", "/echo", true);
	assert_answer(fd, 5, "");
	ask(fd, 7, "GET", "/nowhere", true);
	assert_answer(fd, 7, "\"status\":404");
	ask(fd, 9, "BREW", "/echo", true);
	assert_answer(fd, 9, "\"status\":501");
	ask(fd, 11, "GET", "/%zz", true);
	assert_answer(fd, 11, "\"status\":404");
	close(fd);
}

/* Questions of one connection do not wait for each other. */
static void test_many_at_once(void **state)
{
	int fd = begin();

	(void)state;
	served.n_cancelled = 0;
	ask(fd, 1, "GET", "/slow", true);
	listening_wait(&served.n_waiting, 1);
	ask(fd, 3, "GET", "/echo", true);
	assert_answer(fd, 3, "0:2");
	ask(fd, 5, "GET", "/slow", true);
	listening_wait(&served.n_waiting, 2);
	/* Reset by its client: the one is cancelled, and the connection stays. */
	send_frame(fd, RST_STREAM, 0, 1, "\0\0\0\10", 4);
	listening_wait(&served.n_cancelled, 1);
	ask(fd, 7, "GET", "/quick", true);
	assert_answer(fd, 7, "quick");
	/* A client that goes away takes the rest with it. */
	close(fd);
	listening_wait(&served.n_cancelled, 2);
	listening_wait(&served.n_waiting, 0);
}

/* What the client has no window for waits until it has. */
static void test_windows(void **state)
{
	static char text[LISTENING_MEMORY + 2];
	int fd = begin();

	(void)state;
	ask(fd, 1, "GET", "/long", true);
	ask(fd, 3, "GET", "/quick", true);
	/* 65,535 bytes of the connection are used up by the first. */
	open_windows(fd, 1, 0x7fff0000 - 65535);
	assert_int_equal(read_body(fd, 1, text, sizeof(text)), LISTENING_MEMORY);
	close(fd);
}

/* What a client says behind its GOAWAY takes from it neither the answer nor the end: no reset. */
static void test_the_last_words_arrive(void **state)
{
	(void)state;
	for (int i = 0; i < 50; i++) {
		int fd = begin();
		char rest[256];
		ssize_t n;

		ask(fd, 1, "GET", "/quick", true);
		send_frame(fd, GOAWAY, 0, 0, "\0\0\0\0\0\0\0\xff", 8);
		assert_answer(fd, 1, "quick");
		/* It has ended, or is about to. */
		for (int k = 0; k < 20; k++)
			send_frame(fd, PING, 0, 0, "decima..", 8);
		while ((n = recv(fd, rest, sizeof(rest), 0)) > 0)
			;
		assert_int_equal(n, 0);
		close(fd);
	}
}

/* Nobody waits for ever for a window: the stream ends, and the connection serves others. 3 s. */
static void test_a_window_that_never_opens(void **state)
{
	double late = stats__value(served.stats, "decima_http_timeouts_total", STATS_NO_LABELS);
	static char text[LISTENING_MEMORY + 2];
	int fd = begin();

	(void)state;
	ask(fd, 1, "GET", "/long", true);
	assert_reset(fd, 1, CANCEL);
	assert_true(stats__value(served.stats, "decima_http_timeouts_total", STATS_NO_LABELS) > late);
	ask(fd, 3, "GET", "/long", true);
	open_windows(fd, 3, 0x7fff0000 - 65535);
	assert_int_equal(read_body(fd, 3, text, sizeof(text)), LISTENING_MEMORY);
	close(fd);
}

/* ------------------------------------------------------------------------------------------------
 * Bodies
 */

static void post(int fd, uint32_t id, const char *path, const char *length, size_t n)
{
	static uint8_t data[1000];
	struct buf b = { 0 };

	put_request(&b, "POST", path);
	if (length)
		put_field(&b, "content-length", length);
	send_frame(fd, HEADERS, END_HEADERS, id, b.data, b.n);
	for (; n > sizeof(data); n -= sizeof(data))
		send_frame(fd, DATA, 0, id, data, sizeof(data));
	send_frame(fd, DATA, END_STREAM, id, data, n);
	buf__fini(&b);
}

static void test_bodies(void **state)
{
	int fd = begin();

	(void)state;
	post(fd, 1, "/echo", "7", 7);
	assert_answer(fd, 1, "7:2");
	post(fd, 3, "/echo", NULL, 1000);
	assert_answer(fd, 3, "1000:2");
	post(fd, 5, "/echo", NULL, 0);
	assert_answer(fd, 5, "0:2");
	/* Too long, by its head and by what comes. */
	post(fd, 7, "/echo", "1001", 1001);
	assert_answer(fd, 7, "\"status\":413");
	post(fd, 9, "/echo", NULL, 1001);
	assert_answer(fd, 9, "\"status\":413");
	post(fd, 11, "/control", NULL, 1);
	assert_answer(fd, 11, "\"status\":413");
	/* A GET may end after its head. */
	ask(fd, 13, "GET", "/quick", false);
	send_frame(fd, DATA, END_STREAM, 13, "", 0);
	assert_answer(fd, 13, "quick");
	close(fd);
}

/* Whoever sends a lot more than can be taken has his answer before he ends, and is asked to stop. */
static void test_answer_before_the_end(void **state)
{
	static const uint8_t data[MOST_BYTES];
	int fd = begin();

	(void)state;
	ask(fd, 1, "POST", "/echo", false);
	for (int i = 0; i < 5; i++)
		send_frame(fd, DATA, 0, 1, data, i < 4 ? sizeof(data) : 1001);
	assert_answer(fd, 1, "\"status\":413");
	assert_reset(fd, 1, NO_ERROR);
	ask(fd, 3, "POST", "/admin", false);
	assert_answer(fd, 3, "\"status\":403");
	assert_reset(fd, 3, NO_ERROR);
	ask(fd, 5, "GET", "/quick", true);
	assert_answer(fd, 5, "quick");
	close(fd);
}

/* All bodies together have a bound: 1500 bytes. */
static void test_bodies_together(void **state)
{
	static const uint8_t data[1000];
	int fd = begin();

	(void)state;
	ask(fd, 1, "POST", "/echo", false);
	send_frame(fd, DATA, 0, 1, data, 900);
	post(fd, 3, "/echo", NULL, 1000);
	assert_answer(fd, 3, "\"status\":503");
	send_frame(fd, DATA, END_STREAM, 1, data, 100);
	assert_answer(fd, 1, "1000:2");
	post(fd, 5, "/echo", NULL, 1000);
	assert_answer(fd, 5, "1000:2");
	close(fd);
}

static void put_file(uint8_t *to, size_t at, size_t n)
{
	for (size_t i = 0; i < n; i++)
		to[i] = (uint8_t)((at + i) % 251);
}

/* Sends as much as its two windows let it, and reads how they open. */
static void send_file(int fd, uint32_t id)
{
	static uint8_t data[MOST_BYTES];
	int64_t whole = 65535, window = 1 << 20;
	struct frame f;

	for (size_t at = 0, n; at < LISTENING_FILE_BYTES; at += n) {
		n = LISTENING_FILE_BYTES - at < MOST_BYTES ? LISTENING_FILE_BYTES - at : MOST_BYTES;
		while (whole < (int64_t)n || window < (int64_t)n) {
			assert_true(await_update(fd, &f));
			*(f.id ? &window : &whole) += number_at(&f, 0);
		}
		put_file(data, at, n);
		send_frame(fd, DATA, at + n == LISTENING_FILE_BYTES ? END_STREAM : 0, id, data, n);
		whole -= (int64_t)n;
		window -= (int64_t)n;
	}
}

/* A file is longer than a window, which opens again as a lane writes. */
static void test_file(void **state)
{
	int fd = begin();
	char text[64];

	(void)state;
	ask(fd, 1, "POST", "/file", false);
	send_file(fd, 1);
	read_body(fd, 1, text, sizeof(text));
	snprintf(text + 32, 32, "%zu:%zu", LISTENING_FILE_BYTES, LISTENING_FILE_BYTES);
	assert_string_equal(text, text + 32);
	close(fd);
}

/* ------------------------------------------------------------------------------------------------
 * Who means no good, or is too slow
 */

static void test_floods(void **state)
{
	static const uint8_t kinds[] = { PING, SETTINGS, PRIORITY, DATA };
	static const uint8_t payload[8] = { 0, 0, 0, 0, 1 };

	(void)state;
	for (size_t k = 0; k < sizeof(kinds); k++) {
		struct buf b = { 0 };
		int fd = begin();

		ask(fd, 1, "POST", "/echo", false);
		for (int i = 0; i < 3000; i++)
			put_frame(&b, kinds[k], 0, kinds[k] == PRIORITY || kinds[k] == DATA ? 1 : 0,
				  payload,
				  kinds[k] == PING	 ? 8
				  : kinds[k] == PRIORITY ? 5
							 : 0);
		send_all(fd, &b);
		assert_goodbye(fd, ENHANCE_YOUR_CALM);
	}
}

/* CVE-2023-44487: requests that are reset at once. */
static void test_rapid_reset(void **state)
{
	struct buf b = { 0 };
	int fd = begin();
	struct frame f;
	int n = 0;

	(void)state;
	for (uint32_t i = 0; i < 3000; i++) {
		struct buf head = { 0 };

		put_request(&head, "GET", "/echo");
		put_frame(&b, HEADERS, END_HEADERS | END_STREAM, 2 * i + 1, head.data, head.n);
		put_frame(&b, RST_STREAM, 0, 2 * i + 1, "\0\0\0\10", 4);
		buf__fini(&head);
	}
	send_all(fd, &b);
	while (next_frame(fd, &f))
		n += f.type == GOAWAY;
	assert_true(n > 0);
	close(fd);
	listening_wait(&served.n_waiting, 0);
}

/* What does nothing costs the same where padding makes it look like something. */
static void test_padding_alone(void **state)
{
	static const uint8_t padded[] = { 5, 0, 0, 0, 0, 0 };
	struct buf b = { 0 };
	int fd = begin();

	(void)state;
	ask(fd, 1, "POST", "/echo", false);
	for (int i = 0; i < 3000; i++)
		put_frame(&b, DATA, 8, 1, padded, sizeof(padded));
	send_all(fd, &b);
	assert_goodbye(fd, ENHANCE_YOUR_CALM);
}

/* CVE-2025-8671: requests that have the server reset them, by a window beyond the largest; no more at once than there may be. */
static void test_made_resets(void **state)
{
	enum { AT_ONCE = 50, TIMES = 60 };
	int fd = begin();
	struct frame f = { 0 };
	uint32_t id = 1;

	(void)state;
	for (int i = 0; i < TIMES && f.type != GOAWAY; i++) {
		struct buf b = { 0 }, head = { 0 };

		put_request(&head, "POST", "/echo");
		for (int k = 0; k < AT_ONCE; k++, id += 2) {
			put_frame(&b, HEADERS, END_HEADERS, id, head.data, head.n);
			put_frame(&b, WINDOW_UPDATE, 0, id, "\x7f\xff\xff\xff", 4);
		}
		buf__fini(&head);
		send_all(fd, &b);
		for (int n = 0; n < AT_ONCE && f.type != GOAWAY; n += f.type == RST_STREAM)
			assert_true(next_frame(fd, &f));
	}
	assert_int_equal(f.type, GOAWAY);
	assert_int_equal(number_at(&f, 4), ENHANCE_YOUR_CALM);
	close(fd);
}

static void test_heads(void **state)
{
	char value[1000];
	struct buf b = { 0 };
	int fd = begin();

	(void)state;
	put_request(&b, "GET", "/quick");
	for (int i = 0; i < 101; i++)
		put_field(&b, "x", "y");
	send_frame(fd, HEADERS, END_HEADERS | END_STREAM, 1, b.data, b.n);
	assert_answer(fd, 1, "more than 100 headers");
	buf__fini(&b);

	/* 65 of a thousand bytes, in as many frames as they need. */
	snprintf(value, sizeof(value), "%0999d", 0);
	put_request(&b, "GET", "/quick");
	for (int i = 0; i < 65; i++)
		put_field(&b, "x", value);
	for (size_t at = 0; at < b.n; at += MOST_BYTES) {
		size_t n = b.n - at < MOST_BYTES ? b.n - at : MOST_BYTES;

		send_frame(fd, at ? CONTINUATION : HEADERS,
			   (uint8_t)((at ? 0 : END_STREAM) | (at + n == b.n ? END_HEADERS : 0)), 3,
			   b.data + at, n);
	}
	assert_answer(fd, 3, "more than 64 KiB");
	buf__fini(&b);

	put_request(&b, "GET", "/quick");
	put_field(&b, "host", "elsewhere");
	send_frame(fd, HEADERS, END_HEADERS | END_STREAM, 5, b.data, b.n);
	assert_answer(fd, 5, "Host is not :authority");
	buf__fini(&b);
	close(fd);
}

/* A number that was passed over cannot be used; one whose request is over may still get frames. */
static void test_numbers(void **state)
{
	int fd = begin();

	(void)state;
	ask(fd, 1, "GET", "/quick", true);
	assert_answer(fd, 1, "quick");
	for (uint32_t id = 5; id < 1005; id += 2) {
		ask(fd, id, "GET", "/quick", true);
		assert_answer(fd, id, "quick");
	}
	ask(fd, 1009, "GET", "/quick", true);
	assert_answer(fd, 1009, "quick");
	ask(fd, 1007, "GET", "/quick", true);
	assert_goodbye(fd, PROTOCOL_ERROR);
}

/* A head that does not end, and a body that does not come: 1.5 s. */
static void test_slow(void **state)
{
	double late = stats__value(served.stats, "decima_http_timeouts_total", STATS_NO_LABELS);
	int fd = begin(), other = begin();
	struct frame f;

	(void)state;
	ask(fd, 1, "POST", "/echo", false);
	send_frame(other, HEADERS, END_STREAM, 1, "\0\1x\1y", 5);
	assert_reset(fd, 1, CANCEL);
	ask(fd, 3, "GET", "/quick", true);
	assert_answer(fd, 3, "quick");
	while (next_frame(other, &f))
		;
	assert_true(stats__value(served.stats, "decima_http_timeouts_total", STATS_NO_LABELS) >=
		    late + 2);
	close(fd);
	close(other);
}

/* One that comes, a quarter of what may come at a time, has longer than the time of one quarter. */
static void test_long_body(void **state)
{
	static const uint8_t piece[250];
	int fd = begin();

	(void)state;
	ask(fd, 1, "POST", "/echo", false);
	for (int i = 0; i < 4; i++) {
		nanosleep(&(struct timespec){ .tv_nsec = 600000000 }, NULL);
		send_frame(fd, DATA, i == 3 ? END_STREAM : 0, 1, piece, sizeof(piece));
	}
	assert_answer(fd, 1, "1000:2");
	close(fd);
}

/* Half a preface, and then nothing: as with half a line of HTTP/1. */
static void test_half_a_preface(void **state)
{
	static const char rest[] = "UT /quick HTTP/1.1\r\nHost: localhost\r\n\r\n";
	int fd = listening_connect();
	struct frame f;

	(void)state;
	assert_int_equal(send(fd, "PR", 2, MSG_NOSIGNAL), 2);
	assert_false(next_frame(fd, &f));
	close(fd);
	/* What only begins like it is HTTP/1. */
	fd = listening_connect();
	assert_int_equal(send(fd, "P", 1, MSG_NOSIGNAL), 1);
	poll(NULL, 0, 50);
	assert_int_equal(send(fd, rest, sizeof(rest) - 1, MSG_NOSIGNAL), (ssize_t)sizeof(rest) - 1);
	assert_true(read_exactly(fd, f.data, 12));
	assert_memory_equal(f.data, "HTTP/1.1 405", 12);
	close(fd);
}

/* ------------------------------------------------------------------------------------------------
 * Streams of gRPC
 */

static void call(int fd, uint32_t id, const char *path)
{
	struct buf b = { 0 };

	put_request(&b, "POST", path);
	put_field(&b, "content-type", "application/grpc");
	send_frame(fd, HEADERS, END_HEADERS, id, b.data, b.n);
	buf__fini(&b);
}

static void put_message(struct buf *b, const char *text)
{
	const uint8_t head[5] = { [4] = (uint8_t)strlen(text) };

	buf__append(b, head, sizeof(head));
	buf__text(b, text);
}

static void say(int fd, uint32_t id, const char *text)
{
	struct buf b = { 0 };

	put_message(&b, text);
	send_frame(fd, DATA, 0, id, b.data, b.n);
	buf__fini(&b);
}

/* The next frame of data is this one message. */
static void assert_says(int fd, uint32_t id, const char *want)
{
	struct frame f;

	assert_true(await(fd, DATA, id, &f));
	assert_int_equal(f.n, 5 + strlen(want));
	assert_int_equal(f.data[4], strlen(want));
	assert_memory_equal(f.data + 5, want, strlen(want));
	assert_false(f.flags & END_STREAM);
}

/* Trailers, and nothing before them. */
static void assert_over(int fd, uint32_t id)
{
	struct frame f;

	while (next_frame(fd, &f) && (f.id != id || f.type != HEADERS || !(f.flags & END_STREAM)))
		if (f.id == id && f.type == DATA)
			assert_int_equal(f.n, 0);
	assert_int_equal(f.id, id);
}

static double n_refused(void)
{
	return stats__value(served.stats, "decima_http_refused_total", STATS_NO_LABELS);
}

/* What comes for this text, sent in pieces of so many bytes: the 12 bytes of a status line, or nothing and the end. */
static void assert_hello(const char *text, size_t piece, const char *want)
{
	const size_t n = strlen(text);
	int fd = listening_connect();
	char got[12];

	for (size_t at = 0; at < n; at += piece) {
		send(fd, text + at, n - at < piece ? n - at : piece, MSG_NOSIGNAL);
		if (piece < n)
			poll(NULL, 0, 2);
	}
	if (want) {
		assert_true(read_exactly(fd, got, sizeof(got)));
		assert_memory_equal(got, want, sizeof(got));
	} else {
		assert_true(read(fd, got, 1) <= 0);
	}
	close(fd);
}

/* RFC 9113, 3.4: what is no preface, and no request of HTTP/1, is answered by nobody, and counted. */
static void test_an_invalid_preface(void **state)
{
	static const char invalid[] = "INVALID CONNECTION PREFACE\r\n\r\n";
	double before = n_refused(), late;
	char long_line[300];

	(void)state;
	assert_hello(invalid, sizeof(invalid), NULL);
	assert_hello(invalid, 1, NULL);
	assert_hello("\x16\x03\x01\n", 10, NULL);
	assert_true(n_refused() == before + 3);
	/* Requests, and what is malformed in them is said, however they come. */
	for (size_t piece = 1; piece < 100; piece += 98) {
		assert_hello("BREW /quick HTTP/1.1\r\nHost: localhost\r\n\r\n", piece, "HTTP/1.1 501");
		assert_hello("GET http://localhost/quick HTTP/1.1\r\nHost: localhost\r\n\r\n",
			     piece, "HTTP/1.1 200");
		assert_hello("OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n", piece, "HTTP/1.1 400");
		assert_hello("\r\nGET /quick HTTP/1.1\r\nHost: localhost\r\n\r\n", piece, "HTTP/1.1 200");
	}
	assert_hello("GET /quick nonsense\r\n\r\n", 100, "HTTP/1.1 400");
	/* A line that is longer than what is looked at. */
	snprintf(long_line, sizeof(long_line), "INVALID %0*d PREFACE\r\n\r\n", 260, 0);
	assert_hello(long_line, sizeof(long_line), "HTTP/1.1 400");
	/* One that does not come to its end is waited for as long as for any head. */
	late = stats__value(served.stats, "decima_http_timeouts_total", STATS_NO_LABELS);
	before = n_refused();
	assert_hello("INVALID CONNECTION", 100, NULL);
	assert_true(stats__value(served.stats, "decima_http_timeouts_total", STATS_NO_LABELS) ==
		    late + 1);
	assert_true(n_refused() == before);
}

static void test_talk(void **state)
{
	int fd = begin();
	struct buf b = { 0 };

	(void)state;
	call(fd, 1, "/t.T/Talk");
	say(fd, 1, "hello");
	assert_says(fd, 1, "5");
	say(fd, 1, "quiet");
	say(fd, 1, "");
	assert_says(fd, 1, "0");
	/* One in pieces, beside another talk; and two at once. */
	put_message(&b, "pieces");
	send_frame(fd, DATA, 0, 1, b.data, 3);
	call(fd, 3, "/t.T/Talk");
	say(fd, 3, "other");
	assert_says(fd, 3, "5");
	send_frame(fd, DATA, 0, 1, b.data + 3, b.n - 3);
	assert_says(fd, 1, "6");
	buf__reset(&b);
	put_message(&b, "one");
	put_message(&b, "quiet");
	put_message(&b, "four");
	send_frame(fd, DATA, END_STREAM, 1, b.data, b.n);
	buf__fini(&b);
	{
		struct frame f;

		assert_true(await(fd, DATA, 1, &f));
		assert_int_equal(f.n, 12);
		assert_memory_equal(f.data,
				    "\0\0\0\0\1"
				    "3"
				    "\0\0\0\0\1"
				    "4",
				    12);
	}
	assert_over(fd, 1);
	/* A problem ends it, whoever goes on. */
	say(fd, 3, "bad");
	assert_over(fd, 3);
	assert_reset(fd, 3, NO_ERROR);
	/* Half a message; none; and more than it may have. */
	call(fd, 5, "/t.T/Talk");
	send_frame(fd, DATA, END_STREAM, 5, "\0\0\0\0\5hel", 8);
	assert_over(fd, 5);
	call(fd, 7, "/t.T/Talk");
	send_frame(fd, DATA, END_STREAM, 7, "", 0);
	assert_over(fd, 7);
	call(fd, 9, "/t.T/Talk");
	send_frame(fd, DATA, 0, 9, "\0\0\0\0\145", 5);
	assert_over(fd, 9);
	assert_reset(fd, 9, NO_ERROR);
	/* As a plain request it is none. */
	ask(fd, 11, "POST", "/t.T/Talk", true);
	assert_answer(fd, 11, "needs gRPC over HTTP/2");
	close(fd);
}

/* Who asks and does not read is told to; what is there is sent before. */
static void test_talk_unread(void **state)
{
	int fd = begin();
	struct frame f = { .n = 0 };
	uint32_t n = 0;

	(void)state;
	call(fd, 1, "/t.T/Talk");
	for (int i = 0; i < 8; i++)
		say(fd, 1, "long");
	ask(fd, 3, "GET", "/quick", true);
	assert_answer(fd, 3, "quick");
	open_windows(fd, 1, 1 << 20);
	while (next_frame(fd, &f) && !(f.id == 1 && f.type == HEADERS && f.flags & END_STREAM))
		n += f.type == DATA && f.id == 1 ? f.n : 0;
	assert_int_equal(f.id, 1);
	assert_in_range(n, 100000, 2 * (256 << 10));
	close(fd);
}

static void test_watch(void **state)
{
	int fd = begin();

	(void)state;
	call(fd, 1, "/t.T/Watch");
	say(fd, 1, "");
	assert_says(fd, 1, "first");
	send_frame(fd, DATA, END_STREAM, 1, "", 0);
	assert_says(fd, 1, "look");
	/* It holds up nobody, and outlives what a body may take. */
	ask(fd, 3, "GET", "/quick", true);
	assert_answer(fd, 3, "quick");
	assert_says(fd, 1, "look");
	send_frame(fd, RST_STREAM, 0, 1, "\0\0\0\10", 4);
	/* It takes one message, and needs it. */
	call(fd, 5, "/t.T/Watch");
	say(fd, 5, "");
	assert_says(fd, 5, "first");
	say(fd, 5, "");
	assert_over(fd, 5);
	call(fd, 7, "/t.T/Watch");
	send_frame(fd, DATA, END_STREAM, 7, "", 0);
	assert_over(fd, 7);
	close(fd);
}

/* One client leaves places to others, and a stream that ends leaves its own. */
static void test_many_watches(void **state)
{
	enum { MOST = 16 };
	int fd = begin(), other = begin();
	int32_t id;

	(void)state;
	for (int i = 0; i < MOST; i++) {
		call(fd, 2 * i + 1, "/t.T/Watch");
		say(fd, 2 * i + 1, "");
		assert_says(fd, 2 * i + 1, "first");
	}
	id = 2 * MOST + 1;
	call(fd, id, "/t.T/Watch");
	assert_over(fd, id);
	call(other, 1, "/t.T/Watch");
	say(other, 1, "");
	assert_says(other, 1, "first");
	send_frame(fd, RST_STREAM, 0, 1, "\0\0\0\10", 4);
	call(fd, id + 2, "/t.T/Watch");
	say(fd, id + 2, "");
	assert_says(fd, id + 2, "first");
	close(other);
	close(fd);
}

/* What runs is cancelled, its client hears of the end. */
static void test_stop(void **state)
{
	int fd = begin();
	struct frame f;

	(void)state;
	served.n_cancelled = 0;
	call(fd, 3, "/t.T/Watch");
	say(fd, 3, "");
	assert_says(fd, 3, "first");
	ask(fd, 5, "GET", "/slow", true);
	listening_wait(&served.n_waiting, 1);
	assert_int_equal(listener__stop(served.listener, clock__mono(&clock__system)), 0);
	assert_int_equal(served.n_cancelled, 1);
	assert_true(await(fd, GOAWAY, 0, &f));
	assert_over(fd, 3);
	assert_answer(fd, 5, "slow");
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_many_at_once),
		cmocka_unit_test(test_windows),
		cmocka_unit_test(test_a_window_that_never_opens),
		cmocka_unit_test(test_the_last_words_arrive),
		cmocka_unit_test(test_bodies),
		cmocka_unit_test(test_answer_before_the_end),
		cmocka_unit_test(test_bodies_together),
		cmocka_unit_test(test_file),
		cmocka_unit_test(test_floods),
		cmocka_unit_test(test_rapid_reset),
		cmocka_unit_test(test_padding_alone),
		cmocka_unit_test(test_made_resets),
		cmocka_unit_test(test_heads),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_slow),
		cmocka_unit_test(test_long_body),
		cmocka_unit_test(test_half_a_preface),
		cmocka_unit_test(test_an_invalid_preface),
		cmocka_unit_test(test_talk),
		cmocka_unit_test(test_talk_unread),
		cmocka_unit_test(test_watch),
		cmocka_unit_test(test_many_watches),
		cmocka_unit_test(test_stop),
	};

	return cmocka_run_group_tests_name("http2", tests, listening_begin, listening_end);
}
