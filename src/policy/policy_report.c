#include "policy/policy_report.h"

#include "base/own.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

enum {
	LINE_SHOWN = 160 /* bytes of a quoted line */
};

const char *severity_name(enum policy_severity severity)
{
	static const char *const names[] = { "low", "medium", "high" };

	return names[severity];
}

const char *how_name(unsigned how)
{
	static const char *const names[HOWS] = { "plain", "from", "dynamic", "computed", "source" };

	return how < HOWS ? names[how] : "plain";
}

void report_free(struct policy_report *report)
{
	arena_free(&report->arena);
	*report = (struct policy_report){ 0 };
}

static int answer_invalid(struct error *err)
{
	return error_set(err, ERROR_FAILED, EBADMSG, "the reader's answer is invalid");
}

static int entry_decode(const struct policy_rules *rules, const struct wire_record *record, const char *name,
			struct policy_report *out, struct error *err)
{
	struct policy_entry *entry = &out->entries[out->count];
	_cleanup_buf_ struct buf clean = { 0 };

	if (record->kind >= WIRE_KINDS || record->how >= HOWS || record->line == 0 || record->column == 0 ||
	    record->line > WIRE_SOURCE_MAX + 1 || record->column > WIRE_SOURCE_MAX + 1 ||
	    memchr(name, '\0', record->size))
		return answer_invalid(err);
	if (record->kind == WIRE_FINDING &&
	    (record->rule >= rules->count || rules->rules[record->rule].kind != POLICY_CALL))
		return answer_invalid(err);
	buf_utf8(&clean, name, record->size);
	*entry = (struct policy_entry){
		.kind = (enum wire_kind)record->kind,
		.how = record->how,
		.line = record->line,
		.column = record->column,
		.name = arena_copy(&out->arena, clean.data ? clean.data : "", clean.size),
		.rule = record->kind == WIRE_FINDING ? &rules->rules[record->rule] : NULL,
	};
	if (!entry->name || clean.failed)
		return error_set(err, ERROR_FAILED, ENOMEM, "cannot hold the report");
	out->count++;
	return 0;
}

int report_decode(const struct policy_rules *rules, const struct wire_tell *head, const void *records, size_t size,
		  struct policy_report *out, struct error *err)
{
	const char *at = records;

	if (head->magic != WIRE_TELL || head->state > WIRE_HARD || head->count > WIRE_RECORDS_MAX ||
	    head->size != size || size > WIRE_TELL_MAX)
		return answer_invalid(err);
	out->cut = head->state == WIRE_CUT;
	if (head->state == WIRE_HARD)
		out->unread = "it takes too long to parse";
	out->entries = arena_alloc(&out->arena, (head->count + 1) * sizeof(*out->entries));
	if (!out->entries)
		return error_set(err, ERROR_FAILED, ENOMEM, "cannot hold the report");
	for (uint32_t i = 0; i < head->count; i++) {
		struct wire_record record;

		if (size < sizeof(record))
			return answer_invalid(err);
		memcpy(&record, at, sizeof(record));
		if (record.size > WIRE_NAME_MAX || size - sizeof(record) < record.size)
			return answer_invalid(err);
		if (entry_decode(rules, &record, at + sizeof(record), out, err) < 0)
			return -1;
		at += sizeof(record) + record.size;
		size -= sizeof(record) + record.size;
	}
	return size == 0 ? 0 : answer_invalid(err);
}

/* os includes os.path, and fs includes fs/promises; in other languages names are compared as a whole. */
static bool name_has(const char *grammar, const char *name, size_t size, const char *module)
{
	char next;

	if (strncmp(module, name, size) != 0)
		return false;
	next = module[size];
	return next == '\0' || (next == '.' && strcmp(grammar, "python") == 0) ||
	       (next == '/' && (strcmp(grammar, "javascript") == 0 || strcmp(grammar, "typescript") == 0));
}

size_t list_match(const char *grammar, const char *list, const char *module)
{
	size_t longest = 0;

	while (list && *list) {
		size_t size = strcspn(list, ",");

		if (size > longest && name_has(grammar, list, size, module))
			longest = size;
		list += size + (list[size] == ',');
	}
	return longest;
}

