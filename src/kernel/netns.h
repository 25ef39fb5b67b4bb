/* An empty network namespace with its loopback up. For the child after clone: 0, or -1 with errno. */
#pragma once

/* What can wait in one socket of the box: 128 KiB on either way of TCP, the kernel's default of 208 KiB elsewhere. */
#define NETNS_SOCKET_MAX (256 << 10)

int netns_make(void);
int netns_loopback(void);
/* 0 when there is no interface but lo; -1 with EEXIST otherwise. */
int netns_prove(void);
/* The same without a socket: 0 when no route leads out; -1 with EEXIST otherwise. */
int netns_prove_routes(void);
