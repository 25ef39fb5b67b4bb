/* Requests: JSON becomes a list, the list a spec; what cannot be meant is refused with the field and the fix. */
#include "../check.h"

#include "schema/request.h"

static struct request_manner manner;
static struct error err;

static int parse(const char *json, struct spec *spec)
{
	struct buf list = { 0 };
	int done = request_parse(json, strlen(json), &list, &manner, &err);

	spec_init(spec);
	if (done == 0) {
		done = request_decode(list.data, list.size, spec, &err);
		if (done < 0)
			request_name_field(&err, &manner, true);
	}
	buf_free(&list);
	return done;
}

static void refused(const char *json, const char *where, const char *why)
{
	struct spec spec;

	err = (struct error){ 0 };
	if (parse(json, &spec) == 0)
		check_fail("taken: %s", json);
	CHECK_STR(err.field, where);
	CHECK_STR(err.text, why);
	CHECK_INT(err.kind, ERROR_USAGE);
	spec_free(&spec);
}

static void everything_arrives(void)
{
	struct spec spec;

	CHECK_INT(parse("{\"language\":\"python\",\"code\":\"print(1)\",\"stdin\":{\"base64\":\"AAEC/w==\"},"
			"\"args\":[\"a\",\"b c\"],\"env\":{\"K\":\"v=1\",\"E\":\"\"},"
			"\"files\":{\"x.txt\":\"text\",\"/tmp/y\":{\"base64\":\"aGk=\",\"mode\":\"644\"}},"
			"\"timeout\":2.5,\"memory_limit\":64,\"limits\":{\"cpu_time\":1,\"cpus\":\"0.5\",\"pids\":9,"
			"\"disk\":\"2m\",\"max_output\":4096},\"network\":\"none\",\"packages\":[],\"image\":\"\","
			"\"engine\":\"local\",\"filename\":\"m.py\","
			"\"entry\":\"e.py\",\"check\":true,\"read_only\":true,\"allow_weaker\":[\"landlock\"],"
			"\"stream\":true,\"tty\":{\"rows\":7,\"cols\":11}}",
			&spec),
		  0);
	CHECK_STR(spec.runtime->name, "python");
	CHECK(net_policy_is_none(&spec.network) && spec.around.engine == ENGINE_LOCAL && !spec.around.image);
	CHECK_INT(spec.around.package_count, 0);
	CHECK(spec.rows == 7 && spec.columns == 11 && manner.tty);
	CHECK_STR(spec.code, "print(1)");
	CHECK_INT(spec.code_size, 8);
	CHECK_INT(spec.input_size, 4);
	CHECK(memcmp(spec.input, "\0\1\2\xff", 4) == 0);
	CHECK_INT(spec.arg_count, 2);
	CHECK_STR(spec.args[1], "b c");
	CHECK_INT(spec.env_count, 2);
	CHECK_STR(spec.env[0], "K=v=1");
	CHECK_STR(spec.env[1], "E=");
	CHECK_INT(spec.file_count, 2);
	CHECK_STR(spec.files[0].box, "sandbox/code/x.txt");
	CHECK_INT(spec.files[0].mode, 0);
	CHECK_STR(spec.files[1].box, "tmp/y");
	CHECK_STR(spec.files[1].data, "hi");
	CHECK_INT(spec.files[1].mode, 0644);
	CHECK(!spec.files[0].host && !spec.files[1].host);
	CHECK(spec.limits.timeout == 2.5 && spec.limits.cpu_time == 1 && spec.limits.cpus == 0.5);
	CHECK_INT(spec.limits.memory, 64 << 20);
	CHECK_INT(spec.limits.pids, 9);
	CHECK_INT(spec.limits.disk, 2 << 20);
	CHECK_INT(spec.limits.max_output, 4096);
	CHECK_STR(spec.filename, "m.py");
	CHECK_STR(spec.name, "e.py");
	CHECK(spec.weaker[LAYER_LANDLOCK] && !spec.weaker[LAYER_SECCOMP] && !spec.unchecked);
	CHECK(spec.read_only);
	CHECK(manner.stream && !manner.input);
	spec_free(&spec);
}

