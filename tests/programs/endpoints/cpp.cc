// SPDX-License-Identifier: Apache-2.0

// tests/programs/endpoints/cpp.cc - a C++ service that serves its profiles as gperftools documents it
//
//	cpp		gperftools when built with -DGPERFTOOLS, else jemalloc, told MALLOC_CONF=prof:true,..
//
// Serves at a port of 127.0.0.1, and prints HOST:PORT in a line of its own:
//
//	/pprof/heap		what is in use: tcmalloc's sample, or jemalloc's file
//	/pprof/heapprofile	the same of gperftools' heap profiler, which misses nothing
//	/pprof/growth		where the heap grew; tcmalloc only
//	/pprof/profile		?seconds=N: the CPU; gperftools only
//	/pprof/symbol		POST "0xADDRESS+0xADDRESS": a line "0xADDRESS\tNAME" of each that has one
//	/pprof/cmdline		how it was called
//	/allocate?n=N		forgets N blocks of 10,000 bytes of forget()
//
// keep() holds 1,000 blocks of 10,000 bytes from the start, and burn() has one in two milliseconds of the CPU. All
// three are functions that the dynamic linker knows, when it is linked with -rdynamic.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <cxxabi.h>
#include <dlfcn.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#ifdef GPERFTOOLS
#include <gperftools/heap-profiler.h>
#include <gperftools/malloc_extension.h>
#include <gperftools/profiler.h>
#else
#include <jemalloc/jemalloc.h>
#endif

static std::vector<void *> kept;
static std::string file_name;
static volatile unsigned sink; /* else nothing is to be worked out */

__attribute__((noinline)) void keep(int n)
{
	for (int i = 0; i < n; i++)
		kept.push_back(memset(malloc(10000), 1, 10000));
}

__attribute__((noinline)) void forget(int n)
{
	for (int i = 0; i < n; i++) {
		void *p = memset(malloc(10000), 1, 10000);

		__asm__ volatile("" : : "r"(p) : "memory");
		free(p);
	}
}

__attribute__((noinline)) unsigned burn(unsigned x)
{
	for (int i = 0; i < 2000000; i++)
		x = x * 1664525u + 1013904223u + (x >> 7);
	return x;
}

__attribute__((noinline)) void work()
{
	const struct timespec pause = { 0, 3000000 };

	for (;;) {
		sink = burn(sink);
		nanosleep(&pause, nullptr);
	}
}

// ---- what is served ----

static std::string contents()
{
	std::ifstream f(file_name, std::ios::binary);

	return { std::istreambuf_iterator<char>(f), std::istreambuf_iterator<char>() };
}

static bool begins(const std::string &s, const char *with)
{
	return s.compare(0, strlen(with), with) == 0;
}

static int number(const std::string &target, const char *name, int otherwise)
{
	size_t at = target.find(std::string(name) + "=");

	return at == std::string::npos ? otherwise : atoi(target.c_str() + at + strlen(name) + 1);
}

static std::string name_of(unsigned long address)
{
	Dl_info info;

	if (!dladdr((void *)address, &info) || !info.dli_sname)
		return "";
	int status;
	char *plain = abi::__cxa_demangle(info.dli_sname, nullptr, nullptr, &status);
	std::string name = plain ? plain : info.dli_sname;

	free(plain);
	return name;
}

static std::string symbols(const std::string &asked)
{
	std::string said;

	if (asked.empty())
		return "num_symbols: 1\n";
	for (const char *p = asked.c_str(); *p;) {
		char *end;
		unsigned long address = strtoul(p, &end, 16);
		std::string name = name_of(address);

		if (!name.empty())
			said += std::string(p, (size_t)(end - p)) + "\t" + name + "\n";
		p = *end ? end + 1 : end;
	}
	return said;
}

static std::string cmdline()
{
	std::ifstream f("/proc/self/cmdline");
	std::string s{ std::istreambuf_iterator<char>(f), std::istreambuf_iterator<char>() };

	for (char &c : s)
		c = c ? c : '\n';
	return s;
}

