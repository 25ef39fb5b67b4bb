/*
 * Finds the place on this host where groups of boxes may be created.
 *
 * This happens at every run, so the usual case is short: /proc/self/mountinfo
 * and /proc/self/cgroup are read once, and a few calls recognize a site that an
 * earlier run prepared. Only the first run on a host creates directories and
 * enables controllers.
 *
 * On v2 three places are tried. First, the caller's own group: a group with
 * processes has no controllers for its children, so a caller that is alone in
 * its group moves itself into a child of it, `emberbox-self`, and the boxes'
 * groups are created beside that child. Second, a group above, such as those
 * that systemd's user manager lets its user write: the kernel starts a process
 * in another group only if the caller may write to a common ancestor of both
 * groups. Third, only for root, /emberbox below the top of the tree: the real
 * root group is exempt from the rule about processes.
 *
 * Root may write to every group, so write permission does not show which groups
 * it may divide. Root takes the first two places only up to the group that was
 * delegated. systemd is the only writer of the rest of the tree.
 */
#include "kernel/cgroup.h"
#include "kernel/cgroup_parse.h"
#include "base/own.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>

#define GROUP_NAME "emberbox"
#define TCP_LIMIT  "memory.kmem.tcp.limit_in_bytes"
#define SELF_NAME  "emberbox-self"
#define V2_BITS    (CGROUP_BIT(CGROUP_MEMORY) | CGROUP_BIT(CGROUP_PIDS) | CGROUP_BIT(CGROUP_CPU))
#define MUST_BITS  (CGROUP_BIT(CGROUP_MEMORY) | CGROUP_BIT(CGROUP_PIDS))
#define USER_FIX   "start it in a scope of its own with: systemd-run --user --scope -p Delegate=yes emberbox run ..."

struct tree {
	bool unified;         /* a v2 tree */
	unsigned controllers; /* v1: those of our controllers that are in this hierarchy */
	char top[PATH_MAX];   /* its mount point */
	char root[PATH_MAX];  /* the group at the mount point */
	char own[PATH_MAX];   /* the caller's own group under the mount point, "" if it is not visible */
};

/* At most one for each of our v1 controllers, and the unified tree. */
struct trees {
	size_t count;                             /* number of entries of tree */
	struct tree tree[CGROUP_CONTROLLERS + 1]; /* the visible ones */
	struct tree hidden;                       /* a needed tree that another mount covers, or empty */
};

__attribute__((format(printf, 2, 3))) static void explain(struct cgroup_site *site, const char *format, ...)
{
	va_list args;

	/* The first reason stays: later ones are about second choices. */
	if (site->why[0])
		return;
	va_start(args, format);
	vsnprintf(site->why, sizeof(site->why), format, args);
	va_end(args);
}

static int join_path(char out[PATH_MAX], const char *base, const char *rest)
{
	int n = snprintf(out, PATH_MAX, "%s%s%s", strcmp(base, "/") == 0 ? "" : base,
			 rest[0] && rest[0] != '/' ? "/" : "", rest);
	if (n < 0 || n >= PATH_MAX) {
		errno = ENAMETOOLONG;
		return -1;
	}
	return 0;
}

/* Reads a whole file of /proc. The caller frees it; NULL with errno. */
static char *read_whole(const char *path, size_t *length)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	_cleanup_free_ char *text = NULL;
	size_t used = 0, room = 0;

	if (fd < 0)
		return NULL;
	for (;;) {
		if (used == room) {
			room = room ? room * 2 : 32768;
			char *more = realloc(text, room);
			if (!more)
				return NULL;
			text = more;
		}
		ssize_t n = read(fd, text + used, room - used);
		if (n < 0)
			return NULL;
		if (n == 0)
			break;
		used += (size_t)n;
	}
	*length = used;
	return take_ptr(text);
}

/* Reads a short file of a group. Returns the number of bytes, or -1. */
static ssize_t read_file(const char *group, const char *file, char *out, size_t size)
{
	char path[PATH_MAX];

	if (join_path(path, group, file) < 0)
		return -1;
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -1 : read(fd, out, size);
}

