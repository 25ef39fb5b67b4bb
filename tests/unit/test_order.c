/*
 * Orders to embers: what the keeper sends is what an ember reads, and what is no order is refused. The reading is that
 * of a real ember (engine/ember/enter.h) in a child of its own, whose root is an empty directory instead of a box.
 */
#include "../check.h"
#include "../kern/child.h"

#include "base/fd.h"
#include "engine/local/box_report.h"
#include "engine/ember/enter.h"
#include "engine/warm/ember_order.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static char place[] = "/tmp/emberbox-order-XXXXXX"; /* the root of the embers */
static struct error err;

/* An order that is being written. */
static struct {
	struct ember_order head;                       /* goes first */
	struct buf texts;                              /* and these behind it, or in a file */
	int fds[FD_MESSAGE_MAX];                       /* open files */
	size_t fd_count;                               /* how many */
	size_t cut;                                    /* bytes that are missing at the end */
	rlim_t nofile;                                 /* descriptors that it may have */
	const struct job *job;                         /* instead of all that: by order_send() */
	const struct plan *plan;                       /* for that */
	enum ember_step step;                          /* where it has to fail… */
	int errnum;                                    /* …and with what; -1: it is an order */
	void (*then)(const struct enter_claim *claim); /* what is looked at if it does not */
} wanted;

static void text(const char *word)
{
	buf_add(&wanted.texts, word, strlen(word) + 1);
}

static void file(const char *path, uint64_t size, uint32_t open, const char *content)
{
	const struct ember_file head = { .size = size, .mode = 0644, .open = open };

	buf_add(&wanted.texts, &head, sizeof(head));
	text(path);
	buf_text(&wanted.texts, content);
	wanted.head.files++;
}

/* `bash main.sh one ""` with one variable. */
static void fresh(void)
{
	buf_free(&wanted.texts);
	for (size_t i = 0; i < wanted.fd_count; i++)
		close(wanted.fds[i]);
	memset(&wanted, 0, sizeof(wanted));
	wanted.head = (struct ember_order){ .seed = 7, .nproc = 512, .words = 4, .first = 2, .env = 1 };
	text("/sandbox/code/main.sh");
	text("bash");
	text("/sandbox/code/main.sh");
	text("one");
	text("");
	text("A=b");
	wanted.nofile = 64;
	wanted.step = EMBER_STEP_ORDER;
	wanted.errnum = EPROTO;
}

static void send_wanted(int socket)
{
	struct buf message = { 0 };

	buf_add(&message, &wanted.head, sizeof(wanted.head));
	if (!wanted.head.detached)
		buf_add(&message, wanted.texts.data, wanted.texts.size);
	CHECK(wanted.cut <= message.size);
	CHECK_INT(fd_send(socket, message.data, message.size - wanted.cut, wanted.fds, wanted.fd_count), 0);
	buf_free(&message);
}

/* Somewhere that is / and has the directory of the code. */
static void enter_place(void)
{
	const struct rlimit many = { .rlim_cur = 4096, .rlim_max = 4096 };

	CHECK_INT(setrlimit(RLIMIT_NOFILE, &many), 0);
	if (geteuid() != 0)
		CHECK_INT(unshare(CLONE_NEWUSER), 0);
	CHECK_INT(chroot(place), 0);
	CHECK_INT(chdir("/"), 0);
}

