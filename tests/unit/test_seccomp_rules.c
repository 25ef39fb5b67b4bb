/* The table of the filter's rules: each has a reason, and none contradicts another. */
#include "../check.h"

#include "kernel/seccomp.h"

static const enum seccomp_profile profiles[] = {
	SECCOMP_BOX,   SECCOMP_ACCOUNTED, SECCOMP_RESTRICTED, SECCOMP_UNHEARD,
	SECCOMP_FRONT, SECCOMP_STORE,     SECCOMP_EGRESS,     SECCOMP_INTERCEPT
};

#define EACH_PROFILE(p)                                                                                                \
	for (const enum seccomp_profile *p = profiles; p < profiles + sizeof(profiles) / sizeof(profiles[0]); p++)
#define EACH_RULE(rule, p) for (size_t rule##_i = 0; (rule = seccomp_rule_at(p, rule##_i)) != NULL; rule##_i++)

static bool ends_with(const char *text, const char *end)
{
	size_t size = strlen(text), tail = strlen(end);

	return size >= tail && strcmp(text + size - tail, end) == 0;
}

/* "allow" or an errno, alone or followed by " if …" or " otherwise". */
static bool action_is_known(const char *action)
{
	static const char *const known[] = { "allow",  "pretend", "judge",        "count",           "EPERM",
					     "ENOSYS", "EINVAL",  "EAFNOSUPPORT", "EPROTONOSUPPORT", "cores" };
	size_t size = strcspn(action, " ");

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (strlen(known[i]) == size && memcmp(known[i], action, size) == 0)
			return action[size] == '\0' || strncmp(action + size, " if ", 4) == 0 ||
			       strcmp(action + size, " otherwise") == 0;
	}
	return false;
}

static void every_rule_is_whole(void)
{
	const struct seccomp_rule *rule;

	EACH_PROFILE(p)
	{
		EACH_RULE(rule, *p)
		{
			if (!rule->syscall || !*rule->syscall || !rule->reason || strlen(rule->reason) < 5)
				check_fail("%s has no reason", rule->syscall ? rule->syscall : "(null)");
			if (!action_is_known(rule->action))
				check_fail("%s: \"%s\" is no action", rule->syscall, rule->action);
		}
	}
}

static size_t rules_of(enum seccomp_profile profile, const char *call, const char *kind)
{
	const struct seccomp_rule *rule;
	size_t count = 0;

	EACH_RULE(rule, profile)
	{
		bool conditional = strstr(rule->action, " if ") != NULL, rest = ends_with(rule->action, " otherwise");

		if (strcmp(rule->syscall, call) != 0)
			continue;
		if (strcmp(kind, "if") == 0          ? conditional
		    : strcmp(kind, "otherwise") == 0 ? rest
						     : !conditional && !rest)
			count++;
	}
	return count;
}

/* Either one unconditional rule, or conditions and exactly one for the rest. */
static void every_call_is_decided_once(void)
{
	const struct seccomp_rule *rule;

	EACH_PROFILE(p)
	{
		EACH_RULE(rule, *p)
		{
			size_t plain = rules_of(*p, rule->syscall, "plain"),
			       rest = rules_of(*p, rule->syscall, "otherwise"),
			       conditions = rules_of(*p, rule->syscall, "if");

			if (!(plain == 1 && rest == 0 && conditions == 0) &&
			    !(plain == 0 && rest == 1 && conditions > 0))
				check_fail("%s has %zu plain rules, %zu conditions and %zu for the rest", rule->syscall,
					   plain, conditions, rest);
		}
	}
}

static void no_condition_is_given_twice(void)
{
	const struct seccomp_rule *a, *b;

	EACH_PROFILE(p)
	{
		EACH_RULE(a, *p)
		{
			EACH_RULE(b, *p)
			{
				const char *ca = strstr(a->action, " if "), *cb = strstr(b->action, " if ");

				if (a != b && ca && cb && strcmp(a->syscall, b->syscall) == 0 && strcmp(ca, cb) == 0)
					check_fail("%s%s is there twice", a->syscall, ca);
			}
		}
	}
}

static const struct seccomp_rule *find(enum seccomp_profile profile, const char *call)
{
	const struct seccomp_rule *rule;

	EACH_RULE(rule, profile)
	{
		if (strcmp(rule->syscall, call) == 0)
			return rule;
	}
	return NULL;
}

