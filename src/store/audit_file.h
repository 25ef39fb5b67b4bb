/* Shared by the writer (audit.c) and the readers (audit_verify.c, audit_tail.c) of the audit log: the format of a line
 * and of the head, and the list of files. */
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
	AUDIT_HASH = 65,             /* bytes of a hash as text, including the NUL */
	AUDIT_LINE_MAX = 1 << 20,    /* maximum bytes of a line */
	AUDIT_FIELDS_MAX = 256 << 10 /* maximum bytes of the fields of an entry */
};

/* The end of a chain. */
struct audit_end {
	uint64_t seq;          /* number of the last entry; 0: none */
	char hash[AUDIT_HASH]; /* its hash; zeros if there is none */
};

/* The content of audit.head. */
struct audit_mark {
	struct audit_end end;  /* end of the flushed log */
	uint64_t size;         /* size of audit.log at that end */
	struct audit_end next; /* end of the batch that is being written; seq 0: none */
	uint64_t synced;       /* the last entry that is known to be on the disk */
	char boot[40];         /* the kernel's boot_id; another one means that the machine was restarted */
};

/* An entry in a file; the pointers are into its line. */
struct audit_line {
	uint64_t seq;         /* its number */
	const char *previous; /* 64 digits */
	const char *hash;     /* 64 digits */
	bool sound;           /* the hash matches the line */
};

/* The files of a log in order: the renamed ones, then audit.log. */
struct audit_files {
	struct audit_file {
		char name[40];  /* name in the state directory */
		uint64_t first; /* the first entry according to its name; 0: audit.log */
		int fd;         /* opened for reading */
	} * list;               /* an array */
	size_t count;           /* number of files */
};

extern const char audit_zeros[AUDIT_HASH];

/* Parses a line without its newline. False if it is no entry. */
bool audit_line_read(const char *line, size_t size, struct audit_line *out);
/* Adds the hashes, the end and a newline to the line that starts at `start` in the buffer. */
void audit_line_close(struct buf *batch, size_t start, const char *previous, char hash[AUDIT_HASH]);

void audit_boot(char boot[40]);
/* Whether the machine was restarted after the head was written. */
bool audit_rebooted(const struct audit_mark *mark);
/* Returns 1 if there is none. */
int audit_mark_read(int dir, struct audit_mark *mark, struct error *err);
int audit_mark_write(int dir, const struct audit_mark *mark, struct error *err);
bool audit_end_same(const struct audit_end *a, const struct audit_end *b);

int audit_files_open(int dir, struct audit_files *files, struct error *err);
void audit_files_close(struct audit_files *files);

/* The number of a file's first entry, read from the file; 0: none. */
uint64_t audit_first_entry(int fd);
/* Reads the entry that ends at `offset` of a file. False if there is none. */
bool audit_entry_before(int fd, uint64_t offset, struct audit_end *end);

/* The traces of a crash that audit_recover() found. */
struct audit_recovered {
	uint64_t torn; /* bytes of an incomplete line, now in audit.torn */
	uint64_t lost; /* entries that were not on the disk when the machine crashed */
};

/* Opens audit.log for appending. */
int audit_log_open(int dir, int flags);
/* Sets the error; returns -1. */
int audit_tampered(struct error *err, const char *format, ...) EB_PRINTF(2, 3);
/* Opens or creates the log and finds its end, which is then in *mark. A state that neither we nor a crash could have
 * left is an error. */
int audit_recover(int dir, int *log, struct audit_mark *mark, struct audit_recovered *found, struct error *err);
