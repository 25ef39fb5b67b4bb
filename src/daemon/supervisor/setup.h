/*
 * The service's configuration, read by the supervisor for all roles: what is
 * in files is given to them as descriptors, so that none has to open any.
 */
#pragma once

#include "base/buf.h"
#include "base/log.h"
#include "registry/config.h"
#include "daemon/role.h"
#include "daemon/supervisor/supervisor.h"

struct journal;

enum {
	SETUP_FILES = 4, /* the registry, .env, tokens.json, token */
	SETUP_EDITED = 2 /* of them, from the first: people edit these */
};

/* A file at one time: another content has another mark. */
struct setup_mark {
	uint64_t inode, size, msec; /* all 0: there was none */
};

struct setup {
	const struct serve_options *options;  /* as called */
	struct config config;                 /* environment, .env, registry, options */
	int tcp;                              /* listens for HTTP; -1: nobody does */
	int config_fd;                        /* a memfd for the front, see config_encode(); -1 */
	int tls_cert, tls_key;                /* memfds with the PEM texts; -1: no TLS */
	int watch;                            /* inotify: the files in the state directory; -1: not watched */
	struct setup_mark marks[SETUP_FILES]; /* the files as they were when they were read last */
	char address[96];                     /* "http://127.0.0.1:7320"; "": none */
	unsigned history_days;                /* as struct role_settings has them */
	uint64_t history_size;                /* the same */
	enum role_audit audit;                /* the same */
	enum log_format log;                  /* the same */
	bool no_landlock;                     /* the same */
};

#define SETUP_INIT                                                                                                     \
	{                                                                                                              \
		.tcp = -1, .config_fd = -1, .tls_cert = -1, .tls_key = -1, .watch = -1                                 \
	}

/* Reads all, and listens. What was asked for and cannot be is an error; the default address that another has is not:
 * that is said, and there is no HTTP over TCP. */
int setup_open(struct setup *setup, const struct serve_options *options, struct error *err);
void setup_close(struct setup *setup);
/* Reads registry, .env and tokens again; `*changed`: the front has to have another config_fd. `weaker` gets the rules
 * that are gone, see config_weaker(). On an error all stays as it was. */
int setup_reload(struct setup *setup, bool *changed, struct buf *weaker, struct error *err);
/* Whether nobody has the registry or .env open for writing. False: its name is the sentence's. */
bool setup_is_settled(const struct setup *setup, struct error *why);
/* Whether registry and .env, which people edit, are as they were when they were read last: what was touched is a file
 * of our own commands, who put whole ones in place. */
bool setup_is_only_tokens(const struct setup *setup);
/* Which of the files are not as they were when this was called last, by name, with ", " between. */
void setup_changed(struct setup *setup, char *names, size_t size);
/* The name servers for boxes, as resolv.conf has them: a memfd of EMBERBOX_RESOLVER, or the file itself. -1: none. */
int setup_resolver(const struct setup *setup);
/* After `watch` became readable: whether one of those files was touched. */
bool setup_touched(struct setup *setup);
/* Opens the journal for what the supervisor itself has to say; NULL if there is none. */
void setup_journal(const struct setup *setup, int nudge, struct journal **out);
/* An event of its own for the audit log; what cannot be written is not worth a failure here. `journal` may be NULL. */
void setup_record(struct journal *journal, const char *event, const char *detail);
