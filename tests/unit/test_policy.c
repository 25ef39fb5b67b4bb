/* The look before a run: every rule on its two programs, what a reader may answer, the lists, and readers that die. */
/* tests/run: timeout=120 */
#include "../check.h"

#include "policy/gate.h"
#include "policy/policy.h"
#include "policy/reader_client.h"

#include <signal.h>
#include <unistd.h>

struct example {
	const char *grammar; /* whose rule */
	const char *pattern; /* the rule */
	bool import;         /* of an import */
	const char *bad;     /* breaks it */
	const char *good;    /* does not */
};

#define HIGH
#define MEDIUM
#define LOW
#define IMPORT(severity, pattern, reason, bad, good) { GRAMMAR, pattern, true, bad, good },
#define CALL(severity, pattern, reason, bad, good)   { GRAMMAR, pattern, false, bad, good },
static const struct example examples[] = {
#define GRAMMAR "python"
#include "policy/rules/python.def"
#undef GRAMMAR
#define GRAMMAR "javascript"
#include "policy/rules/javascript.def"
#undef GRAMMAR
#define GRAMMAR "typescript"
#include "policy/rules/javascript.def"
#undef GRAMMAR
#define GRAMMAR "bash"
#include "policy/rules/bash.def"
#undef GRAMMAR
#define GRAMMAR "ruby"
#include "policy/rules/ruby.def"
#undef GRAMMAR
#define GRAMMAR "go"
#include "policy/rules/go.def"
#undef GRAMMAR
#define GRAMMAR "c"
#include "policy/rules/c.def"
#undef GRAMMAR
#define GRAMMAR "sql"
#include "policy/rules/sql.def"
#undef GRAMMAR
};

static const struct runtime *runtime_of(const char *grammar)
{
	return runtime_find(strcmp(grammar, "sql") == 0 ? "sqlite" : grammar);
}

static void look(const char *language, const char *code, const struct policy_lists *lists, struct policy_report *report)
{
	struct error err = { 0 };

	if (policy_check(runtime_of(language), code, strlen(code), lists, report, &err) < 0)
		check_fail("%s: %s", code, err.text);
}

static bool fires(const struct example *example, const char *code)
{
	_cleanup_report_ struct policy_report report = { 0 };
	bool found = false;

	look(example->grammar, code, NULL, &report);
	for (size_t i = 0; i < report.count; i++) {
		const struct policy_entry *entry = &report.entries[i];

		found |= entry->rule && strcmp(entry->rule->pattern, example->pattern) == 0 &&
			 (entry->kind == WIRE_IMPORT) == example->import && entry->blocked == example->import;
	}
	return found;
}

static void rules(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(examples); i++) {
		const struct example *example = &examples[i];

		if (!fires(example, example->bad))
			check_fail("%s: %s does not fire on: %s", example->grammar, example->pattern, example->bad);
		if (fires(example, example->good))
			check_fail("%s: %s fires on: %s", example->grammar, example->pattern, example->good);
	}
}

/* One line a report: "I1:8 os plain", "F2:1 os.system", "S3:1". */
static void summary(const char *language, const char *code, char *out, size_t room)
{
	_cleanup_report_ struct policy_report report = { 0 };
	size_t used = 0;

	*out = '\0';
	look(language, code, NULL, &report);
	for (size_t i = 0; i < report.count && used < room; i++) {
		const struct policy_entry *e = &report.entries[i];

		used += (size_t)snprintf(out + used, room - used, "%s%c%u:%u %s%s%s", used ? "|" : "",
					 e->kind == WIRE_SYNTAX   ? 'S'
					 : e->kind == WIRE_IMPORT ? 'I'
								  : 'F',
					 e->line, e->column, e->kind == WIRE_FINDING ? e->rule->pattern : e->name,
					 e->kind == WIRE_IMPORT ? " " : "",
					 e->kind == WIRE_IMPORT ? how_name(e->how) : "");
	}
}

#define SUMMARY(language, code, want)                                                                                  \
	do {                                                                                                           \
		char got_text[1024];                                                                                   \
		summary(language, code, got_text, sizeof(got_text));                                                   \
		CHECK_STR(got_text, want);                                                                             \
	} while (0)

