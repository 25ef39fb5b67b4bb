#include "store/audit_known.h"

#include "base/own.h"
#include "store/audit.h"

#include <sha2.h>
#include <stdlib.h>
#include <string.h>

enum {
	SLOTS = 4 * AUDIT_REMEMBERED, /* of a table, which is at most a quarter full */
};

uint64_t audit_key(const char *record_id, const char *event)
{
	unsigned char bytes[SHA256_DIGEST_LENGTH];
	uint64_t key;
	SHA2_CTX sha;

	SHA256Init(&sha);
	SHA256Update(&sha, (const uint8_t *)record_id, strlen(record_id) + 1);
	SHA256Update(&sha, (const uint8_t *)event, strlen(event));
	SHA256Final(bytes, &sha);
	memcpy(&key, bytes, sizeof(key));
	return key ? key : 1;
}

/* The slot of the key, or the free one for it. */
static uint64_t *slot_of(uint64_t *table, uint64_t key)
{
	size_t at = key % SLOTS;

	while (table[at] && table[at] != key)
		at = (at + 1) % SLOTS;
	return &table[at];
}

bool audit_known_has(const struct audit_known *known, uint64_t key)
{
	return (known->young && *slot_of(known->young, key) == key) || (known->old && *slot_of(known->old, key) == key);
}

bool audit_known_add(struct audit_known *known, uint64_t key)
{
	uint64_t *slot;

	if (known->count == AUDIT_REMEMBERED) {
		free(known->old);
		known->old = take_ptr(known->young);
		known->count = 0;
	}
	if (!known->young && !(known->young = calloc(SLOTS, sizeof(uint64_t))))
		return false;
	slot = slot_of(known->young, key);
	known->count += *slot == 0;
	*slot = key;
	return true;
}

void audit_known_free(struct audit_known *known)
{
	free(known->young);
	free(known->old);
	*known = (struct audit_known){ 0 };
}
