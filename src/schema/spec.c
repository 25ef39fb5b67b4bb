#include "schema/spec.h"

#include "base/own.h"
#include "base/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *const layer_names[LAYERS] = {
	[LAYER_CGROUP] = "cgroup",
	[LAYER_LANDLOCK] = "landlock",
	[LAYER_SECCOMP] = "seccomp",
};

const char *layer_name(enum layer layer)
{
	return layer_names[layer];
}

void spec_init(struct spec *spec)
{
	*spec = (struct spec){ 0 };
}

const char *spec_entry(const struct spec *spec)
{
	const char *dot = spec->filename ? strrchr(spec->filename, '.') : NULL;

	if (spec->name)
		return spec->name;
	/* The caller's name is kept if the language recognizes it: errors then name the caller's file, and x.mjs stays
	 * a module. */
	for (const char *const *ending = spec->runtime->extensions; dot && *ending; ending++)
		if (strcasecmp(dot + 1, *ending) == 0)
			return spec->filename;
	return spec->runtime->file;
}

const struct runtime_profile *spec_profile(const struct spec *spec)
{
	const struct runtime *runtime = spec->runtime;

	for (size_t i = 0; spec->profile && i < runtime->profile_count; i++)
		if (strcmp(runtime->profiles[i].name, spec->profile) == 0)
			return &runtime->profiles[i];
	return NULL;
}

void spec_free(struct spec *spec)
{
	if (spec->secrets)
		net_secrets_wipe(spec->secrets);
	free(spec->args);
	free(spec->env);
	free(spec->files);
	arena_free(&spec->arena);
	spec_init(spec);
}

static int out_of_memory(struct error *err)
{
	return error_set(err, ERROR_FAILED, ENOMEM, "cannot hold the request");
}

/*
 * The setters of fields.def: each checks a text and stores it in `member` of the spec.
 */

static int set_text(struct spec *spec, void *member, const char *key, const char *value, struct error *err)
{
	if (*value == '\0')
		return error_field(err, key, "it is empty");
	*(const char **)member = arena_string(&spec->arena, value);
	return *(const char **)member ? 0 : out_of_memory(err);
}

static int add_word(struct spec *spec, const char ***words, size_t *count, const char *key, const char *value,
		    struct error *err)
{
	const char **grown, *copy;

	if (*count >= SPEC_WORDS_MAX)
		return error_field(err, key, "there are more than %d", SPEC_WORDS_MAX);
	if (strlen(value) >= SPEC_WORD_MAX)
		return error_field(err, key, "one is longer than %d bytes", SPEC_WORD_MAX);
	grown = realloc(*words, (*count + 1) * sizeof(**words));
	copy = arena_string(&spec->arena, value);
	if (grown)
		*words = grown;
	if (!grown || !copy)
		return out_of_memory(err);
	(*words)[(*count)++] = copy;
	return 0;
}

static int add_arg(struct spec *spec, void *member, const char *key, const char *value, struct error *err)
{
	return add_word(spec, member, &spec->arg_count, key, value, err);
}

static int add_env(struct spec *spec, void *member, const char *key, const char *value, struct error *err)
{
	const char *equals = strchr(value, '=');

	if (!equals || equals == value)
		return error_field(err, "env", "\"%.64s\" is not of the form NAME=VALUE", value);
	return add_word(spec, member, &spec->env_count, key, value, err);
}

static int set_weaker(struct spec *spec, void *member, const char *key, const char *value, struct error *err)
{
	for (int i = 0; i < LAYERS; i++) {
		if (strcmp(value, layer_names[i]) == 0) {
			spec->weaker[i] = true;
			return 0;
		}
	}
	return error_field(err, key,
			   "\"%.64s\" is not a layer that can be waived; these are cgroup, landlock "
			   "and seccomp",
			   value);
}

/* Whether two paths are the same, or one needs a directory where the other is a file. */
static bool paths_clash(const char *a, const char *b)
{
	size_t a_length = strlen(a), b_length = strlen(b);
	size_t least = a_length < b_length ? a_length : b_length;

	return memcmp(a, b, least) == 0 && (a_length == b_length || a[least] == '/' || b[least] == '/');
}

/* Two files with the same path would silently overwrite each other. */
static const char *path_conflict(const struct spec *spec, const char *box)
{
	for (size_t i = 0; i < spec->file_count; i++)
		if (paths_clash(box, spec->files[i].box))
			return spec->files[i].box;
	return NULL;
}

/* PATH_MAX includes the directory and the leading slash. */
static const char *path_fault(const char *path, size_t size, size_t before)
{
	const char *fault = text_path_fault(path, size);

	return !fault && size + before > 4095 ? "it is longer than 4095 bytes" : fault;
}

