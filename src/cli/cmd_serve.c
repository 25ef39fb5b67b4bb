/* emberbox serve: the service. */
#include "base/log.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/cmd.h"
#include "cli/door.h"
#include "cli/options.h"
#include "registry/config.h"
#include "daemon/supervisor/role_table.h"
#include "daemon/supervisor/supervisor.h"
#include "daemon/front/site.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
	OPT_SOCKET = 1,
	OPT_LISTEN,
	OPT_REGISTRY,
	OPT_LOG,
	OPT_TLS_CERT,
	OPT_TLS_KEY,
	OPT_ALLOW_WEAKER,
	OPT_MAX_RUNNING,
	OPT_MAX_QUEUED,
	OPT_EMBERS,
	OPT_EMBER_MEMORY,
	OPT_HELP
};

static const struct option_spec specs[] = {
	{ OPT_SOCKET, 0, "socket", "PATH",
	  "path of the socket; default: EMBERBOX_SOCKET, otherwise emberbox.sock in the state directory" },
	{ OPT_LISTEN, 0, "listen", "HOST:PORT",
	  "address for HTTP; default 127.0.0.1:7320; port 0: any free port; none: no HTTP" },
	{ OPT_REGISTRY, 0, "registry", "FILE", "profiles and settings; default: registry.yaml in the state directory" },
	{ OPT_LOG, 0, "log", "FORMAT", "messages on stderr: events (default); text or json also log each request" },
	{ OPT_TLS_CERT, 0, "tls-cert", "FILE", "a PEM certificate with its chain: HTTPS instead of HTTP" },
	{ OPT_TLS_KEY, 0, "tls-key", "FILE", "the PEM key of the certificate" },
	{ OPT_ALLOW_WEAKER, 0, "allow-weaker", "LAYER", "serve even if the host lacks this layer: landlock" },
	{ OPT_MAX_RUNNING, 0, "max-running", "N", "concurrent runs; default: 2 for each CPU, and at least 4" },
	{ OPT_MAX_QUEUED, 0, "max-queued", "N", "maximum of queued requests; default 1024" },
	{ OPT_EMBERS, 0, "embers", "N", "maximum of boxes made ahead; default 32; 0: none" },
	{ OPT_EMBER_MEMORY, 0, "ember-memory", "SIZE", "memory for boxes made ahead; default 256m" },
	{ OPT_HELP, 'h', "help", NULL, "show this help" },
	{ 0 },
};

static int print_help(void)
{
	puts("Usage: emberbox serve [options]\n"
	     "Serves runs over HTTP and a Unix socket, with boxes made ahead, until SIGTERM.\n"
	     "Your own languages and the configuration are read again when they change, or by\n"
	     "SIGHUP.\n");
	option_print(stdout, specs);
	return cmd_flush(0);
}

/* Only the supervisor starts roles. main()'s checks at exit do not apply: their targets are gone or confined. */
static int run_role(const char *name)
{
	struct error err = { 0 };
	int code = 0;

	if (!role_table_has(name))
		return cmd_usage("serve", "unknown option \"--role=%.32s\"", name);
	if (role_table_run(name, &err) < 0) {
		cmd_complain("%s", err.text);
		code = err.kind == ERROR_USAGE ? EXIT_USAGE : EXIT_BROKEN;
	}
	_exit(code);
}

static int read_count(const char *name, const char *text, size_t least, size_t most, size_t *out)
{
	uint64_t count;

	if (!text_count(text, &count) || count < least || count > most)
		return cmd_usage("serve", "--%s: expected a number from %zu to %zu, not \"%.32s\"", name, least, most,
				 text);
	*out = (size_t)count;
	return 0;
}

