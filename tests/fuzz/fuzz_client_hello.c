/* Streams of strangers: a hello that is found is the same however many bytes follow it, its name is one of DNS, and no
 * beginning of it is another hello. */
#include "fuzz.h"

#include "net/client_hello.h"

static void hello_holds(const unsigned char *data, size_t size, const struct client_hello *hello)
{
	static struct client_hello other;

	MUST(hello->size <= size && hello->size <= CLIENT_HELLO_MOST && hello->size > 0);
	MUST(hello->has_name == (hello->name[0] != '\0'));
	MUST(strspn(hello->name, "abcdefghijklmnopqrstuvwxyz0123456789-_.") == strlen(hello->name));
	MUST(strlen(hello->name) < CLIENT_HELLO_NAME && !strstr(hello->name, ".."));
	MUST(client_hello_read(data, hello->size, &other) == CLIENT_HELLO_FOUND);
	MUST(strcmp(other.name, hello->name) == 0 && other.size == hello->size && other.ech == hello->ech);
	for (size_t cut = 0; cut < hello->size; cut += 1 + hello->size / 64)
		MUST(client_hello_read(data, cut, &other) == CLIENT_HELLO_MORE);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct client_hello hello, longer;
	enum client_hello_state state = client_hello_read(data, size, &hello);

	if (state == CLIENT_HELLO_FOUND)
		hello_holds(data, size, &hello);
	MUST((state == CLIENT_HELLO_MALFORMED) == (hello.fault != NULL));
	MUST(state != CLIENT_HELLO_MORE || size < CLIENT_HELLO_MOST);
	/* What is decided stays so, whatever comes. */
	for (size_t cut = 0; cut < size; cut += 1 + size / 16) {
		enum client_hello_state early = client_hello_read(data, cut, &longer);

		MUST(early == CLIENT_HELLO_MORE || early == state);
	}
	if (client_hello_again(data, size, &longer) == CLIENT_HELLO_FOUND)
		MUST(longer.size <= size);
	server_hello_read(data, size);
	return 0;
}
