/* File descriptors: whole reads and writes, and messages that carry descriptors. */
#pragma once

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Writes all of it, retrying short writes and EINTR. 0, or -1 with errno. Safe after clone. */
int fd_write(int fd, const void *data, size_t size);

/* Reads until `size` bytes or the end. The count, or -1 with errno. Safe after clone. */
ssize_t fd_read(int fd, void *data, size_t size);

/* Copies up to `limit` bytes from one to the other. 0, or -1 with errno (EFBIG when there
 * was more). Safe after clone. */
int fd_copy(int from, int to, uint64_t limit);

/* One message of `size` bytes with up to FD_MESSAGE_MAX descriptors over a SOCK_SEQPACKET socket. Safe after clone. */
#define FD_MESSAGE_MAX 16
int fd_send(int socket, const void *data, size_t size, const int *fds, size_t count);
/* The same from several places. */
struct iovec;
int fd_send_parts(int socket, const struct iovec *parts, size_t part_count, const int *fds, size_t count);

/* The size of the message, 0 at the end, -1 with errno. Received descriptors are close-on-exec; *count tells how many
 * of at most FD_MESSAGE_MAX. EMFILE when some were lost because the process may not have so many. */
ssize_t fd_receive(int socket, void *data, size_t size, int *fds, size_t *count);
ssize_t fd_receive_parts(int socket, const struct iovec *parts, size_t part_count, int *fds, size_t *count);

/* Opens below `dir` and through no link of any kind, also if what lies there was made by a stranger; it never waits. An
 * fd, or -1 with errno: ENOSYS before 5.6 is an error like any other, there is no safe second best. */
int fd_open_beneath(int dir, const char *path, int flags);
/* The same through links that stay below `dir`, for a directory of the caller's that a stranger may have filled. EXDEV:
 * the path leads out. */
int fd_open_within(int dir, const char *path, int flags);

/* A whole small file into `text`, terminated. The length, or -1 with errno. */
ssize_t fd_slurp(int dir, const char *path, char *text, size_t size);
