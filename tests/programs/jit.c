/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/programs/jit.c - makes code, says so in a jitdump, moves the code, says so, and spins in it
 *
 * jit DIRECTORY SECONDS. The dump is DIRECTORY/jit-PID.dump; its first page is mapped, as
 * jitdump-specification.txt of Linux perf demands. x86-64 only.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096 };

/* void spin(uint32_t n): push rbp; mov rbp, rsp; 1: sub edi, 1; jnz 1b; pop rbp; ret */
static const uint8_t code[] = { 0x55, 0x48, 0x89, 0xe5, 0x83, 0xef, 0x01, 0x75, 0xfb, 0x5d, 0xc3 };

static FILE *dump;

static void put(const void *p, size_t n)
{
	if (fwrite(p, 1, n, dump) != n)
		abort();
}

static void put32(uint32_t v)
{
	put(&v, sizeof(v));
}

static void put64(uint64_t v)
{
	put(&v, sizeof(v));
}

static void head(uint32_t id, size_t body)
{
	put32(id);
	put32((uint32_t)(16 + body));
	put64(0);
}

static void tell_lines(uint64_t at, const char *file)
{
	head(2, 16 + 16 + strlen(file) + 1);
	put64(at);
	put64(1);
	put64(at);
	put32(42);
	put32(0);
	put(file, strlen(file) + 1);
}

static void tell_load(uint64_t at, const char *name)
{
	head(0, 40 + strlen(name) + 1 + sizeof(code));
	put32((uint32_t)getpid());
	put32((uint32_t)getpid());
	put64(at);
	put64(at);
	put64(sizeof(code));
	put64(1);
	put(name, strlen(name) + 1);
	put(code, sizeof(code));
}

static void tell_move(uint64_t from, uint64_t to)
{
	head(1, 48);
	put32((uint32_t)getpid());
	put32((uint32_t)getpid());
	put64(to);
	put64(from);
	put64(to);
	put64(sizeof(code));
	put64(1);
}

static void open_dump(const char *dir)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/jit-%d.dump", dir, (int)getpid());
	dump = fopen(path, "w+");
	if (!dump)
		abort();
	put32(0x4A695444);
	put32(1);
	put32(40);
	put32(62);
	put32(0);
	put32((uint32_t)getpid());
	put64(0);
	put64(0);
	fflush(dump);
	if (mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(dump), 0) == MAP_FAILED)
		abort();
}

__attribute__((noinline)) static void call(void (*spin)(uint32_t), double seconds)
{
	time_t end = time(NULL) + (time_t)seconds;

	while (time(NULL) < end)
		spin(10000000);
	__asm__ volatile("" ::: "memory"); /* no tail call */
}

int main(int argc, char **argv)
{
	uint8_t *memory = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void (*spin)(uint32_t);

	if (argc != 3 || memory == MAP_FAILED)
		return 2;
	open_dump(argv[1]);
	memcpy(memory, code, sizeof(code));
	tell_lines((uint64_t)(uintptr_t)memory, "/src/jitted.x");
	tell_load((uint64_t)(uintptr_t)memory, "jitted::spin");
	memcpy(memory + PAGE, code, sizeof(code));
	tell_move((uint64_t)(uintptr_t)memory, (uint64_t)(uintptr_t)memory + PAGE);
	fflush(dump);
	memory += PAGE;
	memcpy(&spin, &memory, sizeof(spin));
	call(spin, atof(argv[2]));
	return 0;
}
