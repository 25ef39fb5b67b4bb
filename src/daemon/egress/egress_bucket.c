/* A rate: a bucket that fills by time. */
#include "daemon/egress/egress_parts.h"

enum {
	SECOND = 1000000,        /* microseconds */
	BUCKET_LEAST = 16 << 10, /* bytes that any rate may have at once: a message that is in one piece */
	BUCKET_PART = 5,         /* the fifth part of a second otherwise */
	TURN_BYTES = 16 << 10,   /* what is worth a turn … */
	TURN_PART = 20,          /* … or what comes in the twentieth part of a second */
};

uint64_t egress_bucket_size(uint64_t rate)
{
	return rate / BUCKET_PART > BUCKET_LEAST ? rate / BUCKET_PART : BUCKET_LEAST;
}

void egress_bucket_open(struct egress_bucket *bucket, uint64_t rate, uint64_t size, uint64_t now_usec)
{
	*bucket = (struct egress_bucket){
		.rate = rate, .size = size, .parts = (unsigned __int128)size * SECOND, .filled_usec = now_usec
	};
}

uint64_t egress_bucket_level(struct egress_bucket *bucket, uint64_t now_usec)
{
	const unsigned __int128 size = (unsigned __int128)bucket->size * SECOND;

	if (bucket->rate == 0)
		return UINT64_MAX;
	if (now_usec > bucket->filled_usec) {
		bucket->parts += (unsigned __int128)(now_usec - bucket->filled_usec) * bucket->rate;
		if (bucket->parts > size)
			bucket->parts = size;
		bucket->filled_usec = now_usec;
	}
	return (uint64_t)(bucket->parts / SECOND);
}

void egress_bucket_take(struct egress_bucket *bucket, uint64_t bytes)
{
	const unsigned __int128 parts = (unsigned __int128)bytes * SECOND;

	if (bucket->rate > 0)
		bucket->parts -= parts < bucket->parts ? parts : bucket->parts;
}

uint64_t egress_bucket_next(const struct egress_bucket *bucket, uint64_t now_usec)
{
	uint64_t wanted = bucket->rate / TURN_PART;
	unsigned __int128 parts;

	if (wanted > TURN_BYTES)
		wanted = TURN_BYTES;
	if (wanted == 0)
		wanted = 1;
	parts = (unsigned __int128)wanted * SECOND;
	if (bucket->rate == 0 || bucket->parts >= parts)
		return now_usec;
	return bucket->filled_usec + (uint64_t)((parts - bucket->parts + bucket->rate - 1) / bucket->rate);
}
