/* One request to the service, and what it answers. */
#include "load.h"

#include "base/fd.h"
#include "base/own.h"
#include "wire/frame.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>

enum {
	ANSWER_SECONDS = 120,    /* a service that says nothing for so long is stuck */
	RETRY_DEFAULT_MSEC = 20, /* after "busy" without a time */
	RETRY_MAX_MSEC = 2000,   /* nobody waits longer before asking again */
};

struct answer {
	struct frame frame; /* which it is */
	struct buf payload; /* RESULT and ERROR */
};

int load_socket_connect(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct timeval patience = { .tv_sec = ANSWER_SECONDS };
	_cleanup_close_ int fd = -1;

	if (strlen(path) >= sizeof(address.sun_path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	strcpy(address.sun_path, path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) < 0)
		return -1;
	while (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
		/* The queue of connections is full: it is a matter of moments. */
		if (errno != EAGAIN && errno != EINTR)
			return -1;
		usleep(1000);
	}
	return take_fd(&fd);
}

/* Header and request leave in one write, as a careful client does it. */
static int request_send(int fd, const struct buf *request)
{
	struct frame frame = { .kind = FRAME_REQUEST, .size = (uint32_t)request->size };
	unsigned char header[FRAME_HEADER];
	struct iovec parts[2] = { { header, sizeof(header) }, { request->data, request->size } };
	ssize_t sent;

	frame_encode(&frame, header);
	sent = writev(fd, parts, 2);
	if (sent < (ssize_t)sizeof(header))
		return -1;
	return fd_write(fd, request->data + sent - (ssize_t)sizeof(header),
			request->size + sizeof(header) - (size_t)sent);
}

/* The next frame; output is counted and RESULT and ERROR are kept. */
static int answer_receive(int fd, struct answer *answer, struct load_attempt *attempt)
{
	unsigned char header[FRAME_HEADER];
	char data[FRAME_BYTES_MAX];
	uint32_t left;

	if (fd_read(fd, header, sizeof(header)) != sizeof(header) || frame_decode(header, &answer->frame) < 0)
		return -1;
	answer->payload.size = 0;
	for (left = answer->frame.size; left > 0;) {
		size_t part = left < sizeof(data) ? left : sizeof(data);

		if (fd_read(fd, data, part) != (ssize_t)part)
			return -1;
		if (answer->frame.kind == FRAME_STDOUT)
			load_output(attempt, data, part);
		else if (answer->frame.kind != FRAME_STDERR)
			buf_add(&answer->payload, data, part);
		left -= (uint32_t)part;
	}
	return 0;
}

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

/* Streamed output was counted as it came; else it is in the result. */
void load_judge(const json_t *result, struct load_attempt *attempt)
{
	const char *start = text_of(json_object_get(result, "meta"), "start");
	const char *status = text_of(result, "status");
	uint64_t bytes = (uint64_t)json_integer_value(json_object_get(result, "stdout_bytes"));

	attempt->warm = strcmp(start, "warm") == 0;
	attempt->cold = strcmp(start, "cold") == 0;
	if (strcmp(status, "ok") != 0)
		load_fail(attempt, "status \"%s\": %s", status, text_of(result, "error_message"));
	if (attempt->bytes == 0 && bytes > 0) {
		const json_t *text = json_object_get(result, "stdout");

		buf_add(&attempt->head, json_string_value(text), json_string_length(text));
		attempt->bytes = bytes;
		attempt->first = attempt->last = attempt->whole;
	} else if (attempt->bytes != bytes) {
		load_fail(attempt, "%ju bytes of output came, the result says %ju", (uintmax_t)attempt->bytes,
			  (uintmax_t)bytes);
	}
}

void load_count_cold(struct load *load, const struct load_attempt *attempt)
{
	if (attempt->cold && atomic_fetch_add(&load->cold, 1) + 1 >= load->options.max_cold)
		load_stop(load);
}

/* Whether to ask again, after having waited as long as the service said. */
static bool refusal_wait(const struct buf *payload, struct load_attempt *attempt)
{
	json_t *answer = json_loadb(payload->data, payload->size, 0, NULL);
	json_t *error = json_object_get(answer, "error");
	json_t *after = json_object_get(error, "retry_after");
	double seconds = json_number_value(after);
	bool again = after != NULL || strcmp(text_of(error, "code"), "busy") == 0;

	if (!again)
		load_fail(attempt, "refused, \"%s\": %s", text_of(error, "code"), text_of(error, "message"));
	json_decref(answer);
	if (again) {
		if (!(seconds > 0))
			seconds = RETRY_DEFAULT_MSEC / 1e3;
		else if (seconds > RETRY_MAX_MSEC / 1e3)
			seconds = RETRY_MAX_MSEC / 1e3;
		usleep((useconds_t)(seconds * 1e6));
		attempt->refused++;
	}
	return again;
}

/* Whether the same has to be asked again. A connection that broke is closed. */
static bool request_ask(struct load *load, int *fd, const struct buf *request, struct load_attempt *attempt)
{
	struct answer answer = { 0 };
	bool again = false;

	errno = 0;
	if (request_send(*fd, request) < 0) {
		load_fail(attempt, "the service cannot be reached: %s", strerror(errno));
		close_fd(fd);
		*fd = -1;
		return false;
	}
	do {
		if (answer_receive(*fd, &answer, attempt) < 0) {
			load_fail(attempt, "the connection broke: %s", errno ? strerror(errno) : "its end");
			close_fd(fd);
			*fd = -1;
			break;
		}
	} while (answer.frame.kind != FRAME_RESULT && answer.frame.kind != FRAME_ERROR);
	attempt->whole = load_clock() - attempt->begin;
	if (*fd >= 0 && answer.frame.kind == FRAME_RESULT) {
		json_t *result = json_loadb(answer.payload.data, answer.payload.size, JSON_ALLOW_NUL, NULL);

		load_judge(result, attempt);
		json_decref(result);
	} else if (*fd >= 0) {
		again = refusal_wait(&answer.payload, attempt) && !atomic_load(&load->stop);
	}
	buf_free(&answer.payload);
	return again;
}

/* What a caller waits for is a result, so the time counts from the first time it asked. */
void load_socket_attempt(struct load *load, size_t worker, struct load_attempt *attempt)
{
	_cleanup_buf_ struct buf request = { 0 };
	int fd = atomic_load(&load->sockets[worker]);

	load_fill(load, attempt, load->options.request, &request);
	attempt->begin = load_clock();
	if (fd < 0)
		fd = load_socket_connect(load->options.socket);
	if (fd < 0)
		load_fail(attempt, "the service cannot be reached: %s", strerror(errno));
	while (fd >= 0 && request_ask(load, &fd, &request, attempt))
		;
	atomic_store(&load->sockets[worker], fd);
	if (!attempt->failed && !attempt->warm && !attempt->cold)
		load_fail(attempt, "%s", attempt->refused ? "refused until the end" : "meta.start says nothing");
	attempt->cut = atomic_load(&load->stop) && attempt->failed;
	load_count_cold(load, attempt);
}
