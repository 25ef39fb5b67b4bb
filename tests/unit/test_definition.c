/* runtime.yaml: what a whole one means, and each mistake with its place and what was expected. */
#include "../check.h"

#include "base/own.h"
#include "language/definition.h"

/* Six lines, and a seventh. */
#define BASE                                                                                                           \
	"display: Demo\nfile: main.x\ntools:\n  demo: [/usr/bin/demo]\nversion: [\"{demo}\", -V]\ninstall: get demo\n"
#define START "run: [\"{demo}\"]\n"

struct fault {
	const char *text; /* of the definition */
	const char *want; /* the error; one that ends in a blank is its beginning */
};

static int read_text(const char *name, const char *text, struct arena *arena, struct runtime *out, struct error *err)
{
	return definition_read(name, "demo.yaml", text, strlen(text), arena, out, err);
}

static void check_faults(const struct fault *faults, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const char *want = faults[i].want;
		size_t length = strlen(want);
		_cleanup_arena_ struct arena arena = { 0 };
		struct error err = { 0 };
		struct runtime runtime;

		CHECK_INT(read_text("demo", faults[i].text, &arena, &runtime, &err), -1);
		CHECK_INT(err.kind, ERROR_USAGE);
		if (want[length - 1] == ' ' && strlen(err.text) > length)
			err.text[length] = '\0';
		CHECK_STR(err.text, want);
	}
}

static void check_list(const char *const *list, const char *want)
{
	char text[1024] = "";

	for (; list && *list; list++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "[%s]", *list);
	CHECK(list);
	CHECK_STR(text, want);
}

/* What every mistake below is made in: without one it is read. */
static void smallest(void)
{
	_cleanup_arena_ struct arena arena = { 0 };
	struct error err = { 0 };
	struct runtime r;

	CHECK_INT(read_text("demo", BASE START, &arena, &r, &err), 0);
	CHECK_STR(err.text, "");
	CHECK_STR(r.name, "demo");
	CHECK_STR(r.display, "Demo");
	CHECK_STR(r.file, "main.x");
	CHECK_STR(r.install, "get demo");
	check_list(r.version, "[{demo}][-V]");
	check_list(r.run, "[{demo}]");
	CHECK_INT(r.tool_count, 1);
	CHECK_STR(r.tools[0].name, "demo");
	check_list(r.tools[0].candidates, "[/usr/bin/demo]");
	check_list(r.aliases, "");
	check_list(r.extensions, "");
	check_list(r.interpreters, "");
	check_list(r.binds, "");
	check_list(r.scratch, "");
	check_list(r.environment, "");
	check_list(r.prepare.step.environment, "");
	check_list(r.compile.step.environment, "");
	check_list(r.compile.sources, "");
	check_list(r.errors.compile, "");
	check_list(r.errors.cause, "");
	check_list(r.errors.noise, "");
	CHECK(!r.prepare.step.argv && !r.compile.step.argv && !r.compile.unchecked && !r.compile.artifact &&
	      !r.session.step.argv);
	CHECK(!r.version_pattern && !r.notes && !r.broken && !r.outputs && !r.prepare.writable);
	CHECK_INT(r.call_count + r.profile_count + r.errors.syntax_count + r.driver_count, 0);
	CHECK(r.limits.timeout == 0 && r.limits.memory == 0 && r.compile.step.limits.memory == 0);
}

