/* The store: what was recorded is there, as it was answered, and strangers see nothing. No box is made. */
#include "store_kit.h"

static void run_is_shown_as_it_was_answered(void)
{
	struct run run = { .out = "hello \xE2\x82\xAC\n", .msec = 40, .warm = true };
	struct stat st;

	begin();
	record(&run);
	CHECK_INT(store_take(store, &err), 0);
	CHECK_INT(show(run.id, NULL), 200);
	CHECK_STR(text_of("id"), run.id);
	CHECK_STR(text_of("status"), "ok");
	CHECK_STR(text_of("stdout"), "hello \xE2\x82\xAC\n");
	CHECK_STR(text_of("language"), "python");
	CHECK_STR(text_of("caller"), "uid 1");
	CHECK_STR(text_of("door"), "http");
	CHECK_STR(text_of("request_id"), "req-1");
	CHECK_STR(text_of("code_sha256"), "d287bb7f9d15abdc5b6e98536263815744b6ef21c8f3c839fc434ca70d8efe99");
	CHECK(json_is_null(json_object_get(answer, "code")));
	CHECK(json_is_null(json_object_get(answer, "profile")));
	CHECK(json_real_value(json_object_get(answer, "execution_time")) == 0.04);
	CHECK_INT(list(&(struct store_filter){ .limit = 10 }), 200);
	CHECK_INT(list_size(), 1);
	CHECK_STR(item(0, "id"), run.id);
	CHECK_STR(item(0, "start"), "warm");
	CHECK_STR(item(0, "caller"), "uid 1");
	CHECK(json_is_null(json_object_get(answer, "next")));
	CHECK_INT(count_files(""), 0);
	CHECK_INT(count_audit("execution"), 1);
	for (const char *const *name =
		     (const char *const[]){ "history.db", "history.db-wal", "journal", "audit.log", NULL };
	     *name; name++) {
		CHECK_INT(fstatat(dir, *name, &st, 0), 0);
		CHECK_INT(st.st_mode & 0777, 0600);
	}
	verify_audit();
	end();
}

static void code_is_kept_by_the_policy(void)
{
	struct run failed = { .status = STATUS_FAILED, .code = "raise 1" };
	struct run ok = { .code = "print(2)", .policy = RECORD_CODE_ALWAYS };
	struct run never = { .status = STATUS_FAILED, .policy = RECORD_CODE_NEVER };
	struct run bytes = { .status = STATUS_TIMEOUT, .code = "\xff\xfe" };
	json_t *artifact;
	int fd, status = 0;

	begin();
	record(&failed);
	record(&ok);
	record(&never);
	record(&bytes);
	CHECK_INT(store_take(store, &err), 0);
	CHECK_INT(count_files(".json"), 3);
	CHECK_INT(show(failed.id, NULL), 200);
	CHECK_STR(text_of("code"), "raise 1");
	CHECK_INT(show(ok.id, NULL), 200);
	CHECK_STR(text_of("code"), "print(2)");
	CHECK_INT(show(bytes.id, NULL), 200);
	CHECK_STR(json_string_value(json_object_get(json_object_get(answer, "code"), "base64")), "//4=");
	CHECK_INT(show(never.id, NULL), 200);
	CHECK(json_is_null(json_object_get(answer, "code")));
	CHECK_INT(store_artifact(store, never.id, NULL, &status, &err), -1);
	CHECK_INT(status, 404);
	fd = store_artifact(store, failed.id, NULL, &status, &err);
	CHECK_INT(status, 200);
	artifact = json_loadfd(fd, 0, NULL);
	close(fd);
	CHECK_STR(json_string_value(json_object_get(artifact, "id")), failed.id);
	CHECK_STR(json_string_value(json_object_get(json_object_get(artifact, "result"), "status")), "failed");
	CHECK_STR(json_string_value(json_array_get(json_object_get(json_object_get(artifact, "request"), "args"), 0)),
		  "one");
	/* A variable's name, never its value. */
	CHECK_STR(json_string_value(json_array_get(json_object_get(json_object_get(artifact, "request"), "env"), 0)),
		  "SECRET");
	json_decref(artifact);
	end();
}

