#include "engine/warm/ember_order.h"

#include "base/buf.h"
#include "base/fd.h"
#include "base/own.h"
#include "engine/ember/ember_wire.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

static uint32_t put_list(struct buf *out, const char *const *list)
{
	uint32_t count = 0;

	for (; list[count]; count++)
		buf_add(out, list[count], strlen(list[count]) + 1);
	return count;
}

/* The stem's root already contains the drivers. */
static bool is_driver(const struct job_file *file)
{
	static const char place[] = BOX_DRIVERS "/";

	return strncmp(file->path, place + 1, sizeof(place) - 2) == 0;
}

bool order_takes(const struct job_file *file)
{
	static const char *const places[] = { BOX_CODE "/",  "/sandbox/data/", BOX_OUTPUT "/", "/sandbox/temp/",
					      BOX_BUILD "/", BOX_RICH "/",     "/tmp/" };

	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		if (strncmp(file->path, places[i] + 1, strlen(places[i]) - 1) == 0)
			return true;
	return is_driver(file);
}

static int put_files(const struct job *job, struct buf *out, struct ember_order *order, int *fds, size_t *count,
		     struct error *err)
{
	for (size_t i = 0; i < job->file_count; i++) {
		const struct job_file *file = &job->files[i];
		const struct ember_file head = {
			.size = file->fd >= 0 ? job->limits.disk : file->size,
			.mode = file->mode,
			.open = file->fd >= 0,
		};

		if (is_driver(file))
			continue;
		if (file->fd >= 0 && *count == FD_MESSAGE_MAX)
			return error_set(err, ERROR_FAILED, 0, "an ember takes no more than %d open files",
					 FD_MESSAGE_MAX - 1);
		if (file->fd >= 0)
			fds[(*count)++] = file->fd;
		buf_add(out, &head, sizeof(head));
		buf_add(out, file->path, strlen(file->path) + 1);
		if (file->fd < 0)
			buf_add(out, file->data, file->size);
		order->files++;
	}
	return 0;
}

/* Moves a large text to a file; *fd is its descriptor. */
static int text_detach(struct buf *text, int *fd, struct error *err)
{
	_cleanup_close_ int file = memfd_create("order", MFD_CLOEXEC);

	if (file < 0 ||
	    fd_write(file, text->data + sizeof(struct ember_order), text->size - sizeof(struct ember_order)) < 0 ||
	    lseek(file, 0, SEEK_SET) < 0)
		return error_errno(err, "cannot hold the order to an ember");
	text->size = sizeof(struct ember_order);
	*fd = take_fd(&file);
	return 0;
}

/* The program, its compiled form, or a session's driver. */
static void put_entry(struct buf *out, const struct job *job)
{
	const char *artifact = job->runtime->compile.step.argv ? job->runtime->compile.artifact : NULL;

	for (const char *const *word = job->argv; job->session && *word; word++) {
		if (strncmp(*word, BOX_DRIVERS "/", sizeof(BOX_DRIVERS)) == 0) {
			buf_add(out, *word, strlen(*word) + 1);
			return;
		}
	}
	buf_text(out, artifact ? BOX_BUILD "/" : BOX_CODE "/");
	buf_text(out, artifact ? artifact : spec_entry(job->spec));
	buf_add(out, "", 1);
}

int order_send(int socket, const struct job *job, bool forks, const struct plan *plan, struct error *err)
{
	struct ember_order order = {
		.nproc = plan_processes_max(plan, &job->limits),
		.cpu = plan_cpu_max(&job->limits),
		.fsize = job->limits.disk < plan->limits->disk ? job->limits.disk : plan->limits->disk,
		/* Nobody waits for the end of a session. */
		.linger = plan->group && !job->session,
		.channel = job->session && job->channel >= 0,
	};
	_cleanup_buf_ struct buf text = { 0 };
	_cleanup_close_ int detached = -1;
	int fds[FD_MESSAGE_MAX + 1] = { -1 };
	size_t count = 1;

	if (order.channel)
		fds[count++] = job->channel;
	if (getrandom(&order.seed, sizeof(order.seed), 0) != sizeof(order.seed))
		return error_errno(err, "cannot get random bytes");
	buf_add(&text, &order, sizeof(order));
	put_entry(&text, job);
	order.words = put_list(&text, job->argv);
	order.first = order.words - (job->session ? 0 : (uint32_t)job->spec->arg_count);
	order.env = put_list(&text, forks ? job->envp : job->start_envp);
	if (put_files(job, &text, &order, fds, &count, err) < 0)
		return -1;
	if (text.failed)
		return error_set(err, ERROR_FAILED, ENOMEM, "cannot hold the order to an ember");
	order.size = text.size - sizeof(order);
	order.detached = order.size > EMBER_ORDER_INLINE;
	if (order.detached && text_detach(&text, &detached, err) < 0)
		return -1;
	fds[0] = detached;
	memcpy(text.data, &order, sizeof(order));
	if (fd_send(socket, text.data, text.size, fds + !order.detached, count - !order.detached) < 0)
		return error_errno(err, "an ember does not answer");
	return 0;
}