void report_judge(struct policy_report *report, const struct policy_rules *rules, const struct policy_lists *lists)
{
	for (size_t i = 0; i < report->count; i++) {
		struct policy_entry *entry = &report->entries[i];
		size_t blocked, allowed;

		if (entry->kind != WIRE_IMPORT || entry->how == HOW_COMPUTED)
			continue;
		blocked = list_match(rules->grammar, lists ? lists->block : NULL, entry->name);
		allowed = list_match(rules->grammar, lists ? lists->allow : NULL, entry->name);
		for (size_t k = 0; k < rules->count; k++) {
			const struct policy_rule *rule = &rules->rules[k];
			size_t size = strlen(rule->pattern);

			if (rule->kind != POLICY_IMPORT || !name_has(rules->grammar, rule->pattern, size, entry->name))
				continue;
			entry->rule = rule;
			blocked = size > blocked ? size : blocked;
		}
		/* The more specific entry decides; if both are equal, the module is allowed. */
		entry->blocked = blocked > allowed;
	}
}

enum policy_severity entry_severity(const struct policy_entry *entry)
{
	if (entry->kind == WIRE_IMPORT && entry->how == HOW_COMPUTED)
		return POLICY_HIGH;
	if (entry->rule)
		return entry->rule->severity;
	return entry->blocked ? POLICY_HIGH : POLICY_LOW;
}

void report_count(const struct policy_report *report, size_t *mistakes, size_t *findings)
{
	*mistakes = report->types ? report->types->count : 0;
	*findings = 0;
	for (size_t i = 0; i < report->count; i++) {
		const struct policy_entry *entry = &report->entries[i];

		*mistakes += entry->kind == WIRE_SYNTAX;
		*findings += (entry->kind == WIRE_FINDING && entry_severity(entry) >= POLICY_MEDIUM) ||
			     (entry->kind == WIRE_IMPORT && (entry->blocked || entry->how == HOW_COMPUTED));
	}
}

void report_line(const char *code, size_t size, unsigned line, char *out, size_t room)
{
	const char *at = code, *end = code + size, *newline;
	size_t length;

	for (unsigned i = 1; i < line && at < end; i++) {
		newline = memchr(at, '\n', (size_t)(end - at));
		at = newline ? newline + 1 : end;
	}
	newline = at < end ? memchr(at, '\n', (size_t)(end - at)) : NULL;
	length = (size_t)((newline ? newline : end) - at);
	while (length > 0 && (*at == ' ' || *at == '\t')) {
		at++;
		length--;
	}
	if (length > 0 && at[length - 1] == '\r')
		length--;
	snprintf(out, room, "%.*s", (int)(length < room - 1 ? length : room - 1), at);
}

/* The position and its line. */
static json_t *place_json(unsigned at_line, unsigned column, const char *code, size_t size)
{
	char line[LINE_SHOWN + 1];
	_cleanup_buf_ struct buf clean = { 0 };

	report_line(code, size, at_line, line, sizeof(line));
	buf_utf8(&clean, line, strlen(line));
	return json_pack("{s:i, s:i, s:o}", "line", (int)at_line, "column", (int)column, "text",
			 json_stringn(clean.data ? clean.data : "", clean.size));
}

void report_mistake(const struct policy_entry *entry, const char *line, char out[REPORT_MISTAKE_MAX])
{
	if (entry->how == SYNTAX_MISSING)
		snprintf(out, REPORT_MISTAKE_MAX, "missing \"%s\"", entry->name);
	else if (strcmp(line, entry->name) == 0)
		snprintf(out, REPORT_MISTAKE_MAX, "unexpected or missing token");
	else
		snprintf(out, REPORT_MISTAKE_MAX, "unexpected token in: %s", entry->name);
}

static void syntax_json(json_t *to, const struct policy_entry *entry, json_t *place)
{
	const char *line = json_string_value(json_object_get(place, "text"));
	char message[REPORT_MISTAKE_MAX];

	report_mistake(entry, line ? line : "", message);
	json_object_set_new(place, "message", json_string(message));
	json_array_append_new(to, place);
}

