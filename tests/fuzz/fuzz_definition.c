/* runtime.yaml, of which a user's own can hold anything: it is read, or refused with a place. What is read keeps the
 * promises of runtime.h. */
#include "fuzz.h"

#include "language/definition.h"

static size_t definition_list_holds(const char *const *list)
{
	size_t count = 0;

	MUST(list);
	while (list[count])
		count++;
	return count;
}

static void definition_step_holds(const struct runtime_step *step)
{
	MUST(!step->argv || definition_list_holds(step->argv) > 0);
	definition_list_holds(step->environment);
	for (const char *const *pair = step->environment; *pair; pair++)
		MUST(strchr(*pair, '=') > *pair);
	MUST(step->limits.timeout >= 0 && step->limits.timeout <= 86400);
	MUST(step->limits.memory == 0 || step->limits.memory >= 4 << 20);
	MUST(step->limits.pids <= 32768);
}

static void definition_holds(const struct runtime *r)
{
	MUST(r->display && *r->display && !strchr(r->display, '\n') && r->install && r->file && !strchr(r->file, '/'));
	MUST(r->tool_count > 0 && definition_list_holds(r->run) > 0 && definition_list_holds(r->version) > 0);
	for (size_t i = 0; i < r->tool_count; i++)
		MUST(definition_list_holds(r->tools[i].candidates) > 0 && r->tools[i].candidates[0][0] == '/');
	definition_list_holds(r->aliases);
	definition_list_holds(r->extensions);
	definition_list_holds(r->interpreters);
	definition_list_holds(r->binds);
	definition_list_holds(r->environment);
	definition_step_holds(&r->prepare.step);
	definition_step_holds(&r->compile.step);
	definition_list_holds(r->compile.sources);
	MUST((r->compile.step.argv != NULL) == (r->compile.artifact != NULL));
	MUST(!r->session.step.argv || definition_list_holds(r->session.step.argv) > 0);
	definition_list_holds(r->errors.compile);
	definition_list_holds(r->errors.cause);
	definition_list_holds(r->errors.noise);
	for (size_t i = 0; i < r->errors.syntax_count; i++)
		MUST(r->errors.syntax[i].match && r->errors.syntax[i].exit >= -1 && r->errors.syntax[i].exit <= 255);
	for (size_t i = 0; i < r->call_count; i++)
		MUST(r->calls[i].name && r->calls[i].reason);
	for (size_t i = 0; i < r->profile_count; i++)
		definition_list_holds(r->profiles[i].commands);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* Exactly as long as it is: no terminator is needed. */
	char *text = malloc(size + !size);
	struct arena arena = { 0 };
	struct error err = { 0 };
	struct runtime runtime;
	unsigned line, column;

	MUST(text);
	if (size > 0)
		memcpy(text, data, size);
	if (definition_read("fuzz", "f", text, size, &arena, &runtime, &err) == 0) {
		/* All of it is in the arena. */
		memset(text, 'x', size);
		definition_holds(&runtime);
	} else {
		MUST(err.kind == ERROR_USAGE && !strchr(err.text, '\n'));
		MUST(sscanf(err.text, "f:%u:%u: ", &line, &column) == 2 && line > 0 && column > 0);
	}
	arena_free(&arena);
	free(text);
	return 0;
}
