#include "registry/registry_parts.h"

#include "base/buf.h"
#include "base/own.h"
#include "base/text.h"
#include "schema/spec.h"
#include "registry/setting.h"
#include "language/runtime.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_CHARACTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-"

static int no_memory(const char *where, struct error *err)
{
	return error_set(err, ERROR_FAILED, ENOMEM, "cannot hold %s", where);
}

/* Calls the reader of each key. Unknown keys are refused, with the most similar known one. */
int registry_read_keys(const struct yaml_doc *doc, const struct yaml_node *map, const struct registry_reader *readers,
		       const char *what, struct profile *out, struct error *err)
{
	const char *known[16] = { NULL };

	if (yaml_expect(doc, map, YAML_MAP, what, err) < 0)
		return -1;
	for (size_t i = 0; readers[i].key && i + 1 < ARRAY_SIZE(known); i++)
		known[i] = readers[i].key;
	if (yaml_unknown_keys(doc, map, known, err) < 0)
		return -1;
	for (; readers->key; readers++) {
		const struct yaml_node *value = yaml_map_get(map, readers->key);

		if (value && readers->read(doc, value, readers->key, out, err) < 0)
			return -1;
	}
	return 0;
}

static int read_description(const struct yaml_doc *doc, const struct yaml_node *node, const char *key,
			    struct profile *out, struct error *err)
{
	(void)key;
	return yaml_text(doc, node, "a string", &out->description, err);
}

/* Reads language, dockerfile, image or rootfs: exactly one of the four. */
static int read_base(const struct yaml_doc *doc, const struct yaml_node *node, const char *key, struct profile *out,
		     struct error *err)
{
	const char *text, *before = out->language ? "language" : out->image_key;
	bool language = strcmp(key, "language") == 0;

	if (before)
		return yaml_fault(
			doc, node->key, err,
			"expected only one of language, dockerfile, image, rootfs; \"%s\" is on line %u already",
			before, out->line);
	if (yaml_text(doc, node, language ? "a language such as python" : "a string", &text, err) < 0)
		return -1;
	if (*text == '\0')
		return yaml_expected(doc, node, err, "%s", language ? "a language such as python" : "a string");
	out->line = node->line;
	out->column = node->column;
	*(language ? &out->language : &out->image) = text;
	out->image_key = language ? NULL : key;
	return 0;
}

static int read_triggers(const struct yaml_doc *doc, const struct yaml_node *node, const char *key, struct profile *out,
			 struct error *err)
{
	(void)key;
	if (yaml_list(doc, node, "a list of phrases", &out->triggers, err) < 0)
		return -1;
	yaml_each(item, node) if (item->text[0] == '\0') return yaml_fault(doc, item, err,
									   "expected a phrase, not an empty string");
	return 0;
}

static int read_read_only(const struct yaml_doc *doc, const struct yaml_node *node, const char *key,
			  struct profile *out, struct error *err)
{
	(void)key;
	return yaml_bool(doc, node, &out->read_only, err);
}

static int read_confirm(const struct yaml_doc *doc, const struct yaml_node *node, const char *key, struct profile *out,
			struct error *err)
{
	(void)key;
	return yaml_bool(doc, node, &out->needs_confirm, err);
}

static int read_how_often(const struct yaml_doc *doc, const struct yaml_node *node, const char *key,
			  struct profile *out, struct error *err)
{
	(void)key;
	out->confirm_once = node->kind == YAML_TEXT && strcmp(node->text, "once") == 0;
	if (!out->confirm_once && (node->kind != YAML_TEXT || strcmp(node->text, "each") != 0))
		return yaml_expected(doc, node, err, "each or once");
	/* needs_confirm was read before: the readers are in this order. */
	if (!out->needs_confirm)
		return yaml_fault(doc, node, err, "it needs needs_confirm: true beside it");
	return 0;
}

static int read_security(const struct yaml_doc *doc, const struct yaml_node *node, const char *key, struct profile *out,
			 struct error *err)
{
	static const struct registry_reader readers[] = {
		{ "network_mode", registry_read_network },
		{ "read_only", read_read_only },
		{ "needs_confirm", read_confirm },
		{ "confirm", read_how_often },
		{ NULL },
	};

