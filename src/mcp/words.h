/*
 * Answers of the service in words for a model: remedies that use its tools, and
 * lists as lines, which take a third of the tokens of JSON. Pure.
 */
#pragma once

#include "base/buf.h"

#include <jansson.h>

/* The sentence of an error {message, retry_after?}, with HTTP paths and fields replaced by tools and arguments. */
void words_refusal(const json_t *error, struct buf *out);
/* A remedy after a limit or the policy ended a run; nothing if the error has a suggestion. */
void words_remedy(const json_t *result, struct buf *out);
/* A report of check_code, within a number of bytes. */
void words_check(const json_t *report, size_t most, struct buf *out);
/* Profiles and running containers. */
void words_containers(const json_t *profiles, const json_t *running, struct buf *out);
