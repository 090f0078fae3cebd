/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/main/args.c - parsing of the command line by its tables, and the help they make
 */
#include "core/main/args.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "core/base/mem.h"
#include "core/base/str.h"

/* Words of a verb's name, and how many of them the line begins with; 0 when it does not. */
static int verb_words(const char *name, int argc, const char *const *argv)
{
	int n = 0;

	for (const char *p = name; *p; n++) {
		size_t len = strcspn(p, " ");

		if (n >= argc || strlen(argv[n]) != len || memcmp(argv[n], p, len) != 0)
			return 0;
		p += len;
		p += *p == ' ';
	}
	return n;
}

const struct args_verb *args__find_verb(const struct args_verb *verbs, int argc,
					const char *const *argv, int *ret_words)
{
	const struct args_verb *best = NULL;

	*ret_words = 0;
	for (const struct args_verb *v = verbs; v->name; v++) {
		int words = verb_words(v->name, argc, argv);

		if (words > *ret_words) {
			*ret_words = words;
			best = v;
		}
	}
	return best;
}

const struct args_verb *args__verb_named(const struct args_verb *verbs, const char *name)
{
	for (const struct args_verb *v = verbs; v->name; v++)
		if (strcmp(v->name, name) == 0)
			return v;
	return NULL;
}

/* The option called NAME (len bytes), or the one with the letter when name is NULL. */
static const struct args_option *find_option(const struct args_verb *v, const char *name,
					     size_t len, char letter)
{
	for (const struct args_option *const *table = v->options; *table; table++)
		for (const struct args_option *o = *table; o->name; o++) {
			if (name && strlen(o->name) == len && memcmp(o->name, name, len) == 0)
				return o;
			if (!name && o->letter == letter)
				return o;
		}
	return NULL;
}

const struct args_option *args__option_of(const struct args_verb *v, const char *word,
					  const char **ret_value)
{
	const struct args_option *o;
	size_t len;

	*ret_value = NULL;
	if (word[1] != '-') {
		o = find_option(v, NULL, 0, word[1]);
		if (o && word[2])
			*ret_value = word + 2;
		return o;
	}
	len = strcspn(word + 2, "=");
	if (word[2 + len] == '=')
		*ret_value = word + 2 + len + 1;
	return find_option(v, word + 2, len, 0);
}

static const char *nearest_option(const struct args_verb *v, struct dcm_str name)
{
	const char *best = NULL;
	unsigned limit = name.n < 4 ? 1 : 2, best_distance = limit + 1;

	for (const struct args_option *const *table = v->options; *table; table++)
		for (const struct args_option *o = *table; o->name; o++) {
			unsigned d = str__distance(name, str__of(o->name), limit);

			if (d < best_distance) {
				best_distance = d;
				best = o->name;
			}
		}
	return best;
}

bool args__in_group(const struct args_verb *v, const char *word)
{
	size_t n = strlen(word);

	return strncmp(v->name, word, n) == 0 && v->name[n] == ' ';
}

static bool is_group(const struct args_verb *verbs, const char *word)
{
	for (const struct args_verb *v = verbs; v->name; v++)
		if (args__in_group(v, word))
			return true;
	return false;
}

static const char *nearest_verb(const struct args_verb *verbs, const char *word)
{
	const char *best = NULL;
	unsigned best_distance = 3;

	for (const struct args_verb *v = verbs; v->name; v++) {
		unsigned d = str__distance(str__of(word), str__of(v->name), 2);

		if (d < best_distance) {
			best_distance = d;
			best = v->name;
		}
	}
	return best;
}

/* What stands where a verb belongs: one word, or two, as verbs have. */
static int refuse_verb(const struct args_verb *verbs, int argc, char **argv)
{
	bool group = is_group(verbs, argv[0]), two = argc > 1 && argv[1][0] != '-';
	const char *near;
	char given[128];

	if (group && !two) {
		fprintf(stderr, "decima %s: needs a second word; see decima %s --help\n", argv[0],
			argv[0]);
		return EXIT_USAGE;
	}
	snprintf(given, sizeof(given), "%s%s%s", argv[0], two ? " " : "", two ? argv[1] : "");
	near = nearest_verb(verbs, given);
	if (!near && !group)
		near = nearest_verb(verbs, argv[0]);
	fprintf(stderr, "decima: unknown command \"%s\"; ", near || group ? given : argv[0]);
	if (near)
		fprintf(stderr, "did you mean \"%s\"?\n", near);
	else
		fprintf(stderr, "see decima --help\n");
	return EXIT_USAGE;
}

