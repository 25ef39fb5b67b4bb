#include "box/plan.h"

#include "base/own.h"
#include "kern/seccomp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What is made in the order of a build; running out of memory is noticed once, at the end. */
struct builder {
	struct plan *plan;       /* under construction */
	const struct spec *spec; /* what is asked */
	bool failed;             /* memory ran out, or there are too many operations */
};

static void add(struct builder *b, struct op op)
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
	return error_set(err, ERROR_LAYER, 0, "this host cannot enforce %s: %s; accept that with --allow-weaker %s",
			 layer_name(layer), why, layer_name(layer));
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
	if (spec->cpus_given && !spec->weaker[LAYER_CGROUP] && (!plan->group || probe->cgroup.where[CGROUP_CPU] < 0))
		return error_set(err, ERROR_LAYER, 0,
				 "this host cannot limit CPU (--cpus): %s; or leave --cpus out, or accept that with "
				 "--allow-weaker cgroup",
				 plan->group ? "the control group has no cpu controller" : probe->cgroup.why);
	return 0;
}

static void plan_identity(struct builder *b)
{
	/* Before the maps, which the supervisor writes meanwhile, and on v1 makes the group: both sides take about as
	 * long. */
	add(b, (struct op){ .kind = OP_NETNS });
	add(b, (struct op){ .kind = OP_LOOPBACK });
	add(b, (struct op){ .kind = OP_MAPPED });
	if (b->plan->group)
		add(b, (struct op){ .kind = OP_JOIN });
	add(b, (struct op){ .kind = OP_BECOME, .size = b->plan->range });
	add(b, (struct op){ .kind = OP_LEASH });
	add(b, (struct op){ .kind = OP_CGROUPNS });
	add(b, (struct op){ .kind = OP_HOSTNAME, .path = "emberbox" });
}

/* /bin and its like are links into /usr on merged systems, and directories of their own elsewhere. */
static void plan_top(struct builder *b)
{
	static const char *const names[] = { "bin", "sbin", "lib", "lib32", "lib64", "libx32" };

	add(b, (struct op){ .kind = OP_BIND, .from = "/usr", .path = "usr" });
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		char *host = arena_printf(&b->plan->arena, "/%s", names[i]);
		char target[64];
		struct stat st;
		ssize_t n;

		if (!host || lstat(host, &st) < 0)
			continue;
		if (S_ISDIR(st.st_mode)) {
			add(b, (struct op){ .kind = OP_BIND, .from = host, .path = names[i] });
			continue;
		}
		n = readlink(host, target, sizeof(target));
		if (n > 0 && n < (ssize_t)sizeof(target))
			add(b, (struct op){ .kind = OP_LINK,
					    .path = names[i],
					    .from = arena_copy(&b->plan->arena, target, (size_t)n) });
	}
}

static void plan_text(struct builder *b, const char *path, const char *text)
{
	add(b, (struct op){ .kind = OP_TEXT, .path = path, .data = text, .size = strlen(text), .mode = 0644 });
}

static void plan_etc(struct builder *b)
{
	static const char *const binds[] = { "/etc/alternatives", "/etc/ld.so.cache", "/etc/localtime" };

	plan_text(b, "etc/passwd",
		  "sandbox:x:1000:1000:sandbox:/sandbox/temp:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n");
	plan_text(b, "etc/group", "sandbox:x:1000:\nnogroup:x:65534:\n");
	plan_text(b, "etc/hosts", "127.0.0.1 localhost emberbox\n::1 localhost\n");
	plan_text(b, "etc/hostname", "emberbox\n");
	plan_text(b, "etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n");
	plan_text(b, "etc/resolv.conf", "");
	for (size_t i = 0; i < ARRAY_SIZE(binds); i++)
		if (access(binds[i], F_OK) == 0)
			add(b, (struct op){ .kind = OP_BIND, .from = binds[i], .path = binds[i] + 1 });
}

