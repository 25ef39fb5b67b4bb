/*
 * The reader: a program that parses untrusted source and reports its imports, calls and mistakes.
 *
 * It is static, contains the grammar of one language, and runs without files and with limited memory and time
 * (reader_main.c). A fault in a grammar costs only one answer.
 *
 * The parser is tree-sitter's, optimized for this use (parser.c, lexing.h). The tree is walked once (walk.c,
 * syntax_tree.c). A language has a table of node types and functions, which report imports and calls; names are
 * resolved by earlier imports and assignments (names.c).
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
	NAME_ROOM = WIRE_NAME_MAX + 1, /* bytes of a name, including the NUL */
	ALIASES_MAX = 1024,            /* maximum of known names */
	ALIAS_SLOTS = 1024,            /* hash lists of names; a power of two */
	STARS_MAX = 8,                 /* maximum of modules imported as a whole */
};

struct alias {
	char name[64];   /* name in the program */
	char target[64]; /* its target */
	uint32_t older;  /* index of the next in its list plus 1; 0: none */
};

struct reader;

/* The function for nodes of a type. */
struct visitor {
	const char *type;                             /* name of the type in the grammar; NULL ends the table */
	void (*visit)(struct reader *r, TSNode node); /* handles a node */
};

struct language {
	const char *grammar;              /* name for policy_rules_of() */
	const TSLanguage *(*tree)(void);  /* function of the grammar's package */
	const TSLanguage *(*other)(void); /* tried if the first grammar does not fit; NULL: none */
	const struct visitor *visitors;   /* ended by NULL */
};

/* The language that this program was built for: reader_language.c. */
extern const struct language reader_language;

struct reader {
	char *source;                      /* the whole source; SQL that the grammar lacks is overwritten by blanks */
	uint32_t size;                     /* bytes */
	const struct language *language;   /* the language */
	const struct numbers *numbers;     /* numbers of the grammar that fits */
	const struct policy_rules *rules;  /* rules of the language */
	unsigned char *out;                /* the records: WIRE_TELL_MAX bytes */
	uint32_t used;                     /* bytes in use */
	uint32_t count;                    /* number of records */
	bool cut;                          /* further records were dropped */
	bool emptied;                      /* memory_empty() is called afterwards, so trees need not be freed */
	struct alias aliases[ALIASES_MAX]; /* known names */
	size_t alias_count;                /* number of them */
	char stars[STARS_MAX][64];         /* modules imported with all their names */
	size_t star_count;                 /* number of them */
	uint32_t newest[ALIAS_SLOTS];      /* first index of each list plus 1; 0: empty */
};

/* walk.c: parses the source and writes records; `state` is enum wire_state. */
uint32_t reader_read(struct reader *r, TSParser *parser);
void record_add(struct reader *r, enum wire_kind kind, uint32_t how, uint32_t rule, TSNode node, const char *name);
void tell_at(struct reader *r, enum wire_kind kind, uint32_t how, uint32_t rule, TSPoint at, const char *name);
void tell_import(struct reader *r, enum wire_how how, TSNode node, const char *module);
/* Reports each rule that matches the call `name` with its arguments (may be null). */
void tell_call(struct reader *r, TSNode node, const char *name, TSNode arguments);
/* Reports the rule with exactly this pattern. */
void tell_rule(struct reader *r, TSNode node, const char *pattern, const char *name);

/* names.c. */
TSNode node_field(const struct reader *r, TSNode node, enum field which);
enum type type_of(const struct reader *r, TSNode node);
bool is_type(const struct reader *r, TSNode node, enum type type);
/* The text of the node, truncated to the room. */
void node_text(const struct reader *r, TSNode node, char out[NAME_ROOM]);
bool node_is(const struct reader *r, TSNode node, const char *text);
/* The constant string value of an expression. False if it is computed at run time. */
bool constant_of(const struct reader *r, TSNode node, char out[NAME_ROOM]);
/* The resolved, dotted name of an expression: "os.path.join"; "" if it has none. */
void name_of(const struct reader *r, TSNode node, char out[NAME_ROOM]);
void aliases_forget(struct reader *r);
void alias_add(struct reader *r, const char *name, const char *target);
void alias_resolve(const struct reader *r, char name[NAME_ROOM]);
/* Removes prefixes without effect: builtins.eval is eval, and so is globalThis.eval. */
void name_strip(const struct reader *r, char name[NAME_ROOM]);
/* Whether the call imports a module in one of the language's ways. 1: `out` is its name; 2: the name is computed at run
 * time (`out` is the expression); 0: it is no import. */
int import_call(const struct reader *r, TSNode call, char out[NAME_ROOM]);
/* visit_sql.c: finds statements by their words. Those that the grammar lacks are overwritten by blanks before
 * parsing. */
void sql_words(struct reader *r);
/* `pattern` may begin or end with a star. */
bool pattern_matches(const char *pattern, size_t size, const char *text);

extern const struct visitor python_visitors[], script_visitors[], ruby_visitors[], go_visitors[], c_visitors[],
	shell_visitors[], sql_visitors[];
