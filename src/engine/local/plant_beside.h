/* Sockets in the network of a box that lives already. */
#pragma once

#include "engine/local/launch.h"

/* `inside`: pidfd of a process in the box. The caller closes the sockets. */
int plant_beside(int inside, const struct net_plant *plant, struct egress_sockets *out, struct error *err);
