/* What standard error tells: as the real tools write it (golden/errors/), and as a program would to deceive us. */
#include "../check.h"

#include "language/errors.h"

#include <time.h>

static struct errors_found found;

/* "syntax 3:7 [other.c] message", as the golden files have it. */
static const char *told(void)
{
	static const char *const kinds[] = { "none", "syntax", "compile" };
	static char text[1024];

	if (found.kind == ERRORS_NONE)
		return "none";
	snprintf(text, sizeof(text), "%s %ld:%ld [%s] %s", kinds[found.kind], found.line, found.column, found.file,
		 found.message);
	return text;
}

static const char *cause_of(const struct runtime *runtime, const char *text, size_t size)
{
	static char line[384];

	errors_cause(runtime, &(struct errors_input){ .text = text, .size = size }, line, sizeof(line));
	return line;
}

/*
 * A golden file is the code file's path, then cases: `=== NAME, run|compile, silent|printed, exit N`, what is expected,
 * `---`, and what a real tool wrote.
 */
static void golden_case(const struct runtime *runtime, const char *file, char *text)
{
	char *name = text, *body = strstr(text, "\n---\n"), *expect = strstr(text, "\nexpect: ");
	char *cause = strstr(text, "\ncause: "), *exit_code = strstr(text, ", exit ");
	struct errors_input input = { .file = file };
	bool printed;

	if (!body || !expect || expect > body || !exit_code || exit_code > expect) {
		check_fail("%s: no case", name);
		return;
	}
	*expect = *body = '\0';
	if (cause && cause < body)
		*cause = '\0';
	else
		cause = NULL;
	printed = strstr(name, ", printed, ") != NULL;
	CHECK(printed || strstr(name, ", silent, "));
	input.text = body + strlen("\n---\n");
	input.size = strlen(input.text);
	input.exit_code = atoi(exit_code + strlen(", exit "));
	input.printed = printed;
	input.compiling = strstr(name, ", compile, ") != NULL;
	errors_find(runtime, &input, &found);
	if (strcmp(told(), expect + strlen("\nexpect: ")) != 0)
		check_fail("%s %s: %s, not %s", runtime->name, name, told(), expect + strlen("\nexpect: "));
	if (cause && strcmp(cause_of(runtime, input.text, input.size), cause + strlen("\ncause: ")) != 0)
		check_fail("%s %s: cause %s, not %s", runtime->name, name, cause_of(runtime, input.text, input.size),
			   cause + strlen("\ncause: "));
}

/* From the top of the repository, where tests/run starts every test. */
static void golden(const char *language, int cases)
{
	const struct runtime *runtime = runtime_find(language);
	static char text[1 << 18];
	char path[128], *at, *next, *file = text;
	int count = 0;
	FILE *f;

	snprintf(path, sizeof(path), "tests/unit/golden/errors/%s.txt", language);
	f = fopen(path, "r");
	if (!f || !runtime) {
		check_fail("%s: %s", f ? language : path, f ? "no such language" : "run this from the top");
		return;
	}
	text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
	fclose(f);
	at = strstr(text, "\n=== ");
	*strchrnul(file, '\n') = '\0';
	for (; at; at = next, count++) {
		next = strstr(at + 5, "\n=== ");
		if (next)
			next[0] = '\0';
		golden_case(runtime, file, at + 5);
	}
	CHECK_INT(count, cases);
}

static void bash_errors(void)
{
	golden("bash", 12);
}

static void c_errors(void)
{
	golden("c", 25);
}

static void cpp_errors(void)
{
	golden("cpp", 20);
}

static void go_errors(void)
{
	golden("go", 21);
}

static void java_errors(void)
{
	golden("java", 36);
}

static void javascript_errors(void)
{
	golden("javascript", 24);
}

static void lua_errors(void)
{
	golden("lua", 29);
}

static void perl_errors(void)
{
	golden("perl", 29);
}

static void php_errors(void)
{
	golden("php", 27);
}

static void python_errors(void)
{
	golden("python", 28);
}

static void r_errors(void)
{
	golden("r", 33);
}

static void ruby_errors(void)
{
	golden("ruby", 21);
}

static void rust_errors(void)
{
	golden("rust", 33);
}

