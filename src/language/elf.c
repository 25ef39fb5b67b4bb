#include "language/elf.h"

#include "base/fd.h"
#include "base/own.h"

#include <dirent.h>
#include <elf.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#if defined(__x86_64__)
#define ELF_MACHINE EM_X86_64
#define ELF_TRIPLET "x86_64-linux-gnu"
#elif defined(__aarch64__)
#define ELF_MACHINE EM_AARCH64
#define ELF_TRIPLET "aarch64-linux-gnu"
#elif defined(__riscv) && __riscv_xlen == 64
#define ELF_MACHINE EM_RISCV
#define ELF_TRIPLET "riscv64-linux-gnu"
#elif defined(__powerpc64__)
#define ELF_MACHINE EM_PPC64
#define ELF_TRIPLET "powerpc64le-linux-gnu"
#elif defined(__s390x__)
#define ELF_MACHINE EM_S390
#define ELF_TRIPLET "s390x-linux-gnu"
#else
#error "src/language/elf.c does not know this machine"
#endif

#define ELF_ORDER (BYTE_ORDER == LITTLE_ENDIAN ? ELFDATA2LSB : ELFDATA2MSB)

enum {
	ELF_HEADERS_MAX = 64,  /* maximum of program headers; real files have a dozen */
	ELF_DYNAMIC_MAX = 512, /* maximum of entries of the dynamic section; real files have some dozens */
	ELF_SCRIPTS_MAX = 4,   /* scripts whose interpreter is a script; the kernel's limit */
	ELF_CONF_DEPTH = 4,    /* levels of ld.so.conf files that include others */
};

/* A file in memory or on disk. It is not mapped, because a file that shrinks would cause a signal. */
struct elf_source {
	const uint8_t *data; /* NULL: use fd */
	uint64_t size;       /* of the file */
	int fd;              /* used without data */
};

