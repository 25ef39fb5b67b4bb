package lang

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

type kind int

const (
	end kind = iota
	number
	text
	word
	symbol
)

type token struct {
	kind   kind
	text   string
	column int
}

func (t token) String() string {
	if t.kind == end {
		return "the end"
	}
	return fmt.Sprintf("%q", t.text)
}

// A mistake in a line, with its column.
type Error struct {
	Column  int
	Message string
}

func (e *Error) Error() string {
	return fmt.Sprintf("column %d: %s", e.Column, e.Message)
}

func split(line string) ([]token, error) {
	var tokens []token
	for at := 0; at < len(line); {
		r, size := utf8.DecodeRuneInString(line[at:])
		start := at
		switch {
		case unicode.IsSpace(r):
			at += size
			continue
		case unicode.IsDigit(r):
			for at < len(line) && strings.ContainsRune("0123456789.", rune(line[at])) {
				at++
			}
			tokens = append(tokens, token{number, line[start:at], start + 1})
		case unicode.IsLetter(r):
			for at < len(line) {
				r, size := utf8.DecodeRuneInString(line[at:])
				if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
					break
				}
				at += size
			}
			tokens = append(tokens, token{word, line[start:at], start + 1})
		case r == '"':
			closing := strings.IndexByte(line[at+1:], '"')
			if closing < 0 {
				return nil, &Error{start + 1, "a string without an end"}
			}
			at += closing + 2
			tokens = append(tokens, token{text, line[start+1 : at-1], start + 1})
		default:
			for _, long := range []string{"==", "<=", "->"} {
				if strings.HasPrefix(line[at:], long) {
					size = len(long)
				}
			}
			at += size
			tokens = append(tokens, token{symbol, line[start:at], start + 1})
		}
	}
	return append(tokens, token{end, "", len(line) + 1}), nil
}
