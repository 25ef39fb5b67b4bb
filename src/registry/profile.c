#include "registry/network.h"

#include "base/buf.h"
#include "base/own.h"
#include "base/text.h"
#include "schema/spec.h"
#include "language/runtime.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The default for a request that does not set the limit; 0: none, only for the CPU time. */
static double default_amount(enum limit_id id, const struct profile_target *target)
{
	const char *language = target->get(target->request, "language");
	const struct runtime *runtime = language ? runtime_find(language) : NULL;
	const struct limits all = limits_settle(&(struct limits){ 0 }, runtime ? &runtime->limits : NULL);

	return limit_get(&all, id);
}

static const char *limit_text(const struct limit_texts *limits, enum limit_id id)
{
	return limits ? limits->of[id] : NULL;
}

static int settle_limit(enum limit_id id, const struct profile *profile, const struct token *token,
			const struct limit_texts *said, const struct limit_texts *settings,
			const struct profile_target *target, struct error *err)
{
	const char *const key = limit_rows[id].key;
	const char *asked = target->get(target->request, key), *most = limit_text(token ? &token->limits : NULL, id);
	const char *value;

	/* Files are in memory, so a token's limit of memory also limits the disk. */
	if (!most && token && id == LIMIT_disk)
		most = token->limits.memory;

	if (asked) {
		if (most && limit_amount(id, asked) > limit_amount(id, most))
			return error_field(err, key, "\"%.64s\" is more than the token \"%s\" allows: at most %s",
					   asked, token->name, most);
		return 0;
	}
	value = limit_text(said, id);
	if (!value)
		value = limit_text(profile ? &profile->limits : NULL, id);
	if (!value)
		value = limit_text(settings, id);
	if (most) {
		double much = value ? limit_amount(id, value) : default_amount(id, target);

		if (much <= 0 || much > limit_amount(id, most))
			value = most;
	}
	return value ? target->set(target->request, key, value, err) : 0;
}

/* The reference of an image. For a Dockerfile's text, the reference after FROM; NULL if there is none (but a file's
 * path). */
static const char *image_reference(const struct profile *profile)
{
	static const char from[] = "FROM ";
	const char *at = profile->image;

	if (strcmp(profile->image_key, "image") == 0)
		return at;
	if (strcmp(profile->image_key, "dockerfile") != 0)
		return NULL;
	while (at && strncasecmp(at, from, sizeof(from) - 1) != 0)
		at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL;
	return at ? at + sizeof(from) - 1 + strspn(at + sizeof(from) - 1, " ") : NULL;
}

/* The language of an official image: docker.io/library/python:3.12-slim is Python's. NULL: unknown. */
static const struct runtime *image_language(const char *reference)
{
	static const char *const others[][2] = { { "node", "javascript" }, { "golang", "go" },
						 { "gcc", "c" },           { "openjdk", "java" },
						 { "r-base", "r" },        { "eclipse-temurin", "java" } };
	size_t size = reference ? strcspn(reference, " \n@") : 0;
	char name[64];

	const char *slash = size > 0 ? memrchr(reference, '/', size) : NULL;

	if (slash) {
		size -= (size_t)(slash + 1 - reference);
		reference = slash + 1;
	}
	if (size > 0 && memchr(reference, ':', size))
		size = strcspn(reference, ":");
	if (size == 0 || size >= sizeof(name))
		return NULL;
	memcpy(name, reference, size);
	name[size] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (strcmp(name, others[i][0]) == 0)
			return runtime_find(others[i][1]);
	return runtime_find(name);
}

/* Images are not supported yet: the error says what to write instead, and where this is explained. */
static int image_refuse(const struct profile *profile, struct error *err)
{
	const struct runtime *runtime = image_language(image_reference(profile));

	return error_field(err, "profile",
			   "\"%s\" is made from \"%s\", which is not available yet; write language: %s instead "
			   "of it%s, see: man emberbox-config",
			   profile->name, profile->image_key, runtime ? runtime->name : "python",
			   runtime ? "" : ", or another that emberbox languages has");
}

