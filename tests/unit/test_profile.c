/* What a request gets that it does not say, and what its token forbids. */
#include "../check.h"
#include "tree.h"

#include "base/own.h"
#include "registry/profile.h"
#include "language/runtime.h"

/* A request as two lists of texts. */
struct request {
	const char *said[16][2]; /* by itself */
	size_t count;            /* of them */
	const char *got[16][2];  /* by profile_settle(), copied */
	size_t got_count;        /* of them */
	struct arena arena;      /* of the copies */
};

static struct request request;
static struct error err;

static const char *get(void *data, const char *key)
{
	const struct request *r = data;

	for (size_t i = 0; i < r->count; i++)
		if (strcmp(r->said[i][0], key) == 0)
			return r->said[i][1];
	for (size_t i = 0; i < r->got_count; i++)
		if (strcmp(r->got[i][0], key) == 0)
			return r->got[i][1];
	return NULL;
}

static int set(void *data, const char *key, const char *value, struct error *why)
{
	struct request *r = data;

	(void)why;
	if (get(data, key))
		check_fail("%s is set twice", key);
	r->got[r->got_count][0] = key;
	r->got[r->got_count++][1] = arena_string(&r->arena, value);
	return 0;
}

static const struct profile_target target = { get, set, &request };
static const struct profile python = { .name = "p",
				       .language = "python",
				       .limits.timeout = "60",
				       .limits.memory = "256m",
				       .limits.pids = "9",
				       .limits.max_output = "4k" };

static void say(const char *key, const char *value)
{
	request.said[request.count][0] = key;
	request.said[request.count++][1] = value;
}

static int settle(const struct profile *profile, const struct token *token, const struct limit_texts *said,
		  const struct limit_texts *settings)
{
	request.got_count = 0;
	err = (struct error){ 0 };
	return profile_settle(profile, token, said, settings, &target, &err);
}

static void fresh(void)
{
	arena_free(&request.arena);
	request = (struct request){ 0 };
}

static void nothing_adds_nothing(void)
{
	fresh();
	say("language", "python");
	CHECK_INT(settle(NULL, NULL, NULL, NULL), 0);
	CHECK_INT(request.got_count, 0);
}

static void a_profile_gives_what_is_lacking(void)
{
	fresh();
	say("memory", "64m");
	CHECK_INT(settle(&python, NULL, NULL, NULL), 0);
	CHECK_STR(get(&request, "language"), "python");
	CHECK_STR(get(&request, "timeout"), "60");
	CHECK_STR(get(&request, "memory"), "64m");
	CHECK_STR(get(&request, "pids"), "9");
	CHECK_STR(get(&request, "max-output"), "4k");
	CHECK(!get(&request, "cpus") && !get(&request, "net") && !get(&request, "read-only"));
	CHECK_INT(request.got_count, 4);
}

static void the_environment_beats_the_profile_which_beats_settings(void)
{
	const struct limit_texts said = { .timeout = "5", .max_output = "1k" };
	const struct limit_texts settings = { .timeout = "6", .memory = "128m", .cpus = "0.5" };

	fresh();
	CHECK_INT(settle(&python, NULL, &said, &settings), 0);
	CHECK_STR(get(&request, "timeout"), "5");
	CHECK_STR(get(&request, "max-output"), "1k");
	CHECK_STR(get(&request, "memory"), "256m");
	CHECK_STR(get(&request, "cpus"), "0.5");
	fresh();
	say("language", "sh");
	say("timeout", "1");
	CHECK_INT(settle(NULL, NULL, &said, &settings), 0);
	CHECK_STR(get(&request, "timeout"), "1");
	CHECK_STR(get(&request, "memory"), "128m");
	CHECK_STR(get(&request, "max-output"), "1k");
}

