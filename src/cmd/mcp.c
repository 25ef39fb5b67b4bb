/* emberbox mcp: MCP on stdin and stdout, for assistants that start their tools themselves. */
#include "base/own.h"
#include "client/client.h"
#include "client/mcp_relay.h"
#include "client/private_service.h"
#include "cmd/cmd.h"
#include "cmd/options.h"

#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
	OPT_SOCKET = 1,
	OPT_PRINT_CONFIG,
	OPT_HELP
};

static const struct option_spec specs[] = {
	{ OPT_SOCKET, 0, "socket", "PATH", "the service's socket; default: EMBERBOX_SOCKET, else that of this user" },
	{ OPT_PRINT_CONFIG, 0, "print-config", NULL, "print what to put into a client's configuration, and exit" },
	{ OPT_HELP, 'h', "help", NULL, "this text" },
	{ 0 },
};

/* Which service is used. */
struct place {
	const char *given;              /* by --socket; NULL: where clients look */
	char found[PATH_MAX];           /* where clients look */
	struct private_service private; /* our own, if there is no other */
};

static int print_help(void)
{
	puts("Usage: emberbox mcp [options]\n"
	     "Speaks MCP on stdin and stdout. Uses the service that runs for this user, or one\n"
	     "of its own that ends with it.\n");
	option_print(stdout, specs);
	return cmd_flush(0);
}

/* The program by its path: what starts it may have another PATH. */
static int print_config(void)
{
	char self[PATH_MAX] = "";
	json_t *root;
	_cleanup_free_ char *text = NULL;

	if (readlink("/proc/self/exe", self, sizeof(self) - 1) <= 0)
		snprintf(self, sizeof(self), "emberbox");
	root = json_pack("{s:{s:{s:s, s:[s]}}}", "mcpServers", "emberbox", "command", self, "args", "mcp");
	text = root ? json_dumps(root, JSON_INDENT(2)) : NULL;
	json_decref(root);
	if (!text) {
		cmd_complain("no memory");
		return EXIT_BROKEN;
	}
	puts(text);
	return cmd_flush(0);
}

/* One that is there, else our own. A service that was named is not replaced by another. */
static const char *find_service(void *data, struct error *err)
{
	struct place *place = data;
	const char *path = place->given;
	_cleanup_close_ int fd = -1;

	if (!path && client_socket_path(place->found, sizeof(place->found)) == 0)
		path = place->found;
	fd = path ? client_connect(path) : -1;
	if (fd >= 0)
		return path;
	if (place->given) {
		error_errno(err, "there is no service at \"%s\"", place->given);
		return NULL;
	}
	if (path && errno == EPERM)
		cmd_complain("the service at \"%s\" belongs to somebody else, and is not used", path);
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
	struct place place = { .private = PRIVATE_SERVICE_INIT };
	struct error err = { 0 };
	int option, done;

	while ((option = option_next(&reader)) != OPTION_END) {
		if (option == OPT_HELP)
			return print_help();
		if (option == OPT_PRINT_CONFIG)
			return print_config();
		if (option == OPTION_WORD)
			return cmd_usage("mcp", "unexpected argument \"%s\"", reader.value);
		if (option != OPT_SOCKET)
			return cmd_usage("mcp", "%s", reader.message);
		place.given = reader.value;
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
