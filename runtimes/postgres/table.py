"""Results: as psql prints them, and as JSON rows in the file of rich results.

The same file is in sqlite/ and postgres/; a test compares them. Each module
imported costs a run a part of its start, so they are few and low.

A line of the outputs is {"application/json": {"columns": [names], "rows":
[{name: value}], "row_count": N, "statement": text}}. A name that comes twice
gets _2. "truncated" is true when row_count counts more rows than are there.
"""

import sys
from _json import encode_basestring as quote

TEXT_MAX = 4 << 20  # characters of a result that are printed; all of an endless one would never be aligned
CELLS_MAX = 500_000  # values of a result that are printed: small ones take more memory than their text
JSON_MAX = 1 << 20  # characters of its rows in the outputs
STATEMENT_MAX = 1000  # characters of the statement there
EXACT = 1 << 53  # whole numbers beyond are strings: most readers of JSON have doubles

_wide = None


def width(text):
    """Columns on a terminal: wide characters take 2, combining ones none."""
    global _wide
    if text.isascii():
        return len(text)
    if _wide is None:
        import unicodedata as _wide
    columns = 0
    for char in text:
        if char < "\u0300" or _wide.category(char) not in ("Mn", "Me", "Cf"):
            columns += 2 if _wide.east_asian_width(char) in "WF" else 1
    return columns


def _plain(line):
    """A line without control characters, as psql shows them."""
    out = ""
    for char in line:
        if char == "\t":
            out += " " * (8 - width(out) % 8)
        elif char == "\r":
            out += "\\r"
        elif char < " " or "\x7f" <= char < "\xa0":
            out += f"\\x{ord(char):02X}"
        else:
            out += char
    return out


def lines(text):
    return [text] if text.isprintable() else [_plain(line) for line in text.split("\n")]


def integer(value):
    """JSON of a whole number."""
    return str(value) if -EXACT <= value <= EXACT else f'"{value}"'


def unique(names):
    seen, out = set(), []
    for name in names:
        key, count = name, 1
        while key in seen:
            count += 1
            key = f"{name}_{count}"
        seen.add(key)
        out.append(key)
    return out


class Output:
    """Where results go: standard output, and the outputs if there are such."""

    def __init__(self, outputs):
        self.file = sys.stdout.buffer
        self.outputs = open(outputs, "ab") if outputs else None
        self.once = False  # only the next statement's result goes elsewhere
        self.quiet = False  # files that are loaded before the program print nothing

    def to(self, file, once):
        """What is printed goes to a file, until back(); `once`: after the next statement."""
        self.file, self.once = file, once

    def back(self):
        if self.file is not sys.stdout.buffer:
            self.file.close()
        self.file, self.once = sys.stdout.buffer, False

    def text(self, text):
        if not self.quiet:
            self.file.write(text.encode("utf-8", "replace"))

    def line(self, line):
        if self.outputs and not self.quiet:
            self.outputs.write(line.encode("utf-8", "replace"))
            self.outputs.flush()


class Result:
    """One result: rows are added, then it is finished. Memory is bounded however many there are."""

    def __init__(self, output, names, right, statement, title=None, footer=None):
        self.output, self.names, self.statement = output, names, statement
        self.title, self.footer = title, footer  # a footer stands instead of the count
        self.right = right  # per column: a number; may be changed until it is printed
        self.rows, self.size, self.printed, self.full = [], 0, False, False
        self.keys = [quote(key) + ": " for key in unique(names)]
        self.json, self.json_size = [], 0
        self.count = 0

    def add(self, texts, values):
        """A row: texts for the table, None is NULL; a function that makes the JSON of each. When `full`, rows only need
        to be counted."""
        self.count += 1
        if self.output.quiet:
            self.full = True
            return
        if self.json_size <= JSON_MAX:
            row = "{" + ", ".join([key + value for key, value in zip(self.keys, values())]) + "}"
            self.json_size += len(row)
            if self.json_size <= JSON_MAX:
                self.json.append(row)
        if not self.printed:
            self.rows.append(texts)
            self.size += sum([3 + len(text) if text else 7 for text in texts])
            if self.size > TEXT_MAX or len(self.rows) * len(texts) >= CELLS_MAX:
                self._print()
        self.full = self.printed and self.json_size > JSON_MAX

    def finish(self):
        if not self.printed:
            self._print()
        count = f"{self.count} row" + "s" * (self.count != 1)
        if self.count > self.shown:
            count += f", the first {self.shown} of them shown"
        self.output.text((f"({count})\n" if self.footer is None else self.footer) + "\n")
        names = ", ".join([key[:-2] for key in self.keys])
        statement = self.statement
        if len(statement) > STATEMENT_MAX:
            statement = statement[:STATEMENT_MAX] + "…"
        more = ', "truncated": true' if self.count > len(self.json) else ""
        self.output.line(
            f'{{"application/json": {{"columns": [{names}], "rows": [{", ".join(self.json)}], '
            f'"row_count": {self.count}{more}, "statement": {quote(statement)}}}}}\n'
        )

    def _print(self):
        self.printed, self.shown = True, len(self.rows)
        part = []
        for line in table(self.names, self.rows, self.right, self.title):
            part.append(line + "\n")
            if len(part) == 1000:
                self.output.text("".join(part))
                part.clear()
        self.output.text("".join(part))
        self.output.file.flush()
        self.rows = None


def table(names, rows, right, title=None):
    """Lines of header and rows; without the count."""
    heads = [lines(name) for name in names]
    widths = [max(map(width, head)) for head in heads]
    simple = True  # each row is a line, and each character a column
    for row in rows:
        for i, text in enumerate(row):
            if text is None:
                columns = 4
            elif text.isascii() and text.isprintable():
                columns = len(text)
            else:
                columns = max(map(width, lines(text)))
                simple = False
            if columns > widths[i]:
                widths[i] = columns
    if not names:
        yield "--"
        return
    if title:
        total = sum(widths) + 3 * len(widths) - 1
        yield " " * ((total - width(title)) // 2) + title
    yield from _row(heads, widths, None)
    yield "+".join(["-" * (columns + 2) for columns in widths])
    if simple:
        form = [f"%{columns}s" if number else f"%-{columns}s" for columns, number in zip(widths, right)]
        if not right[-1]:
            form[-1] = "%s"
        form = " " + " | ".join(form)
        for row in rows:
            yield form % tuple(["NULL" if text is None else text for text in row])
        return
    for row in rows:
        yield from _row([["NULL"] if text is None else lines(text) for text in row], widths, right)


def _row(cells, widths, right):
    """One row, of as many lines as its highest cell; a + says that a cell goes on. Without `right` it is the head."""
    last = len(cells) - 1
    for n in range(max(map(len, cells))):
        parts = []
        for i, cell in enumerate(cells):
            line = cell[n] if n < len(cell) else ""
            space = " " * (widths[i] - width(line))
            goes_on = n + 1 < len(cell)
            if right is None:
                half = len(space) // 2
                line = space[:half] + line + space[half:] + ("+" if goes_on else " ")
            elif right[i]:
                line = space + line if n < len(cell) or i < last else ""
                line += "+" if goes_on else " " if i < last else ""
            elif i < last or goes_on:
                line += space + ("+" if goes_on else " ")
            parts.append(" " + line)
        yield "|".join(parts)
