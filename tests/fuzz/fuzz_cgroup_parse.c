/* The kernel's texts about control groups: whole files, line by line, and each line as any of the others. */
#include "fuzz.h"

#include "kernel/cgroup.h"
#include "kernel/cgroup_parse.h"

#define CGROUP_ALL (CGROUP_BIT(CGROUP_CONTROLLERS) - 1)

static void cgroup_line_holds(const char *line, size_t length)
{
	static struct cgroup_mount mount; /* too large for the stack of a fuzzer */
	static struct cgroup_member member;
	uint64_t quota = 0, period = 0;

	if (cgroup_parse_mount(line, length, &mount)) {
		MUST(memchr(mount.root, '\0', sizeof(mount.root)) && memchr(mount.point, '\0', sizeof(mount.point)));
		MUST((mount.controllers & ~CGROUP_ALL) == 0);
	}
	if (cgroup_parse_member(line, length, &member)) {
		const char *below;

		MUST(memchr(member.path, '\0', sizeof(member.path)));
		MUST((member.controllers & ~CGROUP_ALL) == 0);
		below = cgroup_path_below(mount.root, member.path);
		MUST(!below || *below == '\0' || *below == '/');
	}
	MUST((cgroup_parse_controllers(line, length) & ~CGROUP_ALL) == 0);
	cgroup_parse_number(line, length, &quota);
	cgroup_parse_cpu_max(line, length, &quota, &period);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* Exactly as long as it is: no terminator is needed. */
	char *copy = malloc(size + !size);
	const char *text = copy, *line;
	size_t length = size, line_length, taken = 0;
	uint64_t value;

	MUST(copy);
	if (size > 0)
		memcpy(copy, data, size);
	while (cgroup_next_line(&text, &length, &line, &line_length)) {
		MUST(line >= copy && line + line_length <= copy + size);
		MUST(!memchr(line, '\n', line_length));
		taken += line_length;
		cgroup_line_holds(line, line_length);
	}
	MUST(taken <= size);
	cgroup_line_holds(copy, size);
	cgroup_parse_field(copy, size, "oom_kill", &value);
	cgroup_parse_field(copy, size, "usage_usec", &value);
	free(copy);
	return 0;
}
