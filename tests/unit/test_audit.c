/* The audit log: what is written, and what survives a death at any moment. */
#include "audit_place.h"

static void a_line_is_as_documented(void)
{
	struct audit *audit;
	char hash[SHA256_DIGEST_STRING_LENGTH], first[65], *end;
	struct stat st;
	json_t *entry;
	size_t size;

	place_new();
	audit = opened();
	CHECK_INT(
		audit_append(
			audit, "r1", "denied",
			"{\"time\": \"2026-02-03T04:05:06.007Z\",\n \"caller\": \"uid 1\", \"n\": [1, {\"a\": null}]}",
			&err),
		0);
	CHECK_INT(audit_append(audit, NULL, "confirmed", NULL, &err), 0);
	CHECK_STR(tree_read(dir, "audit.log"), "");
	CHECK_INT(audit_flush(audit, &err), 0);
	audit_close(audit);
	CHECK_INT(fstatat(dir, "audit.log", &st, 0), 0);
	CHECK_INT(st.st_mode & 07777, 0600);
	CHECK_INT(fstatat(dir, "audit.head", &st, 0), 0);
	CHECK_INT(st.st_mode & 07777, 0600);

	load("audit.log");
	end = strstr(text, ",\"hash\":\"");
	CHECK(end != NULL);
	*end = '\0';
	CHECK_STR(text, "{\"seq\":1,\"time\":\"2026-02-03T04:05:06.007Z\",\"event\":\"denied\",\"record\":\"r1\","
			"\"caller\":\"uid 1\",\"n\":[1,{\"a\":null}],"
			"\"previous\":\"0000000000000000000000000000000000000000000000000000000000000000\"");
	memcpy(first, end + 9, 64);
	first[64] = '\0';
	strcat(text, "}");
	SHA256Data((const uint8_t *)text, strlen(text), hash);
	CHECK_STR(first, hash);

	load("audit.log");
	end = line_of(2, &size);
	entry = json_loadb(end, size, 0, NULL);
	CHECK_INT(json_integer_value(json_object_get(entry, "seq")), 2);
	CHECK_STR(json_string_value(json_object_get(entry, "event")), "confirmed");
	CHECK_STR(json_string_value(json_object_get(entry, "record")), "");
	CHECK_STR(json_string_value(json_object_get(entry, "previous")), first);
	json_decref(entry);
	CHECK_STR(verified(), "2 hold");
	place_free();
}

static void nothing_is_no_fault(void)
{
	uint64_t entries = 7;

	place_new();
	CHECK_STR(verified(), "0 hold");
	CHECK_INT(audit_verify(&entries, &err), 0);
	CHECK_INT(entries, 0);
	audit_close(opened());
	CHECK_STR(verified(), "0 hold");
	place_free();
}

static void fields_that_cannot_be(void)
{
	struct audit *audit;
	char *large = malloc(300 << 10);

	place_new();
	audit = opened();
	CHECK_INT(audit_append(audit, "a", "denied", "{\"seq\":1}", &err), -1);
	CHECK_STR(err.text, "audit: a field cannot be called \"seq\"");
	CHECK_INT(audit_append(audit, "a", "denied", "{\"hash\":1}", &err), -1);
	CHECK_STR(err.text, "audit: a field cannot be called \"hash\"");
	CHECK_INT(audit_append(audit, "a", "denied", "[1]", &err), -1);
	CHECK_STR(err.text, "audit: the fields of an entry must be a JSON object");
	CHECK_INT(audit_append(audit, "a", "denied", "{\"a\":1", &err), -1);
	CHECK_STR(err.text, "audit: the fields of an entry must be a JSON object");
	CHECK_INT(audit_append(audit, "\xff", "denied", NULL, &err), -1);
	CHECK_STR(err.text, "audit: the event and the record must be UTF-8");
	memset(large, ' ', 300 << 10);
	memcpy(large, "{}", 2);
	large[(300 << 10) - 1] = '\0';
	CHECK_INT(audit_append(audit, "a", "denied", large, &err), -1);
	CHECK_STR(err.text, "audit: the fields of an entry have more than 262144 bytes");
	/* None of them left anything behind. */
	append(audit, 1, 2);
	audit_close(audit);
	CHECK_STR(verified(), "2 hold");
	free(large);
	place_free();
}

