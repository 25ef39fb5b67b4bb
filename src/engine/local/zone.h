/*
 * The name of the host's time zone, such as "Europe/Berlin".
 *
 * A program that wants the name, and not only the rules, reads where the link
 * /etc/localtime leads. Where it finds a plain file it compares that with every
 * zone and takes the first that is alike, which is Arctic/Longyearbyen for all
 * of Germany. So a box has a link, whatever its host has.
 */
#pragma once

#include <stddef.h>

#define ZONE_DIRECTORY "/usr/share/zoneinfo"

enum {
	ZONE_NAME_MAX = 64 /* with the NUL */
};

/*
 * Below `root` ("" for the host's own): what the link /etc/localtime names; or
 * /etc/timezone, if it names the rules of the file /etc/localtime; or TZ of the
 * environment, likewise. Otherwise "Etc/UTC". `name` has room for ZONE_NAME_MAX.
 */
void zone_find(const char *root, const char *tz, char *name);
