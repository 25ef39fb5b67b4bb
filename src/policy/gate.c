#include "policy/gate.h"

#include "base/fd.h"
#include "base/own.h"
#include "policy/in_force.h"
#include "policy/policy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

void gate_free(struct gate *gate)
{
	arena_free(&gate->arena);
	*gate = (struct gate){ 0 };
}

static int no_memory(struct error *err)
{
	return error_set(err, ERROR_FAILED, ENOMEM, "cannot hold what the policy says");
}

static bool list_has(const char *const *list, size_t count, const char *text)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(list[i], text) == 0)
			return true;
	return false;
}

static int name_add(struct gate *gate, const char **list, size_t *count, const char *text, struct error *err)
{
	if (*count == GATE_NAMES_MAX || list_has(list, *count, text))
		return 0;
	list[*count] = arena_string(&gate->arena, text);
	return list[*count] ? (void)++*count, 0 : no_memory(err);
}

/* Copies the part of a report that the run needs. */
static int report_take(struct gate *gate, const struct spec *spec, const struct policy_report *report,
		       struct error *err)
{
	for (size_t i = 0; i < report->count; i++) {
		const struct policy_entry *entry = &report->entries[i];
		char sentence[320];

		if (spec->policy == POLICY_BLOCK) {
			if (entry->blocked && name_add(gate, gate->blocked, &gate->blocked_count, entry->name, err) < 0)
				return -1;
			continue;
		}
		if (entry->kind == WIRE_IMPORT && entry->blocked)
			snprintf(sentence, sizeof(sentence), "line %u: import %s", entry->line, entry->name);
		else if (entry->kind == WIRE_FINDING && entry_severity(entry) >= POLICY_MEDIUM)
			snprintf(sentence, sizeof(sentence), "line %u: %s: %s", entry->line, entry->rule->pattern,
				 entry->rule->reason);
		else
			continue;
		if (name_add(gate, gate->warnings, &gate->warning_count, sentence, err) < 0)
			return -1;
	}
	return 0;
}

static int look_at(struct gate *gate, const struct spec *spec, const void *code, size_t size, struct error *err)
{
	struct policy_lists lists = { spec->policy_block, spec->policy_allow };
	_cleanup_report_ struct policy_report report = { 0 };

	if (spec->policy_in_force && in_force_lists(spec->policy_in_force, spec->runtime, &gate->arena, &lists) < 0)
		return no_memory(err);
	if (policy_check(spec->runtime, code, size, &lists, &report, err) < 0)
		return -1;
	/* Languages without a grammar are never checked. A source that should have been checked and was not is
	 * blocked. */
	if (report.unread && policy_grammar(spec->runtime->name) && spec->policy == POLICY_BLOCK)
		gate->unread = report.unread;
	return report_take(gate, spec, &report, err);
}

/* A program that could not be checked does not run in POLICY_BLOCK. */
static int report_unread(struct gate *gate, const struct spec *spec, const char *why)
{
	if (spec->policy == POLICY_BLOCK)
		gate->unread = why;
	return 0;
}

/* Checks a file of the host. Takes the descriptor. A missing file is no error here: the run itself reports it. */
static int look_at_opened(struct gate *gate, const struct spec *spec, int opened, struct error *err)
{
	_cleanup_close_ int fd = opened;
	_cleanup_free_ char *data = NULL;
	struct stat st;
	ssize_t size;

	if (fd < 0 && errno == ENOENT)
		return 0;
	/* A link out of the project leads elsewhere in the box, or nowhere. */
	if (fd < 0 && errno == EXDEV)
		return report_unread(gate, spec, "the link leads out of the project");
	if (fd < 0 || fstat(fd, &st) < 0)
		return report_unread(gate, spec, "it cannot be read");
	if (!S_ISREG(st.st_mode))
		return report_unread(gate, spec, "it is not a plain file");
	/* Reads to the end: the file may grow, and files of /proc have no size. */
	data = malloc(WIRE_SOURCE_MAX + 1);
	if (!data)
		return no_memory(err);
	size = fd_read(fd, data, WIRE_SOURCE_MAX + 1);
	if (size < 0)
		return report_unread(gate, spec, "it cannot be read");
	if (size > WIRE_SOURCE_MAX)
		return report_unread(gate, spec, "it is larger than 4 MiB");
	return look_at(gate, spec, data, (size_t)size, err);
}

