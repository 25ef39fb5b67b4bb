/*
 * What the parts of `emberbox repl` share: cmd_repl.c reads the arguments and lines,
 * repl_cell.c runs cells in the session, repl_command.c has what begins with a
 * colon, repl_show.c prints.
 */
#pragma once

#include "client/private_service.h"
#include "client/session_link.h"
#include "cli/cmd.h"
#include "cli/repl_line.h"
#include "cli/repl_show.h"

struct repl {
	struct session_link link;   /* the session */
	char socket[PATH_MAX];      /* of the service that has it */
	struct private_service own; /* that service, if nobody else runs one */
	const char *language;       /* its name; a constant of the runtime's */
	const char *title;          /* the language as people call it */
	json_t *request;            /* what the session was asked for with; NULL: it was joined; owned */
	json_t *cells;              /* those run from here: {code, status}; owned */
	json_t *object;             /* the session as it was last told; owned */
	const char *project;        /* of --project, or NULL */
	struct repl_seen *seen;     /* the project's files as the session has them; owned */
	const char *timeout;        /* of --timeout, for each cell; NULL: the session's */
	bool keep;                  /* leave the session when we go */
	bool interactive;           /* a person types */
	unsigned next;              /* number of the next cell */
	int code;                   /* exit code of the last cell */
	bool over;                  /* nothing more is read */
	int wake[2];                /* what signals said, a letter each */
	struct buf pending;         /* lines of the cell that is being typed; owned */
	struct line_options line;   /* of the editor */
	struct line_editor *editor; /* or NULL */
	struct show show;           /* the terminal */
};

/* How a cell ended. */
enum repl_end {
	REPL_OK,     /* it did what it should */
	REPL_FAILED, /* it failed; the session is as it was */
	REPL_LOST,   /* what the session knew is gone; there is a new one */
	REPL_BROKEN, /* it was not run: the service said why */
};

/* Runs a cell and shows what it does. `status` gets the result's, if it is not NULL. */
enum repl_end repl_run(struct repl *repl, const char *code, char status[24]);
/* What a signal said since the last call: 'I' interrupt, 'W' the size changed, 'T' end; 0: nothing. */
char repl_woken(struct repl *repl);
/* Makes the session, or joins one (`id`). Returns 0, or an exit code. */
int repl_open(struct repl *repl, const char *id);
/* What Tab asks. */
line_complete_fn repl_complete;
/* A line that is a command: ":help", "?name", "name?". False: it is code. */
bool repl_command(struct repl *repl, const char *line);
/* Runs the cells of a file: 0, or an exit code if it cannot be read. */
int repl_load(struct repl *repl, const char *file);
/* Brings the project's files into a session that has just begun. */
void repl_project_begin(struct repl *repl);
/* Brings what changed on the host into the session. */
void repl_project_reload(struct repl *repl);
void repl_project_free(struct repl *repl);