static void child_reads(void)
{
	const struct rlimit few = { .rlim_cur = wanted.nofile, .rlim_max = wanted.nofile };
	const struct enter_claim *claim = NULL;
	enum ember_step step = EMBER_STEPS;
	char byte;
	int pair[2], count, control;

	enter_place();
	CHECK_INT(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	CHECK_INT(dup3(pair[0], EMBER_FD_CONTROL, O_CLOEXEC), EMBER_FD_CONTROL);
	close(pair[0]);
	count = fcntl(pair[1], F_DUPFD_CLOEXEC, 3);
	close(pair[1]);
	if (wanted.job)
		CHECK_INT(order_send(count, wanted.job, true, wanted.plan, &err), 0);
	else
		send_wanted(count);
	/* As enter_box() does. */
	CHECK_INT(setrlimit(RLIMIT_NOFILE, &few), 0);
	errno = 0;
	control = enter_shut(&step);
	if (control >= 0)
		claim = enter_await(control, &step);
	if (!claim) {
		int errnum = errno;

		CHECK_INT(errnum, wanted.errnum);
		CHECK_INT(step, wanted.step);
		return;
	}
	CHECK_INT(-1, wanted.errnum);
	/* Nobody is woken: that it was given its program is when it began. */
	CHECK_INT(recv(count, &byte, 1, MSG_DONTWAIT), -1);
	CHECK_INT(errno, EAGAIN);
	if (wanted.then)
		wanted.then(claim);
}

static void give(void)
{
	in_child(child_reads);
}

/* With the size that there is. */
static void give_whole(void)
{
	wanted.head.size = wanted.texts.size;
	give();
}

static int memory_file(const void *data, size_t size)
{
	int fd = memfd_create("x", MFD_CLOEXEC);

	CHECK_INT(fd_write(fd, data, size), 0);
	CHECK_INT(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

static void give_detached(uint64_t size)
{
	wanted.fds[wanted.fd_count++] = memory_file(wanted.texts.data, wanted.texts.size);
	wanted.head.detached = 1;
	wanted.head.size = size;
	give();
}

static const char *content(const char *path, unsigned mode)
{
	static char all[64];
	struct stat st;

	CHECK_INT(stat(path, &st), 0);
	CHECK_INT(st.st_mode & 07777, mode);
	CHECK(fd_slurp(AT_FDCWD, path, all, sizeof(all)) >= 0);
	return all;
}

static void then_plain(const struct enter_claim *claim)
{
	struct rlimit limit;
	char cwd[64];

	CHECK_STR(claim->claim.entry, "/sandbox/code/main.sh");
	CHECK_STR(claim->argv[0], "bash");
	CHECK_STR(claim->argv[1], "/sandbox/code/main.sh");
	CHECK(claim->claim.args == claim->argv + 2);
	CHECK_STR(claim->claim.args[0], "one");
	CHECK_STR(claim->claim.args[1], "");
	CHECK(!claim->claim.args[2]);
	CHECK_STR(claim->claim.envp[0], "A=b");
	CHECK(!claim->claim.envp[1] && environ == claim->claim.envp);
	CHECK_INT(claim->claim.seed, 7);
	CHECK_STR(getcwd(cwd, sizeof(cwd)), "/sandbox/code");
	CHECK_INT(getrlimit(RLIMIT_NPROC, &limit), 0);
	CHECK_INT(limit.rlim_max, 512);
	/* The gate is shut, and the way to the keeper is no descriptor of it. */
	CHECK_ERRNO(fcntl(EMBER_FD_CONTROL, F_GETFD), EBADF);
	CHECK(claim->control < 64 && fcntl(claim->control, F_GETFD) == FD_CLOEXEC);
}

static void the_control(void)
{
	fresh();
	wanted.errnum = -1;
	wanted.then = then_plain;
	give_whole();
}

static void the_control_in_a_file(void)
{
	fresh();
	wanted.errnum = -1;
	wanted.then = then_plain;
	give_detached(wanted.texts.size);
}

static void then_files(const struct enter_claim *claim)
{
	(void)claim;
	CHECK_STR(content("/sandbox/code/main.sh", 0644), "echo");
	CHECK_STR(content("/sandbox/code/sub/b", 0644), "");
	CHECK_STR(content("/sandbox/data/c", 0755), "open");
}

static void files_are_put_into_place(void)
{
	int fd = memory_file("open", 4);

	fresh();
	wanted.errnum = -1;
	wanted.then = then_files;
	file("sandbox/code/main.sh", 4, 0, "echo");
	file("sandbox/code/sub/b", 0, 0, "");
	file("sandbox/data/c", 4, 1, "");
	CHECK_INT(fchmod(fd, 0700), 0);
	wanted.fds[wanted.fd_count++] = fd;
	give_whole();
}

/* A head that is cut anywhere. */
static void less_than_a_head(void)
{
	for (size_t size = 1; size < sizeof(struct ember_order); size += 13) {
		fresh();
		wanted.cut = sizeof(struct ember_order) + wanted.texts.size - size;
		wanted.head.size = wanted.texts.size;
		give();
	}
}

static void another_size_than_said(void)
{
	static const uint64_t sizes[] = { 0, 1, UINT32_MAX, UINT64_MAX, UINT64_MAX - sizeof(struct ember_order) + 1 };

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		fresh();
		wanted.head.size = sizes[i];
		give();
	}
	fresh();
	wanted.head.size = wanted.texts.size + 1;
	give();
	fresh();
	wanted.head.size = wanted.texts.size;
	wanted.cut = 1;
	give();
}

/* In a file: UINT64_MAX and a byte more would be nothing at all. */
static void another_size_in_a_file(void)
{
	static const uint64_t sizes[] = { 0, 1, 4096, 1ULL << 40, UINT64_MAX - 1, UINT64_MAX };

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		fresh();
		give_detached(sizes[i]);
	}
	fresh();
	give_detached(wanted.texts.size - 1);
	fresh();
	give_detached(wanted.texts.size + 1);
}

static void no_file_behind_it(void)
{
	int pipes[2];

	fresh();
	wanted.head.detached = 1;
	wanted.head.size = wanted.texts.size;
	give();
	/* What is no file with a size. */
	fresh();
	CHECK_INT(pipe2(pipes, O_CLOEXEC), 0);
	close(pipes[1]);
	wanted.fds[wanted.fd_count++] = pipes[0];
	wanted.head.detached = 1;
	wanted.head.size = wanted.texts.size;
	give();
}

static void wrong_counts(void)
{
	static const struct {
		uint32_t words, first, env;
	} counts[] = { { 0, 0, 1 },          { 4, 5, 1 },          { 6, 2, 1 },         { 4, 2, 2 },
		       { UINT32_MAX, 2, 1 }, { 4, UINT32_MAX, 1 }, { 4, 2, UINT32_MAX } };

	for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
		fresh();
		wanted.head.words = counts[i].words;
		wanted.head.first = counts[i].first;
		wanted.head.env = counts[i].env;
		give_whole();
	}
}

