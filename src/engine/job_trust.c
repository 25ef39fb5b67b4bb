#include "engine/job_trust.h"

#include "base/fd.h"
#include "base/own.h"
#include "net/net_authority.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

enum {
	STORE_MAX = 4 << 20 /* bytes of a host's store for Java; Debian's has 170 KB */
};

bool job_trust_needed(const struct net_policy *policy, const struct net_secrets *secrets)
{
	if (secrets && secrets->count > 0)
		return true;
	for (size_t i = 0; i < policy->list_count; i++)
		for (size_t k = 0; k < policy->lists[i].count; k++)
			if (policy->lists[i].rules[k].terminate)
				return true;
	return false;
}

/* A host without Java, or with a store of another kind, has none. */
static void make_store(const struct buf *certificate, struct arena *arena, struct job_trust *out)
{
	_cleanup_close_ int fd = open(NET_JAVA_STORE_PATH, O_RDONLY | O_CLOEXEC);
	_cleanup_free_ char *store = fd < 0 ? NULL : malloc(STORE_MAX);
	_cleanup_buf_ struct buf made = { 0 };
	ssize_t n = store ? fd_read(fd, store, STORE_MAX) : -1;
	struct error ignored;

	if (n <= 0 || net_java_store_make(store, (size_t)n, certificate, &made, &ignored) < 0)
		return;
	out->store = arena_copy(arena, made.data, made.size);
	out->store_size = made.size;
}

int job_trust_make(struct arena *arena, struct job_trust *out, struct error *err)
{
	_cleanup_buf_ struct buf certificate = { 0 }, bundle = { 0 };

	*out = (struct job_trust){ 0 };
	if (net_authority_read("/proc/self/exe", &certificate, err) < 0 ||
	    net_bundle_make(&certificate, &bundle, err) < 0)
		return -1;
	out->bundle = arena_copy(arena, bundle.data, bundle.size);
	out->bundle_size = bundle.size;
	if (!out->bundle)
		return error_set(err, ERROR_FAILED, ENOMEM, "cannot hold the certificates of the box");
	make_store(&certificate, arena, out);
	return 0;
}
