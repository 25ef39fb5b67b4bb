/* The request: every field, the bounds of every limit, and the exact sentence for what cannot be meant (A1, A2, A10,
 * A11, A16). */
#include "../check.h"

#include "schema/spec.h"

static struct spec spec;
static struct error err;

static void fresh(void)
{
	spec_free(&spec);
	err = (struct error){ 0 };
}

static void taken(const char *key, const char *value)
{
	if (spec_set(&spec, key, value, &err) < 0)
		check_fail("%s \"%.80s\" is refused: %s", key, value, err.text);
}

static void refused(const char *key, const char *value, const char *sentence)
{
	err = (struct error){ 0 };
	if (spec_set(&spec, key, value, &err) == 0)
		check_fail("%s \"%.80s\" is taken", key, value);
	else if (strcmp(err.text, sentence) != 0)
		check_fail("%s \"%.80s\" says \"%s\", not \"%s\"", key, value, err.text, sentence);
	CHECK_INT(err.kind, ERROR_USAGE);
	CHECK_INT(err.errnum, 0);
}

/* The value in quotes between two fixed parts, as most sentences have it. */
static void refuses(const char *key, const char *const *values, size_t count, const char *rest)
{
	for (size_t i = 0; i < count; i++) {
		char sentence[1024];

		snprintf(sentence, sizeof(sentence), "%s: \"%.64s\" %s", key, values[i], rest);
		refused(key, values[i], sentence);
	}
}

#define REFUSES(key, rest, ...)                                                                                        \
	do {                                                                                                           \
		static const char *const values_[] = { __VA_ARGS__ };                                                  \
		refuses(key, values_, sizeof(values_) / sizeof(values_[0]), rest);                                     \
	} while (0)

/* What nobody means by a number, or a limit: signs, exponents, other bases, no number at all, more than fits. */
#define NOT_NUMBERS                                                                                                    \
	"", " ", "x", "-1", "+1", " 1", "1 ", "-0", "nan", "NaN", "inf", "-inf", "infinity", "1e3", "0x10", "1,5",     \
		"1.2.3", ".", "99999999999999999999999999", "-9223372036854775808", "18446744073709551616", "1\n",     \
		"\xff", "1;id", "$(id)"

static void defaults(void)
{
	struct limits limits;

	fresh();
	limits = limits_settle(&spec.limits, NULL);
	CHECK(limits.timeout == 30);
	CHECK(limits.cpu_time == 0);
	CHECK_INT(limits.memory, 512 << 20);
	CHECK(limits.cpus == 1);
	CHECK_INT(limits.pids, 64);
	CHECK_INT(limits.disk, 1 << 30);
	CHECK_INT(limits.inodes, 100000);
	CHECK_INT(limits.max_output, 20 << 10);
	for (int i = 0; i < LAYERS; i++)
		CHECK(!spec.weaker[i]);
}

static void seconds(void)
{
	fresh();
	taken("timeout", "0.001");
	CHECK(spec.limits.timeout == 0.001);
	taken("timeout", "86400");
	taken("timeout", "2.5");
	REFUSES("timeout", "is not a time between 0.001 and 86400 seconds; write it as 30, 500ms, 2m or 1h30m",
		NOT_NUMBERS, "0", "0.0009", "86400.1", "86401", "1d", "m", "1mm", "1m30", "30s1m", "1m2m", "1 m", "1M",
		"25h", "0ms", "0.5ms", "1ns", "-1m");
	CHECK(spec.limits.timeout == 2.5);
	taken("timeout", "500ms");
	CHECK(spec.limits.timeout == 0.5);
	taken("timeout", "1h30m");
	CHECK(spec.limits.timeout == 5400);
	taken("timeout", "24h");
	CHECK(spec.limits.timeout == 86400);
	taken("cpu-time", "0.001");
	taken("cpu-time", "86400");
	taken("cpu-time", "1.5");
	REFUSES("cpu-time", "is not a time between 0.001 and 86400 seconds; write it as 30, 500ms, 2m or 1h30m",
		NOT_NUMBERS, "0", "0.0009", "86400.1");
	CHECK(spec.limits.cpu_time == 1.5);
}

