/* Messages cut into blocks and words; what tips the scale. The figures are in tests/e2e/test_detect.py. */
#include "../check.h"

#include "policy/detect.h"

static struct arena arena;
static struct detected found;

static void read_message(const char *message, const struct registry *registry)
{
	struct error err = { 0 };

	if (detect_message(message, strlen(message), registry, &arena, &found, &err) < 0)
		check_fail("%s: %s", message, err.text);
}

#define BLOCK(message, index, wanted_language, wanted_code)                                                            \
	do {                                                                                                           \
		read_message(message, NULL);                                                                           \
		CHECK((index) < found.block_count);                                                                    \
		if ((index) < found.block_count) {                                                                     \
			CHECK_STR(found.blocks[index].language, wanted_language);                                      \
			CHECK_STR(found.blocks[index].code, wanted_code);                                              \
		}                                                                                                      \
	} while (0)

#define SAYS(message, wanted)                                                                                          \
	do {                                                                                                           \
		read_message(message, NULL);                                                                           \
		if (found.execute != (wanted))                                                                         \
			check_fail("%s:%d: %s: %s", __FILE__, __LINE__, message, found.reason);                        \
	} while (0)

static void blocks(void)
{
	BLOCK("a\n```python\nprint(1)\n```\nb\n~~~js\nx\n~~~", 0, "python", "print(1)\n");
	BLOCK("a\n```python\nprint(1)\n```\nb\n~~~js\nx\n~~~", 1, "javascript", "x\n");
	BLOCK("````py\n```\n````", 0, "python", "```\n");
	BLOCK("> ```rb\n> puts 1\n> ```", 0, "ruby", "puts 1\n");
	BLOCK("- list\n  ```sh\n  ls\n  ```", 0, "sh", "ls\n");
	BLOCK("open ```c\nint x;", 0, "c", "int x;\n");
	BLOCK("```\n#include <stdio.h>\nint main(void) {}\n```", 0, "c", "#include <stdio.h>\nint main(void) {}\n");
	BLOCK("in one line ```print(2)``` of text", 0, "python", "print(2)");
	BLOCK("run `print(3)` in python", 0, "python", "print(3)");
	BLOCK("run this:\ndef f():\n    return 1\n\nprint(f())", 0, "python", "def f():\n    return 1\n\nprint(f())");
	BLOCK("run this:\nimport math\n\nprint(math.pi)", 0, "python", "import math\n\nprint(math.pi)");
	BLOCK("run this\nputs \"hello\".upcase", 0, "ruby", "puts \"hello\".upcase");
	BLOCK("```\r\nputs 1\r\n```\r\n", 0, "ruby", "puts 1\n");
}

static void terminals(void)
{
	BLOCK("run\n```\n$ ls -1\na.txt\n$ wc a.txt\n```", 0, "bash", "ls -1\nwc a.txt\n");
	BLOCK("run\n```\nme@host:~/src$ make\nok\n```", 0, "bash", "make\n");
	BLOCK("run\n```\n>>> 1 + 1\n2\n>>> print(3)\n```", 0, "python", "1 + 1\nprint(3)\n");
	/* A variable is no prompt. */
	BLOCK("run\n```php\n$x = 1;\n```", 0, "php", "$x = 1;\n");
}

static void answers(void)
{
	SAYS("```python\nprint(1)\n```", true);
	SAYS("run it\n```python\nprint(1)\n```", true);
	SAYS("don't run it\n```python\nprint(1)\n```", false);
	SAYS("don't explain, run it\n```python\nprint(1)\n```", true);
	SAYS("why does it work?\n```python\nprint(1)\n```", false);
	SAYS("does it work?\n```python\nprint(1)\n```", true);
	/* Written without the apostrophe, or wrong. */
	SAYS("whats the output\n```python\nprint(1)\n```", true);
	SAYS("dont run it\n```python\nprint(1)\n```", false);
	SAYS("plz excute this\n```python\nprint(1)\n```", true);
	/* A negation that begins a question is none. */
	SAYS("won't this run?\n```python\nprint(1)\n```", true);
	SAYS("this won't run\n```python\nprint(1)\n```", false);
	/* The arguments of a call are no clauses. */
	SAYS("what does f(1, [2, 3], (4)) return?\n```python\ndef f(*a): return a\n```", true);
	SAYS("what is f(1, 2) for?\n```python\ndef f(*a): return a\n```", false);
	/* Between backticks a question makes a program of a call, not of a name. */
	SAYS("what does `print(1 + 1)` print in python?", true);
	SAYS("does `main.py` work in python?", false);
	SAYS("run it", false);
	SAYS("run it\n```json\n{}\n```", false);
	SAYS("run it\n```\nTraceback (most recent call last):\n  File \"a\"\n```", false);
	SAYS("", false);
	CHECK_INT(found.block_count, 0);
}