static void import_json(json_t *to, const struct policy_entry *entry, json_t *place)
{
	json_object_set_new(place, "module", json_string(entry->name));
	json_object_set_new(place, "how", json_string(how_name(entry->how)));
	json_object_set_new(place, "blocked", json_boolean(entry->blocked));
	json_object_set_new(place, "severity", json_string(severity_name(entry_severity(entry))));
	json_object_set_new(place, "reason",
			    entry->how == HOW_COMPUTED ? json_string("the module's name is computed at run time")
			    : entry->rule              ? json_string(entry->rule->reason)
			    : entry->blocked           ? json_string("it is on the blocklist of the registry")
						       : json_null());
	json_array_append_new(to, place);
}

static void finding_json(json_t *to, const struct policy_entry *entry, json_t *place)
{
	json_object_set_new(place, "rule", json_string(entry->rule->pattern));
	json_object_set_new(place, "severity", json_string(severity_name(entry->rule->severity)));
	json_object_set_new(place, "reason", json_string(entry->rule->reason));
	json_object_set_new(place, "call", json_string(entry->name));
	json_array_append_new(to, place);
}

static bool has_text(const json_t *list, const char *text)
{
	size_t i;
	json_t *item;

	json_array_foreach(list, i, item)
	{
		if (strcmp(json_string_value(item), text) == 0)
			return true;
	}
	return false;
}

static json_t *text_json(const struct buf *text)
{
	_cleanup_buf_ struct buf clean = { 0 };

	buf_utf8(&clean, text->data ? text->data : "", text->size);
	return json_stringn(clean.data ? clean.data : "", clean.size);
}

/* The bytes are from a compiler, which quotes the program. An error may have no position. */
static json_t *type_error_json(const struct errors_found *error, const char *code, size_t size)
{
	_cleanup_buf_ struct buf message = { 0 }, number = { 0 };
	json_t *entry;

	entry = error->file[0] || error->line <= 0
			? json_pack("{s:n, s:n, s:s}", "line", "column", "text", "")
			: place_json((unsigned)error->line, (unsigned)error->column, code, size);
	if (error->file[0])
		buf_printf(&message, "%s: ", error->file);
	buf_text(&message, error->message);
	buf_text(&number, error->code);
	json_object_set_new(entry, "message", text_json(&message));
	json_object_set_new(entry, "code", number.size > 0 ? text_json(&number) : json_null());
	return entry;
}

static void types_json(json_t *root, const struct policy_types *types, const char *code, size_t size)
{
	json_t *errors = json_array();

	for (size_t i = 0; i < types->count; i++)
		json_array_append_new(errors, type_error_json(&types->errors[i], code, size));
	json_object_set_new(root, "types_checked", json_boolean(!types->unchecked));
	json_object_set_new(root, "types_unchecked_because",
			    types->unchecked ? json_string(types->unchecked) : json_null());
	json_object_set_new(root, "type_errors", errors);
}

void report_json(const struct policy_report *report, const char *code, size_t size, struct buf *out)
{
	json_t *mistakes = json_array(), *imports = json_array(), *findings = json_array(), *blocked = json_array(),
	       *root;
	_cleanup_free_ char *text = NULL;
	size_t wrong, found;

	for (size_t i = 0; i < report->count; i++) {
		const struct policy_entry *entry = &report->entries[i];
		json_t *place = place_json(entry->line, entry->column, code, size);

		if (entry->kind == WIRE_SYNTAX)
			syntax_json(mistakes, entry, place);
		else if (entry->kind == WIRE_IMPORT)
			import_json(imports, entry, place);
		else
			finding_json(findings, entry, place);
		if (entry->blocked && !has_text(blocked, entry->name))
			json_array_append_new(blocked, json_string(entry->name));
	}
	report_count(report, &wrong, &found);
	root = json_pack("{s:s, s:b, s:s?, s:b, s:o, s:o, s:o, s:o, s:b}", "language", report->language, "checked",
			 report->unread == NULL, "unchecked_because", report->unread, "clean",
			 report->unread == NULL && wrong == 0 && found == 0, "syntax_errors", mistakes, "imports",
			 imports, "findings", findings, "blocked_imports", blocked, "truncated",
			 report->cut || (report->types && report->types->cut));
	if (root && report->types)
		types_json(root, report->types, code, size);
	text = root ? json_dumps(root, JSON_COMPACT) : NULL;
	json_decref(root);
	if (text)
		buf_text(out, text);
	else
		out->failed = true;
}
