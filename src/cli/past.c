#include "cli/past.h"

#include "base/own.h"
#include "base/text.h"
#include "registry/config.h"
#include "base/state.h"
#include "store/record.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	PAST_BACK_MAX = 999 /* maximum of last~N: the store's limit for a list */
};

/* The values were checked when the settings were read. */
static struct store_options options_of(const struct config *config)
{
	struct store_options options = { .audit = true };
	uint64_t days = 0;

	if (config->values[CONFIG_HISTORY_DAYS].text && text_count(config->values[CONFIG_HISTORY_DAYS].text, &days))
		options.days = (unsigned)days;
	if (config->values[CONFIG_HISTORY_SIZE].text)
		text_size(config->values[CONFIG_HISTORY_SIZE].text, &options.size_max);
	if (config->values[CONFIG_AUDIT].text)
		options.audit = strcmp(config->values[CONFIG_AUDIT].text, "off") != 0;
	if (config->values[CONFIG_AUDIT].text)
		options.audit_best_effort = strcmp(config->values[CONFIG_AUDIT].text, "best_effort") == 0;
	return options;
}

int past_failed(const char *command, const struct error *err)
{
	if (err->kind == ERROR_USAGE)
		return cmd_usage(command, "%s", err->text);
	cmd_complain("%s", err->text);
	return EXIT_BROKEN;
}

int past_answer(const char *command, int status, const struct error *err)
{
	if (status == 200)
		return 0;
	if (status == 404 || status == 409) {
		cmd_complain("%s", err->text);
		return 1;
	}
	/* The sentence begins with the field, which is the name of the option. */
	if (status == 400)
		return cmd_usage(command, "--%s", err->text);
	return past_failed(command, err);
}

/* "last" is 0, "last~N" is N; -1: neither. */
static int last_of(const char *typed)
{
	uint64_t back = 0;

	if (strncmp(typed, "last", 4) != 0 || (typed[4] != '\0' && typed[4] != '~'))
		return -1;
	return typed[4] == '\0' || (text_count(typed + 5, &back) && back <= PAST_BACK_MAX) ? (int)back : -1;
}

/* Lists the runs that match the filter, newest first: the id of the one at `index`, and their number, at most the
 * filter's limit, in *count. Returns 0, or the exit code. */
static int runs_query(const char *command, struct store *store, const struct store_filter *filter, size_t index,
		      char id[RESULT_ID], size_t *count)
{
	_cleanup_buf_ struct buf answer = { 0 };
	struct error err = { 0 };
	json_t *root, *runs;
	int code;

	*count = 0;
	if (!store)
		return 0;
	code = past_answer(command, store_list(store, filter, &answer, &err), &err);
	if (code != 0)
		return code;
	root = answer.size > 0 ? json_loadb(answer.data, answer.size, JSON_ALLOW_NUL, NULL) : NULL;
	runs = json_object_get(root, "executions");
	*count = json_array_size(runs);
	if (*count > index)
		snprintf(id, RESULT_ID, "%s", past_text(json_array_get(runs, index), "id"));
	json_decref(root);
	return 0;
}

/* The id with this beginning, or else with this end. */
static int find_part(const char *command, struct store *store, const char *typed, char id[RESULT_ID])
{
	struct store_filter filter = { .limit = 2 };
	size_t size = strlen(typed), count;
	char after[RESULT_ID], found[2][RESULT_ID] = { "", "" };
	int code = 0;

	/* Up to two ids before the last id that could have this beginning. */
	memset(after, 'Z', sizeof(after) - 1);
	after[sizeof(after) - 1] = '\0';
	memcpy(after, typed, size);
	filter.before = after;
	for (size_t i = 0; i < 2 && code == 0; i++)
		code = runs_query(command, store, &filter, i, found[i], &count);
	if (code != 0)
		return code;
	count = 0;
	for (size_t i = 0; i < 2; i++)
		count += strncmp(found[i], typed, size) == 0;
	memcpy(id, found[0], RESULT_ID);
	if (count == 0 && size >= SHORT_ID_MIN) {
		filter = (struct store_filter){ .limit = 2, .ends = typed };
		code = runs_query(command, store, &filter, 0, id, &count);
	}
	if (code != 0 || count == 1)
		return code;
	if (count > 1)
		cmd_complain("several runs have an id that begins or ends with \"%s\"", typed);
	else
		cmd_complain("there is no run \"%s\"", typed);
	return 1;
}

int past_find(const char *command, struct store *store, const char *typed, char id[RESULT_ID])
{
	const int back = last_of(typed);
	const size_t size = strlen(typed);
	size_t count;
	int code;

	if (back >= 0) {
		const struct store_filter filter = { .limit = (unsigned)back + 1 };

		code = runs_query(command, store, &filter, (size_t)back, id, &count);
		if (code != 0 || count > (size_t)back)
			return code;
		if (count == 0)
			cmd_complain(NOTHING_YET);
		else
			cmd_complain("there is no run \"%s\": the history has %zu", typed, count);
		return 1;
	}
	if (size == 0 || size > RESULT_ID - 1 || strspn(typed, "0123456789ABCDEFGHJKMNPQRSTVWXYZ") < size)
		return cmd_usage(command, "\"%.64s\" is not an id, the beginning or the end of one, last, or last~N",
				 typed);
	if (size < RESULT_ID - 1)
		return find_part(command, store, typed, id);
	memcpy(id, typed, RESULT_ID);
	return 0;
}

