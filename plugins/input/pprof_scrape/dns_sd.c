/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/pprof_scrape/dns_sd.c - targets that stand in the DNS: SRV, A, AAAA, MX and NS records
 *
 * Asked through c-ares, whose sockets and deadlines are the loop's; how names are completed and which
 * answers count is Prometheus' way (its discovery/dns): the search list is gone through until some name
 * is there, even if without such a record; when all say that there is no such name, there is no target;
 * when one of them could not be asked, what was found before stays. /etc/resolv.conf is read at each look.
 */
#include <ares.h>
#include <arpa/inet.h>
#include <arpa/nameser.h>
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/base/error.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "plugins/input/pprof_scrape/discovery.h"
#include "plugins/input/pprof_scrape/job.h"
#include "plugins/input/pprof_scrape/labelset.h"
#include "plugins/input/pprof_scrape/options.h"

/* ---- options ---- */

struct dns_sd_options {
	struct dcm_list names; /* of const char * */
	const char *type;
	int64_t port;
	int64_t refresh_interval_ns;
};

static const struct record_type {
	const char *name;
	int number;
} types[] = {
	{ "SRV", ns_t_srv }, { "A", ns_t_a }, { "AAAA", ns_t_aaaa }, { "MX", ns_t_mx }, { "NS", ns_t_ns }
};

static const struct dcm_option rows[] = {
	{ .name = "names",
	  .type = DCM_OPT_LIST,
	  .element = DCM_OPT_STRING,
	  .offset = offsetof(struct dns_sd_options, names),
	  .flags = DCM_OPT_REQUIRED,
	  .doc = "Names whose records are targets." },
	{ .name = "type",
	  .type = DCM_OPT_STRING,
	  .offset = offsetof(struct dns_sd_options, type),
	  .def = "SRV",
	  .doc = "SRV, A, AAAA, MX or NS." },
	{ .name = "port",
	  .type = DCM_OPT_INT,
	  .offset = offsetof(struct dns_sd_options, port),
	  .def = "0",
	  .min = "0",
	  .max = "65535",
	  .doc = "Of the targets; SRV records have their own." },
	{ .name = "refresh_interval",
	  .type = DCM_OPT_DURATION,
	  .offset = offsetof(struct dns_sd_options, refresh_interval_ns),
	  .def = "30s",
	  .min = "1s",
	  .max = DURATION_MAX,
	  .doc = "How often they are asked for." },
};

static const struct record_type *type_of(const struct dns_sd_options *o)
{
	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (strcasecmp(o->type, types[i].name) == 0)
			return &types[i];
	return NULL;
}

static int check(const void *config, struct dcm_error *err)
{
	const struct dns_sd_options *o = config;
	const struct record_type *type = type_of(o);

	if (o->names.n == 0)
		return error__set(err, -EINVAL, "names: name at least one");
	if (!type)
		return error__set(err, -EINVAL, "type: \"%s\" is none of SRV, A, AAAA, MX, NS", o->type);
	if (type->number != ns_t_srv && o->port == 0)
		return error__set(err, -EINVAL, "port: records of type %s have none; say it here",
				  type->name);
	return 0;
}

const struct dcm_table dns_sd__table = {
	.size = sizeof(struct dcm_table),
	.option_size = sizeof(struct dcm_option),
	.struct_size = sizeof(struct dns_sd_options),
	.n_options = sizeof(rows) / sizeof(*rows),
	.options = rows,
	.check = check,
};

/* ---- state ---- */

struct dns_sd;

struct name {
	struct dns_sd *s;
	const char *text;
	struct source source;
	int step;	   /* of its completions */
	bool is_uncertain; /* one of them could not be asked */
	char asked[300];
};

struct dns_sd {
	struct discovery *d;
	const struct dns_sd_options *options;
	const struct record_type *type;
	struct name *names; /* [options->names.n] */
	uint32_t n_open;    /* names under way */
	bool has_failed;
	ares_channel channel;	   /* while names are under way; NULL otherwise */
	struct ares_options saved; /* its search list */
	struct loop_timer look, deadline;
};

