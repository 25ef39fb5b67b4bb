/* Settings of a run from the environment, .env and the registry. */
#include "base/own.h"
#include "cli/cmd_run.h"
#include "policy/policy.h"
#include "api/public.h"

#include <errno.h>
#include <string.h>

/* Sets the engine; its availability is checked later. Returns 0, or an exit code. */
int run_set_engine(struct run *run, const char *engine, const char *from)
{
	if (!engine_is_named(engine))
		return run_usage(run, "%s: \"%.80s\" is not one of " ENGINE_NAMES, from, engine);
	run->engine = engine;
	run->engine_from = from;
	return 0;
}

/* Reports an error that occurred before there was a result; for bad usage also names --help. */
int run_failed(const struct run *run, const struct error *err)
{
	eb_error outer = { 0 };

	if (err->kind == ERROR_USAGE)
		return run_usage(run, "%s", err->text);
	public_error(&outer, err);
	return run_refused(run, &outer);
}

static int set_limits(struct run *run, const struct limit_texts *limits)
{
	eb_error err = { 0 };

	for (size_t i = 0; i < LIMITS; i++)
		if (limits->of[i] && eb_request_set(run->request, limit_rows[i].key, limits->of[i], &err) < 0)
			return run_refused(run, &err);
	return 0;
}

/*
 * Settings are read first, so that options override them; but an invalid
 * setting is refused even if an option overrides it. Returns 0, or an exit
 * code.
 */
int run_configure(struct run *run)
{
	const struct config_option option = { CONFIG_REGISTRY_FILE, run->registry };
	const struct config_value *engine, *service;
	struct error err = { 0 };
	eb_error why = { 0 };

	if (config_load(&option, run->registry ? 1 : 0, &run->config, &err) < 0)
		return run_misconfigured(run, &err);
	engine = &run->config.values[CONFIG_TYPE];
	service = &run->config.values[CONFIG_SERVICE];
	if (config_export(&run->config) < 0) {
		error_set(&err, ERROR_FAILED, ENOMEM, "cannot hold the settings");
		return run_failed(run, &err);
	}
	if (engine->source != CONFIG_DEFAULT &&
	    run_set_engine(run, engine->text, config_said_by(&run->config, CONFIG_TYPE)) != 0)
		return EXIT_USAGE;
	run->service = *service->text == 'n' ? SERVICE_NEVER : *service->text == 's' ? SERVICE_START : SERVICE_AUTO;
	run->cold |= run->service == SERVICE_NEVER;
	if (config_policy(&run->config) != POLICY_OFF &&
	    eb_request_set(run->request, "policy", policy_mode_name(config_policy(&run->config)), &why) < 0)
		return run_refused(run, &why);
	return set_limits(run, &run->config.said);
}

int run_settle_policy(struct run *run)
{
	const struct spec *spec = request_spec(run->request);
	char caller[RUN_CALLER_MAX];
	struct policy_lists lists;
	struct recorded_by by;
	eb_error err = { 0 };

	if (spec->policy < config_policy(&run->config)) {
		by = run_recorded_as(run, caller);
		recorded_bypass(&by, "--policy");
	}
	if (spec->policy == POLICY_OFF || !spec->runtime)
		return 0;
	lists = registry_lists(&run->config.registry, spec->runtime->name);
	if ((lists.block && eb_request_set(run->request, "policy-block", lists.block, &err) < 0) ||
	    (lists.allow && eb_request_set(run->request, "policy-allow", lists.allow, &err) < 0))
		return run_refused(run, &err);
	return 0;
}