static void another_language_is_an_error(void)
{
	static const struct {
		const char *key, *image, *say;
	} images[] = {
		{ "dockerfile", "./Dockerfile", "python instead of it, or another that emberbox languages has" },
		{ "dockerfile", "# it\nfrom docker.io/library/python:3.12-slim AS base\nRUN x\n",
		  "python instead of it" },
		{ "dockerfile", "FROM node:20@sha256:00", "javascript instead of it" },
		{ "image", "golang", "go instead of it" },
		{ "image", "registry.example:5000/ruby", "ruby instead of it" },
		{ "image", "debian:12", "python instead of it, or another that emberbox languages has" },
		{ "rootfs", "/srv/python", "python instead of it, or another that emberbox languages has" },
	};

	fresh();
	say("language", "py");
	CHECK_INT(settle(&python, NULL, NULL, NULL), 0);
	fresh();
	say("language", "Python");
	CHECK_INT(settle(&python, NULL, NULL, NULL), 0);
	fresh();
	say("language", "bash");
	CHECK_INT(settle(&python, NULL, NULL, NULL), -1);
	CHECK_STR(err.text, "language: the profile \"p\" is for python, not for \"bash\"");
	CHECK_INT(err.kind, ERROR_USAGE);
	for (size_t i = 0; i < sizeof(images) / sizeof(images[0]); i++) {
		const struct profile image = { .name = "i", .image = images[i].image, .image_key = images[i].key };
		char sentence[256];

		fresh();
		CHECK_INT(settle(&image, NULL, NULL, NULL), -1);
		snprintf(sentence, sizeof(sentence),
			 "profile: \"i\" is made from \"%s\", which is not available yet; write language: %s, see: man "
			 "emberbox-config",
			 images[i].key, images[i].say);
		CHECK_STR(err.text, sentence);
		CHECK_INT(err.kind, ERROR_USAGE);
	}
}

static void read_only_of_a_profile(void)
{
	struct profile p = { .name = "p", .language = "sh", .read_only = true };

	fresh();
	CHECK_INT(settle(&p, NULL, NULL, NULL), 0);
	CHECK_STR(get(&request, "read-only"), "yes");
	p = (struct profile){ .name = "p", .language = "sh" };
	fresh();
	CHECK_INT(settle(&p, NULL, NULL, NULL), 0);
	CHECK(!get(&request, "read-only"));
	fresh();
	say("read-only", "no");
	CHECK_INT(settle(&p, NULL, NULL, NULL), 0);
	CHECK_STR(get(&request, "read-only"), "no");
	/* A profile that is read-only stays so. */
	p.read_only = true;
	CHECK_INT(settle(&p, NULL, NULL, NULL), -1);
	CHECK_STR(err.text, "read-only: profile \"p\" is read-only; leave it out");
	fresh();
	say("read-only", "yes");
	CHECK_INT(settle(&p, NULL, NULL, NULL), 0);
}

static void a_token_refuses_more(void)
{
	static const struct {
		const char *key, *good, *bad, *sentence;
	} all[] = {
		{ "timeout", "10", "10.5", "timeout: \"10.5\" is more than the token \"ci\" allows: at most 10" },
		{ "timeout", "10s", "1m", "timeout: \"1m\" is more than the token \"ci\" allows: at most 10" },
		{ "cpu-time", "2", "3", "cpu-time: \"3\" is more than the token \"ci\" allows: at most 2" },
		{ "memory", "65536k", "65m", "memory: \"65m\" is more than the token \"ci\" allows: at most 64m" },
		{ "cpus", "0.5", "0.51", "cpus: \"0.51\" is more than the token \"ci\" allows: at most 0.5" },
		{ "pids", "8", "9", "pids: \"9\" is more than the token \"ci\" allows: at most 8" },
		{ "disk", "8388608", "8388609", "disk: \"8388609\" is more than the token \"ci\" allows: at most 8m" },
		{ "max-output", "1k", "2k", "max-output: \"2k\" is more than the token \"ci\" allows: at most 1k" },
	};
	static const struct token token = { .name = "ci",
					    .limits.timeout = "10",
					    .limits.cpu_time = "2",
					    .limits.memory = "64m",
					    .limits.cpus = "0.5",
					    .limits.pids = "8",
					    .limits.disk = "8m",
					    .limits.max_output = "1k" };

	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		fresh();
		say("language", "python");
		say(all[i].key, all[i].bad);
		CHECK_INT(settle(NULL, &token, NULL, NULL), -1);
		CHECK_STR(err.text, all[i].sentence);
		CHECK_INT(err.kind, ERROR_USAGE);
		fresh();
		say("language", "python");
		say(all[i].key, all[i].good);
		CHECK_INT(settle(NULL, &token, NULL, NULL), 0);
		CHECK_STR(get(&request, all[i].key), all[i].good);
	}
}

