#include "engine/local/plan_parts.h"

#include "base/own.h"
#include "kernel/mount.h"
#include "kernel/seccomp.h"
#include "language/elf.h"

#include <errno.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	TERMINALS_MAX = 16 /* of one box */
};

enum {
	PROCESSES_SPARE = 16 /* that RLIMIT_NPROC has beyond a control group's */
};

void plan_add(struct builder *b, struct op op)
{
	if (b->plan->op_count >= PLAN_OPS_MAX) {
		b->failed = true;
		return;
	}
	b->plan->ops[b->plan->op_count++] = op;
}

static void add_layer(struct builder *b, const char *text)
{
	if (!text || b->plan->layer_count >= PLAN_LAYERS_MAX)
		b->failed = true;
	else
		b->plan->layers[b->plan->layer_count++] = text;
}

static void add_rule(struct builder *b, const char *path, enum landlock_access access)
{
	if (b->plan->rule_count >= PLAN_RULES_MAX)
		b->failed = true;
	else
		b->plan->rules[b->plan->rule_count++] = (struct landlock_rule){ path, access };
}

/* One layer that the host may lack: used, given up knowingly, or the run is refused. */
static int need(const struct spec *spec, enum layer layer, bool there, bool *use, const char *why, struct error *err)
{
	*use = there;
	if (there || spec->weaker[layer])
		return 0;
	return error_refuse(err, CODE_CANNOT_ENFORCE, "",
			    "this host cannot enforce %s: %s; accept that with --allow-weaker %s", layer_name(layer),
			    why, layer_name(layer));
}

static int choose_layers(const struct spec *spec, const struct probe *probe, struct plan *plan, bool *seccomp,
			 struct error *err)
{
	bool use;

	if (need(spec, LAYER_LANDLOCK, probe->landlock > 0, &use,
		 "the kernel has no Landlock, or it is switched off (lsm= at boot)", err) < 0)
		return -1;
	plan->landlock = probe->landlock;
	if (need(spec, LAYER_SECCOMP, probe->seccomp, seccomp, "the kernel has no seccomp filters", err) < 0)
		return -1;
	plan->group = probe->cgroup.version != 0;
	plan->range = probe->range;
	/* Ordinary users mostly have no group of their own: the supervisor counts for them. Root always could have one.
	 */
	plan->accounted = !plan->group;
	if (!plan->group && probe->range && need(spec, LAYER_CGROUP, false, &use, probe->cgroup.why, err) < 0)
		return -1;
	/* The default may go unenforced, and the result says so; a limit that somebody asked for may not. */
	if (spec->limits.cpus > 0 && !spec->weaker[LAYER_CGROUP] &&
	    (!plan->group || probe->cgroup.where[CGROUP_CPU] < 0))
		return error_refuse(err, CODE_CANNOT_ENFORCE, "",
				    "this host cannot limit CPU (--cpus): %s; leave --cpus out, or accept that with "
				    "--allow-weaker cgroup",
				    plan->group ? "the control group has no cpu controller" : probe->cgroup.why);
	return 0;
}

static void plan_identity(struct builder *b)
{
	/* Before the maps, which the supervisor writes meanwhile, and on v1 makes the group: both sides take about as
	 * long. A stem's boxes are made in a network already. */
	if (!b->plan->shared) {
		plan_add(b, (struct op){ .kind = OP_NETNS });
		plan_add(b, (struct op){ .kind = OP_LOOPBACK });
		if (b->plan->plant)
			plan_add(b, (struct op){ .kind = OP_PLANT });
	}
	plan_add(b, (struct op){ .kind = OP_MAPPED });
	if (b->plan->group)
		plan_add(b, (struct op){ .kind = OP_JOIN });
	plan_add(b, (struct op){ .kind = OP_BECOME, .no_groups = b->plan->range });
	plan_add(b, (struct op){ .kind = OP_LEASH });
	plan_add(b, (struct op){ .kind = OP_CGROUPNS });
	plan_add(b, (struct op){ .kind = OP_HOSTNAME, .path = "emberbox" });
}

