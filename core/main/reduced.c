/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/main/reduced.c - extract.h, with an empty file to write into, and a look at what came out
 */
#include "core/main/reduced.h"

#include <errno.h>
#include <string.h>

#include "core/base/cleanup.h"
#include "core/base/error.h"
#include "core/base/fd.h"
#include "core/base/mem.h"
#include "core/debuginfo/sending.h"
#include "core/symbolize/debuginfo.h"
#include "core/symbolize/extract.h"
#include "core/symbolize/keeper.h"

int reduced__tells(int fd, bool *ret_functions, bool *ret_lines, struct dcm_error *err)
{
	CLEANUP(mem__freep) struct debuginfo_facts *facts = NEW(struct debuginfo_facts);
	int r = facts ? debuginfo__facts(fd, facts) : -ENOMEM;
	unsigned tells;

	if (r < 0)
		return error__sys(err, r, "the reduced file cannot be read");
	tells = keeper__tells(facts);
	/* What a stripped program exports, it names without this. */
	if (!tells)
		return error__set(
			err, -ENODATA,
			"nothing in it names an address: it is stripped; give the file with "
			"symbols, or its separate debuginfo");
	*ret_functions = tells & (DEPOT_SYMTAB | DEPOT_GO);
	*ret_lines = tells & (DEPOT_DWARF | DEPOT_GO);
	return 0;
}

int reduced__make(int in_fd, struct reduced *ret, struct dcm_error *err)
{
	CLEANUP(fd__closep) int out = sending__open_nameless(NULL, err);
	struct extract_report report;
	struct reduced made;
	int r;

	if (out < 0)
		return out;
	r = extract__file(in_fd, out, EXTRACT_SMALL, &report, err);
	if (r == 0)
		r = reduced__tells(out, &made.functions, &made.lines, err);
	if (r < 0)
		return r;
	made.bytes = report.bytes_out;
	memcpy(made.build_id, report.build_id, sizeof(made.build_id));
	made.fd = take_fd(out);
	*ret = made;
	return 0;
}

void reduced__fini(struct reduced *r)
{
	fd__close(r->fd);
	r->fd = -1;
}