// False: there is no such thing.
#ifdef GPERFTOOLS
static bool profile(const std::string &target, std::string *ret)
{
	if (begins(target, "/pprof/heapprofile")) {
		char *text = GetHeapProfile();

		*ret = text;
		free(text);
	} else if (begins(target, "/pprof/heap")) {
		MallocExtension::instance()->GetHeapSample(ret);
	} else if (begins(target, "/pprof/growth")) {
		MallocExtension::instance()->GetHeapGrowthStacks(ret);
	} else if (begins(target, "/pprof/profile")) {
		ProfilerStart(file_name.c_str());
		sleep(number(target, "seconds", 30));
		ProfilerStop();
		*ret = contents();
	} else {
		return false;
	}
	return true;
}
#else
static bool profile(const std::string &target, std::string *ret)
{
	const char *name = file_name.c_str();

	if (!begins(target, "/pprof/heap"))
		return false;
	if (mallctl("prof.dump", nullptr, nullptr, &name, sizeof(name)))
		return false;
	*ret = contents();
	return true;
}
#endif

static std::string answer(const std::string &target, const std::string &body, bool *ret_found)
{
	std::string s;

	*ret_found = true;
	if (begins(target, "/pprof/symbol"))
		return symbols(body);
	if (begins(target, "/pprof/cmdline"))
		return cmdline();
	if (begins(target, "/allocate")) {
		forget(number(target, "n", 0));
		return "done\n";
	}
	*ret_found = profile(target, &s);
	return s;
}

// ---- HTTP, one request a connection ----

static bool receive(int c, std::string *ret_target, std::string *ret_body)
{
	std::string all;
	size_t end = std::string::npos, body = 0;
	char part[4096];

	while (end == std::string::npos || all.size() < end + 4 + body) {
		ssize_t n = read(c, part, sizeof(part));

		if (n <= 0)
			return false;
		all.append(part, (size_t)n);
		end = all.find("\r\n\r\n");
		const char *length = strcasestr(all.c_str(), "\r\ncontent-length:");
		if (end != std::string::npos && length)
			body = (size_t)atol(length + strlen("\r\ncontent-length:"));
	}
	size_t from = all.find(' ') + 1;
	*ret_target = all.substr(from, all.find(' ', from) - from);
	*ret_body = all.substr(end + 4);
	return true;
}

static void serve(int c)
{
	std::string target, body;

	if (receive(c, &target, &body)) {
		bool found;
		std::string said = answer(target, body, &found);
		std::string all =
			std::string("HTTP/1.1 ") + (found ? "200 OK" : "404 Not Found") +
			"\r\nConnection: close\r\nContent-Type: text/plain\r\nContent-Length: " +
			std::to_string(said.size()) + "\r\n\r\n" + said;

		for (size_t at = 0; at < all.size();) {
			ssize_t n = send(c, all.data() + at, all.size() - at, MSG_NOSIGNAL);

			if (n <= 0)
				break;
			at += (size_t)n;
		}
	}
	close(c);
}

int main(int, char **argv)
{
	struct sockaddr_in at = {};
	socklen_t size = sizeof(at);
	int s = socket(AF_INET, SOCK_STREAM, 0);

	file_name = std::string(argv[0]) + ".profile";
	at.sin_family = AF_INET;
	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (bind(s, (struct sockaddr *)&at, size) || listen(s, 16) ||
	    getsockname(s, (struct sockaddr *)&at, &size))
		return 1;
#ifdef GPERFTOOLS
	HeapProfilerStart(file_name.c_str());
#endif
	// In a thread that begins when tcmalloc's environment was read: one that began before takes no sample of its first 16 MiB.
	std::thread(keep, 1000).join();
	std::thread(work).detach();
	printf("127.0.0.1:%d\n", ntohs(at.sin_port));
	fflush(stdout);
	for (;;) {
		int c = accept(s, nullptr, nullptr);

		if (c >= 0)
			std::thread(serve, c).detach();
	}
}