static const char rich[] =
	"display: 'Rich: 1'\n"
	"aliases: [r1, c++, c#]\n"
	"extensions: [R, r2]\n"
	"interpreters: [rich, Rscript]\n"
	"file: main.r\n"
	"tools:\n"
	"  rich: [/usr/bin/rich, '/opt/rich-*/bin/rich']\n"
	"  other-1: [/usr/bin/other]\n"
	"version: ['{rich}', version, '{other-1}']\n"
	"version_pattern: 'rich(?<version>[0-9.]+)'\n"
	"install: get rich\n"
	"binds: [/etc/rich, '/etc/rich-*']\n"
	"scratch: [/var/lib/rich]\n"
	"environment: {A: '{rich} {drivers} {prepared} {memory_mb}', EMPTY: '', N: 1}\n"
	"limits: {timeout: 12.5, cpu_time: 3, memory: 256m, cpus: 0.5, pids: 10, disk: 1g}\n"
	"prepare:\n"
	"  run: ['{rich}', '{drivers}/p', '{prepared}', '${HOME}', '{', '{}', '{a b}', '{A}', 'x{1,2}']\n"
	"  environment: {P: '{cpus}'}\n"
	"  limits: {timeout: 60}\n"
	"  writable: true\n"
	"compile:\n"
	"  run: ['{other-1}', '{entry}', '{sources}', '{files}', -o, /sandbox/output/main]\n"
	"  unchecked: [/bin/cp, '{name}', '{stem}']\n"
	"  sources: ['*.r', '*.h']\n"
	"  artifact: main\n"
	"  environment: {Q: '{timeout}'}\n"
	"  limits: {memory: 1g}\n"
	"run: ['{artifact}', '{args}', '{outputs}', '{memory}']\n"
	"session: {run: ['{rich}', '{args}'], environment: {A: b}, fork: true}\n"
	"outputs: true\n"
	"seccomp: [{call: shmget, reason: it shares}, {call: _sysctl, reason: it asks}]\n"
	"profiles: {restricted: {commands: [cat, /usr/bin/ls]}, none: {commands: []}}\n"
	"errors:\n"
	"  syntax:\n"
	"    - {exit: 0, silent: true, unless: u, place: '{file}:(?<line>[0-9]+)', match: m, ends: e}\n"
	"    - {match: 'a{3}'}\n"
	"  compile: [c1, c2]\n"
	"  cause: [d]\n"
	"  noise: [n]\n"
	"notes: one line\n";

static void check_rich_steps(const struct runtime *r)
{
	check_list(r->prepare.step.argv, "[{rich}][{drivers}/p][{prepared}][${HOME}][{][{}][{a b}][{A}][x{1,2}]");
	check_list(r->prepare.step.environment, "[P={cpus}]");
	CHECK(r->prepare.step.limits.timeout == 60 && r->prepare.writable);
	check_list(r->compile.step.argv, "[{other-1}][{entry}][{sources}][{files}][-o][/sandbox/output/main]");
	check_list(r->compile.unchecked, "[/bin/cp][{name}][{stem}]");
	check_list(r->compile.sources, "[*.r][*.h]");
	check_list(r->compile.step.environment, "[Q={timeout}]");
	CHECK_STR(r->compile.artifact, "main");
	CHECK_INT(r->compile.step.limits.memory, 1 << 30);
	check_list(r->run, "[{artifact}][{args}][{outputs}][{memory}]");
	check_list(r->session.step.argv, "[{rich}][{args}]");
	check_list(r->session.step.environment, "[A=b]");
	CHECK(r->session.fork);
}

static void check_rich_errors(const struct runtime_errors *errors)
{
	CHECK_INT(errors->syntax_count, 2);
	CHECK_INT(errors->syntax[0].exit, 0);
	CHECK(errors->syntax[0].silent);
	CHECK_STR(errors->syntax[0].unless, "u");
	CHECK_STR(errors->syntax[0].place, "{file}:(?<line>[0-9]+)");
	CHECK_STR(errors->syntax[0].match, "m");
	CHECK_STR(errors->syntax[0].ends, "e");
	CHECK_INT(errors->syntax[1].exit, -1);
	CHECK(!errors->syntax[1].silent && !errors->syntax[1].unless && !errors->syntax[1].place &&
	      !errors->syntax[1].ends);
	CHECK_STR(errors->syntax[1].match, "a{3}");
	check_list(errors->compile, "[c1][c2]");
	check_list(errors->cause, "[d]");
	check_list(errors->noise, "[n]");
}