static void ask_next(struct name *n);

/* ---- records ---- */

static void add_rooted(struct labelset *l, const char *label, const char *host, int64_t port)
{
	char rooted[300];

	snprintf(rooted, sizeof(rooted), "%s.", host);
	labelset__put(l, label, str__of(rooted));
	labelset__add_port(l, str__of(host), port);
}

static int add_srv(struct labelset *l, const unsigned char *answer, int n)
{
	struct ares_srv_reply *all = NULL;
	int r = ares_parse_srv_reply(answer, n, &all);

	for (const struct ares_srv_reply *s = all; s; s = s->next) {
		labelset__put_int(l, "__meta_dns_srv_record_port", s->port);
		add_rooted(l, "__meta_dns_srv_record_target", s->host, s->port);
	}
	ares_free_data(all);
	return r;
}

static int add_mx(struct labelset *l, const unsigned char *answer, int n, int64_t port)
{
	struct ares_mx_reply *all = NULL;
	int r = ares_parse_mx_reply(answer, n, &all);

	for (const struct ares_mx_reply *m = all; m; m = m->next)
		add_rooted(l, "__meta_dns_mx_record_target", m->host, port);
	ares_free_data(all);
	return r;
}

static int add_ns(struct labelset *l, const unsigned char *answer, int n, int64_t port)
{
	struct hostent *all = NULL;
	int r = ares_parse_ns_reply(answer, n, &all);

	for (char **host = r == ARES_SUCCESS ? all->h_aliases : NULL; host && *host; host++)
		add_rooted(l, "__meta_dns_ns_record_target", *host, port);
	if (all)
		ares_free_hostent(all);
	return r;
}

/* An answer has at most 64 KiB, and a record no less than 16 bytes. */
enum { MAX_ADDRESSES = 4096 };

static int add_a(struct labelset *l, const unsigned char *answer, int n, int64_t port)
{
	struct ares_addrttl *all = mem__zalloc(MAX_ADDRESSES, sizeof(*all));
	int count = MAX_ADDRESSES;
	int r = all ? ares_parse_a_reply(answer, n, NULL, all, &count) : ARES_ENOMEM;
	char text[INET_ADDRSTRLEN];

	for (int i = 0; r == ARES_SUCCESS && i < count; i++)
		labelset__add_port(l, str__of(inet_ntop(AF_INET, &all[i].ipaddr, text, sizeof(text))),
				   port);
	free(all);
	return r;
}

static int add_aaaa(struct labelset *l, const unsigned char *answer, int n, int64_t port)
{
	struct ares_addr6ttl *all = mem__zalloc(MAX_ADDRESSES, sizeof(*all));
	int count = MAX_ADDRESSES;
	int r = all ? ares_parse_aaaa_reply(answer, n, NULL, all, &count) : ARES_ENOMEM;
	char text[INET6_ADDRSTRLEN];

	for (int i = 0; r == ARES_SUCCESS && i < count; i++)
		labelset__add_port(
			l, str__of(inet_ntop(AF_INET6, &all[i].ip6addr, text, sizeof(text))), port);
	free(all);
	return r;
}

static int add_records(struct labelset *l, int type, const unsigned char *answer, int n, int64_t port)
{
	switch (type) {
	case ns_t_srv:
		return add_srv(l, answer, n);
	case ns_t_mx:
		return add_mx(l, answer, n, port);
	case ns_t_ns:
		return add_ns(l, answer, n, port);
	case ns_t_a:
		return add_a(l, answer, n, port);
	default:
		return add_aaaa(l, answer, n, port);
	}
}

/* ---- answers ---- */

static void fail(struct dns_sd *s, const struct name *n, const char *why)
{
	s->has_failed = true;
	discovery__failed(s->d, "%s: %s records cannot be had: %s; is /etc/resolv.conf right?",
			  n->text, s->type->name, why);
}

static void end_look(struct dns_sd *s)
{
	if (--s->n_open == 0 && !s->has_failed)
		discovery__well(s->d);
}

