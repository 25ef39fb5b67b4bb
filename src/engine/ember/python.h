/* CPython as a zygote: what happens when it opens its program. */
#pragma once

/*
 * Called by the hook when CPython is about to open the program of its command line: it is up, holds its lock, and runs
 * no Python code. `driver` is the path of the text runtimes/python/ember.py. Returns -1 with nothing changed that a
 * program could see when this interpreter lacks something that is needed; the caller then opens the program, and the
 * process is a cold one. Otherwise it does not return: the zygote stays in ember_wait(), and a fork ends as CPython
 * would end.
 */
int python_point(const char *path, const char *driver);

/* The same in a process that is no zygote: only says where its output waits. */
void python_tell(void);
