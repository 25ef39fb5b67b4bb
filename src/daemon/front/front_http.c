/*
 * The door of HTTP: requests in, answers out.
 *
 * A request's head is judged as soon as it is whole, before any of its body is
 * kept: who asks, from where, and whether there is such a path. So a stranger
 * makes us hold no more than a head.
 */
#include "daemon/front/front_http.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/own.h"
#include "http/websocket.h"
#include "daemon/front/site.h"

#include <inttypes.h>
#include <jansson.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

enum {
	BODY_RATE = 512 << 10,   /* bytes of a body that give it a second more */
	BODY_MOST = 3600 * 1000, /* milliseconds for any body */
	ANSWER_LINES = 1024,     /* bytes of headers that an answer brings */
	SKIP_MAX = 64 << 10,     /* bytes of a body that are read and forgotten rather than the connection closed */
};

size_t exchange_held(const struct peer *peer)
{
	return peer->exchange ? peer->exchange->body.size : 0;
}

void exchange_free(struct front *front, struct peer *peer)
{
	if (!peer->exchange)
		return;
	front->streams -= peer->exchange->streaming;
	mcp_exchange_free(peer->exchange);
	buf_free(&peer->exchange->body);
	http_file_end(peer->exchange);
	free(peer->exchange);
	peer->exchange = NULL;
}

static void log_request(const struct front *front, const struct peer *peer, int status, uint64_t usec)
{
	static const char *const methods[] = { "GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH" };
	const struct exchange *x = peer->exchange;
	const char *route = x->route ? x->route->path : "none";

	metrics_request(front->metrics, methods[x->method], route, status, usec);
	log_event("request", (const struct log_field[]){
				     { .key = "method", .text = methods[x->method] },
				     { .key = "route", .text = route },
				     { .key = "status", .number = status },
				     { .key = "seconds", .number = (double)usec / 1e6 },
				     { .key = "caller", .text = peer->caller.name },
				     { .key = "from", .text = peer->address },
				     { .key = "request_id", .text = x->request_id },
				     { .key = "execution", .text = peer->about.id },
				     { 0 },
			     });
}

void http_answered(struct front *front, struct peer *peer, int status)
{
	struct exchange *x = peer->exchange;

	log_request(front, peer, status, x->begun_usec ? clock_usec() - x->begun_usec : 0);
	front->streams -= x->streaming;
	x->streaming = false;
	x->begun_usec = 0;
	x->phase = x->left > 0 ? PHASE_SKIP : PHASE_HEAD;
	x->pending = connection_pending(&peer->link);
	peer->about.id[0] = '\0';
	peer->via = NULL;
	mcp_exchange_free(x);
	connection_empty(&x->body);
	peer->closing |= !x->keep_alive;
	peer_deadline(front, peer, peer->lingering ? front->options.times.linger : front->options.times.idle);
}

/* A text for people to read ends its line. */
static void answer(struct front *front, struct peer *peer, int status, const char *type, const void *body, size_t size,
		   bool ended, const char *extra)
{
	struct exchange *x = peer->exchange;
	_cleanup_buf_ struct buf head = { 0 };
	char lines[ANSWER_LINES];
	struct iovec parts[3];

	if (mcp_is_inside(x)) {
		mcp_answered(front, peer, status, body, size, extra);
		return;
	}
	snprintf(lines, sizeof(lines), "X-Request-Id: %s\r\n%s", x->request_id, extra);
	http_reply_head(&head, status, type, size + ended, x->keep_alive, lines);
	peer->link.broken |= head.failed;
	parts[0] = (struct iovec){ head.data, head.size };
	parts[1] = (struct iovec){ (void *)body, size };
	parts[2] = (struct iovec){ (void *)"\n", ended };
	connection_write(&peer->link, parts, size > 0 && x->method != HTTP_HEAD ? 2 + ended : 1);
	http_answered(front, peer, status);
}

void http_answer(struct front *front, struct peer *peer, int status, const char *type, const void *body, size_t size,
		 const char *extra)
{
	answer(front, peer, status, type, body, size, false, extra);
}