void plan_bind(struct builder *b, const char *path)
{
	for (size_t i = 0; i < b->plan->op_count; i++)
		if (b->plan->ops[i].kind == OP_BIND && strcmp(b->plan->ops[i].from, path) == 0)
			return;
	plan_add(b, (struct op){ .kind = OP_BIND, .from = path, .path = path + 1 });
}

/* The command where a shell would find it; NULL when this host does not have it. */
static const char *find_command(struct builder *b, const char *name)
{
	static const char *const places[] = { "/usr/bin", "/bin", "/usr/local/bin" };

	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		const char *path = arena_printf(&b->plan->arena, "%s/%s", places[i], name);

		if (path && access(path, X_OK) == 0)
			return path;
	}
	return NULL;
}

static int plan_command(struct builder *b, const char *path, struct elf_files *needs, struct error *err)
{
	if (elf_needs(path, &b->plan->arena, needs, err) < 0)
		return -1;
	plan_bind(b, path);
	return 0;
}

/* Files that a command loads by itself: a pattern of paths. */
static int plan_parts(struct builder *b, const char *pattern, struct elf_files *needs, struct error *err)
{
	glob_t found;
	int done = 0;

	if (glob(pattern, 0, NULL, &found) != 0)
		return 0;
	for (size_t i = 0; i < found.gl_pathc && done == 0; i++) {
		const char *path = arena_string(&b->plan->arena, found.gl_pathv[i]);

		done = path ? plan_command(b, path, needs, err)
			    : error_set(err, ERROR_FAILED, ENOMEM, "cannot make the plan");
	}
	globfree(&found);
	return done;
}

/* Of /usr only what the profile lists: the commands, the language's own tools, and their libraries. */
static int plan_commands(struct builder *b, struct error *err)
{
	const struct runtime *runtime = b->job->runtime;
	struct elf_files *needs = arena_alloc(&b->plan->arena, sizeof(*needs));
	size_t count = 0;

	if (!needs)
		return error_set(err, ERROR_FAILED, ENOMEM, "cannot make the plan");
	for (size_t i = 0; i < runtime->tool_count; i++) {
		char tool[4096];

		if (runtime_tool_path(&runtime->tools[i], tool, sizeof(tool)) &&
		    plan_command(b, arena_string(&b->plan->arena, tool), needs, err) < 0)
			return -1;
	}
	for (const char *const *name = b->job->profile->commands; *name; name++) {
		const char *path = **name == '/' ? NULL : find_command(b, *name);

		if (**name == '/' && plan_parts(b, *name, needs, err) < 0)
			return -1;
		if (path && plan_command(b, path, needs, err) < 0)
			return -1;
		count += path != NULL;
	}
	for (size_t i = 0; i < needs->count; i++)
		plan_bind(b, needs->paths[i]);
	add_layer(b, arena_printf(&b->plan->arena, "profile: %s, %zu commands, nothing written can be executed",
				  b->job->profile->name, count));
	return 0;
}

/* /bin and its like are links into /usr on merged systems, and directories of their own elsewhere. */
static void plan_top(struct builder *b)
{
	static const char *const names[] = { "bin", "sbin", "lib", "lib32", "lib64", "libx32" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		char *host = arena_printf(&b->plan->arena, "/%s", names[i]);
		char target[64];
		struct stat st;
		ssize_t n;

		if (!host || lstat(host, &st) < 0)
			continue;
		if (S_ISDIR(st.st_mode)) {
			if (!b->job->profile)
				plan_add(b, (struct op){ .kind = OP_BIND, .from = host, .path = names[i] });
			continue;
		}
		n = readlink(host, target, sizeof(target));
		if (n > 0 && n < (ssize_t)sizeof(target))
			plan_add(b, (struct op){ .kind = OP_LINK,
						 .path = names[i],
						 .from = arena_copy(&b->plan->arena, target, (size_t)n) });
	}
}

static const char *const devices[] = {
	"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"
};