static int look_at_host(struct gate *gate, const struct spec *spec, const char *path, struct error *err)
{
	return look_at_opened(gate, spec, open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), err);
}

static int look_at_project(struct gate *gate, const struct spec *spec, struct error *err)
{
	_cleanup_close_ int dir = open(spec->project, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (dir < 0)
		return errno == ENOENT ? 0 : report_unread(gate, spec, "the project cannot be opened");
	return look_at_opened(gate, spec, fd_open_within(dir, spec_entry(spec), O_RDONLY), err);
}

/* Whether the file is a source of the language, by its name. The entry always is. */
static bool is_source(const struct spec *spec, const struct spec_file *file)
{
	static const char code[] = "sandbox/code/";
	const char *path = strncmp(file->box, code, sizeof(code) - 1) == 0 ? file->box + sizeof(code) - 1 : file->box;

	if (!spec->code && strcmp(path, spec_entry(spec)) == 0)
		return true;
	return runtime_detect(path, "", 0) == spec->runtime;
}

static int look_at_all(struct gate *gate, const struct spec *spec, struct error *err)
{
	bool found = spec->code != NULL;

	if (spec->code && look_at(gate, spec, spec->code, spec->code_size, err) < 0)
		return -1;
	for (size_t i = 0; i < spec->file_count; i++) {
		const struct spec_file *file = &spec->files[i];

		if (!is_source(spec, file))
			continue;
		found = true;
		if ((file->host ? look_at_host(gate, spec, file->host, err)
				: look_at(gate, spec, file->data, file->size, err)) < 0)
			return -1;
	}
	if (found || !spec->project)
		return 0;
	return look_at_project(gate, spec, err);
}

bool gate_takes(const struct spec *spec, const char *path)
{
	return spec->policy != POLICY_OFF && spec->runtime && policy_grammar(spec->runtime->name) &&
	       is_source(spec, &(struct spec_file){ .box = path });
}

int gate_look(const struct spec *spec, struct gate *gate, struct error *err)
{
	if (spec->policy == POLICY_OFF || !spec->runtime || spec->runtime->broken ||
	    !policy_grammar(spec->runtime->name))
		return 0;
	if (look_at_all(gate, spec, err) < 0)
		return -1;
	return gate->blocked_count > 0 || gate->unread ? 1 : 0;
}

static const char **words_copy(struct result *result, const char *const *words, size_t *count)
{
	const char **copy = arena_alloc(&result->arena, (*count + 1) * sizeof(*copy));

	for (size_t i = 0; i < *count; i++) {
		const char *word = copy ? arena_string(&result->arena, words[i]) : NULL;

		if (!word) {
			*count = i;
			break;
		}
		copy[i] = word;
	}
	return copy;
}

int gate_refuse(const struct gate *gate, const char *what, struct error *err)
{
	if (gate->blocked_count > 0)
		return error_refuse(err, CODE_BLOCKED, "", "Security policy blocked import: %s", gate->blocked[0]);
	return error_refuse(err, CODE_BLOCKED, "", "Security policy cannot check the %s: %s", what, gate->unread);
}

void gate_block(const struct gate *gate, struct result *result)
{
	struct error why = { 0 };

	gate_refuse(gate, "program", &why);
	result_fail(result, &why);
	result->blocked_count = gate->blocked_count;
	result->blocked = words_copy(result, gate->blocked, &result->blocked_count);
}

void gate_note(const struct gate *gate, struct result *result)
{
	if (!result || gate->warning_count == 0)
		return;
	result->warning_count = gate->warning_count;
	result->warnings = words_copy(result, gate->warnings, &result->warning_count);
}
