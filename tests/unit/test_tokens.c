/* Tokens: their file, who is found, what is stored and how. */
#include "../check.h"
#include "tree.h"

#include "base/own.h"
#include "registry/tokens.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define HASH "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" /* of "abc" */

static struct arena arena;
static struct tokens tokens;
static struct error err;

static int parse(const char *json, const char *first)
{
	arena_free(&arena);
	err = (struct error){ 0 };
	return tokens_parse("t.json", json, strlen(json), first, &arena, &tokens, &err);
}

static void refused(const char *json, const char *sentence)
{
	if (parse(json, "first") == 0)
		check_fail("taken: %s", json);
	else if (strcmp(err.text, sentence) != 0)
		check_fail("%s gives \"%s\", not \"%s\"", json, err.text, sentence);
	CHECK_INT(err.kind, ERROR_USAGE);
	CHECK_INT(tokens.count, 0);
}

static void the_first_one_may_do_everything(void)
{
	const struct token *token;

	CHECK_INT(parse("", "the first token's text"), 0);
	CHECK_INT(tokens.count, 1);
	token = tokens_find(&tokens, "the first token's text", 22);
	CHECK(token != NULL);
	if (token) {
		CHECK_STR(token->name, "default");
		CHECK_INT(token->scopes, SCOPE_EXECUTE | SCOPE_READ | SCOPE_METRICS | SCOPE_ADMIN | SCOPE_TRUSTED);
		CHECK_INT(token->max_concurrent, 0);
		CHECK(!token->limits.timeout && !token->limits.memory);
	}
	CHECK(!tokens_find(&tokens, "the first token's tex", 21));
	CHECK(!tokens_find(&tokens, "the first token's textt", 23));
	CHECK(!tokens_find(&tokens, "", 0));
	CHECK_INT(parse("", NULL), 0);
	CHECK_INT(tokens.count, 0);
	CHECK(!tokens_find(&tokens, "x", 1));
}

static void others_are_known_by_their_hash(void)
{
	const struct token *token;

	CHECK_INT(
		parse("{\"tokens\": [{\"name\": \"a\", \"sha256\": "
		      "\"0000000000000000000000000000000000000000000000000000000000000000\", \"scopes\": [\"admin\"]},"
		      "{\"name\": \"ci-1\", \"sha256\": \"" HASH "\", \"scopes\": [\"execute\", \"metrics\"], "
		      "\"max_concurrent\": 4, \"limits\": {\"timeout\": \"10\", \"memory\": \"256m\", \"cpu_time\": "
		      "\"1\", "
		      "\"cpus\": \"0.5\", \"pids\": \"8\", \"disk\": \"8m\", \"max_output\": \"2k\"}}]}",
		      "first"),
		0);
	CHECK_INT(tokens.count, 3);
	token = tokens_find(&tokens, "abc", 3);
	CHECK(token != NULL);
	if (!token)
		return;
	CHECK_STR(token->name, "ci-1");
	CHECK_INT(token->scopes, SCOPE_EXECUTE | SCOPE_METRICS);
	CHECK_INT(token->max_concurrent, 4);
	CHECK_STR(token->limits.timeout, "10");
	CHECK_STR(token->limits.cpu_time, "1");
	CHECK_STR(token->limits.memory, "256m");
	CHECK_STR(token->limits.cpus, "0.5");
	CHECK_STR(token->limits.pids, "8");
	CHECK_STR(token->limits.disk, "8m");
	CHECK_STR(token->limits.max_output, "2k");
	token = tokens_find(&tokens, "first", 5);
	CHECK(token && strcmp(token->name, "default") == 0);
}

