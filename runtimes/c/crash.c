/*
 * Linked to every program: says where it died.
 *
 * A program that is ended by a fault tells nothing by itself. Handlers for these
 * signals are set before main(); a program may set its own at any time. When one
 * is called, a child process, a copy of the program as it was, finds the callers
 * and asks addr2line for their lines. Then the signal does what it would have
 * done: status and signal stay the program's own.
 */
#define _GNU_SOURCE
#include <execinfo.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

enum {
	FRAMES = 48, /* looked at */
	SHOWN = 8,   /* told of */
};

extern const char __executable_start[], __etext[];

static const int fatal[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT };
static char stack[64 << 10];

static uintptr_t program_counter(const ucontext_t *context)
{
#if defined(__x86_64__)
	return context->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
	return context->uc_mcontext.pc;
#elif defined(__riscv)
	return context->uc_mcontext.__gregs[REG_PC];
#else
	return (void)context, 0;
#endif
}

static uintptr_t stack_pointer(const ucontext_t *context)
{
#if defined(__x86_64__)
	return context->uc_mcontext.gregs[REG_RSP];
#elif defined(__aarch64__)
	return context->uc_mcontext.sp;
#else
	return (void)context, 0;
#endif
}

static const char *describe(const siginfo_t *info, const ucontext_t *context)
{
	uintptr_t address = (uintptr_t)info->si_addr, sp = stack_pointer(context);

	switch (info->si_signo) {
	case SIGSEGV:
		if (info->si_code <= 0)
			return "Segmentation fault";
		if (info->si_code == SEGV_MAPERR && address < 4096)
			return "Segmentation fault (null pointer)";
		if (sp && address + 65536 > sp && address < sp + 65536)
			return "Segmentation fault (stack overflow)";
		return "Segmentation fault";
	case SIGBUS:
		return "Bus error";
	case SIGFPE:
		return info->si_code == FPE_INTDIV ? "Floating point exception (division by zero)"
						   : "Floating point exception";
	case SIGILL:
		return "Illegal instruction";
	default:
		return "Aborted";
	}
}

/* The program's own frames as addresses in its file. Those of a caller are one less than where it goes on. */
static int own_frames(const ucontext_t *context, uintptr_t *own)
{
	void *frames[FRAMES];
	int count = backtrace(frames, FRAMES), found = 0, first = 0;
	uintptr_t start = (uintptr_t)__executable_start, end = (uintptr_t)__etext, pc = program_counter(context);

	/* No function at all was called: the caller is what can be told. */
	if (pc < 4096 && stack_pointer(context))
		pc = *(uintptr_t *)stack_pointer(context) - 1;
	/* The handler's frames come before the one that the signal interrupted. */
	for (int i = 0; i < count; i++)
		if ((uintptr_t)frames[i] == pc || (uintptr_t)frames[i] - 1 == pc)
			first = i;
	if (!first && pc >= start && pc < end)
		own[found++] = pc;
	for (int i = first; i < count && found < SHOWN; i++) {
		uintptr_t at = (uintptr_t)frames[i];

		if (at < start || at >= end)
			continue;
		own[found++] = at == pc ? at : at - 1;
	}
	/* A program that is not moved when it is loaded starts where its file says. */
	if (start >= 0x10000000)
		for (int i = 0; i < found; i++)
			own[i] -= start;
	return found;
}

static void say(const char *what, const char *function, char *place, int depth)
{
	static const char code[] = "/sandbox/code/";
	char line[1024];
	int size;

	if (!strncmp(place, code, strlen(code)))
		place += strlen(code);
	place[strcspn(place, " ")] = 0; /* (discriminator 1) */
	size = depth ? snprintf(line, sizeof(line), "  called by %.300s (%.500s)\n", function, place)
		     : snprintf(line, sizeof(line), "%s at %.500s in %.300s\n", what, place, function);
	(void)!write(STDERR_FILENO, line, size);
}

/* addr2line prints two lines for each function: its name, and FILE:LINE, with ? for what is not known. What a header of
 * the system has made of the program's calls is left out. */
static int tell(const char *what, char *text)
{
	int depth = 0;

	while (*text) {
		char *function = text, *place = text + strcspn(text, "\n");

		if (*place)
			*place++ = 0;
		text = place + strcspn(place, "\n");
		if (*text)
			*text++ = 0;
		if (*place && *place != '?' && !strstr(place, ":?") && strncmp(place, "/usr/", 5) != 0 && depth < SHOWN)
			say(what, function, place, depth++);
	}
	return depth;
}

static int ask(const uintptr_t *addresses, int count, char *text, size_t size)
{
	static const char tool[] = "/usr/bin/addr2line";
	char path[512], words[SHOWN][20];
	char *argv[SHOWN + 7] = { (char *)tool, "-f", "-C", "-i", "-e", path };
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1), got;
	int pipes[2];

	if (length < 0 || pipe(pipes) < 0)
		return -1;
	path[length] = 0;
	for (int i = 0; i < count; i++) {
		snprintf(words[i], sizeof(words[i]), "0x%lx", (unsigned long)addresses[i]);
		argv[6 + i] = words[i];
	}
	if (!syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)) {
		char *none[] = { NULL };

		dup2(pipes[1], STDOUT_FILENO);
		close(STDERR_FILENO);
		execve(tool, argv, none);
		_exit(127);
	}
	close(pipes[1]);
	length = 0;
	while ((size_t)length + 1 < size && (got = read(pipes[0], text + length, size - length - 1)) > 0)
		length += got;
	text[length] = 0;
	return 0;
}

static void report(const siginfo_t *info, const ucontext_t *context)
{
	static char text[8192];
	const char *what = describe(info, context);
	uintptr_t own[SHOWN + 1];
	sigset_t none;
	int count;

	/* Whatever is broken in this copy: it ends soon. */
	signal(SIGALRM, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	alarm(2);
	count = own_frames(context, own);
	if (!count || ask(own, count, text, sizeof(text)) < 0 || !tell(what, text))
		dprintf(STDERR_FILENO, "%s\n", what);
	_exit(0);
}

static void handle(int number, siginfo_t *info, void *context)
{
	/* Not fork(): it takes locks that the program may hold. No signal is sent when the child ends. */
	long child = syscall(SYS_clone, 0, 0, 0, 0, 0);

	if (!child)
		report(info, context);
	if (child > 0)
		while (waitpid(child, NULL, __WALL) < 0 && kill(child, 0) == 0)
			;
	/* The handler is gone: a fault comes again by itself, a signal that was sent has to be sent again. */
	if (info->si_code <= 0)
		raise(number);
}

/* Before the constructors of the program. */
__attribute__((constructor(101))) static void install(void)
{
	stack_t alternate = { .ss_sp = stack, .ss_size = sizeof(stack) };
	struct sigaction action = { .sa_sigaction = handle,
				    .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESETHAND | SA_NODEFER };

	sigaltstack(&alternate, NULL);
	for (size_t i = 0; i < sizeof(fatal) / sizeof(*fatal); i++)
		sigaction(fatal[i], &action, NULL);
}
