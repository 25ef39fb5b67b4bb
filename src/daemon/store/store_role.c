/*
 * The store's role: one thread that takes from the journal and answers fronts.
 *
 * It waits for all of them at once and for nothing alone. A nudge is followed
 * by a moment in which more may come, for a transaction of many costs as much
 * as one of one; a question is answered at once, after taking what is there. An
 * answer that a front has no room for waits with it, and so do its further
 * questions; a front that does not read for some seconds is given up.
 */
#include "daemon/store/store_role.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/own.h"
#include "base/text.h"
#include "base/state.h"
#include "daemon/message.h"
#include "daemon/role.h"
#include "store/record.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

enum {
	SWEEP_BYTES = 64 << 20,   /* taken since the last look at age and size: time for another */
	FRONTS = 8,               /* there is one, and for a moment two */
	BATCH_USEC = 30000,       /* from a nudge to the taking */
	SYNC_USEC = 900000,       /* from a nudge until it is on the disk */
	RETRY_USEC = 1000000,     /* while nothing can be written */
	PATIENCE_USEC = 10000000, /* for a front that does not read */
	EVENT_MAX = 4096,         /* bytes of an event's fields */
	LIMIT_DEFAULT = 50,       /* of a list */
};
static const uint64_t sweep_usec = UINT64_C(3600) * 1000000; /* between two looks at age and size */

struct answer {
	int status;      /* as HTTP has it */
	struct buf body; /* JSON */
	int fd;          /* a file that is the answer; -1: none */
};

struct front_link {
	int fd;               /* our end, which never waits; -1: free */
	bool waiting;         /* `answer` could not be sent yet */
	uint64_t number;      /* of its question */
	uint64_t since_usec;  /* when it was first tried */
	struct answer answer; /* while waiting */
	bool knows;           /* it was told whether anything can be written: */
	bool knows_failing;   /* what */
};

struct role_state {
	const struct store_options *options; /* for the store */
	int control;                         /* the supervisor; borrowed */
	int nudge;                           /* the eventfd; borrowed */
	struct store *store;                 /* NULL: it cannot be opened */
	struct journal *journal;             /* for events; NULL: the same */
	struct front_link fronts[FRONTS];    /* who asks */
	bool failing;                        /* nothing can be written */
	struct error why;                    /* then */
	int asked;                           /* an inotify of history.lock: somebody waits for what is new; or -1 */
	uint64_t take_usec;                  /* when to take next; 0: not before a nudge */
	uint64_t sync_usec;                  /* when what came has to be on the disk; 0: nothing did */
	uint64_t sweep_usec;                 /* when to look at age and size */
};

static void answer_free(struct answer *answer)
{
	buf_free(&answer->body);
	close_fd(&answer->fd);
}

static void front_end(struct front_link *front)
{
	close_fd(&front->fd);
	answer_free(&front->answer);
	*front = (struct front_link){ .fd = -1, .answer.fd = -1 };
}

/* It lives, and is of no use: the supervisor introduces it anew. */
static void front_drop(struct role_state *role, struct front_link *front)
{
	front_end(front);
	fd_send(role->control, &(char){ ROLE_PEER }, 1, NULL, 0);
}

/* 0; 1: there is no room now; -1: it is gone. */
static int tell(struct front_link *front, uint64_t number, int status, const struct buf *body, int fd)
{
	const struct message_head head = {
		.kind = MESSAGE_TELL, .status = (uint32_t)status, .run = number, .size = body->size
	};
	struct error err = { 0 };

	if (message_send(front->fd, &head, body->data, &fd, fd >= 0, &err) == 0)
		return 0;
	return err.errnum == EAGAIN || err.errnum == ENOBUFS ? 1 : -1;
}

/* Whether anything can be written: told once each time it changes. The body is the sentence. */
static void tell_state(struct role_state *role, struct front_link *front)
{
	struct buf why = { .data = role->why.text, .size = role->failing ? strlen(role->why.text) : 0 };

	if (front->fd < 0 || (front->knows && front->knows_failing == role->failing))
		return;
	if (tell(front, 0, role->failing ? 503 : 200, &why, -1) == 0) {
		front->knows = true;
		front->knows_failing = role->failing;
	}
}