/* Returns 0, or the exit code. */
static int read_option(int option, struct option_reader *reader, struct serve_options *options)
{
	switch (option) {
	case OPT_SOCKET:
		options->socket = reader->value;
		return 0;
	case OPT_LISTEN:
		options->listen = reader->value;
		return 0;
	case OPT_REGISTRY:
		options->registry = reader->value;
		return 0;
	case OPT_LOG:
		options->log = reader->value;
		return 0;
	case OPT_TLS_CERT:
		options->tls_cert = reader->value;
		return 0;
	case OPT_TLS_KEY:
		options->tls_key = reader->value;
		return 0;
	case OPT_ALLOW_WEAKER:
		options->weaker = reader->value;
		if (strcmp(reader->value, "landlock") == 0)
			return 0;
		return cmd_usage("serve", "--allow-weaker: expected landlock, not \"%.32s\"", reader->value);
	case OPT_MAX_RUNNING:
		return read_count("max-running", reader->value, 1, SERVE_RUNNING_MAX, &options->max_running);
	case OPT_MAX_QUEUED:
		return read_count("max-queued", reader->value, 1, SERVE_QUEUED_MAX, &options->max_queued);
	case OPT_EMBERS:
		return read_count("embers", reader->value, 0, SERVE_EMBERS_MAX, &options->embers);
	case OPT_EMBER_MEMORY:
		if (text_size(reader->value, &options->ember_memory))
			return 0;
		return cmd_usage("serve", "--ember-memory: expected a size like 256m, not \"%.32s\"", reader->value);
	case OPTION_WORD:
		if (strchr(reader->value, ':'))
			return cmd_usage("serve", "unexpected argument \"%s\"; did you mean --listen %s?",
					 reader->value, reader->value);
		return cmd_usage("serve", "unexpected argument \"%s\"", reader->value);
	default:
		/* Other programs call the option --port or --host. */
		if (!reader->suggests && (strcmp(reader->unknown, "--port") == 0 ||
					  strcmp(reader->unknown, "--host") == 0 || strcmp(reader->unknown, "-p") == 0))
			return cmd_usage("serve", "%s; did you mean --listen HOST:PORT?", reader->message);
		return cmd_usage("serve", "%s", reader->message);
	}
}

/* The socket's path and the cache's size are read from variables, also if a file sets them. */
static int export_settings(const struct serve_options *options, struct error *err)
{
	/* With both options of TLS, because one of them may come from a variable. */
	const struct config_option all[] = {
		{ CONFIG_REGISTRY_FILE, options->registry },
		{ CONFIG_TLS_CERT, options->tls_cert },
		{ CONFIG_TLS_KEY, options->tls_key },
	};
	struct config_option given[ARRAY_SIZE(all)];
	_cleanup_config_ struct config config = { 0 };
	size_t count = 0;

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		if (all[i].value)
			given[count++] = all[i];
	if (config_load_service(given, count, &config, err) < 0)
		return -1;
	return config_export(&config) == 0 ? 0 : error_set(err, ERROR_FAILED, 0, "no memory");
}

/*
 * Prints the URL of the playground on a terminal, with the token in the fragment, which browsers do not send. Otherwise
 * the output is a log, which must not contain tokens.
 */
static void show_door(const char *address)
{
	const struct http_text pack = { (const char *)site_pack_data, site_pack_size };
	struct site_file page;
	struct service_door door;

	if (!*address || door_find(&door) != 0)
		return;
	if (!site_find(pack, "/", &page))
		cmd_complain("this build is without the playground");
	else if (door.given)
		cmd_complain("the playground: %s/ (its token is EMBERBOX_TOKEN)", address);
	else
		cmd_complain("the playground, signed in: %s/#token=%s", address, door.token);
	cmd_complain("`emberbox token show` prints the token%s",
		     tcgetpgrp(STDERR_FILENO) == getpgrp() ? "; Ctrl-C ends the service" : "");
}

int cmd_serve(int argc, char **argv)
{
	struct option_reader reader = { .specs = specs, .argc = argc, .argv = argv, .next = 1 };
	struct serve_options options = SERVE_OPTIONS_INIT;
	struct error err = { 0 };
	int option, code;

	if (argc == 2 && strncmp(argv[1], "--role=", 7) == 0)
		return run_role(argv[1] + 7);
	while ((option = option_next(&reader)) != OPTION_END) {
		if (option == OPT_HELP)
			return print_help();
		code = read_option(option, &reader, &options);
		if (code != 0)
			return code;
	}
	options.say = log_say;
	options.on_ready = isatty(STDERR_FILENO) ? show_door : NULL;
	if (export_settings(&options, &err) == 0 && serve_run(&options, &err) == 0)
		return 0;
	cmd_complain("%s", err.text);
	return err.kind == ERROR_USAGE ? EXIT_USAGE : EXIT_BROKEN;
}
