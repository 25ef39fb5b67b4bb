#include "engine/ember/python_api.h"

#include "base/own.h"

#include <dlfcn.h>

struct python_api py;

int python_api_find(void)
{
	static const struct {
		const char *name; /* of the symbol */
		void **at;        /* where its address goes */
	} symbols[] = {
#define X(name, ...) { #name, (void **)&py.name },
		FUNCTIONS(X) TYPES(X) EXCEPTIONS(X)
#undef X
	};

	for (size_t i = 0; i < ARRAY_SIZE(symbols); i++) {
		*symbols[i].at = dlsym(RTLD_DEFAULT, symbols[i].name);
		if (!*symbols[i].at)
			return -1;
	}
	return 0;
}

int dropped(object *result)
{
	if (!result) {
		py.PyErr_Clear();
		return -1;
	}
	py.Py_DecRef(result);
	return 0;
}

object *attribute_of(const char *module_name, const char *name)
{
	object *module = py.PyImport_ImportModule(module_name);
	object *found = module ? py.PyObject_GetAttrString(module, name) : NULL;

	if (module)
		py.Py_DecRef(module);
	return found;
}

long number_of(object *callable)
{
	object *result = py.PyObject_CallFunction(callable, NULL);
	long number = result ? py.PyLong_AsLong(result) : -1;

	dropped(result);
	return number;
}
