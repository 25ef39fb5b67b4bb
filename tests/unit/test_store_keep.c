/* The store over time: older databases, what is kept how long, and whoever dies in the middle. No box is made. */
#include "store_kit.h"

#include "result/output.h"
#include "store/fields.h"
#include "store/spool.h"

static void execute(const char *sql)
{
	char path[128], *why = NULL;
	sqlite3 *db = NULL;

	snprintf(path, sizeof(path), "%s/history.db", home);
	CHECK_INT(sqlite3_open(path, &db), SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, &why) != SQLITE_OK)
		check_fail("%s: %s", sql, why);
	sqlite3_free(why);
	sqlite3_close(db);
}

static void older_database_is_migrated(void)
{
	bool taking;

	begin();
	store_close(store);
	store = NULL;
	unlinkat(dir, "history.db", 0);
	/* As version 1 had it. */
	execute("CREATE TABLE meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID;"
		"CREATE TABLE executions(number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, time INTEGER NOT NULL,"
		" ended INTEGER, language TEXT, status TEXT NOT NULL, exit_code INTEGER, door TEXT, caller TEXT,"
		" request_id TEXT, profile TEXT, place TEXT, code_size INTEGER, code_sha256 TEXT, execution_time "
		"INTEGER,"
		" cpu_time INTEGER, memory INTEGER, queue INTEGER, start INTEGER, total INTEGER, warm INTEGER,"
		" limit_hit TEXT, error_message TEXT, stdout_bytes INTEGER, stderr_bytes INTEGER,"
		" spools INTEGER NOT NULL DEFAULT 0, artifact TEXT, writer INTEGER, pid INTEGER);"
		"CREATE TABLE results(number INTEGER PRIMARY KEY, json TEXT NOT NULL);"
		"INSERT INTO executions(number, id, time, language, status, execution_time)"
		" VALUES(1, '01ARZ3NDEKTSV4RRFFQ69G5FAV', 1700000000000, 'python', 'failed', 1000);"
		"INSERT INTO results VALUES(1, "
		"'{\"id\":\"01ARZ3NDEKTSV4RRFFQ69G5FAV\",\"error\":{\"type\":\"SyntaxError\"}}');"
		"PRAGMA user_version = 1");
	store_begin(&plain);
	record(&(struct run){ .status = STATUS_FAILED });
	CHECK_INT(store_take(store, &err), 0);
	CHECK_INT(show("01ARZ3NDEKTSV4RRFFQ69G5FAV", NULL), 200);
	CHECK_INT(count_rows(), 2);
	CHECK_INT(stats(&(struct store_filter){ .since = "2023-01-01T00:00:00Z" }), 200);
	CHECK_INT(json_array_size(json_object_get(answer, "failures")), 2);
	store_close(store);
	store = NULL;
	execute("PRAGMA user_version = 99");
	CHECK_INT(store_open(&plain, &taking, &store, &err), -1);
	CHECK_STR(err.text,
		  "history.db in the state directory has version 99, and this emberbox supports up to 3: use a newer "
		  "emberbox, or move the file away");
	execute("PRAGMA user_version = 3");
	store_begin(&plain);
	CHECK_INT(count_rows(), 2);
	end();
}