static void state_set(struct role_state *role, bool failing, const struct error *why)
{
	if (failing && (!role->failing || strcmp(role->why.text, why->text) != 0))
		log_say("history cannot be written: %s", why->text);
	if (!failing && role->failing)
		log_say("history can be written again");
	role->failing = failing;
	if (failing)
		role->why = *why;
	for (size_t i = 0; i < FRONTS; i++)
		tell_state(role, &role->fronts[i]);
}

/* A run by itself writes to the journal and nudges nobody; who then asks for it, without us, touches the lock's file.
 * Without this such a command waits in vain, and shows what was taken. */
static void asked_watch(struct role_state *role)
{
	char path[PATH_MAX];

	if (role->asked >= 0 || state_path("history.lock", path, sizeof(path)) < 0)
		return;
	role->asked = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (role->asked >= 0 && inotify_add_watch(role->asked, path, IN_ATTRIB) < 0)
		close_fd(&role->asked);
}

static int settle(struct role_state *role, struct error *err)
{
	bool taking;

	if (!role->journal && journal_open(&role->journal, err) < 0)
		return -1;
	if (!role->store && store_open(role->options, &taking, &role->store, err) < 0)
		return -1;
	asked_watch(role);
	return store_take(role->store, err);
}

static void take(struct role_state *role)
{
	struct error err = { 0 };
	unsigned interrupted;

	if (settle(role, &err) < 0) {
		state_set(role, true, &err);
		role->take_usec = clock_usec() + RETRY_USEC;
		return;
	}
	state_set(role, false, NULL);
	/* Not only by the clock: a flood of results is swept while it comes. */
	if (store_taken(role->store) > SWEEP_BYTES)
		role->sweep_usec = clock_usec();
	interrupted = store_interrupted(role->store);
	if (interrupted > 0)
		log_say("%u %s of before %s interrupted", interrupted, interrupted == 1 ? "run" : "runs",
			interrupted == 1 ? "was" : "were");
	role->take_usec = store_behind(role->store) ? clock_usec() + 2 * BATCH_USEC : 0;
}

/* Something is in the journal. */
static void expect_records(struct role_state *role)
{
	uint64_t now = clock_usec();

	if (role->sync_usec == 0)
		role->sync_usec = now + SYNC_USEC;
	/* While it fails it is tried at its own pace. */
	if (!role->failing && (role->take_usec == 0 || role->take_usec > now + BATCH_USEC))
		role->take_usec = now + BATCH_USEC;
}

static void sweep(struct role_state *role)
{
	struct error err = { 0 };

	role->sweep_usec = clock_usec() + sweep_usec;
	if (role->store && !role->failing && store_sweep(role->store, &err) < 0)
		log_say("history cannot be tidied: %s", err.text);
}

/* With the status that the store has for it: what fails for a while is not broken for good. */
static void answer_refusal(struct answer *answer, int status, const struct error *err)
{
	struct message_refusal refusal;

	refusal_pack(err, &refusal);
	buf_free(&answer->body);
	buf_add(&answer->body, &refusal, sizeof(refusal));
	answer->status = status;
}

static const char *word(const json_t *question, const char *key)
{
	return json_string_value(json_object_get(question, key));
}

/* From a query it comes as text. Anything that is no number is out of range. */
static unsigned number(const json_t *question, const char *key, unsigned otherwise)
{
	const json_t *value = json_object_get(question, key);
	uint64_t count = 0;

	if (!value || json_is_null(value))
		return otherwise;
	if (json_is_integer(value))
		count = json_integer_value(value) < 0 ? 0 : (uint64_t)json_integer_value(value);
	else if (!json_is_string(value) || !text_count(json_string_value(value), &count))
		return 0;
	return count > UINT_MAX ? UINT_MAX : (unsigned)count;
}

