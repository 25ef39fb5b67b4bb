/*
 * CPython's part of a zygote.
 *
 * The zygote has the command line of a cold run, so that it is configured as one, and stops where CPython opens the
 * program. There no Python code runs and none has been read. The fork goes on from there and does what
 * pymain_run_file() and Py_RunMain() would have done; what they do rarely is left to them: whenever a program, its
 * environment or its directory is out of the ordinary, the fork executes the cold command line, in the box it is in
 * already. How it ends is in python_end.h.
 */
#include "engine/ember/python.h"

#include "base/own.h"
#include "engine/ember/ember.h"
#include "engine/ember/library.h"
#include "engine/ember/notice_page.h"
#include "engine/ember/python_begin.h"
#include "engine/ember/python_end.h"
#include "engine/ember/room.h"
#include "engine/ember/ember_wire.h"
#include "language/expand.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

enum {
	FILE_INPUT = 257,          /* Py_file_input */
	ARCHIVE_TAIL = 22 + 65536, /* where a zip archive's directory can end, from the file's end */
	WRITE_RAW = 1,             /* Py_PRINT_RAW */
	VERSION_MIN = 0x030a0000,  /* PyType_GetSlot() tells of all types */
	REHEARSALS = 10,           /* in the zygote: CPython from 3.11 on changes code that has run some times */
};

static struct {
	object *main;   /* the dictionary of __main__ */
	object *driver; /* that of the driver */
	object *scene;  /* for a rehearsal to run in */
	object *codes;  /* of a session's driver: code by path, compiled ahead */
	object *hook;   /* sys.excepthook as it was */
	char **command; /* the cold command line, NULL in place of the program */
	size_t words;   /* of it */
	char **startup; /* variables of the zygote that CPython read when it started, NULL at the end */
} self;

extern char **environ;

/* Before the fork: the command line and the environment */

/* What is read when CPython, the C library or the loader starts; a program that has another value of one is run cold.
 */
static bool is_startup(const char *variable)
{
	static const char *const names[] = { "PYTHON*", "LC_*",     "LANG=",           "LANGUAGE=",
					     "HOME=",   "MALLOC_*", "GLIBC_TUNABLES=", "LOCPATH=" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		size_t length = strlen(names[i]);

		length -= names[i][length - 1] == '*';
		if (strncmp(variable, names[i], length) == 0)
			return true;
	}
	return false;
}

static int startup_keep(void)
{
	size_t count = 0, kept = 0;

	while (environ[count])
		count++;
	self.startup = calloc(count + 1, sizeof(*self.startup));
	if (!self.startup)
		return -1;
	for (size_t i = 0; i < count; i++) {
		if (!is_startup(environ[i]))
			continue;
		self.startup[kept] = strdup(environ[i]);
		if (!self.startup[kept++])
			return -1;
	}
	return 0;
}

static bool startup_same(char **envp)
{
	size_t same = 0, kept = 0;

	while (self.startup[kept])
		kept++;
	for (; *envp; envp++) {
		bool found = false;

		if (strncmp(*envp, "LD_", 3) == 0)
			return false;
		if (!is_startup(*envp))
			continue;
		for (size_t i = 0; i < kept && !found; i++)
			found = strcmp(self.startup[i], *envp) == 0;
		if (!found)
			return false;
		same++;
	}
	return same == kept;
}

static int command_keep(const char *path)
{
	object *list = py.PySys_GetObject("orig_argv");
	ssize_t count = list ? py.PyList_Size(list) : 0;

	if (count < 2)
		return -1;
	self.command = calloc((size_t)count + 1, sizeof(*self.command));
	if (!self.command)
		return -1;
	for (ssize_t i = 0; i < count; i++) {
		const char *word = py.PyUnicode_AsUTF8(py.PyList_GetItem(list, i));

		if (!word)
			return -1;
		if (i == count - 1)
			return strcmp(word, path) == 0 ? 0 : -1;
		self.command[self.words] = strdup(word);
		if (!self.command[self.words++])
			return -1;
	}
	return -1;
}

