#include "daemon/front/front_http.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/own.h"
#include "daemon/message.h"
#include "daemon/role.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>

static void keeper_lost(struct front *front);
static void input_ready(struct front *front, struct front_source *source, uint32_t events)
{
	struct pollfd now = { .fd = source->fd };
	struct front_run *run = (struct front_run *)source;
	struct peer *peer = run->peer;

	(void)events;
	if (!source->ready || !peer)
		return;
	/* The event may be of the run that had this place a moment ago: only what is so now counts. */
	if (poll(&now, 1, 0) == 1 && (now.revents & (POLLERR | POLLNVAL))) {
		source_close(front, source);
		connection_empty(&peer->input);
	} else {
		run_feed(front, run);
	}
	peer_resume(front, peer);
}

/* A number tells its place, and is never used twice. */
static struct front_run *run_take(struct front *front)
{
	size_t places = front->options.max_running;

	for (size_t i = 0; i < places; i++) {
		struct front_run *run = &front->runs[i];

		if (run->number)
			continue;
		*run = (struct front_run){
			.number = ++front->number * places + i, .cancel = -1, .window = -1, .input.fd = -1
		};
		front->running++;
		return run;
	}
	return NULL;
}

static struct front_run *run_find(struct front *front, uint64_t number)
{
	struct front_run *run = &front->runs[number % front->options.max_running];

	return number && run->number == number ? run : NULL;
}

/* Its peer, if there is one, is idle then, with its answer still to come. */
static struct peer *run_end(struct front *front, struct front_run *run)
{
	struct peer *peer = run->peer;

	if (peer)
		peer_abandon(front, peer);
	close_fd(&run->cancel);
	close_fd(&run->window);
	source_close(front, &run->input);
	run->number = 0;
	front->running--;
	front_hear(front);
	return peer;
}

void run_orphan(struct front *front, struct front_run *run, unsigned msec)
{
	run->peer = NULL;
	source_close(front, &run->input);
	run->orphan_usec = clock_usec() + (uint64_t)msec * 1000;
	if (!front->alarm_usec || run->orphan_usec < front->alarm_usec)
		front->alarm_usec = run->orphan_usec;
}

void run_feed(struct front *front, struct front_run *run)
{
	struct buf *input = &run->peer->input;
	ssize_t n = 0;

	if (run->input.fd < 0) {
		connection_empty(input);
		return;
	}
	if (input->size > 0)
		n = write(run->input.fd, input->data, input->size);
	if (n < 0 && errno != EAGAIN && errno != EINTR) {
		/* The program reads no more: what is sent to it goes nowhere. */
		source_close(front, &run->input);
		connection_empty(input);
		return;
	}
	if (n > 0) {
		memmove(input->data, input->data + n, input->size - (size_t)n);
		input->size -= (size_t)n;
	}
	if (input->size == 0 && run->peer->input_ended)
		source_close(front, &run->input);
	else if (input->size > 0 && !run->input.ready && source_add(front, &run->input, EPOLLOUT, input_ready) < 0)
		source_close(front, &run->input);
	else if (run->input.ready)
		/* With nothing to write it would be ready all the time. */
		source_watch(front, &run->input, input->size > 0 ? EPOLLOUT : 0);
}

/* The pipe that ends it, stdin's if it is streamed, and with that the one of a terminal's sizes: the keeper's ends into
 * `fds`, how many they are. */
static int run_pipes(struct front_run *run, bool streamed, bool resized, int fds[3])
{
	int pair[2];

	if (pipe2(pair, O_CLOEXEC) < 0)
		return -1;
	fds[0] = pair[0];
	run->cancel = pair[1];
	if (!streamed)
		return 1;
	if (pipe2(pair, O_CLOEXEC) < 0) {
		close_fd(&fds[0]);
		return -1;
	}
	fds[1] = pair[0];
	run->input.fd = pair[1];
	/* The other end is the keeper's, to read as it likes. */
	fcntl(pair[1], F_SETFL, O_WRONLY | O_NONBLOCK);
	if (!resized)
		return 2;
	if (pipe2(pair, O_CLOEXEC | O_NONBLOCK) < 0) {
		close_fd(&fds[0]);
		close_fd(&fds[1]);
		return -1;
	}
	fds[2] = pair[0];
	run->window = pair[1];
	return 3;
}

