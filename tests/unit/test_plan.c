/*
 * Plans for hosts that are made up: what is done, in which order, and when it is refused.
 *
 * The whole text of --explain is compared with tests/unit/golden/NAME.txt, but
 * for what this very host has (its top-level links, files in /etc, the place of
 * Bash). After a change that is meant, from the top of the repository:
 *
 *	EB_GOLDEN=write build/tests/unit/unit test_plan && git diff tests/unit/golden
 */
#include "../check.h"

#include "engine/local/plan.h"
#include "kernel/seccomp.h"

static struct spec spec;
static struct job job;
static struct probe probe;
static struct plan plan;
static struct error err;

/* A recent kernel, root, v1 control groups: everything is there. */
static void fresh(void)
{
	plan_free(&plan);
	job_free(&job);
	spec_free(&spec);
	err = (struct error){ 0 };
	probe = (struct probe){
		.range = true,
		.landlock = 7,
		.seccomp = true,
		.cores = 8,
		.mount_api = true,
		.cgroup = { .version = 1, .count = 4, .where = { 0, 1, 2, 3 } },
	};
	spec_set(&spec, "language", "bash", &err);
	spec_set_code(&spec, "echo hello\n", 11, &err);
}

/* Which part of a box; the whole, unless a test says another. */
static int (*part)(const struct job *, const struct probe *, struct plan *, struct error *) = plan_make;

/* The job of the request, and its plan. */
static int make(enum job_kind kind)
{
	const struct job_given given = { .prepared_dir = -1, .artifact = -1 };

	plan_free(&plan);
	job_free(&job);
	if (job_make(kind, &spec, &given, &job, &err) < 0)
		return -1;
	return part(&job, &probe, &plan, &err);
}

static void without_groups(void)
{
	probe.cgroup = (struct cgroup_site){ .where = { -1, -1, -1, -1 }, .why = "no group can be made here" };
}

static void ordinary_user(void)
{
	probe.uid = 1000;
	probe.range = false;
	without_groups();
}

static bool of_this_host(const char *line)
{
	return strncmp(line, "bind         /etc/", 18) == 0 || strncmp(line, "text         /etc/timezone ", 27) == 0 ||
	       strncmp(line, "link         /etc/", 18) == 0 ||
	       ((strncmp(line, "bind ", 5) == 0 || strncmp(line, "link ", 5) == 0) &&
		(strncmp(line + 13, "/bin ", 5) == 0 || strncmp(line + 13, "/sbin ", 6) == 0 ||
		 strncmp(line + 13, "/lib", 4) == 0));
}

/* The text without what depends on this host. */
static char *explained(void)
{
	struct buf all = { 0 }, kept = { 0 };
	char *rest, *line;

	plan_explain(&plan, &all);
	rest = all.data;
	while (rest && (line = strsep(&rest, "\n")) != NULL && rest) {
		char *program = strncmp(line, "exec ", 5) == 0 ? strstr(line, "/bash ") : NULL;

		if (program)
			buf_printf(&kept, "exec         …%s\n", program);
		else if (!of_this_host(line))
			buf_printf(&kept, "%s\n", line);
	}
	buf_printf(&kept, "\n");
	for (size_t i = 0; i < plan.layer_count; i++)
		buf_printf(&kept, "%s\n", plan.layers[i]);
	buf_free(&all);
	return buf_take(&kept);
}

static void compare(const char *name)
{
	char path[128], want[32768], *got;
	FILE *file;

	if (make(JOB_RUN) < 0) {
		check_fail("refused: %s", err.text);
		return;
	}
	got = explained();
	snprintf(path, sizeof(path), "tests/unit/golden/%s.txt", name);
	file = fopen(path, getenv("EB_GOLDEN") ? "w" : "r");
	if (!file) {
		check_fail("cannot open %s: run this from the top of the repository", path);
	} else if (getenv("EB_GOLDEN")) {
		fputs(got, file);
		fclose(file);
	} else {
		size_t at = 0, line = 1;

		want[fread(want, 1, sizeof(want) - 1, file)] = '\0';
		fclose(file);
		for (; got[at] && got[at] == want[at]; at++)
			line += got[at] == '\n';
		if (got[at] != want[at])
			check_fail("%s:%zu: is \"%.*s\", not \"%.*s\"", path, line, (int)strcspn(got + at, "\n"),
				   got + at, (int)strcspn(want + at, "\n"), want + at);
	}
	free(got);
}

static void root_with_groups(void)
{
	fresh();
	compare("root-v1");
}

