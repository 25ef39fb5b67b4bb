#include "engine/ember/python_end.h"

#include "engine/ember/ember.h"

#include "base/own.h"

#include <signal.h>
#include <stdint.h>
#include <string.h>

enum {
	SLOT_FINALIZE = 80,     /* Py_tp_finalize, fixed by the stable ABI */
	TYPES_MAX = 512,        /* kinds of objects that are told apart at the end */
	FLUSH_FAILED = 120,     /* exit status of a program whose output could not be written, as Py_RunMain() has it */
	METHOD_KEYWORDS = 0x82, /* METH_FASTCALL | METH_KEYWORDS */
	VERSION_STRICT = 0x030c0000, /* starts no threads any more when the program is over */
	METHOD_NOARGS = 4,           /* METH_NOARGS */
};

typedef object *audit_function(object *module, object *const *args, ssize_t count, object *names);
typedef object *freeze_function(object *module, object *nothing);

static struct {
	object *driver;                 /* the driver's dictionary */
	object *quiet;                  /* names of modules whose extensions do nothing at the end */
	object *objects;                /* gc.get_objects */
	object *collect;                /* gc.collect */
	object *freeze;                 /* gc.freeze */
	object *unfreeze;               /* gc.unfreeze */
	object *threads;                /* _thread._count */
	object *exit_count;             /* atexit._ncallbacks */
	object *exits;                  /* atexit._run_exitfuncs */
	object *keyed;                  /* weakref.KeyedRef */
	audit_function *add_audit_hook; /* sys.addaudithook itself */
	freeze_function *freeze_all;    /* gc.freeze itself */
	bool strict;                    /* CPython forbids threads and functions for the end more than we could */
	bool unsure;                    /* the end has to be CPython's */
	bool froze;                     /* the program froze its objects */
} self;

static bool module_is_quiet(object *module)
{
	object *path = py.PyModule_GetFilenameObject(module);
	const char *text = path ? py.PyUnicode_AsUTF8(path) : "";
	size_t length = text ? strlen(text) : 0;
	bool quiet = text != NULL;

	if (quiet && length > 3 && strcmp(text + length - 3, ".so") == 0) {
		object *result = py.PyObject_CallFunction(self.quiet, "O", path);

		quiet = result && py.PyObject_IsTrue(result) == 1;
		dropped(result);
	}
	dropped(path);
	return quiet;
}

/* A callback of the standard library's only keeps its own tables in order. */
static bool reference_is_quiet(object *reference)
{
	object *callback = py.PyObject_GetAttrString(reference, "__callback__");
	bool quiet = callback == py._Py_NoneStruct;

	if (callback && !quiet) {
		object *type = py.PyObject_Type(callback);
		object *module = NULL;
		const char *name = NULL;

		/* Of other types, to ask could run code of the program's. */
		if (type == py.PyFunction_Type)
			module = py.PyObject_GetAttrString(callback, "__module__");
		if (module)
			name = py.PyUnicode_AsUTF8(module);
		quiet = type == py.PyCFunction_Type ||
			(name && (strcmp(name, "weakref") == 0 || strcmp(name, "_weakrefset") == 0));
		dropped(module);
		py.Py_DecRef(type);
	}
	dropped(callback);
	return quiet;
}

/* How the objects of one type are looked at. */
enum look {
	LOOK_NOT,
	LOOK_CLASS,
	LOOK_MODULE,
	LOOK_REFERENCE,
	LOOK_LOUD
};

static enum look type_look(object *type)
{
	/* Types come first: `type` itself has no finalizer, but its objects may. */
	if (py.PyType_IsSubtype(type, py.PyType_Type))
		return py.PyType_GetSlot(type, SLOT_FINALIZE) ? LOOK_LOUD : LOOK_CLASS;
	if (py.PyType_GetSlot(type, SLOT_FINALIZE) || type == py._PyWeakref_ProxyType ||
	    type == py._PyWeakref_CallableProxyType)
		return LOOK_LOUD;
	if (py.PyType_IsSubtype(type, py.PyModule_Type))
		return LOOK_MODULE;
	if (type == py._PyWeakref_RefType || type == self.keyed)
		return LOOK_REFERENCE;
	return py.PyType_IsSubtype(type, py._PyWeakref_RefType) ? LOOK_LOUD : LOOK_NOT;
}

