/* What the keeper does with a message: keeper.c has the threads for it. */
#pragma once

#include "serve/message.h"
#include "serve/role.h"

#include <pthread.h>

struct keeper_work {
	struct pool *pool;               /* boxes made ahead */
	struct containers *containers;   /* boxes that stay */
	enum role_audit audit;           /* whether nobody runs while nothing can be written down */
	int nudge;                       /* the store's eventfd, or -1 */
	pthread_mutex_t lock;            /* for opening the journal */
	struct journal *_Atomic journal; /* what is to be remembered; NULL: it could not be opened yet */
};

int keeper_work_open(struct keeper_work *work, int nudge, struct error *err);
void keeper_work_close(struct keeper_work *work);
/* From any thread; the answer goes to `front`. */
void keeper_handle(struct keeper_work *work, int front, const struct message *message);
/* MESSAGE_ASK: the answer as JSON into `out`, and its status. keeper_ask.c */
int keeper_ask(struct keeper_work *work, const char *json, size_t size, struct buf *out);
