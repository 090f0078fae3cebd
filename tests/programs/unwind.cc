// SPDX-License-Identifier: Apache-2.0
//
// tests/programs/unwind.cc - spins in a catch clause, in a destructor while an exception flies, and in a lambda
//
//	unwind_cc SECONDS
//
// main > run > (catcher > spin) and (thrower > Guard::~Guard > spin, below the C++ runtime) and (in_lambda > spin).
#include <cstdint>
#include <cstdlib>
#include <ctime>

static volatile uint64_t sink;

extern "C" __attribute__((noinline)) void spin()
{
	for (unsigned i = 0; i < 10000000; i++)
		sink = sink + i;
}

struct Guard {
	__attribute__((noinline)) ~Guard()
	{
		spin();
		sink = sink + 1;
	}
};

extern "C" __attribute__((noinline)) void thrower()
{
	Guard guard;

	if (sink + 1)
		throw 1;
}

extern "C" __attribute__((noinline)) void catcher()
{
	try {
		thrower();
	} catch (int n) {
		spin();
		sink = sink + static_cast<uint64_t>(n);
	}
}

extern "C" __attribute__((noinline)) void run(time_t end)
{
	while (time(nullptr) < end)
		catcher();
	sink = sink + 1;
}

int main(int argc, char **argv)
{
	run(time(nullptr) + (argc > 1 ? atol(argv[1]) : 1));
	sink = sink + 1;
	return 0;
}
