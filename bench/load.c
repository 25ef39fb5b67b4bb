/* The load generator's command line; see load.h. */
#include "load.h"

#include "base/own.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static const char USAGE[] =
	"Usage: load --socket PATH --request FILE [options]    requests to the service\n"
	"       load --mcp --request FILE [options] -- PROGRAM ARGS...\n"
	"                                                      calls of run_code to an MCP server\n"
	"       load --command [options] -- PROGRAM ARGS...    the same for a bare command\n"
	"Does it again and again and prints how long it took, in seconds, as one JSON object.\n"
	"\n"
	"  --connections N    so many at once (1); for a command, workers\n"
	"  --count N          so many altogether\n"
	"  --seconds S        for so long\n"
	"  --expect TEXT      the whole output; anything else is a failure\n"
	"  --contains TEXT    a part of the output\n"
	"  --expect-bytes N   the output's size\n"
	"  --max-cold N       stop after so many cold starts (100): some kernels stall when\n"
	"                     seccomp filters are loaded and freed by the thousand\n"
	"  --pause MSEC       between two attempts, not measured: what is refilled has time for it\n"
	"  --samples          print the time of each, too\n"
	"\n"
	"@N@ in the request or the command becomes another number each time.\n";

enum option_key {
	SOCKET = 256,
	REQUEST,
	COMMAND,
	MCP,
	CONNECTIONS,
	COUNT,
	SECONDS,
	EXPECT,
	CONTAINS,
	BYTES,
	COLD,
	PAUSE,
	SAMPLES,
};

static const struct option OPTIONS[] = {
	{ "socket", required_argument, NULL, SOCKET },
	{ "request", required_argument, NULL, REQUEST },
	{ "command", no_argument, NULL, COMMAND },
	{ "mcp", no_argument, NULL, MCP },
	{ "connections", required_argument, NULL, CONNECTIONS },
	{ "count", required_argument, NULL, COUNT },
	{ "seconds", required_argument, NULL, SECONDS },
	{ "expect", required_argument, NULL, EXPECT },
	{ "contains", required_argument, NULL, CONTAINS },
	{ "expect-bytes", required_argument, NULL, BYTES },
	{ "max-cold", required_argument, NULL, COLD },
	{ "pause", required_argument, NULL, PAUSE },
	{ "samples", no_argument, NULL, SAMPLES },
	{ "help", no_argument, NULL, 'h' },
	{ 0 },
};

static void usage_fail(const char *problem)
{
	fprintf(stderr, "load: %s\n\n%s", problem, USAGE);
	exit(2);
}

static double number(const char *text, double most)
{
	char *end;
	double value = strtod(text, &end);

	if (end == text || *end || !(value > 0) || value > most)
		usage_fail("a number cannot be used");
	return value;
}

static char *file_read(const char *path)
{
	_cleanup_fclose_ FILE *file = fopen(path, "re");
	struct buf text = { 0 };
	char part[4096];
	size_t size;

	if (!file) {
		fprintf(stderr, "load: %s: %s\n", path, strerror(errno));
		exit(2);
	}
	while ((size = fread(part, 1, sizeof(part), file)) > 0)
		buf_add(&text, part, size);
	return buf_take(&text);
}

static void option_take(struct load_options *options, int key, char *value)
{
	switch (key) {
	case SOCKET:
		options->socket = value;
		break;
	case REQUEST:
		free(options->request);
		options->request = file_read(value);
		break;
	case CONNECTIONS:
		options->workers = (size_t)number(value, 4096);
		break;
	case COUNT:
		options->count = (uint64_t)number(value, 1e9);
		break;
	case SECONDS:
		options->nsec = (uint64_t)(number(value, 86400) * 1e9);
		break;
	case EXPECT:
		options->expect = value;
		break;
	case CONTAINS:
		options->contains = value;
		break;
	case BYTES:
		options->expect_bytes = (uint64_t)number(value, 1e12);
		break;
	case COLD:
		options->max_cold = (uint64_t)number(value, 1e9);
		break;
	case PAUSE:
		options->pause_usec = (uint64_t)(number(value, 60000) * 1e3);
		break;
	case MCP:
		options->mcp = true;
		break;
	case SAMPLES:
		options->samples = true;
		break;
	}
}

/* A thousand connections are more than the usual limit. */
static void files_allow(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

int main(int argc, char **argv)
{
	struct load load = { .options = { .workers = 1, .max_cold = 100, .expect_bytes = UINT64_MAX } };
	bool command = false;
	int key, code;

	while ((key = getopt_long(argc, argv, "+h", OPTIONS, NULL)) != -1) {
		if (key == 'h')
			return fputs(USAGE, stdout) < 0;
		if (key == '?')
			return 2;
		command = command || key == COMMAND;
		option_take(&load.options, key, optarg);
	}
	load.options.argv = argv + optind;
	if (command + load.options.mcp + (load.options.socket != NULL) != 1)
		usage_fail("one of --socket, --mcp and --command");
	if ((command || load.options.mcp) != (optind < argc))
		usage_fail(load.options.socket ? "--socket takes no command" : "no command");
	if (!command && !load.options.request)
		usage_fail("a request comes from --request FILE");
	if (!load.options.count && !load.options.nsec)
		usage_fail("--count or --seconds");
	/* A service that goes away is a failed attempt, not our end; commands would inherit it. */
	if (!command) {
		signal(SIGPIPE, SIG_IGN);
		files_allow();
	}
	code = load_run(&load);
	free(load.options.request);
	return code;
}
