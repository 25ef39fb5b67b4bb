/* Settings: every one of every source, which of them counts, and what is refused. */
#include "../check.h"
#include "tree.h"

#include "base/own.h"
#include "registry/config.h"

#include <unistd.h>

static char *home;
static struct config config;
static struct error err;

static void put(const char *name, const char *text)
{
	char path[512];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", home, name);
	unlink(path);
	if (!text)
		return;
	file = fopen(path, "w");
	fputs(text, file);
	fclose(file);
	chmod(path, 0600);
}

/* A state directory without files, an environment without settings. */
static void fresh(void)
{
	config_unexport();
	config_free(&config);
	for (int i = 0; i < CONFIG_KEYS; i++)
		unsetenv(config_name((enum config_key)i));
	for (int i = 0; i < CONFIG_KEYS; i++)
		if (setting_other_name((enum config_key)i))
			unsetenv(setting_other_name((enum config_key)i));
	if (home)
		tree_free(home);
	home = tree_new();
	setenv("EMBERBOX_HOME", home, 1);
}

static int load(const struct config_option *options, size_t count)
{
	config_free(&config);
	err = (struct error){ 0 };
	return config_load(options, count, &config, &err);
}

static void is(enum config_key key, const char *text, enum config_source source, unsigned line)
{
	const struct config_value *value = &config.values[key];

	if (text)
		CHECK_STR(value->text, text);
	else
		CHECK(value->text == NULL);
	CHECK_INT(value->source, source);
	CHECK_INT(value->line, line);
	CHECK((value->where != NULL) == (source == CONFIG_FILE || source == CONFIG_REGISTRY));
}

/* A value of each that is not its default. */
static const struct {
	enum config_key key;
	const char *fallback; /* NULL: none, or computed */
	const char *good;
	const char *bad;
	const char *sentence; /* behind the name */
} all[] = {
	{ CONFIG_TYPE, "auto", "local", "podman", "\"podman\" is not one of local, docker, e2b, cluster, auto" },
	{ CONFIG_TIMEOUT, "30", "7", "soon",
	  "\"soon\" is not a time between 0.001 and 86400 seconds; write it as 30, 500ms, 2m or 1h30m" },
	{ CONFIG_MAX_OUTPUT, "20", "3", "3k", "\"3k\" is not a number of KiB between 1 and 16384" },
	{ CONFIG_BLOCK_IMPORTS, "false", "false", "yes", "\"yes\" is not true or false" },
	{ CONFIG_STORE_CODE, "on_error", "never", "no", "\"no\" is not one of always, on_error, never" },
	{ CONFIG_MEMORY, "512m", "64m", "64q",
	  "\"64q\" is not a size between 4m and 1024g; write it as 64m, 1g or a number of bytes" },
	{ CONFIG_CPUS, "1", "0.5", "many", "\"many\" is not a number of cores between 0.01 and 1024" },
	{ CONFIG_LISTEN, "127.0.0.1:7320", "[::1]:0", "7320",
	  "\"7320\" is not HOST:PORT such as 127.0.0.1:7320 or [::1]:7320, and not the word none" },
	{ CONFIG_SOCKET, NULL, "/x/s", "", "\"\" is not an absolute path" },
	{ CONFIG_SERVICE, "auto", "never", "maybe", "\"maybe\" is not one of auto, never, start" },
	{ CONFIG_CACHE_SIZE, "1g", "0", "lots", "\"lots\" is not a size such as 256m or 1g" },
	{ CONFIG_HISTORY_DAYS, "30", "0", "-1", "\"-1\" is not a number of days between 0 (no limit) and 36500" },
	{ CONFIG_HISTORY_SIZE, "1g", "2m", "1k", "\"1k\" is not a size of at least 1m such as 256m or 1g" },
	{ CONFIG_AUDIT, "required", "best_effort", "on", "\"on\" is not one of required, best_effort, off" },
	{ CONFIG_LOG, "events", "json", "xml", "\"xml\" is not one of events, text, json" },
	{ CONFIG_HOSTS, NULL, "a.example,[::1],10.0.0.7", "a,,b",
	  "\"a,,b\" is not a list of host names such as box.example.com,10.0.0.7" },
};

