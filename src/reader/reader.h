/*
 * The reader: a program of its own that parses a stranger's source and tells what is in it.
 *
 * It is static, carries one language's grammar, and runs with nothing: no file,
 * no way to open one, a bounded amount of memory and time (reader_main.c). A fault in a
 * grammar costs one answer.
 *
 * The parser is tree-sitter's, made faster for this one use (parser.c, lexing.h). The tree
 * is walked once (walk.c, syntax_tree.c). A language says which nodes it wants to see, in
 * a table; its functions tell imports and calls, and names are resolved by what
 * imports and assignments said before (names.c).
 */
#pragma once

#include "reader/numbers.h"
#include "reader/syntax_tree.h"
#include "policy/rules.h"
#include "policy/reader_wire.h"

#include <tree_sitter/api.h>

#include <stdbool.h>
#include <stddef.h>

enum {
	NAME_ROOM = WIRE_NAME_MAX + 1, /* bytes of a name, its NUL included */
	ALIASES_MAX = 1024,            /* names that are remembered */
	ALIAS_SLOTS = 1024,            /* lists of them, by the names' hashes; a power of two */
	STARS_MAX = 8,                 /* modules that are imported as a whole */
};

struct alias {
	char name[64];   /* as the program says it */
	char target[64]; /* what it is */
	uint32_t older;  /* another of its list, and 1 is added; 0: none */
};

struct reader;

/* What a language does with a node of this type. */
struct visitor {
	const char *type;                             /* the node's, as the grammar has it; NULL ends the table */
	void (*visit)(struct reader *r, TSNode node); /* looks at it */
};

struct language {
	const char *grammar;              /* as policy_rules_of() has it */
	const TSLanguage *(*tree)(void);  /* from the grammar's package */
	const TSLanguage *(*other)(void); /* tried when the first does not fit; NULL: none */
	const struct visitor *visitors;   /* a table */
};

/* The one that this program was linked with: reader_language.c */
extern const struct language reader_language;

struct reader {
	char *source;                      /* all of it; SQL that the grammar does not have is made blank */
	uint32_t size;                     /* of it */
	const struct language *language;   /* whose it is */
	const struct numbers *numbers;     /* of the grammar that fits */
	const struct policy_rules *rules;  /* of the language */
	unsigned char *out;                /* the records so far: WIRE_TELL_MAX bytes */
	uint32_t used;                     /* of them */
	uint32_t count;                    /* records */
	bool cut;                          /* there was no room for more */
	bool emptied;                      /* memory is emptied after it (reader_memory.h): trees are not given back */
	struct alias aliases[ALIASES_MAX]; /* known names */
	size_t alias_count;                /* how many */
	char stars[STARS_MAX][64];         /* modules all of whose names were imported */
	size_t star_count;                 /* how many */
	uint32_t newest[ALIAS_SLOTS];      /* of each list, and 1 is added; 0: the list is empty */
};

/* walk.c: parses and tells; `state` is enum wire_state. */
uint32_t reader_read(struct reader *r, TSParser *parser);
void tell(struct reader *r, enum wire_kind kind, uint32_t how, uint32_t rule, TSNode node, const char *name);
void tell_at(struct reader *r, enum wire_kind kind, uint32_t how, uint32_t rule, TSPoint at, const char *name);
void tell_import(struct reader *r, enum wire_how how, TSNode node, const char *module);
/* Every rule that what is called, with its arguments (may be null), is one of. */
void tell_call(struct reader *r, TSNode node, const char *name, TSNode arguments);
/* The rule of exactly this pattern. */
void tell_rule(struct reader *r, TSNode node, const char *pattern, const char *name);

/* names.c */
TSNode field(const struct reader *r, TSNode node, enum field which);
enum type type_of(const struct reader *r, TSNode node);
bool is_type(const struct reader *r, TSNode node, enum type type);
/* The node's text, cut to the room. */
void node_text(const struct reader *r, TSNode node, char out[NAME_ROOM]);
bool node_is(const struct reader *r, TSNode node, const char *text);
/* The text that the expression always is; false: only the run will know. */
bool constant(const struct reader *r, TSNode node, char out[NAME_ROOM]);
/* What the expression is called, dotted and resolved: "os.path.join"; "": it has no name. */
void name_of(const struct reader *r, TSNode node, char out[NAME_ROOM]);
void aliases_forget(struct reader *r);
void alias_add(struct reader *r, const char *name, const char *target);
void resolve(const struct reader *r, char name[NAME_ROOM]);
/* What everything has: builtins.eval is eval, globalThis.eval too. */
void name_strip(const struct reader *r, char name[NAME_ROOM]);
/* The module that the call imports, if it is one of the language's ways to: 1 and its name, 2: only the run will know
 * (the expression), 0: it is none. */
int import_call(const struct reader *r, TSNode call, char out[NAME_ROOM]);
/* visit_sql.c: statements by their words; those that the grammar does not have are made blank, before it is parsed. */
void sql_words(struct reader *r);
/* `pattern` may begin or end with a star. */
bool matches(const char *pattern, size_t size, const char *text);

extern const struct visitor python_visitors[], script_visitors[], ruby_visitors[], go_visitors[], c_visitors[],
	shell_visitors[], sql_visitors[];
