/* One session, as the parts of live/session.h share it. */
#pragma once

#include "live/driver_wire.h"
#include "live/place.h"
#include "live/session.h"

struct slots;

/* A cell that was, for who wants to replay it. */
struct cell_record {
	uint64_t count;     /* its number */
	char *code;         /* its text; owned */
	size_t size;        /* of it */
	enum status status; /* what came of it */
	int exit_code;      /* the same */
	uint64_t usec;      /* how long it took */
	struct timeval at;  /* when it began */
};

struct session {
	struct place place; /* first: its box, and who may see it */
	const char *name;   /* what its owner calls it, or "" */
	struct spec spec;   /* what it was made from: for a restart */

	/* Settled when it is ready. */
	char driver[64];  /* what its driver calls itself */
	bool completes;   /* it knows what could stand at a cursor… */
	bool inspects;    /* …and what does */
	bool hears;       /* it is told whose cell a signal is meant for */
	pid_t driver_pid; /* of its process, as we see it: the leader of the group that is interrupted */
	int driver_pidfd; /* the same */
	int input_fd; /* the reading end of its stdin's pipe, to empty it and to open the other end again; -1: no cell
		       * has had its input so */
	int channel;  /* to the driver; does not wait */
	int interrupt_fd; /* eventfd: the cell that runs is to be interrupted; -1: none runs */

	/* Of whoever has the turn. */
	struct driver_reader reader; /* of the channel */

	/* Under place.home.lock. */
	bool busy;                   /* a cell runs */
	uint64_t cells;              /* begun */
	struct timeval used;         /* when the last one was begun or ended */
	struct cell_record *records; /* of SESSION_CELLS_MAX; NULL: none yet */
	uint64_t first;              /* the oldest that is remembered, counted from 0 */
	uint64_t recorded;           /* how many were */
	size_t record_bytes;         /* of their code */
};

/* Of one that is on the list. Makes the box, and returns when its driver is ready. After -1 it has ended, or never
 * began. */
int session_launch(struct session *session, const struct engines *engines, struct error *err);
/* As of struct place_kind. */
void session_shrink(struct place *place);
void session_free(struct place *place);
/* Interrupts what the driver runs: a signal to its process group. */
void session_signal(struct session *session);
/* An error for one that has ended. */
int session_refuse_ended(struct place *place, struct error *err);

/* Adds a line for each picture among the files that a cell left in `dir`, but for those that are in `rich` already. */
void session_offer_pictures(int dir, const struct file_list *files, struct buf *rich);

/* As sessions_terminal(), with one of the terminals that may be open. */
int session_terminal(struct session *session, struct slots *terminals, unsigned rows, unsigned columns, int *master,
		     struct error *err);
/* The list. */
struct places *sessions_places(struct sessions *sessions);
/* For who sees it and may not run cells in it: whose it is becomes the error, if there is one of that id. */
void sessions_tell_owner(struct sessions *sessions, const char *id, struct error *err);
/* As sessions_ask(). */
int session_ask(struct session *session, bool inspect, const char *code, size_t size, size_t cursor, char **json,
		struct error *err);

/* What was said, and what came of it; session_cell.c */
enum talk_end {
	TALK_DONE,   /* the driver said so */
	TALK_FORGED, /* what came by the channel was not the driver's */
	TALK_BROKEN, /* there is nobody to talk to */
	TALK_STUCK,  /* it did not answer the interrupt in time */
	TALK_FAILED, /* we failed: the error says at what */
};

struct talk {
	struct session *session;     /* whose driver */
	const struct engine_io *io;  /* the caller's side; NULL: nobody */
	const struct limits *limits; /* of the cell */
	struct result *result;       /* gets outputs and errors; NULL: a question */
	struct buf out;              /* to be said… */
	size_t out_used;             /* …of it, what was */
	char secret[DRIVER_SECRET];  /* of this */
	struct buf reply;            /* the answer to a question */
	struct buf rich;             /* rich results, a line each */
	struct buf error;            /* what the cell failed by, as the driver told */
	size_t heard;                /* bytes of payloads so far */
	bool ok;                     /* as `done` says */
	int exit_code;               /* the same */
	bool again;                  /* it was interrupted a second time */
	bool to_signal;              /* it is to be, once all was said */
	bool interrupted;            /* it was, and… */
	enum status status;          /* …that is why, if it is a limit or a wish; STATUS_FAILED: an interrupt alone */
	const char *limit;           /* the limit's name */
	bool cancelled;              /* by the caller */
	uint64_t sent_usec;          /* when it began */
	uint64_t due_usec;           /* when it has to be over, or to have answered an interrupt */
	uint64_t cpu_look_usec;      /* when the CPU limit is looked at next; 0: never */
	struct engine_usage before;  /* what the box had used then */
	bool source_open;            /* io->stdin_fd has more */
	char *pending;               /* of it, on its way; BLOCK bytes, or NULL */
	size_t pending_at;           /* the next byte… */
	size_t pending_size;         /* …and their end */
	struct error err;            /* TALK_FAILED */
};

/* With the turn, and `out` made: until the driver's last word, or the end. */
enum talk_end talk_run(struct talk *talk);
void talk_free(struct talk *talk);

/* What the driver told of a cell's error; what is none is as if it had told nothing. */
void session_take_error(struct result *result, const struct buf *error);