/* Mapped shared and writable it is memory that no process shows; where only those are counted it can be read. */
static bool device_hides(const struct builder *b, const char *device)
{
	return b->plan->accounted && strcmp(device, "/dev/zero") == 0;
}

static void plan_dev(struct builder *b)
{
	static const char *const links[][2] = {
		{ "dev/fd", "/proc/self/fd" },
		{ "dev/stdin", "/proc/self/fd/0" },
		{ "dev/stdout", "/proc/self/fd/1" },
		{ "dev/stderr", "/proc/self/fd/2" },
	};

	plan_add(b, (struct op){ .kind = OP_DIR, .path = "dev", .mode = 0755 });
	for (size_t i = 0; i < ARRAY_SIZE(devices); i++) {
		if (device_hides(b, devices[i]) && !b->plan->landlock)
			continue;
		plan_add(b, (struct op){ .kind = OP_DEVICE, .from = devices[i], .path = devices[i] + 1 });
	}
	for (size_t i = 0; i < ARRAY_SIZE(links); i++)
		plan_add(b, (struct op){ .kind = OP_LINK, .path = links[i][0], .from = links[i][1] });
}

/* Not for a profile's few commands, unless one is its program's. */
static bool has_terminals(const struct builder *b)
{
	return !b->job->profile || b->job->terminals;
}

/* Who has no group has no messages either, see seccomp_rules.def. */
static bool has_messages(const struct builder *b)
{
	return !b->job->profile && !b->plan->accounted;
}

/*
 * A devpts of the box's own: its terminals are not those of the host, and have
 * no number there. Few, because their buffers are memory that nobody counts:
 * about 40 KiB for each. The queues of messages are those of the box's own ipc
 * namespace; without this directory Landlock has no place to allow them at.
 */
static void plan_own_devices(struct builder *b)
{
	if (has_terminals(b))
		plan_add(b, (struct op){ .kind = OP_PTS, .path = "dev/pts", .most = TERMINALS_MAX });
	if (has_messages(b))
		plan_add(b, (struct op){ .kind = OP_MQUEUE, .path = "dev/mqueue" });
}

/* The places of those, where the root is made. */
static void plan_own_places(struct builder *b)
{
	plan_add(b, (struct op){ .kind = OP_DIR, .path = "dev/mqueue", .mode = 0755 });
	if (!has_terminals(b))
		return;
	plan_add(b, (struct op){ .kind = OP_DIR, .path = "dev/pts", .mode = 0755 });
	plan_add(b, (struct op){ .kind = OP_LINK, .path = "dev/ptmx", .from = "pts/ptmx" });
}

/* One of its terminals is the program's standard streams. */
static void plan_terminal(struct builder *b)
{
	if (b->job->rows > 0)
		plan_add(b, (struct op){ .kind = OP_TERMINAL, .rows = b->job->rows, .columns = b->job->columns });
	b->plan->terminal = b->job->rows > 0;
}

/* Readable by anybody, and about the host rather than the box; or a lever on it. */
static void plan_masks(struct builder *b)
{
	static const char *const masks[] = {
		"proc/kcore",      "proc/keys",          "proc/timer_list",    "proc/sched_debug", "proc/kallsyms",
		"proc/modules",    "proc/sysrq-trigger", "proc/latency_stats", "proc/config.gz",   "proc/cmdline",
		"proc/partitions", "proc/diskstats",     "proc/locks",         "proc/consoles",    "proc/fs",
		"proc/bus",        "proc/acpi",          "proc/asound",        "proc/scsi",
	};

	for (size_t i = 0; i < ARRAY_SIZE(masks); i++)
		plan_add(b, (struct op){ .kind = OP_MASK, .path = masks[i] });
}

static void plan_proc(struct builder *b, unsigned flags)
{
	plan_add(b, (struct op){ .kind = OP_DIR, .path = "proc", .mode = 0555 });
	plan_add(b, (struct op){ .kind = OP_DIR, .path = "var/empty", .mode = 0555 });
	plan_add(b, (struct op){ .kind = OP_LINK, .path = "var/tmp", .from = "../tmp" });
	plan_add(b, (struct op){ .kind = OP_PROC, .path = "proc", .flags = flags });
}

