#include "registry/weaker.h"

#include <string.h>

static const char *phrase_separator(const struct buf *out)
{
	return out->size > 0 ? "; " : "";
}

/* Whether the name is in the comma-separated list; NULL is an empty list. */
static bool list_has(const char *list, const char *name, size_t size)
{
	while (list && *list) {
		size_t length = strcspn(list, ",");

		if (length == size && memcmp(list, name, size) == 0)
			return true;
		list += length + (list[length] == ',');
	}
	return false;
}

/* Adds a phrase for each name of `list` that is not in `other`. */
static void add_missing(struct buf *out, const char *language, const char *list, const char *other, const char *end)
{
	while (list && *list) {
		size_t length = strcspn(list, ",");

		if (!list_has(other, list, length))
			buf_printf(out, "%s%s: %.*s %s", phrase_separator(out), language, (int)length, list, end);
		list += length + (list[length] == ',');
	}
}

static void compare_lists(const struct registry *before, const struct registry *after, struct buf *out)
{
	for (size_t i = 0; i < before->policy_count; i++) {
		const struct registry_policy *old = &before->policies[i];

		add_missing(out, old->language, old->lists.block, registry_lists(after, old->language).block,
			    "is not blocked by the registry any more");
	}
	for (size_t i = 0; i < after->policy_count; i++) {
		const struct registry_policy *new = &after->policies[i];

		add_missing(out, new->language, new->lists.allow, registry_lists(before, new->language).allow,
			    "is allowed now");
	}
}

static bool profile_has_network(const struct profile *profile)
{
	return profile->network && strcmp(profile->network, "none") != 0;
}

static void compare_profile(const struct profile *old, const struct profile *new, struct buf *out)
{
	const bool asked = old->needs_confirm, offline = !profile_has_network(old);

	if (!new) {
		if (asked)
			buf_printf(out, "%sthe profile %s, which needed a confirmation, was removed",
				   phrase_separator(out), old->name);
		return;
	}
	if (asked && !new->needs_confirm)
		buf_printf(out, "%sthe profile %s needs no confirmation any more", phrase_separator(out), old->name);
	if (asked && new->needs_confirm && !old->confirm_once &&new->confirm_once)
		buf_printf(out, "%sthe profile %s needs a confirmation only once, not each time", phrase_separator(out),
			   old->name);
	if (old->read_only && !new->read_only)
		buf_printf(out, "%sthe profile %s is not read-only any more", phrase_separator(out), old->name);
	if (offline && (profile_has_network(new)))
		buf_printf(out, "%sthe profile %s has a network now", phrase_separator(out), old->name);
}

void config_weaker(const struct config *before, const struct config *after, struct buf *out)
{
	static const char *const modes[] = { [POLICY_OFF] = "off", [POLICY_WARN] = "warn", [POLICY_BLOCK] = "block" };
	const enum policy_mode old = config_policy(before), new = config_policy(after);

	if (new < old)
		buf_printf(out, "the import policy is %s, not %s", modes[new], modes[old]);
	compare_lists(&before->registry, &after->registry, out);
	for (size_t i = 0; i < before->registry.count; i++) {
		const struct profile *profile = &before->registry.profiles[i];

		compare_profile(profile, registry_find(&after->registry, profile->name, NULL), out);
	}
}
