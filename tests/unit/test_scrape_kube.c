/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_scrape_kube.c - pages of a Kubernetes cluster's objects, and what is kept of each
 *
 * What is kept is written out again and compared with the JSON that the mask leaves of the object.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/str.h"
#include "plugins/input/pprof_scrape/kube.h"
#include "plugins/input/pprof_scrape/kube_page.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/unit.h"

/* ---- documents ---- */

/* {name:text,name:[..]}; an element has no name. */
static void write_value(struct buf *b, const struct kube_value *v)
{
	const char *sep = "";

	if (v->name)
		buf__printf(b, "%s:", v->name->p);
	if (!(v->what & 1)) {
		buf__str(b, kube_value__text(v));
		return;
	}
	buf__text(b, "{");
	kube_each (inner, v) {
		buf__text(b, sep);
		write_value(b, inner);
		sep = ",";
	}
	buf__text(b, "}");
}

static const struct kube_mask port_mask[] = { { "port", 0 }, { 0, 0 } };
static const struct kube_mask meta_mask[] = { { "name", 0 }, { "labels", 0 }, { 0, 0 } };
static const struct kube_mask mask[] = {
	{ "meta", meta_mask }, { "ports", port_mask }, { "all", 0 }, { 0, 0 }
};

static const struct {
	const char *json, *kept;
} docs[] = {
	{ "{}", "{}" },
	{ "{\"meta\":{\"name\":\"n\",\"uid\":\"u\"},\"status\":{\"meta\":1}}", "{meta:{name:n}}" },
	{ "{\"meta\":{\"labels\":{\"a\":\"1\",\"name\":\"\"}}}", "{meta:{labels:{a:1,name:}}}" },
	{ "{\"ports\":[{\"port\":-80,\"x\":1},{\"y\":2},{\"port\":81}]}",
	  "{ports:{{port:-80},{},{port:81}}}" },
	{ "{\"all\":{\"a\":[true,false,null,[\"x\"],{}],\"b\":1.5,\"c\":null}}",
	  "{all:{a:{true,false,{x},{}}}}" },
	{ "{\"meta\":\"text\",\"all\":[[],[[]],\"\"]}", "{meta:text,all:{{},{{}},}}" },
};

static struct kube_doc *doc_of(struct texts *texts, const char *json)
{
	json_t *object = json_loads(json, 0, NULL);
	struct kube_doc *d;

	assert_non_null(object);
	d = kube_doc__new(texts, object, mask);
	json_decref(object);
	return d;
}

static void what_a_mask_names_is_kept(void **state)
{
	struct texts texts = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(docs) / sizeof(*docs); i++) {
		struct kube_doc *d = doc_of(&texts, docs[i].json),
				*same = doc_of(&texts, docs[i].json),
				*other = doc_of(&texts, docs[(i + 1) % 6].json);
		struct buf b = { 0 };

		write_value(&b, d->v);
		buf__byte(&b, 0);
		assert_string_equal((char *)b.data, docs[i].kept);
		assert_true(kube_doc__are_same(d, same));
		assert_false(kube_doc__are_same(d, other));
		buf__fini(&b);
		kube_doc__free(d);
		kube_doc__free(same);
		kube_doc__free(other);
	}
	assert_int_equal(texts.n, 0);
	texts__fini(&texts);
}

/* Of what is not there, nothing. */
static void values_are_found_by_name(void **state)
{
	struct texts texts = { 0 };
	struct kube_doc *d = doc_of(&texts, docs[3].json);
	const struct kube_value *ports = kube_value__get(d->v, "ports");
	const struct kube_value *first = kube_value__first(ports);

	(void)state;
	assert_true(str__eq(kube_value__text(kube_value__get(first, "port")), STR("-80")));
	assert_null(kube_value__get(first, "x"));
	assert_null(kube_value__get(kube_value__next(ports, first), "port"));
	assert_null(kube_value__get(NULL, "port"));
	assert_null(kube_value__first(kube_value__get(first, "port")));
	assert_null(kube_value__text(ports).p);
	assert_null(kube_value__text(NULL).p);
	kube_doc__free(d);
	texts__fini(&texts);
}

/* Of two that say the same, the second takes no texts. */
static void bytes_are_counted(void **state)
{
	struct texts texts = { 0 };
	struct kube_doc *d = doc_of(&texts, docs[1].json);
	const size_t values = sizeof(*d) + 3 * sizeof(*d->v), all = d->n_bytes;
	struct kube_doc *same = doc_of(&texts, docs[1].json);

	(void)state;
	assert_int_equal(all, values + texts.n_bytes);
	assert_int_equal(same->n_bytes, values);
	kube_doc__free(d);
	kube_doc__free(same);
	texts__fini(&texts);
}

