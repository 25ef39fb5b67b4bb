/* What the writer (audit.c) and the readers (audit_verify.c, audit_tail.c) of the audit log share: the form of a line,
 * of the head, and which files there are. */
#pragma once

#include "base/buf.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AUDIT_LOG  "audit.log"
#define AUDIT_HEAD "audit.head"
#define AUDIT_TORN "audit.torn"

enum {
	AUDIT_HASH = 65,             /* bytes of a hash as text, its NUL included */
	AUDIT_LINE_MAX = 1 << 20,    /* bytes of a line: more is never written */
	AUDIT_FIELDS_MAX = 256 << 10 /* bytes of the fields of an entry */
};

/* Where a chain ends. */
struct audit_end {
	uint64_t seq;          /* of the last entry; 0: there is none */
	char hash[AUDIT_HASH]; /* its hash; zeros if there is none */
};

/* audit.head */
struct audit_mark {
	struct audit_end end;  /* of the log, as far as it was flushed */
	uint64_t size;         /* of audit.log then */
	struct audit_end next; /* where the batch that is being written ends; seq 0: nothing is being written */
	uint64_t synced;       /* the last entry that is surely on the disk */
	char boot[40];         /* the kernel's boot_id: another one means that the machine went down meanwhile */
};

/* An entry as it stands in a file; the pointers are into its line. */
struct audit_line {
	uint64_t seq;         /* its number */
	const char *previous; /* 64 digits */
	const char *hash;     /* 64 digits */
	bool sound;           /* the hash is that of the line */
};

/* The files of a log in their order: those put aside, then audit.log. */
struct audit_files {
	struct audit_file {
		char name[40];  /* in the state directory */
		uint64_t first; /* the entry that it begins with by its name; 0: audit.log */
		int fd;         /* opened for reading */
	} * list;               /* as many as there are */
	size_t count;           /* how many */
};

extern const char audit_zeros[AUDIT_HASH];

/* `line` is without its newline. False: it is no entry. */
bool audit_line_read(const char *line, size_t size, struct audit_line *out);
/* Closes the line that is begun at `start` in the buffer and lacks its end: adds the hashes and a newline. */
void audit_line_close(struct buf *batch, size_t start, const char *previous, char hash[AUDIT_HASH]);

void audit_boot(char boot[40]);
/* The machine went down since that was written. */
bool audit_rebooted(const struct audit_mark *mark);
/* 1: there is none. */
int audit_mark_read(int dir, struct audit_mark *mark, struct error *err);
int audit_mark_write(int dir, const struct audit_mark *mark, struct error *err);
bool audit_end_same(const struct audit_end *a, const struct audit_end *b);

int audit_files_open(int dir, struct audit_files *files, struct error *err);
void audit_files_close(struct audit_files *files);

/* The number of the entry that a file begins with, by what it says of itself; 0: there is none. */
uint64_t audit_first_entry(int fd);
/* The entry that ends at `offset` of a file, by what it says of itself. False: there is none. */
bool audit_entry_before(int fd, uint64_t offset, struct audit_end *end);

/* What audit_recover() found that a crash had left. */
struct audit_recovered {
	uint64_t torn; /* bytes of half a line, now in audit.torn */
	uint64_t lost; /* entries that the disk never had when the machine went down */
};

/* audit.log, opened for appending. */
int audit_log_open(int dir, int flags);
/* Sets the error; returns -1. */
int audit_tampered(struct error *err, const char *format, ...) EB_PRINTF(2, 3);
/* Opens the log, or begins one, and finds its end, which *mark has then. What is neither as we left it nor as a crash
 * would leave it is an error. */
int audit_recover(int dir, int *log, struct audit_mark *mark, struct audit_recovered *found, struct error *err);
