/* An empty network. tests/run: args=--as root | --as user | --as userns */
#include "../check.h"
#include "as.h"
#include "space.h"

#include "kernel/netns.h"

#include <arpa/inet.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>

static struct sockaddr_in host_tcp;  /* a listener outside */
static struct sockaddr_un host_name; /* another, with an abstract name */
static socklen_t host_name_size;

static int listener(struct sockaddr_in *at)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t size = sizeof(*at);

	*at = (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	if (bind(fd, (struct sockaddr *)at, size) < 0 || listen(fd, 8) < 0 ||
	    getsockname(fd, (struct sockaddr *)at, &size) < 0)
		return -1;
	return fd;
}

static int tcp(const struct sockaddr_in *to)
{
	int saved, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int result = connect(fd, (const struct sockaddr *)to, sizeof(*to));

	saved = errno;
	close(fd);
	errno = saved;
	return result;
}

static int abstract(void)
{
	int saved, fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int result = connect(fd, (const struct sockaddr *)&host_name, host_name_size);

	saved = errno;
	close(fd);
	errno = saved;
	return result;
}

static short flags_of(const char *name)
{
	struct ifreq request = { 0 };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int result;

	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", name);
	result = ioctl(fd, SIOCGIFFLAGS, &request);
	close(fd);
	return result < 0 ? 0 : request.ifr_flags;
}

static void child_loopback(void)
{
	struct if_nameindex *all;
	struct sockaddr_in own;
	bool lo = false;
	int fd;

	CHECK_INT(netns_make(), 0);
	CHECK_INT(flags_of("lo") & IFF_UP, 0);
	fd = listener(&own);
	CHECK_ERRNO(tcp(&own), ENETUNREACH);
	CHECK_INT(netns_loopback(), 0);
	CHECK_INT(flags_of("lo") & (IFF_UP | IFF_LOOPBACK), IFF_UP | IFF_LOOPBACK);
	close(fd);
	fd = listener(&own);
	CHECK(fd >= 0);
	CHECK_INT(tcp(&own), 0);
	CHECK_INT(netns_prove(), 0);
	CHECK_INT(netns_prove_routes(), 0);
	/* Only lo is up; tunnels that some kernels put into every namespace are down. */
	all = if_nameindex();
	for (struct if_nameindex *one = all; one && one->if_index; one++) {
		if (strcmp(one->if_name, "lo") == 0)
			lo = true;
		else
			CHECK_INT(flags_of(one->if_name) & IFF_UP, 0);
	}
	CHECK(lo);
	if_freenameindex(all);
	CHECK_INT(netns_loopback(), 0); /* once more changes nothing */
}

static void loopback_of_its_own(void)
{
	in_space(0, child_loopback);
}

static void read_line(const char *path, char line[64])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, line, 63);

	line[n < 0 ? 0 : n] = '\0';
	if (fd >= 0)
		close(fd);
}

static const char *const buffer_files[] = { "/proc/sys/net/ipv4/tcp_wmem", "/proc/sys/net/ipv4/tcp_rmem" };

static void child_buffers(void)
{
	char line[64];

	CHECK_INT(netns_make(), 0);
	CHECK_INT(netns_loopback(), 0);
	for (int i = 0; i < 2; i++) {
		/* Read-only in most containers: then it stays as it is. */
		read_line(buffer_files[i], line);
		if (access(buffer_files[i], W_OK) == 0)
			CHECK_STR(line, "4096\t16384\t131072\n");
	}
}

static void buffers_are_bounded_inside_alone(void)
{
	char before[2][64], after[64];

	for (int i = 0; i < 2; i++)
		read_line(buffer_files[i], before[i]);
	in_space(0, child_buffers);
	for (int i = 0; i < 2; i++) {
		read_line(buffer_files[i], after);
		CHECK(after[0] != '\0');
		CHECK_STR(after, before[i]);
	}
}

static void child_host(void)
{
	struct sockaddr_in far = { .sin_family = AF_INET, .sin_port = htons(80), .sin_addr.s_addr = htonl(0xc0000201) };

	/* The controls: before, both answer. */
	CHECK_INT(tcp(&host_tcp), 0);
	CHECK_INT(abstract(), 0);
	CHECK_INT(netns_make(), 0);
	CHECK_ERRNO(tcp(&host_tcp), ENETUNREACH);
	CHECK_INT(netns_loopback(), 0);
	CHECK_ERRNO(tcp(&host_tcp), ECONNREFUSED);
	CHECK_ERRNO(abstract(), ECONNREFUSED);
	CHECK_ERRNO(tcp(&far), ENETUNREACH);
}

static void the_hosts_is_out_of_reach(void)
{
	in_space(0, child_host);
}

