/* The front's questions about the inside of a session's box, answered with descriptors where that is more than words.
 */
#include "daemon/keeper/keeper_work.h"

#include "base/own.h"
#include "policy/gate.h"
#include "policy/in_force.h"
#include "policy/reader_wire.h"
#include "live/live_files.h"
#include "live/session.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>
#include <unistd.h>

/* One question about files. */
struct file_question {
	const struct live_files *files; /* whose */
	const struct spec *policy;      /* what is in force there, and its language */
	const char *path;               /* of which */
	const char *to;                 /* where it is to be moved */
	int given;                      /* the content; -1: none */
	const json_t *rest;             /* all that was asked */
	bool asks;                      /* each of the session's cells needs a confirmation */
};

static const char *text_of(const json_t *question, const char *key)
{
	const char *text = json_string_value(json_object_get(question, key));

	return text ? text : "";
}

/* All of these: the status, with the answer in `out` and perhaps a descriptor; 0: `err` says why not. */

static int file_open(const struct file_question *q, struct buf *out, int *file, struct error *err)
{
	struct stat st;

	*file = live_open(q->files, q->path, &st, err);
	buf_text(out, "{}");
	return *file < 0 ? 0 : 200;
}

static int file_list(const struct file_question *q, struct buf *out, int *file, struct error *err)
{
	return live_list(q->files, q->path, out, err) < 0 ? 0 : 200;
}

/* Whether the text may be there under that name. Larger than the gate reads is enough of it. */
static int look_at_text(const struct file_question *q, const char *path, const void *text, size_t size,
			struct error *err)
{
	_cleanup_gate_ struct gate gate = { 0 };
	struct spec spec;
	int done;