static void what_is_written_is_read_again(void)
{
	struct token all[2] = { { .name = "x", .scopes = SCOPE_READ },
				{ .name = "y", .scopes = SCOPE_ALL, .max_concurrent = 2, .limits.memory = "64m" } };
	char *json = NULL;
	size_t size;

	token_hash("abc", 3, all[0].hash);
	token_hash("def", 3, all[1].hash);
	CHECK_INT(tokens_format(&(struct tokens){ all, 2 }, &json, &size, &err), 0);
	CHECK_INT(strlen(json), size);
	CHECK_INT(parse(json, "first"), 0);
	CHECK_INT(tokens.count, 3);
	CHECK_STR(tokens_find(&tokens, "abc", 3)->name, "x");
	CHECK_STR(tokens_find(&tokens, "def", 3)->limits.memory, "64m");
	free(json);
	/* The first one is in a file of its own. */
	CHECK_INT(tokens_format(&tokens, &json, &size, &err), 0);
	CHECK(!strstr(json, "default"));
	free(json);
}

#define TOKEN(rest) "{\"tokens\": [{\"name\": \"a\", \"sha256\": \"" HASH "\", \"scopes\": [\"read\"]" rest "}]}"

static void mistakes_are_named(void)
{
	CHECK_INT(parse(TOKEN(""), "first"), 0);
	refused("{", "t.json:1:1: it is not JSON: string or '}' expected near end of file");
	refused("[]", "t.json: expected {\"tokens\": [...]} and nothing else");
	refused("{\"tokens\": {}}", "t.json: expected {\"tokens\": [...]} and nothing else");
	refused("{\"tokens\": [], \"x\": 1}", "t.json: expected {\"tokens\": [...]} and nothing else");
	refused("{\"tokens\": [], \"tokens\": []}",
		"t.json:1:23: it is not JSON: duplicate object key near '\"tokens\"'");
	refused("{\"tokens\": [1]}", "t.json: tokens[0]: expected an object");
	refused("{\"tokens\": [{}]}", "t.json: tokens[0].name: expected a string");
	refused("{\"tokens\": [{\"name\": \"A\"}]}",
		"t.json: tokens[0].name: expected at most 32 of a-z, 0-9, \"_\", \".\" and \"-\", not \"A\"");
	refused("{\"tokens\": [{\"name\": \"\"}]}",
		"t.json: tokens[0].name: expected at most 32 of a-z, 0-9, \"_\", \".\" and \"-\", not \"\"");
	refused("{\"tokens\": [{\"name\": \"default\"}]}",
		"t.json: tokens[0].name: \"default\" is the first token, in the file \"token\" beside this one");
	refused("{\"tokens\": [{\"name\": \"a\"}]}", "t.json: tokens[0].sha256: expected a string");
	refused("{\"tokens\": [{\"name\": \"a\", \"sha256\": \"BA78\"}]}",
		"t.json: tokens[0].sha256: expected 64 small hexadecimal digits");
	refused("{\"tokens\": [{\"name\": \"a\", \"sha256\": \"" HASH "\"}]}",
		"t.json: tokens[0].scopes: expected a list of execute, read, metrics, admin, trusted");
	refused("{\"tokens\": [{\"name\": \"a\", \"sha256\": \"" HASH "\", \"scopes\": [\"root\"]}]}",
		"t.json: tokens[0].scopes: expected execute, read, metrics, admin or trusted, not \"root\"");
	refused("{\"tokens\": [{\"name\": \"a\", \"sha256\": \"" HASH "\", \"scopes\": [1]}]}",
		"t.json: tokens[0].scopes: expected execute, read, metrics, admin or trusted, not something else");
	refused(TOKEN(", \"max_concurrent\": 0"),
		"t.json: tokens[0].max_concurrent: expected a whole number from 1 to 1000");
	refused(TOKEN(", \"max_concurrent\": 1.5"),
		"t.json: tokens[0].max_concurrent: expected a whole number from 1 to 1000");
	refused(TOKEN(", \"limits\": []"), "t.json: tokens[0].limits: expected an object");
	refused(TOKEN(", \"limits\": {\"time\": \"1\"}"), "t.json: tokens[0].limits.time: there is no such limit; "
							  "expected timeout, cpu_time, memory, cpus, pids, disk or "
							  "max_output");
	refused(TOKEN(", \"limits\": {\"timeout\": 1}"),
		"t.json: tokens[0].limits.timeout: expected a string such as \"256m\" or \"10\"");
	refused(TOKEN(", \"limits\": {\"cpu_time\": \"x\"}"),
		"t.json: tokens[0].limits.cpu_time: \"x\" is not a time between 0.001 and 86400 seconds; write it as "
		"30, 500ms, 2m or 1h30m");
	refused(TOKEN(", \"limit\": {}"),
		"t.json: tokens[0]: unknown key \"limit\"; expected name, sha256, scopes, max_concurrent, limits or net");
	refused("{\"tokens\": [{\"name\": \"a\", \"sha256\": \"" HASH
		"\", \"scopes\": [\"read\"]}, {\"name\": \"a\", \"sha256\": "
		"\"" HASH "\", \"scopes\": [\"read\"]}]}",
		"t.json: tokens[1].name: \"a\" is used twice");
}

