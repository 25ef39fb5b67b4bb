/* The store's role: fronts ask it, and it waits for none of them. */
#include "../check.h"
#include "refusal_text.h"

#include "base/fd.h"
#include "base/own.h"
#include "daemon/message.h"
#include "daemon/role.h"
#include "daemon/store/store_role.h"
#include "store/audit.h"
#include "store/record.h"

#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static char home[64];
static int dir, control, nudge;
static pid_t role;
static struct journal *journal;
static struct error err;

static void pair(int ends[2])
{
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		abort();
}

/* What it says to the supervisor; 0: nothing within ten seconds. */
static char role_says(void)
{
	struct pollfd wait = { .fd = control, .events = POLLIN };
	int fds[FD_MESSAGE_MAX];
	size_t count = 0;
	char what = 0;

	if (poll(&wait, 1, 10000) == 1)
		fd_receive(control, &what, 1, fds, &count);
	return what;
}

static void begin(void)
{
	int ends[2];

	strcpy(home, "/tmp/emberbox-role-XXXXXX");
	if (!mkdtemp(home))
		abort();
	setenv("EMBERBOX_HOME", home, 1);
	dir = open(home, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	nudge = eventfd(0, EFD_CLOEXEC);
	pair(ends);
	fflush(stdout);
	role = fork();
	if (role == 0) {
		const struct store_options options = { .audit = true };

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		alarm(100);
		/* As a full disk: the write fails, nothing more. */
		signal(SIGXFSZ, SIG_IGN);
		close(ends[0]);
		close(STDERR_FILENO);
		_exit(store_role_run(ends[1], nudge, &options, &err) == 0 ? 0 : 1);
	}
	close(ends[1]);
	control = ends[0];
	CHECK_INT(role_says(), ROLE_READY);
	CHECK_INT(journal_open(&journal, &err), 0);
	journal_nudge(journal, nudge);
}

static void end(void)
{
	char command[128];
	int status = -1;

	journal_close(journal);
	close(control);
	CHECK_INT(waitpid(role, &status, 0), role);
	CHECK_INT(status, 0);
	close(nudge);
	close(dir);
	snprintf(command, sizeof(command), "rm -r %s", home);
	CHECK_INT(system(command), 0);
}

static int front_unheard(void)
{
	int ends[2];

	pair(ends);
	CHECK_INT(fd_send(control, &(char){ ROLE_PEER }, 1, &ends[1], 1), 0);
	close(ends[1]);
	return ends[0];
}

static void say(int front, uint64_t number, const char *question)
{
	const struct message_head head = { .kind = MESSAGE_ASK, .run = number, .size = strlen(question) };

	CHECK_INT(message_send(front, &head, question, NULL, 0, &err), 0);
}

/* The next message; all zero when there is none within ten seconds. */
static struct message hear(int front)
{
	struct pollfd wait = { .fd = front, .events = POLLIN };
	struct message message = { .fds = { -1, -1, -1 } };

	if (poll(&wait, 1, 10000) != 1 || message_receive(front, &message, &err) != 1)
		check_fail("nothing was told");
	return message;
}

#define CHECK_TOLD(front, number, want_status, want_body)                                                              \
	do {                                                                                                           \
		struct message told_ = hear(front);                                                                    \
		CHECK_INT(told_.head.kind, MESSAGE_TELL);                                                              \
		CHECK_INT(told_.head.run, number);                                                                     \
		CHECK_INT(told_.head.status, want_status);                                                             \
		CHECK_STR((want_status) < 400 ? told_.body : refusal_text(told_.body, told_.head.size), want_body);    \
		message_free(&told_);                                                                                  \
	} while (0)

/* One that has heard what each hears first: that all can be written. */
static int front_new(void)
{
	int front = front_unheard();

	CHECK_TOLD(front, 0, 200, "");
	return front;
}

/* A run, recorded as a keeper does it. */
static void record(const char *out, char id[RESULT_ID])
{
	const struct record_caller caller = {
		.door = "socket", .name = "uid 7", .request_id = "", .profile = "", .place = ""
	};
	struct result *result;
	struct spec spec;

	spec_init(&spec);
	spec_set(&spec, "language", "python", &err);
	spec_set_code(&spec, "print(1)", 8, &err);
	result = result_new(&spec);
	output_add(&result->outputs[0], out, strlen(out));
	strcpy(id, result->id);
	CHECK_INT(record_start(journal, id, &spec, &caller, &err), 0);
	CHECK_INT(record_end(journal, &spec, &caller, result, RECORD_CODE_ON_ERROR, &err), 0);
	result_free(result);
	spec_free(&spec);
}

static void answers_have_what_was_just_recorded(void)
{
	char id[RESULT_ID], question[256], text[16] = "";
	struct message told;
	json_t *root;
	int front;

	begin();
	front = front_new();
	say(front, 5, "{\"what\":\"list\",\"caller\":\"*\"}");
	CHECK_TOLD(front, 5, 200, "{\"executions\":[],\"next\":null}");
	record("hello", id);
	snprintf(question, sizeof(question), "{\"what\":\"show\",\"caller\":\"*\",\"id\":\"%s\"}", id);
	say(front, 6, question);
	told = hear(front);
	CHECK_INT(told.head.status, 200);
	root = json_loads(told.body, 0, NULL);
	CHECK_STR(json_string_value(json_object_get(root, "stdout")), "hello");
	CHECK_STR(json_string_value(json_object_get(root, "caller")), "uid 7");
	json_decref(root);
	message_free(&told);
	snprintf(question, sizeof(question), "{\"what\":\"stdout\",\"caller\":\"*\",\"id\":\"%s\"}", id);
	say(front, 7, question);
	told = hear(front);
	CHECK_INT(told.head.status, 200);
	CHECK_INT(read(told.fds[0], text, sizeof(text)), 5);
	CHECK_STR(text, "hello");
	message_free(&told);
	snprintf(question, sizeof(question), "{\"what\":\"show\",\"id\":\"%s\",\"caller\":\"uid 8\"}", id);
	say(front, 8, question);
	told = hear(front);
	CHECK_INT(told.head.status, 404);
	CHECK(strncmp(refusal_text(told.body, told.head.size),
		      "{\"error\":{\"code\":\"not_found\",\"message\":\"there is no execution", 50) == 0);
	message_free(&told);
	say(front, 9, "{\"what\":\"stats\",\"caller\":\"*\",\"language\":\"python\"}");
	told = hear(front);
	CHECK_INT(told.head.status, 200);
	CHECK(strstr(told.body, "\"total\":1"));
	message_free(&told);
	close(front);
	end();
}

static void wrong_questions_are_named(void)
{
	static const char *const all[] = { "list", "show", "stats", "stdout", "stderr", "file", "report", "event" };
	char question[64];
	int front;

	begin();
	front = front_new();
	say(front, 1, "{\"what\":\"list\",\"caller\":\"*\",\"limit\":\"many\"}");
	CHECK_TOLD(front, 1, 400,
		   "{\"error\":{\"code\":\"bad_request\",\"message\":\"limit has to be a whole number from 1 to 1000\","
		   "\"field\":\"limit\"}}");
	say(front, 2, "{\"what\":\"list\",\"caller\":\"*\",\"limit\":\"7\"}");
	CHECK_TOLD(front, 2, 200, "{\"executions\":[],\"next\":null}");
	say(front, 3, "{\"what\":\"dance\",\"caller\":\"*\"}");
	CHECK_TOLD(front, 3, 400,
		   "{\"error\":{\"code\":\"bad_request\",\"message\":\"there is no such question to the store\","
		   "\"field\":\"what\"}}");
	say(front, 4, "no JSON");
	CHECK_TOLD(front, 4, 400,
		   "{\"error\":{\"code\":\"bad_request\",\"message\":\"there is no such question to the store\","
		   "\"field\":\"what\"}}");
	say(front, 6, "{\"what\":\"list\",\"caller\":7}");
	CHECK_TOLD(front, 6, 400,
		   "{\"error\":{\"code\":\"bad_request\",\"message\":\"caller has to be a "
		   "string\",\"field\":\"caller\"}}");
	/* Nobody is not everybody, whatever is asked. */
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		snprintf(question, sizeof(question), "{\"what\":\"%s\"}", all[i]);
		say(front, 10 + i, question);
		CHECK_TOLD(
			front, 10 + i, 400,
			"{\"error\":{\"code\":\"bad_request\",\"message\":\"the question does not say whose runs it is "
			"about\",\"field\":\"caller\"}}");
	}
	say(front, 5, "{\"what\":\"show\",\"caller\":\"*\",\"id\":\"../../etc/passwd\"}");
	CHECK_TOLD(
		front, 5, 404,
		"{\"error\":{\"code\":\"not_found\",\"message\":\"there is no such execution: an id has 26 letters and "
		"digits\"}}");
	close(front);
	end();
}

