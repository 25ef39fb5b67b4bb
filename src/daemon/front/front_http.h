/* The door of HTTP, for its own parts: front_http.c, front_routes.c, front_execute.c, front_mcp*.c, front_site.c and
 * their like. */
#pragma once

#include "daemon/front/front_parts.h"

#include <jansson.h>

enum phase {
	PHASE_HEAD,   /* a request is to begin, or its head to be whole */
	PHASE_BODY,   /* its body comes, of a length that is known */
	PHASE_CHUNKS, /* the same in chunks */
	PHASE_SKIP,   /* it was answered already, and the rest of its body is forgotten */
	PHASE_ANSWER, /* it is being answered: what comes behind it waits */
};

struct route {
	enum http_method method; /* HEAD is answered like GET */
	const char *path;        /* a "*" stands for one part of it, a "**" at its end for all the rest */
	unsigned scopes;         /* enum token_scope: one of them is needed; 0: nobody has to say who it is */
	uint64_t body_max;       /* bytes of a body; 0: none is taken */
	void (*handle)(struct front *front, struct peer *peer, const char *body, size_t size);
};

enum {
	PART_MAX = 64,    /* bytes of what a "*" stands for */
	REST_MAX = 1024,  /* and a "**" */
	QUERY_MAX = 1024, /* bytes of a query */
	RANGE_MAX = 64,   /* bytes of a Range field */
	MATCH_MAX = 128,  /* bytes of an If-None-Match field */
	ALLOW_MAX = 48,   /* bytes of an Allow field */
};

/* One request and its answer. */
struct exchange {
	enum phase phase;          /* how far it is */
	const struct route *route; /* what it asks for; NULL: nothing there is */
	enum http_method method;   /* how */
	bool keep_alive;           /* another may follow */
	bool plain;                /* HTTP/1.0: no chunks in the answer, and so no events */
	bool endless;              /* the rest of its body has a length that nobody knows */
	bool events;               /* it wants events */
	bool lines;                /* what is streamed to it are lines of JSON, not events */
	bool markdown;             /* it wants Markdown where there is some */
	bool streaming;            /* it gets them: the head of the answer is out */
	char allow[ALLOW_MAX];     /* the methods that the path takes, when this is none of them */
	char part[PART_MAX];       /* what the path's "*" stood for */
	char rest[REST_MAX];       /* and its "**" */
	char query[QUERY_MAX];     /* as sent */
	size_t query_size;         /* its size */
	char range[RANGE_MAX];     /* the Range field, "" when there is none */
	char match[MATCH_MAX];     /* the If-None-Match field, "" when there is none */
	bool takes_gzip;           /* an answer may be squeezed */
	char request_id[64];       /* the client's, or ours */
	const char *handshake;     /* of a path that is a WebSocket: what is wrong with the request; NULL: nothing */
	char accept[32];           /* and the answer to its key */
	bool protocol;             /* it offered ours */
	int file;                  /* what the answer is being sent from; -1 or 0: nothing */
	uint64_t file_at;          /* the next byte of it… */
	uint64_t file_left;        /* …and how many are to come */
	uint64_t file_seen;        /* of those, when its deadline was last set */
	int file_status;           /* of that answer */
	double ttl;                /* of a container or session that is to start: seconds; 0: not said */
	double idle_ttl;           /* of a session: the same without a cell */
	char name[64];             /* and what it is called */
	uint64_t left;             /* bytes of the body that are still to come */
	struct http_chunks chunks; /* where in a chunked body */
	struct buf body;           /* as far as it came */
	uint64_t begun_usec;       /* when its first byte came, then when its head was whole; 0: neither */
	size_t pending;            /* bytes that waited to be read when the deadline was last set */
	struct {
		char bytes[4];    /* the beginning of a character whose end did not come yet */
		size_t size;      /* how many */
	} cut[2];                 /* of stdout and stderr */
	struct mcp_exchange *mcp; /* of a message of MCP: what is known of it, and what it asks here; NULL: none */
};

extern const struct route http_routes[];
extern const size_t http_route_count;