static int write_file(const char *group, const char *file, const char *text)
{
	char path[PATH_MAX];

	if (join_path(path, group, file) < 0)
		return -1;
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CLOEXEC);
	return fd < 0 || write(fd, text, strlen(text)) < 0 ? -1 : 0;
}

static bool may_write(const char *group, const char *file)
{
	char path[PATH_MAX];

	return join_path(path, group, file) == 0 && faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) == 0;
}

static bool group_has(const char *group, const char *file)
{
	char path[PATH_MAX];

	return join_path(path, group, file) == 0 && access(path, F_OK) == 0;
}

/*
 * The first group with a limit of TCP memory makes the kernel patch its own code, which takes 0.6 ms. The site keeps
 * such a limit, so that setting the limit of a box takes 50 µs.
 */
static void keep_tcp_counted(const char *path)
{
	(void)!write_file(path, TCP_LIMIT, "-1");
}

/* Whether the caller may create groups in this directory. Creates the directory if it is missing. */
static int site_claim(const char *path, bool unified)
{
	struct statfs fs;
	bool made = true;

	/* mkdir of an existing directory returns EEXIST even to callers who may not write to it. */
	if (faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) == 0) {
		made = false;
	} else if (errno != ENOENT || mkdir(path, 0755) < 0) {
		made = false;
		/* Another emberbox that started at the same time created it. */
		if (errno != EEXIST || faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) < 0)
			return -1;
	}
	/* A later mount may hide the one that mountinfo lists. */
	if (statfs(path, &fs) < 0)
		return -1;
	if ((unsigned long)fs.f_type != (unified ? CGROUP2_SUPER_MAGIC : CGROUP_SUPER_MAGIC)) {
		errno = ENOTSUP;
		return -1;
	}
	if (made && !unified && group_has(path, TCP_LIMIT))
		keep_tcp_counted(path);
	return 0;
}

static void add_mount(struct trees *trees, const struct cgroup_mount *mount)
{
	struct tree *tree = NULL;

	if (!mount->unified && !mount->controllers)
		return;
	for (size_t i = 0; i < trees->count; i++) {
		struct tree *known = &trees->tree[i];
		if (known->unified != mount->unified || known->controllers != mount->controllers)
			continue;
		/* The tree is mounted twice: on the same mount point the later mount hides the first; otherwise the
		 * mount that shows more of the tree is better. */
		if (strcmp(known->top, mount->point) != 0 && strlen(mount->root) >= strlen(known->root))
			return;
		tree = known;
	}
	if (!tree) {
		if (trees->count == ARRAY_SIZE(trees->tree))
			return;
		tree = &trees->tree[trees->count++];
	}
	tree->unified = mount->unified;
	tree->controllers = mount->controllers;
	strcpy(tree->top, mount->point);
	strcpy(tree->root, mount->root);
}

static void add_member(struct trees *trees, const struct cgroup_member *member)
{
	for (size_t i = 0; i < trees->count; i++) {
		struct tree *tree = &trees->tree[i];
		if (tree->unified ? !member->unified : !(tree->controllers & member->controllers))
			continue;
		const char *rest = cgroup_path_below(tree->root, member->path);
		if (!rest || join_path(tree->own, tree->top, rest) < 0)
			tree->own[0] = '\0';
	}
}

/* Whether the tree is visible at its mount point: a later mount there or above it would hide it. */
static bool is_seen(const struct tree *tree)
{
	struct statfs fs;

	return statfs(tree->top, &fs) == 0 &&
	       (unsigned long)fs.f_type == (tree->unified ? CGROUP2_SUPER_MAGIC : CGROUP_SUPER_MAGIC);
}

static void drop_hidden(struct trees *trees)
{
	size_t kept = 0;

	for (size_t i = 0; i < trees->count; i++) {
		const struct tree *tree = &trees->tree[i];
		if (is_seen(tree))
			memmove(&trees->tree[kept++], tree, sizeof(*tree));
		else if (!trees->hidden.top[0] && (tree->unified || (tree->controllers & MUST_BITS)))
			trees->hidden = *tree;
	}
	trees->count = kept;
}

