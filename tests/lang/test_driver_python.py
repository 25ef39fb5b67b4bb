#!/usr/bin/python3
"""Python's session driver, outside of a box: with the built-in driver, with IPython, and as it chooses itself."""
# tests/run: args=--as root
# tests/run: timeout=300

import base64
import functools
import os
import struct
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import driver
import kit

SCRIPT = os.path.join(kit.REPO, "runtimes", "python", "session.py")
PNG = b"\x89PNG\r\n\x1a\n"
MIB = 1 << 20


def start(how, **options):
    return driver.Driver(["/usr/bin/python3", "-u", "-B", SCRIPT, how], **options)


driver.Driver.how = property(lambda self: self.process.args[-1])  # the kind of driver


def test(function=None, *, hows=("builtin", "ipython", "auto"), timeout=60):
    """Registers a test for each kind of driver; it gets one that has started."""

    def register(function):
        for how in hows:

            def run(how=how):
                with start(how) as session:
                    function(session)

            kit.test(run, name=f"{how}.{function.__name__}", timeout=timeout)
        return function

    return register(function) if function else register


def fails(session, code, kind, message=None, timeout=None):
    cell = session.execute(code, timeout=timeout)
    kit.equal((cell.ok, cell.exit, cell.error and cell.error["type"]), (False, 1, kind), f"{code!r}: {cell!r}")
    if message is not None:
        kit.equal(cell.error["message"], message)
    return cell


def size_of(png):
    return struct.unpack(">II", png[16:24])


# State and values


@test
def says_what_it_is(session):
    kit.equal((session.ready["complete"], session.ready["inspect"]), (True, True))
    kit.true(session.ready["driver"] in ("builtin", "ipython"), session.ready)


@test
def state_is_kept(session):
    session.execute("import math, os\nx = 20")
    session.execute("def f(n):\n    return n + x")
    kit.equal(session.value("f(22)"), "42")
    session.execute("os.chdir('/')")
    kit.equal(session.value("os.getcwd()"), "'/'")
    session.execute("file = open('/tmp/.emberbox-test-' + str(os.getpid()), 'w+')\nos.unlink(file.name)")
    session.execute("file.write('kept'); file.seek(0)")
    kit.equal(session.value("file.read()"), "'kept'")
    kit.equal(session.value("sum(\n  range(4)\n)\n"), "6")


@test
def the_last_expression_is_shown(session):
    kit.equal(session.value("1\n2"), "2")
    for code in ("None", "x = 1", "1;", "if True: 5", "", "# nothing", "\n\n"):
        kit.equal(session.execute(code).outputs, [], code)
    cell = session.execute("print('out')\n'in'")
    kit.equal((cell.stdout, cell.text), ("out\n", "'in'"))
    kit.equal(session.value("'a;b'"), "'a;b'")
    session.execute("7")
    kit.equal(session.value("_ + 1"), "8")
    kit.equal(session.value("__"), "7")
    kit.equal(session.value("Out[max(Out) - 1] + Out[max(Out)]"), "15")


@test
def containers_are_pretty(session):
    kit.equal(session.value("{'b': [1, 2], 'a': None}"), "{'b': [1, 2], 'a': None}")
    got = session.value("{'name': 'x' * 40, 'list': ['y' * 30, 'z' * 30]}")
    want = "{'name': '" + "x" * 40 + "',\n 'list': ['" + "y" * 30 + "', '" + "z" * 30 + "']}"
    kit.equal(got, want)
    kit.equal(session.value("(1,)"), "(1,)")
    kit.equal(session.value("set(), frozenset(), {}, []"), "(set(), frozenset(), {}, [])")
    kit.equal(session.value("a = [1]; a.append(a); a"), "[1, [...]]")
    kit.equal(session.value("b = {}; b[1] = b; b"), "{1: {...}}")
    text = session.value("list(range(100000))")
    kit.true(text.endswith("\n ...]") and len(text) < 20000, text[-40:])