void http_answer_lent(struct front *front, struct peer *peer, const char *type, const void *body, size_t size,
		      const char *extra)
{
	struct exchange *x = peer->exchange;
	_cleanup_buf_ struct buf head = { 0 };
	char lines[ANSWER_LINES];

	snprintf(lines, sizeof(lines), "X-Request-Id: %s\r\n%s", x->request_id, extra);
	http_reply_head(&head, 200, type, size, x->keep_alive, lines);
	peer->link.broken |= head.failed;
	connection_write(&peer->link, &(struct iovec){ head.data, head.size }, 1);
	if (x->method != HTTP_HEAD)
		connection_lend(&peer->link, body, size);
	http_answered(front, peer, 200);
}

void http_answer_json_with(struct front *front, struct peer *peer, int status, const char *json, size_t size,
			   const char *extra)
{
	answer(front, peer, status, "application/json", json, size, size > 0 && json[size - 1] != '\n', extra);
}

void http_answer_json(struct front *front, struct peer *peer, int status, const char *json, size_t size)
{
	http_answer_json_with(front, peer, status, json, size, status == 503 ? "Retry-After: 1\r\n" : "");
}

static void answer_refusal(struct front *front, struct peer *peer, int status, const struct error *err,
			   unsigned retry_after)
{
	_cleanup_free_ char *json = front_error_json(err, retry_after, NULL, mcp_is_inside(peer->exchange));
	char extra[128] = "";

	if (retry_after)
		snprintf(extra, sizeof(extra), "Retry-After: %u\r\n", retry_after);
	else if (status == 401)
		snprintf(extra, sizeof(extra), "WWW-Authenticate: Bearer\r\n");
	else if (status == 405)
		snprintf(extra, sizeof(extra), "Allow: %s\r\n", peer->exchange->allow);
	http_answer_json_with(front, peer, status, json ? json : "{}", json ? strlen(json) : 2, extra);
}

void http_answer_refusal(struct front *front, struct peer *peer, const struct error *err, unsigned retry_after)
{
	/* What may work the next time is not broken for good. */
	answer_refusal(front, peer, err->code == CODE_FAILED && retry_after ? 503 : error_code_status(err->code), err,
		       retry_after);
}

void http_answer_error(struct front *front, struct peer *peer, enum error_code code, const char *field,
		       unsigned retry_after, const char *message)
{
	struct error err;

	error_refuse(&err, code, "", "%s", message);
	error_about(&err, field);
	http_answer_refusal(front, peer, &err, retry_after);
}

void http_answer_status(struct front *front, struct peer *peer, int status, enum error_code code, const char *message)
{
	struct error err;

	error_refuse(&err, code, "", "%s", message);
	answer_refusal(front, peer, status, &err, status == 503 ? front_retry_after(front) : 0);
}

static void told(struct front *front, struct peer *peer, int status, const char *body, size_t size, int fd)
{
	close_fd(&fd);
	http_answer_json(front, peer, status, body, size);
}

void http_pass(struct front *front, struct peer *peer, bool store, const char *question)
{
	peer->exchange->phase = PHASE_ANSWER;
	if (!question || ask(front, peer, store, question, told) < 0)
		http_answer_error(front, peer, CODE_FAILED, "", 1,
				  store ? "the store cannot be asked now" : "the keeper cannot be asked now");
}

/* Refused before its body came. Little of it is read and forgotten; of more, the connection ends with it, but not
 * before the client could hear why: what is not read when it is closed would reset it. */
static void refuse_early(struct front *front, struct peer *peer, int status, enum error_code code, const char *message)
{
	struct exchange *x = peer->exchange;
	bool last = x->endless || x->left > SKIP_MAX || (x->left > 0 && !x->keep_alive);

	x->endless = false;
	if (last) {
		x->keep_alive = false;
		x->left = 0;
		peer->lingering = true;
	}
	http_answer_status(front, peer, status, code, message);
	if (last && !peer->link.tls && connection_pending(&peer->link) == 0)
		shutdown(peer->link.fd, SHUT_WR);
}

