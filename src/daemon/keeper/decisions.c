#include "daemon/keeper/decisions.h"

#include "base/fd.h"
#include "base/own.h"
#include "result/result_network.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <string.h>
#include <unistd.h>

enum {
	PIPE_SIZE = 1 << 20,          /* bytes of a follower's pipe */
	LINES_MAX = PIPE_SIZE - 4096, /* bytes of lines that one run can have */
};

void decisions_begin(struct decisions_list *list, struct decisions *run, const char *id, const char *caller)
{
	*run = (struct decisions){ .id = id, .caller = caller };
	for (size_t i = 0; i < FOLLOWERS_MAX; i++)
		run->followers[i] = -1;
	pthread_mutex_lock(&list->lock);
	run->next = list->first;
	list->first = run;
	pthread_mutex_unlock(&list->lock);
}

/* A follower that is gone, or whose pipe could not be made large enough, gets no more. */
static void tell_followers(struct decisions *run, const char *data, size_t size)
{
	for (size_t i = 0; i < FOLLOWERS_MAX; i++)
		if (run->followers[i] >= 0 && write(run->followers[i], data, size) != (ssize_t)size)
			close_fd(&run->followers[i]);
}

static void add_line(struct decisions *run, const struct net_connection *connection)
{
	const size_t before = run->lines.size;
	_cleanup_free_ char *text = NULL;
	json_t *root = result_connection_json(connection);

	json_object_del(root, "duration");
	json_object_del(root, "sent");
	json_object_del(root, "received");
	json_object_del(root, "open");
	if (root)
		json_object_set_new(root, "schema_version", json_integer(1));
	text = root ? json_dumps(root, JSON_COMPACT) : NULL;
	json_decref(root);
	if (!text || run->lines.size + strlen(text) + sizeof("decision \n") > LINES_MAX)
		return;
	buf_printf(&run->lines, "decision %s\n", text);
	if (!run->lines.failed)
		tell_followers(run, run->lines.data + before, run->lines.size - before);
}

void decisions_add(struct decisions_list *list, struct decisions *run, const struct net_report *report, size_t from)
{
	pthread_mutex_lock(&list->lock);
	for (; from + run->count < report->count; run->count++)
		add_line(run, &report->connections[from + run->count]);
	pthread_mutex_unlock(&list->lock);
}

void decisions_end(struct decisions_list *list, struct decisions *run)
{
	pthread_mutex_lock(&list->lock);
	for (struct decisions **at = &list->first; *at; at = &(*at)->next) {
		if (*at == run) {
			*at = run->next;
			break;
		}
	}
	for (size_t i = 0; i < FOLLOWERS_MAX; i++)
		close_fd(&run->followers[i]);
	buf_free(&run->lines);
	pthread_mutex_unlock(&list->lock);
}

static int add_follower(struct decisions *run, int *out, struct error *err)
{
	_cleanup_close_ int ours = -1, theirs = -1;
	int ends[2];
	size_t i = 0;

	while (i < FOLLOWERS_MAX && run->followers[i] >= 0)
		i++;
	if (i == FOLLOWERS_MAX)
		return error_refuse(err, CODE_TOO_MANY, "id", "%d callers follow this run already", FOLLOWERS_MAX);
	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
		return error_errno(err, "cannot make a pipe");
	theirs = ends[0];
	ours = ends[1];
	/* An ordinary user may have used up what pipes may hold: then what fits is there. */
	fcntl(ours, F_SETPIPE_SZ, PIPE_SIZE);
	if (run->lines.size > 0 && write(ours, run->lines.data, run->lines.size) != (ssize_t)run->lines.size)
		return error_errno(err, "cannot hold the decisions so far");
	run->followers[i] = take_fd(&ours);
	*out = take_fd(&theirs);
	return 0;
}

int decisions_follow(struct decisions_list *list, const char *id, const char *caller, int *out, struct error *err)
{
	int done;

	pthread_mutex_lock(&list->lock);
	struct decisions *run = list->first;

	while (run && (strcmp(run->id, id) != 0 || (caller && strcmp(run->caller, caller) != 0)))
		run = run->next;
	if (run)
		done = add_follower(run, out, err);
	else
		done = error_refuse(err, CODE_NOT_FOUND, "id", "no execution of that id runs");
	pthread_mutex_unlock(&list->lock);
	return done;
}