/* Whose runs; NULL: everybody's. ask() has seen that it is said. */
static const char *caller_of(const json_t *question)
{
	const char *caller = word(question, "caller");

	return !caller ? "" : strcmp(caller, MESSAGE_EVERYBODY) == 0 ? NULL : caller;
}

static struct store_filter filter_of(const json_t *question)
{
	return (struct store_filter){
		.language = word(question, "language"),
		.status = word(question, "status"),
		.caller = caller_of(question),
		.before = word(question, "before"),
		.since = word(question, "since"),
		.limit = number(question, "limit", LIMIT_DEFAULT),
	};
}

static void ask_list(struct role_state *role, const json_t *question, struct answer *answer, struct error *err)
{
	struct store_filter filter = filter_of(question);

	answer->status = store_list(role->store, &filter, &answer->body, err);
}

static void ask_stats(struct role_state *role, const json_t *question, struct answer *answer, struct error *err)
{
	struct store_filter filter = filter_of(question);

	answer->status = store_stats(role->store, &filter, &answer->body, err);
}

static void ask_show(struct role_state *role, const json_t *question, struct answer *answer, struct error *err)
{
	answer->status = store_show(role->store, word(question, "id") ?: "", caller_of(question), &answer->body, err);
}

static void ask_network(struct role_state *role, const json_t *question, struct answer *answer, struct error *err)
{
	answer->status =
		store_network(role->store, word(question, "id") ?: "", caller_of(question), &answer->body, err);
}

/* The front knows which formats there are. */
static void ask_report(struct role_state *role, const json_t *question, struct answer *answer, struct error *err)
{
	const bool markdown = strcmp(word(question, "format") ?: "json", "markdown") == 0;

	answer->status = store_report(role->store, word(question, "id") ?: "", caller_of(question), markdown,
				      &answer->body, err);
}

static void ask_spool(struct role_state *role, const json_t *question, struct answer *answer, struct error *err)
{
	int stream = strcmp(word(question, "what"), "stdout") == 0 ? 1 : 2;

	answer->fd =
		store_spool(role->store, word(question, "id") ?: "", caller_of(question), stream, &answer->status, err);
	if (answer->fd >= 0)
		buf_text(&answer->body, "{}");
}

static void ask_file(struct role_state *role, const json_t *question, struct answer *answer, struct error *err)
{
	answer->fd = store_file(role->store, word(question, "id") ?: "", caller_of(question),
				word(question, "path") ?: "", &answer->status, err);
	if (answer->fd >= 0)
		buf_text(&answer->body, "{}");
}

/* It goes the way of all records, so that it is in the log once whatever happens. */
static void ask_event(struct role_state *role, const json_t *question, struct answer *answer, struct error *err)
{
	/* A front that was taken over cannot say what others are asked about, nor when it was. */
	static const char *const known[] = { "denied", "confirm_asked", "confirmed", "token_used", "policy_bypassed" };
	const char *event = word(question, "event");
	json_t *fields = json_object_get(question, "fields");
	bool is_known = false;
	_cleanup_free_ char *text = NULL;

	json_object_del(fields, "time");
	text = fields ? json_dumps(fields, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
	for (size_t i = 0; event && i < ARRAY_SIZE(known); i++)
		is_known |= strcmp(event, known[i]) == 0;
	if (!is_known || (fields && !json_is_object(fields)) || (text && strlen(text) > EVENT_MAX)) {
		error_usage(err, "an event needs a name that the front has, and its fields have to be a small object");
		answer->status = 400;
		return;
	}
	if (record_event(role->journal, event, text, err) < 0) {
		answer->status = 503;
		return;
	}
	answer->status = 200;
	buf_text(&answer->body, "{}");
	expect_records(role);
}

static const struct {
	const char *what; /* the question's own word */
	void (*ask)(struct role_state *role, const json_t *question, struct answer *answer, struct error *err);
	bool current; /* what is in the journal has to be in the answer */
} questions[] = {
	{ "list", ask_list, true },     { "show", ask_show, true },    { "stats", ask_stats, true },
	{ "stdout", ask_spool, true },  { "stderr", ask_spool, true }, { "file", ask_file, true },
	{ "report", ask_report, true }, { "event", ask_event, false }, { "network", ask_network, true },
};

/* The member that is there and is no text; NULL: there is none. What is not understood must not count as not said: a
 * caller that is no text would see all. */
static const char *not_text(const json_t *question)
{
	static const char *const keys[] = { "what",   "id",     "path",  "caller", "language",
					    "status", "before", "since", "event",  "format" };

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		const json_t *value = json_object_get(question, keys[i]);

		if (value && !json_is_string(value))
			return keys[i];
	}
	return NULL;
}