/* What the types of the objects are, as far as they were met. */
struct types {
	struct {
		object *type;   /* or NULL */
		enum look look; /* at its objects */
	} at[TYPES_MAX];
	size_t used; /* of them */
};

static enum look types_find(struct types *types, object *item)
{
	object *type = py.PyObject_Type(item);
	size_t at = ((uintptr_t)type >> 4) % TYPES_MAX;

	py.Py_DecRef(type); /* its object keeps it */
	while (types->at[at].type && types->at[at].type != type)
		at = (at + 1) % TYPES_MAX;
	if (!types->at[at].type) {
		if (++types->used == TYPES_MAX)
			return LOOK_LOUD;
		types->at[at].type = type;
		types->at[at].look = type_look(type);
	}
	return types->at[at].look;
}

/* Whether nothing happens when this object dies. */
static bool object_is_quiet(struct types *types, object *item)
{
	switch (types_find(types, item)) {
	case LOOK_NOT:
		return true;
	case LOOK_CLASS:
		/* Objects of a class without any members are not listed, but it is. */
		return !py.PyType_GetSlot(item, SLOT_FINALIZE);
	case LOOK_MODULE:
		return module_is_quiet(item);
	case LOOK_REFERENCE:
		return reference_is_quiet(item);
	default:
		return false;
	}
}

static bool objects_are_quiet(void)
{
	struct types types = { 0 };
	object *list = py.PyObject_CallFunction(self.objects, NULL);
	ssize_t count = list ? py.PyList_Size(list) : 0;
	bool quiet = list != NULL;

	for (ssize_t i = 0; quiet && i < count; i++)
		quiet = object_is_quiet(&types, py.PyList_GetItem(list, i));
	py.PyErr_Clear();
	/* If they are, the process ends: to drop the list would only touch every object once more. */
	if (!quiet)
		dropped(list);
	return quiet;
}

/* Whether the streams are as they were made, and nothing is left in them. */
static bool output_is_out(void)
{
	static const char *const names[][2] = { { "stdout", "__stdout__" }, { "stderr", "__stderr__" } };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		object *stream = py.PySys_GetObject(names[i][0]);

		if (!stream || stream == py._Py_NoneStruct || stream != py.PySys_GetObject(names[i][1]) ||
		    dropped(py.PyObject_CallMethod(stream, "flush", NULL)) < 0)
			return false;
	}
	return true;
}

/* Whether nobody but the main thread has a lock that is waited for at the end. */
static bool locks_are_idle(object *place, object *locks)
{
	object *main = py.PyDict_GetItemString(place, "_main_thread");
	object *lock = main ? py.PyObject_GetAttrString(main, "_tstate_lock") : NULL;
	bool idle = py.PyObject_IsTrue(locks) == 0 ||
		    (lock && py.PySet_Size(locks) == 1 && py.PySet_Contains(locks, lock) == 1);

	py.PyErr_Clear();
	dropped(lock);
	return idle;
}

/* Whether threading has nothing to wait for, and nobody is going to ask it. */
static bool threading_is_idle(object *threading)
{
	object *place = py.PyModule_GetDict(threading);
	object *exits = place ? py.PyDict_GetItemString(place, "_threading_atexits") : NULL;
	object *locks = place ? py.PyDict_GetItemString(place, "_shutdown_locks") : NULL;

	return number_of(self.exit_count) == 0 && exits && py.PyObject_IsTrue(exits) == 0 && locks &&
	       locks_are_idle(place, locks);
}

/* What Py_FinalizeEx() does first, and what it then does not do again. */
static void shut_down(void)
{
	object *threading = py.PyDict_GetItemString(py.PyImport_GetModuleDict(), "threading");

	if (threading && threading != py._Py_NoneStruct && !threading_is_idle(threading)) {
		object *result;

		py.Py_IncRef(threading);
		result = py.PyObject_CallMethod(threading, "_shutdown", NULL);
		if (!result)
			py.PyErr_WriteUnraisable(threading);
		dropped(result);
		py.Py_DecRef(threading);
	}
	dropped(py.PyObject_CallFunction(self.exits, NULL));
}