static int trees_gather(struct trees *trees, struct error *err)
{
	_cleanup_free_ char *mounts = NULL, *members = NULL;
	_cleanup_free_ struct cgroup_mount *mount = malloc(sizeof(*mount));
	_cleanup_free_ struct cgroup_member *member = malloc(sizeof(*member));
	const char *text, *line;
	size_t length, n;

	if (!mount || !member)
		return error_set(err, ERROR_FAILED, ENOMEM, "Reading the control groups");
	mounts = read_whole("/proc/self/mountinfo", &length);
	if (!mounts)
		return error_errno(err, "Reading /proc/self/mountinfo");
	for (text = mounts; cgroup_next_line(&text, &length, &line, &n);)
		if (cgroup_parse_mount(line, n, mount))
			add_mount(trees, mount);
	drop_hidden(trees);
	if (!trees->count)
		return 0;
	members = read_whole("/proc/self/cgroup", &length);
	if (!members)
		return error_errno(err, "Reading /proc/self/cgroup");
	for (text = members; cgroup_next_line(&text, &length, &line, &n);)
		if (cgroup_parse_member(line, n, member))
			add_member(trees, member);
	return 0;
}

/* v1: `emberbox` at the top of the hierarchy if the caller may write there, otherwise below the caller's group. */
static int place_v1(const struct tree *tree, char base[PATH_MAX])
{
	if (join_path(base, tree->top, GROUP_NAME) == 0 && site_claim(base, false) == 0)
		return 0;
	if (!tree->own[0] || strcmp(tree->own, tree->top) == 0)
		return -1;
	return join_path(base, tree->own, GROUP_NAME) == 0 && site_claim(base, false) == 0 ? 0 : -1;
}

/* Those of our controllers that the children of a group have. */
static unsigned controllers_enabled(const char *group)
{
	char text[512];
	ssize_t n = read_file(group, "cgroup.subtree_control", text, sizeof(text));

	return n < 0 ? 0 : cgroup_parse_controllers(text, (size_t)n);
}

/* Enables those of `want` that the group has for its children. Returns the ones that they then have. */
static unsigned controllers_enable(const char *group, unsigned want)
{
	char text[512];
	unsigned have = controllers_enabled(group) & want;

	if (have == want)
		return have;
	ssize_t n = read_file(group, "cgroup.controllers", text, sizeof(text));
	unsigned can = n < 0 ? 0 : cgroup_parse_controllers(text, (size_t)n) & want;
	unsigned must = MUST_BITS & want;
	if ((can & must) != must)
		return have;
	/* The kernel refuses one write as a whole, so cpu is separate: it cannot be enabled while there are realtime
	 * processes. */
	if ((can & CGROUP_BIT(CGROUP_MEMORY)) && write_file(group, "cgroup.subtree_control", "+memory") < 0)
		return have;
	if ((can & CGROUP_BIT(CGROUP_PIDS)) && write_file(group, "cgroup.subtree_control", "+pids") < 0)
		return have;
	if (can & CGROUP_BIT(CGROUP_CPU))
		(void)!write_file(group, "cgroup.subtree_control", "+cpu");
	return controllers_enabled(group) & want;
}

static bool is_enough(unsigned have, unsigned want)
{
	unsigned must = MUST_BITS & want;

	return have && (have & must) == must;
}

/* Prepares `emberbox` below the group `above`. Returns the controllers that it has, or 0. */
static unsigned place_below(const char *above, unsigned want, char base[PATH_MAX])
{
	if (join_path(base, above, GROUP_NAME) < 0)
		return 0;
	/* An earlier run has prepared it. */
	if (controllers_enabled(base) == want && site_claim(base, true) == 0)
		return want;
	if (!may_write(above, "cgroup.subtree_control"))
		return 0;
	unsigned have = controllers_enable(above, want);
	if (!is_enough(have, want) || site_claim(base, true) < 0)
		return 0;
	have = controllers_enable(base, have);
	return is_enough(have, want) ? have : 0;
}

