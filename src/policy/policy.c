#include "policy/policy.h"

#include "base/own.h"
#include "policy/reader_client.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <strings.h>

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

/* Whether ASCII text has the same meaning in the encoding. */
static bool is_plain_encoding(const char *name, size_t size)
{
	static const char *const plain[] = { "utf-8",    "utf8",    "utf_8",    "ascii", "us-ascii",    "latin",
					     "iso-8859", "iso8859", "iso_8859", "cp125", "windows-125", "koi8" };

	for (size_t i = 0; i < ARRAY_SIZE(plain); i++)
		if (size >= strlen(plain[i]) && strncasecmp(name, plain[i], strlen(plain[i])) == 0)
			return true;
	return false;
}

/* The encoding that a comment names, as Python finds it: "coding", a colon or an equals sign, blanks, the name. Returns
 * its size, or 0. */
static size_t encoding_of(const char *line, const char *end, const char **name)
{
	const char *at = line;

	while (at < end && memchr(" \t\f", *at, 3))
		at++;
	if (at == end || *at != '#')
		return 0;
	for (; (at = memmem(at, (size_t)(end - at), "coding", 6)); at++) {
		size_t size = 0;

		*name = at + 7;
		if (end - at <= 7 || (at[6] != ':' && at[6] != '='))
			continue;
		while (*name < end && (**name == ' ' || **name == '\t'))
			++*name;
		while (*name + size < end && (isalnum((unsigned char)(*name)[size]) || memchr("-_.", (*name)[size], 3)))
			size++;
		if (size > 0)
			return size;
	}
	return 0;
}

/* Whether one of the first two lines names an encoding in which the program is not the text that we parse. */
static bool is_encoded(const char *code, size_t size)
{
	const char *end = code + size, *name;

	for (int line = 0; line < 2 && code < end; line++) {
		const char *stop = code;
		size_t length;

		while (stop < end && *stop != '\n' && *stop != '\r')
			stop++;
		length = encoding_of(code, stop, &name);
		if (length > 0)
			return !is_plain_encoding(name, length);
		code = stop + 1 + (end - stop > 1 && stop[0] == '\r' && stop[1] == '\n');
	}
	return false;
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
	if (strcmp(grammar, "python") == 0 && is_encoded(code, size)) {
		out->unread = "its encoding is not supported";
		return 0;
	}
	switch (reader_ask(grammar, code, size, &head, &records, err)) {
	case 0:
		break;
	case 1:
		out->unread = "the reader crashed or timed out";
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