static void defaults_come_from_nowhere(void)
{
	fresh();
	CHECK_INT(load(NULL, 0), 0);
	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		is(all[i].key, all[i].fallback, CONFIG_DEFAULT, 0);
	is(CONFIG_TOKEN, NULL, CONFIG_DEFAULT, 0);
	is(CONFIG_HOME, home, CONFIG_ENVIRONMENT, 0);
	CHECK(!config.said.timeout && !config.said.memory && !config.said.cpus && !config.said.max_output);
	CHECK(!config.settings.timeout && !config.settings.max_output);
	CHECK(config.registry.auto_cleanup);
	CHECK_INT(config.registry.max_concurrent, 3);
	CHECK_INT(config.registry_size, 0);
}

static void each_source_beats_the_one_below(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		const char *name = config_name(all[i].key);
		const struct config_option option = { all[i].key, all[i].good };
		char text[256];

		fresh();
		snprintf(text, sizeof(text), "# a\nsettings:\n  %s: \"%s\"\n", name, all[i].good);
		put("registry.yaml", text);
		CHECK_INT(load(NULL, 0), 0);
		is(all[i].key, all[i].good, CONFIG_REGISTRY, 3);
		snprintf(text, sizeof(text), "\n\n\n%s=%s\n", name, all[i].good);
		put(".env", text);
		CHECK_INT(load(NULL, 0), 0);
		is(all[i].key, all[i].good, CONFIG_FILE, 4);
		setenv(name, all[i].good, 1);
		CHECK_INT(load(NULL, 0), 0);
		is(all[i].key, all[i].good, CONFIG_ENVIRONMENT, 0);
		CHECK_INT(load(&option, 1), 0);
		is(all[i].key, all[i].good, CONFIG_OPTION, 0);
	}
}

/* The names of other sandboxes, and ours beside them. */
static void a_setting_has_two_names(void)
{
	struct error why = { 0 };

	fresh();
	setenv("DOCKER_MEMORY_LIMIT", "64m", 1);
	setenv("EMBERBOX_MEMORY", "128m", 1);
	setenv("EMBERBOX_TIMEOUT", "1m", 1);
	setenv("EMBERBOX_CPUS", "0.5", 1);
	setenv("EMBERBOX_MAX_OUTPUT_KB", "4", 1);
	CHECK_INT(load(NULL, 0), 0);
	is(CONFIG_MEMORY, "128m", CONFIG_ENVIRONMENT, 0);
	CHECK_STR(config_said_by(&config, CONFIG_MEMORY), "EMBERBOX_MEMORY");
	CHECK_STR(config.said.timeout, "1m");
	CHECK_STR(config.said.cpus, "0.5");
	CHECK_STR(config.said.max_output, "4k");
	/* The place counts first, then the name; and what is beaten must be a value all the same. */
	unsetenv("EMBERBOX_MEMORY");
	put(".env", "EMBERBOX_MEMORY=256m\n");
	CHECK_INT(load(NULL, 0), 0);
	is(CONFIG_MEMORY, "64m", CONFIG_ENVIRONMENT, 0);
	unsetenv("DOCKER_MEMORY_LIMIT");
	CHECK_INT(load(NULL, 0), 0);
	is(CONFIG_MEMORY, "256m", CONFIG_FILE, 1);
	setenv("EMBERBOX_MEMORY", "128m", 1);
	setenv("DOCKER_MEMORY_LIMIT", "lots", 1);
	config_free(&config);
	CHECK_INT(config_load(NULL, 0, &config, &why), -1);
	CHECK(strstr(why.text, "DOCKER_MEMORY_LIMIT: \"lots\" is not a size") == why.text);
	fresh();
	put(".env", "DOCKER_CPU_LIMIT=1\nEMBERBOX_CPUS=2\n");
	config_free(&config);
	CHECK_INT(config_load(NULL, 0, &config, &why), -1);
	CHECK(strstr(why.text, "line 2: \"EMBERBOX_CPUS\": this setting is on line 1 already"));
	fresh();
	put("registry.yaml", "settings:\n  EMBERBOX_CPUS: \"2\"\n");
	CHECK_INT(load(NULL, 0), 0);
	is(CONFIG_CPUS, "2", CONFIG_REGISTRY, 2);
	put("registry.yaml", "settings:\n  EMBERBOX_CPUS: \"2\"\n  DOCKER_CPU_LIMIT: \"2\"\n");
	config_free(&config);
	CHECK_INT(config_load(NULL, 0, &config, &why), -1);
	CHECK(strstr(why.text, "this setting is on line 2 already, as EMBERBOX_CPUS"));
	fresh();
	put("registry.yaml", "settings:\n  EMBERBOX_CPUS: x\n");
	config_free(&config);
	CHECK_INT(config_load(NULL, 0, &config, &why), -1);
	CHECK(strstr(why.text, "settings.EMBERBOX_CPUS: \"x\" is not a number of cores"));
}

