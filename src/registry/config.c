#include "registry/config.h"

#include "base/own.h"
#include "registry/dotenv.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The variables that config_export() has set, which config_load() must not take for the user's. The environment is
 * global, and so is this. */
static bool exported[CONFIG_KEYS];

const char *config_source_name(enum config_source source)
{
	static const char *const names[] = { "default", "registry", ".env", "environment", "option" };

	return names[source];
}

static int no_memory(struct error *err)
{
	return error_set(err, ERROR_FAILED, ENOMEM, "cannot hold the settings");
}

/* Keeps the value of a stronger source. */
static void config_put(struct config *config, enum config_key key, const struct config_value *value)
{
	if (value->source > config->values[key].source)
		config->values[key] = *value;
}

static bool is_path(enum config_key key)
{
	return key == CONFIG_REGISTRY_FILE || key == CONFIG_SOCKET || key == CONFIG_TLS_CERT || key == CONFIG_TLS_KEY;
}

/* Errors name an option as it was typed. */
static int take_option(struct config *config, const struct config_option *option, struct error *err)
{
	const char *name = config_option_name(option->key), *text = option->value;
	char here[PATH_MAX];

	/* Only options may be relative, because shells complete such paths. */
	if (is_path(option->key) && *text && *text != '/') {
		if (!getcwd(here, sizeof(here)))
			return error_errno(err, "%s: \"%.80s\" is relative; expected an absolute path", name, text);
		text = arena_printf(&config->arena, "%s/%s", here, text);
		if (!text)
			return no_memory(err);
	}
	if (setting_check(option->key, name ? name : config_name(option->key), text, err) < 0)
		return -1;
	config_put(config, option->key, &(struct config_value){ .text = text, .source = CONFIG_OPTION });
	return 0;
}

static int take_variable(struct config *config, enum config_key key, const char *name, struct error *err)
{
	const char *text = name && !exported[key] ? getenv(name) : NULL;

	if (!text)
		return 0;
	if (setting_check(key, name, text, err) < 0)
		return -1;
	text = arena_string(&config->arena, text);
	if (!text)
		return no_memory(err);
	config_put(config, key, &(struct config_value){ .text = text, .source = CONFIG_ENVIRONMENT, .name = name });
	return 0;
}

static int take_environment(struct config *config, struct error *err)
{
	/* The first name has precedence: it is specific to emberbox. */
	for (int i = 0; i < CONFIG_KEYS; i++)
		if (take_variable(config, (enum config_key)i, setting_other_name((enum config_key)i), err) < 0 ||
		    take_variable(config, (enum config_key)i, config_name((enum config_key)i), err) < 0)
			return -1;
	return 0;
}

/* The destination of .env's lines. */
struct dotenv {
	struct config *config;       /* the settings */
	const char *path;            /* the file's name */
	const char *kept;            /* a copy in the arena, made when needed */
	unsigned lines[CONFIG_KEYS]; /* line of each setting; 0: not set */
};

static int take_line(void *to, const char *name, const char *text, unsigned line, struct error *err)
{
	struct dotenv *file = to;
	struct config_value value = { .source = CONFIG_FILE, .line = line };
	enum config_key key = CONFIG_TYPE;

	setting_find(name, &key);
	if (file->lines[key])
		return error_usage(err, "\"%s\", line %u: \"%s\": this setting is on line %u already", file->path, line,
				   name, file->lines[key]);
	file->lines[key] = line;
	if (setting_check(key, name, text, err) < 0)
		return error_prefix(err, "\"%s\", line %u", file->path, line);
	value.name = strcmp(name, config_name(key)) == 0 ? NULL : setting_other_name(key);
	if (!file->kept)
		file->kept = arena_string(&file->config->arena, file->path);
	value.where = file->kept;
	value.text = arena_string(&file->config->arena, text);
	if (!value.text || !value.where)
		return no_memory(err);
	config_put(file->config, key, &value);
	return 0;
}

static int take_file(struct config *config, struct error *err)
{
	char path[PATH_MAX];
	struct dotenv file = { .config = config, .path = path };

	return dotenv_read(path, sizeof(path), take_line, &file, err);
}

/* Ignores the registry. */
static void drop_registry(struct config *config)
{
	config->registry = (struct registry){ .auto_cleanup = true, .max_concurrent = 3 };
	config->registry_text = "";
	config->registry_size = 0;
}

static int take_registry(struct config *config, struct error *err)
{
	_cleanup_free_ char *text = NULL;
	const char *where;
	size_t size;

	if (registry_read(config->values[CONFIG_REGISTRY_FILE].text, &text, &size, config->registry_where,
			  sizeof(config->registry_where), err) < 0)
		return -1;
	drop_registry(config);
	if (!text)
		return 0;
	config->registry_text = arena_copy(&config->arena, text, size);
	config->registry_size = size;
	where = arena_string(&config->arena, config->registry_where);
	if (!config->registry_text || !where)
		return no_memory(err);
	if (registry_parse(where, config->registry_text, size, &config->arena, &config->registry, err) < 0 ||
	    registry_check_whole(where, &config->registry, err) < 0 ||
	    registry_check(where, &config->registry, err) < 0)
		return -1;
	for (size_t i = 0; i < config->registry.setting_count; i++) {
		const struct registry_setting *setting = &config->registry.settings[i];
		enum config_key key = CONFIG_TYPE;

		setting_find(setting->name, &key);
		config_put(config, key,
			   &(struct config_value){ .text = setting->value,
						   .source = CONFIG_REGISTRY,
						   .where = where,
						   .line = setting->line,
						   .name = setting->name });
	}
	return 0;
}