static void sizes(void)
{
	fresh();
	taken("memory", "4m");
	CHECK_INT(spec.limits.memory, 4 << 20);
	taken("memory", "1024g");
	taken("memory", "64m");
	REFUSES("memory", "is not a size between 4m and 1024g; write it as 64m, 1g or a number of bytes", NOT_NUMBERS,
		"0", "1", "4194303", "4095k", "1099511627777", "1025g", "999999999g", "64mb", "64 m");
	CHECK_INT(spec.limits.memory, 64 << 20);
	taken("disk", "64k");
	CHECK_INT(spec.limits.disk, 64 << 10);
	taken("disk", "1024g");
	REFUSES("disk", "is not a size between 64k and 1024g; write it as 64m, 1g or a number of bytes", NOT_NUMBERS,
		"0", "65535", "63k", "1025g");
	taken("max-output", "1");
	CHECK_INT(spec.limits.max_output, 1);
	taken("max-output", "16m");
	CHECK_INT(spec.limits.max_output, 16 << 20);
	REFUSES("max-output", "is not a size between 1 and 16m; write it as 64k, 1m or a number of bytes", NOT_NUMBERS,
		"0", "16777217", "17m");
}

static void cores_and_processes(void)
{
	fresh();
	taken("cpus", "0.01");
	taken("cpus", "1024");
	taken("cpus", "0.5");
	REFUSES("cpus", "is not a number of cores between 0.01 and 1024", NOT_NUMBERS, "0", "0.009", "1024.1");
	CHECK(spec.limits.cpus == 0.5);
	taken("pids", "1");
	CHECK_INT(spec.limits.pids, 1);
	taken("pids", "32768");
	REFUSES("pids", "is not a number of processes between 1 and 32768", NOT_NUMBERS, "0", "32769", "1.0", "8k");
	CHECK_INT(spec.limits.pids, 32768);
}

static void languages(void)
{
	fresh();
	taken("language", "python");
	CHECK_STR(spec.runtime->name, "python");
	taken("language", "JavaScript");
	CHECK_STR(spec.runtime->name, "javascript");
	CHECK_INT(spec_set(&spec, "language", "cobol", &err), -1);
	CHECK_INT(err.kind, ERROR_LANGUAGE);
	CHECK(strncmp(err.text, "Unknown language \"cobol\"; available: bash, ",
		      strlen("Unknown language \"cobol\"; available: bash, ")) == 0);
	CHECK_INT(spec_set(&spec, "language", "../../bin/sh", &err), -1);
	CHECK(strncmp(err.text, "Unknown language \"../../bin/sh\"; available: bash, ",
		      strlen("Unknown language \"../../bin/sh\"; available: bash, ")) == 0);
	CHECK_INT(spec_set(&spec, "language", "", &err), -1);
	CHECK(strncmp(err.text, "Unknown language \"\"; available: bash, ",
		      strlen("Unknown language \"\"; available: bash, ")) == 0);
}

static void words(void)
{
	fresh();
	taken("arg", "");
	taken("arg", "$(id) \"\n;");
	taken("env", "A=b=c");
	taken("env", "EMPTY=");
	CHECK_INT(spec.arg_count, 2);
	CHECK_STR(spec.args[0], "");
	CHECK_STR(spec.args[1], "$(id) \"\n;");
	CHECK_INT(spec.env_count, 2);
	CHECK_STR(spec.env[0], "A=b=c");
	REFUSES("env", "is not of the form NAME=VALUE", "", "=", "=x", "NAME");
	CHECK_INT(spec.env_count, 2);
}

static void too_many_or_too_long_words(void)
{
	char *word = malloc(SPEC_WORD_MAX + 1);

	fresh();
	memset(word, 'x', SPEC_WORD_MAX);
	word[SPEC_WORD_MAX] = '\0';
	refused("arg", word, "arg: one is longer than 131072 bytes");
	taken("arg", word + 1);
	word[1] = '=';
	refused("env", word, "env: one is longer than 131072 bytes");
	free(word);
	for (int i = 1; i < SPEC_WORDS_MAX; i++)
		taken("arg", "a");
	CHECK_INT(spec.arg_count, SPEC_WORDS_MAX);
	refused("arg", "a", "arg: there are more than 1024");
	for (int i = 0; i < SPEC_WORDS_MAX; i++)
		taken("env", "A=1");
	refused("env", "A=1", "env: there are more than 1024");
	for (int i = 0; i < SPEC_WORDS_MAX; i++) {
		char value[32];

		snprintf(value, sizeof(value), "host:f%d", i);
		taken("file", value);
	}
	refused("file", "host:last", "file: there are more than 1024");
	CHECK_INT(spec_add_content(&spec, "last", "", 0, &err), -1);
	CHECK_STR(err.text, "file: there are more than 1024");
}

