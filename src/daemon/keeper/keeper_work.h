/* What the keeper does with a message: keeper.c has the threads for it. */
#pragma once

#include "daemon/keeper/decisions.h"
#include "daemon/message.h"
#include "daemon/role.h"
#include "engine/engine.h"
#include "net/egress_link.h"

#include <jansson.h>
#include <pthread.h>
#include <stdatomic.h>

struct keeper_work {
	struct engines engines;          /* what executes runs */
	struct containers *containers;   /* boxes that stay */
	struct sessions *sessions;       /* boxes that keep a language's state */
	enum role_audit audit;           /* whether nobody runs while nothing can be written down */
	int nudge;                       /* the store's eventfd, or -1 */
	pthread_mutex_t lock;            /* for opening the journal */
	struct journal *_Atomic journal; /* what is to be remembered; NULL: it could not be opened yet */
	struct decisions_list decisions; /* of runs that are not over */
	struct egress_link egress;       /* the way to the process that connects for boxes */
	atomic_bool unrecorded;          /* the last run could not be recorded, and that was logged */
};

int keeper_work_open(struct keeper_work *work, int nudge, struct error *err);
void keeper_work_close(struct keeper_work *work);
/* From any thread; the answer goes to `front`. */
void keeper_handle(struct keeper_work *work, int front, const struct message *message);
/* MESSAGE_ASK: the answer into `out` (JSON, or of a refusal the struct message_refusal), its status, and a descriptor
 * that goes with it, or -1. `given` came with the question, or is -1. keeper_ask.c */
int keeper_ask(struct keeper_work *work, const char *json, size_t size, int given, struct buf *out, int *file);
/* The same of what is in a session's box; 0: it is no such question. keeper_live.c */
int keeper_ask_live(struct keeper_work *work, const json_t *question, int given, struct buf *out, int *file);
/* Whose the question is about; NULL: everybody's. Of a question that keeper_ask() let through it is always said. */
const char *keeper_caller(const json_t *question);
/* The answer to a question that cannot be answered. Returns the status. */
int keeper_tell_refusal(struct buf *out, const struct error *err);
