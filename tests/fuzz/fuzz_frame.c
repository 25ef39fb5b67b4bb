/* Headers of frames: what is taken is inside its bounds, and is written again as it was. */
#include "fuzz.h"

#include "wire/frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	for (size_t at = 0; at + FRAME_HEADER <= size; at += FRAME_HEADER) {
		unsigned char again[FRAME_HEADER];
		struct frame frame;

		if (frame_decode(data + at, &frame) < 0)
			continue;
		MUST(strchr("RICWS12JE", (int)frame.kind) != NULL && frame.kind != 0);
		MUST(frame.size <= (frame.kind == FRAME_REQUEST || frame.kind == FRAME_RESULT ? 64U << 20 : 64U << 10));
		MUST(frame.kind != FRAME_CANCEL || frame.size == 0);
		frame_encode(&frame, again);
		MUST(memcmp(again, data + at, FRAME_HEADER) == 0);
	}
	return 0;
}
