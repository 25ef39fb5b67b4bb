/* The keeper against a front that is not to be trusted. No box is made: what is asked here is refused before. */
#include "../check.h"
#include "refusal_text.h"

#include "base/buf.h"
#include "base/fd.h"
#include "base/own.h"
#include "daemon/keeper/keeper.h"
#include "daemon/message.h"
#include "daemon/role.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

static int control; /* the supervisor's end */
static pid_t keeper;

static void pair(int ends[2])
{
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		abort();
}

static void keeper_start(void)
{
	int ends[2];

	pair(ends);
	keeper = fork();
	if (keeper == 0) {
		const struct keeper_options options = { .workers = 2, .nudge = -1, .audit = AUDIT_OFF };
		struct error err = { 0 };

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		alarm(60);
		/* Nothing of this is history. */
		setenv("EMBERBOX_HOME", "/proc/nowhere", 1);
		close(ends[0]);
		_exit(keeper_run(ends[1], &options, &err) == 0 ? 0 : 1);
	}
	close(ends[1]);
	control = ends[0];
}

/* What it says to the supervisor; 0: nothing within ten seconds. */
static char keeper_says(void)
{
	struct pollfd wait = { .fd = control, .events = POLLIN };
	int fds[FD_MESSAGE_MAX];
	size_t count = 0;
	char what = 0;

	if (poll(&wait, 1, 10000) == 1)
		fd_receive(control, &what, 1, fds, &count);
	return what;
}

static int front_new(void)
{
	int ends[2];

	pair(ends);
	CHECK_INT(fd_send(control, &(char){ ROLE_PEER }, 1, &ends[1], 1), 0);
	close(ends[1]);
	return ends[0];
}

static int front_hears(int front, struct message *message)
{
	struct pollfd wait = { .fd = front, .events = POLLIN };
	struct error err = { 0 };

	return poll(&wait, 1, 10000) == 1 ? message_receive(front, message, &err) : -1;
}

static void says_when_it_serves(void)
{
	CHECK_INT(keeper_says(), ROLE_READY);
	CHECK_INT(fd_send(control, &(char){ ROLE_RELOAD }, 1, NULL, 0), 0);
	CHECK_INT(keeper_says(), ROLE_RELOAD);
}

static uint32_t manner; /* of the runs that are asked for */

static void ask_plain(int front, uint64_t run, const void *body, size_t size, const int *fds, size_t count)
{
	const struct message_head head = { .kind = MESSAGE_RUN, .stream = manner, .run = run, .size = size };
	struct error err = { 0 };

	CHECK_INT(message_send(front, &head, body, fds, count, &err), 0);
}

static const struct message_run whose = { .id = "01M7JD3T4N0H1K5KRK6R5GRNP9", .door = "socket", .caller = "uid 0" };

static void ask(int front, uint64_t run, const void *body, size_t size, const int *fds, size_t count)
{
	_cleanup_buf_ struct buf whole = { 0 };

	buf_add(&whole, &whose, sizeof(whose));
	buf_add(&whole, body, size);
	ask_plain(front, run, whole.data, whole.size, fds, count);
}

static void refused(int front, uint64_t run, const char *sentence)
{
	struct message message;
	const struct message_refusal *refusal;

	if (front_hears(front, &message) != 1) {
		check_fail("no answer to run %d", (int)run);
		return;
	}
	refusal = message.body;
	CHECK_INT(message.head.kind, MESSAGE_REFUSED);
	CHECK_INT(message.head.run, run);
	CHECK_INT(message.head.size, sizeof(*refusal));
	CHECK_STR(refusal->message, sentence);
	message_free(&message);
}

static void checks_every_request(void)
{
	_cleanup_close_ int front = front_new(), null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int ends[2];

	CHECK_INT(pipe2(ends, O_CLOEXEC), 0);
	ask(front, 1, "x", 1, NULL, 0);
	refused(front, 1, "a run came without its pipe");
	ask(front, 2, "x", 1, &null, 1);
	refused(front, 2, "a run came without its pipe");
	manner = MESSAGE_INPUT;
	ask(front, 3, "x", 1, (const int[]){ ends[0], null }, 2);
	refused(front, 3, "a run came without its pipe");
	manner = MESSAGE_DIRECT;
	ask(front, 4, "x", 1, (const int[]){ ends[0], null }, 2);
	refused(front, 4, "a run came without its client");
	manner = MESSAGE_DIRECT | MESSAGE_INPUT;
	ask(front, 5, "x", 1, (const int[]){ ends[0], ends[0] }, 2);
	refused(front, 5, "a run came without its client");
	manner = 0;
	ask(front, 6, "rubbish", 7, &ends[0], 1);
	refused(front, 6, "the list of the request is broken");
	close(ends[0]);
	close(ends[1]);
}

