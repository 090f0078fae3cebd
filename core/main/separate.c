/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/main/separate.c - the daemon gives its rights up, and keeps a broker that has the few
 *
 * capset(2) is of one thread. Those that graph__new() makes give up their own first thing; finish()
 * waits until /proc says that all have. Who stays uid 0 can still write what belongs to root, which
 * is why there is `user`. Source: capabilities(7).
 */
#include "core/main/separate.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/cleanup.h"
#include "core/base/error.h"
#include "core/base/fd.h"
#include "core/broker/sandbox.h"

enum {
	LOOKS_MAX = 500, /* at other threads: 5 s */
	LOOK_MS = 10,
	FILES_WANTED = 65536,
};

/* ------------------------------------------------------------------------------------------------
 * Another user
 */

/* Made for the user, or handed over when it is root's: what is inside stays as it is. */
static int give_directory(const char *path, const struct passwd *pw, struct dcm_error *err)
{
	struct stat st;
	int r = fd__mkdirs(path, 0700);

	if (r == 0 && stat(path, &st) < 0)
		r = -errno;
	if (r == 0 && st.st_uid == 0 && chown(path, pw->pw_uid, pw->pw_gid) < 0)
		r = -errno;
	return r < 0 ? error__sys(err, r, "%s: cannot be given to the user %s", path, pw->pw_name) : 0;
}

/* The user, when this process is it or can become it. */
static int find_user(const char *user, const struct passwd **ret, struct dcm_error *err)
{
	const struct passwd *pw;

	errno = 0;
	pw = getpwnam(user);
	if (!pw)
		return error__set(err, errno ? -errno : -EINVAL,
				  "user: there is no user %s here; make it: useradd --system %s",
				  user, user);
	if (geteuid() != pw->pw_uid && geteuid() != 0)
		return error__set(err, -EPERM,
				  "user: only root can become %s; start decima as root or as %s",
				  user, user);
	*ret = pw;
	return 0;
}

/* data_dir NULL: nothing is given. */
static int become(const char *user, const char *data_dir, struct dcm_error *err)
{
	const struct passwd *pw = NULL;
	int r = find_user(user, &pw, err);

	if (r < 0 || geteuid() == pw->pw_uid)
		return r;
	if (data_dir)
		r = give_directory(data_dir, pw, err);
	if (r < 0)
		return r;
	r = sandbox__become(pw->pw_uid, pw->pw_gid, true);
	return r < 0 ? error__sys(err, r, "user: cannot become %s", user) : 0;
}

int separate__like_daemon(const struct plan *plan, struct dcm_error *err)
{
	int r = plan->main->user ? become(plan->main->user, NULL, err) : 0;

	if (r < 0 || sandbox__capabilities() == 0)
		return r;
	r = sandbox__keep_capabilities(0);
	return r < 0 ? error__sys(err, r, "cannot give the capabilities up") : 0;
}

/* ------------------------------------------------------------------------------------------------
 * The broker
 */

static bool needs_rights(const struct plan *plan)
{
	for (uint32_t i = 0; i < plan->n; i++)
		if (plan->instances[i].plugin->info.caps & DCM_CAP_RIGHTS)
			return true;
	return false;
}

/* A shell's 1,024 are for programs that use select(2); CPUs, clients and files take more. */
static void raise_files(void)
{
	struct rlimit l;

	if (getrlimit(RLIMIT_NOFILE, &l) < 0 || l.rlim_cur >= FILES_WANTED)
		return;
	l.rlim_cur = l.rlim_max < FILES_WANTED ? l.rlim_max : FILES_WANTED;
	setrlimit(RLIMIT_NOFILE, &l);
}

int separate__begin(struct separate *s, const struct plan *plan, const char *data_dir,
		    struct dcm_error *err)
{
	uint64_t caps = sandbox__capabilities();
	int r = 0;

	raise_files();
	if (plan->main->user)
		r = become(plan->main->user, data_dir, err);
	if (r < 0 || caps == 0)
		return r;
	s->privileged = true;
	if (!needs_rights(plan) || !(caps & broker__capabilities))
		return 0;
	return broker__new(&s->broker, err);
}

int separate__watch_fd(const struct separate *s)
{
	return s->broker ? broker__watch_fd(s->broker) : -1;
}

void separate__fini(struct separate *s)
{
	broker__free(s->broker);
	s->broker = NULL;
}

/* ------------------------------------------------------------------------------------------------
 * Giving up
 */

/* True when some thread of ours has a capability. */
static bool some_thread_has(void)
{
	DIR *tasks = opendir("/proc/self/task");
	bool has = !tasks;
	const struct dirent *e;

	while (!has && (e = readdir(tasks))) {
		struct buf text = { 0 };
		char name[300];
		const char *at;

		if (e->d_name[0] == '.')
			continue;
		snprintf(name, sizeof(name), "%s/status", e->d_name);
		/* One that has ended since has none. */
		if (fd__read_path(dirfd(tasks), name, 65536, &text) == 0 && text.n) {
			at = strstr((const char *)text.data, "\nCapPrm:");
			has = !at || strtoull(at + strlen("\nCapPrm:"), NULL, 16) != 0;
		}
		buf__fini(&text);
	}
	if (tasks)
		closedir(tasks);
	return has;
}

int separate__finish(const struct separate *s, struct dcm_error *err)
{
	const struct timespec pause = { 0, LOOK_MS * 1000000 };
	int r;

	if (!s->privileged)
		return 0;
	r = sandbox__keep_capabilities(0);
	if (r < 0)
		return error__sys(err, r, "cannot give the capabilities up");
	/* A sanitizer's own thread has no reason to. */
	if (sandbox__is_sanitized())
		return 0;
	for (int i = 0; some_thread_has(); i++) {
		if (i == LOOKS_MAX)
			return error__set(err, -EPERM,
					  "a thread of decima has kept its capabilities; this is a "
					  "fault in decima, please report it");
		nanosleep(&pause, NULL);
	}
	return 0;
}
