/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/symbolize/kernel.c - the kernel's names as they are now
 *
 * Threads: any, under one lock; a reading (about 20 ms) is done under it, because everyone else
 * would wait for the same. Limits: those of kallsyms.h, KERNEL_MAX_TEXT.
 */
#include "core/symbolize/kernel.h"

#include <errno.h>
#include <fcntl.h>

#include "core/base/buf.h"
#include "core/base/fd.h"
#include "core/base/hash.h"
#include "core/base/str.h"
#include "core/broker/rights.h"

static const int64_t SECOND_NS = 1000000000;
enum {
	CHECK_S = 1,	    /* between looks at /proc/modules */
	MISS_RELOAD_S = 10, /* between readings because of an unknown address; doubled in vain */
	MISS_RELOAD_MAX_S = 640,
	BPF_RELOAD_S = 60, /* age at which names of BPF programs are not believed; doubled while they stay the same */
	BPF_RELOAD_MAX_S = 960,
	RETRY_S = 60, /* after a reading that failed */
	MODULES_MAX_BYTES = 4 << 20
};

int kernel_names__init(struct kernel_names *k, const char *kallsyms_path, const char *modules_path,
		       const struct clock *clock)
{
	*k = (struct kernel_names){
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.kallsyms_path = kallsyms_path,
		.modules_path = modules_path,
		.clock = clock,
		.bpf_wait_ns = BPF_RELOAD_S * SECOND_NS,
	};
	return intern__init(&k->given);
}

void kernel_names__fini(struct kernel_names *k)
{
	kallsyms__free(k->table);
	k->table = NULL;
	intern__fini(&k->given);
}

static uint64_t hash_modules(const struct kernel_names *k)
{
	struct buf text = { 0 };
	uint64_t h = 0;

	/* A kernel without modules has no such file. */
	if (fd__read_path(AT_FDCWD, k->modules_path, MODULES_MAX_BYTES, &text) == 0)
		h = hash__bytes(text.data, text.n, 0);
	buf__fini(&text);
	return h;
}

static int read_table(const struct kernel_names *k, struct kallsyms **ret)
{
	CLEANUP(fd__closep) int fd = -1;

	if (!k->broker)
		return kallsyms__load(k->kallsyms_path, k->modules_path, ret, NULL);
	fd = rights__open_kallsyms(k->broker);
	return fd < 0 ? fd : kallsyms__read(fd, k->modules_path, ret, NULL);
}

/* A reading that fails keeps the old table: names of before are better than none. */
static void load(struct kernel_names *k, int64_t now_ns)
{
	struct kallsyms *table = NULL;
	uint64_t hash = hash_modules(k);
	int rc = read_table(k, &table);

	k->tried = true;
	k->loaded_ns = k->checked_ns = now_ns;
	k->miss_wait_ns = MISS_RELOAD_S * SECOND_NS;
	k->modules_hash = hash;
	k->error = rc;
	k->n_loads += rc == 0;
	k->n_errors += rc != 0;
	if (rc == 0) {
		kallsyms__free(k->table);
		k->table = table;
	}
}

static void refresh(struct kernel_names *k, int64_t now_ns)
{
	if (!k->tried || (k->error && now_ns - k->loaded_ns >= RETRY_S * SECOND_NS)) {
		load(k, now_ns);
		return;
	}
	if (now_ns - k->checked_ns < CHECK_S * SECOND_NS)
		return;
	k->checked_ns = now_ns;
	if (hash_modules(k) != k->modules_hash)
		load(k, now_ns);
}

static int look_up(struct kernel_names *k, uint64_t address, int64_t now_ns, struct kallsyms_symbol *ret)
{
	int64_t age_ns = now_ns - k->loaded_ns, wait_ns = k->miss_wait_ns;
	bool missed, is_old;
	uint64_t name = 0;
	int rc;

	if (!k->table)
		return k->error ? k->error : -ENOENT;
	rc = kallsyms__find(k->table, address, ret);
	missed = rc == -ENOENT && age_ns >= wait_ns;
	is_old = rc == 0 && str__eq(ret->module, STR("bpf")) && age_ns >= k->bpf_wait_ns;
	if (is_old)
		name = hash__bytes(ret->name.p, ret->name.n, 0);
	if (missed || is_old) {
		load(k, now_ns);
		rc = kallsyms__find(k->table, address, ret);
	}
	if (is_old && rc == 0 && hash__bytes(ret->name.p, ret->name.n, 0) == name)
		k->bpf_wait_ns = k->bpf_wait_ns < BPF_RELOAD_MAX_S * SECOND_NS ? 2 * k->bpf_wait_ns
									       : k->bpf_wait_ns;
	else if (is_old)
		k->bpf_wait_ns = BPF_RELOAD_S * SECOND_NS;
	if (missed && rc == -ENOENT)
		k->miss_wait_ns = wait_ns < MISS_RELOAD_MAX_S * SECOND_NS ? 2 * wait_ns : wait_ns;
	return rc;
}

/* The table may be replaced; what was given stays. */
static int give(struct kernel_names *k, const struct kallsyms_symbol *s, struct dcm_str *ret_name,
		struct dcm_str *ret_module)
{
	uint32_t name = intern__find(&k->given, s->name), module = intern__find(&k->given, s->module);

	if (k->given.arena.total_bytes < KERNEL_MAX_TEXT) {
		if (name == INTERN_NONE)
			name = intern__add(&k->given, s->name);
		if (module == INTERN_NONE)
			module = intern__add(&k->given, s->module);
	}
	if (name == INTERN_NONE || module == INTERN_NONE)
		return -ENOMEM;
	*ret_name = intern__text(&k->given, name);
	*ret_module = intern__text(&k->given, module);
	return 0;
}

int kernel_names__find(struct kernel_names *k, uint64_t address, struct dcm_str *ret_name,
		       struct dcm_str *ret_module)
{
	struct kallsyms_symbol s;
	int64_t now_ns;
	int rc;

	pthread_mutex_lock(&k->lock);
	now_ns = clock__mono(k->clock);
	refresh(k, now_ns);
	rc = look_up(k, address, now_ns, &s);
	if (!rc)
		rc = give(k, &s, ret_name, ret_module);
	pthread_mutex_unlock(&k->lock);
	return rc;
}

uint64_t kernel_names__stat(struct kernel_names *k, uint64_t *ret_loads, uint64_t *ret_errors)
{
	uint64_t bytes;

	pthread_mutex_lock(&k->lock);
	bytes = k->given.arena.total_bytes + (k->table ? kallsyms__bytes(k->table) : 0);
	*ret_loads = k->n_loads;
	*ret_errors = k->n_errors;
	pthread_mutex_unlock(&k->lock);
	return bytes;
}
