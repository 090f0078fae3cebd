/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_demangle.c - names of C++ and Rust
 *
 * The oracle is c++filt over every exported name of the machine's libstdc++; Rust's names and the
 * hostile ones are written here.
 */
#include "tests/unit/unit.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/str.h"
#include "core/symbolize/demangle.h"
#include "tests/unit/random.h"

static const char *name_of(const char *raw)
{
	static char out[DEMANGLE_MAX_OUTPUT];
	uint32_t n = demangle__name(str__of(raw), out, sizeof(out));

	assert_int_equal(n, strlen(out));
	return out;
}

static void test_c_names_are_left_alone(void **state)
{
	static const char *const names[] = {
		"main", "_start", "_init", "__libc_start_main", "foo.part.0",	    "_", "",
		"_R",	"_Z",	  "__Zoo", "runtime.mallocgc",	"main.(*T).Method", "x@"
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names) - 1; i++)
		assert_string_equal(name_of(names[i]), names[i]);
	assert_string_equal(name_of("memcpy@@GLIBC_2.14"), "memcpy");
	assert_string_equal(name_of("memcpy@GLIBC_2.2.5"), "memcpy");
	assert_string_equal(name_of("[plt] puts"), "[plt] puts");
}

static void test_known_names(void **state)
{
	static const struct {
		const char *raw, *name;
	} cases[] = {
		{ "_ZN3foo3barEv", "foo::bar" },
		{ "_ZN3fooC1Ei", "foo::foo" },
		{ "_ZN3fooD2Ev", "foo::~foo" },
		{ "_ZN3foo3barEv@@LIB_1.0", "foo::bar" },
		{ "[plt] _ZN3foo3barEv", "[plt] foo::bar" },
		{ "_ZNSt6vectorIiSaIiEE9push_backEOi",
		  "std::vector<int, std::allocator<int> >::push_back" },
		{ "_ZN3fooplERKS_", "foo::operator+" },
		{ "_ZN12_GLOBAL__N_13runEv", "(anonymous namespace)::run" },
		/* Rust: legacy with its hash, and v0 with the crate's id */
		{ "_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad" },
		{ "_ZN60_$LT$alloc..string..String$u20$as$u20$core..fmt..Display$GT$"
		  "3fmt17h0123456789abcdefE",
		  "<alloc::string::String as core::fmt::Display>::fmt" },
		{ "_RNvCs1234_7mycrate3foo", "mycrate::foo" },
		{ "_RNvNtCs1234_7mycrate3bar3baz", "mycrate::bar::baz" },
		{ "_RINvNtC3std3mem8align_ofjE", "std::mem::align_of::<usize>" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_string_equal(name_of(cases[i].raw), cases[i].name);
}

static void test_cxxfilt_agrees(void **state)
{
	FILE *f;
	char raw[8192], theirs[16384];
	unsigned n = 0;

	(void)state;
	if (system("command -v c++filt >/dev/null 2>&1 && command -v nm >/dev/null 2>&1"))
		skip_because("c++filt and nm (package binutils) are missing");
	if (system("ls /usr/lib/*/libstdc++.so.6 >/dev/null 2>&1"))
		skip_because("no libstdc++.so.6 here");
	f = popen("for l in /usr/lib/*/libstdc++.so.6; do nm -D --defined-only $l | awk '{print "
		  "$3}' | "
		  "sed 's/@.*//' | sort -u >${TMPDIR:-/tmp}/decima-names.$$; "
		  "c++filt -p -i <${TMPDIR:-/tmp}/decima-names.$$ | paste -d '\\t' "
		  "${TMPDIR:-/tmp}/decima-names.$$ - "
		  "; rm -f ${TMPDIR:-/tmp}/decima-names.$$; done 2>/dev/null",
		  "r");
	assert_non_null(f);
	while (fscanf(f, "%8191[^\t]\t%16383[^\n]\n", raw, theirs) == 2) {
		if (strlen(theirs) < DEMANGLE_MAX_OUTPUT)
			assert_string_equal(name_of(raw), theirs);
		n++;
	}
	pclose(f);
	assert_true(n > 1000);
}

/* Each level doubles the text through back references: 2^60 characters, were they printed. */
static void test_explosive_names_end_soon(void **state)
{
	char cxx[1024] = "_ZN1aIiEC2I", rust[2048] = "_RMC0";
	char out[DEMANGLE_MAX_OUTPUT];

	(void)state;
	/* f(A<int,int>, A<that,that>, ...): each parameter names the one before twice. */
	snprintf(cxx, sizeof(cxx), "_Z1fI1AIiiE");
	for (unsigned i = 0; i < 30; i++) {
		char c = i < 10 ? (char)('0' + i) : (char)('A' + i - 10);
		size_t n = strlen(cxx);

		snprintf(cxx + n, sizeof(cxx) - n, "S_IS%c_S%c_E", c, c);
	}
	strncat(cxx, "Evv", sizeof(cxx) - strlen(cxx) - 1);
	demangle__name(str__of(cxx), out, sizeof(out));
	/*
	 * Tuples of tuples: (B, B) where B is the tuple before. Base-62 back references, here of
	 * one digit.
	 */
	for (unsigned i = 0; i < 55; i++) {
		size_t n = strlen(rust);

		snprintf(rust + n, sizeof(rust) - n, "TB%c_B%c_E", '0' + (char)(i % 10),
			 '0' + (char)(i % 10));
	}
	demangle__name(str__of(rust), out, sizeof(out));

	/* Nested tuples by back references that are known to expand: ((((u8,u8),(u8,u8)),...)). */
	char v0[4096] = "_RINvC1c1f";
	size_t last = 0;
	for (unsigned i = 0; i < 40; i++) {
		size_t at = strlen(v0) - 2; /* counted behind "_R" */
		char ref[8] = "";

		if (i == 0) {
			strncat(v0, "ThhE", sizeof(v0) - strlen(v0) - 1);
		} else {
			static const char digits[] =
				"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
			uint64_t k = last; /* base 62, "_" is 0, "0_" is 1 */
			if (k == 0)
				snprintf(ref, sizeof(ref), "B_");
			else if (k - 1 < 62)
				snprintf(ref, sizeof(ref), "B%c_", digits[k - 1]);
			else
				snprintf(ref, sizeof(ref), "B%c%c_", digits[(k - 1) / 62],
					 digits[(k - 1) % 62]);
			size_t n = strlen(v0);
			snprintf(v0 + n, sizeof(v0) - n, "T%s%sE", ref, ref);
		}
		last = at;
	}
	strncat(v0, "E", sizeof(v0) - strlen(v0) - 1);
	uint32_t n = demangle__name(str__of(v0), out, sizeof(out));
	assert_int_equal(n, sizeof(out) - 1);
	assert_string_equal(out + n - 3, "...");
	assert_memory_equal(out, "c::f::<(", 8);
}

static void test_long_and_dirty_names(void **state)
{
	char raw[10000], out[64];

	(void)state;
	memset(raw, 'a', sizeof(raw));
	assert_int_equal(demangle__name((struct dcm_str){ raw, sizeof(raw) }, out, sizeof(out)),
			 sizeof(out) - 1);
	assert_string_equal(out + sizeof(out) - 4, "...");
	memcpy(raw, "_ZN3foo3barEv", 13);
	demangle__name((struct dcm_str){ raw, sizeof(raw) }, out, sizeof(out));
	assert_memory_equal(out, "_ZN3foo", 7); /* too long to be tried */
	assert_string_equal(name_of("a\nb\x1b[31m\xff\xc3\xa9"), "a?b?[31m?\xc3\xa9");
	for (size_t cap = 1; cap < 12; cap++)
		assert_true(demangle__name(STR("_ZN3foo3barEv"), out, cap) < cap);
}

static void test_random_bytes(void **state)
{
	static const char alphabet[] = "ZNSRKIEivjhTBC0123456789_abcuPLXJDt$.p";
	struct random r = { 7 };

	(void)state;
	for (unsigned i = 0; i < 20000; i++) {
		char raw[300] = "_Z", out[200];
		size_t n = 2 + random__below(&r, sizeof(raw) - 3);

		if (i & 1)
			raw[1] = 'R';
		for (size_t k = 2; k < n; k++)
			raw[k] = alphabet[random__below(&r, sizeof(alphabet) - 1)];
		assert_true(demangle__name((struct dcm_str){ raw, (uint32_t)n }, out, sizeof(out)) <
			    sizeof(out));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_c_names_are_left_alone),
		cmocka_unit_test(test_known_names),
		cmocka_unit_test(test_cxxfilt_agrees),
		cmocka_unit_test(test_explosive_names_end_soon),
		cmocka_unit_test(test_long_and_dirty_names),
		cmocka_unit_test(test_random_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
