#include "engine/ember/ruby.h"

#include "base/own.h"
#include "engine/ember/notice_page.h"
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
	VALUE *output;                                          /* rb_stdout, which is STDOUT at the start */
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
		{ (void **)&api.output, "rb_stdout" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		if (!(*all[i].place = dlsym(RTLD_DEFAULT, all[i].name)))
			return false;
	return true;
}

/* Of an IO: its rb_io_t, behind the two words that each object has. */
static const char *stream_of(VALUE io)
{
	return ((const char *const *)io)[2];
}

enum {
	STREAM_LOOKED = 128 /* bytes of an rb_io_t that are looked at */
};

static bool has_buffer(const char *at, const char *sample, size_t length)
{
	struct notice_ruby_buffer buffer;

	memcpy(&buffer, at, sizeof(buffer));
	return buffer.offset == 0 && buffer.length == (int)length && buffer.capacity >= (int)length &&
	       buffer.data != 0 && memcmp((const void *)(uintptr_t)buffer.data, sample, length) == 0;
}

/* Where an rb_io_t has its buffer and its descriptor: found in one of ours, to which something was printed. */
static bool layout_find(struct notice *notice)
{
	static const char sample[] = "emberbox looks";
	const size_t length = sizeof(sample) - 1;
	int failed = 0, number = open("/dev/null", O_WRONLY | O_CLOEXEC);
	const char *stream;
	char text[160];
	VALUE io;

	if (number < 0)
		return false;
	snprintf(text, sizeof(text), "IO.for_fd(%d, 'w').tap { |io| io.sync = false; io.write '%s' }", number, sample);
	io = api.eval(text, &failed);
	if (failed)
		return false;
	stream = stream_of(io);
	for (uint32_t at = 0; at < STREAM_LOOKED; at += sizeof(int)) {
		if (notice->number == 0 && memcmp(stream + at, &number, sizeof(number)) == 0)
			notice->number = at;
		if (notice->pending == 0 && has_buffer(stream + at, sample, length))
			notice->pending = at;
	}
	api.funcall(io, api.intern("close"), 0);
	return notice->number != 0 && notice->pending != 0;
}

static struct notice notice = { .magic = NOTICE_MAGIC, .kind = NOTICE_RUBY };

/* Of a Ruby whose driver had it write at once. */
static void output_tell(void)
{
	const VALUE no = 0;

	notice.stream = (uintptr_t)stream_of(*api.output);
	if (notice.pending != 0 && notice_put(&notice) == 0)
		api.funcall(*api.output, api.intern("sync="), 1, no);
}

void ruby_tell(void)
{
	if (api_find() && layout_find(&notice))
		output_tell();
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
	if (fits && !layout_find(&notice))
		notice.pending = 0;
	claim = zygote_wait(fits ? &language : NULL);
	close(claim->control);
	/* What a running Ruby cannot take over is started anew: as slow as cold, and as right. */
	if (!fits || !take_over(&claim->claim, before)) {
		char **envp = claim->claim.envp;

		if (notice_is_plain() && (envp = notice_environment(envp, claim->claim.entry)) == NULL)
			_exit(126);
		execve(claim->argv[0], claim->argv, envp);
		_exit(127);
	}
	if (notice_is_plain())
		output_tell();
	api.funcall(program.file, api.intern("rewind"), 0);
	for (char **arg = claim->claim.args; *arg; arg++)
		api.push(api.argv(), api.freeze(api.string(*arg)));
}
