/* check_ours LANGUAGE ROUNDS FILE…: the whole look before a run, with a reader that is kept. */
#include "check_times.h"

#include "policy/policy.h"

#include <stdio.h>

static const struct runtime *runtime;

static bool look(const char *source, size_t size)
{
	_cleanup_report_ struct policy_report report = { 0 };
	struct error err = { 0 };

	return policy_check(runtime, source, size, NULL, &report, &err) == 0 && !report.unread;
}

int main(int argc, char **argv)
{
	int status;

	runtime = argc > 1 ? runtime_find(argv[1]) : NULL;
	if (!runtime) {
		fprintf(stderr, "usage: check_ours LANGUAGE ROUNDS FILE...\n");
		return 2;
	}
	status = check_times(argc - 1, argv + 1, look);
	policy_close();
	return status;
}