/* What can be written: parts of the work tmpfs. The last is /tmp, which in a stem's box is where that is mounted. */
static const char *const parts[] = { "sandbox", "dev/shm", BOX_RICH + 1, "tmp" };

static bool has_part(const struct builder *b, size_t index)
{
	return b->job->rich || strcmp(parts[index], BOX_RICH + 1) != 0;
}

/* The program is what a compiler made: its own copy, to do with as it likes. */
static bool has_artifact(const struct builder *b)
{
	return b->job->kind == JOB_RUN && b->job->runtime->compile.step.argv;
}

/* Directories that every program finds, HOME among them. */
static void plan_places(struct builder *b)
{
	static const char *const dirs[] = { "sandbox/code", "sandbox/data", "sandbox/output", "sandbox/temp" };

	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++)
		plan_add(b, (struct op){ .kind = OP_DIR, .path = dirs[i], .mode = 0755 });
	if (has_artifact(b))
		plan_add(b, (struct op){ .kind = OP_DIR, .path = BOX_BUILD + 1, .mode = 0755 });
}

/* One tmpfs holds all that can be written, so that one quota bounds it; its parts are placed where programs look for
 * them. */
static void plan_work(struct builder *b)
{
	const struct limits *limits = &b->job->limits;
	unsigned flags = b->job->profile ? MOUNT_NOEXEC : 0;

	plan_add(b, (struct op){ .kind = OP_WORK, .size = limits->disk, .inodes = limits->inodes, .flags = flags });
	/* Before its parts: the last may hide it. */
	plan_cores_file(b);
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		bool open = strcmp(parts[i], "tmp") == 0 || strcmp(parts[i], "dev/shm") == 0;

		if (has_part(b, i))
			plan_add(b, (struct op){ .kind = OP_PLACE,
						 .path = parts[i],
						 .mode = open ? 01777 : 0755,
						 .flags = flags });
	}
	plan_places(b);
}

static void plan_rules(struct builder *b)
{
	static const char *const writable[] = { BOX_CODE, BOX_DATA, BOX_OUTPUT, "/sandbox/temp", "/tmp", "/dev/shm" };

	add_rule(b, "/", LANDLOCK_READ);
	for (size_t i = 0; i < ARRAY_SIZE(devices); i++)
		if (!device_hides(b, devices[i]))
			add_rule(b, devices[i], LANDLOCK_DEVICE);
	if (has_terminals(b))
		add_rule(b, "/dev/pts", LANDLOCK_DEVICE);
	if (has_messages(b))
		add_rule(b, "/dev/mqueue", LANDLOCK_WRITE);
	for (size_t i = b->job->read_only ? 2 : 0; i < ARRAY_SIZE(writable); i++)
		add_rule(b, writable[i], LANDLOCK_WRITE);
	if (b->job->rich)
		add_rule(b, BOX_RICH, LANDLOCK_WRITE);
	/* Who enters puts it there by himself, and so does an agent. */
	if (has_artifact(b) && (b->plan->shared || b->job->agent))
		add_rule(b, BOX_BUILD, LANDLOCK_WRITE);
}

static void plan_files(struct builder *b)
{
	for (size_t i = 0; i < b->job->file_count; i++) {
		const struct job_file *file = &b->job->files[i];

		if (file->host || file->fd >= 0)
			plan_add(b, (struct op){ .kind = OP_COPY,
						 .path = file->path,
						 .from = file->host,
						 .index = i,
						 .mode = file->mode });
		else
			plan_add(b, (struct op){ .kind = OP_TEXT,
						 .path = file->path,
						 .data = file->data,
						 .size = file->size,
						 .mode = file->mode });
	}
}

