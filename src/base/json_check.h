/* Whether a text is JSON, without making anything of it: for texts of strangers that are passed on as they stand. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* One object that is not empty, with nothing but blanks around it; valid UTF-8, escapes that stand for characters, and
 * at most `depth` levels of objects and lists. It costs no memory, and time by its length. */
bool json_is_object_text(const char *text, size_t size, int depth);