static void sh_errors(void)
{
	golden("sh", 14);
}

static void typescript_errors(void)
{
	golden("typescript", 22);
}

static void zsh_errors(void)
{
	golden("zsh", 15);
}

/* The sentence of a result, as result/result.c makes it. */
static void says(const char *language, int code, const char *errors, const char *sentence)
{
	const struct runtime *runtime = runtime_find(language);
	char file[64], text[1024];
	struct errors_input input = { .text = errors, .size = strlen(errors), .file = file, .exit_code = code };
	static const struct {
		const char *language, *file;
	} files[] = { { "python", "main.py" }, { "javascript", "main.js" }, { "bash", "main.sh" } };

	if (!runtime) {
		check_fail("no %s", language);
		return;
	}
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		if (strcmp(files[i].language, language) == 0)
			snprintf(file, sizeof(file), "/sandbox/code/%s", files[i].file);
	errors_find(runtime, &input, &found);
	CHECK_STR(found.file, "");
	if (found.kind == ERRORS_NONE)
		snprintf(text, sizeof(text), "Execution failed: %s", cause_of(runtime, errors, strlen(errors)));
	else if (found.line)
		snprintf(text, sizeof(text), "Syntax error: %s (line %ld)", found.message, found.line);
	else
		snprintf(text, sizeof(text), "Syntax error: %s", found.message);
	CHECK_STR(text, sentence);
}

#define PYTHON "  File \"/sandbox/code/main.py\", line 3\n    def f(:\n          ^\n"
#define NODE   "/sandbox/code/main.js:2\nlet = = 1\n      ^\n\n"
#define BASH   "/sandbox/code/main.sh: line "

static void syntax_errors(void)
{
	says("python", 1, PYTHON "SyntaxError: invalid syntax\n", "Syntax error: invalid syntax (line 3)");
	says("python", 1, PYTHON "SyntaxError: no newline", "Syntax error: no newline (line 3)");
	says("python", 1, PYTHON "IndentationError: unexpected indent\n", "Syntax error: unexpected indent (line 3)");
	says("python", 1, PYTHON "TabError: inconsistent use\n", "Syntax error: inconsistent use (line 3)");
	says("python", 1, "/sandbox/code/main.py:1: SyntaxWarning: x\n" PYTHON "SyntaxError: y\n",
	     "Syntax error: y (line 3)");
	says("python", 1, "SyntaxError: Non-UTF-8 code in file /sandbox/code/main.py on line 1\n",
	     "Syntax error: Non-UTF-8 code in file /sandbox/code/main.py on line 1");
	says("javascript", 1,
	     NODE "SyntaxError: Unexpected token\n    at wrapSafe (node:internal/x:1:2)\n\nNode.js v20.0.0\n",
	     "Syntax error: Unexpected token (line 2)");
	says("javascript", 1, "(node:5) Warning: x\nfile://" NODE "SyntaxError: Unexpected token\n\nNode.js v20.0.0\n",
	     "Syntax error: Unexpected token (line 2)");
	says("bash", 2, "said before\n" BASH "4: syntax error near unexpected token `fi'\n" BASH "4: `fi'\n",
	     "Syntax error: near unexpected token `fi' (line 4)");
	says("bash", 2,
	     BASH "1: unexpected EOF while looking for matching `\"'\n" BASH
		  "2: syntax error: unexpected end of file\n",
	     "Syntax error: unexpected EOF while looking for matching `\"' (line 1)");
	/* A line that went on, and one that did not. */
	says("bash", 2, BASH "1: syntax error near `;'\nwent on\n" BASH "9: syntax error near `fi'\n",
	     "Syntax error: near `fi' (line 9)");
}