/* Taken before the root is made, which hides what is below the place where it is made. */
/* What is shown at the host's own place, and not to be written to: what a definition binds. */
static bool is_same_place(const struct job_tree *tree)
{
	return !tree->writable && strcmp(tree->host + 1, tree->path) == 0;
}

static void plan_take_trees(struct builder *b)
{
	for (size_t i = 0; i < b->job->tree_count; i++)
		plan_add(b, (struct op){ .kind = OP_TREE,
					 .from = b->job->trees[i].host,
					 .index = i,
					 .flags = is_same_place(&b->job->trees[i]) ? MOUNT_READONLY : 0 });
}

/* After the files: those are in the upper layer then, whatever the tree's own permissions say. */
static void plan_show_trees(struct builder *b)
{
	for (size_t i = 0; i < b->job->tree_count; i++) {
		const struct job_tree *tree = &b->job->trees[i];
		/* In a place of another name an overlay, also to be read only: a bind mount would show the program the
		 * host's path. */
		bool same_place = is_same_place(tree);

		plan_add(b, (struct op){ .kind = same_place ? OP_ATTACH : OP_OVERLAY,
					 .path = tree->path,
					 .from = tree->host,
					 .index = i,
					 .flags = (tree->writable ? 0 : MOUNT_READONLY) |
						  (b->job->profile ? MOUNT_NOEXEC : 0) });
		if (tree->writable && strcmp(tree->path, "sandbox/code") != 0)
			add_rule(b, arena_printf(&b->plan->arena, "/%s", tree->path), LANDLOCK_WRITE);
	}
}

/* When all is in them. What was there stays below the new mounts, out of reach: no mount can be moved or taken off. */
static void plan_freeze(struct builder *b)
{
	unsigned flags = b->job->profile ? MOUNT_NOEXEC : 0;

	if (!b->job->read_only)
		return;
	plan_add(b, (struct op){ .kind = OP_FREEZE, .path = BOX_CODE + 1, .flags = flags });
	plan_add(b, (struct op){ .kind = OP_FREEZE, .path = BOX_DATA + 1, .flags = flags });
}

static void plan_rlimit(struct builder *b, const char *name, int resource, uint64_t value)
{
	plan_add(b, (struct op){ .kind = OP_RLIMIT, .path = name, .value = value, .resource = (unsigned)resource });
}

/* The same for every program. */
static void plan_fixed_rlimits(struct builder *b)
{
	/* Not 0: where the host's core_pattern is a pipe, as systemd's is, the kernel takes 0 for no limit and 1 for
	 * none at all. */
	plan_rlimit(b, "core", RLIMIT_CORE, 1);
	plan_rlimit(b, "memlock", RLIMIT_MEMLOCK, 64 << 10);
	plan_rlimit(b, "msgqueue", RLIMIT_MSGQUEUE, 819200);
	plan_rlimit(b, "sigpending", RLIMIT_SIGPENDING, 1024);
	plan_rlimit(b, "rtprio", RLIMIT_RTPRIO, 0);
	plan_rlimit(b, "nice", RLIMIT_NICE, 0);
}

uint64_t plan_files_max(const struct plan *plan)
{
	/* Where nobody counts the kernel's buffers, few descriptors bound them. */
	return plan->accounted ? 256 : 1024;
}

uint64_t plan_cpu_max(const struct limits *limits)
{
	return limits->cpu_time > 0 ? (uint64_t)limits->cpu_time + 2 : 0;
}

uint64_t plan_processes_max(const struct plan *plan, const struct limits *limits)
{
	/* init is one of them. A group counts what it refuses, and this does not: it is the second fence then, counted
	 * by uid, and stands behind the first by as many as can be half-made by forks on all processors at once. */
	return limits->pids + 1 + (plan->group ? PROCESSES_SPARE : 0);
}

static void plan_rlimits(struct builder *b)
{
	const struct limits *limits = &b->job->limits;

	plan_fixed_rlimits(b);
	plan_rlimit(b, "fsize", RLIMIT_FSIZE, limits->disk);
	plan_rlimit(b, "nproc", RLIMIT_NPROC, plan_processes_max(b->plan, limits));
	if (plan_cpu_max(limits))
		plan_rlimit(b, "cpu", RLIMIT_CPU, plan_cpu_max(limits));
}