/* "x" and "sub/x" are below /sandbox/code; absolute paths must be in a writable place. */
static int box_path(struct spec *spec, const char *path, size_t size, const char **out, struct error *err)
{
	static const char *const places[] = { "sandbox/code/", "sandbox/data/", "sandbox/output/", "sandbox/temp/",
					      "tmp/" };
	size_t before = strlen("/sandbox/code/");
	const char *fault, *other;

	if (size > 0 && path[0] == '/') {
		before = 1;
		path++;
		size--;
		*out = arena_copy(&spec->arena, path, size);
	} else {
		*out = arena_printf(&spec->arena, "sandbox/code/%.*s", (int)size, path);
	}
	if (!*out)
		return out_of_memory(err);
	fault = path_fault(path, size, before);
	if (fault)
		return error_field(err, "file", "\"%.64s\" cannot be a path in the box: %s", path, fault);
	other = path_conflict(spec, *out);
	if (other)
		return error_field(err, "file", "\"/%.64s\" and \"/%.64s\" cannot both be there", *out, other);
	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		if (strncmp(*out, places[i], strlen(places[i])) == 0)
			return 0;
	return error_field(
		err, "file",
		"\"/%.64s\" is not below /sandbox/code, /sandbox/data, /sandbox/output, /sandbox/temp or /tmp", *out);
}

static int add_file(struct spec *spec, struct spec_file file, struct error *err)
{
	struct spec_file *grown;

	if (spec->file_count >= SPEC_WORDS_MAX)
		return error_field(err, "file", "there are more than %d", SPEC_WORDS_MAX);
	grown = realloc(spec->files, (spec->file_count + 1) * sizeof(*grown));
	if (!grown)
		return out_of_memory(err);
	spec->files = grown;
	spec->files[spec->file_count++] = file;
	return 0;
}

/* HOST or HOST:BOX; without BOX the file keeps its name and is put into the working directory. */
static int add_host_file(struct spec *spec, void *member, const char *key, const char *value, struct error *err)
{
	const char *colon = strrchr(value, ':');
	size_t length = colon ? (size_t)(colon - value) : strlen(value);
	struct spec_file file = { 0 };
	const char *name;

	if (length == 0)
		return error_field(err, "file", "\"%.64s\" names no file of the host; write HOST or HOST:BOX", value);
	file.host = arena_copy(&spec->arena, value, length);
	if (!file.host)
		return out_of_memory(err);
	name = strrchr(file.host, '/');
	name = colon ? colon + 1 : name ? name + 1 : file.host;
	if (box_path(spec, name, strlen(name), &file.box, err) < 0)
		return -1;
	return add_file(spec, file, err);
}

int spec_add_content(struct spec *spec, const char *path, const void *data, size_t size, struct error *err)
{
	struct spec_file file = { .size = size };

	if (size > SPEC_CODE_MAX)
		return error_field(err, "file", "\"%.64s\" is larger than 16m", path);
	if (box_path(spec, path, strlen(path), &file.box, err) < 0)
		return -1;
	file.data = arena_copy(&spec->arena, data, size);
	return file.data ? add_file(spec, file, err) : out_of_memory(err);
}

int spec_set_mode(struct spec *spec, const char *mode, struct error *err)
{
	struct spec_file *last = spec->file_count > 0 ? &spec->files[spec->file_count - 1] : NULL;

	if (!last || last->host || (strcmp(mode, "644") != 0 && strcmp(mode, "755") != 0))
		return error_field(err, "mode", "\"%.64s\" is not the mode of a content: that is 644 or 755", mode);
	last->mode = mode[0] == '6' ? 0644 : 0755;
	return 0;
}

static int set_language(struct spec *spec, void *member, const char *key, const char *value, struct error *err)
{
	spec->runtime = runtime_find(value);
	return spec->runtime ? 0 : runtime_unknown(value, err);
}

static int set_entry(struct spec *spec, void *member, const char *key, const char *value, struct error *err)
{
	const char *fault = path_fault(value, strlen(value), strlen("/sandbox/code/"));

	if (fault)
		return error_field(err, "entry", "\"%.64s\" cannot be a file's path below /sandbox/code: %s", value,
				   fault);
	return set_text(spec, member, key, value, err);
}

static int set_filename(struct spec *spec, void *member, const char *key, const char *value, struct error *err)
{
	const char *fault =
		strchr(value, '/') ? "it contains a slash" : path_fault(value, strlen(value), strlen("/sandbox/code/"));

	if (fault)
		return error_field(err, "filename", "\"%.64s\" cannot be a file's name: %s", value, fault);
	return set_text(spec, member, key, value, err);
}