static void whole_output_is_kept_where_the_result_has_not(void)
{
	struct run cut = { .out = "0123456789abcdef0123456789abcdef", .shown = 8 };
	struct run bytes = { .out = "a\xff\0b", .out_size = 4 };
	struct run plain_run = { .out = "x\0y", .out_size = 3 };
	const struct {
		struct run *run;
		const char *want;
		size_t size;
	} all[] = { { &cut, cut.out, 32 }, { &bytes, bytes.out, 4 }, { &plain_run, plain_run.out, 3 } };

	begin();
	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		record(all[i].run);
	CHECK_INT(store_take(store, &err), 0);
	CHECK_INT(count_files(".out"), 2);
	CHECK_INT(count_files(".err"), 0);
	CHECK_INT(count_files(".tmp"), 0);
	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		_cleanup_buf_ struct buf data = { 0 };
		int status = 0, fd = store_spool(store, all[i].run->id, "uid 1", 1, &status, &err);

		CHECK_INT(status, 200);
		read_all(fd, &data);
		CHECK_INT(data.size, all[i].size);
		CHECK_INT(memcmp(data.data, all[i].want, all[i].size), 0);
		close(fd);
		CHECK_INT(store_spool(store, all[i].run->id, "uid 2", 1, &status, &err), -1);
		CHECK_INT(status, 404);
		fd = store_spool(store, all[i].run->id, NULL, 2, &status, &err);
		CHECK_INT(status, 200);
		data.size = 0;
		read_all(fd, &data);
		CHECK_INT(data.size, 0);
		close(fd);
	}
	end();
}

static void others_runs_do_not_exist(void)
{
	struct run mine = { .caller = "me" }, theirs = { .caller = "them" };
	char want[128];
	int status;

	begin();
	record(&mine);
	record(&theirs);
	CHECK_INT(store_take(store, &err), 0);
	CHECK_INT(show(mine.id, "me"), 200);
	CHECK_INT(show(theirs.id, "me"), 404);
	snprintf(want, sizeof(want), "there is no execution \"%s\"", theirs.id);
	CHECK_STR(err.text, want);
	CHECK_INT(store_artifact(store, theirs.id, "me", &status, &err), -1);
	CHECK_INT(status, 404);
	CHECK_INT(list(&(struct store_filter){ .limit = 10, .caller = "me" }), 200);
	CHECK_INT(list_size(), 1);
	CHECK_STR(item(0, "id"), mine.id);
	CHECK_INT(list(&(struct store_filter){ .limit = 10, .caller = "" }), 200);
	CHECK_INT(list_size(), 0);
	CHECK_INT(stats(&(struct store_filter){ .caller = "me" }), 200);
	CHECK_INT(number_of("total"), 1);
	end();
}

static void strange_id_is_never_a_path(void)
{
	static const char *const ids[] = { "../../etc/passwd",
					   "",
					   "01ARZ3NDEKTSV4RRFFQ69G5FAV/",
					   "01ARZ3NDEKTSV4RRFFQ69G5FA.",
					   "../history.db/000000000000",
					   "01ARZ3NDEKTSV4RRFFQ69G5FAVX",
					   "%2e%2e%2fetc%2fpasswd00000" };

	begin();
	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		int status = 0;

		CHECK_INT(show(ids[i], NULL), 404);
		CHECK_STR(err.text, "there is no such execution: an id has 26 letters and digits");
		CHECK_INT(store_spool(store, ids[i], NULL, 1, &status, &err), -1);
		CHECK_INT(status, 404);
		CHECK_INT(store_artifact(store, ids[i], NULL, &status, &err), -1);
		CHECK_INT(status, 404);
	}
	CHECK_INT(show("01ARZ3NDEKTSV4RRFFQ69G5FAV", NULL), 404);
	CHECK_STR(err.text, "there is no execution \"01ARZ3NDEKTSV4RRFFQ69G5FAV\"");
	end();
}