/* The targets of one name; an answer of no bytes has none. */
static void take(struct name *n, const unsigned char *answer, int size)
{
	struct dns_sd *s = n->s;
	struct groups found = { 0 };
	struct labelset l = { .to = &found };
	int r = ARES_SUCCESS;

	labelset__put(&l, "__meta_dns_name", str__of(n->text));
	labelset__share(&l);
	if (size)
		r = add_records(&l, s->type->number, answer, size, s->options->port);
	if (l.error || (r != ARES_SUCCESS && r != ARES_ENODATA)) {
		groups__fini(&found);
		fail(s, n, l.error ? strerror(-l.error) : ares_strerror(r));
	} else {
		discovery__found(s->d, &n->source, &found);
	}
	labelset__fini(&l);
	end_look(s);
}

static void answered(void *ctx, int status, int timeouts, unsigned char *answer, int size)
{
	struct name *n = ctx;

	(void)timeouts;
	if (status == ARES_EDESTRUCTION || status == ARES_ECANCELLED)
		return;
	if (status == ARES_SUCCESS) {
		take(n, answer, size);
	} else if (status == ARES_ENODATA) {
		take(n, NULL, 0);
	} else {
		n->is_uncertain |= status != ARES_ENOTFOUND;
		ask_next(n);
	}
}

/* ---- questions ---- */

/* The i-th of the names that may be meant. False: there are no more. */
static bool complete(struct name *n, int i)
{
	const struct dns_sd *s = n->s;
	size_t length = strlen(n->text);
	bool is_rooted = length && n->text[length - 1] == '.';
	int n_dots = 0;

	for (const char *dot = n->text; (dot = strchr(dot, '.')); dot++)
		n_dots++;
	if (!is_rooted && n_dots < s->saved.ndots) {
		/* The search list first, and the name itself last. */
		i = i < s->saved.ndomains ? i + 1 : i == s->saved.ndomains ? 0 : -1;
	}
	if (i < 0 || (i > 0 && (is_rooted || i > s->saved.ndomains)))
		return false;
	if (i == 0)
		snprintf(n->asked, sizeof(n->asked), "%s", n->text);
	else
		snprintf(n->asked, sizeof(n->asked), "%s.%s", n->text, s->saved.domains[i - 1]);
	return true;
}

static void ask_next(struct name *n)
{
	struct dns_sd *s = n->s;

	if (complete(n, n->step++)) {
		ares_query(s->channel, n->asked, ns_c_in, s->type->number, answered, n);
	} else if (n->is_uncertain) {
		fail(s, n, "no server could say whether there are any");
		end_look(s);
	} else {
		take(n, NULL, 0);
	}
}

/* ---- c-ares on the loop ---- */

/* The channel is made anew for each look, as resolv.conf may have changed. */
static void close_channel(struct dns_sd *s)
{
	if (!s->channel)
		return;
	loop__cancel(s->d->job->loop, &s->deadline);
	ares_destroy(s->channel);
	s->channel = NULL;
	ares_destroy_options(&s->saved);
	memset(&s->saved, 0, sizeof(s->saved));
}

/* After anything that was done with the channel, outside of its callbacks. */
static void settle(struct dns_sd *s)
{
	const struct dcm_host *host = s->d->job->host;
	struct timeval wait;

	if (s->n_open == 0)
		close_channel(s);
	else if (ares_timeout(s->channel, NULL, &wait))
		loop__set(s->d->job->loop, &s->deadline,
			  host->mono_ns(host) + (int64_t)wait.tv_sec * 1000000000 +
				  (int64_t)wait.tv_usec * 1000 + 1000000);
}

/* Which socket it was does not matter: they do not block. */
static void ready(void *ctx)
{
	struct dns_sd *s = ctx;
	ares_socket_t sockets[ARES_GETSOCK_MAXNUM];
	unsigned bits = (unsigned)ares_getsock(s->channel, sockets, ARES_GETSOCK_MAXNUM);

	for (unsigned i = 0; i < ARES_GETSOCK_MAXNUM; i++)
		if (ARES_GETSOCK_READABLE(bits, i) || ARES_GETSOCK_WRITABLE(bits, i))
			ares_process_fd(s->channel,
					ARES_GETSOCK_READABLE(bits, i) ? sockets[i] : ARES_SOCKET_BAD,
					ARES_GETSOCK_WRITABLE(bits, i) ? sockets[i] : ARES_SOCKET_BAD);
	settle(s);
}

