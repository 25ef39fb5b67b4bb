/*
 * The format of the journal's file, for its writers and its reader.
 *
 *	header            64 bytes: magic and generation
 *	frame, parts      a record: a frame of 64 bytes, then up to three parts
 *	frame, parts      …
 *
 * A generation is 16 random bytes. Each frame begins with it, so a reader that
 * searches for the next record cannot mistake a program's output or code for
 * one. A file keeps its generation. When all records are taken, the reader
 * renames a new file with another generation over the old one. So (generation,
 * offset) identifies a record for ever, and the replacement is atomic.
 *
 * Locks (flock): a writer holds a shared lock around its single write; a
 * process that replaces the file, or truncates an incomplete record, holds an
 * exclusive one. A writer whose locked file has no name any more opens the new
 * one.
 *
 * After a crash of the machine the file may be shorter, while the store
 * remembers an offset beyond its end. So a file from before the boot is not
 * appended to: it is renamed to journal.old.GENERATION, and the reader takes
 * its remaining records first.
 *
 * The reader skips an incomplete record: it searches for the next frame, and
 * truncates the file if there is none.
 */
#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "store/record.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

enum {
	JOURNAL_PARTS = 3,              /* parts of a record */
	JOURNAL_HEAD = 64,              /* bytes of the file's header, and of a frame */
	JOURNAL_GENERATION = 16,        /* bytes of a generation */
	JOURNAL_LONG = 4 << 20,         /* a longer file is replaced when all records are taken: some 2000 runs */
	JOURNAL_RECORD_MAX = 256 << 20, /* maximum bytes of a record */
};

enum record_kind {
	RECORD_START = 'S',
	RECORD_END = 'E',
	RECORD_REFUSED = 'R',
	RECORD_EVENT = 'V',
};

struct journal_frame {
	unsigned char generation[JOURNAL_GENERATION]; /* the file's generation */
	char magic[4];                                /* "EBJ1" */
	uint32_t kind;                                /* enum record_kind; unknown kinds are skipped */
	uint64_t sizes[JOURNAL_PARTS];                /* bytes of each part */
	uint64_t unused;                              /* always 0 */
	uint64_t sum;                                 /* checksum of the record, with 0 in this member */
};
_Static_assert(sizeof(struct journal_frame) == JOURNAL_HEAD, "a frame is 64 bytes");

struct journal_header {
	char magic[24];                               /* "emberbox journal 1\n" */
	unsigned char generation[JOURNAL_GENERATION]; /* the file's generation */
	unsigned char boot[16];                       /* boot_id when the file was created; 0: unknown */
	uint64_t sum;                                 /* checksum of the header, with 0 in this member */
};
_Static_assert(sizeof(struct journal_header) == JOURNAL_HEAD, "the header is as long as a frame");

/* The current file, open for reading and appending, created if needed; -1 with `err`. */
int journal_file_open(int dir, unsigned char generation[JOURNAL_GENERATION], struct error *err);
#define JOURNAL_OLD "journal.old." /* prefix; the generation follows */
/* The generation of an open file. False if it is no journal. */
bool journal_generation(int fd, unsigned char generation[JOURNAL_GENERATION]);
/* Creates a file with only a header, under another name. */
int journal_file_new(int dir, const char *name, struct error *err);
uint64_t journal_sum(uint64_t seed, const void *data, size_t size);
/* Appends a record by one write. */
int journal_append(struct journal *journal, enum record_kind kind, const struct iovec parts[JOURNAL_PARTS],
		   struct error *err);
/* The state directory, and the number that shows others that this writer is alive. */
int journal_dir(const struct journal *journal);
uint64_t journal_writer(const struct journal *journal);
/* Passes the code's digest from record_start() to record_end(), so that it is computed once. */
void journal_note(struct journal *journal, const char *id, const unsigned char digest[32]);
bool journal_noted(struct journal *journal, const char *id, unsigned char digest[32]);

/* Whether the writer with that number is alive: it holds a lock that ends with its process, in any namespace. */
bool journal_writer_lives(int dir, uint64_t writer);

/* The single reader. */
struct journal_reader {
	int dir;                                      /* the state directory; borrowed */
	int fd;                                       /* the open file; -1: none */
	int current;                                  /* the journal, while an old file is read; -1 */
	char old[64];                                 /* name of the old file; "": the journal is read */
	unsigned char generation[JOURNAL_GENERATION]; /* generation of the open file */
	uint64_t offset;                              /* offset of the next record */
	uint64_t skipped;                             /* bytes that were skipped so far */
	char *data;                                   /* parts of the last record; owned */
	size_t room;                                  /* allocated bytes */
};

struct journal_record {
	enum record_kind kind;            /* kind of the record */
	uint64_t offset;                  /* its offset */
	const char *parts[JOURNAL_PARTS]; /* each terminated by a NUL; valid until the next read */
	size_t sizes[JOURNAL_PARTS];      /* bytes of each */
};

void journal_reader_init(struct journal_reader *reader, int dir);
void journal_reader_free(struct journal_reader *reader);
/* Opens the next file to read: old ones first, of them the one with the generation `known`. Returns 1, 0 if there is
 * none, or -1. A file other than before is read from its beginning. */
int journal_reader_open(struct journal_reader *reader, const unsigned char known[JOURNAL_GENERATION],
			struct error *err);
/* Removes an old file whose records are all taken and safe. */
void journal_reader_done(struct journal_reader *reader);
/* Returns 1 with the next record, 0 if there is none yet, or -1. */
int journal_read(struct journal_reader *reader, struct journal_record *record, struct error *err);
/* Unread bytes of the file. */
uint64_t journal_left(const struct journal_reader *reader);
/* Replaces the journal by a new file if all records are read; otherwise does nothing. The records must be safe
 * before. */
int journal_renew(struct journal_reader *reader, struct error *err);
