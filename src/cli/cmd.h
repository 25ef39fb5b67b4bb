/* What the sub-commands share. The command line knows the library only by its public header. */
#pragma once

#include <emberbox.h>

#include <stddef.h>

enum {
	EXIT_USAGE = EB_BAD_REQUEST,
	EXIT_BROKEN = EB_FAILED
};

/* Each takes argv from its own name on and returns the exit code. */
int cmd_run(int argc, char **argv);
int cmd_repl(int argc, char **argv);
int cmd_session(int argc, char **argv);
int cmd_languages(int argc, char **argv);
int cmd_prepare(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_serve(int argc, char **argv);
int cmd_mcp(int argc, char **argv);
int cmd_history(int argc, char **argv);
int cmd_show(int argc, char **argv);
int cmd_stats(int argc, char **argv);
int cmd_audit(int argc, char **argv);
int cmd_config(int argc, char **argv);
int cmd_token(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_detect(int argc, char **argv);
int cmd_why(int argc, char **argv);

/* `emberbox: SENTENCE` on standard error. */
void cmd_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same and where the help is; returns EXIT_USAGE. */
int cmd_usage(const char *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same of a setting that is wrong wherever it stands: all of them are named by `emberbox config`. */
int cmd_misconfigured(const char *sentence);

/* An id is a time and then random letters: from so many letters on, its end tells it from others. */
enum {
	SHORT_ID_MIN = 4
};

/* A registry that cannot be read, where nothing of it is needed. */
#define CMD_REGISTRY_LEFT_OUT "%s; this command does without the registry"

/* Writes all of it, also to a descriptor that does not block. Returns 0, or -1 with errno. */
int cmd_write(int fd, const void *data, size_t size);

/* A whole text on standard output, without what could steer a terminal: returns `code`, or EXIT_BROKEN with a complaint
 * when it cannot be written. */
int cmd_print(const char *text, int code);
/* The same of one with our own colours, all of whose quotes went through text_line(). Both go through filter_text(). */
int cmd_print_painted(const char *text, int code);
/* Bytes that a program or a stranger wrote: as they are, but what could steer a terminal that they go to. */
int cmd_print_program(const char *data, size_t size);

/* By errno: complains unless the reader has left; returns the exit code. */
int cmd_print_failed(void);

/* Flushes stdio's standard output, for help texts: as cmd_print(). */
int cmd_flush(int code);