static void the_chain_goes_on_after_a_close(void)
{
	struct audit *audit;

	log_new(3);
	audit = opened();
	append(audit, 4, 5);
	append(audit, 6, 6);
	audit_close(audit);
	CHECK_STR(verified(), "6 hold");
	place_free();
}

static void what_was_not_flushed_is_not_there(void)
{
	struct audit *audit;

	log_new(3);
	audit = opened();
	CHECK_INT(audit_append(audit, "r4", "denied", NULL, &err), 0);
	audit_close(audit);
	CHECK_STR(verified(), "3 hold");
	place_free();
}

static void a_record_is_logged_once(void)
{
	struct audit *audit;

	log_new(3);
	audit = opened();
	append(audit, 1, 4); /* a taker that died before its commit does it again */
	append(audit, 2, 5);
	CHECK_INT(audit_append(audit, "r5", "execution_ended", NULL, &err), 0);
	CHECK_INT(audit_append(audit, "", "denied", NULL, &err), 0);
	CHECK_INT(audit_append(audit, "", "denied", NULL, &err), 0);
	CHECK_INT(audit_flush(audit, &err), 0);
	audit_close(audit);
	CHECK_STR(verified(), "8 hold");
	place_free();
}

static void many_records_are_remembered(void)
{
	struct audit *audit;

	log_new(AUDIT_REMEMBERED);
	audit = opened();
	append(audit, 1, AUDIT_REMEMBERED);
	append(audit, AUDIT_REMEMBERED + 1, 2 * AUDIT_REMEMBERED);
	append(audit, AUDIT_REMEMBERED + 1, 2 * AUDIT_REMEMBERED);
	audit_close(audit);
	CHECK_STR(verified(), "8192 hold");
	audit = opened();
	append(audit, AUDIT_REMEMBERED + 1, 2 * AUDIT_REMEMBERED);
	audit_close(audit);
	CHECK_STR(verified(), "8192 hold");
	place_free();
}

static void files_are_put_aside(void)
{
	struct audit *audit;
	struct buf tail = { 0 };

	place_new();
	audit = opened();
	audit_rotate_at(audit, 1000);
	for (int i = 1; i <= 20; i++)
		append(audit, i, i);
	append(audit, 1, 20);
	audit_close(audit);
	CHECK_STR(verified(), "20 hold");
	CHECK_INT(faccessat(dir, "audit-1.log", F_OK, 0), 0);
	CHECK_INT(audit_tail(dir, 7, &tail, &err), 0);
	CHECK(tail.data && strncmp(tail.data, "{\"seq\":14,", 10) == 0);
	buf_free(&tail);
	CHECK_INT(audit_tail(dir, 100, &tail, &err), 0);
	CHECK(tail.data && strncmp(tail.data, "{\"seq\":1,", 9) == 0);
	buf_free(&tail);
	/* All of them are remembered, also over several files. */
	audit = opened();
	append(audit, 1, 20);
	audit_close(audit);
	CHECK_STR(verified(), "20 hold");
	place_free();
}

/* Whoever put the log aside died before a new one was there, or before the head knew of it. */
static void a_death_while_putting_aside(void)
{
	for (int made = 0; made < 2; made++) {
		struct audit *audit;

		log_new(5);
		renameat(dir, "audit.log", dir, "audit-1.log");
		text_size = 0;
		if (made)
			save("audit.log");
		CHECK_STR(verified(), "5 hold");
		audit = opened();
		append(audit, 4, 7);
		audit_close(audit);
		CHECK_STR(verified(), "7 hold");
		place_free();
	}
}

/* As a kill in the middle of a write leaves it: the head says what comes, the log has `keep` bytes of it. */
static void interrupted_at(size_t keep, int whole)
{
	char before[4096], mark[4096], *next;
	struct audit *audit;
	size_t size_before, size;
	char hash[65] = "";

	log_new(3);
	snprintf(before, sizeof(before), "%.4000s", tree_read(dir, "audit.head"));
	load("audit.log");
	size_before = text_size;
	audit = opened();
	append(audit, 4, 6);
	audit_close(audit);
	load("audit.log");
	memcpy(hash, strstr(line_of(6, &size), "\"hash\":\"") + 8, 64);
	next = strstr(before, "\"next\":null");
	snprintf(mark, sizeof(mark), "%.*s\"next\":{\"seq\":6,\"hash\":\"%s\"}%s", (int)(next - before), before, hash,
		 next + 11);
	if (size_before + keep > text_size)
		keep = text_size - size_before;
	text_size = size_before + keep;
	save("audit.log");
	text_size = (size_t)snprintf(text, sizeof(text), "%s", mark);
	save("audit.head");
	{
		char want[32];

		snprintf(want, sizeof(want), "%d hold", whole);
		CHECK_STR(verified(), want);
	}
}