static void nonsense_ends_a_front_and_no_other(void)
{
	int front, other;
	char byte;

	begin();
	front = front_new();
	other = front_new();
	CHECK_INT(fd_send(front, "rubbish", 7, NULL, 0), 0);
	CHECK_INT(role_says(), ROLE_PEER);
	CHECK_INT(read(front, &byte, 1), 0);
	say(other, 1, "{\"what\":\"list\",\"caller\":\"*\"}");
	CHECK_TOLD(other, 1, 200, "{\"executions\":[],\"next\":null}");
	close(front);
	close(other);
	end();
}

static void front_that_does_not_read_stops_nobody(void)
{
	static const char list[] = "{\"what\":\"list\",\"caller\":\"*\",\"limit\":100}";
	int front, other;
	char id[RESULT_ID];
	uint64_t asked = 0;

	begin();
	front = front_new();
	other = front_new();
	for (int i = 0; i < 100; i++)
		record("x", id);
	fcntl(front, F_SETFL, O_RDWR | O_NONBLOCK);
	/* Until there is no room for another question: it does not take them any more either. */
	for (struct message_head head = { .kind = MESSAGE_ASK, .run = 1, .size = strlen(list) };; head.run++) {
		if (message_send(front, &head, list, NULL, 0, &err) < 0)
			break;
		asked = head.run;
		if (asked == 100000)
			break;
	}
	CHECK(asked > 1 && asked < 100000);
	say(other, 1, "{\"what\":\"show\",\"caller\":\"*\",\"id\":\"01ARZ3NDEKTSV4RRFFQ69G5FAV\"}");
	CHECK_TOLD(other, 1, 404,
		   "{\"error\":{\"code\":\"not_found\",\"message\":\"there is no execution "
		   "\\\"01ARZ3NDEKTSV4RRFFQ69G5FAV\\\"\"}}");
	/* It reads after all: nothing of it is lost. */
	for (uint64_t i = 1; i <= asked && !check_failed; i++) {
		struct message told = hear(front);

		CHECK_INT(told.head.run, i);
		CHECK_INT(told.head.status, 200);
		message_free(&told);
	}
	close(front);
	close(other);
	end();
}