static void timed_out(void *ctx)
{
	struct dns_sd *s = ctx;

	ares_process_fd(s->channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
	settle(s);
}

/* Without memory for a watch, the question's deadline is what is left. */
static void socket_changed(void *ctx, ares_socket_t socket, int to_read, int to_write)
{
	struct dns_sd *s = ctx;

	loop__unwatch(s->d->job->loop, socket);
	if (to_read || to_write)
		loop__watch_events(s->d->job->loop, socket,
				   (short)((to_read ? POLLIN : 0) | (to_write ? POLLOUT : 0)), ready, s);
}

static int open_channel(struct dns_sd *s)
{
	struct ares_options o = { .flags = ARES_FLAG_EDNS,
				  .timeout = 2000,
				  .tries = 2,
				  .ednspsz = 4096,
				  .sock_state_cb = socket_changed,
				  .sock_state_cb_data = s };
	int mask = 0, r;

	r = ares_init_options(&s->channel, &o,
			      ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES |
				      ARES_OPT_EDNSPSZ | ARES_OPT_SOCK_STATE_CB);
	if (r != ARES_SUCCESS) {
		s->channel = NULL;
		return r;
	}
	r = ares_save_options(s->channel, &s->saved, &mask);
	if (r != ARES_SUCCESS)
		close_channel(s);
	return r;
}

static void look_at_all(struct dns_sd *s)
{
	int r = open_channel(s);

	s->has_failed = false;
	if (r != ARES_SUCCESS) {
		discovery__failed(s->d, "the resolver cannot be set up: %s", ares_strerror(r));
		return;
	}
	/* One more, so that what is answered at once does not end the look. */
	s->n_open = s->options->names.n + 1;
	for (uint32_t i = 0; i < s->options->names.n; i++) {
		s->names[i].step = 0;
		s->names[i].is_uncertain = false;
		ask_next(&s->names[i]);
	}
	end_look(s);
	settle(s);
}

static void look(void *ctx)
{
	struct dns_sd *s = ctx;
	const struct dcm_host *host = s->d->job->host;

	if (!s->channel)
		look_at_all(s);
	loop__set(s->d->job->loop, &s->look, host->mono_ns(host) + s->options->refresh_interval_ns);
}

/* ---- lifecycle ---- */

static void stop(struct discovery *d)
{
	struct dns_sd *s = d->state;

	if (!s)
		return;
	loop__cancel(d->job->loop, &s->look);
	close_channel(s);
	for (uint32_t i = 0; s->names && i < s->options->names.n; i++)
		discovery__lost(d, &s->names[i].source);
	free(s->names);
	free(s);
	ares_library_cleanup();
}

static int start(struct discovery *d, struct dcm_error *err)
{
	struct dns_sd *s = NEW(struct dns_sd);

	if (!s)
		return error__nomem(err);
	d->state = s;
	s->d = d;
	s->options = d->options;
	s->type = type_of(s->options);
	s->look.fn = look;
	s->deadline.fn = timed_out;
	s->look.ctx = s->deadline.ctx = s;
	if (ares_library_init(ARES_LIB_INIT_ALL) != ARES_SUCCESS)
		return error__nomem(err);
	s->names = mem__zalloc(s->options->names.n, sizeof(*s->names));
	for (uint32_t i = 0; s->names && i < s->options->names.n; i++) {
		s->names[i].s = s;
		s->names[i].text = ((const char *const *)s->options->names.items)[i];
	}
	if (!s->names || loop__set(d->job->loop, &s->look, d->job->host->mono_ns(d->job->host)) < 0)
		return error__nomem(err);
	return 0;
}

const struct discovery_kind dns_sd = {
	.name = "dns_sd",
	.start = start,
	.stop = stop,
};
