/* The name of the time zone, on hosts that are made up in a directory. */
#include "../check.h"
#include "tree.h"

#include "engine/local/zone.h"

static char *root;
static int dir;

static void make_dirs(const char *path)
{
	char part[256];

	for (size_t i = 1; i <= strlen(path); i++) {
		if (path[i] && path[i] != '/')
			continue;
		snprintf(part, sizeof(part), "%.*s", (int)i, path);
		if (mkdirat(dir, part, 0755) < 0 && errno != EEXIST)
			abort();
	}
}

/* Two places of the same rules, as Berlin and Svalbard are, and two others. */
static void fresh(void)
{
	root = tree_new();
	dir = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	make_dirs("etc");
	make_dirs("usr/share/zoneinfo/Arctic");
	make_dirs("usr/share/zoneinfo/America/Argentina");
	make_dirs("usr/share/zoneinfo/Europe");
	make_dirs("usr/share/zoneinfo/Etc");
	tree_write(dir, "usr/share/zoneinfo/Arctic/Longyearbyen", "CET", 3);
	tree_write(dir, "usr/share/zoneinfo/Europe/Berlin", "CET", 3);
	tree_write(dir, "usr/share/zoneinfo/America/Argentina/Buenos_Aires", "-03", 3);
	tree_write(dir, "usr/share/zoneinfo/Etc/GMT+5", "-05", 3);
}

static void done(void)
{
	close(dir);
	tree_free(root);
}

static const char *found(const char *tz)
{
	static char name[ZONE_NAME_MAX];

	zone_find(root, tz, name);
	return name;
}

static void the_link_names_it(void)
{
	static const char *const targets[][2] = {
		{ "/usr/share/zoneinfo/Europe/Berlin", "Europe/Berlin" },
		{ "../usr/share/zoneinfo/America/Argentina/Buenos_Aires", "America/Argentina/Buenos_Aires" },
		{ "/usr/share/zoneinfo/Etc/GMT+5", "Etc/GMT+5" },
	};

	fresh();
	/* An older name in the other file is of no account. */
	tree_write(dir, "etc/timezone", "Arctic/Longyearbyen\n", 20);
	for (size_t i = 0; i < sizeof(targets) / sizeof(*targets); i++) {
		unlinkat(dir, "etc/localtime", 0);
		tree_link(targets[i][0], dir, "etc/localtime");
		CHECK_STR(found("Arctic/Longyearbyen"), targets[i][1]);
	}
	done();
}

static void a_copied_file_has_its_name_beside_it(void)
{
	fresh();
	tree_write(dir, "etc/localtime", "CET", 3);
	CHECK_STR(found(NULL), "Etc/UTC");
	CHECK_STR(found("Europe/Berlin"), "Europe/Berlin");
	CHECK_STR(found(":Europe/Berlin"), "Europe/Berlin");
	tree_write(dir, "etc/timezone", "Europe/Berlin\n", 14);
	CHECK_STR(found(NULL), "Europe/Berlin");
	CHECK_STR(found("Arctic/Longyearbyen"), "Europe/Berlin");
	done();
}

static void a_name_with_other_rules_is_not_it(void)
{
	fresh();
	tree_write(dir, "etc/localtime", "CET", 3);
	tree_write(dir, "etc/timezone", "Etc/GMT+5\n", 10);
	CHECK_STR(found(NULL), "Etc/UTC");
	CHECK_STR(found("America/Argentina/Buenos_Aires"), "Etc/UTC");
	CHECK_STR(found("Europe/Berlin"), "Europe/Berlin");
	done();
}

static void without_the_rules_there_is_a_name(void)
{
	fresh();
	CHECK_STR(found(NULL), "Etc/UTC");
	CHECK_STR(found("Etc/GMT+5"), "Etc/GMT+5");
	tree_write(dir, "etc/timezone", "Europe/Berlin", 13);
	CHECK_STR(found("Etc/GMT+5"), "Europe/Berlin");
	done();
}

static void what_is_no_name(void)
{
	static const char *const wrong[] = { "",
					     "/etc/shadow",
					     "../../../../etc/shadow",
					     "Europe",
					     "Europe/Nowhere",
					     "CET-1CEST,M3.5.0,M10.5.0/3",
					     "Europe/Berlin\nEurope/Berlin",
					     "Europe/Berlin Europe/Berlin",
					     ":" };

	fresh();
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		CHECK_STR(found(wrong[i]), "Etc/UTC");
	tree_link("/usr/share/zoneinfo/../../../etc/shadow", dir, "etc/localtime");
	CHECK_STR(found(NULL), "Etc/UTC");
	unlinkat(dir, "etc/localtime", 0);
	/* A FIFO would be waited for. */
	if (mkfifoat(dir, "etc/localtime", 0644) < 0)
		abort();
	CHECK_STR(found(NULL), "Etc/UTC");
	done();
}

int main(void)
{
	check_run("the_link_names_it", the_link_names_it);
	check_run("a_copied_file_has_its_name_beside_it", a_copied_file_has_its_name_beside_it);
	check_run("a_name_with_other_rules_is_not_it", a_name_with_other_rules_is_not_it);
	check_run("without_the_rules_there_is_a_name", without_the_rules_there_is_a_name);
	check_run("what_is_no_name", what_is_no_name);
	return check_failures ? 1 : 0;
}