static void everything(void)
{
	_cleanup_arena_ struct arena arena = { 0 };
	struct error err = { 0 };
	struct runtime r;

	CHECK_INT(read_text("c-1_+", rich, &arena, &r, &err), 0);
	CHECK_STR(err.text, "");
	CHECK_STR(r.name, "c-1_+");
	CHECK_STR(r.display, "Rich: 1");
	check_list(r.aliases, "[r1][c++][c#]");
	check_list(r.extensions, "[R][r2]");
	check_list(r.interpreters, "[rich][Rscript]");
	CHECK_INT(r.tool_count, 2);
	check_list(r.tools[0].candidates, "[/usr/bin/rich][/opt/rich-*/bin/rich]");
	CHECK_STR(r.tools[1].name, "other-1");
	check_list(r.version, "[{rich}][version][{other-1}]");
	CHECK_STR(r.version_pattern, "rich(?<version>[0-9.]+)");
	check_list(r.binds, "[/etc/rich][/etc/rich-*]");
	check_list(r.scratch, "[/var/lib/rich]");
	check_list(r.environment, "[A={rich} {drivers} {prepared} {memory_mb}][EMPTY=][N=1]");
	CHECK(r.limits.timeout == 12.5 && r.limits.cpu_time == 3 && r.limits.cpus == 0.5);
	CHECK_INT(r.limits.memory, 256 << 20);
	CHECK_INT(r.limits.pids, 10);
	CHECK_INT(r.limits.disk, 1 << 30);
	check_rich_steps(&r);
	CHECK(r.outputs);
	CHECK_INT(r.call_count, 2);
	CHECK_STR(r.calls[1].name, "_sysctl");
	CHECK_STR(r.calls[1].reason, "it asks");
	CHECK_INT(r.profile_count, 2);
	CHECK_STR(r.profiles[0].name, "restricted");
	check_list(r.profiles[0].commands, "[cat][/usr/bin/ls]");
	check_list(r.profiles[1].commands, "");
	check_rich_errors(&r.errors);
	CHECK_STR(r.notes, "one line");
}

static void name(void)
{
	static const char *const bad[] = { "", "C", "1c", "a/b", "a.b", "-a", "abcdefghijklmnopqrstuvwxyz1234567" };
	_cleanup_arena_ struct arena arena = { 0 };
	struct runtime r;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct error err = { 0 };
		char want[256];

		snprintf(want, sizeof(want),
			 "demo.yaml: expected a folder named after the language, with small letters, digits, +, - and "
			 "_, not \"%s\"",
			 bad[i]);
		CHECK_INT(read_text(bad[i], BASE START, &arena, &r, &err), -1);
		CHECK_INT(err.kind, ERROR_USAGE);
		CHECK_STR(err.text, want);
	}
	CHECK_INT(read_text("abcdefghijklmnopqrstuvwxyz123456", BASE START, &arena, &r, NULL), 0);
}

/* What is no YAML, or more of it than definitions use; sentences without "expected" are libyaml's. */
static void no_yaml(void)
{
	static const struct fault faults[] = {
		{ "", "demo.yaml:1:1: expected a mapping with the language's definition, but there is nothing" },
		{ "- a\n", "demo.yaml:1:1: expected a mapping with the language's definition, not a list" },
		{ "words\n", "demo.yaml:1:1: expected a mapping with the language's definition, not \"words\"" },
		{ "display: \"x\n", "demo.yaml:2:1: found unexpected end of stream, while scanning a quoted scalar "
				    "that begins on line 1" },
		{ "display:\tx\n\ty: 1\n", "demo.yaml:2:1: expected spaces: YAML does not allow tabs as indentation" },
		{ "display: &a x\n", "demo.yaml:1:10: expected no anchor: anchors (&) are not used here" },
		{ "display: {a: *b}\n", "demo.yaml:1:14: expected no alias: aliases (*) are not used here" },
		{ "display: !!str x\n", "demo.yaml:1:10: expected no tag: tags (!) are not used here" },
		{ "display: x\n---\nfile: y\n", "demo.yaml:2:1: expected one document; another one begins here" },
		{ "display: x\ndisplay: y\n",
		  "demo.yaml:2:1: expected each key once; \"display\" is on line 1 already" },
		{ "display: \"a\\0b\"\n", "demo.yaml:1:10: expected a string without NUL bytes" },
		{ "? [a]\n: b\n", "demo.yaml:1:3: expected a string as key, not a list" },
		{ "file: x\ndisplay: \xff\n", "demo.yaml:2:10: invalid leading UTF-8 octet" },
	};

	check_faults(faults, ARRAY_SIZE(faults));
}

