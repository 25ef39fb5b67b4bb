/*
 * Egress: the only process of the service that connects out, for boxes, by their policies.
 *
 * It has sockets that lie in the networks of boxes (kernel/net_plant.h), which the keeper sends it with each box's
 * policy (net/egress_link.h), and sockets of its own in the network of the host. Nothing of one box is ever looked at
 * for another: each has its names, its answers of name servers, its limits.
 */
#pragma once

#include "base/error.h"
#include "daemon/role.h"

/* Its row. */
extern const struct role_row egress_role;

/* In the process that egress_start_own() started: serves the one that holds the link's other end, and ends with it. */
int egress_own_run(struct error *err);
/* Makes the authority that boxes trust, if there is none. */
int egress_authority_run(struct error *err);
