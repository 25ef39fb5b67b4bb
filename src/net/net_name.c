/* Names of hosts, each in the one spelling in which they are compared. */
#include "net/net_policy.h"

#include <idn2.h>
#include <string.h>

enum {
	LABEL_MAX = 63,
	FOREIGN_MAX = 1024 /* bytes of a name before its conversion: 253 characters of four bytes fit */
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_hex(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'f');
}

/* inet_aton() and URLs take a name that ends so as an address: "127.1", "0x7f.1", "2130706433", "017700000001". No
 * top-level domain is a number. */
static bool is_number(const char *label)
{
	const char *rest = label;

	while (is_digit(*rest))
		rest++;
	if (*rest == '\0')
		return true;
	if (strncmp(label, "0x", 2) != 0)
		return false;
	for (rest = label + 2; is_hex(*rest);)
		rest++;
	return *rest == '\0';
}

static const char *labels_fault(const char *name, size_t size)
{
	const char *last = name;
	size_t label = 0;

	for (size_t i = 0; i <= size; i++) {
		if (i < size && name[i] != '.') {
			label++;
			continue;
		}
		if (label == 0)
			return "has an empty label";
		if (label > LABEL_MAX)
			return "has a label of more than 63 bytes";
		label = 0;
		if (i < size)
			last = name + i + 1;
	}
	if (is_number(last))
		return "is an address in a spelling that is not taken; write four decimal numbers, as in 192.0.2.1";
	return NULL;
}

static const char *ascii_fault(const char *text, size_t size, char out[NET_NAME_MAX])
{
	if (size > 0 && text[size - 1] == '.')
		size--;
	if (size == 0)
		return "is empty";
	if (size >= NET_NAME_MAX)
		return "has more than 253 bytes";
	for (size_t i = 0; i < size; i++) {
		char c = text[i];

		if (c >= 'A' && c <= 'Z')
			c = (char)(c - 'A' + 'a');
		if (!is_digit(c) && !(c >= 'a' && c <= 'z') && c != '-' && c != '_' && c != '.')
			return "has a character that no name of a host has";
		out[i] = c;
	}
	out[size] = '\0';
	return labels_fault(out, size);
}

static bool is_ascii(const char *text, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if ((unsigned char)text[i] >= 0x80)
			return false;
	return true;
}

/* IDNA2008 with the mapping of UTS 46 (case, width, the ideographic full stop), as browsers do it. */
static const char *foreign_fault(const char *text, size_t size, char out[NET_NAME_MAX])
{
	char source[FOREIGN_MAX + 1], *made = NULL;
	const char *fault;

	if (size > FOREIGN_MAX)
		return "has more than 253 bytes";
	if (memchr(text, '\0', size))
		return "has a character that no name of a host has";
	memcpy(source, text, size);
	source[size] = '\0';
	if (idn2_lookup_u8((const uint8_t *)source, (uint8_t **)&made, IDN2_NFC_INPUT | IDN2_NONTRANSITIONAL) !=
	    IDN2_OK)
		return "is no internationalized name of IDNA2008; if it has an A-label form (xn--…), write that";
	fault = is_ascii(made, strlen(made))
			? ascii_fault(made, strlen(made), out)
			: "is no internationalized name of IDNA2008; if it has an A-label form (xn--…), write that";
	idn2_free(made);
	return fault;
}

const char *net_name_fault(const char *text, size_t size, char out[NET_NAME_MAX])
{
	const char *fault = is_ascii(text, size) ? ascii_fault(text, size, out) : foreign_fault(text, size, out);

	if (fault)
		*out = '\0';
	return fault;
}

bool net_name_canonical(const char *text, size_t size, char out[NET_NAME_MAX])
{
	return net_name_fault(text, size, out) == NULL;
}

bool net_name_of_wire(const char *text, size_t size, char out[NET_NAME_MAX])
{
	if (ascii_fault(text, size, out) == NULL)
		return true;
	*out = '\0';
	return false;
}