static void the_strongest_value_counts(void)
{
	const struct config_option option = { CONFIG_TIMEOUT, "4" };

	fresh();
	put("registry.yaml", "settings: {SANDBOX_TIMEOUT_SEC: 1, SANDBOX_MAX_OUTPUT_KB: 9}\n");
	CHECK_INT(load(NULL, 0), 0);
	is(CONFIG_TIMEOUT, "1", CONFIG_REGISTRY, 1);
	CHECK_STR(config.settings.timeout, "1");
	CHECK_STR(config.settings.max_output, "9k");
	CHECK(!config.said.timeout && !config.said.max_output);
	put(".env", "SANDBOX_TIMEOUT_SEC=2\nSANDBOX_MAX_OUTPUT_KB='8'\nDOCKER_CPU_LIMIT=\"0.5\"\n");
	CHECK_INT(load(NULL, 0), 0);
	is(CONFIG_TIMEOUT, "2", CONFIG_FILE, 1);
	is(CONFIG_MAX_OUTPUT, "8", CONFIG_FILE, 2);
	CHECK_STR(config.said.timeout, "2");
	CHECK_STR(config.said.max_output, "8k");
	CHECK_STR(config.said.cpus, "0.5");
	CHECK(!config.settings.timeout);
	setenv("SANDBOX_TIMEOUT_SEC", "3", 1);
	CHECK_INT(load(NULL, 0), 0);
	is(CONFIG_TIMEOUT, "3", CONFIG_ENVIRONMENT, 0);
	CHECK_INT(load(&option, 1), 0);
	is(CONFIG_TIMEOUT, "4", CONFIG_OPTION, 0);
	CHECK_STR(config.said.timeout, "4");
}

static void bad_values_are_named_whoever_beats_them(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		const char *name = config_name(all[i].key), *option = config_option_name(all[i].key);
		const struct config_option good = { all[i].key, all[i].good }, bad = { all[i].key, all[i].bad };
		char text[256], sentence[1400], of_file[2000];

		fresh();
		snprintf(sentence, sizeof(sentence), "%s: %s", name, all[i].sentence);
		snprintf(of_file, sizeof(of_file), "\"%s/.env\", line 1: %s", home, sentence);
		setenv(name, all[i].bad, 1);
		CHECK_INT(load(&good, 1), -1);
		CHECK_STR(err.text, sentence);
		CHECK_INT(err.kind, ERROR_USAGE);
		setenv(name, all[i].good, 1);
		snprintf(text, sizeof(text), "%s=%s\n", name, all[i].bad);
		put(".env", text);
		CHECK_INT(load(&good, 1), -1);
		CHECK_STR(err.text, of_file);
		put(".env", NULL);
		snprintf(text, sizeof(text), "settings:\n  %s: \"%s\"\n", name, all[i].bad);
		put("registry.yaml", text);
		CHECK_INT(load(&good, 1), -1);
		snprintf(sentence, sizeof(sentence), "%s/registry.yaml:2:%zu: settings.%s: %s", home, strlen(name) + 5,
			 name, all[i].sentence);
		CHECK_STR(err.text, sentence);
		put("registry.yaml", NULL);
		CHECK_INT(load(&bad, 1), -1);
		snprintf(sentence, sizeof(sentence), "%s: %s", option ? option : name, all[i].sentence);
		CHECK_STR(err.text, sentence);
		CHECK_INT(load(&good, 1), 0);
	}
}

