/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/main/record_verb.c - `decima record`: the daemon's whole path, once, in one process
 *
 * The sampler and the memory store are started by a configuration made here. A command is forked
 * first and held back, so that its pid can be sampled from its first instruction; its children
 * follow it. When it ends (or the time is over, or a signal comes), what was sampled is drained
 * into the store, asked for, and written.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/error.h"
#include "core/base/fd.h"
#include "core/base/str.h"
#include "core/base/units.h"
#include "core/base/vec.h"
#include "core/batch/batch.h"
#include "core/batch/builder.h"
#include "core/codec/codec.h"
#include "core/main/graph.h"
#include "core/main/log_setup.h"
#include "core/main/output_file.h"
#include "core/main/progress.h"
#include "core/main/separate.h"
#include "core/main/source.h"
#include "core/main/verbs.h"
#include "core/query/render.h"
#include "core/query/selector.h"

#define SECOND	    INT64_C(1000000000)
#define RECORD_TYPE "process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta"
#define DEFAULT_HZ  "99"

enum { DRAIN_S = 10, NOT_RUN = 127 };

struct record {
	const struct args *args;
	struct log log;
	struct stats *stats;
	struct loader *loader;
	struct graph *graph;
	struct separate separate; /* its broker: nothing is given up, since the result is to be written */
	int64_t duration_ns; /* 0: until the command ends or a signal comes */
	uint32_t max_rows;   /* of the text tree */
	VEC(int) pid_fds;    /* of --pid */
	struct arena names;  /* of --group-by */
	struct dcm_str *group_by;
	uint32_t n_group_by;
	const char **sets; /* of --set: the plan's */
	pid_t child;	   /* 0: none */
	int go_fd;	   /* a byte lets the child run, its end lets it go */
	int exec_fd;	   /* ends when the child has become the command, or says why it cannot */
	int signal_fd;
	int child_status;
	bool child_ended;
	bool not_run;	 /* the command cannot be run */
	bool is_empty;	 /* not one sample */
	bool is_watched; /* progress is shown: on a terminal, and no command writes there */
	sigset_t old_mask;
};

/* ------------------------------------------------------------------------------------------------
 * The command
 */

/* The child: waits for the word, and becomes the command. */
static void become_command(const struct record *r, int go_fd, int exec_fd)
{
	char byte;

	sigprocmask(SIG_SETMASK, &r->old_mask, NULL);
	/* One byte is the word to go; the end of the file means that the recorder has failed. */
	if (read(go_fd, &byte, 1) == 1) {
		int code;

		signal(SIGPIPE, SIG_DFL);
		execvp(r->args->operands[0], (char *const *)(uintptr_t)r->args->operands);
		code = errno;
		(void)fd__write_all(exec_fd, &code, sizeof(code));
	}
	_exit(NOT_RUN);
}

/* Forks the command, which waits for go_fd before it becomes itself. */
static int fork_command(struct record *r, struct dcm_error *err)
{
	CLEANUP(fd__closep) int go_in = -1;
	CLEANUP(fd__closep) int exec_out = -1;
	int go[2], exec[2];

	if (pipe2(go, O_CLOEXEC) < 0)
		return error__sys(err, -errno, "cannot make a pipe");
	go_in = go[0];
	r->go_fd = go[1];
	if (pipe2(exec, O_CLOEXEC) < 0)
		return error__sys(err, -errno, "cannot make a pipe");
	r->exec_fd = exec[0];
	exec_out = exec[1];
	r->child = fork();
	if (r->child < 0) {
		r->child = 0;
		return error__sys(err, -errno, "cannot fork");
	}
	if (r->child == 0) {
		close(r->go_fd);
		become_command(r, go_in, exec_out);
	}
	return 0;
}

/* Lets the command run. A failure says why it cannot be. */
static int release_command(struct record *r, struct dcm_error *err)
{
	int code = 0;
	ssize_t n;

	if (r->go_fd < 0)
		return 0;
	if (fd__write_all(r->go_fd, "g", 1) < 0)
		log__line(&r->log, DCM_LOG_ERROR, "record", "the command has died before it began");
	fd__close(take_fd(r->go_fd));
	/* Ends at once: the child executes, dies, or says the code. */
	do
		n = read(r->exec_fd, &code, sizeof(code));
	while (n < 0 && errno == EINTR);
	r->not_run = n == (ssize_t)sizeof(code);
	fd__close(take_fd(r->exec_fd));
	if (!r->not_run)
		return 0;
	return error__set(err, -code, "%s cannot be run: %s; give the path of a program, or one in PATH",
			  r->args->operands[0], strerror(code));
}

