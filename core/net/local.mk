# SPDX-License-Identifier: Apache-2.0
# core/net/local.mk - listener, HTTP server and client
noinst_LTLIBRARIES += core/net/libnet.la
core_net_libnet_la_SOURCES = \
	core/net/access.c core/net/access.h \
	core/net/address.c core/net/address.h \
	core/net/callers.c core/net/callers.h \
	core/net/conns.c core/net/conns.h \
	core/net/cors.c core/net/cors.h \
	core/net/endpoints.c core/net/endpoints.h \
	core/net/exchange.c core/net/exchange.h \
	core/net/http.c core/net/http.h \
	core/net/http_assertion.c core/net/http_assertion.h \
	core/net/grpc.c core/net/grpc.h \
	core/net/grpc_client.c core/net/grpc_client.h \
	core/net/http1.c core/net/http1.h \
	core/net/http2.c core/net/http2.h core/net/http2_inside.h \
	core/net/http2_call.c \
	core/net/http_client.c core/net/http_client.h \
	core/net/http_fault.c core/net/http_fault.h \
	core/net/http_place.c core/net/http_place.h \
	core/net/http_pool.c core/net/http_pool.h core/net/http_pool_inside.h \
	core/net/http_setup.c core/net/http_setup.h \
	core/net/http_tls.c core/net/http_tls.h \
	core/net/http_token.c core/net/http_token.h \
	core/net/http_leg.c core/net/http_turn.c \
	core/net/http_routes.c \
	core/net/lanes.c core/net/lanes.h \
	core/net/listener.c core/net/listener.h \
	core/net/loop.c core/net/loop.h \
	core/net/no_proxy.c core/net/no_proxy.h \
	core/net/pages.c core/net/pages.h \
	core/net/refusal.c core/net/refusal.h \
	core/net/requests.c core/net/requests.h \
	core/net/secret.c core/net/secret.h \
	core/net/shares.c core/net/shares.h \
	core/net/sockets.c core/net/sockets.h \
	core/net/stream.c core/net/stream.h \
	core/net/talk.c core/net/talk.h \
	core/net/tls_server.c core/net/tls_server.h
core_net_libnet_la_CFLAGS = $(AM_CFLAGS) $(MHD_CFLAGS) $(NGHTTP2_CFLAGS) $(GNUTLS_CFLAGS) $(NETTLE_CFLAGS) $(CURL_CFLAGS) $(JANSSON_CFLAGS)

NET_LA = core/net/libnet.la $(STATS_LA) $(CONFIG_LA) $(DEFLATE_LA) $(MHD_LIBS) $(NGHTTP2_LIBS) $(GNUTLS_LIBS) $(NETTLE_LIBS) $(CURL_LIBS) $(JANSSON_LIBS)