static int set_bool(bool *field, const char *key, const char *value, const char *when, struct error *err)
{
	if (strcmp(value, "yes") != 0 && strcmp(value, "no") != 0)
		return error_field(err, key, "\"%.64s\" is neither yes nor no", value);
	*field = strcmp(value, when) == 0;
	return 0;
}

static int set_yes(struct spec *spec, void *member, const char *key, const char *value, struct error *err)
{
	return set_bool(member, key, value, "yes", err);
}

/* Sets a member whose key has the opposite meaning. */
static int set_no(struct spec *spec, void *member, const char *key, const char *value, struct error *err)
{
	return set_bool(member, key, value, "no", err);
}

/* The first list is the request's own; those that narrow it follow, whatever is set first. */
static int set_net(struct spec *spec, void *member, const char *key, const char *value, struct error *err)
{
	struct net_policy *policy = member;
	struct net_list list = { 0 };

	if (net_list_parse(value, &spec->arena, &list, err) < 0)
		return -1;
	policy->lists[0] = list;
	if (policy->list_count == 0)
		policy->list_count = 1;
	return 0;
}

static int add_net_within(struct spec *spec, void *member, const char *key, const char *value, struct error *err)
{
	struct net_policy *policy = member;
	struct net_list list = { 0 };

	if (net_list_parse(value, &spec->arena, &list, err) < 0)
		return -1;
	if (policy->list_count == 0)
		policy->list_count = 1;
	if (policy->list_count >= NET_LISTS_MAX)
		return error_field(err, key, "there are more than %d lists of rules", NET_LISTS_MAX);
	policy->lists[policy->list_count++] = list;
	return 0;
}

static int set_size_of(uint64_t *member, const char *key, const char *value, uint64_t least, const char *what,
		       struct error *err)
{
	uint64_t size;

	if (!text_size(value, &size) || size < least || size > NET_BYTES_MAX)
		return error_field(err, key, "\"%.64s\" is not %s such as 64k, 1m or 1g", value, what);
	*member = size;
	return 0;
}

static int set_net_rate(struct spec *spec, void *member, const char *key, const char *value, struct error *err)
{
	return set_size_of(member, key, value, NET_RATE_MIN, "a number of bytes a second, at least 1k,", err);
}

static int set_net_total(struct spec *spec, void *member, const char *key, const char *value, struct error *err)
{
	return set_size_of(member, key, value, 1, "a number of bytes", err);
}

static int set_net_connections(struct spec *spec, void *member, const char *key, const char *value, struct error *err)
{
	uint64_t count;

	if (!text_count(value, &count) || count < 1 || count > NET_CONNECTIONS_MAX)
		return error_field(err, key, "\"%.64s\" is not a number of connections from 1 to %d", value,
				   NET_CONNECTIONS_MAX);
	*(uint32_t *)member = (uint32_t)count;
	return 0;
}

void spec_secret_text(const struct net_secret_parts *parts, struct buf *out)
{
	buf_printf(out, "%s\n", parts->name);
	for (size_t i = 0; i < parts->host_count; i++)
		buf_printf(out, "%s%s", i > 0 ? "," : "", parts->hosts[i]);
	buf_printf(out, "\n%s\n%s\n", parts->header ?: "", parts->format ?: "");
	buf_add(out, parts->value, parts->size);
}

enum {
	SECRET_LINES = 5
};

/* What stands before the next line end, terminated, in the copy `*at`; the last line has none. */
static char *secret_line(char **at, bool last)
{
	char *line = *at, *end = last ? line + strlen(line) : strchr(line, '\n');

	if (!end)
		return NULL;
	*at = *end ? end + 1 : end;
	*end = '\0';
	return line;
}

/* See spec_secret_text(). An error never has the value in it. */
static int add_secret(struct spec *spec, void *member, const char *key, const char *value, struct error *err)
{
	struct net_secrets **secrets = member;
	char *copy = arena_string(&spec->arena, value), *lines[SECRET_LINES], *at = copy, *rest = NULL;
	const char *hosts[NET_SECRET_HOSTS_MAX];
	struct net_secret_parts parts = { .hosts = hosts };
	int done;

	if (!copy || (!*secrets && !(*secrets = arena_alloc(&spec->arena, sizeof(**secrets)))))
		return out_of_memory(err);
	for (size_t i = 0; i < SECRET_LINES; i++)
		if (!(lines[i] = secret_line(&at, i + 1 == SECRET_LINES)))
			return error_field(err, key, "it is not five lines: name, hosts, header, format, value");
	for (char *host = strtok_r(lines[1], ",", &rest); host; host = strtok_r(NULL, ",", &rest)) {
		if (parts.host_count >= NET_SECRET_HOSTS_MAX)
			return error_field(err, key, "a secret has more than %d hosts", NET_SECRET_HOSTS_MAX);
		hosts[parts.host_count++] = host;
	}
	parts.name = lines[0];
	parts.header = *lines[2] ? lines[2] : NULL;
	parts.format = *lines[3] ? lines[3] : NULL;
	parts.value = lines[4];
	parts.size = strlen(lines[4]);
	done = net_secret_add(*secrets, &parts, &spec->arena, err);
	explicit_bzero(lines[4], strlen(lines[4]));
	return done;
}

