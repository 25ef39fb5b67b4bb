/* Messages between front and keeper: whole or refused, whatever a peer sends, and no descriptor stays open. */
#include "../check.h"

#include "base/fd.h"
#include "daemon/message.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	LARGE = MESSAGE_INLINE + 1
};

static int ends[2]; /* what is sent on the first is received on the second */

static size_t open_count(void)
{
	DIR *dir = opendir("/proc/self/fd");
	size_t count = 0;

	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

static void pair(void)
{
	CHECK_INT(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
}

static void unpair(void)
{
	close(ends[0]);
	close(ends[1]);
}

static void bodies_of_every_size(void)
{
	static const size_t sizes[] = { 0, 1, 1000, MESSAGE_INLINE, LARGE, 3 << 20 };
	size_t before = open_count();
	struct error err;

	pair();
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct message_head head = { .kind = MESSAGE_RUN, .manner = 1, .run = 7 + i, .size = sizes[i] };
		char *body = malloc(sizes[i] + 1);
		struct message got;

		memset(body, (int)('a' + i), sizes[i]);
		CHECK_INT(message_send(ends[0], &head, body, NULL, 0, &err), 0);
		CHECK_INT(message_receive(ends[1], &got, &err), 1);
		CHECK(memcmp(&got.head, &head, sizeof(head)) == 0);
		CHECK(memcmp(got.body, body, sizes[i]) == 0);
		CHECK_INT(((char *)got.body)[sizes[i]], 0);
		CHECK_INT(got.fds[0], -1);
		message_free(&got);
		free(body);
	}
	unpair();
	CHECK_INT(open_count(), before);
}

static void descriptors_come_along(size_t size)
{
	struct message_head head = { .kind = MESSAGE_RUN, .run = 1, .size = size };
	size_t before = open_count();
	char *body = calloc(1, size + 1);
	int pipes[4];
	struct message got;
	struct error err;
	char byte;

	pair();
	CHECK_INT(pipe2(pipes, O_CLOEXEC), 0);
	CHECK_INT(pipe2(pipes + 2, O_CLOEXEC), 0);
	CHECK_INT(message_send(ends[0], &head, body, (int[]){ pipes[0], pipes[2] }, 2, &err), 0);
	CHECK_INT(message_receive(ends[1], &got, &err), 1);
	CHECK(got.fds[0] >= 0 && got.fds[1] >= 0);
	CHECK_INT(got.fds[2], -1);
	CHECK_INT(fcntl(got.fds[0], F_GETFD), FD_CLOEXEC);
	CHECK_INT(write(pipes[1], "x", 1), 1);
	CHECK_INT(read(got.fds[0], &byte, 1), 1);
	CHECK_INT(write(pipes[3], "y", 1), 1);
	CHECK_INT(read(got.fds[1], &byte, 1), 1);
	CHECK_INT(byte, 'y');
	message_free(&got);
	CHECK_INT(got.fds[0], -1);
	for (int i = 0; i < 4; i++)
		close(pipes[i]);
	unpair();
	free(body);
	CHECK_INT(open_count(), before);
}

static void descriptors_with_a_small_body(void)
{
	descriptors_come_along(5);
}

static void descriptors_with_a_large_body(void)
{
	descriptors_come_along(LARGE);
}

static void too_much_is_not_sent(void)
{
	struct message_head head = { .kind = MESSAGE_RUN, .size = (uint64_t)MESSAGE_MAX + 1 };
	int none[MESSAGE_FDS + 1] = { 0 };
	struct error err;

	pair();
	CHECK_INT(message_send(ends[0], &head, NULL, NULL, 0, &err), -1);
	CHECK_INT(err.errnum, EMSGSIZE);
	head.size = 0;
	CHECK_INT(message_send(ends[0], &head, NULL, none, MESSAGE_FDS + 1, &err), -1);
	CHECK_INT(err.errnum, EMSGSIZE);
	unpair();
}

static void the_end_is_told(void)
{
	struct message got;
	struct error err;

	pair();
	CHECK_INT(message_receive(ends[1], &got, &err), -1);
	CHECK_INT(err.errnum, EAGAIN);
	close(ends[0]);
	ends[0] = -1;
	CHECK_INT(message_receive(ends[1], &got, &err), 0);
	unpair();
}

/* Sends bytes and descriptors as they are, and the receiver must refuse them with this sentence. */
static void refused(const void *data, size_t size, const int *fds, size_t count, const char *why)
{
	size_t before;
	struct message got;
	struct error err = { 0 };

	pair();
	before = open_count();
	CHECK_INT(fd_send(ends[0], data, size, fds, count), 0);
	CHECK_INT(message_receive(ends[1], &got, &err), -1);
	CHECK_STR(err.text, why);
	CHECK_INT(open_count(), before);
	unpair();
}

#define WRONG_SIZE "a message is not as long as it says: Protocol error"

static void sizes_that_lie(void)
{
	static char packet[sizeof(struct message_head) + MESSAGE_INLINE + 10];
	struct message_head head = { .kind = MESSAGE_RUN, .size = 10 };

	memcpy(packet, &head, sizeof(head));
	refused(packet, sizeof(head) - 1, NULL, 0, "a message is shorter than its head: Protocol error");
	refused(packet, sizeof(head) + 9, NULL, 0, WRONG_SIZE);
	refused(packet, sizeof(head) + 11, NULL, 0, WRONG_SIZE);
	head.size = MESSAGE_INLINE + 10;
	memcpy(packet, &head, sizeof(head));
	refused(packet, sizeof(packet), NULL, 0, WRONG_SIZE);
	head.size = MESSAGE_INLINE;
	memcpy(packet, &head, sizeof(head));
	refused(packet, sizeof(packet), NULL, 0, WRONG_SIZE);
	head.size = UINT64_MAX;
	refused(&head, sizeof(head), NULL, 0, WRONG_SIZE);
}

static void more_descriptors_than_there_may_be(void)
{
	struct message_head head = { .kind = MESSAGE_RUN };
	int fds[MESSAGE_FDS + 1] = { 0 };

	refused(&head, sizeof(head), fds, MESSAGE_FDS + 1, WRONG_SIZE);
	head.size = LARGE;
	refused(&head, sizeof(head), fds, MESSAGE_FDS + 1, WRONG_SIZE);
}

static int memory(size_t size, int seals)
{
	int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	CHECK_INT(ftruncate(fd, (off_t)size), 0);
	CHECK_INT(fcntl(fd, F_ADD_SEALS, seals), 0);
	return fd;
}

static void bodies_that_are_not_sealed(void)
{
	static const int all[] = { F_SEAL_SEAL, F_SEAL_SHRINK, F_SEAL_GROW, F_SEAL_WRITE };
	struct message_head head = { .kind = MESSAGE_RUN, .size = LARGE };
	const char *why = "a message's body is not sealed: Protocol error";
	int pipes[2], fd;

	for (int i = 0; i < 4; i++) {
		int seals = 0;

		for (int j = 0; j < 4; j++)
			seals |= i == j ? 0 : all[j];
		fd = memory(LARGE, seals);
		refused(&head, sizeof(head), &fd, 1, why);
		close(fd);
	}
	CHECK_INT(pipe2(pipes, O_CLOEXEC), 0);
	refused(&head, sizeof(head), pipes, 1, why);
	close(pipes[0]);
	close(pipes[1]);
	for (int i = -1; i <= 1; i += 2) {
		fd = memory((size_t)(LARGE + i), all[0] | all[1] | all[2] | all[3]);
		refused(&head, sizeof(head), &fd, 1,
			"a message's body is not of the size it has to be: Protocol error");
		close(fd);
	}
}

/* What a keeper says of an error reaches the front whole. */
static void refusals_cross(void)
{
	struct message_refusal refusal;
	struct error err, there = { 0 };

	error_refuse(&err, CODE_NOT_FOUND, "session", "there is no session of that id");
	err.errnum = ESRCH;
	refusal_pack(&err, &refusal);
	refusal_unpack(&refusal, sizeof(refusal), &there);
	CHECK_INT(there.kind, ERROR_FAILED);
	CHECK_INT(there.code, CODE_NOT_FOUND);
	CHECK_INT(there.errnum, ESRCH);
	CHECK_STR(there.field, "session");
	CHECK_STR(there.text, "session: there is no session of that id");
	CHECK_STR(error_detail(&there), "there is no session of that id");
}

/* And whatever a keeper that was taken over says is an error that can be used. */
static void refusals_that_lie(void)
{
	struct message_refusal refusal;
	struct error err;

	memset(&refusal, 0xff, sizeof(refusal));
	refusal_unpack(&refusal, sizeof(refusal), &err);
	CHECK_INT(err.code, CODE_FAILED);
	CHECK_INT(err.kind, ERROR_FAILED);
	CHECK_INT(strlen(err.text), sizeof(err.text) - 1);
	CHECK_INT(strlen(err.field), sizeof(err.field) - 1);
	CHECK_STR(error_detail(&err), err.text);
	refusal = (struct message_refusal){ .code = CODE_NONE, .detail = 1 };
	refusal_unpack(&refusal, sizeof(refusal), &err);
	CHECK_INT(err.code, CODE_FAILED);
	CHECK_STR(error_detail(&err), "");
	refusal_unpack(&refusal, sizeof(refusal) - 1, &err);
	CHECK_INT(err.code, CODE_FAILED);
	CHECK_STR(err.text, "the keeper gave no reason");
}

int main(void)
{
	RUN(bodies_of_every_size);
	RUN(descriptors_with_a_small_body);
	RUN(descriptors_with_a_large_body);
	RUN(too_much_is_not_sent);
	RUN(the_end_is_told);
	RUN(sizes_that_lie);
	RUN(more_descriptors_than_there_may_be);
	RUN(bodies_that_are_not_sealed);
	RUN(refusals_cross);
	RUN(refusals_that_lie);
	return check_failures != 0;
}
