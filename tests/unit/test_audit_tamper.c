/* The audit log: every kind of tampering is found, and named. */
#include "audit_place.h"

static void an_edit_is_found(void)
{
	size_t size;
	char *line;

	log_new(9);
	load("audit.log");
	line = strstr(line_of(4, &size), "\"number\":4");
	line[9] = '5';
	save("audit.log");
	CHECK_STR(verified(), "audit.log, line 4: entry 4 was changed: its hash is not that of its text");
	line[9] = '4';
	save("audit.log");
	CHECK_STR(verified(), "9 hold");
	place_free();
}

/* Each byte of the log and of the head matters. */
static void every_bit_counts(void)
{
	static const char *const names[] = { "audit.log", "audit.head" };

	log_new(4);
	for (size_t n = 0; n < 2; n++) {
		load(names[n]);
		for (size_t i = 0; i < text_size; i++) {
			/* Of the head, when the disk was reached and the machine started is no part of the chain; nor
			 * are blanks and the size, which the writer checks. */
			if (n == 1 && (text + i >= strstr(text, ",\"size\"")))
				break;
			text[i] ^= 1;
			save(names[n]);
			if (strstr(verified(), " hold"))
				check_fail("a change of byte %zu of %s is not found: %s", i, names[n], verified());
			text[i] ^= 1;
		}
		save(names[n]);
		CHECK_STR(verified(), "4 hold");
	}
	place_free();
}

static void an_edit_with_its_hash_is_found(void)
{
	char forged[512], previous[65] = "";
	size_t size, forged_size;
	char *line;

	log_new(9);
	load("audit.log");
	memcpy(previous, strstr(line_of(4, &size), "\"previous\":\"") + 12, 64);
	forged_size = forge(forged, 4, previous);
	line = line_of(4, &size);
	replace(line, size, forged, forged_size);
	save("audit.log");
	CHECK_STR(verified(),
		  "audit.log, line 5: entry 5 does not follow from the one before it: one of the two was replaced");
	place_free();
}

static void the_last_entry_replaced_is_found(void)
{
	char forged[512], previous[65] = "";
	size_t size, forged_size;
	char *line;

	log_new(9);
	load("audit.log");
	line = line_of(9, &size);
	memcpy(previous, strstr(line, "\"previous\":\"") + 12, 64);
	forged_size = forge(forged, 9, previous);
	replace(line, size, forged, forged_size);
	save("audit.log");
	CHECK_STR(verified(), "audit.log, line 9: entry 9 was replaced: audit.head has another hash");
	CHECK(strncmp(open_refused(), "the audit log was changed by another program: ", 44) == 0);
	place_free();
}

static void a_removal_is_found(void)
{
	log_new(9);
	load("audit.log");
	remove_line(4);
	save("audit.log");
	CHECK_STR(verified(), "audit.log, line 4: entry 4 is missing before it");
	remove_line(4);
	remove_line(4);
	save("audit.log");
	CHECK_STR(verified(), "audit.log, line 4: entries 4 to 6 are missing before it");
	place_free();
	log_new(9);
	load("audit.log");
	remove_line(1);
	save("audit.log");
	CHECK_STR(verified(), "audit.log, line 1: entry 1 is missing before it");
	place_free();
}

static void an_insertion_is_found(void)
{
	char copy[1024], previous[65] = "";
	size_t size;
	char *line;

	log_new(9);
	load("audit.log");
	line = line_of(4, &size);
	memcpy(copy, line, size);
	replace(line, 0, copy, size);
	save("audit.log");
	CHECK_STR(verified(), "audit.log, line 5: entry 4 stands after entry 4: it was inserted or moved");
	place_free();
	log_new(9);
	load("audit.log");
	line = line_of(5, &size);
	memcpy(previous, strstr(line, "\"previous\":\"") + 12, 64);
	size = forge(copy, 5, previous);
	replace(line, 0, copy, size);
	save("audit.log");
	CHECK_STR(verified(), "audit.log, line 6: entry 5 stands after entry 5: it was inserted or moved");
	place_free();
	log_new(9);
	load("audit.log");
	line = line_of(5, &size);
	replace(line, 0, "\n", 1);
	save("audit.log");
	CHECK_STR(verified(), "audit.log, line 5: this is not an entry of the audit log");
	place_free();
}

