/*
 * Pictures that a cell left in /sandbox/output, as rich results of it.
 *
 * What lies there was made by the program: a name promises nothing, so a file is
 * a picture by its first bytes, it is opened below that directory and through no
 * link, and what is taken is bounded, in number and size. Nothing is decoded.
 */
#include "live/session_parts.h"

#include "base/base64.h"
#include "base/fd.h"
#include "base/own.h"
#include "base/text.h"

#include <fcntl.h>
#include <jansson.h>
#include <string.h>
#include <sys/stat.h>

enum {
	PICTURES_MAX = 4,      /* of a cell */
	PICTURE_MAX = 1 << 20, /* bytes of one */
	LINES_MAX = 15 << 20,  /* of all rich results, with these */
};

static const struct kind {
	const char *suffix; /* of its name */
	const char *mime;   /* what it is then */
	const char *magic;  /* what it begins with; NULL: it is text, and has <svg in it */
	size_t size;        /* of that */
} kinds[] = {
	{ ".png", "image/png", "\x89PNG\r\n\x1a\n", 8 },
	{ ".jpg", "image/jpeg", "\xff\xd8\xff", 3 },
	{ ".jpeg", "image/jpeg", "\xff\xd8\xff", 3 },
	{ ".svg", "image/svg+xml", NULL, 0 },
};

static const struct kind *kind_of(const char *path)
{
	const size_t size = strlen(path);

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		const size_t end = strlen(kinds[i].suffix);

		if (size > end && strcmp(path + size - end, kinds[i].suffix) == 0)
			return &kinds[i];
	}
	return NULL;
}

/* What a rich result would have of it, as JSON; NULL: it is no picture, or too large. The box may change it meanwhile.
 */
static json_t *picture_data(int dir, const char *path, const struct kind *kind)
{
	_cleanup_close_ int fd = fd_open_beneath(dir, path, O_RDONLY);
	_cleanup_free_ char *data = NULL;
	_cleanup_buf_ struct buf text = { 0 };
	struct stat st;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > PICTURE_MAX)
		return NULL;
	data = malloc(PICTURE_MAX + 1);
	n = data ? fd_read(fd, data, PICTURE_MAX + 1) : -1;
	if (n <= 0 || n > PICTURE_MAX)
		return NULL;
	if (!kind->magic)
		return memmem(data, (size_t)n, "<svg", 4) ? json_stringn(data, (size_t)n) : NULL;
	if ((size_t)n < kind->size || memcmp(data, kind->magic, kind->size) != 0)
		return NULL;
	base64_add(&text, data, (size_t)n);
	return text.failed ? NULL : json_stringn(text.data, text.size);
}

void session_offer_pictures(int dir, const struct file_list *files, struct buf *rich)
{
	size_t offered = 0;

	for (size_t i = 0; i < files->count && offered < PICTURES_MAX; i++) {
		const char *path = files->entries[i].path;
		const struct kind *kind = files->entries[i].size > PICTURE_MAX ? NULL : kind_of(path);
		json_t *data = kind ? picture_data(dir, path, kind) : NULL;
		_cleanup_free_ char *shown = data ? json_dumps(data, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
		_cleanup_free_ char *line = NULL;
		char name[512];
		json_t *object;

		/* A cell that displayed it as well wants it once. */
		if (!shown || snprintf(name, sizeof(name), "/sandbox/output/%s", path) >= (int)sizeof(name) ||
		    (rich->size > 0 && memmem(rich->data, rich->size, shown, strlen(shown)))) {
			json_decref(data);
			continue;
		}
		/* NULL, and so left out, if the name is not UTF-8. */
		object = json_pack("{s:s, s:o}", "text/plain", name, kind->mime, data);
		line = object ? json_dumps(object, JSON_COMPACT) : NULL;
		json_decref(object);
		if (!line || rich->size + strlen(line) > LINES_MAX)
			continue;
		buf_printf(rich, "%s\n", line);
		offered++;
	}
}