static void bytes_of_any_kind(void)
{
	static const struct {
		const char *text, *bytes;
		size_t size;
	} contents[] = {
		{ "\"a\\u0000b\"", "a\0b", 3 },
		{ "\"\"", "", 0 },
		{ "{\"base64\":\"\"}", "", 0 },
		{ "{\"base64\":\"AA==\"}", "\0", 1 },
		{ "{\"base64\":\"/+8=\"}", "\xff\xef", 2 },
		{ "{\"base64\":\"Zm9v\"}", "foo", 3 },
	};

	for (size_t i = 0; i < sizeof(contents) / sizeof(contents[0]); i++) {
		struct spec spec;
		char json[128];

		snprintf(json, sizeof(json), "{\"language\":\"sh\",\"code\":%s}", contents[i].text);
		CHECK_INT(parse(json, &spec), 0);
		CHECK_INT(spec.code_size, contents[i].size);
		CHECK(memcmp(spec.code, contents[i].bytes, contents[i].size) == 0);
		spec_free(&spec);
	}
}

static void what_is_not_said_is_not_set(void)
{
	struct spec spec;

	CHECK_INT(parse("{\"language\":\"py\",\"input\":\"stream\"}", &spec), 0);
	CHECK_STR(spec.runtime->name, "python");
	CHECK(!spec.code && !spec.input && !spec.name);
	CHECK(spec.limits.timeout == 0 && spec.limits.memory == 0 && !spec.read_only);
	CHECK(manner.input && !manner.stream && !manner.tty && spec.rows == 0);
	spec_free(&spec);
}

#define P "{\"language\":\"python\",\"code\":\"\","

static void wrong_kinds(void)
{
	refused("{\"code\":\"\"}", "language", "language: it is not set; name one, such as python");
	refused("{\"language\":7}", "language", "language: expected a string, not a number");
	refused("{\"language\":\"a\\u0000b\"}", "language", "language: it has a NUL byte in it");
	refused("{\"language\":\"python\",\"code\":[]}", "code",
		"code: expected a string or {\"base64\": string}, not a list");
	refused(P "\"stdin\":null}", "stdin",
		"stdin: expected a string or {\"base64\": string}, not null; leave the field out");
	refused(P "\"args\":\"x\"}", "args", "args: expected a list of strings, not a string");
	refused(P "\"args\":[\"x\",1]}", "args", "args: item 2 has to be a string, not a number");
	refused(P "\"env\":[\"A=1\"]}", "env", "env: expected an object {NAME: text}, not a list");
	refused(P "\"env\":{\"A\":1}}", "env", "env: \"A\" has to be a string, not a number");
	refused(P "\"env\":{\"A=B\":\"\"}}", "env", "env: \"A=B\" cannot be a variable's name");
	refused(P "\"files\":{\"x\":1}}", "files",
		"files: \"x\": expected a string or {\"base64\": string}, not a number");
	refused(P "\"timeout\":true}", "timeout", "timeout: expected a number or a string, not true or false");
	refused(P "\"limits\":[]}", "limits", "limits: expected an object, not a list");
	refused(P "\"check\":\"no\"}", "check", "check: expected true or false, not a string");
	refused(P "\"read_only\":\"yes\"}", "read_only", "read_only: expected true or false, not a string");
	refused(P "\"tty\":1}", "tty", "tty: expected true, false, or {\"rows\": 24, \"cols\": 80}");
	refused(P "\"tty\":{\"rows\":24}}", "tty", "tty: expected true, false, or {\"rows\": 24, \"cols\": 80}");
	refused(P "\"tty\":{\"rows\":24,\"cols\":0}}", "tty",
		"tty: \"24x0\" is not yes, no, or ROWSxCOLUMNS such as 24x80, each 1 to 9999");
	refused(P "\"stream\":1}", "stream", "stream: expected true or false, not a number");
	refused(P "\"network\":true}", "network",
		"network: expected \"none\", \"public\" or {\"allow\": [\"HOST:PORT\"]}, not true or false");
	refused("[]", "", "the request has to be an object, not a list");
	refused("3", "", "the request has to be an object, not a number");
}

