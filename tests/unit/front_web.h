/* HTTP on the kit of the front: a client that reads what it is sent byte by byte, and a store. */
#pragma once

#include "front_kit.h"

#include "registry/config.h"

#include <sys/mman.h>

enum {
	HEAD_ROOM = 4096, /* bytes of an answer's head */
	TOKENS = 3        /* that web_config() knows */
};

static char web_head[HEAD_ROOM]; /* of the last answer */
static char web_event[1024];     /* the last that the front had for the audit log */

static inline int web_join(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	patience(fd);
	CHECK_INT(connect(fd, (struct sockaddr *)&port, sizeof(port)), 0);
	return fd;
}

static inline void put_bytes(int fd, const char *data, size_t size)
{
	for (size_t at = 0; at < size;) {
		ssize_t n = send(fd, data + at, size - at, MSG_NOSIGNAL);

		CHECK(n > 0);
		if (n <= 0)
			break;
		at += (size_t)n;
	}
}

__attribute__((format(printf, 2, 3))) static inline void put(int fd, const char *format, ...)
{
	char *text = NULL;
	va_list args;
	int size;

	va_start(args, format);
	size = vasprintf(&text, format, args);
	va_end(args);
	CHECK(size >= 0);
	put_bytes(fd, text, size > 0 ? (size_t)size : 0);
	free(text);
}

/* A request with lines of headers, each with its end, and a body or NULL. */
static inline void put_request(int fd, const char *line, const char *headers, const char *body)
{
	if (body)
		put(fd, "%s HTTP/1.1\r\nHost: localhost\r\n%sContent-Length: %zu\r\n\r\n%s", line, headers,
		    strlen(body), body);
	else
		put(fd, "%s HTTP/1.1\r\nHost: localhost\r\n%s\r\n", line, headers);
}

static inline void put_execute(int fd, const char *headers, const char *json)
{
	put_request(fd, "POST /v1/execute", headers, json);
}

/* The next line with its end, cut to the room; false at the end. */
static inline bool hear_line(int fd, char *line, size_t room)
{
	size_t size = 0;
	char byte;

	while (fd_read(fd, &byte, 1) == 1) {
		if (size < room - 1)
			line[size++] = byte;
		line[size] = '\0';
		if (byte == '\n')
			return true;
	}
	return false;
}

/* The head of an answer into web_head; its status, 0 without one. */
static inline int hear_head(int fd)
{
	size_t size = 0;
	int status = 0;

	web_head[0] = '\0';
	while (size < HEAD_ROOM - 1 && hear_line(fd, web_head + size, HEAD_ROOM - size)) {
		size += strlen(web_head + size);
		if (size >= 4 && strcmp(web_head + size - 4, "\r\n\r\n") == 0)
			return sscanf(web_head, "HTTP/1.1 %3d ", &status) == 1 ? status : 0;
	}
	return 0;
}

/* Whether the last answer had that line. */
static inline bool web_says(const char *line)
{
	char whole[256];

	snprintf(whole, sizeof(whole), "\r\n%s\r\n", line);
	return strstr(web_head, whole) != NULL;
}

/* The whole answer; its body, which the caller frees. */
static inline char *hear_answer(int fd, int *status)
{
	const char *length;
	size_t size = 0;
	char *body;

	*status = hear_head(fd);
	length = strstr(web_head, "\r\nContent-Length: ");
	if (length)
		size = strtoul(length + 18, NULL, 10);
	body = calloc(1, size + 1);
	CHECK_INT(fd_read(fd, body, size), size);
	/* JSON ends its line, once: that is seen to here, and left out. */
	if (size > 0 && web_says("Content-Type: application/json")) {
		CHECK(body[size - 1] == '\n' && (size < 2 || body[size - 2] != '\n'));
		body[size - 1] = '\0';
	}
	return body;
}

#define ANSWER(fd, want, text)                                                                                         \
	do {                                                                                                           \
		int status_;                                                                                           \
		char *body_ = hear_answer(fd, &status_);                                                               \
		CHECK_STR(body_, text);                                                                                \
		CHECK_INT(status_, want);                                                                              \
		free(body_);                                                                                           \
	} while (0)

/* Its status, without caring for the body. */
static inline int hear_answer_status(int fd)
{
	int status;

	free(hear_answer(fd, &status));
	return status;
}

/* The status and code of an error: "503 failed". */
static inline const char *hear_error(int fd)
{
	static char text[256];
	int status;
	char *body = hear_answer(fd, &status);
	json_t *root = json_loads(body, 0, NULL), *error = json_object_get(root, "error");

	snprintf(text, sizeof(text), "%d %s", status, json_string_value(json_object_get(error, "code")) ?: body);
	json_decref(root);
	free(body);
	return text;
}

