#include "store/spool.h"

#include "base/fd.h"
#include "base/own.h"
#include "result/result_network.h"
#include "store/fields.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

int spool_dir(int dir)
{
	int fd = openat(dir, "executions", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd >= 0 || errno != ENOENT)
		return fd;
	if (mkdirat(dir, "executions", 0700) < 0 && errno != EEXIST)
		return -1;
	return openat(dir, "executions", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

void spool_name(const char *id, int stream, char name[RESULT_ID + 8])
{
	snprintf(name, RESULT_ID + 8, "%s.%s", id, stream == 1 ? "out" : "err");
}

static bool is_ascii(const char *data, size_t size)
{
	uint64_t seen = 0, word;

	for (; size >= 8; data += 8, size -= 8) {
		memcpy(&word, data, 8);
		seen |= word;
	}
	for (; size > 0; size--)
		seen |= (unsigned char)*data++;
	return (seen & 0x8080808080808080) == 0;
}

/* Whether the text in the result equals the program's output. */
static bool is_shown_whole(const struct output *output, uint64_t shown)
{
	_cleanup_free_ char *large = NULL;
	_cleanup_buf_ struct buf text = { 0 };
	char small[8192], *data = small;
	size_t size = (size_t)output->bytes;
	long n;

	if (output->over || output->bytes > shown)
		return false;
	if (size > sizeof(small))
		data = large = malloc(size);
	n = data ? output_read(output, data, size, 0) : -1;
	if (n < 0 || (size_t)n != size)
		return false;
	if (is_ascii(data, size))
		return true;
	buf_utf8(&text, data, size);
	return !text.failed && text.size == size && memcmp(text.data, data, size) == 0;
}

static int spool_temporary(int executions, const char *name, char path[RESULT_ID + 64])
{
	snprintf(path, RESULT_ID + 64, ".%.64s.tmp", name);
	unlinkat(executions, path, 0);
	return openat(executions, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
}

/* `flags` are those of renameat2(). */
static int spool_settle(int executions, const char *path, const char *name, int done, unsigned flags)
{
	int saved;

	if (done == 0 && renameat2(executions, path, executions, name, flags) == 0)
		return 0;
	saved = errno;
	unlinkat(executions, path, 0);
	errno = saved;
	return -1;
}

static int keep_one(int executions, const char *id, int stream, const struct output *output)
{
	char name[RESULT_ID + 8], path[RESULT_ID + 64];
	_cleanup_close_ int fd = -1;

	spool_name(id, stream, name);
	fd = spool_temporary(executions, name, path);
	/* The output of a run is never replaced. */
	return fd < 0 ? -1 : spool_settle(executions, path, name, output_save(output, fd), RENAME_NOREPLACE);
}

int spool_write(int executions, const char *name, const struct iovec *parts, size_t count)
{
	_cleanup_close_ int fd = -1;
	char path[RESULT_ID + 64];
	int done = 0;

	fd = spool_temporary(executions, name, path);
	for (size_t i = 0; fd >= 0 && i < count && done == 0; i++)
		done = fd_write(fd, parts[i].iov_base, parts[i].iov_len);
	return fd < 0 ? -1 : spool_settle(executions, path, name, done, 0);
}

void spool_network_name(const char *id, char name[RESULT_ID + 8])
{
	snprintf(name, RESULT_ID + 8, "%s.net", id);
}

unsigned spool_keep_network(int dir, const struct result *result)
{
	_cleanup_close_ int executions = -1;
	_cleanup_free_ char *text = NULL;
	char name[RESULT_ID + 8];
	struct iovec part;
	json_t *root;

	if (result->network.count <= NET_REPORT_SHOWN)
		return 0;
	root = result_network_json(result, NET_REPORT_KEPT);
	text = root ? json_dumps(root, JSON_COMPACT | JSON_REAL_PRECISION(9)) : NULL;
	json_decref(root);
	executions = text ? spool_dir(dir) : -1;
	if (executions < 0)
		return 0;
	part = (struct iovec){ text, strlen(text) };
	spool_network_name(result->id, name);
	/* Without it the record says less, and is no reason to lose the rest. */
	return spool_write(executions, name, &part, 1) == 0 ? SPOOL_NETWORK : 0;
}

unsigned spool_keep(int dir, const struct result *result)
{
	_cleanup_close_ int executions = -1;
	unsigned kept = 0;

	for (int i = 0; i < 2; i++) {
		const struct output *output = &result->outputs[i];

		if (output->bytes == 0 || is_shown_whole(output, result->limits.max_output))
			continue;
		if (executions < 0)
			executions = spool_dir(dir);
		/* The loss is recorded; the record of the run has precedence over its output. */
		if (executions < 0 || keep_one(executions, result->id, i + 1, output) < 0)
			kept |= 1u << (i + SPOOL_LOST);
		else
			kept |= 1u << i;
	}
	return kept;
}
