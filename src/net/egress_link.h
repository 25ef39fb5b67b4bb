/*
 * The way to egress, the only process that connects out (daemon/egress/).
 *
 * A box's network is open at egress as long as a socket lives, the box's *egress socket*: the message that opens it
 * goes over the link, with the policy, the sockets that were planted in the box, and one end of the egress socket.
 * Everything later goes over the egress socket. Its end closes all that the box has there.
 *
 *	link:           EGRESS_OPEN   struct egress_head, the policy's text, the secrets'; descriptors: the egress
 *	                              socket, the name server's UDP socket and TCP listener, the listeners
 *	egress socket:  to egress:    EGRESS_POLICY another policy, with further listeners (live connections that it
 *	                              does not allow end); EGRESS_FINISH: end all connections, report all, then end
 *	                from egress:  struct egress_event, each a message: EGRESS_CONNECTION for a decision, and again
 *	                              with `open` 0 when that connection ends; EGRESS_TOTALS as the answer to
 *	                              EGRESS_POLICY, and with `last` as the answer to EGRESS_FINISH
 *
 * Both sides take each message whole or not at all, and check all of it. Egress never waits for a reader: reports that
 * find no room are counted, and the totals say how many.
 */
#pragma once

#include "net/net_report.h"
#include "net/net_secret.h"

#include <pthread.h>

enum egress_kind {
	EGRESS_OPEN = 1,
	EGRESS_POLICY,
	EGRESS_FINISH,
	EGRESS_CONNECTION,
	EGRESS_TOTALS,
};

enum {
	EGRESS_LISTENERS_MAX = NET_PORTS_MAX + 1, /* of one message; with that of public */
	EGRESS_FDS_MAX = EGRESS_LISTENERS_MAX + 3,
};

struct egress_head {
	uint32_t kind;      /* EGRESS_OPEN, EGRESS_POLICY, EGRESS_FINISH */
	uint32_t listeners; /* how many came along */
	uint32_t size;      /* of the policy's text, which follows */
	uint32_t secrets;   /* of the secrets' text, which follows that; of EGRESS_OPEN alone */
};

struct egress_event {
	uint32_t kind;                    /* EGRESS_CONNECTION, EGRESS_TOTALS */
	uint32_t last;                    /* 1: of EGRESS_TOTALS, nothing comes after it */
	uint64_t allowed, refused;        /* so far, of all connections, those that were lost too */
	uint64_t queries, lost;           /* the same */
	uint64_t sent, received;          /* the same */
	struct net_connection connection; /* of EGRESS_CONNECTION */
};

/* An event as it is sent: each takes room of the socket, so its texts are as long as they are. The size. */
enum {
	EGRESS_EVENT_MAX = sizeof(struct egress_event)
};
size_t egress_event_write(const struct egress_event *event, unsigned char out[EGRESS_EVENT_MAX]);
/* False: it is none. */
bool egress_event_read(const unsigned char *data, size_t size, struct egress_event *event);

/* The sockets of a box's network, made there (kernel/net_plant.h). -1: none. */
struct egress_sockets {
	int dns_udp, dns_tcp;
	int listeners[EGRESS_LISTENERS_MAX];
	size_t count;
};

/* One for a process. The supervisor replaces the socket when egress was started again. */
struct egress_link {
	pthread_mutex_t lock;
	int fd;              /* -1: there is no egress (now) */
	uint64_t generation; /* counts the sockets that it had */
};

void egress_link_init(struct egress_link *link);
/* Takes the socket; -1: there is none. */
void egress_link_set(struct egress_link *link, int fd);

/* Opens a box's network; *egress_fd is the egress socket, non-blocking. The sockets stay the caller's: kept, they serve
 * to open it again after egress was started anew. There is no answer: an egress that cannot serve the box closes the
 * egress socket, which egress_read() tells. */
int egress_open(struct egress_link *link, const struct net_policy *policy, const struct egress_sockets *sockets,
		int *egress_fd, struct error *err);
/* The same with secrets (net_secrets_check()); NULL: none. They stay the caller's, for opening it again. */
int egress_open_secret(struct egress_link *link, const struct net_policy *policy, const struct net_secrets *secrets,
		       const struct egress_sockets *sockets, int *egress_fd, struct error *err);
/* On an egress socket. `further`: sockets of ports that are new; may be NULL. */
int egress_change(int egress_fd, const struct net_policy *policy, const struct egress_sockets *further,
		  struct error *err);
int egress_finish(int egress_fd);
/* Takes the events that wait into the report. 1: more may come; 0: it has ended, the report is whole; -1: egress is
 * gone without its totals (report->gone). Never waits. */
int egress_read(int egress_fd, struct net_report *report);
/* The same, until the end, at most so long. */
int egress_read_all(int egress_fd, struct net_report *report, int msec);
void net_report_free(struct net_report *report);

/* The variables that egress has, of the caller's: its name servers and proxies, where
 * the authority and certificates are, and what sanitizers read. Others can be
 * secrets, as EMBERBOX_TOKEN is, which a process that reads bytes of strangers must not have. */
extern const char *const egress_variables[];

/* Starts an egress for this process alone, for runs without a service: `program` is emberbox's own. The child ends with
 * the link's other end. */
int egress_start_own(const char *program, struct egress_link *link, pid_t *pid, struct error *err);
