#include "policy/detect.h"

#include "base/own.h"
#include "policy/detect_parts.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>

enum {
	DIRECT = 10 /* the weight of a clause that asks for a run and nothing else */
};

/* A language's name among the words: "in python". */
static const char *named_language(const struct detect_words *words)
{
	for (size_t i = 0; i < words->count; i++) {
		const char *word = words->words[i].text, *name = strlen(word) > 1 ? detect_fence_language(word) : NULL;

		if (name && strcmp(word, "shell") != 0)
			return name;
	}
	return NULL;
}

static size_t runnable_count(const struct detected *found)
{
	size_t count = 0;

	for (size_t i = 0; i < found->block_count; i++)
		count += found->blocks[i].runnable;
	return count;
}

/* The longest trigger wins: it says the most. */
static const struct profile *triggered(const struct detect_words *words, const struct registry *registry)
{
	const struct profile *best = NULL;
	size_t longest = 0;

	for (size_t i = 0; registry && i < registry->count; i++) {
		for (const char *const *trigger = registry->profiles[i].triggers; *trigger; trigger++) {
			if (strlen(*trigger) <= longest || !detect_has_phrase(words, *trigger))
				continue;
			longest = strlen(*trigger);
			best = &registry->profiles[i];
		}
	}
	return best;
}

/*
 * `code` in the middle of a sentence is a program if the sentence asks for a run of it. A question that a run would
 * answer is enough for what is a call or a statement: `main.py` and `git push` are names of things.
 */
static void take_inlined(struct detect_parts *parts, const struct detect_score *score, const char *language)
{
	const bool asks = score->weight[DETECT_OUTCOME] >= 3 && score->weight[DETECT_OTHER] <= 1;
	const char *marks = score->weight[DETECT_RUN] > 0 ? "(; " : "(;";
	struct detected *found = parts->found;

	if (found->block_count > 0 || (score->weight[DETECT_RUN] == 0 && !asks))
		return;
	for (size_t at = 0; at < parts->inlined.size && found->block_count < DETECT_BLOCKS_MAX;) {
		const char *code = parts->inlined.data + at;
		size_t size = strlen(code);
		const char *seen;

		at += size + 1;
		if (size < 4 || !strpbrk(code, marks))
			continue;
		seen = detect_content(code, detect_look(parts, size));
		found->blocks[found->block_count++] = (struct detect_block){
			.language = *seen      ? seen
				    : language ? language
					       : "",
			.code = arena_copy(parts->arena, code, size),
			.size = size,
			.runnable = true,
		};
		parts->no_memory |= !found->blocks[found->block_count - 1].code;
	}
}

static void decide(struct detected *out, bool execute, int margin, const char *reason)
{
	static const double confidence[] = { 0.6, 0.7, 0.8, 0.88, 0.93, 0.96 };

	out->execute = execute;
	out->confidence = margin >= (int)ARRAY_SIZE(confidence) ? 0.98 : confidence[margin < 0 ? 0 : margin];
	out->reason = reason;
}

static void decide_by_words(struct detect_parts *parts, const struct detect_words *words,
			    const struct detect_score *score, bool trigger)
{
	/* What a clause asks for alone outweighs what is told around it: "I changed the loop. Run it." */
	const int run = score->weight[DETECT_RUN] + (trigger ? 3 : 0) + (score->direct ? DIRECT : 0);
	const int wish = run + score->weight[DETECT_OUTCOME], other = score->weight[DETECT_OTHER];
	struct detected *out = parts->found;
	const char *best;

	if (runnable_count(out) == 0) {
		decide(out, false, 5,
		       out->block_count > 0 ? "what it quotes is data or a message, not a program"
					    : "there is no code in it");
		return;
	}
	if (score->weight[DETECT_STOP] > 0) {
		decide(out, false, score->weight[DETECT_STOP], "it says not to run the code");
		return;
	}
	/* Who shows a terminal's output has run it already. */
	if (parts->transcript && run == 0) {
		decide(out, false, 4, "it shows what was run already, with its output");
		return;
	}
	if (wish > other || (wish == other && run > 0)) {
		best = trigger && !score->phrase[DETECT_RUN] ? "a trigger of the registry" : NULL;
		best = best ? best : score->phrase[DETECT_RUN] ? "it asks for a run" : "it asks what a run would show";
		decide(out, true, wish - other, best);
		return;
	}
	if (other > 0) {
		decide(out, false, other - wish, "it asks for something else than a run");
		return;
	}
	/* A question that is about nothing else is about what the code does. */
	if (score->asked > 0) {
		decide(out, true, 0, "it asks something that a run may answer");
		return;
	}
	if (detect_is_bare(words))
		decide(out, true, words->count == 0 ? 4 : 3, "there is hardly anything but code");
	else
		decide(out, false, 2, "nothing in it asks for a run");
}