static void audit_denial(struct front *front, const struct peer *peer, enum error_code code)
{
	json_t *fields = json_pack("{s:s, s:s, s:s, s:s}", "reason", error_code_name(code), "from", peer->address,
				   "route", peer->exchange->route ? peer->exchange->route->path : "", "request_id",
				   peer->exchange->request_id);
	_cleanup_free_ char *text = NULL;

	metrics_event(front->metrics, error_code_name(code));
	/* Who is turned away a thousand times a second does not fill the log: the next entry says how many it stands
	 * for. */
	if (clock_usec() - front->denied_usec <= MILLION / 10) {
		front->denied_more++;
		json_decref(fields);
		return;
	}
	if (fields && front->denied_more > 0)
		json_object_set_new(fields, "more", json_integer((json_int_t)front->denied_more));
	front->denied_usec = clock_usec();
	front->denied_more = 0;
	/* Whoever it is, where it has said so. */
	if (fields && code == CODE_FORBIDDEN_SCOPE)
		json_object_set_new(fields, "token", json_string(peer->caller.name));
	text = fields ? json_dumps(fields, JSON_COMPACT) : NULL;
	json_decref(fields);
	if (text)
		front_audit(front, "denied", text);
}

static void deny(struct front *front, struct peer *peer, enum error_code code, const char *message)
{
	audit_denial(front, peer, code);
	refuse_early(front, peer, error_code_status(code), code, message);
}

static bool path_matches(const char *pattern, const char *path, char part[PART_MAX], char rest[REST_MAX])
{
	while (*pattern && *path) {
		if (pattern[0] == '*' && pattern[1] == '*')
			return snprintf(rest, REST_MAX, "%s", path) < REST_MAX;
		if (*pattern == '*') {
			size_t size = strcspn(path, "/");

			if (size == 0 || size >= PART_MAX)
				return false;
			memcpy(part, path, size);
			part[size] = '\0';
			path += size;
			pattern++;
		} else if (*pattern++ != *path++) {
			return false;
		}
	}
	return *pattern == *path;
}

const struct route *http_route_find(struct exchange *x, enum http_method asked, const char *path)
{
	static const char *const words[] = {
		[HTTP_GET] = "GET, HEAD", [HTTP_POST] = "POST", [HTTP_PUT] = "PUT", [HTTP_DELETE] = "DELETE", [HTTP_PATCH] = "PATCH"
	};
	enum http_method method = asked == HTTP_HEAD ? HTTP_GET : asked;
	size_t size = 0;

	x->allow[0] = '\0';
	for (size_t i = 0; i < http_route_count; i++) {
		if (!path_matches(http_routes[i].path, path, x->part, x->rest))
			continue;
		if (http_routes[i].method == method)
			return &http_routes[i];
		size += (size_t)snprintf(x->allow + size, sizeof(x->allow) - size, "%s%s", size > 0 ? ", " : "",
					 words[http_routes[i].method]);
	}
	return NULL;
}

/* Once a minute for each: who uses it and from where, not how often; that is in the runs themselves. */
static void audit_token(struct front *front, const struct peer *peer, const struct token *token)
{
	size_t place = (size_t)(token - front->config.tokens.tokens);
	uint64_t now = clock_usec();
	char fields[160];

	if (place >= TOKENS_WATCHED || (front->token_usec[place] && now - front->token_usec[place] < 60 * MILLION))
		return;
	front->token_usec[place] = now;
	snprintf(fields, sizeof(fields), "{\"token\":\"%s\",\"from\":\"%s\"}", token->name, peer->address);
	front_audit(front, "token_used", fields);
}

/* Of a browser, whose pages cannot set other headers of a WebSocket: one of the protocols that it offers is
 * emberbox.token.TOKEN. Never in the address, which others write down. */
