/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/main/complete.c - what the last word of a command line may become
 *
 * The words before the last are read as args.c would, but forgivingly: what it would refuse is
 * passed over, since the line may still be mended.
 */
#include "core/main/complete.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/query/selector.h"

/* The line up to its last word. */
struct typed {
	struct args line;		/* verb, options, n_operands; operands stay NULL */
	const struct args_option *open; /* its value is the last word */
	bool operands_only;		/* "--" was there, or an operand that ends the options */
};

/* A name as a list has it: in quotes where it needs them, or where one was typed. */
static void put_listed(struct dcm_str name, struct dcm_str typed, struct buf *out)
{
	selector__put_name(name, out);
	if (typed.n == 0 || typed.p[0] != '"' || out->error || out->data[0] == '"')
		return;
	buf__reset(out);
	buf__printf(out, "\"%.*s\"", STR_ARG(name));
}

void complete__add(struct complete *c, const char *word, const char *meaning)
{
	struct dcm_str rest = { c->last.p + c->head.n, c->last.n - c->head.n }, text = str__of(word);
	struct buf listed = { 0 };

	if (c->listed) {
		put_listed(text, rest, &listed);
		text = buf__view(&listed);
		c->out.error = listed.error ? listed.error : c->out.error;
	}
	if (!str__starts(text, rest)) {
		buf__fini(&listed);
		return;
	}
	buf__str(&c->out, c->head);
	buf__str(&c->out, text);
	buf__fini(&listed);
	if (meaning && meaning[0]) {
		buf__byte(&c->out, '\t');
		buf__append(&c->out, meaning, strcspn(meaning, "\n"));
	}
	buf__byte(&c->out, '\n');
}

static void add_for_shell(struct complete *c, const char *what)
{
	buf__text(&c->out, what);
	buf__byte(&c->out, '\n');
}

/* ------------------------------------------------------------------------------------------------
 * Verbs
 */

/* "types, labels, ...": what the second words of a group are. */
static void list_group(const struct args_verb *verbs, const char *group, struct buf *list)
{
	for (const struct args_verb *v = verbs; v->name; v++)
		if (args__in_group(v, group))
			buf__printf(list, "%s%s", list->n ? ", " : "", strchr(v->name, ' ') + 1);
}

/* First words, each once; verbs of one group stand together in the table. */
static void add_first_words(struct complete *c)
{
	char last[32] = "";

	for (const struct args_verb *v = c->verbs; v->name; v++) {
		struct buf list = { 0 };
		size_t n = strcspn(v->name, " ");

		if (n >= sizeof(last) || (v->name[n] && args__in_group(v, last)))
			continue;
		memcpy(last, v->name, n);
		last[n] = '\0';
		list_group(c->verbs, last, &list);
		complete__add(c, last, list.n ? (const char *)list.data : v->summary);
		if (list.error)
			c->out.error = list.error;
		buf__fini(&list);
	}
}

static bool add_second_words(struct complete *c, const char *group)
{
	bool any = false;

	for (const struct args_verb *v = c->verbs; v->name; v++)
		if (args__in_group(v, group)) {
			any = true;
			complete__add(c, strchr(v->name, ' ') + 1, v->summary);
		}
	return any;
}

/* ------------------------------------------------------------------------------------------------
 * Values and operands
 */

/* Where the last name of a list begins: commas between quotes are a name's own, as selector__names() reads them. */
static uint32_t last_name(struct dcm_str list)
{
	uint32_t start = 0;
	char quote = '\0';

	for (uint32_t i = 0; i < list.n; i++) {
		const char ch = list.p[i];

		if (quote == '\0' && i == start && strchr("\"'`", ch))
			quote = ch;
		else if (quote != '\0' && quote != '`' && ch == '\\')
			i++;
		else if (quote != '\0' && ch == quote)
			quote = '\0';
		else if (quote == '\0' && ch == ',')
			start = i + 1;
	}
	return start;
}

/* What may stand for a placeholder, as the tables write them: "FILE", "SELECTOR_A", "L,..". */
static void add_for(struct complete *c, const struct args *line, struct dcm_str what)
{
	static const struct {
		const char *placeholder, *for_shell;
	} shell[] = { { "FILE", ":files" }, { "IN", ":files" },	   { "OUT", ":files" },
		      { "DIR", ":dirs" },   { "BACKUP", ":dirs" }, { "CMD", ":commands" },
		      { "ARG", ":files" } };

	for (size_t i = 0; i < sizeof(shell) / sizeof(shell[0]); i++)
		if (str__eq(what, str__of(shell[i].placeholder))) {
			add_for_shell(c, shell[i].for_shell);
			return;
		}
	/* Of a list, the last name is completed. */
	c->listed = str__ends(what, STR(",.."));
	if (c->listed) {
		c->head.n += last_name((struct dcm_str){ c->last.p + c->head.n, c->last.n - c->head.n });
		what.n -= 3;
	}
	if (c->lookup)
		c->lookup(c, line, what);
	c->listed = false;
}