/* The smallest netlink client that makes a device; 0 or the errno. */
static int make_device(const char *name, const char *kind)
{
	struct {
		struct nlmsghdr header;
		struct ifinfomsg info;
		char data[128];
	} request = {
		.header = { .nlmsg_type = RTM_NEWLINK,
			    .nlmsg_flags = NLM_F_REQUEST | NLM_F_CREATE | NLM_F_EXCL | NLM_F_ACK },
	};
	struct {
		struct nlmsghdr header;
		struct nlmsgerr error;
		char rest[512];
	} answer = { 0 };
	struct rtattr *attribute = (struct rtattr *)request.data, *inner;
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	ssize_t n;

	*attribute =
		(struct rtattr){ .rta_type = IFLA_IFNAME, .rta_len = (unsigned short)RTA_LENGTH(strlen(name) + 1) };
	memcpy(RTA_DATA(attribute), name, strlen(name) + 1);
	attribute = (struct rtattr *)((char *)attribute + RTA_ALIGN(attribute->rta_len));
	inner = RTA_DATA(attribute);
	*inner = (struct rtattr){ .rta_type = IFLA_INFO_KIND, .rta_len = (unsigned short)RTA_LENGTH(strlen(kind)) };
	memcpy(RTA_DATA(inner), kind, strlen(kind));
	*attribute = (struct rtattr){ .rta_type = IFLA_LINKINFO,
				      .rta_len = (unsigned short)RTA_LENGTH(RTA_ALIGN(inner->rta_len)) };
	request.header.nlmsg_len = (unsigned)((char *)attribute + RTA_ALIGN(attribute->rta_len) - (char *)&request);
	if (fd < 0 || send(fd, &request, request.header.nlmsg_len, 0) < 0)
		return errno;
	n = recv(fd, &answer, sizeof(answer), 0);
	close(fd);
	return n < (ssize_t)(sizeof(answer.header) + sizeof(answer.error)) ? EIO : -answer.error.error;
}

static int set_up(const char *name, bool up)
{
	struct ifreq request = { .ifr_flags = up ? IFF_UP : 0 };
	int result, fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", name);
	result = ioctl(fd, SIOCSIFFLAGS, &request);
	close(fd);
	return result;
}

static const char *const device_kinds[] = { "dummy", "bridge", "veth", "ifb" };
static const char *device_kind; /* one that this kernel has */

static void child_finds_kind(void)
{
	CHECK_INT(netns_make(), 0);
	for (size_t i = 0; i < sizeof(device_kinds) / sizeof(device_kinds[0]); i++)
		if (make_device("second", device_kinds[i]) == 0)
			_exit(10 + (int)i);
}

static void child_second_device(void)
{
	CHECK_INT(netns_make(), 0);
	CHECK_INT(netns_loopback(), 0);
	CHECK_INT(netns_prove(), 0);
	CHECK_INT(make_device("second", device_kind), 0);
	CHECK_INT(netns_prove(), 0); /* down: nothing goes through it */
	CHECK_INT(set_up("second", true), 0);
	CHECK_ERRNO(netns_prove(), EEXIST);
	CHECK_INT(set_up("second", false), 0);
	CHECK_INT(netns_prove(), 0);
}

static int set_address(const char *name, uint32_t address)
{
	struct ifreq request = { 0 };
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(address) };
	int result, fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", name);
	memcpy(&request.ifr_addr, &in, sizeof(in));
	result = ioctl(fd, SIOCSIFADDR, &request);
	close(fd);
	return result;
}

static void child_route(void)
{
	CHECK_INT(netns_make(), 0);
	CHECK_INT(netns_loopback(), 0);
	CHECK_INT(netns_prove_routes(), 0);
	CHECK_INT(make_device("second", device_kind), 0);
	CHECK_INT(netns_prove_routes(), 0);
	CHECK_INT(set_address("second", 0xc0000201), 0);
	CHECK_INT(set_up("second", true), 0);
	CHECK_ERRNO(netns_prove_routes(), EEXIST);
	CHECK_INT(set_up("second", false), 0);
	CHECK_INT(netns_prove_routes(), 0);
}

static void the_proof_sees_a_route(void)
{
	in_space(0, child_route);
}

static void the_proof_sees_a_second_device(void)
{
	in_space(0, child_second_device);
}

/* Which kinds a kernel has is not ours to check: a plain child tells, outside of any test. */
static void find_kind(void)
{
	int status = 0, pidfd;
	pid_t pid = clone_into(CLONE_NEWUSER, -1, &pidfd);

	if (pid == 0) {
		child_finds_kind();
		_exit(0);
	}
	if (pid > 0 && waitpid(pid, &status, __WALL) == pid && WIFEXITED(status) && WEXITSTATUS(status) >= 10)
		device_kind = device_kinds[WEXITSTATUS(status) - 10];
	if (pid > 0)
		close(pidfd);
}

static void user_may_not(void)
{
	CHECK_ERRNO(netns_make(), EPERM);
	/* The host's own: asking to be up what is up already changes nothing and is refused all the same. */
	CHECK_ERRNO(netns_loopback(), EPERM);
}

int main(int argc, char **argv)
{
	enum as_mode mode = as_enter(argc, argv);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	check_name = "listeners";
	CHECK(listener(&host_tcp) >= 0);
	host_name.sun_family = AF_UNIX;
	snprintf(host_name.sun_path + 1, sizeof(host_name.sun_path) - 1, "emberbox-netns-%d", (int)getpid());
	host_name_size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(host_name.sun_path + 1));
	CHECK_INT(bind(fd, (struct sockaddr *)&host_name, host_name_size), 0);
	CHECK_INT(listen(fd, 8), 0);
	RUN(loopback_of_its_own);
	RUN(buffers_are_bounded_inside_alone);
	RUN(the_hosts_is_out_of_reach);
	find_kind();
	if (device_kind) {
		RUN(the_proof_sees_a_second_device);
		RUN(the_proof_sees_a_route);
	} else {
		check_skip("the_proof_sees_a_second_device", "the kernel has no virtual network devices");
		check_skip("the_proof_sees_a_route", "the kernel has no virtual network devices");
	}
	if (mode == AS_USER)
		RUN(user_may_not);
	return check_failures ? 1 : 0;
}