/* Those that the program ran into, or only talks about. */
static void errors_that_are_called_so(void)
{
	struct errors_input printed = { .text = PYTHON "SyntaxError: x\n", .file = "/sandbox/code/main.py" };

	says("python", 1,
	     "Traceback (most recent call last):\n  File \"/sandbox/code/main.py\", line 1, in <module>\n"
	     "  File \"<string>\", line 1\n    def f(:\n          ^\nSyntaxError: invalid syntax\n",
	     "Execution failed: SyntaxError: invalid syntax");
	says("python", 1, "SyntaxError: x\n", "Execution failed: SyntaxError: x");
	says("python", 1, "I saw a SyntaxError: x\n", "Execution failed: I saw a SyntaxError: x");
	says("python", 3, PYTHON "SyntaxError: x\n", "Execution failed: SyntaxError: x");
	says("javascript", 1,
	     "<anonymous_script>:1\n{bad\n ^\n\nSyntaxError: Expected '}' in JSON\n    at JSON.parse (<anonymous>)\n"
	     "    at Object.<anonymous> (/sandbox/code/main.js:1:6)\n\nNode.js v20.0.0\n",
	     "Execution failed: SyntaxError: Expected '}' in JSON");
	says("javascript", 1,
	     NODE "SyntaxError: x\n    at Object.<anonymous> (/sandbox/code/main.js:1:6)\n\nNode.js v20.0.0\n",
	     "Execution failed: SyntaxError: x");
	says("bash", 3, "syntax error here\n", "Execution failed: syntax error here");
	says("bash", 2, "syntax error here\n", "Execution failed: syntax error here");
	says("bash", 2, "/sandbox/code/main.sh: eval: line 1: syntax error near `;'\n",
	     "Execution failed: /sandbox/code/main.sh: eval: line 1: syntax error near `;'");
	says("bash", 2, BASH "1: syntax error near `;'\nwent on\n", "Execution failed: went on");
	/* Python and Node read all of the code before they run any. */
	printed.size = strlen(printed.text);
	printed.exit_code = 1;
	errors_find(runtime_find("python"), &printed, &found);
	CHECK_STR(told(), "syntax 3:0 [] x");
	printed.printed = true;
	errors_find(runtime_find("python"), &printed, &found);
	CHECK_STR(told(), "none");
}

static void causes(void)
{
	says("python", 1, "Traceback:\n  x\nValueError: no\n", "Execution failed: ValueError: no");
	says("python", 1, "Traceback:\nKeyError\n\n\n", "Execution failed: KeyError");
	says("python", 1, "SyntaxError: x\nValueError: y\n", "Execution failed: ValueError: y");
	says("javascript", 1, "throw\n\nTypeError: x is not a function\n    at y\n\nNode.js v18.0.0\n",
	     "Execution failed: TypeError: x is not a function");
	says("bash", 1, "", "Execution failed: ");
	says("bash", 1, "\n \n", "Execution failed: ");
	says("bash", 1, "  indented \t\r\n", "Execution failed:   indented");
}

/* All that a compiler names, with the codes that it has for them. */
static void lists(void)
{
	static const char text[] = "main.ts(1,7): error TS2322: Type 'string' is no number.\n"
				   "  Its second line.\n"
				   "other.d.ts(3,1): error TS1005: ';' expected.\n"
				   "error TS18003: No inputs were found.\n";
	const struct errors_input input = {
		.text = text, .size = sizeof(text) - 1, .file = "/sandbox/code/main.ts", .compiling = true
	};
	struct errors_found list[4];

	CHECK_INT(errors_list(runtime_find("typescript"), &input, list, 4), 3);
	found = list[0];
	CHECK_STR(told(), "compile 1:7 [] Type 'string' is no number.");
	CHECK_STR(list[0].code, "TS2322");
	found = list[1];
	CHECK_STR(told(), "compile 3:1 [other.d.ts] ';' expected.");
	CHECK_STR(list[1].code, "TS1005");
	found = list[2];
	CHECK_STR(told(), "compile 0:0 [] No inputs were found.");
	CHECK_STR(list[2].code, "TS18003");
	CHECK_INT(errors_list(runtime_find("typescript"), &input, list, 2), 2);
	CHECK_INT(errors_list(runtime_find("python"), &input, list, 4), 0);
}

/* Patterns of our own. */
static struct runtime_syntax form;
static const char *compile_patterns[3], *cause_patterns[2], *noise_patterns[2];
static struct runtime own;

static void fresh(void)
{
	form = (struct runtime_syntax){ .exit = -1, .match = "^bad (?<line>\\d+): (?<message>.*)" };
	memset(compile_patterns, 0, sizeof(compile_patterns));
	memset(cause_patterns, 0, sizeof(cause_patterns));
	memset(noise_patterns, 0, sizeof(noise_patterns));
	own = (struct runtime){ .name = "own",
				.errors = { &form, 1, compile_patterns, cause_patterns, noise_patterns } };
}

