/*
 * Linked to every program: says where it died.
 *
 * A program that is ended by a fault tells nothing by itself. Handlers for these
 * signals are set before main(); a program may set its own at any time. When one
 * is called, a child process, a copy of the program as it was, finds the callers
 * and asks addr2line for their lines. Then the signal does what it would have
 * done: status and signal stay the program's own.
 *
 * The heap and the stack may be what is broken. So nothing here allocates, which
 * backtrace() does, and a fault while the callers are looked for ends only that.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

enum {
	FRAMES = 48, /* looked at */
	SHOWN = 8,   /* told of */
};

extern const char __executable_start[], __etext[];

static const int fatal[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT };
static char stack[64 << 10];
static pid_t program; /* the first process, not one that it started */

/* Of the child process: what has been found, and where to go on when looking fails. */
static uintptr_t frames[FRAMES];
static volatile int frame_count;
static sigjmp_buf given_up;

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

/* Where the function goes on that made the last call, if no instruction was executed since. */
static uintptr_t return_address(const ucontext_t *context)
{
#if defined(__x86_64__)
	return *(uintptr_t *)context->uc_mcontext.gregs[REG_RSP];
#elif defined(__aarch64__)
	return context->uc_mcontext.regs[30];
#elif defined(__riscv)
	return context->uc_mcontext.__gregs[REG_RA];
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

static void give_up(int number)
{
	siglongjmp(given_up, number);
}

static _Unwind_Reason_Code found_frame(struct _Unwind_Context *context, void *unused)
{
	int before;
	uintptr_t pc = _Unwind_GetIPInfo(context, &before);

	(void)unused;
	if (!pc || frame_count == FRAMES)
		return _URC_END_OF_STACK;
	/* A caller goes on after the call, which may be another line's. */
	frames[frame_count] = before ? pc : pc - 1;
	frame_count++;
	return _URC_NO_REASON;
}

/* The program's own frames as addresses in its file. */
static int own_frames(const siginfo_t *info, const ucontext_t *context, uintptr_t *own)
{
	uintptr_t start = (uintptr_t)__executable_start, end = (uintptr_t)__etext;
	volatile uintptr_t pc = program_counter(context);
	int found = 0, first = 0;

	if (!sigsetjmp(given_up, 1))
		_Unwind_Backtrace(found_frame, NULL);
	/* It went where there is no code: the caller is what can be told, if that was a call. */
	if (info->si_signo == SIGSEGV && info->si_code > 0 && (uintptr_t)info->si_addr == pc && !sigsetjmp(given_up, 1))
		pc = return_address(context) - 1;
	/* The handler's frames come before the one that the signal interrupted. */
	for (int i = 0; i < frame_count; i++)
		if (frames[i] == pc)
			first = i;
	if (!first && pc >= start && pc < end)
		own[found++] = pc;
	for (int i = first; i < frame_count && found < SHOWN; i++)
		if (frames[i] >= start && frames[i] < end)
			own[found++] = frames[i];
	/* A program that is not moved when it is loaded starts where its file says. */
	if (start >= 0x10000000)
		for (int i = 0; i < found; i++)
			own[i] -= start;
	return found;
}

static void say(const char *what, const char *function, char *place, int depth)
{
	static const char code[] = "/sandbox/code/";
	char line[1024], *more = strstr(place, " (discriminator ");
	int size;

	if (!strncmp(place, code, strlen(code)))
		place += strlen(code);
	if (!strncmp(place, "./", 2))
		place += 2;
	if (more)
		*more = 0;
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

/* Of all that may be broken in this copy of the program the worst is a lock that is never given back. */
static void on_failure(void (*handler)(int), unsigned seconds)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_ONSTACK | SA_NODEFER };
	sigset_t all;

	for (size_t i = 0; i < sizeof(fatal) / sizeof(*fatal); i++)
		sigaction(fatal[i], &action, NULL);
	sigaction(SIGALRM, &action, NULL);
	sigfillset(&all);
	sigprocmask(SIG_UNBLOCK, &all, NULL);
	alarm(seconds);
}

static void report(const siginfo_t *info, const ucontext_t *context)
{
	static char text[8192];
	const char *what = describe(info, context);
	uintptr_t own[SHOWN];
	int count;

	on_failure(give_up, 1);
	count = own_frames(info, context, own);
	on_failure(SIG_DFL, 2);
	if (!count || ask(own, count, text, sizeof(text)) < 0 || !tell(what, text))
		dprintf(STDERR_FILENO, "%s\n", what);
	/* The line that was begun. A process that was started has its parent's, which is the parent's to write. */
	if (getppid() == program)
		fflush(stdout);
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

/*
 * What is written to a pipe is kept back until there are some kilobytes, or the end: a program that is killed would
 * have said nothing. In a run whose input is known already the supervisor finds it where it is kept, for it is told
 * where: in a page at a fixed address (src/engine/ember/notice.h, which has these numbers as well). The size of standard
 * input's pipe says that it is such a run.
 */
struct notice {
	uint64_t magic;  /* below */
	uint32_t kind;   /* 1: a FILE… */
	uint32_t no[3];  /* 0 */
	uint64_t stream; /* …at this address */
	uint64_t nil[6]; /* 0 */
};

static int tell_stdout(void)
{
	void *place = (void *)0x3e00000000;
	struct notice *notice;

	if (fcntl(STDIN_FILENO, F_GETPIPE_SZ) != 8 * sysconf(_SC_PAGESIZE))
		return -1;
	notice = mmap(place, sizeof(*notice), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | 0x100000, -1, 0);
	if (notice != place)
		return -1;
	*notice = (struct notice){ .magic = 0x6563697465626d45, .kind = 1, .stream = (uintptr_t)stdout };
	return 0;
}

/*
 * Before the constructors of the program.
 *
 * In any other run lines go out as they do on a terminal, and before standard input is read whatever there is.
 */
__attribute__((constructor(101))) static void install(void)
{
	stack_t alternate = { .ss_sp = stack, .ss_size = sizeof(stack) };
	struct sigaction action = { .sa_sigaction = handle,
				    .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESETHAND | SA_NODEFER };

	program = getpid();
	if (tell_stdout() < 0) {
		setvbuf(stdout, NULL, _IOLBF, 0);
		setvbuf(stdin, NULL, _IOLBF, 0);
	}
	sigaltstack(&alternate, NULL);
	for (size_t i = 0; i < sizeof(fatal) / sizeof(*fatal); i++)
		sigaction(fatal[i], &action, NULL);
}
