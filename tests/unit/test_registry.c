/* registry.yaml: what it means, and every mistake with its place and its exact sentence. */
#include "../check.h"
#include "tree.h"

#include "base/own.h"
#include "registry/registry.h"

#include <unistd.h>

static struct arena arena;
static struct registry registry;
static struct error err;

static int parse(const char *text)
{
	arena_free(&arena);
	err = (struct error){ 0 };
	return registry_parse("r.yaml", text, strlen(text), &arena, &registry, &err);
}

/* The text is refused with exactly this. */
static void refused(const char *text, const char *sentence)
{
	if (parse(text) == 0)
		check_fail("taken: %s", text);
	else if (strcmp(err.text, sentence) != 0)
		check_fail("\"%s\" gives \"%s\", not \"%s\"", text, err.text, sentence);
	CHECK_INT(err.kind, ERROR_USAGE);
}

static void nothing_is_an_empty_registry(void)
{
	const char *const texts[] = { "", "# only words\n", "~", "containers:\nsettings:\n", "{}" };

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		CHECK_INT(parse(texts[i]), 0);
		CHECK_INT(registry.count, 0);
		CHECK_INT(registry.setting_count, 0);
		CHECK(registry.auto_cleanup);
		CHECK_INT(registry.max_concurrent, 3);
	}
}

/* The example that users are given, word by word. */
static void the_example_is_taken(void)
{
	const struct profile *p;

	CHECK_INT(parse("containers:\n"
			"  code-sandbox:\n"
			"    description: \"Python code execution environment\"\n"
			"    language: python            # or dockerfile: / image: / rootfs:\n"
			"    triggers: [\"execute code\", \"run python\", \"test this\"]\n"
			"    security:  {network_mode: none, read_only: false, needs_confirm: false}\n"
			"    resources: {memory: \"256m\", cpus: \"0.5\", timeout: 60}\n"
			"settings: {auto_cleanup: true, max_concurrent: 3}\n"),
		  0);
	CHECK_INT(registry.count, 1);
	p = registry_find(&registry, "code-sandbox", NULL);
	CHECK(p != NULL);
	if (!p)
		return;
	CHECK_STR(p->description, "Python code execution environment");
	CHECK_STR(p->language, "python");
	CHECK_STR(p->triggers[2], "test this");
	CHECK(!p->triggers[3] && !p->image && !p->read_only && !p->needs_confirm && !p->confirm_once);
	CHECK_STR(p->network, "none");
	CHECK_STR(p->limits.memory, "256m");
	CHECK_STR(p->limits.cpus, "0.5");
	CHECK_STR(p->limits.timeout, "60");
	CHECK(!p->limits.pids && !p->limits.disk && !p->limits.max_output && !p->limits.cpu_time);
	CHECK_INT(registry_check("r.yaml", &registry, &err), 0);
}

static void everything_can_be_said(void)
{
	const struct profile *p;

	CHECK_INT(parse("containers:\n"
			"  a:\n"
			"    image: debian:12\n"
			"    security: {network_mode: {allow: [api.example.com, \"10.0.0.7:443\", "
			"\"[2001:db8::1]:80\"]}, "
			"read_only: "
			"\"true\", confirm: once, needs_confirm: true}\n"
			"    resources: {memory: 1g, cpus: 2, timeout: \"0.5\", pids: 9, disk: 8m, max_output: 2k, "
			"cpu_time: 1}\n"
			"  B_2.x-y: {rootfs: /srv/r, security: {network_mode: bridge}}\n"
			"  c: {dockerfile: ./Dockerfile}\n"
			"settings: {auto_cleanup: \"false\", max_concurrent: \"1000\", SANDBOX_TIMEOUT_SEC: 7, "
			"EMBERBOX_LISTEN: "
			"none}\n"),
		  0);
	CHECK_INT(registry.count, 3);
	if (registry.count != 3)
		return;
	p = &registry.profiles[0];
	CHECK(!p->language && p->read_only && p->needs_confirm && p->confirm_once);
	CHECK_STR(p->image, "debian:12");
	CHECK_STR(p->image_key, "image");
	CHECK_STR(p->network, "api.example.com,10.0.0.7:443,[2001:db8::1]:80");
	CHECK_STR(p->limits.pids, "9");
	CHECK_STR(p->limits.disk, "8m");
	CHECK_STR(p->limits.max_output, "2k");
	CHECK_STR(p->limits.cpu_time, "1");
	CHECK_STR(p->limits.timeout, "0.5");
	CHECK_STR(registry.profiles[1].network, "public");
	CHECK_STR(registry.profiles[1].name, "B_2.x-y");
	CHECK_STR(registry.profiles[1].image_key, "rootfs");
	CHECK_STR(registry.profiles[2].image_key, "dockerfile");
	CHECK(!registry.auto_cleanup);
	CHECK_INT(registry.max_concurrent, 1000);
	CHECK_INT(registry.setting_count, 2);
	CHECK_STR(registry.settings[0].name, "SANDBOX_TIMEOUT_SEC");
	CHECK_STR(registry.settings[0].value, "7");
	CHECK_INT(registry.settings[0].line, 8);
	CHECK_STR(registry.settings[1].value, "none");
}