static bool source_get(const struct elf_source *source, uint64_t at, void *out, uint64_t size)
{
	if (at > source->size || size > source->size - at)
		return false;
	if (source->data) {
		memcpy(out, source->data + at, size);
		return true;
	}
	for (char *to = out; size > 0;) {
		ssize_t n = pread(source->fd, to, size, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		to += n;
		at += (uint64_t)n;
		size -= (uint64_t)n;
	}
	return true;
}

/* Reads a string of at most `room` bytes including its NUL. False if it does not end there. */
static bool source_text(const struct elf_source *source, uint64_t at, uint64_t room, char out[PATH_MAX])
{
	if (at > source->size)
		return false;
	if (room > source->size - at)
		room = source->size - at;
	if (room > PATH_MAX)
		room = PATH_MAX;
	return source_get(source, at, out, room) && memchr(out, '\0', room);
}

struct image {
	Elf64_Phdr headers[ELF_HEADERS_MAX]; /* the program headers */
	size_t header_count;                 /* number of them */
	Elf64_Dyn dynamic[ELF_DYNAMIC_MAX];  /* without DT_NULL */
	size_t dynamic_count;                /* number of them */
	uint64_t strings;                    /* offset of the string table */
	uint64_t strings_size;               /* its size */
};

static bool image_is_ours(const struct elf_source *source, Elf64_Ehdr *header)
{
	return source_get(source, 0, header, sizeof(*header)) && memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 &&
	       header->e_ident[EI_CLASS] == ELFCLASS64 && header->e_ident[EI_DATA] == ELF_ORDER &&
	       header->e_machine == ELF_MACHINE && (header->e_type == ET_EXEC || header->e_type == ET_DYN);
}

static bool image_headers(const struct elf_source *source, struct image *image)
{
	Elf64_Ehdr header;

	if (!image_is_ours(source, &header) || header.e_phentsize != sizeof(Elf64_Phdr) ||
	    header.e_phnum > ELF_HEADERS_MAX)
		return false;
	image->header_count = header.e_phnum;
	return source_get(source, header.e_phoff, image->headers, header.e_phnum * sizeof(Elf64_Phdr));
}

static const Elf64_Phdr *image_header(const struct image *image, uint32_t type)
{
	for (size_t i = 0; i < image->header_count; i++)
		if (image->headers[i].p_type == type)
			return &image->headers[i];
	return NULL;
}

/* Converts an address of the program to an offset in the file, and the number of bytes from there on. */
static bool image_offset(const struct image *image, uint64_t address, uint64_t *at, uint64_t *room)
{
	for (size_t i = 0; i < image->header_count; i++) {
		const Elf64_Phdr *header = &image->headers[i];

		if (header->p_type != PT_LOAD || address < header->p_vaddr ||
		    address - header->p_vaddr >= header->p_filesz ||
		    header->p_offset > UINT64_MAX - (address - header->p_vaddr))
			continue;
		*at = header->p_offset + (address - header->p_vaddr);
		*room = header->p_filesz - (address - header->p_vaddr);
		return true;
	}
	return false;
}

static bool image_dynamic(const struct elf_source *source, struct image *image)
{
	const Elf64_Phdr *header = image_header(image, PT_DYNAMIC);
	uint64_t count, address = 0, size = 0, room;
	bool has_strings = false;

	if (!header)
		return true;
	count = header->p_filesz / sizeof(Elf64_Dyn);
	if (count > ELF_DYNAMIC_MAX || !source_get(source, header->p_offset, image->dynamic, count * sizeof(Elf64_Dyn)))
		return false;
	while (image->dynamic_count < count && image->dynamic[image->dynamic_count].d_tag != DT_NULL) {
		const Elf64_Dyn *entry = &image->dynamic[image->dynamic_count++];

		if (entry->d_tag == DT_STRTAB) {
			address = entry->d_un.d_ptr;
			has_strings = true;
		} else if (entry->d_tag == DT_STRSZ) {
			size = entry->d_un.d_val;
		}
	}
	if (!has_strings)
		return true;
	if (!image_offset(image, address, &image->strings, &room))
		return false;
	image->strings_size = size < room ? size : room;
	return true;
}

/* Calls `each` with every string of this kind in the dynamic section. */
static bool image_texts(const struct elf_source *source, const struct image *image, int64_t tag,
			void (*each)(const char *text, void *userdata), void *userdata)
{
	char text[PATH_MAX];

	for (size_t i = 0; i < image->dynamic_count; i++) {
		uint64_t at = image->dynamic[i].d_un.d_val;

		if (image->dynamic[i].d_tag != tag)
			continue;
		if (at >= image->strings_size ||
		    !source_text(source, image->strings + at, image->strings_size - at, text))
			return false;
		/* A library with an empty name would be the directory itself. */
		if (tag == DT_NEEDED && text[0] == '\0')
			return false;
		each(text, userdata);
	}
	return true;
}

static bool image_loader(const struct elf_source *source, const struct image *image, char loader[PATH_MAX])
{
	const Elf64_Phdr *header = image_header(image, PT_INTERP);

	loader[0] = '\0';
	/* The kernel would also accept a path relative to the working directory; real programs have none. */
	return !header || (source_text(source, header->p_offset, header->p_filesz, loader) && loader[0] == '/');
}

static bool image_read(const struct elf_source *source, struct image *image, char loader[PATH_MAX])
{
	image->header_count = image->dynamic_count = 0;
	image->strings = image->strings_size = 0;
	return image_headers(source, image) && image_loader(source, image, loader) && image_dynamic(source, image);
}

int elf_read(const void *data, size_t size, char *loader, size_t loader_size,
	     void (*each)(const char *name, void *userdata), void *userdata)
{
	const struct elf_source source = { .data = data, .size = size, .fd = -1 };
	char path[PATH_MAX];
	struct image image;

	if (loader_size > 0)
		loader[0] = '\0';
	if (size == 0 || !image_read(&source, &image, path) || strlen(path) >= loader_size)
		return -1;
	strcpy(loader, path);
	return image_texts(&source, &image, DT_NEEDED, each, userdata) ? 0 : -1;
}

/* A program or library whose needs are searched. */
struct object {
	const char *name;            /* the name by which it was requested */
	const char *path;            /* its path */
	const char *rpath, *runpath; /* DT_RPATH and DT_RUNPATH, or NULL */
	const struct object *by;     /* the object that needs it; NULL: the program */
};

struct elf_walk {
	struct arena *arena;
	struct elf_files *files;
	struct error *err;
	struct object *objects[ELF_FILES_MAX]; /* in the loader's order; [0] is the program */
	size_t count;                          /* number of them */
	const char *loader;                    /* the program's loader; NULL: none */
	bool failed;                           /* err is set */
};

static bool files_have(const struct elf_files *files, const char *path)
{
	for (size_t i = 0; i < files->count; i++)
		if (strcmp(files->paths[i], path) == 0)
			return true;
	return false;
}

static int files_add(struct elf_walk *walk, const char *path)
{
	struct elf_files *files = walk->files;

	if (files_have(files, path))
		return 0;
	if (files->count == ELF_FILES_MAX)
		return error_set(walk->err, ERROR_FAILED, 0, "more than %d libraries are needed", ELF_FILES_MAX);
	files->paths[files->count++] = path;
	return 0;
}

/* Resolves links in the directory, but not in the name: the loader opens names that are links. */
static bool path_canonical(const char *dir, const char *name, char out[PATH_MAX])
{
	char real[PATH_MAX];
	int n;

	if (dir[0] != '/' || !realpath(dir, real))
		return false;
	n = snprintf(out, PATH_MAX, "%s/%s", strcmp(real, "/") == 0 ? "" : real, name);
	return n > 0 && n < PATH_MAX;
}

/* path_canonical() for a path with a name. */
static bool path_canonical_file(const char *path, char out[PATH_MAX])
{
	const char *slash = strrchr(path, '/');
	char dir[PATH_MAX];

	if (!slash || slash[1] == '\0' || (size_t)(slash - path) + 2 > sizeof(dir))
		return false;
	memcpy(dir, path, (size_t)(slash - path));
	strcpy(dir + (slash - path), slash == path ? "/" : "");
	return path_canonical(dir, slash + 1, out);
}

static const char *path_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static int source_open(const char *path, struct elf_source *source)
{
	struct stat st;

	*source = (struct elf_source){ .fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK) };
	if (source->fd < 0)
		return -1;
	if (fstat(source->fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		close_fd(&source->fd);
		errno = EACCES;
		return -1;
	}
	source->size = (uint64_t)st.st_size;
	return 0;
}

static void source_close(struct elf_source *source)
{
	close_fd(&source->fd);
}
#define _cleanup_source_ _cleanup_(source_close)

/* The search for one library, directory by directory. */
struct search {
	const char *name;     /* name of the library */
	char found[PATH_MAX]; /* path of the library */
	bool known;           /* an earlier program needed it, so its own needs are listed */
};

/* As the loader does, skips a file for another machine. */
static bool search_in(struct search *search, const char *dir)
{
	_cleanup_source_ struct elf_source source = { .fd = -1 };
	Elf64_Ehdr header;

	return path_canonical(dir, search->name, search->found) && source_open(search->found, &source) == 0 &&
	       image_is_ours(&source, &header);
}

/* Searches one directory of a DT_RUNPATH, with $ORIGIN or ${ORIGIN} replaced. Others ($LIB, $PLATFORM) are not
 * supported. */
static bool search_in_expanded(struct search *search, const char *dir, size_t size, const char *origin)
{
	char path[PATH_MAX];
	size_t used = 0;

	while (size > 0) {
		size_t skip = 1, length = 1;
		const char *piece = dir;

		if (dir[0] == '$') {
			if (size >= 7 && memcmp(dir, "$ORIGIN", 7) == 0)
				skip = 7;
			else if (size >= 9 && memcmp(dir, "${ORIGIN}", 9) == 0)
				skip = 9;
			else
				return false;
			piece = origin;
			length = strlen(origin);
		}
		if (length >= sizeof(path) - used)
			return false;
		memcpy(path + used, piece, length);
		used += length;
		dir += skip;
		size -= skip;
	}
	path[used] = '\0';
	/* An empty or relative path depends on the working directory. */
	return path[0] == '/' && search_in(search, path);
}

static bool search_in_list(struct search *search, const char *list, const char *path)
{
	char origin[PATH_MAX];

	if (!list || snprintf(origin, sizeof(origin), "%s", path) >= (int)sizeof(origin))
		return false;
	*strrchr(origin, '/') = '\0';
	for (;;) {
		size_t size = strcspn(list, ":");

		if (search_in_expanded(search, list, size, origin))
			return true;
		if (list[size] == '\0')
			return false;
		list += size + 1;
	}
}

static bool search_in_conf(struct search *search, const char *conf, int depth);

/* Only the name is a pattern: ".conf" files of ld.so.conf.d. glob() would need the user database. */
static bool search_in_included(struct search *search, const char *pattern, int depth)
{
	char dir[PATH_MAX], path[PATH_MAX], *name;
	struct dirent **entries;
	bool found = false;
	int count;

	if (snprintf(dir, sizeof(dir), "%s%s", pattern[0] == '/' ? "" : "/etc/", pattern) >= (int)sizeof(dir))
		return false;
	name = strrchr(dir, '/');
	*name++ = '\0';
	count = scandir(dir, &entries, NULL, alphasort);
	for (int i = 0; i < count; i++) {
		if (!found && fnmatch(name, entries[i]->d_name, FNM_PERIOD) == 0 &&
		    snprintf(path, sizeof(path), "%s/%s", dir, entries[i]->d_name) < (int)sizeof(path))
			found = search_in_conf(search, path, depth + 1);
		free(entries[i]);
	}
	if (count >= 0)
		free(entries);
	return found;
}

/* Reads /etc/ld.so.conf: directories, comments, "include PATTERN". The loader has this from its cache. */
static bool search_in_conf(struct search *search, const char *conf, int depth)
{
	char text[16384], *rest = text, *line;

	if (depth > ELF_CONF_DEPTH || fd_slurp(AT_FDCWD, conf, text, sizeof(text)) < 0)
		return false;
	while ((line = strsep(&rest, "\n"))) {
		char *word;
		bool include = false;

		line[strcspn(line, "#")] = '\0';
		while ((word = strsep(&line, " \t\r,:"))) {
			if (word[0] == '\0')
				continue;
			if (include ? search_in_included(search, word, depth) : search_in(search, word))
				return true;
			include = include || strcmp(word, "include") == 0;
		}
	}
	return false;
}

/* A library that an earlier program got from the default directories is also right for this one. */
static bool search_in_files(struct search *search, const struct elf_files *files)
{
	static const char usual[] = "/usr/lib/" ELF_TRIPLET "/";

	for (size_t i = 0; i < files->count; i++)
		if (strncmp(files->paths[i], usual, sizeof(usual) - 1) == 0 &&
		    strcmp(files->paths[i] + sizeof(usual) - 1, search->name) == 0) {
			strcpy(search->found, files->paths[i]);
			search->known = true;
			return true;
		}
	return false;
}

static bool search_for(struct search *search, const struct elf_walk *walk, const struct object *by)
{
	static const char *const usual[] = {
		"/lib/" ELF_TRIPLET, "/usr/lib/" ELF_TRIPLET, "/lib64", "/usr/lib64", "/lib", "/usr/lib", NULL
	};
	char dir[PATH_MAX] = "";

	/* DT_RPATH also applies to the needs of the libraries below, unless there is a DT_RUNPATH, which applies only
	 * to its own object. */
	if (!by->runpath)
		for (const struct object *at = by; at; at = at->by)
			if (!at->runpath && search_in_list(search, at->rpath, at->path))
				return true;
	if (search_in_list(search, by->runpath, by->path) || search_in_files(search, walk->files) ||
	    search_in_conf(search, "/etc/ld.so.conf", 0))
		return true;
	if (walk->loader && snprintf(dir, sizeof(dir), "%s", walk->loader) < (int)sizeof(dir)) {
		*strrchr(dir, '/') = '\0';
		if (search_in(search, dir))
			return true;
	}
	for (const char *const *at = usual; *at; at++)
		if (search_in(search, *at))
			return true;
	return false;
}

/* NULL: err is set. */
static struct object *walk_add(struct elf_walk *walk, const char *name, const char *path, const struct object *by)
{
	struct object *object = arena_alloc(walk->arena, sizeof(*object));
	char *own_name = arena_string(walk->arena, name), *own_path = arena_string(walk->arena, path);

	if (!object || !own_name || !own_path) {
		error_set(walk->err, ERROR_FAILED, ENOMEM, "cannot list libraries");
		return NULL;
	}
	if (walk->count == ELF_FILES_MAX) {
		error_set(walk->err, ERROR_FAILED, 0, "more than %d libraries are needed", ELF_FILES_MAX);
		return NULL;
	}
	*object = (struct object){ .name = own_name, .path = own_path, .by = by };
	walk->objects[walk->count++] = object;
	return object;
}

/* Whether a search path of the program applies to the needs of its libraries. */
static bool object_inherits(const struct object *object)
{
	for (; object; object = object->by)
		if (object->rpath)
			return true;
	return false;
}

struct need {
	struct elf_walk *walk;
	struct object *by; /* the object with the dynamic section */
};

static int need_find(struct elf_walk *walk, const struct object *by, const char *name)
{
	struct search search = { .name = name };
	const struct object *object;

	/* As in the loader, the first library of a name is used for all, wherever it was found. The loader counts as
	 * one. */
	for (size_t i = 1; i < walk->count; i++)
		if (strcmp(walk->objects[i]->name, name) == 0)
			return 0;
	if (walk->loader && strcmp(path_name(walk->loader), name) == 0)
		return 0;
	if (name[0] == '/') {
		if (!path_canonical_file(name, search.found))
			return error_set(walk->err, ERROR_FAILED, ENOENT, "%s needs %s", by->path, name);
	} else if (strchr(name, '/') || !search_for(&search, walk, by)) {
		return error_set(walk->err, ERROR_FAILED, 0, "%s needs %s, which is not installed", by->path, name);
	}
	if (search.known && !object_inherits(by))
		return 0;
	object = walk_add(walk, name, search.found, by);
	return object ? files_add(walk, object->path) : -1;
}

static void need_each(const char *name, void *userdata)
{
	struct need *need = userdata;

	if (!need->walk->failed && need_find(need->walk, need->by, name) < 0)
		need->walk->failed = true;
}

struct text_copy {
	struct arena *arena;
	const char **out; /* its end */
	bool failed;      /* memory ran out */
};

static void text_copy_each(const char *text, void *userdata)
{
	struct text_copy *copy = userdata;

	*copy->out = arena_string(copy->arena, text);
	copy->failed = copy->failed || !*copy->out;
}

static int walk_loader(struct elf_walk *walk, const char *path)
{
	_cleanup_source_ struct elf_source source = { .fd = -1 };
	char canonical[PATH_MAX];

	if (!path_canonical_file(path, canonical) ||
	    (!files_have(walk->files, canonical) && source_open(canonical, &source) < 0))
		return error_set(walk->err, ERROR_FAILED, 0, "%s needs the loader %s, which is not installed",
				 walk->objects[0]->path, path);
	walk->loader = arena_string(walk->arena, canonical);
	if (!walk->loader)
		return error_set(walk->err, ERROR_FAILED, ENOMEM, "cannot list libraries");
	return files_add(walk, walk->loader);
}

static int walk_object(struct elf_walk *walk, struct object *object, const struct elf_source *source)
{
	struct text_copy rpath = { walk->arena, &object->rpath, false };
	struct text_copy runpath = { walk->arena, &object->runpath, false };
	struct need need = { walk, object };
	char loader[PATH_MAX];
	struct image image;

	if (!image_read(source, &image, loader))
		return error_set(walk->err, ERROR_FAILED, 0, "%s is damaged or is a program for another machine",
				 object->path);
	/* A library can have a loader too (libc.so.6 has one); only the program's is used. */
	if (!object->by && loader[0] && walk_loader(walk, loader) < 0)
		return -1;
	if (!image_texts(source, &image, DT_RPATH, text_copy_each, &rpath) ||
	    !image_texts(source, &image, DT_RUNPATH, text_copy_each, &runpath))
		return error_set(walk->err, ERROR_FAILED, 0, "%s is damaged", object->path);
	if (rpath.failed || runpath.failed)
		return error_set(walk->err, ERROR_FAILED, ENOMEM, "cannot list libraries");
	if (!image_texts(source, &image, DT_NEEDED, need_each, &need) && !walk->failed)
		return error_set(walk->err, ERROR_FAILED, 0, "%s is damaged", object->path);
	return walk->failed ? -1 : 0;
}

/* The program is open already; its libraries are opened one at a time. */
static int walk_all(struct elf_walk *walk, const char *path, const struct elf_source *program)
{
	struct object *first = walk_add(walk, "", path, NULL);

	if (!first || walk_object(walk, first, program) < 0)
		return -1;
	for (size_t i = 1; i < walk->count; i++) {
		_cleanup_source_ struct elf_source source = { .fd = -1 };

		if (source_open(walk->objects[i]->path, &source) < 0)
			return error_errno(walk->err, "cannot read %s", walk->objects[i]->path);
		if (walk_object(walk, walk->objects[i], &source) < 0)
			return -1;
	}
	return 0;
}

/* The word after "#!". False if the file is no script. */
static bool script_interpreter(const struct elf_source *source, char out[PATH_MAX])
{
	char head[256] = "";
	size_t size = source->size < sizeof(head) - 1 ? (size_t)source->size : sizeof(head) - 1, skip;

	if (!source_get(source, 0, head, size) || strncmp(head, "#!", 2) != 0)
		return false;
	skip = 2 + strspn(head + 2, " \t");
	head[skip + strcspn(head + skip, " \t\r\n")] = '\0';
	strcpy(out, head + skip);
	return true;
}

static int needs_of(const char *program, int depth, struct arena *arena, struct elf_files *files, struct error *err)
{
	struct elf_walk walk = { .arena = arena, .files = files, .err = err };
	char interpreter[PATH_MAX], canonical[PATH_MAX], real[PATH_MAX];
	_cleanup_source_ struct elf_source source = { .fd = -1 };
	const char *path;

	/* $ORIGIN is the directory of the program itself, not of a link to it. */
	if (source_open(program, &source) < 0 || !realpath(program, real))
		return error_errno(err, "cannot read %s", program);
	if (!script_interpreter(&source, interpreter))
		return walk_all(&walk, real, &source);
	if (depth == ELF_SCRIPTS_MAX)
		return error_set(err, ERROR_FAILED, 0, "%s is a script of a script of a script", program);
	if (interpreter[0] != '/' || !path_canonical_file(interpreter, canonical))
		return error_set(err, ERROR_FAILED, 0, "%s is a script for %s, which is not installed", program,
				 interpreter[0] ? interpreter : "nothing");
	path = arena_string(arena, canonical);
	if (!path)
		return error_set(err, ERROR_FAILED, ENOMEM, "cannot list libraries");
	return files_add(&walk, path) < 0 ? -1 : needs_of(path, depth + 1, arena, files, err);
}

int elf_needs(const char *program, struct arena *arena, struct elf_files *files, struct error *err)
{
	return needs_of(program, 0, arena, files, err);
}