static void ask(struct role_state *role, const json_t *question, struct answer *answer)
{
	const char *what = word(question, "what"), *wrong = not_text(question);
	struct error err = { 0 };
	size_t i = 0;

	if (wrong) {
		error_usage(&err, "%s has to be a string", wrong);
		error_about(&err, wrong);
		answer_refusal(answer, 400, &err);
		return;
	}
	/* One that was left out must not be everybody. */
	if (what && !word(question, "caller")) {
		error_usage(&err, "the question does not say whose runs it is about");
		error_about(&err, "caller");
		answer_refusal(answer, 400, &err);
		return;
	}
	while (i < ARRAY_SIZE(questions) && (!what || strcmp(questions[i].what, what) != 0))
		i++;
	if (i == ARRAY_SIZE(questions)) {
		error_usage(&err, "there is no such question to the store");
		error_about(&err, "what");
		answer_refusal(answer, 400, &err);
		return;
	}
	if (questions[i].current || !role->store || !role->journal)
		take(role);
	/* What is there can be read while nothing can be written. */
	if (!role->store || !role->journal) {
		error_set(&err, ERROR_FAILED, 0, "%s", role->why.text);
		answer_refusal(answer, 503, &err);
		return;
	}
	questions[i].ask(role, question, answer, &err);
	if (answer->status == 200)
		return;
	answer_refusal(answer, answer->status, &err);
}

/* Sends what waits. Until it is sent, nothing more is heard. */
static void front_flush(struct role_state *role, struct front_link *front)
{
	int sent;

	if (!front->waiting)
		return;
	sent = tell(front, front->number, front->answer.status, &front->answer.body, front->answer.fd);
	if (sent < 0)
		front_end(front);
	else if (sent > 0 && clock_usec() - front->since_usec > PATIENCE_USEC)
		front_drop(role, front);
	if (sent != 0)
		return;
	answer_free(&front->answer);
	front->answer = (struct answer){ .fd = -1 };
	front->waiting = false;
	tell_state(role, front);
}

static void front_hear(struct role_state *role, struct front_link *front)
{
	struct message message;
	struct error err = { 0 };
	int got = message_receive(front->fd, &message, &err);
	json_t *question;

	if (got < 0 && err.errnum == EAGAIN)
		return;
	if (got <= 0 || message.head.kind != MESSAGE_ASK) {
		if (got > 0)
			message_free(&message);
		/* The end is the front's; nonsense is a reason to have another. */
		if (got == 0)
			front_end(front);
		else
			front_drop(role, front);
		return;
	}
	question = json_loadb(message.body, message.head.size, JSON_REJECT_DUPLICATES, NULL);
	ask(role, question, &front->answer);
	json_decref(question);
	front->waiting = true;
	front->number = message.head.run;
	front->since_usec = clock_usec();
	message_free(&message);
	front_flush(role, front);
}

static void front_add(struct role_state *role, int fd)
{
	size_t i = 0;

	while (i < FRONTS && role->fronts[i].fd >= 0)
		i++;
	if (i == FRONTS || fcntl(fd, F_SETFL, O_RDWR | O_NONBLOCK) < 0) {
		close(fd);
		return;
	}
	role->fronts[i] = (struct front_link){ .fd = fd, .answer.fd = -1 };
	tell_state(role, &role->fronts[i]);
}