static void bad_env(const char *name, const char *value, const char *sentence)
{
	fresh();
	setenv(name, value, 1);
	CHECK_INT(load(NULL, 0), -1);
	CHECK_STR(err.text, sentence);
	CHECK_INT(err.kind, ERROR_USAGE);
}

static void the_odd_ones(void)
{
	const char *const listens[] = { "127.0.0.1:0", "0.0.0.0:65535", "localhost:80", "[::]:7320", "none" };
	const char *const not_listens[] = { "",       "127.0.0.1",    ":80",   "127.0.0.1:",    "127.0.0.1:65536",
					    "::1:80", "[::1]",        "[]:80", "127.0.0.1:80/", "http://x:80",
					    "x:-1",   "127.0.0.1:+1", "off" };

	for (size_t i = 0; i < ARRAY_SIZE(listens); i++)
		CHECK_INT(setting_check(CONFIG_LISTEN, "L", listens[i], &err), 0);
	for (size_t i = 0; i < ARRAY_SIZE(not_listens); i++)
		if (setting_check(CONFIG_LISTEN, "L", not_listens[i], &err) == 0)
			check_fail("\"%s\" is taken", not_listens[i]);
	bad_env("EMBERBOX_HOME", "relative", "EMBERBOX_HOME: \"relative\" is not an absolute path");
	bad_env("EMBERBOX_TOKEN", "secret",
		"EMBERBOX_TOKEN: it has to be 16 to 255 visible ASCII characters without blanks");
	bad_env("EMBERBOX_POLICY", "true", "EMBERBOX_POLICY: \"true\" is not one of off, warn, block");
	bad_env("EMBERBOX_TLS_CERT", "/c.pem", "EMBERBOX_TLS_CERT: it also needs EMBERBOX_TLS_KEY");
	bad_env("EMBERBOX_TLS_KEY", "/k.pem", "EMBERBOX_TLS_KEY: it also needs EMBERBOX_TLS_CERT");
	bad_env("EMBERBOX_TLS_KEY", "k.pem", "EMBERBOX_TLS_KEY: \"k.pem\" is not an absolute path");
	setenv("EMBERBOX_TLS_CERT", "/c.pem", 1);
	setenv("EMBERBOX_TLS_KEY", "/k.pem", 1);
	CHECK_INT(load(NULL, 0), 0);
}

static void lines_of_the_file(void)
{
	static const struct {
		const char *text, *sentence;
	} wrong[] = {
		{ "A B\n", "line 1: \"A B\": it is not of the form NAME=VALUE" },
		{ "\n=7", "line 2: \"=7\": it is not of the form NAME=VALUE" },
		{ "SANDBOX_TIMEOUT=7\n",
		  "line 1: \"SANDBOX_TIMEOUT\": there is no such setting; did you mean SANDBOX_TIMEOUT_SEC?" },
		{ "NOTHING=7\n", "line 1: \"NOTHING\": there is no such setting" },
		{ "EMBERBOX_HOME=/x\n",
		  "line 1: \"EMBERBOX_HOME\": set it in the environment: it determines the path of this file" },
		{ "\nSANDBOX_TIMEOUT_SEC=abc\n", "line 2: SANDBOX_TIMEOUT_SEC: \"abc\" is not a time between 0.001 and "
						 "86400 seconds; write it as 30, 500ms, 2m or 1h30m" },
		{ "SANDBOX_TIMEOUT_SEC=7\n#\nSANDBOX_TIMEOUT_SEC=8\n",
		  "line 3: \"SANDBOX_TIMEOUT_SEC\": this setting is on line 1 already" },
	};
	char sentence[1200];

	fresh();
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		put(".env", wrong[i].text);
		CHECK_INT(load(NULL, 0), -1);
		snprintf(sentence, sizeof(sentence), "\"%s/.env\", %s", home, wrong[i].sentence);
		CHECK_STR(err.text, sentence);
	}
	put(".env",
	    "  SANDBOX_TIMEOUT_SEC=7\r\n\t# x\nEMBERBOX_TOKEN=0123456789abcdef\nSANDBOX_STORE_CODE=\"never\"  ");
	CHECK_INT(load(NULL, 0), 0);
	is(CONFIG_TIMEOUT, "7", CONFIG_FILE, 1);
	is(CONFIG_TOKEN, "0123456789abcdef", CONFIG_FILE, 3);
	is(CONFIG_STORE_CODE, "never", CONFIG_FILE, 4);
}

