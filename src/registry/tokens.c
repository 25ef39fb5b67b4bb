#include "registry/tokens.h"

#include "base/buf.h"
#include "base/own.h"
#include "net/net_policy.h"

#include <errno.h>
#include <jansson.h>
#include <sha2.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct {
	const char *name;     /* name in the file */
	enum token_scope bit; /* value in the struct */
} scopes[] = {
	{ "execute", SCOPE_EXECUTE }, { "read", SCOPE_READ },       { "metrics", SCOPE_METRICS },
	{ "admin", SCOPE_ADMIN },     { "trusted", SCOPE_TRUSTED },
};

/* The state of parsing tokens.json. */
struct tokens_reading {
	const char *where;   /* the file's name */
	struct arena *arena; /* owns the result */
	size_t index;        /* index of the token */
	struct error *err;   /* the first mistake */
};

/* Replaces control characters of the file's content in the error. */
static int error_plain(struct error *err)
{
	for (char *c = err ? err->text : NULL; c && *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';
	return -1;
}

/* Sets "FILE: tokens[2].name: SENTENCE", without any hash. */
EB_PRINTF(3, 4) static int fault(const struct tokens_reading *r, const char *field, const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	error_usage(r->err, "%s: tokens[%zu]%s%s: %s", r->where, r->index, *field ? "." : "", field, text);
	return error_plain(r->err);
}

static int no_memory(struct error *err)
{
	return error_set(err, ERROR_FAILED, ENOMEM, "cannot hold the tokens");
}

void token_hash(const void *text, size_t size, unsigned char hash[TOKEN_HASH])
{
	SHA2_CTX context;

	SHA256Init(&context);
	SHA256Update(&context, text, size);
	SHA256Final(hash, &context);
}

void token_hex(const unsigned char *bytes, size_t size, char *out)
{
	for (size_t i = 0; i < size; i++)
		snprintf(out + 2 * i, 3, "%02x", bytes[i]);
	out[2 * size] = '\0';
}

static int hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool token_unhex(const char *text, size_t length, unsigned char *out, size_t size)
{
	if (length != 2 * size)
		return false;
	for (size_t i = 0; i < size; i++) {
		int high = hex_digit(text[2 * i]), low = hex_digit(text[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		out[i] = (unsigned char)(high << 4 | low);
	}
	return true;
}

bool token_name_ok(const char *name)
{
	size_t length = strlen(name);

	return length >= 1 && length <= TOKEN_NAME_MAX &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_.-") == length;
}

unsigned token_scope_of(const char *word, size_t size)
{
	for (size_t i = 0; i < ARRAY_SIZE(scopes); i++)
		if (strlen(scopes[i].name) == size && memcmp(scopes[i].name, word, size) == 0)
			return scopes[i].bit;
	return 0;
}

const char *token_scopes_text(unsigned bits, char *out)
{
	size_t used = 0;

	*out = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(scopes); i++)
		if (bits & scopes[i].bit)
			used += (size_t)snprintf(out + used, TOKEN_SCOPES_MAX - used, "%s%s", used ? "," : "",
						 scopes[i].name);
	return out;
}

bool token_is_usable(const char *text)
{
	size_t length = strlen(text);

	if (length < TOKEN_MIN || length >= TOKEN_MAX)
		return false;
	for (size_t i = 0; i < length; i++)
		if (text[i] <= ' ' || text[i] > '~')
			return false;
	return true;
}

/* A required string; NULL after an error was set. */
static const char *text_member(const struct tokens_reading *r, const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));

	if (!text)
		fault(r, name, "expected a string");
	return text;
}

static int read_name(const struct tokens_reading *r, const json_t *object, const struct tokens *before,
		     struct token *out)
{
	const char *name = text_member(r, object, "name");

	if (!name)
		return -1;
	if (!token_name_ok(name))
		return fault(r, "name", "expected at most %d of a-z, 0-9, \"_\", \".\" and \"-\", not \"%.64s\"",
			     TOKEN_NAME_MAX, name);
	if (strcmp(name, "default") == 0)
		return fault(r, "name", "\"default\" is the first token, in the file \"token\" beside this one");
	for (size_t i = 0; i < before->count; i++)
		if (strcmp(before->tokens[i].name, name) == 0)
			return fault(r, "name", "\"%s\" is used twice", name);
	out->name = arena_string(r->arena, name);
	return out->name ? 0 : no_memory(r->err);
}

static int read_hash(const struct tokens_reading *r, const json_t *object, struct token *out)
{
	const char *text = text_member(r, object, "sha256");

	if (!text)
		return -1;
	if (!token_unhex(text, strlen(text), out->hash, sizeof(out->hash)))
		return fault(r, "sha256", "expected 64 small hexadecimal digits");
	return 0;
}