static void another_order_is_found(void)
{
	char copy[1024];
	size_t size;
	char *line;

	log_new(9);
	load("audit.log");
	line = line_of(4, &size);
	memcpy(copy, line, size);
	replace(line, size, "", 0);
	{
		size_t next;

		line = line_of(5, &next);
	}
	replace(line, 0, copy, size);
	save("audit.log");
	CHECK_STR(verified(), "audit.log, line 4: entry 5 stands before entry 4: the order was changed");
	place_free();
}

static void an_end_cut_off_is_found(void)
{
	log_new(9);
	load("audit.log");
	remove_line(9);
	save("audit.log");
	CHECK_STR(verified(), "the last entry is missing: the log ends with entry 8, but audit.head has entry 9");
	remove_line(8);
	remove_line(7);
	save("audit.log");
	CHECK_STR(verified(), "the last 3 entries are missing: the log ends with entry 6, but audit.head has entry 9");
	CHECK_STR(
		open_refused(),
		"the audit log was changed by another program: the last 3 entries are missing; `emberbox audit verify` "
		"has details, and a new log begins when its files (audit*) are moved away");
	text_size = 0;
	save("audit.log");
	CHECK_STR(verified(), "the last 9 entries are missing: the log ends with entry 0, but audit.head has entry 9");
	unlinkat(dir, "audit.log", 0);
	CHECK_STR(verified(), "the last 9 entries are missing: the log ends with entry 0, but audit.head has entry 9");
	CHECK_STR(open_refused(), "the audit log was changed by another program: audit.log is missing; `emberbox audit "
				  "verify` has details, "
				  "and a new log begins when its files (audit*) are moved away");
	/* As it says. */
	unlinkat(dir, "audit.head", 0);
	CHECK_STR(open_refused(), "(opened)");
	place_free();
}

static void a_head_taken_away_is_found(void)
{
	log_new(9);
	unlinkat(dir, "audit.head", 0);
	CHECK_STR(verified(), "audit.head is missing, so the end of the log is unknown");
	CHECK(strstr(open_refused(), ": audit.head is missing;"));
	load("audit.log");
	text_size = 2;
	save("audit.head");
	CHECK_STR(verified(), "audit.head was changed: it is not as emberbox writes it");
	CHECK_STR(open_refused(), "audit.head was changed: it is not as emberbox writes it");
	place_free();
}

