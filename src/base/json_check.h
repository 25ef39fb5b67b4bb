/* Checks of JSON text without building a tree, for untrusted text that is passed on unchanged. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Whether the text is one non-empty object with at most blanks around it: valid UTF-8, escapes that stand for
 * characters, and at most `depth` levels of objects and lists. Allocates nothing; linear in the size. */
bool json_is_object_text(const char *text, size_t size, int depth);

/* Whether the bytes can be escaped into a JSON string: valid UTF-8 without a NUL, which many readers refuse. */
bool json_is_plain_text(const char *text, size_t size);
/* Finds the value of a member, as it is written. False: there is no such member, or the text is no object up to
 * there. */
bool json_member(const char *text, size_t size, const char *key, const char **value, size_t *value_size);
/* Copies a string, unescaped, truncated to whole characters that fit, and terminated. False: the value is no string. */
bool json_string_copy(const char *value, size_t value_size, char *out, size_t out_size);
/* Whether a tree of the text, valid or not, would have at most `most` values. Each value costs a hundred bytes, so a
 * small text could cost much memory. */
bool json_has_few_values(const char *text, size_t size, size_t most);
/* Names the member that contains the byte at `position`, as "limits.cpus" if it is in another object. The text need not
 * be valid JSON. False: no member contains it, or its name is not plain or does not fit. */
bool json_place(const char *text, size_t position, char *out, size_t out_size);