@test
def main_is_the_cells_module(session):
    session.execute("class A:\n    def __init__(self): self.x = 1\ndef double(n): return 2 * n")
    kit.equal(session.value("__name__, A.__module__"), "('__main__', '__main__')")
    kit.equal(session.value("import pickle; pickle.loads(pickle.dumps(A())).x"), "1")
    session.execute("from dataclasses import dataclass\n@dataclass\nclass P:\n    a: int\n    b: 'list[int]' = None")
    kit.equal(session.value("P(1)"), "P(a=1, b=None)")
    kit.equal(session.value("import typing; typing.get_type_hints(P)['a']"), "int" if session.how == "ipython" else "<class 'int'>")
    kit.equal(session.value("import sys; sys.modules['__main__'].A is A"), "True")
    names = session.value("sorted(n for n in globals() if 'emberbox' in n or 'session' in n or n in ('driver', 'load'))")
    kit.equal(names, "[]")
    kit.equal(session.value("'__file__' in globals(), __builtins__.__name__"), "(False, 'builtins')")
    kit.equal(session.value("[m for m in sys.modules if m.startswith('session')]"), "[]")


@test
def processes_and_threads(session):
    code = "import multiprocessing\ndef square(n): return n * n\nwith multiprocessing.Pool(2) as pool: r = pool.map(square, [1, 2, 3])\nr"
    kit.equal(session.value(code), "[1, 4, 9]")
    kit.equal(session.value("import subprocess; subprocess.run(['echo', 'hi'], capture_output=True).stdout"), "b'hi\\n'")
    kit.equal(session.says("subprocess.run(['echo', 'straight']); None"), "straight\n")
    kit.equal(session.says("import threading\nt = threading.Thread(target=lambda: print('thread')); t.start(); t.join()"), "thread\n")
    # What a cell starts does not have the channel.
    kit.equal(session.says("import subprocess; subprocess.run(['sh', '-c', 'ls /proc/$$/fd']); None"), "0\n1\n2\n")
    # A fork that comes back from its cell ends there, and cannot speak.
    cell = session.execute("import os\npid = os.fork()\nif pid == 0: display('child')\nelse: print(os.waitpid(pid, 0)[1])")
    kit.equal((cell.ok, sorted(cell.stdout.split()), cell.outputs), (True, ["'child'", "0"], []))
    kit.equal(session.value("os.getpid() == " + str(session.process.pid)), "True")


@test
def await_at_the_top(session):
    kit.equal(session.value("import asyncio\nawait asyncio.sleep(0.001, 'slept')"), "'slept'")
    session.execute("async def f():\n    await asyncio.sleep(0)\n    return 42")
    kit.equal(session.value("asyncio.run(f())"), "42")
    kit.equal(session.value("await f()"), "42")
    session.execute("async def h():\n    yield 1\n    yield 2")
    kit.equal(session.value("[n async for n in h()]"), "[1, 2]")
    session.execute("async with asyncio.timeout(5):\n    y = await f()" if sys.version_info >= (3, 11) else "y = await f()")
    kit.equal(session.value("y"), "42")
    cell = fails(session, "async def bad():\n    raise ValueError('in a coroutine')\nawait bad()", "ValueError", "in a coroutine")
    kit.true("asyncio" not in cell.stderr, cell.stderr)
    session.execute("async def later(): return 'later'\ntask = None\nasync def begin():\n    global task\n    task = asyncio.create_task(later())\nawait begin()")
    kit.equal(session.value("await task"), "'later'")


@test
def futures_are_kept(session):
    session.execute("from __future__ import annotations")
    session.execute("def f(x: nothing.of.the.kind): pass")
    kit.equal(session.value("f.__annotations__['x']"), "'nothing.of.the.kind'")


@test(hows=("builtin",))
def names_are_not_lost_with_age(session):
    for _ in range(1200):
        session.execute("n = 1\nn")
    kit.equal(session.value("len(Out), len(In) > 1200, In[3]"), "(1000, True, 'n = 1\\nn')")


# Errors


