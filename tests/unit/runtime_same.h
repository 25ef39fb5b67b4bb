/* Whether two languages are the same in every field. */
#pragma once

#include "../check.h"

#include "language/runtime.h"

static void same_text(const char *field, const char *a, const char *b)
{
	if ((a == NULL) != (b == NULL) || (a && strcmp(a, b) != 0))
		check_fail("%s: \"%s\" and \"%s\"", field, a ? a : "(null)", b ? b : "(null)");
}

static void same_list(const char *field, const char *const *a, const char *const *b)
{
	if (!a || !b) {
		if (a != b)
			check_fail("%s: one is missing", field);
		return;
	}
	for (; *a && *b; a++, b++)
		same_text(field, *a, *b);
	same_text(field, *a, *b);
}

static void same_limits(const char *field, const struct limits *a, const struct limits *b)
{
	for (enum limit_id id = 0; id < LIMITS; id++)
		if (limit_get(a, id) != limit_get(b, id))
			check_fail("%s.%s differ", field, limit_rows[id].name);
	CHECK_INT(a->inodes, b->inodes);
}

static void same_step(const char *field, const struct runtime_step *a, const struct runtime_step *b)
{
	same_list(field, a->argv, b->argv);
	same_list(field, a->environment, b->environment);
	same_limits(field, &a->limits, &b->limits);
}

static void same_errors(const struct runtime_errors *a, const struct runtime_errors *b)
{
	CHECK_INT(a->syntax_count, b->syntax_count);
	for (size_t i = 0; i < a->syntax_count && a->syntax_count == b->syntax_count; i++) {
		CHECK_INT(a->syntax[i].exit, b->syntax[i].exit);
		CHECK_INT(a->syntax[i].silent, b->syntax[i].silent);
		same_text("errors.syntax.unless", a->syntax[i].unless, b->syntax[i].unless);
		same_text("errors.syntax.place", a->syntax[i].place, b->syntax[i].place);
		same_text("errors.syntax.match", a->syntax[i].match, b->syntax[i].match);
		same_text("errors.syntax.ends", a->syntax[i].ends, b->syntax[i].ends);
	}
	same_list("errors.compile", a->compile, b->compile);
	same_list("errors.cause", a->cause, b->cause);
	same_list("errors.noise", a->noise, b->noise);
}

static void same_arrays(const struct runtime *a, const struct runtime *b)
{
	CHECK_INT(a->tool_count, b->tool_count);
	for (size_t i = 0; i < a->tool_count && a->tool_count == b->tool_count; i++) {
		same_text("tools", a->tools[i].name, b->tools[i].name);
		same_list("tools", a->tools[i].candidates, b->tools[i].candidates);
	}
	CHECK_INT(a->call_count, b->call_count);
	for (size_t i = 0; i < a->call_count && a->call_count == b->call_count; i++) {
		same_text("seccomp", a->calls[i].name, b->calls[i].name);
		same_text("seccomp", a->calls[i].reason, b->calls[i].reason);
	}
	CHECK_INT(a->profile_count, b->profile_count);
	for (size_t i = 0; i < a->profile_count && a->profile_count == b->profile_count; i++) {
		same_text("profiles", a->profiles[i].name, b->profiles[i].name);
		same_list("profiles", a->profiles[i].commands, b->profiles[i].commands);
	}
	CHECK_INT(a->driver_count, b->driver_count);
	for (size_t i = 0; i < a->driver_count && a->driver_count == b->driver_count; i++) {
		same_text("drivers", a->drivers[i].name, b->drivers[i].name);
		CHECK_INT(a->drivers[i].size, b->drivers[i].size);
		CHECK(a->drivers[i].size == b->drivers[i].size &&
		      memcmp(a->drivers[i].data, b->drivers[i].data, a->drivers[i].size) == 0);
	}
}

static void same_runtime(const struct runtime *a, const struct runtime *b)
{
	same_text("name", a->name, b->name);
	same_text("display", a->display, b->display);
	same_list("aliases", a->aliases, b->aliases);
	same_list("extensions", a->extensions, b->extensions);
	same_list("interpreters", a->interpreters, b->interpreters);
	same_text("file", a->file, b->file);
	same_list("version", a->version, b->version);
	same_text("version_pattern", a->version_pattern, b->version_pattern);
	same_text("install", a->install, b->install);
	same_list("binds", a->binds, b->binds);
	same_list("scratch", a->scratch, b->scratch);
	same_list("environment", a->environment, b->environment);
	same_limits("limits", &a->limits, &b->limits);
	same_step("prepare", &a->prepare.step, &b->prepare.step);
	CHECK_INT(a->prepare.writable, b->prepare.writable);
	same_step("compile", &a->compile.step, &b->compile.step);
	same_list("compile.unchecked", a->compile.unchecked, b->compile.unchecked);
	same_list("compile.needs", a->compile.needs, b->compile.needs);
	same_list("needs", a->needs, b->needs);
	same_list("compile.sources", a->compile.sources, b->compile.sources);
	same_text("compile.artifact", a->compile.artifact, b->compile.artifact);
	same_list("run", a->run, b->run);
	same_step("session", &a->session.step, &b->session.step);
	CHECK_INT(a->session.fork, b->session.fork);
	CHECK_INT(a->outputs, b->outputs);
	same_arrays(a, b);
	same_errors(&a->errors, &b->errors);
	same_text("notes", a->notes, b->notes);
	same_text("broken", a->broken, b->broken);
}