static const char *find_in(const char *text, size_t size, const char *file, bool compiling)
{
	struct errors_input input = {
		.text = text, .size = size, .file = file, .exit_code = 1, .compiling = compiling
	};

	errors_find(&own, &input, &found);
	CHECK(memchr(found.message, '\0', sizeof(found.message)));
	CHECK(memchr(found.file, '\0', sizeof(found.file)));
	return told();
}

static const char *find(const char *text)
{
	return find_in(text, strlen(text), "/sandbox/code/main.x", false);
}

static void places_before_and_after(void)
{
	fresh();
	form.place = "^at (?<line>\\d+)(?:,(?<column>\\d+))?";
	form.match = "^bad: (?<message>.*)";
	CHECK_STR(find("bad: x\n"), "none");
	CHECK_STR(find("at 1,2\nat 3\nbad: x\nat 4\nbad: y\n"), "syntax 3:0 [] x");
	CHECK_STR(find("at 3,4\nbad: x\n"), "syntax 3:4 [] x");
	/* Its own is as good, and beats it. */
	form.match = "^bad(?<line>\\d+)?: (?<message>.*)";
	CHECK_STR(find("bad7: x\n"), "syntax 7:0 [] x");
	CHECK_STR(find("at 3,4\nbad7: x\n"), "syntax 7:0 [] x");
	CHECK_STR(find("at 3,4\nbad: x\n"), "syntax 3:4 [] x");
	/* After it: a pattern with a newline goes on into the lines that follow. */
	form.place = NULL;
	form.match = "^bad: (?<message>.*)\\n *--> (?<file>.*?):(?<line>\\d+):(?<column>\\d+)";
	CHECK_STR(find("so: x\n --> a:1:2\nbad: y\n --> b.x:3:4\n"), "syntax 3:4 [b.x] y");
	CHECK_STR(find("bad: y\n  |\n --> b.x:3:4\n"), "none");
	/* One without it does not see them. */
	form.match = "^bad: (?<message>[^;]*)";
	CHECK_STR(find("bad: y\nz;\n"), "syntax 0:0 [] y");
	form.match = "^bad: y$";
	CHECK_STR(find("bad: y\r\nz\n"), "syntax 0:0 [] bad: y");
	/* It starts in its line. */
	form.match = "^z(?<message>.)\\n";
	CHECK_STR(find("bad: y\nzq\n"), "syntax 0:0 [] q");
	form.match = "y\\nz(?<message>.*)";
	CHECK_STR(find("bad: y\nzq\n"), "syntax 0:0 [] q");
	/* Several lines become one. */
	form.match = "^(?<message>bad.*\\n.*)";
	CHECK_STR(find("bad: y  \n\tz \n"), "syntax 0:0 [] bad: y z");
}

static void what_speaks_against_it(void)
{
	fresh();
	form.unless = "^frame";
	CHECK_STR(find("bad 3: x\n"), "syntax 3:0 [] x");
	CHECK_STR(find("frame\nbad 3: x\n"), "none");
	CHECK_STR(find("bad 3: x\nframe\n"), "none");
	form.unless = NULL;
	form.ends = "^also";
	CHECK_STR(find("bad 3: x\nalso\n\n \nalso\n"), "syntax 3:0 [] x");
	CHECK_STR(find("bad 3: x\nalso\nmore\n"), "none");
	CHECK_STR(find("bad 3: x\nmore\nbad 4: y\nalso\n"), "syntax 4:0 [] y");
	/* A line that is part of the match is not after it. */
	form.match = "^bad (?<line>\\d+)\\n(?<message>.*)";
	CHECK_STR(find("bad 3\nx\nalso\n"), "syntax 3:0 [] x");
	CHECK_STR(find("bad 3\nx\nx\n"), "none");
	fresh();
	form.exit = 1;
	CHECK_STR(find("bad 3: x\n"), "syntax 3:0 [] x");
	form.exit = 2;
	CHECK_STR(find("bad 3: x\n"), "none");
}

