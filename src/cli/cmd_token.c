/* emberbox token: manages the bearer tokens of the HTTP API. */
#include "base/buf.h"
#include "base/own.h"
#include "base/text.h"
#include "schema/spec.h"
#include "cli/cmd.h"
#include "cli/door.h"
#include "cli/options.h"
#include "cli/table.h"
#include "registry/tokens.h"

#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	OPT_SCOPE = 1,
	OPT_MAX_CONCURRENT,
	OPT_NET,
	OPT_JSON,
	OPT_HELP,
	OPT_LIMIT, /* plus enum limit_id */
};

static const struct option_spec specs[] = {
	{ OPT_SCOPE, 0, "scope", "SCOPE,...", "add: scopes: execute, read, metrics, admin, trusted (execute)" },
#define LIMIT(NAME, KEY, KIND, LEAST, MOST, DEFAULT, FLAGS, WORDS, EXPECTED, HELP, SESSION, TOKEN)                     \
	{ OPT_LIMIT + LIMIT_##NAME, 0, KEY, OPTION_VALUE_##KIND, "add: " TOKEN },
#include "schema/limits.def"
	{ OPT_MAX_CONCURRENT, 0, "max-concurrent", "N", "add: concurrent requests" },
	{ OPT_NET, 0, "net", "none|RULE,...", "add: bound of the destinations of its programs (every public host)" },
	{ OPT_JSON, 0, "json", NULL, "list: print JSON" },
	{ OPT_HELP, 'h', "help", NULL, "show this help" },
	{ 0 },
};

/* The parsed command line. */
struct token_asked {
	const char *words[2]; /* the verb and a name */
	size_t count;         /* number of them */
	struct token token;   /* the options */
	bool options;         /* options that only `add` has were used */
	bool json;            /* --json */
};

static int print_help(void)
{
	puts("Usage: emberbox token list [--json]\n"
	     "       emberbox token add NAME [options]\n"
	     "       emberbox token remove NAME\n"
	     "       emberbox token show\n"
	     "Manages bearer tokens of the HTTP API. `add` prints the new one once,\n"
	     "because only a hash is stored. `show` prints the first one, which the service\n"
	     "created at its first start, and the service's address.\n");
	option_print(stdout, specs);
	return cmd_flush(0);
}

static int token_failed(const struct error *err)
{
	cmd_complain("%s", err->text);
	return err->kind == ERROR_USAGE ? EXIT_USAGE : EXIT_BROKEN;
}

/* Returns 0, or an exit code. */
static int read_scopes(const char *value, struct token *token)
{
	for (const char *at = value;;) {
		size_t size = strcspn(at, ",");
		unsigned bit = token_scope_of(at, size);

		if (!bit)
			return cmd_usage("token",
					 "--scope: \"%.*s\" is not one of execute, read, metrics, admin, trusted",
					 size > 64 ? 64 : (int)size, at);
		token->scopes |= bit;
		if (at[size] == '\0')
			return 0;
		at += size + 1;
	}
}

static int read_limit(enum limit_id id, const char *value, struct token *token)
{
	struct limits checks = { 0 };
	struct error err = { 0 };

	if (limit_set(&checks, id, value, &err) < 0)
		return cmd_usage("token", "--%s", err.text);
	token->limits.of[id] = value;
	return 0;
}

static int read_net(const char *value, struct token *token)
{
	_cleanup_arena_ struct arena arena = { 0 };
	struct net_list list;
	struct error err = { 0 };

	if (net_list_parse(value, &arena, &list, &err) < 0)
		return cmd_usage("token", "--net: %s", error_detail(&err));
	token->net = value;
	return 0;
}

static int read_option(int option, const char *value, struct token_asked *asked)
{
	uint64_t count;

	asked->options |= option != OPT_JSON;
	if (option == OPT_JSON) {
		asked->json = true;
		return 0;
	}
	if (option == OPT_SCOPE)
		return read_scopes(value, &asked->token);
	if (option == OPT_NET)
		return read_net(value, &asked->token);
	if (option >= OPT_LIMIT)
		return read_limit((enum limit_id)(option - OPT_LIMIT), value, &asked->token);
	if (!text_count(value, &count) || count < 1 || count > TOKEN_CONCURRENT_MAX)
		return cmd_usage("token", "--max-concurrent: \"%.64s\" is not a number from 1 to %d", value,
				 TOKEN_CONCURRENT_MAX);
	asked->token.max_concurrent = (unsigned)count;
	return 0;
}

/* Reads the file's tokens, without the first one. */
static int tokens_load(struct arena *arena, struct tokens *tokens, struct error *err)
{
	_cleanup_free_ char *json = NULL;
	char where[PATH_MAX];
	size_t size;

	if (tokens_read(&json, &size, where, sizeof(where), err) < 0)
		return -1;
	return tokens_parse(where, json, size, NULL, arena, tokens, err);
}

static int tokens_save(const struct tokens *tokens, struct error *err)
{
	_cleanup_free_ char *json = NULL;
	size_t size;

	return tokens_format(tokens, &json, &size, err) < 0 ? -1 : tokens_write(json, size, err);
}

static const struct token *token_position(const struct tokens *tokens, const char *name)
{
	for (size_t i = 0; i < tokens->count; i++)
		if (strcmp(tokens->tokens[i].name, name) == 0)
			return &tokens->tokens[i];
	return NULL;
}

static int token_add(struct token_asked *asked)
{
	_cleanup_arena_ struct arena arena = { 0 };
	_cleanup_close_ int lock = -1;
	struct token *token = &asked->token, *all;
	struct tokens tokens;
	struct error err = { 0 };
	char text[TOKEN_MAX];

	token->name = asked->words[1];
	token->scopes = token->scopes ? token->scopes : SCOPE_EXECUTE;
	if (!token_name_ok(token->name))
		return cmd_usage("token",
				 "\"%.64s\" cannot be a name: use at most %d of a-z, 0-9, \"_\", \".\" and \"-\"",
				 token->name, TOKEN_NAME_MAX);
	lock = tokens_lock(&err);
	if (lock < 0 || tokens_load(&arena, &tokens, &err) < 0)
		return token_failed(&err);
	if (strcmp(token->name, "default") == 0)
		return cmd_usage("token",
				 "\"default\" is the first token, which the service creates; choose another name");
	if (token_position(&tokens, token->name))
		return cmd_usage("token", "there is a token \"%s\" already; remove it first", token->name);
	if (tokens.count >= TOKENS_MAX)
		return cmd_usage("token", "there are %d tokens already; remove some first", TOKENS_MAX);
	all = arena_alloc(&arena, (tokens.count + 1) * sizeof(*all));
	if (!all || token_make(text, &err) < 0) {
		cmd_complain("%s", all ? err.text : "no memory");
		return EXIT_BROKEN;
	}
	memcpy(all, tokens.tokens, tokens.count * sizeof(*all));
	token_hash(text, strlen(text), token->hash);
	all[tokens.count] = *token;
	if (tokens_save(&(struct tokens){ all, tokens.count + 1 }, &err) < 0)
		return token_failed(&err);
	puts(text);
	return cmd_flush(0);
}

static int take_away(const char *name)
{
	_cleanup_arena_ struct arena arena = { 0 };
	_cleanup_close_ int lock = -1;
	const struct token *gone;
	struct tokens tokens;
	struct token *all;
	struct error err = { 0 };
	size_t kept = 0;

	if (strcmp(name, "default") == 0)
		return cmd_usage(
			"token",
			"the first token cannot be removed; delete the file \"token\" in the state directory, and "
			"a new one is created");
	lock = tokens_lock(&err);
	if (lock < 0 || tokens_load(&arena, &tokens, &err) < 0)
		return token_failed(&err);
	gone = token_position(&tokens, name);
	if (!gone)
		return cmd_usage("token", "there is no token \"%.64s\"; `emberbox token list` names them", name);
	all = arena_alloc(&arena, tokens.count * sizeof(*all));
	if (!all) {
		cmd_complain("no memory");
		return EXIT_BROKEN;
	}
	for (size_t i = 0; i < tokens.count; i++)
		if (&tokens.tokens[i] != gone)
			all[kept++] = tokens.tokens[i];
	return tokens_save(&(struct tokens){ all, kept }, &err) < 0 ? token_failed(&err) : 0;
}

static void list_text(struct table *table, struct token *token)
{
	_cleanup_buf_ struct buf limits = { 0 };
	char scopes[TOKEN_SCOPES_MAX];

	for (size_t i = 0; i < LIMITS; i++)
		if (token->limits.of[i])
			buf_printf(&limits, "%s%s=%s", limits.size > 0 ? " " : "", limit_rows[i].name,
				   token->limits.of[i]);
	if (token->max_concurrent)
		buf_printf(&limits, "%smax_concurrent=%u", limits.size > 0 ? " " : "", token->max_concurrent);
	table_add(table, PAINT_NONE, token->name);
	table_add(table, PAINT_NONE, token_scopes_text(token->scopes, scopes));
	table_add(table, PAINT_NONE, limits.data);
	table->failed |= limits.failed;
}

static json_t *list_json(struct token *token)
{
	json_t *limits = json_object(), *scopes = json_array();
	char words[TOKEN_SCOPES_MAX], *word, *rest = words;

	token_scopes_text(token->scopes, words);
	while ((word = strsep(&rest, ",")))
		json_array_append_new(scopes, json_string(word));
	for (size_t i = 0; i < LIMITS; i++)
		if (token->limits.of[i])
			json_object_set_new(limits, limit_rows[i].name, json_string(token->limits.of[i]));
	return json_pack("{ss so so so}", "name", token->name, "scopes", scopes, "max_concurrent",
			 token->max_concurrent ? json_integer(token->max_concurrent) : json_null(), "limits", limits,
			 "net", token->net ? json_string(token->net) : json_null());
}

static int tokens_list(bool json)
{
	_cleanup_arena_ struct arena arena = { 0 };
	_cleanup_table_ struct table table = { 0 };
	_cleanup_buf_ struct buf out = { 0 };
	struct token first = { .name = "default", .scopes = SCOPE_ALL };
	json_t *all = json ? json_array() : NULL;
	struct error err = { 0 };
	struct tokens tokens;
	char *dump = NULL;

	if (tokens_load(&arena, &tokens, &err) < 0) {
		json_decref(all);
		return token_failed(&err);
	}
	table_begin(&table, "NAME|SCOPES|LIMITS");
	for (size_t i = 0; i <= tokens.count; i++) {
		struct token token = i == 0 ? first : tokens.tokens[i - 1];

		if (json)
			json_array_append_new(all, list_json(&token));
		else
			list_text(&table, &token);
	}
	if (!json)
		table_print(&table, terminal_width(), terminal_colour(), &out);
	if (json) {
		json_t *root = json_pack("{so}", "tokens", all);

		dump = json_dumps(root, JSON_INDENT(2));
		buf_printf(&out, "%s\n", dump ? dump : "");
		free(dump);
		json_decref(root);
	}
	if (out.failed) {
		cmd_complain("no memory");
		return EXIT_BROKEN;
	}
	return cmd_print_painted(out.data ? out.data : "", 0);
}

/* The token alone on the first line, for scripts; then the address. */
static int token_show(void)
{
	struct service_door door;
	int code = door_find(&door);

	if (code != 0)
		return code;
	puts(door.token);
	if (door.running)
		puts(*door.address ? door.address
				   : "(the service runs without HTTP over TCP; see: emberbox serve --help)");
	else if (*door.address)
		printf("%s (not running)\n", door.address);
	return cmd_flush(0);
}

static int verb_run(struct token_asked *asked)
{
	static const struct {
		const char *name; /* name of the verb */
		size_t words;     /* words, including the verb */
	} verbs[] = { { "list", 1 }, { "add", 2 }, { "remove", 2 }, { "show", 1 } };
	const char *verb = asked->words[0];
	size_t i = 0;

	if (!verb)
		return cmd_usage("token", "the action is missing: list, add NAME, remove NAME or show");
	while (i < ARRAY_SIZE(verbs) && strcmp(verbs[i].name, verb) != 0)
		i++;
	if (i == ARRAY_SIZE(verbs))
		return cmd_usage("token", "\"%.64s\" is not one of list, add, remove, show", verb);
	if (asked->count != verbs[i].words)
		return cmd_usage("token",
				 asked->count < 2 ? "%s: the token's name is missing" : "%s takes no more words", verb);
	if (asked->options && i != 1)
		return cmd_usage("token", "%s takes no limits and scopes; `emberbox token add` does", verb);
	if (asked->json && i != 0)
		return cmd_usage("token", "%s has no --json; `emberbox token list` does", verb);
	return i == 0   ? tokens_list(asked->json)
	       : i == 1 ? token_add(asked)
	       : i == 2 ? take_away(asked->words[1])
			: token_show();
}

int cmd_token(int argc, char **argv)
{
	struct option_reader reader = { .specs = specs, .argc = argc, .argv = argv, .next = 1 };
	struct token_asked asked = { 0 };
	int option, code = 0;

	while (code == 0 && (option = option_next(&reader)) != OPTION_END) {
		if (option == OPT_HELP)
			return print_help();
		if (option == OPTION_BAD)
			code = cmd_usage("token", "%s", reader.message);
		else if (option != OPTION_WORD)
			code = read_option(option, reader.value, &asked);
		else if (asked.count < ARRAY_SIZE(asked.words))
			asked.words[asked.count++] = reader.value;
		else
			code = cmd_usage("token", "unexpected argument \"%s\"", reader.value);
	}
	return code == 0 ? verb_run(&asked) : code;
}