static void a_token_is_long_and_random(void)
{
	char a[TOKEN_MAX], b[TOKEN_MAX];

	CHECK_INT(token_make(a, &err), 0);
	CHECK_INT(token_make(b, &err), 0);
	CHECK_INT(strlen(a), 47);
	CHECK(strncmp(a, "ebt_", 4) == 0);
	CHECK_INT(strspn(a + 4, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"), 43);
	CHECK(strcmp(a, b) != 0);
	/* 256 bits are 42 digits and four bits: the last digit has two zero bits behind them. */
	CHECK(strchr("AEIMQUYcgkosw048", a[46]) != NULL);
	CHECK(token_is_usable(a));
	CHECK(token_is_usable("0123456789abcdef"));
	CHECK(!token_is_usable("0123456789abcde"));
	CHECK(!token_is_usable("0123456789 abcdef"));
	CHECK(!token_is_usable("0123456789abcdef\n"));
	CHECK(!token_is_usable("0123456789abcdéf"));
}

static char *home;

static mode_t mode_of(const char *name)
{
	char path[512];
	struct stat st = { 0 };

	snprintf(path, sizeof(path), "%s/%s", home, name);
	return stat(path, &st) == 0 ? st.st_mode & 07777 : 0;
}

static void home_new(void)
{
	home = tree_new();
	setenv("EMBERBOX_HOME", home, 1);
	unsetenv("EMBERBOX_TOKEN");
}

static void the_first_is_made_once_and_kept(void)
{
	char a[TOKEN_MAX], b[TOKEN_MAX], sentence[1200];
	mode_t before = umask(0);

	home_new();
	CHECK_INT(token_stored(false, a, &err), 0);
	CHECK_STR(a, "");
	CHECK_INT(mode_of("token"), 0);
	CHECK_INT(token_first(a, &err), 0);
	CHECK_INT(mode_of("token"), 0600);
	CHECK_INT(token_first(b, &err), 0);
	CHECK_STR(b, a);
	setenv("EMBERBOX_TOKEN", "another-token-of-mine", 1);
	CHECK_INT(token_first(b, &err), 0);
	CHECK_STR(b, "another-token-of-mine");
	setenv("EMBERBOX_TOKEN", "short", 1);
	CHECK_INT(token_first(b, &err), -1);
	CHECK_STR(err.text, "EMBERBOX_TOKEN: it has to be 16 to 255 visible ASCII characters without blanks");
	CHECK_INT(err.kind, ERROR_USAGE);
	unsetenv("EMBERBOX_TOKEN");
	snprintf(sentence, sizeof(sentence), "%s/token", home);
	CHECK_INT(chmod(sentence, 0640), 0);
	CHECK_INT(token_first(b, &err), -1);
	snprintf(sentence, sizeof(sentence), "%s/token: others can read it (mode 0640); use: chmod 600 %s/token", home,
		 home);
	CHECK_STR(err.text, sentence);
	CHECK_INT(err.kind, ERROR_USAGE);
	umask(before);
	tree_free(home);
}

static void a_broken_file_is_not_a_token(void)
{
	const char *const contents[] = { "", "short\n", "two lines of\ntext in the file\n",
					 "a token with blanks in it\n" };
	char out[TOKEN_MAX], path[512], sentence[1200];

	home_new();
	snprintf(path, sizeof(path), "%s/token", home);
	snprintf(sentence, sizeof(sentence),
		 "%s: expected one line of 16 to 254 visible ASCII characters; remove it to create a new one", path);
	for (size_t i = 0; i < ARRAY_SIZE(contents); i++) {
		FILE *file = fopen(path, "w");

		fputs(contents[i], file);
		fclose(file);
		chmod(path, 0600);
		CHECK_INT(token_first(out, &err), -1);
		CHECK_STR(err.text, sentence);
	}
	CHECK_INT(unlink(path), 0);
	CHECK_INT(symlink("/etc/hostname", path), 0);
	CHECK_INT(token_first(out, &err), -1);
	snprintf(sentence, sizeof(sentence), "%s: cannot be read: Too many levels of symbolic links", path);
	CHECK_STR(err.text, sentence);
	CHECK_INT(unlink(path), 0);
	CHECK_INT(token_first(out, &err), 0);
	tree_free(home);
}

/* Of many that start at once all have the same token. */
static void those_who_start_together_agree(void)
{
	char out[TOKEN_MAX], first[TOKEN_MAX] = "";
	int ends[2];

	home_new();
	CHECK_INT(pipe(ends), 0);
	for (int i = 0; i < 8; i++) {
		if (fork() == 0) {
			alarm(60);
			if (token_first(out, &err) < 0)
				snprintf(out, sizeof(out), "%.200s", err.text);
			_exit(write(ends[1], out, sizeof(out)) != sizeof(out));
		}
	}
	for (int i = 0; i < 8; i++) {
		int status = 1;

		CHECK(wait(&status) > 0 && status == 0);
		CHECK_INT(read(ends[0], out, sizeof(out)), sizeof(out));
		if (i == 0)
			memcpy(first, out, sizeof(first));
		CHECK_STR(out, first);
	}
	CHECK(strncmp(first, "ebt_", 4) == 0);
	close(ends[0]);
	close(ends[1]);
	tree_free(home);
}

static void the_file_of_others_is_replaced_whole(void)
{
	char where[512], path[512], sentence[1200], *json = NULL;
	size_t size = 1;
	int lock;

	home_new();
	CHECK_INT(tokens_read(&json, &size, where, sizeof(where), &err), 0);
	CHECK_INT(size, 0);
	free(json);
	snprintf(path, sizeof(path), "%s/tokens.json", home);
	CHECK_STR(where, path);
	lock = tokens_lock(&err);
	CHECK(lock >= 0);
	CHECK_INT(tokens_write("one", 3, &err), 0);
	CHECK_INT(tokens_write("two!", 4, &err), 0);
	close(lock);
	CHECK_INT(mode_of("tokens.json"), 0600);
	CHECK_INT(tokens_read(&json, &size, where, sizeof(where), &err), 0);
	CHECK_STR(json, "two!");
	free(json);
	CHECK_INT(chmod(path, 0604), 0);
	CHECK_INT(tokens_read(&json, &size, where, sizeof(where), &err), -1);
	snprintf(sentence, sizeof(sentence), "%s: others can read it (mode 0604); use: chmod 600 %s", path, path);
	CHECK_STR(err.text, sentence);
	tree_free(home);
}

static void without_a_place_it_says_so(void)
{
	char out[TOKEN_MAX];

	setenv("EMBERBOX_HOME", "/proc/nowhere", 1);
	unsetenv("EMBERBOX_TOKEN");
	CHECK_INT(token_first(out, &err), -1);
	CHECK_STR(err.text,
		  "tokens cannot be stored in /proc/nowhere/: it has to belong to you, and nobody else may write to "
		  "it");
	CHECK_INT(err.kind, ERROR_FAILED);
}

int main(void)
{
	RUN(the_first_one_may_do_everything);
	RUN(others_are_known_by_their_hash);
	RUN(what_is_written_is_read_again);
	RUN(mistakes_are_named);
	RUN(a_token_is_long_and_random);
	RUN(the_first_is_made_once_and_kept);
	RUN(a_broken_file_is_not_a_token);
	RUN(those_who_start_together_agree);
	RUN(the_file_of_others_is_replaced_whole);
	RUN(without_a_place_it_says_so);
	arena_free(&arena);
	return check_failures != 0;
}
