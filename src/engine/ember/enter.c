#include "engine/ember/enter.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/own.h"
#include "engine/local/prove_inside.h"
#include "engine/local/box_report.h"
#include "kernel/caps.h"
#include "kernel/landlock.h"
#include "kernel/rlimit.h"
#include "kernel/rootfs.h"
#include "language/expand.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/openat2.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

extern char **environ;

static uint64_t cpu_usec(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 +
	       (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

void enter_report_warm(int control)
{
	const struct report warm = { .kind = REPORT_WARM, .cpu_usec = cpu_usec(), .at_usec = clock_usec() };

	fd_send(control, &warm, sizeof(warm), NULL, 0);
}

_Noreturn void enter_fail(int control, enum ember_step step, int errnum)
{
	const struct report unfit = { .kind = REPORT_UNFIT, .index = step, .errnum = errnum };

	fd_send(control, &unfit, sizeof(unfit), NULL, 0);
	_exit(1);
}

/* The caller's ids are those of the zygote, which the box does not know; its only one is 1000. The groups are gone
 * since the stem was made. */
static int become(void)
{
	if (syscall(SYS_setresgid, 1000, 1000, 1000) < 0 || syscall(SYS_setresuid, 1000, 1000, 1000) < 0)
		return -1;
	setsid();
	umask(022);
	/* What exec does for a program that is started: its own /proc/self is its own. */
	return prctl(PR_SET_DUMPABLE, 1);
}

static int prove(const struct ember_fork *order)
{
	static const char *const properties[] = { "ids", "caps", "root", "routes", "fds", "seccomp", "landlock" };

	for (size_t i = 0; i < ARRAY_SIZE(properties) - (order->landlock ? 0 : 1); i++)
		if (prove_inside(properties[i]) < 0)
			return -1;
	return 0;
}

static int limit(const char *name, int resource, uint64_t value)
{
	return rlimit_apply(&(struct rlimit_entry){ .name = name, .resource = resource, .value = value });
}

int enter_box(const struct ember_fork *order, enum ember_step *step)
{
	const int namespaces =
		CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;

	*step = EMBER_STEP_GROUP;
	for (uint32_t i = 0; i < order->groups; i++)
		if (write((int)(EMBER_FD_JOIN + i), "0", 1) != 1)
			return -1;
	*step = EMBER_STEP_NAMESPACES;
	if (setns(EMBER_FD_INIT, namespaces) < 0 || chdir("/") < 0)
		return -1;
	*step = EMBER_STEP_IDENTITY;
	if (become() < 0)
		return -1;
	*step = EMBER_STEP_LANDLOCK;
	if (order->landlock && landlock_enter(EMBER_FD_RULESET, (int)order->landlock) < 0)
		return -1;
	*step = EMBER_STEP_CAPS;
	if (caps_drop() < 0)
		return -1;
	*step = EMBER_STEP_DESCRIPTORS;
	for (uint32_t i = 0; i < order->groups; i++)
		close((int)(EMBER_FD_JOIN + i));
	close(EMBER_FD_INIT);
	close(EMBER_FD_RULESET);
	*step = EMBER_STEP_LIMITS;
	if (limit("nofile", RLIMIT_NOFILE, order->nofile) < 0 || limit("fsize", RLIMIT_FSIZE, order->fsize) < 0)
		return -1;
	*step = EMBER_STEP_PROVE;
	return prove(order);
}

/* The texts of an order, read in sequence. */
struct order_reader {
	char *at;        /* the next byte */
	size_t left;     /* how many there are */
	const int *fds;  /* open files, in order */
	size_t fd_count; /* how many */
};

static char *read_text(struct order_reader *reader)
{
	char *text = reader->at;
	size_t length = strnlen(text, reader->left);

	if (length == reader->left)
		return NULL;
	reader->at += length + 1;
	reader->left -= length + 1;
	return text;
}

/* A list of texts with NULL at its end. */
static char **read_list(struct order_reader *reader, uint32_t count)
{
	char **list = calloc((size_t)count + 1, sizeof(*list));

	for (uint32_t i = 0; list && i < count; i++)
		if (!(list[i] = read_text(reader)))
			return NULL;
	return list;
}

static void *read_bytes(struct order_reader *reader, size_t size)
{
	void *bytes = reader->at;

	if (size > reader->left)
		return NULL;
	reader->at += size;
	reader->left -= size;
	return bytes;
}

/* Nearly always the directory is there: one call then, which follows no link either. Whatever else is wrong, the long
 * way says. */
static int create(const char *path, mode_t mode)
{
	const struct open_how how = {
		.flags = O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
		.mode = mode,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS,
	};
	int fd = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));

	return fd >= 0 ? fd : rootfs_create(path, mode);
}

static int place(const char *path, mode_t mode, const void *data, size_t size)
{
	_cleanup_close_ int fd = create(path, mode);

	return fd < 0 ? -1 : fd_write(fd, data, size);
}

/* The artifact's own x bits count, as when it is copied into a cold box. */
static int place_open(struct order_reader *reader, const char *path, const struct ember_file *file)
{
	_cleanup_close_ int from = -1;
	_cleanup_close_ int to = -1;
	struct stat st;

	if (reader->fd_count == 0) {
		errno = EPROTO;
		return -1;
	}
	from = *reader->fds++;
	reader->fd_count--;
	if (fstat(from, &st) < 0)
		return -1;
	to = create(path, file->mode | (st.st_mode & 0111 ? 0111 : 0));
	return to < 0 ? -1 : fd_copy(from, to, file->size);
}

