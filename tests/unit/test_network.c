/* What a request may reach: its rules, and the lists that narrow them. */
#include "../check.h"

#include "registry/network.h"

#include <string.h>

/* What was set, in order: "KEY VALUE\n". */
static struct buf set_texts;
static const char *said_net, *said_rate;
static struct error err;

static const char *get_said(void *data, const char *key)
{
	return strcmp(key, "net") == 0 ? said_net : strcmp(key, "net-rate") == 0 ? said_rate : NULL;
}

static int note_set(void *data, const char *key, const char *value, struct error *why)
{
	buf_printf(&set_texts, "%s %s\n", key, value);
	return 0;
}

static const struct profile_target target = { .get = get_said, .set = note_set };

static const char *settle(const struct network_bounds *bounds)
{
	buf_free(&set_texts);
	buf_text(&set_texts, "");
	err = (struct error){ 0 };
	return network_settle(bounds, &target, &err) == 0 ? set_texts.data ?: "" : err.text;
}

static void nobody_narrows_what_a_user_asks(void)
{
	said_net = "a.example";
	CHECK_STR(settle(&(struct network_bounds){ 0 }), "");
	said_net = NULL;
	CHECK_STR(settle(&(struct network_bounds){ .net = "public", .host = true }),
		  "net-within public\nnet-host yes\n");
}

static void a_profile_gives_and_narrows(void)
{
	const struct profile with = { .name = "p", .network = "b.example", .net_bounds = { "2m", NULL, "9" } },
			     without = { .name = "q", .network = "none" }, silent = { .name = "r" };

	said_net = said_rate = NULL;
	CHECK_STR(settle(&(struct network_bounds){ .profile = &with }),
		  "net b.example\nnet-rate 2m\nnet-connections 9\nnet-within b.example\n");
	said_net = "a.example";
	said_rate = "1m";
	CHECK_STR(settle(&(struct network_bounds){ .profile = &with }), "net-connections 9\nnet-within b.example\n");
	said_rate = "3m";
	CHECK_STR(settle(&(struct network_bounds){ .profile = &with }),
		  "net-rate 2m\nnet-connections 9\nnet-within b.example\n");
	CHECK_STR(settle(&(struct network_bounds){ .profile = &without }),
		  "net: the profile \"q\" has no network; leave it out");
	said_net = "none";
	CHECK_STR(settle(&(struct network_bounds){ .profile = &without }), "net-within none\n");
	said_net = "a.example";
	CHECK_STR(settle(&(struct network_bounds){ .profile = &silent }), "");
	said_rate = NULL;
}

static void a_token_narrows(void)
{
	const struct token plain = { .name = "t", .scopes = SCOPE_EXECUTE },
			   trusted = { .name = "t", .scopes = SCOPE_EXECUTE | SCOPE_TRUSTED },
			   own = { .name = "t", .scopes = SCOPE_EXECUTE | SCOPE_TRUSTED, .net = "10.0.0.7:5432" };

	said_net = "10.0.0.7:5432";
	CHECK_STR(settle(&(struct network_bounds){ .token = &plain }), "net-within public\n");
	CHECK_STR(settle(&(struct network_bounds){ .token = &trusted }), "");
	CHECK_STR(settle(&(struct network_bounds){ .token = &own, .net = "none" }),
		  "net-within 10.0.0.7:5432\nnet-within none\n");
}

int main(void)
{
	RUN(nobody_narrows_what_a_user_asks);
	RUN(a_profile_gives_and_narrows);
	RUN(a_token_narrows);
	buf_free(&set_texts);
	return check_failures != 0;
}