/* What the path is by this method; NULL: none, or not by this method, and then x->allow has those that it takes. */
const struct route *http_route_find(struct exchange *x, enum http_method method, const char *path);
/* The answer, whole. `extra` is "" or lines of headers, each with its end. */
void http_answer(struct front *front, struct peer *peer, int status, const char *type, const void *body, size_t size,
		 const char *extra);
/* The same of status 200 and of bytes that stay where they are for as long as the program runs: none is copied. */
void http_answer_lent(struct front *front, struct peer *peer, const char *type, const void *body, size_t size,
		      const char *extra);
/* The same of JSON, with an end of line behind it. */
void http_answer_json_with(struct front *front, struct peer *peer, int status, const char *json, size_t size,
			   const char *extra);
void http_answer_json(struct front *front, struct peer *peer, int status, const char *json, size_t size);
void http_answer_error(struct front *front, struct peer *peer, enum error_code code, const char *field,
		       unsigned retry_after, const char *message);
/* The same of an error that is there. */
void http_answer_refusal(struct front *front, struct peer *peer, const struct error *err, unsigned retry_after);
/* With another status than the code's: 414, 426, 501 … are requests that HTTP has a number of its own for. */
void http_answer_status(struct front *front, struct peer *peer, int status, enum error_code code, const char *message);
/* What an answer's end changes, however it was written: the next request may come. */
void http_answered(struct front *front, struct peer *peer, int status);
/* {"what", "id"?, "caller"}; the caller frees. NULL without memory. */
char *http_question(const struct peer *peer, unsigned everybodys, const char *what, const char *id);
/* Asks, and passes the answer on as it is. */
void http_pass(struct front *front, struct peer *peer, bool store, const char *question);

/* front_site.c */
void site_page(struct front *front, struct peer *peer, const char *body, size_t size);
void site_icon(struct front *front, struct peer *peer, const char *body, size_t size);
void site_asset(struct front *front, struct peer *peer, const char *body, size_t size);

/* front_execute.c */
/* The body as an object, which the caller frees; NULL: it is none, and that was answered. */
json_t *http_load_object(struct front *front, struct peer *peer, const char *body, size_t size);
/* Whether it has no other fields than these, NULL at the end; false: that was answered. */
bool http_has_only(struct front *front, struct peer *peer, json_t *root, const char *const *known);
/* 400, with a sentence of the field's name and what is wrong with it. */
void http_refuse_field(struct front *front, struct peer *peer, const char *field, const char *what);
void execute_handle(struct front *front, struct peer *peer, const char *body, size_t size);
void execute_start(struct front *front, struct peer *peer, const char *body, size_t size);
void execute_exec(struct front *front, struct peer *peer, const char *body, size_t size);
void execute_cancel(struct front *front, struct peer *peer, const char *body, size_t size);
void execute_input(struct front *front, struct peer *peer, const char *body, size_t size);
/* front_judge.c */
void judge_check(struct front *front, struct peer *peer, const char *body, size_t size);
void judge_detect(struct front *front, struct peer *peer, const char *body, size_t size);
void execute_started(struct front *front, struct peer *peer, const char *json, size_t size);
void execute_output(struct front *front, struct peer *peer, int stream, const char *data, size_t size);
void execute_result(struct front *front, struct peer *peer, const struct message *message);
void execute_confirm(struct front *front, struct peer *peer, const char *confirm, const struct error *err);
void execute_refuse(struct front *front, struct peer *peer, const struct error *err, unsigned retry_after);
/* What a path does not take of what requests have, and what to do instead. */
struct foreign {
	const char *name; /* the field; NULL ends the list */
	const char *why;  /* the sentence */
};

/* Whether the path has all of these fields; false: it has not, and that was answered. `own` are its own beside a
 * request's. */
bool execute_has_known(struct front *front, struct peer *peer, json_t *root, const char *const *own,
		       const struct foreign *foreign);
/* A request's object as policy_apply() has it: 0, or -1: it was answered. Then it can be submitted. */
int execute_apply_object(struct front *front, struct peer *peer, json_t *root);
void execute_submit(struct front *front, struct peer *peer);