static void wrong_values(void)
{
	refused(P "\"timeout\":0}", "timeout",
		"timeout: \"0\" is not a time between 0.001 and 86400 seconds; write it as 30, 500ms, 2m or 1h30m");
	refused(P "\"timeout\":-1.5}", "timeout",
		"timeout: \"-1.5\" is not a time between 0.001 and 86400 seconds; write it as 30, 500ms, 2m or 1h30m");
	refused(P "\"timeout\":1e300}", "timeout",
		"timeout: \"1e+300\" is not a time between 0.001 and 86400 seconds; write it as 30, 500ms, 2m or "
		"1h30m");
	refused(P "\"limits\":{\"cpu_time\":\"x\"}}", "limits.cpu_time",
		"limits.cpu_time: \"x\" is not a time between 0.001 and 86400 seconds; write it as 30, 500ms, 2m or "
		"1h30m");
	refused(P "\"memory_limit\":1}", "memory_limit",
		"memory_limit: \"1m\" is not a size between 4m and 1024g; write it as 64m, 1g or a number of bytes");
	refused(P "\"limits\":{\"memory\":64}}", "limits.memory",
		"limits.memory: \"64\" is not a size between 4m and 1024g; write it as 64m, 1g or a number of bytes");
	refused(P "\"limits\":{\"pids\":1.5}}", "limits.pids",
		"limits.pids: \"1.5\" is not a number of processes between 1 and 32768");
	refused(P "\"network\":\"host\"}", "network",
		"network: \"host\" needs a port: host:PORT is a service on emberbox's own machine");
	refused(P "\"network\":{}}", "network",
		"network: it has no `allow`; expected {\"allow\": [\"HOST:PORT\"]}, \"none\" or \"public\"");
	refused(P "\"network\":{\"allow\":[]}}", "network.allow",
		"network.allow: it is empty; expected a rule such as api.example.com:443, or network \"none\"");
	refused(P "\"network\":{\"allow\":[1]}}", "network.allow[0]",
		"network.allow[0]: expected a string, not a number");
	refused(P "\"network\":{\"allow\":[\"a.b\",{\"ports\":[1]}]}}", "network.allow[1]",
		"network.allow[1]: a rule needs a host");
	refused(P "\"network\":{\"allow\":[{\"host\":\"a.b\",\"ports\":[0]}]}}", "network.allow[0]",
		"network.allow[0]: \"a.b\" has the port 0; ports are numbers from 1 to 65535");
	refused(P "\"network\":{\"allow\":[{\"host\":\"a.b\",\"port\":1}]}}", "network.allow[0].port",
		"network.allow[0].port: there is no such field; did you mean ports?");
	refused(P "\"network\":{\"allow\":[{\"host\":\"a.b\",\"tls\":\"no\"}]}}", "network.allow[0].tls",
		"network.allow[0].tls: expected \"pass\" or \"terminate\"");
	refused(P "\"network\":{\"allow\":[\"a.b\"],\"rate\":1}}", "network.rate",
		"network.rate: \"1\" is not a number of bytes a second, at least 1k, such as 64k, 1m or 1g");
	refused(P "\"network\":{\"allow\":[\"a.b\"],\"limit\":1}}", "network.limit",
		"network.limit: there is no such field; leave it out");
	refused(P "\"allow_weaker\":[\"all\"]}", "allow_weaker",
		"allow_weaker: \"all\" is not a layer that can be waived; these are cgroup, landlock and seccomp");
	refused(P "\"input\":\"none\"}", "input", "input: expected \"stream\"; without it, stdin is the field `stdin`");
	refused(P "\"entry\":\"../x\"}", "entry",
		"entry: \"../x\" cannot be a file's path below /sandbox/code: it has a part \".\" or \"..\"");
	refused(P "\"files\":{\"/etc/x\":\"\"}}", "files",
		"files: \"/etc/x\" is not below /sandbox/code, /sandbox/data, /sandbox/output, /sandbox/temp or /tmp");
	refused(P "\"files\":{\"x\":{\"base64\":\"\",\"mode\":\"777\"}}}", "files",
		"files: \"777\" is not the mode of a content: that is 644 or 755");
	refused(P "\"files\":{\"x\":{\"base64\":\"\",\"mode\":\"644\",\"host\":\"/etc/passwd\"}}}", "files",
		"files: \"x\": `mode` needs `base64` beside it, and no other field");
}

