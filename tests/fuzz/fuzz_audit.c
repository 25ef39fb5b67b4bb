/* A line of the audit log: any bytes are read within their bounds, and of an entry no bit can be changed unseen. */
#include "fuzz.h"

#include "store/audit_file.h"

/* Whether it is an entry whose hash is right. The line is an allocation of its own without an end, as in a file. */
static bool audit_is_sound(const char *text, size_t size)
{
	struct audit_line entry = { 0 };
	char *line = malloc(size ? size : 1);
	bool sound;

	MUST(line);
	if (size > 0)
		memcpy(line, text, size);
	sound = audit_line_read(line, size, &entry) && entry.sound;
	MUST(!sound || entry.seq > 0);
	free(line);
	return sound;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf made = { 0 };
	char hash[AUDIT_HASH];

	audit_is_sound((const char *)data, size);
	/* What we close is an entry, whatever is in it, unless that could not be in a line. */
	if (size > 4096 || memchr(data, '\0', size) || memchr(data, '\n', size))
		return 0;
	buf_text(&made, "{\"seq\":7,");
	buf_add(&made, data, size);
	audit_line_close(&made, 0, audit_zeros, hash);
	MUST(!made.failed && made.data[made.size - 1] == '\n');
	MUST(audit_is_sound(made.data, made.size - 1));
	if (size > 0) {
		made.data[9 + data[0] % size] ^= 1;
		MUST(!audit_is_sound(made.data, made.size - 1));
	}
	buf_free(&made);
	return 0;
}
