/* What programs need to start: as ldd says it, for real ones; by the rules of the loader, for made ones. */
/* tests/run: timeout=120 */
#include "../check.h"
#include "tree.h"

#include "language/elf.h"

#include <elf.h>
#include <limits.h>

static struct arena arena;
static struct elf_files files;
static struct error err;

static void fresh(void)
{
	arena_free(&arena);
	files = (struct elf_files){ 0 };
	err = (struct error){ 0 };
}

static bool has(const char *path)
{
	for (size_t i = 0; i < files.count; i++)
		if (strcmp(files.paths[i], path) == 0)
			return true;
	return false;
}

/* The directory without links, the name as it is. */
static const char *canonical(const char *path)
{
	static char out[PATH_MAX * 2];
	char dir[PATH_MAX], real[PATH_MAX];
	const char *slash = strrchr(path, '/');

	snprintf(dir, sizeof(dir), "%.*s/", (int)(slash - path), path);
	snprintf(out, sizeof(out), "%s/%s", realpath(dir, real) ? real : dir, slash + 1);
	return out;
}

/* One line of ldd: "\tNAME => PATH (0x…)" or "\tPATH (0x…)"; the kernel's own library has no path. */
static const char *ldd_path(char *line)
{
	char *path = strchr(line, '/'), *arrow = strstr(line, "=> ");

	if (arrow && arrow[3] == '/')
		path = arrow + 3;
	if (!path)
		return NULL;
	path[strcspn(path, " \n")] = '\0';
	return canonical(path);
}

static bool same_as_ldd(const char *program)
{
	char command[256], line[1024];
	size_t count = 0;
	FILE *ldd;

	if (access(program, X_OK) < 0)
		return false;
	fresh();
	if (elf_needs(program, &arena, &files, &err) < 0) {
		check_fail("%s: %s", program, err.text);
		return true;
	}
	snprintf(command, sizeof(command), "exec ldd %s", program);
	ldd = popen(command, "r");
	if (!ldd)
		abort();
	while (fgets(line, sizeof(line), ldd)) {
		const char *path = ldd_path(line);

		if (!path)
			continue;
		count++;
		if (!has(path))
			check_fail("%s needs %s, and it is not told", program, path);
	}
	if (pclose(ldd) != 0)
		check_fail("ldd %s failed", program);
	if (files.count != count)
		check_fail("%s needs %zu files, and %zu are told", program, count, files.count);
	return true;
}

static void real_programs(void)
{
	static const char *const programs[] = {
		"/usr/bin/bash",    "/usr/bin/dash",         "/usr/bin/cat",  "/usr/bin/ls",   "/usr/bin/sed",
		"/usr/bin/grep",    "/usr/bin/find",         "/usr/bin/tar",  "/usr/bin/sort", "/usr/bin/python3",
		"/usr/bin/perl",    "/usr/bin/lua5.4",       "/usr/bin/ruby", "/usr/bin/node", "/usr/bin/zsh",
		"/usr/bin/git",     "/usr/bin/gcc",          "/usr/bin/ld",   "/usr/bin/php",  "/usr/bin/openssl",
		"/usr/bin/Rscript", "/usr/lib/R/bin/exec/R", "/usr/bin/curl",
	};
	size_t seen = 0;

	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
		seen += same_as_ldd(programs[i]);
	CHECK(seen >= 9);
}

static void static_program(void)
{
	fresh();
	CHECK_INT(elf_needs("/usr/sbin/ldconfig", &arena, &files, &err), 0);
	CHECK_INT(files.count, 0);
}

/* The files of several programs are one list. */
static void no_two_the_same(void)
{
	size_t before;

	fresh();
	CHECK_INT(elf_needs("/usr/bin/cat", &arena, &files, &err), 0);
	before = files.count;
	CHECK(before >= 2);
	CHECK_INT(elf_needs("/usr/bin/cat", &arena, &files, &err), 0);
	CHECK_INT(files.count, before);
	CHECK_INT(elf_needs("/usr/bin/ls", &arena, &files, &err), 0);
	CHECK(files.count > before);
	for (size_t i = 0; i < files.count; i++)
		for (size_t j = 0; j < i; j++)
			CHECK(strcmp(files.paths[i], files.paths[j]) != 0);
}

/* The smallest file the loader would take: headers, a dynamic section, and its strings. */
struct tiny {
	Elf64_Ehdr header;
	Elf64_Phdr load, interp, dynamic;
	Elf64_Dyn entries[12];
	char strings[1024];
	size_t entry_count, used; /* not part of the file */
};

#define TINY_ADDRESS 0x400000
#define TINY_SIZE    offsetof(struct tiny, entry_count)

