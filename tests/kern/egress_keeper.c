/*
 * A keeper without boxes, for tests/kern/test_egress.py: networks as boxes have them, opened at an egress of its own.
 *
 *	egress_keeper PROGRAM
 *
 * Commands are lines of standard input, words with tabs between them, each answered by one line of JSON on standard output:
 *
 *	open RATE TOTAL CONNECTIONS CONNECTIONS_TOTAL HOST_ALLOWED RULES [RULES…]
 *	                       makes a network with a policy of so many lists and opens it: {"box": N, "pid": of a
 *process in it} change N RATE TOTAL CONNECTIONS CONNECTIONS_TOTAL HOST_ALLOWED RULES [RULES…] another policy for it
 *	secrets BASE64         the text of the secrets of the networks that are opened after this
 *	report N               what was reported so far
 *	finish N               ends it, and reports all
 *	close N                closes its egress socket
 *	egress                 {"pid": of egress}
 *	start                  another egress, in which every network is opened again
 */
#include "base/arena.h"
#include "base/base64.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/own.h"
#include "kernel/clone.h"
#include "kernel/net_plant.h"
#include "kernel/netns.h"
#include "kernel/userns.h"
#include "net/egress_link.h"

#include <errno.h>
#include <jansson.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	BOXES = 1200,
	WORDS = 16,
	PATIENCE = 20000 /* milliseconds for reports that are due */
};

struct box {
	pid_t pid;
	int hold; /* its end ends the process in the network */
	struct egress_sockets sockets;
	int egress_fd;
	struct net_report report;
	char *words[WORDS]; /* of its policy */
};

static struct box boxes[BOXES];
static size_t count;
static struct egress_link egress;
static pid_t egress_pid;
static struct net_secrets secrets;
static struct arena secret_arena;
static const char *program;

static void say(json_t *object)
{
	char *text = json_dumps(object, JSON_COMPACT);

	puts(text);
	fflush(stdout);
	free(text);
	json_decref(object);
}

static void say_error(const char *text)
{
	say(json_pack("{s:s}", "error", text));
}

static int policy_of(char *const *words, struct arena *arena, struct net_policy *policy, struct error *err)
{
	*policy = (struct net_policy){ 0 };
	if (!words[0] || !words[1] || !words[2] || !words[3] || !words[4] || !words[5])
		return error_usage(err, "too few words");
	policy->rate = strtoull(words[0], NULL, 10);
	policy->total = strtoull(words[1], NULL, 10);
	policy->connections = (uint32_t)strtoul(words[2], NULL, 10);
	policy->connections_total = (uint32_t)strtoul(words[3], NULL, 10);
	policy->host_allowed = atoi(words[4]);
	for (char *const *word = words + 5; *word; word++)
		if (net_list_parse(*word, arena, &policy->lists[policy->list_count++], err) < 0)
			return -1;
	return 0;
}

/* In the network: plants it, gives the sockets away, and holds it. */
static void hold_network(int socket, const struct net_plant *plan)
{
	int fds[EGRESS_FDS_MAX + 2];
	size_t planted = 0;
	bool steered = false;
	char byte = 'n';

	/* The maps are there then. */
	if (read(socket, &byte, 1) != 1)
		_exit(1);
	if (netns_make() < 0 || netns_loopback() < 0 || net_plant(plan, fds, &planted, &steered) < 0) {
		fprintf(stderr, "egress_keeper: cannot plant: %m\n");
		_exit(1);
	}
	for (size_t i = 0; i < planted; i++)
		if (fd_send(socket, &byte, 1, &fds[i], 1) < 0)
			_exit(1);
	fd_send(socket, "e", 1, NULL, 0);
	for (size_t i = 0; i < planted; i++)
		close(fds[i]);
	while (read(socket, &byte, 1) > 0)
		;
	_exit(0);
}