const char *config_said_by(const struct config *config, enum config_key key)
{
	const char *option = config_option_name(key);

	if (config->values[key].source == CONFIG_OPTION && option)
		return option;
	if (config->values[key].said)
		return config->values[key].said;
	return config->values[key].name ? config->values[key].name : config_name(key);
}

/* Adds the place of the value to errors that are only found when the value is used. */
static int name_places(struct config *config, struct error *err)
{
	for (int i = 0; i < CONFIG_KEYS; i++) {
		struct config_value *value = &config->values[i];
		const char *name = value->name ? value->name : config_name((enum config_key)i);

		if (value->source != CONFIG_FILE && value->source != CONFIG_REGISTRY)
			continue;
		value->said =
			value->source == CONFIG_FILE
				? arena_printf(&config->arena, "\"%s\", line %u: %s", value->where, value->line, name)
				: arena_printf(&config->arena, "%s:%u: %s", value->where, value->line, name);
		if (!value->said)
			return no_memory(err);
	}
	return 0;
}

/* With only one of the two, the service would run without the TLS that the user expects. */
static int check_tls(const struct config *config, struct error *err)
{
	const char *cert = config->values[CONFIG_TLS_CERT].text, *key = config->values[CONFIG_TLS_KEY].text;
	enum config_key said, missing;

	if (!cert == !key)
		return 0;
	said = cert ? CONFIG_TLS_CERT : CONFIG_TLS_KEY;
	missing = cert ? CONFIG_TLS_KEY : CONFIG_TLS_CERT;
	return error_usage(err, "%s: it also needs %s", config_said_by(config, said),
			   config->values[said].source == CONFIG_OPTION ? config_option_name(missing)
									: config_name(missing));
}

/* Collects the limits set by the registry, or by sources with precedence over it. */
static int fill_limits(struct config *config, bool registry, struct limit_texts *out, struct error *err)
{
	*out = (struct limit_texts){ 0 };
	for (int i = 0; i < CONFIG_KEYS; i++) {
		const struct config_value *value = &config->values[i];
		enum limit_id id;

		if (value->source == CONFIG_DEFAULT || (value->source == CONFIG_REGISTRY) != registry ||
		    !setting_limit((enum config_key)i, &id))
			continue;
		/* The unit is part of this setting's name. */
		out->of[id] = i == CONFIG_MAX_OUTPUT ? arena_printf(&config->arena, "%sk", value->text) : value->text;
		if (!out->of[id])
			return no_memory(err);
	}
	return 0;
}

/* If `registry` is not NULL, it receives the registry's error, and the other sources are used. */
static int config_read(const struct config_option *options, size_t count, struct config *out, struct error *registry,
		       struct error *err)
{
	for (int i = 0; i < CONFIG_KEYS; i++)
		out->values[i].text = setting_default((enum config_key)i);
	for (size_t i = 0; i < count; i++)
		if (take_option(out, &options[i], err) < 0)
			return -1;
	if (take_environment(out, err) < 0 || take_file(out, err) < 0)
		return -1;
	if (take_registry(out, registry ? registry : err) < 0) {
		if (!registry)
			return -1;
		drop_registry(out);
	}
	if (name_places(out, err) < 0 || check_tls(out, err) < 0)
		return -1;
	return fill_limits(out, false, &out->said, err) < 0 ? -1 : fill_limits(out, true, &out->settings, err);
}

int config_load(const struct config_option *options, size_t count, struct config *out, struct error *err)
{
	*out = (struct config){ 0 };
	if (config_read(options, count, out, NULL, err) == 0)
		return 0;
	config_free(out);
	return -1;
}

int config_load_service(const struct config_option *options, size_t count, struct config *out, struct error *err)
{
	struct error why = { 0 };
	struct spec spec;
	int done;

	if (config_load(options, count, out, err) < 0)
		return -1;
	spec_init(&spec);
	done = spec_set(&spec, "engine", out->values[CONFIG_TYPE].text, &why);
	spec_free(&spec);
	if (done == 0)
		return 0;
	error_usage(err, "%s: %s", config_said_by(out, CONFIG_TYPE), error_detail(&why));
	config_free(out);
	return -1;
}

int config_load_without(struct config *out, struct error *registry, struct error *err)
{
	*out = (struct config){ 0 };
	*registry = (struct error){ 0 };
	if (config_read(NULL, 0, out, registry, err) == 0)
		return 0;
	config_free(out);
	return -1;
}

void config_free(struct config *config)
{
	arena_free(&config->arena);
	*config = (struct config){ 0 };
}

int config_export(const struct config *config)
{
	static const enum config_key keys[] = { CONFIG_SOCKET, CONFIG_CACHE_SIZE, CONFIG_RESOLVER };

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		const struct config_value *value = &config->values[keys[i]];
		bool ours = value->source != CONFIG_DEFAULT && value->source != CONFIG_ENVIRONMENT;

		/* An option replaces the variable, whose old value is not needed again. */
		if (ours && setenv(config_name(keys[i]), value->text, 1) < 0)
			return -1;
		if (!ours && exported[keys[i]])
			unsetenv(config_name(keys[i]));
		exported[keys[i]] = ours;
	}
	return 0;
}

void config_unexport(void)
{
	for (int i = 0; i < CONFIG_KEYS; i++) {
		if (exported[i])
			unsetenv(config_name((enum config_key)i));
		exported[i] = false;
	}
}

int config_first_token(const struct config *config, char *out, struct error *err)
{
	const char *given = config->values[CONFIG_TOKEN].text;

	if (!given)
		return token_stored(true, out, err);
	snprintf(out, TOKEN_MAX, "%s", given);
	return 0;
}
