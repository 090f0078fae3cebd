/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/main/gate.c - who may do what, as the settings of the server have it
 */
#include "core/main/gate.h"

#include <errno.h>
#include <stdlib.h>

#include "core/base/arena.h"
#include "core/base/error.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/net/sockets.h"

/* Want of memory shows in the end. */
struct gate {
	struct access_rules rules; /* first: what is given away */
	struct arena arena;
	bool failed;
};

static void gate_free(struct access_rules *rules)
{
	struct gate *g = (struct gate *)rules;

	arena__fini(&g->arena);
	free(g);
}

static void *room(struct gate *g, uint32_t n, size_t size)
{
	void *p = arena__zalloc(&g->arena, (size_t)n + 1, size);

	g->failed |= !p;
	return p;
}

static struct dcm_str copy(struct gate *g, const char *text)
{
	struct dcm_str s = arena__str(&g->arena, str__of(text));

	g->failed |= !s.p;
	return s.p ? s : STR("");
}

/* With the zero behind it that arena__str() has put there. */
static const char *copy_text(struct gate *g, const char *text)
{
	return text ? copy(g, text).p : NULL;
}

static const char *const *copy_list(struct gate *g, const struct dcm_list *list)
{
	const char *const *from = list->items;
	const char **to = room(g, list->n, sizeof(*to));

	for (uint32_t i = 0; to && i < list->n; i++)
		to[i] = copy_text(g, from[i]);
	return to;
}

static enum http_role role_of(int32_t setting)
{
	return (enum http_role)(setting + HTTP_ROLE_READ);
}

static struct dcm_label_text *copy_labels(struct gate *g, const struct dcm_map *map)
{
	const char *const *values = map->items;
	struct dcm_label_text *to = room(g, map->n, sizeof(*to));

	for (uint32_t i = 0; to && i < map->n; i++)
		to[i] = (struct dcm_label_text){ copy(g, map->keys[i]), copy(g, values[i]) };
	return to;
}

static void take_tokens(struct gate *g, const struct dcm_list *settings)
{
	const struct token_settings *from = settings->items;
	struct access_token *to = room(g, settings->n, sizeof(*to));

	for (uint32_t i = 0; to && i < settings->n; i++) {
		const char *hash = server_settings__token_hash(from[i].token);

		to[i] = (struct access_token){ .token = hash ? NULL : copy_text(g, from[i].token),
					       .sha256 = copy_text(g, hash),
					       .role = role_of(from[i].role),
					       .labels = copy_labels(g, &from[i].labels),
					       .n_labels = from[i].labels.n };
	}
	g->rules.tokens = to;
	g->rules.n_tokens = settings->n;
}

static bool is_claimed(const struct access_rules *rules, struct dcm_str name)
{
	for (uint32_t i = 0; i < rules->n_claims; i++)
		if (str__eq(rules->claims[i].name, name))
			return true;
	return false;
}

static void take_claims(struct gate *g)
{
	struct access_rules *rules = &g->rules;
	struct dcm_label_text *claims;
	uint32_t n = 0;

	for (uint32_t i = 0; !g->failed && i < rules->n_tokens; i++)
		n += rules->tokens[i].n_labels;
	rules->claims = claims = room(g, n, sizeof(*claims));
	for (uint32_t i = 0; !g->failed && i < rules->n_tokens; i++)
		for (uint32_t k = 0; k < rules->tokens[i].n_labels; k++)
			if (!is_claimed(rules, rules->tokens[i].labels[k].name))
				claims[rules->n_claims++] = (struct dcm_label_text){
					rules->tokens[i].labels[k].name, STR("")
				};
}

static void take_proxies(struct gate *g, const struct proxy_settings *s)
{
	const char *const *texts = s->from.items;
	const int32_t *roles = s->groups.items;
	struct network *from = room(g, s->from.n, sizeof(*from));
	struct access_group *groups = room(g, s->groups.n, sizeof(*groups));

	/* server_settings__check() has read them. */
	for (uint32_t i = 0; from && i < s->from.n; i++)
		network__read(texts[i], &from[i]);
	for (uint32_t i = 0; groups && i < s->groups.n; i++)
		groups[i] = (struct access_group){ copy(g, s->groups.keys[i]), role_of(roles[i]) };
	g->rules.proxies = (struct access_proxies){ .from = from,
						    .n_from = s->from.n,
						    .user_header = copy_text(g, s->user_header),
						    .groups_header = copy_text(g, s->groups_header),
						    .role = role_of(s->role),
						    .groups = groups,
						    .n_groups = s->groups.n };
}

/* server_settings__check() has refused what is open to everybody by mistake. */
static enum http_role role_of_strangers(const struct server_settings *s)
{
	const char *const *listen = s->listen.items;
	bool local = true;

	for (uint32_t i = 0; i < s->listen.n; i++)
		local = local && sockets__is_local(listen[i]);
	return access__anonymous(
		local, s->tokens.n > 0 || s->proxy.from.n > 0 || *s->tls.client_ca_file, s->insecure);
}

int gate__make(const struct server_settings *s, struct access_rules **ret, struct dcm_error *err)
{
	struct gate *g = NEW(struct gate);

	if (!g)
		return error__nomem(err);
	g->rules.n_users = 1;
	g->rules.free = gate_free;
	take_tokens(g, &s->tokens);
	take_claims(g);
	take_proxies(g, &s->proxy);
	g->rules.hosts = copy_list(g, &s->hosts);
	g->rules.n_hosts = s->hosts.n;
	g->rules.origins = copy_list(g, &s->cors_origins);
	g->rules.n_origins = s->cors_origins.n;
	g->rules.anonymous = role_of_strangers(s);
	if (g->failed) {
		gate_free(&g->rules);
		return error__nomem(err);
	}
	*ret = &g->rules;
	return 0;
}
