/*
 * Ownership at the declaration.
 *
 *	_cleanup_close_ int fd = -1;
 *	_cleanup_free_ char *text = NULL;
 *
 * The end of the scope releases the resource; take_fd() and take_ptr() pass it
 * on.
 */
#pragma once

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define _cleanup_(f) __attribute__((cleanup(f)))

/* Closes *fd unless it is negative. Keeps errno, because it runs on error paths. */
void close_fd(int *fd);

static inline void own_free(void *p)
{
	free(*(void **)p);
}

static inline void own_fclose(FILE **f)
{
	if (*f)
		fclose(*f);
}

static inline void own_closedir(DIR **d)
{
	if (*d)
		closedir(*d);
}

static inline int take_fd(int *fd)
{
	int taken = *fd;

	*fd = -1;
	return taken;
}

#define take_ptr(p)                                                                                                    \
	({                                                                                                             \
		typeof(p) taken_ = p;                                                                                  \
		p = NULL;                                                                                              \
		taken_;                                                                                                \
	})

#define _cleanup_close_    _cleanup_(close_fd)
#define _cleanup_free_     _cleanup_(own_free)
#define _cleanup_fclose_   _cleanup_(own_fclose)
#define _cleanup_closedir_ _cleanup_(own_closedir)

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