/* Keys that are unknown, and keys that are missing. */
static void keys(void)
{
	static const struct fault faults[] = {
		{ BASE START "runn: [x]\n", "demo.yaml:8:1: unknown key \"runn\"; did you mean \"run\"?" },
		{ BASE START "zzzzzzzzzzzz: 1\n",
		  "demo.yaml:8:1: unknown key \"zzzzzzzzzzzz\"; expected one of tools, display, aliases, extensions, "
		  "interpreters, file, version, version_pattern, install, needs, binds, scratch, environment, limits, "
		  "prepare, compile, run, buffered, session, ember, outputs, seccomp, profiles, errors, notes" },
		{ BASE START "limits: {memroy: 1g}\n",
		  "demo.yaml:8:10: limits: unknown key \"memroy\"; did you mean \"memory\"?" },
		{ BASE START "errors: {syntax: [{exit: 1, mach: x}]}\n",
		  "demo.yaml:8:29: errors.syntax: unknown key \"mach\"; did you mean \"match\"?" },
		{ BASE "", "demo.yaml:1:1: expected the key \"run\": the program's command line" },
		{ "display: x\n",
		  "demo.yaml:1:1: expected the key \"tools\": what has to be installed, as name: [paths]" },
		{ BASE START "compile: {run: [\"{demo}\"]}\n",
		  "demo.yaml:8:10: compile: expected the key \"artifact\": the name of the file that it creates in "
		  "/sandbox/output" },
		{ BASE START "compile: {artifact: a}\n",
		  "demo.yaml:8:10: compile: expected the key \"run\": the compiler's command line" },
		{ BASE START "prepare: {writable: true}\n", "demo.yaml:8:10: prepare: expected the key \"run\": the "
							    "command line that creates files in /sandbox/output" },
		{ BASE START "errors: {syntax: [{exit: 1}]}\n", "demo.yaml:8:19: errors.syntax: expected the key "
								"\"match\": the pattern of the line with the message" },
		{ BASE START "seccomp: [{call: shmget}]\n",
		  "demo.yaml:8:11: seccomp: expected the key \"reason\": why its programs need it" },
		{ BASE START "profiles: {restricted: {}}\n", "demo.yaml:8:24: profiles.restricted: expected the key "
							     "\"commands\": the commands that can be executed" },
	};

	check_faults(faults, ARRAY_SIZE(faults));
}