static void tiny_entry(struct tiny *tiny, Elf64_Sxword tag, uint64_t value)
{
	tiny->entries[tiny->entry_count++] = (Elf64_Dyn){ .d_tag = tag, .d_un.d_val = value };
}

static size_t tiny_string(struct tiny *tiny, const char *text)
{
	size_t at = tiny->used;

	strcpy(tiny->strings + at, text);
	tiny->used += strlen(text) + 1;
	return at;
}

static void tiny_text(struct tiny *tiny, Elf64_Sxword tag, const char *text)
{
	tiny_entry(tiny, tag, tiny_string(tiny, text));
}

/* As this machine has it: taken from a program that is there. */
static void tiny_start(struct tiny *tiny)
{
	FILE *file = fopen("/usr/bin/cat", "rb");

	*tiny = (struct tiny){ .used = 1 };
	if (!file || fread(&tiny->header, sizeof(tiny->header), 1, file) != 1)
		abort();
	fclose(file);
	tiny->header.e_phoff = offsetof(struct tiny, load);
	tiny->header.e_phnum = 3;
	tiny->load =
		(Elf64_Phdr){ .p_type = PT_LOAD, .p_vaddr = TINY_ADDRESS, .p_filesz = TINY_SIZE, .p_memsz = TINY_SIZE };
	tiny->interp = (Elf64_Phdr){ .p_type = PT_NULL };
	tiny->dynamic = (Elf64_Phdr){ .p_type = PT_DYNAMIC,
				      .p_offset = offsetof(struct tiny, entries),
				      .p_filesz = sizeof(tiny->entries) };
	tiny_entry(tiny, DT_STRTAB, TINY_ADDRESS + offsetof(struct tiny, strings));
	tiny_entry(tiny, DT_STRSZ, sizeof(tiny->strings));
}

static void tiny_interp(struct tiny *tiny, const char *path)
{
	size_t at = tiny_string(tiny, path);

	tiny->interp = (Elf64_Phdr){ .p_type = PT_INTERP,
				     .p_offset = offsetof(struct tiny, strings) + at,
				     .p_filesz = strlen(path) + 1 };
}

struct names {
	char text[512]; /* "a b c " */
};

static void names_add(const char *name, void *userdata)
{
	struct names *names = userdata;
	size_t used = strlen(names->text);

	snprintf(names->text + used, sizeof(names->text) - used, "%s ", name);
}

/* From memory of its own size, so that the sanitizer sees a read past the end. */
static int read_tiny(const struct tiny *tiny, size_t size, char *loader, size_t loader_size, struct names *names)
{
	void *copy = malloc(size + !size);
	int result;

	memcpy(copy, tiny, size);
	*names = (struct names){ 0 };
	result = elf_read(copy, size, loader, loader_size, names_add, names);
	free(copy);
	return result;
}

static void content(void)
{
	struct names names;
	char loader[64];
	struct tiny tiny;

	tiny_start(&tiny);
	tiny_interp(&tiny, "/lib/ld.so");
	tiny_text(&tiny, DT_NEEDED, "liba.so");
	tiny_text(&tiny, DT_SONAME, "not-this");
	tiny_text(&tiny, DT_NEEDED, "libb.so");
	tiny_entry(&tiny, DT_NULL, 0);
	tiny_text(&tiny, DT_NEEDED, "after-the-end");
	CHECK_INT(read_tiny(&tiny, TINY_SIZE, loader, sizeof(loader), &names), 0);
	CHECK_STR(loader, "/lib/ld.so");
	CHECK_STR(names.text, "liba.so libb.so ");
	/* The path fits with its NUL, and not without. */
	CHECK_INT(read_tiny(&tiny, TINY_SIZE, loader, 11, &names), 0);
	CHECK_INT(read_tiny(&tiny, TINY_SIZE, loader, 10, &names), -1);
	/* Every shorter file is damaged: the string table says that it goes to the end, but names do not need all of
	 * it. */
	for (size_t size = 0; size < offsetof(struct tiny, strings) + tiny.used - sizeof("after-the-end"); size++)
		if (read_tiny(&tiny, size, loader, sizeof(loader), &names) == 0)
			check_fail("%zu bytes of %zu are enough", size, TINY_SIZE);
}

#define DAMAGED(change)                                                                                                \
	do {                                                                                                           \
		struct tiny copy_ = tiny;                                                                              \
		struct tiny *t = &copy_;                                                                               \
		change;                                                                                                \
		CHECK_INT(read_tiny(t, TINY_SIZE, loader, sizeof(loader), &names), -1);                                \
	} while (0)

