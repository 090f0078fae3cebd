/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz/fuzz_token.c - what a server of OAuth 2 tokens answers: by its status, a token or a sentence
 *
 * The first byte chooses the status, the rest is the body; it comes twice, as the client may ask once more in another way.
 * What is a token can be a header's value, and holds no longer than it was said to.
 */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "core/net/http_token.h"
#include "fuzz/verdict.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NOW_NS INT64_C(1000000000)

/* What the answer says, where it is a number: it is above nothing and below a second, or a few. */
static bool is_short(const uint8_t *body, size_t n)
{
	json_t *answer = json_loadb((const char *)body, n, JSON_REJECT_DUPLICATES, NULL);
	double s = json_number_value(json_object_get(answer, "expires_in"));

	json_decref(answer);
	return s > 0 && s < 1000;
}

static void judge_header(struct http_token *t, bool ends_soon)
{
	uint64_t version;
	const char *header = http_token__header(t, NOW_NS, &version);

	verdict__expect(header && strchr(header, ' '), "a token without a header");
	for (const char *p = header; *p; p++)
		verdict__expect(*p == '\t' || ((unsigned char)*p >= ' ' && *p != 0x7f),
				"no value of a header");
	verdict__expect(!ends_soon || !http_token__header(t, NOW_NS + 1000 * NOW_NS, &version),
			"it never ends");
	http_token__forget(t, version);
	verdict__expect(!http_token__header(t, NOW_NS, &version), "a token that was forgotten");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const int statuses[] = { 200, 201, 400, 401, 403, 500 };
	const struct dcm_http_oauth2 options = { .client_id = "us",
						 .client_secret = { .text = "secret" },
						 .token_url = "https://server/token" };
	CLEANUP(http_token__freep) struct http_token *t = NULL;
	struct dcm_error err = DCM_ERROR_INIT;

	if (size == 0 || http_token__new(&options, &t, &err) < 0)
		return 0;
	for (int asked = 0; asked < 2; asked++) {
		int status = statuses[data[0] % (sizeof(statuses) / sizeof(statuses[0]))];
		struct buf form = { 0 };
		int r = http_token__ask(t, NOW_NS, &form, &err);

		verdict__expect(r == 0 && form.n > 0, "nothing to ask with");
		buf__fini(&form);
		r = http_token__take(t, NOW_NS, status, data + 1, size - 1, &err);

		verdict__expect(r != -EAGAIN || asked == 0, "asked for ever");
		verdict__expect(r == 0 || r == -EAGAIN || err.text[0],
				"refused without a sentence");
		if (r == 0)
			judge_header(t, is_short(data + 1, size - 1));
		if (r != -EAGAIN)
			break;
	}
	return 0;
}