static struct http_text offered_token(const struct exchange *x, const struct http_head *head)
{
	static const char prefix[] = "emberbox.token.";
	struct http_text list = http_field(head, "sec-websocket-protocol", NULL), word = { 0 };

	if (!x->route || x->route->handle != session_route_terminal)
		return word;
	while (list.size > 0) {
		size_t size = 0;

		while (list.size > 0 && (*list.data == ' ' || *list.data == ',' || *list.data == '\t')) {
			list.data++;
			list.size--;
		}
		while (size < list.size && list.data[size] != ',' && list.data[size] != ' ' && list.data[size] != '\t')
			size++;
		if (size > sizeof(prefix) - 1 && memcmp(list.data, prefix, sizeof(prefix) - 1) == 0)
			word = (struct http_text){ list.data + sizeof(prefix) - 1, size - (sizeof(prefix) - 1) };
		list.data += size;
		list.size -= size;
	}
	return word;
}

/* Who asks: over TCP whoever has the token. False: nobody that we know. */
static bool authenticate(struct front *front, struct peer *peer, const struct http_head *head)
{
	static const char scheme[] = "bearer ";
	struct http_text given = http_field(head, "authorization", NULL);
	const struct token *token = NULL;
	struct caller *caller = &peer->caller;

	if (strcmp(peer->address, "unix") == 0)
		return true;
	if (given.size > sizeof(scheme) - 1 && strncasecmp(given.data, scheme, sizeof(scheme) - 1) == 0)
		token = tokens_find(&front->config.tokens, given.data + sizeof(scheme) - 1,
				    given.size - (sizeof(scheme) - 1));
	else if (!given.data && (given = offered_token(peer->exchange, head)).size > 0)
		token = tokens_find(&front->config.tokens, given.data, given.size);
	if (!token) {
		*caller = (struct caller){ 0 };
		return false;
	}
	snprintf(caller->name, sizeof(caller->name), "%s", token->name);
	memcpy(&caller->key, token->hash, sizeof(caller->key));
	caller->key |= UINT32_C(1) << 31;
	caller->scopes = token->scopes & SCOPE_ADMIN ? ~0U : token->scopes;
	caller->token = true;
	audit_token(front, peer, token);
	return true;
}

/* A name for the request: the client's, if it is one that can stand in a log. */
static void name_request(struct front *front, struct exchange *x, struct http_text given)
{
	bool fits = given.size > 0 && given.size < sizeof(x->request_id);

	for (size_t i = 0; fits && i < given.size; i++)
		fits = (given.data[i] >= '0' && given.data[i] <= '9') ||
		       (given.data[i] >= 'a' && given.data[i] <= 'z') ||
		       (given.data[i] >= 'A' && given.data[i] <= 'Z') ||
		       (given.data[i] && strchr("._-", given.data[i]));
	if (fits)
		snprintf(x->request_id, sizeof(x->request_id), "%.*s", (int)given.size, given.data);
	else
		snprintf(x->request_id, sizeof(x->request_id), "%" PRIx64 "-%" PRIx64, front->begun_usec,
			 ++front->request_number);
}

static void keep_text(char *out, size_t room, struct http_text text)
{
	size_t size = text.data && text.size < room ? text.size : 0;

	memcpy(out, text.data ? text.data : "", size);
	out[size] = '\0';
}

static const char token_unknown[] = "this token is not known: it is wrong, or it was removed";

static const char *no_token(const struct http_head *head)
{
	struct http_text given = http_field(head, "authorization", NULL);

	return given.size > 7 && strncasecmp(given.data, "bearer ", 7) == 0
		       ? token_unknown
		       : "a token is needed: send Authorization: Bearer TOKEN, which `emberbox token show` prints";
}

static void refuse_method(struct front *front, struct peer *peer)
{
	char sentence[128];

	snprintf(sentence, sizeof(sentence), "this path does not take this method; it takes %s", peer->exchange->allow);
	refuse_early(front, peer, 405, CODE_METHOD_NOT_ALLOWED, sentence);
}