/* The end and the head cut to fit each other: history.db knows better. */
static void a_witness_knows_the_end(void)
{
	char witness[AUDIT_HEAD_MAX], sql[300];
	struct audit *audit;
	uint64_t entries;
	sqlite3 *db;

	log_new(3);
	load("audit.head");
	audit = opened();
	append(audit, 4, 6);
	audit_head(audit, witness);
	audit_close(audit);
	CHECK(strncmp(witness, "6:", 2) == 0 && strlen(witness) == 66);
	CHECK_INT(audit_verify_at(dir, witness, &entries, NULL, &err), 0);
	save("audit.head");
	load("audit.log");
	remove_line(6);
	remove_line(5);
	remove_line(4);
	save("audit.log");
	CHECK_STR(verified(), "3 hold");
	CHECK_INT(audit_verify_at(dir, witness, &entries, NULL, &err), -1);
	CHECK_STR(err.text, "the last 3 entries are missing: the log ends with entry 3, but history.db has entry 6");

	/* Through the database itself; and of another chain. */
	snprintf(sql, sizeof(sql), "%s/history.db", place);
	CHECK_INT(sqlite3_open(sql, &db), SQLITE_OK);
	CHECK_INT(audit_verify(&entries, &err), 0);
	snprintf(sql, sizeof(sql), "CREATE TABLE meta(key, value); INSERT INTO meta VALUES('audit_head', '%s')",
		 witness);
	CHECK_INT(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	CHECK_INT(audit_verify(&entries, &err), -1);
	CHECK_STR(err.text, "the last 3 entries are missing: the log ends with entry 3, but history.db has entry 6");
	CHECK_INT(sqlite3_exec(db, "UPDATE meta SET value = '2' || substr(value, 2)", NULL, NULL, NULL), SQLITE_OK);
	CHECK_INT(audit_verify(&entries, &err), -1);
	CHECK_STR(err.text, "audit.log, line 2: entry 2 was replaced: history.db has another hash");
	sqlite3_close(db);
	place_free();
}

static void what_others_append_is_found(void)
{
	char forged[512], previous[65] = "";
	size_t size;

	log_new(9);
	load("audit.log");
	memcpy(previous, strstr(line_of(9, &size), "\"hash\":\"") + 8, 64);
	size = forge(forged, 10, previous);
	replace(text + text_size, 0, forged, size);
	save("audit.log");
	CHECK_STR(verified(), "the log goes on to entry 10, but audit.head ends with entry 9: another program added "
			      "the entries after "
			      "it");
	CHECK(strstr(open_refused(), ": it continues after entry 9, the last one that emberbox wrote;"));
	text_size -= 5;
	save("audit.log");
	CHECK_STR(verified(),
		  "audit.log, line 10: the log ends in the middle of this line, and not because of a crash");
	CHECK(strstr(open_refused(), ": it continues after entry 9, the last one that emberbox wrote;"));
	place_free();
}

static void what_others_change_meanwhile_is_found(void)
{
	struct audit *audit;

	log_new(2);
	audit = opened();
	append(audit, 3, 3);
	load("audit.log");
	text[text_size++] = 'x';
	save("audit.log");
	CHECK_INT(audit_append(audit, "r4", "denied", NULL, &err), 0);
	CHECK_INT(audit_flush(audit, &err), -1);
	CHECK(strstr(err.text, "the audit log was changed by another program: audit.log has "));
	/* The batch is gone, and not remembered as logged. */
	text_size--;
	save("audit.log");
	append(audit, 1, 5);
	CHECK_STR(verified(), "5 hold");
	CHECK_INT(renameat(dir, "audit.log", dir, "elsewhere"), 0);
	load("elsewhere");
	save("audit.log");
	CHECK_INT(audit_append(audit, "r6", "denied", NULL, &err), 0);
	CHECK_INT(audit_flush(audit, &err), -1);
	CHECK(strstr(err.text, ": audit.log was removed or replaced;"));
	audit_close(audit);
	CHECK_STR(verified(), "5 hold");
	place_free();
}

/* A log of three files: entries 1 to 5, 6 to 10, 11 to 12. */
static void three_files(void)
{
	struct audit *audit;

	place_new();
	audit = opened();
	append(audit, 1, 5);
	audit_rotate_at(audit, 1000);
	append(audit, 6, 10);
	append(audit, 11, 12);
	audit_close(audit);
	CHECK_STR(verified(), "12 hold");
}

static void a_file_taken_away_is_found(void)
{
	three_files();
	renameat(dir, "audit-6.log", dir, "x");
	CHECK_STR(verified(), "audit.log, line 1: entries 6 to 10 are missing before it");
	renameat(dir, "x", dir, "audit-7.log");
	CHECK_STR(verified(), "audit-7.log, line 1: the file's name has the number of another entry");
	renameat(dir, "audit-7.log", dir, "audit-6.log");
	CHECK_STR(verified(), "12 hold");
	unlinkat(dir, "audit-1.log", 0);
	CHECK_STR(verified(), "audit-6.log, line 1: entries 1 to 5 are missing before it");
	place_free();
	three_files();
	load("audit-1.log");
	text_size--;
	save("audit-1.log");
	CHECK_STR(verified(), "audit-1.log, line 5: the file ends in the middle of this line");
	text_size++;
	save("audit-1.log");
	CHECK_STR(verified(), "12 hold");
	place_free();
}

int main(void)
{
	RUN(an_edit_is_found);
	RUN(every_bit_counts);
	RUN(an_edit_with_its_hash_is_found);
	RUN(the_last_entry_replaced_is_found);
	RUN(a_removal_is_found);
	RUN(an_insertion_is_found);
	RUN(another_order_is_found);
	RUN(an_end_cut_off_is_found);
	RUN(a_head_taken_away_is_found);
	RUN(a_witness_knows_the_end);
	RUN(what_others_append_is_found);
	RUN(what_others_change_meanwhile_is_found);
	RUN(a_file_taken_away_is_found);
	return check_failures > 0;
}