static void mistakes_of_the_whole(void)
{
	refused("[a]", "r.yaml:1:1: expected a mapping with containers, settings and policy, not a list");
	refused("hello", "r.yaml:1:1: expected a mapping with containers, settings and policy, not \"hello\"");
	refused("container: {}", "r.yaml:1:1: unknown key \"container\"; did you mean \"containers\"?");
	refused("x: 1", "r.yaml:1:1: unknown key \"x\"; expected one of containers, settings, policy");
	refused("containers: [a]", "r.yaml:1:13: containers: expected a mapping of names to profiles, not a list");
	refused("settings: 3", "r.yaml:1:11: settings: expected a mapping of settings, not \"3\"");
	refused("containers: {}\ncontainers: {}",
		"r.yaml:2:1: expected each key once; \"containers\" is on line 1 already");
}

static void mistakes_of_a_profile(void)
{
	const char name[] =
		"expected a name of at most 64 letters, digits, \"_\", \".\" and \"-\" that begins with a letter "
		"or digit";
	char text[256], sentence[256];

	snprintf(sentence, sizeof(sentence), "r.yaml:1:14: containers: %s", name);
	refused("containers: {-a: {language: sh}}", sentence);
	refused("containers: {\"\": {language: sh}}", sentence);
	refused("containers: {a/b: {language: sh}}", sentence);
	refused("containers: {é: {language: sh}}", sentence);
	snprintf(text, sizeof(text), "containers: {%065d: {language: sh}}", 0);
	refused(text, sentence);
	snprintf(text, sizeof(text), "containers: {%064d: {language: sh}}", 0);
	CHECK_INT(parse(text), 0);
	refused("containers:\n  a:\n", "r.yaml:2:5: containers.a: expected a mapping with language, security and "
				       "resources, but there is nothing");
	refused("containers:\n  a:\n    lnguage: python\n",
		"r.yaml:3:5: containers.a: unknown key \"lnguage\"; did you mean \"language\"?");
	refused("containers:\n  a:\n    description: x\n",
		"r.yaml:3:5: containers.a: expected one of language, dockerfile, image, rootfs");
	refused("containers:\n  a:\n    language: sh\n    image: x\n",
		"r.yaml:4:5: containers.a: expected only one of language, dockerfile, image, rootfs; \"language\" is "
		"on line 3 "
		"already");
	refused("containers:\n  a:\n    rootfs: x\n    image: x\n",
		"r.yaml:3:5: containers.a: expected only one of language, dockerfile, image, rootfs; \"image\" is on "
		"line 4 already");
	refused("containers: {a: {language: }}",
		"r.yaml:1:28: containers.a.language: expected a language such as python, but there is nothing");
	refused("containers: {a: {image: \"\"}}", "r.yaml:1:25: containers.a.image: expected a string, not \"\"");
	refused("containers: {a: {language: sh, description: [x]}}",
		"r.yaml:1:45: containers.a.description: expected a string, not a list");
	refused("containers: {a: {language: sh, triggers: run}}",
		"r.yaml:1:42: containers.a.triggers: expected a list of phrases, not \"run\"");
	refused("containers: {a: {language: sh, triggers: [x, \"\"]}}",
		"r.yaml:1:46: containers.a.triggers: expected a phrase, not an empty string");
	refused("containers: {a: {language: sh, triggers: [{}]}}",
		"r.yaml:1:43: containers.a.triggers: expected a string, not a mapping");
}

