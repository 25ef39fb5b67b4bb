/* The session as the files session*.c share it. */
#pragma once

#include "live/driver_wire.h"
#include "live/place.h"
#include "live/session.h"

struct slots;

/* A cell that has run, for callers that replay cells. */
struct cell_record {
	uint64_t count;     /* its number */
	char *code;         /* its text; owned */
	size_t size;        /* bytes of it */
	enum status status; /* of its result */
	int exit_code;      /* of its result */
	uint64_t usec;      /* how long it took */
	struct timeval at;  /* when it began */
};

struct session {
	struct place place;         /* first: its box, its id, its owner */
	const char *name;           /* the name that its owner gave it, or "" */
	struct spec spec;           /* what it was made from; a restart needs it */
	struct arena network_arena; /* owns spec.network, once that was changed */

	/* Constant once the session is ready. */
	char driver[64];  /* the driver's name, as it reports it */
	bool completes;   /* the driver can complete names… */
	bool inspects;    /* …and describe them */
	bool hears;       /* the driver is told for which cell a signal is */
	pid_t driver_pid; /* its process, in our pid namespace: the leader of the group that is interrupted */
	int driver_pidfd; /* the same */
	int input_fd; /* the reading end of its stdin's pipe, to empty it and to open the other end again; -1: no cell
		       * has had its input so */
	int channel;  /* to the driver; non-blocking */
	int interrupt_fd; /* eventfd: readable when the running cell is to be interrupted; -1: no cell runs */

	/* Owned by the caller that has the turn. */
	struct driver_reader reader; /* of the channel */

	/* Under place.home.lock. */
	bool busy;                   /* a cell runs */
	uint64_t cells;              /* that were begun */
	struct timeval used;         /* when the last cell was begun or ended */
	struct cell_record *records; /* of SESSION_CELLS_MAX; NULL: none yet */
	uint64_t first;              /* the oldest record that is kept, counted from 0 */
	uint64_t recorded;           /* how many records were made */
	size_t record_bytes;         /* of their code */
};

/* Of a session on the list. Makes the box, and returns when its driver is ready. After -1 it has ended, or was never
 * launched. */
int session_launch(struct session *session, const struct engines *engines, struct error *err);
/* As of struct place_kind. */
void session_shrink(struct place *place);
void session_free(struct place *place);
/* Interrupts the driver and the processes of its group by a signal. */
void session_signal(struct session *session);
/* The error of a session that has ended. Returns -1. */
int session_refuse_ended(struct place *place, struct error *err);

/* Adds a line to `rich` for each picture among the files that a cell left in `dir`, unless it is there already. */
void session_offer_pictures(int dir, const struct file_list *files, struct buf *rich);

/* As sessions_terminal(). The terminal takes one of the slots. */
int session_terminal(struct session *session, struct slots *terminals, unsigned rows, unsigned columns, int *master,
		     struct error *err);
/* The list. */
struct places *sessions_places(struct sessions *sessions);
/* For a caller that may see the session but not run cells in it: the error names the owner, if there is such a session.
 */
void sessions_tell_owner(struct sessions *sessions, const char *id, struct error *err);
/* As sessions_network(). */
int session_network(struct session *session, const struct net_policy *policy, struct error *err);
/* What its programs may reach, as a request has it: a json_t. */
struct json_t *session_network_json(struct session *session);
/* As sessions_ask(). */
int session_ask(struct session *session, bool inspect, const char *code, size_t size, size_t cursor, char **json,
		struct error *err);

/* One talk with the driver: a cell or a question (session_talk.c). How it ended: */
enum talk_end {
	TALK_DONE,   /* the driver reported its end */
	TALK_FORGED, /* bytes came by the channel that the driver does not write */
	TALK_BROKEN, /* the channel or the box has ended */
	TALK_STUCK,  /* the driver did not answer the interrupt in time */
	TALK_FAILED, /* we failed; see talk.err */
};

struct talk {
	struct session *session;     /* the session of the driver */
	const struct engine_io *io;  /* the caller's side; NULL: none */
	const struct limits *limits; /* of the cell */
	struct result *result;       /* receives outputs and errors; NULL: a question */
	struct buf out;              /* messages to be sent… */
	size_t out_used;             /* …and bytes of them that were */
	char secret[DRIVER_SECRET];  /* of this talk */
	struct buf reply;            /* the answer to a question */
	struct buf rich;             /* rich results, a line each */
	struct buf error;            /* the cell's error, as the driver reported it */
	size_t heard;                /* bytes of payloads received so far */
	bool ok;                     /* as the message `done` says */
	int exit_code;               /* the same */
	bool again;                  /* it was interrupted a second time */
	bool to_signal;              /* it is to be signalled, once all messages are sent */
	bool interrupted;            /* it was interrupted, and… */
	enum status status;          /* …why: a limit or a cancellation; STATUS_FAILED: an interrupt by a caller */
	const char *limit;           /* the limit's name */
	bool cancelled;              /* by the caller */
	uint64_t sent_usec;          /* when it began */
	uint64_t due_usec;           /* when it has to be over, or has to have answered an interrupt */
	uint64_t cpu_look_usec;      /* when the CPU limit is checked next; 0: never */
	struct engine_usage before;  /* the box's usage when it began */
	bool source_open;            /* io->stdin_fd has not ended */
	char *pending;               /* bytes read from it and not written yet; a buffer of BLOCK bytes, or NULL */
	size_t pending_at;           /* the next byte to write… */
	size_t pending_size;         /* …and the end of the bytes */
	struct error err;            /* of TALK_FAILED */
};

/* The caller has the turn, and `out` has the first message. Returns at the driver's last message, or at the end. */
enum talk_end talk_run(struct talk *talk);
void talk_free(struct talk *talk);

/* What the driver told of a cell's error; what is none is as if it had told nothing. */
void session_take_error(struct result *result, const struct buf *error);
