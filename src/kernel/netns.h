/* An empty network namespace whose loopback is up. For the child after clone: 0, or -1 with errno. */
#pragma once

/* The limit of the buffers of one socket in a box: 128 KiB in each direction of TCP; other sockets have the kernel's
 * default of 208 KiB. */
#define NETNS_SOCKET_MAX (256 << 10)

int netns_make(void);
int netns_loopback(void);
/* Returns 0 if lo is the only interface, or -1 with EEXIST. */
int netns_prove(void);
/* netns_prove() without a socket: 0 if no route leads out, or -1 with EEXIST. */
int netns_prove_routes(void);
