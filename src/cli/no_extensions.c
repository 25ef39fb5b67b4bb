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

/*
 * c-ares asks the C library for services by name, which would load its modules; here ports are numbers. Its functions
 * that do so are never called.
 */
struct servent;
struct servent *__wrap_getservbyname(const char *name, const char *protocol);
int __wrap_getservbyport_r(int port, const char *protocol, struct servent *entry, char *text, size_t size,
			   struct servent **found);

struct servent *__wrap_getservbyname(const char *name, const char *protocol)
{
	return NULL;
}

int __wrap_getservbyport_r(int port, const char *protocol, struct servent *entry, char *text, size_t size,
			   struct servent **found)
{
	*found = NULL;
	return 0;
}
