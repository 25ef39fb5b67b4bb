/* Tables made by tools/runtime_gen are what a folder says: tests/unit/languages, whose tables this program has instead
 * of the built-in ones, read once more. */
#include "../check.h"
#include "runtime_same.h"

#include "base/own.h"
#include "language/builtin.h"
#include "language/folder.h"

#include <fcntl.h>

static void read_folder(const char *name, struct arena *arena, struct runtime *out)
{
	_cleanup_close_ int dir = -1;
	struct error err = { 0 };
	char path[128];

	snprintf(path, sizeof(path), "tests/unit/languages/%s", name);
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0 || folder_read(dir, name, path, false, arena, out, &err) < 0)
		check_fail("cannot read %s from the top of the repository: %s", path, err.text);
}

static void same(void)
{
	_cleanup_arena_ struct arena arena = { 0 };
	struct runtime plain = { 0 }, rich = { 0 };

	read_folder("plain", &arena, &plain);
	read_folder("rich", &arena, &rich);
	if (check_failed)
		return;
	CHECK_INT(runtime_builtin_count, 2);
	same_runtime(&runtime_builtin[0], &plain);
	same_runtime(&runtime_builtin[1], &rich);
}

/* What the comparison above compares with is itself right. */
static void drivers(void)
{
	const struct runtime *rich = &runtime_builtin[1];
	const unsigned char *bytes;

	CHECK_STR(rich->display, "Rich \"1\" \\ ?\?/ \x01"
				 "7 ü");
	CHECK_STR(rich->notes, "ends with a backslash \\");
	CHECK_STR(rich->compile.step.argv[3], "a\nb\n");
	CHECK_INT(rich->driver_count, 2);
	CHECK_STR(rich->drivers[0].name, "bytes.bin");
	CHECK_STR(rich->drivers[1].name, "empty");
	CHECK_INT(rich->drivers[1].size, 0);
	CHECK_INT(rich->drivers[0].size, 7 + 256 + 9 + 256 + 1);
	bytes = rich->drivers[0].data;
	CHECK(memcmp(bytes, "?\?/?\"\\", 7) == 0);
	for (int i = 0; i < 256; i++) {
		CHECK_INT(bytes[7 + i], i);
		CHECK_INT(bytes[7 + 256 + 9 + i], 255 - i);
	}
}

int main(void)
{
	RUN(same);
	RUN(drivers);
	return check_failures != 0;
}
