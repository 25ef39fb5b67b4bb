#include "cli/mcp_config.h"

#include "base/buf.h"
#include "base/own.h"
#include "cli/cmd.h"
#include "cli/door.h"
#include "registry/config.h"
#include "term/cells.h"

#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A client, and the format of its configuration. */
struct client {
	const char *name;   /* name for --client */
	const char *people; /* display name, and its file */
	const char *list;   /* JSON: the member with the servers; NULL: not JSON */
	const char *kind;   /* JSON: "type" of a program; NULL: none */
	const char *url;    /* JSON: the member with the URL; NULL: not supported */
	bool http_kind;     /* JSON: a URL needs "type": "http" */
	/* not JSON: print an entry with the program, or with the URL */
	void (*program)(struct buf *out, json_t *server);
	void (*address)(struct buf *out, json_t *server);
};

/* Variables that emberbox needs: assistants pass on little of their environment. */
static const char *const kept[] = { "EMBERBOX_HOME", "EMBERBOX_SOCKET" };

/*
 * Quotes a word for a shell. Control characters become escapes ($'\177', supported by Bash, Zsh and POSIX 2024),
 * because the terminal filter would change them.
 */
static void add_word(struct buf *out, const char *word)
{
	buf_text(out, " '");
	for (; *word; word++)
		if (*word == '\'')
			buf_text(out, "'\\''");
		else if (text_is_control((unsigned char)*word) && *word != '\t' && (unsigned char)*word < 0x80)
			buf_printf(out, "'$'\\%03o''", (unsigned char)*word);
		else
			buf_add(out, word, 1);
	buf_text(out, "'");
}

/* --env takes all words up to the next option, so it comes before --transport. */
static void claude_code_program(struct buf *out, json_t *server)
{
	const char *key;
	json_t *value;
	size_t i;

	buf_text(out, "claude mcp add");
	json_object_foreach(json_object_get(server, "env"), key, value)
	{
		_cleanup_buf_ struct buf pair = { 0 };

		buf_printf(&pair, "%s=%s", key, json_string_value(value));
		buf_text(out, " --env");
		add_word(out, pair.data ? pair.data : "");
		out->failed |= pair.failed;
	}
	buf_text(out, " --transport stdio emberbox --");
	add_word(out, json_string_value(json_object_get(server, "command")));
	json_array_foreach(json_object_get(server, "args"), i, value) add_word(out, json_string_value(value));
	buf_text(out, "\n");
}

static void claude_code_address(struct buf *out, json_t *server)
{
	_cleanup_buf_ struct buf header = { 0 };

	buf_printf(&header, "Authorization: %s",
		   json_string_value(json_object_get(json_object_get(server, "headers"), "Authorization")));
	buf_text(out, "claude mcp add --transport http emberbox");
	add_word(out, json_string_value(json_object_get(server, "url")));
	buf_text(out, " --header");
	add_word(out, header.data ? header.data : "");
	buf_text(out, "\n");
	out->failed |= header.failed;
}

/* TOML's basic strings are like JSON's, except \/, which jansson does not write, and DEL, which must be escaped. */
static void add_toml(struct buf *out, json_t *value)
{
	_cleanup_free_ char *text = json_dumps(value, JSON_ENCODE_ANY);

	out->failed |= !text;
	for (const char *at = text ? text : ""; *at; at++)
		if (*at == '\177')
			buf_text(out, "\\u007F");
		else
			buf_add(out, at, 1);
}

static void add_toml_table(struct buf *out, const char *name, json_t *table)
{
	const char *key, *between = "";
	json_t *value;

	if (json_object_size(table) == 0)
		return;
	buf_printf(out, "%s = { ", name);
	json_object_foreach(table, key, value)
	{
		buf_printf(out, "%s%s = ", between, key);
		add_toml(out, value);
		between = ", ";
	}
	buf_text(out, " }\n");
}

static void codex_program(struct buf *out, json_t *server)
{
	buf_text(out, "[mcp_servers.emberbox]\ncommand = ");
	add_toml(out, json_object_get(server, "command"));
	buf_text(out, "\nargs = ");
	add_toml(out, json_object_get(server, "args"));
	buf_text(out, "\n");
	add_toml_table(out, "env", json_object_get(server, "env"));
}

static void codex_address(struct buf *out, json_t *server)
{
	buf_text(out, "[mcp_servers.emberbox]\nurl = ");
	add_toml(out, json_object_get(server, "url"));
	buf_text(out, "\n");
	add_toml_table(out, "http_headers", json_object_get(server, "headers"));
}

