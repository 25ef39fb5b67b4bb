/* api/openapi.yaml, as it was when the program was built. */
#pragma once

#include <stddef.h>

extern const unsigned char openapi_yaml_data[];
extern const size_t openapi_yaml_size;