static void imports_of_every_kind(void)
{
	SUMMARY("python", "import a.b as c, d", "I1:8 a.b plain|I1:18 d plain");
	SUMMARY("python", "from a.b import c", "I1:6 a.b from");
	SUMMARY("python", "from . import c", "");
	SUMMARY("python", "x = __import__('o' + \"s\")", "I1:5 os dynamic");
	SUMMARY("python", "import importlib as i\ni.import_module('os')", "I1:8 importlib plain|I2:1 os dynamic");
	SUMMARY("python", "f = __import__\nf('os')", "I2:1 os dynamic");
	SUMMARY("python", "__import__(name)", "I1:1 name computed");
	SUMMARY("python", "import sys\nsys.modules['os']", "I1:8 sys plain|I2:1 os dynamic");
	SUMMARY("python", "__import__('os').system('ls')", "F1:1 os.system|I1:1 os dynamic");
	SUMMARY("javascript", "const a = require('x' + `y`)", "I1:11 xy plain");
	SUMMARY("javascript", "require(name)", "I1:1 name computed");
	SUMMARY("javascript", "await import('x')", "I1:7 x dynamic");
	SUMMARY("javascript", "export * from 'x'", "I1:1 x plain");
	SUMMARY("javascript", "require('child_process').exec('ls')", "F1:1 child_process.*|I1:1 child_process plain");
	SUMMARY("typescript", "import x = require('x')", "I1:1 x plain");
	SUMMARY("typescript", "import type { A } from 'x'; const e = <div>{1}</div>;", "I1:1 x plain");
	SUMMARY("typescript", "const n = <number>x;", "");
	/* A carriage return alone ends a comment there, and in Ruby it does not. */
	SUMMARY("python", "# x\rimport a\r\nimport b", "I2:8 a plain|I3:8 b plain");
	SUMMARY("javascript", "// x\rrequire('a')\r\nrequire('b')", "I2:1 a plain|I3:1 b plain");
	SUMMARY("ruby", "# x\rrequire 'a'\r\nrequire 'b'", "I2:1 b plain");
	SUMMARY("ruby", "require_relative 'x'\nrequire 'y'", "I2:1 y plain");
	SUMMARY("ruby", "require name", "I1:1 name computed");
	SUMMARY("bash", "source ./x.sh\n. \"$HOME/y\"", "I1:1 ./x.sh source|I2:1 $HOME/y computed");
	SUMMARY("go", "package main\nimport . \"fmt\"", "I2:8 fmt plain");
	SUMMARY("c", "#include <a.h>\n#include \"own.h\"\n", "I1:1 a.h plain");
}

static void names_are_resolved(void)
{
	SUMMARY("python", "import os\nrun = os.system\nrun('ls')", "I1:8 os plain|F3:1 os.system");
	SUMMARY("python", "run('ls')", "");
	SUMMARY("javascript", "const f = require('fs'), g = f.rmSync; g('x')", "I1:11 fs plain|F1:40 fs.rm*");
	SUMMARY("javascript", "(0, eval)('x')", "F1:1 eval");
	SUMMARY("javascript", "globalThis['eval']('x')", "F1:1 eval");
	SUMMARY("javascript", "globalThis.require('fs')", "I1:1 fs plain");
	SUMMARY("python", "import builtins as b\nb.eval('1')", "I1:8 builtins plain|F2:1 eval");
	SUMMARY("python", "from os import *\nsystem('ls')\nfoo('ls')", "I1:6 os from|F2:1 os.system");
	SUMMARY("ruby", "F = FileUtils\nF.rm_rf('x')", "F2:1 FileUtils.rm*");
	SUMMARY("ruby", "send(:system, 'ls')", "F1:1 system");
	SUMMARY("c", "int (*run)(const char *) = system;\nint main(void) { run(\"ls\"); }", "F2:18 system");
	SUMMARY("bash", "/bin/rm --recursive -f x", "F1:1 rm -rf");
	SUMMARY("sqlite", "WITH o AS (SELECT a FROM u WHERE b = 1) DELETE FROM t;", "F1:1 delete !where");
	SUMMARY("sqlite", "WITH o AS (SELECT a FROM u) DELETE FROM t WHERE a = 1;", "");
}

static void mistakes_have_places(void)
{
	SUMMARY("python", "def f(:\n    pass", "S1:7 )");
	SUMMARY("python", "x = 1\n", "");
	SUMMARY("go", "package main\nfunc main() {", "S2:13 {");
	/* What is called is seen in spite of the mistake. */
	SUMMARY("python", "import os\n)\n", "I1:8 os plain|S2:1 )");
}