static void a_torn_tail_is_put_aside(void)
{
	struct audit *audit;

	interrupted_at(20, 3);
	audit = opened();
	CHECK_STR(tree_read(dir, "audit.torn"), "{\"seq\":4,\"time\":\"202\n");
	CHECK(strstr(tree_read(dir, "audit.log"), "\"event\":\"torn_tail\",\"record\":\"\",\"bytes\":20,\"lost\":0,"));
	CHECK_STR(verified(), "4 hold");
	append(audit, 4, 6);
	audit_close(audit);
	CHECK_STR(verified(), "7 hold");
	place_free();
}

static void a_batch_that_is_there_is_taken(void)
{
	struct audit *audit;

	interrupted_at(1 << 20, 6);
	audit = opened();
	append(audit, 4, 7); /* the taker did not commit: it does it again */
	audit_close(audit);
	CHECK_STR(verified(), "7 hold");
	CHECK_STR(tree_read(dir, "audit.torn"), "(absent)");
	place_free();
	interrupted_at(0, 3);
	audit = opened();
	append(audit, 4, 7);
	audit_close(audit);
	CHECK_STR(verified(), "7 hold");
	place_free();
}

/* A head of another start of the machine. */
static void reboot(void)
{
	char *boot;

	load("audit.head");
	boot = strstr(text, "\"boot\":\"") + 8;
	*boot = *boot == 'a' ? 'b' : 'a';
	save("audit.head");
}

static void what_the_machine_lost_is_told(void)
{
	struct audit *audit;
	char *synced;

	/* The disk had four entries for sure. */
	log_new(9);
	reboot();
	synced = strstr(text, "\"synced\":") + 9;
	*synced = '4';
	save("audit.head");
	load("audit.log");
	for (int i = 9; i > 5; i--)
		remove_line(i);
	text_size += (size_t)sprintf(text + text_size, "{\"seq\":6,");
	save("audit.log");
	CHECK_STR(verified(),
		  "the last 4 entries are missing: the log ends with entry 5, but audit.head has entry 9 (the machine "
		  "was restarted, and may have lost its last second)");
	audit = opened();
	CHECK(strstr(tree_read(dir, "audit.log"), "\"event\":\"torn_tail\",\"record\":\"\",\"bytes\":9,\"lost\":4,"));
	audit_close(audit);
	CHECK_STR(verified(), "6 hold");
	place_free();

	/* What was on the disk cannot be lost. */
	log_new(9);
	reboot();
	load("audit.log");
	remove_line(9);
	save("audit.log");
	CHECK(strstr(open_refused(), ": the last entry is missing;"));
	place_free();

	/* The log is of a later moment than the head. */
	log_new(3);
	reboot();
	load("audit.head");
	audit = opened();
	append(audit, 4, 6);
	audit_close(audit);
	save("audit.head");
	CHECK_STR(verified(), "6 hold");
	audit = opened();
	append(audit, 4, 7);
	audit_close(audit);
	CHECK_STR(verified(), "7 hold");
	place_free();
}

/* Appends and says so, until it is killed. What a log has already is not added, and of old entries it forgets that:
 * nobody else may have used these numbers. */
static void work(int told, int from)
{
	struct audit *audit = opened();

	audit_rotate_at(audit, 64 << 10);
	for (int i = from; audit; i += 7) {
		append(audit, i, i + 6);
		if (write(told, &i, sizeof(i)) != sizeof(i))
			_exit(1);
	}
	_exit(1);
}

