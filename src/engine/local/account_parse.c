#include "engine/local/account_parse.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

uint64_t account_parse_number(const char **at)
{
	uint64_t value = 0;

	while (**at == ' ' || **at == '\t')
		(*at)++;
	while (**at >= '0' && **at <= '9')
		value = value * 10 + (uint64_t)(*(*at)++ - '0');
	return value;
}

uint64_t account_parse_line(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	if (!at)
		return 0;
	at += strlen(key);
	return account_parse_number(&at);
}

/* The kernel escapes newlines in the name on the first line, so a line's beginning is the kernel's own. */
void account_parse_status(const char *text, struct account_status *out)
{
	*out = (struct account_status){
		.memory = strstr(text, "\nVmRSS:"),
		.blocked = strstr(text, "\nState:\tD"),
		.parent = account_parse_line(text, "\nPPid:"),
		.threads = account_parse_line(text, "\nThreads:"),
		.size = account_parse_line(text, "\nVmSize:"),
		.resident = account_parse_line(text, "\nVmRSS:") + account_parse_line(text, "\nVmSwap:"),
		.tables = account_parse_line(text, "\nVmPTE:"),
		.huge = account_parse_line(text, "\nHugetlbPages:"),
	};
}

/*
 * PID (NAME) STATE …: utime to cstime are fields 14 to 17, the start 22. The
 * name may hold anything, so the last parenthesis counts.
 */
bool account_parse_stat(const char *text, struct account_process *out)
{
	uint64_t field[23] = { 0 };
	const char *at = strrchr(text, ')');

	for (int i = 3; i <= 22; i++) {
		at = at ? strchr(at, ' ') : NULL;
		if (!at)
			return false;
		at++;
		if (i >= 14)
			field[i] = account_parse_number(&at);
	}
	out->start = field[22];
	out->waited = field[16] + field[17];
	out->ticks = field[14] + field[15] + out->waited;
	return true;
}

/* Whether a mapping, by its line "START-END PERM OFFSET MAJ:MIN INODE NAME", is not a file of that device. */
static bool mapping_counts(const char *line, dev_t leave)
{
	unsigned major_of, minor_of;

	/* The name comes last and is the box's to choose; nothing of it is looked at. */
	return sscanf(line, "%*x-%*x %*4s %*x %x:%x", &major_of, &minor_of) != 2 ||
	       makedev(major_of, minor_of) != leave;
}

void account_parse_smaps(const char *line, struct account_shares *shares)
{
	const char *number = NULL;

	if (strncmp(line, "Pss:", 4) == 0)
		number = line + 4;
	else if (strncmp(line, "SwapPss:", 8) == 0)
		number = line + 8;
	else if ((line[0] >= '0' && line[0] <= '9') || (line[0] >= 'a' && line[0] <= 'f'))
		shares->counts = mapping_counts(line, shares->leave);
	if (number && shares->counts)
		shares->kib += account_parse_number(&number);
}

/* "NUMBER 0xARGUMENT …" of a task that sleeps in a call, "running", or "-1 …" of one that sleeps elsewhere. */
bool account_parse_vfork(const char *text)
{
	const char *at = text;
	uint64_t flags;

	if (*at < '0' || *at > '9')
		return false;
	uint64_t call = account_parse_number(&at);
#ifdef SYS_vfork
	if (call == SYS_vfork)
		return *at == ' ';
#endif
	if (call != SYS_clone || strncmp(at, " 0x", 3) != 0)
		return false;
	flags = strtoull(at + 1, NULL, 16);
	return (flags & CLONE_VFORK) && (flags & CLONE_VM);
}

uint64_t account_parse_segment(const char *line)
{
	enum {
		FIELD_RSS = 14, /* key shmid perms size cpid lpid nattch uid gid cuid cgid atime dtime ctime rss swap */
		SEGMENT_COST = 2048, /* a file, an inode and the segment itself */
	};
	const char *at = line + strspn(line, " -");
	uint64_t sum = SEGMENT_COST;

	/* The key is the box's to choose, and may be negative. */
	if (*at < '0' || *at > '9')
		return 0;
	for (int field = 0; field < FIELD_RSS; field++) {
		at += strcspn(at, " ");
		at += strspn(at, " ");
	}
	for (int i = 0; i < 2; i++)
		sum += account_parse_number(&at);
	return sum;
}
