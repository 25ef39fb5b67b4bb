/* Parses "/a/b?c", "http://host/a/b?c" and "*". Targets are decoded here only. */
#include "http/target.h"

#include "base/json_check.h"
#include "http/header_text.h"

#include <string.h>
#include <strings.h>

bool http_is_authority(struct http_text text)
{
	for (size_t i = 0; i < text.size; i++) {
		char c = text.data[i], small = c | 0x20;

		if (!(small >= 'a' && small <= 'z') && !http_is_digit(c) && (c == '\0' || !strchr("-._~:[]%", c)))
			return false;
	}
	return true;
}

/* Decodes one character of the path into *c. Returns its length, or 0. `below_files`: it is in the path of a file. */
static size_t path_character(const char *at, size_t left, bool below_files, char *c, struct http_fault *fault)
{
	int byte;

	*c = *at;
	if (*at == '\\') {
		http_refuse(fault, 400, "the path has a backslash in it; write / or %5C");
		return 0;
	}
	if (*at != '%')
		return 1;
	byte = http_percent(at, left);
	if (byte < 0)
		http_refuse(fault, 400, "the path has a % that is not followed by two hexadecimal digits");
	else if (byte < 0x20 || byte == 0x7f)
		http_refuse(fault, 400, "the path has an encoded control byte in it");
	else if (byte == '/' && !below_files)
		/* A proxy could see a separator here where we see none, or the reverse, and check another path than
		 * ours. */
		http_refuse(fault, 404, "the path has an encoded slash (%2F) in it; write /");
	else {
		*c = (char)byte;
		return 3;
	}
	return 0;
}

/* Whether the path so far leads to files: /v1/sessions/ID/files/… Generated clients encode the slashes of a path
 * parameter. */
static bool path_is_of_files(const char *path, size_t size)
{
	static const char files[] = "/files/";
	const size_t length = sizeof(files) - 1;

	return size >= length && memcmp(path + size - length, files, length) == 0;
}

static bool path_has_dots(const char *path)
{
	for (const char *part = path; part; part = strchr(part, '/')) {
		size_t size;

		part++;
		size = strcspn(part, "/");
		if ((size == 1 || size == 2) && memcmp(part, "..", size) == 0)
			return true;
	}
	return false;
}

static int path_decode(struct http_text text, struct http_head *head, struct http_fault *fault)
{
	bool below_files = false;
	size_t size = 0;

	for (size_t at = 0; at < text.size;) {
		char c;
		size_t n = path_character(text.data + at, text.size - at, below_files, &c, fault);

		if (n == 0)
			return -1;
		if (size + 1 >= sizeof(head->path))
			return http_refuse(fault, 414, "the path is longer than 1023 bytes");
		head->path[size++] = c;
		at += n;
		below_files |= path_is_of_files(head->path, size);
	}
	head->path[size] = '\0';
	if (!json_is_plain_text(head->path, size))
		return http_refuse(fault, 400, "the path is not valid UTF-8");
	if (path_has_dots(head->path))
		return http_refuse(fault, 404, "the path has a \".\" or \"..\" part; write the path without it");
	return 0;
}

/* Takes "http://HOST" off the front of the target. */
static int host_split(struct http_text *target, struct http_text *host, struct http_fault *fault)
{
	size_t scheme = 0, end;

	if (target->size >= 7 && strncasecmp(target->data, "http://", 7) == 0)
		scheme = 7;
	else if (target->size >= 8 && strncasecmp(target->data, "https://", 8) == 0)
		scheme = 8;
	else
		return http_refuse(fault, 400, "the target has to be a path that begins with /");
	for (end = scheme; end < target->size && target->data[end] != '/' && target->data[end] != '?';)
		end++;
	*host = (struct http_text){ target->data + scheme, end - scheme };
	if (host->size == 0 || !http_is_authority(*host))
		return http_refuse(fault, 400, "the target has no valid host");
	target->data += end;
	target->size -= end;
	return 0;
}

int http_target(struct http_text target, struct http_head *head, struct http_text *host, struct http_fault *fault)
{
	const char *question;
	struct http_text path;

	for (size_t i = 0; i < target.size; i++)
		if (target.data[i] <= ' ' || target.data[i] >= 0x7f)
			return http_refuse(fault, 400, "the target has a byte in it that has to be written as %XX");
	if (memchr(target.data, '#', target.size))
		return http_refuse(fault, 400, "the target has a # in it; leave the fragment out, or write %23");
	if (target.size == 1 && target.data[0] == '*') {
		if (head->method != HTTP_OPTIONS)
			return http_refuse(fault, 400, "the target * is for OPTIONS only");
		memcpy(head->path, "*", 2);
		return 0;
	}
	if (target.data[0] != '/' && host_split(&target, host, fault) < 0)
		return -1;
	path = target;
	question = target.size > 0 ? memchr(target.data, '?', target.size) : NULL;
	if (question) {
		path.size = (size_t)(question - target.data);
		head->query = (struct http_text){ question + 1, target.size - path.size - 1 };
	}
	/* Only an absolute target may have an empty path. */
	if (path.size == 0)
		path = (struct http_text){ "/", 1 };
	return path_decode(path, head, fault);
}
