/* Artifacts: a run with its code, in a readable file. */
#include "store/store_parts.h"

#include "base/base64.h"
#include "base/json_check.h"
#include "base/own.h"
#include "store/spool.h"

#include <errno.h>
#include <sha2.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* 20261116T142257.123Z-0123456789ab.json: derived from the record, so that an incomplete file is overwritten. */
static void artifact_name(const struct field_set *fields, const struct journal_record *record,
			  char name[STORE_ARTIFACT])
{
	unsigned char digest[SHA256_DIGEST_LENGTH];
	char time[STORE_TIME], *to = name;
	SHA2_CTX context;

	store_time(fields->number[FIELD_TIME], time);
	for (const char *at = time; *at; at++)
		if (*at != '-' && *at != ':')
			*to++ = *at;
	SHA256Init(&context);
	SHA256Update(&context, (const uint8_t *)fields->text[FIELD_ID], strlen(fields->text[FIELD_ID]));
	SHA256Update(&context, (const uint8_t *)record->parts[2], record->sizes[2]);
	SHA256Final(digest, &context);
	to += sprintf(to, "-");
	for (int i = 0; i < 6; i++)
		to += sprintf(to, "%02x", digest[i]);
	strcpy(to, ".json");
}

static void add_json(struct buf *out, json_t *value)
{
	char *text = value ? json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;

	if (text)
		buf_text(out, text);
	out->failed |= !text;
	free(text);
	json_decref(value);
}

static void add_text(struct buf *out, const char *key, const char *text)
{
	buf_printf(out, "\"%s\":", key);
	add_json(out, *text ? store_utf8(text, strlen(text)) : json_null());
	buf_text(out, ",\n ");
}

static void add_code(struct buf *out, const struct field_set *fields, const struct journal_record *record)
{
	buf_text(out, "\"code\":");
	if (fields->text[FIELD_CODE_DIGEST][0] == '\0')
		buf_text(out, "null"); /* the code is one of the files, or in a project */
	else if (json_is_plain_text(record->parts[2], record->sizes[2])) {
		add_json(out, json_stringn(record->parts[2], record->sizes[2]));
	} else {
		buf_text(out, "{\"base64\":\"");
		base64_add(out, record->parts[2], record->sizes[2]);
		buf_text(out, "\"}");
	}
	buf_text(out, ",\n ");
}

int artifact_write(struct store *store, const struct field_set *fields, const struct journal_record *record,
		   char name[STORE_ARTIFACT], struct error *err)
{
	const char *summary = fields->text[FIELD_SUMMARY];
	_cleanup_buf_ struct buf head = { 0 };
	char time[STORE_TIME];

	artifact_name(fields, record, name);
	buf_text(&head, "{");
	add_text(&head, "id", fields->text[FIELD_ID]);
	add_text(&head, "timestamp", store_time(fields->number[FIELD_TIME], time));
	add_text(&head, "language", fields->text[FIELD_LANGUAGE]);
	add_text(&head, "caller", fields->text[FIELD_CALLER]);
	add_text(&head, "door", fields->text[FIELD_DOOR]);
	add_text(&head, "request_id", fields->text[FIELD_REQUEST_ID]);
	add_text(&head, "profile", fields->text[FIELD_PROFILE]);
	add_text(&head, "place", fields->text[FIELD_PLACE]);
	add_text(&head, "code_sha256", fields->text[FIELD_CODE_DIGEST]);
	add_code(&head, fields, record);
	buf_printf(&head, "\"request\":%s,\n \"result\":", *summary ? summary : "null");
	if (head.failed)
		return error_set(err, ERROR_FAILED, ENOMEM, "cannot create an artifact");
	if (store_executions(store) < 0 ||
	    spool_write(store->executions, name,
			(struct iovec[]){ { .iov_base = head.data, .iov_len = head.size },
					  { .iov_base = (void *)record->parts[1], .iov_len = record->sizes[1] },
					  { .iov_base = (void *)"}\n", .iov_len = 2 } },
			3) < 0)
		return error_errno(err, "cannot write an artifact to the state directory");
	return 0;
}

void artifact_read(int fd, json_t **code, json_t **request)
{
	json_t *root = fd < 0 ? NULL : json_loadfd(fd, JSON_ALLOW_NUL, NULL);

	*code = json_incref(json_object_get(root, "code"));
	*request = json_incref(json_object_get(root, "request"));
	json_decref(root);
}
