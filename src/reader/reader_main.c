/* The reader's process: confines itself, then answers questions until the end of the input. */
#include "reader/reader_memory.h"
#include "reader/parser.h"
#include "reader/reader.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define READER_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define READER_ARCH AUDIT_ARCH_AARCH64
#elif defined(__riscv) && __riscv_xlen == 64
#define READER_ARCH AUDIT_ARCH_RISCV64
#else
#error "the reader's filter does not know this processor"
#endif

enum {
	SOCKET = 0,           /* the only descriptor */
	MEMORY_MAX = 1 << 30, /* address space; a tree is some fifty times as large as its source */
	TREE_MAX = 960 << 20, /* bytes of it for the parser */
	CPU_SECONDS = 120,    /* for all questions together; then a new reader replaces this one */
};

#define ALLOW(number) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

/* Allows reading, writing and memory. Any other call kills the process. */
static int reader_confine(void)
{
	static struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, READER_ARCH, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		ALLOW(SYS_read),
		ALLOW(SYS_write),
		ALLOW(SYS_brk),
		/* Only anonymous memory: there is no descriptor that could be mapped. */
		ALLOW(SYS_mmap),
		ALLOW(SYS_munmap),
		ALLOW(SYS_mremap),
		ALLOW(SYS_madvise),
		/* The parser checks the time occasionally. */
		ALLOW(SYS_clock_gettime),
		ALLOW(SYS_exit_group),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	const struct sock_fprog program = { sizeof(filter) / sizeof(filter[0]), filter };
	const struct rlimit memory = { MEMORY_MAX, MEMORY_MAX }, cpu = { CPU_SECONDS, CPU_SECONDS }, none = { 0, 0 };

	if (setrlimit(RLIMIT_AS, &memory) < 0 || setrlimit(RLIMIT_CPU, &cpu) < 0 || setrlimit(RLIMIT_CORE, &none) < 0 ||
	    setrlimit(RLIMIT_FSIZE, &none) < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_DUMPABLE, 0) < 0)
		return -1;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static int socket_transfer(ssize_t (*move)(int, void *, size_t), void *data, size_t size)
{
	char *at = data;

	while (size > 0) {
		ssize_t n = move(SOCKET, at, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		at += n;
		size -= (size_t)n;
	}
	return 0;
}

static ssize_t move_out(int fd, void *data, size_t size)
{
	return write(fd, data, size);
}

/* Returns 0, or -1 if there are no more questions. */
static int question_answer(struct reader *r, char *source)
{
	struct wire_tell head = { .magic = WIRE_TELL };
	struct wire_ask ask;
	TSParser *parser;

	if (socket_transfer(read, &ask, sizeof(ask)) < 0 || ask.magic != WIRE_ASK || ask.size > WIRE_SOURCE_MAX ||
	    socket_transfer(read, source, ask.size) < 0)
		return -1;
	source[ask.size] = '\0';
	r->source = source;
	r->size = ask.size;
	r->used = r->count = 0;
	aliases_forget(r);
	r->cut = false;
	/* A new parser for each question, because memory_empty() also removes its caches. */
	parser = parser_new();
	head.state = reader_read(r, parser);
	ts_parser_delete(parser);
	memory_empty();
	head.count = r->count;
	head.size = r->used;
	if (socket_transfer(move_out, &head, sizeof(head)) < 0)
		return -1;
	return socket_transfer(move_out, r->out, r->used);
}

int main(void)
{
	static struct reader r;
	static unsigned char out[WIRE_TELL_MAX];
	static char source[WIRE_SOURCE_MAX + 1];

	if (memory_open(TREE_MAX) < 0 || reader_confine() < 0)
		return 1;
	r.language = &reader_language;
	r.rules = policy_rules_of(reader_language.grammar);
	r.out = out;
	r.emptied = true;
	if (!r.rules)
		return 1;
	while (question_answer(&r, source) == 0)
		continue;
	return 0;
}