	spec_init(&spec);
	spec.runtime = q->policy->runtime;
	spec.policy = q->policy->policy;
	spec.policy_in_force = q->policy->policy_in_force;
	/* By its last part alone: where it is makes no source of it. */
	done = spec_add_content(&spec, path, text, size, err);
	if (done == 0)
		done = gate_look(&spec, &gate, err);
	spec_free(&spec);
	return done == 1 ? gate_refuse(&gate, "file", err) : done;
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Up to one byte more than the gate reads, which is then refused by its size. -1, or how many. */
static ssize_t read_source(int fd, char *text, struct error *err)
{
	size_t size = 0;
	ssize_t n = 0;

	while (size <= WIRE_SOURCE_MAX && (n = pread(fd, text + size, WIRE_SOURCE_MAX + 1 - size, (off_t)size)) > 0)
		size += (size_t)n;
	return n < 0 ? error_errno(err, "cannot read a file of the box") : (ssize_t)size;
}

/* What there is of it, or nothing: a program that takes it away meanwhile gains a new file, and what is no plain file
 * is no source. One that is there and cannot be read could be anything, and is refused where programs are blocked. */
static ssize_t read_old(const struct file_question *q, char *text, struct error *err)
{
	_cleanup_close_ int fd = -1;
	struct error none = { 0 };
	struct stat st;

	fd = live_open(q->files, q->path, &st, &none);
	if (fd >= 0)
		return read_source(fd, text, err);
	if (q->policy->policy != POLICY_BLOCK || none.code == CODE_NOT_FOUND || none.code == CODE_NO_PLAIN_FILE)
		return 0;
	return error_refuse(err, CODE_BLOCKED, "", "Security policy cannot check the file: it cannot be read");
}

/* The file as it would be. */
static int look_at_write(const struct file_question *q, uint64_t size, uint64_t offset, bool patched, struct error *err)
{
	_cleanup_free_ char *text = NULL;
	const char *name = last_part(q->path);
	ssize_t whole;

	if (!gate_takes(q->policy, name))
		return 0;
	text = calloc(1, WIRE_SOURCE_MAX + 1);
	if (!text)
		return error_set(err, ERROR_FAILED, ENOMEM, "cannot look at the file");
	whole = patched ? read_old(q, text, err) : read_source(q->given, text, err);
	if (whole < 0)
		return -1;
	if (patched && (offset > WIRE_SOURCE_MAX || size > WIRE_SOURCE_MAX - offset)) {
		whole = WIRE_SOURCE_MAX + 1;
	} else if (patched) {
		if (pread(q->given, text + offset, size, 0) != (ssize_t)size)
			return error_errno(err, "cannot read the content");
		if ((uint64_t)whole < offset + size)
			whole = (ssize_t)(offset + size);
	}
	return look_at_text(q, name, text, (size_t)whole, err);
}

/* A name can make a source of what was none. */
static int look_at_move(const struct file_question *q, struct error *err)
{
	_cleanup_free_ char *text = NULL;
	const char *name = last_part(q->to);
	ssize_t size;

	if (!*name || !gate_takes(q->policy, name))
		return 0;
	text = malloc(WIRE_SOURCE_MAX + 1);
	if (!text)
		return error_set(err, ERROR_FAILED, ENOMEM, "cannot look at the file");
	size = read_old(q, text, err);
	return size < 0 ? -1 : look_at_text(q, name, text, (size_t)size, err);
}

/* What a cell imports is run with it: whoever agreed to the cell has not seen a file that is put there later. */
static int check_agreed(const struct file_question *q, const char *path, struct error *err)
{
	if (!q->asks || strncmp(path, "data/", 5) == 0 || strncmp(path, "output/", 7) == 0)
		return 0;
	return error_refuse(
		err, CODE_BLOCKED, "",
		"session: each cell of it needs a confirmation, and so files are put only below data and "
		"output; give what programs import at its start (files), or use a profile with confirm: once");
}

static int file_write(const struct file_question *q, struct buf *out, int *file, struct error *err)
{
	const json_t *offset = json_object_get(q->rest, "offset");
	bool made = false;
	struct stat st;
	int done;

	/* A front that was taken over could pass anything; what is not a file could hold us up. */
	if (q->given < 0 || fstat(q->given, &st) < 0 || !S_ISREG(st.st_mode)) {
		error_set(err, ERROR_FAILED, 0, "a file came without its content");
		return 0;
	}
	if (check_agreed(q, q->path, err) < 0 ||
	    look_at_write(q, (uint64_t)st.st_size, offset ? (uint64_t)json_integer_value(offset) : 0, offset != NULL,
			  err) < 0)
		return 0;
	if (offset)
		done = live_patch(q->files, q->path, q->given, (uint64_t)st.st_size,
				  (uint64_t)json_integer_value(offset), &made, err);
	else
		done = live_write(q->files, q->path, q->given, (uint64_t)st.st_size, &made, err);
	if (done < 0)
		return 0;
	buf_printf(out, "{\"size\":%lld}", (long long)st.st_size);
	return made ? 201 : 200;
}

static int file_remove(const struct file_question *q, struct buf *out, int *file, struct error *err)
{
	if (live_remove(q->files, q->path, err) < 0)
		return 0;
	buf_text(out, "{\"removed\":true}");
	return 200;
}

static int file_move(const struct file_question *q, struct buf *out, int *file, struct error *err)
{
	if (check_agreed(q, q->to, err) < 0 || look_at_move(q, err) < 0 || live_move(q->files, q->path, q->to, err) < 0)
		return 0;
	buf_text(out, "{\"moved\":true}");
	return 200;
}

/* What the session's files are looked at by. */
static int find_policy(const struct keeper_work *work, const json_t *question, struct spec *policy, struct error *err)
{
	const char *in_force = json_string_value(json_object_get(question, "in_force"));

	/* One that was left out must not be none. */
	if (!in_force_valid(in_force))
		return error_set(err, ERROR_FAILED, 0, "a question came without the policy that is in force");
	return sessions_policy(work->sessions, text_of(question, "id"), keeper_caller(question), in_force, policy, err);
}

static int terminal(const struct keeper_work *work, const json_t *question, struct buf *out, int *file,
		    struct error *err)
{
	const json_int_t rows = json_integer_value(json_object_get(question, "rows"));
	const json_int_t columns = json_integer_value(json_object_get(question, "cols"));
	const char *in_force = json_string_value(json_object_get(question, "in_force"));

