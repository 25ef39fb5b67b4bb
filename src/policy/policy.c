#include "policy/policy.h"

#include "base/own.h"
#include "policy/reader_client.h"

#include <errno.h>
#include <string.h>

static const struct {
	char language[12], grammar[12];
} grammars[] = {
	{ "python", "python" },
	{ "javascript", "javascript" },
	{ "typescript", "typescript" },
	{ "bash", "bash" },
	{ "sh", "bash" },
	{ "zsh", "bash" },
	{ "ruby", "ruby" },
	{ "go", "go" },
	{ "c", "c" },
	{ "sqlite", "sql" },
	{ "postgres", "sql" },
};

static const char *const modes[] = { "off", "warn", "block" };

const char *policy_grammar(const char *language)
{
	for (size_t i = 0; i < ARRAY_SIZE(grammars); i++)
		if (strcmp(grammars[i].language, language) == 0)
			return grammars[i].grammar;
	return NULL;
}

bool policy_mode_of(const char *word, enum policy_mode *mode)
{
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		if (strcmp(modes[i], word) != 0)
			continue;
		*mode = (enum policy_mode)i;
		return true;
	}
	return false;
}

const char *policy_mode_name(enum policy_mode mode)
{
	return modes[mode];
}

int policy_check(const struct runtime *runtime, const void *code, size_t size, const struct policy_lists *lists,
		 struct policy_report *out, struct error *err)
{
	const char *grammar = policy_grammar(runtime->name);
	const struct policy_rules *rules = grammar ? policy_rules_of(grammar) : NULL;
	_cleanup_free_ char *records = NULL;
	struct wire_tell head;

	*out = (struct policy_report){ .language = runtime->name };
	if (!rules) {
		out->unread = "there is no grammar for this language";
		return 0;
	}
	if (size > WIRE_SOURCE_MAX) {
		out->unread = "it is larger than 4 MiB";
		return 0;
	}
	switch (reader_ask(grammar, code, size, &head, &records, err)) {
	case 0:
		break;
	case 1:
		out->unread = "the reader died of it, or did not come to an end";
		return 0;
	default:
		return -1;
	}
	if (report_decode(rules, &head, records ? records : "", head.size, out, err) < 0) {
		report_free(out);
		return error_prefix(err, "policy");
	}
	report_judge(out, rules, lists);
	return 0;
}

int policy_check_json(const char *language, const void *code, size_t size, const struct policy_lists *lists,
		      char **json, struct error *err)
{
	const struct runtime *runtime = runtime_find(language);
	_cleanup_report_ struct policy_report report = { 0 };
	_cleanup_buf_ struct buf text = { 0 };

	if (!runtime) {
		runtime_unknown(language, err);
		return -1;
	}
	if (policy_check(runtime, code, size, lists, &report, err) < 0)
		return -1;
	report_json(&report, code, size, &text);
	*json = text.failed ? NULL : buf_take(&text);
	return *json ? 0 : error_set(err, ERROR_FAILED, ENOMEM, "cannot hold the report");
}

void policy_close(void)
{
	readers_close();
}
