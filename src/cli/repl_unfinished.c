#include "cli/repl_unfinished.h"

#include "base/own.h"

#include <string.h>

enum family {
	PYTHON,
	BRACES, /* JavaScript, C and similar languages */
	SHELL,
	RUBY,
	SQL,
};

static const struct dialect {
	const char *language; /* NULL: any other language */
	enum family family;
	const char *comment; /* start of a comment to the end of the line */
} dialects[] = {
	{ "python", PYTHON, "#" }, { "bash", SHELL, "#" },  { "sh", SHELL, "#" },      { "zsh", SHELL, "#" },
	{ "ruby", RUBY, "#" },     { "sqlite", SQL, "--" }, { "postgres", SQL, "--" }, { "perl", BRACES, "#" },
	{ "r", BRACES, "#" },      { "lua", BRACES, "--" }, { NULL, BRACES, "//" },
};

static const struct dialect *dialect_of(const char *language)
{
	const struct dialect *dialect = dialects;

	while (dialect->language && strcmp(dialect->language, language) != 0)
		dialect++;
	return dialect;
}

const char *unfinished_comment(const char *language)
{
	return dialect_of(language)->comment;
}

/* The state of a scan. */
struct scan {
	const struct dialect *dialect;
	const char *text;    /* the whole text */
	size_t size;         /* bytes */
	size_t at;           /* position */
	int depth;           /* open brackets */
	int blocks;          /* open blocks with keywords */
	bool quoted;         /* the text ends inside a quote or comment */
	char last;           /* the last significant character, 0: none */
	char before;         /* the one before it */
	size_t last_at;      /* position of the last one */
	bool opens;          /* a line ended with ':' outside of brackets */
	bool command;        /* SHELL: the next word is a command */
	bool statement;      /* RUBY: the next word is the first on its line */
	bool loop;           /* RUBY: while, until or for on this line: its `do` opens no further block */
	char heredoc[64];    /* end word of a here-document that starts at the next line; "": none */
	bool heredoc_indent; /* its end may be indented */
};

static bool text_here(const struct scan *scan, const char *word)
{
	size_t size = strlen(word);

	return scan->size - scan->at >= size && memcmp(scan->text + scan->at, word, size) == 0;
}

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || (c & 0x80);
}

static bool in_list(const char *word, size_t size, const char *const *list)
{
	for (; *list; list++)
		if (strlen(*list) == size && memcmp(*list, word, size) == 0)
			return true;
	return false;
}

/* Skips a quote with the delimiter `mark` of `size` bytes. If the language says so, a line end ends a plain quote: an
 * error, not an open quote. */
static void skip_quote(struct scan *scan, const char *mark, bool escapes, bool lines)
{
	size_t size = strlen(mark);

	scan->at += size;
	while (scan->at < scan->size) {
		if (text_here(scan, mark)) {
			scan->at += size;
			return;
		}
		if (escapes && scan->text[scan->at] == '\\' && scan->at + 1 < scan->size) {
			scan->at += 2;
			continue;
		}
		if (!lines && scan->text[scan->at] == '\n')
			return;
		scan->at++;
	}
	scan->quoted |= lines;
}

/* Comments may be nested. */
static void skip_comment(struct scan *scan, const char *open, const char *close)
{
	const char *end;

	scan->at += strlen(open);
	end = memmem(scan->text + scan->at, scan->size - scan->at, close, strlen(close));
	scan->quoted |= !end;
	scan->at = end ? (size_t)(end - scan->text) + strlen(close) : scan->size;
}

static void skip_line(struct scan *scan)
{
	while (scan->at < scan->size && scan->text[scan->at] != '\n')
		scan->at++;
}

/* <<WORD, <<-WORD, <<~WORD, the word possibly quoted. False: a shift, or an append. */
static bool begin_heredoc(struct scan *scan)
{
	size_t at = scan->at + 2, n = 0;
	char quote = 0;
	bool indent = false;

	if (at < scan->size && (scan->text[at] == '-' || scan->text[at] == '~')) {
		indent = true;
		at++;
	}
	if (scan->dialect->family == SHELL)
		while (at < scan->size && scan->text[at] == ' ')
			at++;
	if (at < scan->size && (scan->text[at] == '\'' || scan->text[at] == '"'))
		quote = scan->text[at++];
	if (scan->dialect->family == RUBY && !quote &&
	    !(at < scan->size && scan->text[at] >= 'A' && scan->text[at] <= 'Z'))
		return false;
	while (at < scan->size && is_word(scan->text[at]) && n + 1 < sizeof(scan->heredoc))
		scan->heredoc[n++] = scan->text[at++];
	scan->heredoc[n] = '\0';
	scan->heredoc_indent = indent;
	if (n == 0)
		return false;
	scan->at = at + (quote && at < scan->size && scan->text[at] == quote);
	return true;
}

