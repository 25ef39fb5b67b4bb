/* A reader's answer: the first byte picks the language, then comes the head, then records. The source is the same
 * bytes. */
#include "fuzz.h"

#include "policy/policy_report.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct policy_report report = { .language = "x" };
	const struct policy_rules *rules;
	struct buf json = { 0 };
	struct wire_tell head;
	struct error err = { 0 };
	char *records;

	if (size < 1 + sizeof(head))
		return 0;
	rules = policy_rules_at(data[0] % 8);
	memcpy(&head, data + 1, sizeof(head));
	records = fuzz_text_of(data + 1 + sizeof(head), size - 1 - sizeof(head));
	if (report_decode(rules, &head, records, size - 1 - sizeof(head), &report, &err) == 0) {
		const struct policy_lists lists = { "os,a.b", "os.path" };

		MUST(report.count <= WIRE_RECORDS_MAX);
		report_judge(&report, rules, &lists);
		for (size_t i = 0; i < report.count; i++)
			MUST(report.entries[i].kind != WIRE_FINDING || report.entries[i].rule);
		report_json(&report, records, size - 1 - sizeof(head), &json);
		MUST(!json.failed && json.data[0] == '{');
	}
	buf_free(&json);
	report_free(&report);
	free(records);
	return 0;
}