static void a_text_without_an_end(void)
{
	fresh();
	wanted.texts.size--;
	give_whole();
	/* In a file as well, where nothing lies behind it. */
	fresh();
	wanted.texts.size--;
	give_detached(wanted.texts.size);
	fresh();
	wanted.texts.size = 0;
	wanted.head.words = 1;
	wanted.head.first = wanted.head.env = 0;
	give_whole();
}

static void wrong_files(void)
{
	static const uint64_t sizes[] = { 5, UINT32_MAX, UINT64_MAX };

	/* More of them than there are. */
	fresh();
	wanted.step = EMBER_STEP_FILES;
	wanted.head.files = UINT32_MAX;
	give_whole();
	/* A head that is cut. */
	fresh();
	wanted.step = EMBER_STEP_FILES;
	file("sandbox/code/a", 0, 0, "");
	wanted.texts.size -= strlen("sandbox/code/a") + 2;
	give_whole();
	/* A path without an end. */
	fresh();
	wanted.step = EMBER_STEP_FILES;
	file("sandbox/code/a", 0, 0, "");
	wanted.texts.size--;
	give_whole();
	/* Contents that go on behind the end. */
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		fresh();
		wanted.step = EMBER_STEP_FILES;
		file("sandbox/code/a", sizes[i], 0, "text");
		give_whole();
	}
	/* One that is open, and is not there. */
	fresh();
	wanted.step = EMBER_STEP_FILES;
	file("sandbox/code/a", 4, 1, "");
	give_whole();
	/* More than may be taken of it. */
	fresh();
	wanted.step = EMBER_STEP_FILES;
	wanted.errnum = EFBIG;
	file("sandbox/code/a", 3, 1, "");
	wanted.fds[wanted.fd_count++] = memory_file("more", 4);
	give_whole();
}

/* Above the gate no box may open files. */
static void a_limit_above_the_gate(void)
{
	fresh();
	wanted.step = EMBER_STEP_GATE;
	wanted.errnum = ENOTRECOVERABLE;
	wanted.nofile = SECCOMP_GATE + 1;
	give_whole();
	fresh();
	wanted.errnum = -1;
	wanted.nofile = SECCOMP_GATE;
	give_whole();
}

