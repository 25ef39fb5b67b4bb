/*
 * Recognizes programs of another language. Applies only if the code could not be parsed in its own language, and its
 * lines match several forms of one other language and none of its own.
 */
#include "explain/explain_parts.h"

#include "base/own.h"

#include <string.h>

enum {
	LINES = 200,    /* lines of code that are checked */
	FORMS = 32,     /* forms of a language */
	DIFFERENT = 2,  /* different forms that must match */
	STEPS = 100000, /* effort for one language */
};

/* The number of the language's forms that occur in the code. */
static size_t count_forms(struct explainer *x, const struct runtime *runtime, const struct explain_source *source)
{
	struct span text = { source->data, source->size < EXPLAIN_TEXT_MAX ? source->size : EXPLAIN_TEXT_MAX };
	const char *at = text.start;
	bool seen[FORMS] = { false };
	size_t count, forms = 0;
	struct pattern *list = pattern_list(&x->matcher, runtime->explain.looks, x->in->file, &count);
	struct line line;

	x->matcher.effort.left = STEPS;
	for (int n = 0; n < LINES && line_next(text, &at, &line); n++) {
		for (size_t i = 0; i < count && i < FORMS; i++) {
			if (!seen[i] && pattern_match(&x->matcher, &list[i], &line)) {
				seen[i] = true;
				forms++;
			}
		}
	}
	pattern_list_free(&x->matcher, list, count);
	return forms;
}

/* Whether the code may not be a program of its language: a shell takes most words for commands. */
static bool is_doubtful(const struct explainer *x)
{
	static const char *const signs[] = { "not found", "is not defined", "ParseError", "syntax error" };
	const struct explanation *e = x->out;

	if (e->found.kind != ERRORS_NONE)
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(signs); i++)
		if (e->there && strstr(e->cause, signs[i]))
			return true;
	return false;
}

const struct runtime *looks_like(struct explainer *x)
{
	const struct explain_source *source = x->in->code_count > 0 ? &x->in->code[0] : NULL;
	const struct runtime *best = NULL, *like = explain_like(x->in);
	size_t most = DIFFERENT - 1;

	if (!source || !is_doubtful(x) || count_forms(x, x->in->runtime, source) > 0)
		return NULL;
	for (const struct runtime *const *r = x->in->all; r && *r; r++) {
		size_t forms;

		if (*r == x->in->runtime || *r == like || !(*r)->explain.looks ||
		    ((*r)->explain.like && strcmp((*r)->explain.like, x->in->runtime->name) == 0))
			continue;
		forms = count_forms(x, *r, source);
		if (forms > most) {
			most = forms;
			best = *r;
		}
	}
	x->matcher.effort.left = PATTERN_STEPS;
	return best;
}