int past_open(const char *command, struct store **store)
{
	_cleanup_config_ struct config config = { 0 };
	_cleanup_close_ int dir = state_dir(false);
	struct store_options options;
	struct error err = { 0 }, registry;
	bool taking;

	*store = NULL;
	/* An invalid registry must not prevent the commands from showing past runs. */
	if (config_load_without(&config, &registry, &err) < 0)
		return err.kind == ERROR_USAGE ? cmd_misconfigured(err.text) : past_failed(command, &err);
	if (registry.kind != ERROR_NONE)
		cmd_complain(CMD_REGISTRY_LEFT_OUT, registry.text);
	/* Showing past runs creates no directory. */
	if (dir < 0)
		return state_why_not(&err) < 0 ? past_failed(command, &err) : 0;
	options = options_of(&config);
	if (store_open(&options, &taking, store, &err) < 0)
		return past_failed(command, &err);
	/* Older runs can be shown even if this fails. */
	if (store_take(*store, &err) < 0)
		cmd_complain("the newest runs are not shown: %s", err.text);
	return 0;
}

void past_tidy(bool large)
{
	_cleanup_close_ int dir = state_dir(false);
	_cleanup_config_ struct config config = { 0 };
	struct store_options options;
	struct store *store = NULL;
	bool taking;

	if (dir < 0 || (!large && !journal_is_long(dir)) || config_load(NULL, 0, &config, NULL) < 0)
		return;
	options = options_of(&config);
	if (store_open(&options, &taking, &store, NULL) == 0 && taking && store_take(store, NULL) == 0)
		store_sweep(store, NULL);
	store_close(store);
}

bool past_count(const char *text, unsigned most, unsigned *out)
{
	uint64_t count;

	if (!text_count(text, &count) || count < 1 || count > most)
		return false;
	*out = (unsigned)count;
	return true;
}

static bool is_time(const char *text)
{
	struct tm parts = { 0 };
	const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &parts);

	if (!rest || strlen(text) >= PAST_WHEN_MAX)
		return false;
	if (*rest == '.') {
		size_t digits = strspn(++rest, "0123456789");

		if (digits == 0)
			return false;
		rest += digits;
	}
	if (strcmp(rest, "Z") == 0)
		return true;
	return (*rest == '+' || *rest == '-') && strlen(rest) == 6 && rest[3] == ':' &&
	       strspn(rest + 1, "0123456789") == 2 && strspn(rest + 4, "0123456789") == 2;
}

bool past_when(const char *text, char out[PAST_WHEN_MAX])
{
	static const char units[] = "smhd";
	static const unsigned seconds[] = { 1, 60, 3600, 86400 };
	const char *unit = *text ? strchr(units, text[strlen(text) - 1]) : NULL;
	char number[16] = "";
	struct tm parts;
	uint64_t count;
	time_t when;

	if (is_time(text)) {
		snprintf(out, PAST_WHEN_MAX, "%s", text);
		return true;
	}
	if (!unit || !*unit || strlen(text) > sizeof(number))
		return false;
	memcpy(number, text, strlen(text) - 1);
	if (!text_count(number, &count) || count > 100000000)
		return false;
	when = time(NULL) - (time_t)(count * seconds[unit - units]);
	if (when < 0)
		when = 0;
	gmtime_r(&when, &parts);
	return strftime(out, PAST_WHEN_MAX, "%Y-%m-%dT%H:%M:%SZ", &parts) > 0;
}

/* Our times are always in UTC. */
const char *past_time(const char *rfc3339, char out[TABLE_WORD])
{
	struct tm parts = { 0 };
	time_t when;

	snprintf(out, TABLE_WORD, "%s", rfc3339);
	if (!strptime(rfc3339, "%Y-%m-%dT%H:%M:%S", &parts))
		return out;
	when = timegm(&parts);
	if (localtime_r(&when, &parts))
		strftime(out, TABLE_WORD, "%Y-%m-%d %H:%M:%S", &parts);
	return out;
}

enum paint past_status_paint(const char *status)
{
	if (strcmp(status, "ok") == 0)
		return PAINT_GOOD;
	if (strcmp(status, "failed") == 0 || strcmp(status, "error") == 0 || strcmp(status, "blocked") == 0)
		return PAINT_BAD;
	return strcmp(status, "running") == 0 ? PAINT_CYAN : PAINT_LIMIT;
}

const char *past_text(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

double past_number(const json_t *object, const char *key)
{
	return json_number_value(json_object_get(object, key));
}

bool past_ran(const json_t *run)
{
	const char *status = past_text(run, "status");

	if (past_number(run, "execution_time") > 0)
		return true;
	return strcmp(status, "ok") == 0 || strcmp(status, "failed") == 0;
}

const char *past_error(const char *sentence)
{
	static const char common[] = "Execution failed: ";

	return strncmp(sentence, common, strlen(common)) == 0 ? sentence + strlen(common) : sentence;
}

int past_print_json(struct buf *json)
{
	if (json->size > 0 && json->data[json->size - 1] != '\n')
		buf_text(json, "\n");
	return past_print_plain(json, 0);
}

int past_print_plain(const struct buf *text, int code)
{
	if (text->failed) {
		cmd_complain("memory ran out");
		return EXIT_BROKEN;
	}
	return text->size > 0 ? cmd_print(text->data, code) : code;
}

int past_print(const struct buf *text, int code)
{
	if (text->failed) {
		cmd_complain("memory ran out");
		return EXIT_BROKEN;
	}
	return text->size > 0 ? cmd_print_painted(text->data, code) : code;
}