static bool is_alone(const char *group)
{
	char text[64], want[32];
	ssize_t n = read_file(group, "cgroup.procs", text, sizeof(text));
	int w = snprintf(want, sizeof(want), "%d\n", getpid());

	return n == w && memcmp(text, want, (size_t)w) == 0;
}

/* Prepares the caller's own group: moves the caller into a child of it. */
static unsigned place_own(const char *own, unsigned want)
{
	char self[PATH_MAX];

	if (!may_write(own, "") || !may_write(own, "cgroup.subtree_control") || !may_write(own, "cgroup.procs") ||
	    !is_alone(own))
		return 0;
	if (join_path(self, own, SELF_NAME) < 0 || site_claim(self, true) < 0)
		return 0;
	if (write_file(self, "cgroup.procs", "0") < 0) {
		rmdir(self);
		return 0;
	}
	unsigned have = controllers_enable(own, want);
	if (is_enough(have, want))
		return have;
	/* Move the caller back. */
	if (write_file(own, "cgroup.procs", "0") == 0)
		rmdir(self);
	return 0;
}

/* systemd marks a delegated group with trusted.delegate, or, since 5.7 supports such attributes on groups,
 * user.delegate. */
static bool is_marked(const char *group)
{
	static const char *const marks[] = { "user.delegate", "trusted.delegate" };
	char value[2];

	for (size_t i = 0; i < ARRAY_SIZE(marks); i++)
		if (getxattr(group, marks[i], value, sizeof(value)) == 1 && value[0] == '1')
			return true;
	return false;
}

/*
 * Goes to the parent group, if it is still in the tree. It never reaches "/": a
 * tree's mount point has a name.
 */
static bool group_climb(const struct tree *tree, char group[PATH_MAX])
{
	char *slash = strrchr(group, '/');

	if (strlen(group) <= strlen(tree->top) || !slash || slash == group)
		return false;
	*slash = '\0';
	return true;
}

/* Finds the group up to which root's own group was delegated. False if it was not. */
static bool find_delegated(const struct tree *tree, char group[PATH_MAX])
{
	strcpy(group, tree->own);
	do {
		if (is_marked(group))
			return true;
	} while (group_climb(tree, group));
	/* A container owns its part of the tree. Only groups below the real root have a file cgroup.type. */
	return strcmp(tree->own, tree->top) == 0 && group_has(group, "cgroup.type");
}

/* Prepares the caller's own group, or one above it up to `last`; "": up to the last that the caller may write to. */
static unsigned place_delegated(const struct tree *tree, const char *last, unsigned want, char base[PATH_MAX])
{
	char above[PATH_MAX];
	unsigned have;

	if (group_has(tree->own, "cgroup.type") && (have = place_own(tree->own, want))) {
		strcpy(base, tree->own);
		return have;
	}
	strcpy(above, tree->own);
	while (strcmp(above, last) != 0 && group_climb(tree, above)) {
		/* The common ancestor must be writable, so no group above this one helps. */
		if (!may_write(above, "cgroup.procs"))
			break;
		if ((have = place_below(above, want, base)))
			return have;
	}
	return 0;
}

/* v2: prepares a base for groups. Returns those of `want` that its groups have, or 0. */
static unsigned place_v2(const struct tree *tree, unsigned want, char base[PATH_MAX])
{
	char last[PATH_MAX] = "";
	/* If the top is not writable, as for root of a user namespace, write permission shows which groups are the
	 * caller's. */
	bool root = geteuid() == 0 && may_write(tree->top, "cgroup.procs");
	unsigned have;

	strcpy(base, tree->own);
	const char *slash = strrchr(base, '/');
	if (slash && strcmp(slash + 1, SELF_NAME) == 0 && group_climb(tree, base)) {
		/* An earlier call moved this process there. */
		have = controllers_enabled(base) & want;
		if (is_enough(have, want) && site_claim(base, true) == 0)
			return have;
	}
	if (tree->own[0] && (!root || find_delegated(tree, last)) && (have = place_delegated(tree, last, want, base)))
		return have;
	return root ? place_below(tree->top, want, base) : 0;
}

