#include "registry/dotenv.h"

#include "base/fd.h"
#include "base/own.h"
#include "base/text.h"
#include "registry/registry.h"
#include "registry/setting.h"
#include "base/state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	DOTENV_MAX = 64 << 10, /* bytes of the file */
	FAULT_MAX = 160        /* bytes of an error about a line */
};

/* A misspelled name would be a limit that is not set. False with the reason if .env cannot set it. */
static bool check_name(const char *name, char fault[FAULT_MAX])
{
	const char *names[2 * CONFIG_KEYS + 1] = { NULL }, *nearest, *other;
	enum config_key key;
	size_t count = 0;

	if (setting_find(name, &key)) {
		snprintf(fault, FAULT_MAX, "set it in the environment: it determines the path of this file");
		return setting_in_file(key);
	}
	for (int i = 0; i < CONFIG_KEYS; i++) {
		if (setting_in_file((enum config_key)i))
			names[count++] = config_name((enum config_key)i);
		if ((other = setting_other_name((enum config_key)i)))
			names[count++] = other;
	}
	nearest = text_nearest(name, names);
	snprintf(fault, FAULT_MAX, "there is no such setting%s%s%s", nearest ? "; did you mean " : "",
		 nearest ? nearest : "", nearest ? "?" : "");
	return false;
}

/* Parses NAME=VALUE, a comment or an empty line (then *name is NULL). Returns NULL, or what is wrong with the line. */
static const char *split_line(char *line, const char **name, const char **value, char fault[FAULT_MAX])
{
	char *start = line + strspn(line, " \t"), *equals = strchr(start, '=');
	size_t length = strlen(start);

	*name = NULL;
	while (length > 0 && strchr(" \t\r", start[length - 1]))
		start[--length] = '\0';
	if (*start == '\0' || *start == '#')
		return NULL;
	if (!equals || equals == start)
		return "it is not of the form NAME=VALUE";
	*equals = '\0';
	if (!check_name(start, fault))
		return fault;
	*name = start;
	*value = equals + 1;
	/* "VALUE", as in shells. */
	length = strlen(*value);
	if (length >= 2 && strchr("\"'", **value) && equals[length] == **value) {
		equals[length] = '\0';
		*value += 1;
	}
	return NULL;
}

/* Reads the file, terminated, into `text`. Returns its size, 0 if there is none, or -1 with errno. */
static ssize_t read_file(const char *path, char *text, size_t size)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;
	ssize_t n;

	/* Root, or a process that was root, may have the HOME of another user, whose settings must not apply. */
	if ((fd < 0 ? lstat(path, &st) : fstat(fd, &st)) < 0 || (st.st_uid != geteuid() && st.st_uid != 0))
		return 0;
	if (fd < 0)
		return -1;
	/* The file can disable the audit log, so like registry.yaml only its owner may write to it. */
	errno = EPERM;
	if (st.st_mode & 022)
		return -1;
	errno = EINVAL;
	n = S_ISREG(st.st_mode) && st.st_size < (off_t)size ? fd_read(fd, text, size - 1) : -1;
	if (n >= 0)
		text[n] = '\0';
	return n;
}

int dotenv_read(char *path, size_t path_size,
		int (*take)(void *to, const char *name, const char *value, unsigned line, struct error *err), void *to,
		struct error *err)
{
	_cleanup_free_ char *text = NULL;
	char *line, *next;
	struct stat st;
	ssize_t size;

	/* Without the file, the usual case, no memory is used. */
	if (state_path(".env", path, path_size) < 0 || lstat(path, &st) < 0)
		return 0;
	if (registry_await_writer(path, err) < 0)
		return -1;
	text = malloc(DOTENV_MAX);
	size = text ? read_file(path, text, DOTENV_MAX) : -1;
	if (size < 0 && errno == EPERM)
		return error_usage(err, "%s: others can write to it; use: chmod go-w %s", path, path);
	if (size < 0)
		return error_usage(err, "cannot read the settings in \"%s\": %s", path, strerror(errno));
	line = size > 0 ? text : NULL;
	for (unsigned number = 1; line; number++, line = next) {
		const char *name, *value, *fault;
		char room[FAULT_MAX];

		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		fault = split_line(line, &name, &value, room);
		if (fault)
			return error_usage(err, "\"%s\", line %u: \"%.80s\": %s", path, number, line, fault);
		if (name && take(to, name, value, number, err) < 0)
			return -1;
	}
	return 0;
}
