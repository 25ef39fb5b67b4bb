/*
 * Pictures that a cell left in /sandbox/output become rich results of the cell.
 *
 * The files were made by the program, so their names promise nothing: a file is
 * a picture by its first bytes. It is opened beneath that directory and not
 * through links. Number and size are bounded. Nothing is decoded.
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
	LINES_MAX = 15 << 20,  /* bytes of all rich results, these included */
};

static const struct kind {
	const char *suffix; /* of the file's name */
	const char *mime;   /* its type */
	const char *magic;  /* its first bytes; NULL: it is text that contains <svg */
	size_t size;        /* number of those bytes */
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

/* The picture as the JSON value of a rich result. NULL: the file is not a picture, or too large. The box may change it
 * meanwhile. */
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

		/* A picture that the cell has displayed already is not repeated. */
		if (!shown || snprintf(name, sizeof(name), "/sandbox/output/%s", path) >= (int)sizeof(name) ||
		    (rich->size > 0 && memmem(rich->data, rich->size, shown, strlen(shown)))) {
			json_decref(data);
			continue;
		}
		/* NULL if the name is not UTF-8: the picture is left out. */
		object = json_pack("{s:s, s:o}", "text/plain", name, kind->mime, data);
		line = object ? json_dumps(object, JSON_COMPACT) : NULL;
		json_decref(object);
		if (!line || rich->size + strlen(line) > LINES_MAX)
			continue;
		buf_printf(rich, "%s\n", line);
		offered++;
	}
}
