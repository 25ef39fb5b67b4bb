/* A stranger's source, parsed and walked as a reader does: what is told fits, and is about this source. */
#include "fuzz.h"

#include "reader/parser.h"
#include "reader/reader.h"

static void check_records(const struct reader *r)
{
	uint32_t at = 0;

	MUST(r->count <= WIRE_RECORDS_MAX && r->used <= WIRE_TELL_MAX && r->alias_count <= ALIASES_MAX);
	for (uint32_t i = 0; i < r->count; i++) {
		struct wire_record record;

		MUST(r->used - at >= sizeof(record));
		memcpy(&record, r->out + at, sizeof(record));
		at += (uint32_t)sizeof(record);
		MUST(record.kind < WIRE_KINDS && record.how < HOWS && record.size <= WIRE_NAME_MAX);
		MUST(record.kind != WIRE_FINDING || record.rule < r->rules->count);
		MUST(record.line >= 1 && record.line <= r->size + 1 && record.column >= 1);
		MUST(record.size <= r->used - at && !memchr(r->out + at, 0, record.size));
		at += record.size;
	}
	MUST(at == r->used);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static unsigned char out[WIRE_TELL_MAX];
	struct reader *r = calloc(1, sizeof(*r));
	char *source = fuzz_text_of(data, size);
	TSParser *parser = parser_new();
	uint32_t state;

	MUST(r && parser && size <= WIRE_SOURCE_MAX);
	r->source = source;
	r->size = (uint32_t)size;
	r->language = &reader_language;
	r->rules = policy_rules_of(reader_language.grammar);
	r->out = out;
	aliases_forget(r);
	state = reader_read(r, parser);
	MUST(state == WIRE_WHOLE || state == WIRE_CUT || state == WIRE_HARD);
	check_records(r);
	ts_parser_delete(parser);
	free(source);
	free(r);
	return 0;
}
