/* The words of a message, and the phrases among them. */
#include "policy/detect_parts.h"

#include "base/own.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum {
	GAP_MAX = 4,        /* words that `..` stands for, and how far a negation reaches */
	REFUSED_MAX = 6,    /* words of a question from the wish on, if it is answered by its author */
	BARE_WORDS = 6,     /* beside code that may say nothing */
	ARGUMENTS_MAX = 200 /* bytes of a call in the middle of a sentence */
};

static const struct rule {
	enum detect_kind kind; /* what it wants */
	int weight;            /* how surely */
	char phrase[384];      /* its words; no pointer, which would be relocated at every start of the program */
} rules[] = {
#define PHRASE(kind, weight, phrase) { DETECT_##kind, weight, phrase },
#include "policy/detect_rules.def"
};

static const char negations[][24] = {
#define NEGATION(phrase) phrase,
#include "policy/detect_rules.def"
};

/* What begins like one of them, and is none. */
static const char no_negations[][96] = {
#define NO_NEGATION(phrase) phrase,
#include "policy/detect_rules.def"
};

/* Words that people write in another way than the phrases do. */
static const struct spelling {
	char written[16]; /* one word, folded */
	char meant[16];   /* one word, or two */
} spellings[] = {
#define SPELLING(written, meant) { written, meant },
#include "policy/detect_rules.def"
};

/* Blanks around each. */
static const char leads[] =
#define LEAD(words) " " words
#include "policy/detect_rules.def"
	" ";

/* Blanks around each. */
static const char fillers[] =
#define FILLER(words) " " words
#include "policy/detect_rules.def"
	" ";

/* Words that begin another clause: what stands before them is not about what follows. */
static const char turns[][24] = { "but",       "just", "only", "aber", "nur",    "sondern", "mais",
				  "seulement", "pero", "solo", "sino", "просто", "только",  "но" };

/* What answers a question of one's own: "Run it? No, explain it." */
static const char refusals[][8] = { "no", "nope", "nah", "nein", "ne", "non", "нет", "不", "い", "아" };

/* The next character and its size; what is no UTF-8 is one byte that is no letter. */
static size_t decode(const unsigned char *at, size_t left, uint32_t *out)
{
	size_t size = *at < 0x80 ? 1 : *at >= 0xf0 ? 4 : *at >= 0xe0 ? 3 : *at >= 0xc0 ? 2 : 0;
	uint32_t value = size == 1 ? *at : size == 2 ? *at & 0x1fU : size == 3 ? *at & 0x0fU : *at & 0x07U;

	*out = 0xfffd;
	if (size == 0 || size > left)
		return 1;
	for (size_t i = 1; i < size; i++) {
		if ((at[i] & 0xc0) != 0x80)
			return 1;
		value = value << 6 | (at[i] & 0x3fU);
	}
	*out = value;
	return size;
}

/* Chinese, kana and Hangul have no blanks where a phrase begins: each character is a word. */
static bool is_word_alone(uint32_t c)
{
	return (c >= 0x4e00 && c <= 0x9fff) || (c >= 0x3041 && c <= 0x30ff) || (c >= 0xac00 && c <= 0xd7a3);
}

