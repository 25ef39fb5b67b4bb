/* Declarations shared by the files of src/explain. */
#pragma once

#include "explain/explain.h"

enum {
	EXPLAIN_GROUPS = 16,          /* maximum of a kind's groups */
	EXPLAIN_TEXT_MAX = 256 << 10, /* bytes of code that are searched for names */
};

struct group_value {
	char name[32];  /* name of the group in the pattern */
	char text[160]; /* text that it matched */
};

struct groups {
	size_t count;
	struct group_value list[EXPLAIN_GROUPS];
};

/* State of one call of explain_make(). */
struct explainer {
	const struct explain_input *in; /* the input */
	struct explanation *out;        /* the result so far */
	struct matcher matcher;         /* used for every pattern */
	struct span text;               /* the part of standard error that is read */
};

/* The short form of a source path: "/sandbox/code/a/b.py" and "./a/b.py" are a/b.py. */
struct span source_short(struct span file);
/* The file with that name in the request, or NULL. */
const struct explain_source *source_find(const struct explain_input *in, const char *file);
/* A line of the file, without its line end. */
bool source_line(const struct explain_source *source, long number, struct span *line);
/* The number of characters in the first `bytes` of a line. */
long source_characters(struct span line, size_t bytes);
void source_context(struct explainer *x);

/* Finds an unknown column by the ^ below a printed line. */
void caret_read(struct explainer *x);

/* Reads the frames, newest first, and the place from them. */
void trace_read(struct explainer *x);

/* The name most similar to an unknown one, among the names of the code or of the language. */
bool near_name(const struct explain_input *in, const char *word, char *out, size_t size);
/* Whether `word` contains `meant` and more: then neither is a typing error for the other. */
bool near_is_part(const char *word, const char *meant);
/* The name most similar to `path` among the files of the request. */
bool near_file(const struct explain_input *in, const char *path, char *out, size_t size);

/* Finds a system call in the text that the box refuses. */
void refused_find(const char *text, char *out, size_t size);

/* Finds the first matching kind: its suggestion, URL, and perhaps a change. */
void kind_find(struct explainer *x);
extern const struct runtime_kind explain_common[];
extern const size_t explain_common_count;

/* Another language whose program the code looks like, or NULL. */
const struct runtime *looks_like(struct explainer *x);
/* The language that the definition is `like`, or NULL. */
const struct runtime *explain_like(const struct explain_input *in);
