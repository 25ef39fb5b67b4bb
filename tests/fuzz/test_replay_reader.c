/* The kept sources, parsed and walked again: apart from test_replay.c, because a grammar comes with it. */
/* tests/run: timeout=60 */
#include "../check.h"

#include <dirent.h>
#include <stdint.h>

#include "fuzz_reader.c"

static void reader(void)
{
	const char *const place = "tests/fuzz/corpus/reader";
	DIR *directory = opendir(place);
	int count = 0;

	CHECK(directory != NULL);
	for (struct dirent *entry; directory && (entry = readdir(directory)) != NULL;) {
		static uint8_t data[64 << 10];
		char path[512];
		size_t size;
		FILE *file;

		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", place, entry->d_name);
		file = fopen(path, "rb");
		CHECK(file != NULL);
		size = file ? fread(data, 1, sizeof(data), file) : 0;
		if (file)
			fclose(file);
		CHECK_INT(LLVMFuzzerTestOneInput(data, size), 0);
		count++;
	}
	if (directory)
		closedir(directory);
	CHECK(count > 0);
}

int main(void)
{
	RUN(reader);
	return check_failures != 0;
}
