#include "probe.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct expectation {
	const char *id;       /* the sentence: "F1" */
	const char *attempt;  /* what is tried, as the probe is called */
	const char *expected; /* the exact value */
};

static const struct expectation expectations[] = {
#define SENTENCE(id, text)
#define EXPECT(id, attempt, expected)  { #id, attempt, expected },
#define CONTROL(id, attempt, expected) { #id, attempt, expected },
#include "expect.def"
#undef SENTENCE
#undef EXPECT
#undef CONTROL
};

static const char *label = "";

void say(const char *format, ...)
{
	va_list args;

	printf("%s ", label);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
	fflush(stdout);
}

const char *error_name(int error)
{
	const char *name = strerrorname_np(error);

	return name ? name : "EUNKNOWN";
}

void say_rc(long rc)
{
	say("%s", rc < 0 ? error_name(errno) : "OK");
}

uint64_t size_of(const char *text)
{
	char *end;
	uint64_t value = strtoull(text, &end, 10);

	switch (*end) {
	case 'k':
		return value << 10;
	case 'm':
		return value << 20;
	case 'g':
		return value << 30;
	case 't':
		return value << 40;
	default:
		return value;
	}
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void say_names(char **names, size_t count)
{
	char line[65536] = "";
	size_t used = 0;

	qsort(names, count, sizeof(*names), by_name);
	for (size_t i = 0; i < count && used < sizeof(line) - 512; i++)
		used += (size_t)snprintf(line + used, sizeof(line) - used, "%s%s", i ? " " : "", names[i]);
	say("%s", count ? line : "nothing");
}

void hold(void)
{
	char sink[4096];

	while (read(STDIN_FILENO, sink, sizeof(sink)) > 0)
		;
}

static const struct probe *find(const char *attempt)
{
	static const struct probe *const sections[] = { file_probes,     info_probes,    process_probes,
							resource_probes, network_probes, syscall_probes };
	size_t length = strcspn(attempt, "=");

	for (size_t s = 0; s < sizeof(sections) / sizeof(sections[0]); s++)
		for (const struct probe *p = sections[s]; p->name; p++)
			if (strlen(p->name) == length && memcmp(p->name, attempt, length) == 0)
				return p;
	return NULL;
}

static void attempt_run(const char *attempt, const char *name)
{
	const struct probe *probe = find(attempt);
	size_t length = strcspn(attempt, "=");

	label = name;
	if (!probe)
		say("no such probe");
	else
		probe->run(attempt[length] ? attempt + length + 1 : "");
}

/* In a process of its own, so that what kills it is a value like any other and the next attempt starts clean. */
static void attempt_fork(const char *attempt)
{
	int status;
	pid_t pid = fork();

	label = attempt;
	if (pid < 0) {
		say("cannot fork: %s", error_name(errno));
		return;
	}
	if (pid == 0) {
		alarm(20);
		attempt_run(attempt, attempt);
		_exit(0);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFSIGNALED(status))
		say("SIG%s", sigabbrev_np(WTERMSIG(status)));
}

static int usage(void)
{
	fputs("usage: probe ATTEMPT…     try each, one line each\n"
	      "       probe --all        try everything in expect.def\n"
	      "       probe --expect     print expect.def, fields separated by tabs\n",
	      stderr);
	return 2;
}

/* Root's own machine would be unmounted and renamed: it runs only from where a box has it. */
static bool in_box(void)
{
	char path[64] = "";

	return readlink("/proc/self/exe", path, sizeof(path) - 1) > 0 && strncmp(path, "/sandbox/", 9) == 0;
}

int main(int argc, char **argv)
{
	size_t count = sizeof(expectations) / sizeof(expectations[0]);

	if (argc < 2)
		return usage();
	if (strcmp(argv[1], "--expect") == 0) {
		for (const struct expectation *e = expectations; e < expectations + count; e++)
			printf("%s\t%s\t%s\n", e->id, e->attempt, e->expected);
		return 0;
	}
	if (!in_box()) {
		fputs("probe: this is not a box; outside of one, some attempts would succeed\n", stderr);
		return 2;
	}
	if (strcmp(argv[1], "--all") == 0) {
		for (const struct expectation *e = expectations; e < expectations + count; e++)
			attempt_fork(e->attempt);
		return 0;
	}
	/* An attempt that executes a copy of the probe answers under its own name. */
	if (argc == 4 && strcmp(argv[1], "--label") == 0) {
		attempt_run(argv[3], argv[2]);
		return 0;
	}
	/* Alone, it is this very process that tries: some attempts kill every other process. */
	if (argc == 2) {
		attempt_run(argv[1], argv[1]);
		return 0;
	}
	for (int i = 1; i < argc; i++)
		attempt_fork(argv[i]);
	return 0;
}