static void secrets_are_lines(void)
{
	const char *const hosts[] = { "a.example", "*.b.example:8443" };
	const struct net_secret_parts parts = {
		.name = "TOKEN", .value = "value@with:signs", .size = 16, .hosts = hosts, .host_count = 2
	};
	struct buf text = { 0 };

	fresh();
	spec_secret_text(&parts, &text);
	CHECK_STR(text.data, "TOKEN\na.example,*.b.example:8443\n\n\nvalue@with:signs");
	taken("secret", text.data);
	buf_free(&text);
	CHECK(spec.secrets && spec.secrets->count == 1 && spec.secrets->items[0].host_count == 2);
	CHECK_STR(spec.secrets->items[0].value, "value@with:signs");
	CHECK(!spec.secrets->items[0].header);
	refused("secret", "TOKEN", "secret: it is not five lines: name, hosts, header, format, value");
	/* No sentence has the value in it. */
	CHECK_INT(spec_set(&spec, "secret", "OTHER\nnot a host\n\n\nvalue@with:signs", &err), -1);
	CHECK(!strstr(err.text, "value@with:signs"));
}

static void other_texts(void)
{
	fresh();
	taken("net", "none");
	CHECK(net_policy_is_none(&spec.network));
	taken("net", "b.example,a.example:8080+81");
	taken("net-within", "public");
	taken("net-rate", "2m");
	taken("net-total", "1g");
	taken("net-connections", "7");
	CHECK(spec.network.list_count == 2 && spec.network.lists[0].count == 2 && spec.network.lists[1].count == 1);
	CHECK(spec.network.rate == 2 << 20 && spec.network.total == 1 << 30 && spec.network.connections == 7);
	refused("net", "", "net: the list of rules is empty; write none to allow nothing");
	refused("net-rate", "1023",
		"net-rate: \"1023\" is not a number of bytes a second, at least 1k, such as 64k, 1m or 1g");
	refused("net-total", "0", "net-total: \"0\" is not a number of bytes such as 64k, 1m or 1g");
	refused("net-connections", "16385",
		"net-connections: \"16385\" is not a number of connections from 1 to 16384");
	taken("net-within", "none");
	taken("net-within", "none");
	refused("net-within", "none", "net-within: there are more than 4 lists of rules");
	/* A later list of its own replaces the earlier one, and nothing of those that narrow it. */
	taken("net", "none");
	CHECK(net_policy_is_none(&spec.network) && spec.network.list_count == 4);
	taken("project", "/some/dir");
	taken("output", "out");
	CHECK_STR(spec.project, "/some/dir");
	CHECK_STR(spec.output, "out");
	refused("project", "", "project: it is empty");
	refused("output", "", "output: it is empty");
	refused("colour", "red", "\"colour\" is not a field of a request");
	refused("", "", "\"\" is not a field of a request");
	refused("inodes", "5", "\"inodes\" is not a field of a request");
}

static void layers(void)
{
	static const char *const names[] = { "cgroup", "landlock", "seccomp" };

	fresh();
	for (int i = 0; i < LAYERS; i++) {
		CHECK_STR(layer_name(i), names[i]);
		taken("allow-weaker", names[i]);
		CHECK(spec.weaker[i]);
		CHECK(i + 1 == LAYERS || !spec.weaker[i + 1]);
	}
	REFUSES("allow-weaker", "is not a layer that can be waived; these are cgroup, landlock and seccomp", "",
		"everything", "user-namespace", "network-namespace", "no-new-privs", "Landlock", "landlock ");
}

static void code_file_names(void)
{
	fresh();
	taken("entry", "app.py");
	CHECK_STR(spec.name, "app.py");
	taken("entry", "sub/app.py");
	refused("entry", "", "entry: \"\" cannot be a file's path below /sandbox/code: it is empty");
	refused("entry", "../x",
		"entry: \"../x\" cannot be a file's path below /sandbox/code: it has a part \".\" or \"..\"");
	refused("entry", "/x", "entry: \"/x\" cannot be a file's path below /sandbox/code: it is absolute");
	CHECK_STR(spec.name, "sub/app.py");
}

