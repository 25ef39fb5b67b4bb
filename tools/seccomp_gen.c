/*
 * seccomp_gen OUTPUT: turns src/kernel/seccomp_rules.def into BPF at build time.
 *
 * libseccomp has one default action a filter, and cannot say "this call, but
 * not with these arguments, else another errno". So each call with conditions
 * becomes a filter of its own, with that call's ELSE as the default; in the
 * profile's filter the call returns a mark (SCMP_ACT_TRACE with its number),
 * and linking replaces the mark by a jump to the call's filter. One program
 * comes out, and most calls are decided by the number alone, which the kernel
 * (5.11) then remembers in a bitmap.
 *
 * The result is interpreted here against the rules, call by call and with
 * arguments around each condition: a mistake of ours or of libseccomp's stops
 * the build.
 *
 * The box's filter is made twice more: where a box is heard, what would get
 * EPERM is told to who listens, who then says so (USER_NOTIF); and where its
 * sockets are counted, those that are allowed are told as well, and let go on.
 *
 * The filter is for the machine that builds it. Other architectures' calls
 * (int 0x80 on x86_64) and x32 numbers get ENOSYS (S4).
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* Headers older than the kernels that the filter meets. */
#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x00000080
#endif
#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#endif
#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif

/* CLONE_NEWTIME is not among them: for clone it lies in the bits of the exit signal and has no effect. */
#define CLONE_NEW_ANY                                                                                                  \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET)

#define COUNT(a)         (sizeof(a) / sizeof((a)[0]))
#define PROGRAM_MAX      4096 /* the kernel's BPF_MAXINSNS */
#define CONDITIONS_MAX   3
#define SAMPLES_MAX      4096
#define CALL_NUMBERS_MAX 1024
#define TOLD             SCMP_ACT_TRACE(0xffff) /* the mark of what is told: libseccomp asks this kernel about the real one */

enum profile {
	BOX,
	ACCOUNTED,
	RESTRICTED,
	UNHEARD,
	FRONT,
	STORE,
	EGRESS,
	INTERCEPT
};
/* Of the box's filter: what is told to a listener. */
enum telling {
	SILENT,
	REFUSALS,        /* what gets EPERM */
	REFUSALS_SOCKETS /* and each socket that is allowed */
};
enum kind {
	KIND_RULE,
	KIND_WHEN,
	KIND_ELSE
};

struct rule {
	enum profile profile;                           /* which filter it belongs to */
	enum kind kind;                                 /* RULE, WHEN or ELSE */
	const char *call;                               /* the system call's name */
	const char *action; /* "allow", "pretend", "judge", "count", "cores" or an errno's name */
	unsigned count;                                 /* conditions of a WHEN */
	struct scmp_arg_cmp conditions[CONDITIONS_MAX]; /* all of them hold */
};

struct program {
	struct sock_filter code[PROGRAM_MAX]; /* instructions */
	size_t count;                         /* how many */
};

#define LOW(argument, value)                                                                                           \
	{                                                                                                              \
		argument, SCMP_CMP_MASKED_EQ, 0xffffffffu, (uint32_t)(value)                                           \
	}
#define WHOLE(argument, value)                                                                                         \
	{                                                                                                              \
		argument, SCMP_CMP_MASKED_EQ, UINT64_MAX, value                                                        \
	}
#define SET(argument)                                                                                                  \
	{                                                                                                              \
		argument, SCMP_CMP_NE, 0                                                                               \
	}
#define BITS(argument, mask, value)                                                                                    \
	{                                                                                                              \
		argument, SCMP_CMP_MASKED_EQ, (uint32_t)(mask), (uint32_t)(value)                                      \
	}
