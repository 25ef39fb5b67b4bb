#include "client/client.h"

#include "base/own.h"
#include "base/terminal_size.h"
#include "wire/frame.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
	PATIENCE_MSEC = 3000,                  /* timeout for the answer after a cancellation */
	ROOM = FRAME_HEADER + FRAME_BYTES_MAX, /* bytes of one read; a larger frame gets a larger buffer */
};

enum {
	WATCH_SOCKET,
	WATCH_CANCEL,
	WATCH_INPUT,
	WATCH_WINDOW,
	WATCHES
};

/* One run over one connection. The socket is non-blocking: if both sides wrote at the same time, a blocking write could
 * deadlock. */
struct client_link {
	int socket;                         /* connected to the service */
	const struct client_io *io;         /* the caller's descriptors and callbacks */
	struct client_answer *answer;       /* receives the answer */
	unsigned char header[FRAME_HEADER]; /* header of the outgoing frame */
	struct iovec out[2];                /* unsent part of that frame */
	bool deaf;                          /* the service has closed its receiving side; it may have sent the reason */
	bool cancelled;                     /* cancellation was requested */
	bool cancel_sent;                   /* the CANCEL frame is queued */
	bool input_open;                    /* stdin has not ended */
	bool window_open;                   /* more window sizes may arrive */
	unsigned char window[FRAME_WINDOW]; /* the last size, being sent */
	char *block;                        /* bytes of stdin, being sent; owned */
	char *in;                           /* received, unread bytes; owned */
	size_t have;                        /* number of them */
	size_t room;                        /* allocated bytes */
};

static bool is_sending(const struct client_link *link)
{
	return link->out[0].iov_len + link->out[1].iov_len > 0;
}

