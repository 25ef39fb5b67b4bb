#include "language/version.h"

#include "base/fd.h"
#include "base/own.h"
#include "base/state.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool runtime_version_recall(const char *text, const char *key, char *out, size_t size)
{
	size_t length;

	if (strncmp(text, key, strlen(key)) != 0)
		return false;
	text += strlen(key);
	length = strspn(text, "0123456789.");
	if (length == 0 || length >= size || text[length] != '\n')
		return false;
	memcpy(out, text, length);
	out[length] = '\0';
	return true;
}

/* A hash of the version command: another command gives another version. */
static uint32_t command_hash(const struct runtime *runtime)
{
	uint32_t hash = 2166136261U; /* FNV-1a */

	for (const char *const *word = runtime->version; *word; word++)
		for (const char *c = *word; c == *word || c[-1]; c++)
			hash = (hash ^ (unsigned char)*c) * 16777619U;
	for (const char *c = runtime->version_pattern ? runtime->version_pattern : ""; *c; c++)
		hash = (hash ^ (unsigned char)*c) * 16777619U;
	return hash;
}

/* Versions that this process has read: a service needs them a thousand times a second. */
static struct {
	pthread_mutex_t lock; /* guards the rest */
	char key[512];        /* the tool's identity; empty: unused */
	char version[64];     /* its version */
} memory[16] = { [0 ... 15] = { .lock = PTHREAD_MUTEX_INITIALIZER } };

static bool version_known(uint32_t hash, const char *key, char *out, size_t size)
{
	bool known;

	pthread_mutex_lock(&memory[hash % 16].lock);
	known = strcmp(memory[hash % 16].key, key) == 0;
	if (known)
		snprintf(out, size, "%s", memory[hash % 16].version);
	pthread_mutex_unlock(&memory[hash % 16].lock);
	return known;
}

static bool version_keep(uint32_t hash, const char *key, const char *version)
{
	pthread_mutex_lock(&memory[hash % 16].lock);
	snprintf(memory[hash % 16].key, sizeof(memory[0].key), "%s", key);
	snprintf(memory[hash % 16].version, sizeof(memory[0].version), "%s", version);
	pthread_mutex_unlock(&memory[hash % 16].lock);
	return true;
}

bool runtime_version_cached(const struct runtime *runtime, char *out, size_t size)
{
	const char *program = runtime_program(runtime, true);
	_cleanup_close_ int dir = -1;
	char name[64], key[512], text[640], temporary[96];
	struct stat st;
	ssize_t n;

	if (!program || stat(program, &st) < 0)
		return false;
	snprintf(key, sizeof(key), "%s %lld %lld.%09ld %08x ", program, (long long)st.st_size,
		 (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec, command_hash(runtime));
	if (version_known(command_hash(runtime), key, out, size))
		return true;
	snprintf(name, sizeof(name), "version-%s", runtime->name);
	dir = state_place_dir(STATE_CACHE, true);
	n = dir < 0 ? -1 : fd_slurp(dir, name, text, sizeof(text));
	if (n > 0 && runtime_version_recall(text, key, out, size))
		return version_keep(command_hash(runtime), key, out);
	if (!runtime_version(runtime, out, size))
		return false;
	if (dir >= 0) {
		_cleanup_close_ int fd = -1;

		/* Written to a temporary file and renamed, so that readers see a complete file. */
		snprintf(temporary, sizeof(temporary), "%s.%d", name, (int)getpid());
		fd = openat(dir, temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
		n = snprintf(text, sizeof(text), "%s%s\n", key, out);
		if (fd >= 0 && (fd_write(fd, text, (size_t)n) < 0 || renameat(dir, temporary, dir, name) < 0))
			unlinkat(dir, temporary, 0);
	}
	return version_keep(command_hash(runtime), key, out);
}
