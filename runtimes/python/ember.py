"""What a Python zygote does in Python: what it loads ahead, what its forks rehearse, and how a program's run begins.

src/engine/ember/python.c runs this text in a dictionary of its own, in the zygote, before there is a program. So nothing of it
is in sys.modules, and all of it is older than the freeze: a program's own objects are those that are not frozen.
"""

import atexit  # noqa: F401  # used by python.c, and so no news after the freeze
import builtins
import gc  # noqa: F401
import io
import os
import posix
import sys
import time

# Common, and slow to import. None starts a thread, keeps a file open or registers something for the end; random seeds
# itself anew in each fork. Left out: logging registers a function for the end, asyncio and hashlib load OpenSSL.
AHEAD = (
    "argparse", "base64", "bisect", "collections.abc", "contextlib", "copy", "csv", "dataclasses", "datetime",
    "decimal", "enum", "fractions", "functools", "heapq", "itertools", "json", "math", "operator", "pathlib",
    "queue", "random", "re", "statistics", "string", "struct", "textwrap", "threading", "traceback", "types", "typing",
)  # fmt: skip
# Loaded by one of those, and not to be seen: `import urllib` alone must not give urllib.parse. The loader keeps what it
# took from them.
HIDDEN = ("urllib.parse", "urllib", "ipaddress")
# Names in the program's directory that are looked at before it is run cold.
NAMES_MAX = 4096

# Extensions of the standard library whose objects only give memory back when they die. Not here: those that write what
# they hold (dbm, sqlite3, curses, readline), or can do anything (ctypes).
QUIET = frozenset(
    """_asyncio _bisect _blake2 _bz2 _contextvars _csv _datetime _decimal _elementtree _hashlib _heapq _json _lzma _md5
    _opcode _pickle _posixsubprocess _queue _random _sha1 _sha2 _sha256 _sha3 _sha512 _socket _ssl _statistics _struct
    _typing _uuid _zoneinfo array binascii cmath fcntl grp math mmap pyexpat resource select termios unicodedata
    zlib""".split()
)

DRIVERS = "/opt/emberbox/drivers"
*COMMAND, ENTRY = sys.orig_argv  # the cold command line, and its program
MAIN = sys.modules["__main__"].__dict__
AT_START = frozenset(sys.modules)  # what a cold run has in it
FORKERS = []  # what modules that are loaded ahead want to be done after a fork

# `import collections` alone must not give collections.abc, but `import typing` does, for that imports it. So it is taken
# away, and comes back with the first import of a module that has it loaded: those that are loaded ahead are marked as
# not complete yet, for which importing asks once more.
ABC = "collections.abc"
BOOTSTRAP = sys.modules["_frozen_importlib"]
ASK_AGAIN = BOOTSTRAP._lock_unlock_module
IMPORTS = {}  # module: names that it imports when it is loaded
BRINGERS = []  # modules loaded ahead that have ABC loaded, by themselves or by others
HIDING = []  # ABC's module, while it is hidden


def note_imports(find):
    begun = [""]

    def noted(name, globals=None, locals=None, fromlist=(), level=0):
        globals = globals or {"__name__": BOOTSTRAP.__name__}
        full = name
        if level:
            package = globals["__package__"].rsplit(".", level - 1)[0]
            full = f"{package}.{name}" if name else package
        # An extension has no frame: what it imports looks as if the importing itself did.
        importer = begun[-1] if globals["__name__"] == BOOTSTRAP.__name__ else globals["__name__"]
        IMPORTS.setdefault(importer, set()).update([full], (f"{full}.{part}" for part in fromlist or ()))
        begun.append(full)
        try:
            return find(name, globals, locals, fromlist, level)
        finally:
            begun.pop()

    return noted


def find_bringers():
    found = {ABC}
    while more := {name for name, imports in IMPORTS.items() if imports & found} - found:
        found |= more
    BRINGERS[:] = [sys.modules[name] for name in found - {ABC} - AT_START if name in sys.modules]


def hide_abc():
    if HIDING or ABC in AT_START or ABC not in sys.modules:
        return
    HIDING.append(sys.modules.pop(ABC))
    del sys.modules["collections"].abc
    for module in BRINGERS:
        module.__spec__._initializing = True
    BOOTSTRAP._lock_unlock_module = bring_abc


def bring_abc(name):
    # Modules that import each other ask again, too.
    if sys.modules.get(name) not in BRINGERS:
        return ASK_AGAIN(name)
    BOOTSTRAP._lock_unlock_module = ASK_AGAIN
    for module in BRINGERS:
        module.__spec__._initializing = False
    # Another thread may have come first; and a program that imported it by itself has another.
    if HIDING:
        sys.modules["collections"].abc = sys.modules.setdefault(ABC, HIDING.pop())
    return ASK_AGAIN(name)


def load():
    """Loads modules ahead; the program's directory is no place to find them."""
    first = sys.path.pop(0)
    find = builtins.__import__
    builtins.__import__ = note_imports(find)
    os.register_at_fork = lambda **functions: FORKERS.append(functions)
    for name in AHEAD:
        try:
            __import__(name)
        except ImportError:
            pass  # a small installation: programs will not find it either
    for name in HIDDEN:
        if name not in AT_START:
            sys.modules.pop(name, None)
    os.register_at_fork = posix.register_at_fork
    builtins.__import__ = find
    sys.path.insert(0, first)
    find_bringers()


