/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/api/reflection.c - server reflection: which methods of gRPC are here, and what their messages look like
 *
 * Source: grpc/grpc, doc/server-reflection.md; google/protobuf/descriptor.proto. v1 and v1alpha are the same on the wire.
 *
 *	ServerReflectionRequest { host = 1; one of file_by_filename = 3, file_containing_symbol = 4,
 *		file_containing_extension = 5, all_extension_numbers_of_type = 6, list_services = 7 }
 *	ServerReflectionResponse { valid_host = 1, original_request = 2; one of
 *		file_descriptor_response = 4 { repeated bytes = 1 }, list_services_response = 6 { repeated service = 1 { name = 1 } },
 *		error_response = 7 { code = 1, message = 2 } }
 *
 * The descriptors are the routes': what they bring is trusted, as the code is that answers there. Methods
 * that have none, since their messages are not protobuf's, are left out. A file comes without what it imports,
 * which clients ask for by name.
 */
#include <string.h>

#include "core/api/internal.h"
#include "core/base/protobuf.h"
#include "core/base/str.h"

enum { BY_FILENAME = 3, BY_SYMBOL = 4, BY_EXTENSION = 5, EXTENSIONS_OF = 6, LIST_SERVICES = 7 };
enum { FILE_RESPONSE = 4, LIST_RESPONSE = 6, ERROR_RESPONSE = 7 };
enum { NOT_FOUND = 5, INVALID_ARGUMENT = 3 };
/* FileDescriptorSet; FileDescriptorProto, DescriptorProto, ServiceDescriptorProto, EnumDescriptorProto */
enum { SET_FILE = 1 };
enum { FILE_NAME = 1, FILE_PACKAGE = 2, FILE_MESSAGE = 4, FILE_ENUM = 5, FILE_SERVICE = 6 };
enum { NAME = 1, MESSAGE_NESTED = 3, MESSAGE_ENUM = 4, SERVICE_METHOD = 2 };

static struct dcm_str field_of(struct dcm_str message, uint32_t number)
{
	struct pb_reader r = pb__reader_of(message);
	struct pb_field f;

	while (pb__next(&r, &f))
		if (f.number == number && f.type == PB_BYTES)
			return pb__str(&f);
	return STR("");
}

/* "NAME" off the front of "NAME.rest"; false: it does not begin so. Nothing is left behind a whole one. */
static bool cut(struct dcm_str *symbol, struct dcm_str name)
{
	if (name.n == 0 || !str__starts(*symbol, name) || (symbol->n > name.n && symbol->p[name.n] != '.'))
		return false;
	name.n += symbol->n > name.n;
	*symbol = (struct dcm_str){ symbol->p + name.n, symbol->n - name.n };
	return true;
}

/* Is it that service or one of its methods, that enumeration? */
static bool is_service(struct dcm_str service, struct dcm_str symbol)
{
	struct pb_reader r = pb__reader_of(service);
	struct pb_field f;

	if (!cut(&symbol, field_of(service, NAME)))
		return false;
	if (symbol.n == 0)
		return true;
	while (pb__next(&r, &f))
		if (f.number == SERVICE_METHOD && str__eq(field_of(pb__str(&f), NAME), symbol))
			return true;
	return false;
}

/* Is it that message, or one or an enumeration inside? As deep as the symbol has dots. */
static bool is_message(struct dcm_str message, struct dcm_str symbol)
{
	struct pb_reader r = pb__reader_of(message);
	struct pb_field f;

	if (!cut(&symbol, field_of(message, NAME)))
		return false;
	if (symbol.n == 0)
		return true;
	while (pb__next(&r, &f))
		if ((f.number == MESSAGE_NESTED && is_message(pb__str(&f), symbol)) ||
		    (f.number == MESSAGE_ENUM && str__eq(field_of(pb__str(&f), NAME), symbol)))
			return true;
	return false;
}

static bool has_symbol(struct dcm_str file, struct dcm_str symbol)
{
	struct pb_reader r = pb__reader_of(file);
	struct dcm_str package = field_of(file, FILE_PACKAGE);
	struct pb_field f;

	if (package.n > 0 && !cut(&symbol, package))
		return false;
	while (pb__next(&r, &f))
		if ((f.number == FILE_SERVICE && is_service(pb__str(&f), symbol)) ||
		    (f.number == FILE_MESSAGE && is_message(pb__str(&f), symbol)) ||
		    (f.number == FILE_ENUM && str__eq(field_of(pb__str(&f), NAME), symbol)))
			return true;
	return false;
}

static bool has_name(struct dcm_str file, struct dcm_str name)
{
	return str__eq(field_of(file, FILE_NAME), name);
}