/* Skips the lines of a here-document up to its end word. */
static void skip_heredoc(struct scan *scan)
{
	size_t word = strlen(scan->heredoc);

	while (scan->at < scan->size) {
		const char *line = scan->text + scan->at;
		size_t left = scan->size - scan->at, size = strcspn(line, "\n"), lead = 0;

		size = size < left ? size : left;
		while (scan->heredoc_indent && lead < size && (line[lead] == ' ' || line[lead] == '\t'))
			lead++;
		scan->at += size + (size < left);
		if (size - lead == word && memcmp(line + lead, scan->heredoc, word) == 0) {
			scan->heredoc[0] = '\0';
			return;
		}
	}
}

/* A slash starts a regular expression where a value is expected. */
static bool slash_is_regex(const struct scan *scan)
{
	return scan->last == 0 || strchr("(,=:[!&|?{};+-*%<>~^", scan->last);
}

static void skip_regex(struct scan *scan)
{
	bool set = false;

	scan->at++;
	while (scan->at < scan->size && scan->text[scan->at] != '\n') {
		char c = scan->text[scan->at++];

		if (c == '\\')
			scan->at += scan->at < scan->size;
		else if (c == '[')
			set = true;
		else if (c == ']')
			set = false;
		else if (c == '/' && !set)
			return;
	}
}

/* Skips a quote or comment. True if there was one. */
static bool skip_text(struct scan *scan)
{
	enum family family = scan->dialect->family;
	char c = scan->text[scan->at], before = scan->at > 0 ? scan->text[scan->at - 1] : '\n';
	bool spaced = before == ' ' || before == '\t' || before == '\n' || before == ';' || before == '(';

	/* In a shell, $# and a#b are not comments. */
	if (text_here(scan, scan->dialect->comment) && (family != SHELL || spaced)) {
		skip_line(scan);
		return true;
	}
	if ((family == BRACES || family == SQL) && strcmp(scan->dialect->comment, "#") != 0 && text_here(scan, "/*")) {
		skip_comment(scan, "/*", "*/");
		return true;
	}
	if (family == PYTHON && (text_here(scan, "\"\"\"") || text_here(scan, "'''"))) {
		skip_quote(scan, c == '"' ? "\"\"\"" : "'''", true, true);
	} else if (c == '"' || (c == '\'' && family != SHELL && family != SQL)) {
		skip_quote(scan, c == '"' ? "\"" : "'", family != SQL, family != PYTHON && family != BRACES);
	} else if (c == '\'') {
		skip_quote(scan, "'", false, true);
	} else if (c == '`' && family != PYTHON && family != SQL) {
		skip_quote(scan, "`", true, true);
	} else if (c == '/' && (family == BRACES || family == RUBY) && slash_is_regex(scan)) {
		skip_regex(scan);
	} else {
		return false;
	}
	scan->before = scan->last;
	scan->last = c;
	scan->last_at = scan->at - 1;
	scan->command = scan->statement = false;
	return true;
}

static void shell_word(struct scan *scan, const char *word, size_t size)
{
	static const char *const open[] = { "if", "for", "while", "until", "case", "select", "{", NULL };
	static const char *const close[] = { "fi", "done", "esac", "}", NULL };
	static const char *const then[] = {
		"then", "do", "else", "elif", "!", "if", "while", "until", "{", "time", NULL
	};

	if (!scan->command)
		return;
	if (in_list(word, size, open))
		scan->blocks++;
	if (in_list(word, size, close))
		scan->blocks--;
	scan->command = in_list(word, size, then);
}

