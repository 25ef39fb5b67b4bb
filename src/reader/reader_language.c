/* The language of this program: the build sets READER_GRAMMAR, READER_TREE and so on. */
#include "reader/reader.h"

const TSLanguage *READER_TREE(void);
#ifdef READER_OTHER
const TSLanguage *READER_OTHER(void);
#else
#define READER_OTHER NULL
#endif

const struct language reader_language = {
	.grammar = READER_GRAMMAR,
	.tree = READER_TREE,
	.other = READER_OTHER,
	.visitors = READER_VISITORS,
};