bool http_has_only(struct front *front, struct peer *peer, json_t *root, const char *const *known)
{
	const char *key;
	json_t *value;
	char why[128];

	json_object_foreach(root, key, value)
	{
		if (!field_unknown(key, known, why, sizeof(why)))
			continue;
		http_refuse_field(front, peer, key, why);
		return false;
	}
	return true;
}

static void deny_scope(struct front *front, struct peer *peer)
{
	static const struct {
		unsigned scope;   /* enum token_scope */
		const char *name; /* as people write it */
	} names[] = {
		{ SCOPE_EXECUTE, "execute" }, { SCOPE_READ, "read" },       { SCOPE_METRICS, "metrics" },
		{ SCOPE_ADMIN, "admin" },     { SCOPE_TRUSTED, "trusted" },
	};
	char sentence[160] = "this token's scopes do not include this path; it takes one with the scope ";
	bool first = true;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		size_t used = strlen(sentence);

		if (!(peer->exchange->route->scopes & names[i].scope))
			continue;
		snprintf(sentence + used, sizeof(sentence) - used, "%s%s", first ? "" : " or ", names[i].name);
		first = false;
	}
	deny(front, peer, CODE_FORBIDDEN_SCOPE, sentence);
}

/* Everything that can be said before the body; false: it was. */
static bool admit(struct front *front, struct peer *peer, const struct http_head *head)
{
	struct exchange *x = peer->exchange;
	struct http_text origin = http_field(head, "origin", NULL);
	bool local = strcmp(peer->address, "unix") == 0, exists;

	x->route = http_route_find(x, head->method, head->path);
	exists = x->route || x->allow[0];
	if (!local && !http_host_allowed(head->host, front->config.hosts))
		deny(front, peer, CODE_FORBIDDEN_HOST,
		     "the Host is not one of this service's names; add it to EMBERBOX_HOSTS if it should be");
	else if (origin.data && !http_origin_allowed(origin, front->config.hosts))
		deny(front, peer, CODE_FORBIDDEN_ORIGIN, "pages of that Origin may not use this service");
	else if (!exists && !authenticate(front, peer, head))
		deny(front, peer, CODE_UNAUTHORIZED, no_token(head));
	else if (!exists)
		refuse_early(front, peer, 404, CODE_NOT_FOUND, "there is no such path; GET /openapi.yaml lists them");
	else if (!x->route)
		refuse_method(front, peer);
	else if (!authenticate(front, peer, head) && x->route->scopes)
		deny(front, peer, CODE_UNAUTHORIZED, no_token(head));
	else if (x->route->scopes && !(peer->caller.scopes & x->route->scopes))
		deny_scope(front, peer);
	else if (head->query.size >= QUERY_MAX)
		refuse_early(front, peer, 414, CODE_BAD_REQUEST, "the query is longer than 1023 bytes");
	else if (x->route->body_max == 0 && (head->chunked || head->length > 0))
		refuse_early(front, peer, 400, CODE_BAD_REQUEST, "this path takes no body");
	else if (head->length > x->route->body_max)
		refuse_early(front, peer, 413, CODE_TOO_LARGE,
			     x->route->body_max < FRAME_REQUEST_MAX ? "the body is larger than 64k"
								    : "the body is larger than 64m");
	else
		return true;
	return false;
}

static void handle(struct front *front, struct peer *peer, const char *body, size_t size)
{
	/* It may have been taken back while the body came, and its bounds with it. */
	if (peer->caller.token && !policy_token(front, peer->caller.name)) {
		deny(front, peer, CODE_UNAUTHORIZED, token_unknown);
		return;
	}
	peer_deadline(front, peer, 0);
	peer->exchange->route->handle(front, peer, body, size);
	/* What is to be run of it is in the request's list. */
	if (!peer->dead)
		connection_empty(&peer->exchange->body);
}

