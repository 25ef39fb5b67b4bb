/*
 * The smallest test harness that can fail.
 *
 * Every test prints one line, `ok NAME`, `not ok NAME: REASON` or
 * `skip NAME: REASON`, which tests/run counts; a program that dies before its
 * last test is counted as a failure by its exit status.
 */
#pragma once

#include <errno.h>
#include <regex.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *check_name; /* the running test, NULL between tests */
static int check_failures;     /* failed tests so far */
static bool check_failed;      /* the running test has already failed */

__attribute__((format(printf, 1, 2))) static inline void check_fail(const char *format, ...)
{
	va_list args;

	if (check_failed)
		return;
	check_failed = true;
	check_failures++;
	printf("not ok %s: ", check_name);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
	fflush(stdout);
}

#define CHECK(cond)                                                                                                    \
	do {                                                                                                           \
		if (!(cond))                                                                                           \
			check_fail("%s:%d: %s", __FILE__, __LINE__, #cond);                                            \
	} while (0)

#define CHECK_INT(got, want)                                                                                           \
	do {                                                                                                           \
		long long got_ = (long long)(got), want_ = (long long)(want);                                          \
		if (got_ != want_)                                                                                     \
			check_fail("%s:%d: %s is %lld, not %lld", __FILE__, __LINE__, #got, got_, want_);              \
	} while (0)

#define CHECK_STR(got, want)                                                                                           \
	do {                                                                                                           \
		const char *got_ = (got), *want_ = (want);                                                             \
		if (!got_ || strcmp(got_, want_) != 0)                                                                 \
			check_fail("%s:%d: %s is \"%s\", not \"%s\"", __FILE__, __LINE__, #got,                        \
				   got_ ? got_ : "(null)", want_);                                                     \
	} while (0)

/* The call fails with exactly this errno. */
#define CHECK_ERRNO(call, want)                                                                                        \
	do {                                                                                                           \
		errno = 0;                                                                                             \
		long long r_ = (long long)(call);                                                                      \
		int e_ = errno;                                                                                        \
		if (r_ != -1 || e_ != (want))                                                                          \
			check_fail("%s:%d: %s gave %lld with %s, not -1 with %s", __FILE__, __LINE__, #call, r_,       \
				   strerrorname_np(e_) ?: "0", strerrorname_np(want));                                 \
	} while (0)

/* EB_TEST chooses tests by a regular expression, as tests/run -t does. */
static inline bool check_chosen(const char *name)
{
	const char *pattern = getenv("EB_TEST");
	regex_t compiled;

	if (!pattern || !*pattern)
		return true;
	if (regcomp(&compiled, pattern, REG_EXTENDED | REG_NOSUB) != 0)
		return false;
	const bool chosen = regexec(&compiled, name, 0, NULL, 0) == 0;

	regfree(&compiled);
	return chosen;
}

static inline void check_run(const char *name, void (*test)(void))
{
	if (!check_chosen(name))
		return;
	check_name = name;
	check_failed = false;
	test();
	if (!check_failed)
		printf("ok %s\n", name);
	fflush(stdout);
	check_name = NULL;
}

static inline void check_skip(const char *name, const char *why)
{
	printf("skip %s: %s\n", name, why);
	fflush(stdout);
}

#define RUN(test) check_run(#test, test)