/* What must never become "allow" by an edit. */
static void the_dangerous_are_denied(void)
{
	static const char *const calls[] = {
		"mount",       "umount2",   "pivot_root",       "chroot",    "setns",
		"ptrace",      "bpf",       "userfaultfd",      "keyctl",    "perf_event_open",
		"seccomp",     "clone3",    "io_uring_setup",   "setgroups", "open_by_handle_at",
		"init_module", "reboot",    "settimeofday",     "fsopen",    "move_mount",
		"kexec_load",  "open_tree", "process_vm_writev"
	};

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		const struct seccomp_rule *rule = find(SECCOMP_BOX, calls[i]);

		if (!rule || rule->action[0] != 'E')
			check_fail("%s is not denied", calls[i]);
	}
	CHECK_STR(find(SECCOMP_BOX, "read")->action, "allow");
	CHECK_STR(find(SECCOMP_ACCOUNTED, "memfd_create")->action, "ENOSYS");
	CHECK(find(SECCOMP_ACCOUNTED, "read") == NULL);
}

/* Who hears strangers opens, reaches and starts nothing. */
static void the_front_has_sockets_and_memory(void)
{
	static const char *const calls[] = { "open",   "openat", "openat2", "execve", "execveat", "clone", "clone3",
					     "fork",   "vfork",  "connect", "bind",   "socket",   "kill",  "tgkill",
					     "ptrace", "unlink", "mount",   "setns",  "unshare" };

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		CHECK(find(SECCOMP_FRONT, calls[i]) == NULL);
		CHECK(seccomp_denies(SECCOMP_FRONT, calls[i]));
	}
	/* Two things of a terminal, by their numbers. */
	CHECK(strncmp(find(SECCOMP_FRONT, "ioctl")->action, "allow if TIOCS", 14) == 0);
	CHECK(!seccomp_denies(SECCOMP_FRONT, "recvmsg"));
}

/* The store has files, and descriptors that were given to it; it starts nothing and reaches nobody. */
static void the_store_has_files(void)
{
	static const char *const calls[] = { "execve", "execveat", "clone",   "clone3",        "fork",    "vfork",
					     "socket", "connect",  "bind",    "kill",          "tgkill",  "ptrace",
					     "mount",  "setns",    "unshare", "ioctl",         "symlink", "symlinkat",
					     "setuid", "mknod",    "mknodat", "io_uring_setup" };

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		CHECK(find(SECCOMP_STORE, calls[i]) == NULL);
		CHECK(seccomp_denies(SECCOMP_STORE, calls[i]));
	}
	CHECK(!seccomp_denies(SECCOMP_STORE, "openat"));
	CHECK(!seccomp_denies(SECCOMP_STORE, "fdatasync"));
}

/* Egress has sockets of the internet, and opens, reaches and starts nothing else. */
static void egress_has_sockets(void)
{
	static const char *const calls[] = { "open",    "openat", "openat2",     "execve", "execveat", "clone",
					     "clone3",  "fork",   "vfork",       "bind",   "listen",   "kill",
					     "tgkill",  "ptrace", "unlink",      "mount",  "setns",    "ioctl",
					     "unshare", "setuid", "memfd_create" };

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		CHECK(find(SECCOMP_EGRESS, calls[i]) == NULL);
		CHECK(seccomp_denies(SECCOMP_EGRESS, calls[i]));
	}
	CHECK(strncmp(find(SECCOMP_EGRESS, "socket")->action, "allow if TCP", 12) == 0);
	CHECK(!seccomp_denies(SECCOMP_EGRESS, "connect"));
}

/* The interceptor has the sockets that it is handed, and makes and reaches nothing. */
static void the_interceptor_makes_nothing(void)
{
	static const char *const calls[] = {
		"open",    "openat",  "openat2", "execve",  "execveat", "clone",        "clone3",
		"fork",    "vfork",   "socket",  "connect", "bind",     "listen",       "accept4",
		"sendmsg", "kill",    "tgkill",  "ptrace",  "unlink",   "mount",        "setns",
		"ioctl",   "unshare", "setuid",  "pipe2",   "splice",   "memfd_create", "process_vm_readv"
	};

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		CHECK(find(SECCOMP_INTERCEPT, calls[i]) == NULL);
		CHECK(seccomp_denies(SECCOMP_INTERCEPT, calls[i]));
	}
	CHECK(!seccomp_denies(SECCOMP_INTERCEPT, "recvmsg"));
}

static void the_table_ends(void)
{
	CHECK(seccomp_rule_at(SECCOMP_BOX, 100000) == NULL);
	CHECK(seccomp_rule_at(SECCOMP_ACCOUNTED, 1000) == NULL);
	CHECK(seccomp_rule_at(SECCOMP_BOX, 300) != NULL);
}

int main(void)
{
	RUN(every_rule_is_whole);
	RUN(every_call_is_decided_once);
	RUN(no_condition_is_given_twice);
	RUN(the_dangerous_are_denied);
	RUN(the_front_has_sockets_and_memory);
	RUN(the_store_has_files);
	RUN(egress_has_sockets);
	RUN(the_interceptor_makes_nothing);
	RUN(the_table_ends);
	return check_failures ? 1 : 0;
}