#define RULE(profile, call, action, reason) { profile, KIND_RULE, #call, #action, 0, { { 0 } } },
#define ELSE(profile, call, action, reason) { profile, KIND_ELSE, #call, #action, 0, { { 0 } } },
#define WHEN(profile, call, action, text, reason, ...)                                                                 \
	{ profile, KIND_WHEN, #call, #action, COUNT(((struct scmp_arg_cmp[]){ __VA_ARGS__ })), { __VA_ARGS__ } },

static const struct rule rules[] = {
#include "kernel/seccomp_rules.def"
};

static const char *const profile_names[] = {
	[BOX] = "box", [ACCOUNTED] = "accounted", [RESTRICTED] = "restricted", [UNHEARD] = "unheard", [FRONT] = "front", [STORE] = "store", [EGRESS] = "egress", [INTERCEPT] = "intercept"
};
static const char *const profile_defaults[] = {
	[BOX] = "ENOSYS", [ACCOUNTED] = "allow", [RESTRICTED] = "allow", [UNHEARD] = "allow", [FRONT] = "EPERM", [STORE] = "EPERM", [EGRESS] = "EPERM", [INTERCEPT] = "EPERM"
};

#define DIE(...)                                                                                                       \
	do {                                                                                                           \
		fputs("seccomp_gen: ", stderr);                                                                        \
		fprintf(stderr, __VA_ARGS__);                                                                          \
		fputc('\n', stderr);                                                                                   \
		exit(1);                                                                                               \
	} while (0)

static uint32_t action_value(const char *name)
{
	static const struct {
		const char *name;
		uint32_t value;
	} actions[] = {
		{ "allow", SCMP_ACT_ALLOW },
		{ "pretend", SCMP_ACT_ERRNO(0) },
		{ "judge", SCMP_ACT_ERRNO(0) },
		{ "count", SCMP_ACT_ALLOW },
		{ "cores", SCMP_ACT_ALLOW },
		{ "EPERM", SCMP_ACT_ERRNO(EPERM) },
		{ "ENOSYS", SCMP_ACT_ERRNO(ENOSYS) },
		{ "EINVAL", SCMP_ACT_ERRNO(EINVAL) },
		{ "EAFNOSUPPORT", SCMP_ACT_ERRNO(EAFNOSUPPORT) },
		{ "EPROTONOSUPPORT", SCMP_ACT_ERRNO(EPROTONOSUPPORT) },
	};

	for (size_t i = 0; i < COUNT(actions); i++) {
		if (strcmp(actions[i].name, name) == 0)
			return actions[i].value;
	}
	DIE("%s is no action", name);
}

static enum telling telling;

/* What asks for a socket: who listens lets it go on, so that a refusal is not for him to give. */
static bool is_socket(const char *call)
{
	return strcmp(call, "socket") == 0 || strcmp(call, "socketpair") == 0;
}

/* kcmp is what a box proves its filter by: it needs nobody who listens. The others are refused huge pages only, which
 * programs try and do without. */
static bool is_silent(const char *call)
{
	static const char *const calls[] = { "kcmp", "mmap", "memfd_create", "shmget" };

	for (size_t i = 0; i < COUNT(calls); i++)
		if (strcmp(calls[i], call) == 0)
			return true;
	return false;
}

static bool is_for_listener(const char *action)
{
	return strcmp(action, "judge") == 0 || strcmp(action, "count") == 0 || strcmp(action, "cores") == 0;
}

static uint32_t rule_action(const struct rule *rule)
{
	uint32_t action = action_value(rule->action);

	if (telling != SILENT && is_for_listener(rule->action))
		return TOLD;
	if (telling == REFUSALS_SOCKETS && is_socket(rule->call))
		return action == SCMP_ACT_ALLOW ? TOLD : action;
	return telling != SILENT && action == SCMP_ACT_ERRNO(EPERM) && !is_silent(rule->call) ? TOLD : action;
}

/* The call's number here, or -1 when this architecture (or libseccomp) does not have it. */
static int call_number(const struct rule *rule)
{
	static int numbers[COUNT(rules)]; /* plus 2, for 0 is "not looked up": resolving takes a while */
	int *number = &numbers[rule - rules];

	if (*number == 0) {
		int found = seccomp_syscall_resolve_name(rule->call);

		*number = (found == __NR_SCMP_ERROR || found < 0 ? -1 : found) + 2;
	}
	return *number - 2;
}

static scmp_filter_ctx filter_make(uint32_t fallback)
{
	scmp_filter_ctx filter = seccomp_init(fallback);

	if (!filter)
		DIE("seccomp_init failed");
	if (seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(ENOSYS)) != 0)
		DIE("SCMP_FLTATR_ACT_BADARCH was refused");
#if SCMP_VER_MAJOR > 2 || (SCMP_VER_MAJOR == 2 && SCMP_VER_MINOR >= 5)
	/* A binary tree by number: a dozen steps instead of hundreds. */
	if (seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2) != 0)
		DIE("SCMP_FLTATR_CTL_OPTIMIZE was refused");