static int settle_language(const struct profile *profile, const struct profile_target *target, struct error *err)
{
	const char *asked = target->get(target->request, "language");
	const struct runtime *wanted, *meant;

	if (profile->image)
		return image_refuse(profile, err);
	if (!asked)
		return target->set(target->request, "language", profile->language, err);
	if (strcasecmp(asked, profile->language) == 0)
		return 0;
	wanted = runtime_find(asked);
	meant = runtime_find(profile->language);
	if (wanted && wanted == meant)
		return 0;
	return error_field(err, "language", "the profile \"%s\" is for %s, not for \"%.64s\"", profile->name,
			   profile->language, asked);
}

static int settle_security(const struct profile *profile, const struct profile_target *target, struct error *err)
{
	const char *said = target->get(target->request, "read-only");

	/* A request cannot undo a restriction of its profile. Limits are defaults, this is not. */
	if (profile->read_only && said && strcmp(said, "no") == 0)
		return error_field(err, "read-only", "profile \"%s\" is read-only; leave it out", profile->name);
	if (profile->read_only && !said)
		return target->set(target->request, "read-only", "yes", err);
	return 0;
}

int profile_settle(const struct profile *profile, const struct token *token, const struct limit_texts *said,
		   const struct limit_texts *settings, const struct profile_target *target, struct error *err)
{
	if (profile && (settle_language(profile, target, err) < 0 || settle_security(profile, target, err) < 0))
		return -1;
	for (enum limit_id id = 0; id < LIMITS; id++)
		if (settle_limit(id, profile, token, said, settings, target, err) < 0)
			return -1;
	return 0;
}

int profile_defaults(const struct profile *profile, const struct token *token, const struct front_config *config,
		     bool model, const struct profile_target *target, struct error *err)
{
	const struct network_bounds bounds = {
		.profile = profile, .token = token, .net = config->net, .host = config->net_host, .model = model
	};

	if (profile_settle(profile, token, &config->said, &config->settings, target, err) < 0)
		return -1;
	return network_settle(&bounds, target, err);
}

/* "; Bash, Shell and Zsh have it, Python has not": for a profile of other languages. */
static void tell_who_has(const struct runtime *asked, const char *name, struct buf *out)
{
	const struct runtime *runtime;
	_cleanup_buf_ struct buf list = { 0 };

	for (size_t i = 0; (runtime = runtime_at(i)); i++)
		for (size_t j = 0; j < runtime->profile_count; j++)
			if (strcmp(runtime->profiles[j].name, name) == 0)
				buf_printf(&list, "%s%s", list.size > 0 ? ", " : "", runtime->display);
	if (list.size > 0)
		buf_printf(out, "; it is a profile of %s, and %s has none of that name", list.data, asked->display);
}

void profile_unknown(const struct registry *registry, const char *language, const char *name, struct error *err)
{
	const struct runtime *runtime = language ? runtime_find(language) : NULL;
	const size_t own = runtime ? runtime->profile_count : 0;
	_cleanup_free_ const char **names = calloc(registry->count + own + 1, sizeof(*names));
	_cleanup_buf_ struct buf list = { 0 };
	const char *nearest = NULL;
	size_t count = 0;

	buf_text(&list, registry->count > 0 ? "the registry has: " : "the registry has none");
	for (size_t i = 0; i < registry->count; i++) {
		buf_printf(&list, "%s%s", i > 0 ? ", " : "", registry->profiles[i].name);
		if (names)
			names[count++] = registry->profiles[i].name;
	}
	for (size_t i = 0; i < own; i++) {
		buf_printf(&list, "%s%s%s%s", i > 0 ? ", " : "; ", i > 0 ? "" : runtime->display,
			   i > 0 ? "" : " has: ", runtime->profiles[i].name);
		if (names)
			names[count++] = runtime->profiles[i].name;
	}
	if (runtime)
		tell_who_has(runtime, name, &list);
	nearest = names ? text_nearest(name, names) : NULL;
	error_field(err, "profile", "there is no \"%.80s\"; %s%s%s%s", name, nearest ? "did you mean " : "",
		    nearest ? nearest : "", nearest ? "? " : "", list.data && !list.failed ? list.data : "");
}
