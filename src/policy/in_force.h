/*
 * What the registry says now, for runs in a box that lives: a session's cell, a run in a container.
 *
 * The front does not know the language of such a box, nor the profile that it was
 * started from; the keeper has the box and not the registry. So a request carries
 * what holds for all of them as one text, and the keeper takes what is of its box.
 * An edit of the registry holds from the next cell on. The lines:
 *
 *	mode off|warn|block
 *	lists LANGUAGE BLOCK ALLOW      names with commas between them; "-": none
 *	confirm PROFILE                 each run in a box of that profile needs a confirmation
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "schema/spec.h"
#include "registry/registry.h"
#include "language/runtime.h"

void in_force_write(const struct registry *registry, enum policy_mode mode, struct buf *out);
/* Whether it is such a text; NULL is none. */
bool in_force_valid(const char *text);
/* POLICY_OFF of NULL. */
enum policy_mode in_force_mode(const char *text);
/* The lists of the language, in the arena. 0, or -1 without memory. */
int in_force_lists(const char *text, const struct runtime *runtime, struct arena *arena, struct policy_lists *out);
/* The mode of a run in a box that lives: the request's own, which the front has seen to be allowed; else the stricter
 * of what is in force and what the box was started with. */
enum policy_mode in_force_settle(const struct spec *asked, enum policy_mode least);
bool in_force_confirms(const char *text, const char *profile);
