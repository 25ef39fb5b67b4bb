/* The keys of what is kept: the exact bytes that are hashed, and that two lists of fields never meet. */
#include "../check.h"
#include "tree.h"

#include "language/digest.h"

static struct digester *d;
static char text[65];

static void begin(void)
{
	d = digester_new();
	if (!d)
		abort();
}

/* What was added since begin(), as text; static. */
static const char *end(void)
{
	struct digest digest;

	digester_finish(d, &digest);
	digester_free(d);
	digest_text(&digest, text);
	return text;
}

/* The vectors were made by another implementation: sha256 of kind, length in eight bytes, and data. */
static void vectors(void)
{
	static char many[1000000];

	begin();
	CHECK_STR(end(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	begin();
	digester_add(d, NULL, 0);
	CHECK_STR(end(), "899b80c8dc11d5c2a65d67a4c3b6f3bebd2a1e990a9f79ac3d3c380533bb7c08");
	begin();
	digester_add(d, "abc", 3);
	CHECK_STR(end(), "8e8323ae170cfa8b66178af6b8cf60cfe9d5822796cbc5f0f63aabfb90e5cc60");
	begin();
	digester_add_text(d, "abc");
	CHECK_STR(end(), "8e8323ae170cfa8b66178af6b8cf60cfe9d5822796cbc5f0f63aabfb90e5cc60");
	memset(many, 'a', sizeof(many));
	begin();
	digester_add(d, many, sizeof(many));
	CHECK_STR(end(), "46c0ae4f164d79890122a3723acbe46c45337abb1c2df9c9a6070bf0a09292c0");
}

static void where_a_field_ends_counts(void)
{
	begin();
	digester_add_text(d, "ab");
	digester_add_text(d, "c");
	CHECK_STR(end(), "21e9d92e90d490a01e83dc650e58ef65199f13fa2345b7b6336c4b5b545bd69b");
	begin();
	digester_add_text(d, "a");
	digester_add_text(d, "bc");
	CHECK_STR(end(), "80c331a41dce9c7957c1d19f6c43075d92c4531476f4f7a8986d1a4c737cce8b");
}

/* A field that holds what the next one would look like. */
static void a_field_cannot_hold_another(void)
{
	char one[65];

	begin();
	digester_add(d, "a", 1);
	digester_add(d, "b", 1);
	snprintf(one, sizeof(one), "%s", end());
	begin();
	digester_add(d, "ab\1\0\0\0\0\0\0\0b", 11);
	CHECK(strcmp(end(), one) != 0);
}

static void null_is_no_empty_text(void)
{
	begin();
	digester_add_text(d, NULL);
	CHECK_STR(end(), "fd87400839d77a6884dc3b634ce294ad3062dfa1882550c2afd39554c8482595");
	begin();
	digester_add_text(d, "");
	CHECK_STR(end(), "899b80c8dc11d5c2a65d67a4c3b6f3bebd2a1e990a9f79ac3d3c380533bb7c08");
}

static void of_file(const char *path, char out[65])
{
	begin();
	digester_add_file(d, path);
	memcpy(out, end(), 65);
}

static void a_missing_file(void)
{
	char path[65], missing[65];

	of_file("/nonexistent/file", missing);
	CHECK_STR(missing, "05788613a2220482dfe40fb6b2f71f0e44bef63d76fd48435cc7e1e58d3fd720");
	begin();
	digester_add_text(d, "/nonexistent/file");
	memcpy(path, end(), 65);
	CHECK(strcmp(missing, path) != 0);
}

static void which_file_it_is(void)
{
	char *tree = tree_new(), path[64], link[64], first[65], again[65];
	const struct timespec times[2] = { { .tv_sec = 1, .tv_nsec = 5 }, { .tv_sec = 1, .tv_nsec = 6 } };
	int dir = open(tree, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	snprintf(path, sizeof(path), "%s/tool", tree);
	snprintf(link, sizeof(link), "%s/link", tree);
	tree_write(dir, "tool", "one", 3);
	of_file(path, first);
	of_file(path, again);
	CHECK_STR(again, first);

	/* Another time of change. */
	CHECK_INT(utimensat(dir, "tool", times, 0), 0);
	of_file(path, again);
	CHECK(strcmp(again, first) != 0);
	memcpy(first, again, sizeof(first));

	/* The same time, size and path, another file. */
	tree_write(dir, "new", "two", 3);
	CHECK_INT(utimensat(dir, "new", times, 0), 0);
	CHECK_INT(renameat(dir, "new", dir, "tool"), 0);
	of_file(path, again);
	CHECK(strcmp(again, first) != 0);
	memcpy(first, again, sizeof(first));

	/* The same file by another path; a link that points elsewhere. */
	tree_link("tool", dir, "link");
	of_file(link, again);
	CHECK(strcmp(again, first) != 0);
	memcpy(first, again, sizeof(first));
	tree_write(dir, "other", "two", 3);
	CHECK_INT(unlinkat(dir, "link", 0), 0);
	tree_link("other", dir, "link");
	of_file(link, again);
	CHECK(strcmp(again, first) != 0);

	CHECK_INT(unlinkat(dir, "tool", 0), 0);
	of_file(path, again);
	CHECK(strcmp(again, first) != 0);
	close(dir);
	tree_free(tree);
}

int main(void)
{
	RUN(vectors);
	RUN(where_a_field_ends_counts);
	RUN(a_field_cannot_hold_another);
	RUN(null_is_no_empty_text);
	RUN(a_missing_file);
	RUN(which_file_it_is);
	return check_failures > 0;
}
