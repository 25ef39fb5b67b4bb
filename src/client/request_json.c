#include "client/request_json.h"

#include "base/base64.h"
#include "base/fd.h"
#include "base/json_check.h"
#include "base/own.h"
#include "base/text.h"
#include "schema/host_file.h"

#include <inttypes.h>
#include <string.h>

/* Writes text inside quotes; the text has been checked. */
static void put_escaped(struct buf *out, const char *text, size_t size)
{
	size_t from = 0;

	for (size_t i = 0; i < size; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c >= ' ' && c != '"' && c != '\\')
			continue;
		buf_add(out, text + from, i - from);
		from = i + 1;
		if (c == '\n')
			buf_add(out, "\\n", 2);
		else if (c == '"' || c == '\\')
			buf_printf(out, "\\%c", c);
		else
			buf_printf(out, "\\u%04x", c);
	}
	buf_add(out, text + from, size - from);
}

/* False if the bytes are not text. */
static bool put_string(struct buf *out, const char *text, size_t size)
{
	if (!json_is_plain_text(text, size))
		return false;
	buf_add(out, "\"", 1);
	put_escaped(out, text, size);
	buf_add(out, "\"", 1);
	return true;
}

/* Adds a member whose value the user gave; NULL: none. False if it is not text. */
static bool put_member(struct buf *out, const char *key, const char *value)
{
	if (!value)
		return true;
	buf_printf(out, ",\"%s\":", key);
	return put_string(out, value, strlen(value));
}

static void put_code(struct buf *out, const struct spec *spec)
{
	if (!spec->code)
		return;
	buf_text(out, ",\"code\":");
	if (put_string(out, spec->code, spec->code_size))
		return;
	buf_text(out, "{\"base64\":\"");
	base64_add(out, spec->code, spec->code_size);
	buf_text(out, "\"}");
}

static bool put_args(struct buf *out, const struct spec *spec)
{
	for (size_t i = 0; i < spec->arg_count; i++) {
		buf_text(out, i == 0 ? ",\"args\":[" : ",");
		if (!put_string(out, spec->args[i], strlen(spec->args[i])))
			return false;
	}
	buf_text(out, spec->arg_count > 0 ? "]" : "");
	return true;
}

/* Whether a later entry sets the same name: the last one counts, and a key must not occur twice. */
static bool set_again(const struct spec *spec, size_t at, size_t name)
{
	for (size_t i = at + 1; i < spec->env_count; i++)
		if (strncmp(spec->env[i], spec->env[at], name + 1) == 0)
			return true;
	return false;
}

static bool put_env(struct buf *out, const struct spec *spec)
{
	const char *before = ",\"env\":{";

	for (size_t i = 0; i < spec->env_count; i++) {
		const char *entry = spec->env[i], *equals = strchr(entry, '=');
		size_t name = (size_t)(equals - entry);

		if (set_again(spec, i, name))
			continue;
		buf_text(out, before);
		before = ",";
		if (!put_string(out, entry, name))
			return false;
		buf_text(out, ":");
		if (!put_string(out, equals + 1, strlen(equals + 1)))
			return false;
	}
	buf_text(out, spec->env_count > 0 ? "}" : "");
	return true;
}

static void put_limits(struct buf *out, const struct limits *limits)
{
	const char *before = ",\"limits\":{";

	for (enum limit_id id = 0; id < LIMITS; id++) {
		const double amount = limit_get(limits, id);
		char text[TEXT_NUMBER_MAX];

		if (amount <= 0)
			continue;
		/* Sizes as strings: a number could be taken for megabytes. */
		buf_printf(out, limit_rows[id].kind == LIMIT_BYTES ? "%s\"%s\":\"%s\"" : "%s\"%s\":%s", before,
			   limit_rows[id].name, text_number_format(amount, text));
		before = ",";
	}
	buf_text(out, before[1] == '\0' ? "}" : "");
}

static void put_weaker(struct buf *out, const struct spec *spec)
{
	const char *before = ",\"allow_weaker\":[";

	for (int i = 0; i < LAYERS; i++) {
		if (!spec->weaker[i])
			continue;
		buf_printf(out, "%s\"%s\"", before, layer_name(i));
		before = ",";
	}
	buf_text(out, before[1] == '\0' ? "]" : "");
}

/* Rules as text. The caller's registry has decided the further lists, which also apply to the service. */
static bool put_rules(struct buf *out, const struct net_list *list)
{
	buf_text(out, "[");
	for (size_t i = 0; i < list->count; i++) {
		buf_text(out, i > 0 ? "," : "");
		if (!put_string(out, list->rules[i].text, strlen(list->rules[i].text)))
			return false;
	}
	buf_text(out, "]");
	return true;
}

bool request_network_json(const struct net_policy *policy, struct buf *out)
{
	if (net_policy_is_none(policy)) {
		buf_text(out, "\"none\"");
		return true;
	}
	buf_text(out, "{\"allow\":");
	if (!put_rules(out, &policy->lists[0]))
		return false;
	for (size_t i = 1; i < policy->list_count; i++) {
		buf_text(out, i == 1 ? ",\"within\":[" : ",");
		if (!put_rules(out, &policy->lists[i]))
			return false;
	}
	buf_text(out, policy->list_count > 1 ? "]" : "");
	if (policy->rate)
		buf_printf(out, ",\"rate\":\"%" PRIu64 "\"", policy->rate);
	if (policy->total)
		buf_printf(out, ",\"total\":\"%" PRIu64 "\"", policy->total);
	if (policy->connections)
		buf_printf(out, ",\"connections\":%" PRIu32, policy->connections);
	buf_text(out, "}");
	return true;
}