void python_end_let_go(void)
{
	object *exception[3];

	py.PyErr_Fetch(&exception[0], &exception[1], &exception[2]);
	/* A program that froze its objects has frozen everything, as it would have in a cold run. */
	if (!self.froze)
		dropped(py.PyObject_CallFunction(self.unfreeze, NULL));
	py.PyDict_Clear(self.driver);
	py.PyErr_Restore(exception[0], exception[1], exception[2]);
}

_Noreturn void python_end(int status, bool interrupted)
{
	bool alone = number_of(self.threads) == 0 && number_of(self.exit_count) == 0;

	if (!interrupted && (alone || !self.strict)) {
		shut_down();
		if (!self.unsure && !self.froze && number_of(self.threads) == 0 && output_is_out() &&
		    objects_are_quiet())
			ember_leave(status);
	}
	python_end_let_go();
	if (py.Py_FinalizeEx() < 0)
		status = FLUSH_FAILED;
	if (interrupted) {
		/* So that whoever waits learns that it was interrupted; exit_sigint() in CPython. */
		signal(SIGINT, SIG_DFL);
		kill(getpid(), SIGINT);
		status = 128 + SIGINT;
	}
	exit(status);
}

int python_end_freeze(void)
{
	if (dropped(py.PyObject_CallFunction(self.collect, NULL)) < 0 ||
	    dropped(py.PyObject_CallFunction(self.freeze, NULL)) < 0)
		return -1;
	self.froze = false;
	return 0;
}

void python_end_rehearse(void)
{
	/* Not the functions for the end: what was registered when CPython started is called once. */
	number_of(self.exit_count);
	number_of(self.threads);
	output_is_out();
	objects_are_quiet();
}

/*
 * Two functions do their work and are remembered: hooks would see how the end is prepared, and frozen objects are not
 * looked at there. Their entries in CPython's tables are changed, not the functions that programs see; if those are not
 * laid out as expected, every end is a long one.
 */
struct method {
	const char *name; /* PyMethodDef: its name… */
	void *call;       /* …what it calls */
	int flags;        /* …how */
	const char *text; /* …its documentation */
};
struct function {
	ssize_t references;    /* PyCFunctionObject: PyObject's… */
	object *type;          /* …members */
	struct method *method; /* …and what it is */
};

static object *audit_added(object *module, object *const *args, ssize_t count, object *names)
{
	self.unsure = true;
	return self.add_audit_hook(module, args, count, names);
}

static object *freeze_called(object *module, object *nothing)
{
	self.froze = true;
	return self.freeze_all(module, nothing);
}

/* Puts `call` into the place of a built-in function; what was there, or NULL. */
static void *builtin_replace(object *callable, const char *name, int flags, void *call)
{
	struct function *function = (struct function *)callable;
	void *was;

	if (!function || function->type != py.PyCFunction_Type || function->method->flags != flags ||
	    strcmp(function->method->name, name) != 0) {
		self.unsure = true;
		return NULL;
	}
	was = function->method->call;
	function->method->call = call;
	return was;
}

int python_end_prepare(object *driver)
{
	static const struct {
		object **at;        /* where it goes */
		const char *module; /* of … */
		const char *name;   /* … this name */
	} parts[] = {
		{ &self.objects, "gc", "get_objects" },
		{ &self.collect, "gc", "collect" },
		{ &self.freeze, "gc", "freeze" },
		{ &self.unfreeze, "gc", "unfreeze" },
		{ &self.threads, "_thread", "_count" },
		{ &self.exit_count, "atexit", "_ncallbacks" },
		{ &self.exits, "atexit", "_run_exitfuncs" },
		{ &self.keyed, "weakref", "KeyedRef" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		*parts[i].at = attribute_of(parts[i].module, parts[i].name);
		if (!*parts[i].at)
			return -1;
	}
	self.strict = py.PyLong_AsLong(py.PySys_GetObject("hexversion")) >= VERSION_STRICT;
	self.driver = driver;
	self.quiet = py.PyDict_GetItemString(driver, "is_quiet");
	if (!self.quiet)
		return -1;
	py.Py_IncRef(self.quiet); /* is asked when the dictionary may be empty already, and then fails */
	self.add_audit_hook = (audit_function *)builtin_replace(py.PySys_GetObject("addaudithook"), "addaudithook",
								METHOD_KEYWORDS, (void *)audit_added);
	self.freeze_all =
		(freeze_function *)builtin_replace(self.freeze, "freeze", METHOD_NOARGS, (void *)freeze_called);
	return 0;
}