static void bad_base64(void)
{
	static const char *const texts[] = { "A",    "AA",   "AAA",    "A===", "====", "AA=A",
					     "AB==", "AAB=", "AA\\nA", "AA-_", "=AAA", "\\u0000AAA" };
	char json[128];

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		snprintf(json, sizeof(json), "{\"language\":\"sh\",\"code\":{\"base64\":\"%s\"}}", texts[i]);
		refused(json, "code", "code: it is not base64; use A-Z a-z 0-9 + / and pad it with =");
	}
}

static void unknown_and_double_fields(void)
{
	refused(P "\"timout\":1}", "timout", "timout: there is no such field; did you mean timeout?");
	refused(P "\"limits\":{\"memry\":1}}", "limits.memry",
		"limits.memry: there is no such field; did you mean memory?");
	refused(P "\"session\":\"\"}", "session", "session: expected 1 to 63 bytes");
	refused(P "\"packages\":[\"numpy\"]}", "packages",
		"packages: \"numpy\" is not available yet; a box has what is installed on this machine: leave it out");
	refused(P "\"packages\":\"numpy\"}", "packages", "packages: expected a list of strings, not a string");
	refused(P "\"image\":\"python:3\"}", "image",
		"image: \"python:3\" is not available yet; a box has the languages of this machine: leave it out, and "
		"name one");
	refused(P "\"image\":[]}", "image", "image: expected a string, not a list");
	refused(P "\"engine\":\"docker\"}", "engine", "engine: docker is not available yet; use local");
	refused(P "\"engine\":\"podman\"}", "engine",
		"engine: \"podman\" is not one of local, docker, e2b, cluster, auto");
	refused(P "\"timeout\":1,\"timeout\":2}", "timeout", "timeout: it is given twice; leave one out");
	refused(P "\"timeout\":1,\"limits\":{\"timeout\":2}}", "limits.timeout",
		"limits.timeout: this limit is given twice; leave one of timeout and limits.timeout out");
	refused(P "\"limits\":{\"memory\":\"8m\"},\"memory_limit\":9}", "memory_limit",
		"memory_limit: this limit is given twice; leave one of memory_limit and limits.memory out");
	refused(P "\"stdin\":\"\",\"input\":\"stream\"}", "stdin",
		"stdin: it cannot be given when input is \"stream\"; leave one out");
}

/* Whatever of the host's a spec can name must not be reached from here. */
static void paths_of_the_host_are_no_fields(void)
{
	static const char *const keys[] = { "project", "output", "file" };
	struct spec spec;

	for (size_t i = 0; i < 3; i++) {
		struct buf list = { 0 };
		uint32_t sizes[2] = { (uint32_t)strlen(keys[i]), 4 };
		char json[128], where[128];

		snprintf(json, sizeof(json), P "\"%s\":\"/etc\"}", keys[i]);
		spec_init(&spec);
		CHECK_INT(parse(json, &spec), -1);
		CHECK_STR(err.field, keys[i]);
		spec_free(&spec);
		buf_add(&list, sizes, sizeof(sizes));
		buf_add(&list, keys[i], sizes[0] + 1);
		buf_add(&list, "/etc", 5);
		spec_init(&spec);
		CHECK_INT(request_decode(list.data, list.size, &spec, &err), -1);
		snprintf(where, sizeof(where), "\"%s\" is not a field of a request", keys[i]);
		CHECK_STR(err.text, where);
		CHECK(!spec.project && !spec.output && spec.file_count == 0);
		spec_free(&spec);
		buf_free(&list);
	}
}

static void refused_bytes(const char *json, size_t size, const char *where, const char *why)
{
	struct buf list = { 0 };

	err = (struct error){ 0 };
	CHECK_INT(request_parse(json, size, &list, &manner, &err), -1);
	CHECK_STR(err.field, where);
	CHECK_STR(err.text, why);
	buf_free(&list);
}

