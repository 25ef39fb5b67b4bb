#include "kernel/cgroup_parse.h"
#include "kernel/cgroup.h"

#include <string.h>

static const char *const names[CGROUP_CONTROLLERS] = {
	[CGROUP_MEMORY] = "memory",
	[CGROUP_PIDS] = "pids",
	[CGROUP_CPU] = "cpu",
	[CGROUP_CPUACCT] = "cpuacct",
};

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n';
}

static bool word_is(const char *word, size_t length, const char *want)
{
	return length == strlen(want) && memcmp(word, want, length) == 0;
}

bool cgroup_next_line(const char **text, size_t *length, const char **line, size_t *line_length)
{
	if (!*length)
		return false;
	const char *end = memchr(*text, '\n', *length);
	size_t taken = end ? (size_t)(end - *text) : *length;

	*line = *text;
	*line_length = taken;
	taken += end != NULL;
	*text += taken;
	*length -= taken;
	return true;
}

unsigned cgroup_parse_controllers(const char *list, size_t length)
{
	unsigned found = 0;

	for (size_t i = 0; i < length;) {
		size_t start = i;
		while (i < length && list[i] != ',' && !is_space(list[i]))
			i++;
		for (int c = 0; c < CGROUP_CONTROLLERS; c++)
			if (word_is(list + start, i - start, names[c]))
				found |= CGROUP_BIT(c);
		i++;
	}
	return found;
}

/* Takes the next word of a line whose words are separated by single spaces. */
static bool next_word(const char **line, size_t *length, const char **word, size_t *word_length)
{
	if (!*length)
		return false;
	const char *end = memchr(*line, ' ', *length);
	size_t taken = end ? (size_t)(end - *line) : *length;

	*word = *line;
	*word_length = taken;
	taken += end != NULL;
	*line += taken;
	*length -= taken;
	return *word_length > 0;
}

/* mountinfo writes space, tab, newline and backslash as \040 and so on. */
static bool path_unescape(const char *text, size_t length, char out[PATH_MAX])
{
	size_t o = 0;

	for (size_t i = 0; i < length; i++) {
		char c = text[i];
		if (c == '\\' && length - i > 3 && text[i + 1] >= '0' && text[i + 1] <= '3' && text[i + 2] >= '0' &&
		    text[i + 2] <= '7' && text[i + 3] >= '0' && text[i + 3] <= '7') {
			c = (char)((text[i + 1] - '0') << 6 | (text[i + 2] - '0') << 3 | (text[i + 3] - '0'));
			i += 3;
		}
		if (c == '\0' || o + 1 >= PATH_MAX)
			return false;
		out[o++] = c;
	}
	out[o] = '\0';
	return o > 0 && out[0] == '/';
}

/* ID PARENT DEV ROOT POINT OPTIONS [TAG…] - TYPE SOURCE SUPER_OPTIONS */
bool cgroup_parse_mount(const char *line, size_t length, struct cgroup_mount *mount)
{
	const char *word, *root = NULL, *point = NULL;
	size_t n, root_length = 0, point_length = 0;

	for (int field = 0;; field++) {
		if (!next_word(&line, &length, &word, &n))
			return false;
		if (field == 3) {
			root = word;
			root_length = n;
		} else if (field == 4) {
			point = word;
			point_length = n;
		} else if (field >= 6 && word_is(word, n, "-")) {
			break;
		}
	}
	if (!next_word(&line, &length, &word, &n))
		return false;
	if (word_is(word, n, "cgroup2"))
		mount->unified = true;
	else if (word_is(word, n, "cgroup"))
		mount->unified = false;
	else
		return false;
	/* The mounter chose the source, which can be empty: then two spaces follow each other. */
	next_word(&line, &length, &word, &n);
	if (!next_word(&line, &length, &word, &n))
		return false;
	mount->controllers = mount->unified ? 0 : cgroup_parse_controllers(word, n);
	return path_unescape(root, root_length, mount->root) && path_unescape(point, point_length, mount->point);
}

/* ID:CONTROLLERS:PATH. A path may contain colons, the list may not. */
bool cgroup_parse_member(const char *line, size_t length, struct cgroup_member *member)
{
	const char *first = memchr(line, ':', length);
	if (!first)
		return false;
	const char *list = first + 1;
	size_t rest = length - (size_t)(list - line);
	const char *second = memchr(list, ':', rest);
	if (!second)
		return false;
	const char *path = second + 1;
	size_t path_length = length - (size_t)(path - line);

	if (path_length == 0 || path_length >= PATH_MAX || path[0] != '/' || memchr(path, '\0', path_length))
		return false;
	member->unified = word_is(line, (size_t)(first - line), "0") && second == list;
	member->controllers = cgroup_parse_controllers(list, (size_t)(second - list));
	memcpy(member->path, path, path_length);
	member->path[path_length] = '\0';
	return true;
}

bool cgroup_parse_number(const char *text, size_t length, uint64_t *value)
{
	uint64_t sum = 0;

	while (length && is_space(text[length - 1]))
		length--;
	if (word_is(text, length, "max")) {
		*value = UINT64_MAX;
		return true;
	}
	if (!length)
		return false;
	for (size_t i = 0; i < length; i++) {
		if (text[i] < '0' || text[i] > '9')
			return false;
		if (__builtin_mul_overflow(sum, (uint64_t)10, &sum) ||
		    __builtin_add_overflow(sum, (uint64_t)(text[i] - '0'), &sum))
			return false;
	}
	*value = sum;
	return true;
}

bool cgroup_parse_field(const char *text, size_t length, const char *key, uint64_t *value)
{
	const char *line;
	size_t n, key_length = strlen(key);

	while (cgroup_next_line(&text, &length, &line, &n))
		if (n > key_length && memcmp(line, key, key_length) == 0 && line[key_length] == ' ')
			return cgroup_parse_number(line + key_length + 1, n - key_length - 1, value);
	return false;
}

bool cgroup_parse_cpu_max(const char *text, size_t length, uint64_t *quota, uint64_t *period)
{
	const char *space = length ? memchr(text, ' ', length) : NULL;

	if (!space)
		return false;
	size_t first = (size_t)(space - text);
	return cgroup_parse_number(text, first, quota) && cgroup_parse_number(space + 1, length - first - 1, period) &&
	       *period != UINT64_MAX;
}

/* Whether a component of the path is "..". */
static bool has_parent(const char *path)
{
	for (const char *at = path; (at = strstr(at, "/..")); at += 3)
		if (at[3] == '/' || at[3] == '\0')
			return true;
	return false;
}

const char *cgroup_path_below(const char *root, const char *path)
{
	size_t length = strlen(root);

	if (has_parent(root) || has_parent(path))
		return NULL;
	while (length && root[length - 1] == '/')
		length--;
	if (strncmp(root, path, length) != 0 || (path[length] != '/' && path[length] != '\0'))
		return NULL;
	path += length;
	return strcmp(path, "/") == 0 ? "" : path;
}