#endif
	return filter;
}

/* Takes the filter. */
static void filter_export(scmp_filter_ctx filter, struct program *program)
{
	int fd = memfd_create("filter", MFD_CLOEXEC);
	ssize_t size;

	if (fd < 0 || seccomp_export_bpf(filter, fd) != 0)
		DIE("the filter could not be exported");
	size = pread(fd, program->code, sizeof(program->code), 0);
	if (size <= 0 || (size_t)size == sizeof(program->code) || (size_t)size % sizeof(program->code[0]) != 0)
		DIE("the exported filter has an odd size");
	program->count = (size_t)size / sizeof(program->code[0]);
	close(fd);
	seccomp_release(filter);
}

static void filter_add(scmp_filter_ctx filter, const struct rule *rule, uint32_t action)
{
	int r = seccomp_rule_add_exact_array(filter, action, call_number(rule), rule->count, rule->conditions);

	if (r != 0)
		DIE("rule for %s: %s", rule->call, strerror(-r));
}

/* A filter of one call with conditions: `otherwise` is its ELSE. */
static void call_make(const struct rule *otherwise, struct program *program)
{
	uint32_t fallback = rule_action(otherwise);
	scmp_filter_ctx filter = filter_make(fallback);

	for (size_t i = 0; i < COUNT(rules); i++) {
		const struct rule *rule = &rules[i];

		if (rule->kind != KIND_WHEN || rule->profile != otherwise->profile ||
		    strcmp(rule->call, otherwise->call) != 0)
			continue;
		/* Where both are told, who listens tells them apart. */
		if (rule_action(rule) == fallback && fallback == TOLD)
			continue;
		if (rule_action(rule) == fallback)
			DIE("a condition of %s does what its ELSE does", rule->call);
		filter_add(filter, rule, rule_action(rule));
	}
	filter_export(filter, program);
}

static void program_append(struct program *program, const struct program *more)
{
	if (program->count + more->count > PROGRAM_MAX)
		DIE("the filter is longer than the kernel takes");
	memcpy(program->code + program->count, more->code, more->count * sizeof(more->code[0]));
	program->count += more->count;
}

/* Where a call's own filter begins to look at arguments: architecture and number are known when it is jumped to. */
static size_t call_entry(const struct program *call, int number)
{
	for (size_t at = 1; at + 1 < call->count; at++) {
		const struct sock_filter *load = &call->code[at - 1], *test = &call->code[at];

		if (load->code == (BPF_LD | BPF_W | BPF_ABS) && load->k == offsetof(struct seccomp_data, nr) &&
		    test->code == (BPF_JMP | BPF_JEQ | BPF_K) && test->k == (uint32_t)number && test->jt == 0 &&
		    call->code[at + 1].code == (BPF_LD | BPF_W | BPF_ABS))
			return at + 1;
	}
	return 0;
}

/* libseccomp tests the upper half of each argument, although the mask for it is 0: load, and 0, equals 0. */
static bool tests_nothing(const struct program *program, size_t at)
{
	const struct sock_filter *code = &program->code[at];

	return at + 3 < program->count && code[0].code == (BPF_LD | BPF_W | BPF_ABS) &&
	       code[1].code == (BPF_ALU | BPF_AND | BPF_K) && code[1].k == 0 &&
	       code[2].code == (BPF_JMP | BPF_JEQ | BPF_K) && code[2].k == 0 && code[2].jt == 0 &&
	       code[3].code == (BPF_LD | BPF_W | BPF_ABS);
}