@test
def tracebacks_are_pythons(session):
    session.execute("def f(x):\n    return 1 / x")
    cell = fails(session, "y = 0\nf(y)", "ZeroDivisionError", "division by zero")
    first, second = session.count - 1, session.count
    marks = "           ~~^~~\n" if sys.version_info >= (3, 11) else ""
    want = (
        "Traceback (most recent call last):\n"
        f'  File "<cell {second}>", line 2, in <module>\n    f(y)\n'
        f'  File "<cell {first}>", line 2, in f\n    return 1 / x\n{marks}'
        "ZeroDivisionError: division by zero\n"
    )
    kit.equal(cell.stderr, want)
    error = cell.error
    kit.equal((error["file"], error["line"]), (f"<cell {first}>", 2))
    kit.equal(error["column"], 12 if sys.version_info >= (3, 11) else None)
    kit.equal([(f["line"], f["function"], f["text"], f["user"]) for f in error["frames"]],
              [(2, "<module>", "f(y)", True), (2, "f", "return 1 / x", True)])  # fmt: skip
    cell = fails(session, "import json; json.loads('{')", "json.decoder.JSONDecodeError")
    kit.equal(([f["user"] for f in cell.error["frames"]][:2], cell.error["line"]), ([True, False], 1))


@test
def chained_errors(session):
    cell = fails(session, "try:\n    {}['a']\nexcept KeyError as e:\n    raise ValueError('b') from e", "ValueError", "b")
    kit.contains(cell.stderr, "The above exception was the direct cause")
    kit.contains(cell.stderr, "KeyError: 'a'")
    kit.true(SCRIPT[:-3] not in cell.stderr, cell.stderr)


@test
def syntax_errors(session):
    cell = fails(session, "x = 1\ndef f(:\n    pass", "SyntaxError", "invalid syntax")
    kit.equal((cell.error["line"], cell.error["column"], cell.error["frames"]), (2, 7, []))
    kit.contains(cell.stderr, f'  File "<cell {session.count}>", line 2\n    def f(:\n')
    kit.true("Traceback" not in cell.stderr, cell.stderr)
    fails(session, "return 1", "SyntaxError")
    fails(session, "  x = 1\n y = 2", "IndentationError")
    fails(session, "a b", "SyntaxError")
    kit.equal(session.execute("x").ok, False, "nothing of the cell ran")


@test
def odd_errors(session):
    fails(session, "def r(): return r()\nr()", "RecursionError")
    fails(session, "class E(Exception):\n    def __str__(self): raise RuntimeError\nraise E", "E", "<exception str() failed>")
    fails(session, "class B(BaseException): pass\nraise B('base')", "B", "base")
    fails(session, "class R:\n    def __repr__(self): raise TypeError('no repr')\nR()", "TypeError", "no repr")
    cell = fails(session, "raise ValueError('x' * 3_000_000)", "ValueError")
    kit.true(len(cell.stderr) < 2 * MIB and len(cell.error["message"]) < 20000, len(cell.stderr))
    fails(session, "10 ** 5000", "ValueError")
    kit.equal(session.value("40 + 2"), "42")
    if sys.version_info >= (3, 11):
        cell = fails(session, "raise ExceptionGroup('many', [ValueError(1), TypeError(2)])", "ExceptionGroup")
        kit.contains(cell.stderr, "TypeError: 2")


@test
def own_excepthook(session):
    session.execute("import sys\ndef hook(kind, value, trace): print('hooked', value)\nsys.excepthook = hook")
    if session.how == "ipython":
        return  # IPython sets its own for the time of a cell
    cell = fails(session, "1/0", "ZeroDivisionError")
    kit.equal((cell.stdout, cell.stderr), ("hooked division by zero\n", ""))


@test
def warnings_are_shown(session):
    code = "import warnings\nwarnings.warn('careful')"
    for _ in range(2):
        cell = session.execute(code)
        kit.equal(cell.stderr, f"<cell {session.count}>:2: UserWarning: careful\n  warnings.warn('careful')\n")


@test
def exit_ends_the_session(session):
    code, cell = session.dies("import atexit, sys\natexit.register(print, 'at the end')\nprint('before')\nsys.exit(3)")
    kit.equal((code, cell.stdout, cell.stderr), (3, "before\nat the end\n", ""))


