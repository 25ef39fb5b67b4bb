/*
 * Finds the system call that the box refused in the program's own words. Without a listener at the filter
 * (kernel/refusals.h), as in sessions and before Linux 5.19, there is no other source.
 */
#include "explain/explain_parts.h"

#include "base/own.h"

#include <string.h>

/* Names of calls that many languages print. A test compares the list with the rules. */
static const char *const calls[] = {
	"acct",
	"add_key",
	"adjtimex",
	"bpf",
	"chroot",
	"clock_settime",
	"delete_module",
	"fanotify_init",
	"finit_module",
	"init_module",
	"io_uring_setup",
	"ioperm",
	"iopl",
	"kcmp",
	"kexec_load",
	"keyctl",
	"mount",
	"move_mount",
	"open_by_handle_at",
	"perf_event_open",
	"pivot_root",
	"process_vm_readv",
	"process_vm_writev",
	"ptrace",
	"quotactl",
	"reboot",
	"request_key",
	"setdomainname",
	"sethostname",
	"setns",
	"settimeofday",
	"swapoff",
	"swapon",
	"syncfs",
	"syslog",
	"umount",
	"umount2",
	"unshare",
	"userfaultfd",
	"vhangup",
	NULL,
};

const char *const *explain_calls(void)
{
	return calls;
}

static bool has_word(const char *text, const char *word)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
	size_t size = strlen(word);

	for (const char *at = text; (at = strstr(at, word)) != NULL; at++)
		if ((at == text || !strchr(letters, at[-1])) && (!at[size] || !strchr(letters, at[size])))
			return true;
	return false;
}

void refused_find(const char *text, char *out, size_t size)
{
	for (size_t i = 0; calls[i] && !out[0]; i++)
		if (has_word(text, calls[i]) && strlen(calls[i]) < size)
			strcpy(out, calls[i]);
}
