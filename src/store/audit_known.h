/* The records that the newest entries of the audit log have: a set that forgets what is oldest. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Two halves: when the young one has `AUDIT_REMEMBERED`, it becomes the old one, and that is forgotten. */
struct audit_known {
	uint64_t *young; /* a table of keys with gaps (0), or NULL */
	uint64_t *old;   /* the same */
	size_t count;    /* keys in the young one */
};

/* The key of a record's event, never 0. Ids are ours, so nobody has a reason to make two meet. */
uint64_t audit_key(const char *record_id, const char *event);
bool audit_known_has(const struct audit_known *known, uint64_t key);
/* False: memory ran out. */
bool audit_known_add(struct audit_known *known, uint64_t key);
void audit_known_free(struct audit_known *known);