/* Values of the wrong kind. */
static void kinds(void)
{
	static const struct fault faults[] = {
		{ "tools: {a: [/b]}\ndisplay: [x]\n",
		  "demo.yaml:2:10: display: expected one line of text, not a list" },
		{ "tools: {a: [/b]}\ndisplay:\n",
		  "demo.yaml:2:9: display: expected one line of text, but there is nothing" },
		{ "tools: {a: [/b]}\ndisplay: \"a\\nb\"\n",
		  "demo.yaml:2:10: display: expected one line of text, not \"a?b\"" },
		{ BASE START "aliases: x\n", "demo.yaml:8:10: aliases: expected a list, each item another name of the "
					     "language, in small letters, not \"x\"" },
		{ BASE START "aliases: [X]\n",
		  "demo.yaml:8:11: aliases: expected another name of the language, in small letters, not \"X\"" },
		{ BASE START "aliases: [x, y, x]\n",
		  "demo.yaml:8:17: aliases: expected each once; \"x\" is given twice" },
		{ BASE START "aliases: [x, null]\n", "demo.yaml:8:14: aliases: expected another name of the language, "
						     "in small letters, but there is nothing" },
		{ BASE START "aliases: [[x]]\n",
		  "demo.yaml:8:11: aliases: expected another name of the language, in small letters, not a list" },
		{ BASE START "extensions: [.x]\n",
		  "demo.yaml:8:14: extensions: expected an extension of file names, without the dot, not \".x\"" },
		{ BASE START "interpreters: [bin/x]\n", "demo.yaml:8:16: interpreters: expected a program's name in #! "
							"lines, without directories, not \"bin/x\"" },
		{ "tools: {a: [/b]}\ndisplay: A\nfile: a/b\n",
		  "demo.yaml:3:7: file: expected a file's name without directories, not \"a/b\"" },
		{ "tools: {a: [/b]}\ndisplay: A\nfile: ..\n",
		  "demo.yaml:3:7: file: expected a file's name without directories, not \"..\"" },
		{ BASE START "outputs: yes\n", "demo.yaml:8:10: outputs: expected true or false, not \"yes\"" },
		{ BASE START "outputs: [true]\n", "demo.yaml:8:10: outputs: expected true or false, not a list" },
		{ BASE START "notes: |\n  two\n  lines\n",
		  "demo.yaml:8:8: notes: expected one line of text, not \"two?lines?\"" },
		{ BASE START "binds: [etc]\n",
		  "demo.yaml:8:9: binds: expected an absolute path without . and .., not \"etc\"" },
		{ BASE START "scratch: [var/lib]\n",
		  "demo.yaml:8:11: scratch: expected an absolute path without . and .., not \"var/lib\"" },
		{ BASE START "binds: [/a/../b]\n",
		  "demo.yaml:8:9: binds: expected an absolute path without . and .., not \"/a/../b\"" },
		{ BASE START "binds: [/]\n",
		  "demo.yaml:8:9: binds: expected an absolute path without . and .., not \"/\"" },
		{ BASE START "environment: [A=b]\n",
		  "demo.yaml:8:14: environment: expected a mapping of names to values, not a list" },
		{ BASE START "environment: {1A: b}\n",
		  "demo.yaml:8:15: environment: expected a variable's name, of letters, digits and _, not \"1A\"" },
		{ BASE START "environment: {A: }\n",
		  "demo.yaml:8:18: environment.A: expected a string, but there is nothing" },
		{ BASE START "environment: {A: [b]}\n",
		  "demo.yaml:8:18: environment.A: expected a string, not a list" },
		{ BASE START "limits: 5\n", "demo.yaml:8:9: limits: expected a mapping of limits, not \"5\"" },
		{ BASE START "prepare: 5\n", "demo.yaml:8:10: prepare: expected a mapping with \"run\", not \"5\"" },
		{ BASE START "compile: 5\n",
		  "demo.yaml:8:10: compile: expected a mapping with \"run\" and \"artifact\", not \"5\"" },
		{ BASE START "errors: 5\n", "demo.yaml:8:9: errors: expected a mapping of patterns, not \"5\"" },
		{ BASE START "session: {run: \"{demo}\"}\n",
		  "demo.yaml:8:16: session.run: expected a command line, as a list of words, not \"{demo}\"" },
		{ BASE START "session: {fork: true}\n",
		  "demo.yaml:8:10: session: expected the key \"run\": the driver's command line" },
		{ BASE START "session: {run: []}\n",
		  "demo.yaml:8:16: session.run: expected at least one word in the command line" },
		{ BASE START "session: {run: [demo]}\n",
		  "demo.yaml:8:17: session.run: expected an absolute path or a tool, as {demo}, for the program, not "
		  "\"demo\"" },
		{ BASE START "session: {run: [\"{args}\"]}\n",
		  "demo.yaml:8:17: session.run: expected an absolute path or a tool, as {demo}, for the program, not "
		  "\"{args}\"" },
		{ BASE START "session: {run: [\"{demo}\", {a: b}]}\n",
		  "demo.yaml:8:27: session.run: expected a string, not a mapping" },
		{ BASE START "session: [\"{demo}\"]\n",
		  "demo.yaml:8:10: session: expected a mapping with \"run\", not a list" },
	};

	check_faults(faults, ARRAY_SIZE(faults));
}

