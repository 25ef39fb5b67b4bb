#include "kern/seccomp.h"

#include "base/own.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Made by tools/seccomp_gen.c: seccomp_filter_box and seccomp_filter_accounted. */
#include "seccomp_filter.inc"

/* The conditions are the generator's; here is what a person reads. */
#define RULE(profile, name, act, why)            { .syscall = #name, .action = #act, .reason = why },
#define WHEN(profile, name, act, text, why, ...) { .syscall = #name, .action = #act " " text, .reason = why },
#define ELSE(profile, name, act, why)            { .syscall = #name, .action = #act " otherwise", .reason = why },

static const struct seccomp_rule rules[] = {
#include "kern/seccomp_rules.def"
};
#undef RULE
#undef WHEN
#undef ELSE

#define RULE(profile, ...) SECCOMP_##profile,
#define WHEN(profile, ...) SECCOMP_##profile,
#define ELSE(profile, ...) SECCOMP_##profile,

static const unsigned char rule_profiles[] = {
#include "kern/seccomp_rules.def"
};
#undef RULE
#undef WHEN
#undef ELSE

int seccomp_install(enum seccomp_profile profile)
{
	struct sock_fprog program;

	switch (profile) {
	case SECCOMP_BOX:
		program.len = ARRAY_SIZE(seccomp_filter_box);
		program.filter = (struct sock_filter *)seccomp_filter_box;
		break;
	case SECCOMP_ACCOUNTED:
		program.len = ARRAY_SIZE(seccomp_filter_accounted);
		program.filter = (struct sock_filter *)seccomp_filter_accounted;
		break;
	default:
		errno = EINVAL;
		return -1;
	}
	/* No TSYNC: there is one thread. No SPEC_ALLOW: speculation stays as the kernel mitigates it. */
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0 ? 0 : -1;
}

int seccomp_mode(void)
{
	return prctl(PR_GET_SECCOMP, 0, 0, 0, 0);
}

const struct seccomp_rule *seccomp_rule_at(enum seccomp_profile profile, size_t index)
{
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		if (rule_profiles[i] == profile && index-- == 0)
			return &rules[i];
	}
	return NULL;
}
