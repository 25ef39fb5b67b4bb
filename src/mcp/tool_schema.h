/*
 * Whether a value is as a schema says: the part of JSON Schema that the tools'
 * descriptions use, which are ours. Pure.
 *
 * type (one or several), enum, required, properties, additionalProperties,
 * items, minimum, maximum, exclusiveMinimum.
 */
#pragma once

#include "base/error.h"

#include <jansson.h>

/* 0, or -1 with a sentence that names the field and what is expected. */
int schema_check(const json_t *schema, const json_t *value, struct error *err);
