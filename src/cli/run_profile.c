/* Applies a profile of the registry to a run, and asks for its confirmation. */
#include "base/own.h"
#include "cli/cmd_run.h"
#include "registry/network.h"
#include "language/runtime.h"
#include "api/public.h"

#include "schema/spec.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A value in the request has precedence: options or the environment set it. Its text does not matter here. */
static const char *get_said(void *to, const char *key)
{
	const struct run *run = to;
	const struct limits *limits = &request_spec(run->request)->limits;
	const struct limit_row *limit = limit_by_key(key);

	if (strcmp(key, "language") == 0)
		return run->language;
	if (strcmp(key, "net") == 0)
		return run->net_given;
	return limit && limit_get(limits, (enum limit_id)(limit - limit_rows)) > 0 ? "" : NULL;
}

static int set_default(void *to, const char *key, const char *value, struct error *err)
{
	struct run *run = to;
	eb_error why = { 0 };

	if (strcmp(key, "language") == 0) {
		run->language = value;
		if (run->deferred)
			return 0;
	}
	if (eb_request_set(run->request, key, value, &why) == 0)
		return 0;
	return error_set(err, why.code == EB_NO_LANGUAGE ? ERROR_LANGUAGE : ERROR_USAGE, 0, "%s", why.message);
}

/* Opens the terminal if a person would see the question: standard input is the terminal, which we share. */
static int open_terminal(void)
{
	if (!isatty(STDIN_FILENO) || tcgetpgrp(STDIN_FILENO) != getpgrp())
		return -1;
	if (isatty(STDERR_FILENO))
		return fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	return open("/dev/tty", O_WRONLY | O_NOCTTY | O_CLOEXEC);
}

/* The first letter of the line decides; input after the line is the program's. */
static bool read_yes(void)
{
	char first = '\0', c;
	ssize_t n;

	while ((n = read(STDIN_FILENO, &c, 1)) == 1 || (n < 0 && errno == EINTR)) {
		if (n < 0)
			continue;
		if (c == '\n')
			break;
		if (!first && c != ' ' && c != '\t')
			first = c;
	}
	return first == 'y' || first == 'Y';
}

int run_confirm(struct run *run)
{
	eb_error err = { .code = EB_BLOCKED };
	_cleanup_close_ int terminal = -1;
	char question[REGISTRY_NAME_MAX + 64], caller[RUN_CALLER_MAX];
	const struct profile *profile = run->of;
	struct recorded_by by;
	const char *how;

	if (!profile || !profile->needs_confirm)
		return 0;
	by = run_recorded_as(run, caller);
	terminal = run->yes ? -1 : open_terminal();
	how = run->yes ? "--yes" : terminal >= 0 ? "terminal" : "nobody to ask";
	if (terminal >= 0) {
		snprintf(question, sizeof(question), "Run with profile \"%s\"? [y/N] ", profile->name);
		recorded_confirm(&by, "confirm_asked", how);
	}
	if (run->yes || (terminal >= 0 && cmd_write(terminal, question, strlen(question)) == 0 && read_yes())) {
		recorded_confirm(&by, "confirmed", how);
		return 0;
	}
	recorded_confirm(&by, "denied", how);
	snprintf(err.message, sizeof(err.message), "blocked: profile \"%s\" needs confirmation%s", profile->name,
		 terminal >= 0 ? "" : ", and there is no terminal to ask at; use --yes");
	return run_blocked(run, &err);
}

static bool has_profile(const struct runtime *runtime, const char *name)
{
	for (size_t i = 0; i < runtime->profile_count; i++)
		if (strcmp(runtime->profiles[i].name, name) == 0)
			return true;
	return false;
}

/*
 * Whether it may be a profile of the language, or of any language if that is
 * unknown, because the code is not read yet. An error of the language is
 * reported before an error of its profile.
 */
static bool is_language_profile(const struct run *run)
{
	const struct runtime *runtime = run->language ? runtime_find(run->language) : NULL;

	if (run->language)
		return !runtime || runtime->broken || has_profile(runtime, run->profile);
	for (size_t i = 0; (runtime = runtime_at(i)); i++)
		if (has_profile(runtime, run->profile))
			return true;
	return false;
}

int run_apply_profile(struct run *run)
{
	const struct profile_target target = { .get = get_said, .set = set_default, .request = run };
	const struct profile *profile = NULL;
	const struct config_value *values = run->config.values;
	struct network_bounds bounds = {
		.net = values[CONFIG_NET].text,
		.host = values[CONFIG_NET_HOST].text && strcmp(values[CONFIG_NET_HOST].text, "true") == 0,
	};
	struct error err = { 0 };
	eb_error why = { 0 };

	if (run->profile)
		profile = registry_find(&run->config.registry, run->profile, NULL);
	if (run->profile && !profile) {
		if (!is_language_profile(run)) {
			profile_unknown(&run->config.registry, run->language, run->profile, &err);
			return run_failed(run, &err);
		}
		if (eb_request_set(run->request, "profile", run->profile, &why) < 0)
			return run_refused(run, &why);
	}
	if (profile_settle(profile, NULL, NULL, &run->config.settings, &target, &err) < 0)
		return run_failed(run, &err);
	bounds.profile = profile;
	if (network_settle(&bounds, &target, &err) < 0)
		return run_failed(run, &err);
	run->of = profile;
	return 0;
}
