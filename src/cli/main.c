/* emberbox: finds the sub-command and calls it. */
#include "base/text.h"
#include "cli/cmd.h"
#include "base/state.h"
#include "commit.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct command {
	const char *name;                  /* name of the command */
	const char *summary;               /* one line for the help */
	int (*run)(int argc, char **argv); /* its function */
} commands[] = {
	{ "run", "run a program in a box, stream its output, exit with its code", cmd_run },
	{ "repl", "an interactive session that keeps definitions", cmd_repl },
	{ "session", "sessions of the service: list, start, exec, stop, their files", cmd_session },
	{ "languages", "list languages, and the packages for those that are missing", cmd_languages },
	{ "prepare", "prepare languages before their first run", cmd_prepare },
	{ "check", "check a program without running it: mistakes, imports, calls", cmd_check },
	{ "detect", "tell whether a chat message asks to run its code", cmd_detect },
	{ "why", "show which rule decides about a connection, without making it", cmd_why },
	{ "doctor", "report what this host can enforce, with fixes", cmd_doctor },
	{ "serve", "serve runs over HTTP and a Unix socket, with boxes made ahead", cmd_serve },
	{ "mcp", "MCP server on stdin and stdout, for assistants", cmd_mcp },
	{ "history", "list past runs, newest first", cmd_history },
	{ "show", "show one past run, with its whole output", cmd_show },
	{ "stats", "count past runs by language and status", cmd_stats },
	{ "audit", "show or verify the audit log", cmd_audit },
	{ "config", "show each setting and its source", cmd_config },
	{ "token", "manage bearer tokens of the HTTP API: list, add, remove, show", cmd_token },
};

enum {
	COMMANDS = sizeof(commands) / sizeof(commands[0])
};

static void print_commands(FILE *out)
{
	fputs("Commands:\n", out);
	for (size_t i = 0; i < COMMANDS; i++)
		fprintf(out, "  %-12s %s\n", commands[i].name, commands[i].summary);
}

static int print_help(void)
{
	puts("Usage: emberbox COMMAND [options]\n"
	     "Runs untrusted code in a box of its own.\n");
	print_commands(stdout);
	puts("\n"
	     "  --help       this text; `emberbox COMMAND --help` or `emberbox help COMMAND`\n"
	     "               for its options\n"
	     "  -V, --version\n"
	     "               the version");
	return cmd_flush(0);
}

static int unknown_command(const char *name)
{
	const char *names[COMMANDS + 1] = { NULL };
	const char *nearest;

	for (size_t i = 0; i < COMMANDS; i++)
		names[i] = commands[i].name;
	nearest = text_nearest(name, names);
	if (nearest)
		cmd_complain("unknown command \"%.64s\"; did you mean \"%s\"?", name, nearest);
	else
		cmd_complain("unknown command \"%.64s\"; emberbox --help lists all of them", name);
	return EXIT_USAGE;
}

/*
 * The caller may have closed 0, 1 or 2, and the next open() would then become
 * standard output. So the gaps are filled first: input is at its end, errors
 * are discarded, and output fails as it does if a reader has left, because
 * discarding it silently would be wrong.
 */
static int fill_standard_fds(void)
{
	int no_output = fcntl(STDOUT_FILENO, F_GETFD) < 0, fd, ends[2];

	if (!no_output && fcntl(STDIN_FILENO, F_GETFD) >= 0 && fcntl(STDERR_FILENO, F_GETFD) >= 0)
		return 0;
	do
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	while (fd >= 0 && fd <= STDERR_FILENO && fcntl(fd, F_SETFD, 0) == 0);
	if (fd < 0 || close(fd) < 0)
		return -1;
	if (!no_output)
		return 0;
	if (pipe2(ends, O_CLOEXEC) < 0 || dup2(ends[1], STDOUT_FILENO) < 0)
		return -1;
	close(ends[0]);
	return close(ends[1]);
}

/* Migrates the files of an earlier version. Commands that only print help or the version do not. */
static int move_state(void)
{
	struct error err = { 0 };
	char note[4 * PATH_MAX];
	int moved = state_migrate(note, sizeof(note), &err);

	if (moved < 0)
		cmd_complain("%s", err.text);
	else if (moved > 0)
		cmd_complain("%s", note);
	return moved;
}

int main(int argc, char **argv)
{
	if (fill_standard_fds() < 0) {
		cmd_complain("cannot open /dev/null");
		return EXIT_BROKEN;
	}
	if (argc < 2) {
		cmd_complain("no command given");
		print_commands(stderr);
		return EXIT_USAGE;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
		return print_help();
	if (strcmp(argv[1], "help") == 0) {
		/* `emberbox help run` is `emberbox run --help`. */
		char *asked[] = { argc > 2 ? argv[2] : NULL, (char *)"--help", NULL };

		if (argc == 2)
			return print_help();
		for (size_t i = 0; i < COMMANDS; i++) {
			if (strcmp(asked[0], commands[i].name) == 0)
				return commands[i].run(2, asked);
		}
		return unknown_command(asked[0]);
	}
	if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0 || strcmp(argv[1], "version") == 0) {
		printf("emberbox %s%s\n", eb_version(), *EMBERBOX_COMMIT ? " (" EMBERBOX_COMMIT ")" : "");
		return cmd_flush(0);
	}
	for (size_t i = 0; i < COMMANDS; i++) {
		if (strcmp(argv[1], commands[i].name) == 0)
			return move_state() < 0 ? EXIT_BROKEN : commands[i].run(argc - 1, argv + 1);
	}
	return unknown_command(argv[1]);
}
