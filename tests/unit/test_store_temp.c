/* The store may write nowhere but in the state directory: no statement of its has a file elsewhere, however much it
 * changes. SQLite would put one into /var/tmp, and what could not be written once could not be written ever after. */
/* tests/run: timeout=120 */
#include "../check.h"

#include "base/own.h"
#include "result/result.h"
#include "store/journal.h"
#include "store/record.h"
#include "store/store.h"
#include "store/store_parts.h"

#include <sqlite3.h>
#include <time.h>
#include <unistd.h>

enum {
	RUNS = 3000 /* enough that many pages are changed at once */
};

static sqlite3_vfs *usual; /* SQLite's own */
static int temporary;      /* files without a name that were opened */
static int named;          /* others */

static int open_and_count(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *got)
{
	if (name)
		named++;
	else
		temporary++;
	return usual->xOpen(usual, name, file, flags, got);
}

static void watch_files(void)
{
	static sqlite3_vfs watched;

	usual = sqlite3_vfs_find(NULL);
	watched = *usual;
	watched.zName = "watched";
	watched.xOpen = open_and_count;
	CHECK_INT(sqlite3_vfs_register(&watched, 1), SQLITE_OK);
}

static void record_old(struct journal *journal, int number, time_t when)
{
	static const struct record_caller caller = {
		.door = "http", .name = "uid 1", .request_id = "", .profile = "", .place = ""
	};
	static const enum status statuses[] = { STATUS_OK, STATUS_FAILED, STATUS_TIMEOUT };
	struct error err = { 0 };
	struct result *result;
	struct spec spec;

	spec_init(&spec);
	spec_set(&spec, "language", number % 2 ? "python" : "bash", &err);
	spec_set_code(&spec, "1", 1, &err);
	result = result_new(&spec);
	result->time.tv_sec = when;
	result->verdict.status = statuses[number % 3];
	result->verdict.ended = true;
	result_explain(result, NULL);
	CHECK_INT(record_start(journal, result->id, &spec, &caller, &err), 0);
	CHECK_INT(record_end(journal, &spec, &caller, result, RECORD_CODE_NEVER, &err), 0);
	result_free(result);
	spec_free(&spec);
}

static void no_statement_needs_a_file(void)
{
	char home[] = "/tmp/emberbox-store-XXXXXX", command[64];
	const struct store_options options = { .days = 2 };
	struct journal *journal = NULL;
	struct store *store = NULL;
	struct store_filter filter = { .limit = 1000 };
	struct buf out = { 0 };
	struct error err = { 0 };
	bool taking = false;

	CHECK(mkdtemp(home) != NULL);
	setenv("EMBERBOX_HOME", home, 1);
	CHECK_INT(journal_open(&journal, &err), 0);
	CHECK_INT(store_open(&options, &taking, &store, &err), 0);
	CHECK(taking);
	for (int i = 0; i < RUNS; i++)
		record_old(journal, i, time(NULL) - 4 * 86400);
	CHECK_INT(store_take(store, &err), 0);
	/* The worst that one of its statements could be: it changes every row, and may have to take that back. */
	CHECK_INT(sqlite3_exec(store->db, "BEGIN; UPDATE executions SET id = id || 'x'; ROLLBACK", NULL, NULL, NULL),
		  SQLITE_OK);
	CHECK_INT(store_list(store, &filter, &out, &err), 200);
	CHECK_INT(store_stats(store, &filter, &out, &err), 200);
	CHECK_INT(store_sweep(store, &err), 0);
	store_close(store);
	journal_close(journal);
	buf_free(&out);
	/* The watching works: the database itself was seen. */
	CHECK(named > 0);
	CHECK_INT(temporary, 0);
	snprintf(command, sizeof(command), "rm -r %s", home);
	CHECK_INT(system(command), 0);
}

int main(void)
{
	watch_files();
	RUN(no_statement_needs_a_file);
	return check_failures != 0;
}
