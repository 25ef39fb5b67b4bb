/* emberbox mcp: an MCP server on stdin and stdout, for assistants that start their tools themselves. */
#include "base/own.h"
#include "wire/service_socket.h"
#include "client/mcp_relay.h"
#include "client/private_service.h"
#include "cli/cmd.h"
#include "cli/mcp_config.h"
#include "cli/options.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
	OPT_SOCKET = 1,
	OPT_PRINT_CONFIG,
	OPT_CLIENT,
	OPT_HTTP,
	OPT_HELP
};

static const struct option_spec specs[] = {
	{ OPT_SOCKET, 0, "socket", "PATH", "the service's socket; default: EMBERBOX_SOCKET, otherwise this user's" },
	{ OPT_PRINT_CONFIG, 0, "print-config", NULL, "print the entry for a client's configuration, and exit" },
	{ OPT_CLIENT, 0, "client", "NAME",
	  "the client: json, claude-code, claude-desktop, codex, cursor, gemini, vscode, windsurf, zed (json)" },
	{ OPT_HTTP, 0, "http", NULL,
	  "print an entry that uses the service over HTTP, with its token, not this program" },
	{ OPT_HELP, 'h', "help", NULL, "show this help" },
	{ 0 },
};

/* The service to use. */
struct mcp_service {
	const char *given;              /* value of --socket; NULL: none */
	char found[PATH_MAX];           /* default path */
	struct private_service private; /* a service of our own, if there is no other */
};

static int print_help(void)
{
	puts("Usage: emberbox mcp [--socket PATH]\n"
	     "       emberbox mcp --print-config [--client NAME] [--http]\n"
	     "Serves MCP on stdin and stdout. Uses this user's service, or starts one\n"
	     "that ends with this command.\n");
	option_print(stdout, specs);
	return cmd_flush(0);
}

/* Finds a running service, or starts one. If --socket names a service, no other is used. */
static const char *find_service(void *data, struct error *err)
{
	struct mcp_service *place = data;
	const char *path = place->given;
	_cleanup_close_ int fd = -1;

	if (!path && service_socket_path(place->found, sizeof(place->found)) == 0)
		path = place->found;
	fd = path ? service_socket_connect(path) : -1;
	if (fd >= 0)
		return path;
	if (place->given) {
		error_errno(err, "there is no service at \"%s\"", place->given);
		return NULL;
	}
	if (path && errno == EPERM)
		cmd_complain("the service at \"%s\" belongs to another user, and is not used", path);
	private_service_end(&place->private);
	if (private_service_start(&place->private, err) < 0) {
		cmd_complain("%s", err->text);
		return NULL;
	}
	return place->private.socket;
}

int cmd_mcp(int argc, char **argv)
{
	struct option_reader reader = { .specs = specs, .argc = argc, .argv = argv, .next = 1 };
	struct mcp_service place = { .private = PRIVATE_SERVICE_INIT };
	struct mcp_config config = { 0 };
	struct error err = { 0 };
	bool print = false;
	int option, done;

	while ((option = option_next(&reader)) != OPTION_END) {
		if (option == OPT_HELP)
			return print_help();
		if (option == OPTION_WORD)
			return cmd_usage("mcp", "unexpected argument \"%s\"", reader.value);
		if (option == OPTION_BAD)
			return cmd_usage("mcp", "%s", reader.message);
		print |= option == OPT_PRINT_CONFIG;
		config.http |= option == OPT_HTTP;
		if (option == OPT_CLIENT)
			config.client = reader.value;
		if (option == OPT_SOCKET)
			place.given = reader.value;
	}
	if ((config.client || config.http) && !print)
		return cmd_usage("mcp", "%s goes with --print-config", config.client ? "--client" : "--http");
	if (config.http && place.given)
		return cmd_usage("mcp", "--http and --socket exclude each other; leave one out");
	if (print) {
		config.socket = place.given;
		return mcp_config_print(&config);
	}
	done = mcp_relay_run(
		&(struct mcp_relay){
			.in = STDIN_FILENO, .out = STDOUT_FILENO, .service = find_service, .data = &place },
		&err);
	private_service_end(&place.private);
	if (done < 0)
		cmd_complain("%s", err.text);
	return done < 0 ? EXIT_BROKEN : 0;
}