static int make_network(struct box *box, const struct net_policy *policy, struct error *err)
{
	static struct net_needs needs;
	struct net_range ranges[NET_RANGES_MAX];
	struct net_plant plan = { .ranges = ranges };
	struct userns_ids ids;
	int ends[2], pidfd = -1, fds[FD_MESSAGE_MAX];
	size_t got;
	char byte;

	if (net_policy_needs(policy, &needs, err) < 0)
		return -1;
	plan.ports = needs.ports;
	plan.port_count = needs.port_count;
	plan.range_count = needs.range_count;
	plan.everything = needs.everything;
	for (size_t i = 0; i < needs.range_count; i++) {
		ranges[i] = (struct net_range){ .family = (uint8_t)needs.ranges[i].base.family,
						.bits = (uint8_t)needs.ranges[i].bits };
		memcpy(ranges[i].bytes, needs.ranges[i].base.bytes, sizeof(ranges[i].bytes));
	}
	if (userns_take(userns_can_range(), &ids, err) < 0)
		return -1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return error_errno(err, "socketpair");
	box->pid = clone_into(CLONE_NEWUSER, -1, &pidfd);
	if (box->pid == 0) {
		close(ends[0]);
		hold_network(ends[1], &plan);
	}
	close(ends[1]);
	close_fd(&pidfd);
	box->hold = ends[0];
	if (box->pid < 0 || userns_map_stem(box->pid, &ids, err) < 0)
		return error_prefix(err, "no network");
	userns_release(&ids);
	if (write(box->hold, "g", 1) != 1)
		return error_errno(err, "no network");
	box->sockets = (struct egress_sockets){ .dns_udp = -1, .dns_tcp = -1 };
	for (size_t i = 0; fd_receive(box->hold, &byte, 1, fds, &got) == 1; i++) {
		if (byte == 'e')
			return i >= 2 ? 0 : error_set(err, ERROR_FAILED, 0, "no sockets");
		if (got != 1)
			break;
		if (i == 0)
			box->sockets.dns_udp = fds[0];
		else if (i == 1)
			box->sockets.dns_tcp = fds[0];
		else
			box->sockets.listeners[box->sockets.count++] = fds[0];
	}
	return error_set(err, ERROR_FAILED, 0, "no sockets");
}

static int box_open(struct box *box, struct error *err)
{
	struct arena arena = { 0 };
	struct net_policy policy;
	int done = policy_of(box->words, &arena, &policy, err);

	if (done == 0 && box->hold < 0)
		done = make_network(box, &policy, err);
	if (done == 0)
		done = egress_open_secret(&egress, &policy, &secrets, &box->sockets, &box->egress_fd, err);
	arena_free(&arena);
	return done;
}

static void keep_words(struct box *box, char *const *words)
{
	for (size_t i = 0; i < WORDS; i++) {
		free(box->words[i]);
		box->words[i] = words[i] ? strdup(words[i]) : NULL;
		if (!words[i])
			break;
	}
}

static json_t *report_json(const struct net_report *report)
{
	json_t *list = json_array();

	for (size_t i = 0; i < report->count; i++) {
		const struct net_connection *c = &report->connections[i];

		json_array_append_new(
			list,
			json_pack("{s:s, s:s, s:i, s:s, s:s, s:b, s:s, s:s, s:b, s:I, s:I, s:I, s:I, s:I}", "request",
				  c->request, "host", c->host, "port", c->port, "address", c->address, "rule", c->rule,
				  "allowed", c->allowed, "reason", net_reason_name((enum net_reason)c->reason), "level",
				  net_level_name((enum net_level)c->level), "open", c->open, "sent",
				  (json_int_t)c->sent, "received", (json_int_t)c->received, "number",
				  (json_int_t)c->number, "time", (json_int_t)c->time_usec, "duration",
				  (json_int_t)c->duration_usec));
	}
	return json_pack("{s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:b}", "connections", list, "allowed",
			 (json_int_t)report->allowed, "refused", (json_int_t)report->refused, "queries",
			 (json_int_t)report->queries, "lost", (json_int_t)report->lost, "sent",
			 (json_int_t)report->sent, "received", (json_int_t)report->received, "gone", report->gone);
}

