#include "store/audit_file.h"

#include "base/fd.h"
#include "base/own.h"
#include "store/audit.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <sha2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SEQ_HEAD      "{\"seq\":"
#define PREVIOUS_HEAD ",\"previous\":\""
#define HASH_HEAD     ",\"hash\":\""

enum {
	DIGITS = AUDIT_HASH - 1,
	HASH_MEMBER = sizeof(HASH_HEAD) - 1 + DIGITS + 1,         /* bytes of ,"hash":"…" */
	PREVIOUS_MEMBER = sizeof(PREVIOUS_HEAD) - 1 + DIGITS + 1, /* bytes of ,"previous":"…" */
	MARK_SIZE = 512,                                          /* bytes of audit.head that are written */
	MARK_MAX = 4096,                                          /* maximum bytes of audit.head */
};

const char audit_zeros[AUDIT_HASH] = "0000000000000000000000000000000000000000000000000000000000000000";

static void hash_line(const char *body, size_t size, char hash[AUDIT_HASH])
{
	unsigned char bytes[SHA256_DIGEST_LENGTH];
	SHA2_CTX sha;

	SHA256Init(&sha);
	SHA256Update(&sha, (const uint8_t *)body, size);
	SHA256Update(&sha, (const uint8_t *)"}", 1);
	SHA256Final(bytes, &sha);
	for (size_t i = 0; i < sizeof(bytes); i++) {
		hash[2 * i] = "0123456789abcdef"[bytes[i] >> 4];
		hash[2 * i + 1] = "0123456789abcdef"[bytes[i] & 15];
	}
	hash[DIGITS] = '\0';
}

void audit_line_close(struct buf *batch, size_t start, const char *previous, char hash[AUDIT_HASH])
{
	buf_printf(batch, PREVIOUS_HEAD "%s\"", previous);
	if (batch->failed)
		return;
	hash_line(batch->data + start, batch->size - start, hash);
	buf_printf(batch, HASH_HEAD "%s\"}\n", hash);
}

static bool is_hash(const char *text)
{
	return strspn(text, "0123456789abcdef") >= DIGITS && text[DIGITS] == '"';
}

/* Accepts only the form that we write, so that the hash covers everything in a line. */
bool audit_line_read(const char *line, size_t size, struct audit_line *out)
{
	const size_t head = sizeof(SEQ_HEAD) - 1, least = head + 2 + PREVIOUS_MEMBER + HASH_MEMBER + 1;
	const char *hash_member, *previous;
	char hash[AUDIT_HASH], *end;

	/* The line ends with a brace and has no NUL, so no search for the end of digits runs past it. */
	if (size < least || memchr(line, '\0', size) || line[size - 1] != '}')
		return false;
	hash_member = line + size - 1 - HASH_MEMBER;
	previous = hash_member - PREVIOUS_MEMBER;
	if (strncmp(line, SEQ_HEAD, head) != 0 || line[head] < '1' || line[head] > '9' ||
	    strncmp(hash_member, HASH_HEAD, sizeof(HASH_HEAD) - 1) != 0 ||
	    strncmp(previous, PREVIOUS_HEAD, sizeof(PREVIOUS_HEAD) - 1) != 0)
		return false;
	errno = 0;
	out->seq = strtoull(line + head, &end, 10);
	out->previous = previous + sizeof(PREVIOUS_HEAD) - 1;
	out->hash = hash_member + sizeof(HASH_HEAD) - 1;
	if (errno || *end != ',' || !is_hash(out->previous) || !is_hash(out->hash))
		return false;
	hash_line(line, (size_t)(hash_member - line), hash);
	out->sound = memcmp(hash, out->hash, DIGITS) == 0;
	return true;
}

bool audit_end_same(const struct audit_end *a, const struct audit_end *b)
{
	return a->seq == b->seq && strcmp(a->hash, b->hash) == 0;
}

void audit_boot(char boot[40])
{
	ssize_t n = fd_slurp(AT_FDCWD, "/proc/sys/kernel/random/boot_id", boot, 37);

	boot[n > 0 ? n : 0] = '\0';
}

bool audit_rebooted(const struct audit_mark *mark)
{
	char boot[40];

	audit_boot(boot);
	return *boot && *mark->boot && strcmp(boot, mark->boot) != 0;
}

