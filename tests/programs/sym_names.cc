// SPDX-License-Identifier: Apache-2.0
// tests/programs/sym_names.cc - C++ names for tests/unit/test_symbols.c, which compiles it to a shared object
namespace sym
{
template <typename T> struct box {
	T value;
	__attribute__((noinline)) T twice() const
	{
		return value + value;
	}
};
} // namespace sym

extern "C" __attribute__((noinline)) long sym_names_plain(long x)
{
	return sym::box<long>{ x }.twice() + 1;
}

template struct sym::box<long>;
