#include "engine/ember/ruby.h"

#include "base/own.h"
#include "engine/ember/script.h"
#include "engine/ember/zygote.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

typedef uintptr_t VALUE;

/* Of Ruby's C interface, what is needed; all of it public since 1.9. */
static struct {
	VALUE (*eval)(const char *text, int *failed);           /* rb_eval_string_protect */
	VALUE (*intern)(const char *name);                      /* rb_intern */
	VALUE (*funcall)(VALUE object, VALUE name, int n, ...); /* rb_funcall */
	VALUE (*argv)(void);                                    /* rb_get_argv */
	VALUE (*string)(const char *text);                      /* rb_external_str_new_cstr */
	VALUE (*freeze)(VALUE object);                          /* rb_obj_freeze */
	VALUE (*push)(VALUE array, VALUE object);               /* rb_ary_push */
	VALUE *process;                                         /* rb_mProcess, the module */
} api;

static struct {
	int fd;           /* what Ruby takes for its program; -1: not opened yet */
	const char *path; /* its name */
	VALUE file;       /* Ruby's object of it, which Ruby's own stack keeps alive and in its place */
} program = { .fd = -1 };

/* What Ruby, RubyGems and the C library have read by then. */
static const char *const early[] = { "RUBY*", "GEM_*", "BUNDLE*", "LANG*",          "LC_*",     "HOME",
				     "XDG_*", "TZ",    "LD_*",    "GLIBC_TUNABLES", "MALLOC_*", NULL };

int ruby_opens(const char *path, const char *driver)
{
	if (program.fd >= 0)
		return open(path, O_RDONLY | O_CLOEXEC);
	program.path = strdup(path);
	program.fd = open(driver, O_RDONLY | O_CLOEXEC);
	return program.fd;
}

static bool api_find(void)
{
	const struct {
		void **place;     /* where it goes */
		const char *name; /* what it is called */
	} all[] = {
		{ (void **)&api.eval, "rb_eval_string_protect" },
		{ (void **)&api.intern, "rb_intern" },
		{ (void **)&api.funcall, "rb_funcall" },
		{ (void **)&api.argv, "rb_get_argv" },
		{ (void **)&api.string, "rb_external_str_new_cstr" },
		{ (void **)&api.freeze, "rb_obj_freeze" },
		{ (void **)&api.push, "rb_ary_push" },
		{ (void **)&api.process, "rb_mProcess" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		if (!(*all[i].place = dlsym(RTLD_DEFAULT, all[i].name)))
			return false;
	return true;
}

/* False for a Ruby that reads its program whole before: there is no such object then. The collector has its say first,
 * so that forks have little to move. */
static bool program_find(void)
{
	char text[160];
	int failed = 0;

	snprintf(text, sizeof(text),
		 "GC.start; ObjectSpace.each_object(File).find { |f| !f.closed? && f.fileno == %d }", program.fd);
	program.file = api.eval(text, &failed);
	/* nil is 8, and 4 since Ruby 3.2. */
	return !failed && program.file > 8;
}

/* Ruby makes those that its threads are woken by anew when its process id is another; in a box it is the same, and all
 * forks would be woken by each other. */
static int events_renew(void)
{
	_cleanup_closedir_ DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		int fd = atoi(entry->d_name), own;
		char kind[32] = "";

		if (fd >= SECCOMP_GATE || readlinkat(dirfd(dir), entry->d_name, kind, sizeof(kind) - 1) < 0 ||
		    strcmp(kind, "anon_inode:[eventfd]") != 0)
			continue;
		own = eventfd(0, EFD_CLOEXEC | (fcntl(fd, F_GETFL) & O_NONBLOCK));
		if (own < 0 || dup3(own, fd, O_CLOEXEC) < 0)
			return -1;
		close(own);
	}
	return dir ? 0 : -1;
}

/* By Ruby's own: its lock, its timer and its random seed are made anew by functions that it keeps to itself. */
static pid_t ruby_fork(void)
{
	VALUE pid = api.funcall(*api.process, api.intern("fork"), 0);

	/* nil in the fork, otherwise a small number, in Ruby's form. */
	if (pid & 1)
		return (pid_t)(pid >> 1);
	if (events_renew() < 0)
		_exit(1);
	return 0;
}

/* Whether the first line tells Ruby more than that this is Ruby; it was to be heard before the libraries. */
static bool says_more(int fd)
{
	char line[4096];
	ssize_t n = pread(fd, line, sizeof(line) - 1, 0);
	const char *name;

	if (n < 2 || line[0] != '#' || line[1] != '!')
		return false;
	line[n] = '\0';
	line[strcspn(line, "\n")] = '\0';
	name = strstr(line, "ruby");
	return !name || strstr(name, " -") || strchr(line, '\r');
}

static bool take_over(const struct ember_claim *claim, char *const *before)
{
	_cleanup_close_ int fd = -1;
	/* Ruby goes back by what it has read ahead before it forgets that. */
	off_t ahead = lseek(program.fd, 0, SEEK_CUR);

	if (strcmp(claim->entry, program.path) != 0 || script_env_differs(before, claim->envp, early))
		return false;
	fd = open(claim->entry, O_RDONLY | O_CLOEXEC);
	return fd >= 0 && !says_more(fd) && lseek(fd, ahead, SEEK_SET) == ahead && dup3(fd, program.fd, O_CLOEXEC) >= 0;
}

void ruby_asks(void)
{
	static const struct ember_language language = { .fork = ruby_fork, .rehearse = script_rehearse };
	char **before = environ;
	const struct enter_claim *claim;
	bool fits;

	if (program.fd < 0)
		return;
	fits = api_find() && program_find();
	claim = zygote_wait(fits ? &language : NULL);
	close(claim->control);
	/* What a running Ruby cannot take over is started anew: as slow as cold, and as right. */
	if (!fits || !take_over(&claim->claim, before)) {
		execve(claim->argv[0], claim->argv, claim->claim.envp);
		_exit(127);
	}
	api.funcall(program.file, api.intern("rewind"), 0);
	for (char **arg = claim->claim.args; *arg; arg++)
		api.push(api.argv(), api.freeze(api.string(*arg)));
}