/* Who says much around code says what is wanted first or last. */
static void prose_shorten(struct buf *prose)
{
	if (prose->size <= (size_t)2 * DETECT_PROSE_END)
		return;
	memmove(prose->data + DETECT_PROSE_END, prose->data + prose->size - DETECT_PROSE_END, DETECT_PROSE_END);
	prose->data[DETECT_PROSE_END - 1] = '\n';
	prose->size = (size_t)2 * DETECT_PROSE_END;
}

int detect_message(const char *message, size_t size, const struct registry *registry, struct arena *arena,
		   struct detected *out, struct error *err)
{
	struct detect_parts parts = { .arena = arena, .found = out };
	const struct profile *profile;
	struct detect_words words;
	struct detect_score score;
	const char *language;
	int done;

	*out = (struct detected){ .reason = "" };
	if (size > DETECT_MESSAGE_MAX)
		return error_field(err, "message", "expected at most 1 MiB");
	detect_cut(message, size, &parts);
	prose_shorten(&parts.prose);
	done = detect_split(parts.prose.data ? parts.prose.data : "", parts.prose.size, arena, &words);
	if (done == 0) {
		detect_score(&words, &score);
		profile = triggered(&words, registry);
		out->profile = profile ? profile->name : NULL;
		language = named_language(&words);
		if (!language && profile && profile->language)
			language = detect_fence_language(profile->language);
		take_inlined(&parts, &score, language);
		for (size_t i = 0; i < out->block_count; i++)
			if (!*out->blocks[i].language && out->blocks[i].runnable && language)
				out->blocks[i].language = language;
		/* What nothing is known of may be a program if somebody says so. */
		for (size_t i = 0; i < out->block_count; i++)
			out->blocks[i].runnable &= *out->blocks[i].language != '\0' || score.direct;
		decide_by_words(&parts, &words, &score, profile != NULL);
	}
	buf_free(&parts.prose);
	buf_free(&parts.inlined);
	if (done < 0 || parts.no_memory)
		return error_set(err, ERROR_FAILED, ENOMEM, "cannot hold the message");
	return 0;
}

/* The code is a stranger's: bytes that are no UTF-8 become U+FFFD. */
static json_t *text_json(const char *text, size_t size)
{
	_cleanup_buf_ struct buf clean = { 0 };

	buf_utf8(&clean, text, size);
	return json_stringn(clean.data ? clean.data : "", clean.size);
}

void detect_json(const struct detected *found, struct buf *out)
{
	json_t *blocks = json_array(), *root;
	_cleanup_free_ char *text = NULL;

	for (size_t i = 0; i < found->block_count; i++) {
		const struct detect_block *block = &found->blocks[i];

		json_array_append_new(blocks, json_pack("{s:o, s:o}", "language",
							*block->language ? json_string(block->language) : json_null(),
							"code", text_json(block->code, block->size)));
	}
	root = json_pack("{s:b, s:f, s:s, s:o, s:s?}", "execute", found->execute, "confidence", found->confidence,
			 "reason", found->reason, "blocks", blocks, "profile", found->profile);
	text = root ? json_dumps(root, JSON_COMPACT | JSON_REAL_PRECISION(3)) : NULL;
	json_decref(root);
	if (text)
		buf_text(out, text);
	else
		out->failed = true;
}