__attribute__((format(printf, 2, 3))) static int usage(const struct args_verb *v, const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "decima %s: ", v->name);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fprintf(stderr, "; see decima %s --help\n", v->name);
	return -EINVAL;
}

static bool choice_ok(const struct args_option *o, const char *value)
{
	if (o->kind != ARGS_CHOICE)
		return true;
	for (const char *const *c = o->choices; *c; c++)
		if (strcmp(*c, value) == 0)
			return true;
	return false;
}

static int give(struct args *a, const struct args_option *o, const char *value)
{
	if (!choice_ok(o, value)) {
		fprintf(stderr, "decima %s: --%s does not know \"%s\"; it takes", a->verb->name,
			o->name, value);
		for (const char *const *c = o->choices; *c; c++)
			fprintf(stderr, "%s %s", c == o->choices ? "" : ",", *c);
		fputc('\n', stderr);
		return -EINVAL;
	}
	if (!o->many && args__has(a, o->name))
		return usage(a->verb, "option --%s is given twice", o->name);
	a->given[a->n_given++] = (struct args_given){ o, value };
	return 0;
}

static int refuse_option(const struct args_verb *v, const char *word)
{
	uint32_t len = (uint32_t)strcspn(word, "=");
	const char *near;

	if (word[1] != '-')
		return usage(v, "unknown option %s", word);
	near = nearest_option(v, (struct dcm_str){ word + 2, len - 2 });
	if (!near)
		return usage(v, "unknown option %.*s", (int)len, word);
	fprintf(stderr, "decima %s: unknown option %.*s; did you mean --%s?\n", v->name, (int)len,
		word, near);
	return -EINVAL;
}

/* Takes one option from argv[*at] (and its value from the next), moving *at behind it. */
static int take_option(struct args *a, int argc, char **argv, int *at)
{
	const char *word = argv[(*at)++], *value;
	const struct args_option *o = args__option_of(a->verb, word, &value);

	if (!o)
		return refuse_option(a->verb, word);
	if (o->kind == ARGS_FLAG) {
		if (value && word[1] != '-')
			return usage(a->verb, "%s: write flags one by one", word);
		if (value)
			return usage(a->verb, "option --%s takes no value", o->name);
		return give(a, o, "");
	}
	if (!value) {
		if (*at >= argc)
			return usage(a->verb, "option --%s needs a value", o->name);
		value = argv[(*at)++];
	}
	return give(a, o, value);
}

/* 0, 1 when help was printed, or -EINVAL. Operands are gathered at the front of argv. */
static int parse(struct args *a, int argc, char **argv)
{
	int n = 0, at = 0;

	while (at < argc) {
		char *word = argv[at];

		if (strcmp(word, "--help") == 0) {
			args__help(a->verb);
			return 1;
		}
		if (strcmp(word, "--") == 0 || (word[0] != '-' && a->verb->stops_at_operand)) {
			a->has_dashes = word[0] == '-';
			for (at += a->has_dashes; at < argc; at++)
				argv[n++] = argv[at];
			break;
		}
		if (word[0] != '-' || word[1] == '\0') {
			argv[n++] = word;
			at++;
			continue;
		}
		int r = take_option(a, argc, argv, &at);
		if (r < 0)
			return r;
	}
	/*
	 * They end in NULL, as execvp() wants them: there is room, since argv itself ends in one.
	 */
	argv[n] = NULL;
	a->operands = (const char *const *)argv;
	a->n_operands = n;
	if (n < a->verb->min_operands)
		return usage(a->verb, "needs %s", a->verb->operands);
	if (a->verb->max_operands >= 0 && n > a->verb->max_operands)
		return usage(a->verb, "does not take \"%s\"", argv[a->verb->max_operands]);
	return 0;
}

const char *args__get(const struct args *a, const char *name, const char *otherwise)
{
	for (uint32_t i = a->n_given; i-- > 0;)
		if (strcmp(a->given[i].option->name, name) == 0)
			return a->given[i].value;
	return otherwise;
}

bool args__has(const struct args *a, const char *name)
{
	return args__get(a, name, NULL) != NULL;
}

const char *args__nth(const struct args *a, const char *name, uint32_t nth)
{
	for (uint32_t i = 0; i < a->n_given; i++)
		if (strcmp(a->given[i].option->name, name) == 0 && nth-- == 0)
			return a->given[i].value;
	return NULL;
}

