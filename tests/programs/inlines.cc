// SPDX-License-Identifier: Apache-2.0
// tests/programs/inlines.cc - C++ whose compilers inline much; tests/unit/test_frames.c asks where
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

struct multiplier {
	int factor;
	int operator()(int x) const
	{
		return x * factor + 1;
	}
};

static inline __attribute__((always_inline)) int innermost(int a)
{
	volatile int r = a;
	for (int i = 0; i < 3; i++)
		r += i;
	return r;
}

static inline __attribute__((always_inline)) int middle(int a)
{
	return innermost(a) * 3;
}

extern "C" __attribute__((noinline)) int inlines_outer(int a)
{
	return middle(a) + innermost(a + 1);
}

int main(int argc, char **argv)
{
	std::vector<int> v(argv[0], argv[0] + argc + 5);
	std::sort(v.begin(), v.end(), [](int a, int b) { return a > b; });
	std::string s(argv[0]);

	printf("%d %zu\n", inlines_outer(v[0]), s.size());
	return multiplier{ 2 }(argc) < 0;
}