/* The additions by number, those that this filter would deny. */
static void plan_filter(struct builder *b, enum seccomp_profile profile)
{
	const struct runtime *runtime = b->job->runtime;
	int *numbers = arena_alloc(&b->plan->arena, (runtime->call_count + 1) * sizeof(*numbers));
	size_t count = 0;

	for (size_t i = 0; numbers && i < runtime->call_count; i++) {
		int number = seccomp_call_number(runtime->calls[i].name);

		/* A name that this machine's kernel cannot have is left out: definitions serve more than one machine.
		 */
		if (number >= 0 && seccomp_denies(profile, runtime->calls[i].name))
			numbers[count++] = number;
		b->plan->segments |= profile == SECCOMP_ACCOUNTED && strcmp(runtime->calls[i].name, "shmget") == 0;
	}
	if (!numbers)
		b->failed = true;
	plan_add(b,
		 (struct op){
			 .kind = OP_SECCOMP, .profile = profile, .data = numbers, .count = count, .gated = b->gated });
}

static int check_calls(const struct runtime *runtime, struct error *err)
{
	for (size_t i = 0; i < runtime->call_count; i++) {
		const char *name = runtime->calls[i].name;

		if (seccomp_call_number(name) >= 0 || errno == ENOSYS)
			continue;
		return error_set(err, ERROR_FAILED, 0, "%s: its definition asks for the system call %s, which %s",
				 runtime->name, name, errno == EPERM ? "no box may have" : "does not exist");
	}
	return 0;
}

/* The stricter one first: the box's own filter lets nobody add another. */
static void plan_filters(struct builder *b)
{
	if (b->plan->accounted)
		plan_filter(b, SECCOMP_ACCOUNTED);
	if (b->job->profile)
		plan_add(b, (struct op){ .kind = OP_SECCOMP, .profile = SECCOMP_RESTRICTED });
	b->gated = b->plan->zygote;
	plan_filter(b, SECCOMP_BOX);
}

static void plan_confine(struct builder *b, bool seccomp)
{
	plan_add(b, (struct op){ .kind = OP_HANDLES });
	plan_add(b, (struct op){ .kind = OP_NO_NEW_PRIVS });
	if (b->plan->landlock)
		plan_add(b, (struct op){ .kind = OP_LANDLOCK });
	plan_add(b, (struct op){ .kind = OP_CAPS });
	if (seccomp)
		plan_filters(b);
	/* Until OP_HANDLES init has copies of all that the supervisor has open, which in a service is more; and this
	 * limit is what the kernel compares descriptors in flight with, those of all boxes of the same user on the
	 * host: with as few as a program has, a neighbour's would keep the filter's listener from being sent. */
	plan_rlimit(b, "nofile", RLIMIT_NOFILE, plan_files_max(b->plan));
	plan_add(b, (struct op){ .kind = OP_PROVE, .path = "ids" });
	plan_add(b, (struct op){ .kind = OP_PROVE, .path = "caps" });
	plan_add(b, (struct op){ .kind = OP_PROVE, .path = "root" });
	if (b->job->read_only)
		plan_add(b, (struct op){ .kind = OP_PROVE, .path = "read-only" });
	plan_add(b, (struct op){ .kind = OP_PROVE, .path = "network" });
	plan_add(b, (struct op){ .kind = OP_PROVE, .path = "fds" });
	if (b->plan->landlock)
		plan_add(b, (struct op){ .kind = OP_PROVE, .path = "landlock" });
	if (seccomp)
		plan_add(b, (struct op){ .kind = OP_PROVE, .path = "seccomp" });
	plan_add(b, (struct op){ .kind = OP_EXEC, .path = b->plan->argv[0] });
}

