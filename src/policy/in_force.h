/*
 * The current policy of the registry, for runs in a session or a container.
 *
 * The front does not know the language and profile of such a box; the keeper knows the box but not the registry. So a
 * request carries the policy for all of them as one text, and the keeper picks the part for its box. A change of the
 * registry applies from the next cell on. The lines:
 *
 *	mode off|warn|block
 *	lists LANGUAGE BLOCK ALLOW      names separated by commas; "-": none
 *	confirm PROFILE                 each run in a box of that profile needs a confirmation
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "schema/spec.h"
#include "registry/registry.h"
#include "language/runtime.h"

void in_force_write(const struct registry *registry, enum policy_mode mode, struct buf *out);
/* Whether the text is valid; NULL is not. */
bool in_force_valid(const char *text);
/* POLICY_OFF for NULL. */
enum policy_mode in_force_mode(const char *text);
/* The lists of the language, in the arena. Returns 0, or -1 if memory ran out. */
int in_force_lists(const char *text, const struct runtime *runtime, struct arena *arena, struct policy_lists *out);
/* The mode of a run in such a box: the request's own, which the front has allowed; otherwise the stricter of the
 * current policy and the one that the box was started with. */
enum policy_mode in_force_settle(const struct spec *asked, enum policy_mode least);
bool in_force_confirms(const char *text, const char *profile);
