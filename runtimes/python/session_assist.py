"""Completion and description of names, from what the session has in it."""

import builtins
import posix
import re
import sys

MATCHES_MAX = 1000
TEXT_MAX = 64 << 10
KEYWORDS = """False None True and as assert async await break class continue def del elif else except finally for from
global if import in is lambda nonlocal not or pass raise return try while with yield match case""".split()
CHAIN = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*\.?$|\.$|$")
KEY = re.compile(r"([^\W\d][\w.]*)\[\s*(['\"]?)([^'\"\[\]]*)$")
IMPORT = re.compile(r"\s*(?:import\s+(?:[\w.]+\s*,\s*)*|from\s+)([\w.]*)$")
FROM = re.compile(r"\s*from\s+([\w.]+)\s+import\s+(?:\(?\s*[\w\s,]*,\s*|\(?\s*)(\w*)$")


def answer(matches, before, typed):
    """The payload: matches stand for what was typed so far."""
    import json

    matches = sorted(set(matches), key=lambda name: (name.startswith("__"), name.startswith("_"), name))[:MATCHES_MAX]
    end = len(before)
    told = {"matches": matches, "start": end - len(typed.encode("utf-8", "replace")), "end": end}
    return json.dumps(told).encode()


def resolved(driver, words):
    """The object a chain of names stands for; KeyError if there is none. Properties of a class are not called."""
    first, *rest = words
    value = driver.space[first] if first in driver.space else builtins.__dict__[first]
    for name in rest:
        found = None
        for kind in (value.__mro__ if isinstance(value, type) else ()) + type(value).__mro__:
            if name in vars(kind):
                found = vars(kind)[name]
                break
        if isinstance(found, property):
            raise KeyError(name)
        try:
            value = getattr(value, name)
        except Exception:
            raise KeyError(name) from None
    return value


def complete(driver, code, before):
    line = before.decode("utf-8", "replace").rpartition("\n")[2]
    if driver.shell and line.lstrip()[:1] in ("%", "!"):
        typed, matches = driver.shell.complete(None, line, len(line))[:2]
        return answer(matches, before, typed)
    if found := FROM.match(line):
        return answer(members_of(found[1], found[2]), before, found[2])
    if found := IMPORT.match(line):
        return answer(modules(found[1]), before, found[1])
    if found := KEY.search(line):
        matches = keys(driver, found)
        if matches is not None:
            return answer(matches, before, found[2] + found[3])
    chain = CHAIN.search(line)[0]
    if line[: len(line) - len(chain)].endswith((".", "'", '"')):
        return answer([], before, "")
    *words, typed = chain.split(".")
    if words:
        if not all(words):
            return answer([], before, typed)
        try:
            names = dir(resolved(driver, words))
        except KeyError:
            names = []
        prefix = ".".join(words) + "."
        return answer([prefix + name for name in names if chosen(name, typed)], before, chain)
    names = [*driver.space, *vars(builtins), *KEYWORDS]
    return answer([name for name in names if typed and chosen(name, typed)], before, typed)


def chosen(name, typed):
    """Names that begin with a line are for those who begin to type one."""
    return isinstance(name, str) and name.startswith(typed) and (typed.startswith("_") or not name.startswith("_"))


def keys(driver, found):
    """Keys of a dict, or columns of a table."""
    try:
        value = resolved(driver, found[1].split("."))
    except KeyError:
        return None
    if isinstance(value, dict):
        names = list(value)[:MATCHES_MAX]
    elif "pandas" in sys.modules and isinstance(value, sys.modules["pandas"].DataFrame):
        names = list(value.columns)[:MATCHES_MAX]
    else:
        return None
    quote = found[2] or "'"
    texts = [quote + name + quote for name in names if isinstance(name, str) and quote not in name]
    if not found[2]:
        texts += [repr(name) for name in names if type(name) in (int, float, bool)]
    return [text for text in texts if text.startswith(found[2] + found[3]) or text[1:].startswith(found[3])]


def modules(typed):
    """Names of modules that begin so."""
    package, _, last = typed.rpartition(".")
    if package:
        places = getattr(sys.modules.get(package), "__path__", None)
        if places is None:
            relative = package.replace(".", "/")
            places = [f"{place or '.'}/{relative}" for place in sys.path]
        prefix = package + "."
    else:
        places, prefix = [place or "." for place in sys.path], ""
    names = set() if package else {*sys.builtin_module_names, *getattr(sys, "stdlib_module_names", ())}
    for place in places:
        try:
            with posix.scandir(place) as entries:
                for entry in entries:
                    stem = entry.name.partition(".")[0]
                    if stem.isidentifier() and (entry.name.endswith((".py", ".so")) or "." not in entry.name):
                        names.add(stem)
        except OSError:
            pass
    return [prefix + name for name in names if chosen(name, last)]


def members_of(module, typed):
    """What `from module import` can name; a module that is not loaded is not loaded for that."""
    loaded = sys.modules.get(module)
    names = [name for name in dir(loaded) if chosen(name, typed)] if loaded else []
    return names + [name.rpartition(".")[2] for name in modules(f"{module}.{typed}")]


def inspect(driver, code, before):
    import json

    at = len(before.decode("utf-8", "replace"))
    end = at
    while end < len(code) and (code[end].isalnum() or code[end] == "_"):
        end += 1
    start = end
    while start and (code[start - 1].isalnum() or code[start - 1] in "_."):
        start -= 1
    name = code[start:end].strip(".")
    if not name and code[:at].rstrip().endswith("("):  # in a call that was just begun
        name = re.search(r"[\w.]*$", code[:at].rstrip()[:-1].rstrip())[0]
    text = described(driver, name)
    return json.dumps({"found": bool(text), "text/plain": text}).encode()


def described(driver, name):
    """Signature, kind and documentation of what a name stands for; "" if there is nothing."""
    if not name:
        return ""
    try:
        value = resolved(driver, name.split("."))
    except (KeyError, AttributeError):
        return ""
    import inspect

    lines = []
    if callable(value):
        try:
            lines.append(f"{name}{inspect.signature(value)}")
        except (ValueError, TypeError):
            lines.append(f"{name}(…)")
    lines.append(f"Type: {type(value).__name__}")
    if not callable(value) and not inspect.ismodule(value):
        try:
            shown = driver.load("session_show")["pretty"](value)
            lines.append("Value: " + (shown if len(shown) < 1000 else shown[:1000] + " …"))
        except Exception:
            pass
    file = getattr(value, "__file__", None) or getattr(getattr(value, "__code__", None), "co_filename", None)
    if isinstance(file, str):
        lines.append(f"File: {file}")
    document = None if type(value) in (int, float, str, bool, list, dict, tuple, set, bytes) else inspect.getdoc(value)
    if document:
        lines += ["", document]
    return "\n".join(lines)[:TEXT_MAX]
