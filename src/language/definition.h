/*
 * Parses runtime.yaml into struct runtime. Pure.
 *
 * Every mistake is an error with the file, the line, the column and the
 * expected value: an unknown key (with the most similar known one), a wrong
 * kind of value, a missing key, an unknown placeholder, a pattern that does not
 * compile.
 *
 *	display: Go                  required
 *	aliases: [golang]            extensions: [go]        interpreters: [gorun]
 *	file: main.go                required
 *	tools:                       required, in order: name: [candidates]
 *	  go: [/usr/bin/go, "/usr/lib/go-*\/bin/go"]
 *	version: ["{go}", version]   required
 *	version_pattern: 'go(?<version>[0-9.]+)'
 *	install: sudo apt-get install golang-go             required
 *	needs: [/usr/include/stdio.h]                       one of them, beside the tools
 *	binds: [/etc/java-17-openjdk]
 *	scratch: [/var/lib/php/sessions]
 *	environment: {GOROOT: /usr/lib/go}
 *	limits: {timeout: 30, cpu_time: 10, memory: 512m, cpus: 1, pids: 64, disk: 1g}
 *	prepare: {run: […], environment: {…}, limits: {…}, writable: false}
 *	compile: {run: […], unchecked: […], needs: […], sources: ["*.go"], artifact: main, environment: {…}}
 *	run: ["{artifact}", "{args}"]                       required
 *	session: {run: ["{python}", "{drivers}/session.py"], environment: {K: V}, fork: false}
 *	ember: {point: main, run: [...], environment: {K: V}, not_with: ["LC_*"], any_entry: false}
 *	outputs: false
 *	seccomp: [{call: shmget, reason: why}]
 *	profiles: {restricted: {commands: [cat, ls]}}
 *	errors:
 *	  syntax: [{exit: 1, silent: true, first: false, unless: …, place: …, match: …, ends: …}]
 *	  compile: […]   cause: […]   noise: […]
 *	notes: one line
 *
 * Placeholders, in command lines and the values of environments: the tools by
 * name, and {entry} (the code file), {name} (its path below /sandbox/code),
 * {stem} (that path without its extension), {artifact}, {drivers} and
 * {prepared} (directories), {outputs} (a file), {memory}, {memory_mb}, {cpus},
 * {timeout}. {args}, {files} (the given files, in order) and {sources} are whole
 * words that expand to several words. A brace is literal unless it encloses a
 * word of lower-case letters, digits, - and _. In patterns, {file} is the code
 * file's path, quoted; errors.h describes the use of matches.
 */
#pragma once

#include "base/arena.h"
#include "language/runtime.h"

#include <string.h>

/* The length of a placeholder's name after the brace at `at`, or 0 if the brace is literal. */
static inline size_t placeholder_length(const char *at)
{
	size_t length = strspn(at + 1, "abcdefghijklmnopqrstuvwxyz0123456789_-");

	return at[length + 1] == '}' ? length : 0;
}

/* The placeholders that are not tools, NULL at the end. */
extern const char *const definition_placeholders[];

/* Parses a definition. `where` is the file's name for errors. *out points into the arena or the text. The caller adds
 * the drivers. ERROR_USAGE if the definition is invalid. */
int definition_read(const char *name, const char *where, const char *text, size_t size, struct arena *arena,
		    struct runtime *out, struct error *err);
