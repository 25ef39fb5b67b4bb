#include "engine/local/pending.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/own.h"
#include "engine/ember/notice.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
	ITEMS_MAX = 8192,   /* pieces that CPython keeps at most: it joins them at 8 KiB */
	ITEM_AHEAD = 256,   /* bytes that are read of a piece before its size is known */
	STOP_USEC = 20000,  /* for the box's processes to stop */
	STOP_STEP = 200000, /* nanoseconds between two looks */
};

/* ---- Memory of a process, by addresses that it says itself. */

static bool memory_read(int memory, uint64_t address, void *to, size_t size)
{
	return address < INT64_MAX - size && pread(memory, to, size, (off_t)address) == (ssize_t)size;
}

/* The members of the C library's FILE that tell what is not written yet. They stand there since ever. */
struct file_part {
	uint64_t write_base; /* begins here… */
	uint64_t write_next; /* …and ends here */
};
enum {
	FILE_PART = 32,
	FILE_NUMBER = 112,
};

static long read_stdio(int memory, const struct notice *notice, char *text)
{
	struct file_part before, after;
	uint64_t size;
	int number;

	if (!memory_read(memory, notice->stream + FILE_PART, &before, sizeof(before)) ||
	    !memory_read(memory, notice->stream + FILE_NUMBER, &number, sizeof(number)) || number != STDOUT_FILENO)
		return -1;
	size = before.write_next - before.write_base;
	if (size > PENDING_MAX || !memory_read(memory, before.write_base, text, size))
		return -1;
	/* It may have been written meanwhile, and something else stand there. */
	if (!memory_read(memory, notice->stream + FILE_PART, &after, sizeof(after)) ||
	    after.write_base != before.write_base || after.write_next < before.write_next)
		return -1;
	return (long)size;
}

/* CPython's objects: a counter, the type, and for those with a length that. */
struct object_head {
	uint64_t count;
	uint64_t type;
	uint64_t length;
};

struct object_list {
	struct object_head head;
	uint64_t items;
};

enum {
	BYTES_DATA = 32 /* of bytes, where they are */
};

static long read_item(int memory, const struct notice *notice, uint64_t address, char *text, size_t room)
{
	_Alignas(uint64_t) char block[ITEM_AHEAD];
	const struct object_head *head = (const void *)block;
	size_t data;
	ssize_t got = address < INT64_MAX ? pread(memory, block, sizeof(block), (off_t)address) : -1;

	if (got < BYTES_DATA)
		return -1;
	if (head->type == notice->bytes_type)
		data = BYTES_DATA;
	else if (head->type == notice->text_type && notice->characters < sizeof(block))
		data = notice->characters;
	else
		return -1;
	if (head->length > room)
		return -1;
	if (data + head->length <= (size_t)got)
		memcpy(text, block + data, head->length);
	else if (!memory_read(memory, address + data, text, head->length))
		return -1;
	return (long)head->length;
}

static long read_list(int memory, const struct notice *notice, uint64_t address, char *text, size_t room)
{
	_cleanup_free_ uint64_t *items = NULL;
	struct object_list list;
	size_t size = 0;

	if (!memory_read(memory, address, &list, sizeof(list)) || list.head.type != notice->list_type ||
	    list.head.length > ITEMS_MAX)
		return -1;
	items = calloc(list.head.length + 1, sizeof(*items));
	if (!items || !memory_read(memory, list.items, items, list.head.length * sizeof(*items)))
		return -1;
	for (uint64_t i = 0; i < list.head.length; i++) {
		long n = read_item(memory, notice, items[i], text + size, room - size);

		if (n < 0)
			return -1;
		size += (size_t)n;
	}
	return (long)size;
}

/* What makes up the state of CPython's two layers. */
struct python_state {
	uint64_t types[2];   /* of stream and buffer */
	uint64_t pending[2]; /* of the stream: the object, and how many bytes that is */
	uint64_t data;       /* of the buffer: where it is… */
	uint64_t from;       /* …and what of it is not written: from here… */
	int64_t end;         /* …to here; -1: nothing */
};

static bool python_state(int memory, const struct notice *notice, struct python_state *state)
{
	struct object_head head[2];

	if (!memory_read(memory, notice->stream, &head[0], sizeof(head[0])) ||
	    !memory_read(memory, notice->buffer, &head[1], sizeof(head[1])) ||
	    !memory_read(memory, notice->stream + notice->pending, state->pending, sizeof(state->pending)) ||
	    !memory_read(memory, notice->buffer + NOTICE_BUFFER_DATA, &state->data, sizeof(state->data)) ||
	    !memory_read(memory, notice->buffer + NOTICE_BUFFER_WRITE_FROM, &state->from, sizeof(state->from)) ||
	    !memory_read(memory, notice->buffer + NOTICE_BUFFER_WRITE_END, &state->end, sizeof(state->end)))
		return false;
	state->types[0] = head[0].type;
	state->types[1] = head[1].type;
	return state->types[0] == notice->stream_type && state->types[1] == notice->buffer_type;
}

