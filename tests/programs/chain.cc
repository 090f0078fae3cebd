// SPDX-License-Identifier: Apache-2.0
//
// tests/programs/chain.cc - spins at the end of a known chain of calls
//
//	chain SECONDS
//
// main > chain::Alpha::run, virtual > chain::beta, a template > chain::Box's call operator >
// chain::(anonymous namespace)::spin. Built with -fno-omit-frame-pointer.
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <vector>

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif

static volatile uint64_t sink;

namespace chain
{
namespace
{
// gcc leaves the frame out of a leaf function that does not ask for it.
NOINLINE void spin(unsigned n)
{
	sink += reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
	for (unsigned i = 0; i < n; i++)
		sink += i;
}
} // namespace

template <typename T> struct Box {
	T value;

	NOINLINE void operator()(unsigned n) const
	{
		spin(n);
		sink += value.size();
	}
};

template <typename T, int N> NOINLINE void beta(const Box<T> &box)
{
	box(N);
	sink++;
}

struct Walk {
	virtual ~Walk() = default;
	virtual void run(double seconds) = 0;
};

struct Alpha : Walk {
	NOINLINE void run(double seconds) override
	{
		using clock = std::chrono::steady_clock;
		const Box<std::vector<int>> box{ { 1, 2 } };
		auto end = clock::now() + std::chrono::duration<double>(seconds);

		while (clock::now() < end)
			beta<std::vector<int>, 1000000>(box);
		sink++;
	}
};
} // namespace chain

int main(int argc, char **argv)
{
	chain::Walk *walk = new chain::Alpha;

	walk->run(argc > 1 ? std::strtod(argv[1], nullptr) : 1);
	delete walk;
	sink++;
	return 0;
}