#define PYTHON "\n```python\nprint(1)\n```"

/* A question of one's own that is answered with no; idioms of "run"; Japanese and Korean, whose words have no blanks.
 */
static void wishes_and_refusals(void)
{
	SAYS("could you check what it prints?" PYTHON, true);
	SAYS("can you run me through what this code does?" PYTHON, false);
	SAYS("can you run this code?" PYTHON, true);
	SAYS("run it? no, explain it" PYTHON, false);
	SAYS("run it? yes please" PYTHON, true);
	SAYS("\u5b9f\u884c\u3057\u3066\u304f\u3060\u3055\u3044" PYTHON, true);
	SAYS("\u5b9f\u884c\u3057\u306a\u3044\u3067" PYTHON, false);
	SAYS("\u5b9f\u884c\u7d50\u679c\u3092\u6559\u3048\u3066" PYTHON, true);
	SAYS("\u3069\u3046\u3059\u308c\u3070\u3044\u3044\u3067\u3059\u304b" PYTHON, false);
	SAYS("\uc2e4\ud589\ud574 \uc8fc\uc138\uc694" PYTHON, true);
	SAYS("\uc2e4\ud589\ud558\uc9c0 \ub9c8" PYTHON, false);
	BLOCK("run\n```\nfor i in 1 2; do echo $i; done\n```", 0, "bash", "for i in 1 2; do echo $i; done\n");
}

static void triggers(void)
{
	static const char *const phrases[] = { "Feuer frei", NULL }, *const longer[] = { "feuer frei jetzt", NULL };
	const struct profile profiles[] = { { .name = "short", .language = "python", .triggers = phrases },
					    { .name = "long", .language = "ruby", .triggers = longer } };
	const struct registry registry = { .profiles = profiles, .count = 2 };

	read_message("Feuer frei!\n```\n1 + 1\n```", &registry);
	CHECK_STR(found.profile, "short");
	CHECK(found.execute);
	CHECK_STR(found.blocks[0].language, "python");
	read_message("feuer FREI jetzt\n```\n1 + 1\n```", &registry);
	CHECK_STR(found.profile, "long");
	read_message("nothing of it\n```\n1 + 1\n```", &registry);
	CHECK(found.profile == NULL);
}

/* Of much prose both ends are looked at and nothing between: the work does not grow with the message. */
static void ends(void)
{
	static const char code[] = "\n```python\nprint(1)\n```\n", wish[] = " . please run this code . ";
	const size_t size = 200 << 10, room = size + sizeof(code);
	const size_t places[] = { 0, size / 2, size - sizeof(wish) };
	char *message = malloc(room);

	for (size_t i = 0; i < 3; i++) {
		for (size_t k = 0; k < size; k++)
			message[k] = "apple tree "[k % 11];
		memcpy(message + places[i], wish, sizeof(wish) - 1);
		memcpy(message + size, code, sizeof(code));
		read_message(message, NULL);
		CHECK_INT(found.execute, i != 1);
	}
	free(message);
}

static void bounds(void)
{
	struct error err = { 0 };
	char *large = malloc(DETECT_MESSAGE_MAX + 1);
	struct buf json = { 0 };

	memset(large, '`', DETECT_MESSAGE_MAX + 1);
	CHECK_INT(detect_message(large, DETECT_MESSAGE_MAX + 1, NULL, &arena, &found, &err), -1);
	CHECK_STR(err.text, "message: expected at most 1 MiB");
	CHECK_INT(detect_message(large, DETECT_MESSAGE_MAX, NULL, &arena, &found, &err), 0);
	free(large);
	/* Bytes that are no UTF-8 are no reason to fail. */
	CHECK_INT(detect_message("run\n```python\n\xff\n```", 19, NULL, &arena, &found, &err), 0);
	detect_json(&found, &json);
	CHECK(strstr(json.data, "\"code\":\"\xef\xbf\xbd\\n\"") != NULL);
	buf_free(&json);
}

int main(void)
{
	RUN(blocks);
	RUN(terminals);
	RUN(answers);
	RUN(wishes_and_refusals);
	RUN(triggers);
	RUN(ends);
	RUN(bounds);
	arena_free(&arena);
	return check_failures != 0;
}
