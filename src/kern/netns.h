/* An empty network namespace with its loopback up. For the child after clone: 0, or -1 with errno. */
#pragma once

int netns_make(void);
int netns_loopback(void);
/* 0 when there is no interface but lo; -1 with EEXIST otherwise. */
int netns_prove(void);