/* jansson's own allocations are not made to fail: those are libjansson's. */
static void failing_memory_is_survived(void **state)
{
	json_t *object = json_loads(docs[4].json, 0, NULL);

	(void)state;
	FAILMALLOC_SWEEP (i) {
		struct texts texts = { 0 };
		struct kube_doc *d = kube_doc__new(&texts, object, mask);

		if (failmalloc__disarm())
			assert_null(d);
		else
			assert_non_null(d);
		kube_doc__free(d);
		assert_int_equal(texts.n, 0);
		texts__fini(&texts);
	}
	json_decref(object);
}

/* ---- pages ---- */

static const char not_json[] = "the answer is not JSON";
static const char no_list[] = "the answer is no list of objects";

static const struct {
	const char *page, *fault, *items; /* the items' texts */
} pages[] = {
	{ "{\"metadata\":{\"x\":1},\"items\":[{\"a\":1},{\"b\":[\"]\",{}]}]}", NULL,
	  "{\"a\":1}{\"b\":[\"]\",{}]}" },
	{ " {\n\"items\" : [ {} , {} ] , \"kind\":\"List\", \"metadata\" : {} }\r\n\t", NULL, "{}{}" },
	{ "{\"metadata\":{},\"items\":null}", NULL, "" },
	{ "{\"metadata\":{},\"items\":[]}", NULL, "" },
	{ "{\"items\":[3,\"x\"],\"metadata\":{}}", NULL, "3\"x\"" },
	{ "{\"n\":12,\"f\":-1.5e3,\"b\":true,\"metadata\":{},\"items\":[]}", NULL, "" },
	{ "{\"metadata\":{\"x\":1},\"metadata\":{},\"items\":[]}", NULL, "" },
	{ "{\"metadata\":{}}", no_list, "" },
	{ "{\"items\":[]}", no_list, "" },
	{ "{\"metadata\":[],\"items\":[]}", no_list, "" },
	{ "{\"metadata\":{},\"items\":{}}", no_list, "" },
	{ "{}", no_list, "" },
	{ "", not_json, "" },
	{ "[]", not_json, "" },
	{ "{\"metadata\":{},\"items\":[{\"a\":1},]}", not_json, "{\"a\":1}" },
	{ "{\"metadata\":{},\"items\":[{\"a\":1} {}]}", not_json, "{\"a\":1}" },
	{ "{\"metadata\":{},\"items\":[{\"a\":1}", not_json, "{\"a\":1}" },
	{ "{\"metadata\":{},\"items\":[{\"a\":", not_json, "" },
	{ "{\"metadata\":{},\"items\":[]", not_json, "" },
	{ "{\"metadata\":{},\"items\":[]}}", not_json, "" },
	{ "{\"metadata\":{},}", not_json, "" },
	{ "{\"metadata\" {}}", not_json, "" },
	{ "{metadata:{}}", not_json, "" },
};

static void write_item(void *ctx, json_t *object)
{
	char *text = json_dumps(object, JSON_COMPACT | JSON_ENCODE_ANY);

	buf__text(ctx, text);
	free(text);
}

static void pages_are_read(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(pages) / sizeof(*pages); i++) {
		/* Without a NUL behind it: no byte more than there are may be read. */
		size_t n = strlen(pages[i].page);
		char *page = malloc(n + 1);
		struct buf items = { 0 };
		json_t *meta = NULL;
		const char *fault;

		memcpy(page, pages[i].page, n);
		page = realloc(page, n ? n : 1);
		fault = kube_page__read(page, n, write_item, &items, &meta);
		buf__byte(&items, 0);
		if (!fault != !pages[i].fault || (fault && strcmp(fault, pages[i].fault) != 0))
			fail_msg("%zu: %s", i, fault ? fault : "is well");
		assert_string_equal((char *)items.data, pages[i].items);
		assert_int_equal(!meta, fault != NULL);
		json_decref(meta);
		buf__fini(&items);
		free(page);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_mask_names_is_kept),
		cmocka_unit_test(values_are_found_by_name),
		cmocka_unit_test(bytes_are_counted),
		cmocka_unit_test(failing_memory_is_survived),
		cmocka_unit_test(pages_are_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
