/*
 * Perl tells where its output waits (notice.h).
 *
 * As a zygote it needs no glue: see script.h. Its streams are made when it is
 * started, of layers that each have a structure of their own; the address of
 * the topmost stands in a table for as long as Perl lives.
 */
#pragma once

/* Perl opens its program. Where the supervisor would not find its output, lines go out as they are printed. */
void perl_tell(void);