/* Leaves out what is never reached or tests nothing: loading a filter takes the kernel 0.3 us an instruction. */
static void program_shrink(struct program *program)
{
	static bool keep[PROGRAM_MAX + 256];
	static size_t moved[PROGRAM_MAX + 256]; /* old place -> new place of it or of what follows it */
	size_t count = 0;

	memset(keep, 0, sizeof(keep));
	keep[0] = true;
	for (size_t at = 0; at < program->count; at++) { /* jumps only go forward: one pass finds all */
		const struct sock_filter *code = &program->code[at];

		if (!keep[at])
			continue;
		if (tests_nothing(program, at)) {
			keep[at] = false;
			keep[at + 3] = true;
		} else if (code->code == (BPF_JMP | BPF_JA)) {
			keep[at + 1 + code->k] = true;
		} else if (BPF_CLASS(code->code) == BPF_JMP) {
			keep[at + 1 + code->jt] = keep[at + 1 + code->jf] = true;
		} else if (BPF_CLASS(code->code) != BPF_RET) {
			keep[at + 1] = true;
		}
	}
	for (size_t at = 0; at < program->count; at++) {
		moved[at] = count;
		count += keep[at];
	}
	for (size_t at = 0; at < program->count; at++) {
		struct sock_filter code = program->code[at];

		if (!keep[at])
			continue;
		if (code.code == (BPF_JMP | BPF_JA)) {
			code.k = (uint32_t)(moved[at + 1 + code.k] - moved[at] - 1);
		} else if (BPF_CLASS(code.code) == BPF_JMP) {
			code.jt = (uint8_t)(moved[at + 1 + code.jt] - moved[at] - 1);
			code.jf = (uint8_t)(moved[at + 1 + code.jf] - moved[at] - 1);
		}
		program->code[moved[at]] = code;
	}
	program->count = count;
}

