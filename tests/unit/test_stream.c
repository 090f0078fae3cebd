/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_stream.c - bytes over TLS and without, and what a client sends that is none
 */
#include "core/net/stream.h"

#include <errno.h>
#include <gnutls/gnutls.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/unit/unit.h"

/* GnuTLS's client and our end of a pair of sockets, by a key that both know. */
static struct rig {
	gnutls_psk_server_credentials_t server_key;
	gnutls_psk_client_credentials_t client_key;
	gnutls_session_t client;
	int client_fd;
	struct stream server;
} rig;

static int give_key(gnutls_session_t session, const char *user, gnutls_datum_t *ret)
{
	(void)session;
	(void)user;
	ret->data = gnutls_malloc(16);
	ret->size = 16;
	for (int i = 0; i < 16; i++)
		ret->data[i] = (unsigned char)(i % 8 * 0x22 + 0x01);
	return 0;
}

static void shake_hands(void)
{
	uint32_t events;
	int ours = -EAGAIN, theirs = GNUTLS_E_AGAIN;

	for (int i = 0; i < 100 && (ours == -EAGAIN || theirs == GNUTLS_E_AGAIN); i++) {
		if (theirs == GNUTLS_E_AGAIN)
			theirs = gnutls_handshake(rig.client);
		if (ours == -EAGAIN)
			ours = stream__handshake(&rig.server, &events);
	}
	assert_int_equal(ours, 0);
	assert_int_equal(theirs, 0);
}

static void begin(bool tls, const char *version)
{
	static const char how[] = "NONE:+%s:+ECDHE-PSK:+PSK:+AES-128-GCM:+AES-128-CBC:+SHA1:+AEAD:+"
				  "SIGN-ALL:+COMP-NULL:+GROUP-ALL";
	gnutls_datum_t key = { NULL, 0 };
	char priority[200];
	int fds[2];

	memset(&rig, 0, sizeof(rig));
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
	rig.client_fd = fds[0];
	rig.server.fd = fds[1];
	if (!tls)
		return;
	snprintf(priority, sizeof(priority), how, version);
	assert_int_equal(give_key(NULL, NULL, &key), 0);
	gnutls_psk_allocate_server_credentials(&rig.server_key);
	gnutls_psk_set_server_credentials_function(rig.server_key, give_key);
	gnutls_psk_allocate_client_credentials(&rig.client_key);
	assert_int_equal(
		gnutls_psk_set_client_credentials(rig.client_key, "me", &key, GNUTLS_PSK_KEY_RAW), 0);
	gnutls_free(key.data);
	gnutls_init(&rig.server.tls, GNUTLS_SERVER | GNUTLS_NONBLOCK);
	gnutls_init(&rig.client, GNUTLS_CLIENT | GNUTLS_NONBLOCK);
	assert_int_equal(gnutls_priority_set_direct(rig.server.tls, priority, NULL), 0);
	assert_int_equal(gnutls_priority_set_direct(rig.client, priority, NULL), 0);
	gnutls_credentials_set(rig.server.tls, GNUTLS_CRD_PSK, rig.server_key);
	gnutls_credentials_set(rig.client, GNUTLS_CRD_PSK, rig.client_key);
	gnutls_transport_set_int(rig.server.tls, rig.server.fd);
	gnutls_transport_set_int(rig.client, rig.client_fd);
	shake_hands();
}

static void end(void)
{
	gnutls_session_t ours = rig.server.tls;

	/* Its certificates are not our rig's to give back. */
	rig.server.tls = NULL;
	stream__close(&rig.server);
	assert_int_equal(rig.server.fd, -1);
	close(rig.client_fd);
	if (!ours)
		return;
	gnutls_deinit(ours);
	gnutls_deinit(rig.client);
	gnutls_psk_free_server_credentials(rig.server_key);
	gnutls_psk_free_client_credentials(rig.client_key);
}

static const char *const versions[] = { "VERS-TLS1.2", "VERS-TLS1.3" };

static void test_both_ways(void **state)
{
	char got[STREAM_READ_BYTES];

	(void)state;
	for (int i = 0; i < 3; i++) {
		begin(i < 2, versions[i % 2]);
		assert_int_equal(stream__read(&rig.server, got, sizeof(got)), -EAGAIN);
		assert_int_equal(i < 2 ? gnutls_record_send(rig.client, "hello", 5)
				       : write(rig.client_fd, "hello", 5),
				 5);
		assert_int_equal(stream__read(&rig.server, got, sizeof(got)), 5);
		assert_memory_equal(got, "hello", 5);
		assert_int_equal(stream__write(&rig.server, "world!", 6), 6);
		assert_int_equal(i < 2 ? gnutls_record_recv(rig.client, got, sizeof(got))
				       : read(rig.client_fd, got, sizeof(got)),
				 6);
		assert_memory_equal(got, "world!", 6);
		end();
	}
}

/* With a word and without. */
static void test_ends(void **state)
{
	char got[STREAM_READ_BYTES];

	(void)state;
	for (int i = 0; i < 5; i++) {
		begin(i < 4, versions[i % 2]);
		if (i < 2)
			gnutls_bye(rig.client, GNUTLS_SHUT_WR);
		else
			shutdown(rig.client_fd, SHUT_WR);
		assert_int_equal(stream__read(&rig.server, got, sizeof(got)), 0);
		end();
	}
}

static void warn(int n)
{
	for (int i = 0; i < n; i++)
		assert_int_equal(
			gnutls_alert_send(rig.client, GNUTLS_AL_WARNING, GNUTLS_A_NO_RENEGOTIATION), 0);
}

/* Some are passed over, as often as there is something between them; who sends nothing else is parted with. */
static void test_warnings(void **state)
{
	char got[STREAM_READ_BYTES];

	(void)state;
	begin(true, versions[0]);
	for (int i = 0; i < 5; i++) {
		warn(4);
		assert_int_equal(gnutls_record_send(rig.client, "x", 1), 1);
		assert_int_equal(stream__read(&rig.server, got, sizeof(got)), 1);
	}
	warn(100);
	assert_int_equal(stream__read(&rig.server, got, sizeof(got)), -EPROTO);
	end();

	begin(true, versions[0]);
	for (int i = 0; i < 5; i++) {
		warn(1);
		assert_int_equal(stream__read(&rig.server, got, sizeof(got)), -EAGAIN);
	}
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_both_ways),
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_warnings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