static void plan_dev(struct builder *b)
{
	static const char *const devices[] = { "/dev/null",   "/dev/zero",    "/dev/full",
					       "/dev/random", "/dev/urandom", "/dev/tty" };
	static const char *const links[][2] = {
		{ "dev/fd", "/proc/self/fd" },
		{ "dev/stdin", "/proc/self/fd/0" },
		{ "dev/stdout", "/proc/self/fd/1" },
		{ "dev/stderr", "/proc/self/fd/2" },
	};

	add(b, (struct op){ .kind = OP_DIR, .path = "dev", .mode = 0755 });
	for (size_t i = 0; i < ARRAY_SIZE(devices); i++) {
		/* Mapped shared and writable it is memory that no process shows; where only those are counted it can be
		 * read. */
		bool hides = b->plan->accounted && strcmp(devices[i], "/dev/zero") == 0;

		if (hides && !b->plan->landlock)
			continue;
		add(b, (struct op){ .kind = OP_DEVICE, .from = devices[i], .path = devices[i] + 1 });
		if (!hides)
			add_rule(b, devices[i], LANDLOCK_DEVICE);
	}
	for (size_t i = 0; i < ARRAY_SIZE(links); i++)
		add(b, (struct op){ .kind = OP_LINK, .path = links[i][0], .from = links[i][1] });
}

static void plan_proc(struct builder *b)
{
	/* Readable by anybody, and about the host rather than the box; or a lever on it. */
	static const char *const masks[] = {
		"proc/kcore",      "proc/keys",          "proc/timer_list",    "proc/sched_debug", "proc/kallsyms",
		"proc/modules",    "proc/sysrq-trigger", "proc/latency_stats", "proc/config.gz",   "proc/cmdline",
		"proc/partitions", "proc/diskstats",     "proc/locks",         "proc/consoles",    "proc/fs",
		"proc/bus",        "proc/acpi",          "proc/asound",        "proc/scsi",
	};

	add(b, (struct op){ .kind = OP_DIR, .path = "proc", .mode = 0555 });
	add(b, (struct op){ .kind = OP_DIR, .path = "var/empty", .mode = 0555 });
	add(b, (struct op){ .kind = OP_PROC, .path = "proc" });
	for (size_t i = 0; i < ARRAY_SIZE(masks); i++)
		add(b, (struct op){ .kind = OP_MASK, .path = masks[i] });
}

/* One tmpfs holds all that can be written, so that one quota bounds it; its parts are placed where programs look for
 * them. */
static void plan_work(struct builder *b)
{
	static const char *const parts[] = { "sandbox", "tmp", "dev/shm" };
	static const char *const dirs[] = { "sandbox/code", "sandbox/data", "sandbox/output", "sandbox/temp" };
	const struct limits *limits = &b->spec->limits;

	add(b, (struct op){ .kind = OP_WORK, .size = limits->disk, .inodes = limits->inodes });
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		add(b, (struct op){ .kind = OP_PLACE, .path = parts[i], .mode = i == 0 ? 0755 : 01777 });
	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++)
		add(b, (struct op){ .kind = OP_DIR, .path = dirs[i], .mode = 0755 });
	add_rule(b, "/sandbox/code", LANDLOCK_WRITE);
	add_rule(b, "/sandbox/data", LANDLOCK_WRITE);
	add_rule(b, "/sandbox/output", LANDLOCK_WRITE);
	add_rule(b, "/sandbox/temp", LANDLOCK_WRITE);
	add_rule(b, "/tmp", LANDLOCK_WRITE);
	add_rule(b, "/dev/shm", LANDLOCK_WRITE);
}