static void file_is(const char *value, const char *host, const char *box)
{
	size_t count = spec.file_count;

	taken("file", value);
	CHECK_INT(spec.file_count, count + 1);
	if (spec.file_count == count + 1) {
		CHECK_STR(spec.files[count].host, host);
		CHECK_STR(spec.files[count].box, box);
	}
}

static void host_files(void)
{
	fresh();
	file_is("a.txt", "a.txt", "sandbox/code/a.txt");
	file_is("/home/me/b.txt", "/home/me/b.txt", "sandbox/code/b.txt");
	file_is("x:c", "x", "sandbox/code/c");
	file_is("x:sub/c", "x", "sandbox/code/sub/c");
	file_is("x:/sandbox/data/c", "x", "sandbox/data/c");
	file_is("x:/sandbox/output/c", "x", "sandbox/output/c");
	file_is("x:/sandbox/temp/c", "x", "sandbox/temp/c");
	file_is("x:/tmp/c", "x", "tmp/c");
	file_is("with:colon:d", "with:colon", "sandbox/code/d");
	refused("file", "", "file: \"\" names no file of the host; write HOST or HOST:BOX");
	refused("file", ":x", "file: \":x\" names no file of the host; write HOST or HOST:BOX");
	refused("file", "dir/", "file: \"\" cannot be a path in the box: it is empty");
	refused("file", "x:", "file: \"\" cannot be a path in the box: it is empty");
	refused("file", "..", "file: \"..\" cannot be a path in the box: it has a part \".\" or \"..\"");
}

/* A1, A2 */
static void paths_that_leave_the_box(void)
{
	static const struct {
		const char *path, *fault;
	} bad[] = {
		{ "../x", "it has a part \".\" or \"..\"" },
		{ "a/../../b", "it has a part \".\" or \"..\"" },
		{ "./x", "it has a part \".\" or \"..\"" },
		{ "x/.", "it has a part \".\" or \"..\"" },
		{ "", "it is empty" },
		{ "a//b", "it has an empty part" },
		{ "a/", "it has an empty part" },
	};
	static const char *const outside[] = {
		"/abs",
		"/etc/passwd",
		"/sandbox/x",
		"/sandbox/code",
		"/sandbox/code2/x",
		"/sandbox/codex",
		"/sandbox/dat/x",
		"/tmp",
		"/tmp2/x",
		"/tmpx",
		"/dev/shm/x",
		"/proc/self/x",
		"/sandbox",
		"/Sandbox/code/x",
		"/usr/bin/ls",
		"/sandbox/outputs",
		"/sandbox/code.d/x",
	};

	fresh();
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char value[64], sentence[256];

		snprintf(value, sizeof(value), "x:%s", bad[i].path);
		snprintf(sentence, sizeof(sentence), "file: \"%s\" cannot be a path in the box: %s", bad[i].path,
			 bad[i].fault);
		refused("file", value, sentence);
		CHECK_INT(spec_add_content(&spec, bad[i].path, "x", 1, &err), -1);
		CHECK_STR(err.text, sentence);
	}
	for (size_t i = 0; i < sizeof(outside) / sizeof(outside[0]); i++) {
		char value[64], sentence[256];

		snprintf(value, sizeof(value), "x:%s", outside[i]);
		snprintf(sentence, sizeof(sentence),
			 "file: \"%s\" is not below /sandbox/code, /sandbox/data, /sandbox/output, /sandbox/temp or "
			 "/tmp",
			 outside[i]);
		refused("file", value, sentence);
		CHECK_INT(spec_add_content(&spec, outside[i], "x", 1, &err), -1);
		CHECK_STR(err.text, sentence);
	}
	refused("file", "x:/sandbox/code/../../etc/passwd",
		"file: \"sandbox/code/../../etc/passwd\" cannot be a path in the box: it has a part \".\" or \"..\"");
	refused("file", "x://etc/passwd", "file: \"/etc/passwd\" cannot be a path in the box: it is absolute");
	CHECK_INT(spec.file_count, 0);
}