static void reap(struct record *r)
{
	pid_t got = r->child && !r->child_ended ? waitpid(r->child, &r->child_status, WNOHANG) : 0;

	if (got == r->child || (got < 0 && errno == ECHILD))
		r->child_ended = r->child != 0;
}

/* ------------------------------------------------------------------------------------------------
 * Configuration
 */

static const char config_text[] = "inputs:\n"
				  "  ebpf: { frequency: " DEFAULT_HZ
				  ", cpu_budget: 0, filter: { exclude_self: true } }\n"
				  "  perf_map: {}\n"
				  "storage:\n"
				  "  memory: { max_bytes: 2GiB }\n";

/* A process and its parent, from /proc; one that goes meanwhile is nobody's child. */
struct relative {
	int64_t pid, parent;
	bool belongs;
};
struct family {
	VEC(struct relative) v;
};

/* That file of /proc/ID as text; NULL: it has gone. In `buf`, which the caller ends. */
static const char *proc_text(int64_t id, const char *name, struct buf *buf)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%lld/%s", (long long)id, name);
	if (fd__read_path(AT_FDCWD, path, 16384, buf) < 0)
		return NULL;
	buf__byte(buf, '\0');
	return buf->error ? NULL : (const char *)buf->data;
}

static int64_t parent_of(int64_t pid)
{
	struct buf stat = { 0 };
	const char *text = proc_text(pid, "stat", &stat);
	/* "PID (COMM) STATE PPID": COMM may hold anything, parentheses too. */
	const char *end = text ? strrchr(text, ')') : NULL;
	int64_t parent = end && strlen(end) > 4 ? strtoll(end + 4, NULL, 10) : 0;

	buf__fini(&stat);
	return parent;
}

static int by_pid(const void *a, const void *b)
{
	int64_t x = ((const struct relative *)a)->pid, y = ((const struct relative *)b)->pid;

	return (x > y) - (x < y);
}

static int read_family(struct family *f)
{
	DIR *proc = opendir("/proc");
	struct dirent *e;
	int r = 0;

	while (proc && r == 0 && (e = readdir(proc))) {
		int64_t pid;

		if (units__parse_int(str__of(e->d_name), "", &pid) < 0)
			continue;
		struct relative member = { pid, parent_of(pid), false };
		if (!vec__push(&f->v, member))
			r = -ENOMEM;
	}
	if (proc)
		closedir(proc);
	if (f->v.n)
		qsort(f->v.v, f->v.n, sizeof(*f->v.v), by_pid);
	return r;
}

static bool has_member(const struct family *f, int64_t pid)
{
	const struct relative key = { .pid = pid }, *at;

	at = f->v.n ? bsearch(&key, f->v.v, f->v.n, sizeof(key), by_pid) : NULL;
	return at && at->belongs;
}

/*
 * The pid, and what it has started so far: the sampler itself follows what is started since we began.
 * A child may have a lower number than its parent, so it goes on until nobody joins.
 */
static int add_family(struct buf *text, int64_t pid)
{
	struct family f = { 0 };
	int r = read_family(&f);

	buf__printf(text, "%lld,", (long long)pid);
	for (bool joined = r == 0; joined;) {
		joined = false;
		for (size_t i = 0; i < f.v.n; i++) {
			int64_t parent = f.v.v[i].parent;

			if (f.v.v[i].belongs || (parent != pid && !has_member(&f, parent)))
				continue;
			f.v.v[i].belongs = joined = true;
			buf__printf(text, "%lld,", (long long)f.v.v[i].pid);
		}
	}
	vec__fini(&f.v);
	return r;
}

/* The process that the id is a thread of, itself for most; 0: it has gone, or /proc does not say. */
static int64_t process_of(int64_t id)
{
	struct buf status = { 0 };
	const char *text = proc_text(id, "status", &status);
	const char *line = text ? strstr(text, "\nTgid:") : NULL;
	int64_t pid = line ? strtoll(line + 6, NULL, 10) : 0;

	buf__fini(&status);
	return pid;
}

/* So that its end is seen, whoever has its number afterwards. */
static int watch_pid(struct record *r, int64_t pid, struct dcm_error *err)
{
	int fd = pidfd_open((pid_t)pid, 0);

	if (fd < 0 && errno == ESRCH)
		return error__set(err, -ESRCH, "--pid: there is no process %lld; see ps -e",
				  (long long)pid);
	if (fd < 0)
		return error__sys(err, -errno, "--pid: process %lld cannot be watched", (long long)pid);
	if (!vec__push(&r->pid_fds, fd)) {
		close(fd);
		return error__nomem(err);
	}
	return 0;
}