/* Limits beyond their bounds. */
static void numbers(void)
{
	static const struct fault faults[] = {
		{ BASE START "limits: {timeout: 0}\n",
		  "demo.yaml:8:19: limits.timeout: expected a number of seconds between 0.001 and 86400, not \"0\"" },
		{ BASE START "limits: {timeout: 86401}\n", "demo.yaml:8:19: limits.timeout: expected a number of "
							   "seconds between 0.001 and 86400, not \"86401\"" },
		{ BASE START "limits: {cpu_time: -1}\n",
		  "demo.yaml:8:20: limits.cpu_time: expected a number of seconds between 0.001 and 86400, not \"-1\"" },
		{ BASE START "limits: {memory: 3m}\n", "demo.yaml:8:18: limits.memory: expected a size between 4m and "
						       "1024g, as 64k, 256m, 1g or in bytes, not \"3m\"" },
		{ BASE START "limits: {memory: 2048g}\n", "demo.yaml:8:18: limits.memory: expected a size between 4m "
							  "and 1024g, as 64k, 256m, 1g or in bytes, not \"2048g\"" },
		{ BASE START "limits: {memory: lots}\n", "demo.yaml:8:18: limits.memory: expected a size between 4m "
							 "and 1024g, as 64k, 256m, 1g or in bytes, not \"lots\"" },
		{ BASE START "limits: {cpus: 0}\n",
		  "demo.yaml:8:16: limits.cpus: expected a number of cores between 0.01 and 1024, not \"0\"" },
		{ BASE START "limits: {pids: 1.5}\n",
		  "demo.yaml:8:16: limits.pids: expected a number of processes between 1 and 32768, not \"1.5\"" },
		{ BASE START "limits: {pids: 0}\n",
		  "demo.yaml:8:16: limits.pids: expected a number of processes between 1 and 32768, not \"0\"" },
		{ BASE START "limits: {disk: 1k}\n", "demo.yaml:8:16: limits.disk: expected a size between 64k and "
						     "1024g, as 64k, 256m, 1g or in bytes, not \"1k\"" },
		{ BASE START "compile:\n  run: [\"{demo}\"]\n  artifact: a\n  limits:\n    memory: 1x\n",
		  "demo.yaml:12:13: compile.limits.memory: expected a size between 4m and 1024g, as 64k, 256m, 1g or "
		  "in bytes, not \"1x\"" },
	};

	check_faults(faults, ARRAY_SIZE(faults));
}

/* Names of tools, and where they are. */
static void tools(void)
{
	static const struct fault faults[] = {
		{ "tools: [a]\n", "demo.yaml:1:8: tools: expected a mapping of names to lists of paths, not a list" },
		{ "tools: {}\n", "demo.yaml:1:8: tools: expected at least one tool" },
		{ "tools: {A: [/b]}\n",
		  "demo.yaml:1:9: tools: expected a tool's name, of small letters, digits, - and _, not \"A\"" },
		{ "tools: {entry: [/b]}\n",
		  "demo.yaml:1:9: tools: expected another name: {entry} is a placeholder of its own" },
		{ "tools: {a: /b}\n",
		  "demo.yaml:1:12: tools.a: expected a list, each item an absolute path without . and .., not \"/b\"" },
		{ "tools: {a: []}\n", "demo.yaml:1:12: tools.a: expected at least one path" },
		{ "tools: {a: [b]}\n",
		  "demo.yaml:1:13: tools.a: expected an absolute path without . and .., not \"b\"" },
		{ "tools: {a: [/b, /b]}\n", "demo.yaml:1:17: tools.a: expected each once; \"/b\" is given twice" },
	};

	check_faults(faults, ARRAY_SIZE(faults));
}