int run_start(struct front *front, struct peer *peer)
{
	struct message_head head = { .kind = MESSAGE_RUN, .size = peer->list.size };
	struct front_run *run = front->keeper.fd >= 0 ? run_take(front) : NULL;
	struct error err = { 0 };
	int fds[4] = { -1, -1, -1, -1 }, count, done = -1;
	bool resized;

	if (!run)
		return 1;
	head.run = run->number;
	head.waited = peer->asked_usec ? clock_usec() - peer->asked_usec : 0;
	memcpy(peer->list.data, &peer->about, sizeof(peer->about));
	resized = peer->manner.tty && peer->manner.input;
	count = run_pipes(run, peer->manner.input, resized, fds);
	head.manner = (peer->manner.stream ? MESSAGE_STREAM : 0) | (peer->manner.input ? MESSAGE_INPUT : 0) |
		      (resized ? MESSAGE_WINDOW : 0);
	/* One process less on the way back. */
	if (count > 0 && peer->door == &door_frames && connection_pending(&peer->link) == 0) {
		fds[count] = fcntl(peer->link.fd, F_DUPFD_CLOEXEC, 0);
		if (fds[count] >= 0) {
			head.manner |= MESSAGE_DIRECT;
			run->direct = true;
			count++;
		}
	}
	if (count < 0)
		error_errno(&err, "cannot make a pipe for the run");
	else
		done = message_send(front->keeper.fd, &head, peer->list.data, fds, (size_t)count, &err);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		close_fd(&fds[i]);
	if (done == 0) {
		connection_empty(&peer->list);
		peer->state = PEER_RUNNING;
		peer->run = run;
		run->peer = peer;
		run->about = peer->about;
		run->waited_usec = head.waited;
		run->begun_usec = clock_usec();
		run_feed(front, run);
		return 0;
	}
	run_end(front, run);
	if (count >= 0 && err.errnum == EAGAIN) {
		source_watch(front, &front->keeper, EPOLLIN | EPOLLOUT);
		return 1;
	}
	if (count >= 0 && (err.errnum == EPIPE || err.errnum == ECONNRESET)) {
		keeper_lost(front);
		return 1;
	}
	peer_refuse_error(front, peer, &err);
	return -1;
}

/* Its token was there when it came. */
static bool peer_refuse_gone(struct front *front, struct peer *peer)
{
	if (!peer->caller.token || policy_token(front, peer->caller.name))
		return false;
	peer_refuse(front, peer, CODE_UNAUTHORIZED, "", 0, "the token was removed while this waited");
	return true;
}

void run_dispatch(struct front *front)
{
	while (front->queue.count > 0 && front->running < front->options.max_running && front->keeper.fd >= 0 &&
	       !front->unsettled) {
		struct queue_item *item = queue_peek(&front->queue);
		struct peer *peer = peer_of_item(item);
		int done =
			peer_refuse_gone(front, peer) || peer_refuse_blind(front, peer) ? -1 : run_start(front, peer);

		if (done > 0)
			return;
		/* Its turn is used up, also if it could not be run and is out of the queue for that. */
		if (done == 0)
			queue_pop(&front->queue);
		/* Input that had no room while it waited may have some now. */
		peer_resume(front, peer);
	}
}

/* The answer was sent: others first, then what the peer has sent since. */
static void peer_answered(struct front *front, struct peer *peer)
{
	run_dispatch(front);
	if (peer)
		peer_resume(front, peer);
}

static void run_output(struct front *front, struct front_run *run, const struct message *message)
{
	const struct connection *link = &run->peer->link;

	if (message->head.stream != 1 && message->head.stream != 2)
		return;
	/* A peer that does not read must hold nobody up, and not fill the memory either. */
	if (run->flooded || connection_pending(link) + message->head.size > CONNECTION_OUT_MAX) {
		run->flooded = true;
		close_fd(&run->cancel);
		return;
	}
	run->peer->door->output(front, run->peer, (int)message->head.stream, message->body, message->head.size);
}

