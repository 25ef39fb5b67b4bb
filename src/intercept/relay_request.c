/* A request on its way from the box to the server. */
#include "intercept/http_relay.h"

#include "base/own.h"
#include "http/header_text.h"

#include <stdio.h>
#include <string.h>

/* A request whose head is whole. */
struct relay_asking {
	struct relay_head *head;
	char method[RELAY_METHOD_MAX];
	char *path;              /* as it was sent, without its query; owned */
	struct http_text target; /* in origin form */
	struct net_decision decision;
};

static struct relay_verdict asking_verdict(const struct relay_asking *asking, bool allowed, enum net_reason reason)
{
	return (struct relay_verdict){ allowed, reason, asking->decision.rule, asking->method,
				       asking->path ? asking->path : "" };
}

/* A request that was not understood, or not as one only. The connection ends: where the next one begins is not sure. */
static int http_refused(struct http_relay *relay, const struct relay_asking *asking, unsigned status, const char *fault)
{
	const struct relay_verdict verdict = asking_verdict(asking, false, NET_REASON_HTTP);
	char sentence[SECRET_SENTENCE];

	snprintf(sentence, sizeof(sentence), "The request is refused: %s.", fault);
	relay_refuse(relay, status, &verdict, false, sentence);
	return -1;
}

/* ---- where it goes ---- */

static bool text_starts(struct http_text text, const char *word)
{
	const size_t size = strlen(word);

	return text.size >= size && http_text_is((struct http_text){ text.data, size }, word);
}

/* "NAME", "NAME:PORT": whether it is the host that the program connected to. */
static bool authority_is_ours(const struct secret_target *target, struct http_text text)
{
	const char *colon = text.size > 0 ? memrchr(text.data, ':', text.size) : NULL;
	char name[NET_NAME_MAX], port[8];

	/* The colons of an IPv6 address are inside its brackets. */
	if (colon && memchr(colon, ']', text.size - (size_t)(colon - text.data)))
		colon = NULL;
	if (colon) {
		struct http_text digits = { colon + 1, text.size - (size_t)(colon + 1 - text.data) };

		snprintf(port, sizeof(port), "%u", target->port);
		if (!http_text_is(digits, port))
			return false;
		text.size = (size_t)(colon - text.data);
	}
	if (http_text_is(text, target->name))
		return true;
	return net_name_of_wire(text.data, text.size, name) && strcmp(name, target->name) == 0;
}

/* Takes "https://HOST" from the front of an absolute target. */
static const char *target_split(const struct secret_target *target, const struct relay_head *head,
				struct http_text *text)
{
	const char *scheme = target->tls ? "https://" : "http://";
	struct http_text rest;
	size_t host = 0;

	if (text->data[0] == '/')
		return NULL;
	if (text->size == 1 && text->data[0] == '*')
		return http_text_is(head->method, "OPTIONS") ? NULL : "the target * is for OPTIONS only";
	if (!text_starts(*text, scheme))
		return "the target is not a path, and no URL of this host";
	rest = (struct http_text){ text->data + strlen(scheme), text->size - strlen(scheme) };
	while (host < rest.size && rest.data[host] != '/' && rest.data[host] != '?')
		host++;
	if (!authority_is_ours(target, (struct http_text){ rest.data, host }))
		return "the target is a URL of another host";
	*text = (struct http_text){ rest.data + host, rest.size - host };
	if (text->size == 0 || text->data[0] != '/')
		return "the target has no path";
	return NULL;
}

static int asking_read(struct http_relay *relay, struct relay_asking *asking)
{
	const struct secret_target *target = &relay->target;
	const char *question, *fault;
	size_t size;

	snprintf(asking->method, sizeof(asking->method), "%.*s", (int)asking->head->method.size,
		 asking->head->method.data);
	asking->target = asking->head->target;
	/* CONNECT would make another door of the server; TRACE shows what was sent. */
	if (strcmp(asking->method, "CONNECT") == 0 || strcmp(asking->method, "TRACE") == 0)
		return http_refused(relay, asking, 403, "the method is CONNECT or TRACE");
	fault = target_split(target, asking->head, &asking->target);
	if (fault)
		return http_refused(relay, asking, 400, fault);
	if (memchr(asking->target.data, '#', asking->target.size))
		return http_refused(relay, asking, 400, "the target contains a #");
	question = memchr(asking->target.data, '?', asking->target.size);
	size = question ? (size_t)(question - asking->target.data) : asking->target.size;
	asking->path = strndup(asking->target.data, size);
	if (!asking->path) {
		relay->failed = true;
		return -1;
	}
	if (!authority_is_ours(target, asking->head->host))
		return http_refused(relay, asking, 403,
				    "the field Host is not the name of the host that was connected to");
	return 0;
}