static void plan_files(struct builder *b)
{
	const struct spec *spec = b->spec;
	const char *name = spec->name ? spec->name : spec->runtime->file;

	add(b, (struct op){
		       .kind = OP_TEXT,
		       .path = arena_printf(&b->plan->arena, "sandbox/code/%s", name),
		       .data = spec->code,
		       .size = spec->code_size,
		       .mode = 0644,
	       });
	for (size_t i = 0; i < spec->file_count; i++) {
		const struct spec_file *file = &spec->files[i];

		if (file->host)
			add(b, (struct op){ .kind = OP_COPY,
					    .path = file->box,
					    .from = file->host,
					    .inodes = i,
					    .mode = 0644 });
		else
			add(b, (struct op){ .kind = OP_TEXT,
					    .path = file->box,
					    .data = file->data,
					    .size = file->size,
					    .mode = 0755 });
	}
}

static void plan_rlimit(struct builder *b, const char *name, int resource, uint64_t value)
{
	add(b, (struct op){ .kind = OP_RLIMIT, .path = name, .size = value, .mode = (unsigned)resource });
}

static void plan_rlimits(struct builder *b)
{
	const struct limits *limits = &b->spec->limits;

	/* Not 0: where the host's core_pattern is a pipe, as systemd's is, the kernel takes 0 for no limit and 1 for
	 * none at all. */
	plan_rlimit(b, "core", RLIMIT_CORE, 1);
	/* Where nobody counts the kernel's buffers, few descriptors bound them. */
	plan_rlimit(b, "nofile", RLIMIT_NOFILE, b->plan->accounted ? 256 : 1024);
	plan_rlimit(b, "fsize", RLIMIT_FSIZE, limits->disk);
	plan_rlimit(b, "memlock", RLIMIT_MEMLOCK, 64 << 10);
	plan_rlimit(b, "msgqueue", RLIMIT_MSGQUEUE, 819200);
	plan_rlimit(b, "sigpending", RLIMIT_SIGPENDING, 1024);
	plan_rlimit(b, "rtprio", RLIMIT_RTPRIO, 0);
	plan_rlimit(b, "nice", RLIMIT_NICE, 0);
	/* init is one of them; with a group it is a second fence, counted by uid. */
	plan_rlimit(b, "nproc", RLIMIT_NPROC, limits->pids + 1);
	if (limits->cpu_time > 0)
		plan_rlimit(b, "cpu", RLIMIT_CPU, (uint64_t)limits->cpu_time + 2);
}

static void plan_confine(struct builder *b, bool seccomp)
{
	add(b, (struct op){ .kind = OP_HANDLES });
	add(b, (struct op){ .kind = OP_NO_NEW_PRIVS });
	if (b->plan->landlock)
		add(b, (struct op){ .kind = OP_LANDLOCK });
	add(b, (struct op){ .kind = OP_CAPS });
	/* The stricter one first: the box's own filter lets nobody add another. */
	if (seccomp && b->plan->accounted)
		add(b, (struct op){ .kind = OP_SECCOMP, .size = SECCOMP_ACCOUNTED });
	if (seccomp)
		add(b, (struct op){ .kind = OP_SECCOMP, .size = SECCOMP_BOX });
	add(b, (struct op){ .kind = OP_PROVE, .path = "ids" });
	add(b, (struct op){ .kind = OP_PROVE, .path = "caps" });
	add(b, (struct op){ .kind = OP_PROVE, .path = "root" });
	add(b, (struct op){ .kind = OP_PROVE, .path = "network" });
	add(b, (struct op){ .kind = OP_PROVE, .path = "fds" });
	if (b->plan->landlock)
		add(b, (struct op){ .kind = OP_PROVE, .path = "landlock" });
	if (seccomp)
		add(b, (struct op){ .kind = OP_PROVE, .path = "seccomp" });
	add(b, (struct op){ .kind = OP_EXEC, .path = b->plan->argv[0] });
}

/* Whether the caller sets the same variable, from entry `from` on: the last one counts, and a name is there once. */
static bool env_given(const struct spec *spec, size_t from, const char *entry)
{
	size_t name = (size_t)(strchr(entry, '=') - entry) + 1;

	for (size_t i = from; i < spec->env_count; i++)
		if (strncmp(spec->env[i], entry, name) == 0)
			return true;
	return false;
}

