/*
 * The library's doors: functions of the C library that interpreters call, and
 * by which they reach their point. Only in a zygote before that, and then never
 * again; everywhere else they are what they were.
 *
 *	main    before main(), see script.h
 *	python  CPython opens its program, see python.h
 *	ruby    Ruby opens its program, and asks for its process group, see ruby.h
 *	node    a driver calls into the library, see node.h
 */
/* Both names of each function are defined here; this would make one of them. */
#undef _FILE_OFFSET_BITS

#include "engine/ember/notice_page.h"
#include "engine/ember/perl.h"
#include "engine/ember/python.h"
#include "engine/ember/ruby.h"
#include "engine/ember/script.h"
#include "engine/ember/ember_wire.h"
#include "engine/ember/zygote.h"
#include "language/expand.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define DOOR __attribute__((visibility("default")))

#define NEXT(name)                                                                                                     \
	({                                                                                                             \
		static typeof(name) *next;                                                                             \
		if (!next)                                                                                             \
			next = (typeof(name) *)dlsym(RTLD_NEXT, #name);                                                \
		next;                                                                                                  \
	})

extern char **environ;

static const char *point = "";   /* its name and a colon; empty: this is no zygote */
static const char *program = ""; /* of the command line */
static bool tells;               /* no zygote either: it says where its output waits, and that is all */

/* Not unsetenv(): Bash has one of its own, which does nothing so early. */
static const char *take_variable(const char *name)
{
	const size_t length = strlen(name);

	for (char **entry = environ; entry && *entry; entry++) {
		const char *value = *entry + length + 1;

		if (strncmp(*entry, name, length) != 0 || (*entry)[length] != '=')
			continue;
		do
			entry[0] = entry[1];
		while (*entry++);
		return value;
	}
	return NULL;
}

/* From /proc/self/environ, at whose end it stands: a program in a fork of a zygote sees the zygote's there. */
static void erase_variable(const char *name, const char *value)
{
	if (value)
		memset((char *)value - strlen(name) - 1, 0, strlen(name) + 1 + strlen(value));
}

static bool is_at(const char *name)
{
	const size_t length = strlen(name);

	return ember_armed() && strncmp(point, name, length) == 0 && point[length] == ':';
}

/*
 * The interpreter's environment is as in a cold box, but for these and what its definition adds. Node.js before 20.9
 * keeps for ever that there is no package.json, and looks for one where it is started: not where programs come to lie.
 */
__attribute__((constructor)) static void arm(void)
{
	const char *name = take_variable(EMBER_VARIABLE), *preloaded;

	if (!name || !strchr(name, ':'))
		return;
	point = name;
	program = strchr(name, ':') + 1;
	preloaded = take_variable("LD_PRELOAD");
	tells = strncmp(name, EMBER_NOTICE ":", sizeof(EMBER_NOTICE)) == 0;
	if (tells) {
		program = strdup(program);
		erase_variable(EMBER_VARIABLE, name);
		erase_variable("LD_PRELOAD", preloaded);
		return;
	}
	zygote_arm();
	if (is_at("node") && chdir("/") < 0)
		_exit(1);
}

static script_main_fn *program_main;

/* Until an interpreter with streams of its own is known, those of the C library count. */
static void tell_main(const char *path)
{
	tells = true;
	program = path;
	if (notice_put_stdio() < 0)
		setvbuf(stdout, NULL, _IOLBF, 0);
}

/* In a fork. */
static int tell_and_run(int argc, char **argv, char **envp)
{
	if (notice_is_plain())
		tell_main(script_entry());
	return program_main(argc, argv, envp);
}

static int main_or_wait(int argc, char **argv, char **envp)
{
	if (is_at("main"))
		return script_main(tell_and_run);
	if (tells)
		tell_main(program);
	return program_main(argc, argv, envp);
}

typedef int start_fn(script_main_fn *start, int argc, char **argv, void (*init)(void), void (*fini)(void),
		     void (*linker)(void), void *stack);

DOOR start_fn __libc_start_main;

/* What every dynamically linked program begins with. */
DOOR int __libc_start_main(script_main_fn *start, int argc, char **argv, void (*init)(void), void (*fini)(void),
			   void (*linker)(void), void *stack)
{
	program_main = start;
	return NEXT(__libc_start_main)(main_or_wait, argc, argv, init, fini, linker, stack);
}

static void on_fopen(const char *path)
{
	if (tells && program && strcmp(path, program) == 0) {
		tells = false;
		python_tell();
	}
	/* A zygote that cannot be one must not run a program that is not there: the keeper sees it end. */
	if (is_at("python") && strcmp(path, program) == 0 && python_point(path, BOX_DRIVERS "/ember.py") < 0)
		_exit(1);
}

DOOR FILE *fopen(const char *path, const char *mode)
{
	on_fopen(path);
	return NEXT(fopen)(path, mode);
}

DOOR FILE *fopen64(const char *path, const char *mode)
{
	on_fopen(path);
	return NEXT(fopen64)(path, mode);
}

/* Ruby has it called by both names. */
static int open_door(int (*next)(const char *, int, ...), const char *path, int flags, mode_t mode)
{
	if (is_at("ruby") && strcmp(path, program) == 0)
		return ruby_opens(path, BOX_DRIVERS "/sync.rb");
	if (tells && program && strcmp(path, program) == 0)
		perl_tell();
	return next(path, flags, mode);
}

#define OPEN(name)                                                                                                     \
	DOOR int name(const char *path, int flags, ...)                                                                \
	{                                                                                                              \
		mode_t mode = 0;                                                                                       \
		va_list args;                                                                                          \
		va_start(args, flags);                                                                                 \
		if (flags & (O_CREAT | __O_TMPFILE))                                                                   \
			mode = va_arg(args, mode_t);                                                                   \
		va_end(args);                                                                                          \
		return open_door(NEXT(name), path, flags, mode);                                                       \
	}
OPEN(open)
OPEN(open64)

DOOR pid_t getpgid(pid_t pid)
{
	if (pid == 0 && is_at("ruby"))
		ruby_asks();
	else if (pid == 0 && tells)
		ruby_tell();
	return (pid_t)syscall(SYS_getpgid, pid);
}
