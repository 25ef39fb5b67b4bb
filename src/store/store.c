/* Opens the store, takes its locks, and runs SQL statements. */
#include "store/store.h"

#include "base/own.h"
#include "base/state.h"
#include "store/spool.h"
#include "store/store_parts.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/time.h>
#include <time.h>

int store_failed(struct store *store, struct error *err, const char *what)
{
	int errnum = store->db ? sqlite3_system_errno(store->db) : ENOMEM;
	const char *why = store->db ? sqlite3_errmsg(store->db) : "out of memory";

	/* SQLite keeps the errno of an old failure. */
	if (store->db && sqlite3_errcode(store->db) != SQLITE_FULL &&
	    (sqlite3_errcode(store->db) & 0xff) != SQLITE_IOERR &&
	    (sqlite3_errcode(store->db) & 0xff) != SQLITE_CANTOPEN)
		errnum = 0;
	return error_set(err, ERROR_FAILED, errnum, "%s: %s", what, why);
}

sqlite3_stmt *store_sql(struct store *store, const char *sql, struct error *err)
{
	for (size_t i = 0; i < STORE_STATEMENTS; i++) {
		if (store->statements[i].sql == sql) {
			sqlite3_reset(store->statements[i].stmt);
			sqlite3_clear_bindings(store->statements[i].stmt);
			return store->statements[i].stmt;
		}
		if (store->statements[i].sql)
			continue;
		if (sqlite3_prepare_v3(store->db, sql, -1, SQLITE_PREPARE_PERSISTENT, &store->statements[i].stmt,
				       NULL) != SQLITE_OK) {
			store_failed(store, err, "cannot query the history");
			return NULL;
		}
		store->statements[i].sql = sql;
		return store->statements[i].stmt;
	}
	error_set(err, ERROR_FAILED, 0, "the store has too many statements");
	return NULL;
}

int store_exec(struct store *store, const char *sql, struct error *err)
{
	if (sqlite3_exec(store->db, sql, NULL, NULL, NULL) == SQLITE_OK)
		return 0;
	return store_failed(store, err, "cannot write the history");
}

int store_done(struct store *store, sqlite3_stmt *stmt, struct error *err)
{
	int done = sqlite3_step(stmt);

	if (done == SQLITE_ROW || done == SQLITE_DONE) {
		sqlite3_reset(stmt);
		return 0;
	}
	store_failed(store, err, "cannot write the history");
	sqlite3_reset(stmt);
	return -1;
}

void store_bind(sqlite3_stmt *stmt, int place, const char *text)
{
	if (text && *text)
		sqlite3_bind_text(stmt, place, text, -1, SQLITE_STATIC);
}

bool store_is_id(const char *id)
{
	size_t size = strspn(id, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz");

	return size == RESULT_ID - 1 && id[size] == '\0';
}

uint64_t store_now(void)
{
	struct timeval now;

	gettimeofday(&now, NULL);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_usec / 1000;
}

const char *store_time(uint64_t msec, char text[STORE_TIME])
{
	time_t seconds = (time_t)(msec / 1000 % 253402300800);
	struct tm parts;
	char day[24];

	gmtime_r(&seconds, &parts);
	strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &parts);
	snprintf(text, STORE_TIME, "%s.%03uZ", day, (unsigned)(msec % 1000));
	return text;
}

/* Parses exactly `count` digits without sign and blanks; -1 otherwise. */
static int time_digits(const char **at, int count)
{
	int number = 0;

	for (int i = 0; i < count; i++, (*at)++) {
		if (!isdigit((unsigned char)**at))
			return -1;
		number = number * 10 + (**at - '0');
	}
	return number;
}

static bool time_sign(const char **at, char what)
{
	if (toupper((unsigned char)**at) != what)
		return false;
	(*at)++;
	return true;
}

/* Parses "Z" or "+01:30", in minutes. */
static bool parse_zone(const char **at, int *minutes)
{
	int factor = **at == '-' ? -1 : 1, hours, rest;

	*minutes = 0;
	if (time_sign(at, 'Z'))
		return true;
	if (!time_sign(at, '+') && !time_sign(at, '-'))
		return false;
	hours = time_digits(at, 2);
	if (hours < 0 || hours > 23 || !time_sign(at, ':'))
		return false;
	rest = time_digits(at, 2);
	*minutes = factor * (hours * 60 + rest);
	return rest >= 0 && rest <= 59;
}