static void plan_layers(struct builder *b, const struct probe *probe, bool seccomp)
{
	struct plan *plan = b->plan;
	const struct cgroup_site *site = &probe->cgroup;

	add_layer(b, "pid-namespace: own, init is pid 1");
	add_layer(b, "mount-namespace: own");
	add_layer(b, "network-namespace: empty, own loopback");
	add_layer(b, "ipc-namespace: own");
	add_layer(b, "uts-namespace: own");
	add_layer(b, "cgroup-namespace: own");
	add_layer(b, "root: private tmpfs, read-only /usr, masked /proc, minimal /dev");
	if (b->job->read_only)
		add_layer(b, "read-only: /sandbox/code, /sandbox/data");
	if (plan->group)
		add_layer(b, arena_printf(&plan->arena, "cgroup: v%d memory, pids%s", site->version,
					  site->where[CGROUP_CPU] >= 0 ? ", cpu" : "; no cpu limit"));
	else if (probe->range)
		add_layer(b, "accounting: by the supervisor, control groups given up; no cpu limit");
	else
		add_layer(b,
			  "accounting: memory summed by the supervisor every 10 ms, processes by rlimit; no cpu limit");
	add_layer(b, "rlimits: core, nofile, fsize, memlock, nproc");
	add_layer(b, "fds: 0, 1, 2");
	if (has_terminals(b))
		add_layer(b, "terminals: of the box's own, none of the host's");
	add_layer(b, "no-new-privs: set");
	if (plan->landlock)
		add_layer(b, arena_printf(&plan->arena, "landlock: abi %d", plan->landlock));
	add_layer(b, "capabilities: none");
	if (!seccomp)
		return;
	add_layer(b, "seccomp: filter, allowlist");
	for (size_t i = 0; i < b->job->runtime->call_count; i++) {
		const struct runtime_call *call = &b->job->runtime->calls[i];

		if (seccomp_denies(SECCOMP_BOX, call->name) ||
		    (plan->accounted && seccomp_denies(SECCOMP_ACCOUNTED, call->name)))
			add_layer(b, arena_printf(&plan->arena, "seccomp: also %s: %s", call->name, call->reason));
	}
}

/* What does not depend on the program: the root with all that is read-only. */
static int plan_root(struct builder *b, struct error *err)
{
	plan_add(b, (struct op){ .kind = OP_ISOLATE });
	plan_take_trees(b);
	plan_add(b, (struct op){ .kind = OP_ROOT });
	if (!b->job->profile)
		plan_add(b, (struct op){ .kind = OP_BIND, .from = "/usr", .path = "usr" });
	else if (plan_commands(b, err) < 0)
		return -1;
	plan_top(b);
	plan_etc(b);
	plan_dev(b);
	plan_own_places(b);
	return 0;
}

static void plan_seal(struct builder *b)
{
	plan_add(b, (struct op){ .kind = OP_PIVOT });
	plan_add(b, (struct op){ .kind = OP_SEAL, .path = "/" });
}

static int build_cold(struct builder *b, const struct probe *probe, bool seccomp, struct error *err)
{
	b->plan->work = "../work";
	b->plan->plant = b->job->plant;
	plan_rules(b);
	plan_identity(b);
	if (plan_root(b, err) < 0)
		return -1;
	plan_own_devices(b);
	plan_terminal(b);
	plan_proc(b, MOUNT_READONLY);
	plan_masks(b);
	plan_work(b);
	plan_files(b);
	plan_show_trees(b);
	plan_freeze(b);
	plan_seal(b);
	plan_rlimits(b);
	plan_confine(b, seccomp);
	plan_layers(b, probe, seccomp);
	return 0;
}

/* The drivers are the language's, and so are the trees; its /proc is no mask for those of its boxes. */
static int build_stem(struct builder *b, const struct probe *probe, bool seccomp, struct error *err)
{
	(void)probe;
	(void)seccomp;
	if (plan_root(b, err) < 0)
		return -1;
	plan_proc(b, 0);
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		if (has_part(b, i))
			plan_add(b, (struct op){ .kind = OP_DIR, .path = parts[i], .mode = 0755 });
	/* The zygote waits in one of them, and looks for others when it starts. */
	plan_places(b);
	plan_files(b);
	plan_show_trees(b);
	plan_seal(b);
	return 0;
}

