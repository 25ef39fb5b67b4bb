#include "name.h"

const char *name(void)
{
	return "multi";
}
