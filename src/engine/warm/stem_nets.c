#include "engine/warm/stem_nets.h"

#include "base/own.h"
#include "kernel/netns.h"
#include "kernel/seccomp.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* Opens the namespace of this process. */
static int net_open(ino_t *inode)
{
	_cleanup_close_ int fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -1;
	*inode = st.st_ino;
	return take_fd(&fd);
}

static void net_close(struct net *net)
{
	close_fd(&net->fd);
	*net = (struct net){ .fd = -1 };
}

int nets_open(struct nets *nets)
{
	for (size_t i = 0; i < NETS_MAX; i++)
		nets->at[i].fd = -1;
	for (size_t i = 0; i < NETS_LISTENERS; i++)
		nets->listeners[i] = -1;
	nets->home = net_open(&nets->home_inode);
	return nets->home < 0 ? -1 : 0;
}

void nets_listen(struct nets *nets, size_t zygote, int listener)
{
	nets->listeners[zygote] = listener;
}

void nets_all_told(struct nets *nets, size_t zygotes)
{
	size_t listened = 0;

	for (size_t i = 0; i < NETS_LISTENERS; i++)
		listened += nets->listeners[i] >= 0;
	nets->again = listened == zygotes;
}

static struct net *net_spare(struct nets *nets)
{
	for (size_t i = 0; i < nets->known; i++)
		if (nets->at[i].fd >= 0 && nets->at[i].box == 0)
			return &nets->at[i];
	return NULL;
}

static struct net *free_place(struct nets *nets)
{
	for (size_t i = 0; i < nets->known; i++)
		if (nets->at[i].fd < 0)
			return &nets->at[i];
	return nets->known < NETS_MAX ? &nets->at[nets->known++] : NULL;
}

/* Makes a network, and proves it here, where sockets are not counted as a box's. */
static int net_make(struct nets *nets, struct net **made)
{
	struct net *place = free_place(nets);

	if (netns_make() < 0 || netns_loopback() < 0 || netns_prove() < 0)
		return -1;
	/* A network without a free entry is used once. */
	if (place) {
		place->fd = net_open(&place->inode);
		if (place->fd < 0)
			place = NULL;
	}
	*made = place;
	return 0;
}

int nets_enter(struct nets *nets, uint64_t number)
{
	struct net *net = nets->again ? net_spare(nets) : NULL;

	nets->entered = NULL;
	if (net && setns(net->fd, CLONE_NEWNET) < 0) {
		net_close(net);
		net = NULL;
	}
	if (!net && net_make(nets, &net) < 0) {
		int errnum = errno;

		/* If this process cannot return to its own network namespace, it must not make another box: that box
		 * would share a network with this one. */
		if (nets_leave(nets, 0) < 0)
			_exit(1);
		errno = errnum;
		return -1;
	}
	if (net) {
		net->number = number;
		net->refused = (struct refused){ .cores = nets->cores };
	}
	nets->entered = net;
	return 0;
}

int nets_leave(struct nets *nets, pid_t box)
{
	if (nets->entered && box > 0)
		nets->entered->box = box;
	else if (nets->entered)
		net_close(nets->entered);
	nets->entered = NULL;
	return setns(nets->home, CLONE_NEWNET);
}

/* The network of a process; 0: unknown. */
static ino_t net_of(pid_t pid)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/ns/net", (int)pid);
	return stat(path, &st) == 0 ? st.st_ino : 0;
}

static struct net *net_find(struct nets *nets, ino_t inode)
{
	for (size_t i = 0; i < nets->known && inode != 0; i++)
		if (nets->at[i].fd >= 0 && nets->at[i].inode == inode)
			return &nets->at[i];
	return NULL;
}

static void net_use(struct nets *nets, pid_t pid)
{
	ino_t inode = net_of(pid);
	struct net *net = net_find(nets, inode);
	bool known = net || (inode == nets->home_inode && inode != 0); /* the zygote's own sockets */

	if (net)
		net->used = true;
	/* The owner is unknown, so count every network as used. */
	for (size_t i = 0; i < nets->known && !known; i++) {
		if (nets->at[i].fd >= 0 && nets->at[i].box == 0)
			net_close(&nets->at[i]);
		nets->at[i].used = nets->at[i].fd >= 0;
	}
}

void nets_hear(struct nets *nets, size_t zygote)
{
	struct seccomp_heard heard;
	int found = seccomp_hear(nets->listeners[zygote], &heard);

	/* The zygote is gone, and so are all of its forks. */
	if (found < 0) {
		refusals_forget(&nets->refusals, nets->listeners[zygote]);
		close_fd(&nets->listeners[zygote]);
		nets->again = false;
		return;
	}
	if (found == 0)
		return;
	if (!seccomp_is_socket(&heard)) {
		struct net *net = net_find(nets, net_of(heard.pid));

		/* The pid may have been reused. */
		if (net && !seccomp_waits(nets->listeners[zygote], &heard))
			return;
		refusals_add(&nets->refusals, nets->listeners[zygote], &heard, net ? &net->refused : &nets->nobodys);
		return;
	}
	net_use(nets, heard.pid);
	if (heard.netlink)
		(void)seccomp_let_netlink(nets->listeners[zygote], &heard);
	else
		seccomp_let_go_on(nets->listeners[zygote], &heard);
}

int nets_refused(const struct nets *nets, uint64_t number)
{
	for (size_t i = 0; i < nets->known; i++)
		if (nets->at[i].fd >= 0 && nets->at[i].number == number && nets->at[i].refused.count > 0)
			return nets->at[i].refused.call;
	return -1;
}

void nets_bound(struct nets *nets, uint64_t number, unsigned cores)
{
	for (size_t i = 0; i < nets->known; i++)
		if (nets->at[i].fd >= 0 && nets->at[i].number == number)
			nets->at[i].refused.cores = cores;
}

int nets_visit(struct nets *nets, uint64_t number)
{
	for (size_t i = 0; i < nets->known; i++) {
		if (nets->at[i].fd < 0 || nets->at[i].number != number)
			continue;
		nets->at[i].used = true;
		return setns(nets->at[i].fd, CLONE_NEWNET);
	}
	errno = ENOENT;
	return -1;
}

int nets_home(const struct nets *nets)
{
	return setns(nets->home, CLONE_NEWNET);
}

void nets_lent(struct nets *nets, uint64_t number)
{
	for (size_t i = 0; i < nets->known; i++)
		if (nets->at[i].fd >= 0 && nets->at[i].number == number)
			nets->at[i].used = true;
}

void nets_ended(struct nets *nets, pid_t box)
{
	size_t spares = 0;
	struct net *net = NULL;

	for (size_t i = 0; i < nets->known; i++) {
		if (nets->at[i].fd < 0)
			continue;
		if (nets->at[i].box == 0)
			spares++;
		else if (nets->at[i].box == box)
			net = &nets->at[i];
	}
	if (!net)
		return;
	net->box = 0;
	net->number = 0;
	if (net->used || !nets->again || spares >= NETS_SPARE_MAX)
		net_close(net);
}