	(void)key;
	return registry_read_keys(doc, node, readers,
				  "a mapping with network_mode, read_only, needs_confirm and confirm", out, err);
}

static int read_limit(const struct yaml_doc *doc, const struct yaml_node *node, enum limit_id id, struct profile *out,
		      struct error *err)
{
	struct limits checks = { 0 };
	struct error why = { 0 };

	if (yaml_text(doc, node, limit_rows[id].expected, &out->limits.of[id], err) < 0)
		return -1;
	/* The place has the key already. */
	if (limit_set(&checks, id, node->text, &why) < 0)
		return yaml_fault(doc, node, err, "%s", error_detail(&why));
	return 0;
}

static int read_resources(const struct yaml_doc *doc, const struct yaml_node *node, const char *key,
			  struct profile *out, struct error *err)
{
	const char *known[LIMITS + 1] = { NULL };

	(void)key;
	for (size_t i = 0; i < LIMITS; i++)
		known[i] = limit_rows[i].name;
	if (yaml_expect(doc, node, YAML_MAP, "a mapping with memory, cpus, timeout, ...", err) < 0 ||
	    yaml_unknown_keys(doc, node, known, err) < 0)
		return -1;
	for (enum limit_id id = 0; id < LIMITS; id++) {
		const struct yaml_node *value = yaml_map_get(node, limit_rows[id].name);

		if (value && read_limit(doc, value, id, out, err) < 0)
			return -1;
	}
	return 0;
}

static int read_profile(const struct yaml_doc *doc, const struct yaml_node *node, struct profile *out,
			struct error *err)
{
	static const struct registry_reader readers[] = {
		{ "description", read_description },
		{ "language", read_base },
		{ "dockerfile", read_base },
		{ "image", read_base },
		{ "rootfs", read_base },
		{ "triggers", read_triggers },
		{ "security", read_security },
		{ "resources", read_resources },
		{ NULL },
	};
	static const char *const none[] = { NULL };
	const char *name = node->key->text;

	*out = (struct profile){ .name = name, .description = "", .triggers = none };
	if (strspn(name, NAME_CHARACTERS) != strlen(name) || strlen(name) > REGISTRY_NAME_MAX || !*name ||
	    strchr("_.-", *name))
		return yaml_fault(
			doc, node->key, err,
			"expected a name of at most %d letters, digits, \"_\", \".\" and \"-\" that begins with a "
			"letter or digit",
			REGISTRY_NAME_MAX);
	if (registry_read_keys(doc, node, readers, "a mapping with language, security and resources", out, err) < 0)
		return -1;
	if (!out->language && !out->image)
		return yaml_fault(doc, node, err, "expected one of language, dockerfile, image, rootfs");
	return 0;
}

static int read_profiles(const struct yaml_doc *doc, const struct yaml_node *node, struct registry *out,
			 struct error *err)
{
	struct profile *profiles;

	if (node->kind == YAML_NOTHING)
		return 0;
	if (yaml_expect(doc, node, YAML_MAP, "a mapping of names to profiles", err) < 0)
		return -1;
	profiles = arena_alloc(doc->arena, (node->count + 1) * sizeof(*profiles));
	if (!profiles)
		return no_memory(doc->where, err);
	out->profiles = profiles;
	yaml_each(item, node) if (read_profile(doc, item, &profiles[out->count++], err) < 0) return -1;
	return 0;
}

static int read_setting(const struct yaml_doc *doc, const struct yaml_node *node, enum config_key key,
			struct registry *out, struct error *err)
{
	const char *name = node->key->text;
	struct error why = { 0 };

	if (!setting_in_registry(key))
		return yaml_fault(doc, node->key, err, "%s", setting_elsewhere(key));
	for (size_t i = 0; i < out->setting_count; i++) {
		enum config_key other = CONFIG_TYPE;

		if (setting_find(out->settings[i].name, &other) && other == key)
			return yaml_fault(doc, node->key, err, "this setting is on line %u already, as %s",
					  out->settings[i].line, out->settings[i].name);
	}
	if (yaml_expect(doc, node, YAML_TEXT, "a value", err) < 0)
		return -1;
	if (setting_check(key, name, node->text, &why) < 0)
		return yaml_fault(doc, node, err, "%s", error_detail(&why));
	if (out->setting_count < ARRAY_SIZE(out->settings))
		out->settings[out->setting_count++] = (struct registry_setting){
			.name = name, .value = node->text, .line = node->line, .column = node->column
		};
	return 0;
}