/* What an editor that was cut short leaves. */
static void half_a_file_is_refused(void)
{
	static const struct {
		const char *text, *sentence;
	} cases[] = {
		{ "", "r.yaml:1:1: the registry is empty: " },
		{ "# only words\n", "r.yaml:1:1: the registry is empty: " },
		{ "settings: {}\npolicy:\n",
		  "r.yaml:2:1: policy: expected a mapping, not nothing; write policy: {} for an empty one" },
		{ "containers:\n", "r.yaml:1:1: containers: expected a mapping, " },
		{ "{}", "" },
		{ "policy: {}", "" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CHECK_INT(parse(cases[i].text), 0);
		CHECK_INT(registry_check_whole("r.yaml", &registry, &err), *cases[i].sentence ? -1 : 0);
		if (*cases[i].sentence)
			CHECK(strncmp(err.text, cases[i].sentence, strlen(cases[i].sentence)) == 0);
	}
}

static void mistakes_of_policies(void)
{
	static const struct {
		const char *text, *sentence;
	} cases[] = {
		{ "policy: {python: {block: [os]}, bash: {}}", "" },
		{ "policy: {pyton: {block: [os]}}", "r.yaml:1:10: policy: Unknown language \"pyton\"; available: " },
		{ "policy: {python: {block: [os]}, py: {block: [socket]}}",
		  "r.yaml:1:33: policy.py: Python is on line 1 already" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CHECK_INT(parse(cases[i].text), 0);
		CHECK_INT(registry_check("r.yaml", &registry, &err), *cases[i].sentence ? -1 : 0);
		if (*cases[i].sentence)
			CHECK(strncmp(err.text, cases[i].sentence, strlen(cases[i].sentence)) == 0);
	}
}

static void mistakes_of_security(void)
{
	refused("containers: {a: {language: sh, security: yes}}",
		"r.yaml:1:42: containers.a.security: expected a mapping with network_mode, read_only, "
		"needs_confirm and confirm, not \"yes\"");
	refused("containers: {a: {language: sh, security: {needs_confirm: true, confirm: always}}}",
		"r.yaml:1:73: containers.a.security.confirm: expected each or once, not \"always\"");
	refused("containers: {a: {language: sh, security: {confirm: once, needs_confirm: false}}}",
		"r.yaml:1:52: containers.a.security.confirm: it needs needs_confirm: true beside "
		"it");
	refused("containers: {a: {language: sh, security: {readonly: true}}}",
		"r.yaml:1:43: containers.a.security: unknown key \"readonly\"; did you mean \"read_only\"?");
	refused("containers: {a: {language: sh, security: {read_only: yes}}}",
		"r.yaml:1:54: containers.a.security.read_only: expected true or false, not \"yes\"");
	refused("containers: {a: {language: sh, security: {needs_confirm: 1}}}",
		"r.yaml:1:58: containers.a.security.needs_confirm: expected true or false, not \"1\"");
	refused("containers: {a: {language: sh, security: {network_mode: host}}}",
		"r.yaml:1:57: containers.a.security.network_mode: expected none, bridge, public or {allow: [RULE, "
		"...]}, not "
		"\"host\"");
	refused("containers: {a: {language: sh, security: {network_mode: {}}}}",
		"r.yaml:1:57: containers.a.security.network_mode: expected none, bridge, public or {allow: [RULE, "
		"...]}, not a "
		"mapping");
	refused("containers: {a: {language: sh, security: {network_mode: {alow: [x]}}}}",
		"r.yaml:1:58: containers.a.security.network_mode: unknown key \"alow\"; did you mean \"allow\"?");
	refused("containers: {a: {language: sh, security: {network_mode: {allow: []}}}}",
		"r.yaml:1:65: containers.a.security.network_mode.allow: expected at least one rule; for no network, "
		"write none");
	refused("containers: {a: {language: sh, security: {network_mode: {allow: [\"x:0\"]}}}}",
		"r.yaml:1:66: containers.a.security.network_mode.allow: \"x:0\" has a port that is not a number from 1 "
		"to "
		"65535; several have + between them, as in example.com:80+443");
	refused("containers: {a: {language: sh, security: {network_mode: {allow: [{ports: [1]}]}}}}",
		"r.yaml:1:66: containers.a.security.network_mode.allow: expected a host in the rule");
	refused("containers: {a: {language: sh, security: {network_mode: {allow: [{host: a.example, ports: [x]}]}}}}",
		"r.yaml:1:92: containers.a.security.network_mode.allow.ports: expected a port from 1 to 65535, not "
		"\"x\"");
	refused("containers: {a: {language: sh, security: {network_mode: {allow: [{host: a.example, tls: no}]}}}}",
		"r.yaml:1:89: containers.a.security.network_mode.allow.tls: expected pass or terminate, not \"no\"");
	refused("containers: {a: {language: sh, security: {network_mode: {rate: 1m}}}}",
		"r.yaml:1:57: containers.a.security.network_mode: expected allow: [RULE, ...] in it");
	refused("containers: {a: {language: sh, security: {network_mode: {allow: [a.example], rate: x}}}}",
		"r.yaml:1:84: containers.a.security.network_mode.rate: \"x\" is not a number of bytes a second, at "
		"least "
		"1k, such as 64k, 1m or 1g");
}

static void mistakes_of_resources(void)
{
	refused("containers: {a: {language: sh, resources: []}}",
		"r.yaml:1:43: containers.a.resources: expected a mapping with memory, cpus, timeout, ..., not a list");
	refused("containers: {a: {language: sh, resources: {memroy: 1g}}}",
		"r.yaml:1:44: containers.a.resources: unknown key \"memroy\"; did you mean \"memory\"?");
	refused("containers:\n  a:\n    language: sh\n    resources:\n      memory: 12q\n",
		"r.yaml:5:15: containers.a.resources.memory: \"12q\" is not a size between 4m and 1024g; write it as "
		"64m, 1g or a number of bytes");
	refused("containers: {a: {language: sh, resources: {timeout: -1}}}",
		"r.yaml:1:53: containers.a.resources.timeout: \"-1\" is not a time between 0.001 and "
		"86400 seconds; write it as 30, 500ms, 2m or 1h30m");
	refused("containers: {a: {language: sh, resources: {timeout: }}}",
		"r.yaml:1:53: containers.a.resources.timeout: expected a time such as 60 or 1m, but there is nothing");
	refused("containers: {a: {language: sh, resources: {cpus: lots}}}",
		"r.yaml:1:50: containers.a.resources.cpus: \"lots\" is not a number of cores between 0.01 and 1024");
	refused("containers: {a: {language: sh, resources: {pids: 1.5}}}",
		"r.yaml:1:50: containers.a.resources.pids: \"1.5\" is not a number of processes between 1 and 32768");
	refused("containers: {a: {language: sh, resources: {cpu_time: x}}}",
		"r.yaml:1:54: containers.a.resources.cpu_time: \"x\" is not a time between 0.001 and "
		"86400 seconds; write it as 30, 500ms, 2m or 1h30m");
	refused("containers: {a: {language: sh, resources: {max_output: [1]}}}",
		"r.yaml:1:56: containers.a.resources.max_output: expected a size such as 20k, not a list");
}

static void mistakes_of_settings(void)
{
	refused("settings: {auto_cleanup: on}",
		"r.yaml:1:26: settings.auto_cleanup: expected true or false, not \"on\"");
	refused("settings: {max_concurrent: 0}",
		"r.yaml:1:28: settings.max_concurrent: expected a number from 1 to 1000, not \"0\"");
	refused("settings: {max_concurrent: 1001}",
		"r.yaml:1:28: settings.max_concurrent: expected a number from 1 to 1000, not \"1001\"");
	refused("settings: {max_concurrent: }",
		"r.yaml:1:28: settings.max_concurrent: expected a number from 1 to 1000, but there is nothing");
	refused("settings: {SANDBOX_TIMEOUT: 3}",
		"r.yaml:1:12: settings: unknown key \"SANDBOX_TIMEOUT\"; did you mean \"SANDBOX_TIMEOUT_SEC\"?");
	refused("settings:\n  SANDBOX_TIMEOUT_SEC: soon\n",
		"r.yaml:2:24: settings.SANDBOX_TIMEOUT_SEC: \"soon\" is "
		"not a time between 0.001 and 86400 seconds; write it as 30, 500ms, 2m or 1h30m");
	refused("settings:\n  SANDBOX_STORE_CODE: {}\n",
		"r.yaml:2:23: settings.SANDBOX_STORE_CODE: expected a value, not a mapping");
	refused("settings: {EMBERBOX_TOKEN: 0123456789abcdef}", "r.yaml:1:12: settings: a secret must not be in the "
								"registry; set EMBERBOX_TOKEN in the environment or in "
								".env");
	refused("settings: {EMBERBOX_HOME: /x}",
		"r.yaml:1:12: settings: it determines the path of the registry; set it in the environment");
	refused("settings: {EMBERBOX_REGISTRY: /x}",
		"r.yaml:1:12: settings: it determines the path of the registry; set it in the environment");
}

static void languages_are_looked_up_apart(void)
{
	CHECK_INT(parse("containers:\n  a: {language: py}\n  b: {image: x}\n"), 0);
	CHECK_INT(registry_check("r.yaml", &registry, &err), 0);
	CHECK_INT(parse("containers:\n  a: {language: py}\n  b:\n    language: pyhton\n"), 0);
	CHECK_INT(registry_check("r.yaml", &registry, &err), -1);
	CHECK_INT(err.kind, ERROR_USAGE);
	CHECK(strstr(err.text, "r.yaml:4:15: containers.b.language: Unknown language \"pyhton\"; available: ") ==
	      err.text);
	CHECK(strstr(err.text, "; did you mean python?") != NULL);
}

static void a_name_that_is_near_is_told(void)
{
	const char *nearest = "x";

	CHECK_INT(parse("containers: {code-sandbox: {language: sh}, web: {language: js}}"), 0);
	CHECK(registry_find(&registry, "code-sandbx", &nearest) == NULL);
	CHECK_STR(nearest, "code-sandbox");
	CHECK(registry_find(&registry, "zzzzzzzz", &nearest) == NULL);
	CHECK(nearest == NULL);
	CHECK(registry_find(&registry, "web", &nearest) == &registry.profiles[1]);
}

static char *home;
static char path[512];
static char *text;
static size_t size;
static char where[512];

static int read_file(const char *name)
{
	free(text);
	err = (struct error){ 0 };
	return registry_read(name, &text, &size, where, sizeof(where), &err);
}

static void the_file_is_read_if_it_can_be_believed(void)
{
	char sentence[1200];
	int dir, writing;

	home = tree_new();
	dir = open(home, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	setenv("EMBERBOX_HOME", home, 1);
	snprintf(path, sizeof(path), "%s/registry.yaml", home);
	CHECK_INT(read_file(NULL), 0);
	CHECK_INT(size, 0);
	/* None is not one that is empty. */
	CHECK(!text);
	CHECK_STR(where, path);
	CHECK_INT(read_file(path), -1);
	snprintf(sentence, sizeof(sentence), "%s: cannot be read: No such file or directory", path);
	CHECK_STR(err.text, sentence);
	CHECK_INT(err.kind, ERROR_USAGE);
	tree_write(dir, "registry.yaml", "", 0);
	CHECK_INT(read_file(NULL), 0);
	CHECK_STR(text, "");
	CHECK(!registry_is_being_written(path));
	writing = openat(dir, "registry.yaml", O_WRONLY | O_CLOEXEC);
	CHECK(registry_is_being_written(path));
	close(writing);
	CHECK(!registry_is_being_written(path));
	unlinkat(dir, "registry.yaml", 0);
	tree_write(dir, "registry.yaml", "settings: {}\n", 13);
	CHECK_INT(read_file(NULL), 0);
	CHECK_INT(size, 13);
	CHECK_STR(text, "settings: {}\n");
	tree_mode(dir, "registry.yaml", 0664);
	CHECK_INT(read_file(NULL), -1);
	snprintf(sentence, sizeof(sentence), "%s: others can write to it; use: chmod go-w %s", path, path);
	CHECK_STR(err.text, sentence);
	tree_mode(dir, "registry.yaml", 0644);
	CHECK_INT(read_file(path), 0);
	CHECK_INT(read_file(home), -1);
	snprintf(sentence, sizeof(sentence), "%s: it is not a file", home);
	CHECK_STR(err.text, sentence);
	CHECK_INT(truncate(path, (256 << 10) + 1), 0);
	CHECK_INT(read_file(NULL), -1);
	snprintf(sentence, sizeof(sentence), "%s:1:1: expected at most 256 KiB", path);
	CHECK_STR(err.text, sentence);
	if (geteuid() == 0) {
		CHECK_INT(truncate(path, 3), 0);
		CHECK_INT(chown(path, 54321, 54321), 0);
		/* In the usual place it is somebody else's HOME; one that was named is a mistake. */
		CHECK_INT(read_file(NULL), 0);
		CHECK_INT(size, 0);
		CHECK_INT(read_file(path), -1);
		snprintf(sentence, sizeof(sentence), "%s: it belongs to another user (uid 54321); use one of your own",
			 path);
		CHECK_STR(err.text, sentence);
	}
	free(text);
	close(dir);
	tree_free(home);
}

int main(void)
{
	RUN(nothing_is_an_empty_registry);
	RUN(the_example_is_taken);
	RUN(everything_can_be_said);
	RUN(mistakes_of_the_whole);
	RUN(mistakes_of_a_profile);
	RUN(half_a_file_is_refused);
	RUN(mistakes_of_policies);
	RUN(mistakes_of_security);
	RUN(mistakes_of_resources);
	RUN(mistakes_of_settings);
	RUN(languages_are_looked_up_apart);
	RUN(a_name_that_is_near_is_told);
	RUN(the_file_is_read_if_it_can_be_believed);
	arena_free(&arena);
	return check_failures != 0;
}
