/* Answers of HTTP that are sent from a file: as the client takes them, and no faster. */
#include "daemon/front/front_http.h"

#include "base/own.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

enum {
	BLOCK = 64 << 10,  /* bytes that are read at once */
	AHEAD = 256 << 10, /* bytes that wait for the client, before it gets no more */
	TURN = 1 << 20,    /* bytes of one client before others have their turn */
};

void http_file_end(struct exchange *x)
{
	if (x->file > 0)
		close_fd(&x->file);
	x->file = -1;
}

void http_answer_file(struct front *front, struct peer *peer, int status, int file, uint64_t first, uint64_t last,
		      const char *extra)
{
	struct exchange *x = peer->exchange;
	_cleanup_buf_ struct buf head = { 0 };
	char lines[512];

	if (mcp_is_inside(x)) {
		mcp_answered_file(front, peer, status, file, first, last, extra);
		return;
	}
	x->file = file;
	x->file_at = first;
	x->file_left = x->file_seen = last - first + 1;
	x->file_status = status;
	snprintf(lines, sizeof(lines), "X-Request-Id: %s\r\n%s", x->request_id, extra);
	http_reply_head(&head, status, "application/octet-stream", x->file_left, x->keep_alive, lines);
	peer->link.broken |= head.failed;
	if (x->method == HTTP_HEAD)
		x->file_left = 0;
	peer->more = true;
	connection_write(&peer->link, &(struct iovec){ head.data, head.size }, 1);
	peer_deadline(front, peer, front->options.times.idle);
}

void http_answer_more(struct front *front, struct peer *peer)
{
	struct exchange *x = peer->exchange;
	char block[BLOCK];
	size_t turn = 0;

	watch_more(front, peer);
	if (!peer->more)
		return;
	if (!x || x->file <= 0) {
		/* The last of it is out, and what came behind the request was taken. */
		peer->more = false;
		return;
	}
	while (x->file_left > 0 && turn < TURN && connection_pending(&peer->link) < AHEAD) {
		size_t part = x->file_left < BLOCK ? (size_t)x->file_left : BLOCK;
		ssize_t n = pread(x->file, block, part, (off_t)x->file_at);

		if (n < 0 && errno == EINTR)
			continue;
		/* It is the program's file: there may be less of it than there was. The client sees that it is cut. */
		if (n <= 0 || peer->link.broken) {
			peer->link.broken = true;
			return;
		}
		connection_write(&peer->link, &(struct iovec){ block, (size_t)n }, 1);
		x->file_at += (uint64_t)n;
		x->file_left -= (uint64_t)n;
		turn += (size_t)n;
	}
	if (x->file_left > 0)
		return;
	http_file_end(x);
	http_answered(front, peer, x->file_status);
}

bool http_answer_goes_on(struct front *front, struct peer *peer)
{
	struct exchange *x = peer->exchange;
	bool took = x->file > 0 && x->file_left < x->file_seen;

	(void)front;
	x->file_seen = x->file_left;
	return took;
}

static void answer_no_range(struct front *front, struct peer *peer, uint64_t total)
{
	_cleanup_free_ char *json = NULL;
	struct error err;
	char extra[64];

	snprintf(extra, sizeof(extra), "Content-Range: bytes */%llu\r\n", (unsigned long long)total);
	error_refuse(&err, CODE_RANGE_NOT_SATISFIABLE, "Range", "there are no such bytes; there are %llu",
		     (unsigned long long)total);
	json = front_error_json(&err, 0, NULL, mcp_is_inside(peer->exchange));
	http_answer_json_with(front, peer, error_code_status(err.code), json ? json : "{}", json ? strlen(json) : 2,
			      extra);
}

void http_answer_range(struct front *front, struct peer *peer, int given)
{
	_cleanup_close_ int file = given;
	const struct http_text range = { peer->exchange->range, strlen(peer->exchange->range) };
	char extra[160] = "Accept-Ranges: bytes\r\n";
	uint64_t first = 0, last = 0, total;
	struct stat st;
	int partial;

	if (fstat(file, &st) < 0 || !S_ISREG(st.st_mode)) {
		http_answer_error(front, peer, CODE_FAILED, "", 0, "the file cannot be read");
		return;
	}
	total = (uint64_t)st.st_size;
	partial = range.size > 0 ? http_range(range, total, &first, &last) : 0;
	if (partial < 0) {
		answer_no_range(front, peer, total);
		return;
	}
	if (partial > 0)
		snprintf(extra, sizeof(extra), "Accept-Ranges: bytes\r\nContent-Range: bytes %llu-%llu/%llu\r\n",
			 (unsigned long long)first, (unsigned long long)last, (unsigned long long)total);
	else if (total == 0)
		http_answer(front, peer, 200, "application/octet-stream", "", 0, extra);
	if (partial > 0)
		http_answer_file(front, peer, 206, take_fd(&file), first, last, extra);
	else if (total > 0)
		http_answer_file(front, peer, 200, take_fd(&file), 0, total - 1, extra);
}