static int read_settings(const struct yaml_doc *doc, const struct yaml_node *node, struct registry *out,
			 struct error *err)
{
	const char *known[2 * CONFIG_KEYS + 3] = { "auto_cleanup", "max_concurrent" }, *other;
	size_t names = 2;
	uint64_t count;

	if (node->kind == YAML_NOTHING)
		return 0;
	if (yaml_expect(doc, node, YAML_MAP, "a mapping of settings", err) < 0)
		return -1;
	for (int i = 0; i < CONFIG_KEYS; i++) {
		known[names++] = config_name((enum config_key)i);
		if ((other = setting_other_name((enum config_key)i)))
			known[names++] = other;
	}
	if (yaml_unknown_keys(doc, node, known, err) < 0)
		return -1;
	yaml_each(item, node)
	{
		enum config_key key;

		if (setting_find(item->key->text, &key)) {
			if (read_setting(doc, item, key, out, err) < 0)
				return -1;
		} else if (strcmp(item->key->text, "auto_cleanup") == 0) {
			if (yaml_bool(doc, item, &out->auto_cleanup, err) < 0)
				return -1;
			out->auto_cleanup_line = item->line;
		} else if (item->kind == YAML_TEXT && text_count(item->text, &count) && count >= 1 && count <= 1000) {
			out->max_concurrent = (unsigned)count;
			out->max_concurrent_line = item->line;
		} else {
			return yaml_expected(doc, item, err, "a number from 1 to 1000");
		}
	}
	return 0;
}

/* Reads names of modules as one string, separated by commas. */
static int read_modules(const struct yaml_doc *doc, const struct yaml_node *node, const char **out, struct error *err)
{
	static const char what[] = "a list of modules such as [socket, os.path]";
	_cleanup_buf_ struct buf text = { 0 };
	const char *const *names;

	if (yaml_list(doc, node, what, &names, err) < 0)
		return -1;
	yaml_each(item, node)
	{
		if (!*item->text || strspn(item->text, NAME_CHARACTERS "/@:+") != strlen(item->text))
			return yaml_expected(doc, item, err, "a module's name");
		buf_printf(&text, "%s%s", text.size > 0 ? "," : "", item->text);
	}
	*out = arena_string(doc->arena, text.data ? text.data : "");
	return *out && !text.failed ? 0 : no_memory(doc->where, err);
}

/* policy: {python: {block: [...], allow: [...]}} */
static int read_policies(const struct yaml_doc *doc, const struct yaml_node *node, struct registry *out,
			 struct error *err)
{
	static const char *const known[] = { "block", "allow", NULL };
	struct registry_policy *policies;

	if (node->kind == YAML_NOTHING)
		return 0;
	if (yaml_expect(doc, node, YAML_MAP, "a mapping of languages to their lists", err) < 0)
		return -1;
	policies = arena_alloc(doc->arena, (node->count + 1) * sizeof(*policies));
	if (!policies)
		return no_memory(doc->where, err);
	out->policies = policies;
	yaml_each(item, node)
	{
		struct registry_policy *policy = &policies[out->policy_count++];
		const struct yaml_node *block, *allow;

		if (yaml_expect(doc, item, YAML_MAP, "a mapping with block and allow", err) < 0 ||
		    yaml_unknown_keys(doc, item, known, err) < 0)
			return -1;
		policy->language = item->key->text;
		policy->line = item->key->line;
		policy->column = item->key->column;
		block = yaml_map_get(item, "block");
		allow = yaml_map_get(item, "allow");
		if ((block && read_modules(doc, block, &policy->lists.block, err) < 0) ||
		    (allow && read_modules(doc, allow, &policy->lists.allow, err) < 0))
			return -1;
	}
	return 0;
}

struct policy_lists registry_lists(const struct registry *registry, const char *language)
{
	const struct runtime *wanted = runtime_find(language);