/* Columns are bytes, also behind what is no ASCII, a tab, and other ends of lines than \n. */
static void places_are_bytes(void)
{
	SUMMARY("python", "\xc3\xa9 = '\xe6\xbc\xa2'; import os\r\n\timport re", "I1:20 os plain|I2:9 re plain");
	SUMMARY("python", "\xef\xbb\xbfimport os", "I1:11 os plain");
	SUMMARY("javascript", "'\xf0\x9f\x99\x82'; eval('x')\n\n\n /* \xc3\xa4\n*/ eval(1)", "F1:9 eval|F5:4 eval");
	SUMMARY("c", "char *s = \"\xff\"; int f(void) { return system(s); }\n", "F1:37 system");
	SUMMARY("bash", "echo \xc3\xbc \\\n; eval x", "F2:3 eval");
	SUMMARY("sqlite", "SELECT '\xc3\xa9';\tDROP TABLE t;", "F1:14 drop table|F1:14 drop");
}

/* before, each of `count` times part, after */
static char *many(const char *before, const char *part, size_t count, const char *after)
{
	const size_t size = strlen(before) + count * strlen(part) + strlen(after) + 1;
	char *out = malloc(size), *at = out;

	CHECK(out != NULL);
	at = stpcpy(at, before);
	while (count-- > 0)
		at = stpcpy(at, part);
	stpcpy(at, after);
	return out;
}

