/*
 * MCP in the front: front_mcp.c and front_mcp_call.c.
 *
 * A message is a request of HTTP, and one that calls a tool asks another path of
 * ours, as if the client had: policy, queue, history and cancellation are those
 * of that path, and its answer comes back here instead of going out. What the
 * messages mean, and how the answers look, is decided in src/mcp, which is pure.
 */
#pragma once

#include "mcp/protocol.h"
#include "mcp/tool.h"
#include "daemon/front/front_http.h"

enum {
	MCP_SESSIONS = 1024,     /* in all */
	MCP_SESSIONS_EACH = 256, /* of one caller */
	MCP_LISTED = 8,          /* sessions whose files resources/list tells */
	MCP_PROGRESS_MAX = 4096, /* bytes of output in one notification */
	MCP_BEHIND = 256 << 10,  /* bytes that a client has not read when it gets no more progress */
	MCP_ASK_MSEC = 600000,   /* for a person's answer */
};

/* Up to 2025-11-25 a client has one. */
struct mcp_session {
	char id[MCP_SESSION_MAX]; /* "": this place is free */
	char caller[CALLER_MAX];  /* whose it is */
	bool elicits;             /* its client can ask a person */
	bool links;               /* its client takes resource links */
	uint64_t used_usec;       /* when it was last used */
};

struct mcp {
	struct mcp_session sessions[MCP_SESSIONS]; /* in no order */
	json_t *tools;                             /* as tools/list has them */
	char *instructions;                        /* for models */
	uint64_t asked;                            /* questions to clients so far */
	json_t *fixtures;                          /* mcp_fixtures.h; NULL: none, or not read yet */
};

typedef void mcp_told(struct front *front, struct peer *peer, const struct tool_answer *answer);

/* One message, and what is done about it. */
struct mcp_exchange {
	struct mcp_head head;          /* of the transport */
	struct rpc_message message;    /* the message; nothing until it is whole */
	enum mcp_era era;              /* how it wants to be answered */
	const struct route *route;     /* of the request outside, while one inside is under way */
	mcp_told *told;                /* what is done with the answer to that; NULL: there is none */
	struct tool_call call;         /* of tools/call */
	json_t *progress_token;        /* in the message; NULL: no progress is wanted */
	json_int_t progress;           /* notifications so far */
	bool cancelled;                /* the client wants no answer any more */
	char asked[24];                /* our question to the client; "": none */
	uint64_t give_up_usec;         /* when its answer is not waited for any more */
	const json_t *fixture;         /* for tests: what asks; NULL: none */
	json_t *list;                  /* of resources/list: what there is so far; owned */
	json_t *sessions;              /* of it: those that are still to be asked; owned */
	size_t next;                   /* of them, the next */
	char listing[MCP_SESSION_MAX]; /* of it: the session that is asked now */
};

/* The answer to its message: a result, which is taken, or an error; `status` is HTTP's for who speaks 2026. */
void mcp_reply(struct front *front, struct peer *peer, json_t *result);
void mcp_fail(struct front *front, struct peer *peer, int status, enum rpc_code code, const char *message,
	      json_t *data);
/* Its client wants none. */
void mcp_fall_silent(struct front *front, struct peer *peer);
/* Asks a path of ours; the request's body is freed. */
void mcp_ask(struct front *front, struct peer *peer, struct tool_request *request, mcp_told *told);
/* The session of its message, if it is of 2025; NULL: there is none. */
const struct mcp_session *mcp_session_of(const struct front *front, const struct peer *peer);

/* front_mcp_call.c */
void mcp_call(struct front *front, struct peer *peer);
void mcp_resources_list(struct front *front, struct peer *peer);
void mcp_resources_read(struct front *front, struct peer *peer);
/* A person's answer to a question of ours; NULL: it cannot be asked. */
void mcp_decided(struct front *front, struct peer *peer, const json_t *answer);
