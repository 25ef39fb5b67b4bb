/* N: reaching anything but oneself. */
#include "probe.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <mqueue.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* "1.2.3.4:53" or "[::1]:53". */
static socklen_t address_of(const char *text, struct sockaddr_storage *out)
{
	char host[128];
	unsigned port = 0;
	struct sockaddr_in *v4 = (struct sockaddr_in *)out;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)out;

	memset(out, 0, sizeof(*out));
	if (sscanf(text, "[%127[^]]]:%u", host, &port) == 2 && inet_pton(AF_INET6, host, &v6->sin6_addr) == 1) {
		v6->sin6_family = AF_INET6;
		v6->sin6_port = htons((uint16_t)port);
		return sizeof(*v6);
	}
	if (sscanf(text, "%127[^:]:%u", host, &port) == 2 && inet_pton(AF_INET, host, &v4->sin_addr) == 1) {
		v4->sin_family = AF_INET;
		v4->sin_port = htons((uint16_t)port);
		return sizeof(*v4);
	}
	return 0;
}

static void tcp(const char *text)
{
	struct sockaddr_storage address;
	socklen_t size = address_of(text, &address);
	int fd = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		say("socket: %s", error_name(errno));
	else
		say_rc(connect(fd, (struct sockaddr *)&address, size));
}

/* Connected, so that a port which nobody listens on answers as an errno of the second send. */
static void udp(const char *text)
{
	struct sockaddr_storage address;
	socklen_t size = address_of(text, &address);
	int fd = socket(address.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		say("socket: %s", error_name(errno));
	else if (connect(fd, (struct sockaddr *)&address, size) < 0 || send(fd, "?", 1, 0) < 0)
		say("%s", error_name(errno));
	else
		say_rc(send(fd, "?", 1, 0));
}

static void make_socket(const char *kind)
{
	static const struct {
		const char *name;
		int family, type, protocol;
	} kinds[] = {
		{ "packet", AF_PACKET, SOCK_RAW, 0x0300 },
		{ "packet-dgram", AF_PACKET, SOCK_DGRAM, 0x0300 },
		{ "raw", AF_INET, SOCK_RAW, IPPROTO_RAW },
		{ "raw-icmp", AF_INET, SOCK_RAW, IPPROTO_ICMP },
		{ "raw6", AF_INET6, SOCK_RAW, IPPROTO_ICMPV6 },
		{ "ping", AF_INET, SOCK_DGRAM, IPPROTO_ICMP },
		{ "vsock", AF_VSOCK, SOCK_STREAM, 0 },
		{ "alg", AF_ALG, SOCK_SEQPACKET, 0 },
		{ "bluetooth", AF_BLUETOOTH, SOCK_RAW, 0 },
		{ "can", AF_CAN, SOCK_RAW, 1 },
		{ "tipc", AF_TIPC, SOCK_STREAM, 0 },
		{ "xdp", AF_XDP, SOCK_RAW, 0 },
		{ "rds", AF_RDS, SOCK_SEQPACKET, 0 },
		{ "key", AF_KEY, SOCK_RAW, 2 },
		{ "smc", AF_SMC, SOCK_STREAM, 0 },
		{ "sctp", AF_INET, SOCK_STREAM, IPPROTO_SCTP },
		{ "mptcp", AF_INET, SOCK_STREAM, 262 },
		{ "netfilter", AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER },
		{ "audit", AF_NETLINK, SOCK_RAW, NETLINK_AUDIT },
		{ "uevent", AF_NETLINK, SOCK_RAW, NETLINK_KOBJECT_UEVENT },
		{ "xfrm", AF_NETLINK, SOCK_RAW, NETLINK_XFRM },
		{ "generic", AF_NETLINK, SOCK_RAW, NETLINK_GENERIC },
		{ "route", AF_NETLINK, SOCK_RAW, NETLINK_ROUTE },
		{ "tcp", AF_INET, SOCK_STREAM, 0 },
		{ "tcp6", AF_INET6, SOCK_STREAM, 0 },
		{ "udp", AF_INET, SOCK_DGRAM, 0 },
		{ "unix", AF_UNIX, SOCK_STREAM, 0 },
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(kinds[i].name, kind) == 0) {
			say_rc(socket(kinds[i].family, kinds[i].type | SOCK_CLOEXEC, kinds[i].protocol));
			return;
		}
	say("unknown kind");
}

/* Takes loopback down, by rtnetlink or by ioctl. */
static void interface_down(const char *how)
{
	struct {
		struct nlmsghdr head;
		struct ifinfomsg info;
	} request = { .head = { .nlmsg_len = sizeof(request),
				.nlmsg_type = RTM_NEWLINK,
				.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK },
		      .info = { .ifi_index = 1, .ifi_change = IFF_UP } };
	struct {
		struct nlmsghdr head;
		struct nlmsgerr error;
		char rest[1024];
	} answer = { 0 };

	if (strcmp(how, "ioctl") == 0) {
		struct ifreq name = { .ifr_name = "lo" };
		int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

		say_rc(fd < 0 ? -1 : ioctl(fd, SIOCSIFFLAGS, &name));
		return;
	}
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

	if (fd < 0 || send(fd, &request, sizeof(request), 0) < 0 || recv(fd, &answer, sizeof(answer), 0) < 0)
		say("%s", error_name(errno));
	else
		say("%s", answer.error.error ? error_name(-answer.error.error) : "OK");
}

static int loopback_listen(int family, struct sockaddr_storage *address, socklen_t *size)
{
	*size = address_of(family == AF_INET6 ? "[::1]:0" : "127.0.0.1:0", address);
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)address, *size) < 0 || listen(fd, 1) < 0 ||
	    getsockname(fd, (struct sockaddr *)address, size) < 0)
		return -1;
	return fd;
}

