/*
 * The journal's file, as its writers and its one reader see it.
 *
 *	header            64 bytes: what it is, and its generation
 *	frame, parts      a record: a head of 64 bytes, then up to three parts
 *	frame, parts      …
 *
 * A generation is 16 random bytes. Each frame begins with it, so what a
 * program wrote into its output or its code can never be taken for a record,
 * wherever a reader looks for the next one. It never changes for a file: the
 * reader begins a new one by renaming a file with another generation over the
 * old, when all of that is taken, so (generation, offset) names a record for
 * ever, and there is no moment at which the journal is half anything.
 *
 * Locks (flock): a writer holds a shared one around its single write; who
 * replaces the file, or cuts off what a dead writer left half written, holds it
 * alone. A writer that got its lock on a file that has no name any more opens
 * the new one.
 *
 * After a crash of the machine the file may be shorter than it was, while the
 * store remembers an offset behind its end; so no file is appended to that was
 * begun before the machine was: it is put aside as journal.old.GENERATION, from
 * which the reader takes what is left before anything else.
 *
 * What is half written is passed over: the reader looks for the next frame, and
 * cuts off the file's end if there is none.
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
	JOURNAL_PARTS = 3,              /* of a record */
	JOURNAL_HEAD = 64,              /* bytes of the file's header, and of a frame */
	JOURNAL_GENERATION = 16,        /* bytes */
	JOURNAL_LONG = 4 << 20,         /* bytes of a file that is begun anew when all of it is taken: some 2000 runs */
	JOURNAL_RECORD_MAX = 256 << 20, /* bytes of one record; larger: not one of ours */
};

enum record_kind {
	RECORD_START = 'S',
	RECORD_END = 'E',
	RECORD_REFUSED = 'R',
	RECORD_EVENT = 'V',
};

struct journal_frame {
	unsigned char generation[JOURNAL_GENERATION]; /* of the file */
	char magic[4];                                /* "EBJ1" */
	uint32_t kind;                                /* enum record_kind; others are passed over */
	uint64_t sizes[JOURNAL_PARTS];                /* bytes of each part */
	uint64_t unused;                              /* 0 */
	uint64_t sum;                                 /* of all of it, with 0 here */
};
_Static_assert(sizeof(struct journal_frame) == JOURNAL_HEAD, "a frame is 64 bytes");

struct journal_header {
	char magic[24];                               /* "emberbox journal 1\n" */
	unsigned char generation[JOURNAL_GENERATION]; /* of this file */
	unsigned char boot[16];                       /* of the machine, when it was begun; 0: not known */
	uint64_t sum;                                 /* of all of it, with 0 here */
};
_Static_assert(sizeof(struct journal_header) == JOURNAL_HEAD, "the header is as long as a frame");

/* The current file, made if need be; -1 with `err`. Open for reading and appending. */
int journal_file_open(int dir, unsigned char generation[JOURNAL_GENERATION], struct error *err);
#define JOURNAL_OLD "journal.old." /* and the generation */
/* Which generation an open file has; false: it is no journal. */
bool journal_generation(int fd, unsigned char generation[JOURNAL_GENERATION]);
/* One with nothing but a header, under another name. */
int journal_file_new(int dir, const char *name, struct error *err);
uint64_t journal_sum(uint64_t seed, const void *data, size_t size);
/* A whole record, by one write. */
int journal_append(struct journal *journal, enum record_kind kind, const struct iovec parts[JOURNAL_PARTS],
		   struct error *err);
/* The journal's own place: the state directory, and the number by which others see that this writer lives. */
int journal_dir(const struct journal *journal);
uint64_t journal_writer(const struct journal *journal);
/* What record_start() knows and record_end() needs: the digest of the code, which is not made twice. */
void journal_note(struct journal *journal, const char *id, const unsigned char digest[32]);
bool journal_noted(struct journal *journal, const char *id, unsigned char digest[32]);

/* Whether the writer of that number lives: it holds a lock that ends with it, in whatever namespace it is. */
bool journal_writer_lives(int dir, uint64_t writer);

/* The one reader. */
struct journal_reader {
	int dir;                                      /* the state directory; borrowed */
	int fd;                                       /* the file that is read; -1: none yet */
	int current;                                  /* the journal, while an old one is read; -1 */
	char old[64];                                 /* the old one's name; "": it is the journal that is read */
	unsigned char generation[JOURNAL_GENERATION]; /* its */
	uint64_t offset;                              /* of the next record */
	uint64_t skipped;                             /* bytes that were no record, so far */
	char *data;                                   /* the last record's parts; owned */
	size_t room;                                  /* of it */
};

struct journal_record {
	enum record_kind kind;            /* what it is */
	uint64_t offset;                  /* where it stands */
	const char *parts[JOURNAL_PARTS]; /* each followed by a zero; the reader's, until the next is read */
	size_t sizes[JOURNAL_PARTS];      /* of them */
};

void journal_reader_init(struct journal_reader *reader, int dir);
void journal_reader_free(struct journal_reader *reader);
/* Finds the file to read, which may be one that was put aside. 1; 0: there is none; -1. If it is another than before,
 * it is read from its beginning; a file of generation `known` comes before others. */
int journal_reader_open(struct journal_reader *reader, const unsigned char known[JOURNAL_GENERATION],
			struct error *err);
/* All of one that was put aside is read, and that is safe: it goes. */
void journal_reader_done(struct journal_reader *reader);
/* 1 with the next record; 0: there is none yet; -1. */
int journal_read(struct journal_reader *reader, struct journal_record *record, struct error *err);
/* Bytes that are there and not read. */
uint64_t journal_left(const struct journal_reader *reader);
/* Begins a new file if all of this one is read; nothing otherwise. What was read must be safe before. */
int journal_renew(struct journal_reader *reader, struct error *err);