static void begin(struct front *front, struct peer *peer, const struct http_head *head)
{
	static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";
	struct exchange *x = peer->exchange;
	uint64_t patience;

	x->method = head->method;
	x->keep_alive = head->keep_alive && !front->draining;
	x->left = head->chunked ? 0 : head->length;
	/* Who waits for 100 and hears something else may send the body or not. */
	x->endless = head->chunked || (head->expects_continue && head->length > 0);
	x->plain = head->minor == 0;
	x->lines = false;
	x->events = http_text_has_token(http_field(head, "accept", NULL), "text/event-stream");
	x->markdown = http_text_has_token(http_field(head, "accept", NULL), "text/markdown");
	x->begun_usec = clock_usec();
	x->cut[0].size = x->cut[1].size = 0;
	x->ttl = 0;
	name_request(front, x, http_field(head, "x-request-id", NULL));
	if (!admit(front, peer, head))
		return;
	if ((x->route->handle == mcp_handle || x->route->handle == mcp_delete) && !mcp_begin(peer, head)) {
		peer->link.broken = true;
		return;
	}
	if (x->route->handle == session_route_terminal) {
		x->handshake = websocket_handshake(head, x->accept);
		x->protocol =
			http_text_has_token(http_field(head, "sec-websocket-protocol", NULL), "emberbox.terminal");
	}
	keep_text(x->query, sizeof(x->query), head->query);
	x->query_size = strlen(x->query);
	keep_text(x->range, sizeof(x->range), http_field(head, "range", NULL));
	keep_text(x->match, sizeof(x->match), http_field(head, "if-none-match", NULL));
	x->takes_gzip = site_takes_gzip(http_field(head, "accept-encoding", NULL));
	x->chunks = (struct http_chunks){ 0 };
	x->endless = head->chunked;
	if (!head->chunked && x->left == 0) {
		handle(front, peer, "", 0);
		return;
	}
	x->phase = head->chunked ? PHASE_CHUNKS : PHASE_BODY;
	patience = front->options.times.body + (head->chunked ? x->route->body_max : x->left) / BODY_RATE * 1000;
	peer_deadline(front, peer, (unsigned)(patience < BODY_MOST ? patience : BODY_MOST));
	if (head->expects_continue)
		connection_write(&peer->link, &(struct iovec){ (void *)go_on, sizeof(go_on) - 1 }, 1);
}

/* Bytes taken; 0: more are needed. */
static size_t take_head(struct front *front, struct peer *peer, const char *data, size_t size)
{
	struct exchange *x = peer->exchange;
	struct http_fault fault;
	struct http_head head;
	long n = http_parse(data, size, &head, &fault);

	if (n > 0) {
		begin(front, peer, &head);
		return (size_t)n;
	}
	if (n == 0) {
		/* From its first byte on, however slowly the others come. */
		if (x->begun_usec == 0) {
			x->begun_usec = clock_usec();
			peer_deadline(front, peer, front->options.times.head);
		}
		return 0;
	}
	x->route = NULL;
	x->method = HTTP_GET;
	x->keep_alive = false;
	x->left = 0;
	name_request(front, x, (struct http_text){ 0 });
	peer->lingering = true;
	http_answer_status(front, peer, fault.status,
			   fault.status == 413   ? CODE_TOO_LARGE
			   : fault.status == 404 ? CODE_NOT_FOUND
						 : CODE_BAD_REQUEST,
			   fault.message);
	if (!peer->link.tls && connection_pending(&peer->link) == 0)
		shutdown(peer->link.fd, SHUT_WR);
	return size;
}

static size_t take_body(struct front *front, struct peer *peer, const char *data, size_t size)
{
	struct exchange *x = peer->exchange;
	size_t part = size < x->left ? size : (size_t)x->left;

	x->left -= part;
	if (x->left == 0 && x->body.size == 0) {
		/* Most come whole: nothing is copied. */
		handle(front, peer, data, part);
		return part;
	}
	buf_add(&x->body, data, part);
	peer->link.broken |= x->body.failed;
	if (x->left == 0 && !x->body.failed)
		handle(front, peer, x->body.data, x->body.size);
	return part;
}

