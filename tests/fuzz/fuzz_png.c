/* Pictures of strangers: whatever they are, they are pixels of the size that was said, or nothing. */
#include "fuzz.h"

#include "term/image.h"
#include "term/png.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint32_t width = 0, height = 0, told_width, told_height;
	char *copy = fuzz_text_of(data, size);
	unsigned char *pixels = png_pixels(copy, size, &width, &height);
	unsigned sum = 0;

	if (pixels) {
		MUST(image_png_size(copy, size, &told_width, &told_height));
		MUST(width == told_width && height == told_height && (uint64_t)width * height <= PNG_PIXELS_MAX);
		for (size_t i = 0; i < (size_t)width * height * 4; i++)
			sum += pixels[i];
		MUST(sum <= 255u * width * height * 4);
	}
	free(pixels);
	free(copy);
	return 0;
}
