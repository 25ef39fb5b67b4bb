/* The rows of limits.def: each is found by its names, keeps its bounds, says its sentence, and has one default. */
#include "../check.h"

#include "base/text.h"
#include "registry/setting.h"
#include "schema/limits.h"

static struct error err;

/* An amount as a person writes it. */
static const char *written(const struct limit_row *row, double amount, char out[TEXT_NUMBER_MAX])
{
	return row->kind == LIMIT_BYTES ? text_size_format((uint64_t)amount, out) : text_number_format(amount, out);
}

static bool takes(enum limit_id id, const char *text)
{
	struct limits limits = { 0 };
	const bool taken = limit_set(&limits, id, text, &err) == 0;

	CHECK(taken == (limit_get(&limits, id) > 0));
	return taken;
}

static void rows_are_found_by_both_names(void)
{
	for (size_t i = 0; i < LIMITS; i++) {
		const struct limit_row *row = &limit_rows[i];
		char name[32];

		CHECK(limit_by_key(row->key) == row);
		CHECK(limit_by_name(row->name) == row);
		/* One name, as each place spells it. */
		snprintf(name, sizeof(name), "%s", row->key);
		for (char *dash = name; (dash = strchr(dash, '-'));)
			*dash = '_';
		CHECK_STR(row->name, name);
	}
	CHECK(!limit_by_key("cpu_time"));
	CHECK(!limit_by_name("cpu-time"));
	CHECK(!limit_by_key("inodes"));
}

/* Both bounds are taken, and what is next to them outside is not. */
static void bounds_hold(void)
{
	for (enum limit_id id = 0; id < LIMITS; id++) {
		const struct limit_row *row = &limit_rows[id];
		const double step = row->kind == LIMIT_SECONDS ? 0.0005 : row->kind == LIMIT_CORES ? 0.005 : 1;
		char text[TEXT_NUMBER_MAX];

		CHECK(takes(id, written(row, row->least, text)));
		CHECK(takes(id, written(row, row->most, text)));
		CHECK(row->fallback == 0 || takes(id, written(row, row->fallback, text)));
		CHECK(!takes(id, text_number_format(row->least - step, text)));
		CHECK(!takes(id, text_number_format(row->most + step, text)));
		CHECK(strncmp(err.text, row->key, strlen(row->key)) == 0 && err.text[strlen(row->key)] == ':');
		CHECK_INT(err.kind, ERROR_USAGE);
	}
}

static void amounts_are_read_as_they_are_set(void)
{
	static const char *const texts[LIMITS] = {
		[LIMIT_timeout] = "1m", [LIMIT_cpu_time] = "500ms", [LIMIT_memory] = "64m",    [LIMIT_cpus] = "0.5",
		[LIMIT_pids] = "7",     [LIMIT_disk] = "1g",        [LIMIT_max_output] = "20k"
	};
	static const double amounts[LIMITS] = { 60, 0.5, 64 << 20, 0.5, 7, 1 << 30, 20 << 10 };

	for (enum limit_id id = 0; id < LIMITS; id++) {
		struct limits limits = { 0 };

		CHECK(texts[id] != NULL);
		CHECK_INT(limit_set(&limits, id, texts[id], &err), 0);
		CHECK(limit_get(&limits, id) == amounts[id]);
		CHECK(limit_amount(id, texts[id]) == amounts[id]);
	}
	CHECK(limit_amount(LIMIT_memory, "much") == 0);
}

/* A definition's times are plain numbers. */
static void definitions_take_plain_numbers(void)
{
	struct limits limits = { 0 };
	char expected[LIMIT_SENTENCE];

	CHECK(!limit_set_plain(&limits, LIMIT_timeout, "1m"));
	CHECK(limits.timeout == 0);
	CHECK(limit_set_plain(&limits, LIMIT_timeout, "60"));
	CHECK(limits.timeout == 60);
	CHECK(limit_set_plain(&limits, LIMIT_memory, "64m"));
	CHECK_STR(limit_expected(LIMIT_timeout, expected), "a number of seconds between 0.001 and 86400");
	CHECK_STR(limit_expected(LIMIT_disk, expected), "a size between 64k and 1024g, as 64k, 256m, 1g or in bytes");
	CHECK_STR(limit_expected(LIMIT_pids, expected), "a number of processes between 1 and 32768");
	CHECK_STR(limit_expected(LIMIT_cpus, expected), "a number of cores between 0.01 and 1024");
}

/* What one run in a place may say; the rest is the place's. */
static void a_run_has_only_its_own(void)
{
	const struct limits asked = { .timeout = 5, .memory = 1, .pids = 1, .max_output = 9 };
	const struct limits place = { .timeout = 60, .cpu_time = 7, .memory = 64, .pids = 8, .inodes = 3 };
	const struct limits all = limits_of_run(&asked, &place);

	CHECK(all.timeout == 5 && all.cpu_time == 7);
	CHECK_INT(all.memory, 64);
	CHECK_INT(all.pids, 8);
	CHECK_INT(all.inodes, 3);
	CHECK_INT(all.max_output, 9);
}

/* A setting shows its limit's default, by its own unit. */
static void settings_have_the_same_defaults(void)
{
	size_t count = 0;

	for (int i = 0; i < CONFIG_KEYS; i++) {
		const double unit = i == CONFIG_MAX_OUTPUT ? 1024 : 1;
		enum limit_id id;

		if (!setting_limit((enum config_key)i, &id))
			continue;
		count++;
		CHECK(limit_amount(id, setting_default((enum config_key)i)) * unit == limit_rows[id].fallback);
	}
	CHECK_INT(count, 4);
}

static void names_in_a_row(void)
{
	char text[128];

	CHECK_STR(limit_names_text(text, sizeof(text)), "timeout, cpu_time, memory, cpus, pids, disk or max_output");
	CHECK_STR(limit_names_text(text, 10), "timeout, ");
}

int main(void)
{
	RUN(rows_are_found_by_both_names);
	RUN(bounds_hold);
	RUN(amounts_are_read_as_they_are_set);
	RUN(definitions_take_plain_numbers);
	RUN(a_run_has_only_its_own);
	RUN(settings_have_the_same_defaults);
	RUN(names_in_a_row);
	return check_failures != 0;
}
