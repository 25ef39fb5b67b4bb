#include "engine/ember/python_begin.h"

#include "base/own.h"
#include "engine/ember/notice_page.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	NAMES_MAX = 64, /* in a program's directory; more are for the driver to look at */
};

/* What the driver has for us: its names, and where they go. */
static struct {
	object *environ;      /* posix.environ, which os.environ looks into */
	object *main;         /* the dictionary of __main__ */
	object *entry;        /* the program's path in the zygote's command line */
	object *command;      /* the words before it */
	object *loaded;       /* names of modules that are loaded ahead */
	object *loader;       /* SourceFileLoader */
	object *thread;       /* the main thread as `threading` has it, or None */
	object *forkers;      /* what modules want to be done after a fork, as keywords of register_at_fork() */
	object *at_fork;      /* posix.register_at_fork */
	object *seed;         /* _random.Random.seed, and the generator of `random`; or None */
	object *generator;    /* … */
	object *restream;     /* functions of the driver: new streams for these descriptors… */
	object *rezone;       /* … another time zone… */
	object *shadows;      /* … and whether the directory has files in the place of modules */
	object *nothing;      /* an empty tuple */
	object *make_at_once; /* a function of the driver: streams whose output does not wait… */
	object *at_once;      /* …and those; or NULL */
	bool told;            /* the supervisor finds what standard output holds back */
	char *zone;           /* TZ of the zygote, or NULL */
	struct stat stdio[3]; /* what the standard streams were made for */
} self;

extern char **environ;

static const char *zone_in(char **list)
{
	for (; *list; list++)
		if (strncmp(*list, "TZ=", 3) == 0)
			return *list + 3;
	return NULL;
}

static int stdio_keep(void)
{
	for (int fd = 0; fd < 3; fd++)
		if (fstat(fd, &self.stdio[fd]) < 0)
			return -1;
	return 0;
}

/* Descriptors that are of another kind than those the streams were made for, as text; false: one is not even open. */
static bool streams_changed(char found[4])
{
	size_t count = 0;

	for (int fd = 0; fd < 3; fd++) {
		struct stat st, *was = &self.stdio[fd];

		if (fstat(fd, &st) < 0)
			return false;
		if ((st.st_mode & S_IFMT) != (was->st_mode & S_IFMT) ||
		    (S_ISCHR(st.st_mode) && st.st_rdev != was->st_rdev))
			found[count++] = (char)('0' + fd);
	}
	found[count] = '\0';
	return true;
}

static int streams_set(void)
{
	char changed[4];

	if (!streams_changed(changed))
		return -1;
	return *changed ? dropped(py.PyObject_CallFunction(self.restream, "si", changed, 0)) : 0;
}

void python_begin_tell(void)
{
	self.told = notice_put_python() == 0;
}

/* Made for a run whose output may wait. In any other it goes out as it is printed, and so it does in one whose streams
 * are new, or where the supervisor would not find what waits. */
static int streams_choose(void)
{
	char changed[4];

	if (!streams_changed(changed))
		return -1;
	if (!*changed && self.told && notice_is_plain())
		return 0;
	notice_withdraw();
	if (*changed || !self.at_once)
		return dropped(py.PyObject_CallFunction(self.restream, "si", strchr(changed, '0') ? "012" : "12", 1));
	for (ssize_t i = 0; i < 2; i++) {
		static const char *const names[][2] = { { "stdout", "__stdout__" }, { "stderr", "__stderr__" } };
		object *stream = py.PyList_GetItem(self.at_once, i);

		if (!stream || py.PySys_SetObject(names[i][0], stream) < 0 ||
		    py.PySys_SetObject(names[i][1], stream) < 0)
			return -1;
	}
	return 0;
}

static object *list_of(object *command, object *entry, char **args)
{
	object *out = py.PyList_New(0);
	ssize_t words = command ? py.PyList_Size(command) : 0;

