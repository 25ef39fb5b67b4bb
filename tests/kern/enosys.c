/* enosys --no CALL,CALL… -- PROGRAM ARGUMENT…: runs a program as on a kernel without these calls. */
#include "enosys.h"

int main(int argc, char **argv)
{
	if (argc < 5 || strcmp(argv[1], "--no") != 0 || strcmp(argv[3], "--") != 0) {
		fprintf(stderr, "usage: enosys --no CALL,CALL… -- PROGRAM ARGUMENT…\n");
		return 2;
	}
	enosys_enter(argv[2]);
	execvp(argv[4], argv + 4);
	fprintf(stderr, "%s: %s\n", argv[4], strerror(errno));
	return 1;
}