static void damaged(void)
{
	struct names names;
	char loader[64];
	struct tiny tiny;

	tiny_start(&tiny);
	tiny_interp(&tiny, "/lib/ld.so");
	tiny_text(&tiny, DT_NEEDED, "liba.so");
	CHECK_INT(read_tiny(&tiny, TINY_SIZE, loader, sizeof(loader), &names), 0);

	DAMAGED(t->header.e_ident[EI_MAG1] = 'e');
	DAMAGED(t->header.e_ident[EI_CLASS] = ELFCLASS32);
	DAMAGED(t->header.e_ident[EI_DATA] = ELFDATANONE);
	DAMAGED(t->header.e_machine = EM_386);
	DAMAGED(t->header.e_type = ET_REL);
	DAMAGED(t->header.e_phentsize = 32);
	DAMAGED(t->header.e_phnum = PN_XNUM);
	DAMAGED(t->header.e_phoff = UINT64_MAX - 8);
	DAMAGED(t->load.p_type = PT_NULL);
	DAMAGED(t->load.p_vaddr = UINT64_MAX - 4);
	DAMAGED(t->load.p_filesz = 16);
	DAMAGED(t->load.p_offset = UINT64_MAX - 16);
	DAMAGED(t->load.p_offset = TINY_SIZE);
	DAMAGED(t->interp.p_offset = UINT64_MAX);
	DAMAGED(t->interp.p_offset++);
	DAMAGED(t->interp.p_filesz--);
	DAMAGED(t->interp.p_filesz = 0);
	DAMAGED(t->dynamic.p_offset = TINY_SIZE - 8);
	DAMAGED(t->dynamic.p_filesz = UINT64_MAX);
	DAMAGED(t->entries[0].d_un.d_ptr = 0);
	DAMAGED(t->entries[1].d_un.d_val = 0);
	DAMAGED(t->entries[2].d_un.d_val = sizeof(t->strings));
	DAMAGED(t->entries[2].d_un.d_val = UINT64_MAX);
	DAMAGED(t->entries[2].d_un.d_val = 0); /* a library without a name */
	DAMAGED(memset(t->strings + 1, 'x', sizeof(t->strings) - 1));
}

static char *top;
static int dir;

static void place(const char *path, const struct tiny *tiny)
{
	tree_write(dir, path, tiny, TINY_SIZE);
}

static const char *below(const char *path)
{
	return arena_printf(&arena, "%s/%s", top, path);
}

static void tree_start(void)
{
	fresh();
	top = tree_new();
	dir = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (mkdirat(dir, "bin", 0755) < 0 || mkdirat(dir, "lib", 0755) < 0 || mkdirat(dir, "more", 0755) < 0)
		abort();
}

static void tree_end(void)
{
	close(dir);
	tree_free(top);
	fresh();
}

static void plain_library(const char *path)
{
	struct tiny tiny;

	tiny_start(&tiny);
	place(path, &tiny);
}

static void needing(const char *path, Elf64_Sxword tag, const char *list, const char *name)
{
	struct tiny tiny;

	tiny_start(&tiny);
	if (list)
		tiny_text(&tiny, tag, list);
	tiny_text(&tiny, DT_NEEDED, name);
	place(path, &tiny);
}

/* RUNPATH counts for its own object alone; RPATH for all that is needed further on. */
static void search_paths(void)
{
	tree_start();
	needing("bin/run", DT_RUNPATH, ":relative:/nowhere:$PLATFORM/x:$ORIGIN/../lib", "libeba.so.1");
	needing("bin/braces", DT_RUNPATH, "${ORIGIN}/../lib", "libeba.so.1");
	needing("bin/rpath", DT_RPATH, "$ORIGIN/../lib:$ORIGIN/../more", "libeba.so.1");
	needing("lib/libeba.so.1", DT_RUNPATH, NULL, "libebb.so.1");
	plain_library("more/libebb.so.1");

	CHECK_INT(elf_needs(below("bin/run"), &arena, &files, &err), -1);
	CHECK_INT(err.kind, ERROR_FAILED);
	CHECK_STR(err.text, below("lib/libeba.so.1 needs libebb.so.1, which is not installed"));
	files.count = 0;
	CHECK_INT(elf_needs(below("bin/rpath"), &arena, &files, &err), 0);
	CHECK_INT(files.count, 2);
	CHECK(has(below("lib/libeba.so.1")) && has(below("more/libebb.so.1")));
	/* Beside the library without a search path of its own it is not looked for. */
	plain_library("lib/libebb.so.1");
	files.count = 0;
	CHECK_INT(elf_needs(below("bin/braces"), &arena, &files, &err), -1);
	tree_end();
}