static void old_runs_go(void)
{
	struct run old = { .status = STATUS_FAILED, .out = "0123456789", .shown = 4 }, new = old;
	struct timespec ancient[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };
	int fd;

	begin();
	old.time.tv_sec = time(NULL) - 3 * 86400;
	record(&old);
	record(&new);
	store_begin(&(struct store_options){ .days = 2 });
	CHECK_INT(store_take(store, &err), 0);
	CHECK_INT(count_files(".json"), 2);
	/* What a crash may leave: too old to be of a run that is just ending. */
	fd = openat(dir, "executions/01ARZ3NDEKTSV4RRFFQ69G5FAV.out", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	CHECK_INT(futimens(fd, ancient), 0);
	close(fd);
	close(openat(dir, "executions/01ARZ3NDEKTSV4RRFFQ69G5FAV.err", O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	close(openat(dir, "executions/20200101T000000.000Z-000000000000.json", O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	close(openat(dir, "executions/mine.txt", O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	CHECK_INT(store_sweep(store, &err), 0);
	CHECK_INT(count_files(".json"), 1);
	CHECK_INT(count_files(".out"), 1);
	CHECK_INT(count_files(".err"), 1);
	CHECK_INT(count_files(".txt"), 1);
	CHECK_INT(show(old.id, NULL), 404);
	CHECK_INT(show(new.id, NULL), 200);
	CHECK_STR(text_of("code"), "print(1)");
	end();
}

static void much_is_made_less(void)
{
	_cleanup_free_ char *large = malloc(100000);
	char first[RESULT_ID] = "", last[RESULT_ID] = "";
	struct stat st;
	int rows;

	memset(large, 'x', 100000);
	begin();
	for (int i = 0; i < 60; i++) {
		struct run run = {
			.out = large, .out_size = 100000, .shown = 20000, .time = { .tv_sec = 1700000000 + i }
		};

		record(&run);
		strcpy(first[0] ? last : first, run.id);
	}
	store_begin(&(struct store_options){ .size_max = 3000000 });
	CHECK_INT(store_sweep(store, &err), 0);
	rows = count_rows();
	CHECK(rows > 10 && rows < 30);
	CHECK_INT(count_files(".out"), rows);
	CHECK_INT(show(first, NULL), 404);
	CHECK_INT(show(last, NULL), 200);
	CHECK_INT(fstatat(dir, "history.db", &st, 0), 0);
	CHECK(st.st_size + rows * 100000 < 3200000);
	end();
}

static void journal_is_begun_anew_when_it_is_long(void)
{
	_cleanup_free_ char *large = malloc(1 << 20);
	struct stat st;

	memset(large, 'y', 1 << 20);
	begin();
	for (int i = 0; i < 6; i++)
		record(&(struct run){ .out = large, .out_size = 1 << 20, .shown = 2 << 20 });
	CHECK_INT(fstatat(dir, "journal", &st, 0), 0);
	CHECK(st.st_size > 6 << 20);
	CHECK(journal_is_long(dir));
	CHECK_INT(store_take(store, &err), 0);
	CHECK_INT(fstatat(dir, "journal", &st, 0), 0);
	CHECK_INT(st.st_size, JOURNAL_HEAD);
	record(&(struct run){ 0 });
	CHECK(!journal_is_long(dir));
	CHECK_INT(store_take(store, &err), 0);
	CHECK_INT(count_rows(), 7);
	/* Also for one that begins with the new file. */
	store_begin(&plain);
	record(&(struct run){ 0 });
	CHECK_INT(store_take(store, &err), 0);
	CHECK_INT(count_rows(), 8);
	end();
}

static void broken_audit_log_stops_the_taking(void)
{
	struct run run = { 0 };

	begin();
	record(&run);
	CHECK_INT(store_take(store, &err), 0);
	record(&run);
	store_close(store);
	store = NULL;
	CHECK_INT(renameat(dir, "audit.log", dir, "elsewhere"), 0);
	store_begin(&plain);
	CHECK_INT(store_take(store, &err), -1);
	CHECK_INT(count_rows(), 1);
	store_begin(&(struct store_options){ .audit = true, .audit_best_effort = true });
	CHECK_INT(store_take(store, &err), 0);
	CHECK_INT(count_rows(), 2);
	end();
}

/* One that takes, and is killed on the way. */
static int taker_dies(const char *fault, long nsec)
{
	pid_t child;
	int status = 0;

	fflush(stdout);
	child = fork();
	if (child == 0) {
		struct store *own;
		struct error own_err = { 0 };
		bool taking;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (fault)
			setenv("EMBERBOX_FAULT", fault, 1);
		if (store_open(&plain, &taking, &own, &own_err) < 0 || !taking) {
			fprintf(stderr, "taker: %s\n", own_err.text);
			_exit(1);
		}
		if (store_take(own, &own_err) < 0) {
			fprintf(stderr, "taker: %s\n", own_err.text);
			_exit(2);
		}
		_exit(0);
	}
	if (nsec >= 0) {
		nanosleep(&(struct timespec){ .tv_nsec = nsec }, NULL);
		kill(child, SIGKILL);
	}
	waitpid(child, &status, 0);
	return status;
}

static void check_all_once(int runs)
{
	store_begin(&plain);
	if (store_take(store, &err) < 0)
		check_fail("%s", err.text);
	CHECK_INT(count_rows(), runs);
	CHECK_INT(count_files(".json"), runs);
	CHECK_INT(count_files(".tmp"), 0);
	CHECK_INT(count_audit("execution"), runs);
	verify_audit();
	store_close(store);
	store = NULL;
}

#ifdef EMBERBOX_FAULTS
static void taker_killed_at_each_step(void)
{
	static const char *const steps[] = { "launch-store-artifact", "launch-store-audit", "launch-store-commit" };
	int runs = 0;

	begin();
	store_close(store);
	store = NULL;
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		for (int n = 0; n < 3; n++, runs++)
			record(&(struct run){ .status = STATUS_FAILED });
		CHECK_INT(taker_dies(steps[i], -1), SIGKILL);
		check_all_once(runs);
	}
	end();
}
#endif

static void taker_killed_at_any_time(void)
{
	int runs = 0, killed = 0;

	begin();
	store_close(store);
	store = NULL;
	srandom(2);
	for (int i = 0; i < 25; i++) {
		int status;

		for (int n = 0; n < 8; n++, runs++)
			record(&(struct run){ .status = STATUS_FAILED });
		status = taker_dies(NULL, random() % 12000000);
		CHECK(status == 0 || status == SIGKILL);
		killed += status == SIGKILL;
	}
	check_all_once(runs);
	CHECK(killed > 0);
	end();
}

static void writers_and_takers_killed_together(void)
{
	unsigned told = 0;

	begin();
	store_close(store);
	store = NULL;
	srandom(3);
	for (int i = 0; i < 12; i++) {
		int ends[2], status;
		char id[RESULT_ID];
		pid_t child;

		CHECK_INT(pipe2(ends, O_CLOEXEC), 0);
		fcntl(ends[1], F_SETPIPE_SZ, 1 << 20);
		fflush(stdout);
		child = fork();
		if (child == 0) {
			struct journal *own;

			prctl(PR_SET_PDEATHSIG, SIGKILL);
			if (journal_open(&own, &err) < 0)
				_exit(1);
			for (int n = 0; n < 20000; n++) {
				struct run run = { .status = STATUS_FAILED };

				record_in(own, &run);
				/* The answer. */
				if (write(ends[1], run.id, RESULT_ID) != RESULT_ID)
					_exit(2);
			}
			_exit(0);
		}
		close(ends[1]);
		CHECK_INT(read(ends[0], id, RESULT_ID), RESULT_ID);
		told++;
		status = taker_dies(NULL, random() % 15000000);
		CHECK(status == 0 || status == SIGKILL);
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
		store_begin(&plain);
		if (store_take(store, &err) < 0)
			check_fail("%s", err.text);
		CHECK_INT(show(id, NULL), 200);
		CHECK_STR(text_of("status"), "failed");
		/* Each that was answered is there, whole. */
		while (read(ends[0], id, RESULT_ID) == RESULT_ID) {
			told++;
			CHECK_INT(show(id, NULL), 200);
			CHECK_STR(text_of("status"), "failed");
		}
		close(ends[0]);
		store_close(store);
		store = NULL;
	}
	store_begin(&plain);
	CHECK_INT(stats(&(struct store_filter){ 0 }), 200);
	CHECK(!json_object_get(json_object_get(answer, "by_status"), "running"));
	/* The last of each round may be there unanswered, or have begun and not ended. */
	CHECK(number_of("total") >= told && number_of("total") <= told + 12);
	CHECK(count_audit("execution") >= (int)told && count_audit("execution") <= (int)told + 12);
	verify_audit();
	end();
}

/* Also when somebody gives another run its name. */
static void what_a_run_has_said_stays(void)
{
	static const char *const texts[] = { "honest text", "forged text" };
	struct result result = { .id = "01ARZ3NDEKTSV4RRFFQ69G5FAV", .limits.max_output = 4 };
	char name[RESULT_ID + 8], text[32] = "";
	int executions, fd;

	begin();
	for (int i = 0; i < 2; i++) {
		output_init(&result.outputs[0]);
		output_init(&result.outputs[1]);
		CHECK_INT(output_add(&result.outputs[0], texts[i], strlen(texts[i])), (long)strlen(texts[i]));
		CHECK_INT(spool_keep(dir, &result), i == 0 ? 1 : 1 << SPOOL_LOST);
		output_free(&result.outputs[0]);
	}
	spool_name(result.id, 1, name);
	executions = spool_dir(dir);
	fd = openat(executions, name, O_RDONLY | O_CLOEXEC);
	CHECK(read(fd, text, sizeof(text) - 1) > 0);
	CHECK_STR(text, "honest text");
	close(fd);
	close(executions);
	end();
}

int main(void)
{
	RUN(older_database_is_migrated);
	RUN(what_a_run_has_said_stays);
	RUN(old_runs_go);
	RUN(much_is_made_less);
	RUN(journal_is_begun_anew_when_it_is_long);
	RUN(broken_audit_log_stops_the_taking);
#ifdef EMBERBOX_FAULTS
	RUN(taker_killed_at_each_step);
#endif
	RUN(taker_killed_at_any_time);
	RUN(writers_and_takers_killed_together);
	return check_failures > 0;
}
