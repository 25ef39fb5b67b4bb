/* Cells: when one is whole, by the rules of each language, and how they are cut, written and read. */
#include "../check.h"

/* The command line is not part of the library; its pure core is compiled in. The first has a line's end of its own. */
#define end_line unfinished_end_line
#include "cli/repl_unfinished.c"
#undef end_line
#include "cli/repl_cells.c"

static void all(const char *language, const char *const *cells, enum unfinished want)
{
	for (; *cells; cells++) {
		enum unfinished got = unfinished(language, *cells, strlen(*cells));

		if (got != want)
			check_fail("%s: %d instead of %d for: %s", language, got, want, *cells);
	}
}

static void python(void)
{
	static const char *const whole[] = { "",
					     "x = 1",
					     "print('(')",
					     "# if x:",
					     "x = '''a\nb'''",
					     "d = {'a': 1}",
					     "x[1:]",
					     "def f():\n    return 1\n",
					     "def f():\n    return 1\n\n",
					     "for i in x:\n    pass\n   ",
					     "'unclosed",
					     "f = lambda: 0",
					     "x = (1,\n 2)",
					     "matched = 1",
					     "x = 5 \\\n  + 1",
					     "format('x')",
					     NULL };
	static const char *const block[] = { "if x:",
					     "if x: pass",
					     "def f():",
					     "def f():\n    return 1",
					     "for i in range(3):  # comment",
					     "class A:\n    x = 1",
					     "@decorated",
					     "async def f():",
					     "if x:\n    pass\nelse:\n    pass",
					     "with open('x') as f: pass",
					     "match x:\n    case 1: pass",
					     "try:\n    x\nexcept E:",
					     NULL };
	static const char *const open[] = { "x = (",           "x = [1,\n", "x = '''a",
					    "x = \"\"\"a\n\n", "f(a,\n\n",  "x = 1 + \\",
					    "def f(a,",        "'a' \\",    NULL };

	all("python", whole, UNFINISHED_NOT);
	all("python", block, UNFINISHED_BLOCK);
	all("python", open, UNFINISHED_OPEN);
}

static void braces(void)
{
	static const char *const whole[] = { "const x = 1", "x++",     "x--",       "f({a: 1})",  "'{'",
					     "\"it's\"",    "// {",    "/* { */ 1", "`a ${b} {`", "x = /[/{]/.test(y)",
					     "a / b / c",   "x =>\n1", "x =\n\n",   "'unclosed",  NULL };
	static const char *const open[] = { "function f() {", "const x = [", "`a\nb", "/* a", "x =>", "x = ", "a +",
					    "f(1,",           "x &&",        "{\n\n", NULL };

	all("javascript", whole, UNFINISHED_NOT);
	all("javascript", open, UNFINISHED_OPEN);
	all("typescript", open, UNFINISHED_OPEN);
	all("a language of one's own", open, UNFINISHED_OPEN);
}

static void shell(void)
{
	static const char *const whole[] = { "echo hi",
					     "echo if",
					     "echo $#",
					     "echo a#b'c'",
					     "if true; then echo; fi",
					     "for i in a b; do echo $i; done",
					     "case $x in a) echo;; b) echo;; esac",
					     "f() { echo; }",
					     "cat <<EOF\nif (\nEOF",
					     "cat <<-'X'\n\thi\n\tX\n",
					     "echo \\(",
					     "(cd /; ls)",
					     "echo ${x:-a}",
					     "echo done",
					     "cat <<<word",
					     "sleep 1 &",
					     "while read x; do :; done < f",
					     NULL };
	static const char *const open[] = { "if true; then", "for i in a b; do", "case $x in", "f() {",
					    "cat <<EOF",     "cat <<EOF\nEO",    "echo 'a",    "echo \"a\nb",
					    "echo hi \\",    "true &&",          "ls |",       "(cd /",
					    "echo $(ls",     "while :\ndo",      NULL };

	all("bash", whole, UNFINISHED_NOT);
	all("bash", open, UNFINISHED_OPEN);
	all("zsh", open, UNFINISHED_OPEN);
}

static void ruby(void)
{
	static const char *const whole[] = { "x = 1",
					     "def f; 1; end",
					     "puts 1 if x",
					     "[1].each do |i|\n puts i\nend",
					     "while x do\n y\nend",
					     "x.class",
					     "{if: 1, end: 2}",
					     ":end",
					     "x = <<~A\n if (\nA",
					     "a << b",
					     "begin; 1; rescue; 2; end",
					     "x = if y then 1 else 2 end",
					     "# def",
					     "def x = 5",
					     "class A\n def self.x? = 5\n def y(a, b = (1)) = a\nend",
					     "def f(a)=a",
					     NULL };
	static const char *const open[] = { "def x=(v)",
					    "def ==(o)",
					    "def f(a",
					    "def f(a) =",
					    "class A\n def x = 5",
					    "def f",
					    "class A",
					    "if x",
					    "[1].each do |i|",
					    "while x do",
					    "x = if y",
					    "x = <<~A",
					    "puts(",
					    "a.b.",
					    "begin",
					    "x = case y",
					    "a ||",
					    NULL };

	all("ruby", whole, UNFINISHED_NOT);
	all("ruby", open, UNFINISHED_OPEN);
}

