#include "engine/ember/node.h"

#include "engine/ember/ember.h"
#include "engine/ember/ember_wire.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

/* Of node_api.h: all that is used. */
typedef struct napi_env__ *napi_env;
typedef struct napi_value__ *napi_value;
typedef struct napi_callback_info__ *napi_callback_info;
typedef napi_value (*napi_callback)(napi_env env, napi_callback_info info);

static struct {
	int (*create_function)(napi_env, const char *, size_t, napi_callback, void *, napi_value *);
	int (*set_named_property)(napi_env, napi_value, const char *, napi_value);
	int (*get_cb_info)(napi_env, napi_callback_info, size_t *, napi_value *, napi_value *, void **);
	int (*call_function)(napi_env, napi_value, napi_value, size_t, const napi_value *, napi_value *);
	int (*get_undefined)(napi_env, napi_value *);
	int (*get_value_double)(napi_env, napi_value, double *);
	int (*create_double)(napi_env, double, napi_value *);
	int (*create_array)(napi_env, napi_value *);
	int (*set_element)(napi_env, napi_value, uint32_t, napi_value);
	int (*create_string_utf8)(napi_env, const char *, size_t, napi_value *);
	int (*throw_error)(napi_env, const char *, const char *);
	int (*get_uv_event_loop)(napi_env, void **);
	int (*add_env_cleanup_hook)(napi_env, void (*)(void *), void *);
	int (*uv_loop_fork)(void *);
	int (*uv_run)(void *, int);
	int (*rand_poll)(void);
} node;

static const struct {
	const char *name; /* of a function of Node.js */
	void *at;         /* where its address goes */
} symbols[] = {
	{ "napi_create_function", &node.create_function },
	{ "napi_set_named_property", &node.set_named_property },
	{ "napi_get_cb_info", &node.get_cb_info },
	{ "napi_call_function", &node.call_function },
	{ "napi_get_undefined", &node.get_undefined },
	{ "napi_get_value_double", &node.get_value_double },
	{ "napi_create_double", &node.create_double },
	{ "napi_create_array", &node.create_array },
	{ "napi_set_element", &node.set_element },
	{ "napi_create_string_utf8", &node.create_string_utf8 },
	{ "napi_throw_error", &node.throw_error },
	{ "napi_get_uv_event_loop", &node.get_uv_event_loop },
	{ "napi_add_env_cleanup_hook", &node.add_env_cleanup_hook },
	{ "uv_loop_fork", &node.uv_loop_fork },
	{ "uv_run", &node.uv_run },
	{ "RAND_poll", &node.rand_poll },
};

/* A descriptor that the zygote has and a fork must have for itself. */
struct descriptor {
	int fd;       /* its number */
	int flags;    /* of the file */
	int writer;   /* of a pipe: the end that is written; otherwise -1 */
	ino_t inode;  /* in the zygote */
	bool eventfd; /* otherwise an epoll, or a pipe */
};

enum {
	descriptors_max = 32
};

static struct {
	napi_env env;                             /* of the main thread */
	void *loop;                               /* the main thread's */
	napi_value rehearse;                      /* the driver's functions… */
	napi_value tell;                          /* … */
	struct descriptor owned[descriptors_max]; /* what is made anew */
	size_t owned_count;                       /* how many */
} zygote;

static bool symbols_find(void)
{
	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
		void *found = dlsym(RTLD_DEFAULT, symbols[i].name);

		if (!found)
			return false;
		memcpy(symbols[i].at, &found, sizeof(found));
	}
	return true;
}

/* Both ends of a pipe lie here, or it is not Node.js's own. */
static int pipe_writer(int fd)
{
	struct stat one, other;

	if (fstat(fd, &one) < 0 || !S_ISFIFO(one.st_mode))
		return -1;
	for (int i = 3; i < SECCOMP_GATE; i++)
		if (i != fd && fstat(i, &other) == 0 && other.st_ino == one.st_ino && other.st_dev == one.st_dev &&
		    (fcntl(i, F_GETFL) & O_ACCMODE) == O_WRONLY)
			return i;
	return -1;
}

