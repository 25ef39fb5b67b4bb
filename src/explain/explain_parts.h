/* What the files of src/explain share. */
#pragma once

#include "explain/explain.h"

enum {
	EXPLAIN_GROUPS = 16,          /* of a kind's patterns */
	EXPLAIN_TEXT_MAX = 256 << 10, /* bytes of code that are looked through for names */
};

struct group_value {
	char name[32];  /* of the group, in the pattern */
	char text[160]; /* what it matched */
};

struct groups {
	size_t count;
	struct group_value list[EXPLAIN_GROUPS];
};

/* One call of explain_make(). */
struct explainer {
	const struct explain_input *in; /* what happened */
	struct explanation *out;        /* what is known of it so far */
	struct matcher matcher;         /* for every pattern */
	struct span text;               /* as much of standard error as is looked at */
};

/* "/sandbox/code/a/b.py" and "./a/b.py" are a/b.py. */
struct span source_short(struct span file);
/* The file given under that name; NULL when there is none. */
const struct explain_source *source_find(const struct explain_input *in, const char *file);
/* A line of it, without its end. */
bool source_line(const struct explain_source *source, long number, struct span *line);
/* How many characters its first bytes are. */
long source_characters(struct span line, size_t bytes);
void source_context(struct explainer *x);

/* The column, if that is not told, by the ^ below a line that is shown. */
void caret_read(struct explainer *x);

/* Frames, newest first, and from them the place. */
void trace_read(struct explainer *x);

/* The nearest name in the code, or of those that the language has, to one that is not known. */
bool near_name(const struct explain_input *in, const char *word, char *out, size_t size);
/* Whether the first is the second and something more: then the one does not stand for the other. */
bool near_is_part(const char *word, const char *meant);
/* The same among the files that were given. */
bool near_file(const struct explain_input *in, const char *path, char *out, size_t size);

/* A call that the box refuses, if the text names one. */
void refused_find(const char *text, char *out, size_t size);

/* The first kind that it is: a suggestion, a page, perhaps a change. */
void kind_find(struct explainer *x);
extern const struct runtime_kind explain_common[];
extern const size_t explain_common_count;

/* The language whose program it looks like, if that is another one; NULL. */
const struct runtime *looks_like(struct explainer *x);
/* The language whose words and kinds come after its own, or NULL. */
const struct runtime *explain_like(const struct explain_input *in);
