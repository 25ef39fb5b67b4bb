#include "runtime/runtime.h"

#include "base/fd.h"
#include "base/own.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIST(...) ((const char *const[]){ __VA_ARGS__, NULL })
#define NOTHING   ((const char *const[]){ NULL })

static const struct runtime runtimes[] = {
	{
		.name = "python",
		.display = "Python",
		.aliases = LIST("py", "python3"),
		.extensions = LIST("py"),
		.interpreters = LIST("python", "python3"),
		.programs = LIST("/usr/bin/python3", "/usr/local/bin/python3"),
		/* -u: output is seen when it is printed, also when the program is killed later. */
		.flags = LIST("-u"),
		.file = "main.py",
		.version_flag = "--version",
		.install = "sudo apt-get install python3",
		.syntax = syntax_python,
	},
	{
		.name = "javascript",
		.display = "JavaScript",
		.aliases = LIST("js", "node", "nodejs"),
		.extensions = LIST("js", "cjs", "mjs"),
		.interpreters = LIST("node", "nodejs"),
		.programs = LIST("/usr/bin/node", "/usr/local/bin/node"),
		.flags = NOTHING,
		.file = "main.js",
		.version_flag = "--version",
		.install = "sudo apt-get install nodejs",
		.syntax = syntax_node,
	},
	{
		.name = "bash",
		.display = "Bash",
		.aliases = LIST("sh", "shell"),
		.extensions = LIST("sh", "bash"),
		.interpreters = LIST("bash", "sh"),
		.programs = LIST("/usr/bin/bash", "/bin/bash"),
		.flags = NOTHING,
		.file = "main.sh",
		.version_flag = "--version",
		.install = "sudo apt-get install bash",
		.syntax = syntax_bash,
	},
};

static bool list_has(const char *const *list, const char *word, size_t size)
{
	for (; *list; list++)
		if (strlen(*list) == size && strncasecmp(*list, word, size) == 0)
			return true;
	return false;
}

const struct runtime *runtime_at(size_t index)
{
	return index < ARRAY_SIZE(runtimes) ? &runtimes[index] : NULL;
}

const struct runtime *runtime_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(runtimes); i++)
		if (strcasecmp(runtimes[i].name, name) == 0 || list_has(runtimes[i].aliases, name, strlen(name)))
			return &runtimes[i];
	return NULL;
}

/* The word that names the interpreter in a #! line: the last part of the path, or what `env` is to start. */
static size_t shebang_word(const char *head, size_t size, const char **word)
{
	const char *end = memchr(head, '\n', size), *at = head + 2;

	end = end ? end : head + size;
	for (;;) {
		const char *from;

		while (at < end && (*at == ' ' || *at == '\t'))
			at++;
		from = at;
		while (at < end && *at != ' ' && *at != '\t' && *at != '\r')
			at++;
		for (const char *c = from; c < at; c++)
			if (*c == '/')
				from = c + 1;
		*word = from;
		if (at == from)
			return 0;
		if (*from == '-' || (at - from == 3 && memcmp(from, "env", 3) == 0))
			continue;
		return (size_t)(at - from);
	}
}

const struct runtime *runtime_detect(const char *name, const void *head, size_t size)
{
	const char *slash = name ? strrchr(name, '/') : NULL;
	const char *dot = name ? strrchr(slash ? slash : name, '.') : NULL;
	const char *word;
	size_t length;

	for (size_t i = 0; dot && i < ARRAY_SIZE(runtimes); i++)
		if (list_has(runtimes[i].extensions, dot + 1, strlen(dot + 1)))
			return &runtimes[i];
	if (size < 3 || memcmp(head, "#!", 2) != 0)
		return NULL;
	length = shebang_word(head, size, &word);
	/* python3.11 is python3 */
	for (size_t i = 0; i < length; i++)
		if (word[i] == '.')
			length = i;
	for (size_t i = 0; length > 0 && i < ARRAY_SIZE(runtimes); i++)
		if (list_has(runtimes[i].interpreters, word, length))
			return &runtimes[i];
	return NULL;
}

const char *runtime_program(const struct runtime *runtime)
{
	for (const char *const *program = runtime->programs; *program; program++)
		if (access(*program, X_OK) == 0)
			return *program;
	return NULL;
}

bool runtime_version(const struct runtime *runtime, char *out, size_t size)
{
	const char *program = runtime_program(runtime);
	char *argv[] = { (char *)program, (char *)runtime->version_flag, NULL };
	char *envp[] = { (char *)"PATH=/usr/bin:/bin", NULL };
	posix_spawn_file_actions_t actions;
	_cleanup_close_ int from = -1, to = -1;
	char text[256];
	ssize_t n = -1;
	const char *digits;
	int pipe_fds[2];
	pid_t pid;

	if (!program || pipe2(pipe_fds, O_CLOEXEC) < 0)
		return false;
	from = pipe_fds[0];
	to = pipe_fds[1];
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, to, 1);
	posix_spawn_file_actions_adddup2(&actions, to, 2);
	if (posix_spawn(&pid, program, &actions, NULL, argv, envp) == 0) {
		close_fd(&to);
		n = fd_read(from, text, sizeof(text) - 1);
		close_fd(&from);
		waitpid(pid, NULL, 0);
	}
	posix_spawn_file_actions_destroy(&actions);
	if (n <= 0)
		return false;
	text[n] = '\0';
	digits = strpbrk(text, "0123456789");
	if (!digits)
		return false;
	snprintf(out, size, "%.*s", (int)strspn(digits, "0123456789."), digits);
	return true;
}

/* A name or an alias that is near to it, by the language's own name. */
static const char *nearest_name(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(runtimes); i++) {
		const char *const own[] = { runtimes[i].name, NULL };

		/* Aliases of two letters are near to everything short. */
		if (strlen(name) > 2 && (text_nearest(name, own) || text_nearest(name, runtimes[i].aliases)))
			return runtimes[i].name;
	}
	return NULL;
}

int runtime_unknown(const char *name, struct error *err)
{
	const char *nearest = nearest_name(name);
	char known[256] = "";

	for (size_t i = 0; i < ARRAY_SIZE(runtimes); i++) {
		size_t used = strlen(known);

		if (runtime_program(&runtimes[i]))
			snprintf(known + used, sizeof(known) - used, "%s%s", used ? ", " : "", runtimes[i].name);
	}
	return error_set(err, ERROR_LANGUAGE, 0, "Unknown language \"%.64s\"; available: %s%s%s%s", name,
			 *known ? known : "none", nearest ? "; did you mean " : "", nearest ? nearest : "",
			 nearest ? "?" : "");
}

int runtime_missing(const struct runtime *runtime, struct error *err)
{
	return error_set(err, ERROR_LANGUAGE, 0, "%s is not installed on this machine; install it with: %s",
			 runtime->display, runtime->install);
}