static void start_egress(void)
{
	struct error err;

	if (egress_pid > 0)
		waitpid(egress_pid, NULL, 0);
	if (egress_start_own(program, &egress, &egress_pid, &err) < 0) {
		say_error(err.text);
		return;
	}
	for (size_t i = 0; i < count; i++) {
		if (boxes[i].egress_fd < 0)
			continue;
		close_fd(&boxes[i].egress_fd);
		net_report_free(&boxes[i].report);
		boxes[i].report = (struct net_report){ 0 };
		if (box_open(&boxes[i], &err) < 0) {
			say_error(err.text);
			return;
		}
	}
	say(json_pack("{s:i}", "pid", (int)egress_pid));
}

static void open_box(char *const *words)
{
	struct box *box = &boxes[count];
	struct error err;

	if (count == BOXES) {
		say_error("too many boxes");
		return;
	}
	*box = (struct box){ .hold = -1, .egress_fd = -1 };
	keep_words(box, words);
	if (box_open(box, &err) < 0) {
		say_error(err.text);
		return;
	}
	say(json_pack("{s:i, s:i}", "box", (int)count++, "pid", (int)box->pid));
}

/* The answer is an event, and comes in its turn. */
static void change_box(struct box *box, char *const *words)
{
	struct arena arena = { 0 };
	struct net_policy policy;
	struct error err;

	keep_words(box, words);
	if (policy_of(box->words, &arena, &policy, &err) < 0 || egress_change(box->egress_fd, &policy, NULL, &err) < 0)
		say_error(err.text);
	else
		say(json_object());
	arena_free(&arena);
}

static void take_secrets(const char *encoded)
{
	char *text = encoded ? malloc(strlen(encoded) + 1) : NULL;
	const ssize_t size = text ? base64_decode(encoded, strlen(encoded), (unsigned char *)text) : 0;
	struct error err;

	if (size < 0 || net_secrets_read(text ? text : "", (size_t)size, &secret_arena, &secrets, &err) < 0)
		say_error("the secrets are broken");
	else
		say(json_object());
	free(text);
}

static void command(char **words)
{
	const size_t number = words[1] ? strtoul(words[1], NULL, 10) : 0;
	struct box *box = number < count ? &boxes[number] : &boxes[0];

	if (strcmp(words[0], "egress") == 0) {
		say(json_pack("{s:i}", "pid", (int)egress_pid));
	} else if (strcmp(words[0], "start") == 0) {
		start_egress();
	} else if (strcmp(words[0], "secrets") == 0) {
		take_secrets(words[1]);
	} else if (strcmp(words[0], "open") == 0) {
		open_box(words + 1);
	} else if (number >= count || !words[1]) {
		say_error("no such box");
	} else if (strcmp(words[0], "change") == 0) {
		change_box(box, words + 2);
	} else if (strcmp(words[0], "report") == 0) {
		egress_read(box->egress_fd, &box->report);
		say(report_json(&box->report));
	} else if (strcmp(words[0], "finish") == 0) {
		egress_finish(box->egress_fd);
		egress_read_all(box->egress_fd, &box->report, PATIENCE);
		say(report_json(&box->report));
		close_fd(&box->egress_fd);
	} else if (strcmp(words[0], "close") == 0) {
		close_fd(&box->egress_fd);
		say(json_object());
	} else {
		say_error("unknown command");
	}
}

int main(int argc, char **argv)
{
	_cleanup_free_ char *line = NULL;
	size_t room = 0;

	program = argv[1];
	if (argc != 2)
		return 2;
	signal(SIGPIPE, SIG_IGN);
	egress_link_init(&egress);
	start_egress();
	while (getline(&line, &room, stdin) > 0) {
		char *words[WORDS + 2] = { NULL }, *rest = NULL;

		words[0] = strtok_r(line, "\t\n", &rest);
		for (size_t i = 1; i < WORDS && words[i - 1]; i++)
			words[i] = strtok_r(NULL, "\t\n", &rest);
		if (words[0])
			command(words);
	}
	return 0;
}
