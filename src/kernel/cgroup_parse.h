/*
 * Parsers of the kernel's texts about control groups. They do not call the
 * kernel, need no terminator and do not allocate, so each has a short fuzz
 * target.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A controller as a bit: 1u << enum cgroup_controller. */
#define CGROUP_BIT(controller) (1u << (controller))

/* One line of /proc/PID/mountinfo that mounts a cgroup tree. */
struct cgroup_mount {
	bool unified;         /* cgroup2 */
	unsigned controllers; /* v1: those of our controllers in this hierarchy, as bits */
	char root[PATH_MAX];  /* the group that is visible at the mount point */
	char point[PATH_MAX]; /* where it is mounted */
};

/* One line of /proc/PID/cgroup. */
struct cgroup_member {
	bool unified;         /* the line "0::PATH" */
	unsigned controllers; /* v1: those of our controllers in this hierarchy, as bits */
	char path[PATH_MAX];  /* the process's group, seen from its cgroup namespace */
};

/* Takes the next line off the front of *text, without its newline. False at the end. */
bool cgroup_next_line(const char **text, size_t *length, const char **line, size_t *line_length);

/* Those of our controllers in a list separated by commas or white space; other words are ignored. */
unsigned cgroup_parse_controllers(const char *list, size_t length);

/* True if the line mounts a cgroup tree; false for another mount or an invalid line. */
bool cgroup_parse_mount(const char *line, size_t length, struct cgroup_mount *mount);

bool cgroup_parse_member(const char *line, size_t length, struct cgroup_member *member);

/* Parses a decimal number or "max" (UINT64_MAX), followed by white space only. */
bool cgroup_parse_number(const char *text, size_t length, uint64_t *value);

/* The number after `key` in a file of "KEY NUMBER" lines: memory.events, memory.oom_control, cpu.stat. */
bool cgroup_parse_field(const char *text, size_t length, const char *key, uint64_t *value);

/* v2's cpu.max, "QUOTA PERIOD"; a quota of "max" is UINT64_MAX. */
bool cgroup_parse_cpu_max(const char *text, size_t length, uint64_t *quota, uint64_t *period);

/*
 * The path of a group below a mount whose top is the group `root`: the rest of
 * the path, "" or "/…". NULL if it is not below the mount, or either is outside
 * the caller's cgroup namespace ("/..").
 */
const char *cgroup_path_below(const char *root, const char *path);
