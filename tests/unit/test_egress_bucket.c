/* The rate of a box, in time that is only a number. */
#include "../check.h"

#include "daemon/egress/egress_parts.h"

/* Takes all that there is, every `step` microseconds, for so long. */
static uint64_t drain(struct egress_bucket *bucket, uint64_t from, uint64_t usec, uint64_t step)
{
	uint64_t all = 0;

	for (uint64_t now = from; now <= from + usec; now += step) {
		const uint64_t level = egress_bucket_level(bucket, now);

		egress_bucket_take(bucket, level);
		all += level;
	}
	return all;
}

static void it_lets_as_much_pass_as_its_rate(void)
{
	static const uint64_t rates[] = { 1, 1000, 12345, 1 << 20, 1000000000, UINT64_C(1) << 40 };
	static const uint64_t steps[] = { 1000, 999983, 7 };

	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		for (size_t j = 0; j < sizeof(steps) / sizeof(steps[0]); j++) {
			struct egress_bucket bucket;
			const uint64_t size = egress_bucket_size(rates[i]), seconds = steps[j] < 100 ? 1 : 20;
			uint64_t all, whole;

			egress_bucket_open(&bucket, rates[i], size, 1000);
			all = drain(&bucket, 1000, seconds * 1000000, steps[j]);
			/* What overflowed while nobody took it is lost. */
			whole = size + rates[i] * seconds;
			CHECK(all <= whole);
			if (rates[i] * steps[j] / 1000000 < size)
				CHECK(all + rates[i] * steps[j] / 1000000 + 1 >= whole);
		}
	}
}

static void it_has_a_bound(void)
{
	struct egress_bucket bucket;

	egress_bucket_open(&bucket, 1000000, egress_bucket_size(1000000), 0);
	CHECK_INT(egress_bucket_level(&bucket, 0), 200000);
	CHECK_INT(egress_bucket_level(&bucket, 3600000000), 200000);
	egress_bucket_take(&bucket, 200000);
	CHECK_INT(egress_bucket_level(&bucket, 3600000000), 0);
	CHECK_INT(egress_bucket_level(&bucket, 3600100000), 100000);
	/* A clock that stands. */
	CHECK_INT(egress_bucket_level(&bucket, 3600100000), 100000);
}

static void without_a_rate_all_passes(void)
{
	struct egress_bucket bucket;

	egress_bucket_open(&bucket, 0, egress_bucket_size(0), 0);
	egress_bucket_take(&bucket, 1u << 30);
	CHECK(egress_bucket_level(&bucket, 1) == UINT64_MAX);
}

static void it_tells_when_to_look_again(void)
{
	static const uint64_t rates[] = { 1, 10, 1000, 1 << 20, 1000000000 };

	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		struct egress_bucket bucket;
		uint64_t next;

		egress_bucket_open(&bucket, rates[i], egress_bucket_size(rates[i]), 0);
		egress_bucket_take(&bucket, UINT64_MAX);
		next = egress_bucket_next(&bucket, 0);
		/* Not at once, and there is something then; for slow rates a byte. */
		CHECK(next > 10);
		CHECK(egress_bucket_level(&bucket, next - 2) < egress_bucket_level(&bucket, next));
		CHECK(egress_bucket_next(&bucket, next) <= next);
	}
}

int main(void)
{
	RUN(it_lets_as_much_pass_as_its_rate);
	RUN(it_has_a_bound);
	RUN(without_a_rate_all_passes);
	RUN(it_tells_when_to_look_again);
	return check_failures ? 1 : 0;
}