load()
# A program may bring its own json.py. Built-in modules come before all directories.
LOADED = frozenset(name.partition(".")[0] for name in {*sys.modules, *HIDDEN} - AT_START)
LOADED -= frozenset(sys.builtin_module_names)
MAIN_THREAD = sys.modules["threading"].main_thread() if "threading" in sys.modules else None
# Of what the modules want to be done after a fork, only this makes a difference here: the zygote has one thread and holds
# no lock. To have all of it called would take a third of the time that a fork needs; the program's own forks have it.
GENERATOR = sys.modules["random"]._inst if "random" in sys.modules else None
SEED = super(type(GENERATOR), type(GENERATOR)).seed if GENERATOR else None
DYNLOAD = next((place for place in sys.path if place.endswith("/lib-dynload")), None)
LOADER = sys.modules["_frozen_importlib_external"].SourceFileLoader


def shadows(place, names_left=NAMES_MAX):
    """Whether a file below the directory could be meant by the import of a module that is loaded; -1, or names left."""
    with posix.scandir(place) as entries:
        for entry in entries:
            names_left -= 1
            if names_left < 0 or entry.name.partition(".")[0] in LOADED:
                return -1
            if entry.is_dir():
                names_left = shadows(entry.path, names_left)
                if names_left < 0:
                    return -1
    return names_left


def stream(fd, old, unbuffered):
    """A standard stream as CPython makes it at start (create_stdio in pylifecycle.c), with -u or without."""
    mode = "r" if fd == 0 else "w"
    raw = unbuffered and fd != 0
    buffer = io.open(fd, mode + "b", 0 if raw else -1, closefd=False)
    (buffer if raw else buffer.raw).name = old.name
    lines = not unbuffered and (buffer.isatty() or fd == 2)
    new = io.TextIOWrapper(buffer, old.encoding, old.errors, "\n", lines, bool(unbuffered))
    new.mode = mode
    return new


def compile_driver():
    """The driver of sessions: {path: code} of its files, for compiling them takes longer than the rest of a start."""
    codes = {}
    try:
        with posix.scandir(DRIVERS) as entries:
            for entry in entries:
                if entry.name.startswith("session") and entry.name.endswith(".py"):
                    with io.open(entry.path, "rb") as file:
                        codes[entry.path] = compile(file.read(), entry.path, "exec", dont_inherit=True)
    except (OSError, SyntaxError, ValueError):
        return {}  # sessions compile it themselves, and say what is wrong
    return codes


CODES = compile_driver()


def restream(descriptors, unbuffered):
    """New standard streams, for descriptors of another kind than the old ones were made for."""
    for fd in map(int, descriptors):
        name = ("stdin", "stdout", "stderr")[fd]
        made = stream(fd, getattr(sys, name), unbuffered)
        setattr(sys, name, made)
        setattr(sys, f"__{name}__", made)


def streams_at_once():
    """Standard output and error for runs whose output may not wait: as -u has them."""
    return [stream(1, sys.stdout, True), stream(2, sys.stderr, True)]


rezone = time.tzset


def is_quiet(path):
    """Whether an extension is one whose objects do nothing when they die but give memory back."""
    directory, _, name = path.rpartition("/")
    return directory == DYNLOAD and name.partition(".")[0] in QUIET


# Touches what programs touch: types, their caches, the parser, the compiler, the pools of small objects.
REHEARSAL = '''\
import collections, datetime, enum, functools, itertools, json, math, random, re, sys, time, typing
from collections import Counter, defaultdict, deque
from dataclasses import dataclass, field
@dataclass
class Record:
    name: str
    more: typing.List[int] = field(default_factory=list)
class Color(enum.Enum):
    RED = 1
class Thing:
    """A thing."""
    kind: int = 1
    def __init__(self, name, *rest, **more):
        self.name = name
        self.rest = [x * 2 for x in rest if x]
    def __repr__(self):
        return f"Thing({self.name!r}, {len(self.rest):3d})"
    @property
    def size(self):
        return sum(self.rest) / max(1, len(self.rest))
def fold(n: int) -> int:
    a, b = 0, 1
    while n > 0:
        a, b, n = b, a + b, n - 1
    return a
def count(n):
    for i in range(n):
        yield i, str(i)
try:
    things = {name: Thing(name, 1, 2, 3) for name in "abc def ghi".split()}
    for key, value in sorted(things.items(), key=lambda item: item[0]):
        print(key, value, value.size, file=out, flush=True)
    print(fold(90), dict(count(40)), {1, 2} | {3}, 1.5 ** 2, b"x" + bytes(3), (1, None, True), "%s" % 2, file=out)
    print(json.loads(json.dumps({"a": [1, 2.5, None, "x"]}, indent=1)), Record("r"), Color.RED, file=out)
    print(re.sub(r"(\\w+)-[0-9]*", r"\\1", "a-1 b-2"), Counter("abca").most_common(1), deque([1]), file=out)
    print(datetime.datetime(2000, 1, 1) + datetime.timedelta(days=1), list(itertools.chain([1], [2])), file=out)
    functools.lru_cache(None)(fold)(3), random.Random(1).random(), math.sqrt(2), time.time()
    text = "\\n".join(str(i) + "x" * i for i in range(60)).upper().split("\\n")
    with out:
        assert isinstance(text, list) and not math.isnan(0.5)
        defaultdict(list)[1].append(text)
        raise ValueError("rehearsed")
except (KeyError, ValueError) as error:
    caught = str(error)
finally:
    things.clear()
    re.purge()
'''


# What nearly every program does. Each fork copies the pages that this touches, and has them while it waits: what is rare
# is for the program to pay.
SKETCH = '''\
def double(n):
    return n * 2
for n in range(2):
    print(n, double(n), f"{n}", file=out)
'''


def scene():
    """A dictionary for a rehearsal to run in."""
    hide_abc()
    out = io.TextIOWrapper(io.BytesIO(), "utf-8")
    return {"__name__": "rehearsal", "__builtins__": MAIN["__builtins__"], "out": out}