static void root_with_everything_asked(void)
{
	fresh();
	probe.cgroup.version = 2;
	spec_set(&spec, "timeout", "5", &err);
	spec_set(&spec, "cpu-time", "2.5", &err);
	spec_set(&spec, "memory", "64m", &err);
	spec_set(&spec, "pids", "8", &err);
	spec_set(&spec, "disk", "1m", &err);
	spec_set(&spec, "project", "/host/project", &err);
	spec_set(&spec, "output", "/host/output", &err);
	spec_set(&spec, "file", "/host/data.csv:/sandbox/data/data.csv", &err);
	spec_add_content(&spec, "sub/note.txt", "note", 4, &err);
	spec_set(&spec, "entry", "app.sh", &err);
	spec_set(&spec, "arg", "one", &err);
	spec_set(&spec, "arg", "two words", &err);
	spec_set(&spec, "env", "TERM=xterm", &err);
	spec_set(&spec, "env", "KEY=value", &err);
	compare("root-v2-everything");
}

static void read_only(void)
{
	fresh();
	spec_set(&spec, "read-only", "yes", &err);
	spec_set(&spec, "project", "/host/project", &err);
	spec_set(&spec, "file", "/host/data.csv:/sandbox/data/data.csv", &err);
	compare("read-only");
}

static void with_a_terminal(void)
{
	fresh();
	spec_set(&spec, "tty", "30x90", &err);
	compare("terminal");
	/* Of the program alone. */
	CHECK_INT(make(JOB_RUN), 0);
	CHECK(plan.terminal && job.terminals);
}

static void user_without_groups(void)
{
	fresh();
	ordinary_user();
	compare("user");
}

static void user_with_a_delegated_group(void)
{
	fresh();
	ordinary_user();
	probe.cgroup = (struct cgroup_site){ .version = 2, .count = 1, .where = { 0, 0, -1, -1 }, .unified = { true } };
	compare("user-v2-no-cpu");
}

static void nothing_but_given_up(void)
{
	fresh();
	without_groups();
	probe.landlock = 0;
	probe.seccomp = false;
	spec_set(&spec, "allow-weaker", "landlock", &err);
	spec_set(&spec, "allow-weaker", "seccomp", &err);
	spec_set(&spec, "allow-weaker", "cgroup", &err);
	compare("nothing");
}

/* Boxes made ahead: the root once, what a zygote is started under, and each box. */
static void compare_parts(const char *stem, const char *zygote, const char *box)
{
	/* They are for any program: there is none yet. */
	spec.code = NULL;
	spec.code_size = 0;
	part = plan_make_stem;
	compare(stem);
	CHECK(!plan.zygote && !plan.shared);
	part = plan_make_zygote;
	compare(zygote);
	CHECK(plan.zygote && !plan.shared);
	part = plan_make_box;
	compare(box);
	CHECK(!plan.zygote && plan.shared);
	part = plan_make;
}

static void parts_of_root(void)
{
	fresh();
	compare_parts("stem-root-v1", "zygote-root-v1", "box-root-v1");
}

static void parts_of_an_ordinary_user(void)
{
	fresh();
	ordinary_user();
	compare_parts("stem-user", "zygote-user", "box-user");
}

static void parts_without_layers(void)
{
	fresh();
	without_groups();
	probe.landlock = 0;
	probe.seccomp = false;
	for (int i = 0; i < LAYERS; i++)
		spec.weaker[i] = true;
	compare_parts("stem-nothing", "zygote-nothing", "box-nothing");
}

static void refused(const char *sentence)
{
	plan_free(&plan);
	if (make(JOB_RUN) == 0)
		check_fail("it is not refused");
	CHECK_INT(err.code, CODE_CANNOT_ENFORCE);
	CHECK_STR(err.text, sentence);
	CHECK_INT(plan.op_count, 0);
}

static void no_landlock_is_refused(void)
{
	fresh();
	probe.landlock = 0;
	refused("this host cannot enforce landlock: the kernel has no Landlock, or it is switched off (lsm= at boot); "
		"accept that with "
		"--allow-weaker landlock");
	spec_set(&spec, "allow-weaker", "seccomp", &err);
	spec_set(&spec, "allow-weaker", "cgroup", &err);
	refused("this host cannot enforce landlock: the kernel has no Landlock, or it is switched off (lsm= at boot); "
		"accept that with "
		"--allow-weaker landlock");
	spec_set(&spec, "allow-weaker", "landlock", &err);
	CHECK_INT(make(JOB_RUN), 0);
	CHECK_INT(plan.landlock, 0);
}