static void compilers(void)
{
	static const char *const step[] = { "cc", NULL };
	static const char text[] = "note\ncc: /sandbox/code/sub/b.x:7: y\nbad 3: x\n";

	fresh();
	compile_patterns[0] = "^cc: (?<file>.*):(?<line>\\d+): (?<message>.*)";
	compile_patterns[1] = "^note (?<message>.*)";
	/* A syntax error is the better answer, also if it is not the first. */
	CHECK_STR(find_in(text, strlen(text), "/sandbox/code/main.x", true), "syntax 3:0 [] x");
	CHECK_STR(find_in(text, strlen(text) - 9, "/sandbox/code/main.x", true), "compile 7:0 [sub/b.x] y");
	CHECK_STR(find_in(text, strlen(text) - 9, "/sandbox/code/sub/b.x", true), "compile 7:0 [] y");
	CHECK_STR(find_in(text, strlen(text) - 9, "/sandbox/code/main.x", false), "none");
	CHECK_STR(find_in("cc: ./main.x:7: y", 17, "/sandbox/code/main.x", true), "compile 7:0 [] y");
	CHECK_STR(find_in("cc: main.x:7: y", 15, "/sandbox/code/main.x", true), "compile 7:0 [] y");
	CHECK_STR(find_in("cc: other.x:7: y", 16, "/sandbox/code/main.x", true), "compile 7:0 [other.x] y");
	/* Once there is a compiler, a program that says the same only says so. */
	CHECK_STR(find_in(text, strlen(text), "/sandbox/code/main.x", false), "syntax 3:0 [] x");
	own.compile.step.argv = step;
	CHECK_STR(find_in(text, strlen(text), "/sandbox/code/main.x", false), "none");
	CHECK_STR(find_in(text, strlen(text), "/sandbox/code/main.x", true), "syntax 3:0 [] x");
}

/* The file's name is the caller's, and is no pattern. */
static void names_are_quoted(void)
{
	static const char *const names[] = { "/sandbox/code/a.b", "/sandbox/code/\\E.*",    "/sandbox/code/\\Qx\\E(",
					     "/sandbox/code/[x",  "/sandbox/code/(?<line>", "/sandbox/code/a{2}|$^",
					     "/sandbox/code/ä 🔥", "/sandbox/code/{file}",   "/sandbox/code/\xff\x80#" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char text[128];

		fresh();
		form.match = "^{file}:(?<line>\\d+) (?<message>.*)$";
		snprintf(text, sizeof(text), "%s:5 x\n", names[i]);
		CHECK_STR(find_in(text, strlen(text), names[i], false), "syntax 5:0 [] x");
		/* Any other byte in its place is another file. */
		for (size_t at = 0; at < strlen(names[i]); at++) {
			text[at] ^= 1;
			CHECK_STR(find_in(text, strlen(text), names[i], false), "none");
			text[at] ^= 1;
		}
	}
	form.match = "{file}{file}?!";
	CHECK_STR(find_in("aba!", 4, "ab", false), "none");
	CHECK_STR(find_in("abab!", 5, "ab", false), "syntax 0:0 [] abab!");
}

static void numbers(void)
{
	fresh();
	CHECK_STR(find("bad 999999999: x\n"), "syntax 999999999:0 [] x");
	CHECK_STR(find("bad 99999999999999999999: x\n"), "syntax 0:0 [] x");
	form.match = "^bad (?<line>.*?): (?<message>.*)";
	CHECK_STR(find("bad -5: x\n"), "syntax 0:0 [] x");
	CHECK_STR(find("bad : x\n"), "syntax 0:0 [] x");
}