static void the_registry_can_be_elsewhere(void)
{
	char path[512], other[512], here[512];
	struct config_option option = { CONFIG_REGISTRY_FILE, "other.yaml" };

	fresh();
	put("registry.yaml", "containers: {usual: {language: sh}}\n");
	put("other.yaml", "containers: {other: {language: sh}}\n");
	snprintf(path, sizeof(path), "%s/registry.yaml", home);
	snprintf(other, sizeof(other), "%s/other.yaml", home);
	CHECK_INT(load(NULL, 0), 0);
	CHECK_STR(config.registry_where, path);
	CHECK_STR(config.registry.profiles[0].name, "usual");
	setenv("EMBERBOX_REGISTRY", other, 1);
	CHECK_INT(load(NULL, 0), 0);
	CHECK_STR(config.registry_where, other);
	CHECK_STR(config.registry.profiles[0].name, "other");
	/* Only the option may be relative, and is completed. */
	setenv("EMBERBOX_REGISTRY", path, 1);
	CHECK(getcwd(here, sizeof(here)) && chdir(home) == 0);
	CHECK_INT(load(&option, 1), 0);
	CHECK_STR(config.registry_where, other);
	CHECK_INT(chdir(here), 0);
	bad_env("EMBERBOX_REGISTRY", "other.yaml", "EMBERBOX_REGISTRY: \"other.yaml\" is not an absolute path");
	bad_env("EMBERBOX_REGISTRY", "/nonexistent/r", "/nonexistent/r: cannot be read: No such file or directory");
}

static void what_others_ask_the_environment_for(void)
{
	fresh();
	put(".env", "EMBERBOX_SOCKET=/a/s\nSANDBOX_TIMEOUT_SEC=9\n");
	put("registry.yaml", "settings: {EMBERBOX_CACHE_SIZE: 2g}\n");
	CHECK_INT(load(NULL, 0), 0);
	CHECK_INT(config_export(&config), 0);
	CHECK_STR(getenv("EMBERBOX_SOCKET"), "/a/s");
	CHECK_STR(getenv("EMBERBOX_CACHE_SIZE"), "2g");
	CHECK(!getenv("SANDBOX_TIMEOUT_SEC"));
	/* Read again it is still the file's, and follows it. */
	put(".env", "EMBERBOX_SOCKET=/b/s\n");
	CHECK_INT(load(NULL, 0), 0);
	is(CONFIG_SOCKET, "/b/s", CONFIG_FILE, 1);
	is(CONFIG_CACHE_SIZE, "2g", CONFIG_REGISTRY, 1);
	CHECK_INT(config_export(&config), 0);
	CHECK_STR(getenv("EMBERBOX_SOCKET"), "/b/s");
	put(".env", NULL);
	CHECK_INT(load(NULL, 0), 0);
	CHECK_INT(config_export(&config), 0);
	CHECK(!getenv("EMBERBOX_SOCKET"));
	config_unexport();
	CHECK(!getenv("EMBERBOX_CACHE_SIZE"));
}

static void the_first_token_comes_from_wherever_it_is(void)
{
	char out[TOKEN_MAX], again[TOKEN_MAX];

	fresh();
	CHECK_INT(load(NULL, 0), 0);
	CHECK_INT(config_first_token(&config, out, &err), 0);
	CHECK(strncmp(out, "ebt_", 4) == 0);
	CHECK_INT(config_first_token(&config, again, &err), 0);
	CHECK_STR(again, out);
	put(".env", "EMBERBOX_TOKEN=0123456789abcdef\n");
	CHECK_INT(load(NULL, 0), 0);
	CHECK_INT(config_first_token(&config, out, &err), 0);
	CHECK_STR(out, "0123456789abcdef");
}

