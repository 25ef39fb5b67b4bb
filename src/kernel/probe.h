/* What this host can do. probe_host() is quick and done for every run; probe_userns() forks and is for `doctor`. */
#pragma once

#include "base/error.h"
#include "kernel/cgroup.h"

#include <stdbool.h>
#include <sys/types.h>

struct probe {
	uid_t uid;                 /* the caller's, in its own namespace */
	bool range;                /* each box can have a host uid of its own */
	int landlock;              /* ABI, 0: none */
	bool seccomp;              /* filters can be installed */
	unsigned cores;            /* processors that we may use */
	bool mount_api;            /* fsopen, open_tree, mount_setattr are there */
	struct cgroup_site cgroup; /* where groups can be made; version 0: nowhere */
};

int probe_host(struct probe *probe, struct error *err);

/* Makes a user namespace with the others a box has, and mounts a /proc in it. 0 when that works; else the errno, and a
 * sentence with the setting that gives it. */
int probe_userns(char *why, size_t size);

/* Whether an overlay can be mounted in a user namespace (5.11). */
bool probe_overlay(void);
