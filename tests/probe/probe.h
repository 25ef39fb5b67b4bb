/*
 * The probe: a static program that is put into a box and tries what a box must
 * not allow. Each attempt has a name and prints one line, `NAME VALUE`, where
 * VALUE is `OK`, an errno's name, or what was found. It judges nothing: what is
 * expected stands in expect.def, and who reads the lines compares.
 */
#pragma once

#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>

struct probe {
	const char *name;             /* as typed: NAME or NAME=ARG */
	void (*run)(const char *arg); /* tries it and says what happened; arg is "" when none was given */
};

/* One table a section, ended by a NULL name. */
extern const struct probe file_probes[];
extern const struct probe info_probes[];
extern const struct probe process_probes[];
extern const struct probe resource_probes[];
extern const struct probe network_probes[];
extern const struct probe syscall_probes[];

/* Prints `LABEL text`, LABEL being the attempt as typed. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Says OK, or the name of errno when rc is negative. */
void say_rc(long rc);
/* An errno's name: "EPERM". */
const char *error_name(int error);
/* "64m" in bytes. */
uint64_t size_of(const char *text);
/* Says the first line of what a read of the file gives, for small proc files. */
void say_names(char **names, size_t count);
/* Blocks until standard input ends: how a test holds a box without a sleep. */
void hold(void);