static void events_are_logged(void)
{
	_cleanup_buf_ struct buf lines = { 0 };
	int front;

	begin();
	front = front_new();
	say(front, 1,
	    "{\"what\":\"event\",\"caller\":\"*\",\"event\":\"denied\",\"fields\":{\"path\":\"/v1/execute\"}}");
	CHECK_TOLD(front, 1, 200, "{}");
	say(front, 2, "{\"what\":\"event\",\"caller\":\"*\"}");
	CHECK_TOLD(
		front, 2, 400,
		"{\"error\":{\"code\":\"bad_request\",\"message\":\"an event needs a name that the front has, and its "
		"fields have to be a small object\"}}");
	/* A front that was taken over cannot make up runs, nor times. */
	say(front, 4, "{\"what\":\"event\",\"caller\":\"*\",\"event\":\"execution\",\"fields\":{}}");
	CHECK_TOLD(
		front, 4, 400,
		"{\"error\":{\"code\":\"bad_request\",\"message\":\"an event needs a name that the front has, and its "
		"fields have to be a small object\"}}");
	say(front, 5,
	    "{\"what\":\"event\",\"caller\":\"*\",\"event\":\"confirmed\",\"fields\":{\"time\":\"1999-01-01T00:00:"
	    "00Z\",\"a\":1}}");
	CHECK_TOLD(front, 5, 200, "{}");
	say(front, 3, "{\"what\":\"list\",\"caller\":\"*\"}");
	CHECK_TOLD(front, 3, 200, "{\"executions\":[],\"next\":null}");
	CHECK_INT(audit_tail(dir, 10, &lines, &err), 0);
	CHECK(lines.data && strstr(lines.data, "\"event\":\"denied\"") &&
	      strstr(lines.data, "\"path\":\"/v1/execute\""));
	/* The whole date: four digits alone stand in a hash of the log by chance. */
	CHECK(strstr(lines.data, "\"event\":\"confirmed\"") && !strstr(lines.data, "1999-01-01"));
	close(front);
	end();
}