bool store_parse_time(const char *text, uint64_t *msec)
{
	const char *at = text;
	struct tm parts = { 0 }, back;
	int year, month, day, hour, minute, second, zone, fraction = 0;
	int64_t seconds;

	year = time_digits(&at, 4);
	if (year < 1970 || !time_sign(&at, '-') || (month = time_digits(&at, 2)) < 1 || !time_sign(&at, '-') ||
	    (day = time_digits(&at, 2)) < 1 || !time_sign(&at, 'T') || (hour = time_digits(&at, 2)) < 0 ||
	    !time_sign(&at, ':') || (minute = time_digits(&at, 2)) < 0 || !time_sign(&at, ':') ||
	    (second = time_digits(&at, 2)) < 0 || hour > 23 || minute > 59 || second > 60)
		return false;
	if (time_sign(&at, '.')) {
		int factor = 100;

		if (!isdigit((unsigned char)*at))
			return false;
		for (; isdigit((unsigned char)*at); at++, factor /= 10)
			fraction += (*at - '0') * factor;
	}
	if (!parse_zone(&at, &zone) || *at != '\0')
		return false;
	parts = (struct tm){ .tm_year = year - 1900, .tm_mon = month - 1, .tm_mday = day };
	back = parts;
	seconds = timegm(&back);
	/* 31 June would be normalized to another day. */
	if (back.tm_mon != parts.tm_mon || back.tm_mday != parts.tm_mday)
		return false;
	seconds += hour * 3600 + minute * 60 + second - zone * 60;
	*msec = seconds < 0 ? 0 : (uint64_t)seconds * 1000 + (uint64_t)fraction;
	return true;
}

json_t *store_utf8(const char *bytes, size_t size)
{
	_cleanup_buf_ struct buf text = { 0 };

	buf_utf8(&text, bytes, size);
	return json_stringn(text.data ? text.data : "", text.size);
}

int store_executions(struct store *store)
{
	if (store->executions < 0)
		store->executions = spool_dir(store->dir);
	return store->executions;
}

static int open_database(struct store *store, struct error *err)
{
	_cleanup_close_ int fd = -1;
	char path[PATH_MAX];

	/* SQLite would create it readable for others; its additional files get the mode of this one. */
	fd = openat(store->dir, "history.db", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return error_errno(err, "cannot open history.db in the state directory");
	if (state_path("history.db", path, sizeof(path)) < 0)
		return error_set(err, ERROR_FAILED, 0, "there is no state directory");
	/* Closing a descriptor drops all POSIX locks of this process on the file, so close it before SQLite locks
	 * it. */
	close_fd(&fd);
	if (sqlite3_open_v2(path, &store->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK ||
	    sqlite3_busy_timeout(store->db, 5000) != SQLITE_OK)
		return store_failed(store, err, "cannot open history.db in the state directory");
	return schema_settle(store, err);
}

/* The SQL function state(status, writer): a run whose writer is dead is not running, whatever its stored status. */
static void sql_state(sqlite3_context *context, int count, sqlite3_value **values)
{
	const struct store *store = sqlite3_user_data(context);
	const char *status = (const char *)sqlite3_value_text(values[0]);

	(void)count;
	if (status && strcmp(status, "running") == 0 &&
	    !journal_writer_lives(store->dir, (uint64_t)sqlite3_value_int64(values[1])))
		sqlite3_result_text(context, "interrupted", -1, SQLITE_STATIC);
	else
		sqlite3_result_value(context, values[0]);
}

int store_open(const struct store_options *options, bool *taking, struct store **out, struct error *err)
{
	struct store *store = calloc(1, sizeof(*store));

	*out = NULL;
	if (!store)
		return error_set(err, ERROR_FAILED, ENOMEM, "cannot open the history");
	store->options = *options;
	store->executions = store->lock = -1;
	store->dir = state_dir(true);
	journal_reader_init(&store->reader, store->dir);
	if (store->dir < 0) {
		error_set(err, ERROR_FAILED, 0,
			  "there is no state directory that only we can write to; set EMBERBOX_HOME to one");
		goto failed;
	}
	store->lock = openat(store->dir, "history.lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (store->lock < 0) {
		error_errno(err, "cannot open history.lock in the state directory");
		goto failed;
	}
	store->taking = flock(store->lock, LOCK_EX | LOCK_NB) == 0;
	if (open_database(store, err) < 0)
		goto failed;
	if (sqlite3_create_function(store->db, "state", 2, SQLITE_UTF8, store, sql_state, NULL, NULL) != SQLITE_OK) {
		store_failed(store, err, "cannot open the history");
		goto failed;
	}
	*taking = store->taking;
	*out = store;
	return 0;
failed:
	store_close(store);
	return -1;
}

void store_close(struct store *store)
{
	if (!store)
		return;
	for (size_t i = 0; i < STORE_STATEMENTS; i++)
		sqlite3_finalize(store->statements[i].stmt);
	sqlite3_close(store->db);
	audit_close(store->audit);
	journal_reader_free(&store->reader);
	close_fd(&store->executions);
	close_fd(&store->lock);
	close_fd(&store->dir);
	free(store);
}
