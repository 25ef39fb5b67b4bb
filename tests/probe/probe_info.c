/* P: what a box can learn and change through proc. */
#include "probe.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

extern char **environ;

static void environment(const char *arg)
{
	static char *names[4096];
	size_t count = 0;

	(void)arg;
	for (char **e = environ; *e && count < 4096; e++)
		names[count++] = strndup(*e, strcspn(*e, "="));
	say_names(names, count);
}

static void variable(const char *name)
{
	const char *value = getenv(name);

	say("%s", value ? value : "unset");
}

/* Every process that /proc shows, itself named as such. */
static void processes(const char *arg)
{
	char *names[1024];
	size_t count = 0;
	DIR *dir = opendir("/proc");

	(void)arg;
	if (!dir) {
		say("%s", error_name(errno));
		return;
	}
	for (struct dirent *e; (e = readdir(dir)) && count < 1024;) {
		if (!isdigit((unsigned char)e->d_name[0]))
			continue;
		pid_t pid = atoi(e->d_name);

		names[count++] = strdup(pid == getpid() ? "self" : pid == getppid() ? "parent" : e->d_name);
	}
	say_names(names, count);
}

/* The groups that /proc/self/cgroup names, each once. */
static void control_groups(const char *arg)
{
	char *names[64], *line = NULL;
	size_t count = 0, size = 0;
	FILE *f = fopen("/proc/self/cgroup", "re");

	(void)arg;
	if (!f) {
		say("%s", error_name(errno));
		return;
	}
	while (getline(&line, &size, f) > 0 && count < 64) {
		char *path = strrchr(line, ':');
		bool seen = false;

		if (!path)
			continue;
		path[strcspn(path, "\n")] = 0;
		for (size_t i = 0; i < count; i++)
			seen |= strcmp(names[i], path + 1) == 0;
		if (!seen)
			names[count++] = strdup(path + 1);
	}
	say_names(names, count);
}

static void host_name(const char *arg)
{
	char name[256] = "";

	(void)arg;
	if (gethostname(name, sizeof(name) - 1) < 0)
		say("%s", error_name(errno));
	else
		say("%s", name);
}

static void domain_name(const char *arg)
{
	struct utsname names;

	(void)arg;
	uname(&names);
	say("%s", names.domainname);
}

/* A small proc file on one line, runs of blanks made one. */
static void content(const char *path)
{
	char text[4096];
	size_t used = 0;
	FILE *f = fopen(path, "re");

	if (!f) {
		say("%s", error_name(errno));
		return;
	}
	for (int c; used < sizeof(text) - 1 && (c = fgetc(f)) != EOF;) {
		if (c <= ' ')
			c = ' ';
		if (c != ' ' || (used && text[used - 1] != ' '))
			text[used++] = (char)c;
	}
	while (used && text[used - 1] == ' ')
		used--;
	text[used] = 0;
	say("%s", used ? text : "empty");
}

const struct probe info_probes[] = {
	{ "env", environment },    { "getenv", variable },        { "pids", processes },  { "cgroups", control_groups },
	{ "hostname", host_name }, { "domainname", domain_name }, { "content", content }, { NULL, NULL },
};
