/* Tokens on disk: readable only by the owner, and replaced atomically. */
#include "base/fd.h"
#include "base/own.h"
#include "registry/tokens.h"
#include "base/state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	SECRET = 32 /* random bytes of a token */
};

int token_make(char *out, struct error *err)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
	unsigned char bytes[SECRET + 1] = { 0 };
	size_t used = 4;

	if (getrandom(bytes, SECRET, 0) != SECRET)
		return error_errno(err, "cannot get random bytes for a token");
	memcpy(out, "ebt_", 4);
	/* 256 bits in groups of six: 43 digits, the last one with four bits. */
	for (size_t bit = 0; bit < SECRET * 8; bit += 6) {
		unsigned pair = (unsigned)bytes[bit / 8] << 8 | bytes[bit / 8 + 1];

		out[used++] = digits[pair >> (10 - bit % 8) & 63];
	}
	out[used] = '\0';
	explicit_bzero(bytes, sizeof(bytes));
	return 0;
}

static int open_state(bool make, struct error *err)
{
	int dir = state_dir(make);
	char path[4096];

	if (dir >= 0 || !make)
		return dir;
	if (state_path("", path, sizeof(path)) < 0)
		return error_set(err, ERROR_FAILED, 0,
				 "there is no directory for tokens: neither EMBERBOX_HOME nor HOME is set");
	return error_set(err, ERROR_FAILED, 0,
			 "tokens cannot be stored in %s: it has to belong to you, and nobody else may write to it",
			 path);
}

static void path_of(const char *name, char *path, size_t size)
{
	if (state_path(name, path, size) < 0)
		snprintf(path, size, "%s", name);
}

/* Opens a file in the state directory that only we can read. Returns -1 with an error, or with errno ENOENT and no
 * error. */
static int open_secret(int dir, const char *name, struct error *err)
{
	_cleanup_close_ int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;
	char path[4096];

	if (fd < 0 && errno == ENOENT)
		return -1;
	path_of(name, path, sizeof(path));
	if (fd < 0 || fstat(fd, &st) < 0) {
		error_set(err, ERROR_USAGE, errno, "%s: cannot be read", path);
	} else if (!S_ISREG(st.st_mode) || st.st_uid != geteuid()) {
		error_usage(err, "%s: it is not a plain file that belongs to you", path);
	} else if (st.st_mode & 077) {
		error_usage(err, "%s: others can read it (mode %04o); use: chmod 600 %s", path,
			    (unsigned)(st.st_mode & 07777), path);
	} else {
		return take_fd(&fd);
	}
	errno = EINVAL;
	return -1;
}

/* Writes a file atomically; `replace`, or EEXIST. Returns 0, or -1 with errno. */
static int put_secret(int dir, const char *name, const char *data, size_t size, bool replace)
{
	_cleanup_close_ int fd = -1;
	char temporary[64];
	int done;

	snprintf(temporary, sizeof(temporary), ".%.20s.%ld.new", name, (long)getpid());
	/* Removes the file of a killed process that had the same pid. */
	unlinkat(dir, temporary, 0);
	fd = openat(dir, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -1;
	done = fchmod(fd, 0600) == 0 && fd_write(fd, data, size) == 0 && fsync(fd) == 0 ? 0 : -1;
	if (done == 0)
		done = renameat2(dir, temporary, dir, name, replace ? 0 : RENAME_NOREPLACE);
	if (done < 0) {
		int saved = errno;

		unlinkat(dir, temporary, 0);
		errno = saved;
	}
	return done;
}

static int read_first(int fd, char *out, struct error *err)
{
	char path[4096];
	ssize_t n = fd_read(fd, out, TOKEN_MAX - 1);

	path_of("token", path, sizeof(path));
	if (n < 0)
		return error_set(err, ERROR_USAGE, errno, "%s: cannot be read", path);
	while (n > 0 && strchr("\r\n", out[n - 1]))
		n--;
	out[n] = '\0';
	if (strlen(out) == (size_t)n && token_is_usable(out))
		return 0;
	*out = '\0';
	return error_usage(err,
			   "%s: expected one line of %d to %d visible ASCII characters; remove it to create a new one",
			   path, TOKEN_MIN, TOKEN_MAX - 2);
}

int token_stored(bool make, char *out, struct error *err)
{
	_cleanup_close_ int dir = -1, fd = -1;
	char line[TOKEN_MAX + 1], path[4096];

	*out = '\0';
	dir = open_state(make, err);
	if (dir < 0)
		return make ? -1 : 0;
	/* Twice: another process may create it between the check and our attempt. */
	for (int i = 0; i < 2; i++) {
		fd = open_secret(dir, "token", err);
		if (fd >= 0)
			return read_first(fd, out, err);
		if (errno != ENOENT)
			return -1;
		if (!make)
			return 0;
		if (token_make(out, err) < 0)
			return -1;
		snprintf(line, sizeof(line), "%s\n", out);
		if (put_secret(dir, "token", line, strlen(line), false) == 0)
			return 0;
		if (errno != EEXIST)
			break;
	}
	*out = '\0';
	path_of("token", path, sizeof(path));
	return error_errno(err, "%s: cannot be written", path);
}

int token_first(char *out, struct error *err)
{
	const char *given = getenv("EMBERBOX_TOKEN");

	if (!given)
		return token_stored(true, out, err);
	if (!token_is_usable(given))
		return error_usage(err, "EMBERBOX_TOKEN: it has to be %d to %d visible ASCII characters without blanks",
				   TOKEN_MIN, TOKEN_MAX - 1);
	snprintf(out, TOKEN_MAX, "%s", given);
	return 0;
}

int tokens_read(char **json, size_t *size, char *where, size_t where_size, struct error *err)
{
	_cleanup_free_ char *text = calloc(1, TOKENS_SIZE_MAX + 2);
	_cleanup_close_ int dir = -1, fd = -1;
	ssize_t n = 0;

	*json = NULL;
	*size = 0;
	path_of("tokens.json", where, where_size);
	if (!text)
		return error_set(err, ERROR_FAILED, ENOMEM, "cannot hold the tokens");
	dir = open_state(false, NULL);
	fd = dir < 0 ? -1 : open_secret(dir, "tokens.json", err);
	if (dir >= 0 && fd < 0 && errno != ENOENT)
		return -1;
	if (fd >= 0)
		n = fd_read(fd, text, TOKENS_SIZE_MAX + 1);
	if (n < 0)
		return error_set(err, ERROR_USAGE, errno, "%s: cannot be read", where);
	*size = (size_t)n;
	*json = take_ptr(text);
	return 0;
}

int tokens_write(const char *json, size_t size, struct error *err)
{
	_cleanup_close_ int dir = open_state(true, err);
	char path[4096];

	if (dir < 0)
		return -1;
	if (put_secret(dir, "tokens.json", json, size, true) == 0)
		return 0;
	path_of("tokens.json", path, sizeof(path));
	return error_errno(err, "%s: cannot be written", path);
}

int tokens_lock(struct error *err)
{
	_cleanup_close_ int dir = open_state(true, err), fd = -1;

	if (dir < 0)
		return -1;
	fd = openat(dir, "tokens.lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0 || flock(fd, LOCK_EX) < 0)
		return error_errno(err, "cannot lock the tokens");
	return take_fd(&fd);
}
