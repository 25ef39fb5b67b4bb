/*
 * User namespaces: the identity of a box on the host.
 *
 * Inside, the program has uid 1000. Root gives every box its own host uid from
 * a range that nothing else uses. The supervisor and the box's init hold a lock
 * on that uid's byte of one file, so no two live boxes share a uid, whichever
 * of the two processes dies first. Ordinary users map the one uid that the
 * kernel lets them map: their own.
 */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <sys/types.h>

enum {
	USERNS_INSIDE = 1000,      /* uid and gid in the box */
	USERNS_FIRST = 0x7E000000, /* first host uid of boxes: above the ranges of distributions, LDAP and containers */
	USERNS_SLOTS = 65536,      /* number of uids */
};

struct userns_ids {
	uid_t uid;   /* the box's uid on the host */
	gid_t gid;   /* the box's gid on the host */
	bool own;    /* a uid of its own, not the caller's */
	int lock_fd; /* holds the uid while open; -1 when not own */
};

/* Whether this process may map uids of the range (root of the initial namespace, or of a namespace that includes
 * it). */
bool userns_can_range(void);

/* Takes the ids of a new box: a free uid of the range if possible, otherwise the caller's. */
int userns_take(bool range, struct userns_ids *ids, struct error *err);
void userns_release(struct userns_ids *ids);

/* Writes the child's maps. The child must not have been reaped, so that its pid cannot have been reused. */
int userns_map(pid_t pid, const struct userns_ids *ids, struct error *err);

/* userns_map() for a stem: it is uid 0 inside, and the ids of its boxes are mapped to themselves. Without a range,
 * there is only the caller's uid. */
int userns_map_stem(pid_t pid, const struct userns_ids *ids, struct error *err);
/* In a stem: the ids of a box as the stem's namespace numbers them. */
struct userns_ids userns_in_stem(const struct userns_ids *ids);

/* A namespace in which files of `from` appear as owned by `to`, for an ID-mapped mount. Returns a descriptor, or -1. */
int userns_translate(uid_t from_uid, gid_t from_gid, uid_t to_uid, gid_t to_gid, struct error *err);

/* In the child, after its maps are written: becomes uid and gid 1000 and drops the caller's groups if the kernel
 * permits. */
int userns_become(bool own);
