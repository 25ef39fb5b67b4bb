#include "engine/ember/notice_page.h"

#include "engine/ember/ember_wire.h"
#include "engine/ember/library.h"
#include "engine/ember/notice.h"
#include "engine/ember/python_api.h"
#include "language/expand.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

enum {
	WORDS_FIRST = 2,  /* of an object, behind its counter and type */
	WORDS_LOOKED = 24 /* at, of a TextIOWrapper */
};

static struct notice *page;

bool notice_is_plain(void)
{
	return fcntl(STDIN_FILENO, F_GETPIPE_SZ) == NOTICE_PLAIN_PAGES * (int)sysconf(_SC_PAGESIZE);
}

void notice_withdraw(void)
{
	if (page)
		page->kind = NOTICE_NONE;
}

int notice_put(const struct notice *notice)
{
	void *at = (void *)(uintptr_t)NOTICE_ADDRESS;

	if (!page && mmap(at, sizeof(*notice), PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != at)
		return -1;
	page = at;
	*page = *notice;
	return 0;
}

int notice_put_stdio(void)
{
	return notice_put(&(struct notice){ .magic = NOTICE_MAGIC, .kind = NOTICE_STDIO, .stream = (uintptr_t)stdout });
}

char **notice_environment(char **envp, const char *entry)
{
	const size_t room = sizeof(EMBER_VARIABLE "=" EMBER_NOTICE ":") + strlen(entry);
	char *place = malloc(room), **all;
	size_t count = 0;

	while (envp[count])
		count++;
	all = calloc(count + 3, sizeof(*all));
	if (!place || !all)
		return NULL;
	memcpy(all, envp, count * sizeof(*all));
	snprintf(place, room, EMBER_VARIABLE "=" EMBER_NOTICE ":%s", entry);
	all[count++] = (char *)"LD_PRELOAD=" BOX_DRIVERS "/" EMBER_LIBRARY;
	all[count] = place;
	return all;
}

/* Where a TextIOWrapper keeps what was written to it: a text that it was given is found there, and how long it is. */
static int pending_find(object *stream, object *text, size_t length, struct notice *notice)
{
	const uintptr_t *words = (const uintptr_t *)stream;

	for (uint32_t i = WORDS_FIRST; i < WORDS_LOOKED; i++) {
		if (words[i] == (uintptr_t)text && words[i + 1] == length) {
			notice->pending = i * (uint32_t)sizeof(*words);
			return 0;
		}
	}
	return -1;
}

static uint64_t word_at(object *from, size_t offset)
{
	uint64_t word;

	memcpy(&word, (const char *)from + offset, sizeof(word));
	return word;
}

static bool buffer_is_known(object *buffer, const char *text, size_t length)
{
	return word_at(buffer, NOTICE_BUFFER_WRITE_END) == length &&
	       word_at(buffer, NOTICE_BUFFER_POSITION) == length && word_at(buffer, NOTICE_BUFFER_WRITE_FROM) == 0 &&
	       memcmp((const void *)(uintptr_t)word_at(buffer, NOTICE_BUFFER_DATA), text, length) == 0;
}

/* With streams of our own, into nowhere. */
static int layout_find(struct notice *notice)
{
	static const char sample[] = "emberbox looks";
	const size_t length = sizeof(sample) - 1;
	object *io = py.PyImport_ImportModule("io");
	object *nowhere = io ? py.PyObject_CallMethod(io, "BytesIO", NULL) : NULL;
	object *buffer = nowhere ? py.PyObject_CallMethod(io, "BufferedWriter", "O", nowhere) : NULL;
	object *stream = buffer ? py.PyObject_CallMethod(io, "TextIOWrapper", "Os", buffer, "utf-8") : NULL;
	object *text = stream ? py.PyUnicode_DecodeFSDefault(sample) : NULL;
	const char *characters = text ? py.PyUnicode_AsUTF8(text) : NULL;
	int done = -1;

	if (characters && dropped(py.PyObject_CallMethod(stream, "write", "O", text)) == 0 &&
	    pending_find(stream, text, length, notice) == 0 &&
	    dropped(py.PyObject_CallMethod(stream, "flush", NULL)) == 0 &&
	    dropped(py.PyObject_CallMethod(buffer, "write", "y", sample)) == 0 &&
	    buffer_is_known(buffer, sample, length))
		done = 0;
	notice->characters = (uint32_t)(characters - (const char *)text);
	py.PyErr_Clear();
	dropped(text);
	dropped(stream);
	dropped(buffer);
	dropped(nowhere);
	dropped(io);
	return done;
}

static uint64_t type_of(object *of)
{
	object *type = py.PyObject_Type(of);

	dropped(type); /* its object keeps it */
	return (uintptr_t)type;
}

int notice_put_python(void)
{
	object *stream = py.PySys_GetObject("stdout");
	object *buffer = stream ? py.PyObject_GetAttrString(stream, "buffer") : NULL;
	struct notice notice = {
		.magic = NOTICE_MAGIC,
		.kind = NOTICE_PYTHON,
		.stream = (uintptr_t)stream,
		.buffer = (uintptr_t)buffer,
		.bytes_type = (uintptr_t)py.PyBytes_Type,
		.text_type = (uintptr_t)py.PyUnicode_Type,
		.list_type = (uintptr_t)py.PyList_Type,
	};

	if (!buffer || layout_find(&notice) < 0) {
		dropped(buffer);
		py.PyErr_Clear();
		return -1;
	}
	notice.stream_type = type_of(stream);
	notice.buffer_type = type_of(buffer);
	dropped(buffer);
	return notice_put(&notice);
}
