/* registry.yaml, tokens.json and what crosses to the front: read, or refused with a place and one line. What is read
 * keeps the promises of registry.h and tokens.h. */
#include "fuzz.h"

#include "base/text.h"
#include "registry/config.h"

#include <ctype.h>

static void registry_list_holds(const char *const *list)
{
	while (*list)
		MUST(**list++ != '\0');
}

static void registry_profile_holds(const struct profile *p)
{
	double number;
	uint64_t bytes;

	MUST(strlen(p->name) >= 1 && strlen(p->name) <= REGISTRY_NAME_MAX && isalnum((unsigned char)p->name[0]));
	MUST((p->language != NULL) != (p->image != NULL) && (p->image != NULL) == (p->image_key != NULL));
	MUST(p->description && p->triggers && p->line > 0 && p->column > 0);
	registry_list_holds(p->triggers);
	MUST(!p->network || *p->network);
	MUST(!p->limits.timeout || text_number(p->limits.timeout, &number));
	MUST(!p->limits.cpus || text_number(p->limits.cpus, &number));
	MUST(!p->limits.memory || text_size(p->limits.memory, &bytes));
	MUST(!p->limits.pids || text_count(p->limits.pids, &bytes));
}

static void registry_holds(const struct registry *registry)
{
	MUST(registry->max_concurrent >= 1 && registry->max_concurrent <= 1000);
	for (size_t i = 0; i < registry->count; i++) {
		registry_profile_holds(&registry->profiles[i]);
		MUST(registry_find(registry, registry->profiles[i].name, NULL) == &registry->profiles[i]);
	}
	MUST(registry->setting_count <= REGISTRY_SETTINGS_MAX);
	for (size_t i = 0; i < registry->setting_count; i++) {
		enum config_key key;

		MUST(setting_find(registry->settings[i].name, &key) && setting_in_registry(key));
		MUST(setting_check(key, "x", registry->settings[i].value, NULL) == 0);
	}
}

static void registry_tokens_hold(const struct tokens *tokens)
{
	for (size_t i = 0; i < tokens->count; i++) {
		MUST(token_name_ok(tokens->tokens[i].name) && tokens->tokens[i].scopes > 0);
		MUST(tokens->tokens[i].scopes <= SCOPE_ALL && tokens->tokens[i].max_concurrent <= TOKEN_CONCURRENT_MAX);
	}
}

static void registry_error_holds(const struct error *err)
{
	MUST((err->kind == ERROR_USAGE || err->kind == ERROR_FAILED) && err->text[0] && !strchr(err->text, '\n'));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* Exactly as long as it is: no terminator is needed. */
	char *text = malloc(size + !size);
	struct front_config front;
	struct arena arena = { 0 };
	struct registry registry;
	struct tokens tokens;
	struct error err = { 0 };
	unsigned line, column;

	MUST(text);
	if (size > 0)
		memcpy(text, data, size);
	if (registry_parse("f", text, size, &arena, &registry, &err) == 0) {
		registry_holds(&registry);
	} else {
		registry_error_holds(&err);
		MUST(sscanf(err.text, "f:%u:%u: ", &line, &column) == 2 && line > 0 && column > 0);
	}
	if (tokens_parse("f", text, size, "first", &arena, &tokens, &err) == 0) {
		registry_tokens_hold(&tokens);
		MUST(tokens_find(&tokens, "first", 5) != NULL);
	} else {
		registry_error_holds(&err);
	}
	if (config_decode(text, size, &front, &err) == 0) {
		registry_holds(&front.registry);
		registry_tokens_hold(&front.tokens);
		MUST(front.hosts);
		front_config_free(&front);
	} else {
		registry_error_holds(&err);
	}
	arena_free(&arena);
	free(text);
	return 0;
}
