/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz/replay_main.c - main() of a fuzz target where libFuzzer is not there: runs every file it is
 * given once
 *
 * Arguments are files and folders; a folder's files are taken in name order, so that a failure
 * repeats. Each file is copied into a block of exactly its size, so that the sanitizers see a read
 * past the end. Prints how many inputs ran; exits 1 when there were none, because a check that runs
 * nothing must not pass.
 */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/*
 * The longest input that libFuzzer is given by default is 4 KiB; a corpus file has no reason to be
 * larger than this.
 */
#define INPUT_MAX_BYTES (16u << 20)

static int run_file(const char *path)
{
	FILE *f = fopen(path, "re");
	if (!f) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		return -1;
	}
	uint8_t *data = NULL;
	int r = -1;
	struct stat st;
	if (fstat(fileno(f), &st) < 0 || st.st_size > (off_t)INPUT_MAX_BYTES) {
		fprintf(stderr, "%s: cannot be read, or is over %u bytes\n", path, INPUT_MAX_BYTES);
		goto out;
	}
	size_t size = (size_t)st.st_size;
	/* malloc(0) may be NULL; a target must take (any pointer, 0). */
	data = malloc(size ? size : 1);
	if (!data || fread(data, 1, size, f) != size) {
		fprintf(stderr, "%s: cannot be read whole\n", path);
		goto out;
	}
	LLVMFuzzerTestOneInput(data, size);
	r = 1;
out:
	free(data);
	fclose(f);
	return r;
}

static int not_hidden(const struct dirent *e)
{
	return e->d_name[0] != '.';
}

/* Returns how many inputs ran, or -1. */
static int run_path(const char *path)
{
	struct stat st;
	if (stat(path, &st) < 0) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		return -1;
	}
	if (!S_ISDIR(st.st_mode))
		return run_file(path);

	struct dirent **names = NULL;
	int n = scandir(path, &names, not_hidden, alphasort);
	if (n < 0) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		return -1;
	}
	int n_run = 0;
	for (int i = 0; i < n; i++) {
		char *child = NULL;
		int r = -1;
		if (asprintf(&child, "%s/%s", path, names[i]->d_name) >= 0)
			r = run_path(child);
		free(child);
		free(names[i]);
		n_run = r < 0 || n_run < 0 ? -1 : n_run + r;
	}
	free(names);
	return n_run;
}

int main(int argc, char **argv)
{
	int n_run = 0;

	for (int i = 1; i < argc; i++) {
		int r = run_path(argv[i]);
		if (r < 0)
			return 1;
		n_run += r;
	}
	printf("%d inputs replayed\n", n_run);
	return n_run > 0 ? 0 : 1;
}
