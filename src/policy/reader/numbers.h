/*
 * Types of nodes and fields that are asked for, of all grammars, as numbers.
 *
 * A grammar has numbers of its own for them, and names. To compare names at each node is a fifth
 * of the work; so what its numbers mean is found out once.
 */
#pragma once

#include <tree_sitter/api.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TYPES(each)                                                                                                                            \
	each(ALIASED_IMPORT, "aliased_import") each(AS_EXPRESSION, "as_expression") each(ATTRIBUTE, "attribute") each(                         \
		AWAIT_EXPRESSION, "await_expression") each(BINARY,                                                                             \
							   "binary") each(BINARY_EXPRESSION,                                                   \
									  "binary_expression") each(BINARY_OPERATOR,                           \
												    "binary_operator")                         \
		each(CALL, "call") each(CALL_EXPRESSION, "call_expression") each(                                                              \
			CHAINED_STRING,                                                                                                        \
			"chained_string") each(COMMAND, "comman"                                                                               \
							"d") each(CONCATENATED_STRING,                                                         \
								  "concatenated_string") each(CONSTANT, "constant")                            \
			each(DOTTED_NAME, "dotted_name") each(ESCAPE_SEQUENCE, "escape_sequence") each(                                        \
				FIELD_EXPRESSION,                                                                                              \
				"fie"                                                                                                          \
				"ld_"                                                                                                          \
				"exp"                                                                                                          \
				"res"                                                                                                          \
				"sio"                                                                                                          \
				"n") each(FIELD_IDENTIFIER,                                                                                    \
					  "field_identifier") each(FILE_REDIRECT, "file_redirect") each(IDENTIFIER,                            \
													"identifier")                          \
				each(IMPORT, "import") each(IMPORT_CLAUSE, "import_clause") each(                                              \
					IMPORT_REQUIRE_CLAUSE,                                                                                 \
					"import_require_"                                                                                      \
					"clause") each(IMPORT_SPECIFIER,                                                                       \
						       "import_specifier") each(INTERPRETED_STRING_LITERAL, "interpre"                         \
													    "ted_"                             \
													    "string_"                          \
													    "literal")                         \
					each(INTERPRETED_STRING_LITERAL_CONTENT, "interpreted_string_literal_content") each(                   \
						MEMBER_EXPRESSION,                                                                             \
						"member_expression") each(NAMED_IMPORTS,                                                       \
									  "named_"                                                             \
									  "imports") each(NAMESPACE_IMPORT,                                    \
											  "namespace_"                                         \
											  "import") each(NON_NULL_EXPRESSION,                  \
													 "non_null_"                           \
													 "expression")                         \
						each(OBJECT_PATTERN, "object_pattern") each(                                                   \
							PACKAGE_IDENTIFIER,                                                                    \
							"pa"                                                                                   \
							"ck"                                                                                   \
							"ag"                                                                                   \
							"e_"                                                                                   \
							"id"                                                                                   \
							"en"                                                                                   \
							"ti"                                                                                   \
							"fi"                                                                                   \
							"e"                                                                                    \
							"r") each(PAIR_PATTERN,                                                                \
								  "pair_pattern") each(PARENTHESIZED_EXPRESSION,                               \
										       "pa"                                                    \
										       "re"                                                    \
										       "nt"                                                    \
										       "he"                                                    \
										       "si"                                                    \
										       "ze"                                                    \
										       "d_"                                                    \
										       "ex"                                                    \
										       "pr"                                                    \
										       "es"                                                    \
										       "si"                                                    \
										       "o"                                                     \
										       "n") each(PIPELINE, "pipeline")                         \
							each(PROPERTY_IDENTIFIER, "property_identifier") each(                                 \
								RAW_STRING_LITERAL,                                                            \
								"raw_"                                                                         \
								"strin"                                                                        \
								"g_"                                                                           \
								"liter"                                                                        \
								"al") each(RAW_STRING_LITERAL_CONTENT,                                         \
									   "raw_string_literal_content") each(REDIRECTED_STATEMENT,            \
													      "redire"                         \
													      "cted_"                          \
													      "statem"                         \
													      "ent")                           \
								each(SCOPE_RESOLUTION, "scope_resolution") each(                               \
									SELECTOR_EXPRESSION,                                                   \
									"selector_expression") each(SEQUENCE_EXPRESSION,                       \
												    "sequence_"                                \
												    "expression")                              \
									each(SIMPLE_SYMBOL, "simple_symbol") each(                             \
										STRING,                                                        \
										"string") each(STRING_CONTENT,                                 \
											       "string_content")                               \
										each(STRING_END, "string_end") each(                           \
											STRING_FRAGMENT,                                       \
											"string_"                                              \
											"fragment") each(STRING_LITERAL,                       \
													 "string_"                             \
													 "literal")                            \
											each(STRING_START,                                     \
											     "strin"                                           \
											     "g_"                                              \
											     "star"                                            \
											     "t") each(SUBSCRIPT,                              \
												       "subscript") each(SUBSCRIPT_EXPRESSION, \
															 "subscript_"          \
															 "expression")         \
												each(SYSTEM_LIB_STRING,                        \
												     "s"                                       \
												     "y"                                       \
												     "s"                                       \
												     "t"                                       \
												     "e"                                       \
												     "m"                                       \
												     "_"                                       \
												     "l"                                       \
												     "i"                                       \
												     "b"                                       \
												     "_"                                       \
												     "s"                                       \
												     "t"                                       \
												     "r"                                       \
												     "i"                                       \
												     "n"                                       \
												     "g") each(TEMPLATE_STRING,                \
													       "templ"                         \
													       "ate_"                          \
													       "strin"                         \
													       "g") each(TYPE_IDENTIFIER,      \
															 "type_"               \
															 "identifier")         \
													each(VARIABLE_ASSIGNMENT,              \
													     "variabl"                         \
													     "e_"                              \
													     "assignm"                         \
													     "ent")                            \
														each(WORD,                     \
														     "word")

