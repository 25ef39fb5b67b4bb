#include "engine/ember/perl.h"

#include "base/own.h"
#include "engine/ember/notice_page.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct interpreter;
typedef const struct notice_perl_layer *handle; /* a PerlIO: where its topmost layer is */

/* Of Perl's C interface, what is needed; without threads they take no interpreter, and ignore ours. */
static struct {
	struct interpreter **interpreter;                    /* PL_curinterp */
	handle *(*output)(struct interpreter *);             /* its STDOUT */
	void *(*base)(struct interpreter *, handle *);       /* of a handle, its buffer… */
	ptrdiff_t (*filled)(struct interpreter *, handle *); /* …and how much of it is filled */
	void (*write_lines)(struct interpreter *, handle *); /* each line goes out when it is complete */
} api;

static bool api_find(void)
{
	const struct {
		void **place;     /* where it goes */
		const char *name; /* what it is called */
	} all[] = {
		{ (void **)&api.interpreter, "PL_curinterp" },
		{ (void **)&api.output, "Perl_PerlIO_stdout" },
		{ (void **)&api.base, "Perl_PerlIO_get_base" },
		{ (void **)&api.filled, "Perl_PerlIO_get_bufsiz" },
		{ (void **)&api.write_lines, "Perl_PerlIO_setlinebuf" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		if (!(*all[i].place = dlsym(RTLD_DEFAULT, all[i].name)))
			return false;
	return true;
}

/* What Perl says of the buffer stands where we look for it, with nothing in it yet. */
static bool is_known(handle *output)
{
	const uint64_t base = (uintptr_t)api.base(*api.interpreter, output);
	const uint64_t filled = (uint64_t)api.filled(*api.interpreter, output);
	const struct notice_perl_layer *layer = *output;

	return layer && base != 0 && layer->data == base && layer->end - base == filled && layer->next == base &&
	       layer->size > 0 && !(layer->flags & NOTICE_PERL_WRITES);
}

void perl_tell(void)
{
	struct notice notice = { .magic = NOTICE_MAGIC, .kind = NOTICE_PERL };
	handle *output;

	/* Not Perl. */
	if (!api_find() || !(output = api.output(*api.interpreter)))
		return;
	notice.stream = (uintptr_t)output;
	if (!is_known(output) || notice_put(&notice) < 0)
		api.write_lines(*api.interpreter, output);
}