static void no_seccomp_is_refused(void)
{
	fresh();
	probe.seccomp = false;
	refused("this host cannot enforce seccomp: the kernel has no seccomp filters; accept that with --allow-weaker "
		"seccomp");
	spec_set(&spec, "allow-weaker", "seccomp", &err);
	CHECK_INT(make(JOB_RUN), 0);
}

static void no_group_is_refused_to_root_only(void)
{
	fresh();
	without_groups();
	refused("this host cannot enforce cgroup: no group can be made here; accept that with --allow-weaker cgroup");
	spec_set(&spec, "allow-weaker", "cgroup", &err);
	CHECK_INT(make(JOB_RUN), 0);
	CHECK(plan.accounted && !plan.group);
	fresh();
	ordinary_user();
	CHECK_INT(make(JOB_RUN), 0);
	CHECK(plan.accounted && !plan.group);
}

static void cores_that_cannot_be_limited(void)
{
	fresh();
	ordinary_user();
	spec_set(&spec, "cpus", "2", &err);
	refused("this host cannot limit CPU (--cpus): no group can be made here; leave --cpus out, or accept that "
		"with "
		"--allow-weaker cgroup");
	spec_set(&spec, "allow-weaker", "cgroup", &err);
	CHECK_INT(make(JOB_RUN), 0);
	fresh();
	probe.cgroup = (struct cgroup_site){ .version = 2, .count = 1, .where = { 0, 0, -1, -1 }, .unified = { true } };
	CHECK_INT(make(JOB_RUN), 0);
	spec_set(&spec, "cpus", "1", &err);
	refused("this host cannot limit CPU (--cpus): the control group has no cpu controller; leave --cpus out, or "
		"accept "
		"that with --allow-weaker cgroup");
	fresh();
	spec_set(&spec, "cpus", "1", &err);
	CHECK_INT(make(JOB_RUN), 0);
}

static void nothing_at_all_is_refused(void)
{
	fresh();
	probe = (struct probe){ .cgroup = { .why = "there is none" } };
	refused("this host cannot enforce landlock: the kernel has no Landlock, or it is switched off (lsm= at boot); "
		"accept that with "
		"--allow-weaker landlock");
}

/* A layer that is there is used, however much the caller would do without. */
static void giving_up_is_not_asking_for_less(void)
{
	char *with, *without;

	fresh();
	CHECK_INT(make(JOB_RUN), 0);
	without = explained();
	plan_free(&plan);
	for (int i = 0; i < LAYERS; i++)
		spec.weaker[i] = true;
	CHECK_INT(make(JOB_RUN), 0);
	with = explained();
	CHECK_STR(with, without);
	free(with);
	free(without);
}

static size_t index_of(enum op_kind kind)
{
	for (size_t i = 0; i < plan.op_count; i++)
		if (plan.ops[i].kind == kind)
			return i;
	check_fail("there is no %s", op_name(kind));
	return 0;
}

static size_t last_of(enum op_kind kind)
{
	for (size_t i = plan.op_count; i > 0; i--)
		if (plan.ops[i - 1].kind == kind)
			return i - 1;
	check_fail("there is no %s", op_name(kind));
	return 0;
}

/* Pairs whose order is a property of its own; a golden file would let a careless renewal change it. */
static void order_that_matters(void)
{
	fresh();
	spec_set(&spec, "project", "/host/project", &err);
	CHECK_INT(make(JOB_RUN), 0);
	CHECK(index_of(OP_JOIN) < index_of(OP_ROOT));     /* what the box makes is charged to its group */
	CHECK(index_of(OP_JOIN) < index_of(OP_CGROUPNS)); /* whose root is the group at that moment */
	CHECK(index_of(OP_MAPPED) < index_of(OP_BECOME)); /* no uid before the maps */
	CHECK(index_of(OP_BECOME) < index_of(OP_LEASH));  /* setresuid() clears the parent-death signal */
	CHECK(index_of(OP_ISOLATE) < index_of(OP_TREE));  /* no mount of ours reaches the host */
	CHECK(index_of(OP_TREE) < index_of(OP_ROOT));     /* which may hide it */
	CHECK(last_of(OP_TEXT) < index_of(OP_OVERLAY));   /* given files win over the project's */
	CHECK(index_of(OP_OVERLAY) < index_of(OP_PIVOT)); /* the host's paths are gone after it */
	CHECK(last_of(OP_BIND) < index_of(OP_PIVOT));
	CHECK(last_of(OP_MASK) < index_of(OP_PIVOT));
	CHECK(index_of(OP_PIVOT) < index_of(OP_SEAL));
	CHECK(index_of(OP_HANDLES) < index_of(OP_LANDLOCK));      /* it opens directories */
	CHECK(index_of(OP_NO_NEW_PRIVS) < index_of(OP_LANDLOCK)); /* which asks for it */
	CHECK(index_of(OP_NO_NEW_PRIVS) < index_of(OP_SECCOMP));
	CHECK(index_of(OP_CAPS) < index_of(OP_SECCOMP)); /* the filter denies capset */
	CHECK(last_of(OP_SECCOMP) < index_of(OP_PROVE)); /* all is proved after all is set */
	CHECK_INT(index_of(OP_EXEC), plan.op_count - 1);
}

