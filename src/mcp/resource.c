#include "mcp/resource.h"

#include "base/buf.h"
#include "base/json_check.h"
#include "mcp/content.h"

#include <stdio.h>
#include <string.h>

#define SCHEME "emberbox://"

static const char *const kinds[] = {
	[RESOURCE_RUNTIME] = "runtime",
	[RESOURCE_SESSION] = "session",
	[RESOURCE_EXECUTION] = "execution",
};

static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/";

bool resource_uri(enum resource_kind kind, const char *id, const char *path, char out[RESOURCE_URI_MAX])
{
	size_t used = (size_t)snprintf(out, RESOURCE_URI_MAX, SCHEME "%s/%.64s%s", kinds[kind], id,
				       kind == RESOURCE_RUNTIME ? "" : "/output/");

	for (; kind != RESOURCE_RUNTIME && *path; path++) {
		if (used + 4 > RESOURCE_URI_MAX)
			return false;
		if (strchr(plain, *path))
			out[used++] = *path;
		else
			used += (size_t)snprintf(out + used, 4, "%%%02X", (unsigned char)*path);
		out[used] = '\0';
	}
	return true;
}

static int hex_digit(char digit)
{
	const char *found = digit ? strchr("0123456789abcdef", digit | 0x20) : NULL;

	return !found ? -1 : (int)(found - "0123456789abcdef");
}

/* Decodes a path. False: invalid encoding, too long, or not the path of a file. */
static bool take_path(const char *from, char out[RESOURCE_PATH_MAX])
{
	size_t used = 0;

	for (; *from; from++) {
		int high = *from == '%' ? hex_digit(from[1]) : 0,
		    low = *from == '%' && high >= 0 ? hex_digit(from[2]) : 0;

		if (high < 0 || low < 0 || used + 1 == RESOURCE_PATH_MAX)
			return false;
		out[used++] = *from == '%' ? (char)(high << 4 | low) : *from;
		from += *from == '%' ? 2 : 0;
	}
	out[used] = '\0';
	return used > 0 && strlen(out) == used && json_is_plain_text(out, used);
}

bool resource_parse(const char *uri, struct resource *out)
{
	static const char output[] = "/output/";
	size_t size;

	*out = (struct resource){ 0 };
	if (strncmp(uri, SCHEME, strlen(SCHEME)) != 0)
		return false;
	uri += strlen(SCHEME);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		size = strlen(kinds[i]);
		if (strncmp(uri, kinds[i], size) != 0 || uri[size] != '/')
			continue;
		uri += size + 1;
		out->kind = (enum resource_kind)i;
		size = strspn(uri, plain);
		size = size < strcspn(uri, "/") ? size : strcspn(uri, "/");
		if (size == 0 || size >= sizeof(out->id))
			return false;
		memcpy(out->id, uri, size);
		if (out->kind == RESOURCE_RUNTIME)
			return uri[size] == '\0';
		return strncmp(uri + size, output, strlen(output)) == 0 &&
		       take_path(uri + size + strlen(output), out->path);
	}
	return false;
}

const struct mcp_guide *guide_find(const char *language)
{
	for (size_t i = 0; i < mcp_guide_count; i++)
		if (strcmp(mcp_guides[i].language, language) == 0)
			return &mcp_guides[i];
	return NULL;
}

/* The first paragraph of the guide. */
static const char *guide_summary(const struct mcp_guide *guide, size_t *size)
{
	const char *begin = strstr(guide->text, "\n\n"), *end = begin ? strstr(begin + 2, "\n\n") : NULL;

	begin = begin ? begin + 2 : guide->text;
	*size = end ? (size_t)(end - begin) : strlen(begin);
	while (*size > 0 && begin[*size - 1] == '\n')
		(*size)--;
	return begin;
}

char *guide_instructions(void)
{
	struct buf out = { 0 };

	buf_text(&out,
		 "emberbox runs code in isolated sandboxes on this machine: no network unless `network` names what "
		 "may be reached, no access to the user's files, "
		 "bounded time and memory, discarded afterwards.\n"
		 "- run_code: one program, once, from a clean state. The right choice most of the time.\n"
		 "- run_in_session: several steps that build on each other; the first call creates a session, whose id "
		 "you "
		 "give to the next ones. read_file, write_file and list_files work on its files.\n"
		 "- get_output: the rest of an output that was too long for the answer.\n"
		 "- check_code: what a program would do, without running it.\n"
		 "- get_report: when a program that worked fails: similar earlier failures, and changes since.\n"
		 "- container_*: long-lived sandboxes that an administrator has defined.\n"
		 "Print the values that you need. Put files to keep, including images, into /sandbox/output. After "
		 "a "
		 "failure read the line and the suggestion, correct the code and run it again.\n"
		 "The languages, each with a guide as the resource emberbox://runtime/NAME:\n");
	for (size_t i = 0; i < mcp_guide_count; i++) {
		size_t size;
		const char *text = guide_summary(&mcp_guides[i], &size);

		buf_printf(&out, "- %s: %.*s\n", mcp_guides[i].language, (int)size, text);
	}
	return buf_take(&out);
}

json_t *resource_guides(void)
{
	json_t *list = json_array();

	for (size_t i = 0; i < mcp_guide_count; i++) {
		const struct mcp_guide *guide = &mcp_guides[i];
		const char *title = guide->text + 2;
		char uri[RESOURCE_URI_MAX];
		size_t size;
		const char *text = guide_summary(guide, &size);

		resource_uri(RESOURCE_RUNTIME, guide->language, "", uri);
		json_array_append_new(list,
				      json_pack("{s:s, s:s, s:o, s:o, s:s, s:I}", "uri", uri, "name", guide->language,
						"title", content_text(title, strcspn(title, "\n")), "description",
						content_text(text, size), "mimeType", "text/markdown", "size",
						(json_int_t)strlen(guide->text)));
	}
	return list;
}

json_t *resource_templates(void)
{
	return json_pack("[{s:s, s:s, s:s, s:s}, {s:s, s:s, s:s}, {s:s, s:s, s:s}]", "uriTemplate",
			 SCHEME "runtime/{language}", "name", "runtime", "description",
			 "How to use a language here: what is available, what is not, how to return an image.",
			 "mimeType", "text/markdown", "uriTemplate", SCHEME "session/{session}/output/{+path}", "name",
			 "session-file", "description", "A file below /sandbox/output of a session.", "uriTemplate",
			 SCHEME "execution/{id}/output/{+path}", "name", "execution-file", "description",
			 "A file that a run wrote to /sandbox/output.");
}

json_t *resource_file(const char *session, const char *path, json_int_t size)
{
	const char *type = content_image_type(path);
	char uri[RESOURCE_URI_MAX];

	if (!resource_uri(RESOURCE_SESSION, session, path, uri))
		return NULL;
	return json_pack("{s:s, s:s, s:I, s:s*}", "uri", uri, "name", path, "size", size, "mimeType", type);
}