/* The kernel takes 4095 bytes with the leading slash; one more must be refused here, not fail in the box. */
static void paths_that_are_too_long(void)
{
	const size_t most = 4095 - strlen("/sandbox/code/");
	char path[8192];

	fresh();
	for (size_t i = 0; i < sizeof(path); i++)
		path[i] = i % 2 ? '/' : 'a';
	path[most] = '\0';
	if (path[most - 1] == '/')
		path[most - 1] = 'a';
	CHECK_INT(spec_add_content(&spec, path, "x", 1, &err), 0);
	fresh();
	taken("entry", path);
	memcpy(path + most - 1, "aa", 3);
	fresh();
	CHECK_INT(spec_add_content(&spec, path, "x", 1, &err), -1);
	CHECK(strstr(err.text, "cannot be a path in the box: it is longer than 4095 bytes") != NULL);
	CHECK_INT(spec_set(&spec, "entry", path, &err), -1);
	CHECK(strstr(err.text, "cannot be a file's path below /sandbox/code: it is longer than 4095 bytes") != NULL);
	memset(path, 'a', 4096);
	path[4096] = '\0';
	CHECK_INT(spec_add_content(&spec, path, "x", 1, &err), -1);
	CHECK(strstr(err.text, "cannot be a path in the box: it is longer than 4095 bytes") != NULL);
	path[256] = '\0';
	CHECK_INT(spec_add_content(&spec, path, "x", 1, &err), -1);
	CHECK(strstr(err.text, "cannot be a path in the box: a part of it is longer than 255 bytes") != NULL);
	path[255] = '\0';
	CHECK_INT(spec_add_content(&spec, path, "x", 1, &err), 0);
}

/* A16, and twins whose names only begin alike */
static void files_in_each_others_way(void)
{
	fresh();
	file_is("x:dir", "x", "sandbox/code/dir");
	refused("file", "y:dir/f", "file: \"/sandbox/code/dir/f\" and \"/sandbox/code/dir\" cannot both be there");
	refused("file", "y:dir", "file: \"/sandbox/code/dir\" and \"/sandbox/code/dir\" cannot both be there");
	refused("file", "y:/sandbox/code/dir",
		"file: \"/sandbox/code/dir\" and \"/sandbox/code/dir\" cannot both be there");
	file_is("y:dir2", "y", "sandbox/code/dir2");
	file_is("y:di", "y", "sandbox/code/di");
	file_is("y:dir.d/f", "y", "sandbox/code/dir.d/f");
	CHECK_INT(spec_add_content(&spec, "dir.d", "x", 1, &err), -1);
	CHECK_STR(err.text, "file: \"/sandbox/code/dir.d\" and \"/sandbox/code/dir.d/f\" cannot both be there");
	CHECK_INT(spec_add_content(&spec, "dir.d/g", "x", 1, &err), 0);
}

static void contents(void)
{
	char *large = calloc(1, SPEC_CODE_MAX + 1);

	fresh();
	CHECK_INT(spec_add_content(&spec, "a", "x\0y", 3, &err), 0);
	CHECK(!spec.files[0].host);
	CHECK_INT(spec.files[0].size, 3);
	CHECK(memcmp(spec.files[0].data, "x\0y", 3) == 0);
	CHECK_INT(spec_add_content(&spec, "b", NULL, 0, &err), 0);
	CHECK_INT(spec_add_content(&spec, "c", large, SPEC_CODE_MAX, &err), 0);
	CHECK_INT(spec_add_content(&spec, "d", large, SPEC_CODE_MAX + 1, &err), -1);
	CHECK_STR(err.text, "file: \"d\" is larger than 16m");
	CHECK_INT(spec_set_code(&spec, large, SPEC_CODE_MAX, &err), 0);
	CHECK_INT(spec.code_size, SPEC_CODE_MAX);
	CHECK_INT(spec_set_code(&spec, large, SPEC_CODE_MAX + 1, &err), -1);
	CHECK_STR(err.text, "code: it is larger than 16m; give what it needs as files");
	CHECK_INT(spec_set_input(&spec, large, SPEC_CODE_MAX, &err), 0);
	CHECK_INT(spec_set_input(&spec, large, SPEC_CODE_MAX + 1, &err), -1);
	CHECK_STR(err.text, "stdin: it is larger than 16m; stream it instead");
	CHECK_INT(err.kind, ERROR_USAGE);
	free(large);
}

