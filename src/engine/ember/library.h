/* The library that makes an interpreter a zygote, as bytes: the program brings it along (tools/embed.c). */
#pragma once

#include <stddef.h>

#define EMBER_LIBRARY "libember.so"

extern const unsigned char ember_library_data[];
extern const size_t ember_library_size;