static int run_verb(const struct args_verb *v, int argc, char **argv)
{
	struct args a = { .verb = v };
	int r;

	a.given = mem__zalloc((size_t)argc + 1, sizeof(*a.given));
	if (!a.given) {
		fprintf(stderr, "decima: out of memory\n");
		return EXIT_NO;
	}
	r = parse(&a, argc, argv);
	if (r == 0)
		r = v->run(&a);
	else
		r = r > 0 ? EXIT_DONE : EXIT_USAGE;
	free(a.given);
	return r;
}

static bool is_help(const char *word)
{
	return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

int args__main(const struct args_verb *verbs, const char *otherwise, int argc, char **argv)
{
	int words;
	const struct args_verb *v;

	argc--;
	argv++;
	if (argc > 0 && (is_help(argv[0]) || strcmp(argv[0], "help") == 0)) {
		args__overview(verbs);
		return EXIT_DONE;
	}
	if (argc > 0 && strcmp(argv[0], "--version") == 0) {
		printf("decima %s\n", PACKAGE_VERSION);
		return EXIT_DONE;
	}
	v = args__find_verb(verbs, argc, (const char *const *)argv, &words);
	if (!v && (argc == 0 || argv[0][0] == '-'))
		v = args__verb_named(verbs, otherwise);
	if (!v && argc > 1 && is_help(argv[1]) && is_group(verbs, argv[0])) {
		args__group_help(verbs, argv[0]);
		return EXIT_DONE;
	}
	if (!v)
		return refuse_verb(verbs, argc, argv);
	return run_verb(v, argc - words, argv + words);
}

/* Text at a left margin, broken at spaces before column 100; newlines stay. */
static void print_wrapped(const char *text, int margin)
{
	int column = margin;

	while (*text) {
		size_t word = strcspn(text, " \n");

		if (column + (int)word > 100 && column > margin) {
			printf("\n%*s", margin, "");
			column = margin;
		}
		printf("%.*s", (int)word, text);
		column += (int)word;
		text += word;
		if (*text == '\n') {
			printf("\n%*s", text[1] && text[1] != '\n' ? margin : 0, "");
			column = margin;
			text++;
		} else if (*text == ' ') {
			if (column < 100)
				fputc(' ', stdout);
			column++;
			text++;
		}
	}
	fputc('\n', stdout);
}

static void print_option(const struct args_option *o)
{
	char left[64], letter[8] = "    ";

	if (o->letter)
		snprintf(letter, sizeof(letter), "-%c, ", o->letter);
	snprintf(left, sizeof(left), "%s--%s%s%s", letter, o->name, o->value ? " " : "",
		 o->value ? o->value : "");
	printf("  %-28s ", left);
	if (strlen(left) > 28)
		printf("\n%31s", "");
	print_wrapped(o->doc, 31);
}

void args__help(const struct args_verb *verb)
{
	printf("Usage: decima %s%s%s%s\n\n", verb->name, verb->options[0] ? " [OPTION]..." : "",
	       verb->operands[0] ? " " : "", verb->operands);
	print_wrapped(verb->summary, 0);
	if (verb->details) {
		fputc('\n', stdout);
		print_wrapped(verb->details, 0);
	}
	if (verb->options[0])
		printf("\nOptions:\n");
	for (const struct args_option *const *table = verb->options; *table; table++)
		for (const struct args_option *o = *table; o->name; o++)
			print_option(o);
	printf("      --help                   this text\n");
}

/* A line for each verb; with `group` for those of two words whose first it is. */
static void list_verbs(const struct args_verb *verbs, const char *group)
{
	for (const struct args_verb *v = verbs; v->name; v++) {
		char left[64];

		if (group && !args__in_group(v, group))
			continue;
		snprintf(left, sizeof(left), "%s%s%s", v->name, v->operands[0] ? " " : "", v->operands);
		printf("  %-38s ", left);
		if (strlen(left) > 38)
			printf("\n%41s", "");
		print_wrapped(v->summary, 41);
	}
}

void args__group_help(const struct args_verb *verbs, const char *group)
{
	printf("Usage: decima %s COMMAND [OPTION]...\n\nCommands:\n", group);
	list_verbs(verbs, group);
	printf("\nEach command has --help.\n");
}

void args__overview(const struct args_verb *verbs)
{
	printf("Usage: decima COMMAND [OPTION]...\n\n"
	       "Continuous profiling for Linux: samples every stack, keeps them, and answers what "
	       "ran when.\n\n"
	       "Commands:\n");
	list_verbs(verbs, NULL);
	printf("\nWithout a command, decima runs the daemon. Each command has --help.\n"
	       "Exit status: 0 success, 1 the answer is no or the work failed, 2 wrong usage or "
	       "configuration.\n");
}