/* The first file of all routes that is asked for; p is NULL: none. */
static struct dcm_str find_file(const struct http_routes *routes, struct dcm_str what,
				bool (*is_it)(struct dcm_str file, struct dcm_str what))
{
	bool end = false;

	for (size_t i = 0; !end; i++) {
		const struct http_route *row = http_routes__at(routes, i, &end);
		struct pb_reader r = pb__reader_of(row ? row->descriptors : STR(""));
		struct pb_field f;

		while (pb__next(&r, &f))
			if (f.number == SET_FILE && f.type == PB_BYTES && is_it(pb__str(&f), what))
				return pb__str(&f);
	}
	return (struct dcm_str){ NULL, 0 };
}

static void put_error(struct buf *to, uint32_t code, struct dcm_str what, const char *why)
{
	struct buf message = { 0 }, text = { 0 };

	buf__str(&text, what);
	buf__text(&text, why);
	pb__put_varint(&message, 1, code);
	pb__put_str(&message, 2, buf__view(&text));
	pb__put_str(to, ERROR_RESPONSE, buf__view(&message));
	to->error = to->error ? to->error : message.error ? message.error : text.error;
	buf__fini(&message);
	buf__fini(&text);
}

static void put_file(struct buf *to, struct dcm_str file, struct dcm_str what)
{
	struct buf message = { 0 };

	if (!file.p) {
		put_error(to, NOT_FOUND, what, " is nothing that is known here");
		return;
	}
	pb__put_str(&message, 1, file);
	pb__put_str(to, FILE_RESPONSE, buf__view(&message));
	to->error = to->error ? to->error : message.error;
	buf__fini(&message);
}

/* "/PACKAGE.SERVICE/METHOD" */
static struct dcm_str service_of(const struct http_route *row)
{
	return (struct dcm_str){ row->pattern + 1, (uint32_t)strcspn(row->pattern + 1, "/") };
}

/* Has an earlier row than number i the same service? */
static bool is_listed(const struct http_routes *routes, size_t i, struct dcm_str service)
{
	bool end = false;

	for (size_t k = 0; k < i && !end; k++) {
		const struct http_route *row = http_routes__at(routes, k, &end);

		if (row && row->descriptors.n > 0 && str__eq(service_of(row), service))
			return true;
	}
	return false;
}

static void put_services(struct buf *to, const struct http_routes *routes)
{
	struct buf list = { 0 };
	bool end = false;

	for (size_t i = 0; !end; i++) {
		const struct http_route *row = http_routes__at(routes, i, &end);
		struct buf one = { 0 };

		if (!row || row->descriptors.n == 0 || is_listed(routes, i, service_of(row)))
			continue;
		pb__put_str(&one, 1, service_of(row));
		pb__put_str(&list, 1, buf__view(&one));
		list.error = list.error ? list.error : one.error;
		buf__fini(&one);
	}
	pb__put_str(to, LIST_RESPONSE, buf__view(&list));
	to->error = to->error ? to->error : list.error;
	buf__fini(&list);
}

/* The one question of a request; false: it is none. A later one outranks an earlier one, as protobuf has it. */
static bool read_question(struct dcm_str message, struct dcm_str *ret_host, struct pb_field *ret)
{
	struct pb_reader r = pb__reader_of(message);
	struct pb_field f;

	*ret_host = STR("");
	ret->number = 0;
	while (pb__next(&r, &f)) {
		if (f.type != PB_BYTES)
			continue;
		if (f.number == 1)
			*ret_host = pb__str(&f);
		else if (f.number >= BY_FILENAME && f.number <= LIST_SERVICES)
			*ret = f;
	}
	return !r.fault;
}

void api__reflection(void *ctx, const struct http_request *req, struct http_response *resp)
{
	const struct http_routes *routes = ctx;
	struct dcm_str host, what;
	struct pb_field question;

	if (!read_question(req->body, &host, &question)) {
		http_response__problem(resp, 400, "the message is no ServerReflectionRequest");
		return;
	}
	snprintf(resp->content_type, sizeof(resp->content_type), "application/proto");
	if (host.n > 0)
		pb__put_str(&resp->body, 1, host);
	pb__put_str(&resp->body, 2, req->body);
	what = question.number ? pb__str(&question) : STR("");
	if (question.number == BY_FILENAME)
		put_file(&resp->body, find_file(routes, what, has_name), what);
	else if (question.number == BY_SYMBOL)
		put_file(&resp->body, find_file(routes, what, has_symbol), what);
	else if (question.number == LIST_SERVICES)
		put_services(&resp->body, routes);
	else if (question.number)
		put_error(&resp->body, NOT_FOUND, STR(""), "no message here has extensions");
	else
		put_error(&resp->body, INVALID_ARGUMENT, STR(""),
			  "the request asks for nothing that is known");
}