static void sql(void)
{
	static const char *const whole[] = { "select 1;",    ".tables", "\\d", "select ';';",
					     "select 1\n\n", "-- only", NULL };
	static const char *const more[] = { "select 1", "select\n1", "select ';'", "create table t (a int", NULL };
	static const char *const open[] = { "select 'a", "/* a", NULL };

	all("sqlite", whole, UNFINISHED_NOT);
	all("postgres", whole, UNFINISHED_NOT);
	all("sqlite", more, UNFINISHED_BLOCK);
	all("sqlite", open, UNFINISHED_OPEN);
}

static void lines_of_a_pipe(void)
{
	CHECK(unfinished_goes_on("python", "if x:\n    y\n", "else:"));
	CHECK(unfinished_goes_on("python", "if x:\n", "    y"));
	CHECK(unfinished_goes_on("python", "@a\n", "def f():"));
	CHECK(unfinished_goes_on("python", "def f():\n    x\n", ""));
	CHECK(!unfinished_goes_on("python", "def f():\n    x\n", "f()"));
	CHECK(!unfinished_goes_on("python", "def f():\n    x\n", "elsewhere()"));
	CHECK(unfinished_goes_on("sqlite", "select 1\n", ", 2;"));
}

static void cut(const char *language, const char *text, const char *const *want)
{
	struct cells cells = { 0 };
	size_t i = 0;

	CHECK(cells_split(text, strlen(text), language, &cells));
	for (; want[i] && i < cells.count; i++)
		CHECK_STR(cells.items[i].code, want[i]);
	CHECK(!want[i]);
	CHECK_INT(cells.count, i);
	cells_free(&cells);
}

static void programs_are_cut(void)
{
	cut("python", "", (const char *const[]){ NULL });
	cut("python", "1/0", (const char *const[]){ "1/0", NULL });
	cut("python", "1/0\n", (const char *const[]){ "1/0", NULL });
	cut("python", "# only\n\n# this\n", (const char *const[]){ NULL });
	cut("python", "x = 1\ndef f():\n    a\n\n    b\nf()\n",
	    (const char *const[]){ "x = 1", "def f():\n    a\n    b", "f()", NULL });
	cut("python", "if x:\n    a\nelse:\n    b\ny = (1,\n\n 2)\n",
	    (const char *const[]){ "if x:\n    a\nelse:\n    b", "y = (1,\n\n 2)", NULL });
	cut("python", "@a\ndef f(): pass\nf()", (const char *const[]){ "@a\ndef f(): pass", "f()", NULL });
	cut("bash", "for i in 1 2; do\n echo $i\ndone\nls\n",
	    (const char *const[]){ "for i in 1 2; do\n echo $i\ndone", "ls", NULL });
	cut("sqlite", "select 1,\n\n2;\nselect 3;", (const char *const[]){ "select 1,\n2;", "select 3;", NULL });
	/* Marks count, and nothing else then. */
	cut("python", "# %%\na = 1\nb = 2\n# %% two\nc\n", (const char *const[]){ "a = 1\nb = 2", "c", NULL });
}

static void cells_come_back(void)
{
	json_t *list = json_pack("[{s:s, s:s, s:i}, {s:s, s:s, s:i}, {s:s, s:s, s:i}]", "code",
				 "def f():\n    return 1\n", "status", "ok", "count", 3, "code", "# why\nx", "status",
				 "timeout", "count", 4, "code", "while 1: pass", "status", "failed", "exit_code", 130);
	struct buf text = { 0 };
	struct cells cells = { 0 };

	cells_write(list, "#", "a title", &text);
	CHECK_STR(text.data, "# a title\n\n# %% 3 ok\ndef f():\n    return 1\n\n# %% 4 timeout\n# why\nx\n\n"
			     "# %% 3 interrupted\nwhile 1: pass\n");
	CHECK(cells_read(text.data, text.size, "#", &cells));
	CHECK_INT(cells.count, 3);
	CHECK_STR(cells.items[0].code, "def f():\n    return 1");
	CHECK_STR(cells.items[0].status, "ok");
	CHECK_INT(cells.items[0].number, 3);
	CHECK_STR(cells.items[1].code, "# why\nx");
	CHECK_STR(cells.items[1].status, "timeout");
	CHECK_STR(cells.items[2].status, "interrupted");
	cells_free(&cells);
	/* What somebody wrote by hand. */
	CHECK(cells_read("print(1)\n#%%\nprint(2)\n", 23, "#", &cells));
	CHECK_INT(cells.count, 2);
	CHECK_STR(cells.items[0].code, "print(1)");
	CHECK_STR(cells.items[1].code, "print(2)");
	CHECK_STR(cells.items[1].status, "");
	cells_free(&cells);
	buf_free(&text);
	json_decref(list);
}

int main(void)
{
	RUN(python);
	RUN(braces);
	RUN(shell);
	RUN(ruby);
	RUN(sql);
	RUN(lines_of_a_pipe);
	RUN(programs_are_cut);
	RUN(cells_come_back);
	return check_failures > 0;
}
