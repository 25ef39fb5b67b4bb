/* The front's questions about the inside of a session's box, answered with descriptors where that is more than words.
 */
#include "serve/keeper_work.h"

#include "base/own.h"
#include "session/files.h"
#include "session/session.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>
#include <unistd.h>

/* One question about files. */
struct file_question {
	const struct live_place *place; /* whose */
	const char *path;               /* of which */
	const char *to;                 /* where it is to be moved */
	int given;                      /* the content; -1: none */
	const json_t *rest;             /* all that was asked */
};

static const char *text_of(const json_t *question, const char *key)
{
	const char *text = json_string_value(json_object_get(question, key));

	return text ? text : "";
}

/* What the sentence is about: it says so first. */
static const char *field_of(const struct error *err)
{
	return strncmp(err->text, "session: ", 9) == 0  ? "id"
	       : strncmp(err->text, "offset: ", 8) == 0 ? "offset"
	       : strncmp(err->text, "move: ", 6) == 0   ? "move"
							: "path";
}

static int tell_refusal(struct buf *out, const struct error *err)
{
	static const struct {
		int errnum;       /* as session/files.h and session/session.h have it */
		int status;       /* of the answer */
		const char *code; /* the same */
	} known[] = {
		{ ENOENT, 404, "not_found" },
		{ ESRCH, 404, "not_found" },
		{ EACCES, 403, "forbidden_file" },
		{ EROFS, 403, "forbidden_file" },
		{ ENOSPC, 507, "disk_full" },
		{ ENOTSUP, 409, "no_plain_file" },
		{ EISDIR, 409, "no_plain_file" },
		{ ENOTDIR, 409, "no_plain_file" },
		{ ENOTEMPTY, 409, "not_empty" },
		{ EAGAIN, 409, "changing" },
		{ EBUSY, 429, "busy" },
	};

	for (size_t i = 0; err->kind == ERROR_USAGE && i < ARRAY_SIZE(known); i++)
		if (err->errnum == known[i].errnum)
			return keeper_tell_error(out, known[i].status, known[i].code, field_of(err), err->text);
	return keeper_tell_error(out, err->kind == ERROR_USAGE ? 400 : 500,
				 err->kind == ERROR_USAGE ? "bad_request" : "failed",
				 err->kind == ERROR_USAGE ? field_of(err) : "", err->text);
}

/* All of these: the status, with the answer in `out` and perhaps a descriptor; 0: `err` says why not. */

static int file_open(const struct file_question *q, struct buf *out, int *file, struct error *err)
{
	struct stat st;

	*file = live_open(q->place, q->path, &st, err);
	buf_text(out, "{}");
	return *file < 0 ? 0 : 200;
}

static int file_list(const struct file_question *q, struct buf *out, int *file, struct error *err)
{
	return live_list(q->place, q->path, out, err) < 0 ? 0 : 200;
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
	if (offset)
		done = live_patch(q->place, q->path, q->given, (uint64_t)st.st_size,
				  (uint64_t)json_integer_value(offset), &made, err);
	else
		done = live_write(q->place, q->path, q->given, (uint64_t)st.st_size, &made, err);
	if (done < 0)
		return 0;
	buf_printf(out, "{\"size\":%lld}", (long long)st.st_size);
	return made ? 201 : 200;
}

static int file_remove(const struct file_question *q, struct buf *out, int *file, struct error *err)
{
	if (live_remove(q->place, q->path, err) < 0)
		return 0;
	buf_text(out, "{\"removed\":true}");
	return 200;
}

static int file_move(const struct file_question *q, struct buf *out, int *file, struct error *err)
{
	if (live_move(q->place, q->path, q->to, err) < 0)
		return 0;
	buf_text(out, "{\"moved\":true}");
	return 200;
}

static int terminal(const struct keeper_work *work, const json_t *question, struct buf *out, int *file,
		    struct error *err)
{
	const json_int_t rows = json_integer_value(json_object_get(question, "rows"));
	const json_int_t columns = json_integer_value(json_object_get(question, "cols"));

	if (rows < 1 || rows > SPEC_LINES_MAX || columns < 1 || columns > SPEC_LINES_MAX) {
		error_set(err, ERROR_FAILED, 0, "a terminal came without its size");
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

int keeper_ask_live(struct keeper_work *work, const json_t *question, int given, struct buf *out, int *file)
{
	static const struct {
		const char *what; /* the question */
		int (*tell)(const struct file_question *question, struct buf *out, int *file, struct error *err);
	} answers[] = {
		{ "file_open", file_open },     { "file_list", file_list }, { "file_write", file_write },
		{ "file_remove", file_remove }, { "file_move", file_move },
	};
	struct live_place place = LIVE_PLACE_NONE;
	struct file_question q = {
		.place = &place,
		.path = text_of(question, "path"),
		.to = text_of(question, "move"),
		.given = given,
		.rest = question,
	};
	struct error err = { 0 };
	int status = -1;

	*file = -1;
	if (strcmp(text_of(question, "what"), "terminal") == 0)
		status = terminal(work, question, out, file, &err);
	else if (strcmp(text_of(question, "what"), "file_watch") == 0)
		status = watch(work, question, out, file, &err);
	for (size_t i = 0; status < 0 && i < ARRAY_SIZE(answers); i++) {
		if (strcmp(text_of(question, "what"), answers[i].what) != 0)
			continue;
		status = sessions_place(work->sessions, text_of(question, "id"),
					keeper_caller(question), &place, &err) < 0
				 ? 0
				 : answers[i].tell(&q, out, file, &err);
	}
	live_close(&place);
	if (status != 0)
		return status < 0 ? 0 : status;
	out->size = 0;
	return tell_refusal(out, &err);
}