static void checked_whole(void)
{
	fresh();
	CHECK_INT(spec_check(&spec, &err), -1);
	CHECK_STR(err.text, "language: it is not set; name one, such as python");
	taken("language", "bash");
	CHECK_INT(spec_check(&spec, &err), -1);
	CHECK_STR(err.text, "code: it is not set; give the program's text");
	CHECK_INT(spec_set_code(&spec, "", 0, &err), 0);
	CHECK_INT(spec_check(&spec, &err), 0);
	taken("file", "x:/sandbox/data/main.sh");
	taken("file", "x:main.sh2");
	CHECK_INT(spec_check(&spec, &err), 0);
	taken("file", "x:main.sh");
	CHECK_INT(spec_check(&spec, &err), -1);
	CHECK_STR(err.text, "file: \"/sandbox/code/main.sh\" is where the code itself goes");
	taken("entry", "other.sh");
	CHECK_INT(spec_check(&spec, &err), 0);
}

static void more_than_the_disk(void)
{
	static const char data[40 << 10];

	fresh();
	taken("language", "bash");
	taken("disk", "64k");
	CHECK_INT(spec_set_code(&spec, data, sizeof(data), &err), 0);
	CHECK_INT(spec_check(&spec, &err), 0);
	CHECK_INT(spec_add_content(&spec, "x", data, sizeof(data), &err), 0);
	CHECK_INT(spec_check(&spec, &err), -1);
	CHECK_INT(err.kind, ERROR_USAGE);
	CHECK_STR(err.text,
		  "disk: the code and the contents given with it are 81920 bytes, more than the 64k of the box; "
		  "raise --disk");
	taken("disk", "80k");
	CHECK_INT(spec_check(&spec, &err), 0);
}

/* A16 again: the code is a file like the others. */
static void the_code_in_a_files_way(void)
{
	fresh();
	taken("language", "bash");
	CHECK_INT(spec_set_code(&spec, "", 0, &err), 0);
	taken("file", "x:main.sh/f");
	CHECK_INT(spec_check(&spec, &err), -1);
	CHECK_STR(err.text, "file: \"/sandbox/code/main.sh/f\" is where the code itself goes");
	taken("entry", "sub/main.sh");
	CHECK_INT(spec_check(&spec, &err), 0);
	taken("file", "x:sub");
	CHECK_INT(spec_check(&spec, &err), -1);
	CHECK_STR(err.text, "file: \"/sandbox/code/sub\" is where the code itself goes");
}

static void freed_twice(void)
{
	fresh();
	taken("arg", "a");
	taken("env", "A=1");
	taken("file", "x");
	spec_free(&spec);
	CHECK(!spec.args && !spec.env && !spec.files && spec.arg_count == 0);
	spec_free(&spec);
	CHECK_INT(spec.limits.pids, 0);
}

/* What a box is made of: only what there is can be asked for, and each is refused by its name. */
static void surroundings(void)
{
	fresh();
	CHECK(spec.around.engine == ENGINE_AUTO);
	taken("engine", "local");
	CHECK(spec.around.engine == ENGINE_LOCAL);
	taken("engine", "auto");
	CHECK(spec.around.engine == ENGINE_AUTO);
	REFUSES("engine", "is not one of local, docker, e2b, cluster, auto", "", "x", "loc", "local,", "LOCAL",
		" local", ",", "local, docker");
	refused("engine", "docker", "engine: docker is not available yet; use local");
	refused("engine", "e2b", "engine: e2b is not available yet; use local");
	refused("engine", "cluster", "engine: cluster is not available yet; use local");
	taken("image", "");
	CHECK(!spec.around.image);
	REFUSES("image", "is not available yet; a box has the languages of this machine: leave it out, and name one",
		"debian:12", "oci:x");
	REFUSES("package", "is not available yet; a box has what is installed on this machine: leave it out", "",
		"numpy");
	CHECK_INT(spec.around.package_count, 0);
}

/* A field that decides how a box is made has a line in the key of boxes made ahead: without one, a request would get a
 * box that was made for another value. */
static void surroundings_are_all_in_the_text(void)
{
	enum {
		FIELD_LISTED = 1,
		FIELD_BOX = 2,
		FIELD_TOOL = 4,
		FIELD_FRAMES = 8
	};
	static const struct {
		const char *key;
		unsigned flags;
	} rows[] = {
#define FIELD(NAME, KEY, READ, SET, MEMBER, OPTION, FLAGS) { KEY, FLAGS },
#include "schema/fields.def"
	};
	static const char *packages[] = { "a" };
	const struct surroundings all = {
		.engine = ENGINE_LOCAL, .image = "x", .packages = packages, .package_count = 1
	};
	char text[SURROUNDINGS_MAX], line[64];
	size_t lines = 0, fields = 0;

	CHECK(surroundings_text(&all, text));
	for (const char *at = text; (at = strchr(at, '\n')); at++)
		lines++;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (!(rows[i].flags & FIELD_BOX))
			continue;
		fields++;
		snprintf(line, sizeof(line), "%s ", rows[i].key);
		CHECK(strncmp(text, line, strlen(line)) == 0 || strstr(text, line) != NULL);
	}
	CHECK_INT(lines, fields);
}