static void a_token_bounds_what_is_not_said(void)
{
	struct token token = { .name = "ci", .limits.timeout = "10", .limits.memory = "64m", .limits.cpu_time = "2" };
	const struct limit_texts said = { .timeout = "20", .memory = "32m" };

	/* The defaults are 30 s, 512m and no CPU time. */
	fresh();
	say("language", "python");
	CHECK_INT(settle(NULL, &token, NULL, NULL), 0);
	CHECK_STR(get(&request, "timeout"), "10");
	CHECK_STR(get(&request, "memory"), "64m");
	CHECK_STR(get(&request, "cpu-time"), "2");
	/* What is written in a box's files is memory. */
	CHECK_STR(get(&request, "disk"), "64m");
	CHECK_INT(request.got_count, 4);
	/* A profile and the environment are defaults as well: nobody asked for too much. */
	fresh();
	CHECK_INT(settle(&python, &token, &said, NULL), 0);
	CHECK_STR(get(&request, "timeout"), "10");
	CHECK_STR(get(&request, "memory"), "32m");
	/* A bound above the default leaves that alone. */
	token = (struct token){ .name = "ci",
				.limits.timeout = "3600",
				.limits.memory = "8g",
				.limits.disk = "100g",
				.limits.pids = "1000" };
	fresh();
	say("language", "python");
	CHECK_INT(settle(NULL, &token, NULL, NULL), 0);
	CHECK_INT(request.got_count, 0);
}

/* A language may need more than others: its own default is the one that counts. */
static void the_languages_own_default_counts(void)
{
	static const char yaml[] =
		"display: Greedy\nfile: main.x\ntools: {demo: [/usr/bin/demo]}\nversion: [\"{demo}\"]\n"
		"install: get demo\nrun: [\"{demo}\"]\nlimits: {memory: 1g}\n";
	const struct token token = { .name = "ci", .limits.memory = "600m" };
	char *home = tree_new();
	int dir = open(home, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	CHECK_INT(mkdirat(dir, "runtimes", 0755), 0);
	CHECK_INT(mkdirat(dir, "runtimes/greedy", 0755), 0);
	tree_write(dir, "runtimes/greedy/runtime.yaml", yaml, strlen(yaml));
	setenv("EMBERBOX_HOME", home, 1);
	runtime_reload();
	fresh();
	say("language", "greedy");
	CHECK_INT(settle(NULL, &token, NULL, NULL), 0);
	CHECK_INT(request.got_count, 2);
	CHECK_STR(get(&request, "memory"), "600m");
	CHECK_STR(get(&request, "disk"), "600m");
	fresh();
	say("language", "python");
	CHECK_INT(settle(NULL, &token, NULL, NULL), 0);
	/* Python's own is below the bound; what its box may write is not. */
	CHECK_INT(request.got_count, 1);
	CHECK_STR(get(&request, "disk"), "600m");
	close(dir);
	tree_free(home);
}

int main(void)
{
	RUN(nothing_adds_nothing);
	RUN(a_profile_gives_what_is_lacking);
	RUN(the_environment_beats_the_profile_which_beats_settings);
	RUN(another_language_is_an_error);
	RUN(read_only_of_a_profile);
	RUN(a_token_refuses_more);
	RUN(a_token_bounds_what_is_not_said);
	RUN(the_languages_own_default_counts);
	fresh();
	return check_failures != 0;
}
