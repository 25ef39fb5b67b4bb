/*
 * Where a process keeps what it has printed and not written yet.
 *
 * A page at a fixed address of the process itself, so that the supervisor finds
 * it by one read of /proc/PID/mem (engine/local/pending.h). The program can write
 * anything there: what is read by it is the program's own memory, bounded, and
 * taken for its output and nothing else.
 */
#pragma once

#include <stdint.h>

/* Mapped by nobody: below what the kernel chooses for programs, stacks and mappings, with 39 bits of addresses as well.
 * runtimes/c/crash.c has these numbers too. */
#define NOTICE_ADDRESS UINT64_C(0x3e00000000)
#define NOTICE_MAGIC   UINT64_C(0x6563697465626d45)

enum notice_kind {
	NOTICE_NONE,
	NOTICE_STDIO,  /* the C library's stdout */
	NOTICE_PYTHON, /* CPython's sys.stdout, as it is made at start */
	NOTICE_RUBY,   /* Ruby's STDOUT */
	NOTICE_PERL,   /* Perl's STDOUT */
};

/* Addresses in the process, and offsets within its objects. */
struct notice {
	uint64_t magic;   /* NOTICE_MAGIC */
	uint32_t kind;    /* enum notice_kind */
	uint32_t pending; /* CPython: in a TextIOWrapper, what is not encoded into its buffer yet; Ruby: in an rb_io_t,
			     its buffer */
	uint32_t characters; /* CPython: in a str of ASCII, its characters */
	uint32_t number;     /* Ruby: in an rb_io_t, its descriptor */
	uint64_t stream; /* the FILE; the rb_io_t; where Perl has the topmost of its layers; or the TextIOWrapper… */
	uint64_t stream_type; /* …its type */
	uint64_t buffer;      /* the BufferedWriter below it… */
	uint64_t buffer_type; /* …its type */
	uint64_t bytes_type;  /* types of what may be pending: bytes… */
	uint64_t text_type;   /* …str… */
	uint64_t list_type;   /* …and a list of them */
};

/* Of CPython's BufferedWriter, whose members have stood there from 3.8 to 3.13; tried before they are relied on. */
enum {
	NOTICE_BUFFER_DATA = 56,       /* where its bytes are */
	NOTICE_BUFFER_POSITION = 64,   /* of the next byte */
	NOTICE_BUFFER_WRITE_FROM = 88, /* what is not written yet begins here… */
	NOTICE_BUFFER_WRITE_END = 96,  /* …and ends here; -1: there is nothing */
};

/* A buffer of Ruby's, which it has had in this form since 1.9; tried before it is relied on. */
struct notice_ruby_buffer {
	uint64_t data;    /* where its bytes are */
	int32_t offset;   /* what is not written yet begins here… */
	int32_t length;   /* …and has so many bytes */
	int32_t capacity; /* there is room for so many */
} __attribute__((packed));

/* A layer of a handle of Perl's: of the one that it ends at, and of those that have a buffer. They have been so since
 * 5.8; tried before they are relied on. */
struct notice_perl_layer {
	uint64_t below;  /* the next layer; 0: none */
	uint64_t kind;   /* its table: a size, and where its name is */
	uint32_t flags;  /* … */
	int32_t error;   /* … */
	uint64_t head;   /* … */
	uint64_t data;   /* the buffer; of the last layer, in the low half, the descriptor… */
	uint64_t end;    /* …where the buffer ends… */
	uint64_t next;   /* …and where the next byte goes */
	uint64_t offset; /* … */
	uint64_t size;   /* of the buffer */
};
#define NOTICE_PERL_WRITES UINT32_C(0x20000) /* a flag: what is in the buffer is to be written */

/*
 * A run's standard input is a pipe of so many pages if its output may stay in
 * its buffers, as with any pipe; no other pipe is. Otherwise somebody types, or
 * nobody looks into the buffers: lines go out as they are printed.
 */
enum {
	NOTICE_PLAIN_PAGES = 8
};
