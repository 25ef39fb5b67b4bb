#include "wire/frame.h"

enum {
	JSON_SMALL_MAX = 64 << 10 /* bytes of the payload of STARTED and ERROR */
};

/* The maximum payload of a kind, or -1 if the kind is unknown. */
static int64_t frame_most(unsigned char kind)
{
	switch (kind) {
	case FRAME_REQUEST:
		return FRAME_REQUEST_MAX;
	case FRAME_RESULT:
		return FRAME_RESULT_MAX;
	case FRAME_INPUT:
	case FRAME_STDOUT:
	case FRAME_STDERR:
		return FRAME_BYTES_MAX;
	case FRAME_STARTED:
	case FRAME_ERROR:
		return JSON_SMALL_MAX;
	case FRAME_RESIZE:
		return FRAME_WINDOW;
	case FRAME_CANCEL:
		return 0;
	default:
		return -1;
	}
}

void frame_encode(const struct frame *frame, unsigned char header[FRAME_HEADER])
{
	for (int i = 0; i < 4; i++)
		header[i] = (unsigned char)(frame->size >> (8 * i));
	header[4] = (unsigned char)frame->kind;
	header[5] = header[6] = header[7] = 0;
}

int frame_decode(const unsigned char header[FRAME_HEADER], struct frame *frame)
{
	uint32_t size = 0;

	for (int i = 0; i < 4; i++)
		size |= (uint32_t)header[i] << (8 * i);
	if (header[5] || header[6] || header[7] || (int64_t)size > frame_most(header[4]))
		return -1;
	*frame = (struct frame){ .kind = (enum frame_kind)header[4], .size = size };
	return 0;
}

void frame_put_window(unsigned rows, unsigned columns, unsigned char payload[FRAME_WINDOW])
{
	payload[0] = (unsigned char)rows;
	payload[1] = (unsigned char)(rows >> 8);
	payload[2] = (unsigned char)columns;
	payload[3] = (unsigned char)(columns >> 8);
}

void frame_get_window(const unsigned char payload[FRAME_WINDOW], uint16_t *rows, uint16_t *columns)
{
	*rows = (uint16_t)(payload[0] | payload[1] << 8);
	*columns = (uint16_t)(payload[2] | payload[3] << 8);
}
