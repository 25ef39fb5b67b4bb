/* Requests of strangers: what is taken lies inside what was sent, reads the same however it was cut, and holds what the
 * head promises. What is behind the head goes through the chunks, the query and the fields through theirs. */
#include "fuzz.h"

#include "base/json_check.h"
#include "http/http.h"

#include <string.h>

static void http_inside(struct http_text text, const char *data, size_t size)
{
	MUST(!text.data || text.size == 0 || (text.data >= data && text.data + text.size <= data + size));
	MUST(text.data || text.size == 0);
	MUST(!text.data || (!memchr(text.data, '\r', text.size) && !memchr(text.data, '\n', text.size)));
	MUST(!text.data || !memchr(text.data, '\0', text.size));
}

static void http_path_holds(const char *path)
{
	size_t size = strnlen(path, HTTP_PATH_MAX);

	MUST(size > 0 && size < HTTP_PATH_MAX);
	MUST(path[0] == '/' || strcmp(path, "*") == 0);
	MUST(json_is_plain_text(path, size));
	MUST(!strstr(path, "/../") && !strstr(path, "/./"));
	MUST(size < 3 || strcmp(path + size - 3, "/..") != 0);
	MUST(size < 2 || strcmp(path + size - 2, "/.") != 0);
	for (size_t i = 0; i < size; i++)
		MUST((unsigned char)path[i] >= 0x20 && path[i] != 0x7f);
}

static void http_query_holds(struct http_text query)
{
	char name[32], value[32];

	for (size_t at = 0; http_query_next(query, &at, name, sizeof(name));) {
		int got;

		MUST(strlen(name) < sizeof(name));
		got = http_query_get(query, name, value, sizeof(value));
		MUST(got != 0 || strchr(name, '%') || strstr(name, "..."));
		MUST(got != 1 || json_is_plain_text(value, strlen(value)));
	}
}

static void http_values_hold(const struct http_head *head)
{
	static const char *const names[] = { "box.example", NULL };
	static const char *const any[] = { "*", NULL };

	for (size_t i = 0; i < head->field_count; i++) {
		struct http_text value = head->fields[i].value;
		uint64_t first = 1, last = 0;

		if (http_range(value, 1000, &first, &last) == 1)
			MUST(first <= last && last < 1000);
		if (http_host_allowed(value, names))
			MUST(http_host_allowed(value, any));
		if (http_origin_allowed(value, names))
			MUST(value.size > 7 && !memchr(value.data, '@', value.size));
		http_text_has_token(value, "close");
	}
}

/* Whole and byte by byte are the same body. */
static void http_chunks_hold(const char *data, size_t size)
{
	struct http_chunks whole = { 0 }, pieces = { 0 };
	struct buf a = { 0 }, b = { 0 };
	struct http_fault fault = { 0 }, other = { 0 };
	size_t used = 0, sum = 0;
	int got = http_chunks_take(&whole, data, size, &used, 4096, &a, &fault), step = 0;

	MUST(used <= size && a.size <= 4096 && a.size == whole.total);
	MUST(got != 0 || used == size);
	while (sum < size && step == 0) {
		size_t n = 0;

		step = http_chunks_take(&pieces, data + sum, 1, &n, 4096, &b, &other);
		MUST(n == 1);
		sum += n;
	}
	MUST(step == got && sum == used && a.size == b.size);
	MUST(a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
	MUST(got >= 0 || (fault.status == other.status && fault.status >= 400 && fault.message));
	buf_free(&a);
	buf_free(&b);
}

static void http_head_holds(const char *data, size_t size, const struct http_head *head)
{
	static struct http_head again;
	struct http_fault fault;
	char *part;

	http_path_holds(head->path);
	http_inside(head->query, data, size);
	http_inside(head->host, data, size);
	MUST(head->field_count <= HTTP_HEADERS_MAX);
	for (size_t i = 0; i < head->field_count; i++) {
		MUST(head->fields[i].name.size > 0);
		http_inside(head->fields[i].name, data, size);
		http_inside(head->fields[i].value, data, size);
	}
	MUST(!head->chunked || (head->length == 0 && head->minor == 1));
	MUST(head->minor == 0 || head->host.data);
	/* Cut, it is never taken and never refused. */
	for (size_t cut = 0; cut < size; cut += 1 + size / 16) {
		part = fuzz_text_of(data, cut);
		MUST(http_parse(part, cut, &again, &fault) == 0);
		free(part);
	}
	part = fuzz_text_of(data, size);
	MUST(http_parse(part, size, &again, &fault) == (long)size);
	MUST(strcmp(again.path, head->path) == 0 && again.length == head->length && again.chunked == head->chunked);
	free(part);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct http_head head;
	struct http_fault fault = { 0 };
	const char *text = (const char *)data;
	long got = http_parse(text, size, &head, &fault);

	if (got < 0) {
		MUST(got == -1 && fault.status >= 400 && fault.status <= 505 && fault.message && *fault.message);
	} else if (got > 0) {
		MUST((size_t)got <= size && got <= HTTP_HEAD_MAX);
		http_head_holds(text, (size_t)got, &head);
		http_query_holds(head.query);
		http_values_hold(&head);
		http_chunks_hold(text + got, size - (size_t)got);
	} else {
		MUST(size < HTTP_HEAD_MAX);
	}
	return 0;
}