/* "12,34" and their children appended to the list of pids. */
static int add_pids(struct record *r, struct buf *text, const char *list, struct dcm_error *err)
{
	for (bool more = true; more;) {
		size_t n = strcspn(list, ",");
		int64_t pid, process;
		int e;

		if (units__parse_int((struct dcm_str){ list, (uint32_t)n }, "", &pid) < 0 ||
		    pid <= 0 || pid > INT32_MAX)
			return error__set(err, -EINVAL,
					  "--pid: \"%.*s\" is no process id; give "
					  "numbers with a comma between, as in -p 12,34",
					  (int)n, list);
		process = process_of(pid);
		if (process && process != pid)
			return error__set(err, -EINVAL, "--pid: %lld is a thread of process %lld; give the process",
					  (long long)pid, (long long)process);
		e = watch_pid(r, pid, err);
		if (e < 0)
			return e;
		if (add_family(text, pid) < 0)
			return error__nomem(err);
		more = list[n] == ',';
		list += n + more;
	}
	return 0;
}

/* "[12,34,]": what is sampled; no number means everything. */
static int write_pids(struct record *r, struct buf *list, struct dcm_error *err)
{
	const char *pids = args__get(r->args, "pid", NULL);
	int e;

	buf__byte(list, '[');
	e = pids ? add_pids(r, list, pids, err) : 0;
	if (e < 0)
		return e;
	if (r->child && !args__has(r->args, "all"))
		buf__printf(list, "%d", (int)r->child);
	buf__text(list, "]");
	buf__byte(list, '\0');
	return list->error ? error__nomem(err) : 0;
}

/* What the options say is set in their names, so that a fault of theirs says where it is. */
static int load_plan(struct record *r, struct plan **ret, struct dcm_error *err)
{
	const struct args *a = r->args;
	struct problems problems = { 0 };
	struct buf pids = { 0 };
	uint32_t n_sets = 0;
	int e = write_pids(r, &pids, err);

	if (e == 0 && source__sets(a, &r->sets, &n_sets) < 0)
		e = error__nomem(err);
	if (e == 0) {
		const struct plan_flag flags[] = {
			{ "--frequency", "inputs.ebpf.frequency", args__get(a, "frequency", NULL), false },
			{ "--pid", "inputs.ebpf.filter.pids", (const char *)pids.data, true },
			{ "DECIMA_PLUGIN_PATH", "plugin_path",
			  args__has(a, "plugin-path") ? NULL : getenv("DECIMA_PLUGIN_PATH"), false },
		};

		e = plan__load(&(struct plan_source){ .text = config_text,
						      .sets = r->sets,
						      .n_sets = n_sets,
						      .plugin_path = args__get(a, "plugin-path", NULL),
						      .flags = flags,
						      .n_flags = sizeof(flags) / sizeof(flags[0]) },
			       &r->loader, &problems, ret);
		if (e < 0)
			problems__first(&problems, err);
	}
	problems__fini(&problems);
	buf__fini(&pids);
	return e;
}

static int make_graph(struct record *r, struct dcm_error *err)
{
	struct plan *plan = NULL;
	int e = load_plan(r, &plan, err);

	if (e < 0)
		return e;
	e = separate__begin(&r->separate, plan, NULL, err);
	if (e == 0 && stats__new(NULL, &r->stats) < 0)
		e = error__nomem(err);
	if (e < 0) {
		plan__free(plan);
		return e;
	}
	return graph__new(&(struct graph_config){ .log = &r->log,
						  .stats = r->stats,
						  .clock = &clock__system,
						  .one_shot = true,
						  .broker = r->separate.broker },
			  plan, &r->graph, err);
}

/* ------------------------------------------------------------------------------------------------
 * Sampling
 */

