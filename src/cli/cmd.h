/* Shared by the sub-commands. The command line uses only the library's public header. */
#pragma once

#include <emberbox.h>

#include <stddef.h>

enum {
	EXIT_USAGE = EB_BAD_REQUEST,
	EXIT_BROKEN = EB_FAILED
};

/* Each takes argv from its own name on, and returns the exit code. */
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

/* cmd_complain() and a hint at --help; returns EXIT_USAGE. */
int cmd_usage(const char *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* cmd_usage() for an invalid setting in any source: the hint names `emberbox config`. */
int cmd_misconfigured(const char *sentence);

/* An id is a time and then random letters: this many letters at its end identify it. */
enum {
	SHORT_ID_MIN = 4
};

/* Reports an invalid registry to a command that does not need it. */
#define CMD_REGISTRY_LEFT_OUT "%s; this command continues without the registry"

/* Writes all data, also to a non-blocking descriptor. Returns 0, or -1 with errno. */
int cmd_write(int fd, const void *data, size_t size);

/* Writes a text to standard output, without sequences that control a terminal. Returns `code`, or EXIT_BROKEN with an
 * error message if the write failed. */
int cmd_print(const char *text, int code);
/* cmd_print() for a text with our own colours whose quotes went through text_line(). Both use filter_text(). */
int cmd_print_painted(const char *text, int code);
/* Writes bytes from a program or another untrusted source: unchanged, but filtered if they go to a terminal. */
int cmd_print_program(const char *data, size_t size);

/* Reports errno unless the reader has closed the pipe; returns the exit code. */
int cmd_print_failed(void);

/* Flushes stdio's standard output after help texts. Returns as cmd_print(). */
int cmd_flush(int code);