/* The caller's uid in the first user namespace: 0 for root that is not only root of a user namespace. */
static uid_t uid_outside(void)
{
	_cleanup_fclose_ FILE *map = fopen("/proc/self/uid_map", "re");
	unsigned inside, outside, count;

	while (map && fscanf(map, "%u %u %u", &inside, &outside, &count) == 3)
		if (geteuid() >= inside && geteuid() - inside < count)
			return outside + (geteuid() - inside);
	return geteuid();
}

/* Sets the reason why root, or root of a container, found no place: it tried the top last. */
static void explain_top(struct cgroup_site *site, const char *top, unsigned lacks)
{
	const char *missing = lacks & CGROUP_BIT(CGROUP_MEMORY) ? "memory" : "pids";

	if (lacks)
		explain(site,
			"The control groups under %.60s have no %s controller; it is disabled at "
			"boot (cgroup_disable=%s) or not delegated to this container",
			top, missing, missing);
	else if (!may_write(top, "cgroup.procs"))
		explain(site,
			"The control groups under %.60s are read-only; make them writable with: "
			"mount -o remount,rw %.60s",
			top, top);
	else
		explain(site,
			"The control group %.60s holds other processes and cannot be divided; move them into one "
			"below it with: mkdir -p %.60s/init && for p in $(cat %.60s/cgroup.procs); do echo $p "
			">%.60s/init/cgroup.procs; done",
			top, top, top, top);
}

static void explain_v2(struct cgroup_site *site, const struct tree *tree, unsigned want)
{
	char text[512];
	bool user = geteuid() != 0 || (uid_outside() != 0 && strcmp(tree->own, tree->top) != 0);
	const char *group = user && tree->own[0] ? tree->own : tree->top;
	ssize_t n = read_file(group, "cgroup.controllers", text, sizeof(text));
	unsigned lacks = n < 0 ? 0 : MUST_BITS & want & ~cgroup_parse_controllers(text, (size_t)n);

	if (!user)
		explain_top(site, tree->top, lacks);
	else
		explain(site, "The control group %.120s is not delegated to the caller%s; " USER_FIX, group,
			lacks ? " and lacks the memory or pids controller" : "");
}

/* `refusal` is the errno of the attempt. */
static void explain_v1(struct cgroup_site *site, const struct trees *trees, const struct tree *tree, int refusal)
{
	char groups[320] = "";
	size_t used = 0;

	if (refusal == EROFS) {
		explain(site,
			"The control groups under %.120s are read-only; make them writable with: mount -o remount,rw "
			"%.120s",
			tree->top, tree->top);
		return;
	}
	if (uid_outside() == 0) {
		explain(site, "No control group can be made under %.120s: %s", tree->top, strerror(refusal));
		return;
	}
	for (size_t i = 0; i < trees->count; i++)
		if (!trees->tree[i].unified && used < sizeof(groups))
			used += (size_t)snprintf(groups + used, sizeof(groups) - used, " %s/" GROUP_NAME,
						 trees->tree[i].top);
	explain(site,
		"The caller may not create control groups under %.60s; root can delegate one with: sudo install -d -o "
		"%u%s",
		tree->top, (unsigned)uid_outside(), groups);
}

static void explain_hidden(struct cgroup_site *site, const struct tree *tree)
{
	if (tree->unified)
		explain(site,
			"Another mount covers the control group file system at %.120s; "
			"mount it with: mount -t cgroup2 none %.120s",
			tree->top, tree->top);
	else
		explain(site,
			"Another mount covers the control group file system at %.120s; "
			"mount it with: mkdir -p %.120s && mount -t cgroup -o %s none %.120s",
			tree->top, tree->top,
			tree->controllers & CGROUP_BIT(CGROUP_MEMORY) ? "memory"
			: tree->controllers & CGROUP_BIT(CGROUP_PIDS) ? "pids"
								      : "cpu,cpuacct",
			tree->top);
}