static bool end_from_json(json_t *from, struct audit_end *end)
{
	json_t *seq = json_object_get(from, "seq");
	const char *hash = json_string_value(json_object_get(from, "hash"));

	if (!json_is_integer(seq) || json_integer_value(seq) < 0 || !hash || strlen(hash) != DIGITS)
		return false;
	end->seq = (uint64_t)json_integer_value(seq);
	memcpy(end->hash, hash, AUDIT_HASH);
	return true;
}

static bool mark_from_json(json_t *from, struct audit_mark *mark)
{
	json_t *size = json_object_get(from, "size"), *synced = json_object_get(from, "synced");
	json_t *next = json_object_get(from, "next");
	const char *boot = json_string_value(json_object_get(from, "boot"));

	if (!end_from_json(from, &mark->end) || !json_is_integer(size) || json_integer_value(size) < 0 ||
	    !json_is_integer(synced) || json_integer_value(synced) < 0 || !boot || strlen(boot) >= sizeof(mark->boot))
		return false;
	mark->size = (uint64_t)json_integer_value(size);
	mark->synced = (uint64_t)json_integer_value(synced);
	snprintf(mark->boot, sizeof(mark->boot), "%s", boot);
	return json_is_null(next) || end_from_json(next, &mark->next);
}

/* Reads the file between two writes: a reader beside a writer could get half of each. */
static ssize_t mark_slurp(int dir, char text[MARK_MAX])
{
	char again[MARK_MAX];
	ssize_t size = fd_slurp(dir, AUDIT_HEAD, text, MARK_MAX);

	while (size >= 0) {
		ssize_t second = fd_slurp(dir, AUDIT_HEAD, again, MARK_MAX);

		if (second == size && memcmp(text, again, (size_t)size) == 0)
			break;
		size = second;
		memcpy(text, again, MARK_MAX);
	}
	return size;
}

int audit_mark_read(int dir, struct audit_mark *mark, struct error *err)
{
	char text[MARK_MAX];
	ssize_t size = mark_slurp(dir, text);
	json_t *root;
	bool good;

	*mark = (struct audit_mark){ 0 };
	memcpy(mark->end.hash, audit_zeros, AUDIT_HASH);
	if (size < 0)
		return errno == ENOENT ? 1 : error_errno(err, "cannot read " AUDIT_HEAD);
	root = json_loadb(text, (size_t)size, 0, NULL);
	good = root && mark_from_json(root, mark);
	json_decref(root);
	return good ? 0 : error_set(err, ERROR_FAILED, 0, AUDIT_HEAD " was changed: it is not as emberbox writes it");
}

/*
 * Overwrites one block in place, which is atomic unless the machine loses
 * power; the chain detects that case. Replacing the file would wake every
 * watcher of the directory.
 */