static int read_scopes(const struct tokens_reading *r, const json_t *object, struct token *out)
{
	const json_t *list = json_object_get(object, "scopes"), *item;
	size_t i;

	if (!json_is_array(list) || json_array_size(list) == 0)
		return fault(r, "scopes", "expected a list of execute, read, metrics, admin, trusted");
	json_array_foreach(list, i, item)
	{
		const char *word = json_string_value(item);
		unsigned bit = word ? token_scope_of(word, strlen(word)) : 0;

		if (!bit)
			return fault(r, "scopes", "expected execute, read, metrics, admin or trusted, not %s%.32s%s",
				     word ? "\"" : "", word ? word : "something else", word ? "\"" : "");
		out->scopes |= bit;
	}
	return 0;
}

static int read_concurrent(const struct tokens_reading *r, const json_t *object, struct token *out)
{
	const json_t *value = json_object_get(object, "max_concurrent");
	json_int_t number = json_integer_value(value);

	if (!value)
		return 0;
	if (!json_is_integer(value) || number < 1 || number > TOKEN_CONCURRENT_MAX)
		return fault(r, "max_concurrent", "expected a whole number from 1 to %d", TOKEN_CONCURRENT_MAX);
	out->max_concurrent = (unsigned)number;
	return 0;
}

static int read_limit(const struct tokens_reading *r, const char *name, const json_t *value, struct token *out)
{
	const struct limit_row *row = limit_by_name(name);
	const char *text = json_string_value(value);
	const enum limit_id id = row ? (enum limit_id)(row - limit_rows) : 0;
	struct limits checks = { 0 };
	struct error why = { 0 };
	char place[64], names[128];

	snprintf(place, sizeof(place), "limits.%.40s", name);
	if (!row)
		return fault(r, place, "there is no such limit; expected %s", limit_names_text(names, sizeof(names)));
	if (!text)
		return fault(r, place, "expected a string such as \"256m\" or \"10\"");
	if (limit_set(&checks, id, text, &why) < 0)
		return fault(r, place, "%s", error_detail(&why));
	out->limits.of[id] = arena_string(r->arena, text);
	return out->limits.of[id] ? 0 : no_memory(r->err);
}

static int read_limits(const struct tokens_reading *r, json_t *object, struct token *out)
{
	json_t *all = json_object_get(object, "limits"), *value;
	const char *name;

	if (!all)
		return 0;
	if (!json_is_object(all))
		return fault(r, "limits", "expected an object");
	json_object_foreach(all, name, value) if (read_limit(r, name, value, out) < 0) return -1;
	return 0;
}

static int read_net(const struct tokens_reading *r, json_t *object, struct token *out)
{
	json_t *value = json_object_get(object, "net");
	_cleanup_arena_ struct arena arena = { 0 };
	struct net_list list;
	struct error why = { 0 };

	if (!value)
		return 0;
	if (!json_is_string(value))
		return fault(r, "net", "expected a string such as \"none\" or \"api.example.com:443\"");
	if (net_list_parse(json_string_value(value), &arena, &list, &why) < 0)
		return fault(r, "net", "%s", error_detail(&why));
	out->net = arena_string(r->arena, json_string_value(value));
	return out->net ? 0 : no_memory(r->err);
}

static int read_token(const struct tokens_reading *r, json_t *object, const struct tokens *before, struct token *out)
{
	static const char *const known[] = { "name", "sha256", "scopes", "max_concurrent", "limits", "net" };
	json_t *value;
	const char *key;

	if (!json_is_object(object))
		return fault(r, "", "expected an object");
	json_object_foreach(object, key, value)
	{
		size_t i = 0;

		while (i < ARRAY_SIZE(known) && strcmp(known[i], key) != 0)
			i++;
		if (i == ARRAY_SIZE(known))
			return fault(
				r, "",
				"unknown key \"%.64s\"; expected name, sha256, scopes, max_concurrent, limits or net",
				key);
	}
	if (read_name(r, object, before, out) < 0 || read_hash(r, object, out) < 0 || read_scopes(r, object, out) < 0 ||
	    read_concurrent(r, object, out) < 0 || read_net(r, object, out) < 0)
		return -1;
	return read_limits(r, object, out);
}

/* The list in the file; NULL after an error was set. The caller releases *root. */
static const json_t *load_list(const char *where, const char *json, size_t size, json_t **root, struct error *err)
{
	json_error_t why;
	const json_t *list;

	if (size > TOKENS_SIZE_MAX) {
		error_usage(err, "%s: it is larger than 256 KiB", where);
		return NULL;
	}
	*root = json_loadb(json, size, JSON_REJECT_DUPLICATES, &why);
	if (!*root) {
		error_usage(err, "%s:%d:%d: it is not JSON: %s", where, why.line, why.column, why.text);
		error_plain(err);
		return NULL;
	}
	list = json_object_get(*root, "tokens");
	if (!json_is_array(list) || json_object_size(*root) != 1) {
		error_usage(err, "%s: expected {\"tokens\": [...]} and nothing else", where);
		return NULL;
	}
	if (json_array_size(list) > TOKENS_MAX) {
		error_usage(err, "%s: there are more than %d tokens", where, TOKENS_MAX);
		return NULL;
	}
	return list;
}

