/*
 * OpenSSL would load modules and look up names by the C library. The interceptor does neither: its calls come here
 * (--wrap in src/meson.build). The library's own functions would need, at run time, the very version of it that the
 * program was linked with, and the linker warns of that each time.
 */
#include <netdb.h>
#include <stddef.h>

void *__wrap_dlopen(const char *file, int flags);
int __wrap_getaddrinfo(const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **found);
struct hostent *__wrap_gethostbyname(const char *name);

void *__wrap_dlopen(const char *file, int flags)
{
	(void)file, (void)flags;
	return NULL;
}

int __wrap_getaddrinfo(const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **found)
{
	(void)node, (void)service, (void)hints;
	*found = NULL;
	return EAI_NONAME;
}

struct hostent *__wrap_gethostbyname(const char *name)
{
	(void)name;
	return NULL;
}
