/* In an interpreter: tells the supervisor where its output waits, see notice.h. */
#pragma once

#include "engine/ember/notice.h"

#include <stdbool.h>

/* Of sys.stdout as it is now. -1: this CPython keeps it in another way, and its output must not wait. */
int notice_put_python(void);
/* Of the C library's stdout. */
int notice_put_stdio(void);
/* Of whatever it says. */
int notice_put(const struct notice *notice);
/* There is nothing to be found any more. */
void notice_withdraw(void);
/* Whether output may wait in this run. */
bool notice_is_plain(void);
/* The environment of an interpreter that is executed and is to tell by itself: this library is in it. NULL: no memory.
 */
char **notice_environment(char **envp, const char *entry);
