#include "engine/local/witness.h"

#include "base/fd.h"
#include "base/own.h"
#include "engine/local/account_parse.h"
#include "kernel/cgroup.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>

enum {
	PROCESSES = 256 /* that are looked at */
};

/* The name is the program's own choice: told, never used. */
static void consider(int proc, const char *pid, struct witness *witness)
{
	char path[32], text[4096];
	uint64_t memory;

	snprintf(path, sizeof(path), "%.20s/status", pid);
	if (fd_slurp(proc, path, text, sizeof(text)) <= 0 || strncmp(text, "Name:\t", 6) != 0)
		return;
	memory = account_parse_line(text, "VmHWM") << 10;
	if (witness->biggest[0] && memory <= witness->biggest_memory)
		return;
	witness->biggest_memory = memory;
	snprintf(witness->biggest, sizeof(witness->biggest), "%.*s", (int)strcspn(text + 6, "\n"), text + 6);
}

void witness_biggest(const struct box *box, struct witness *witness)
{
	_Alignas(struct dirent64) char block[4096];
	int proc = box->handles[REPORT_FD_PROC], looked = 0;
	ssize_t n;

	if (proc < 0 || lseek(proc, 0, SEEK_SET) < 0)
		return;
	while ((n = getdents64(proc, block, sizeof(block))) > 0) {
		for (ssize_t at = 0; at < n;) {
			const struct dirent64 *entry = (const void *)(block + at);

			at += entry->d_reclen;
			/* The first is ours. */
			if (entry->d_name[0] < '1' || entry->d_name[0] > '9' || strcmp(entry->d_name, "1") == 0)
				continue;
			if (looked++ == PROCESSES)
				return;
			consider(proc, entry->d_name, witness);
		}
	}
}

void witness_ask(struct box *box)
{
	if (box->ask_refused)
		box->ask_refused(box);
}

void witness_limits(const struct box *box, struct witness *witness)
{
	struct statvfs disk;

	if (box->refused.count > 0)
		witness->refused = seccomp_call_name(box->refused.call);
	if (box->group && cgroup_forks_refused(box->group, &witness->forks_refused) < 0)
		witness->forks_refused = 0;
	if (box->handles[REPORT_FD_WORK] < 0 || fstatvfs(box->handles[REPORT_FD_WORK], &disk) < 0)
		return;
	witness->disk_full = disk.f_blocks > 0 && disk.f_bfree == 0;
	witness->inodes_full = disk.f_files > 0 && disk.f_ffree == 0;
}