@test
def exit_by_its_other_names(session):
    kit.equal(session.dies("exit()")[0], 0)
    with start(session.how) as other:
        code, cell = other.dies("raise SystemExit('a message')")
        kit.equal((code, cell.stderr), (1, "a message\n"))
    with start(session.how) as other:
        kit.equal(other.dies("import os; os._exit(7)")[0], 7)
    with start(session.how) as other:
        kit.equal(other.dies("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")[0], -11)


# Standard input


@test
def input_comes_with_the_cell(session):
    kit.equal(session.execute("input('name: ')", b"Ada\n").stdout, "name: ")
    kit.equal(session.value("_"), "'Ada'")
    fails(session, "input()", "EOFError")
    cell = session.execute("import sys; sys.stdin.read()", b"all\nof it")
    kit.equal(cell.text, "'all\\nof it'")
    kit.equal(session.execute("import subprocess; subprocess.run(['cat']); None", b"for a child").stdout, "for a child")
    # What one cell leaves is not the next one's.
    session.execute("sys.stdin.readline()", b"one\ntwo\n")
    kit.equal(session.execute("sys.stdin.read()", b"three").text, "'three'")
    kit.equal(session.execute("sys.stdin.read()").text, "''")
    big = b"x" * (5 * MIB)
    kit.equal(session.execute("len(sys.stdin.read())", big).text, str(len(big)))


@test
def input_comes_meanwhile(session):
    session.begin("a = input('first? '); b = input('second? '); a + b", pipe=True)
    session.until("first? ")
    session.feed(b"to\n")
    session.until("second? ")
    session.feed(b"gether\n")
    kit.equal(session.finish().text, "'together'")
    fails(session, "input()", "EOFError")
    session.begin("input()", pipe=True)
    session.feed(b"again\n")
    kit.equal(session.finish().text, "'again'")


# Interrupts


@test
def interrupts(session):
    session.execute("x = 1")
    for code in (
        "print('ready', flush=True)\nwhile True: pass",
        "import time; print('ready', flush=True); time.sleep(60)",
        "import subprocess; subprocess.run(['sh', '-c', 'echo ready; sleep 60'])",
        "import asyncio; print('ready', flush=True); await asyncio.sleep(60)",
        # Said by the coroutine: while asyncio.run() begins, Python 3.11 makes a CancelledError of an interrupt.
        "async def f():\n    print('ready', flush=True)\n    await asyncio.sleep(60)\nasyncio.run(f())",
        "try:\n    print('ready', flush=True)\n    while True: pass\nfinally:\n    x = 2",
    ):
        cell = session.interrupted(code)
        kit.equal((cell.ok, cell.exit, cell.error["type"]), (False, 130, "KeyboardInterrupt"), f"{code!r}: {cell!r}")
        kit.contains(cell.stderr, "KeyboardInterrupt\n")
        kit.true(cell.seconds < 10, cell.seconds)
    kit.equal(session.value("x"), "2")
    cell = session.interrupted("try:\n    print('ready', flush=True)\n    while True: pass\nexcept KeyboardInterrupt:\n    print('caught')")
    kit.equal((cell.ok, cell.stdout.split()[-1][-6:]), (True, "caught"))


@test
def an_interrupt_in_a_destructor_is_not_lost(session):
    cell = session.interrupted(
        "import time\nclass A:\n    def __del__(self):\n        print('ready', flush=True)\n        time.sleep(60)\n"
        "a = A()\ndel a\nwhile True: pass"
    )
    kit.equal((cell.ok, cell.exit, cell.error["type"]), (False, 130, "KeyboardInterrupt"), repr(cell))
    kit.equal(cell.stderr.count("KeyboardInterrupt"), 1, cell.stderr)
    # Anything else is told, as ever.
    cell = session.execute("class B:\n    def __del__(self): 1/0\nb = B()\ndel b")
    kit.true(cell.ok, repr(cell))
    kit.contains(cell.stderr, "Exception ignored in: <function B.__del__")


