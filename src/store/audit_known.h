/* A set of the records in the newest entries of the audit log, which forgets the oldest. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Two tables: when the young one has `AUDIT_REMEMBERED` keys, it replaces the old one. */
struct audit_known {
	uint64_t *young; /* a table of keys with gaps (0), or NULL */
	uint64_t *old;   /* the previous young one */
	size_t count;    /* number of keys in the young one */
};

/* The key of a record's event, never 0. Ids are our own, so nobody can cause a collision. */
uint64_t audit_key(const char *record_id, const char *event);
bool audit_known_has(const struct audit_known *known, uint64_t key);
/* False: memory ran out. */
bool audit_known_add(struct audit_known *known, uint64_t key);
void audit_known_free(struct audit_known *known);
