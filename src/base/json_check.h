/* Whether a text is JSON, without making anything of it: for texts of strangers that are passed on as they stand. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* One object that is not empty, with nothing but blanks around it; valid UTF-8, escapes that stand for characters, and
 * at most `depth` levels of objects and lists. It costs no memory, and time by its length. */
bool json_is_object_text(const char *text, size_t size, int depth);

/* Whether the bytes can stand in a JSON string, escaped: valid UTF-8 without a NUL, which many readers refuse. */
bool json_is_plain_text(const char *text, size_t size);
/* The value of an object's member, as it stands there. False: no such member, or not the text of an object as far as
 * it was read. */
bool json_member(const char *text, size_t size, const char *key, const char **value, size_t *value_size);
/* A string's characters, unescaped and cut to what fits whole, terminated. False: it is no string. */
bool json_string_copy(const char *value, size_t value_size, char *out, size_t out_size);
/* Whether it has at most so many values to be made a tree of, valid or not: a small text could mean a great many, each
 * of which costs a hundred bytes. */
bool json_has_few_values(const char *text, size_t size, size_t most);
/* The member, "limits.cpus" of one within another, that the byte at `position` is in, whether or not the text is JSON;
 * false: it is in none, or its name is not plain or does not fit. */
bool json_place(const char *text, size_t position, char *out, size_t out_size);