static void descriptor_note(int fd)
{
	struct descriptor *place = &zygote.owned[zygote.owned_count];
	char path[32], kind[64];
	struct stat status;
	ssize_t size;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	size = readlink(path, kind, sizeof(kind) - 1);
	if (size < 0 || zygote.owned_count == descriptors_max)
		return;
	kind[size] = '\0';
	*place = (struct descriptor){ .fd = fd, .flags = fcntl(fd, F_GETFL), .writer = -1 };
	if (fstat(fd, &status) == 0)
		place->inode = status.st_ino;
	if (strcmp(kind, "anon_inode:[eventfd]") == 0)
		place->eventfd = true;
	else if (strncmp(kind, "pipe:", 5) == 0 && (place->flags & O_ACCMODE) == O_RDONLY)
		place->writer = pipe_writer(fd);
	if (place->eventfd || place->writer >= 0 || strcmp(kind, "anon_inode:[eventpoll]") == 0)
		zygote.owned_count++;
}

static bool put(int from, int to)
{
	bool done = from >= 0 && dup3(from, to, O_CLOEXEC) == to;

	if (from >= 0)
		close(from);
	return done;
}

static bool descriptor_renew(const struct descriptor *owned)
{
	struct stat status;
	int ends[2];

	/* libuv makes the pipe that is its lock anew by itself, and has put the byte into it. */
	if (owned->writer >= 0 && (fstat(owned->fd, &status) < 0 || status.st_ino != owned->inode))
		return true;
	if (owned->eventfd)
		return put(eventfd(0, EFD_CLOEXEC | (owned->flags & O_NONBLOCK)), owned->fd);
	if (owned->writer < 0)
		return put(epoll_create1(EPOLL_CLOEXEC), owned->fd);
	if (pipe2(ends, O_CLOEXEC | (owned->flags & O_NONBLOCK)) < 0)
		return false;
	return put(ends[0], owned->fd) & put(ends[1], owned->writer);
}

/*
 * As the C library forks. A process id tells nothing in a box, where it is the
 * zygote's: OpenSSL would go on with the zygote's random numbers.
 */
static pid_t node_fork(void)
{
	pid_t pid;

	if (!node_threads_hold())
		return -1;
	pid = fork();
	if (pid != 0) {
		node_threads_release();
		return pid;
	}
	node_threads_forget();
	for (size_t i = 0; i < zygote.owned_count; i++)
		if (!descriptor_renew(&zygote.owned[i]))
			_exit(1);
	if (node.uv_loop_fork(zygote.loop) != 0 || node.rand_poll() != 1)
		_exit(1);
	return 0;
}

static void node_rehearse(int hurry)
{
	napi_value undefined, args[2];
	uint32_t chance = 0;

	if (getrandom(&chance, sizeof(chance), 0) != sizeof(chance))
		_exit(1);
	node.get_undefined(zygote.env, &undefined);
	node.create_double(zygote.env, chance, &args[0]);
	node.create_double(zygote.env, hurry, &args[1]);
	if (node.call_function(zygote.env, undefined, zygote.rehearse, 2, args, NULL) != 0)
		_exit(1);
}

static _Noreturn void leave(int code)
{
	fflush(NULL);
	ember_leave(code);
}

/*
 * The event loop is empty, 'exit' was told, and what is left is to take the
 * heap apart, which nobody sees. It would take longer than a small program.
 */
static void exit_now(void *data)
{
	int code;

	(void)data;
	if (node_threads_are_forked() && node_is_exiting(&code))
		leave(code);
}

/* reallyExit(number): the end of process.exit(), for the same reason. */
static napi_value node_really_exit(napi_env env, napi_callback_info info)
{
	napi_value number;
	size_t count = 1;
	double code = 0;

	if (node.get_cb_info(env, info, &count, &number, NULL, NULL) != 0 || count < 1 ||
	    node.get_value_double(env, number, &code) != 0)
		code = 0;
	leave((int)(int64_t)code);
}