/* Lower case without accents, as far as our eight languages have them; 0: no letter or digit. */
static uint32_t fold(uint32_t c)
{
	/* U+00C0 to U+00FF; those that are two letters become the first. */
	static const char latin[] = "aaaaaaaceeeeiiiidnooooo\0ouuuuytsaaaaaaaceeeeiiiidnooooo\0ouuuuyty";

	if (c < 0x80)
		return c >= 'A' && c <= 'Z' ? c + 32 : (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ? c : 0;
	if (c >= 0xc0 && c <= 0xff)
		return (unsigned char)latin[c - 0xc0];
	if (c == 0x152 || c == 0x153)
		return 'o';
	if (c == 0x401 || c == 0x451)
		return 0x435;
	if (c >= 0x410 && c <= 0x42f)
		return c + 0x20;
	if (c >= 0x400 && c <= 0x40f)
		return c + 0x50;
	if ((c >= 0x430 && c <= 0x45f) || (c >= 0x100 && c <= 0x24f) || is_word_alone(c))
		return c;
	return 0;
}

/* Ends a clause; 2: a sentence; 3: one that asks. */
static int ends(uint32_t c)
{
	switch (c) {
	case '?':
	case 0xff1f:
		return 3;
	case '.':
	case '!':
	case '\n':
	case 0x3002:
	case 0xff01:
		return 2;
	case ',':
	case ';':
	case ':':
	case '(':
	case ')':
	case 0xff0c:
	case 0xff1a:
	case 0xff1b:
	case 0x3001:
	case 0x2014:
		return 1;
	default:
		return 0;
	}
}

static void word_put(struct detect_word *word, uint32_t c)
{
	size_t used = strlen(word->text);
	char bytes[4];
	size_t size;

	if (c < 0x80) {
		bytes[0] = (char)c;
		size = 1;
	} else if (c < 0x800) {
		bytes[0] = (char)(0xc0 | c >> 6);
		bytes[1] = (char)(0x80 | (c & 0x3f));
		size = 2;
	} else {
		bytes[0] = (char)(0xe0 | c >> 12);
		bytes[1] = (char)(0x80 | (c >> 6 & 0x3f));
		bytes[2] = (char)(0x80 | (c & 0x3f));
		size = 3;
	}
	if (used + size < sizeof(word->text)) {
		memcpy(word->text + used, bytes, size);
		word->text[used + size] = '\0';
	}
}

static bool is_turn(const char *word)
{
	for (size_t i = 0; i < ARRAY_SIZE(turns); i++)
		if (strcmp(word, turns[i]) == 0)
			return true;
	return false;
}

/* What is collected while the words are read. */
struct splitter {
	struct detect_words *out; /* so far */
	struct detect_word word;  /* the one that is read; empty: none */
	unsigned clause;          /* which part this is */
	size_t sentence;          /* where the sentence began */
	size_t most;              /* words that there is room for */
};

static void word_add(struct splitter *s, const char *text, size_t size)
{
	struct detect_word *word = &s->out->words[s->out->count];

	if (s->out->count >= s->most)
		return;
	*word = (struct detect_word){ 0 };
	memcpy(word->text, text, size);
	if (is_turn(word->text))
		s->clause++;
	word->clause = s->clause;
	s->out->count++;
}

static void word_end(struct splitter *s)
{
	const char *text = s->word.text;

	for (size_t i = 0; i < ARRAY_SIZE(spellings); i++) {
		if (strcmp(text, spellings[i].written) == 0) {
			text = spellings[i].meant;
			break;
		}
	}
	while (*text) {
		size_t size = strcspn(text, " ");

		word_add(s, text, size);
		text += size + (text[size] == ' ');
	}
	s->word.text[0] = '\0';
}

static void clause_end(struct splitter *s, int how)
{
	s->clause++;
	for (size_t i = s->sentence; how == 3 && i < s->out->count; i++)
		s->out->words[i].asked = true;
	if (how >= 2)
		s->sentence = s->out->count;
}

/* How far the arguments of a call in the middle of a sentence reach: "f(1, 2)" is one word of it; 0: there are none. */
static size_t arguments(const char *prose, size_t at, size_t size)
{
	size_t depth = 0, start = at;

	if (at == 0 || prose[at] != '(' || fold((unsigned char)prose[at - 1]) == 0)
		return 0;
	for (; at < size && at - start < ARGUMENTS_MAX && prose[at] != '\n'; at++) {
		depth += prose[at] == '(';
		depth -= prose[at] == ')';
		if (depth == 0)
			return at + 1 - start;
	}
	return 0;
}

int detect_split(const char *prose, size_t size, struct arena *arena, struct detect_words *out)
{
	const unsigned char *at = (const unsigned char *)prose;
	/* A word of one letter is never spelled as two: as many as there are bytes is enough. */
	struct splitter s = { .out = out, .most = size < DETECT_WORDS_MAX ? size : DETECT_WORDS_MAX };

	out->count = 0;
	out->words = arena_alloc(arena, (s.most + 1) * sizeof(*out->words));
	if (!out->words)
		return -1;
	for (size_t i = 0, step; i < size; i += step) {
		uint32_t c, folded;
		int end;

		step = arguments(prose, i, size);
		if (step) {
			word_end(&s);
			continue;
		}
		step = decode(at + i, size - i, &c);
		folded = fold(c);
		end = ends(c);
		if (!folded || is_word_alone(folded))
			word_end(&s);
		if (folded)
			word_put(&s.word, folded);
		if (is_word_alone(folded))
			word_end(&s);
		/* "main.go" and "3.11" are no ends of sentences. */
		if (end && (c != '.' || i + 1 >= size || fold(at[i + 1]) == 0))
			clause_end(&s, end);
	}
	word_end(&s);
	return 0;
}

/* One word of a pattern, of `size` bytes: alternatives, each perhaps only a beginning. */
static bool word_matches(const char *word, const char *pattern, size_t size)
{
	while (size > 0) {
		const char *slash = memchr(pattern, '/', size);
		size_t length = slash ? (size_t)(slash - pattern) : size;
		bool prefix = length > 0 && pattern[length - 1] == '*';
		size_t plain = length - prefix;

		if (strncmp(word, pattern, plain) == 0 && (prefix || word[plain] == '\0'))
			return true;
		if (length == 1 && (*pattern == '_' || (*pattern == '#' && *word >= '0' && *word <= '9')))
			return true;
		pattern += length + (slash != NULL);
		size -= length + (slash != NULL);
	}
	return false;
}

/* How many words from `at` on the pattern takes; 0: it is not there. */
static size_t phrase_at(const struct detect_words *words, size_t at, const char *pattern)
{
	size_t i = at, size = strcspn(pattern, " ");
	const char *rest = pattern + size + strspn(pattern + size, " ");

	if (*pattern == '\0')
		return 0;
	if (*pattern == '?')
		return i < words->count && words->words[i].asked ? phrase_at(words, i, rest) : 0;
	if (*pattern == '^')
		return i > 0 && words->words[i - 1].clause == words->words[i].clause ? 0 : phrase_at(words, i, rest);
	if (size == 2 && memcmp(pattern, "..", 2) == 0) {
		for (size_t skip = 0; skip <= GAP_MAX && i + skip < words->count; skip++) {
			size_t more;

			if (words->words[i + skip].clause != words->words[i ? i - 1 : 0].clause)
				return 0;
			more = phrase_at(words, i + skip, rest);
			if (more)
				return skip + more;
		}
		return 0;
	}
	if (i >= words->count || !word_matches(words->words[i].text, pattern, size))
		return 0;
	if (*rest == '\0')
		return 1;
	if (i + 1 >= words->count || words->words[i + 1].clause != words->words[i].clause)
		return 0;
	size = phrase_at(words, i + 1, rest);
	return size ? 1 + size : 0;
}

/* "I have no shell here so please run it": the wish begins with "please". */
static bool has_please(const struct detect_words *words, size_t from, size_t to)
{
	for (size_t i = from; i <= to; i++)
		if (strcmp(words->words[i].text, "please") == 0 || strcmp(words->words[i].text, "bitte") == 0)
			return true;
	return false;
}

static bool begins_negation(const struct detect_words *words, size_t at)
{
	for (size_t i = 0; i < ARRAY_SIZE(no_negations); i++)
		if (phrase_at(words, at, no_negations[i]))
			return false;
	for (size_t i = 0; i < ARRAY_SIZE(negations); i++)
		if (phrase_at(words, at, negations[i]))
			return true;
	return false;
}

/* Whether a negation stands before the phrase, or in it. */
static bool is_negated(const struct detect_words *words, size_t at, size_t size)
{
	size_t first = at > GAP_MAX ? at - GAP_MAX : 0;

	for (size_t i = first; i < at + size; i++) {
		if (words->words[i].clause != words->words[at].clause || (i < at && has_please(words, i + 1, at)))
			continue;
		if (begins_negation(words, i))
			return true;
	}
	return false;
}

static void score_add(struct detect_score *out, enum detect_kind kind, int weight, const char *phrase)
{
	out->weight[kind] += weight;
	if (weight > out->phrase_weight[kind]) {
		out->phrase_weight[kind] = weight;
		out->phrase[kind] = phrase;
	}
}

/* With which bytes the first word of a phrase may begin: most phrases are ruled out by that. */
struct firsts {
	uint64_t bits[4]; /* one for each byte */
};

static void firsts_find(const char *pattern, struct firsts *out)
{
	size_t size;

	*out = (struct firsts){ 0 };
	while (*pattern == '?' || *pattern == '^')
		pattern += 1 + strspn(pattern + 1, " ");
	size = strcspn(pattern, " ");
	for (size_t at = 0; at < size; at++) {
		const unsigned char first = (unsigned char)pattern[at];

		if (at > 0 && pattern[at - 1] != '/')
			continue;
		if (first == '_' || first == '*' || first == '.' || first == '#')
			memset(out, 0xff, sizeof(*out));
		out->bits[first / 64] |= UINT64_C(1) << first % 64;
	}
}

static bool firsts_have(const struct firsts *firsts, const struct detect_word *word)
{
	const unsigned char first = (unsigned char)word->text[0];

	return firsts->bits[first / 64] >> first % 64 & 1;
}

/* Among words with blanks around each. */
static bool is_listed(const char *list, const char *word)
{
	char padded[DETECT_WORD_MAX + 2];

	snprintf(padded, sizeof(padded), " %s ", word);
	return strstr(list, padded) != NULL;
}

/* Nothing stands before it in its clause but what leads to a wish: "please", "can you". */
static bool is_led(const struct detect_words *words, size_t at)
{
	for (size_t i = at; i > 0 && words->words[i - 1].clause == words->words[at].clause; i--)
		if (!is_listed(leads, words->words[i - 1].text))
			return false;
	return true;
}

/* Which clauses ask for what; of the later ones of a long message it is not known. */
struct clauses {
	uint64_t direct; /* they ask for a run, with nothing before it */
	uint64_t other;  /* for something else */
};

static void clauses_add(struct clauses *clauses, const struct detect_words *words, size_t at, enum detect_kind kind,
			int weight)
{
	const unsigned clause = words->words[at].clause;

	if (clause >= 64)
		return;
	if (kind == DETECT_RUN && weight >= 3 && is_led(words, at))
		clauses->direct |= UINT64_C(1) << clause;
	if (kind == DETECT_OTHER)
		clauses->other |= UINT64_C(1) << clause;
}

/* "No tengo Python" after a question is the reason for it, and no answer to it. */
static bool gives_reason(const struct detect_words *words, size_t at)
{
	static const char *const lacks[] = { "tengo",    "tenemos",     "hay",      "puedo",      "dispongo",
					     "python",   "node",        "питона",   "компьютера", "компилятора",
					     "доступа",  "возможности", "compiler", "computer",   "interpreter",
					     "terminal", "installed" };

	for (size_t i = 0; at < words->count && i < ARRAY_SIZE(lacks); i++)
		if (strcmp(words->words[at].text, lacks[i]) == 0)
			return true;
	return false;
}

/* Whether the sentence of the word at `at` is a question to which its author says no. */
static bool is_refused(const struct detect_words *words, size_t at)
{
	size_t i = at;

	if (!words->words[at].asked)
		return false;
	while (i < words->count && words->words[i].asked)
		i++;
	if (i == words->count || i - at > REFUSED_MAX)
		return false;
	if (gives_reason(words, i + 1))
		return false;
	for (size_t r = 0; r < ARRAY_SIZE(refusals); r++) {
		if (strcmp(words->words[i].text, refusals[r]) != 0)
			continue;
		/* いや, いえ, 아니: their first characters begin other words as well. */
		return (strcmp(refusals[r], "い") != 0 && strcmp(refusals[r], "아") != 0) ||
		       (i + 1 < words->count &&
			(strcmp(words->words[i + 1].text, "や") == 0 || strcmp(words->words[i + 1].text, "い") == 0 ||
			 strcmp(words->words[i + 1].text, "니") == 0));
	}
	return false;
}

/* Each phrase counts once, and of those of one kind that begin at the same word the weightiest. */
void detect_score(const struct detect_words *words, struct detect_score *out)
{
	bool used[ARRAY_SIZE(rules)] = { false };
	struct firsts firsts[ARRAY_SIZE(rules)];
	struct clauses clauses = { 0 };

	*out = (struct detect_score){ 0 };
	for (size_t r = 0; r < ARRAY_SIZE(rules); r++)
		firsts_find(rules[r].phrase, &firsts[r]);
	for (size_t i = 0; i < words->count; i++) {
		const struct rule *best[DETECT_KINDS] = { NULL };

		out->asked += words->words[i].asked;
		for (size_t r = 0; r < ARRAY_SIZE(rules); r++) {
			size_t size = used[r] || !firsts_have(&firsts[r], &words->words[i])
					      ? 0
					      : phrase_at(words, i, rules[r].phrase);
			enum detect_kind kind = rules[r].kind;

			if (!size)
				continue;
			if (kind != DETECT_STOP && is_negated(words, i, size)) {
				/* What is not wanted is no wish; a run that is not wanted is. */
				if (kind != DETECT_RUN)
					continue;
				kind = DETECT_STOP;
			}
			if (kind == DETECT_RUN && is_refused(words, i))
				kind = DETECT_STOP;
			used[r] = true;
			if (!best[kind] || rules[r].weight > best[kind]->weight)
				best[kind] = &rules[r];
		}
		for (int kind = 0; kind < DETECT_KINDS; kind++)
			if (best[kind]) {
				score_add(out, (enum detect_kind)kind, best[kind]->weight, best[kind]->phrase);
				clauses_add(&clauses, words, i, (enum detect_kind)kind, best[kind]->weight);
			}
	}
	out->direct = (clauses.direct & ~clauses.other) != 0;
}

bool detect_is_bare(const struct detect_words *words)
{
	size_t said = 0;

	if (words->count > BARE_WORDS)
		return false;
	for (size_t i = 0; i < words->count; i++) {
		if (words->words[i].asked)
			return false;
		if (is_listed(fillers, words->words[i].text) || detect_fence_language(words->words[i].text))
			continue;
		/* An unknown word that begins a sentence is perhaps a verb: "polish this". */
		if (i == 0 && words->count > 1)
			return false;
		said++;
	}
	return said <= 1;
}

bool detect_has_phrase(const struct detect_words *words, const char *phrase)
{
	_cleanup_arena_ struct arena arena = { 0 };
	struct detect_words wanted;

	if (detect_split(phrase, strlen(phrase), &arena, &wanted) < 0 || wanted.count == 0)
		return false;
	for (size_t i = 0; i + wanted.count <= words->count; i++) {
		size_t same = 0;

		while (same < wanted.count && strcmp(words->words[i + same].text, wanted.words[same].text) == 0)
			same++;
		if (same == wanted.count)
			return true;
	}
	return false;
}
