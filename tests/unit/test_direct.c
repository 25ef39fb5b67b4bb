/* The keeper's own way to a client: whole frames, or none. */
#include "check.h"
#include "daemon/keeper/direct.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

static int ends[2]; /* the keeper's, the client's */
static char block[FRAME_BYTES_MAX];

static void open_pair(void)
{
	CHECK_INT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	memset(block, 'x', sizeof(block));
}

static void read_all(int fd, void *data, size_t size)
{
	char *at = data;

	while (size > 0) {
		ssize_t n = read(fd, at, size);

		CHECK(n > 0);
		at += n;
		size -= (size_t)n;
	}
}

/* Reads one frame; its size. */
static uint32_t hear(enum frame_kind kind)
{
	static char payload[FRAME_BYTES_MAX];
	unsigned char header[FRAME_HEADER];
	struct frame frame;

	read_all(ends[1], header, sizeof(header));
	CHECK_INT(frame_decode(header, &frame), 0);
	CHECK_INT(frame.kind, kind);
	read_all(ends[1], payload, frame.size);
	CHECK(memcmp(payload, block, frame.size) == 0);
	return frame.size;
}

/* A file with the same in it, after some bytes that are not asked for. */
static int block_file(void)
{
	int fd = memfd_create("block", MFD_CLOEXEC);

	CHECK_INT(write(fd, "before", 6), 6);
	CHECK_INT(write(fd, block, sizeof(block)), sizeof(block));
	return fd;
}

static void frames_arrive_in_order(void)
{
	struct direct direct = { 0 };
	int file;

	open_pair();
	file = block_file();
	direct.client = ends[0];
	CHECK(direct_send(&direct, FRAME_STARTED, block, 10));
	CHECK(direct_send(&direct, FRAME_STDOUT, block, sizeof(block)));
	CHECK_INT(hear(FRAME_STARTED), 10);
	CHECK_INT(hear(FRAME_STDOUT), sizeof(block));
	CHECK(direct_send_file(&direct, FRAME_STDERR, file, 6, sizeof(block)));
	CHECK(direct_send_file(&direct, FRAME_STDERR, file, 6, 1));
	CHECK(direct_send(&direct, FRAME_RESULT, block, 1));
	CHECK_INT(hear(FRAME_STDERR), sizeof(block));
	CHECK_INT(hear(FRAME_STDERR), 1);
	CHECK_INT(hear(FRAME_RESULT), 1);
	close(file);
	close(ends[0]);
	close(ends[1]);
}

/* To a client that does not read: what was sent is whole frames, and nothing is sent after the first that was not. */
static void does_not_read(bool by_file)
{
	struct direct direct = { 0 };
	uint32_t sent = 0, heard = 0;
	char byte;
	int file;

	open_pair();
	file = block_file();
	direct.client = ends[0];
	while (sent < 1000 && (by_file ? direct_send_file(&direct, FRAME_STDERR, file, 6, 50000)
				       : direct_send(&direct, FRAME_STDERR, block, 50000)))
		sent++;
	close(file);
	CHECK(sent > 0 && sent < 1000);
	CHECK_INT(direct.client, -1);
	while (heard < sent) {
		CHECK_INT(hear(FRAME_STDERR), 50000);
		heard++;
	}
	/* There is room again, and it is not used. */
	CHECK(!direct_send(&direct, FRAME_RESULT, block, 1));
	CHECK_INT(recv(ends[1], &byte, 1, MSG_DONTWAIT), -1);
	CHECK_INT(errno, EAGAIN);
	close(ends[0]);
	close(ends[1]);
}

static void a_client_that_does_not_read(void)
{
	does_not_read(false);
	does_not_read(true);
}

static void a_client_that_is_gone(void)
{
	for (int by_file = 0; by_file < 2; by_file++) {
		struct direct direct = { 0 };
		int file;

		open_pair();
		file = block_file();
		direct.client = ends[0];
		close(ends[1]);
		CHECK(!(by_file ? direct_send_file(&direct, FRAME_STDOUT, file, 6, 9)
				: direct_send(&direct, FRAME_RESULT, block, 1)));
		CHECK_INT(direct.client, -1);
		close(ends[0]);
		close(file);
	}
}

int main(void)
{
	signal(SIGPIPE, SIG_DFL);
	RUN(frames_arrive_in_order);
	RUN(a_client_that_does_not_read);
	RUN(a_client_that_is_gone);
	return check_failures != 0;
}