/* After `def`: an endless method (def f(x) = x + 1), which has no `end`. def f=(x) is a setter. */
static bool ruby_is_endless(const struct scan *scan)
{
	const char *at = scan->text + scan->at, *end = scan->text + scan->size;
	bool apart = false;
	int depth = 0;

	while (at < end && (*at == ' ' || *at == '\t'))
		at++;
	while (at < end && (is_word(*at) || strchr(".?!", *at)))
		at++;
	for (; at < end && *at == '(' && !apart; apart = true)
		do
			depth += (*at == '(') - (*at == ')');
		while (++at < end && depth > 0);
	for (; at < end && (*at == ' ' || *at == '\t'); at++)
		apart = true;
	return apart && depth == 0 && at < end && *at == '=' && !(at + 1 < end && strchr("=~", at[1]));
}

static void ruby_word(struct scan *scan, const char *word, size_t size)
{
	static const char *const always[] = { "def", "class", "module", "begin", "case", "for", NULL };
	static const char *const first[] = { "if", "unless", "while", "until", NULL };
	static const char *const loops[] = { "while", "until", "for", NULL };

	/* In obj.class, :end and end:, these are names. */
	if (scan->last == '.' || (scan->last == ':' && scan->before != ':') ||
	    (scan->at < scan->size && scan->text[scan->at] == ':' &&
	     !(scan->at + 1 < scan->size && scan->text[scan->at + 1] == ':')))
		return;
	/* A modifier (x if y) opens no block; after = it is no modifier. */
	if (size == 3 && memcmp(word, "def", 3) == 0 && ruby_is_endless(scan))
		;
	else if (in_list(word, size, always) ||
		 (in_list(word, size, first) && (scan->statement || (scan->last && strchr("=(,|&", scan->last)))))
		scan->blocks++;
	else if (size == 2 && memcmp(word, "do", 2) == 0)
		scan->blocks += !scan->loop;
	else if (size == 3 && memcmp(word, "end", 3) == 0)
		scan->blocks--;
	if (in_list(word, size, loops) && (scan->statement || *word == 'f'))
		scan->loop = true;
	scan->statement = false;
}

static void take_word(struct scan *scan)
{
	const char *word = scan->text + scan->at;
	size_t size = 0;

	while (scan->at + size < scan->size && is_word(word[size]))
		size++;
	scan->at += size;
	if (scan->dialect->family == SHELL)
		shell_word(scan, word, size);
	else if (scan->dialect->family == RUBY)
		ruby_word(scan, word, size);
	scan->before = size > 1 ? word[size - 2] : scan->last;
	scan->last = word[size - 1];
	scan->last_at = scan->at - 1;
}

static void end_line(struct scan *scan)
{
	scan->at++;
	if (scan->heredoc[0])
		skip_heredoc(scan);
	scan->command = scan->statement = true;
	scan->loop = false;
	if (scan->dialect->family == PYTHON && scan->depth == 0 && scan->last == ':')
		scan->opens = true;
}

static void take_mark(struct scan *scan, char c)
{
	enum family family = scan->dialect->family;

	/* An escaped character is part of a word. */
	if (family == SHELL && c == '\\' && scan->at + 1 < scan->size && scan->text[scan->at + 1] != '\n') {
		c = 'x';
		scan->at++;
	}
	if (strchr("([{", c) && !(family == SHELL && c != '('))
		scan->depth++;
	else if (strchr(")]}", c) && !(family == SHELL && c != ')'))
		/* A pattern of `case` ends with an unmatched bracket. */
		scan->depth -= !(family == SHELL && scan->depth == 0);
	if (family == SHELL && scan->command && (c == '{' || c == '}'))
		shell_word(scan, &c, 1);
	else if (family == SHELL)
		scan->command = strchr(";|&(", c) || (c == ')' && (scan->blocks > 0 || scan->last == '('));
	if (family == RUBY)
		scan->statement = c == ';';
	scan->before = scan->last;
	scan->last = c;
	scan->last_at = scan->at++;
}

static void scan_all(struct scan *scan)
{
	while (scan->at < scan->size) {
		char c = scan->text[scan->at];

		if (skip_text(scan))
			continue;
		if (c == '\n') {
			end_line(scan);
		} else if (c == ' ' || c == '\t' || c == '\r') {
			scan->at++;
		} else if (is_word(c)) {
			take_word(scan);
		} else if (text_here(scan, "<<<") && scan->dialect->family == SHELL) {
			scan->at += 3;
		} else if ((scan->dialect->family == SHELL || scan->dialect->family == RUBY) && text_here(scan, "<<") &&
			   begin_heredoc(scan)) {
			scan->before = scan->last;
			scan->last = 'x';
			scan->last_at = scan->at - 1;
		} else {
			take_mark(scan, c);
		}
	}
}