static long read_python(int memory, const struct notice *notice, char *text)
{
	struct python_state before = { 0 }, after = { 0 };
	uint64_t kept = 0;
	long n = 0;

	if (!python_state(memory, notice, &before))
		return -1;
	if (before.end > 0 && (uint64_t)before.end > before.from) {
		kept = (uint64_t)before.end - before.from;
		if (kept > PENDING_MAX || !memory_read(memory, before.data + before.from, text, kept))
			return -1;
	}
	if (before.pending[0] != 0) {
		n = read_item(memory, notice, before.pending[0], text + kept, PENDING_MAX - kept);
		if (n < 0)
			n = read_list(memory, notice, before.pending[0], text + kept, PENDING_MAX - kept);
	}
	/* Only what has stood still is whole: it goes from one layer to the other, and objects are used again. */
	if (n < 0 || !python_state(memory, notice, &after) || memcmp(&before, &after, sizeof(before)) != 0)
		return -1;
	return (long)kept + n;
}

static long read_ruby(int memory, const struct notice *notice, char *text)
{
	struct notice_ruby_buffer before, after;
	int number;

	if (!memory_read(memory, notice->stream + notice->pending, &before, sizeof(before)) ||
	    !memory_read(memory, notice->stream + notice->number, &number, sizeof(number)) || number != STDOUT_FILENO ||
	    before.offset < 0 || before.length < 0 || before.length > PENDING_MAX ||
	    !memory_read(memory, before.data + (uint64_t)before.offset, text, (size_t)before.length))
		return -1;
	/* Only what has stood still is whole. */
	if (!memory_read(memory, notice->stream + notice->pending, &after, sizeof(after)) ||
	    memcmp(&before, &after, sizeof(before)) != 0)
		return -1;
	return before.length;
}

enum {
	LAYERS_MAX = 4 /* of a handle: what converts, what buffers, what writes */
};

/* From the topmost to the one that writes; how many have a buffer, or -1. */
static int perl_layers(int memory, const struct notice *notice, struct notice_perl_layer layers[LAYERS_MAX])
{
	static const char *const kinds[] = { "perlio", "crlf", "encoding" };
	uint64_t at;

	if (!memory_read(memory, notice->stream, &at, sizeof(at)))
		return -1;
	for (int i = 0; i < LAYERS_MAX; i++) {
		struct notice_perl_layer *layer = &layers[i];
		uint64_t table[2]; /* a size, and where its name is */
		char name[9] = "";
		bool known = false;

		if (at == 0 || !memory_read(memory, at, layer, sizeof(*layer)) ||
		    !memory_read(memory, layer->kind, table, sizeof(table)) ||
		    !memory_read(memory, table[1], name, sizeof(name) - 1))
			return -1;
		if (strcmp(name, "unix") == 0) {
			const bool output = (uint32_t)layer->data == STDOUT_FILENO;

			/* It is shorter than the others. */
			*layer = (struct notice_perl_layer){ 0 };
			return output ? i : -1;
		}
		for (size_t k = 0; k < ARRAY_SIZE(kinds); k++)
			known |= strncmp(name, kinds[k], sizeof(name) - 1) == 0;
		if (!known)
			return -1;
		at = layer->below;
	}
	return -1;
}

static long read_perl(int memory, const struct notice *notice, char *text)
{
	struct notice_perl_layer before[LAYERS_MAX] = { 0 }, after[LAYERS_MAX] = { 0 };
	const int count = perl_layers(memory, notice, before);
	size_t size = 0;

	/* What is in a lower one was printed before what is in the one above. */
	for (int i = count - 1; i >= 0; i--) {
		const uint64_t held = before[i].flags & NOTICE_PERL_WRITES ? before[i].next - before[i].data : 0;

		if (held > PENDING_MAX - size || !memory_read(memory, before[i].data, text + size, held))
			return -1;
		size += held;
	}
	if (count < 0 || perl_layers(memory, notice, after) != count || memcmp(before, after, sizeof(before)) != 0)
		return -1;
	return (long)size;
}

/* Whether its standard output is that pipe. */
static bool is_for(int proc, const char *pid, int output)
{
	struct stat pipe, its;
	char path[32];

	snprintf(path, sizeof(path), "%.10s/fd/1", pid);
	return fstat(output, &pipe) == 0 && fstatat(proc, path, &its, 0) == 0 && pipe.st_ino == its.st_ino &&
	       pipe.st_dev == its.st_dev;
}