static void takes_by_itself_after_a_nudge(void)
{
	struct store_options options = { 0 };
	struct store *reader = NULL;
	char id[RESULT_ID];
	bool taking = true;

	begin();
	record("x", id);
	CHECK_INT(store_open(&options, &taking, &reader, &err), 0);
	CHECK(!taking);
	for (int i = 0; i < 1000 && store_behind(reader); i++)
		poll(NULL, 0, 10);
	CHECK(!store_behind(reader));
	store_close(reader);
	end();
}

/* `emberbox run` without the service nudges nobody; who then reads history has to see it. */
static void run_by_itself_is_taken_when_asked_for(void)
{
	struct store_options options = { 0 };
	struct store *reader = NULL;
	char id[RESULT_ID];
	bool taking = true;

	begin();
	journal_nudge(journal, -1);
	record("x", id);
	CHECK_INT(store_open(&options, &taking, &reader, &err), 0);
	CHECK(!taking);
	CHECK(store_behind(reader));
	/* Each of them waits for half a second. */
	for (int i = 0; i < 20 && store_behind(reader); i++)
		CHECK_INT(store_take(reader, &err), 0);
	CHECK(!store_behind(reader));
	store_close(reader);
	end();
}

static void says_when_it_cannot_write(void)
{
	struct rlimit old, none;
	struct message told;
	char id[RESULT_ID];
	int front, late;

	begin();
	front = front_new();
	say(front, 1, "{\"what\":\"list\",\"caller\":\"*\"}");
	CHECK_TOLD(front, 1, 200, "{\"executions\":[],\"next\":null}");
	CHECK_INT(prlimit(role, RLIMIT_FSIZE, NULL, &old), 0);
	none = old;
	none.rlim_cur = 0;
	CHECK_INT(prlimit(role, RLIMIT_FSIZE, &none, NULL), 0);
	record("x", id);
	told = hear(front);
	CHECK_INT(told.head.kind, MESSAGE_TELL);
	CHECK_INT(told.head.run, 0);
	CHECK_INT(told.head.status, 503);
	CHECK(told.head.size > 10);
	message_free(&told);
	/* Who comes later is told as well, and what is there can be read. */
	late = front_unheard();
	told = hear(late);
	CHECK_INT(told.head.run, 0);
	CHECK_INT(told.head.status, 503);
	message_free(&told);
	say(front, 2, "{\"what\":\"list\",\"caller\":\"*\"}");
	CHECK_TOLD(front, 2, 200, "{\"executions\":[],\"next\":null}");
	CHECK_INT(prlimit(role, RLIMIT_FSIZE, &old, NULL), 0);
	CHECK_TOLD(front, 0, 200, "");
	CHECK_TOLD(late, 0, 200, "");
	say(front, 3, "{\"what\":\"list\",\"caller\":\"*\"}");
	told = hear(front);
	CHECK(strstr(told.body, id));
	message_free(&told);
	close(front);
	close(late);
	end();
}

int main(void)
{
	RUN(answers_have_what_was_just_recorded);
	RUN(wrong_questions_are_named);
	RUN(nonsense_ends_a_front_and_no_other);
	RUN(front_that_does_not_read_stops_nobody);
	RUN(events_are_logged);
	RUN(takes_by_itself_after_a_nudge);
	RUN(run_by_itself_is_taken_when_asked_for);
	RUN(says_when_it_cannot_write);
	return check_failures > 0;
}
