/* Requests as lines of `KEY VALUE`; the key `content` puts a file into the box. Whatever is set, limits and paths stay
 * inside their bounds. */
#include "fuzz.h"

#include "schema/spec.h"

static void spec_limits_hold(const struct limits *l)
{
	MUST(l->timeout >= 0.001 && l->timeout <= 86400);
	MUST(l->cpu_time == 0 || (l->cpu_time >= 0.001 && l->cpu_time <= 86400));
	MUST(l->memory >= 4 << 20 && l->memory <= UINT64_C(1) << 40);
	MUST(l->cpus >= 0.01 && l->cpus <= 1024);
	MUST(l->pids >= 1 && l->pids <= 32768);
	MUST(l->disk >= 64 << 10 && l->disk <= UINT64_C(1) << 40);
	MUST(l->max_output >= 1 && l->max_output <= 16 << 20);
	MUST(l->inodes == 100000);
}

static void spec_path_holds(const char *path)
{
	static const char *const places[] = { "sandbox/code/", "sandbox/data/", "sandbox/output/", "sandbox/temp/",
					      "tmp/" };
	size_t inside = 0;

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		inside += strncmp(path, places[i], strlen(places[i])) == 0;
	MUST(inside == 1);
	MUST(strlen(path) < 4095);
	MUST(!strstr(path, "/../") && !strstr(path, "/./") && !strstr(path, "//"));
	MUST(path[strlen(path) - 1] != '/');
	MUST(strlen(path) < 3 || strcmp(path + strlen(path) - 3, "/..") != 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text_of(data, size), *rest = text, *line;
	struct limits limits;
	struct error err;
	struct spec spec;

	spec_init(&spec);
	while ((line = strsep(&rest, "\n")) != NULL) {
		const char *key = strsep(&line, " ");
		const char *value = line ? line : "";
		int result;

		err = (struct error){ 0 };
		if (strcmp(key, "content") == 0)
			result = spec_add_content(&spec, value, value, strlen(value), &err);
		else
			result = spec_set(&spec, key, value, &err);
		MUST(result == 0 ||
		     (result == -1 && err.text[0] && (err.kind == ERROR_USAGE || err.kind == ERROR_LANGUAGE)));
	}
	limits = limits_settle(&spec.limits, NULL);
	spec_limits_hold(&limits);
	MUST(spec.file_count <= SPEC_WORDS_MAX && spec.env_count <= SPEC_WORDS_MAX && spec.arg_count <= SPEC_WORDS_MAX);
	for (size_t i = 0; i < spec.file_count; i++) {
		spec_path_holds(spec.files[i].box);
		MUST(!spec.files[i].host || *spec.files[i].host);
		for (size_t j = 0; j < i; j++)
			MUST(strcmp(spec.files[i].box, spec.files[j].box) != 0);
	}
	for (size_t i = 0; i < spec.env_count; i++)
		MUST(strchr(spec.env[i], '=') > spec.env[i]);
	if (spec.name)
		MUST(*spec.name && spec.name[0] != '/' && strlen(spec.name) < 4095);
	spec_free(&spec);
	free(text);
	return 0;
}
