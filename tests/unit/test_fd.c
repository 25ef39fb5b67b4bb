/* Whole reads and writes, and messages with descriptors that survive the sender's death. */
#include "../check.h"
#include "tree.h"

#include "base/fd.h"
#include "base/own.h"

#include <sys/resource.h>
#include <sys/socket.h>

static void pair(int ends[2])
{
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		abort();
}

static void messages_carry_descriptors(void)
{
	int ends[2], sent[2] = { 0, 1 }, got[FD_MESSAGE_MAX];
	char data[8] = "";
	size_t count = 9;

	pair(ends);
	CHECK_INT(fd_send(ends[0], "hello", 5, sent, 2), 0);
	CHECK_INT(fd_send(ends[0], "x", 1, NULL, 0), 0);
	CHECK_INT(fd_receive(ends[1], data, sizeof(data), got, &count), 5);
	CHECK_STR(data, "hello");
	CHECK_INT(count, 2);
	for (size_t i = 0; i < count && i < 2; i++) {
		CHECK_INT(fcntl(got[i], F_GETFD), FD_CLOEXEC);
		close(got[i]);
	}
	CHECK_INT(fd_receive(ends[1], data, sizeof(data), got, &count), 1);
	CHECK_INT(count, 0);
	close(ends[0]);
	CHECK_INT(fd_receive(ends[1], data, sizeof(data), got, &count), 0);
	close(ends[1]);
}

/* The kernel would pass over it in silence, and a box would not enter all of its groups. */
static void descriptors_that_have_no_number(void)
{
	int ends[2], sent[2] = { 0, 1 }, got[FD_MESSAGE_MAX], next;
	struct rlimit before, few;
	char data[8] = "";
	size_t count = 9;

	pair(ends);
	getrlimit(RLIMIT_NOFILE, &before);
	next = dup(0);
	close(next);
	few = (struct rlimit){ .rlim_cur = (rlim_t)next + 1, .rlim_max = before.rlim_max };
	CHECK_INT(fd_send(ends[0], "two", 3, sent, 2), 0);
	CHECK_INT(fd_send(ends[0], "one", 3, sent, 1), 0);
	setrlimit(RLIMIT_NOFILE, &few);
	CHECK_ERRNO(fd_receive(ends[1], data, sizeof(data), got, &count), EMFILE);
	CHECK_INT(count, 0);
	/* The one for which there was room is closed again, so the next finds it. */
	CHECK_INT(fd_receive(ends[1], data, sizeof(data), got, &count), 3);
	setrlimit(RLIMIT_NOFILE, &before);
	CHECK_INT(count, 1);
	CHECK_INT(got[0], next);
	close(got[0]);
	close(ends[0]);
	close(ends[1]);
}

/* Init reports why it failed and ends without reading what we sent it: the kernel then says ECONNRESET first. */
static void the_last_words_of_a_peer_that_did_not_read(void)
{
	int ends[2], got[FD_MESSAGE_MAX];
	char data[8] = "";
	size_t count;

	pair(ends);
	CHECK_INT(fd_send(ends[0], "go", 2, NULL, 0), 0);
	CHECK_INT(fd_send(ends[1], "why", 3, NULL, 0), 0);
	close(ends[1]);
	CHECK_INT(fd_receive(ends[0], data, sizeof(data), got, &count), 3);
	CHECK_STR(data, "why");
	CHECK_INT(fd_receive(ends[0], data, sizeof(data), got, &count), 0);
	CHECK_ERRNO(fd_send(ends[0], "x", 1, NULL, 0), EPIPE);
	close(ends[0]);
}

static void files(void)
{
	char *home = tree_new(), text[8];
	int dir = open(home, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int from, to;

	tree_write(dir, "a", "12345678", 8);
	CHECK_INT(fd_slurp(dir, "a", text, sizeof(text)), 7);
	CHECK_STR(text, "1234567");
	CHECK_ERRNO(fd_slurp(dir, "absent", text, sizeof(text)), ENOENT);
	CHECK_ERRNO(fd_slurp(dir, ".", text, sizeof(text)), EISDIR);
	from = openat(dir, "a", O_RDONLY | O_CLOEXEC);
	to = openat(dir, "b", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	CHECK_INT(fd_copy(from, to, 8), 0);
	CHECK_STR(tree_read(dir, "b"), "12345678");
	lseek(from, 0, SEEK_SET);
	CHECK_ERRNO(fd_copy(from, to, 7), EFBIG);
	lseek(from, 0, SEEK_SET);
	CHECK_INT(fd_read(from, text, 3), 3);
	CHECK_INT(fd_read(from, text, 8), 5);
	CHECK_INT(fd_read(from, text, 8), 0);
	CHECK_ERRNO(fd_write(from, "x", 1), EBADF);
	close(from);
	close(to);
	close(dir);
	tree_free(home);
}

static void closing_keeps_errno(void)
{
	int fd = dup(0), none = -1;

	errno = EXDEV;
	close_fd(&fd);
	close_fd(&none);
	CHECK_INT(fd, -1);
	CHECK_INT(errno, EXDEV);
}

int main(void)
{
	RUN(messages_carry_descriptors);
	RUN(descriptors_that_have_no_number);
	RUN(the_last_words_of_a_peer_that_did_not_read);
	RUN(files);
	RUN(closing_keeps_errno);
	return check_failures != 0;
}