#define FIELD_NAMES(each)                                                                                              \
	each(ALIAS, "alias") each(ARGUMENT, "argument") each(ARGUMENTS, "arguments") each(ATTRIBUTE, "attribute")      \
		each(BODY, "body") each(CONSTRUCTOR, "constructor") each(DECLARATOR, "declarator")                     \
			each(DESTINATION, "destination") each(FIELD, "field") each(FUNCTION, "function")               \
				each(INDEX, "index") each(KEY, "key") each(LEFT, "left") each(METHOD, "method")        \
					each(MODULE_NAME, "module_name") each(NAME, "name") each(OBJECT, "object")     \
						each(OPERAND, "operand") each(OPERATOR, "operator") each(PATH, "path") \
							each(PROPERTY, "property") each(RECEIVER, "receiver")          \
								each(RIGHT, "right") each(SCOPE, "scope")              \
									each(SOURCE, "source")                         \
										each(SUBSCRIPT, "subscript")           \
											each(VALUE, "value")

#define TYPE_ENUM(upper, name)  TYPE_##upper,
#define FIELD_ENUM(upper, name) FIELD_##upper,

enum type {
	TYPE_OTHER,
	TYPES(TYPE_ENUM)
};

enum field {
	FIELD_NAMES(FIELD_ENUM) FIELDS
};

struct reader;
struct language;

struct numbers {
	const TSLanguage *tree;                         /* whose; NULL: this is empty */
	uint32_t symbols;                               /* that it has */
	uint8_t *types;                                 /* of each symbol: enum type */
	bool *wanted;                                   /* the same: whether a function sees it */
	void (**visits)(struct reader *r, TSNode node); /* the same: which */
	TSFieldId fields[FIELDS];                       /* of each field; 0: it has none of that name */
};

/* NULL: there is no memory for it. */
const struct numbers *numbers_of(const struct language *language, const TSLanguage *tree);