	for (ssize_t i = 0; out && i < words; i++)
		if (py.PyList_Append(out, py.PyList_GetItem(command, i)) < 0)
			return NULL;
	if (!out || py.PyList_Append(out, entry) < 0)
		return NULL;
	for (; *args; args++) {
		object *text = py.PyUnicode_DecodeFSDefault(*args);

		if (!text || py.PyList_Append(out, text) < 0)
			return NULL;
		py.Py_DecRef(text);
	}
	return out;
}

/* posix.environ as CPython fills it: the first of two counts. */
static int environment_set(char **envp)
{
	py.PyDict_Clear(self.environ);
	for (; *envp; envp++) {
		const char *value = strchr(*envp, '=');
		object *key, *bytes;

		if (!value)
			continue;
		key = py.PyBytes_FromStringAndSize(*envp, value - *envp);
		bytes = py.PyBytes_FromString(value + 1);
		if (!key || !bytes || !py.PyDict_SetDefault(self.environ, key, bytes))
			return -1;
		py.Py_DecRef(key);
		py.Py_DecRef(bytes);
	}
	return 0;
}

/* sys.argv, sys.orig_argv, sys.path[0], and what importing has noted of the program. */
static int words_set(object *entry, char **args, const char *place)
{
	object *argv = list_of(NULL, entry, args), *all = argv ? list_of(self.command, entry, args) : NULL;
	object *path = py.PySys_GetObject("path"), *cache = py.PySys_GetObject("path_importer_cache");
	object *first = all ? py.PyUnicode_DecodeFSDefault(place) : NULL;

	/* The list takes over what it is given. */
	if (!first || !path || !cache || py.PySys_SetObject("argv", argv) < 0 ||
	    py.PySys_SetObject("orig_argv", all) < 0 || py.PyList_SetItem(path, 0, first) < 0 ||
	    py.PyDict_DelItem(cache, self.entry) < 0 || py.PyDict_SetItem(cache, entry, py._Py_NoneStruct) < 0)
		return -1;
	py.Py_DecRef(argv);
	py.Py_DecRef(all);
	return 0;
}

static int main_set(object *entry)
{
	object *loader = py.PyObject_CallFunction(self.loader, "sO", "__main__", entry);

	if (!loader || py.PyDict_SetItemString(self.main, "__file__", entry) < 0 ||
	    py.PyDict_SetItemString(self.main, "__cached__", py._Py_NoneStruct) < 0 ||
	    py.PyDict_SetItemString(self.main, "__loader__", loader) < 0)
		return -1;
	py.Py_DecRef(loader);
	return self.thread == py._Py_NoneStruct ? 0
						: dropped(py.PyObject_CallMethod(self.thread, "_set_native_id", NULL));
}

/* Whether a file may be meant by the import of a module that is loaded: 1; 0: none is; -1: the driver has to look. */
static int names_shadow(const char *place)
{
	_cleanup_close_ int dir = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char entries[2048] __attribute__((aligned(8)));
	int names = 0;
	long n = -1;

	while (dir >= 0 && (n = syscall(SYS_getdents64, dir, entries, sizeof(entries))) > 0) {
		for (long at = 0; at < n;) {
			const struct dirent64 *entry = (const struct dirent64 *)(entries + at);
			object *name;
			int found;

			at += entry->d_reclen;
			if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
				continue;
			if (entry->d_type != DT_REG || ++names > NAMES_MAX)
				return -1;
			name = py.PyUnicode_DecodeFSDefaultAndSize(entry->d_name, (ssize_t)strcspn(entry->d_name, "."));
			found = name ? py.PySet_Contains(self.loaded, name) : -1;
			if (found != 0 || dropped(name) < 0)
				return found;
		}
	}
	return n < 0 ? -1 : 0;
}

static bool is_shadowed(const char *place)
{
	int found = names_shadow(place);

	if (found < 0) {
		object *left = py.PyObject_CallFunction(self.shadows, "s", place);

		found = !left || py.PyLong_AsLong(left) < 0;
		dropped(left);
	}
	return found != 0;
}