static int add_package(struct spec *spec, void *member, const char *key, const char *value, struct error *err)
{
	return error_field(err, key,
			   "\"%.64s\" is not available yet; a box has what is installed on this machine: leave it out",
			   value);
}

static int set_image(struct spec *spec, void *member, const char *key, const char *value, struct error *err)
{
	if (*value)
		return error_field(err, key,
				   "\"%.64s\" is not available yet; a box has the languages of this machine: leave it "
				   "out, and name one",
				   value);
	*(const char **)member = NULL;
	return 0;
}

static int set_engine(struct spec *spec, void *member, const char *key, const char *value, struct error *err)
{
	if (!engine_is_named(value))
		return error_field(err, key, "\"%.64s\" is not one of " ENGINE_NAMES, value);
	if (strcmp(value, "local") != 0 && strcmp(value, "auto") != 0)
		return error_field(err, key, "%s is not available yet; use local", value);
	*(enum engine_choice *)member = *value == 'l' ? ENGINE_LOCAL : ENGINE_AUTO;
	return 0;
}

static int set_policy(struct spec *spec, void *member, const char *key, const char *value, struct error *err)
{
	static const char *const words[] = { "off", "warn", "block" };

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (strcmp(words[i], value) != 0)
			continue;
		spec->policy = (enum policy_mode)i;
		spec->policy_said = true;
		return 0;
	}
	return error_field(err, "policy", "\"%.64s\" is not one of off, warn, block", value);
}

/* "24x80", rows first; or yes or no. */
static int set_tty(struct spec *spec, void *member, const char *key, const char *value, struct error *err)
{
	const char *cross = strchr(value, 'x');
	char rows[8] = "";
	uint64_t height, width;

	if (strcmp(value, "yes") == 0 || strcmp(value, "no") == 0) {
		spec->rows = *value == 'y' ? SPEC_ROWS : 0;
		spec->columns = *value == 'y' ? SPEC_COLUMNS : 0;
		return 0;
	}
	if (cross && (size_t)(cross - value) < sizeof(rows))
		memcpy(rows, value, (size_t)(cross - value));
	if (!cross || !text_count(rows, &height) || !text_count(cross + 1, &width) || height < 1 || width < 1 ||
	    height > SPEC_LINES_MAX || width > SPEC_LINES_MAX)
		return error_field(err, "tty", "\"%.64s\" is not yes, no, or ROWSxCOLUMNS such as 24x80, each 1 to %d",
				   value, SPEC_LINES_MAX);
	spec->rows = (unsigned)height;
	spec->columns = (unsigned)width;
	return 0;
}

static const struct {
	const char *key; /* key of spec_set() */
	int (*set)(struct spec *spec, void *member, const char *key, const char *value,
		   struct error *err); /* sets the member */
	size_t member;                 /* offset of the member */
} setters[] = {
#define FIELD(NAME, KEY, READ, SET, MEMBER, ...) { KEY, SET, offsetof(struct spec, MEMBER) },
#define WORD(KEY, SET, MEMBER, ...)              { KEY, SET, offsetof(struct spec, MEMBER) },
#include "schema/fields.def"
};

int spec_set(struct spec *spec, const char *key, const char *value, struct error *err)
{
	const struct limit_row *limit = limit_by_key(key);

	if (limit)
		return limit_set(&spec->limits, (enum limit_id)(limit - limit_rows), value, err);
	for (size_t i = 0; i < ARRAY_SIZE(setters); i++)
		if (strcmp(setters[i].key, key) == 0)
			return setters[i].set(spec, (char *)spec + setters[i].member, key, value, err);
	return error_usage(err, "\"%.64s\" is not a field of a request", key);
}

