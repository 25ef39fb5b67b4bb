/* Languages: by name, by file name, by #! line; their sentences and versions. */
#include "../check.h"
#include "tree.h"

#include "language/version.h"

static const char *found(const char *name)
{
	const struct runtime *runtime = runtime_find(name);

	return runtime ? runtime->name : "none";
}

static void by_name(void)
{
	CHECK_STR(found("python"), "python");
	CHECK_STR(found("Python"), "python");
	CHECK_STR(found("py"), "python");
	CHECK_STR(found("python3"), "python");
	CHECK_STR(found("javascript"), "javascript");
	CHECK_STR(found("js"), "javascript");
	CHECK_STR(found("Node"), "javascript");
	CHECK_STR(found("bash"), "bash");
	CHECK_STR(found("sh"), "sh");
	CHECK_STR(found("shell"), "bash");
	CHECK_STR(found("C++"), "cpp");
	CHECK_STR(found(""), "none");
	CHECK_STR(found("pyt"), "none");
	CHECK_STR(found("python "), "none");
	CHECK_STR(found("python31"), "none");
	CHECK_STR(found("../python"), "none");
}

static const char *detected(const char *name, const char *head)
{
	size_t size = strlen(head);
	/* Its own allocation without a terminator, so that the sanitizer sees a read past the end. */
	char *copy = calloc(1, size + !size);
	const struct runtime *runtime;

	memcpy(copy, head, size);
	runtime = runtime_detect(name, copy, size);
	free(copy);
	return runtime ? runtime->name : "none";
}

static void by_file_name(void)
{
	CHECK_STR(detected("x.py", ""), "python");
	CHECK_STR(detected("X.PY", ""), "python");
	CHECK_STR(detected("/a/b/x.js", ""), "javascript");
	CHECK_STR(detected("x.mjs", ""), "javascript");
	CHECK_STR(detected("x.tar.sh", ""), "bash");
	CHECK_STR(detected("x.bash", ""), "bash");
	CHECK_STR(detected("x", ""), "none");
	CHECK_STR(detected("", ""), "none");
	CHECK_STR(detected("x.", ""), "none");
	CHECK_STR(detected("py", ""), "none");
	CHECK_STR(detected("x.pyc", ""), "none");
	CHECK_STR(detected("dir.py/x", ""), "none");
	CHECK_STR(detected("x.rs", ""), "rust");
	CHECK_STR(detected("x.xyz", ""), "none");
	CHECK_STR(detected(NULL, ""), "none");
	/* The name beats the line. */
	CHECK_STR(detected("x.py", "#!/bin/sh\n"), "python");
	CHECK(runtime_detect("x", NULL, 0) == NULL);
}

static void by_first_line(void)
{
	CHECK_STR(detected("x", "#!/usr/bin/python3\nx"), "python");
	CHECK_STR(detected(NULL, "#!/usr/bin/python3"), "python");
	CHECK_STR(detected("x.txt", "#!/usr/bin/python3.11\n"), "python");
	CHECK_STR(detected("x", "#! /usr/bin/env python3 -u\n"), "python");
	CHECK_STR(detected("x", "#!/usr/bin/env -S python3 -u\n"), "python");
	CHECK_STR(detected("x", "#!/usr/bin/env\tnode\n"), "javascript");
	CHECK_STR(detected("x", "#!/bin/sh -e\n"), "sh");
	CHECK_STR(detected("x.sh", "#!/bin/sh -e\n"), "sh");
	CHECK_STR(detected("x.sh", "#!/usr/bin/zsh\n"), "zsh");
	CHECK_STR(detected("x.py", "#!/bin/sh\n"), "python");
	CHECK_STR(detected("x", "#!/bin/bash\r\n"), "bash");
	CHECK_STR(detected("x", "#!bash\n"), "bash");
	CHECK_STR(detected("x", "#!/usr/bin/perl\n"), "perl");
	CHECK_STR(detected("x", "#!/usr/bin/pearl\n"), "none");
	CHECK_STR(detected("x", "#!/usr/bin/env\n"), "none");
	CHECK_STR(detected("x", "#!/usr/bin/env\r\npython3\n"), "none");
	CHECK_STR(detected("x", "#!"), "none");
	CHECK_STR(detected("x", "#!\n"), "none");
	CHECK_STR(detected("x", "#!   "), "none");
	CHECK_STR(detected("x", "#!/"), "none");
	CHECK_STR(detected("x", "#!/usr/bin/ python3\n"), "none");
	CHECK_STR(detected("x", "#\n!/bin/sh"), "none");
	CHECK_STR(detected("x", " #!/bin/sh\n"), "none");
	CHECK_STR(detected("x", "print(1)\n#!/bin/sh\n"), "none");
	CHECK_STR(detected("x", "#!/bin/shx\n"), "none");
	CHECK_STR(detected("x", "#!.\n"), "none");
	CHECK(runtime_detect("x", "#!/bin/s\0h", 10) == NULL);
}

