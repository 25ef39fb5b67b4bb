#include "result/output.h"

#include "base/fd.h"
#include "base/own.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <unistd.h>

void output_init(struct output *output)
{
	*output = (struct output){ .spool = -1 };
}

void output_free(struct output *output)
{
	buf_free(&output->near);
	close_fd(&output->spool);
}

static uint64_t output_kept(const struct output *output)
{
	return output->bytes < OUTPUT_SPOOL_MAX ? output->bytes : OUTPUT_SPOOL_MAX;
}

static int keep_near(struct output *output, const void *data, size_t size)
{
	buf_add(&output->near, data, size);
	errno = ENOMEM;
	return output->near.failed ? -1 : 0;
}

static int need_spool(struct output *output)
{
	if (output->spool >= 0)
		return 0;
	output->spool = memfd_create("output", MFD_CLOEXEC);
	if (output->spool < 0 || fd_write(output->spool, output->near.data, output->near.size) < 0)
		return -1;
	buf_free(&output->near);
	return 0;
}

static int keep_far(struct output *output, const void *data, size_t size)
{
	return need_spool(output) < 0 ? -1 : fd_write(output->spool, data, size);
}

long output_add(struct output *output, const void *data, size_t size)
{
	uint64_t room = OUTPUT_SPOOL_MAX - output_kept(output);
	size_t fits = size < room ? size : (size_t)room;
	bool near = output->spool < 0 && output->bytes + size <= OUTPUT_NEAR_MAX;

	if ((near ? keep_near(output, data, fits) : keep_far(output, data, fits)) < 0)
		return -1;
	output->bytes += size;
	output->over |= fits < size;
	return (long)fits;
}

long output_move(struct output *output, int pipe, size_t size)
{
	uint64_t room = OUTPUT_SPOOL_MAX - output_kept(output);
	ssize_t n;

	if (need_spool(output) < 0)
		return -1;
	if (room == 0)
		return 0;
	n = splice(pipe, NULL, output->spool, NULL, size < room ? size : (size_t)room,
		   SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
	if (n > 0)
		output->bytes += (uint64_t)n;
	return n;
}

long output_read(const struct output *output, void *data, size_t size, uint64_t offset)
{
	if (output->spool >= 0)
		return pread(output->spool, data, size, (off_t)offset);
	if (offset >= output->near.size)
		return 0;
	if (size > output->near.size - offset)
		size = output->near.size - offset;
	memcpy(data, output->near.data + offset, size);
	return (long)size;
}

int output_save(const struct output *output, int to)
{
	off_t at = 0;

	if (output->spool < 0)
		return fd_write(to, output->near.data, output->near.size);
	while ((uint64_t)at < output_kept(output)) {
		ssize_t n = sendfile(to, output->spool, &at, output_kept(output) - (uint64_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n == 0)
			errno = EIO;
		if (n <= 0)
			return -1;
	}
	return 0;
}

static void show_range(const struct output *output, uint64_t from, uint64_t size, struct buf *out)
{
	_cleanup_free_ char *data = malloc(size + 1);
	uint64_t used = 0;

	while (data && used < size) {
		long n = output_read(output, data + used, size - used, from + used);

		if (n <= 0)
			break;
		used += (uint64_t)n;
	}
	if (data)
		buf_utf8(out, data, used);
	out->failed |= !data;
}

/* The start of the character at `at`: a cut inside a character would be invalid UTF-8. */
static uint64_t character_start(const struct output *output, uint64_t at, int step)
{
	unsigned char byte;

	for (int i = 0; i < 3 && at > 0 && output_read(output, &byte, 1, at) == 1 && (byte & 0xC0) == 0x80; i++)
		at += (uint64_t)(int64_t)step;
	return at;
}

bool output_show(const struct output *output, uint64_t shown, struct buf *out)
{
	uint64_t all = output_kept(output), head, tail;

	if (all <= shown && !output->over) {
		show_range(output, 0, all, out);
		return false;
	}
	shown = shown < all ? shown : all;
	head = character_start(output, shown - shown / 2, -1);
	tail = character_start(output, all - shown / 2, 1);
	show_range(output, 0, head, out);
	buf_printf(out, "\n... %" PRIu64 " bytes left out ...\n", output->bytes - head - (all - tail));
	show_range(output, tail, all - tail, out);
	return true;
}

/*
 * Finds the text after a progress meter that overwrites its line (curl, pip, tqdm): empty if the line is only a meter,
 * otherwise the program's output after the last figures. Returns its length; *text points to it.
 */
static size_t behind_meter(const char **text, size_t size)
{
	const char *end = *text + size, *last = memrchr(*text, '\r', size), *colon;

	if (!last)
		return size;
	for (last++; last < end && memchr(" \t0123456789.:%-|/kKMGTP", *last, 24); last++)
		;
	/* A word and a colon: the name of a program and its error. */
	colon = memmem(last, (size_t)(end - last), ": ", 2);
	if (!colon || colon + 2 == end || !isalpha((unsigned char)*last) || memchr(" 0123456789", colon[2], 11))
		return 0;
	*text = last;
	return (size_t)(end - last);
}

void output_last_line(const struct output *output, char *line, size_t size)
{
	char block[4096];
	uint64_t all = output_kept(output), from = all > sizeof(block) ? all - sizeof(block) : 0;
	long n = output_read(output, block, sizeof(block), from), end = n;

	line[0] = '\0';
	while (end > 0 && !line[0]) {
		const char *text;
		size_t length;
		long start;

		while (end > 0 && memchr(" \t\r\n", block[end - 1], 4))
			end--;
		for (start = end; start > 0 && block[start - 1] != '\n'; start--)
			;
		text = block + start;
		length = behind_meter(&text, (size_t)(end - start));
		if (length >= size)
			length = size - 1;
		memcpy(line, text, length);
		line[length] = '\0';
		end = start;
	}
}
