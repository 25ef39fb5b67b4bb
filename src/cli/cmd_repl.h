/*
 * Shared by the parts of `emberbox repl`: cmd_repl.c reads arguments and lines, repl_cell.c runs cells, repl_command.c
 * has the commands that begin with a colon, repl_show.c prints.
 */
#pragma once

#include "client/private_service.h"
#include "client/session_link.h"
#include "cli/cmd.h"
#include "cli/repl_line.h"
#include "cli/repl_show.h"

struct repl {
	struct session_link link;   /* the session */
	char socket[PATH_MAX];      /* path of the service's socket */
	struct private_service own; /* a private service, if no other is running */
	const char *language;       /* name of the language; a constant of the runtime */
	const char *title;          /* display name of the language */
	json_t *request;            /* the request for the session; NULL: it was joined; owned */
	json_t *cells;              /* cells run from here: {code, status}; owned */
	json_t *object;             /* the service's last description of the session; owned */
	const char *project;        /* value of --project, or NULL */
	struct repl_seen *seen;     /* the project's files in the session; owned */
	const char *timeout;        /* value of --timeout, for each cell; NULL: the session's */
	bool keep;                  /* keep the session at the end */
	bool interactive;           /* a person types the cells */
	unsigned next;              /* number of the next cell */
	int code;                   /* exit code of the last cell */
	bool over;                  /* stop reading */
	int wake[2];                /* a pipe with a letter for each signal */
	struct buf pending;         /* lines of the incomplete cell; owned */
	struct line_options line;   /* options of the editor */
	struct line_editor *editor; /* or NULL */
	struct show show;           /* the terminal */
};

/* The outcome of a cell. */
enum repl_end {
	REPL_OK,     /* success */
	REPL_FAILED, /* the cell failed; the session's state is kept */
	REPL_LOST,   /* the session's state is lost; there is a new session */
	REPL_BROKEN, /* the cell did not run: the service refused it */
};

/* Runs a cell and shows its output. `status` receives the result's status, if not NULL. */
enum repl_end repl_run(struct repl *repl, const char *code, char status[24]);
/* Signals since the last call: 'I' interrupt, 'W' window size, 'T' terminate; 0: none. */
char repl_woken(struct repl *repl);
/* Creates the session, or joins the session `id`. Returns 0, or an exit code. */
int repl_open(struct repl *repl, const char *id);
/* Completion for Tab. */
line_complete_fn repl_complete;
/* Handles a command: ":help", "?name", "name?". False: the line is code. */
bool repl_command(struct repl *repl, const char *line);
/* Runs the cells of a file. Returns 0, or an exit code if it cannot be read. */
int repl_load(struct repl *repl, const char *file);
/* Copies the project's files into a new session. */
void repl_project_begin(struct repl *repl);
/* Copies the files that changed on the host into the session. */
void repl_project_reload(struct repl *repl);
void repl_project_free(struct repl *repl);