int audit_mark_write(int dir, const struct audit_mark *mark, struct error *err)
{
	_cleanup_close_ int fd = openat(dir, AUDIT_HEAD, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
	/* The first one is created by a rename: an empty file would be invalid. */
	const bool first = fd < 0 && errno == ENOENT;
	char text[MARK_SIZE + 1], next[128] = "null";
	int size;

	if (mark->next.seq)
		snprintf(next, sizeof(next), "{\"seq\":%" PRIu64 ",\"hash\":\"%s\"}", mark->next.seq, mark->next.hash);
	size = snprintf(text, sizeof(text),
			"{\"seq\":%" PRIu64 ",\"hash\":\"%s\",\"size\":%" PRIu64 ",\"next\":%s,\"synced\":%" PRIu64
			",\"boot\":\"%s\"}\n",
			mark->end.seq, mark->end.hash, mark->size, next, mark->synced, mark->boot);
	memset(text + size - 1, ' ', (size_t)(MARK_SIZE - size));
	text[MARK_SIZE - 1] = '\n';
	if (first)
		fd = openat(dir, AUDIT_HEAD ".new", O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0 || pwrite(fd, text, MARK_SIZE, 0) != MARK_SIZE ||
	    (first && renameat(dir, AUDIT_HEAD ".new", dir, AUDIT_HEAD) < 0))
		return error_errno(err, "cannot write " AUDIT_HEAD);
	return 0;
}

/* audit.log has no number in its name, and is the last. */
static int by_first(const void *a, const void *b)
{
	uint64_t left = ((const struct audit_file *)a)->first - 1, right = ((const struct audit_file *)b)->first - 1;

	return left < right ? -1 : left > right;
}

static int files_add(struct audit_files *files, int dir, const char *name, uint64_t first, struct error *err)
{
	struct audit_file *grown = realloc(files->list, (files->count + 1) * sizeof(*grown));
	struct audit_file *added;

	if (!grown)
		return error_set(err, ERROR_FAILED, ENOMEM, "cannot read the audit log");
	files->list = grown;
	added = &grown[files->count];
	*added = (struct audit_file){ .first = first, .fd = fd_open_beneath(dir, name, O_RDONLY) };
	snprintf(added->name, sizeof(added->name), "%s", name);
	if (added->fd < 0)
		return errno == ENOENT ? 0 : error_errno(err, "cannot read %s", name);
	files->count++;
	return 0;
}

/* "audit-17.log" → 17; 0: not a file of the log. */
static uint64_t first_of_name(const char *name)
{
	char again[40];
	uint64_t first = 0;

	if (sscanf(name, "audit-%" SCNu64 ".log", &first) != 1)
		return 0;
	snprintf(again, sizeof(again), "audit-%" PRIu64 ".log", first);
	return strcmp(again, name) == 0 ? first : 0;
}

uint64_t audit_first_entry(int fd)
{
	char head[64];
	ssize_t n = pread(fd, head, sizeof(head) - 1, 0);
	uint64_t seq = 0;

	head[n > 0 ? n : 0] = '\0';
	return sscanf(head, "{\"seq\":%" SCNu64 ",", &seq) == 1 ? seq : 0;
}

/* While the list was read, audit.log may have been renamed, and its successors too; a list has some of the files that
 * appear meanwhile. So the file that we opened as audit.log is the end. Files that claim to be newer without a rename
 * are kept, and reported as wrong. */
static void drop_newer(int dir, struct audit_files *files)
{
	struct audit_file *log = files->count < 2 ? NULL : &files->list[files->count - 1];
	struct stat ours, there;
	uint64_t first;

	if (!log || log->first != 0 || fstat(log->fd, &ours) < 0)
		return;
	if (fstatat(dir, AUDIT_LOG, &there, AT_SYMLINK_NOFOLLOW) == 0 && there.st_ino == ours.st_ino &&
	    there.st_dev == ours.st_dev)
		return;
	first = audit_first_entry(log->fd);
	for (; first > 0 && files->count > 1 && log[-1].first >= first; log--, files->count--) {
		close_fd(&log[-1].fd);
		log[-1] = log[0];
	}
}

static int files_look(int dir, struct audit_files *files, struct error *err)
{
	_cleanup_closedir_ DIR *entries = NULL;
	int listing;

	*files = (struct audit_files){ 0 };
	/* audit.log is opened first, so that a rename meanwhile does not hide it. */
	if (files_add(files, dir, AUDIT_LOG, 0, err) < 0)
		return -1;
	listing = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	entries = listing < 0 ? NULL : fdopendir(listing);
	if (!entries) {
		close_fd(&listing);
		return error_errno(err, "cannot read the state directory");
	}
	for (struct dirent *entry; (entry = readdir(entries));) {
		uint64_t first = first_of_name(entry->d_name);

		if (first && files_add(files, dir, entry->d_name, first, err) < 0)
			return -1;
	}
	if (files->count > 0)
		qsort(files->list, files->count, sizeof(*files->list), by_first);
	return 0;
}

int audit_files_open(int dir, struct audit_files *files, struct error *err)
{
	/* During a rotation audit.log is missing for a moment. If it is really missing, the retries do not help. */
	for (int tries = 0;; tries++) {
		bool none;

		if (files_look(dir, files, err) < 0)
			break;
		none = files->count == 0 || files->list[files->count - 1].first != 0;
		if (!none || tries == 100 || faccessat(dir, AUDIT_LOG, F_OK, AT_SYMLINK_NOFOLLOW) < 0) {
			drop_newer(dir, files);
			return 0;
		}
		audit_files_close(files);
	}
	audit_files_close(files);
	return -1;
}

void audit_files_close(struct audit_files *files)
{
	for (size_t i = 0; i < files->count; i++)
		close_fd(&files->list[i].fd);
	free(files->list);
	*files = (struct audit_files){ 0 };
}
