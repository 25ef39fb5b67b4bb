/* Requests of clients, and lists of a front that cannot be trusted: nothing of the host's can be named by either. */
#include "fuzz.h"

#include "schema/request.h"

static void request_spec_holds(const struct spec *spec)
{
	MUST(!spec->project && !spec->output);
	for (size_t i = 0; i < spec->file_count; i++)
		MUST(!spec->files[i].host && spec->files[i].box && spec->files[i].data);
	MUST(spec->file_count <= SPEC_WORDS_MAX && spec->env_count <= SPEC_WORDS_MAX &&
	     spec->arg_count <= SPEC_WORDS_MAX);
}

static int request_list_holds(const void *list, size_t size, struct error *err)
{
	struct spec spec;
	int done;

	spec_init(&spec);
	done = request_decode(list, size, &spec, err);
	MUST(done == 0 || (done == -1 && err->text[0] && (err->kind == ERROR_USAGE || err->kind == ERROR_LANGUAGE)));
	request_spec_holds(&spec);
	spec_free(&spec);
	return done;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct request_manner manner;
	struct error err = { 0 };
	struct buf list = { 0 };

	if (request_parse((const char *)data, size, &list, &manner, &err) < 0) {
		MUST(err.kind == ERROR_USAGE && err.text[0]);
		MUST(strlen(err.field) < sizeof(err.field) && err.detail <= strlen(err.text));
	} else if (request_list_holds(list.data, list.size, &err) < 0) {
		/* What the parser makes is never broken, only meant wrongly. */
		MUST(strcmp(err.text, "the list of the request is broken") != 0);
		request_name_field(&err, &manner, true);
		MUST(err.field[0]);
	}
	buf_free(&list);
	err = (struct error){ 0 };
	request_list_holds(data, size, &err);
	return 0;
}