/* ---- whether it may ---- */

/* The URL, as far as it fits. */
static void asking_url(const struct http_relay *relay, const char *path, char *out, size_t size)
{
	const unsigned usual = relay->target.tls ? 443 : 80;
	char port[8] = "";

	if (relay->target.port != usual)
		snprintf(port, sizeof(port), ":%u", relay->target.port);
	snprintf(out, size, "%s://%.253s%s%.120s%s", relay->target.tls ? "https" : "http", relay->target.name, port,
		 path, strlen(path) > 120 ? "…" : "");
}

static void rule_refused(struct http_relay *relay, const struct relay_asking *asking, const char *method,
			 const char *path, bool stay)
{
	struct relay_verdict verdict = asking_verdict(asking, false, asking->decision.reason);
	char url[450], canonical[NET_PATH_MAX], sentence[SECRET_SENTENCE];

	verdict.method = method;
	verdict.path = path;
	if (!net_path_canonical(path, strlen(path), canonical)) {
		asking_url(relay, path, url, sizeof(url));
		snprintf(sentence, sizeof(sentence),
			 "%s %.380s is not allowed: servers could understand its path in two ways; write it plainly.",
			 method, url);
	} else if (asking->decision.reason == NET_REASON_NARROWED) {
		asking_url(relay, path, url, sizeof(url));
		snprintf(sentence, sizeof(sentence),
			 "%s %.380s is not allowed: the profile, the token or the service does not allow it.", method,
			 url);
	} else {
		asking_url(relay, canonical, url, sizeof(url));
		snprintf(sentence, sizeof(sentence), "%s %.200s is not allowed; allow it with --net '%s %.200s'.",
			 method, url, method, url);
	}
	relay_refuse(relay, 403, &verdict, stay, sentence);
}

static int asking_decide(struct http_relay *relay, struct relay_asking *asking, const char *method, const char *path,
			 bool stay)
{
	relay->calls->decide(relay->owner, method, path, &asking->decision);
	if (asking->decision.allowed)
		return 0;
	rule_refused(relay, asking, method, path, stay);
	return -1;
}

static bool is_method(struct http_text text)
{
	for (size_t i = 0; i < text.size; i++)
		if (!http_is_token(text.data[i]))
			return false;
	return text.size > 0 && text.size < RELAY_METHOD_MAX;
}

/* Fields by which some servers take another method or path than that of the first line: both have to be allowed. */
static int asking_decide_overrides(struct http_relay *relay, struct relay_asking *asking, bool stay)
{
	static const char *const methods[] = { "x-http-method-override", "x-http-method", "x-method-override" };
	static const char *const paths[] = { "x-original-url", "x-rewrite-url" };

	for (size_t i = 0; i < asking->head->field_count; i++) {
		const struct http_field *field = &asking->head->fields[i];
		_cleanup_free_ char *value = NULL;
		bool method = false, path = false;
		int result;

		for (size_t j = 0; j < ARRAY_SIZE(methods); j++)
			method |= http_text_is(field->name, methods[j]);
		for (size_t j = 0; j < ARRAY_SIZE(paths); j++)
			path |= http_text_is(field->name, paths[j]);
		if (!method && !path)
			continue;
		if (method && !is_method(field->value))
			return http_refused(relay, asking, 400, "a field that overrides the method has no valid one");
		value = strndup(field->value.data, field->value.size);
		if (!value) {
			relay->failed = true;
			return -1;
		}
		if (path)
			value[strcspn(value, "?")] = '\0';
		for (char *c = value; method && *c; c++)
			if (*c >= 'a' && *c <= 'z')
				*c = (char)(*c - 'a' + 'A');
		result = asking_decide(relay, asking, method ? value : asking->method, path ? value : asking->path,
				       stay);
		if (result < 0)
			return -1;
	}
	return 0;
}

/* ---- as the server gets it ---- */

