/*
 * Turns a file into a C source that holds its bytes.
 *
 *	embed FILE NAME OUTPUT
 *
 * gives `const unsigned char NAME_data[]` and `const size_t NAME_size`. The
 * bytes are taken in by the assembler (.incbin): a megabyte written out as an
 * array takes the compiler seconds, this takes none. OUTPUT names FILE by its
 * full path, so it belongs into a build directory.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int main(int argc, char **argv)
{
	char path[PATH_MAX];
	struct stat st;
	FILE *out;

	if (argc != 4) {
		fputs("usage: embed FILE NAME OUTPUT\n", stderr);
		return 2;
	}
	if (!realpath(argv[1], path) || stat(path, &st) < 0) {
		fprintf(stderr, "embed: %s: %s\n", argv[1], strerror(errno));
		return 1;
	}
	if (strpbrk(path, "\"\\\n")) {
		fprintf(stderr, "embed: %s: its path cannot be quoted for the assembler\n", path);
		return 1;
	}
	out = fopen(argv[3], "w");
	if (!out) {
		fprintf(stderr, "embed: %s: %s\n", argv[3], strerror(errno));
		return 1;
	}
	fprintf(out,
		"/* Made by tools/embed. */\n"
		"#include <stddef.h>\n\n"
		"__asm__(\".pushsection .rodata, \\\"a\\\"\\n\"\n"
		"\t\".balign 16\\n\"\n"
		"\t\".hidden %s_data\\n\"\n"
		"\t\".global %s_data\\n\"\n"
		"\t\".type %s_data, %%object\\n\"\n"
		"\t\"%s_data:\\n\"\n"
		"\t\".incbin \\\"%s\\\"\\n\"\n"
		"\t\".size %s_data, . - %s_data\\n\"\n"
		"\t\".popsection\\n\");\n\n"
		"extern const size_t %s_size;\n"
		"const size_t %s_size = %lld;\n",
		argv[2], argv[2], argv[2], argv[2], path, argv[2], argv[2], argv[2], argv[2], (long long)st.st_size);
	if (fclose(out) != 0) {
		fprintf(stderr, "embed: %s: %s\n", argv[3], strerror(errno));
		return 1;
	}
	return 0;
}