/* The key of boxes made ahead: boxes that differ in one of the four have different keys. */
static void surroundings_as_text(void)
{
	static const char *packages[] = { "a", "b" }, *others[] = { "a", "c" };
	const struct surroundings different[] = {
		{ .image = "debian:12" },
		{ .image = "debian:13" },
		{ .packages = packages, .package_count = 2 },
		{ .packages = packages, .package_count = 1 },
		{ .packages = others, .package_count = 2 },
	};
	char text[SURROUNDINGS_MAX], other[SURROUNDINGS_MAX], long_name[SURROUNDINGS_MAX];
	const struct surroundings local = { .engine = ENGINE_LOCAL };

	fresh();
	CHECK(surroundings_text(&spec.around, text));
	CHECK_STR(text, "engine local\n");
	/* Who carries it out by itself makes the same box as who was told to. */
	CHECK(surroundings_text(&local, other));
	CHECK_STR(other, text);
	for (size_t i = 0; i < sizeof(different) / sizeof(different[0]); i++) {
		CHECK(surroundings_text(&different[i], text));
		CHECK(strcmp(text, other) != 0);
		for (size_t j = 0; j < i; j++) {
			CHECK(surroundings_text(&different[j], other));
			CHECK(strcmp(text, other) != 0);
		}
		/* The stem that would make such a box refuses, as long as the setter does. */
		err = (struct error){ 0 };
		CHECK_INT(spec_set_surroundings(&spec, text, &err), -1);
		CHECK_INT(err.kind, ERROR_USAGE);
		CHECK(surroundings_text(&local, other));
	}
	CHECK_INT(spec_set_surroundings(&spec, other, &err), 0);
	CHECK(spec.around.engine == ENGINE_LOCAL);
	CHECK_INT(spec_set_surroundings(&spec, "", &err), 0);
	CHECK_INT(spec_set_surroundings(&spec, "net none", &err), -1);
	CHECK_INT(spec_set_surroundings(&spec, "net\n", &err), -1);
	/* What does not fit into the key is for a box of its own. */
	memset(long_name, 'x', sizeof(long_name) - 1);
	long_name[sizeof(long_name) - 1] = '\0';
	CHECK(!surroundings_text(&(struct surroundings){ .image = long_name }, text));
	CHECK(!surroundings_text(&(struct surroundings){ .image = "a\nnet none" }, text));
}

/* Asked for beats the language's own, which beats ours; what nobody says is ours. */
static void limits_in_order(void)
{
	const struct limits asked = { .timeout = 5 }, own = { .timeout = 60, .memory = 1 << 30, .pids = 128 };
	struct limits all = limits_settle(&asked, &own);

	CHECK(all.timeout == 5);
	CHECK_INT(all.memory, 1 << 30);
	CHECK_INT(all.pids, 128);
	CHECK(all.cpus == 1);
	CHECK(all.cpu_time == 0);
	CHECK_INT(all.disk, 1 << 30);
}

static void entries(void)
{
	fresh();
	taken("language", "python");
	CHECK_INT(spec_check(&spec, &err), -1);
	CHECK_STR(err.text, "code: it is not set; give the program's text");
	taken("entry", "app.py");
	CHECK_INT(spec_check(&spec, &err), -1);
	CHECK_STR(err.text, "entry: \"app.py\" is not one of the given files");
	CHECK_INT(spec_add_content(&spec, "app.py", "x", 1, &err), 0);
	CHECK_INT(spec_check(&spec, &err), 0);
	CHECK_INT(spec_set_code(&spec, "y", 1, &err), 0);
	CHECK_INT(spec_check(&spec, &err), -1);
	CHECK_STR(err.text, "file: \"/sandbox/code/app.py\" is where the code itself goes");
	fresh();
	taken("language", "python");
	taken("entry", "app.py");
	taken("project", "/somewhere");
	CHECK_INT(spec_check(&spec, &err), 0);
}