char *spec_network_text(const struct spec *spec)
{
	const struct net_list *own = &spec->network.lists[0];
	struct buf text = { 0 };

	if (net_policy_is_none(&spec->network))
		buf_text(&text, "none");
	else
		for (size_t i = 0; i < own->count; i++)
			buf_printf(&text, "%s%s", i > 0 ? "," : "", own->rules[i].text);
	return buf_take(&text);
}

int spec_set_surroundings(struct spec *spec, const char *text, struct error *err)
{
	char line[SURROUNDINGS_MAX], *value;
	size_t size;

	for (; *text; text += strcspn(text, "\n") + 1) {
		size = strcspn(text, "\n");
		size = size < sizeof(line) ? size : sizeof(line) - 1;
		memcpy(line, text, size);
		line[size] = '\0';
		value = strchr(line, ' ');
		if (!value || !strchr(text, '\n'))
			return error_set(err, ERROR_FAILED, 0, "the surroundings of a box are broken");
		*value++ = '\0';
		if (spec_set(spec, line, value, err) < 0)
			return -1;
	}
	return 0;
}

int spec_set_code(struct spec *spec, const void *code, size_t size, struct error *err)
{
	if (size > SPEC_CODE_MAX)
		return error_field(err, "code", "it is larger than 16m; give what it needs as files");
	spec->code = arena_copy(&spec->arena, code, size);
	spec->code_size = size;
	return spec->code ? 0 : out_of_memory(err);
}

int spec_set_input(struct spec *spec, const void *data, size_t size, struct error *err)
{
	if (size > SPEC_CODE_MAX)
		return error_field(err, "stdin", "it is larger than 16m; stream it instead");
	spec->input = arena_copy(&spec->arena, data, size);
	spec->input_size = size;
	return spec->input ? 0 : out_of_memory(err);
}

/* The bytes in the request itself; files of the host are counted when they are copied. */
static uint64_t content_size(const struct spec *spec)
{
	uint64_t size = spec->code_size;

	for (size_t i = 0; i < spec->file_count; i++)
		size += spec->files[i].size;
	return size;
}

/* The path below /sandbox/code, or NULL if it is elsewhere. */
static const char *code_path(const struct spec_file *file)
{
	return strncmp(file->box, "sandbox/code/", 13) == 0 ? file->box + 13 : NULL;
}

bool spec_gives(const struct spec *spec, const char *path)
{
	for (size_t i = 0; i < spec->file_count; i++)
		if (code_path(&spec->files[i]) && strcmp(code_path(&spec->files[i]), path) == 0)
			return true;
	return false;
}

/* The entry is the code, one of the files, or in the project, which is not read here. */
static int check_entry(const struct spec *spec, struct error *err)
{
	const char *entry = spec_entry(spec);

	for (size_t i = 0; spec->code && i < spec->file_count; i++)
		if (code_path(&spec->files[i]) && paths_clash(code_path(&spec->files[i]), entry))
			return error_field(err, "file", "\"/%.64s\" is where the code itself goes", spec->files[i].box);
	if (spec->code || spec_gives(spec, entry) || (spec->name && spec->project))
		return 0;
	if (!spec->name)
		return error_field(err, "code", "it is not set; give the program's text");
	return error_field(err, "entry", "\"%.64s\" is not one of the given files", entry);
}

static int check_profile(const struct spec *spec, struct error *err)
{
	const struct runtime *runtime = spec->runtime;

	if (spec->unchecked && !runtime->compile.unchecked)
		return error_field(err, "check", "%s has no check of its own to leave out", runtime->display);
	if (!spec->profile || spec_profile(spec))
		return 0;
	if (runtime->profile_count == 0)
		return error_field(err, "profile", "\"%.64s\" is not known; %s has no profiles", spec->profile,
				   runtime->display);
	return error_field(err, "profile", "\"%.64s\" is not known; %s has: %s", spec->profile, runtime->display,
			   runtime->profiles[0].name);
}

int spec_check(const struct spec *spec, struct error *err)
{
	struct limits limits;
	char room[TEXT_SIZE_MAX];

	if (!spec->runtime)
		return error_field(err, "language", "it is not set; name one, such as python");
	if (spec->runtime->broken)
		return runtime_missing(spec->runtime, err);
	if (check_entry(spec, err) < 0 || check_profile(spec, err) < 0)
		return -1;
	if (!runtime_program(spec->runtime, spec->unchecked))
		return runtime_missing(spec->runtime, err);
	limits = limits_settle(&spec->limits, &spec->runtime->limits);
	if (content_size(spec) > limits.disk)
		return error_field(
			err, "disk",
			"the code and the contents given with it are %llu bytes, more than the %s of the box; "
			"raise --disk",
			(unsigned long long)content_size(spec), text_size_format(limits.disk, room));
	return 0;
}