/* The value of an option, of which c->head is what stands before it in the same word. */
static void add_value(struct complete *c, const struct args *line, const struct args_option *o)
{
	switch (o->kind) {
	case ARGS_FLAG:
		break;
	case ARGS_CHOICE:
		for (const char *const *choice = o->choices; *choice; choice++)
			complete__add(c, *choice, NULL);
		break;
	case ARGS_FILE:
		add_for_shell(c, ":files");
		break;
	case ARGS_DIR:
		add_for_shell(c, ":dirs");
		break;
	case ARGS_TEXT:
		add_for(c, line, str__of(o->value));
		break;
	}
}

/*
 * The nth placeholder of "KIND [FILE]", "[-- CMD ARG..]", "FILE.."; the last of them goes on if
 * dots say so.
 */
static struct dcm_str operand(const struct args_verb *v, int nth)
{
	struct dcm_str what = { 0 };
	bool more = true;

	for (const char *p = v->operands; *p && nth >= 0;) {
		size_t n = strcspn(p, " ");

		what = (struct dcm_str){ p, (uint32_t)n };
		p += n + (p[n] == ' ');
		if (what.p[0] == '[')
			what = (struct dcm_str){ what.p + 1, what.n - 1 };
		if (str__ends(what, STR("]")))
			what.n--;
		more = str__ends(what, STR(".."));
		what.n -= more ? 2 : 0;
		nth -= !str__eq(what, STR("--"));
	}
	return nth < 0 || more ? what : (struct dcm_str){ 0 };
}

static void add_options(struct complete *c, const struct args *line)
{
	for (const struct args_option *const *table = line->verb->options; *table; table++)
		for (const struct args_option *o = *table; o->name; o++) {
			char word[64] = "--";

			strncat(word, o->name, sizeof(word) - 3);
			if (o->many || !args__has(line, o->name))
				complete__add(c, word, o->doc);
		}
	complete__add(c, "--help", "what the command does");
}

/* ------------------------------------------------------------------------------------------------
 * The line
 */

/* Takes in a word that is complete. given[] has room for one more. */
static void take_word(struct typed *t, const char *word)
{
	struct args *line = &t->line;
	const char *value;
	const struct args_option *o;

	if (t->open) {
		line->given[line->n_given++] = (struct args_given){ t->open, word };
		t->open = NULL;
		return;
	}
	if (t->operands_only || word[0] != '-' || word[1] == '\0') {
		line->n_operands++;
		t->operands_only = t->operands_only || line->verb->stops_at_operand;
		return;
	}
	if (strcmp(word, "--") == 0) {
		t->operands_only = true;
		return;
	}
	o = args__option_of(line->verb, word, &value);
	if (o && (value || o->kind == ARGS_FLAG))
		line->given[line->n_given++] = (struct args_given){ o, value ? value : "" };
	else
		t->open = o;
}

static void add_after(struct complete *c, struct typed *t, const char *last)
{
	const struct args *line = &t->line;
	const struct args_verb *v = line->verb;
	const struct args_option *o;
	const char *value = NULL;

	if (t->open) {
		add_value(c, line, t->open);
		return;
	}
	if (!t->operands_only && last[0] == '-') {
		o = last[1] == '-' ? args__option_of(v, last, &value) : NULL;
		if (!value) {
			add_options(c, line);
		} else if (o) {
			c->head = (struct dcm_str){ last, (uint32_t)(value - last) };
			add_value(c, line, o);
		}
		return;
	}
	if (v->max_operands < 0 || line->n_operands < v->max_operands)
		add_for(c, line, operand(v, line->n_operands));
	else if (!t->operands_only)
		add_options(c, line);
}

void complete__words(struct complete *c, int n, const char *const *words)
{
	const char *last = words[n - 1];
	struct typed t = { 0 };
	int taken;

	c->last = str__of(last);
	c->head = (struct dcm_str){ last, 0 };
	if (n == 1 && last[0] != '-') {
		add_first_words(c);
		return;
	}
	t.line.verb = args__find_verb(c->verbs, n - 1, words, &taken);
	if (!t.line.verb && words[0][0] == '-')
		t.line.verb = args__verb_named(c->verbs, c->otherwise);
	if (!t.line.verb) {
		if (n == 2)
			add_second_words(c, words[0]);
		return;
	}
	t.line.given = mem__zalloc((size_t)n, sizeof(*t.line.given));
	if (!t.line.given) {
		c->out.error = -ENOMEM;
		return;
	}
	for (int i = taken; i < n - 1; i++)
		take_word(&t, words[i]);
	add_after(c, &t, last);
	if (n == 1)
		complete__add(c, "--version", "which version this is");
	free(t.line.given);
}
