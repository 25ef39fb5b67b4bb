#include "daemon/message.h"

#include "base/fd.h"
#include "base/own.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8U
#endif

/* Nobody can change what the receiver has measured. */
#define BODY_SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

static int body_put(const void *body, size_t size, int *out, struct error *err)
{
	_cleanup_close_ int fd = memfd_create("message", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);

	/* Before 6.3 there is no such flag. */
	if (fd < 0 && errno == EINVAL)
		fd = memfd_create("message", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0 || fd_write(fd, body, size) < 0 || fcntl(fd, F_ADD_SEALS, BODY_SEALS) < 0)
		return error_errno(err, "cannot hold a message of %zu bytes", size);
	*out = take_fd(&fd);
	return 0;
}

int message_send(int socket, const struct message_head *head, const void *body, const int *fds, size_t fd_count,
		 struct error *err)
{
	struct iovec parts[2] = {
		{ .iov_base = (void *)head, .iov_len = sizeof(*head) },
		{ .iov_base = (void *)body, .iov_len = head->size },
	};
	bool large = head->size > MESSAGE_INLINE;
	_cleanup_close_ int memory = -1;
	int all[MESSAGE_FDS];

	if (head->size > MESSAGE_MAX || fd_count + large > MESSAGE_FDS)
		return error_set(err, ERROR_FAILED, EMSGSIZE, "a message has %llu bytes and %zu descriptors",
				 (unsigned long long)head->size, fd_count);
	for (size_t i = 0; i < fd_count; i++)
		all[i] = fds[i];
	if (large) {
		if (body_put(body, head->size, &memory, err) < 0)
			return -1;
		all[fd_count++] = memory;
	}
	if (fd_send_parts(socket, parts, large || head->size == 0 ? 1 : 2, all, fd_count) < 0)
		return error_errno(err, "cannot send a message");
	return 0;
}

/* The memfd is a stranger's: any descriptor could have come instead of one. */
static int body_take(int fd, struct message *message, struct error *err)
{
	int seals = fcntl(fd, F_GET_SEALS);
	size_t size = message->head.size;
	struct stat status;

	if (seals < 0 || (seals & BODY_SEALS) != BODY_SEALS)
		return error_set(err, ERROR_FAILED, EPROTO, "a message's body is not sealed");
	if (fstat(fd, &status) < 0 || (uint64_t)status.st_size != size)
		return error_set(err, ERROR_FAILED, EPROTO, "a message's body is not of the size it has to be");
	message->body = malloc(size + 1);
	if (!message->body)
		return error_set(err, ERROR_FAILED, ENOMEM, "cannot hold a message of %zu bytes", size);
	/* The position is shared with whoever sent it. */
	for (size_t used = 0; used < size;) {
		ssize_t n = pread(fd, (char *)message->body + used, size - used, (off_t)used);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return error_set(err, ERROR_FAILED, n < 0 ? errno : EPROTO, "cannot read a message's body");
		used += (size_t)n;
	}
	((char *)message->body)[size] = '\0';
	return 0;
}

/* What came, put in its place; all of it is the message's, whatever is wrong with it. */
static int message_settle(struct message *message, char *body, size_t size, int *fds, size_t fd_count,
			  struct error *err)
{
	bool large = message->head.size > MESSAGE_INLINE;
	_cleanup_close_ int memory = -1;

	if (large && fd_count > 0)
		memory = fds[--fd_count];
	for (size_t i = 0; i < fd_count; i++) {
		if (i < MESSAGE_FDS)
			message->fds[i] = fds[i];
		else
			close(fds[i]);
	}
	if (message->head.size > MESSAGE_MAX || size != (large ? 0 : message->head.size) || (large && memory < 0) ||
	    fd_count + large > MESSAGE_FDS) {
		free(body);
		return error_set(err, ERROR_FAILED, EPROTO, "a message is not as long as it says");
	}
	if (large) {
		free(body);
		return body_take(memory, message, err);
	}
	body[size] = '\0';
	message->body = realloc(body, size + 1) ?: body;
	return 0;
}

int message_receive(int socket, struct message *message, struct error *err)
{
	int fds[FD_MESSAGE_MAX];
	/* One byte more than may come: what was cut then has a wrong size. */
	char *body = malloc(MESSAGE_INLINE + 1);
	struct iovec parts[2] = {
		{ .iov_base = &message->head, .iov_len = sizeof(message->head) },
		{ .iov_base = body, .iov_len = MESSAGE_INLINE + 1 },
	};
	size_t fd_count = 0;
	ssize_t n;

	*message = (struct message){ 0 };
	for (size_t i = 0; i < MESSAGE_FDS; i++)
		message->fds[i] = -1;
	if (!body)
		return error_set(err, ERROR_FAILED, ENOMEM, "cannot hold a message");
	n = fd_receive_parts(socket, parts, ARRAY_SIZE(parts), fds, &fd_count);
	if (n >= (ssize_t)sizeof(message->head)) {
		if (message_settle(message, body, (size_t)n - sizeof(message->head), fds, fd_count, err) == 0)
			return 1;
		message_free(message);
		return -1;
	}
	free(body);
	while (fd_count > 0)
		close(fds[--fd_count]);
	if (n == 0)
		return 0;
	return n < 0 ? error_errno(err, "cannot receive a message")
		     : error_set(err, ERROR_FAILED, EPROTO, "a message is shorter than its head");
}

void message_free(struct message *message)
{
	free(message->body);
	message->body = NULL;
	for (size_t i = 0; i < MESSAGE_FDS; i++)
		close_fd(&message->fds[i]);
}

void refusal_pack(const struct error *err, struct message_refusal *refusal)
{
	*refusal = (struct message_refusal){ .code = err->code,
					     .errnum = err->errnum,
					     .detail = err->detail,
					     .remedy = err->remedy,
					     .with = err->with };
	snprintf(refusal->field, sizeof(refusal->field), "%s", err->field);
	snprintf(refusal->message, sizeof(refusal->message), "%s", err->text);
}

void refusal_unpack(const void *body, size_t size, struct error *err)
{
	struct message_refusal refusal;

	if (size != sizeof(refusal)) {
		error_set(err, ERROR_FAILED, 0, "the keeper gave no reason");
		return;
	}
	memcpy(&refusal, body, size);
	refusal.message[sizeof(refusal.message) - 1] = '\0';
	refusal.field[sizeof(refusal.field) - 1] = '\0';
	*err = (struct error){ .errnum = refusal.errnum };
	error_recode(err, refusal.code > CODE_NONE && refusal.code < CODE_COUNT ? (enum error_code)refusal.code
										: CODE_FAILED);
	if (refusal.detail <= strlen(refusal.message))
		err->detail = (uint16_t)refusal.detail;
	if (refusal.remedy <= strlen(refusal.message))
		err->remedy = (uint16_t)refusal.remedy;
	if (refusal.with <= strlen(refusal.message))
		err->with = (uint16_t)refusal.with;
	memcpy(err->field, refusal.field, sizeof(err->field));
	memcpy(err->text, refusal.message, sizeof(err->text));
}