/* exitCode(number): process.exitCode is that now. Called with two numbers, one after the other, it knows the place. */
static napi_value node_exit_code(napi_env env, napi_callback_info info)
{
	napi_value number;
	size_t count = 1;
	double code;

	if (node.get_cb_info(env, info, &count, &number, NULL, NULL) == 0 && count == 1 &&
	    node.get_value_double(env, number, &code) == 0 && node_exit_find((int32_t)code))
		node.add_env_cleanup_hook(env, exit_now, NULL);
	return NULL;
}

/* [entry, argument…] */
static napi_value claim_tell(const struct ember_claim *claim)
{
	napi_value list, value;

	node.create_array(zygote.env, &list);
	node.create_string_utf8(zygote.env, claim->entry, SIZE_MAX, &value);
	node.set_element(zygote.env, list, 0, value);
	for (uint32_t i = 0; claim->args[i]; i++) {
		node.create_string_utf8(zygote.env, claim->args[i], SIZE_MAX, &value);
		node.set_element(zygote.env, list, i + 1, value);
	}
	return list;
}

/* 0: it could not be asked for. */
static double time_told(enum node_time which)
{
	napi_value undefined, asked, number;
	double value = 0;

	if (node.get_undefined(zygote.env, &undefined) != 0 || node.create_double(zygote.env, which, &asked) != 0 ||
	    node.call_function(zygote.env, undefined, zygote.tell, 1, &asked, &number) != 0 ||
	    node.get_value_double(zygote.env, number, &value) != 0)
		return 0;
	return value;
}

/* wait(rehearse, tell): returns in forks. */
static napi_value node_wait(napi_env env, napi_callback_info info)
{
	static const struct ember_language language = { .fork = node_fork, .rehearse = node_rehearse };
	const struct ember_claim *claim;
	napi_value args[2];
	size_t count = 2;

	zygote.env = env;
	if (node.get_cb_info(env, info, &count, args, NULL, NULL) != 0 || count < 2 ||
	    node.get_uv_event_loop(env, &zygote.loop) != 0)
		return NULL;
	zygote.rehearse = args[0];
	zygote.tell = args[1];
	node_times_find(time_told);
	for (int fd = 3; fd < SECCOMP_GATE; fd++)
		descriptor_note(fd);
	if (!node_threads_hold()) {
		node.throw_error(env, NULL, "the threads of this Node.js are not known");
		return NULL;
	}
	node_threads_release();
	claim = ember_wait(&language);
	node_times_set();
	return claim_tell(claim);
}

/* turn(): whatever the loop has to do at once. */
static napi_value node_turn(napi_env env, napi_callback_info info)
{
	enum {
		UV_RUN_NOWAIT = 2
	};
	void *loop;

	(void)info;
	if (node.get_uv_event_loop(env, &loop) == 0)
		node.uv_run(loop, UV_RUN_NOWAIT);
	return NULL;
}

/* pipe(): [reader, writer], which JavaScript cannot make by itself. */
static napi_value node_pipe(napi_env env, napi_callback_info info)
{
	napi_value list, value;
	int ends[2];

	(void)info;
	if (pipe2(ends, O_CLOEXEC) < 0 || node.create_array(env, &list) != 0)
		return NULL;
	for (uint32_t i = 0; i < 2; i++) {
		node.create_double(env, ends[i], &value);
		node.set_element(env, list, i, value);
	}
	return list;
}

EXPORT napi_value napi_register_module_v1(napi_env env, napi_value exports);

/* Exports nothing where something is missing. */
napi_value napi_register_module_v1(napi_env env, napi_value exports)
{
	static const struct {
		const char *name;       /* in JavaScript */
		napi_callback function; /* here */
	} functions[] = {
		{ "wait", node_wait },
		{ "turn", node_turn },
		{ "pipe", node_pipe },
		{ "exitCode", node_exit_code },
		{ "reallyExit", node_really_exit },
	};
	napi_value function;

	if (!symbols_find())
		return exports;
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
		if (node.create_function(env, functions[i].name, SIZE_MAX, functions[i].function, NULL, &function) == 0)
			node.set_named_property(env, exports, functions[i].name, function);
	return exports;
}