@test
def interrupts_between_cells_are_nothing(session):
    for _ in range(20):
        session.interrupt()
        kit.equal(session.value("1"), "1")
    kit.equal(session.value("import signal; signal.getsignal(signal.SIGINT) is signal.default_int_handler"), "True")
    session.execute("signal.signal(signal.SIGINT, lambda *_: print('mine'))")
    session.interrupt()
    kit.equal(session.says("import os; os.kill(os.getpid(), signal.SIGINT)"), "mine\n")


@test(hows=("builtin",))
def interrupts_at_any_moment(session):
    """An interrupt that comes while a cell ends is either the cell's or nobody's."""
    for _ in range(150):
        session.begin("for i in range(300): pass")
        session.interrupt()
        cell = session.finish()
        kit.true(cell.ok or cell.exit == 130, repr(cell))
    kit.equal(session.value("6 * 7"), "42")


# Rich results


@test
def display_is_a_builtin(session):
    cell = session.execute("print('a')\ndisplay(1, 'two')\nprint('b')\ndisplay({'text/html': '<b>x</b>', 'text/plain': 'x'}, raw=True)\n3")
    kit.equal(cell.stdout, "a\nb\n")
    want = [{"text/plain": "1"}, {"text/plain": "'two'"}, {"text/plain": "x", "text/html": "<b>x</b>"}, {"text/plain": "3"}]
    kit.equal(cell.outputs, want)
    # From a thread that outlives its cell: nobody asked.
    session.execute("import threading\ngo = threading.Event()\ndef late():\n    go.wait(); display('late'); done.set()\ndone = threading.Event()\nthreading.Thread(target=late).start()")
    cell = session.execute("go.set(); done.wait(); None")
    kit.equal(cell.outputs, [{"text/plain": "'late'"}])


@test
def rich_methods(session):
    session.execute(
        "class Rich:\n"
        "    def __repr__(self): return 'rich'\n"
        "    def _repr_html_(self): return '<i>rich</i>'\n"
        "    def _repr_markdown_(self): return '*rich*'\n"
        "    def _repr_svg_(self): return '<svg/>'\n"
        "    def _repr_png_(self): return b'\\x89PNG'\n"
        "    def _repr_jpeg_(self): return None\n"
        "    def _repr_latex_(self): return '$r$'\n"
        "    def _repr_json_(self): return {'a': [1, None]}\n"
    )
    want = {
        "text/plain": "rich", "text/html": "<i>rich</i>", "text/markdown": "*rich*", "image/svg+xml": "<svg/>",
        "image/png": base64.b64encode(b"\x89PNG").decode(), "text/latex": "$r$", "application/json": {"a": [1, None]},
    }  # fmt: skip
    kit.equal(session.execute("Rich()").outputs, [want])
    kit.equal(session.execute("display(Rich())").outputs, [want])
    session.execute("class Mime:\n    def _repr_mimebundle_(self, include=None, exclude=None): return {'text/plain': 'm', 'text/html': 'h'}")
    kit.equal(session.execute("Mime()").outputs, [{"text/plain": "m", "text/html": "h"}])
    kit.equal(session.execute("Rich").text, "__main__.Rich" if session.how == "ipython" else "<class '__main__.Rich'>")


@test(timeout=120)
def figures_become_images(session):
    cell = session.execute("import matplotlib.pyplot as plt\nplt.plot([1, 2, 3])\nplt.title('t')\nplt.show()\nNone", timeout=60)
    if not cell.ok and "No module" in cell.stderr:
        kit.fail("python3-matplotlib is not installed: tools/setup test")
    kit.equal((cell.ok, cell.stderr, len(cell.outputs)), (True, "", 1), repr(cell)[:500])
    output = cell.outputs[0]
    kit.equal(sorted(output), ["image/png", "image/svg+xml", "text/plain"])
    png = base64.b64decode(output["image/png"], validate=True)
    kit.true(png.startswith(PNG) and min(size_of(png)) > 200, png[:20])
    kit.contains(output["image/svg+xml"], "<svg ")
    kit.matches(output["text/plain"], r"^<Figure size \d+x\d+ with 1 Axes>$")
    kit.equal(session.value("plt.get_fignums()"), "[]")
    cell = session.execute("fig, axes = plt.subplots(1, 2)\nfig")
    kit.equal([sorted(o) for o in cell.outputs], [["image/png", "image/svg+xml", "text/plain"]], "once, not twice")
    cell = session.execute("for n in range(3):\n    plt.figure(); plt.bar([1], [n])", timeout=60)
    kit.equal(len(cell.outputs), 3)
    cell = session.execute("plt.scatter(range(20000), range(20000)); None", timeout=60)
    kit.equal([sorted(o) for o in cell.outputs], [["image/png", "text/plain"]], "too large a drawing is only a PNG")