bool python_begin(const struct ember_claim *claim)
{
	const char *zone = zone_in(claim->envp);
	bool moved = zone ? !self.zone || strcmp(zone, self.zone) != 0 : self.zone != NULL;
	object *entry = py.PyUnicode_DecodeFSDefault(claim->entry);
	char place[PATH_MAX];
	bool ready = false;

	if (entry && realpath(claim->entry, place)) {
		char *slash = strrchr(place, '/');

		slash[slash == place] = '\0';
		ready = environment_set(claim->envp) == 0 && words_set(entry, claim->args, place) == 0 &&
			(!moved || dropped(py.PyObject_CallFunction(self.rezone, NULL)) == 0) &&
			streams_choose() == 0 && main_set(entry) == 0 && !is_shadowed(place);
	}
	dropped(entry);
	py.PyErr_Clear();
	return ready;
}

void python_begin_rehearse(void)
{
	static char *nobody[] = { NULL };
	object *first = py.PyList_GetItem(py.PySys_GetObject("path"), 0);
	const char *place = first ? py.PyUnicode_AsUTF8(first) : NULL;
	_cleanup_free_ char *copy = place ? strdup(place) : NULL;

	/* There may be no such directory yet. */
	if (copy) {
		words_set(self.entry, nobody, copy);
		streams_set();
		main_set(self.entry);
		names_shadow(copy);
	}
	environment_set(environ);
	stdio_keep();
	py.PyErr_Clear();
}

int python_begin_fork(void)
{
	ssize_t count = py.PyList_Size(self.forkers);

	for (ssize_t i = 0; i < count; i++)
		if (dropped(py.PyObject_Call(self.at_fork, self.nothing, py.PyList_GetItem(self.forkers, i))) < 0)
			return -1;
	if (self.seed == py._Py_NoneStruct)
		return 0;
	return dropped(py.PyObject_CallFunction(self.seed, "O", self.generator));
}

int python_begin_streams(void)
{
	int ends[2], own[3], done = 0;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -1;
	for (int fd = 0; fd < 3; fd++)
		if ((own[fd] = fcntl(fd, F_DUPFD_CLOEXEC, 3)) < 0 || dup2(ends[fd != 0], fd) < 0)
			done = -1;
	if (done == 0 && (streams_set() < 0 || stdio_keep() < 0))
		done = -1;
	if (done == 0)
		self.at_once = py.PyObject_CallFunction(self.make_at_once, NULL);
	for (int fd = 0; fd < 3; fd++) {
		if (own[fd] < 0 || dup2(own[fd], fd) < 0)
			done = -1;
		close_fd(&own[fd]);
	}
	close(ends[0]);
	close(ends[1]);
	return done;
}

int python_begin_prepare(object *driver, object *main)
{
	static const struct {
		const char *name; /* in the driver */
		object **at;      /* here */
	} parts[] = {
		{ "ENTRY", &self.entry },   { "COMMAND", &self.command },     { "LOADED", &self.loaded },
		{ "LOADER", &self.loader }, { "MAIN_THREAD", &self.thread },  { "FORKERS", &self.forkers },
		{ "SEED", &self.seed },     { "GENERATOR", &self.generator }, { "restream", &self.restream },
		{ "rezone", &self.rezone }, { "shadows", &self.shadows },     { "streams_at_once", &self.make_at_once },
	};

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		*parts[i].at = py.PyDict_GetItemString(driver, parts[i].name);
		if (!*parts[i].at)
			return -1;
		py.Py_IncRef(*parts[i].at); /* the dictionary is cleared before a program's end */
	}
	self.main = main;
	self.environ = attribute_of("posix", "environ");
	self.at_fork = attribute_of("posix", "register_at_fork");
	self.nothing = py.PyTuple_New(0);
	if (!self.environ || !self.at_fork || !self.nothing)
		return -1;
	if (zone_in(environ)) {
		self.zone = strdup(zone_in(environ));
		if (!self.zone)
			return -1;
	}
	return stdio_keep();
}
