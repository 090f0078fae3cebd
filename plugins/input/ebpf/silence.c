/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/silence.c - whoever opens files for the sampler does not answer
 */
#include "plugins/input/ebpf/silence.h"

#include <errno.h>
#include <fcntl.h>

#include "core/base/cleanup.h"
#include "core/base/fd.h"
#include "plugins/input/ebpf/guarded.h"

/* Our own root: there at any time, in no file system that may be dead. */
static bool answers(const struct dcm_host *host)
{
	CLEANUP(fd__closep) int self = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);
	CLEANUP(fd__closep) int root = -1;

	if (self < 0)
		return false;
	root = guarded__open(host, self, DCM_GUARDED_ROOT);
	return root != -ETIMEDOUT;
}

bool silence__second(struct silence *s, const struct dcm_host *host, const struct files *files,
		     int64_t now_ns)
{
	uint64_t n = files__silence(files)->n;
	bool was_told = s->is_told;

	if (n == s->n_seen && !s->since_ns)
		return false;
	s->n_seen = n;
	if (answers(host))
		*s = (struct silence){ .n_seen = n };
	else if (!s->since_ns)
		s->since_ns = now_ns;
	s->is_told = s->since_ns && now_ns - s->since_ns >= SILENCE_TOLD_NS;
	return s->is_told != was_told;
}

bool silence__tell(const struct silence *s, const struct dcm_host *host, const struct files *files)
{
	if (!s->is_told)
		return false;
	host->set_state(
		host, DCM_STATE_DEGRADED,
		"decima-broker, which opens files for the sampler, does not answer, last about "
		"%.160s: programs that begin now have no names and no unwind tables; it is "
		"stopped (kill -CONT it), or waits for a dead file system (NFS, FUSE: bring it "
		"back, or umount -f it)",
		files__silence(files)->path);
	return true;
}