@test(timeout=120)
def pandas_becomes_a_table(session):
    code = "import pandas as pd\npd.DataFrame({'n': [1, 2], 's': ['a', None], 'f': [0.5, float('nan')]})"
    cell = session.execute(code, timeout=60)
    kit.true(cell.ok, repr(cell))
    output = cell.outputs[0]
    kit.equal(sorted(output), ["application/json", "text/html", "text/plain"])
    kit.equal(output["text/plain"], "   n     s    f\n0  1     a  0.5\n1  2  None  NaN")
    kit.contains(output["text/html"], "<table ")
    want = {"columns": ["n", "s", "f"], "rows": [[1, "a", 0.5], [2, None, None]], "row_count": 2}
    kit.equal(output["application/json"], want)
    series = session.execute("pd.Series([1, 2], index=['x', 'y'], name='v')").outputs[0]["application/json"]
    kit.equal(series, {"columns": ["index", "v"], "rows": [["x", 1], ["y", 2]], "row_count": 2})
    many = session.execute("pd.DataFrame({'a': range(5000)})").outputs[0]["application/json"]
    kit.equal((many["row_count"], len(many["rows"]), many["truncated"]), (5000, 1000, True))
    odd = session.execute("pd.DataFrame([[1, 2]], columns=['a', 'a'], index=pd.MultiIndex.from_tuples([('p', 'q')]))")
    kit.true(odd.ok and odd.outputs[0]["application/json"]["row_count"] == 1, repr(odd))
    when = session.execute("pd.DataFrame({'t': [pd.Timestamp('2020-01-02')]}, index=['i'])").outputs[0]
    kit.equal(when["application/json"]["rows"], [["i", "2020-01-02T00:00:00.000"]])


@test
def what_is_too_large(session):
    text = session.value("'x' * (3 << 20)")
    kit.true(len(text) < MIB + 200, len(text))
    kit.matches(text[-60:], r"\[… \d+ more characters\]$")
    cell = session.execute("class Big:\n    def __repr__(self): return 'big'\n    def _repr_png_(self): return bytes(20 << 20)\nBig()")
    kit.equal(sorted(cell.outputs[0]), ["text/plain"])
    kit.matches(cell.outputs[0]["text/plain"], r"^big\n\[image/png of \d+ bytes is left out: too large\]$")
    cell = session.execute("class Page:\n    def _repr_html_(self): return 'é' * (4 << 20)\nPage()")
    kit.matches(cell.outputs[0]["text/plain"], r"\[text/html of \d+ bytes is left out: too large\]$")
    session.execute("class Image:\n    def __repr__(self): return 'image'\n    def _repr_png_(self): return bytes(2 << 20)")
    cell = session.execute("for _ in range(30): display(Image())")
    kit.equal((cell.ok, cell.outputs[-1]["text/plain"]),
              (True, "[this and further rich results of the cell are left out: more than 15 MiB]"))  # fmt: skip
    kit.true(len(cell.outputs) < 10, len(cell.outputs))
    kit.equal(session.value("'é\\ud800'"), "'é\\ud800'", "a lone surrogate")


# IPython's own syntax