long pending_read(int proc, const char *pid, int output, char *text)
{
	_cleanup_close_ int memory = -1;
	struct notice notice;
	char path[32];

	snprintf(path, sizeof(path), "%.10s/mem", pid);
	memory = openat(proc, path, O_RDONLY | O_CLOEXEC);
	if (memory < 0 || !memory_read(memory, NOTICE_ADDRESS, &notice, sizeof(notice)) ||
	    notice.magic != NOTICE_MAGIC || !is_for(proc, pid, output))
		return -1;
	switch (notice.kind) {
	case NOTICE_STDIO:
		return read_stdio(memory, &notice, text);
	case NOTICE_PYTHON:
		return read_python(memory, &notice, text);
	case NOTICE_RUBY:
		return read_ruby(memory, &notice, text);
	case NOTICE_PERL:
		return read_perl(memory, &notice, text);
	default:
		return -1;
	}
}

/* ---- Before a box is killed. */

static bool is_stopped(int proc, const char *pid)
{
	char path[32], text[512], *end;

	snprintf(path, sizeof(path), "%.10s/stat", pid);
	if (fd_slurp(proc, path, text, sizeof(text)) <= 0)
		return true;
	end = strrchr(text, ')');
	return !end || strlen(end) < 3 || strchr("TtZX", end[2]);
}

/* False: some are not stopped yet. */
static bool stop_all(DIR *dir, int proc)
{
	struct dirent *entry;
	bool stopped = true;

	rewinddir(dir);
	while ((entry = readdir(dir))) {
		_cleanup_close_ int process = -1;

		if (entry->d_name[0] < '1' || entry->d_name[0] > '9' || strcmp(entry->d_name, "1") == 0 ||
		    is_stopped(proc, entry->d_name))
			continue;
		stopped = false;
		process = openat(proc, entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (process >= 0)
			syscall(SYS_pidfd_send_signal, process, SIGSTOP, NULL, 0);
	}
	return stopped;
}

void pending_stop(int proc)
{
	const struct timespec step = { .tv_nsec = STOP_STEP };
	uint64_t end = clock_usec() + STOP_USEC;
	int own = openat(proc, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_closedir_ DIR *dir = own >= 0 ? fdopendir(own) : NULL;

	if (!dir && own >= 0)
		close(own);
	while (dir && !stop_all(dir, proc) && clock_usec() < end)
		nanosleep(&step, NULL);
}

void pending_continue(int proc, const char *pid)
{
	_cleanup_close_ int process = openat(proc, pid, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (process >= 0)
		syscall(SYS_pidfd_send_signal, process, SIGCONT, NULL, 0);
}

enum pending_place pending_place(int proc, const char *pid)
{
	char path[32], text[256];
	long call;

	snprintf(path, sizeof(path), "%.10s/syscall", pid);
	/* "running", or the call's number, -1 in none. */
	if (fd_slurp(proc, path, text, sizeof(text)) <= 0 || text[0] < '0' || text[0] > '9')
		return PENDING_RUNS;
	call = strtol(text, NULL, 10);
	if (call == SYS_write || call == SYS_writev)
		return PENDING_WRITES;
	return call == SYS_futex ? PENDING_LOCKS : PENDING_WAITS;
}

uint64_t pending_run_time(int proc, const char *pid)
{
	char path[32], text[128];

	snprintf(path, sizeof(path), "%.10s/schedstat", pid);
	return fd_slurp(proc, path, text, sizeof(text)) > 0 ? strtoull(text, NULL, 10) : 0;
}

/* ---- What was shown ahead. */

int ahead_add(struct ahead *ahead, const char *text, size_t size)
{
	if (ahead->size + size > ahead->room) {
		size_t room = ahead->size + size + 4096;
		char *more = realloc(ahead->text, room);
		uint32_t *back;

		if (!more)
			return -1;
		ahead->text = more;
		back = realloc(ahead->back, room * sizeof(*back));
		if (!back)
			return -1;
		ahead->back = back;
		ahead->room = room;
	}
	for (size_t i = 0; i < size; i++) {
		size_t at = ahead->size++;
		uint32_t length = at > 0 ? ahead->back[at - 1] : 0;

		ahead->text[at] = text[i];
		while (length > 0 && ahead->text[length] != text[i])
			length = ahead->back[length - 1];
		ahead->back[at] = at > 0 && ahead->text[length] == text[i] ? length + 1 : 0;
	}
	return 0;
}

size_t ahead_take(struct ahead *ahead, const char *data, size_t size, char *out)
{
	size_t made = 0;

	for (size_t i = 0; i < size; i++) {
		if (ahead->size == 0) {
			memcpy(out + made, data + i, size - i);
			return made + size - i;
		}
		while (ahead->found > 0 && ahead->text[ahead->found] != data[i]) {
			size_t kept = ahead->back[ahead->found - 1];

			/* It was the beginning of something else. */
			memcpy(out + made, ahead->text, ahead->found - kept);
			made += ahead->found - kept;
			ahead->found = kept;
		}
		if (ahead->text[ahead->found] == data[i])
			ahead->found++;
		else
			out[made++] = data[i];
		if (ahead->found == ahead->size)
			ahead->size = ahead->found = 0;
	}
	return made;
}

void ahead_clear(struct ahead *ahead)
{
	free(ahead->text);
	free(ahead->back);
	*ahead = (struct ahead){ 0 };
}
