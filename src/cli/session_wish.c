#include "cli/session_wish.h"

#include "base/own.h"
#include "base/text.h"
#include "client/request_json.h"
#include "cli/cmd.h"

#include <string.h>

static const struct option_spec specs[] = {
#define SESSION_OPTION(ID, NAME, VALUE, HELP) { ID, 0, NAME, VALUE, HELP },
#include "cli/session_wish.def"
	{ 0 }
};

int session_failed(const struct error *err)
{
	cmd_complain("%s", err->text);
	return (int)err->kind;
}

int session_configure(struct config *config)
{
	struct error err = { 0 }, registry = { 0 };

	if (config_load_without(config, &registry, &err) < 0)
		return cmd_misconfigured(err.text);
	if (config_export(config) == 0)
		return 0;
	cmd_complain("no memory");
	return EXIT_BROKEN;
}

static const char *option_name(int option)
{
	for (const struct option_spec *spec = specs; spec->id; spec++)
		if (spec->id == option)
			return spec->name;
	return "";
}

static int take_seconds(const char **to, const char *command, int option, const char *value)
{
	double seconds;

	*to = value;
	if (text_duration(value, &seconds) && seconds > 0)
		return 0;
	return cmd_usage(command, "--%s: expected a time such as 600, 30m or 2h, not \"%.32s\"", option_name(option),
			 value);
}

int session_wish_take(struct session_wish *wish, const char *command, int option, const char *value)
{
	struct error err = { 0 };

	/* An option that also each cell can have does not require a new session. */
	wish->any |= option != WISH_LIMIT + LIMIT_timeout;
	switch (option) {
	case WISH_PROFILE:
		wish->profile = value;
		return 0;
	case WISH_NAME:
		wish->name = value;
		return 0;
	case WISH_TTL:
		return take_seconds(&wish->ttl, command, option, value);
	case WISH_IDLE_TTL:
		return take_seconds(&wish->idle_ttl, command, option, value);
	case WISH_READ_ONLY:
		value = "yes";
		break;
	default:
		break;
	}
	if (session_wish_is_bound(option))
		wish->bound = option_name(option);
	return spec_set(&wish->spec, option_name(option), value, &err) < 0 ? session_failed(&err) : 0;
}

static void set_text(json_t *request, const char *key, const char *value)
{
	if (value)
		json_object_set_new(request, key, json_string(value));
}

static void set_seconds(json_t *request, const char *key, const char *value)
{
	double seconds;

	if (value && text_duration(value, &seconds))
		json_object_set_new(request, key, json_real(seconds));
}

int session_wish_network(struct session_wish *wish, const char *command, const char *rules, json_t **network)
{
	_cleanup_buf_ struct buf text = { 0 };
	struct error err = { 0 };

	if (spec_set(&wish->spec, "net", rules, &err) < 0)
		return session_failed(&err);
	if (wish->bound && net_policy_is_none(&wish->spec.network))
		return cmd_usage(command, "--%s: without a network there is nothing to bound; leave it out",
				 wish->bound);
	if (!request_network_json(&wish->spec.network, &text))
		return cmd_usage(command, "the rules are not UTF-8 text");
	*network = json_loadb(text.data, text.size, JSON_DECODE_ANY, NULL);
	if (*network)
		return 0;
	cmd_complain("no memory");
	return EXIT_BROKEN;
}

int session_wish_request(const struct session_wish *wish, const char *command, json_t **request)
{
	const struct request_extra extra = { .language = wish->spec.runtime->name };
	_cleanup_buf_ struct buf text = { 0 };

	/* A profile has bounds of its own. */
	if (wish->bound && net_policy_is_none(&wish->spec.network))
		return cmd_usage(command, "--%s: it also needs --net with rules", wish->bound);
	if (!request_json(&wish->spec, &extra, &text))
		return cmd_usage(command, "a given file cannot be read, or all files together are larger than 16m");
	*request = json_loadb(text.data, text.size, 0, NULL);
	if (!*request) {
		cmd_complain("no memory");
		return EXIT_BROKEN;
	}
	set_text(*request, "profile", wish->profile);
	set_text(*request, "name", wish->name);
	set_seconds(*request, "ttl", wish->ttl);
	set_seconds(*request, "idle_ttl", wish->idle_ttl);
	return 0;
}
