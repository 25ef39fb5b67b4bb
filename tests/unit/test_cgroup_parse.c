/* The kernel's texts about control groups, as different hosts give them. */
#include "../check.h"

#include "kernel/cgroup.h"
#include "kernel/cgroup_parse.h"

#define MEMORY  CGROUP_BIT(CGROUP_MEMORY)
#define PIDS    CGROUP_BIT(CGROUP_PIDS)
#define CPU     CGROUP_BIT(CGROUP_CPU)
#define CPUACCT CGROUP_BIT(CGROUP_CPUACCT)

static struct cgroup_mount mount;
static struct cgroup_member member;

static bool mount_of(const char *line)
{
	memset(&mount, 0x55, sizeof(mount));
	return cgroup_parse_mount(line, strlen(line), &mount);
}

static bool member_of(const char *line)
{
	memset(&member, 0x55, sizeof(member));
	return cgroup_parse_member(line, strlen(line), &member);
}

static void mount_v1(void)
{
	CHECK(mount_of("35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory"));
	CHECK(!mount.unified);
	CHECK_INT(mount.controllers, MEMORY);
	CHECK_STR(mount.root, "/");
	CHECK_STR(mount.point, "/sys/fs/cgroup/memory");
}

static void mount_v1_with_tags_and_two_controllers(void)
{
	CHECK(mount_of("30 25 0:26 /docker/ab /sys/fs/cgroup/cpu,cpuacct ro,nosuid shared:9 master:3 - cgroup cgroup "
		       "rw,cpu,cpuacct"));
	CHECK_INT(mount.controllers, CPU | CPUACCT);
	CHECK_STR(mount.root, "/docker/ab");
	CHECK_STR(mount.point, "/sys/fs/cgroup/cpu,cpuacct");
}

static void mount_v1_of_others_has_none_of_ours(void)
{
	CHECK(mount_of("40 31 0:37 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,xattr,name=systemd"));
	CHECK_INT(mount.controllers, 0);
}

static void mount_v2(void)
{
	CHECK(mount_of("26 22 0:23 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate"));
	CHECK(mount.unified);
	CHECK_INT(mount.controllers, 0);
	CHECK_STR(mount.point, "/sys/fs/cgroup");
}

static void mount_v2_names_no_controllers(void)
{
	CHECK(mount_of("26 22 0:23 / /c rw - cgroup2 memory rw,memory"));
	CHECK_INT(mount.controllers, 0);
}

static void mount_unescapes(void)
{
	CHECK(mount_of("26 22 0:23 / /a\\040b\\134c\\011 rw - cgroup2 none rw"));
	CHECK_STR(mount.point, "/a b\\c\t");
}

static void mount_with_an_empty_source(void)
{
	CHECK(mount_of("26 22 0:23 / /c rw - cgroup  rw,pids"));
	CHECK_INT(mount.controllers, PIDS);
}

static void mount_refuses(void)
{
	CHECK(!mount_of(""));
	CHECK(!mount_of("27 1 254:0 / / rw,relatime - ext4 /dev/vda rw"));
	CHECK(!mount_of("27 1 254:0 / / rw,relatime - cgroup3 x rw"));
	CHECK(!mount_of("27 1 254:0 / /c rw,relatime"));
	CHECK(!mount_of("27 1 254:0 / /c rw,relatime -"));
	CHECK(!mount_of("27 1 254:0 / /c rw,relatime - cgroup"));
	CHECK(!mount_of("27 1 254:0 / relative rw - cgroup2 x rw"));
	CHECK(!mount_of("27 1 254:0 / /nul\\000 rw - cgroup2 x rw"));
	/* A mount point named "-" is not the separator. */
	CHECK(!mount_of("27 1 254:0 / - cgroup2 x rw"));
}

static void mount_refuses_a_path_too_long(void)
{
	char line[PATH_MAX + 200];

	memset(line, 'a', sizeof(line));
	memcpy(line, "26 22 0:23 / /", 14);
	strcpy(line + 14 + PATH_MAX - 2, " rw - cgroup2 x rw");
	CHECK(mount_of(line));
	memset(line + 14, 'a', sizeof(line) - 14);
	strcpy(line + 14 + PATH_MAX - 1, " rw - cgroup2 x rw");
	CHECK(!mount_of(line));
}

static void member_v1(void)
{
	CHECK(member_of("4:memory:/user.slice/a:b"));
	CHECK(!member.unified);
	CHECK_INT(member.controllers, MEMORY);
	CHECK_STR(member.path, "/user.slice/a:b");
	CHECK(member_of("2:cpu,cpuacct:/"));
	CHECK_INT(member.controllers, CPU | CPUACCT);
	CHECK(member_of("9:name=systemd:/"));
	CHECK_INT(member.controllers, 0);
	CHECK(!member.unified);
}

static void member_v2(void)
{
	CHECK(member_of("0::/user.slice/user-1000.slice"));
	CHECK(member.unified);
	CHECK_INT(member.controllers, 0);
	CHECK_STR(member.path, "/user.slice/user-1000.slice");
}

static void member_refuses(void)
{
	CHECK(!member_of(""));
	CHECK(!member_of("0"));
	CHECK(!member_of("0:"));
	CHECK(!member_of("0::"));
	CHECK(!member_of("0::relative"));
	CHECK(!cgroup_parse_member("0::/a\0b", 7, &member));
}