/* Placeholders that are unknown, or have no meaning where they stand. */
static void placeholders(void)
{
	static const struct fault faults[] = {
		{ BASE "run: [\"{demo}\", \"{entri}\"]\n",
		  "demo.yaml:7:17: run: expected a known placeholder, not {entri}; did you mean {entry}?" },
		{ BASE "run: [\"{demo}\", \"{dmo}\"]\n",
		  "demo.yaml:7:17: run: expected a known placeholder, not {dmo}; did you mean {demo}?" },
		{ BASE "run: [\"{demo}\", \"x{quite_another_thing}\"]\n",
		  "demo.yaml:7:17: run: expected a known placeholder or the name of a tool, not "
		  "{quite_another_thing}" },
		{ BASE "run: [\"{artifact}\"]\n",
		  "demo.yaml:7:7: run: expected no {artifact}: it has no meaning without \"compile\"" },
		{ BASE "run: [\"{demo}\", \"{prepared}/x\"]\n",
		  "demo.yaml:7:17: run: expected no {prepared}: it has no meaning without \"prepare\"" },
		{ BASE "run: [\"{demo}\", \"{outputs}\"]\n",
		  "demo.yaml:7:17: run: expected no {outputs}: it has no meaning without \"outputs: true\"" },
		{ BASE "outputs: false\nrun: [\"{demo}\", \"{outputs}\"]\n",
		  "demo.yaml:8:17: run: expected no {outputs}: it has no meaning without \"outputs: true\"" },
		{ BASE "run: [\"{demo}\", \"x{args}\"]\n", "demo.yaml:7:17: run: expected {args} as a word of its own "
							   "in a command line: it expands to several words" },
		{ BASE "run: [\"{demo}\", \"{args} \"]\n", "demo.yaml:7:17: run: expected {args} as a word of its own "
							   "in a command line: it expands to several words" },
		{ BASE "run: [\"{demo}\", \"{sources}\"]\n",
		  "demo.yaml:7:17: run: expected no {sources} here; it has a meaning in: compile" },
		{ "tools: {a: [/b]}\ndisplay: A\nfile: b\nversion: [\"{a}\", \"{entry}\"]\n",
		  "demo.yaml:4:18: version: expected no {entry} here; it has a meaning in: compile, run" },
		{ BASE START "session: {run: [\"{demo}\", \"{entry}\"]}\n",
		  "demo.yaml:8:27: session.run: expected no {entry} here; it has a meaning in: compile, run" },
		{ BASE START "environment: {A: \"{args}\"}\n",
		  "demo.yaml:8:18: environment.A: expected no {args} here; it has a meaning in: run, session" },
		{ BASE START "environment: {A: \"{entry}\"}\n",
		  "demo.yaml:8:18: environment.A: expected no {entry} here; it has a meaning in: compile, run" },
		{ BASE START "environment: {A: \"{nothing}\"}\n",
		  "demo.yaml:8:18: environment.A: expected a known placeholder or the name of a tool, not {nothing}" },
		{ BASE START "compile: {run: [\"{demo}\", \"{artifact}\"], artifact: a}\n",
		  "demo.yaml:8:27: compile.run: expected no {artifact} here; it has a meaning in: run" },
		{ BASE START "compile: {run: [\"{demo}\", \"{args}\"], artifact: a}\n",
		  "demo.yaml:8:27: compile.run: expected no {args} here; it has a meaning in: run, session" },
		{ BASE START "compile: {run: [\"{demo}\", \"-I{sources}\"], artifact: a}\n",
		  "demo.yaml:8:27: compile.run: expected {sources} as a word of its own in a command line: it expands "
		  "to several words" },
		{ BASE START "compile: {run: [\"{demo}\"], artifact: a, environment: {A: \"{sources}\"}}\n",
		  "demo.yaml:8:58: compile.environment.A: expected {sources} as a word of its own in a command line: "
		  "it expands to several words" },
		{ BASE START "compile: {run: [\"{demo}\"], unchecked: [\"{demo}\", \"{x}\"], artifact: a}\n",
		  "demo.yaml:8:50: compile.unchecked: expected a known placeholder or the name of a tool, not {x}" },
		{ BASE START "prepare: {run: [\"{demo}\", \"{entry}\"]}\n",
		  "demo.yaml:8:27: prepare.run: expected no {entry} here; it has a meaning in: compile, run" },
	};

	check_faults(faults, ARRAY_SIZE(faults));
}

/* What a step leaves and takes. */
static void compile(void)
{
	static const struct fault faults[] = {
		{ BASE START "compile: {run: [\"{demo}\"], artifact: a/b}\n",
		  "demo.yaml:8:38: compile.artifact: expected a file's name without directories, not \"a/b\"" },
		{ BASE START "compile: {run: [\"{demo}\"], artifact: a, sources: [src/*.c]}\n",
		  "demo.yaml:8:51: compile.sources: expected a pattern of file names, as \"*.c\", not \"src/*.c\"" },
		{ BASE START "compile: {run: [\"{demo}\"], artifact: a, sources: \"*.c\"}\n",
		  "demo.yaml:8:50: compile.sources: expected a list, each item a pattern of file names, as \"*.c\", "
		  "not \"*.c\"" },
		{ BASE START "prepare: {run: [\"{demo}\"], writable: 1}\n",
		  "demo.yaml:8:38: prepare.writable: expected true or false, not \"1\"" },
	};

	check_faults(faults, ARRAY_SIZE(faults));
}

