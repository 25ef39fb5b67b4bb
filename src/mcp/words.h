/*
 * What the service says, in words for a model: what to do next by the tools that
 * it has, and lists as lines, which cost a third of the same as JSON. Pure.
 */
#pragma once

#include "base/buf.h"

#include <jansson.h>

/* The sentence of a refusal, {message, retry_after?}, with paths of HTTP and fields of requests put as tools and
 * arguments. */
void words_refusal(const json_t *error, struct buf *out);
/* What would help after a limit or the policy ended a run; nothing where the error has a suggestion. */
void words_remedy(const json_t *result, struct buf *out);
/* A report of check_code, within so many bytes. */
void words_check(const json_t *report, size_t most, struct buf *out);
/* Profiles and running containers. */
void words_containers(const json_t *profiles, const json_t *running, struct buf *out);