static void wrong_filters_are_named(void)
{
	static const struct {
		struct store_filter filter;
		const char *field, *text;
	} wrong[] = {
		{ { .limit = 0 }, "limit", "limit has to be a whole number from 1 to 1000" },
		{ { .limit = 1001 }, "limit", "limit has to be a whole number from 1 to 1000" },
		{ { .limit = 1, .status = "fine" },
		  "status",
		  "status has to be one of ok, failed, timeout, out_of_memory, output_limit, killed, blocked, error, "
		  "running, "
		  "interrupted" },
		{ { .limit = 1, .language = "py'thon" },
		  "language",
		  "language has to be the name of a language, such as python" },
		{ { .limit = 1, .language = "pyhton" },
		  "language",
		  "language: \"pyhton\" is not known, and has no runs; did you mean python?" },
		{ { .limit = 1, .before = "x" },
		  "before",
		  "before has to be the id of an execution: 26 letters and digits" },
		{ { .limit = 1, .since = "yesterday" },
		  "since",
		  "since has to be a time such as 2026-01-31T12:00:00Z" },
		{ { .limit = 1, .since = "2026-06-31T12:00:00Z" },
		  "since",
		  "since has to be a time such as 2026-01-31T12:00:00Z" },
		{ { .limit = 1, .since = "2026-06-30T12:00:00" },
		  "since",
		  "since has to be a time such as 2026-01-31T12:00:00Z" },
	};

	begin();
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		CHECK_INT(list(&wrong[i].filter), 400);
		CHECK_INT(err.code, CODE_BAD_REQUEST);
		CHECK_STR(err.field, wrong[i].field);
		CHECK_STR(err.text, wrong[i].text);
	}
	CHECK_INT(list(&(struct store_filter){ .limit = 1, .since = "2026-06-30t12:00:00.5+02:00" }), 200);
	end();
}

static void list_pages_newest_first(void)
{
	char ids[7][RESULT_ID], last[RESULT_ID];
	struct store_filter filter = { .limit = 3 };
	size_t seen = 0;

	begin();
	for (int i = 0; i < 7; i++) {
		struct run run = { .language = i % 2 ? "node" : "python",
				   .status = i == 6 ? STATUS_FAILED : STATUS_OK };

		record(&run);
		strcpy(ids[i], run.id);
		/* Ids sort by their millisecond. */
		nanosleep(&(struct timespec){ .tv_nsec = 2000000 }, NULL);
	}
	CHECK_INT(store_take(store, &err), 0);
	do {
		CHECK_INT(list(&filter), 200);
		for (size_t i = 0; i < list_size(); i++, seen++)
			CHECK_STR(item(i, "id"), ids[6 - seen]);
		if (text_of("next"))
			strcpy(last, text_of("next"));
		filter.before = last;
	} while (text_of("next") && seen < 10);
	CHECK_INT(seen, 7);
	/* By any of its names. */
	CHECK_INT(list(&(struct store_filter){ .limit = 10, .language = "JS" }), 200);
	CHECK_INT(list_size(), 3);
	CHECK_STR(item(0, "language"), "javascript");
	CHECK_INT(list(&(struct store_filter){ .limit = 10, .status = "failed" }), 200);
	CHECK_INT(list_size(), 1);
	CHECK_STR(item(0, "id"), ids[6]);
	CHECK_STR(item(0, "error_message"), "Execution failed: exit code 3");
	CHECK_INT(list(&(struct store_filter){ .limit = 10, .since = "2100-01-01T00:00:00Z" }), 200);
	CHECK_INT(list_size(), 0);
	end();
}

