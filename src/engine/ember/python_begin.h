/*
 * How a Python program begins: a fork is made to look as if it had been started for its program.
 *
 * By CPython's C functions, not in Python: each Python function that runs touches some ten pages, which a fork has to
 * copy. What is rare is done by the driver.
 */
#pragma once

#include "engine/ember/ember.h"
#include "engine/ember/python_api.h"

#include <stdbool.h>

/* In the zygote, once. `driver` is the dictionary of the driver, `main` that of __main__. -1: something is missing. */
int python_begin_prepare(object *driver, object *main);
/* In the zygote, last: the streams of forks, which speak through pipes nearly always. */
int python_begin_streams(void);

/* First in a fork. -1: it would have the same random numbers as others. */
int python_begin_fork(void);
/* Does what precedes a program, for none. */
void python_begin_rehearse(void);
/* False: this program has to be run cold. */
bool python_begin(const struct ember_claim *claim);
/* In the zygote, when the streams are made: says where what they hold back is to be found. */
void python_begin_tell(void);