static int place_files(struct order_reader *reader, uint32_t count)
{
	mode_t before = umask(0);

	for (uint32_t i = 0; i < count; i++) {
		struct ember_file file;
		const void *head = read_bytes(reader, sizeof(file)), *data;
		const char *path = head ? read_text(reader) : NULL;

		errno = EPROTO;
		if (!path)
			return -1;
		memcpy(&file, head, sizeof(file));
		if (file.open) {
			if (place_open(reader, path, &file) < 0)
				return -1;
			continue;
		}
		data = read_bytes(reader, file.size);
		if (!data || place(path, file.mode, data, file.size) < 0)
			return -1;
	}
	umask(before);
	return 0;
}

/* Nothing at or above the gate is open, and nothing can be: the two calls that it lets through have no object. */
static int shut_gate(void)
{
	struct rlimit now;

	if (syscall(SYS_close_range, SECCOMP_GATE, ~0U, 0) < 0 || getrlimit(RLIMIT_NOFILE, &now) < 0)
		return -1;
	errno = 0;
	if (now.rlim_max > SECCOMP_GATE || setns(EMBER_FD_INIT, 0) == 0 || errno != EBADF) {
		errno = ENOTRECOVERABLE;
		return -1;
	}
	return 0;
}

int enter_shut(enum ember_step *step)
{
	/* A driver's channel has its own place. */
	int control = fcntl(EMBER_FD_CONTROL, F_DUPFD_CLOEXEC, EMBER_FD_CHANNEL + 1);

	*step = EMBER_STEP_GATE;
	return control >= 0 && shut_gate() == 0 ? control : -1;
}

/* The texts: behind the head in the message, or in a file. */
static char *texts_of(const struct ember_order *order, char *message, size_t size, int *fds, size_t *count)
{
	char *texts = message + sizeof(*order);
	struct stat st;

	errno = EPROTO;
	if (!order->detached)
		return size == sizeof(*order) + order->size ? texts : NULL;
	if (*count == 0 || size != sizeof(*order) || fstat(fds[0], &st) < 0 || (uint64_t)st.st_size != order->size)
		return NULL;
	texts = malloc(order->size);
	if (!texts || fd_read(fds[0], texts, order->size) != (ssize_t)order->size)
		return NULL;
	close(fds[0]);
	--*count;
	memmove(fds, fds + 1, *count * sizeof(*fds));
	return texts;
}

/* Refuses what cannot be an order; the words and variables point into the texts. */
static int read_order(const struct ember_order *order, struct order_reader *reader, struct enter_claim *claim)
{
	errno = EPROTO;
	if (order->words == 0 || order->first > order->words || order->words > order->size || order->env > order->size)
		return -1;
	claim->claim.entry = read_text(reader);
	claim->argv = claim->claim.entry ? read_list(reader, order->words) : NULL;
	claim->claim.envp = claim->argv ? read_list(reader, order->env) : NULL;
	if (!claim->claim.envp)
		return -1;
	claim->claim.args = claim->argv + order->first;
	claim->claim.seed = order->seed;
	return 0;
}

/* A driver's channel, as 3: what the interpreter has there is not for others to close. */
static int take_channel(const struct ember_order *order, int *fds, size_t *count)
{
	_cleanup_close_ int from = -1;

	if (!order->channel)
		return 0;
	if (*count == 0) {
		errno = EPROTO;
		return -1;
	}
	from = fds[0];
	--*count;
	memmove(fds, fds + 1, *count * sizeof(*fds));
	if (from == EMBER_FD_CHANNEL) {
		take_fd(&from);
		return fcntl(EMBER_FD_CHANNEL, F_SETFD, 0);
	}
	if (fcntl(EMBER_FD_CHANNEL, F_GETFD) >= 0) {
		errno = EBUSY;
		return -1;
	}
	return dup2(from, EMBER_FD_CHANNEL);
}

const struct enter_claim *enter_await(int control, enum ember_step *step)
{
	static struct enter_claim claim;
	static char message[sizeof(struct ember_order) + EMBER_ORDER_INLINE] __attribute__((aligned(8)));
	struct ember_order order;
	struct order_reader reader;
	int fds[FD_MESSAGE_MAX];
	size_t count = 0;
	ssize_t n;

	*step = EMBER_STEP_ORDER;
	n = fd_receive(control, message, sizeof(message), fds, &count);
	if (n <= 0) {
		errno = 0;
		return NULL;
	}
	errno = EPROTO;
	if ((size_t)n < sizeof(order))
		return NULL;
	memcpy(&order, message, sizeof(order));
	reader = (struct order_reader){ .left = order.size, .fds = fds };
	reader.at = texts_of(&order, message, (size_t)n, fds, &count);
	if (!reader.at || read_order(&order, &reader, &claim) < 0 || take_channel(&order, fds, &count) < 0)
		return NULL;
	reader.fd_count = count;
	*step = EMBER_STEP_FILES;
	if (place_files(&reader, order.files) < 0 || chdir(BOX_CODE) < 0)
		return NULL;
	*step = EMBER_STEP_LIMITS;
	if (limit("nproc", RLIMIT_NPROC, order.nproc) < 0 || limit("fsize", RLIMIT_FSIZE, order.fsize) < 0 ||
	    (order.cpu && limit("cpu", RLIMIT_CPU, order.cpu) < 0))
		return NULL;
	environ = claim.claim.envp;
	if (order.linger)
		ember_allow_linger();
	claim.control = control;
	return &claim;
}
