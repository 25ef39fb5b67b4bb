/* Paths of a session's files: one rule for every door. */
#include "../check.h"

#include "base/own.h"
#include "schema/file_path.h"

static void paths(void)
{
	static const struct {
		const char *given; /* as somebody writes it */
		const char *below; /* below /sandbox; NULL: elsewhere */
	} cases[] = {
		{ "", "" },
		{ "output/plot.png", "output/plot.png" },
		{ "output", "output" },
		{ "code", "code" },
		{ "temp/a/b", "temp/a/b" },
		{ "data.csv", "code/data.csv" },
		{ "sub/data/x", "code/sub/data/x" },
		{ "outputs/x", "code/outputs/x" },
		{ "out", "code/out" },
		{ "/sandbox", "" },
		{ "/sandbox/", "" },
		{ "/sandbox/data/x", "data/x" },
		{ "/sandbox/code", "code" },
		/* Not what it could be taken for. */
		{ "/sandbox/x", NULL },
		{ "/sandbox//data", NULL },
		{ "/sandboxed/data/x", NULL },
		{ "/data/x", NULL },
		{ "/", NULL },
		{ "//sandbox/data", NULL },
		/* Parts that lead up are refused behind this, wherever they stand. */
		{ "../etc/passwd", "code/../etc/passwd" },
		{ "/sandbox/../etc", NULL },
	};
	char out[64];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const bool found = file_path_below(cases[i].given, out, sizeof(out));

		CHECK_INT(found, cases[i].below != NULL);
		if (found && cases[i].below)
			CHECK_STR(out, cases[i].below);
	}
	CHECK(file_path_below("data/x", out, 7));
	CHECK(!file_path_below("data/x", out, 6));
	CHECK(!file_path_below("x", out, 6));
}

int main(void)
{
	RUN(paths);
	return check_failures != 0;
}