/* nohup ignores one, a script's background job the other: a signal that is blocked would come all the same. */
static void add_heeded(sigset_t *set, int signal)
{
	struct sigaction before;

	if (sigaction(signal, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
		sigaddset(set, signal);
}

static int catch_signals(struct record *r, struct dcm_error *err)
{
	sigset_t set;

	/* Ignored, children would go without a word. */
	signal(SIGCHLD, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	add_heeded(&set, SIGHUP);
	add_heeded(&set, SIGQUIT);
	sigaddset(&set, SIGCHLD);
	pthread_sigmask(SIG_BLOCK, &set, &r->old_mask);
	r->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return r->signal_fd < 0 ? error__sys(err, -errno, "cannot catch signals") : 0;
}

/*
 * True when a signal says to end. A command decides itself what those mean that a terminal sends to
 * it as well (Ctrl-C, Ctrl-\), and what the others mean, which it gets from here.
 */
static bool told_to_end(struct record *r)
{
	struct signalfd_siginfo info;
	bool end = false;

	while (read(r->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		if (info.ssi_signo == SIGCHLD)
			continue;
		if (r->child && !r->child_ended && (info.ssi_signo == SIGTERM || info.ssi_signo == SIGHUP))
			kill(r->child, (int)info.ssi_signo);
		end = end || !r->child;
	}
	return end;
}

/* None of those that --pid named is there any more. */
static bool pids_have_ended(const struct record *r)
{
	for (size_t i = 0; i < r->pid_fds.n; i++) {
		struct pollfd p = { .fd = r->pid_fds.v[i], .events = POLLIN };

		if (poll(&p, 1, 0) == 0)
			return false;
	}
	return r->pid_fds.n > 0;
}

/* To somebody who looks on. */
static void tell_progress(const struct record *r, int64_t since_ns)
{
	struct dcm_store_stat kept = { .size = sizeof(kept) };
	char of[32] = "";

	if (!r->is_watched)
		return;
	graph__store_stat(r->graph, &kept);
	if (r->duration_ns)
		snprintf(of, sizeof(of), " of %lld", (long long)(r->duration_ns / SECOND));
	progress__show("decima record: %lld%s s, %llu stacks; Ctrl-C ends it",
		       (long long)(since_ns / SECOND), of, (unsigned long long)kept.n_stacks);
}

static void end_progress(const struct record *r)
{
	if (r->is_watched)
		progress__hide();
}

static int sample(struct record *r, struct dcm_error *err)
{
	int64_t begin = clock__mono(&clock__system);
	int64_t end = r->duration_ns ? begin + r->duration_ns : INT64_MAX;
	bool broker_gone = false;
	int e = release_command(r, err);

	if (e < 0)
		return e;
	for (;;) {
		/* Of broker and forker only their end. */
		struct pollfd p[] = { { .fd = r->signal_fd, .events = POLLIN },
				      { .fd = broker_gone ? -1 : separate__watch_fd(&r->separate) },
				      { .fd = graph__watch_fd(r->graph) } };
		int64_t now = clock__mono(&clock__system), left = end - now;

		if (left <= 0 || r->child_ended || pids_have_ended(r))
			return 0;
		tell_progress(r, now - begin);
		poll(p, sizeof(p) / sizeof(*p), left > SECOND ? 1000 : (int)(left / 1000000) + 1);
		if (p[1].revents) {
			broker_gone = true;
			log__line(&r->log, DCM_LOG_WARNING,
				  "record", "a process that names what is sampled has died: names will be missing");
		}
		if (told_to_end(r))
			return 0;
		reap(r);
		graph__tick(r->graph);
	}
}

/* ------------------------------------------------------------------------------------------------
 * The result
 */

/*
 * What a command that never ran for a whole period leaves: a profile of the right type, without a
 * row.
 */
static int empty_profile(struct dcm_batch **ret, struct dcm_error *err)
{
	struct dcm_builder *b = builder__new(0);
	struct dcm_type type;
	int r;

	if (!b)
		return error__nomem(err);
	type = (struct dcm_type){ .name = builder__string(b, STR("process_cpu")),
				  .sample_type = builder__string(b, STR("cpu")),
				  .sample_unit = builder__string(b, STR("nanoseconds")),
				  .period_type = builder__string(b, STR("cpu")),
				  .period_unit = builder__string(b, STR("nanoseconds")),
				  .temporality = DCM_DELTA };
	builder__profile(b, &(struct dcm_profile){ .series = builder__series(b, NULL, 0) }, &type, 1);
	r = builder__seal(b, ret, err);
	builder__free(b);
	return r;
}

static int render(struct record *r, const struct question *q, const char *format, struct buf *out,
		  struct dcm_error *err)
{
	struct engine *e = graph__engine(r->graph);
	CLEANUP(batch__unrefp) struct dcm_batch *batch = NULL;
	CLEANUP(frames__unrefp) struct frames *frames = NULL;
	CLEANUP(flame__freep) struct flame *flame = NULL;
	int n;

	if (strcmp(format, "text") == 0) {
		n = engine__flame(e, q, FRAMES_FUNCTION, NULL, &flame, err);
		if (n < 0)
			return n;
		r->is_empty = flame->total[0][0] == 0;
		render__flame(flame,
			      &(struct render_options){ .max_rows = r->max_rows,
							.unit = STR("nanoseconds") },
			      out);
		return 0;
	}
	if (strcmp(format, "folded") == 0) {
		n = engine__frames(e, q, FRAMES_FUNCTION, &frames, err);
		if (n < 0)
			return n;
		r->is_empty = frames->batch->n_rows == 0;
		return render__folded(frames, NULL, out, err);
	}
	n = engine__merge(e, q, &batch, NULL, err);
	r->is_empty = n == 0 && batch->n_rows == 0;
	if (n == 0 && batch->n_profiles == 0) {
		batch__unref(take_ptr(batch));
		n = empty_profile(&batch, err);
	}
	return n < 0 ? n : codec__encode(batch, DCM_NONE, format, out, err);
}

static const char *format_of(const char *path, struct dcm_error *err)
{
	struct dcm_str s = str__of(path);

	if (!path)
		return "text";
	if (str__eq(s, STR("-")) || str__ends(s, STR(".folded")))
		return "folded";
	if (str__ends(s, STR(".pb.gz")) || str__ends(s, STR(".pprof")))
		return "pprof";
	if (str__ends(s, STR(".speedscope.json")))
		return "speedscope";
	if (str__ends(s, STR(".html")))
		return "html";
	error__set(err, -EINVAL,
		   "--output %s: the name says no format; end it in .pb.gz, .folded, "
		   ".speedscope.json or .html",
		   path);
	return NULL;
}

static int write_result(struct record *r, struct dcm_error *err)
{
	const char *path = args__get(r->args, "output", NULL), *format = format_of(path, err);
	struct question q = {
		.selector = STR(RECORD_TYPE),
		.from_ms = 0,
		.to_ms = INT64_MAX / 2000000,
		.group_by = r->group_by,
		.n_group_by = r->n_group_by,
	};
	struct buf out = { 0 };
	int e;

	if (!graph__engine(r->graph))
		return error__set(err, -EIO, "the store did not start; the line above says why");
	e = render(r, &q, format, &out, err);
	if (e == 0 && out.error)
		e = error__nomem(err);
	if (e == 0)
		e = output_file__write(path ? path : "-", &out, err);
	buf__fini(&out);
	if (e == 0 && r->is_empty)
		log__line(
			&r->log, DCM_LOG_WARNING, "record",
			"no sample was taken: what was watched used too little of a CPU; a longer "
			"run, or more than %s samples a second (-F), sees more",
			args__get(r->args, "frequency", DEFAULT_HZ));
	return e;
}

/* A failure that the log has told leaves the error without a text. */
static int run(struct record *r, struct dcm_error *err)
{
	const char *path = args__get(r->args, "output", "-");
	int64_t deadline;
	int e = output_file__check(path, err);

	if (e < 0) {
		error__prefix(err, "--output");
		return e;
	}
	e = catch_signals(r, err);
	if (e == 0 && r->args->n_operands > 0)
		e = fork_command(r, err);
	if (e == 0)
		e = make_graph(r, err);
	if (e == 0)
		e = graph__start(r->graph, err);
	if (e < 0)
		return e;
	/* It has said why. */
	if (graph__failed_input(r->graph))
		return -EPERM;
	e = sample(r, err);
	if (e < 0)
		return e;
	end_progress(r);
	deadline = clock__mono(&clock__system) + DRAIN_S * SECOND;
	graph__stop_inputs(r->graph, deadline);
	if (graph__flush(r->graph, deadline) < 0)
		log__line(&r->log, DCM_LOG_WARNING, "record",
			  "not everything reached the store in %d s", DRAIN_S);
	return write_result(r, err);
}

/* The time was over before the command was: what it does from now on is not sampled. */
static void await_command(struct record *r)
{
	struct pollfd signal = { .fd = r->signal_fd, .events = POLLIN };

	reap(r);
	if (r->child_ended)
		return;
	fprintf(stderr, "decima record: the time is over; waiting for %s (process %d) to end\n",
		r->args->operands[0], (int)r->child);
	while (!r->child_ended) {
		poll(&signal, 1, -1);
		told_to_end(r);
		reap(r);
	}
}

static int exit_status(const struct record *r)
{
	if (!r->child)
		return EXIT_DONE;
	return WIFSIGNALED(r->child_status) ? 128 + WTERMSIG(r->child_status)
					    : WEXITSTATUS(r->child_status);
}

/* "10", "10s", "5m"; false for anything else. */
static bool parse_duration(const char *text, int64_t *ret_ns)
{
	int64_t seconds;

	if (!text)
		return true;
	if (units__parse_int(str__of(text), "", &seconds) == 0 && seconds > 0 && seconds < 1000000000) {
		*ret_ns = seconds * SECOND;
		return true;
	}
	return units__parse_duration(str__of(text), ret_ns) == 0 && *ret_ns > 0;
}

/* "comm,pid" */
static int parse_labels(struct record *r, const char *list, struct dcm_error *err)
{
	struct dcm_error why = DCM_ERROR_INIT;
	int e = list ? selector__names(str__of(list), &r->names, &r->group_by, &r->n_group_by, &why) : 0;

	if (e == -ENOMEM)
		return error__nomem(err);
	if (e < 0)
		return error__set(err, -EINVAL, "--group-by %s: %s", list, why.text);
	bool whole = !list || r->n_group_by > 0;
	for (uint32_t i = 0; i < r->n_group_by; i++)
		whole &= r->group_by[i].n > 0;
	if (!whole)
		return error__set(err, -EINVAL,
				  "--group-by %s: give labels with a comma between, as in comm,pid",
				  list);
	return 0;
}

/* What is wrong shall be said before the command runs, not when it has ended. */
static bool read_args(struct record *r)
{
	const struct args *a = r->args;
	const char *duration = args__get(a, "duration", NULL), *rows = args__get(a, "max-rows", "60");
	struct dcm_error err = DCM_ERROR_INIT;
	int64_t n;

	if (!parse_duration(duration, &r->duration_ns))
		error__set(&err, -EINVAL, "--duration: \"%s\" is no time; write 10, 10s or 5m", duration);
	else if (units__parse_int(str__of(rows), "", &n) < 0 || n < 0 || n > UINT32_MAX)
		error__set(&err, -EINVAL, "--max-rows: \"%s\" is no number of lines; write 60", rows);
	else if (a->has_dashes && a->n_operands == 0)
		error__set(&err, -EINVAL,
			   "there is no command behind --; give one, or -a for the whole machine");
	else if (args__has(a, "pid") && (args__has(a, "all") || a->n_operands > 0))
		error__set(&err, -EINVAL, "--pid excludes --all and a command; give one of them");
	else if (parse_labels(r, args__get(a, "group-by", NULL), &err) == 0 &&
		 format_of(args__get(a, "output", NULL), &err))
		r->max_rows = (uint32_t)n;
	if (err.text[0])
		fprintf(stderr, "decima record: %s\n", err.text);
	return !err.text[0];
}

int verb__record(const struct args *a)
{
	struct record r = {
		.args = a, .log = log_setup__early(), .go_fd = -1, .exec_fd = -1, .signal_fd = -1
	};
	struct dcm_error err = DCM_ERROR_INIT;
	bool released, stuck;
	int e, status;

	if (!read_args(&r))
		return EXIT_USAGE;
	r.log.level = DCM_LOG_WARNING;
	r.is_watched = a->n_operands == 0 && progress__is_watched();
	e = run(&r, &err);
	released = r.child && r.go_fd < 0 && !r.not_run;
	fd__close(r.go_fd);
	fd__close(r.exec_fd);
	if (e < 0 && err.text[0])
		fprintf(stderr, "decima record: %s\n", err.text);
	stuck = r.graph && graph__stop(r.graph, clock__mono(&clock__system) + DRAIN_S * SECOND) < 0;
	if (released)
		await_command(&r);
	status = r.not_run	? NOT_RUN
		 : e == -EINVAL ? EXIT_USAGE
		 : e < 0	? EXIT_NO
				: exit_status(&r);
	/* Everything stays where it is under a thread that may yet wake up. */
	if (stuck)
		_exit(status);
	graph__free(r.graph);
	separate__fini(&r.separate);
	for (size_t i = 0; i < r.pid_fds.n; i++)
		close(r.pid_fds.v[i]);
	vec__fini(&r.pid_fds);
	arena__fini(&r.names);
	free(r.sets);
	loader__free(r.loader);
	stats__free(r.stats);
	fd__close(r.signal_fd);
	return status;
}