static size_t take_chunks(struct front *front, struct peer *peer, const char *data, size_t size)
{
	struct exchange *x = peer->exchange;
	struct http_fault fault;
	size_t used = 0;
	int done = http_chunks_take(&x->chunks, data, size, &used, x->route->body_max, &x->body, &fault);

	peer->link.broken |= x->body.failed;
	if (done < 0) {
		refuse_early(front, peer, fault.status, fault.status == 413 ? CODE_TOO_LARGE : CODE_BAD_REQUEST,
			     fault.message);
		return size;
	}
	x->endless = done == 0;
	if (done > 0 && !x->body.failed)
		handle(front, peer, x->body.data ? x->body.data : "", x->body.size);
	return used;
}

static size_t take_skip(struct exchange *x, size_t size)
{
	size_t part = size < x->left ? size : (size_t)x->left;

	x->left -= part;
	if (x->left == 0)
		x->phase = PHASE_HEAD;
	return part;
}

static size_t http_take(struct front *front, struct peer *peer, const char *data, size_t size)
{
	struct connection *link = &peer->link;
	size_t at = 0, part = 1;

	if (!peer->exchange)
		peer->exchange = calloc(1, sizeof(*peer->exchange));
	if (!peer->exchange) {
		link->broken = true;
		return size;
	}
	peer->blocked = false;
	while (part > 0 && !peer->dead && !peer->closing && !link->broken) {
		enum phase phase = peer->exchange->phase;

		peer->blocked =
			phase == PHASE_ANSWER || (phase == PHASE_HEAD && at < size && connection_pending(link) > 0);
		if (peer->blocked || at == size)
			break;
		if (phase == PHASE_HEAD)
			part = take_head(front, peer, data + at, size - at);
		else if (phase == PHASE_BODY)
			part = take_body(front, peer, data + at, size - at);
		else if (phase == PHASE_CHUNKS)
			part = take_chunks(front, peer, data + at, size - at);
		else
			part = take_skip(peer->exchange, size - at);
		at += part;
	}
	return peer->closing || peer->dead ? size : at;
}

/* Half a request is nobody's. */
static void http_ended(struct front *front, struct peer *peer)
{
	peer->closing = true;
}

static void http_crowded(struct front *front, struct peer *peer)
{
	struct exchange *x = peer->exchange;

	if (!x || (x->phase != PHASE_BODY && x->phase != PHASE_CHUNKS))
		return;
	x->endless = true;
	refuse_early(front, peer, 503, CODE_BUSY,
		     "the service is busy: it holds as many bytes of requests as it may; ask again later");
}

static void http_late(struct front *front, struct peer *peer)
{
	struct exchange *x = peer->exchange;
	size_t pending = connection_pending(&peer->link);

	if (x && x->mcp && mcp_late(front, peer))
		return;
	if (x && http_answer_goes_on(front, peer)) {
		peer_deadline(front, peer, front->options.times.idle);
	} else if (x && x->streaming) {
		execute_ping(front, peer);
		peer_deadline(front, peer, front->options.times.ping);
	} else if (!x || peer->lingering || (pending > 0 && pending >= x->pending)) {
		peer_drop(front, peer);
	} else if (pending > 0) {
		/* It reads, if slowly. */
		x->pending = pending;
		peer_deadline(front, peer, front->options.times.idle);
	} else if (x->begun_usec == 0) {
		/* Nothing was asked, or it was answered. */
		peer_drop(front, peer);
	} else {
		x->endless = true;
		if (x->phase == PHASE_HEAD) {
			x->route = NULL;
			x->method = HTTP_GET;
			name_request(front, x, (struct http_text){ 0 });
		}
		refuse_early(front, peer, 408, CODE_TIMEOUT, "the request did not come in time");
	}
}

const struct door door_http = {
	.name = "http",
	.take = http_take,
	.ended = http_ended,
	.crowded = http_crowded,
	.started = execute_started,
	.output = execute_output,
	.result = execute_result,
	.refuse = execute_refuse,
	.confirm = execute_confirm,
	.late = http_late,
	.more = http_answer_more,
};