static void sums_are_right(void)
{
	json_t *languages;

	begin();
	for (unsigned i = 1; i <= 100; i++) {
		struct run run = { .msec = i, .warm = i > 10, .status = i > 97 ? STATUS_TIMEOUT : STATUS_OK };

		record(&run);
	}
	record(&(struct run){ .language = "bash", .status = STATUS_FAILED, .msec = 500 });
	record(&(struct run){ .language = "bash", .begins = true });
	CHECK_INT(store_take(store, &err), 0);
	CHECK_INT(stats(&(struct store_filter){ 0 }), 200);
	CHECK_INT(number_of("total"), 102);
	CHECK_INT(number_of("warm"), 90);
	CHECK_INT(number_of("cold"), 11);
	CHECK_INT(json_integer_value(json_object_get(json_object_get(answer, "by_status"), "ok")), 97);
	CHECK_INT(json_integer_value(json_object_get(json_object_get(answer, "by_status"), "timeout")), 3);
	CHECK_INT(json_integer_value(json_object_get(json_object_get(answer, "by_status"), "running")), 1);
	languages = json_object_get(answer, "by_language");
	CHECK_INT(json_array_size(languages), 2);
	CHECK_STR(json_string_value(json_object_get(json_array_get(languages, 0), "language")), "python");
	CHECK_INT(json_integer_value(json_object_get(json_array_get(languages, 0), "ok")), 97);
	CHECK(json_real_value(json_object_get(json_array_get(languages, 0), "p50")) == 0.05);
	CHECK(json_real_value(json_object_get(json_array_get(languages, 0), "p95")) == 0.095);
	CHECK(json_real_value(json_object_get(json_array_get(languages, 0), "p50_total")) == 0.07);
	CHECK_INT(json_integer_value(json_object_get(json_array_get(languages, 1), "count")), 2);
	CHECK_INT(json_integer_value(json_object_get(json_array_get(languages, 1), "failed")), 1);
	languages = json_object_get(answer, "failures");
	CHECK_STR(json_string_value(json_object_get(json_array_get(languages, 0), "kind")), "timeout");
	CHECK_INT(json_integer_value(json_object_get(json_array_get(languages, 0), "count")), 3);
	CHECK_STR(json_string_value(json_object_get(json_array_get(languages, 1), "kind")), "failed");
	CHECK_INT(number_of("other"), 1);
	CHECK_INT(stats(&(struct store_filter){ .language = "ruby" }), 200);
	CHECK_INT(number_of("total"), 0);
	CHECK(json_is_null(json_object_get(answer, "p50")));
	CHECK(json_is_null(json_object_get(answer, "since")));
	end();
}

/* What runs in a container starts nothing; what never began, nothing either. */
static void neither_warm_nor_cold(void)
{
	begin();
	record(&(struct run){ .warm = true });
	record(&(struct run){ 0 });
	record(&(struct run){ .place = "c1" });
	record(&(struct run){ .place = "c1", .warm = true });
	record(&(struct run){ .status = STATUS_BLOCKED });
	record(&(struct run){ .begins = true });
	CHECK_INT(store_take(store, &err), 0);
	CHECK_INT(stats(&(struct store_filter){ 0 }), 200);
	CHECK_INT(number_of("total"), 6);
	CHECK_INT(number_of("warm"), 1);
	CHECK_INT(number_of("cold"), 1);
	CHECK_INT(number_of("other"), 4);
	end();
}

