#include "store/fields.h"

#include <string.h>

struct field_head {
	uint8_t key;     /* enum field_key */
	uint8_t is_text; /* 1: text with its NUL; 0: a number of eight bytes */
	uint16_t unused; /* always 0 */
	uint32_t size;   /* bytes of the value */
};

void field_add_text(struct buf *buf, enum field_key key, const char *text)
{
	size_t size = strlen(text ? text : "") + 1;
	struct field_head head = { .key = (uint8_t)key, .is_text = 1, .size = (uint32_t)size };

	if (size == 1)
		return;
	buf_add(buf, &head, sizeof(head));
	buf_add(buf, text, size);
}

void field_add_number(struct buf *buf, enum field_key key, uint64_t number)
{
	struct field_head head = { .key = (uint8_t)key, .size = sizeof(number) };

	buf_add(buf, &head, sizeof(head));
	buf_add(buf, &number, sizeof(number));
}

bool field_parse(const char *data, size_t size, struct field_set *out)
{
	*out = (struct field_set){ 0 };
	for (int i = 0; i < FIELD_KEYS; i++)
		out->text[i] = "";
	while (size > 0) {
		struct field_head head;

		if (size < sizeof(head))
			return false;
		memcpy(&head, data, sizeof(head));
		data += sizeof(head);
		size -= sizeof(head);
		if (head.size > size || head.size == 0)
			return false;
		if (head.is_text && data[head.size - 1] != '\0')
			return false;
		if (!head.is_text && head.size != sizeof(uint64_t))
			return false;
		if (head.key < FIELD_KEYS && head.is_text)
			out->text[head.key] = data;
		else if (head.key < FIELD_KEYS)
			memcpy(&out->number[head.key], data, sizeof(uint64_t));
		data += head.size;
		size -= head.size;
	}
	return true;
}