/* A list is not gone through once for each of its elements: each of these took minutes if it were. */
static void long_lists_are_read(void)
{
	static const struct {
		const char *language, *before, *part, *after, *want;
	} lists[] = {
		{ "python", "x = [", "1, ", "]\nimport os\n", "I2:8 os plain" },
		{ "python", "f('a' ", "'b' ", ")\nimport os\n", "I2:8 os plain" },
		{ "python", "from os import (", "a, ", "b)\neval(x)\n", "I1:6 os from|F2:1 eval" },
		{ "python", "x = ", "(", "", NULL },
		{ "javascript", "require('", "\\x61", "');\neval(1)", NULL },
		{ "javascript", "import {", "a, ", "b} from 'x';\neval(1)", "I1:1 x plain|F2:1 eval" },
		{ "javascript", "", "a;", "eval(1)", NULL },
		{ "bash", "rm ", "a ", "\neval x", "F2:1 eval" },
		{ "sqlite", "INSERT INTO t VALUES (0)", ", (1)", ";\nDROP TABLE t;", "F2:1 drop table|F2:1 drop" },
		{ "ruby", "f(", "a, ", "b)\nsystem 'x'", "F2:1 system" },
		{ "go", "package main\nvar x = f(", "a, ", "b)\nimport \"os\"", "I3:8 os plain" },
		{ "c", "int x[] = { ", "1, ", "0 };\nint y = system(z);", "F2:9 system" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		char *code = many(lists[i].before, lists[i].part, 100000, lists[i].after);

		if (lists[i].want) {
			SUMMARY(lists[i].language, code, lists[i].want);
		} else {
			_cleanup_report_ struct policy_report report = { 0 };

			look(lists[i].language, code, NULL, &report);
			CHECK(report.count > 0);
		}
		free(code);
	}
}

static void lists_decide(void)
{
	const struct policy_lists lists = { "numpy,os.path", "os,socket" };
	_cleanup_report_ struct policy_report report = { 0 };

	look("python", "import numpy.linalg\nimport os\nimport os.path\nimport socket\nimport numpylike\nimport ctypes",
	     &lists, &report);
	CHECK_INT(report.count, 6);
	if (report.count != 6)
		return;
	CHECK(report.entries[0].blocked);  /* by the registry */
	CHECK(!report.entries[1].blocked); /* allowed */
	CHECK(report.entries[2].blocked);  /* who names more decides */
	CHECK(!report.entries[3].blocked); /* allowed */
	CHECK(!report.entries[4].blocked); /* another module */
	CHECK(report.entries[5].blocked);  /* the language's own list */
	CHECK_INT(list_match("python", "os", "os.path"), 2);
	CHECK_INT(list_match("go", "os", "os/exec"), 0);
	CHECK_INT(list_match("javascript", "fs", "fs/promises"), 2);
	CHECK_INT(list_match("python", "", "os"), 0);
}

static int decode(const struct wire_tell *head, const void *records, size_t size, char *why)
{
	_cleanup_report_ struct policy_report report = { 0 };
	struct error err = { 0 };
	int done = report_decode(policy_rules_of("python"), head, records, size, &report, &err);

	strcpy(why, err.text);
	return done;
}

static void answers_are_not_believed(void)
{
	struct {
		struct wire_record record;
		char name[4];
	} one = { { WIRE_IMPORT, HOW_PLAIN, 0, 1, 1, 4 }, { 'n', 'a', 'm', 'e' } };
	struct wire_tell head = { WIRE_TELL, WIRE_WHOLE, 1, sizeof(one) }, wrong;
	char why[1024];

	CHECK_INT(decode(&head, &one, sizeof(one), why), 0);
#define WRONG(change)                                                                                                  \
	do {                                                                                                           \
		__typeof__(one) saved = one;                                                                           \
		wrong = head;                                                                                          \
		change;                                                                                                \
		CHECK_INT(decode(&wrong, &one, sizeof(one), why), -1);                                                 \
		CHECK(strstr(why, "the reader's answer is invalid") != NULL);                                          \
		one = saved;                                                                                           \
	} while (0)
	WRONG(wrong.magic = 1);
	WRONG(wrong.state = 3);
	WRONG(wrong.count = 2);
	WRONG(wrong.count = 0);
	WRONG(wrong.count = WIRE_RECORDS_MAX + 1);
	WRONG(wrong.size--);
	WRONG(one.record.kind = WIRE_KINDS);
	WRONG(one.record.how = HOWS);
	WRONG(one.record.line = 0);
	WRONG(one.record.column = UINT32_MAX);
	WRONG(one.record.size = 5);
	WRONG(one.record.size = UINT32_MAX);
	WRONG(one.name[2] = '\0');
	WRONG((one.record.kind = WIRE_FINDING, one.record.rule = 100000));
	/* A rule of an import is no call. */
	WRONG((one.record.kind = WIRE_FINDING, one.record.rule = 0));
}

/* The children of this process: its readers. */
static size_t kill_readers(void)
{
	char path[64], text[4096];
	FILE *file;
	size_t count = 0;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	file = fopen(path, "re");
	if (!file)
		return 0;
	if (fgets(text, sizeof(text), file)) {
		for (char *save, *word = strtok_r(text, " \n", &save); word; word = strtok_r(NULL, " \n", &save))
			count += kill((pid_t)atoi(word), SIGKILL) == 0;
	}
	fclose(file);
	return count;
}

static void a_dead_reader_is_replaced(void)
{
	SUMMARY("python", "import a", "I1:8 a plain");
	CHECK(kill_readers() > 0);
	SUMMARY("python", "import b", "I1:8 b plain");
	/* It is kept: the next does not start another. */
	SUMMARY("python", "import c", "I1:8 c plain");
}

static void what_cannot_be_read_is_told(void)
{
	size_t size = (4 << 20) + 1;
	char *code = malloc(size);
	_cleanup_report_ struct policy_report large = { 0 }, none = { 0 }, deep = { 0 };
	struct error err = { 0 };

	memset(code, '(', size);
	CHECK_INT(policy_check(runtime_find("python"), code, size, NULL, &large, &err), 0);
	CHECK_STR(large.unread, "it is larger than 4 MiB");
	CHECK_INT(policy_check(runtime_find("lua"), "x", 1, NULL, &none, &err), 0);
	CHECK_STR(none.unread, "there is no grammar for this language");
	/* A depth that would end a recursive walk. */
	CHECK_INT(policy_check(runtime_find("python"), code, 300000, NULL, &deep, &err), 0);
	CHECK(deep.unread == NULL || strstr(deep.unread, "too long") != NULL || strstr(deep.unread, "died") != NULL);
	free(code);
	SUMMARY("python", "import a", "I1:8 a plain");
}

/* Python reads such a program as another one: "+AGkAbQBwAG8AcgB0-" is import. */
static void an_encoding_is_told(void)
{
	static const struct {
		const char *code;
		bool unread;
	} cases[] = {
		{ "# -*- coding: utf-7 -*-\n+AGkAbQBwAG8AcgB0- os\n", true },
		{ "#!/usr/bin/python3\r\n# vim: set fileencoding=rot13 :\nvzcbeg bf\n", true },
		{ "\f # encoding:\tutf_16", true },
		{ "#!x\r#coding=punycode", true },
		{ "# -*- coding: UTF-8 -*-\nx = 1\n", false },
		{ "# coding=latin-1\nx = 1\n", false },
		{ "# coding style\n# coding:\n# coding: utf-7\n", false },
		{ "x = 'coding: utf-7'\n", false },
		{ "# coding", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_report_ struct policy_report report = { 0 };
		struct error err = { 0 };

		CHECK_INT(
			policy_check(runtime_find("python"), cases[i].code, strlen(cases[i].code), NULL, &report, &err),
			0);
		CHECK_STR(report.unread ? report.unread : "", cases[i].unread ? "its encoding is not supported" : "");
	}
	SUMMARY("ruby", "# coding: utf-7\nrequire 'a'", "I2:1 a plain");
}

static void every_byte_is_taken(void)
{
	char code[512];
	struct error err = { 0 };

	for (size_t i = 0; i < sizeof(code); i++)
		code[i] = (char)(i * 7);
	for (size_t i = 0; policy_rules_at(i); i++) {
		_cleanup_report_ struct policy_report report = { 0 };

		CHECK_INT(
			policy_check(runtime_of(policy_rules_at(i)->grammar), code, sizeof(code), NULL, &report, &err),
			0);
		CHECK(report.unread == NULL);
	}
}

static void the_gate(void)
{
	_cleanup_gate_ struct gate open = { 0 }, shut = { 0 }, warned = { 0 };
	struct error err = { 0 };
	struct result *result;
	struct spec spec;

	spec_init(&spec);
	CHECK_INT(spec_set(&spec, "language", "python", &err), 0);
	CHECK_INT(spec_set_code(&spec, "import math", 11, &err), 0);
	CHECK_INT(spec_add_content(&spec, "own.py", "import socket\nimport os", 23, &err), 0);
	CHECK_INT(gate_look(&spec, &open, &err), 0);
	CHECK_INT(spec_set(&spec, "policy", "warn", &err), 0);
	CHECK_INT(gate_look(&spec, &warned, &err), 0);
	CHECK_INT(warned.warning_count, 2);
	CHECK_STR(warned.warnings[0], "line 1: import socket");
	CHECK_INT(spec_set(&spec, "policy", "block", &err), 0);
	CHECK_INT(gate_look(&spec, &shut, &err), 1);
	result = result_new(&spec);
	gate_block(&shut, result);
	result_explain(result, NULL);
	CHECK_STR(result->message, "Security policy blocked import: socket");
	CHECK_INT(result_exit_code(result), 126);
	CHECK(strstr(result_json(result), "\"blocked_imports\":[\"socket\",\"os\"]") != NULL);
	result_free(result);
	CHECK_INT(spec_set(&spec, "policy", "perhaps", &err), -1);
	CHECK_STR(err.text, "policy: \"perhaps\" is not one of off, warn, block");
	spec_free(&spec);
}

/* A file of the host's that nobody could look at does not run where programs are blocked. */
static void the_gate_is_shut_for_what_cannot_be_read(void)
{
	static const struct {
		const char *file, *why;
	} cases[] = {
		{ "/proc/self/mem:own.py", "it cannot be read" }, /* opens, has the size 0, and read() is EIO */
		{ "/proc/version:own.py", NULL },                 /* has the size 0 as well, and is read */
		{ "/dev/null:own.py", "it is not a plain file" },
		{ "/proc/self/exe:own.py", "it is larger than 4 MiB" },
		{ "/proc/self/nowhere:own.py", NULL }, /* the run says so */
		{ "/proc/version/x:own.py", "it cannot be read" },
		{ "/dev/null:own.txt", NULL },
	};
	const char *const modes[] = { "warn", "block" };

	for (size_t i = 0; i < 2 * sizeof(cases) / sizeof(cases[0]); i++) {
		const char *why = i % 2 ? cases[i / 2].why : NULL;
		_cleanup_gate_ struct gate gate = { 0 };
		struct error err = { 0 };
		struct spec spec;

		spec_init(&spec);
		CHECK_INT(spec_set(&spec, "language", "python", &err), 0);
		CHECK_INT(spec_set_code(&spec, "import math", 11, &err), 0);
		CHECK_INT(spec_set(&spec, "file", cases[i / 2].file, &err), 0);
		CHECK_INT(spec_set(&spec, "policy", modes[i % 2], &err), 0);
		CHECK_INT(gate_look(&spec, &gate, &err), why ? 1 : 0);
		CHECK_STR(gate.unread ? gate.unread : "", why ? why : "");
		spec_free(&spec);
	}
}

int main(void)
{
	RUN(rules);
	RUN(imports_of_every_kind);
	RUN(names_are_resolved);
	RUN(mistakes_have_places);
	RUN(places_are_bytes);
	RUN(long_lists_are_read);
	RUN(lists_decide);
	RUN(answers_are_not_believed);
	RUN(a_dead_reader_is_replaced);
	RUN(what_cannot_be_read_is_told);
	RUN(an_encoding_is_told);
	RUN(every_byte_is_taken);
	RUN(the_gate);
	RUN(the_gate_is_shut_for_what_cannot_be_read);
	policy_close();
	return check_failures != 0;
}