/* False: it is to end. */
static bool control_hear(struct role_state *role)
{
	int fds[FD_MESSAGE_MAX];
	size_t count = 0;
	char what = 0;
	ssize_t n = fd_receive(role->control, &what, 1, fds, &count);

	if (n <= 0)
		return n < 0 && errno == EAGAIN;
	for (size_t i = 0; i < count; i++) {
		if (i == 0 && what == ROLE_PEER)
			front_add(role, fds[i]);
		else
			close(fds[i]);
	}
	return true;
}

/* Milliseconds until something is due by itself. */
static int patience(const struct role_state *role)
{
	uint64_t now = clock_usec(), due = role->sweep_usec;

	if (role->take_usec && role->take_usec < due)
		due = role->take_usec;
	if (role->sync_usec && role->sync_usec < due)
		due = role->sync_usec;
	for (size_t i = 0; i < FRONTS; i++)
		if (role->fronts[i].waiting && role->fronts[i].since_usec + PATIENCE_USEC < due)
			due = role->fronts[i].since_usec + PATIENCE_USEC + 1;
	return due <= now ? 0 : (int)((due - now + 999) / 1000);
}

static void nudge_hear(struct role_state *role)
{
	uint64_t count;

	/* A blocking eventfd was seen to be readable, and only we read it. */
	if (read(role->nudge, &count, sizeof(count)) == sizeof(count))
		expect_records(role);
}

static void asked_hear(struct role_state *role)
{
	char events[1024];

	while (read(role->asked, events, sizeof(events)) > 0)
		;
	if (!role->failing)
		role->take_usec = clock_usec();
}

static void due(struct role_state *role)
{
	uint64_t now = clock_usec();

	if (role->take_usec && role->take_usec <= now)
		take(role);
	if (role->sync_usec && role->sync_usec <= now) {
		role->sync_usec = 0;
		take(role);
		if (role->store)
			store_sync(role->store);
	}
	if (role->sweep_usec <= now)
		sweep(role);
}

/* One round: waits, and does what came. False at the end. */
static bool round_once(struct role_state *role)
{
	struct pollfd fds[2 + FRONTS + 1] = {
		{ .fd = role->control, .events = POLLIN },
		{ .fd = role->nudge, .events = POLLIN },
		[2 + FRONTS] = { .fd = role->asked, .events = POLLIN },
	};

	for (size_t i = 0; i < FRONTS; i++) {
		fds[2 + i].fd = role->fronts[i].fd;
		fds[2 + i].events = role->fronts[i].waiting ? POLLOUT : POLLIN;
	}
	if (poll(fds, ARRAY_SIZE(fds), patience(role)) < 0)
		return errno == EINTR;
	if (fds[1].revents & POLLIN)
		nudge_hear(role);
	if (fds[2 + FRONTS].revents & POLLIN)
		asked_hear(role);
	due(role);
	for (size_t i = 0; i < FRONTS; i++) {
		struct front_link *front = &role->fronts[i];

		if (front->fd < 0 || fds[2 + i].fd != front->fd)
			continue;
		if (front->waiting)
			front_flush(role, front);
		else if (fds[2 + i].revents)
			front_hear(role, front);
	}
	return !fds[0].revents || control_hear(role);
}

int store_role_run(int control, int nudge, const struct store_options *options, struct error *err)
{
	struct role_state role = { .options = options, .control = control, .nudge = nudge, .asked = -1 };

	for (size_t i = 0; i < FRONTS; i++)
		role.fronts[i] = (struct front_link){ .fd = -1, .answer.fd = -1 };
	take(&role);
	sweep(&role);
	if (role_ready(control, err) < 0)
		return -1;
	while (round_once(&role))
		;
	take(&role);
	for (size_t i = 0; i < FRONTS; i++) {
		close_fd(&role.fronts[i].fd);
		answer_free(&role.fronts[i].answer);
	}
	close_fd(&role.asked);
	journal_close(role.journal);
	store_close(role.store);
	return 0;
}