static bool field_is_dropped(const struct http_relay *relay, const struct relay_head *head,
			     const struct http_field *field)
{
	if (relay_field_is_hop(head, field) || http_text_is(field->name, "host") ||
	    secret_of_field(&relay->target, field->name))
		return true;
	/* Where a secret could come back it is masked, which a part of it, or a compressed one, would escape. */
	return relay->masking && (http_text_is(field->name, "accept-encoding") || http_text_is(field->name, "range") ||
				  http_text_is(field->name, "if-range"));
}

static int field_add(struct http_relay *relay, const struct http_field *field, struct buf *out,
		     char sentence[SECRET_SENTENCE])
{
	if (secret_refuse(&relay->target, "the name of a header", field->name, sentence) < 0)
		return -1;
	buf_add(out, field->name.data, field->name.size);
	buf_text(out, ": ");
	if (secret_render(&relay->target, field->name, field->value, &relay->mask, out, sentence) < 0)
		return -1;
	buf_text(out, "\r\n");
	return 0;
}

static void framing_add(struct http_relay *relay, const struct relay_head *head, struct buf *out)
{
	if (relay->masking)
		buf_text(out, "Accept-Encoding: identity\r\n");
	if (relay->upgrading)
		buf_text(out, "Connection: Upgrade\r\nUpgrade: websocket\r\n");
	else if (relay->close)
		buf_text(out, "Connection: close\r\n");
	else if (relay_field(head, "te") && http_text_has_token(relay_field(head, "te")->value, "trailers"))
		buf_text(out, "Connection: TE\r\nTE: trailers\r\n");
	if (head->expects_continue)
		buf_text(out, "Expect: 100-continue\r\n");
	if (head->chunked)
		buf_text(out, "Transfer-Encoding: chunked\r\n");
	else if (head->has_length)
		buf_printf(out, "Content-Length: %llu\r\n", (unsigned long long)head->length);
	buf_text(out, "\r\n");
}

static void host_add(const struct http_relay *relay, struct buf *out)
{
	buf_printf(out, "Host: %s", relay->target.name);
	if (relay->target.port != (relay->target.tls ? 443 : 80))
		buf_printf(out, ":%u", relay->target.port);
	buf_text(out, "\r\n");
}

/* The head into the queue; -1: a secret cannot go with it. */
static int head_forward(struct http_relay *relay, const struct relay_asking *asking, char sentence[SECRET_SENTENCE])
{
	const struct relay_head *head = asking->head;
	_cleanup_buf_ struct buf out = { 0 };
	int result = secret_refuse(&relay->target, "the URL", asking->target, sentence);

	buf_printf(&out, "%s ", asking->method);
	buf_add(&out, asking->target.data, asking->target.size);
	buf_text(&out, " HTTP/1.1\r\n");
	host_add(relay, &out);
	for (size_t i = 0; i < head->field_count && result == 0; i++)
		if (!field_is_dropped(relay, head, &head->fields[i]))
			result = field_add(relay, &head->fields[i], &out, sentence);
	secret_fields_add(&relay->target, &out);
	framing_add(relay, head, &out);
	if (result == 0)
		buf_add(&relay->to_world.buf, out.data, out.size);
	relay->failed |= out.failed;
	if (out.data)
		explicit_bzero(out.data, out.size);
	return result;
}

static void exchange_begin(struct http_relay *relay, const struct relay_head *head)
{
	relay->awaits_continue = head->expects_continue;
	relay->request_left = head->length;
	relay->request_chunks = (struct http_chunks){ .trailers = &relay->request_trailers };
	relay->request_trailers.size = 0;
	relay->request = head->chunked ? PART_CHUNKS : head->length > 0 ? PART_LENGTH : PART_DONE;
	relay->response = PART_HEAD;
	relay->interim = 0;
}

static void asking_handle(struct http_relay *relay, struct relay_asking *asking)
{
	const struct relay_head *head = asking->head;
	const bool stay = !head->chunked && head->length == 0 && !relay->close;
	char sentence[SECRET_SENTENCE];
	struct relay_verdict verdict;

	if (asking_read(relay, asking) < 0 || asking_decide_overrides(relay, asking, stay) < 0 ||
	    asking_decide(relay, asking, asking->method, asking->path, stay) < 0)
		return;
	if (relay->world_failed) {
		verdict = asking_verdict(asking, false, relay->failure);
		relay_refuse(relay, 502, &verdict, false, relay->failure_sentence);
		return;
	}
	/* Anything else that a connection could become would carry requests that nobody looks at: h2c. */
	relay->upgrading = http_text_is(head->upgrade, "websocket") && strcmp(asking->method, "GET") == 0 &&
			   !head->chunked && head->length == 0;
	if (head_forward(relay, asking, sentence) < 0) {
		char whole[SECRET_SENTENCE + 32];

		snprintf(whole, sizeof(whole), "The request is refused: %s.", sentence);
		verdict = asking_verdict(asking, false, NET_REASON_SECRET);
		relay_refuse(relay, 403, &verdict, stay, whole);
		return;
	}
	verdict = asking_verdict(asking, true, NET_REASON_RULE);
	relay->calls->tell(relay->owner, &verdict);
	exchange_begin(relay, head);
}