/* In the fork, for a program out of the ordinary */

_Noreturn static void run_cold(const struct ember_claim *claim)
{
	const bool plain = notice_is_plain();
	char **argv, **envp = plain ? notice_environment(claim->envp, claim->entry) : claim->envp;
	size_t count = 0, words = 0;

	if (!envp)
		_exit(126);
	while (claim->args[count])
		count++;
	argv = calloc(self.words + count + 3, sizeof(*argv));
	if (argv) {
		argv[words++] = self.command[0];
		if (!plain)
			argv[words++] = (char *)"-u";
		memcpy(argv + words, self.command + 1, (self.words - 1) * sizeof(*argv));
		words += self.words - 1;
		argv[words++] = (char *)claim->entry;
		memcpy(argv + words, claim->args, count * sizeof(*argv));
		/* CPython ignores them, and what is ignored stays so in the next program. */
		signal(SIGPIPE, SIG_DFL);
		signal(SIGXFSZ, SIG_DFL);
		execve(argv[0], argv, envp);
	}
	_exit(errno == ENOENT ? 127 : 126);
}

/* The run */

static void flush_io(void)
{
	static const char *const names[] = { "stderr", "stdout" };
	object *type, *value, *trace;

	py.PyErr_Fetch(&type, &value, &trace);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		object *stream = py.PySys_GetObject(names[i]);

		if (stream)
			dropped(py.PyObject_CallMethod(stream, "flush", NULL));
	}
	py.PyErr_Restore(type, value, trace);
}

/* The exit status that a value of sys.exit() means, if it is of a plain type; -1 otherwise. */
static int exit_status(object *code)
{
	object *kind = py.PyObject_Type(code), *stderr_stream = py.PySys_GetObject("stderr");
	int status = -1;

	if (code == py._Py_NoneStruct) {
		status = 0;
	} else if (kind == py.PyLong_Type || kind == py.PyBool_Type) {
		long number = py.PyLong_AsLong(code);

		/* What CPython says to a number that is too large differs between versions. */
		if (number != -1 || !py.PyErr_Occurred())
			status = (int)number & 0xff;
	} else if (kind == py.PyUnicode_Type && stderr_stream && stderr_stream != py._Py_NoneStruct) {
		py.PyFile_WriteObject(code, stderr_stream, WRITE_RAW);
		py.PySys_WriteStderr("\n");
		status = 1;
	}
	py.PyErr_Clear();
	py.Py_DecRef(kind);
	return status;
}

/* Leaves for sys.exit() with a number, a text or nothing; other exceptions stay. */
static void leave_by_exit(void)
{
	object *exception[3], *code, *kind;
	int status = -1;

	/* As CPython does it, without making an exception of what sys.exit() was given. */
	py.PyErr_Fetch(&exception[0], &exception[1], &exception[2]);
	code = exception[1] ? exception[1] : py._Py_NoneStruct;
	py.Py_IncRef(code);
	kind = py.PyObject_Type(code);
	if (kind == *py.PyExc_SystemExit) {
		py.Py_DecRef(code);
		code = py.PyObject_GetAttrString(exception[1], "code");
	}
	if (exception[0] == *py.PyExc_SystemExit && code)
		status = exit_status(code);
	dropped(kind);
	dropped(code);
	if (status < 0) {
		py.PyErr_Restore(exception[0], exception[1], exception[2]);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(exception); i++)
		if (exception[i])
			py.Py_DecRef(exception[i]);
	python_end(status, false);
}