static void profile_make(enum profile profile, struct program *program)
{
	uint32_t fallback = action_value(profile_defaults[profile]);
	scmp_filter_ctx filter = filter_make(fallback);
	static struct program call;
	size_t head;

	for (size_t i = 0; i < COUNT(rules); i++) {
		const struct rule *rule = &rules[i];

		if (rule->profile != profile || rule->kind == KIND_WHEN || call_number(rule) < 0)
			continue;
		if (rule->kind == KIND_ELSE)
			filter_add(filter, rule, SCMP_ACT_TRACE(i));
		else if (action_value(rule->action) != fallback) /* libseccomp takes no rule that is the default */
			filter_add(filter, rule, rule_action(rule));
	}
	filter_export(filter, program);

	head = program->count;
	for (size_t i = 0; i < COUNT(rules); i++) {
		size_t start = program->count;

		if (rules[i].profile != profile || rules[i].kind != KIND_ELSE || call_number(&rules[i]) < 0)
			continue;
		call_make(&rules[i], &call);
		program_append(program, &call);
		start += call_entry(&call, call_number(&rules[i]));
		for (size_t at = 0; at < head; at++) {
			struct sock_filter *code = &program->code[at];

			if (code->code == (BPF_RET | BPF_K) && code->k == SCMP_ACT_TRACE(i))
				*code = (struct sock_filter)BPF_STMT(BPF_JMP | BPF_JA, (uint32_t)(start - at - 1));
		}
	}
	for (size_t at = 0; at < program->count; at++) {
		if (program->code[at].code == (BPF_RET | BPF_K) && program->code[at].k == TOLD)
			program->code[at].k = SECCOMP_RET_USER_NOTIF;
		if (program->code[at].code == (BPF_RET | BPF_K) &&
		    (program->code[at].k & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_TRACE)
			DIE("a mark was not linked");
	}
	program_shrink(program);
}

/* What the kernel would do: only the instructions that libseccomp uses. */
static uint32_t program_run(const struct program *program, const struct seccomp_data *data)
{
	uint32_t a = 0;

	for (size_t at = 0; at < program->count; at++) {
		const struct sock_filter *code = &program->code[at];

		switch (code->code) {
		case BPF_LD | BPF_W | BPF_ABS:
			if (code->k % 4 != 0 || code->k >= sizeof(*data))
				DIE("the filter reads past its data");
			memcpy(&a, (const char *)data + code->k, sizeof(a));
			break;
		case BPF_ALU | BPF_AND | BPF_K:
			a &= code->k;
			break;
		case BPF_JMP | BPF_JA:
			at += code->k;
			break;
		case BPF_JMP | BPF_JEQ | BPF_K:
			at += a == code->k ? code->jt : code->jf;
			break;
		case BPF_JMP | BPF_JGT | BPF_K:
			at += a > code->k ? code->jt : code->jf;
			break;
		case BPF_JMP | BPF_JGE | BPF_K:
			at += a >= code->k ? code->jt : code->jf;
			break;
		case BPF_JMP | BPF_JSET | BPF_K:
			at += a & code->k ? code->jt : code->jf;
			break;
		case BPF_RET | BPF_K:
			return code->k;
		default:
			DIE("an instruction that the check does not know: 0x%x", code->code);
		}
	}
	DIE("the filter runs off its end");
}

static bool rule_holds(const struct rule *rule, const struct seccomp_data *data)
{
	for (unsigned i = 0; i < rule->count; i++) {
		const struct scmp_arg_cmp *cmp = &rule->conditions[i];

		if (cmp->op == SCMP_CMP_NE ? data->args[cmp->arg] == cmp->datum_a
					   : (data->args[cmp->arg] & cmp->datum_a) != cmp->datum_b)
			return false;
	}
	return true;
}

/* What the rules say, read without libseccomp. */
static uint32_t rules_decide(enum profile profile, const struct seccomp_data *data)
{
	const struct rule *found = NULL, *otherwise = NULL;

	for (size_t i = 0; i < COUNT(rules); i++) {
		const struct rule *rule = &rules[i];

		if (rule->profile != profile || call_number(rule) != data->nr)
			continue;
		if (rule->kind != KIND_WHEN) {
			if (otherwise)
				DIE("%s is decided twice", rule->call);
			otherwise = rule;
		} else if (rule_holds(rule, data)) {
			if (found && strcmp(found->action, rule->action) != 0)
				DIE("two conditions of %s overlap: %s and %s", rule->call, found->action, rule->action);
			found = rule;
		}
	}
	if (found && !otherwise)
		DIE("%s has conditions and no ELSE", found->call);
	if (!found)
		found = otherwise;
	if (!found)
		return action_value(profile_defaults[profile]);
	return rule_action(found) == TOLD ? SECCOMP_RET_USER_NOTIF : rule_action(found);
}

static void check_one(enum profile profile, const struct program *program, const struct seccomp_data *data)
{
	uint32_t want = rules_decide(profile, data), got = program_run(program, data);

	if (got != want)
		DIE("%s: call %d (0x%llx, 0x%llx, 0x%llx) gives 0x%x, the rules say 0x%x", profile_names[profile],
		    data->nr, (unsigned long long)data->args[0], (unsigned long long)data->args[1],
		    (unsigned long long)data->args[2], got, want);
}

/* Values of one argument that lie on and beside each condition of the call. */
static size_t samples_collect(enum profile profile, int number, unsigned argument, uint64_t *samples)
{
	static const int flips[] = { 0, 1, 7, 11, 17, 31, 32, 63 };
	size_t count = 0;

	samples[count++] = 0;
	for (size_t i = 0; i < COUNT(rules); i++) {
		if (rules[i].profile != profile || call_number(&rules[i]) != number)
			continue;
		for (unsigned c = 0; c < rules[i].count; c++) {
			const struct scmp_arg_cmp *cmp = &rules[i].conditions[c];
			bool seen = false;

			for (size_t s = 0; s < count; s++)
				seen |= s > 0 && samples[s] == cmp->datum_b;
			if (cmp->arg != argument || seen)
				continue;
			if (count + COUNT(flips) + 34 > SAMPLES_MAX)
				DIE("too many conditions");
			samples[count++] = cmp->datum_b;
			samples[count++] = cmp->datum_b | ~cmp->datum_a;
			for (size_t f = 0; f < COUNT(flips); f++)
				samples[count++] = cmp->datum_b ^ 1ULL << flips[f];
			/* Each bit of a mask by itself; of LOW's, those above are enough. */
			for (int bit = 0; bit < 32 && (uint32_t)cmp->datum_a != UINT32_MAX; bit++) {
				if (cmp->datum_a >> bit & 1 && __builtin_popcountll(cmp->datum_a) < 16)
					samples[count++] = cmp->datum_b ^ 1ULL << bit;
			}
		}
	}
	return count;
}

static void profile_check(enum profile profile, const struct program *program, uint32_t arch)
{
	static uint64_t samples[6][SAMPLES_MAX];

	for (int number = 0; number < CALL_NUMBERS_MAX; number++) {
		struct seccomp_data data = { .nr = number, .arch = arch };
		unsigned used[CONDITIONS_MAX] = { 0 }, uses = 0;
		size_t counts[CONDITIONS_MAX] = { 1, 1, 1 };

		for (unsigned argument = 0; argument < 6; argument++) {
			size_t count = samples_collect(profile, number, argument, samples[argument]);

			if (count > 1 && uses == CONDITIONS_MAX)
				DIE("call %d has conditions on too many arguments", number);
			if (count > 1) {
				used[uses] = argument;
				counts[uses++] = count;
			}
		}
		for (size_t i = 0; i < counts[0]; i++) {
			for (size_t j = 0; j < counts[1]; j++) {
				for (size_t k = 0; k < counts[2]; k++) {
					if (uses > 0)
						data.args[used[0]] = samples[used[0]][i];
					if (uses > 1)
						data.args[used[1]] = samples[used[1]][j];
					if (uses > 2)
						data.args[used[2]] = samples[used[2]][k];
					check_one(profile, program, &data);
				}
			}
		}
#ifdef __x86_64__
		data.nr = number | 0x40000000; /* x32 */
		if (program_run(program, &data) != SCMP_ACT_ERRNO(ENOSYS))
			DIE("x32 call %d passes", number);
		data.nr = number;
#endif
		data.arch = arch ^ 1;
		if (program_run(program, &data) != SCMP_ACT_ERRNO(ENOSYS))
			DIE("call %d of another architecture passes", number);
	}
}

static void profile_print(enum profile profile, const struct program *program, FILE *out)
{
	static const char *const endings[] = { [SILENT] = "", [REFUSALS] = "_told", [REFUSALS_SOCKETS] = "_counted" };

	fprintf(out, "static const struct sock_filter seccomp_filter_%s%s[] = {\n", profile_names[profile],
		endings[telling]);
	for (size_t i = 0; i < program->count; i++) {
		const struct sock_filter *code = &program->code[i];

		fprintf(out, "\t{ 0x%02x, %u, %u, 0x%08x },\n", code->code, code->jt, code->jf, code->k);
	}
	fputs("};\n", out);
}

static bool is_native(const char *name)
{
	int number = seccomp_syscall_resolve_name_arch(SCMP_ARCH_NATIVE, name);

	return number >= 0 && number < CALL_NUMBERS_MAX;
}

/* Every call that libseccomp knows, for the additions of definitions; those of other machines only have -1. */
static void names_print(FILE *out)
{
	static const uint32_t others[] = { SCMP_ARCH_X86_64, SCMP_ARCH_AARCH64, SCMP_ARCH_RISCV64, SCMP_ARCH_X86 };

	fputs("static const struct {\n\tint number;\n\tconst char *name;\n} seccomp_calls[] = {\n", out);
	for (size_t i = 0; i <= COUNT(others); i++) {
		for (int number = 0; number < CALL_NUMBERS_MAX; number++) {
			char *name =
				seccomp_syscall_resolve_num_arch(i == 0 ? SCMP_ARCH_NATIVE : others[i - 1], number);

			if (name && (i == 0 || !is_native(name)))
				fprintf(out, "\t{ %d, \"%s\" },\n", i == 0 ? number : -1, name);
			free(name);
		}
	}
	fputs("};\n", out);
}

int main(int argc, char **argv)
{
	static struct program program;
	FILE *out;

	if (argc != 2) {
		fputs("usage: seccomp_gen OUTPUT\n", stderr);
		return 2;
	}
	out = fopen(argv[1], "we");
	if (!out)
		DIE("%s: %s", argv[1], strerror(errno));
	fputs("/* Made by tools/seccomp_gen.c from src/kernel/seccomp_rules.def. */\n", out);
	for (enum profile profile = BOX; profile <= INTERCEPT; profile++) {
		for (telling = SILENT; telling <= (profile == BOX ? REFUSALS_SOCKETS : SILENT); telling++) {
			profile_make(profile, &program);
			profile_check(profile, &program, seccomp_arch_native());
			profile_print(profile, &program, out);
		}
	}
	names_print(out);
	if (fclose(out) != 0)
		DIE("%s: %s", argv[1], strerror(errno));
	return 0;
}