static void run_result(struct front *front, struct front_run *run, const struct message *message)
{
	uint64_t took = clock_usec() - run->begun_usec, waited = run->waited_usec;
	bool flooded = run->flooded;
	struct peer *peer;

	/* One that started while its token was removed. Who comes by a Unix socket has a name with a space in it. */
	if ((run->about.kind == RUN_START || run->about.kind == RUN_SESSION) && !strchr(run->about.caller, ' '))
		policy_end_containers(front, run->about.caller);
	peer = run_end(front, run);
	/* A container that started and ran nothing yet is no execution. */
	if (message->head.outcome.language[0])
		metrics_outcome(front->metrics, &message->head.outcome, waited);
	if (message->head.outcome.unrecorded)
		metrics_event(front->metrics, "unrecorded");
	front->run_usec = front->run_usec ? (front->run_usec * 7 + took) / 8 : took;
	if (peer && flooded)
		peer_refuse(front, peer, CODE_FAILED, "", 0,
			    "the program's output was not read as fast as it came, and the run was ended");
	else if (peer && message->head.size > FRAME_RESULT_MAX)
		peer_refuse(front, peer, CODE_FAILED, "", 0, "the result is larger than 64m");
	else if (peer)
		peer->door->result(front, peer, message);
	peer_answered(front, peer);
}

static void run_refused(struct front *front, struct front_run *run, const struct message *message)
{
	struct peer *peer = run_end(front, run);
	struct error err;

	refusal_unpack(message->body, message->head.size, &err);
	if (peer)
		peer_name_field(peer, &err);
	/* No field is wrong where there are too many, or where the session is another's. A model is told which tool
	 * helps, and that follows from the field. */
	if ((err.code == CODE_TOO_MANY || err.code == CODE_FORBIDDEN_SCOPE) &&
	    !(peer && peer->exchange && mcp_is_inside(peer->exchange)))
		error_about(&err, "");
	if (peer && err.code == CODE_NEEDS_CONFIRMATION && peer->seal[0])
		policy_ask(front, peer, &err);
	else if (peer)
		peer_refuse_error(front, peer, &err);
	peer_answered(front, peer);
}

static void keeper_message(struct front *front, struct message *message)
{
	struct front_run *run = message->head.kind == MESSAGE_TELL ? NULL : run_find(front, message->head.run);
	struct peer *peer = run ? run->peer : NULL;

	if (message->head.kind == MESSAGE_TELL)
		ask_answer(front, message, take_fd(&message->fds[0]), false);
	if (!run)
		return;
	if (message->head.kind == MESSAGE_RESULT) {
		run_result(front, run, message);
	} else if (message->head.kind == MESSAGE_REFUSED) {
		run_refused(front, run, message);
	} else if (peer && peer->manner.stream) {
		if (message->head.kind == MESSAGE_STARTED)
			peer->door->started(front, peer, message->body, message->head.size);
		else if (message->head.kind == MESSAGE_OUTPUT)
			run_output(front, run, message);
		peer_settle(front, peer);
	}
}

/* Those who wait go on waiting: another keeper comes, or another way to this one. */
static void keeper_lost(struct front *front)
{
	source_close(front, &front->keeper);
	for (size_t i = 0; i < front->options.max_running; i++) {
		const bool direct = front->runs[i].direct;
		struct peer *peer = front->runs[i].number ? run_end(front, &front->runs[i]) : NULL;

		if (!peer)
			continue;
		peer_refuse(front, peer, CODE_FAILED, "", 1, "the keeper ended while this ran; it is being restarted");
		/* What it may still write must not pass for the next answer. */
		peer->closing |= direct;
		peer_resume(front, peer);
	}
	ask_lost(front, false);
}

static void keeper_ready(struct front *front, struct front_source *source, uint32_t events)
{
	struct message message;
	struct error err = { 0 };
	int got;

	if (!source->ready)
		return;
	if (events & EPOLLOUT) {
		source_watch(front, source, EPOLLIN);
		run_dispatch(front);
	}
	if (source->fd < 0 || !(events & (EPOLLIN | EPOLLHUP | EPOLLERR)))
		return;
	got = message_receive(source->fd, &message, &err);
	if (got > 0) {
		keeper_message(front, &message);
		message_free(&message);
	} else if (got == 0 || err.errnum != EAGAIN) {
		/* It lives, and what it said is lost: only the supervisor can make another way to it. */
		if (got < 0)
			fd_send(front->control.fd, &(char){ ROLE_PEER }, 1, NULL, 0);
		keeper_lost(front);
	}
}

int keeper_set(struct front *front, int fd)
{
	if (front->keeper.fd >= 0)
		keeper_lost(front);
	front->keeper.fd = fd;
	if (fcntl(fd, F_SETFL, O_RDWR | O_NONBLOCK) < 0 || source_add(front, &front->keeper, EPOLLIN, keeper_ready) < 0)
		return -1;
	run_dispatch(front);
	return 0;
}
