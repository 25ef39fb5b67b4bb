/* File descriptors: whole reads and writes, and messages that carry descriptors. */
#pragma once

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Writes all of `data`, retrying short writes and EINTR. Returns 0, or -1 with errno. Safe after clone. */
int fd_write(int fd, const void *data, size_t size);

/* Reads `size` bytes, or until the end of the input. Returns the count, or -1 with errno. Safe after clone. */
ssize_t fd_read(int fd, void *data, size_t size);

/* Copies up to `limit` bytes. Returns 0, or -1 with errno (EFBIG if there is more to copy). Safe after clone. */
int fd_copy(int from, int to, uint64_t limit);

/* Sends one message of `size` bytes with up to FD_MESSAGE_MAX descriptors over a SOCK_SEQPACKET socket. Safe after
 * clone. */
#define FD_MESSAGE_MAX 16
int fd_send(int socket, const void *data, size_t size, const int *fds, size_t count);
/* fd_send() with the message in several parts. */
struct iovec;
int fd_send_parts(int socket, const struct iovec *parts, size_t part_count, const int *fds, size_t count);

/* Returns the size of the message, 0 at the end, or -1 with errno. Received descriptors are close-on-exec; *count is
 * their number, at most FD_MESSAGE_MAX. EMFILE: some were lost, because the process has reached its limit. */
ssize_t fd_receive(int socket, void *data, size_t size, int *fds, size_t *count);
ssize_t fd_receive_parts(int socket, const struct iovec *parts, size_t part_count, int *fds, size_t *count);

/* Opens a path below `dir` without following any link, so that untrusted content cannot redirect it, and without
 * blocking. Returns a descriptor, or -1 with errno. ENOSYS (before Linux 5.6) is an error: there is no safe
 * fallback. */
int fd_open_beneath(int dir, const char *path, int flags);
/* fd_open_beneath() that follows links which stay below `dir`, for a directory with untrusted content. EXDEV: the path
 * leads out of it. */
int fd_open_within(int dir, const char *path, int flags);

/* Reads a whole small file into `text` and terminates it. Returns the length, or -1 with errno. */
ssize_t fd_slurp(int dir, const char *path, char *text, size_t size);
