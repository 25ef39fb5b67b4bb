import re
from typing import NamedTuple

from .errors import CalcError


class Token(NamedTuple):
    kind: str
    text: str
    column: int


PATTERN = re.compile(
    r"""
    (?P<space>\s+)
  | (?P<number>\d+(?:\.\d+)?)
  | (?P<name>[^\W\d]\w*)
  | (?P<operator>\*\*|<=|>=|==|!=|[-+*/%<>=(),?:])
    """,
    re.VERBOSE,
)


def tokenize(source):
    column = 0
    while column < len(source):
        match = PATTERN.match(source, column)
        if not match:
            raise CalcError(f"what is {source[column]!r}?", column)
        if match.lastgroup != "space":
            yield Token(match.lastgroup, match.group(), column)
        column = match.end()
    yield Token("end", "", column)
