/*
 * User namespaces: who the box is outside.
 *
 * Inside, the program is uid 1000. Root gives every box a host uid of its own
 * from a range that nothing else uses; a lock on that uid's byte of one file
 * is held by the supervisor and by the box's init, so that no uid is used by two
 * live boxes, whoever of the two dies first. Everybody else maps the one uid
 * that the kernel lets them map: their own.
 */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <sys/types.h>

enum {
	USERNS_INSIDE = 1000,      /* uid and gid in the box */
	USERNS_FIRST = 0x7E000000, /* first host uid of boxes: above what distributions, LDAP and containers hand out */
	USERNS_SLOTS = 65536,      /* how many there are */
};

struct userns_ids {
	uid_t uid;   /* the box's uid on the host */
	gid_t gid;   /* and its gid */
	bool own;    /* a uid of its own, not the caller's */
	int lock_fd; /* holds the uid while open; -1 when not own */
};

/* Whether this process may map uids of the range (root of the initial namespace, or of one wide enough). */
bool userns_can_range(void);

/* Picks the ids of a new box: a free one of the range where that can be, the caller's otherwise. */
int userns_take(bool range, struct userns_ids *ids, struct error *err);
void userns_release(struct userns_ids *ids);

/* Writes the child's maps. It must be a child of ours that is not reaped yet, so that its pid is not another's. */
int userns_map(pid_t pid, const struct userns_ids *ids, struct error *err);

/* The same for a stem: it is uid 0 inside, and the ids of its boxes are mapped to themselves; without a range there is
 * only the one. */
int userns_map_stem(pid_t pid, const struct userns_ids *ids, struct error *err);
/* In a stem: the ids of a box as they are called there. */
struct userns_ids userns_in_stem(const struct userns_ids *ids);

/* A namespace in which files of `from` appear as owned by `to`, for an ID-mapped mount. An fd, or -1. */
int userns_translate(uid_t from_uid, gid_t from_gid, uid_t to_uid, gid_t to_gid, struct error *err);

/* In the child, once mapped: becomes uid and gid 1000, without the caller's groups where the kernel lets them go. */
int userns_become(bool own);
