#include "base/own.h"
#include "engine/local/plan_parts.h"
#include "engine/local/zone.h"
#include "kernel/net_plant.h"
#include "net/net_authority.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void add_text(struct builder *b, const char *path, const char *text)
{
	if (!text)
		b->failed = true;
	else
		plan_add(b, (struct op){
				    .kind = OP_TEXT, .path = path, .data = text, .size = strlen(text), .mode = 0644 });
}

static void add_link(struct builder *b, const char *path, const char *target)
{
	if (!target)
		b->failed = true;
	else
		plan_add(b, (struct op){ .kind = OP_LINK, .path = path, .from = target });
}

static void bind_those_there(struct builder *b, const char *const *paths)
{
	for (; *paths; paths++)
		if (access(*paths, F_OK) == 0)
			plan_bind(b, *paths);
}

/* By name, because programs want to say it; see zone.h. */
static void plan_zone(struct builder *b)
{
	char name[ZONE_NAME_MAX];
	const char *rules;

	zone_find("", getenv("TZ"), name);
	add_text(b, "etc/timezone", arena_printf(&b->plan->arena, "%s\n", name));
	rules = arena_printf(&b->plan->arena, ZONE_DIRECTORY "/%s", name);
	/* Without the data of zones there is only UTC, which needs no file. */
	if (rules && access(rules, R_OK) < 0)
		return;
	add_link(b, "etc/localtime", rules);
	if (rules && b->job->profile)
		plan_bind(b, rules);
}

/* What the language's programs write to at a place of its own, as PHP keeps sessions. */
static void plan_scratch(struct builder *b)
{
	for (const char *const *path = b->job->runtime->scratch; *path; path++) {
		const char *slash = strrchr(*path, '/');

		if (slash > *path)
			plan_add(b, (struct op){
					    .kind = OP_DIR,
					    .path = arena_copy(&b->plan->arena, *path + 1, (size_t)(slash - *path - 1)),
					    .mode = 0755 });
		add_link(b, *path + 1, "/tmp");
	}
}

/* Where egress ends TLS for the box, its programs have other certificates than the host's. */
static void plan_trust(struct builder *b)
{
	const struct job_trust *trust = b->job->trust;

	if (!trust)
		return;
	plan_add(b, (struct op){ .kind = OP_TEXT,
				 .path = NET_BUNDLE_PATH + 1,
				 .data = trust->bundle,
				 .size = trust->bundle_size,
				 .mode = 0644 });
	if (trust->store)
		plan_add(b, (struct op){ .kind = OP_TEXT,
					 .path = NET_JAVA_STORE_PATH + 1,
					 .data = trust->store,
					 .size = trust->store_size,
					 .mode = 0644 });
}

void plan_etc(struct builder *b)
{
	static const char *const always[] = { "/etc/ld.so.cache", NULL };
	/* Public files of packages: the names of commands, of services and protocols, of types of files, and whom a
	 * program that speaks TLS trusts. Never a directory that has more in it than those. */
	static const char *const public[] = { "/etc/alternatives", "/etc/services",        "/etc/protocols",
					      "/etc/mime.types",   "/etc/ssl/openssl.cnf", NULL };
	static const char *const trusted[] = { "/etc/ssl/certs", NULL };

	add_text(b, "etc/passwd",
		 "root:x:0:0:root:/:/bin/false\nsandbox:x:1000:1000:sandbox:/sandbox/temp:/bin/sh\n"
		 "nobody:x:65534:65534:nobody:/:/bin/false\n");
	add_text(b, "etc/group", "root:x:0:\nsandbox:x:1000:\nnogroup:x:65534:\n");
	add_text(b, "etc/hosts", "127.0.0.1 localhost emberbox\n::1 localhost\n");
	add_text(b, "etc/hostname", "emberbox\n");
	add_text(b, "etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n");
	/* Where egress answers, if the box has a network (kernel/net_plant.h). Without one nothing listens there. */
	add_text(b, "etc/resolv.conf", "nameserver " NET_PLANT_DNS "\n");
	plan_zone(b);
	plan_trust(b);
	bind_those_there(b, always);
	if (b->job->profile)
		return;
	bind_those_there(b, public);
	if (!b->job->trust)
		bind_those_there(b, trusted);
	if (access("/usr/lib/os-release", R_OK) == 0)
		add_link(b, "etc/os-release", "../usr/lib/os-release");
	plan_scratch(b);
}