static void plan_program(struct builder *b)
{
	static const char *const defaults[] = { "HOME=/sandbox/temp", "PATH=/usr/local/bin:/usr/bin:/bin",
						"LANG=C.UTF-8", "TERM=dumb" };
	const struct spec *spec = b->spec;
	const char *const *flags = spec->runtime->flags;
	size_t flag_count = 0, n = 0;

	while (flags[flag_count])
		flag_count++;
	b->plan->cwd = "/sandbox/code";
	b->plan->argv = arena_alloc(&b->plan->arena, (flag_count + spec->arg_count + 3) * sizeof(char *));
	b->plan->envp = arena_alloc(&b->plan->arena, (ARRAY_SIZE(defaults) + spec->env_count + 1) * sizeof(char *));
	if (!b->plan->argv || !b->plan->envp) {
		b->failed = true;
		return;
	}
	b->plan->argv[n++] = runtime_program(spec->runtime);
	for (size_t i = 0; i < flag_count; i++)
		b->plan->argv[n++] = flags[i];
	b->plan->argv[n++] =
		arena_printf(&b->plan->arena, "/sandbox/code/%s", spec->name ? spec->name : spec->runtime->file);
	for (size_t i = 0; i < spec->arg_count; i++)
		b->plan->argv[n++] = spec->args[i];
	n = 0;
	for (size_t i = 0; i < ARRAY_SIZE(defaults); i++)
		if (!env_given(spec, 0, defaults[i]))
			b->plan->envp[n++] = defaults[i];
	for (size_t i = 0; i < spec->env_count; i++)
		if (!env_given(spec, i + 1, spec->env[i]))
			b->plan->envp[n++] = spec->env[i];
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
	add_layer(b, "no-new-privs: set");
	if (plan->landlock)
		add_layer(b, arena_printf(&plan->arena, "landlock: abi %d", plan->landlock));
	add_layer(b, "capabilities: none");
	if (seccomp)
		add_layer(b, "seccomp: filter, allowlist");
}

int plan_make(const struct spec *spec, const struct probe *probe, struct plan *plan, struct error *err)
{
	struct builder b = { .plan = plan, .spec = spec };
	bool seccomp;

	*plan = (struct plan){ .limits = &spec->limits };
	if (choose_layers(spec, probe, plan, &seccomp, err) < 0)
		return -1;
	plan->ops = calloc(PLAN_OPS_MAX, sizeof(*plan->ops));
	plan_program(&b);
	if (!plan->ops || b.failed)
		return error_set(err, ERROR_FAILED, ENOMEM, "cannot make the plan");
	add_rule(&b, "/", LANDLOCK_READ);
	plan_identity(&b);
	add(&b, (struct op){ .kind = OP_ISOLATE });
	if (spec->project)
		add(&b, (struct op){ .kind = OP_PROJECT, .from = spec->project });
	add(&b, (struct op){ .kind = OP_ROOT });
	plan_top(&b);
	plan_etc(&b);
	plan_dev(&b);
	plan_proc(&b);
	plan_work(&b);
	plan_files(&b);
	/* After the files: they are in the upper layer then, whatever the project's own permissions say. */
	if (spec->project)
		add(&b, (struct op){ .kind = OP_OVERLAY, .path = "sandbox/code" });
	add(&b, (struct op){ .kind = OP_PIVOT });
	add(&b, (struct op){ .kind = OP_SEAL, .path = "/" });
	plan_rlimits(&b);
	plan_confine(&b, seccomp);
	plan_layers(&b, probe, seccomp);
	if (b.failed)
		return error_set(err, ERROR_FAILED, ENOMEM, "cannot make the plan");
	return 0;
}

void plan_free(struct plan *plan)
{
	free(plan->ops);
	arena_free(&plan->arena);
	*plan = (struct plan){ 0 };
}
