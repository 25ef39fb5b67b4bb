/*
 * All unit tests in one program: to link one for each file took longer than to compile them.
 *
 *	unit test_NAME [ARGUMENTS]     as if tests/unit/test_NAME.c were a program of its own
 *	unit                           lists the names
 *
 * Each file's main() is renamed by the build. A process runs one of them, so no test sees what another has left behind.
 */
#include <stdio.h>
#include <string.h>

#define X(name) int name##_main(int argc, char **argv);
UNIT_PROGRAMS
#undef X

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
} programs[] = {
#define X(name) { #name, name##_main },
	UNIT_PROGRAMS
#undef X
};

int main(int argc, char **argv)
{
	const size_t count = sizeof(programs) / sizeof(programs[0]);

	for (size_t i = 0; i < count; i++) {
		if (argc < 2)
			puts(programs[i].name);
		else if (strcmp(argv[1], programs[i].name) == 0)
			return programs[i].run(argc - 1, argv + 1);
	}
	if (argc < 2)
		return 0;
	fprintf(stderr, "unit: there is no %s; `unit` alone lists the names\n", argv[1]);
	return 2;
}