static void child_not_wanted(void)
{
	enum ember_step step = EMBER_STEPS;
	int pair[2];

	enter_place();
	CHECK_INT(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	CHECK_INT(dup2(pair[0], EMBER_FD_CONTROL), EMBER_FD_CONTROL);
	close(pair[1]);
	CHECK(!enter_await(EMBER_FD_CONTROL, &step));
	CHECK_INT(errno, 0);
	CHECK_INT(step, EMBER_STEP_ORDER);
}

static void an_end_is_no_error(void)
{
	in_child(child_not_wanted);
}

/* ---- By the keeper. */

static struct spec spec;
static struct job job;
static struct plan plan;

static void job_fresh(void)
{
	const struct probe probe = {
		.range = true,
		.landlock = 7,
		.seccomp = true,
		.mount_api = true,
		.cgroup = { .version = 1, .count = 4, .where = { 0, 1, 2, 3 } },
	};
	const struct job_given given = { .prepared_dir = -1, .artifact = -1 };

	CHECK_INT(job_make(JOB_RUN, &spec, &given, &job, &err), 0);
	CHECK_INT(plan_make_box(&job, &probe, &plan, &err), 0);
	fresh();
	wanted.errnum = -1;
	wanted.job = &job;
	wanted.plan = &plan;
}

static void spec_fresh(const char *code, size_t size)
{
	plan_free(&plan);
	job_free(&job);
	spec_free(&spec);
	spec_set(&spec, "language", "bash", &err);
	CHECK_INT(spec_set_code(&spec, code, size, &err), 0);
}

static void then_sent(const struct enter_claim *claim)
{
	struct rlimit limit;
	size_t words = 0, variables = 0;

	while (claim->argv[words])
		words++;
	while (claim->claim.envp[variables])
		variables++;
	CHECK_STR(claim->claim.entry, "/sandbox/code/sub/tool.sh");
	CHECK_INT(words, 5);
	CHECK_STR(claim->argv[1], "/sandbox/code/sub/tool.sh");
	CHECK_STR(claim->claim.args[0], "");
	CHECK_STR(claim->claim.args[1], "two\nlines");
	CHECK_STR(claim->claim.args[2], "ä");
	CHECK_INT(claim->claim.args - claim->argv, 2);
	for (size_t i = 0; i < variables; i++)
		CHECK_STR(claim->claim.envp[i], plan.envp[i]);
	CHECK(!plan.envp[variables]);
	CHECK_STR(content("/sandbox/code/sub/tool.sh", 0644), "echo hello\n");
	CHECK_STR(content("/sandbox/data/note", 0755), "note");
	CHECK(access("/opt", F_OK) < 0); /* drivers are there already */
	CHECK_INT(getrlimit(RLIMIT_CPU, &limit), 0);
	CHECK_INT(limit.rlim_max, plan_cpu_max(&job.limits));
}

static void what_is_sent_is_read(void)
{
	spec_fresh("echo hello\n", 11);
	spec_set(&spec, "entry", "sub/tool.sh", &err);
	spec_set(&spec, "arg", "", &err);
	spec_set(&spec, "arg", "two\nlines", &err);
	spec_set(&spec, "arg", "ä", &err);
	spec_set(&spec, "env", "KEY=va=l ue", &err);
	spec_set(&spec, "cpu-time", "2", &err);
	CHECK_INT(spec_add_content(&spec, "/sandbox/data/note", "note", 4, &err), 0);
	job_fresh();
	wanted.then = then_sent;
	give();
}

static size_t large_size; /* of the code */

static void then_large(const struct enter_claim *claim)
{
	struct stat st;

	CHECK_INT(stat(claim->claim.entry, &st), 0);
	CHECK_INT(st.st_size, large_size);
}

/* Around what fits into a message, and far above. */
static void large_ones_come_in_a_file(void)
{
	const size_t sizes[] = { EMBER_ORDER_INLINE - 1024, EMBER_ORDER_INLINE, 5 << 20 };

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		char *code = malloc(sizes[i]);

		memset(code, '#', sizes[i]);
		large_size = sizes[i];
		spec_fresh(code, sizes[i]);
		job_fresh();
		wanted.then = then_large;
		give();
		free(code);
	}
}

