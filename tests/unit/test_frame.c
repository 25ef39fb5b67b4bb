/* Frames: what is written is read again, and nothing else is. */
#include "../check.h"

#include "wire/frame.h"

static const struct {
	enum frame_kind kind;
	uint32_t most;
} kinds[] = {
	{ FRAME_REQUEST, 64 << 20 }, { FRAME_INPUT, 64 << 10 },  { FRAME_CANCEL, 0 },
	{ FRAME_STARTED, 64 << 10 }, { FRAME_STDOUT, 64 << 10 }, { FRAME_STDERR, 64 << 10 },
	{ FRAME_RESULT, 64 << 20 },  { FRAME_ERROR, 64 << 10 },  { FRAME_RESIZE, 4 },
};

static void each_kind_comes_back(void)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct frame frame = { .kind = kinds[i].kind, .size = kinds[i].most }, got = { 0 };
		unsigned char header[FRAME_HEADER];

		frame_encode(&frame, header);
		CHECK_INT(frame_decode(header, &got), 0);
		CHECK_INT(got.kind, frame.kind);
		CHECK_INT(got.size, frame.size);
		frame.size++;
		frame_encode(&frame, header);
		CHECK_INT(frame_decode(header, &got), -1);
	}
}

static void sizes_are_little_endian(void)
{
	struct frame frame = { .kind = FRAME_REQUEST, .size = 0x010203 };
	unsigned char header[FRAME_HEADER];

	frame_encode(&frame, header);
	CHECK(memcmp(header, "\x03\x02\x01\0R\0\0\0", FRAME_HEADER) == 0);
}

static void all_else_is_refused(void)
{
	unsigned char header[FRAME_HEADER] = { 0 };
	struct frame frame;
	int taken = 0;

	for (int kind = 0; kind < 256; kind++) {
		header[4] = (unsigned char)kind;
		taken += frame_decode(header, &frame) == 0;
	}
	CHECK_INT(taken, sizeof(kinds) / sizeof(kinds[0]));
	for (int i = 5; i < FRAME_HEADER; i++) {
		memcpy(header, "\0\0\0\0R\0\0\0", FRAME_HEADER);
		header[i] = 1;
		CHECK_INT(frame_decode(header, &frame), -1);
	}
	memcpy(header, "\xff\xff\xff\xffR\0\0\0", FRAME_HEADER);
	CHECK_INT(frame_decode(header, &frame), -1);
}

static void windows(void)
{
	unsigned char payload[FRAME_WINDOW];
	uint16_t rows, columns;

	frame_put_window(0x102, 0xfffe, payload);
	CHECK(memcmp(payload, "\x02\x01\xfe\xff", FRAME_WINDOW) == 0);
	frame_get_window(payload, &rows, &columns);
	CHECK(rows == 0x102 && columns == 0xfffe);
}

int main(void)
{
	RUN(windows);
	RUN(each_kind_comes_back);
	RUN(sizes_are_little_endian);
	RUN(all_else_is_refused);
	return check_failures != 0;
}