static void failures_have_the_name_of_their_exception(void)
{
	static const struct {
		const char *sentence, *kind;
	} all[] = {
		{ "Execution failed: ZeroDivisionError: division by zero", "ZeroDivisionError" },
		{ "Execution failed: KeyboardInterrupt", "KeyboardInterrupt" },
		{ "Execution failed: Uncaught RangeError: a (b)", "RangeError" },
		{ "Execution failed: java.io.IOException: no", "java.io.IOException" },
		{ "Execution failed: divided by 0 (ZeroDivisionError)", "ZeroDivisionError" },
		{ "Execution failed: Usage: x", "failed" },
		{ "Execution failed: no Error: x", "failed" },
		{ "Execution failed: (", "failed" },
		{ "Execution failed: ()", "failed" },
		{ "Execution failed: )", "failed" },
		{ "Execution failed: ", "failed" },
		{ "Execution failed: "
		  "AnErrorWithANameThatIsFarTooLongToBeOneThatAnybodyWouldWantToSeeInATableError: x",
		  "failed" },
		{ "ValueError: not of ours", "failed" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		const json_t *first;

		begin();
		record(&(struct run){ .status = STATUS_FAILED, .sentence = all[i].sentence });
		CHECK_INT(store_take(store, &err), 0);
		CHECK_INT(stats(&(struct store_filter){ 0 }), 200);
		first = json_array_get(json_object_get(answer, "failures"), 0);
		CHECK_STR(json_string_value(json_object_get(first, "kind")), all[i].kind);
		end();
	}
	/* Programs make names up; a table has an end. */
	begin();
	for (unsigned i = 0; i < 120; i++) {
		char sentence[64];

		snprintf(sentence, sizeof(sentence), "Execution failed: N%uError: x", i);
		record(&(struct run){ .status = STATUS_FAILED, .sentence = sentence });
	}
	CHECK_INT(store_take(store, &err), 0);
	CHECK_INT(stats(&(struct store_filter){ 0 }), 200);
	CHECK_INT(json_array_size(json_object_get(answer, "failures")), 101);
	CHECK_STR(json_string_value(json_object_get(json_array_get(json_object_get(answer, "failures"), 0), "kind")),
		  "failed");
	end();
}

static void refused_run_says_why(void)
{
	struct run run = { .begins = true };
	const struct error why = { .kind = ERROR_FAILED, .code = CODE_CANNOT_ENFORCE, .text = "the box lacks a layer" };

	begin();
	record(&run);
	CHECK_INT(record_refused(journal, run.id, &why, &err), 0);
	CHECK_INT(store_take(store, &err), 0);
	CHECK_INT(show(run.id, NULL), 200);
	CHECK_STR(text_of("status"), "error");
	CHECK_STR(text_of("error_message"), "the box lacks a layer");
	CHECK_INT(number_of("exit_code"), 125);
	CHECK_STR(text_of("caller"), "uid 1");
	CHECK_STR(text_of("stdout"), "");
	CHECK_INT(count_audit("execution_refused"), 1);
	end();
}

/* A child that begins a run and waits for its death; *id is its run. */
static pid_t child_begins(struct run *run)
{
	int ends[2];
	pid_t child;

	CHECK_INT(pipe2(ends, O_CLOEXEC), 0);
	child = fork();
	if (child == 0) {
		struct journal *own;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		run->begins = true;
		if (journal_open(&own, &err) < 0)
			_exit(1);
		record_in(own, run);
		if (write(ends[1], run->id, RESULT_ID) != RESULT_ID)
			_exit(2);
		for (;;)
			pause();
	}
	close(ends[1]);
	CHECK_INT(read(ends[0], run->id, RESULT_ID), RESULT_ID);
	close(ends[0]);
	return child;
}

static void dead_writers_runs_are_interrupted(void)
{
	struct run living = { .begins = true }, dead = { 0 };
	struct run ended = { 0 };
	pid_t child;

	begin();
	record(&living);
	record(&ended);
	child = child_begins(&dead);
	CHECK_INT(store_take(store, &err), 0);
	CHECK_INT(show(dead.id, NULL), 200);
	CHECK_STR(text_of("status"), "running");
	CHECK(json_is_null(json_object_get(answer, "exit_code")));
	CHECK_INT(list(&(struct store_filter){ .limit = 10, .status = "running" }), 200);
	CHECK_INT(list_size(), 2);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	/* Who only reads sees it as well. */
	CHECK_INT(show(dead.id, NULL), 200);
	CHECK_STR(text_of("status"), "interrupted");
	CHECK_STR(text_of("error_message"), STORE_INTERRUPTED);
	CHECK(json_is_false(json_object_get(answer, "success")));
	CHECK_INT(list(&(struct store_filter){ .limit = 10, .status = "running" }), 200);
	CHECK_INT(list_size(), 1);
	CHECK_STR(item(0, "id"), living.id);
	CHECK_INT(list(&(struct store_filter){ .limit = 10, .status = "interrupted" }), 200);
	CHECK_INT(list_size(), 1);
	CHECK_INT(count_audit("execution_interrupted"), 0);
	store_begin(&plain);
	CHECK_INT(store_take(store, &err), 0);
	CHECK_INT(count_audit("execution_interrupted"), 1);
	CHECK_INT(store_take(store, &err), 0);
	CHECK_INT(count_audit("execution_interrupted"), 1);
	CHECK_INT(list(&(struct store_filter){ .limit = 10, .status = "interrupted" }), 200);
	CHECK_INT(list_size(), 1);
	CHECK_STR(item(0, "id"), dead.id);
	CHECK_INT(list(&(struct store_filter){ .limit = 10, .status = "ok" }), 200);
	CHECK_STR(item(0, "id"), ended.id);
	end();
}

static void events_reach_the_audit_log(void)
{
	_cleanup_buf_ struct buf lines = { 0 };

	begin();
	CHECK_INT(record_event(journal, "denied", "{\"why\":\"no token\"}", &err), 0);
	CHECK_INT(record_event(journal, "odd", "no object", &err), 0);
	CHECK_INT(record_event(journal, "clash", "{\"seq\":1}", &err), 0);
	CHECK_INT(record_event(journal, "empty", NULL, &err), 0);
	CHECK_INT(store_take(store, &err), 0);
	CHECK_INT(store_take(store, &err), 0);
	CHECK_INT(count_audit("denied"), 1);
	CHECK_INT(count_audit("odd"), 1);
	CHECK_INT(count_audit("empty"), 1);
	CHECK_INT(count_audit("clash") + count_audit("unreadable"), 1);
	CHECK_INT(audit_tail(dir, 10, &lines, &err), 0);
	CHECK(strstr(lines.data, "\"why\":\"no token\""));
	verify_audit();
	end();
}

/* A front that was taken over could name a run of before: that one stays as it was. */
static void what_has_ended_does_not_end_again(void)
{
	struct record_caller caller = { "http", "mine", "", "", "" };
	struct result *result;
	struct spec spec;

	begin();
	spec_init(&spec);
	spec_set(&spec, "language", "python", &err);
	spec_set_code(&spec, "1", 1, &err);
	result = result_new(&spec);
	result->verdict.status = STATUS_OK;
	result->verdict.ended = true;
	CHECK_INT(record_start(journal, result->id, &spec, &caller, &err), 0);
	CHECK_INT(record_end(journal, &spec, &caller, result, RECORD_CODE_NEVER, &err), 0);
	caller.name = "another";
	CHECK_INT(record_end(journal, &spec, &caller, result, RECORD_CODE_NEVER, &err), 0);
	CHECK_INT(store_take(store, &err), 0);
	CHECK_INT(show(result->id, NULL), 200);
	CHECK_STR(json_string_value(json_object_get(answer, "caller")), "mine");
	CHECK_INT(count_audit("execution"), 1);
	CHECK_INT(count_audit("execution_repeated"), 1);
	verify_audit();
	result_free(result);
	spec_free(&spec);
	end();
}

static void another_does_not_take_as_well(void)
{
	struct store *second = NULL;
	struct run run = { 0 };
	bool taking = true;

	begin();
	record(&run);
	CHECK_INT(store_open(&plain, &taking, &second, &err), 0);
	CHECK(!taking);
	CHECK(store_behind(second));
	/* It waits for half a second, and goes on. */
	CHECK_INT(store_take(second, &err), 0);
	CHECK(store_behind(second));
	CHECK_INT(store_take(store, &err), 0);
	CHECK(!store_behind(second));
	CHECK_INT(store_take(second, &err), 0);
	store_close(store);
	store = NULL;
	/* It is free now. */
	record(&run);
	CHECK_INT(store_take(second, &err), 0);
	store = second;
	CHECK_INT(count_rows(), 2);
	verify_audit();
	end();
}

int main(void)
{
	RUN(run_is_shown_as_it_was_answered);
	RUN(code_is_kept_by_the_policy);
	RUN(whole_output_is_kept_where_the_result_has_not);
	RUN(others_runs_do_not_exist);
	RUN(strange_id_is_never_a_path);
	RUN(wrong_filters_are_named);
	RUN(list_pages_newest_first);
	RUN(sums_are_right);
	RUN(neither_warm_nor_cold);
	RUN(failures_have_the_name_of_their_exception);
	RUN(refused_run_says_why);
	RUN(dead_writers_runs_are_interrupted);
	RUN(events_reach_the_audit_log);
	RUN(what_has_ended_does_not_end_again);
	RUN(another_does_not_take_as_well);
	return check_failures > 0;
}