/* front_sessions.c */
void session_route_list(struct front *front, struct peer *peer, const char *body, size_t size);
void session_route_create(struct front *front, struct peer *peer, const char *body, size_t size);
void session_route_get(struct front *front, struct peer *peer, const char *body, size_t size);
void session_route_delete(struct front *front, struct peer *peer, const char *body, size_t size);
void session_route_change(struct front *front, struct peer *peer, const char *body, size_t size);
void session_route_execute(struct front *front, struct peer *peer, const char *body, size_t size);
void session_route_input(struct front *front, struct peer *peer, const char *body, size_t size);
void session_route_interrupt(struct front *front, struct peer *peer, const char *body, size_t size);
void session_route_restart(struct front *front, struct peer *peer, const char *body, size_t size);
void session_route_complete(struct front *front, struct peer *peer, const char *body, size_t size);
void session_route_inspect(struct front *front, struct peer *peer, const char *body, size_t size);
void session_route_cells(struct front *front, struct peer *peer, const char *body, size_t size);
/* A sign of life for who waits for events. */
void execute_ping(struct front *front, struct peer *peer);
/* The head of an answer of events, unless it is out; one of them; their end. */
void events_begin(struct front *front, struct peer *peer);
void event_send(struct peer *peer, const char *name, const char *data, size_t size);
void events_end(struct front *front, struct peer *peer);

/* front_mcp.c */
struct http_head;
void mcp_handle(struct front *front, struct peer *peer, const char *body, size_t size);
void mcp_delete(struct front *front, struct peer *peer, const char *body, size_t size);
/* The head of a request to /mcp is there. False without memory. */
bool mcp_begin(struct peer *peer, const struct http_head *head);
/* Its request is one of MCP that asks something here: answers to that are not the client's. */
bool mcp_is_inside(const struct exchange *x);
void mcp_answered(struct front *front, struct peer *peer, int status, const char *body, size_t size, const char *extra);
/* The same of a part of a file, which is the callee's now. */
void mcp_answered_file(struct front *front, struct peer *peer, int status, int file, uint64_t first, uint64_t last,
		       const char *extra);
void mcp_started(struct front *front, struct peer *peer);
void mcp_output(struct front *front, struct peer *peer, const char *text, size_t size);
/* Whether output is wanted as it comes. */
bool mcp_is_live(const struct exchange *x);
/* Nothing was written for a while. False: it has nothing to say. */
bool mcp_late(struct front *front, struct peer *peer);
void mcp_exchange_free(struct exchange *x);

/* front_session_files.c: files of a live session. */
void session_route_file_get(struct front *front, struct peer *peer, const char *body, size_t size);
void session_route_file_put(struct front *front, struct peer *peer, const char *body, size_t size);
void session_route_file_delete(struct front *front, struct peer *peer, const char *body, size_t size);
void session_route_file_move(struct front *front, struct peer *peer, const char *body, size_t size);
void session_route_files(struct front *front, struct peer *peer, const char *body, size_t size);

/* front_network.c: what an execution did with the network. */
void network_route(struct front *front, struct peer *peer, const char *body, size_t size);
void decisions_route(struct front *front, struct peer *peer, const char *body, size_t size);

/* front_watch.c: `question` is a file_watch, or NULL without memory. */
void watch_begin(struct front *front, struct peer *peer, const char *question);
/* There may be room for more of its events. */
void watch_more(struct front *front, struct peer *peer);

/* front_terminal.c */
void session_route_terminal(struct front *front, struct peer *peer, const char *body, size_t size);

/* front_body.c: an answer that is sent from a file as the client takes it. The file is taken over. `first` to `last`.
 */
void http_answer_file(struct front *front, struct peer *peer, int status, int file, uint64_t first, uint64_t last,
		      const char *extra);
/* 200, 206 or 416, by the request's Range. */
void http_answer_range(struct front *front, struct peer *peer, int file);
/* As much of it as there is room for. */
void http_answer_more(struct front *front, struct peer *peer);
/* Its deadline is over: whether it goes on all the same, because the client took something. */
bool http_answer_goes_on(struct front *front, struct peer *peer);
/* It is not needed any more. */
void http_file_end(struct exchange *x);
