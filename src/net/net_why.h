/* Decisions as sentences for people, with the rule that would allow what was refused. Pure. */
#pragma once

#include "net/net_policy.h"

/* What was decided: of a report (struct net_connection) or of net_policy_decide(). All but the host may be missing. */
struct net_outcome {
	const char *host; /* the name, or the address as text */
	uint16_t port;    /* 0: no port is known, as of a DNS query */
	enum net_reason reason;
	const char *rule;    /* the text of the rule that allows it, or that is near; NULL, "": none */
	const char *address; /* that the name led to; NULL, "": none */
	const char *method;  /* of a request; NULL, "": it was not about one, or its method is not known */
	const char *path;    /* of a request, as it was sent */
};

/* One sentence without a full stop. For a refusal that a further rule would change, it ends with "allow it with --net
 * RULE", in a shell's spelling. */
void net_why_sentence(const struct net_outcome *outcome, struct buf *out);
/* That rule as it stands in lists, the smallest that allows what was refused. False: no rule would, because the reason
 * is another, or only a profile, a token or the service could. */
bool net_why_rule(const struct net_outcome *outcome, struct buf *out);

/* HOST[:PORT], IP[:PORT], [V6][:PORT] or V6, as `emberbox why --net` has it. */
struct net_asked {
	char name[NET_NAME_MAX];    /* canonical; "": an address */
	struct net_address address; /* without a name */
	uint16_t port;              /* 0: none was written */
};
int net_asked_parse(const char *text, struct net_asked *asked, struct error *err);
