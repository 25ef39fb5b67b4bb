#include "engine/local/zone.h"

#include "base/fd.h"
#include "base/own.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	RULES_MAX = 64 << 10 /* bytes of a zone's file; the largest have 4 KiB */
};

/* A relative path of plain names: it becomes the target of a link, and part of a path of the host's. */
static bool is_name(const char *name)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_+-/";

	return *name && *name != '/' && strspn(name, letters) == strlen(name);
}

/* The rules of a zone: how many bytes, or -1. */
static ssize_t read_rules(const char *root, const char *path, const char *name, char *rules)
{
	char full[PATH_MAX];
	_cleanup_close_ int fd = -1;
	struct stat st;

	if (snprintf(full, sizeof(full), "%s%s%s", root, path, name) >= (int)sizeof(full))
		return -1;
	/* No FIFO and no device can be waited for: what stands in /etc is the administrator's, but may be anything. */
	fd = open(full, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return -1;
	return fd_read(fd, rules, RULES_MAX);
}

static bool is_zone(const char *root, const char *name)
{
	char full[PATH_MAX];
	struct stat st;

	return is_name(name) && strlen(name) < ZONE_NAME_MAX &&
	       snprintf(full, sizeof(full), "%s" ZONE_DIRECTORY "/%s", root, name) < (int)sizeof(full) &&
	       stat(full, &st) == 0 && S_ISREG(st.st_mode);
}

static bool take(const char *root, const char *found, char *name)
{
	if (!is_zone(root, found))
		return false;
	strcpy(name, found);
	return true;
}

/* Absolute or not: /usr/share/zoneinfo/Europe/Berlin, ../usr/share/zoneinfo/Europe/Berlin. */
static bool take_link(const char *root, char *name)
{
	static const char directory[] = "/zoneinfo/";
	char path[PATH_MAX], target[PATH_MAX], *found;
	ssize_t n;

	if (snprintf(path, sizeof(path), "%s/etc/localtime", root) >= (int)sizeof(path))
		return false;
	n = readlink(path, target, sizeof(target) - 1);
	if (n <= 0)
		return false;
	target[n] = '\0';
	found = strstr(target, directory);
	return found && take(root, found + strlen(directory), name);
}

/* A name that is true: its rules are those that programs have from /etc/localtime, if that is there. */
static bool take_true(const char *root, const char *found, char *name)
{
	char local[RULES_MAX], named[RULES_MAX];
	ssize_t n = read_rules(root, "/etc/localtime", "", local);

	if (n >= 0 && (!is_zone(root, found) || read_rules(root, ZONE_DIRECTORY "/", found, named) != n ||
		       memcmp(local, named, (size_t)n) != 0))
		return false;
	return take(root, found, name);
}

static bool take_file(const char *root, char *name)
{
	char path[PATH_MAX], text[2 * ZONE_NAME_MAX];

	if (snprintf(path, sizeof(path), "%s/etc/timezone", root) >= (int)sizeof(path) ||
	    fd_slurp(AT_FDCWD, path, text, sizeof(text)) < 0)
		return false;
	text[strcspn(text, " \t\r\n")] = '\0';
	return take_true(root, text, name);
}

void zone_find(const char *root, const char *tz, char *name)
{
	if (take_link(root, name) || take_file(root, name) || (tz && take_true(root, tz + (*tz == ':'), name)))
		return;
	strcpy(name, "Etc/UTC");
}