@test
def commands_of_the_shell(session):
    kit.equal(session.says("!echo straight"), "straight\n")
    kit.equal(session.value("lines = !printf 'a\\nb\\n'\nlist(lines)"), "['a', 'b']")
    session.execute("word = 'filled'")
    kit.equal(session.says("!echo {word} $word\nif True:\n    !echo indented"), "filled filled\nindented\n")
    kit.equal(session.says("print('''\n!no command\n''')"), "\n!no command\n\n")
    session.execute("!exit 3")
    kit.equal(session.value("_exit_code"), "3")
    kit.matches(session.says("%timeit -n 10 -r 2 1 + 1" if session.how != "builtin" else "%timeit sum(range(2000))"), r"per loop \(mean ± std. dev. of \d runs")
    kit.contains(session.says("%time word"), "ime")
    kit.equal(session.says("%cd /"), "/\n")
    kit.equal(session.value("%pwd"), "'/'")
    cell = session.execute("word?")
    kit.contains(cell.stdout + str(cell.outputs), "str")


@test(hows=("builtin",))
def unknown_magics(session):
    cell = fails(session, "%unknown", "NameError")
    kit.contains(cell.error["message"], "python3-ipython")
    fails(session, "x = = 1\n!echo", "SyntaxError")
    fails(session, "5 % ", "SyntaxError")


@test(hows=("auto",))
def ipython_comes_when_it_is_needed(session):
    session.execute("x = 41\n_ = None")
    kit.equal(session.value("import sys; 'IPy' + 'thon' in sys.modules"), "False")
    kit.equal(session.value("from IPython.display import HTML, display as show\nx + 1"), "42")
    cell = session.execute("show(HTML('<b>1</b>'))")
    kit.equal(cell.outputs[0]["text/html"], "<b>1</b>")
    kit.equal(session.value("type(get_ipython()).__mro__[1].__name__, x"), "('InteractiveShell', 41)")
    kit.equal(session.says("%%capture c\nprint(1)\n"), "")
    kit.equal(session.value("c.stdout"), "'1\\n'")


# Completion and inspection


@test
def completion(session):
    session.execute("import os\nvalue = 1\nvalley = {'key': 1, 'kilo': 2, 7: 3}\nclass A:\n    first = 1\n    @property\n    def bad(self): raise SystemExit\na = A()")
    got = session.complete("x = val|")
    kit.equal((got["matches"], got["start"], got["end"]), (["valley", "value"], 4, 7))
    got = session.complete("é = os.path.joi|")
    kit.equal((got["matches"], got["start"], got["end"]), (["os.path.join"], 5, 16))
    kit.equal(session.complete("a.|")["matches"], ["a.bad", "a.first"])
    kit.equal(session.complete("a.bad.|")["matches"], [])
    kit.true("print" in session.complete("pri|")["matches"], "a built-in")
    kit.true("lambda" in session.complete("lam|")["matches"], "a keyword")
    kit.equal(session.complete("valley['k|")["matches"], ["'key'", "'kilo'"])
    kit.equal(session.complete("import collect|")["matches"], ["collections"])
    kit.true("os.path" not in session.complete("import os, js|")["matches"], "")
    kit.equal(session.complete("from os.path import spli|")["matches"], ["split", "splitdrive", "splitext"])
    kit.equal(session.complete("nothing.at.all|")["matches"], [])
    kit.equal(session.complete("f(|")["matches"], [])
    for code in ("os.pa|", "import m|", "val|"):
        seconds = min(session.ask("complete", code)[1] for _ in range(5))
        kit.true(seconds < 0.05, f"{code}: {seconds} s")
    kit.equal(session.value("value"), "1")


@test
def inspection(session):
    session.execute("def area(w: int, h: int = 2) -> int:\n    'The area.'\n    return w * h\nn = 12")
    got = session.inspect("x = are|a(1)")
    kit.equal(got["found"], True)
    kit.contains(got["text/plain"], "area(w: int, h: int = 2) -> int")
    kit.contains(got["text/plain"], "The area.")
    kit.contains(session.inspect("area(|")["text/plain"], "The area.")
    kit.contains(session.inspect("n|")["text/plain"], "Value: 12")
    kit.contains(session.inspect("print|")["text/plain"], "Prints the values")
    kit.equal(session.inspect("nowhere.at.all|"), {"found": False, "text/plain": ""})
    seconds = min(session.ask("inspect", "area|")[1] for _ in range(5))
    kit.true(seconds < 0.05, f"{seconds} s")