static void no_json(void)
{
	refused("", "", "the body is empty; send a JSON object");
	refused("{\"language\":\"python\"} x", "",
		"the body is not JSON: line 1, column 23: end of file expected near 'x'");
	refused("{\"language\":\"\xff\"}", "",
		"the body is not JSON: line 1, column 13: unable to decode byte 0xff near '\"'");
	refused("{\"code\":\"1\",\"limits\":{\"cpus\":NaN}}", "",
		"the body is not JSON: line 1, column 32: invalid token near 'NaN'");
	refused("{\"code\":\"1\",\"timeout\":99999999999999999999}", "timeout", "timeout: the number is too large");
	refused("{\"code\":\"1\",\"timeout\":1e999}", "timeout", "timeout: the number is too large");
	refused(P "\"cpu_time\":1}", "cpu_time", "cpu_time: it is for cells of sessions; give it within limits");
	refused("{\"session\":\"s\",\"code\":\"1\",\"max_output\":1,\"limits\":{\"max_output\":2}}",
		"limits.max_output",
		"limits.max_output: this limit is given twice; leave one of max_output and limits.max_output out");
	/* A NUL is no JSON, wherever it stands. */
	refused_bytes("{\"code\":\"1\",\"timeout\":5\0}", 25, "",
		      "the body is not JSON: line 1, column 24: it has a NUL byte in it; write \\u0000");
	refused_bytes("{\n\"a\":\0}", 8, "",
		      "the body is not JSON: line 2, column 5: it has a NUL byte in it; write \\u0000");
	refused_bytes("\0{}", 3, "", "the body is not JSON: line 1, column 1: it has a NUL byte in it; write \\u0000");
}

static void many_values_are_refused_before_they_cost_memory(void)
{
	size_t size = 8 << 20;
	char *json = malloc(size + 1);
	struct spec spec;

	for (size_t i = 0; i < size; i++)
		json[i] = "[],"[i % 3];
	json[0] = '[';
	json[size] = '\0';
	CHECK_INT(parse(json, &spec), -1);
	CHECK_STR(err.text, "the request has too many values; 16384 are enough for any");
	spec_free(&spec);
	free(json);
}

/* A list that was cut or changed anywhere is refused, or still a list; never read past its end. */
static void broken_lists(void)
{
	const char *json = P "\"args\":[\"x\"],\"files\":{\"f\":\"data\"}}";
	struct buf list = { 0 };
	struct spec spec;

	CHECK_INT(request_parse(json, strlen(json), &list, &manner, &err), 0);
	for (size_t size = 0; size < list.size; size++) {
		char *cut = malloc(size + !size);

		memcpy(cut, list.data, size);
		spec_init(&spec);
		if (request_decode(cut, size, &spec, &err) == 0)
			CHECK(spec.file_count == 0);
		spec_free(&spec);
		free(cut);
	}
	for (size_t at = 0; at < list.size; at++) {
		for (int bit = 0; bit < 8; bit++) {
			char *changed = malloc(list.size);

			memcpy(changed, list.data, list.size);
			changed[at] ^= (char)(1 << bit);
			spec_init(&spec);
			request_decode(changed, list.size, &spec, &err);
			CHECK(!spec.project && !spec.output);
			spec_free(&spec);
			free(changed);
		}
	}
	buf_free(&list);
}

static void errors_name_fields(void)
{
	static const char *const pairs[][2] = {
		{ "file", "files" },       { "arg", "args" },        { "code", "code" },
		{ "disk", "limits.disk" }, { "session", "session" },
	};
	struct error e;

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		char text[128];

		error_field(&e, pairs[i][0], "it is wrong");
		request_name_field(&e, &(struct request_manner){ 0 }, false);
		CHECK_STR(e.field, pairs[i][1]);
		snprintf(text, sizeof(text), "%s: it is wrong", pairs[i][0]);
		CHECK_STR(e.text, text);
		error_field(&e, pairs[i][0], "it is wrong");
		request_name_field(&e, &(struct request_manner){ 0 }, true);
		CHECK_STR(e.field, pairs[i][1]);
		/* The sentence begins with the same name. */
		snprintf(text, sizeof(text), "%s: it is wrong", pairs[i][1]);
		CHECK_STR(e.text, text);
	}
	/* What no request has is no field, whatever the sentence begins with. */
	error_field(&e, "max_concurrent", "too many");
	request_name_field(&e, &(struct request_manner){ 0 }, true);
	CHECK_STR(e.field, "");
	CHECK_STR(e.text, "max_concurrent: too many");
	error_usage(&e, "code: is a word of this sentence");
	request_name_field(&e, &(struct request_manner){ 0 }, true);
	CHECK_STR(e.field, "");
	error_refuse(&e, CODE_UNKNOWN_LANGUAGE, "", "Unknown language");
	error_about(&e, "language");
	request_name_field(&e, &(struct request_manner){ 0 }, true);
	CHECK_STR(e.field, "language");
	CHECK_STR(e.text, "Unknown language");
}