static void not_too_many_open_files(void)
{
	int pair[2], fds[FD_MESSAGE_MAX];
	struct ember_order head;
	struct job_file files[FD_MESSAGE_MAX];
	struct job many;
	size_t count = 0;

	spec_fresh("echo hello\n", 11);
	job_fresh();
	for (size_t i = 0; i < FD_MESSAGE_MAX; i++)
		files[i] = (struct job_file){ .path = "sandbox/code/x", .mode = 0644, .fd = STDIN_FILENO };
	many = job;
	many.files = files;
	many.file_count = FD_MESSAGE_MAX;
	CHECK_INT(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	CHECK_INT(order_send(pair[0], &many, true, &plan, &err), -1);
	CHECK_STR(err.text, "an ember takes no more than 15 open files");
	many.file_count = FD_MESSAGE_MAX - 1;
	CHECK_INT(order_send(pair[0], &many, true, &plan, &err), 0);
	CHECK(fd_receive(pair[1], &head, sizeof(head), fds, &count) == sizeof(head));
	CHECK_INT(count, FD_MESSAGE_MAX - 1);
	CHECK_INT(head.files, FD_MESSAGE_MAX - 1);
	CHECK_INT(head.detached, 0);
	CHECK_INT(head.linger, plan.group);
	for (size_t i = 0; i < count; i++)
		close(fds[i]);
	/* Nobody is there. */
	close(pair[1]);
	CHECK_INT(order_send(pair[0], &job, true, &plan, &err), -1);
	CHECK_STR(err.text, "an ember does not answer: Broken pipe");
	close(pair[0]);
}

static void where_files_may_be(void)
{
	static const char *const good[] = {
		"sandbox/code/a", "sandbox/data/a/b",      "sandbox/output/a", "sandbox/temp/a",
		"tmp/a",          "opt/emberbox/drivers/a"
	};
	static const char *const bad[] = { "sandbox/a", "sandbox/codex", "etc/passwd", "tmpa", "usr/bin/a", "opt/a" };

	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		if (!order_takes(&(struct job_file){ .path = good[i], .fd = -1 }))
			check_fail("%s is not taken", good[i]);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (order_takes(&(struct job_file){ .path = bad[i], .fd = -1 }))
			check_fail("%s is taken", bad[i]);
}

static void remove_place(void)
{
	static const char *const rest[] = { "sandbox/code/main.sh",
					    "sandbox/code/sub/b",
					    "sandbox/code/sub/tool.sh",
					    "sandbox/code/a",
					    "sandbox/code/sub",
					    "sandbox/code",
					    "sandbox/data/c",
					    "sandbox/data/note",
					    "sandbox/data",
					    "sandbox",
					    "." };

	if (chdir(place) < 0)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(rest); i++)
		remove(strcmp(rest[i], ".") == 0 ? place : rest[i]);
}

int main(void)
{
	char path[64];

	if (!mkdtemp(place)) {
		perror(place);
		return 1;
	}
	snprintf(path, sizeof(path), "%s/sandbox", place);
	mkdir(path, 0755);
	snprintf(path, sizeof(path), "%s/sandbox/code", place);
	mkdir(path, 0755);
	RUN(the_control);
	RUN(the_control_in_a_file);
	RUN(files_are_put_into_place);
	RUN(less_than_a_head);
	RUN(another_size_than_said);
	RUN(another_size_in_a_file);
	RUN(no_file_behind_it);
	RUN(wrong_counts);
	RUN(a_text_without_an_end);
	RUN(wrong_files);
	RUN(a_limit_above_the_gate);
	RUN(an_end_is_no_error);
	RUN(what_is_sent_is_read);
	RUN(large_ones_come_in_a_file);
	RUN(not_too_many_open_files);
	RUN(where_files_may_be);
	fresh();
	plan_free(&plan);
	job_free(&job);
	spec_free(&spec);
	remove_place();
	return check_failures != 0;
}
