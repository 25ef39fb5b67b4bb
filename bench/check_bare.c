/* check_bare ROUNDS FILE…: what tree-sitter, as it comes, takes to parse and to forget; nobody looks at the tree. */
#include "check_times.h"

#include <tree_sitter/api.h>

const TSLanguage *BARE_TREE(void);

static TSParser *parser;

static bool look(const char *source, size_t size)
{
	TSTree *tree = ts_parser_parse_string(parser, NULL, source, (uint32_t)size);

	ts_tree_delete(tree);
	return tree != NULL;
}

int main(int argc, char **argv)
{
	parser = ts_parser_new();
	return ts_parser_set_language(parser, BARE_TREE()) ? check_times(argc, argv, look) : 1;
}