/*
 * Data on its way between sockets belongs to no process. Arg: KIND:PROCESSES:SIZE,
 * as much as can be had up to SIZE in all, by that many processes.
 */
static uint64_t buffers_fill(const char *kind, uint64_t wanted)
{
	static char block[65536];
	struct sockaddr_storage address;
	socklen_t size;
	uint64_t done = 0;
	int server = loopback_listen(AF_INET, &address, &size);

	while (done < wanted) {
		int ends[2];

		if (strcmp(kind, "tcp") == 0) {
			ends[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
			if (ends[0] < 0 || connect(ends[0], (struct sockaddr *)&address, size) < 0)
				break;
			ends[1] = accept(server, NULL, NULL);
			if (ends[1] < 0)
				break;
		} else if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) {
			break;
		}
		for (int i = 0; i < 2; i++)
			for (ssize_t put;
			     done < wanted && (put = send(ends[i], block, sizeof(block), MSG_DONTWAIT)) > 0;)
				done += (uint64_t)put;
	}
	return done;
}

static void buffers(const char *arg)
{
	char kind[16], size[32];
	int processes, ends[2];
	uint64_t total = 0, one;

	if (sscanf(arg, "%15[^:]:%d:%31s", kind, &processes, size) != 3 || pipe(ends) < 0) {
		say("bad argument");
		return;
	}
	for (int i = 0; i < processes; i++)
		if (fork() == 0) {
			one = buffers_fill(kind, size_of(size) / (uint64_t)processes);
			if (write(ends[1], &one, sizeof(one)) < 0)
				_exit(1);
			hold();
			pause();
		}
	for (int i = 0; i < processes && read(ends[0], &one, sizeof(one)) == sizeof(one); i++)
		total += one;
	say("%llu", (unsigned long long)total);
	hold();
}

static socklen_t abstract_of(const char *name, struct sockaddr_un *address)
{
	memset(address, 0, sizeof(*address));
	address->sun_family = AF_UNIX;
	snprintf(address->sun_path + 1, sizeof(address->sun_path) - 1, "%s", name);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(address->sun_path + 1));
}

static void abstract(const char *name)
{
	struct sockaddr_un address;
	socklen_t size = abstract_of(name, &address);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	say_rc(fd < 0 ? -1 : connect(fd, (struct sockaddr *)&address, size));
}

static void path_socket(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	say_rc(fd < 0 ? -1 : connect(fd, (struct sockaddr *)&address, sizeof(address)));
}

