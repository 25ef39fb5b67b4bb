/* In an interpreter: tells the supervisor where its output waits, see notice.h. */
#pragma once

#include <stdbool.h>

/* Of sys.stdout as it is now. -1: this CPython keeps it in another way, and its output must not wait. */
int notice_put_python(void);
/* There is nothing to be found any more. */
void notice_withdraw(void);
/* Whether output may wait in this run. */
bool notice_is_plain(void);