/* A front that was taken over cannot make it write down, or look for, what is no name. */
static void checks_whose_a_run_is(void)
{
	static const char sentence[] = "a run came without saying whose it is";
	_cleanup_close_ int front = front_new();
	struct message_run wrong = whose;

	ask_plain(front, 1, &wrong, sizeof(wrong) - 1, NULL, 0);
	refused(front, 1, sentence);
	ask_plain(front, 2, &wrong, sizeof(wrong), NULL, 0);
	refused(front, 2, "a run came without its pipe");
	memcpy(wrong.id, "../../../../../etc/passwd!", 26);
	ask_plain(front, 3, &wrong, sizeof(wrong), NULL, 0);
	refused(front, 3, sentence);
	wrong = whose;
	wrong.id[25] = '\0';
	ask_plain(front, 4, &wrong, sizeof(wrong), NULL, 0);
	refused(front, 4, sentence);
	wrong = whose;
	memset(wrong.caller, 'x', sizeof(wrong.caller));
	ask_plain(front, 5, &wrong, sizeof(wrong), NULL, 0);
	refused(front, 5, sentence);
	wrong = whose;
	wrong.kind = 9;
	ask_plain(front, 6, &wrong, sizeof(wrong), NULL, 0);
	refused(front, 6, sentence);
}

/* What is the keeper's own to say, or nobody's, does nothing, and what comes after is heard. */
static void hears_of_a_front_what_is_a_fronts(void)
{
	_cleanup_close_ int front = front_new();
	struct message_head head = { .kind = MESSAGE_RESULT };
	struct error err = { 0 };

	CHECK_INT(message_send(front, &head, NULL, NULL, 0, &err), 0);
	head.kind = 99;
	CHECK_INT(message_send(front, &head, NULL, NULL, 0, &err), 0);
	ask(front, 9, "x", 1, NULL, 0);
	refused(front, 9, "a run came without its pipe");
}

static void ends_the_link_of_one_that_sends_nonsense(void)
{
	_cleanup_close_ int front = front_new(), other = front_new();
	struct message message;

	CHECK_INT(send(front, "?", 1, MSG_NOSIGNAL), 1);
	CHECK_INT(keeper_says(), ROLE_PEER);
	CHECK_INT(front_hears(front, &message), 0);
	/* Others are not concerned. */
	ask(other, 5, "x", 1, NULL, 0);
	refused(other, 5, "a run came without its pipe");
}

/* More fronts one after the other than there may be threads. */
static void serves_front_after_front(void)
{
	for (uint64_t i = 10; i < 30; i++) {
		_cleanup_close_ int front = front_new();

		ask(front, i, "x", 1, NULL, 0);
		refused(front, i, "a run came without its pipe");
	}
}

/* Nobody is not everybody: a question without its caller is not answered, whatever it is; with one it is. */
static void refuses_a_question_without_its_caller(void)
{
	static const char *const all[] = {
		"check",
		"languages",
		"doctor",
		"pool",
		"container_status",
		"container_stop",
		"container_end",
		"container_cleanup",
		"session_status",
		"session_stop",
		"session_interrupt",
		"session_restart",
		"session_complete",
		"session_inspect",
		"session_cells",
		"file_open",
		"file_list",
		"file_write",
		"file_remove",
		"file_move",
		"terminal",
		"file_watch",
	};
	static const char refusal[] =
		"{\"error\":{\"code\":\"bad_request\",\"message\":\"caller: the question does not "
		"say whose\",\"field\":\"caller\"}}";
	_cleanup_close_ int front = front_new();
	struct message_head head = { .kind = MESSAGE_ASK };
	struct error err = { 0 };
	struct message message;
	char question[96];

	for (size_t i = 0; i < 2 * sizeof(all) / sizeof(all[0]); i++) {
		snprintf(question, sizeof(question), "{\"what\":\"%s\"%s}", all[i / 2],
			 i % 2 ? ",\"caller\":\"\"" : "");
		head.run = i + 1;
		head.size = strlen(question);
		CHECK_INT(message_send(front, &head, question, NULL, 0, &err), 0);
		CHECK_INT(front_hears(front, &message), 1);
		CHECK_INT(message.head.kind, MESSAGE_TELL);
		CHECK_INT(message.head.status, 400);
		CHECK_STR(refusal_text(message.body, message.head.size), refusal);
		message_free(&message);
	}
	head.size = strlen(strcpy(question, "{\"what\":\"session_status\",\"caller\":\"uid 7\"}"));
	CHECK_INT(message_send(front, &head, question, NULL, 0, &err), 0);
	CHECK_INT(front_hears(front, &message), 1);
	CHECK_INT(message.head.status, 200);
	CHECK_STR(message.body, "{\"sessions\":[]}");
	message_free(&message);
}

static void ends_with_its_supervisor(void)
{
	int status = -1;

	close(control);
	CHECK(waitpid(keeper, &status, 0) == keeper);
	CHECK_INT(status, 0);
}

int main(void)
{
	keeper_start();
	RUN(says_when_it_serves);
	RUN(checks_every_request);
	RUN(checks_whose_a_run_is);
	RUN(hears_of_a_front_what_is_a_fronts);
	RUN(ends_the_link_of_one_that_sends_nonsense);
	RUN(serves_front_after_front);
	RUN(refuses_a_question_without_its_caller);
	RUN(ends_with_its_supervisor);
	return check_failures != 0;
}