static void head_handle(struct http_relay *relay)
{
	struct relay_head head;
	struct http_fault fault = { 400, "" };
	struct relay_asking asking = { .head = &head };

	relay->request_is_head = relay->request_head.size >= 5 && memcmp(relay->request_head.data, "HEAD ", 5) == 0;
	if (relay_request_read(relay->request_head.data, relay->request_head.size, &head, &fault) < 0) {
		http_refused(relay, &asking, (unsigned)fault.status, fault.message);
	} else {
		relay->request_is_old = head.minor == 0;
		relay->close |= head.close || head.minor == 0;
		asking_handle(relay, &asking);
	}
	free(asking.path);
}

static size_t head_take(struct http_relay *relay, const char *data, size_t size)
{
	struct buf *head = &relay->request_head;
	const size_t before = head->size;
	size_t taken = 0, end;

	/* Old clients send an empty line behind a body. */
	while (before == 0 && taken < size && (data[taken] == '\r' || data[taken] == '\n'))
		taken++;
	if (taken > 0)
		return taken;
	taken = RELAY_REQUEST_MAX - before < size ? RELAY_REQUEST_MAX - before : size;
	buf_add(head, data, taken);
	if (head->failed)
		return 0;
	end = relay_head_end(head->data, head->size, before);
	if (end > 0) {
		taken = end - before;
		head->size = end;
		head_handle(relay);
	} else if (head->size >= RELAY_REQUEST_MAX) {
		http_refused(relay, &(struct relay_asking){ .head = NULL }, 431, "its head is longer than 32768 bytes");
	} else {
		return taken;
	}
	explicit_bzero(head->data, head->size);
	buf_free(head);
	return taken;
}

/* ---- its body ---- */

static size_t chunks_take(struct http_relay *relay, const char *data, size_t size)
{
	_cleanup_buf_ struct buf content = { 0 };
	struct http_fault fault;
	char sentence[SECRET_SENTENCE];
	size_t used = 0;
	int done = http_chunks_take(&relay->request_chunks, data, size, &used, UINT64_MAX, &content, &fault);

	relay->failed |= content.failed || relay->request_trailers.failed;
	/* The server has the beginning of it: nothing that can be said would be the answer to that. */
	if (done < 0 || secret_refuse(&relay->target, "a trailer",
				      (struct http_text){ relay->request_trailers.data, relay->request_trailers.size },
				      sentence) < 0) {
		const struct relay_verdict verdict = { false, done < 0 ? NET_REASON_HTTP : NET_REASON_SECRET, NULL, "",
						       "" };

		relay->calls->tell(relay->owner, &verdict);
		relay_break(relay);
		return used;
	}
	relay_chunk_add(&relay->to_world.buf, content.data, content.size);
	if (done > 0) {
		buf_text(&relay->to_world.buf, "0\r\n");
		relay_trailers_add(&relay->to_world.buf, &relay->request_trailers);
		buf_text(&relay->to_world.buf, "\r\n");
		relay->request = PART_DONE;
		relay_exchange_settle(relay);
	}
	return used;
}

size_t relay_request_take(struct http_relay *relay, const char *data, size_t size)
{
	switch (relay->request) {
	case PART_HEAD:
		return head_take(relay, data, size);
	case PART_LENGTH:
		if (size > relay->request_left)
			size = (size_t)relay->request_left;
		buf_add(&relay->to_world.buf, data, size);
		relay->request_left -= size;
		if (relay->request_left == 0) {
			relay->request = PART_DONE;
			relay_exchange_settle(relay);
		}
		return size;
	case PART_CHUNKS:
		return chunks_take(relay, data, size);
	case PART_TUNNEL:
		buf_add(&relay->to_world.buf, data, size);
		return size;
	default:
		return 0;
	}
}