# Hostile cells


@test
def a_cell_that_takes_things_apart(session):
    for code in (
        "import builtins\nfor name in list(vars(builtins)):\n    if name not in ('__import__', '__build_class__'): delattr(builtins, name)",
        "import sys; sys.stdout = sys.stderr = None",
        "import sys; sys.modules.clear()",
        "import sys; sys.setrecursionlimit(60)",
        "import gc; gc.disable()",
        "import linecache; linecache.cache = None",
        "import traceback; traceback.format_exception = None",
    ):
        with start(session.how) as other:
            other.execute("x = 42")
            other.execute(code)
            cell = other.execute("1/0")
            kit.equal((cell.ok, cell.exit), (False, 1), f"{code}: {cell!r}")
            if session.how == "builtin":
                kit.equal(other.value("x"), "42", code)
                kit.equal(cell.error["type"], "ZeroDivisionError", code)


@test(hows=("builtin", "ipython"))
def another_stdout(session):
    code = "import io, sys\nsys.stdout = io.StringIO()\nprint('inside')"
    kit.equal(session.says(code), "")
    kit.equal(session.value("sys.stdout.getvalue()"), "'inside\\n'")
    session.execute("class Bad:\n    def write(self, text): raise OSError\n    flush = write\nsys.stdout = sys.stderr = Bad()")
    cell = session.execute("1/0")
    kit.equal((cell.ok, cell.error["type"]), (False, "ZeroDivisionError"))
    session.execute("sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__")
    kit.equal(session.says("print('back')"), "back\n")
    kit.equal(session.execute("sys.stdout.close()").ok, True)
    kit.equal(session.value("5"), "5")


@test(hows=("builtin",))
def a_cell_that_writes_to_the_channel(session):
    """It is the keeper that notices; here it is seen that the secret is not among what plain code finds."""
    code = "import os\nfor fd in range(3, 64):\n    try: os.write(fd, b'done ' + b'0' * 32 + b' 20\\n' + b'{\"ok\":true,\"exit\":0}')\n    except OSError: pass"
    session.begin(code)
    word, secret, payload = session.message(time.monotonic() + 10)
    kit.equal((word, secret), ("done", "0" * 32))
    kit.true(secret != session.secret, "the secret was guessed")
    kit.equal(session.message(time.monotonic() + 10)[:2], ("done", session.secret), "and the driver goes on")
    with start("builtin") as other:
        names = other.value("import sys\n[n for n, v in list(globals().items()) + list(vars(__builtins__).items()) if isinstance(v, (str, bytes)) and len(v) == 32]")
        kit.equal(names, "[]")


@test(hows=("builtin", "ipython"))
def a_cell_that_closes_everything(session):
    session.loses_channel("import os; os.closerange(3, 1024)")
    with start(session.how) as other:
        kit.equal(other.execute("import os; os.close(0); os.close(1); os.close(2)").ok, True)
        kit.equal(other.execute("40 + 2").text, "42")
        kit.equal(other.execute("print(1)").ok, False)


@test(hows=("builtin",))
def a_long_life(session):
    """Ten thousand cells: the last cost what the first did."""

    def some(count):
        began = time.process_time()
        with open(f"/proc/{session.process.pid}/schedstat") as file:
            before = int(file.read().split()[0])
        for _ in range(count):
            session.execute("x = 1\nx + 1")
        with open(f"/proc/{session.process.pid}/schedstat") as file:
            return (int(file.read().split()[0]) - before) / count, time.process_time() - began

    some(500)
    first = min(some(500)[0] for _ in range(2))
    some(8000)
    last = min(some(500)[0] for _ in range(3))
    kit.true(last < 2 * first, f"{first} ns a cell at first, {last} ns after 10 000")


@functools.partial(kit.test, name="ready")
def is_ready_soon():
    with start("auto") as session:
        kit.true(session.ready_seconds < 5, session.ready_seconds)
        kit.equal(session.ready["driver"], "ipython")
    with start("builtin") as session:
        kit.equal(session.ready["driver"], "builtin")


kit.main()
