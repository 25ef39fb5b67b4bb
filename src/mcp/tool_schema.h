/*
 * Validates a value against a schema: the subset of JSON Schema that our tools
 * use. Pure.
 *
 * type (one or several), enum, required, properties, additionalProperties,
 * items, minimum, maximum, exclusiveMinimum.
 */
#pragma once

#include "base/error.h"

#include <jansson.h>

/* Returns 0, or -1 with a sentence that names the field and the expected value. */
int schema_check(const json_t *schema, const json_t *value, struct error *err);