static void a_kill_at_any_moment(void)
{
	unsigned seed = 1;

	place_new();
	for (int round = 0; round < 30; round++) {
		struct timespec pause = { .tv_nsec = (long)(rand_r(&seed) % 5000) * 1000 };
		int told[2], done = 0, status;
		struct audit *audit;
		struct stat st;
		pid_t pid;

		if (pipe(told) < 0 || (pid = fork()) < 0)
			abort();
		if (pid == 0) {
			alarm(30);
			work(told[1], 1 + round * 10000000);
		}
		close(told[1]);
		/* It has begun; then it may die anywhere. */
		CHECK_INT(read(told[0], &done, sizeof(done)), sizeof(done));
		nanosleep(&pause, NULL);
		kill(pid, SIGKILL);
		CHECK_INT(waitpid(pid, &status, 0), pid);
		CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
		while (read(told[0], &done, sizeof(done)) == sizeof(done))
			;
		close(told[0]);
		if (!strstr(verified(), " hold"))
			check_fail("round %d: %s", round, verified());
		/* Everything that was flushed is known: nothing is added. */
		audit = opened();
		CHECK(strstr(verified(), " hold"));
		fstatat(dir, "audit.log", &st, 0);
		append(audit, done, done + 6);
		audit_close(audit);
		{
			struct stat after;

			fstatat(dir, "audit.log", &after, 0);
			CHECK_INT(after.st_size, st.st_size);
		}
		if (check_failed)
			break;
	}
	place_free();
}

/* Verify while somebody writes sees a chain that holds. */
static void verify_beside_a_writer(void)
{
	time_t end = time(NULL) + 10;
	int told[2], first, status;
	pid_t pid;

	place_new();
	if (pipe(told) < 0 || fcntl(told[1], F_SETFL, O_NONBLOCK) < 0 || (pid = fork()) < 0)
		abort();
	if (pid == 0) {
		struct audit *audit = opened();

		alarm(60);
		audit_rotate_at(audit, 16 << 10);
		for (int i = 1; audit; i += 3) {
			append(audit, i, i + 2);
			(void)!write(told[1], &i, sizeof(i));
		}
		_exit(1);
	}
	CHECK_INT(read(told[0], &first, sizeof(first)), sizeof(first));
	/* The log grows meanwhile, and each walk takes longer than the one before. */
	for (int i = 0; i < 100 && !check_failed && time(NULL) < end; i++) {
		if (!strstr(verified(), " hold"))
			check_fail("%s", err.text);
	}
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	close(told[0]);
	close(told[1]);
	place_free();
}

/* No room, in the middle of a batch: it is refused, what was there holds, and it goes on when there is room. */
static void a_full_disk(void)
{
	struct rlimit room, before;
	struct audit *audit;
	struct stat st;

	log_new(3);
	audit = opened();
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &before);
	room = before;
	CHECK_INT(fstatat(dir, "audit.log", &st, 0), 0);
	room.rlim_cur = (rlim_t)st.st_size + 500;
	setrlimit(RLIMIT_FSIZE, &room);
	for (int i = 0; i < 5; i++)
		CHECK_INT(audit_append(audit, "", "denied", NULL, &err), 0);
	CHECK_INT(audit_append(audit, "r4", "denied", NULL, &err), 0);
	CHECK_INT(audit_flush(audit, &err), -1);
	CHECK_STR(err.text, "cannot write audit.log: File too large");
	CHECK_STR(verified(), "3 hold");
	setrlimit(RLIMIT_FSIZE, &before);
	CHECK_INT(audit_append(audit, "r4", "denied", NULL, &err), 0);
	CHECK_INT(audit_flush(audit, &err), 0);
	audit_close(audit);
	CHECK_STR(verified(), "4 hold");
	place_free();
}

int main(void)
{
	RUN(a_line_is_as_documented);
	RUN(nothing_is_no_fault);
	RUN(fields_that_cannot_be);
	RUN(the_chain_goes_on_after_a_close);
	RUN(what_was_not_flushed_is_not_there);
	RUN(a_record_is_logged_once);
	RUN(many_records_are_remembered);
	RUN(files_are_put_aside);
	RUN(a_death_while_putting_aside);
	RUN(a_torn_tail_is_put_aside);
	RUN(a_batch_that_is_there_is_taken);
	RUN(what_the_machine_lost_is_told);
	RUN(a_kill_at_any_moment);
	RUN(verify_beside_a_writer);
	RUN(a_full_disk);
	return check_failures > 0;
}