static void site_use(struct cgroup_site *site, const struct tree *tree, unsigned controllers)
{
	/* The caller has filled base[count]. */
	for (int c = 0; c < CGROUP_CONTROLLERS; c++)
		if (controllers & CGROUP_BIT(c))
			site->where[c] = (int)site->count;
	site->unified[site->count++] = tree->unified;
}

static void find_v1(struct cgroup_site *site, const struct trees *trees)
{
	for (size_t i = 0; i < trees->count && site->count < CGROUP_CONTROLLERS; i++) {
		const struct tree *tree = &trees->tree[i];
		if (tree->unified)
			continue;
		if (place_v1(tree, site->base[site->count]) == 0)
			site_use(site, tree, tree->controllers);
		else if (tree->controllers & MUST_BITS)
			explain_v1(site, trees, tree, errno);
	}
}

static void find_v2(struct cgroup_site *site, const struct trees *trees)
{
	unsigned want = V2_BITS;

	/* A controller is in one tree only; v1 has precedence. */
	for (size_t i = 0; i < trees->count; i++)
		want &= ~trees->tree[i].controllers;
	if (!want)
		return;
	for (size_t i = 0; i < trees->count && site->count < CGROUP_CONTROLLERS; i++) {
		const struct tree *tree = &trees->tree[i];
		if (!tree->unified)
			continue;
		unsigned have = place_v2(tree, want, site->base[site->count]);
		if (have)
			site_use(site, tree, have);
		else if (want & MUST_BITS)
			explain_v2(site, tree, want);
	}
}

static bool swap_is_on(void)
{
	char text[512];
	ssize_t n = read_file("/proc", "swaps", text, sizeof(text));
	const char *end = n > 0 ? memchr(text, '\n', (size_t)n) : NULL;

	/* The first line is a header. */
	return end && end + 1 < text + n;
}

/*
 * On v2, a group that does not count swap limits nothing while swap is on:
 * pages above memory.max go to swap. (On v1 the group's swappiness prevents
 * this.)
 */
static bool swap_escapes(const struct cgroup_site *site)
{
	int memory = site->where[CGROUP_MEMORY];

	return site->unified[memory] && !group_has(site->base[memory], "memory.swap.max") && swap_is_on();
}

int cgroup_find(struct cgroup_site *site, struct error *err)
{
	_cleanup_free_ struct trees *trees = calloc(1, sizeof(*trees));

	site->version = 0;
	site->count = 0;
	site->why[0] = '\0';
	for (int c = 0; c < CGROUP_CONTROLLERS; c++)
		site->where[c] = -1;
	if (!trees)
		return error_set(err, ERROR_FAILED, ENOMEM, "Looking for control groups");
	if (trees_gather(trees, err) < 0)
		return -1;
	/* The hidden mount is the reason why there is no site. */
	if (trees->hidden.top[0])
		explain_hidden(site, &trees->hidden);
	find_v1(site, trees);
	find_v2(site, trees);
	if (site->where[CGROUP_MEMORY] >= 0 && site->where[CGROUP_PIDS] >= 0 && swap_escapes(site)) {
		site->why[0] = '\0';
		explain(site, "Control groups do not count swap here, and swap is on; boot with swapaccount=1, or "
			      "switch it off with: swapoff -a");
	} else if (site->where[CGROUP_MEMORY] >= 0 && site->where[CGROUP_PIDS] >= 0) {
		site->version = 2;
		for (size_t i = 0; i < site->count; i++)
			if (!site->unified[i])
				site->version = 1;
		site->why[0] = '\0';
		return 0;
	}
	if (!trees->count)
		explain(site,
			"No control group file system is mounted; mount it with: mount -t cgroup2 none /sys/fs/cgroup");
	explain(site, "No control group tree has a %s controller; the kernel lacks it or was booted with it disabled",
		site->where[CGROUP_MEMORY] < 0 ? "memory" : "pids");
	site->count = 0;
	for (int c = 0; c < CGROUP_CONTROLLERS; c++)
		site->where[c] = -1;
	return 0;
}
