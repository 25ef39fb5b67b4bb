#include "mcp/words.h"

#include "base/error.h"
#include "base/own.h"

#include <stdint.h>
#include <string.h>

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

/* A model's remedy for an error; "": no tool helps. `told`: the remedy for other clients. */
static const char *remedy_of(enum error_code code, const char *field, bool told)
{
	const bool session = strcmp(field, "session") == 0,
		   lists = told && strcmp(field, "container") == 0 &&
			   (code == CODE_NOT_FOUND || code == CODE_BAD_REQUEST);

	if (code == CODE_NO_SESSIONS)
		return "; run programs of it with run_code";
	if (code == CODE_NOT_INSTALLED)
		return "; use another language, or ask the user to install it: ";
	if (session && (code == CODE_NOT_FOUND || code == CODE_FORBIDDEN_SCOPE))
		return "; call run_in_session with a language and without a session for another";
	if (lists)
		return "; container_list names them";
	return "";
}

void words_refusal(const json_t *error, struct buf *out)
{
	const enum error_code code = error_code_find(text_of(error, "code"));
	const char *problem = text_of(error, "problem"), *message = text_of(error, "message");
	json_t *retry = json_object_get(error, "retry_after");

	message = *message ? message : "the service refused the request without a reason";
	buf_printf(out, "%s%s%s", *problem ? problem : message, remedy_of(code, text_of(error, "field"), *problem),
		   text_of(error, "with"));
	if (json_is_integer(retry))
		buf_printf(out, " (in %lld s)", (long long)json_integer_value(retry));
}

void words_remedy(const json_t *result, struct buf *out)
{
	const json_t *limits = json_object_get(json_object_get(result, "meta"), "resource_limits");
	const char *status = text_of(result, "status"), *session = "";

	if (*text_of(json_object_get(result, "error"), "suggestion"))
		return;
	if (json_is_object(json_object_get(result, "session")))
		session = " of a new session";
	if (strcmp(status, "timeout") == 0)
		buf_printf(out, "suggestion: Do less at once, or give a larger timeout (it was %g s).\n",
			   json_number_value(json_object_get(limits, "timeout")));
	else if (strcmp(status, "out_of_memory") == 0)
		buf_printf(out, "suggestion: Hold less at once, or give a larger memory_limit%s (it was %lldm).\n",
			   session, (long long)json_integer_value(json_object_get(limits, "memory")) / (1024LL * 1024));
	else if (strcmp(status, "output_limit") == 0)
		buf_text(out, "suggestion: Print less, or write it to a file in /sandbox/output.\n");
	else if (strcmp(status, "blocked") == 0)
		buf_text(out, "suggestion: Do without it; check_code names all that would be blocked.\n");
}

static void put_place(struct buf *out, const json_t *found)
{
	buf_printf(out, "%lld:%lld %s: ", (long long)json_integer_value(json_object_get(found, "line")),
		   (long long)json_integer_value(json_object_get(found, "column")), text_of(found, "text"));
}

/* Prints one finding. */
static void put_finding(struct buf *out, const json_t *found)
{
	const char *severity = text_of(found, "severity"), *reason = text_of(found, "reason");

	put_place(out, found);
	if (json_is_true(json_object_get(found, "blocked")))
		buf_text(out, "blocked, ");
	buf_printf(out, "%s%s%s\n", severity, *severity && *reason ? ": " : "", reason);
}

static void put_list(struct buf *out, const json_t *list, size_t most, void (*put)(struct buf *, const json_t *))
{
	const json_t *one;
	size_t i;

	json_array_foreach(list, i, one)
	{
		if (out->size >= most) {
			buf_printf(out, "[… and %zu more …]\n", json_array_size(list) - i);
			return;
		}
		put(out, one);
	}
}

static void put_mistake(struct buf *out, const json_t *found)
{
	put_place(out, found);
	buf_printf(out, "syntax error: %s\n", text_of(found, "message"));
}

void words_check(const json_t *report, size_t most, struct buf *out)
{
	const json_t *imports = json_object_get(report, "imports"), *findings = json_object_get(report, "findings");
	const json_t *mistakes = json_object_get(report, "syntax_errors");

	if (!json_is_true(json_object_get(report, "checked"))) {
		buf_printf(out, "%s was not checked: %s\n", text_of(report, "language"),
			   text_of(report, "unchecked_because"));
		return;
	}
	buf_printf(out, "%s: %s; %zu imports, %zu of them blocked, %zu findings, %zu syntax errors\n",
		   text_of(report, "language"), json_is_true(json_object_get(report, "clean")) ? "clean" : "not clean",
		   json_array_size(imports), json_array_size(json_object_get(report, "blocked_imports")),
		   json_array_size(findings), json_array_size(mistakes));
	put_list(out, mistakes, most, put_mistake);
	put_list(out, imports, most, put_finding);
	put_list(out, findings, most, put_finding);
	if (json_is_true(json_object_get(report, "truncated")))
		buf_text(out, "[… the list is incomplete …]\n");
}

static void put_profile(struct buf *out, const json_t *profile)
{
	const json_t *security = json_object_get(profile, "security"), *limits = json_object_get(profile, "resources");
	const char *description = text_of(profile, "description"), *name;
	json_t *value;

	buf_printf(out, "- %s (%s)%s%s", text_of(profile, "name"),
		   *text_of(profile, "language") ? text_of(profile, "language") : text_of(profile, "image"),
		   *description ? ": " : "", description);
	json_object_foreach((json_t *)limits, name, value)
	{
		_cleanup_free_ char *dumped = json_is_null(value) ? NULL : json_dumps(value, JSON_ENCODE_ANY);

		if (dumped)
			buf_printf(out, ", %s %s", name, json_is_string(value) ? json_string_value(value) : dumped);
	}
	if (json_is_true(json_object_get(security, "needs_confirm")))
		buf_text(out, ", a person has to confirm");
	buf_text(out, "\n");
}

static void put_container(struct buf *out, const json_t *container)
{
	buf_printf(out, "- %s (%s): %s\n", text_of(container, "id"), text_of(container, "container"),
		   text_of(container, "status"));
}

void words_containers(const json_t *profiles, const json_t *running, struct buf *out)
{
	if (json_array_size(profiles) == 0)
		buf_text(out, "no profiles: an administrator defines them in registry.yaml; use run_code or "
			      "run_in_session\n");
	else
		buf_text(out, "profiles, for container_start:\n");
	put_list(out, profiles, SIZE_MAX, put_profile);
	buf_text(out, json_array_size(running) > 0 ? "containers:\n" : "no containers are running\n");
	put_list(out, running, SIZE_MAX, put_container);
}
