/* What a program needs, from a file that may be anything: every name lies in the file, and the loader's path too. */
#include "fuzz.h"

#include "language/elf.h"

struct fuzz_elf {
	const uint8_t *data; /* the file */
	size_t size;         /* of it */
	size_t names;        /* seen */
};

static void fuzz_elf_name(const char *name, void *userdata)
{
	struct fuzz_elf *elf = userdata;

	MUST(name[0] != '\0');
	MUST(memmem(elf->data, elf->size, name, strlen(name) + 1));
	elf->names++;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_elf elf = { data, size, 0 };
	char loader[4096] = "untouched", small[8];
	int result = elf_read(data, size, loader, sizeof(loader), fuzz_elf_name, &elf);

	MUST(memchr(loader, '\0', sizeof(loader)));
	MUST(loader[0] == '\0' || (loader[0] == '/' && memmem(data, size, loader, strlen(loader) + 1)));
	if (result == 0)
		MUST(size >= 64 && memcmp(data, "\177ELF\2", 5) == 0);
	/* Without room for the loader's path it is not cut. */
	if (elf_read(data, size, small, sizeof(small), fuzz_elf_name, &elf) == 0)
		MUST(result == 0 && strcmp(small, loader) == 0);
	else
		MUST(result != 0 || strlen(loader) >= sizeof(small));
	return 0;
}