/* The program's box alone, and when everything is in it. */
static void what_is_frozen(void)
{
	fresh();
	spec_set(&spec, "read-only", "yes", &err);
	spec_set(&spec, "project", "/host/project", &err);
	CHECK_INT(make(JOB_RUN), 0);
	CHECK(last_of(OP_TEXT) < index_of(OP_FREEZE));
	CHECK(last_of(OP_OVERLAY) < index_of(OP_FREEZE));
	CHECK(last_of(OP_FREEZE) < index_of(OP_PIVOT));
	CHECK_INT(last_of(OP_FREEZE), index_of(OP_FREEZE) + 1);
	for (size_t i = 0; i < plan.rule_count; i++)
		if (plan.rules[i].access == LANDLOCK_WRITE)
			CHECK(strcmp(plan.rules[i].path, "/sandbox/code") != 0 &&
			      strcmp(plan.rules[i].path, "/sandbox/data") != 0);
	spec_set(&spec, "read-only", "no", &err);
	CHECK_INT(make(JOB_RUN), 0);
	for (size_t i = 0; i < plan.op_count; i++)
		CHECK(plan.ops[i].kind != OP_FREEZE);
	fresh();
	spec_set(&spec, "language", "c", &err);
	spec_set(&spec, "read-only", "yes", &err);
	if (runtime_program(spec.runtime, false)) {
		CHECK_INT(make(JOB_COMPILE), 0);
		for (size_t i = 0; i < plan.op_count; i++)
			CHECK(plan.ops[i].kind != OP_FREEZE);
	}
}

/* A layer that is missing is refused for each part as for the whole. */
/* A job that asks for what no operation provides gets no box, nor a part of one, that lacks it. */
static void surroundings_that_nothing_provides(void)
{
	static int (*const all[])(const struct job *, const struct probe *, struct plan *,
				  struct error *) = { plan_make, plan_make_stem, plan_make_zygote, plan_make_box };
	static const char *packages[] = { "numpy" };

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		part = all[i];
		fresh();
		CHECK_INT(make(JOB_RUN), 0);
		fresh();
		spec.around.image = "debian:12";
		CHECK_INT(make(JOB_RUN), -1);
		CHECK_STR(err.text, "image: a box of this machine has the machine's own /usr, not \"debian:12\"");
		CHECK_STR(err.field, "image");
		fresh();
		spec.around.packages = packages;
		spec.around.package_count = 1;
		CHECK_INT(make(JOB_RUN), -1);
		CHECK_STR(err.text, "packages: a box of this machine has what is installed there, not \"numpy\"");
	}
	part = plan_make;
}

static void parts_are_refused_too(void)
{
	static int (*const all[])(const struct job *, const struct probe *, struct plan *,
				  struct error *) = { plan_make_stem, plan_make_zygote, plan_make_box };

	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		fresh();
		probe.seccomp = false;
		part = all[i];
		refused("this host cannot enforce seccomp: the kernel has no seccomp filters; accept that with "
			"--allow-weaker seccomp");
	}
	part = plan_make;
}

/* What is proved and filtered in a whole box is so, in its parts, by who enters; what comes before it is here. */
static void order_of_the_parts(void)
{
	fresh();
	part = plan_make_zygote;
	CHECK_INT(make(JOB_RUN), 0);
	CHECK(index_of(OP_NO_NEW_PRIVS) < index_of(OP_SECCOMP));
	CHECK_INT(last_of(OP_SECCOMP), plan.op_count - 1);
	part = plan_make_stem;
	CHECK_INT(make(JOB_RUN), 0);
	CHECK(index_of(OP_ISOLATE) < index_of(OP_ROOT));
	CHECK(last_of(OP_BIND) < index_of(OP_PIVOT));
	CHECK_INT(index_of(OP_SEAL), plan.op_count - 1);
	part = plan_make_box;
	CHECK_INT(make(JOB_RUN), 0);
	CHECK(index_of(OP_MAPPED) < index_of(OP_BECOME));
	CHECK(index_of(OP_BECOME) < index_of(OP_PROC));
	CHECK(last_of(OP_MASK) < index_of(OP_HANDLES));
	CHECK(index_of(OP_HANDLES) < index_of(OP_CAPS)); /* it opens what only they let it */
	CHECK(index_of(OP_NO_NEW_PRIVS) < index_of(OP_CAPS));
	part = plan_make;
}

