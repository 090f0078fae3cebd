/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/net/no_proxy.h - which hosts are reached without the proxy
 *
 * As Go's golang.org/x/net/http/httpproxy reads NO_PROXY, and with it Prometheus' no_proxy: items with
 * commas between, each a name, which stands for what is beneath it too (.NAME: only for that; *.NAME
 * likewise), an address, a network (10.0.0.0/8), or * for all; behind a name or an address a :PORT may
 * stand. localhost and loopback addresses are always reached without.
 */
#ifndef DECIMA_NET_NO_PROXY_H
#define DECIMA_NET_NO_PROXY_H

#include <stdbool.h>

/* host: a name or an address without brackets; port: as text. NULL as a list: nothing but this machine. */
bool no_proxy__matches(const char *list, const char *host, const char *port);

#endif