/* The two that can be taken away from who prepares the box are; the rest is for who enters. */
static int build_box(struct builder *b, const struct probe *probe, bool seccomp, struct error *err)
{
	(void)err;
	b->plan->shared = true;
	b->plan->work = "tmp";
	plan_rules(b);
	plan_identity(b);
	plan_own_devices(b);
	plan_add(b, (struct op){ .kind = OP_PROC, .path = "proc", .flags = MOUNT_READONLY });
	plan_masks(b);
	plan_work(b);
	plan_add(b, (struct op){ .kind = OP_HANDLES });
	plan_add(b, (struct op){ .kind = OP_NO_NEW_PRIVS });
	plan_add(b, (struct op){ .kind = OP_CAPS });
	plan_layers(b, probe, seccomp);
	return 0;
}

/* What a fork inherits, and could not set under the filter. */
static int build_zygote(struct builder *b, const struct probe *probe, bool seccomp, struct error *err)
{
	(void)probe;
	(void)err;
	b->plan->zygote = true;
	plan_fixed_rlimits(b);
	plan_add(b, (struct op){ .kind = OP_NO_NEW_PRIVS });
	if (seccomp)
		plan_filters(b);
	return 0;
}

/* No operation provides these. A request with one does not come so far; a job that did gets no box without it. */
static int check_surroundings(const struct surroundings *around, struct error *err)
{
	if (around->image)
		return error_field(err, "image", "a box of this machine has the machine's own /usr, not \"%.64s\"",
				   around->image);
	if (around->package_count > 0)
		return error_field(err, "packages", "a box of this machine has what is installed there, not \"%.64s\"",
				   around->packages[0]);
	return 0;
}

typedef int plan_builder(struct builder *b, const struct probe *probe, bool seccomp, struct error *err);

static int make(plan_builder *build, const struct job *job, const struct probe *probe, struct plan *plan,
		struct error *err)
{
	struct builder b = { .plan = plan, .job = job };
	bool seccomp;

	*plan = (struct plan){
		.limits = &job->limits, .argv = job->argv, .envp = job->start_envp, .cwd = BOX_CODE, .rich = job->rich
	};
	if (check_surroundings(&job->around, err) < 0 || choose_layers(job->spec, probe, plan, &seccomp, err) < 0)
		return -1;
	/* Where nobody bounds them, all of the host's are the program's. */
	if (plan->group && probe->cgroup.where[CGROUP_CPU] >= 0)
		plan->host_cores = probe->cores;
	plan->cores = plan_cores(plan, &job->limits);
	plan->ops = calloc(PLAN_OPS_MAX, sizeof(*plan->ops));
	if (!plan->ops)
		return error_set(err, ERROR_FAILED, ENOMEM, "cannot make the plan");
	if (check_calls(job->runtime, err) < 0 || build(&b, probe, seccomp, err) < 0)
		return -1;
	if (b.failed)
		return error_set(err, ERROR_FAILED, ENOMEM, "cannot make the plan");
	return 0;
}

int plan_make(const struct job *job, const struct probe *probe, struct plan *plan, struct error *err)
{
	return make(build_cold, job, probe, plan, err);
}

int plan_make_stem(const struct job *job, const struct probe *probe, struct plan *plan, struct error *err)
{
	return make(build_stem, job, probe, plan, err);
}

int plan_make_zygote(const struct job *job, const struct probe *probe, struct plan *plan, struct error *err)
{
	return make(build_zygote, job, probe, plan, err);
}

int plan_make_box(const struct job *job, const struct probe *probe, struct plan *plan, struct error *err)
{
	return make(build_box, job, probe, plan, err);
}

void plan_free(struct plan *plan)
{
	free(plan->ops);
	arena_free(&plan->arena);
	*plan = (struct plan){ 0 };
}
