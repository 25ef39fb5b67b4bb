/* The features of this host. probe_host() is fast and part of every run; probe_userns() forks and is for `doctor`. */
#pragma once

#include "base/error.h"
#include "kernel/cgroup.h"

#include <stdbool.h>
#include <sys/types.h>

struct probe {
	uid_t uid;                 /* the caller's uid, in its own namespace */
	bool range;                /* each box can have a host uid of its own */
	int landlock;              /* ABI, 0: none */
	bool seccomp;              /* filters can be installed */
	unsigned cores;            /* processors that we may use */
	bool mount_api;            /* fsopen, open_tree and mount_setattr exist */
	struct cgroup_site cgroup; /* where groups can be created; version 0: nowhere */
};

int probe_host(struct probe *probe, struct error *err);

/* Creates a user namespace with the other namespaces of a box, and mounts a /proc in it. Returns 0, or the errno and a
 * sentence with the setting that permits it. */
int probe_userns(char *why, size_t size);

/* Whether an overlay can be mounted in a user namespace (5.11). */
bool probe_overlay(void);
