/*
 * SQLite would load extensions with dlopen(). The static program loads none: glibc's dlopen() in a static program
 * requires the glibc version of the build, and the linker warns about it. So the linker redirects calls of dlopen()
 * here (--wrap in meson.build).
 */
#include <stddef.h>

void *__wrap_dlopen(const char *file, int flags);

void *__wrap_dlopen(const char *file, int flags)
{
	(void)file, (void)flags;
	return NULL;
}

/*
 * c-ares can look services up by name in the C library, which would load its modules. Here ports are numbers, so these
 * functions are never called.
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