static const struct client clients[] = {
	{ "json", "most clients: their mcpServers", "mcpServers", NULL, "url", true, NULL, NULL },
	{ "claude-code", "Claude Code: run this in a shell", NULL, NULL, "url", false, claude_code_program,
	  claude_code_address },
	{ "claude-desktop", "Claude Desktop: claude_desktop_config.json", "mcpServers", NULL, NULL, false, NULL, NULL },
	{ "codex", "Codex: ~/.codex/config.toml", NULL, NULL, "url", false, codex_program, codex_address },
	{ "cursor", "Cursor: ~/.cursor/mcp.json, or .cursor/mcp.json of a project", "mcpServers", NULL, "url", false,
	  NULL, NULL },
	{ "gemini", "Gemini CLI: ~/.gemini/settings.json", "mcpServers", NULL, "httpUrl", false, NULL, NULL },
	{ "vscode", "VS Code: .vscode/mcp.json of a project, or the user's mcp.json", "servers", "stdio", "url", true,
	  NULL, NULL },
	{ "windsurf", "Windsurf: ~/.codeium/windsurf/mcp_config.json", "mcpServers", NULL, "serverUrl", false, NULL,
	  NULL },
	{ "zed", "Zed: its settings.json", "context_servers", NULL, "url", false, NULL, NULL },
};

/* The program by its path: the client may have another PATH. */
static json_t *describe_program(const struct client *client, const char *socket)
{
	char self[PATH_MAX] = "";
	json_t *server, *env = json_object();

	if (readlink("/proc/self/exe", self, sizeof(self) - 1) <= 0)
		snprintf(self, sizeof(self), "emberbox");
	server = json_pack("{s:s*, s:s, s:[s]}", "type", client->kind, "command", self, "args", "mcp");
	if (socket) {
		json_array_append_new(json_object_get(server, "args"), json_string("--socket"));
		json_array_append_new(json_object_get(server, "args"), json_string(socket));
	}
	for (size_t i = 0; i < ARRAY_SIZE(kept); i++) {
		const char *value = getenv(kept[i]);

		if (value && *value)
			json_object_set_new(env, kept[i], json_string(value));
	}
	if (json_object_size(env) > 0)
		json_object_set(server, "env", env);
	json_decref(env);
	return server;
}

/* Returns 0, or an exit code after an error message. */
static int describe_address(const struct client *client, json_t **out)
{
	_cleanup_buf_ struct buf url = { 0 }, bearer = { 0 };
	struct service_door door;
	int code;

	if (!client->url)
		return cmd_usage("mcp", "--http: %s has no place for an address; leave --http out", client->name);
	code = door_find(&door);
	if (code != 0)
		return code;
	if (!*door.address) {
		cmd_complain("the service has no HTTP over TCP; give it an address: emberbox serve --listen HOST:PORT");
		return EXIT_BROKEN;
	}
	buf_printf(&url, "%s/mcp", door.address);
	buf_printf(&bearer, "Bearer %s", door.token);
	if (url.failed || bearer.failed)
		return 0;
	*out = json_pack("{s:s*, s:s, s:{s:s}}", "type", client->http_kind ? "http" : NULL, client->url, url.data,
			 "headers", "Authorization", bearer.data);
	return 0;
}

static void print_json(struct buf *out, const char *list, json_t *server)
{
	json_t *root = json_pack("{s:{s:O}}", list, "emberbox", server);
	_cleanup_free_ char *text = root ? json_dumps(root, JSON_INDENT(2)) : NULL;

	json_decref(root);
	out->failed |= !text;
	buf_printf(out, "%s\n", text ? text : "");
}

static const struct client *find_client(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(clients); i++)
		if (strcmp(clients[i].name, name) == 0)
			return &clients[i];
	return NULL;
}

static int refuse_client(const char *name)
{
	_cleanup_buf_ struct buf names = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(clients); i++)
		buf_printf(&names, "%s%s", i > 0 ? ", " : "", clients[i].name);
	return cmd_usage("mcp", "--client: \"%.64s\" is not one of %s", name, names.data ? names.data : "them");
}

int mcp_config_print(const struct mcp_config *config)
{
	const struct client *client = find_client(config->client ? config->client : "json");
	_cleanup_config_ struct config settings = { 0 };
	_cleanup_buf_ struct buf out = { 0 };
	struct error registry, err = { 0 };
	json_t *server = NULL;
	int code = 0;

	if (!client)
		return refuse_client(config->client);
	/* Errors that the client would get at the start are reported here. */
	if (config_load_without(&settings, &registry, &err) < 0)
		return cmd_misconfigured(err.text);
	if (config->http)
		code = describe_address(client, &server);
	else
		server = describe_program(client, config->socket);
	if (code != 0)
		return code;
	if (server && client->list)
		print_json(&out, client->list, server);
	else if (server)
		(config->http ? client->address : client->program)(&out, server);
	if (!server || out.failed) {
		json_decref(server);
		cmd_complain("it cannot be written: a path is not UTF-8, or there is no memory");
		return EXIT_BROKEN;
	}
	json_decref(server);
	code = cmd_print(out.data, 0);
	if (code == 0)
		fprintf(stderr, "for %s%s\n", client->people,
			config->http ? "; it contains a token: keep it private" : "");
	return code;
}
