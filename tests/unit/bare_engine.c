#include "bare_engine.h"

#include "base/clock.h"
#include "base/own.h"
#include "tree.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>

struct bare {
	struct engine_place place; /* first */
	struct arena arena;        /* owns the words */
	char *root;                /* the directory in which /sandbox is */
	int files[REPORT_FDS];     /* of it */
	int output[2];             /* the program's stdout and stderr */
	pid_t pid;                 /* the program, and its process group */
	uint64_t started_usec;     /* when */
};

static int bare_open(const struct engine_options *options, void **self, struct error *err)
{
	*self = NULL;
	return 0;
}

static void bare_close(void *self)
{
	(void)self;
}

/* The word with the directory before each path of the box. */
static char *below_root(struct bare *bare, const char *word)
{
	static const char sandbox[] = "/sandbox";
	const char *at = strstr(word, sandbox);
	const char *rest = at ? below_root(bare, at + sizeof(sandbox) - 1) : NULL;

	return at ? arena_printf(&bare->arena, "%.*s%s%s%s", (int)(at - word), word, bare->root, sandbox, rest)
		  : arena_string(&bare->arena, word);
}

static char **words_below_root(struct bare *bare, const char *const *words)
{
	size_t count = 0;
	char **copy;

	while (words[count])
		count++;
	copy = arena_alloc(&bare->arena, (count + 1) * sizeof(*copy));
	for (size_t i = 0; i < count; i++)
		copy[i] = below_root(bare, words[i]);
	copy[count] = NULL;
	return copy;
}

static void make_files(struct bare *bare, const struct job *job)
{
	static const char *const directories[] = { "sandbox",         "sandbox/code",  "sandbox/data",
						   "sandbox/output",  "sandbox/temp",  "sandbox/home",
						   "sandbox/drivers", "sandbox/build", NULL };
	int root = open(bare->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	for (size_t i = 0; directories[i]; i++)
		mkdirat(root, directories[i], 0700);
	for (size_t i = 0; i < job->file_count; i++)
		if (job->files[i].data && strncmp(job->files[i].path, "sandbox/", 8) == 0)
			tree_write(root, job->files[i].path, job->files[i].data, job->files[i].size);
	bare->files[REPORT_FD_OUTPUT] = openat(root, "sandbox/output", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	close(root);
}

static int input_of(const struct job *job)
{
	int fd = memfd_create("input", MFD_CLOEXEC);

	if (write(fd, job->input, job->input_size) < 0 || lseek(fd, 0, SEEK_SET) < 0)
		abort();
	return fd;
}

static int start(struct bare *bare, const struct job *job)
{
	_cleanup_close_ int input = input_of(job);
	char **argv = words_below_root(bare, (const char *const *)job->argv);
	char **envp = words_below_root(bare, (const char *const *)job->envp);
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	int out[2], errors[2], failed;

	if (pipe2(out, O_CLOEXEC) < 0 || pipe2(errors, O_CLOEXEC) < 0)
		abort();
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addchdir_np(&actions, below_root(bare, "/sandbox/code"));
	posix_spawn_file_actions_adddup2(&actions, input, 0);
	posix_spawn_file_actions_adddup2(&actions, out[1], 1);
	posix_spawn_file_actions_adddup2(&actions, errors[1], 2);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
	bare->started_usec = clock_usec();
	failed = posix_spawn(&bare->pid, argv[0], &actions, &attributes, argv, envp);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	close(out[1]);
	close(errors[1]);
	bare->output[0] = out[0];
	bare->output[1] = errors[0];
	return failed;
}

static void bare_free(struct bare *bare)
{
	close_fd(&bare->output[0]);
	close_fd(&bare->output[1]);
	close_fd(&bare->files[REPORT_FD_OUTPUT]);
	tree_free(bare->root);
	arena_free(&bare->arena);
	free(bare);
}

static int place_open(void *self, const struct job *job, struct engine_place **out, struct error *err)
{
	struct bare *bare;
	int failed;

	/* It has no other root, no terminal, and no directory of the host's. */
	if (job->rows > 0 || job->tree_count > 0)
		return 1;
	bare = calloc(1, sizeof(*bare));
	bare->place.engine = &bare_engine;
	bare->root = tree_new();
	for (int i = 0; i < REPORT_FDS; i++)
		bare->files[i] = -1;
	make_files(bare, job);
	failed = start(bare, job);
	if (failed) {
		bare_free(bare);
		return error_set(err, ERROR_FAILED, failed, "cannot start %s", job->argv[0]);
	}
	*out = &bare->place;
	return 0;
}

static void take_output(struct bare *bare, int index, const struct engine_io *io, struct output outputs[2])
{
	char block[4096];
	ssize_t n = read(bare->output[index], block, sizeof(block));

	if (n <= 0) {
		close_fd(&bare->output[index]);
		return;
	}
	output_add(&outputs[index], block, (size_t)n);
	if (io->on_output)
		io->on_output(index + 1, block, (size_t)n, io->userdata);
}

static void stop(struct bare *bare, enum status status, struct verdict *verdict)
{
	if (verdict->ended_usec)
		return;
	verdict->ended_usec = clock_usec();
	verdict->status = status;
	verdict->limit = status == STATUS_TIMEOUT ? "timeout" : NULL;
	verdict->cancelled = status == STATUS_KILLED;
	kill(-bare->pid, SIGKILL);
}

static int place_watch(struct engine_place *place, const struct job *job, const struct engine_io *io,
		       struct output outputs[2], struct verdict *verdict)
{
	struct bare *bare = (struct bare *)place;
	const uint64_t due = bare->started_usec + (uint64_t)(job->limits.timeout * 1e6);
	int wait_status;

	*verdict = (struct verdict){ .started_usec = bare->started_usec };
	while (bare->output[0] >= 0 || bare->output[1] >= 0) {
		const uint64_t now = clock_usec();
		struct pollfd fds[] = { { .fd = bare->output[0], .events = POLLIN },
					{ .fd = bare->output[1], .events = POLLIN },
					{ .fd = io->cancel_fd, .events = POLLIN } };

		if (now >= due)
			stop(bare, STATUS_TIMEOUT, verdict);
		poll(fds, verdict->ended_usec ? 2 : 3, verdict->ended_usec ? -1 : (int)((due - now) / 1000) + 1);
		if (!verdict->ended_usec && fds[2].revents)
			stop(bare, STATUS_KILLED, verdict);
		for (int i = 0; i < 2; i++)
			if (fds[i].revents)
				take_output(bare, i, io, outputs);
	}
	waitpid(bare->pid, &wait_status, 0);
	if (verdict->ended_usec)
		return 0;
	verdict->ended_usec = clock_usec();
	verdict->wait_status = wait_status;
	verdict->ended = true;
	verdict->status = verdict->wait_status == 0 ? STATUS_OK : STATUS_FAILED;
	return 0;
}

static int place_describe(const struct engine_place *place, struct result *result, struct error *err)
{
	result->limits.cpus = 0;
	return 0;
}

static void place_files(const struct engine_place *place, struct engine_files *files)
{
	*files = (struct engine_files){ .handles = ((const struct bare *)place)->files };
}

static int place_close(struct engine_place *place, struct error *err)
{
	bare_free((struct bare *)place);
	return 0;
}

const struct engine bare_engine = {
	.runtime = "bare",
	.open = bare_open,
	.close = bare_close,
	.place_open = place_open,
	.place_watch = place_watch,
	.place_describe = place_describe,
	.place_files = place_files,
	.place_close = place_close,
};
