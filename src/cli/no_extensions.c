/*
 * SQLite would load its extensions by dlopen(). The program is static and loads none: the C library's own would only
 * work with the very version of it that is installed where emberbox was built, and the linker warns of that each time.
 * So calls of dlopen() come here (--wrap in meson.build).
 */
#include <stddef.h>

void *__wrap_dlopen(const char *file, int flags);

void *__wrap_dlopen(const char *file, int flags)
{
	(void)file, (void)flags;
	return NULL;
}
