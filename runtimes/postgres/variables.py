"""psql's variables in statements and commands: :name, :'name', :"name", :{?name}. Loaded when there is a colon."""


class Filled:
    """A statement as it was before variables were put in."""

    def __init__(self, sql):
        self.sql, self.parts = sql, []  # place and size of a value, and of what stood there

    def before(self, place):
        """The statement, and where this place was in it."""
        shift = 0
        for at, size, was, had in self.parts:
            if place < at:
                break
            if place < at + size:
                return self.sql, was
            shift = was + had - at - size
        return self.sql, place + shift


def literal(text):
    """As quote_literal() has it."""
    quoted = "'" + text.replace("'", "''").replace("\\", "\\\\") + "'"
    return (" E" if "\\" in text else "") + quoted


def identifier(text):
    return '"' + text.replace('"', '""') + '"'


def value(text, at, variables):
    """What stands for the colon at this place: (text, its end); None if it is none of a variable that is set."""
    mark = text[at + 1 : at + 2]
    begin = at + 2 if mark in ("'", '"') else at + 3 if text.startswith("{?", at + 1) else at + 1
    end = begin
    while end < len(text) and (text[end].isalnum() or text[end] == "_"):
        end += 1
    name = text[begin:end]
    if text.startswith("{?", at + 1):
        return ("TRUE" if name in variables else "FALSE", end + 1) if name and text[end : end + 1] == "}" else None
    if name not in variables or begin > at + 1 and text[end : end + 1] != mark:
        return None
    if mark == "'":
        return literal(variables[name]), end + 1
    if mark == '"':
        return identifier(variables[name]), end + 1
    return variables[name], end


def fill(sql, colons, variables):
    """The statement with variables, and how it was; that is None if there were none. A name that is not set stays."""
    filled, out, size, done = Filled(sql), [], 0, 0
    for at in colons:
        found = value(sql, at, variables)
        if not found:
            continue
        text, end = found
        out += sql[done:at], text
        size += at - done
        filled.parts.append((size, len(text), at, end - at))
        size += len(text)
        done = end
    return ("".join(out) + sql[done:], filled) if out else (sql, None)