#define TOKENS                                                                                                         \
	"{\"tokens\": [{\"name\": \"ci\", \"sha256\": "                                                                \
	"\"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\", "                                       \
	"\"scopes\": [\"read\"]}]}"

static void the_front_gets_the_same(void)
{
	struct front_config front;
	char *text = NULL;
	size_t size;

	fresh();
	put("registry.yaml",
	    "containers:\n  a: {language: sh, resources: {memory: 64m}}\nsettings: {DOCKER_MEMORY_LIMIT: 128m, "
	    "SANDBOX_STORE_CODE: never, max_concurrent: 7}\n");
	setenv("SANDBOX_TIMEOUT_SEC", "9", 1);
	setenv("SANDBOX_MAX_OUTPUT_KB", "5", 1);
	setenv("EMBERBOX_HOSTS", "a.example,b.example:x", 1);
	CHECK_INT(load(NULL, 0), -1);
	setenv("EMBERBOX_HOSTS", "a.example,b.example", 1);
	CHECK_INT(load(NULL, 0), 0);
	CHECK_INT(config_encode(&config, "the first one", TOKENS, strlen(TOKENS), &text, &size, &err), 0);
	/* It crosses to a process that need not know. */
	CHECK(!memmem(text, size, "the first one", 13));
	CHECK_INT(config_decode(text, size, &front, &err), 0);
	CHECK_INT(front.registry.count, 1);
	CHECK_STR(front.registry.profiles[0].limits.memory, "64m");
	CHECK_INT(front.registry.max_concurrent, 7);
	CHECK_STR(front.said.timeout, "9");
	CHECK_STR(front.said.max_output, "5k");
	CHECK(!front.said.memory && !front.said.cpus);
	CHECK_STR(front.settings.memory, "128m");
	CHECK_STR(front.store_code, "never");
	CHECK_STR(front.hosts[0], "a.example");
	CHECK_STR(front.hosts[1], "b.example");
	CHECK(!front.hosts[2]);
	CHECK_INT(front.tokens.count, 2);
	CHECK_STR(tokens_find(&front.tokens, "the first one", 13)->name, "default");
	CHECK_STR(tokens_find(&front.tokens, "abc", 3)->name, "ci");
	front_config_free(&front);
	/* No part of it is a configuration. */
	for (size_t i = 0; i < size; i++)
		CHECK_INT(config_decode(text, i, &front, &err), -1);
	free(text);
	CHECK_INT(config_encode(&config, NULL, "", 0, &text, &size, &err), 0);
	CHECK_INT(config_decode(text, size, &front, &err), 0);
	CHECK_INT(front.tokens.count, 0);
	front_config_free(&front);
	free(text);
}

static void every_setting_is_described(void)
{
	enum config_key key;

	for (int i = 0; i < CONFIG_KEYS; i++) {
		CHECK(setting_find(config_name((enum config_key)i), &key) && (int)key == i);
		CHECK(strlen(config_meaning((enum config_key)i)) > 5);
	}
	CHECK(!setting_find("SANDBOX_NOTHING", &key));
	CHECK((int)CONFIG_KEYS <= (int)REGISTRY_SETTINGS_MAX);
}

int main(void)
{
	unsetenv("XDG_CACHE_HOME");
	RUN(defaults_come_from_nowhere);
	RUN(each_source_beats_the_one_below);
	RUN(a_setting_has_two_names);
	RUN(the_strongest_value_counts);
	RUN(bad_values_are_named_whoever_beats_them);
	RUN(the_odd_ones);
	RUN(lines_of_the_file);
	RUN(the_registry_can_be_elsewhere);
	RUN(what_others_ask_the_environment_for);
	RUN(the_first_token_comes_from_wherever_it_is);
	RUN(the_front_gets_the_same);
	RUN(every_setting_is_described);
	config_free(&config);
	tree_free(home);
	return check_failures != 0;
}
