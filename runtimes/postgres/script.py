"""Files of statements, taken apart as psql does."""

import sys

CODE = "/sandbox/code/"


class Stop(Exception):
    """The run is over: what was wrong was said."""


class Text:
    """A file of statements, read like psql reads it."""

    def __init__(self, path):
        self.name = path.removeprefix(CODE)
        with open(path, "rb") as file:
            self.text = file.read().decode("utf-8-sig", "replace")
        self.size = len(self.text)
        self.at = 0
        self.found = dict.fromkeys(("'", '"', "--", "/*", "$", ":", ";", "(", ")", "\\"), -1)

    def line(self, at):
        return self.text.count("\n", 0, at) + 1

    def where(self, at):
        return f"{self.name}:{self.line(at)}: "

    def fail(self, at, message):
        sys.stdout.flush()
        sys.stderr.write(f"{self.where(at)}ERROR:  {message}\n")
        raise Stop

    def skip(self):
        """Past blanks and comments."""
        text = self.text
        while self.at < self.size:
            if text[self.at].isspace():
                self.at += 1
            elif text.startswith("--", self.at):
                self.at = text.find("\n", self.at) % (self.size + 1)
            elif text.startswith("/*", self.at):
                self.comment()
            else:
                return True
        return False

    def comment(self):
        """Past a comment; they nest."""
        depth, at = 0, self.at
        while True:
            opens, closes = self.text.find("/*", at), self.text.find("*/", at)
            if closes < 0:
                self.at = self.size
                return
            depth += 1 if 0 <= opens < closes else -1
            at = (opens if 0 <= opens < closes else closes) + 2
            if depth == 0:
                self.at = at
                return

    def named(self, at):
        """Whether the character before this place belongs to a name."""
        return at > 0 and (self.text[at - 1].isalnum() or self.text[at - 1] in "_$")

    def string(self, at):
        """Past a string that starts at this place; E'…' has escapes."""
        text = self.text
        escapes = at > 0 and text[at - 1] in "eE" and not self.named(at - 1)
        end = text.find("'", at + 1)
        while escapes and end > 0:
            back = text.find("\\", at + 1, end)
            if back < 0:
                break
            at = back + 1
            end = text.find("'", at + 1)
        return self.size if end < 0 else end + 1

    def dollar(self, at):
        """Past $tag$…$tag$, or past the dollar: then whether it is a parameter."""
        end = self.text.find("$", at + 1)
        tag = self.text[at : end + 1]
        if self.named(at):
            return at + 1, False
        if end > 0 and (tag == "$$" or tag[1:-1].isidentifier()):
            close = self.text.find(tag, end + 1)
            return (self.size if close < 0 else close + len(tag)), False
        return at + 1, self.text[at + 1 : at + 2].isdigit()

    def next(self):
        """Up to the end of a statement or a backslash: (start, end, what ended it, whether it has parameters, where
        colons are that are no cast's)."""
        text, found, size = self.text, self.found, self.size
        start = at = begun = self.at
        depth, parameters, code, colons = 0, False, [], []
        ended = ""
        while at < size:
            for mark, place in found.items():
                if place < at:
                    found[mark] = text.find(mark, at) % (size + 1)
            mark = min(found, key=found.get)
            at = found[mark]
            code.append(text[begun:at])
            if at == size:
                break
            if mark == "'":
                at = self.string(at)
            elif mark == '"':
                at = text.find('"', at + 1) + 1 or size
            elif mark == "--":
                at = text.find("\n", at) % (size + 1)
            elif mark == "/*":
                self.at = at
                self.comment()
                at = self.at
            elif mark == "$":
                at, parameter = self.dollar(at)
                parameters |= parameter
            elif mark == ":":
                if text.startswith("::", at):
                    at += 2
                else:
                    colons.append(at)
                    at += 1
            elif mark == "\\":
                ended = mark
                break
            else:
                at += 1
                depth += {"(": 1, ")": -1, ";": 0}[mark]
                if mark == ";" and depth <= 0 and not inside(code):
                    ended = mark
                    break
            begun = at
        self.at = at
        return start, at, ended, parameters, colons

    def rest(self):
        """The rest of the line, for a backslash command."""
        end = self.text.find("\n", self.at) % (self.size + 1)
        line, self.at = self.text[self.at : end], end
        return line.rstrip("\r")

    def inline(self):
        """Data up to a line \\. , None if there is no such line; then nothing is taken."""
        begin = self.text.find("\n", self.at) + 1
        if not begin:
            return None
        at = begin
        while at < self.size:
            end = self.text.find("\n", at) % (self.size + 1)
            if self.text[at:end].rstrip("\r") == "\\.":
                self.at = end
                return self.text[begin:at]
            at = end + 1
        return None


def inside(code):
    """Whether a semicolon after this code is one of a function's body: BEGIN ATOMIC … END."""
    words = " ".join(code).lower().split(None, 4)
    if words[:1] != ["create"] or not {"function", "procedure"} & set(words[1:4]):
        return False
    words = "".join([char if char.isalnum() or char == "_" else " " for char in " ".join(code).lower()]).split()
    begun = 0
    for word, following in zip(words, words[1:] + [""]):
        if begun == 0:
            begun = word == "begin" and following == "atomic"
        else:
            begun += (word in ("begin", "case")) - (word == "end")
    return begun > 0
