/*
 * What is used of CPython. There are no headers of Python's here: one library serves whatever version is installed, and
 * what is used is found by name.
 */
#pragma once

#include <stdio.h>
#include <sys/types.h>

typedef struct object object; /* PyObject */

/* PyCompilerFlags */
struct flags {
	int flags;   /* of `from __future__` */
	int feature; /* only for parsing to a tree */
};

#define FUNCTIONS(X)                                                                                                   \
	X(PyDict_Clear, void, (object *))                                                                              \
	X(PyDict_DelItem, int, (object *, object *))                                                                   \
	X(PyDict_DelItemString, int, (object *, const char *))                                                         \
	X(PyDict_GetItemString, object *, (object *, const char *))                                                    \
	X(PyDict_New, object *, (void))                                                                                \
	X(PyDict_SetDefault, object *, (object *, object *, object *))                                                 \
	X(PyDict_SetItem, int, (object *, object *, object *))                                                         \
	X(PyDict_SetItemString, int, (object *, const char *, object *))                                               \
	X(PyBytes_FromString, object *, (const char *))                                                                \
	X(PyBytes_FromStringAndSize, object *, (const char *, ssize_t))                                                \
	X(PyErr_Clear, void, (void))                                                                                   \
	X(PyErr_ExceptionMatches, int, (object *))                                                                     \
	X(PyErr_Fetch, void, (object **, object **, object **))                                                        \
	X(PyErr_Occurred, object *, (void))                                                                            \
	X(PyErr_Print, void, (void))                                                                                   \
	X(PyErr_Restore, void, (object *, object *, object *))                                                         \
	X(PyErr_WriteUnraisable, void, (object *))                                                                     \
	X(PyEval_GetBuiltins, object *, (void))                                                                        \
	X(PyEval_RestoreThread, void, (object *))                                                                      \
	X(PyEval_SaveThread, object *, (void))                                                                         \
	X(PyGILState_GetThisThreadState, object *, (void))                                                             \
	X(PyImport_AddModule, object *, (const char *))                                                                \
	X(PyImport_GetMagicNumber, long, (void))                                                                       \
	X(PyImport_GetModuleDict, object *, (void))                                                                    \
	X(PyImport_ImportModule, object *, (const char *))                                                             \
	X(PyList_Append, int, (object *, object *))                                                                    \
	X(PyList_GetItem, object *, (object *, ssize_t))                                                               \
	X(PyList_New, object *, (ssize_t))                                                                             \
	X(PyList_SetItem, int, (object *, ssize_t, object *))                                                          \
	X(PyList_Size, ssize_t, (object *))                                                                            \
	X(PyLong_AsLong, long, (object *))                                                                             \
	X(PyModule_GetDict, object *, (object *))                                                                      \
	X(PyModule_GetFilenameObject, object *, (object *))                                                            \
	X(PyObject_Call, object *, (object *, object *, object *))                                                     \
	X(PyObject_CallFunction, object *, (object *, const char *, ...))                                              \
	X(PyObject_CallMethod, object *, (object *, const char *, const char *, ...))                                  \
	X(PyObject_Free, void, (void *))                                                                               \
	X(PyObject_GetAttrString, object *, (object *, const char *))                                                  \
	X(PyObject_IsTrue, int, (object *))                                                                            \
	X(PyObject_Malloc, void *, (size_t))                                                                           \
	X(PyObject_Type, object *, (object *))                                                                         \
	X(PyOS_AfterFork_Child, void, (void))                                                                          \
	X(PyOS_AfterFork_Parent, void, (void))                                                                         \
	X(PyOS_BeforeFork, void, (void))                                                                               \
	X(PyRun_FileExFlags, object *, (FILE *, const char *, int, object *, object *, int, struct flags *))           \
	X(PySet_Contains, int, (object *, object *))                                                                   \
	X(PySet_Size, ssize_t, (object *))                                                                             \
	X(PySys_WriteStderr, void, (const char *, ...))                                                                \
	X(PySys_GetObject, object *, (const char *))                                                                   \
	X(PySys_SetObject, int, (const char *, object *))                                                              \
	X(PyTuple_New, object *, (ssize_t))                                                                            \
	X(PyType_GetSlot, void *, (object *, int))                                                                     \
	X(PyType_IsSubtype, int, (object *, object *))                                                                 \
	X(PyUnicode_AsUTF8, const char *, (object *))                                                                  \
	X(PyUnicode_DecodeFSDefault, object *, (const char *))                                                         \
	X(PyUnicode_DecodeFSDefaultAndSize, object *, (const char *, ssize_t))                                         \
	X(Py_CompileString, object *, (const char *, const char *, int))                                               \
	X(PyEval_EvalCode, object *, (object *, object *, object *))                                                   \
	X(PyFile_WriteObject, int, (object *, object *, int))                                                          \
	X(Py_DecRef, void, (object *))                                                                                 \
	X(Py_FinalizeEx, int, (void))                                                                                  \
	X(Py_IncRef, void, (object *))

/* Objects themselves (types), and variables that hold one (exceptions). */
#define TYPES(X)                                                                                                       \
	X(PyFunction_Type)                                                                                             \
	X(PyCFunction_Type)                                                                                            \
	X(PyBytes_Type)                                                                                                \
	X(PyList_Type)                                                                                                 \
	X(PyUnicode_Type)                                                                                              \
	X(PyModule_Type)                                                                                               \
	X(PyType_Type)                                                                                                 \
	X(_Py_NoneStruct)                                                                                              \
	X(_PyWeakref_CallableProxyType)                                                                                \
	X(_PyWeakref_ProxyType)                                                                                        \
	X(_PyWeakref_RefType)                                                                                          \
	X(PyBool_Type)                                                                                                 \
	X(PyLong_Type)
#define EXCEPTIONS(X)                                                                                                  \
	X(PyExc_KeyboardInterrupt)                                                                                     \
	X(PyExc_SystemExit)

struct python_api {
#define X(name, type, parameters) type(*name) parameters;
	FUNCTIONS(X)
#undef X
#define X(name) object *name;
	TYPES(X)
#undef X
#define X(name) object **name;
	EXCEPTIONS(X)
#undef X
};

extern struct python_api py;

/* Finds all of it; -1 if something is missing. */
int python_api_find(void);

/* Drops a result that is of no interest; -1 if there is none, and no exception stays. */
int dropped(object *result);
/* An attribute of a module that is imported for it, or NULL. */
object *attribute_of(const char *module_name, const char *name);
/* The number that a function without arguments returns, or -1. */
long number_of(object *callable);
