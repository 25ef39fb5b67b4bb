/* What /proc says of a process, of which the box chooses the names: as each of the files, and line by line. */
#include "fuzz.h"

#include "engine/local/account_parse.h"

#include <sys/sysmacros.h>

static void account_lines_hold(char *text)
{
	struct account_shares shares = { .leave = makedev(0, 57), .counts = true };
	struct account_shares all = { .counts = true };

	for (char *line = text, *end; line; line = end ? end + 1 : NULL) {
		uint64_t before = shares.kib;

		end = strchr(line, '\n');
		if (end)
			*end = '\0';
		account_parse_smaps(line, &shares);
		account_parse_smaps(line, &all);
		MUST(account_parse_segment(line) == 0 || strpbrk(line, "0123456789"));
		/* Nothing but these lines adds anything, and to no mapping that does not count. */
		if (shares.kib != before)
			MUST(shares.counts && (strncmp(line, "Pss:", 4) == 0 || strncmp(line, "SwapPss:", 8) == 0));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text_of(data, size);
	const char *at = text;
	struct account_process process = { .pid = 7 };
	struct account_status status;

	account_parse_status(text, &status);
	MUST(status.memory || !strstr(text, "\nVmRSS:"));
	MUST(!status.blocked || strstr(text, "\nState:\tD"));
	if (account_parse_stat(text, &process))
		MUST(strrchr(text, ')') && process.pid == 7);
	if (account_parse_vfork(text))
		MUST(text[0] >= '0' && text[0] <= '9');
	account_parse_number(&at);
	MUST(at >= text && at <= text + size);
	account_lines_hold(text);
	free(text);
	return 0;
}