static double cpu(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

enum {
	HUGE_SIZE = 5 << 18
};
static char *huge;

static void fill(char c)
{
	memset(huge, c, HUGE_SIZE);
	huge[HUGE_SIZE] = '\0';
}

/* Some 40 ms are allowed; a sanitizer takes ten times as long. Without a limit these take minutes. */
#define QUICKLY(call, want)                                                                                            \
	do {                                                                                                           \
		double start_ = cpu();                                                                                 \
		CHECK_STR(call, want);                                                                                 \
		CHECK(cpu() - start_ < 1.0);                                                                           \
	} while (0)

static void patterns_that_take_for_ever(void)
{
	/* [bc], for PCRE does not even start when a byte that must be there is missing. */
	static const char *const patterns[] = {
		"^(a+)+[bc]",   "(a+)+[bc]",        "(a|aa)+[bc]",     "^(.*?a){40}[bc]",     "a.*+[bc]",
		"a.*[bc]",      "(?:a.*){9}[bc]",   "(?=(a+))*[bc]",   "(?<x>a(?&x)?a?)[bc]", "(a?){30}a{30}[bc]",
		".*.*.*.*[bc]", "(?<=a)a*a*a*[bc]", "^(?:.*\\n)*[bc]", "(?:.*\\n)*?.*[bc]",
	};

	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
		fresh();
		form.match = form.place = form.unless = patterns[i];
		compile_patterns[0] = compile_patterns[1] = cause_patterns[0] = noise_patterns[0] = patterns[i];
		for (size_t line = 10; line < HUGE_SIZE; line *= 40) {
			fill('a');
			for (size_t at = line; at < HUGE_SIZE; at += line)
				huge[at] = '\n';
			QUICKLY(find_in(huge, HUGE_SIZE, "main.x", false), "none");
			QUICKLY(find_in(huge, HUGE_SIZE, "main.x", true), "none");
			QUICKLY(cause_of(&own, huge, HUGE_SIZE) ? "" : "", "");
		}
	}
	/* What does not take long is found beside it. */
	fresh();
	form.match = "^(a+)+$|^bad (?<line>\\d+): (?<message>.*)";
	fill('a');
	huge[40] = '!';
	memcpy(huge + 41, "\nbad 3: x\n", 10);
	QUICKLY(find_in(huge, 51, "main.x", false), "syntax 3:0 [] x");
}

static void long_lines(void)
{
	static const char end[] = "\nbad 3: x";

	/* Any number of lines that nothing is like; a program's last and a compiler's first count. */
	fresh();
	for (size_t line = 1; line < HUGE_SIZE; line *= 7) {
		fill('y');
		for (size_t at = line; at < HUGE_SIZE; at += line + 1)
			huge[at] = '\n';
		QUICKLY(find_in(huge, HUGE_SIZE, "main.x", false), "none");
		memcpy(huge + HUGE_SIZE - strlen(end), end, strlen(end));
		QUICKLY(find_in(huge, HUGE_SIZE, "main.x", false), "syntax 3:0 [] x");
		memcpy(huge, "bad 5: y\n", 9);
		QUICKLY(find_in(huge, HUGE_SIZE, "main.x", true), "syntax 5:0 [] y");
		QUICKLY(cause_of(&own, huge, HUGE_SIZE), "bad 3: x");
	}
	fill('\n');
	QUICKLY(find_in(huge, HUGE_SIZE, "main.x", false), "none");
	QUICKLY(cause_of(&own, huge, HUGE_SIZE), "");
	/* Of a line 16 KiB are matched, and what is told is cut. */
	fill('y');
	form.match = "z";
	huge[16383] = 'z';
	find_in(huge, 20000, "main.x", false);
	CHECK_INT(found.kind, ERRORS_SYNTAX);
	CHECK_INT(strlen(found.message), sizeof(found.message) - 1);
	huge[16383] = 'y';
	huge[16384] = 'z';
	CHECK_STR(find_in(huge, 20000, "main.x", false), "none");
	CHECK_INT(strlen(cause_of(&own, huge, 20000)), 383);
	fresh();
	form.match = "^(?<file>y+):";
	fill('y');
	huge[1000] = ':';
	find_in(huge, 1001, "main.x", false);
	CHECK_INT(strlen(found.file), sizeof(found.file) - 1);
}