/* Listens on an abstract name and connects to it. */
static void own_abstract(const char *name)
{
	struct sockaddr_un address;
	socklen_t size = abstract_of(name, &address);
	int server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (bind(server, (struct sockaddr *)&address, size) < 0 || listen(server, 1) < 0)
		say("listen: %s", error_name(errno));
	else
		say_rc(connect(client, (struct sockaddr *)&address, size));
}

/* There and back over its own loopback. */
static void loopback(const char *arg)
{
	struct sockaddr_storage address;
	socklen_t size;
	int family = strcmp(arg, "6") == 0 ? AF_INET6 : AF_INET;
	int server = loopback_listen(family, &address, &size);
	int client = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char text[8] = "";

	if (server < 0 || client < 0 || connect(client, (struct sockaddr *)&address, size) < 0) {
		say("%s", error_name(errno));
		return;
	}
	int accepted = accept(server, NULL, NULL);

	if (accepted < 0 || send(client, "ping", 4, 0) != 4 || recv(accepted, text, 4, MSG_WAITALL) != 4)
		say("%s", error_name(errno));
	else
		say("%s", strcmp(text, "ping") == 0 ? "OK" : text);
}

/* Says its port and listens until standard input ends; then whether anybody came. */
static void listener(const char *arg)
{
	struct sockaddr_storage address;
	socklen_t size;
	int fd = loopback_listen(AF_INET, &address, &size);
	struct pollfd visitor = { .fd = fd, .events = POLLIN };

	(void)arg;
	if (fd < 0) {
		say("%s", error_name(errno));
		return;
	}
	say("%d", ntohs(((struct sockaddr_in *)&address)->sin_port));
	hold();
	say("%s", poll(&visitor, 1, 0) > 0 ? "visited" : "alone");
}

/* Those that are up: loaded tunnel modules put their idle devices into every namespace. */
static void interfaces(const char *arg)
{
	struct if_nameindex *list = if_nameindex();
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	char *names[64];
	size_t count = 0;

	(void)arg;
	if (!list || fd < 0) {
		say("%s", error_name(errno));
		return;
	}
	for (struct if_nameindex *i = list; i->if_index && count < 64; i++) {
		struct ifreq request = { 0 };

		snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", i->if_name);
		if (ioctl(fd, SIOCGIFFLAGS, &request) == 0 && (request.ifr_flags & IFF_UP))
			names[count++] = i->if_name;
	}
	say_names(names, count);
}

/* Leaves one of each kind of IPC object with the key or name given; look says what is there. */
static void ipc_leave(const char *arg)
{
	key_t key = (key_t)strtoul(arg, NULL, 0);
	struct mq_attr attributes = { .mq_maxmsg = 1, .mq_msgsize = 16 };
	char name[64];

	snprintf(name, sizeof(name), "/probe-%s", arg);
	int shm = shmget(key, 4096, IPC_CREAT | IPC_EXCL | 0666), shm_error = errno;
	int sem = semget(key, 1, IPC_CREAT | IPC_EXCL | 0666), sem_error = errno;
	int msg = msgget(key, IPC_CREAT | IPC_EXCL | 0666), msg_error = errno;
	mqd_t mq = mq_open(name, O_CREAT | O_EXCL | O_RDWR, 0666, &attributes);
	int mq_error = errno;

	say("shm %s sem %s msg %s mq %s", shm < 0 ? error_name(shm_error) : "OK",
	    sem < 0 ? error_name(sem_error) : "OK", msg < 0 ? error_name(msg_error) : "OK",
	    mq < 0 ? error_name(mq_error) : "OK");
}

const struct probe network_probes[] = {
	{ "tcp", tcp },
	{ "udp", udp },
	{ "socket", make_socket },
	{ "interface-down", interface_down },
	{ "abstract", abstract },
	{ "path-socket", path_socket },
	{ "buffers", buffers },
	{ "own-abstract", own_abstract },
	{ "loopback", loopback },
	{ "listen", listener },
	{ "interfaces", interfaces },
	{ "ipc-leave", ipc_leave },
	{ NULL, NULL },
};