	/* Compares with all names of the language, as -l does. */
	for (size_t i = 0; i < registry->policy_count; i++)
		if (strcmp(registry->policies[i].language, language) == 0 ||
		    (wanted && runtime_find(registry->policies[i].language) == wanted))
			return registry->policies[i].lists;
	return (struct policy_lists){ NULL, NULL };
}

int registry_parse(const char *where, const char *text, size_t size, struct arena *arena, struct registry *out,
		   struct error *err)
{
	static const char *const known[] = { "containers", "settings", "policy", NULL };
	const struct yaml_node *part;
	struct yaml_doc doc;

	*out = (struct registry){ .auto_cleanup = true, .max_concurrent = 3 };
	if (yaml_load(where, text, size, arena, &doc, err) < 0)
		return -1;
	out->nothing = doc.root->kind == YAML_NOTHING;
	if (out->nothing)
		return 0;
	if (yaml_expect(&doc, doc.root, YAML_MAP, "a mapping with containers, settings and policy", err) < 0 ||
	    yaml_unknown_keys(&doc, doc.root, known, err) < 0)
		return -1;
	yaml_each(item, doc.root)
	{
		if (out->hollow || item->kind != YAML_NOTHING)
			continue;
		out->hollow = item->key->text;
		out->hollow_line = item->key->line;
		out->hollow_column = item->key->column;
	}
	part = yaml_map_get(doc.root, "containers");
	if (part && read_profiles(&doc, part, out, err) < 0)
		return -1;
	part = yaml_map_get(doc.root, "policy");
	if (part && read_policies(&doc, part, out, err) < 0)
		return -1;
	part = yaml_map_get(doc.root, "settings");
	return part ? read_settings(&doc, part, out, err) : 0;
}

int registry_check_whole(const char *where, const struct registry *registry, struct error *err)
{
	if (registry->nothing)
		return error_usage(
			err,
			"%s:1:1: the registry is empty: expected containers, settings or policy; write {} for "
			"one without rules, or remove the file",
			where);
	if (registry->hollow)
		return error_usage(err, "%s:%u:%u: %s: expected a mapping, not nothing; write %s: {} for an empty one",
				   where, registry->hollow_line, registry->hollow_column, registry->hollow,
				   registry->hollow);
	return 0;
}

/* A policy for a misspelled language would have no effect, and of two for one language only the first one would. */
static int check_policies(const char *where, const struct registry *registry, struct error *err)
{
	for (size_t i = 0; i < registry->policy_count; i++) {
		const struct registry_policy *policy = &registry->policies[i];
		const struct runtime *runtime = runtime_find(policy->language);

		if (!runtime) {
			runtime_unknown(policy->language, err);
			error_prefix(err, "%s:%u:%u: policy", where, policy->line, policy->column);
			return error_recode(err, CODE_BAD_REQUEST);
		}
		for (size_t j = 0; j < i; j++)
			if (runtime_find(registry->policies[j].language) == runtime)
				return error_usage(err, "%s:%u:%u: policy.%s: %s is on line %u already", where,
						   policy->line, policy->column, policy->language, runtime->display,
						   registry->policies[j].line);
	}
	return 0;
}

int registry_check(const char *where, const struct registry *registry, struct error *err)
{
	if (check_policies(where, registry, err) < 0)
		return -1;
	for (size_t i = 0; i < registry->count; i++) {
		const struct profile *profile = &registry->profiles[i];

		if (!profile->language || runtime_find(profile->language))
			continue;
		runtime_unknown(profile->language, err);
		error_prefix(err, "%s:%u:%u: containers.%s.language", where, profile->line, profile->column,
			     profile->name);
		return error_recode(err, CODE_BAD_REQUEST);
	}
	return 0;
}

const struct profile *registry_find(const struct registry *registry, const char *name, const char **nearest)
{
	_cleanup_free_ const char **names = NULL;

	for (size_t i = 0; i < registry->count; i++)
		if (strcmp(registry->profiles[i].name, name) == 0)
			return &registry->profiles[i];
	if (!nearest)
		return NULL;
	*nearest = NULL;
	names = calloc(registry->count + 1, sizeof(*names));
	for (size_t i = 0; names && i < registry->count; i++)
		names[i] = registry->profiles[i].name;
	if (names)
		*nearest = text_nearest(name, names);
	return NULL;
}