/* System calls and profiles. */
static void confinement(void)
{
	static const struct fault faults[] = {
		{ BASE START "seccomp: {call: x}\n",
		  "demo.yaml:8:10: seccomp: expected a list of system calls, not a mapping" },
		{ BASE START "seccomp: [shmget]\n",
		  "demo.yaml:8:11: seccomp: expected a mapping with \"call\" and \"reason\", not \"shmget\"" },
		{ BASE START "seccomp: [{call: \"a b\", reason: x}]\n",
		  "demo.yaml:8:18: seccomp.call: expected a system call's name, not \"a b\"" },
		{ BASE START "seccomp: [{call: shmget, reason: \"\"}]\n",
		  "demo.yaml:8:34: seccomp.reason: expected one line of text, not \"\"" },
		{ BASE START "profiles: [restricted]\n",
		  "demo.yaml:8:11: profiles: expected a mapping of names to profiles, not a list" },
		{ BASE START "profiles: {Restricted: {commands: []}}\n",
		  "demo.yaml:8:12: profiles: expected a profile's name, of small letters, digits, - and _, not "
		  "\"Restricted\"" },
		{ BASE START "profiles: {restricted: [cat]}\n",
		  "demo.yaml:8:24: profiles.restricted: expected a mapping with \"commands\", not a list" },
		{ BASE START "profiles: {restricted: {commands: [bin/cat]}}\n",
		  "demo.yaml:8:36: profiles.restricted.commands: expected a command's name or absolute path, not "
		  "\"bin/cat\"" },
	};

	check_faults(faults, ARRAY_SIZE(faults));
}

/* Patterns; why one does not compile is PCRE's to say. */
static void patterns(void)
{
	static const struct fault faults[] = {
		{ BASE START "version_pattern: \"(x\"\n",
		  "demo.yaml:8:18: version_pattern: expected a pattern that compiles: " },
		{ BASE START "version_pattern: \"x\"\n",
		  "demo.yaml:8:18: version_pattern: expected a pattern with (?<version>…)" },
		{ BASE START "version_pattern: \"\"\n",
		  "demo.yaml:8:18: version_pattern: expected a pattern, not \"\"" },
		{ BASE START "errors: {syntax: {match: x}}\n",
		  "demo.yaml:8:18: errors.syntax: expected a list of forms of a syntax error, not a mapping" },
		{ BASE START "errors: {syntax: [x]}\n",
		  "demo.yaml:8:19: errors.syntax: expected a mapping with \"match\", not \"x\"" },
		{ BASE START "errors: {syntax: [{match: \"[\"}]}\n",
		  "demo.yaml:8:27: errors.syntax.match: expected a pattern that compiles: " },
		{ BASE START "errors: {syntax: [{match: x, place: y}]}\n",
		  "demo.yaml:8:37: errors.syntax.place: expected a pattern with (?<line>…)" },
		{ BASE START "errors: {syntax: [{match: x, exit: 256}]}\n",
		  "demo.yaml:8:36: errors.syntax.exit: expected an exit code between 0 and 255, not \"256\"" },
		{ BASE START "errors: {syntax: [{match: x, exit: -1}]}\n",
		  "demo.yaml:8:36: errors.syntax.exit: expected an exit code between 0 and 255, not \"-1\"" },
		{ BASE START "errors: {syntax: [{match: x, silent: 1}]}\n",
		  "demo.yaml:8:38: errors.syntax.silent: expected true or false, not \"1\"" },
		{ BASE START "errors: {compile: x}\n",
		  "demo.yaml:8:19: errors.compile: expected a list of patterns, not \"x\"" },
		{ BASE START "errors: {cause: [\"*\"]}\n",
		  "demo.yaml:8:18: errors.cause: expected a pattern that compiles: " },
		{ BASE START "errors: {noise: [[x]]}\n",
		  "demo.yaml:8:18: errors.noise: expected a pattern, not a list" },
	};

	check_faults(faults, ARRAY_SIZE(faults));
}

int main(void)
{
	RUN(smallest);
	RUN(everything);
	RUN(name);
	RUN(no_yaml);
	RUN(keys);
	RUN(kinds);
	RUN(numbers);
	RUN(tools);
	RUN(placeholders);
	RUN(compile);
	RUN(confinement);
	RUN(patterns);
	return check_failures != 0;
}