_Noreturn static void run(FILE *file, const char *entry)
{
	struct flags flags = { 0 };
	object *code = py.PyDict_GetItemString(self.codes, entry);
	object *result = code && py.PySys_SetObject("_session_codes", self.codes) == 0
				 ? py.PyEval_EvalCode(code, self.main, self.main)
				 : py.PyRun_FileExFlags(file, entry, FILE_INPUT, self.main, self.main, 1, &flags);
	bool interrupted = false;

	flush_io();
	if (!result) {
		interrupted = py.PyErr_Occurred() == *py.PyExc_KeyboardInterrupt;
		if (py.PyErr_ExceptionMatches(*py.PyExc_SystemExit))
			leave_by_exit();
		/* From here CPython itself may end the process: the hook is the program's, or sys.exit() had a text. */
		if (py.PyErr_ExceptionMatches(*py.PyExc_SystemExit) || py.PySys_GetObject("excepthook") != self.hook)
			python_end_let_go();
		py.PyErr_Print();
	}
	/* CPython takes them back before functions that were registered for the end run. */
	if (py.PyDict_DelItemString(self.main, "__file__") < 0)
		py.PyErr_Clear();
	if (py.PyDict_DelItemString(self.main, "__cached__") < 0)
		py.PyErr_Clear();
	if (result)
		py.Py_DecRef(result);
	python_end(result ? 0 : 1, interrupted);
}

/* Whether CPython would not read it as text: a compiled file, or an archive by its end. */
static bool is_other(int fd, off_t size, const char *entry)
{
	size_t length = strlen(entry), tail = size < ARCHIVE_TAIL ? (size_t)size : ARCHIVE_TAIL;
	_cleanup_free_ char *text = malloc(tail + 2);
	unsigned char start[2];
	ssize_t got;

	if (!text || (length >= 4 && strcmp(entry + length - 4, ".pyc") == 0))
		return true;
	got = pread(fd, text, tail, size - (off_t)tail);
	if (got != (ssize_t)tail || memmem(text, tail, "PK\5\6", 4))
		return true;
	memcpy(start, text, sizeof(start));
	if ((off_t)tail < size && pread(fd, start, sizeof(start), 0) != sizeof(start))
		return true;
	return size >= 2 && (start[0] | start[1] << 8) == (py.PyImport_GetMagicNumber() & 0xffff);
}

/* The program, if it is a plain file of text; all else is for CPython to tell. */
static FILE *entry_open(const char *entry)
{
	_cleanup_close_ int fd = open(entry, O_RDONLY | O_CLOEXEC);
	struct stat st;
	FILE *file;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || is_other(fd, st.st_size, entry))
		return NULL;
	file = fdopen(fd, "rb");
	if (file)
		take_fd(&fd);
	return file;
}

/* A program of ours, one of the driver's texts, and what precedes and follows it. */
static void rehearse_once(const char *name)
{
	object *text = py.PyDict_GetItemString(self.driver, name);
	const char *source = text ? py.PyUnicode_AsUTF8(text) : NULL;
	struct flags flags = { 0 };
	FILE *file = source ? fmemopen((char *)source, strlen(source), "r") : NULL;

	python_begin_rehearse();
	if (file)
		dropped(py.PyRun_FileExFlags(file, "<rehearsal>", FILE_INPUT, self.scene, self.scene, 1, &flags));
	py.PyDict_Clear(self.scene);
	flush_io();
	python_end_rehearse();
}

/* Two forks with the same random numbers would know each other's secrets: one that cannot have its own has to end. */
static void rehearse(int hurry)
{
	if (python_begin_fork() < 0)
		_exit(1);
	if (!hurry)
		rehearse_once("SKETCH");
	python_end_freeze();
}

static pid_t fork_python(void)
{
	pid_t pid;

	py.PyOS_BeforeFork();
	pid = fork();
	if (pid == 0)
		py.PyOS_AfterFork_Child();
	else
		py.PyOS_AfterFork_Parent();
	return pid;
}

/* The zygote */

static char *text_read(const char *path)
{
	_cleanup_fclose_ FILE *file = fopen(path, "re");
	_cleanup_free_ char *text = NULL;
	struct stat st;

	if (!file || fstat(fileno(file), &st) < 0)
		return NULL;
	text = calloc(1, (size_t)st.st_size + 1);
	if (!text || fread(text, 1, (size_t)st.st_size, file) != (size_t)st.st_size)
		return NULL;
	return take_ptr(text);
}