	if (rows < 1 || rows > SPEC_LINES_MAX || columns < 1 || columns > SPEC_LINES_MAX) {
		error_set(err, ERROR_FAILED, 0, "a terminal came without its size");
		return 0;
	}
	if (!in_force_valid(in_force)) {
		error_set(err, ERROR_FAILED, 0, "a question came without the policy that is in force");
		return 0;
	}
	/* What is typed into a shell nobody has agreed to. */
	if (sessions_confirm(work->sessions, text_of(question, "id"), keeper_caller(question), in_force)) {
		error_refuse(err, CODE_BLOCKED, "",
			     "session: each cell of it needs a confirmation, and so it has no terminal; a profile with "
			     "confirm: once has one");
		return 0;
	}
	if (sessions_terminal(work->sessions, text_of(question, "id"), keeper_caller(question), (unsigned)rows,
			      (unsigned)columns, file, err) < 0)
		return 0;
	buf_text(out, "{}");
	return 200;
}

static int watch(const struct keeper_work *work, const json_t *question, struct buf *out, int *file, struct error *err)
{
	if (sessions_watch(work->sessions, text_of(question, "id"), keeper_caller(question), text_of(question, "path"),
			   json_is_true(json_object_get(question, "recursive")), file, err) < 0)
		return 0;
	buf_text(out, "{}");
	return 200;
}

static int follow(struct keeper_work *work, const json_t *question, struct buf *out, int *file, struct error *err)
{
	if (decisions_follow(&work->decisions, text_of(question, "id"), keeper_caller(question), file, err) < 0)
		return 0;
	buf_text(out, "{}");
	return 200;
}

int keeper_ask_live(struct keeper_work *work, const json_t *question, int given, struct buf *out, int *file)
{
	static const struct {
		const char *what; /* the question */
		int (*tell)(const struct file_question *question, struct buf *out, int *file, struct error *err);
	} answers[] = {
		{ "file_open", file_open },     { "file_list", file_list }, { "file_write", file_write },
		{ "file_remove", file_remove }, { "file_move", file_move },
	};
	struct live_files files = LIVE_FILES_NONE;
	struct spec policy;
	struct file_question q = {
		.files = &files,
		.policy = &policy,
		.path = text_of(question, "path"),
		.to = text_of(question, "move"),
		.given = given,
		.rest = question,
	};
	struct error err = { 0 };
	int status = -1;

	*file = -1;
	spec_init(&policy);
	if (strcmp(text_of(question, "what"), "terminal") == 0)
		status = terminal(work, question, out, file, &err);
	else if (strcmp(text_of(question, "what"), "file_watch") == 0)
		status = watch(work, question, out, file, &err);
	else if (strcmp(text_of(question, "what"), "run_decisions") == 0)
		status = follow(work, question, out, file, &err);
	for (size_t i = 0; status < 0 && i < ARRAY_SIZE(answers); i++) {
		if (strcmp(text_of(question, "what"), answers[i].what) != 0)
			continue;
		q.asks = sessions_confirm(work->sessions, text_of(question, "id"), keeper_caller(question),
					  text_of(question, "in_force"));
		status = find_policy(work, question, &policy, &err) < 0 ||
					 sessions_files(work->sessions, text_of(question, "id"),
							keeper_caller(question), &files, &err) < 0
				 ? 0
				 : answers[i].tell(&q, out, file, &err);
	}
	live_close(&files);
	if (status != 0)
		return status < 0 ? 0 : status;
	out->size = 0;
	return keeper_tell_refusal(out, &err);
}
