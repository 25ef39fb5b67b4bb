"""The rows of src/schema/limits.def and fields.def, as the compiler reads them: a row is also a call in Python.

    limits()["cpu_time"].key             # "cpu-time"
    "LIMIT_OF_RUN" in limits()["cpu_time"].flags
    fields()["network"].option           # "net"
"""

import os
import re
import types

import kit

LIMIT = "name key kind least most default flags words expected help session token".split()
KINDS = {"FIELD": "name key read set member option flags".split(),
         "PART": "name key read option flags".split(),
         "WORD": "key set member option flags".split()}


class Word(str):
    """A name of C: a type, a member, a function, or a flag, of which several are joined by |."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Word(f"{self}.{name}")

    def __or__(self, other):
        return frozenset([self]) | (other if isinstance(other, frozenset) else {other})

    __ror__ = __or__


class Names(dict):
    def __missing__(self, name):
        return Word(name)


def _flags(value):
    return value if isinstance(value, frozenset) else frozenset([value] if value else [])


def _rows(path, macros):
    with open(os.path.join(kit.REPO, "src", "schema", path), encoding="utf-8") as file:
        text = re.sub(r"/\*.*?\*/|^#[^\n]*$", "", file.read(), flags=re.S | re.M)
    found = []

    def collect(macro, columns):
        def call(*values):
            kit.equal(len(values), len(columns), f"{path}: columns of {macro}{values}")
            row = types.SimpleNamespace(**dict.fromkeys(("name", "key", "option"), None))
            row.__dict__.update(zip(columns, values), macro=macro)
            row.__dict__.update(flags=_flags(row.flags) if "flags" in columns else frozenset())
            found.append(row)
        return call

    names = Names({macro: collect(macro, columns) for macro, columns in macros.items()})
    names.update(KIB=1 << 10, MIB=1 << 20, GIB=1 << 30, NULL=None)
    exec(text.replace(")\n", ");"), {}, names)
    kit.true(len(found) > 5, f"{path} has hardly any rows: {found}")
    return found


def limits():
    """By their names in JSON; what nobody can ask for is not among them."""
    macros = {"LIMIT": LIMIT, "LIMIT_FIXED": ["name", "type", "value"]}
    return {row.name: row for row in _rows("limits.def", macros) if row.macro == "LIMIT"}


def fields():
    """The fields of JSON, by their names."""
    return {row.name: row for row in _rows("fields.def", KINDS) if row.macro != "WORD"}


def keys():
    """What a caller of the library may set: rows whose key spec_set() takes, but for those that the front alone puts there."""
    return [row for row in _rows("fields.def", KINDS) if row.macro == "FIELD" or (row.macro == "WORD" and "FIELD_LISTED" not in row.flags)]