static void names_of_files(void)
{
	fresh();
	taken("language", "javascript");
	CHECK_STR(spec_entry(&spec), "main.js");
	taken("filename", "x.mjs");
	CHECK_STR(spec_entry(&spec), "x.mjs");
	taken("filename", "x.txt");
	CHECK_STR(spec_entry(&spec), "main.js");
	taken("entry", "y.js");
	taken("filename", "x.mjs");
	CHECK_STR(spec_entry(&spec), "y.js");
	refused("filename", "a/x.js", "filename: \"a/x.js\" cannot be a file's name: it contains a slash");
	refused("filename", "..", "filename: \"..\" cannot be a file's name: it has a part \".\" or \"..\"");
}

static void profiles_and_checks(void)
{
	fresh();
	taken("language", "python");
	CHECK_INT(spec_set_code(&spec, "y", 1, &err), 0);
	taken("profile", "restricted");
	CHECK_INT(spec_check(&spec, &err), -1);
	CHECK_STR(err.text, "profile: \"restricted\" is not known; Python has no profiles");
	taken("language", "bash");
	CHECK_INT(spec_check(&spec, &err), 0);
	taken("profile", "other");
	CHECK_INT(spec_check(&spec, &err), -1);
	CHECK_STR(err.text, "profile: \"other\" is not known; Bash has: restricted");
	refused("check", "maybe", "check: \"maybe\" is neither yes nor no");
	fresh();
	taken("language", "python");
	CHECK_INT(spec_set_code(&spec, "y", 1, &err), 0);
	taken("check", "no");
	CHECK_INT(spec_check(&spec, &err), -1);
	CHECK_STR(err.text, "check: Python has no check of its own to leave out");
	taken("check", "yes");
	CHECK_INT(spec_check(&spec, &err), 0);
}

static void read_only(void)
{
	fresh();
	CHECK(!spec.read_only);
	taken("read-only", "yes");
	CHECK(spec.read_only);
	refused("read-only", "true", "read-only: \"true\" is neither yes nor no");
	CHECK(spec.read_only);
	taken("read-only", "no");
	CHECK(!spec.read_only);
}

static void terminals(void)
{
	fresh();
	CHECK_INT(spec.rows, 0);
	taken("tty", "yes");
	CHECK(spec.rows == 24 && spec.columns == 80);
	taken("tty", "1x9999");
	CHECK(spec.rows == 1 && spec.columns == 9999);
	refused("tty", "0x80", "tty: \"0x80\" is not yes, no, or ROWSxCOLUMNS such as 24x80, each 1 to 9999");
	refused("tty", "24x10000", "tty: \"24x10000\" is not yes, no, or ROWSxCOLUMNS such as 24x80, each 1 to 9999");
	refused("tty", "123456789x1",
		"tty: \"123456789x1\" is not yes, no, or ROWSxCOLUMNS such as 24x80, each 1 to 9999");
	refused("tty", "24", "tty: \"24\" is not yes, no, or ROWSxCOLUMNS such as 24x80, each 1 to 9999");
	refused("tty", "", "tty: \"\" is not yes, no, or ROWSxCOLUMNS such as 24x80, each 1 to 9999");
	taken("tty", "no");
	CHECK(spec.rows == 0 && spec.columns == 0);
}

int main(void)
{
	spec_init(&spec);
	RUN(defaults);
	RUN(seconds);
	RUN(sizes);
	RUN(cores_and_processes);
	RUN(languages);
	RUN(words);
	RUN(too_many_or_too_long_words);
	RUN(secrets_are_lines);
	RUN(other_texts);
	RUN(layers);
	RUN(code_file_names);
	RUN(host_files);
	RUN(paths_that_leave_the_box);
	RUN(paths_that_are_too_long);
	RUN(files_in_each_others_way);
	RUN(contents);
	RUN(checked_whole);
	RUN(more_than_the_disk);
	RUN(the_code_in_a_files_way);
	RUN(freed_twice);
	RUN(surroundings);
	RUN(surroundings_are_all_in_the_text);
	RUN(surroundings_as_text);
	RUN(limits_in_order);
	RUN(entries);
	RUN(names_of_files);
	RUN(profiles_and_checks);
	RUN(read_only);
	RUN(terminals);
	spec_free(&spec);
	return check_failures != 0;
}
