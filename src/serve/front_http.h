/* The door of HTTP, for its own parts: front_http.c, front_routes.c, front_execute.c. */
#pragma once

#include "serve/front_parts.h"

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
	bool streaming;            /* it gets them: the head of the answer is out */
	char allow[ALLOW_MAX];     /* the methods that the path takes, when this is none of them */
	char part[PART_MAX];       /* what the path's "*" stood for */
	char rest[REST_MAX];       /* and its "**" */
	char query[QUERY_MAX];     /* as sent */
	size_t query_size;         /* its size */
	char range[RANGE_MAX];     /* the Range field, "" when there is none */
	char request_id[64];       /* the client's, or ours */
	double ttl;                /* of a container that is to start: seconds; 0: not said */
	uint64_t left;             /* bytes of the body that are still to come */
	struct http_chunks chunks; /* where in a chunked body */
	struct buf body;           /* as far as it came */
	uint64_t begun_usec;       /* when its first byte came, then when its head was whole; 0: neither */
	size_t pending;            /* bytes that waited to be read when the deadline was last set */
	struct {
		char bytes[4]; /* the beginning of a character whose end did not come yet */
		size_t size;   /* how many */
	} cut[2];              /* of stdout and stderr */
};

extern const struct route http_routes[];
extern const size_t http_route_count;

/* The answer, whole. `extra` is "" or lines of headers, each with its end. */
void http_answer(struct front *front, struct peer *peer, int status, const char *type, const void *body, size_t size,
		 const char *extra);
/* The same of JSON, with an end of line behind it. */
void http_answer_json_with(struct front *front, struct peer *peer, int status, const char *json, size_t size,
			   const char *extra);
void http_answer_json(struct front *front, struct peer *peer, int status, const char *json, size_t size);
void http_answer_error(struct front *front, struct peer *peer, int status, const char *code, const char *field,
		       unsigned retry_after, const char *message);
/* What an answer's end changes, however it was written: the next request may come. */
void http_answered(struct front *front, struct peer *peer, int status);
/* {"what", "id"?, "caller"?}; the caller frees. NULL without memory. */
char *http_question(const struct peer *peer, unsigned everybodys, const char *what, const char *id);
/* Asks, and passes the answer on as it is. */
void http_pass(struct front *front, struct peer *peer, bool store, const char *question);

/* front_execute.c */
/* The body as an object, which the caller frees; NULL: it is none, and that was answered. */
json_t *http_load_object(struct front *front, struct peer *peer, const char *body, size_t size);
/* 400, with a sentence of the field's name and what is wrong with it. */
void http_refuse_field(struct front *front, struct peer *peer, const char *field, const char *what);
void execute_handle(struct front *front, struct peer *peer, const char *body, size_t size);
void execute_start(struct front *front, struct peer *peer, const char *body, size_t size);
void execute_exec(struct front *front, struct peer *peer, const char *body, size_t size);
void execute_cancel(struct front *front, struct peer *peer, const char *body, size_t size);
void execute_started(struct front *front, struct peer *peer, const char *json, size_t size);
void execute_output(struct front *front, struct peer *peer, int stream, const char *data, size_t size);
void execute_result(struct front *front, struct peer *peer, const struct message *message);
void execute_confirm(struct front *front, struct peer *peer, const char *confirm, const char *message);
void execute_refuse(struct front *front, struct peer *peer, const char *code, const char *field, unsigned retry_after,
		    const char *message);
/* A sign of life for who waits for events. */
void execute_ping(struct front *front, struct peer *peer);