/* Whether the last line starts with a word of the list, or is indented. */
static bool python_block(const struct scan *scan)
{
	static const char *const openers[] = { "if",    "for",  "while", "try",    "with",    "def", "class",
					       "async", "else", "elif",  "except", "finally", NULL };
	const char *text = scan->text, *line = text;
	size_t size;

	if (scan->opens || scan->last == ':')
		return true;
	/* The last line that is not blank. */
	for (const char *at = text; at < text + scan->size; at += strcspn(at, "\n") + 1) {
		size_t all = strcspn(at, "\n");

		if (strspn(at, " \t\r") < all)
			line = at;
	}
	if (*line == '@')
		return true;
	for (size = 0; is_word(line[size]); size++)
		;
	return in_list(line, size, openers);
}

static bool is_blank_line_end(const char *text, size_t size)
{
	while (size > 0 && (text[size - 1] == ' ' || text[size - 1] == '\t' || text[size - 1] == '\r'))
		size--;
	return size > 0 && text[size - 1] == '\n';
}

/* SQL: a semicolon ends a statement; a command of the client is one line. */
static enum unfinished sql_unfinished(const struct scan *scan)
{
	size_t lead = strspn(scan->text, " \t\n");

	if (scan->last == 0 || scan->text[lead] == '.' || scan->text[lead] == '\\')
		return UNFINISHED_NOT;
	return scan->last == ';' && scan->depth <= 0 ? UNFINISHED_NOT : UNFINISHED_BLOCK;
}

static bool goes_on(const struct scan *scan)
{
	char c = scan->last, b = scan->before;

	switch (scan->dialect->family) {
	case SHELL:
		return c == '|' || (c == '&' && b == '&');
	case RUBY:
		return strchr(",.+*=&", c) || (c == '|' && b == '|') || (c == '-' && b != '-');
	case BRACES:
		/* i++ and i-- are complete; so may be a type's ! or a label's :. */
		return strchr(",.=*%^", c) || (c == '+' && b != '+') || (c == '-' && b != '-') ||
		       (c == '&' && b == '&') || (c == '|' && b == '|') || (c == '>' && b == '=') ||
		       (c == '?' && b == '?');
	default:
		return false;
	}
}

enum unfinished unfinished(const char *language, const char *text, size_t size)
{
	_cleanup_free_ char *copy = strndup(text, size);
	struct scan scan = { .dialect = dialect_of(language), .text = copy, .command = true, .statement = true };
	enum family family = scan.dialect->family;

	if (!copy)
		return UNFINISHED_NOT;
	scan.size = strlen(copy);
	scan_all(&scan);
	if (family == SQL)
		return scan.quoted                          ? UNFINISHED_OPEN
		       : is_blank_line_end(copy, scan.size) ? UNFINISHED_NOT
							    : sql_unfinished(&scan);
	if (scan.quoted || scan.heredoc[0] || scan.depth > 0 || scan.blocks > 0)
		return UNFINISHED_OPEN;
	/* A backslash as the very last character. */
	if (scan.last == '\\' && scan.last_at + 1 == scan.size && family != BRACES)
		return UNFINISHED_OPEN;
	if (family == PYTHON)
		return python_block(&scan) && !is_blank_line_end(copy, scan.size) ? UNFINISHED_BLOCK : UNFINISHED_NOT;
	/* An operator at the end continues the cell, unless an empty line follows. */
	return scan.last && goes_on(&scan) && !is_blank_line_end(copy, scan.size) ? UNFINISHED_OPEN : UNFINISHED_NOT;
}

bool unfinished_goes_on(const char *language, const char *cell, const char *line)
{
	static const char *const more[] = { "else", "elif", "except", "finally", NULL };
	const char *last = cell;
	size_t word = 0;

	if (dialect_of(language)->family != PYTHON)
		return dialect_of(language)->family == SQL;
	if (!line[strspn(line, " \t\r\n")] || strchr(" \t#)", *line))
		return true;
	/* The function of a decorator. */
	for (const char *at = cell; *at; at += strcspn(at, "\n"), at += *at == '\n')
		last = *at == '\n' ? last : at;
	if (*last == '@')
		return true;
	while (is_word(line[word]))
		word++;
	return in_list(line, word, more);
}