static void frame_flush(struct client_link *link)
{
	struct msghdr message = { .msg_iov = link->out, .msg_iovlen = 2 };
	ssize_t sent = sendmsg(link->socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);

	if (sent < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (sent < 0) {
		link->deaf = true;
		link->out[0].iov_len = link->out[1].iov_len = 0;
		return;
	}
	for (int i = 0; i < 2; i++) {
		size_t gone = (size_t)sent < link->out[i].iov_len ? (size_t)sent : link->out[i].iov_len;

		link->out[i].iov_base = (char *)link->out[i].iov_base + gone;
		link->out[i].iov_len -= gone;
		sent -= (ssize_t)gone;
	}
}

/* Requires that no other frame is being sent. */
static void send_frame(struct client_link *link, enum frame_kind kind, const void *data, size_t size)
{
	const struct frame frame = { .kind = kind, .size = (uint32_t)size };

	frame_encode(&frame, link->header);
	link->out[0] = (struct iovec){ link->header, FRAME_HEADER };
	link->out[1] = (struct iovec){ (void *)data, size };
	frame_flush(link);
}

static void on_input(struct client_link *link)
{
	ssize_t n;

	if (!link->block)
		link->block = malloc(FRAME_BYTES_MAX);
	n = link->block ? read(link->io->stdin_fd, link->block, FRAME_BYTES_MAX) : 0;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	link->input_open = n > 0;
	send_frame(link, FRAME_INPUT, link->block, n > 0 ? (size_t)n : 0);
}

/* Reads all waiting sizes; only the last one is sent. */
static void on_window(struct client_link *link)
{
	struct terminal_size sizes[64];
	ssize_t n = read(link->io->window_fd, sizes, sizeof(sizes));

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	link->window_open = n > 0;
	n /= (ssize_t)sizeof(*sizes);
	if (n <= 0)
		return;
	frame_put_window(sizes[n - 1].rows, sizes[n - 1].columns, link->window);
	send_frame(link, FRAME_RESIZE, link->window, sizeof(link->window));
}

static int bad_answer(struct error *err)
{
	return error_set(err, ERROR_FAILED, EPROTO, "the service gave an invalid answer");
}

/* Returns 1 after the answer. */
static int on_frame(struct client_link *link, const struct frame *frame, const char *payload, struct error *err)
{
	struct client_answer *answer = link->answer;

	switch (frame->kind) {
	case FRAME_STDOUT:
	case FRAME_STDERR:
		answer->began = true;
		if (link->io->on_output)
			link->io->on_output(frame->kind == FRAME_STDERR ? 2 : 1, payload, frame->size,
					    link->io->userdata);
		return 0;
	case FRAME_STARTED:
		answer->began = true;
		return 0;
	case FRAME_RESULT:
	case FRAME_ERROR:
		answer->text = malloc((size_t)frame->size + 1);
		if (!answer->text)
			return error_set(err, ERROR_FAILED, ENOMEM, "cannot hold the answer of the service");
		memcpy(answer->text, payload, frame->size);
		answer->text[frame->size] = '\0';
		answer->size = frame->size;
		answer->refused = frame->kind == FRAME_ERROR;
		return 1;
	default:
		return bad_answer(err);
	}
}

/* Handles all complete frames. Returns 1 after the answer. */
static int take_frames(struct client_link *link, struct error *err)
{
	size_t at = 0;
	int done = 0;

	while (done == 0 && link->have - at >= FRAME_HEADER) {
		struct frame frame;
		size_t whole;

		if (frame_decode((unsigned char *)link->in + at, &frame) < 0)
			return bad_answer(err);
		whole = FRAME_HEADER + (size_t)frame.size;
		if (link->have - at < whole) {
			char *grown = whole > link->room ? realloc(link->in, whole) : link->in;

			if (!grown)
				return error_set(err, ERROR_FAILED, ENOMEM, "cannot hold the answer of the service");
			link->in = grown;
			link->room = whole > link->room ? whole : link->room;
			break;
		}
		done = on_frame(link, &frame, link->in + at + FRAME_HEADER, err);
		at += whole;
	}
	if (at > 0)
		memmove(link->in, link->in + at, link->have - at);
	link->have -= at;
	return done;
}

static int on_answer(struct client_link *link, struct error *err)
{
	ssize_t n = recv(link->socket, link->in + link->have, link->room - link->have, MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0)
		return error_set(err, ERROR_FAILED, n < 0 ? errno : 0, "the service closed the connection");
	link->have += (size_t)n;
	return take_frames(link, err);
}

static void polls_fill(const struct client_link *link, struct pollfd *fds)
{
	/* Input belongs to the run, so it is not read before the run has started. */
	bool reading = link->input_open && link->answer->began && !link->cancelled && !link->deaf && !is_sending(link);
	bool resizing = link->window_open && link->answer->began && !link->deaf && !is_sending(link);

	fds[WATCH_SOCKET] = (struct pollfd){ .fd = link->socket, .events = POLLIN | (is_sending(link) ? POLLOUT : 0) };
	fds[WATCH_CANCEL] = (struct pollfd){ .fd = link->cancelled ? -1 : link->io->cancel_fd, .events = POLLIN };
	fds[WATCH_INPUT] = (struct pollfd){ .fd = reading ? link->io->stdin_fd : -1, .events = POLLIN };
	fds[WATCH_WINDOW] = (struct pollfd){ .fd = resizing ? link->io->window_fd : -1, .events = POLLIN };
}

static int link_converse(struct client_link *link, struct error *err)
{
	struct pollfd fds[WATCHES];
	int done = 0;

	while (done == 0) {
		polls_fill(link, fds);
		int ready = poll(fds, WATCHES, link->cancelled ? PATIENCE_MSEC : -1);

		if (ready < 0 && errno == EINTR)
			continue;
		if (ready < 0)
			return error_errno(err, "cannot wait for the service");
		if (ready == 0) {
			/* A cancelled run must not be repeated. */
			link->answer->began = true;
			return error_set(err, ERROR_FAILED, 0, "the service does not answer");
		}
		if (fds[WATCH_CANCEL].revents)
			link->cancelled = true;
		if (is_sending(link) && fds[WATCH_SOCKET].revents)
			frame_flush(link);
		if (link->cancelled && !link->cancel_sent && !is_sending(link) && !link->deaf) {
			link->cancel_sent = true;
			send_frame(link, FRAME_CANCEL, NULL, 0);
		}
		if (fds[WATCH_WINDOW].revents && !is_sending(link))
			on_window(link);
		if (fds[WATCH_INPUT].revents && !is_sending(link))
			on_input(link);
		if (fds[WATCH_SOCKET].revents & (POLLIN | POLLHUP | POLLERR))
			done = on_answer(link, err);
	}
	return done < 0 ? -1 : 0;
}

int client_run(int socket, const char *json, size_t size, const struct client_io *io, struct client_answer *answer,
	       struct error *err)
{
	struct client_link link = {
		.socket = socket,
		.io = io,
		.answer = answer,
		.input_open = io->stdin_fd >= 0,
		.window_open = io->window_fd > 0,
		.in = malloc(ROOM),
		.room = ROOM,
	};
	int done = -1;

	*answer = (struct client_answer){ 0 };
	if (!link.in || size > FRAME_REQUEST_MAX) {
		error_set(err, ERROR_FAILED, link.in ? EMSGSIZE : ENOMEM, "cannot send the request to the service");
	} else {
		send_frame(&link, FRAME_REQUEST, json, size);
		done = link_converse(&link, err);
	}
	free(link.block);
	free(link.in);
	return done;
}
