/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_rules_case.c - lowercase and uppercase of letters in all scripts
 */
#include "core/base/str.h"
#include "core/pipeline/rules.h"
#include "tests/unit/unit.h"

/* What Go's strings.ToLower() and ToUpper() answer; bytes that are no UTF-8 stay. */
static void letters_of_all_scripts_have_cases(void **state)
{
	static const struct {
		const char *text, *lower, *upper;
	} cases[] = {
		{ "grüßÄ Az", "grüßä az", "GRÜßÄ AZ" },
		{ "ΣΑΣς", "σασς", "ΣΑΣΣ" },
		{ "ȺɐK", "ⱥɐk", "ȺⱯK" },
		{ "İıſ", "iıſ", "İIS" },
		{ "ⴀႠა", "ⴀⴀა", "ႠႠᲐ" },
		{ "𐐀𐐨", "𐐨𐐨", "𐐀𐐀" },
		{ "ǅ ﬁ 日本", "ǆ ﬁ 日本", "Ǆ ﬁ 日本" },
		{ "a\xff"
		  "b\xc3",
		  "a\xff"
		  "b\xc3",
		  "A\xff"
		  "B\xc3" },
	};
	const char *source[] = { "text" };

	(void)state;
	for (size_t i = 0; i < 2 * sizeof(cases) / sizeof(cases[0]); i++) {
		const char *want = i % 2 ? cases[i / 2].upper : cases[i / 2].lower;
		const struct dcm_relabel_rule rule = {
			.action = i % 2 ? DCM_RELABEL_UPPERCASE : DCM_RELABEL_LOWERCASE,
			.source_labels = { source, 1 },
			.separator = ";",
			.target_label = "made",
		};
		CLEANUP(rules__freep) struct rules *rules = NULL;
		struct label_map map = { 0 };

		assert_int_equal(rules__new(&rule, 1, &rules, NULL), 0);
		assert_int_equal(label_map__put(&map, STR("text"), str__of(cases[i / 2].text)), 0);
		assert_int_equal(rules__run(rules, &map), 1);
		struct dcm_str value = label_map__get(&map, STR("made"));
		if (!str__eq(value, str__of(want)))
			fail_msg("%s: %.*s instead of %s", cases[i / 2].text, STR_ARG(value), want);
		label_map__fini(&map);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(letters_of_all_scripts_have_cases),
	};

	return cmocka_run_group_tests_name("rules_case", tests, NULL, NULL);
}
