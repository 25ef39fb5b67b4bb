/* explain_make() in a process of its own. */
#include "explain/explain.h"

#include "kernel/confined.h"

#include <string.h>

enum {
	HEAP = 24 << 20 /* bytes */
};

static void explain_work(const void *in, struct heap *heap, void *out)
{
	explain_make(in, heap, out);
}

bool explain_confined(const struct explain_input *in, struct explanation *out)
{
	struct explanation *made = confined_run(explain_work, in, HEAP, sizeof(*made));

	memset(out, 0, sizeof(*out));
	if (!made)
		return false;
	memcpy(out, made, sizeof(*out));
	explanation_settle(out);
	confined_free(made, sizeof(*made));
	return true;
}
