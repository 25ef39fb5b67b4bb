/*
 * `--no CALL,CALL…`: a kernel without these calls.
 *
 * One seccomp filter answers them with ENOSYS, as an older kernel or a
 * container's filter does, so that the fallbacks run. It stays for the whole
 * process and its children.
 */
#pragma once

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ENOSYS_MAX 16

static const struct {
	const char *name; /* as in the list */
	long number;      /* of this architecture */
} enosys_calls[] = {
	{ "clone3", SYS_clone3 },
	{ "close_range", SYS_close_range },
	{ "fsopen", SYS_fsopen },
	{ "landlock_create_ruleset", SYS_landlock_create_ruleset },
	{ "mount_setattr", SYS_mount_setattr },
	{ "move_mount", SYS_move_mount },
	{ "open_tree", SYS_open_tree },
	{ "openat2", SYS_openat2 },
	{ "seccomp", SYS_seccomp },
	{ "unshare", SYS_unshare },
};

static char enosys_list[256]; /* as given, with a comma at both ends */

/* Whether the list given has this call. */
static inline bool enosys_has(const char *name)
{
	char text[64];

	snprintf(text, sizeof(text), ",%s,", name);
	return strstr(enosys_list, text) != NULL;
}

/* 0, or -1 with errno; EINVAL for a name that is not in the table. */
static inline int enosys_install(const char *list)
{
	struct sock_filter filter[2 * ENOSYS_MAX + 2] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	};
	struct sock_fprog program = { .len = 1, .filter = filter };
	size_t wanted = 1;

	snprintf(enosys_list, sizeof(enosys_list), ",%s,", list);
	for (const char *c = list; *c; c++)
		wanted += *c == ',';
	for (size_t i = 0; i < sizeof(enosys_calls) / sizeof(enosys_calls[0]); i++) {
		if (!enosys_has(enosys_calls[i].name))
			continue;
		wanted--;
		filter[program.len++] =
			(struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)enosys_calls[i].number, 0, 1);
		filter[program.len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS);
	}
	filter[program.len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	if (wanted != 0) {
		errno = EINVAL;
		return -1;
	}
	/* Refused before anything is loaded (EACCES) without CAP_SYS_ADMIN: then no_new_privs is the price. */
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0)
		return 0;
	if (errno != EACCES || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return -1;
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}

/* Takes `--no LIST` from the end of the arguments; NULL when it is not there. Install it after as_enter(). */
static inline const char *enosys_argument(int *argc, char **argv)
{
	const char *list;

	if (*argc < 3 || strcmp(argv[*argc - 2], "--no") != 0)
		return NULL;
	list = argv[*argc - 1];
	*argc -= 2;
	argv[*argc] = NULL;
	return list;
}

static inline void enosys_enter(const char *list)
{
	if (list && enosys_install(list) != 0) {
		fprintf(stderr, "--no %s: %s\n", list, strerror(errno));
		exit(1);
	}
}