/* The next chunk; "" is the last. The caller frees. */
static inline char *hear_chunk(int fd)
{
	char line[32], end[3] = "";
	size_t size;
	char *data;

	if (!hear_line(fd, line, sizeof(line)))
		return strdup("no chunk");
	size = strtoul(line, NULL, 16);
	data = calloc(1, size + 1);
	CHECK_INT(fd_read(fd, data, size), size);
	CHECK_INT(fd_read(fd, end, 2), 2);
	CHECK_STR(end, "\r\n");
	return data;
}

#define CHUNK(fd, text)                                                                                                \
	do {                                                                                                           \
		char *chunk_ = hear_chunk(fd);                                                                         \
		CHECK_STR(chunk_, text);                                                                               \
		free(chunk_);                                                                                          \
	} while (0)

/* JSON; with a status of 404 the sentence of a refusal. What answers no question is the store's own word. */
static inline void say_answer(int role, const struct message *question, unsigned status, const char *text)
{
	struct message_head head = { .kind = MESSAGE_TELL, .status = status, .size = strlen(text) };
	struct message_refusal refusal;
	const void *body = text;
	struct error err;

	if (question && status == 404) {
		error_refuse(&err, CODE_NOT_FOUND, "", "%s", text);
		refusal_pack(&err, &refusal);
		head.size = sizeof(refusal);
		body = &refusal;
	}
	head.run = question ? question->head.run : 0;
	CHECK_INT(message_send(role, &head, body, NULL, 0, &err), 0);
}

/* The next question to a role. What the store is only told is written to web_event. */
static inline struct message asked(int role)
{
	struct message message = { .fds = { -1, -1, -1 } };
	struct error err = { 0 };

	for (;;) {
		if (message_receive(role, &message, &err) != 1) {
			check_fail("no question: %s", err.text);
			return message;
		}
		CHECK_INT(message.head.kind, MESSAGE_ASK);
		if (strncmp(message.body, "{\"what\":\"event\"", 15) != 0)
			return message;
		snprintf(web_event, sizeof(web_event), "%s", (char *)message.body);
		say_answer(role, &message, 200, "{}");
		message_free(&message);
	}
}

/* A question that is answered at once. */
#define ASKED(role, question, status, json)                                                                            \
	do {                                                                                                           \
		struct message asked_ = asked(role);                                                                   \
		CHECK_STR(asked_.body, question);                                                                      \
		say_answer(role, &asked_, status, json);                                                               \
		message_free(&asked_);                                                                                 \
	} while (0)

struct web_token {
	const char *name;   /* its text is "NAME-0123456789abcdef" */
	const char *scopes; /* JSON */
	const char *more;   /* further members, each with a comma before it; or "" */
};

#define AUTH(name) "Authorization: Bearer " name "-0123456789abcdef\r\n"

/* A configuration in memory, for the front to take over. Either may be NULL. */
static inline int web_config(const char *registry, const struct web_token tokens[TOKENS])
{
	struct config *config = calloc(1, sizeof(*config));
	char json[2048] = "{\"tokens\":[", *text = NULL;
	int fd = memfd_create("config", MFD_CLOEXEC);
	struct error err = { 0 };
	size_t size = 0;

	for (int i = 0; tokens && i < TOKENS && tokens[i].name; i++) {
		unsigned char hash[TOKEN_HASH];
		char own[64], hex[2 * TOKEN_HASH + 1];
		size_t used = strlen(json);

		snprintf(own, sizeof(own), "%s-0123456789abcdef", tokens[i].name);
		token_hash(own, strlen(own), hash);
		token_hex(hash, sizeof(hash), hex);
		snprintf(json + used, sizeof(json) - used, "%s{\"name\":\"%s\",\"sha256\":\"%s\",\"scopes\":%s%s}",
			 i ? "," : "", tokens[i].name, hex, tokens[i].scopes, tokens[i].more);
	}
	strcat(json, "]}");
	snprintf(config->registry_where, sizeof(config->registry_where), "registry.yaml");
	config->registry_text = registry;
	config->registry_size = registry ? strlen(registry) : 0;
	CHECK_INT(config_encode(config, NULL, tokens ? json : "", tokens ? strlen(json) : 0, &text, &size, &err), 0);
	CHECK_INT(fd_write(fd, text, size), 0);
	free(text);
	free(config);
	return fd;
}

/* What the front asks the store for a list of runs. */
#define GET_LIST "{\"what\":\"list\",\"caller\":\"*\"}"

/* A run that the keeper answers at once. */
static inline void one_run(int fd, const char *result)
{
	struct message run;

	put_execute(fd, "", HELLO);
	run = taken();
	finish(&run, result);
	ANSWER(fd, 200, result);
}