/* Also says "none", because a request without rules has those of its profile. */
static bool put_secrets(struct buf *out, const struct net_secrets *secrets)
{
	for (size_t i = 0; secrets && i < secrets->count; i++) {
		const struct net_secret *secret = &secrets->items[i];

		buf_text(out, i == 0 ? ",\"secrets\":[{\"name\":" : ",{\"name\":");
		if (!put_string(out, secret->name, strlen(secret->name)))
			return false;
		buf_text(out, ",\"hosts\":[");
		for (size_t k = 0; k < secret->host_count; k++)
			buf_printf(out, "%s\"%s%s:%u\"", k > 0 ? "," : "", secret->hosts[k].below ? "*." : "",
				   secret->hosts[k].name, secret->hosts[k].port);
		buf_text(out, "],\"value\":");
		if (!put_string(out, secret->value, secret->size) || !put_member(out, "header", secret->header) ||
		    !put_member(out, "format", secret->format))
			return false;
		buf_text(out, "}");
	}
	buf_text(out, secrets && secrets->count > 0 ? "]" : "");
	return true;
}

static bool put_network(struct buf *out, const struct net_policy *policy)
{
	if (policy->list_count == 0)
		return true;
	buf_text(out, ",\"network\":");
	return request_network_json(policy, out);
}

/* Reads one byte more than the file's size, to notice growth. */
static bool put_host_file(struct buf *out, const char *host, uint64_t *left)
{
	_cleanup_free_ char *data = NULL;
	_cleanup_close_ int fd = -1;
	struct stat st;
	ssize_t n;

	fd = host_file_open(host, &st, NULL);
	if (fd < 0 || (uint64_t)st.st_size > *left)
		return false;
	data = malloc((size_t)st.st_size + 1);
	n = data ? fd_read(fd, data, (size_t)st.st_size + 1) : -1;
	if (n < 0 || n > st.st_size)
		return false;
	*left -= (uint64_t)n;
	base64_add(out, data, (size_t)n);
	buf_printf(out, "\",\"mode\":\"%s\"", st.st_mode & 0111 ? "755" : "644");
	return true;
}

/* The run itself reports a box that is too small for its files. */
static bool put_files(struct buf *out, const struct spec *spec)
{
	uint64_t left = REQUEST_FILES_MAX;

	if (spec->limits.disk > 0 && spec->limits.disk < left)
		left = spec->limits.disk;
	for (size_t i = 0; i < spec->file_count; i++) {
		const struct spec_file *file = &spec->files[i];

		buf_text(out, i == 0 ? ",\"files\":{\"/" : ",\"/");
		if (!json_is_plain_text(file->box, strlen(file->box)))
			return false;
		put_escaped(out, file->box, strlen(file->box));
		buf_text(out, "\":{\"base64\":\"");
		/* The command line's files are all on the host. */
		if (!file->host || !put_host_file(out, file->host, &left))
			return false;
		buf_text(out, "}");
	}
	buf_text(out, spec->file_count > 0 ? "}" : "");
	return true;
}

/* A cell has only code, times and the size of the output; the session has the rest. */
static bool cell_json(const struct spec *spec, const struct request_extra *extra, struct buf *out)
{
	const struct limits limits = limits_of_run(&spec->limits, &(struct limits){ 0 });

	buf_text(out, "{\"session\":");
	if (!put_string(out, extra->session, strlen(extra->session)))
		return false;
	if (extra->language && !put_member(out, "language", extra->language))
		return false;
	put_code(out, spec);
	if (!put_args(out, spec))
		return false;
	put_limits(out, &limits);
	return true;
}

static void put_manner(struct buf *out, const struct request_extra *extra)
{
	if (extra->stream)
		buf_text(out, ",\"stream\":true");
	if (extra->input)
		buf_text(out, ",\"input\":\"stream\"");
	buf_text(out, "}");
}

bool request_json(const struct spec *spec, const struct request_extra *extra, struct buf *out)
{
	const char *language = extra->language ? extra->language : spec->runtime ? spec->runtime->name : NULL;

	if (extra->session) {
		bool whole = cell_json(spec, extra, out);

		put_manner(out, extra);
		return whole && !out->failed;
	}
	if (spec->project || spec->output || spec->input || !language)
		return false;
	buf_text(out, "{\"language\":");
	if (!put_string(out, language, strlen(language)))
		return false;
	put_code(out, spec);
	if (!put_member(out, "entry", spec->name) || !put_member(out, "filename", spec->filename) ||
	    !put_member(out, "profile", spec->profile) || !put_member(out, "applied_profile", extra->profile) ||
	    !put_args(out, spec) || !put_env(out, spec) || !put_files(out, spec) || !put_network(out, &spec->network) ||
	    !put_secrets(out, spec->secrets))
		return false;
	put_limits(out, &spec->limits);
	put_weaker(out, spec);
	if (spec->unchecked)
		buf_text(out, ",\"check\":false");
	if (spec->read_only)
		buf_text(out, ",\"read_only\":true");
	if (extra->policy || spec->policy != POLICY_OFF)
		buf_printf(out, ",\"policy\":\"%s\"",
			   extra->policy                 ? extra->policy
			   : spec->policy == POLICY_WARN ? "warn"
							 : "block");
	if (spec->rows > 0)
		buf_printf(out, ",\"tty\":{\"rows\":%u,\"cols\":%u}", spec->rows, spec->columns);
	put_manner(out, extra);
	return !out->failed;
}