static void controllers_by_whole_words(void)
{
	CHECK_INT(cgroup_parse_controllers("cpuset cpu io memory pids\n", 26), CPU | MEMORY | PIDS);
	CHECK_INT(cgroup_parse_controllers("cpuset,cpuacct2,memory_x", 24), 0);
	CHECK_INT(cgroup_parse_controllers("", 0), 0);
	CHECK_INT(cgroup_parse_controllers(",,,cpu", 6), CPU);
	/* The length ends the word, not a terminator. */
	CHECK_INT(cgroup_parse_controllers("cpuacct", 3), CPU);
}

static bool number_is(const char *text, uint64_t want)
{
	uint64_t value;

	return cgroup_parse_number(text, strlen(text), &value) && value == want;
}

static void numbers(void)
{
	uint64_t value;

	CHECK(number_is("0\n", 0));
	CHECK(number_is("67108864\n", 67108864));
	CHECK(number_is("max\n", UINT64_MAX));
	CHECK(number_is("18446744073709551615", UINT64_MAX));
	CHECK(!cgroup_parse_number("18446744073709551616", 20, &value));
	CHECK(!cgroup_parse_number("-1\n", 3, &value));
	CHECK(!cgroup_parse_number("", 0, &value));
	CHECK(!cgroup_parse_number("\n", 1, &value));
	CHECK(!cgroup_parse_number("12x", 3, &value));
	CHECK(!cgroup_parse_number("maxx", 4, &value));
}

static void fields(void)
{
	static const char events[] = "low 0\nhigh 0\nmax 311\noom 2\noom_kill 1\noom_group_kill 4\n";
	static const char control[] = "oom_kill_disable 0\nunder_oom 0\noom_kill 7";
	static const char stat[] = "usage_usec 123456\nuser_usec 100000\nsystem_usec 23456\n";
	uint64_t value;

	CHECK(cgroup_parse_field(events, sizeof(events) - 1, "oom_kill", &value));
	CHECK_INT(value, 1);
	CHECK(cgroup_parse_field(events, sizeof(events) - 1, "oom", &value));
	CHECK_INT(value, 2);
	CHECK(cgroup_parse_field(control, sizeof(control) - 1, "oom_kill", &value));
	CHECK_INT(value, 7);
	CHECK(cgroup_parse_field(stat, sizeof(stat) - 1, "usage_usec", &value));
	CHECK_INT(value, 123456);
	CHECK(!cgroup_parse_field(stat, sizeof(stat) - 1, "usage", &value));
	CHECK(!cgroup_parse_field(stat, 10, "usage_usec", &value));
	CHECK(!cgroup_parse_field("oom_kill\n", 9, "oom_kill", &value));
	CHECK(!cgroup_parse_field("", 0, "oom_kill", &value));
}

static void cpu_max(void)
{
	uint64_t quota, period;

	CHECK(cgroup_parse_cpu_max("50000 100000\n", 13, &quota, &period));
	CHECK_INT(quota, 50000);
	CHECK_INT(period, 100000);
	CHECK(cgroup_parse_cpu_max("max 100000\n", 11, &quota, &period));
	CHECK(quota == UINT64_MAX);
	CHECK(!cgroup_parse_cpu_max("50000\n", 6, &quota, &period));
	CHECK(!cgroup_parse_cpu_max("50000 max\n", 10, &quota, &period));
	CHECK(!cgroup_parse_cpu_max("", 0, &quota, &period));
}

static void paths(void)
{
	CHECK_STR(cgroup_path_below("/", "/"), "");
	CHECK_STR(cgroup_path_below("/", "/a/b"), "/a/b");
	CHECK_STR(cgroup_path_below("/docker/x", "/docker/x"), "");
	CHECK_STR(cgroup_path_below("/docker/x", "/docker/x/y"), "/y");
	CHECK(!cgroup_path_below("/docker/x", "/docker/xy"));
	CHECK(!cgroup_path_below("/docker/x", "/docker"));
	CHECK(!cgroup_path_below("/", "/../other"));
	CHECK(!cgroup_path_below("/..", "/"));
	CHECK(!cgroup_path_below("/", "/a/.."));
	CHECK_STR(cgroup_path_below("/", "/..a"), "/..a");
}

static void lines(void)
{
	const char *text = "a\n\nbc", *line;
	size_t length = 5, n;

	CHECK(cgroup_next_line(&text, &length, &line, &n));
	CHECK(n == 1 && line[0] == 'a');
	CHECK(cgroup_next_line(&text, &length, &line, &n));
	CHECK_INT(n, 0);
	CHECK(cgroup_next_line(&text, &length, &line, &n));
	CHECK(n == 2 && memcmp(line, "bc", 2) == 0);
	CHECK(!cgroup_next_line(&text, &length, &line, &n));
}

int main(void)
{
	RUN(mount_v1);
	RUN(mount_v1_with_tags_and_two_controllers);
	RUN(mount_v1_of_others_has_none_of_ours);
	RUN(mount_v2);
	RUN(mount_v2_names_no_controllers);
	RUN(mount_unescapes);
	RUN(mount_with_an_empty_source);
	RUN(mount_refuses);
	RUN(mount_refuses_a_path_too_long);
	RUN(member_v1);
	RUN(member_v2);
	RUN(member_refuses);
	RUN(controllers_by_whole_words);
	RUN(numbers);
	RUN(fields);
	RUN(cpu_max);
	RUN(paths);
	RUN(lines);
	return check_failures != 0;
}
