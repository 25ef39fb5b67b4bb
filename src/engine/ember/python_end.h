/*
 * How a Python program ends.
 *
 * Py_FinalizeEx() destroys every object, which costs more than a small program's run. What a program can see of that
 * are finalizers. So the objects made since the freeze are looked at, and if none of them can do anything when it dies,
 * the process ends at once. If one can, if there are threads, or if the streams are not as they were, Py_FinalizeEx()
 * is called after all.
 */
#pragma once

#include "engine/ember/python_api.h"

#include <stdbool.h>

/* In the zygote, once. `driver` is the dictionary of the driver, which has is_quiet() in it. -1: something is missing.
 */
int python_end_prepare(object *driver);
/* Makes all objects that there are the zygote's. -1: CPython failed. */
int python_end_freeze(void);
/* Does what an end does and leaves nothing changed. */
void python_end_rehearse(void);

/* Before CPython may end the process by itself: nothing of ours may keep an object of the program's, or hide one. */
void python_end_let_go(void);
/* Ends the process as Py_RunMain() would; `interrupted`: by an exception that was KeyboardInterrupt. */
_Noreturn void python_end(int status, bool interrupted);