static void bytes_of_any_kind(void)
{
	static const char zeros[] = "\0\0\nbad 3: a\0b\n\0";
	static const char bytes[] = "\xff\xfe\nbad 3: \xc3\x28\xf0\x9f\x80\xff\n";

	fresh();
	CHECK_STR(find_in(zeros, sizeof(zeros) - 1, "main.x", false), "syntax 3:0 [] a b");
	CHECK_STR(find_in(bytes, sizeof(bytes) - 1, "main.x", false), "syntax 3:0 [] \xc3\x28\xf0\x9f\x80\xff");
	CHECK_STR(cause_of(&own, bytes, sizeof(bytes) - 1), "bad 3: \xc3\x28\xf0\x9f\x80\xff");
	CHECK_STR(find_in("", 0, "main.x", false), "none");
	CHECK_STR(find_in("\n", 1, "main.x", false), "none");
	/* Not past the end, whatever stands there. */
	CHECK_STR(find_in("bad 3: xyz", 8, "main.x", false), "syntax 3:0 [] x");
	CHECK_STR(cause_of(&own, "bad 3: xyz", 8), "bad 3: x");
	form.match = "^bad (?<line>\\d+): x(?<message>\\n.*)?";
	CHECK_STR(find_in("bad 3: x\nyz", 9, "main.x", false), "syntax 3:0 [] ");
}

static void causes_and_noise(void)
{
	char small[4];
	static const char text[] = "oops: 1\noops: 2\nlater\nbye\n\n";

	fresh();
	CHECK_STR(cause_of(&own, text, strlen(text)), "bye");
	noise_patterns[0] = "^bye";
	CHECK_STR(cause_of(&own, text, strlen(text)), "later");
	cause_patterns[0] = "^oops";
	CHECK_STR(cause_of(&own, text, strlen(text)), "oops: 2");
	cause_patterns[0] = "^oops: (?<message>.*\\nlater)";
	CHECK_STR(cause_of(&own, text, strlen(text)), "2 later");
	cause_patterns[0] = "^nothing";
	CHECK_STR(cause_of(&own, text, strlen(text)), "later");
	noise_patterns[0] = ".";
	CHECK_STR(cause_of(&own, text, strlen(text)), "");
	own.errors.cause = own.errors.noise = NULL;
	CHECK_STR(cause_of(&own, text, strlen(text)), "bye");
	errors_cause(&own, &(struct errors_input){ .text = "abcdef", .size = 6 }, small, sizeof(small));
	CHECK_STR(small, "abc");
}

static void refused(const char *pattern, const char *reason)
{
	char why[256] = "";

	CHECK(!pattern_check(pattern, why, sizeof(why)));
	CHECK_STR(why, reason);
}

static void patterns_are_checked(void)
{
	char why[256] = "untouched", many[512] = "";

	CHECK(pattern_check("^{file}: (?<line>\\d+)|(?<line>x){file}", why, sizeof(why)));
	CHECK_STR(why, "untouched");
	refused("(", "missing closing parenthesis, at character 2");
	refused("{file}(", "missing closing parenthesis, at character 8");
	refused("a|**", "quantifier does not follow a repeatable item, at character 3");
	refused("[z-a]", "range out of order in character class, at character 4");
	refused("(*UTF)x", "using UTF is disabled by the application, at character 7");
	for (int i = 0; i < 31; i++)
		strcat(many, "(a)");
	CHECK(pattern_check(many, why, sizeof(why)));
	strcat(many, "(a)");
	refused(many, "32 groups, more than 31");
	/* A wrong one that got by is one that nothing is like. */
	fresh();
	form.match = "(";
	CHECK_STR(find("bad 3: (\n"), "none");
}

int main(void)
{
	huge = malloc(HUGE_SIZE + 1);
	RUN(bash_errors);
	RUN(c_errors);
	RUN(cpp_errors);
	RUN(go_errors);
	RUN(java_errors);
	RUN(javascript_errors);
	RUN(lua_errors);
	RUN(perl_errors);
	RUN(php_errors);
	RUN(python_errors);
	RUN(r_errors);
	RUN(ruby_errors);
	RUN(rust_errors);
	RUN(sh_errors);
	RUN(typescript_errors);
	RUN(zsh_errors);
	RUN(syntax_errors);
	RUN(errors_that_are_called_so);
	RUN(causes);
	RUN(lists);
	RUN(places_before_and_after);
	RUN(what_speaks_against_it);
	RUN(compilers);
	RUN(names_are_quoted);
	RUN(numbers);
	RUN(patterns_that_take_for_ever);
	RUN(long_lines);
	RUN(bytes_of_any_kind);
	RUN(causes_and_noise);
	RUN(patterns_are_checked);
	free(huge);
	return check_failures != 0;
}