/* $ORIGIN is of the program, whatever link leads to it; directories lose their links, names keep them. */
static void links(void)
{
	tree_start();
	needing("bin/run", DT_RUNPATH, "$ORIGIN/linked", "libeba.so");
	plain_library("lib/libeba.so.1.2");
	tree_link("libeba.so.1.2", dir, "lib/libeba.so");
	tree_link("../lib", dir, "bin/linked");
	tree_link("../bin/run", dir, "more/run");
	CHECK_INT(elf_needs(below("more/run"), &arena, &files, &err), 0);
	CHECK_INT(files.count, 1);
	CHECK_STR(files.count ? files.paths[0] : "", below("lib/libeba.so"));
	tree_end();
}

/* A file of the right name for another machine is passed over; a loop of needs ends. */
static void passed_over(void)
{
	struct tiny tiny;

	tree_start();
	needing("bin/run", DT_RPATH, "$ORIGIN/../lib:$ORIGIN/../more", "libeba.so");
	tiny_start(&tiny);
	tiny.header.e_machine = EM_386;
	place("lib/libeba.so", &tiny);
	needing("more/libeba.so", DT_RPATH, NULL, "libebb.so");
	needing("more/libebb.so", DT_RPATH, NULL, "libeba.so");
	CHECK_INT(elf_needs(below("bin/run"), &arena, &files, &err), 0);
	CHECK_INT(files.count, 2);
	CHECK(has(below("more/libeba.so")) && has(below("more/libebb.so")));
	tree_end();
}

static void refused(void)
{
	struct tiny tiny;

	tree_start();
	needing("bin/up", DT_RUNPATH, "$ORIGIN", "../lib/libeba.so");
	plain_library("lib/libeba.so");
	CHECK_INT(elf_needs(below("bin/up"), &arena, &files, &err), -1);
	CHECK_STR(err.text, below("bin/up needs ../lib/libeba.so, which is not installed"));

	tiny_start(&tiny);
	tiny_interp(&tiny, "/nowhere/ld.so");
	place("bin/loader", &tiny);
	CHECK_INT(elf_needs(below("bin/loader"), &arena, &files, &err), -1);
	CHECK_STR(err.text, below("bin/loader needs the loader /nowhere/ld.so, which is not installed"));

	tree_write(dir, "bin/text", "echo hello\n", 11);
	CHECK_INT(elf_needs(below("bin/text"), &arena, &files, &err), -1);
	CHECK_STR(err.text, below("bin/text is damaged or is a program for another machine"));
	tree_write(dir, "bin/empty", "", 0);
	CHECK_INT(elf_needs(below("bin/empty"), &arena, &files, &err), -1);
	CHECK_INT(elf_needs(below("bin/missing"), &arena, &files, &err), -1);
	CHECK_INT(err.errnum, ENOENT);
	CHECK_INT(elf_needs(top, &arena, &files, &err), -1);
	CHECK_INT(files.count, 0);
	tree_end();
}

static void scripts(void)
{
	size_t direct;
	char text[512];

	tree_start();
	CHECK_INT(elf_needs("/usr/bin/dash", &arena, &files, &err), 0);
	direct = files.count;
	CHECK(direct >= 2);

	files.count = 0;
	tree_write(dir, "bin/script", "#! /bin/dash -e\necho\n", 21);
	CHECK_INT(elf_needs(below("bin/script"), &arena, &files, &err), 0);
	CHECK(has(canonical("/bin/dash")));
	CHECK_INT(files.count, direct + 1);

	/* By way of another script. */
	files.count = 0;
	snprintf(text, sizeof(text), "#!%s/bin/script", top);
	tree_write(dir, "bin/second", text, strlen(text));
	CHECK_INT(elf_needs(below("bin/second"), &arena, &files, &err), 0);
	CHECK(has(below("bin/script")));
	CHECK_INT(files.count, direct + 2);

	files.count = 0;
	snprintf(text, sizeof(text), "#!%s/bin/loop\n", top);
	tree_write(dir, "bin/loop", text, strlen(text));
	CHECK_INT(elf_needs(below("bin/loop"), &arena, &files, &err), -1);
	tree_write(dir, "bin/bare", "#!", 2);
	CHECK_INT(elf_needs(below("bin/bare"), &arena, &files, &err), -1);
	CHECK_STR(err.text, below("bin/bare is a script for nothing, which is not installed"));
	tree_write(dir, "bin/relative", "#!dash\n", 7);
	CHECK_INT(elf_needs(below("bin/relative"), &arena, &files, &err), -1);
	tree_end();
}

int main(void)
{
	RUN(real_programs);
	RUN(static_program);
	RUN(no_two_the_same);
	RUN(content);
	RUN(damaged);
	RUN(search_paths);
	RUN(links);
	RUN(passed_over);
	RUN(refused);
	RUN(scripts);
	arena_free(&arena);
	return check_failures != 0;
}