static int driver_run(const char *path)
{
	_cleanup_free_ char *text = text_read(path);
	object *code, *place = py.PyDict_New();

	if (!text || !place || py.PyDict_SetItemString(place, "__builtins__", py.PyEval_GetBuiltins()) < 0)
		return -1;
	code = py.Py_CompileString(text, path, FILE_INPUT);
	if (!code || dropped(py.PyEval_EvalCode(code, place, place)) < 0)
		return -1;
	py.Py_DecRef(code);
	self.driver = place;
	self.codes = py.PyDict_GetItemString(place, "CODES");
	return self.codes && python_begin_prepare(place, self.main) == 0 ? python_end_prepare(place) : -1;
}

static int parts_find(void)
{
	object *main = py.PyImport_AddModule("__main__");

	self.main = main ? py.PyModule_GetDict(main) : NULL;
	self.hook = py.PySys_GetObject("excepthook");
	return self.main && self.hook ? 0 : -1;
}

/* CPython has pools of 16 KiB from 3.10 on, for objects of up to 512 bytes. */
static void make_room(void)
{
	room_make_pools(py.PyObject_Malloc, py.PyObject_Free, 512, 16 << 10);
	room_make();
}

/* Made here, not by forks. */
static int scene_set(void)
{
	dropped(self.scene);
	self.scene = py.PyObject_CallFunction(py.PyDict_GetItemString(self.driver, "scene"), NULL);
	return self.scene ? 0 : -1;
}

static int zygote_prepare(const char *path, const char *driver)
{
	make_room();
	if (py.PyLong_AsLong(py.PySys_GetObject("hexversion")) < VERSION_MIN || command_keep(path) < 0 ||
	    startup_keep() < 0 || parts_find() < 0 || driver_run(driver) < 0) {
		py.PyErr_Clear();
		return -1;
	}
	/* CPython changes code that runs often; what is changed here the forks share. */
	for (int i = 0; i < REHEARSALS; i++) {
		if (scene_set() < 0)
			return -1;
		rehearse_once("REHEARSAL");
	}
	if (scene_set() < 0 || python_begin_streams() < 0)
		return -1;
	python_begin_tell();
	if (python_end_freeze() < 0)
		return -1;
	make_room();
	return 0;
}

static object *write_lines(void)
{
	object *stream = py.PySys_GetObject("stdout"), *words = py.PyDict_New(), *none = py.PyTuple_New(0);
	object *how = stream ? py.PyObject_GetAttrString(stream, "reconfigure") : NULL;
	object *yes = py.PyObject_CallFunction(py.PyBool_Type, "i", 1);

	if (!how || !words || !none || !yes || py.PyDict_SetItemString(words, "line_buffering", yes) < 0)
		return NULL;
	return py.PyObject_Call(how, none, words);
}

void python_tell(void)
{
	object *thread;

	if (python_api_find() < 0)
		return;
	thread = py.PyGILState_GetThisThreadState();
	if (!thread)
		return;
	py.PyEval_RestoreThread(thread);
	/* Where it cannot be told, lines have to go out as they are printed. */
	if (notice_put_python() < 0)
		dropped(write_lines());
	py.PyEval_SaveThread();
}

int python_point(const char *path, const char *driver)
{
	static const struct ember_language language = { .fork = fork_python, .rehearse = rehearse };
	const struct ember_claim *claim;
	object *thread;
	FILE *file;

	if (python_api_find() < 0)
		return -1;
	/* CPython lets others run while it opens a file. */
	thread = py.PyGILState_GetThisThreadState();
	if (!thread)
		return -1;
	py.PyEval_RestoreThread(thread);
	if (zygote_prepare(path, driver) < 0) {
		py.PyEval_SaveThread();
		return -1;
	}
	claim = ember_wait(&language);
	file = startup_same(claim->envp) ? entry_open(claim->entry) : NULL;
	if (!file || !python_begin(claim)) {
		py.PyErr_Clear();
		run_cold(claim);
	}
	run(file, claim->entry);
}