static void the_stricter_filter_comes_first(void)
{
	fresh();
	ordinary_user();
	CHECK_INT(make(JOB_RUN), 0);
	CHECK_INT(plan.ops[index_of(OP_SECCOMP)].profile, SECCOMP_ACCOUNTED);
	CHECK_INT(plan.ops[last_of(OP_SECCOMP)].profile, SECCOMP_BOX);
	CHECK_INT(last_of(OP_SECCOMP), index_of(OP_SECCOMP) + 1);
}

static void the_largest_request_fits(void)
{
	fresh();
	spec_set(&spec, "project", "/host/project", &err);
	spec_set(&spec, "cpu-time", "1", &err);
	for (int i = 0; i < SPEC_WORDS_MAX; i++) {
		char word[64];

		snprintf(word, sizeof(word), "/host/f%d", i);
		CHECK_INT(spec_set(&spec, "file", word, &err), 0);
		CHECK_INT(spec_set(&spec, "arg", word, &err), 0);
		snprintf(word, sizeof(word), "V%d=1", i);
		CHECK_INT(spec_set(&spec, "env", word, &err), 0);
	}
	CHECK_INT(make(JOB_RUN), 0);
	CHECK_STR(err.text, "");
	CHECK_STR(plan.argv[SPEC_WORDS_MAX + 1], "/host/f1023");
	CHECK(!plan.argv[SPEC_WORDS_MAX + 2]);
	CHECK_STR(plan.envp[0], "V1023=1");
	CHECK_STR(plan.envp[SPEC_WORDS_MAX + 3], "TERM=dumb");
	CHECK(!plan.envp[SPEC_WORDS_MAX + 7]);
}

static void environment(void)
{
	size_t homes = 0;

	fresh();
	spec_set(&spec, "env", "HOME=/tmp", &err);
	spec_set(&spec, "env", "HOMER=x", &err);
	CHECK_INT(make(JOB_RUN), 0);
	for (const char **word = plan.envp; *word; word++)
		homes += strncmp(*word, "HOME=", 5) == 0;
	CHECK_INT(homes, 1);
	CHECK_STR(plan.envp[0], "HOMER=x");
	CHECK_STR(plan.envp[1], "HOME=/tmp");
	CHECK_STR(plan.envp[2], "PATH=/usr/local/bin:/usr/bin:/bin");
	CHECK_STR(plan.envp[7], "SHELL=/bin/sh");
	CHECK(!plan.envp[8]);
}

static void every_operation_has_a_name(void)
{
	for (int i = 0; i < OP_KINDS; i++) {
		CHECK(op_name(i) && *op_name(i));
		/* EMBERBOX_FAULT=NAME must mean one of them. */
		for (int j = 0; j < i; j++)
			CHECK(strcmp(op_name(i), op_name(j)) != 0);
	}
}

int main(void)
{
	spec_init(&spec);
	RUN(root_with_groups);
	RUN(root_with_everything_asked);
	RUN(read_only);
	RUN(with_a_terminal);
	RUN(user_without_groups);
	RUN(user_with_a_delegated_group);
	RUN(nothing_but_given_up);
	RUN(no_landlock_is_refused);
	RUN(no_seccomp_is_refused);
	RUN(no_group_is_refused_to_root_only);
	RUN(cores_that_cannot_be_limited);
	RUN(nothing_at_all_is_refused);
	RUN(giving_up_is_not_asking_for_less);
	RUN(order_that_matters);
	RUN(what_is_frozen);
	RUN(parts_of_root);
	RUN(parts_of_an_ordinary_user);
	RUN(parts_without_layers);
	RUN(surroundings_that_nothing_provides);
	RUN(parts_are_refused_too);
	RUN(order_of_the_parts);
	RUN(the_stricter_filter_comes_first);
	RUN(the_largest_request_fits);
	RUN(environment);
	RUN(every_operation_has_a_name);
	plan_free(&plan);
	spec_free(&spec);
	return check_failures != 0;
}
