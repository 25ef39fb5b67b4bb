#include "reader/numbers.h"

#include "reader/reader.h"

#include <stdlib.h>
#include <string.h>

enum {
	TREES_MAX = 2 /* grammars of a language */
};

static const char *const type_names[] = {
	"",
#define TYPE(word, name) name,
#define FIELD(word, name)
#include "reader/numbers.def"
#undef TYPE
#undef FIELD
};

static const char *const field_names[] = {
#define TYPE(word, name)
#define FIELD(word, name) name,
#include "reader/numbers.def"
#undef TYPE
#undef FIELD
};

static bool numbers_fill(struct numbers *numbers, const struct language *language, const TSLanguage *tree)
{
	numbers->symbols = ts_language_symbol_count(tree);
	numbers->types = calloc(numbers->symbols, sizeof(*numbers->types));
	numbers->wanted = calloc(numbers->symbols, sizeof(*numbers->wanted));
	numbers->visits = calloc(numbers->symbols, sizeof(*numbers->visits));
	if (!numbers->types || !numbers->wanted || !numbers->visits)
		return false;
	for (uint32_t i = 0; i < numbers->symbols; i++) {
		const char *name = ts_language_symbol_name(tree, (TSSymbol)i);

		for (size_t k = 1; name && k < sizeof(type_names) / sizeof(type_names[0]); k++)
			if (strcmp(type_names[k], name) == 0)
				numbers->types[i] = (uint8_t)k;
		for (const struct visitor *v = language->visitors; name && v->type; v++)
			if (strcmp(v->type, name) == 0 &&
			    ts_language_symbol_type(tree, (TSSymbol)i) == TSSymbolTypeRegular)
				numbers->visits[i] = v->visit;
		numbers->wanted[i] = numbers->visits[i] != NULL;
	}
	for (size_t i = 0; i < FIELDS; i++)
		numbers->fields[i] =
			ts_language_field_id_for_name(tree, field_names[i], (uint32_t)strlen(field_names[i]));
	numbers->tree = tree;
	return true;
}

const struct numbers *numbers_of(const struct language *language, const TSLanguage *tree)
{
	static struct numbers known[TREES_MAX];
	size_t at = 0;

	while (at + 1 < TREES_MAX && known[at].tree && known[at].tree != tree)
		at++;
	if (known[at].tree == tree)
		return &known[at];
	free(known[at].types);
	free(known[at].wanted);
	free(known[at].visits);
	known[at] = (struct numbers){ 0 };
	return numbers_fill(&known[at], language, tree) ? &known[at] : NULL;
}