/* Two limits have two names: an error has the one that the request used. */
static void errors_name_limits_as_they_were_given(void)
{
	static const struct {
		const char *json, *key, *field;
	} cases[] = {
		{ "{\"language\":\"bash\",\"limits\":{\"memory\":\"1g\"}}", "memory", "limits.memory" },
		{ "{\"language\":\"bash\",\"memory_limit\":\"1g\"}", "memory", "memory_limit" },
		{ "{\"language\":\"bash\",\"limits\":{\"timeout\":9}}", "timeout", "limits.timeout" },
		{ "{\"language\":\"bash\",\"timeout\":9}", "timeout", "timeout" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct buf list = { 0 };
		struct error e;

		CHECK_INT(request_parse(cases[i].json, strlen(cases[i].json), &list, &manner, &err), 0);
		error_field(&e, cases[i].key, "too much");
		request_name_field(&e, &manner, true);
		CHECK_STR(e.field, cases[i].field);
		CHECK_STR(error_detail(&e), "too much");
		CHECK_INT(strncmp(e.text, e.field, strlen(e.field)), 0);
		buf_free(&list);
	}
}

/* What is not there because it was misspelt is not missing. */
static void unknown_fields_come_first(void)
{
	static const char *const own[] = { "id", NULL };
	char why[128] = "";

	refused("{\"langauge\":\"python\",\"code\":\"1\"}", "langauge",
		"langauge: there is no such field; did you mean language?");
	refused("{\"language\":5,\"codee\":\"1\"}", "codee", "codee: there is no such field; did you mean code?");
	refused("{\"language\":\"bash\",\"limits\":{\"cpus\":-1,\"memroy\":1}}", "limits.memroy",
		"limits.memroy: there is no such field; did you mean memory?");
	refused("{\"code\":\"1\"}", "language", "language: it is not set; name one, such as python");
	CHECK(!request_unknown("code", own, why, sizeof(why)));
	CHECK(!request_unknown("id", own, why, sizeof(why)));
	CHECK(request_unknown("idd", own, why, sizeof(why)));
	CHECK_STR(why, "there is no such field; did you mean id?");
	CHECK(request_unknown("id", NULL, why, sizeof(why)));
}

static void an_empty_body_is_said_to_be_empty(void)
{
	refused("", "", "the body is empty; send a JSON object");
	refused(" \n\t\r\n", "", "the body is empty; send a JSON object");
}

static void files_are_named(void)
{
	refused("{\"language\":\"bash\",\"files\":{\"ok\":\"x\",\"b.bin\":{\"base64\":\"!\"}}}", "files",
		"files: \"b.bin\": it is not base64; use A-Z a-z 0-9 + / and pad it with =");
	refused("{\"language\":\"bash\",\"files\":{\"f\":5}}", "files",
		"files: \"f\": expected a string or {\"base64\": string}, not a number");
	refused("{\"language\":\"bash\",\"files\":{\"f\":{\"base64\":\"\",\"mode\":\"7\"}}}", "files",
		"files: \"7\" is not the mode of a content: that is 644 or 755");
	refused("{\"language\":\"bash\",\"files\":{\"f\":\"x\"},\"stdin\":5}", "stdin",
		"stdin: expected a string or {\"base64\": string}, not a number");
}

int main(void)
{
	RUN(errors_name_limits_as_they_were_given);
	RUN(unknown_fields_come_first);
	RUN(an_empty_body_is_said_to_be_empty);
	RUN(files_are_named);
	RUN(everything_arrives);
	RUN(bytes_of_any_kind);
	RUN(what_is_not_said_is_not_set);
	RUN(wrong_kinds);
	RUN(wrong_values);
	RUN(bad_base64);
	RUN(unknown_and_double_fields);
	RUN(paths_of_the_host_are_no_fields);
	RUN(no_json);
	RUN(many_values_are_refused_before_they_cost_memory);
	RUN(broken_lists);
	RUN(errors_name_fields);
	return check_failures != 0;
}