static int read_list(const char *where, const json_t *list, struct arena *arena, struct token *all, struct tokens *out,
		     struct error *err)
{
	struct tokens_reading r = { .where = where, .arena = arena, .err = err };

	for (; r.index < json_array_size(list); r.index++) {
		if (read_token(&r, json_array_get(list, r.index), out, &all[out->count]) < 0)
			return -1;
		out->count++;
	}
	return 0;
}

int tokens_parse_hashed(const char *where, const char *json, size_t size, const unsigned char *first,
			struct arena *arena, struct tokens *out, struct error *err)
{
	json_t *root = NULL;
	const json_t *list = NULL;
	struct token *all;
	int done = 0;

	*out = (struct tokens){ 0 };
	if (size > 0) {
		list = load_list(where, json, size, &root, err);
		done = list ? 0 : -1;
	}
	all = done == 0 ? arena_alloc(arena, (json_array_size(list) + 1) * sizeof(*all)) : NULL;
	if (done == 0 && !all)
		done = no_memory(err);
	if (done == 0 && first) {
		all[0] = (struct token){ .name = "default", .scopes = SCOPE_ALL };
		memcpy(all[0].hash, first, TOKEN_HASH);
		out->count = 1;
	}
	out->tokens = all;
	if (done == 0 && list)
		done = read_list(where, list, arena, all, out, err);
	json_decref(root);
	if (done < 0)
		*out = (struct tokens){ 0 };
	return done;
}

int tokens_parse(const char *where, const char *json, size_t size, const char *first, struct arena *arena,
		 struct tokens *out, struct error *err)
{
	unsigned char hash[TOKEN_HASH];

	if (first)
		token_hash(first, strlen(first), hash);
	return tokens_parse_hashed(where, json, size, first ? hash : NULL, arena, out, err);
}

static json_t *token_json(const struct token *token)
{
	char hash[2 * TOKEN_HASH + 1];
	json_t *list = json_array(), *bounds = json_object(), *object;

	token_hex(token->hash, TOKEN_HASH, hash);
	for (size_t i = 0; i < ARRAY_SIZE(scopes); i++)
		if (token->scopes & scopes[i].bit)
			json_array_append_new(list, json_string(scopes[i].name));
	for (size_t i = 0; i < LIMITS; i++)
		if (token->limits.of[i])
			json_object_set_new(bounds, limit_rows[i].name, json_string(token->limits.of[i]));
	object = json_pack("{ss ss so}", "name", token->name, "sha256", hash, "scopes", list);
	if (token->max_concurrent > 0)
		json_object_set_new(object, "max_concurrent", json_integer(token->max_concurrent));
	if (json_object_size(bounds) > 0)
		json_object_set(object, "limits", bounds);
	if (token->net)
		json_object_set_new(object, "net", json_string(token->net));
	json_decref(bounds);
	return object;
}

int tokens_format(const struct tokens *tokens, char **json, size_t *size, struct error *err)
{
	json_t *list = json_array(), *root = json_pack("{so}", "tokens", list);
	_cleanup_buf_ struct buf text = { 0 };
	char *dump;

	for (size_t i = 0; i < tokens->count; i++)
		if (strcmp(tokens->tokens[i].name, "default") != 0)
			json_array_append_new(list, token_json(&tokens->tokens[i]));
	dump = json_dumps(root, JSON_INDENT(2));
	json_decref(root);
	if (dump)
		buf_printf(&text, "%s\n", dump);
	free(dump);
	*size = text.size;
	*json = dump && !text.failed ? buf_take(&text) : NULL;
	return *json ? 0 : no_memory(err);
}

/* 1 if the hashes are equal, in constant time. */
static unsigned same_hash(const unsigned char *a, const unsigned char *b)
{
	volatile unsigned difference = 0;

	for (size_t i = 0; i < TOKEN_HASH; i++)
		difference |= a[i] ^ (unsigned)b[i];
	return (difference - 1) >> 31;
}

const struct token *tokens_find(const struct tokens *tokens, const char *text, size_t size)
{
	unsigned char hash[TOKEN_HASH];
	size_t found = 0;

	token_hash(text, size, hash);
	/* Compares with all tokens: an early exit would reveal which one matched. */
	for (size_t i = 0; i < tokens->count; i++)
		found |= (0 - (size_t)same_hash(hash, tokens->tokens[i].hash)) & (i + 1);
	return found > 0 ? &tokens->tokens[found - 1] : NULL;
}