static bool ends_with(const char *text, const char *end)
{
	return strlen(text) >= strlen(end) && strcmp(text + strlen(text) - strlen(end), end) == 0;
}

static void sentences(void)
{
	struct error err = { 0 };
	char name[1000];

	/* What is installed is this host's; Bash is always there. */
	CHECK_INT(runtime_unknown("cobol", &err), -1);
	CHECK_INT(err.kind, ERROR_LANGUAGE);
	CHECK(strncmp(err.text, "Unknown language \"cobol\"; available: bash, ", 43) == 0);
	CHECK(!strstr(err.text, "did you mean"));
	CHECK_INT(runtime_unknown("Pyton", &err), -1);
	CHECK(ends_with(err.text, "; did you mean python?"));
	CHECK_INT(runtime_unknown("typscript", &err), -1);
	CHECK(ends_with(err.text, "; did you mean typescript?"));
	CHECK_INT(runtime_unknown("nodejs20", &err), -1);
	CHECK(ends_with(err.text, "; did you mean javascript?"));
	CHECK_INT(runtime_unknown("x", &err), -1);
	CHECK(!strstr(err.text, "did you mean"));
	memset(name, 'x', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	CHECK_INT(runtime_unknown(name, &err), -1);
	CHECK(strstr(err.text, "\"; available: bash, ") != NULL);
	CHECK_INT(runtime_missing(runtime_find("node"), &err), -1);
	CHECK_INT(err.kind, ERROR_LANGUAGE);
	CHECK_STR(err.text,
		  "JavaScript is not installed on this machine; install it with: sudo apt-get install nodejs");
}

/* main.sh is Bash's and main.sql SQLite's: these have to be named. */
static bool shares_endings(const struct runtime *runtime)
{
	return strcmp(runtime->name, "sh") == 0 || strcmp(runtime->name, "postgres") == 0;
}

static void the_list_is_whole(void)
{
	size_t count = 0;

	for (const struct runtime *runtime; (runtime = runtime_at(count)) != NULL; count++) {
		char file[64];

		CHECK(runtime_find(runtime->name) == runtime);
		for (const char *const *alias = runtime->aliases; *alias; alias++)
			CHECK(runtime_find(*alias) == runtime);
		CHECK(runtime->tool_count > 0 && runtime->tools[0].candidates[0][0] == '/');
		CHECK(runtime->run[0] && runtime->version[0] && runtime->install && runtime->display);
		/* A box's own file name would be recognised again. */
		snprintf(file, sizeof(file), "/x/%s", runtime->file);
		CHECK(runtime_detect(file, "", 0) == runtime || shares_endings(runtime));
	}
	CHECK_INT(count, 18);
	CHECK(!runtime_at(count + 1000));
}

/* Programs of the test's own, so that it does not depend on what is installed. */
static struct runtime made_up(struct runtime_tool *tool, const char *const *programs)
{
	static const char *const version[] = { "{made-up}", "--version", NULL };
	struct runtime runtime = *runtime_find("bash");

	*tool = (struct runtime_tool){ "made-up", programs };
	runtime.name = "made-up";
	runtime.tools = tool;
	runtime.tool_count = 1;
	runtime.version = version;
	return runtime;
}

static void program(int dir, const char *name, const char *script)
{
	unlinkat(dir, name, 0);
	tree_write(dir, name, script, strlen(script));
	tree_mode(dir, name, 0755);
}

static void versions(void)
{
	char *home = tree_new(), path[128], version[64] = "unset";
	int dir = open(home, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const char *const programs[] = { "/nonexistent/x", path, NULL };
	struct runtime_tool tool;
	struct runtime runtime = made_up(&tool, programs);

	snprintf(path, sizeof(path), "%s/program", home);
	CHECK(!runtime_program(&runtime, false));
	CHECK(!runtime_version(&runtime, version, sizeof(version)));
	CHECK(!runtime_version_cached(&runtime, version, sizeof(version)));
	program(dir, "program", "#!/bin/sh\necho \"GNU thing, version 5.2.15(1)-release\"\n");
	CHECK_STR(runtime_program(&runtime, false), path);
	runtime.compile.needs = (const char *const[]){ "/nonexistent/x", NULL };
	CHECK(!runtime_program(&runtime, false));
	CHECK_STR(runtime_program(&runtime, true), path);
	runtime.needs = runtime.compile.needs;
	CHECK(!runtime_program(&runtime, true));
	runtime.needs = runtime.compile.needs = (const char *const[]){ "/nonexistent/x", path, NULL };
	CHECK_STR(runtime_program(&runtime, false), path);
	runtime.needs = runtime.compile.needs = NULL;
	CHECK(runtime_version(&runtime, version, sizeof(version)));
	CHECK_STR(version, "5.2.15");
	program(dir, "program", "#!/bin/sh\necho v20.1.0 >&2\n");
	CHECK(runtime_version(&runtime, version, sizeof(version)));
	CHECK_STR(version, "20.1.0");
	program(dir, "program", "#!/bin/sh\necho none\n");
	CHECK(!runtime_version(&runtime, version, sizeof(version)));
	program(dir, "program", "#!/bin/sh\n");
	CHECK(!runtime_version(&runtime, version, sizeof(version)));
	tree_mode(dir, "program", 0644);
	CHECK(!runtime_program(&runtime, false));
	close(dir);
	tree_free(home);
}

static void versions_are_remembered_until_the_program_changes(void)
{
	char *home = tree_new(), path[128], state[128], version[64];
	int dir = open(home, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const char *const programs[] = { path, NULL };
	struct runtime_tool tool;
	struct runtime runtime = made_up(&tool, programs);

	snprintf(path, sizeof(path), "%s/program", home);
	snprintf(state, sizeof(state), "%s/new/state", home);
	setenv("EMBERBOX_HOME", state, 1);
	/* It counts how often it is asked. */
	program(dir, "program", "#!/bin/sh\necho x >>\"${0%/*}/asked\"\necho 1.0\n");
	for (int i = 0; i < 3; i++) {
		CHECK(runtime_version_cached(&runtime, version, sizeof(version)));
		CHECK_STR(version, "1.0");
	}
	CHECK_STR(tree_read(dir, "asked"), "x\n");
	/* Another size, in case the clock is too coarse to show the change. */
	program(dir, "program", "#!/bin/sh\necho y >>\"${0%/*}/asked\"\necho 1.0.1\n");
	CHECK(runtime_version_cached(&runtime, version, sizeof(version)));
	CHECK_STR(version, "1.0.1");
	CHECK_STR(tree_read(dir, "asked"), "x\ny\n");
	/* Rubbish in the file is not an answer. */
	unlinkat(dir, "new/state/version-made-up", 0);
	tree_write(dir, "new/state/version-made-up", "rubbish", 7);
	CHECK(runtime_version_cached(&runtime, version, sizeof(version)));
	CHECK_STR(version, "1.0.1");
	/* Nowhere to remember it: asked each time. */
	setenv("EMBERBOX_HOME", "/proc/nowhere", 1);
	CHECK(runtime_version_cached(&runtime, version, sizeof(version)));
	CHECK_STR(version, "1.0.1");
	unsetenv("EMBERBOX_HOME");
	close(dir);
	tree_free(home);
}

static void languages_can_be_read_again(void)
{
	static const char text[] = "display: Novel\nfile: x\ntools:\n  sh: [/bin/sh]\nversion: [\"{sh}\"]\n"
				   "install: none\nrun: [\"{sh}\", \"{entry}\"]\n";
	char *home = tree_new();
	int dir = open(home, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const struct runtime *bash = runtime_find("bash"), *novel;

	setenv("EMBERBOX_HOME", home, 1);
	CHECK_STR(found("novel"), "none");
	CHECK_INT(mkdirat(dir, "runtimes", 0755), 0);
	CHECK_INT(mkdirat(dir, "runtimes/novel", 0755), 0);
	tree_write(dir, "runtimes/novel/runtime.yaml", text, strlen(text));
	CHECK_STR(found("novel"), "none");
	runtime_reload();
	CHECK_STR(found("novel"), "novel");
	novel = runtime_find("novel");
	CHECK(novel && !novel->broken);
	CHECK(runtime_find("bash") == bash);
	unlinkat(dir, "runtimes/novel/runtime.yaml", 0);
	unlinkat(dir, "runtimes/novel", AT_REMOVEDIR);
	runtime_reload();
	CHECK_STR(found("novel"), "none");
	/* A run that began before may still use it. */
	CHECK_STR(novel->display, "Novel");
	unsetenv("EMBERBOX_HOME");
	close(dir);
	tree_free(home);
}

int main(void)
{
	RUN(by_name);
	RUN(by_file_name);
	RUN(by_first_line);
	RUN(sentences);
	RUN(the_list_is_whole);
	RUN(versions);
	RUN(versions_are_remembered_until_the_program_changes);
	RUN(languages_can_be_read_again);
	return check_failures != 0;
}
