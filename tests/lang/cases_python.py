"""Programs whose output and exit status say whether Python was started for them or was already running.

A case is run twice, cold and in an ember; stdout, stderr and how it ended have to be the same but for addresses. What a
case prints must not depend on chance, time, process ids or where the code lies (CODE stands for the directory).
"""

import collections
import io
import re
import textwrap
import zipfile

Case = collections.namedtuple("Case", "name source args stdin files env entry", defaults=((), "", {}, {}, "main.py"))


def same(text):
    """Without what differs between any two runs of CPython."""
    text = re.sub(rb"0x[0-9a-f]{6,}", b"0x", text)
    return re.sub(rb"(started|pid)[ =]\d+", rb"\1", text)


def archive(**members):
    with io.BytesIO() as out:
        with zipfile.ZipFile(out, "w") as made:
            for name, text in members.items():
                made.writestr(name, text)
        return out.getvalue()


CASES = []
# Cases that differ in a warm box, and why.
KNOWN = {"parent": "the process that an ember was forked from is outside its box, where pids are called 0"}


def case(name, source, *args, **more):
    if isinstance(source, str):
        source = textwrap.dedent(source).lstrip("\n")
    CASES.append(Case(name, source, args, **more))


# What a program finds
case("globals", "print(sorted((k, type(v).__name__, v if not k == '__loader__' else v.path) for k, v in globals().items()))")
case("globals order", "print(list(globals()))")
case("argv", "import sys; print(sys.argv, sys.orig_argv, sys.path)", "a", "", "b c", "ä", "--x=1")
case("argv bytes", "import sys, os; print([os.fsencode(a) for a in sys.argv[1:]])", "\udcff\udc80")
case("flags", "import sys; print(sys.flags, sys.dont_write_bytecode, sys.executable, sys.prefix, sys.warnoptions, sys._xoptions)")
case("environ", "import os, posix; print(dict(os.environ), posix.environ == os.environ._data, os.environb[b'PATH'])")
case(
    "environ given",
    """
    import os, subprocess, sys
    print(os.environ["A"], os.getenv("B"), "C" in os.environ, sorted(os.environ))
    os.environ["NEW"] = "1"; del os.environ["A"]
    print(subprocess.run(["/usr/bin/env"], capture_output=True, text=True, check=True).stdout)
    """,
    env={"A": "1", "B": "ä =="},
)
case("environ no ember", "import os; print([k for k in os.environ if 'EMBER' in k or k.startswith('LD_')])")
case("zone", "import time, datetime; print(time.tzname, time.timezone, time.localtime(0)[:6], datetime.datetime.fromtimestamp(0))", env={"TZ": "UTC-5"})
case("zone none", "import time; print(time.tzname, time.timezone, time.daylight)")
case("hash seed", "print(hash('x'), {'a', 'b', 'c', 'd'})", env={"PYTHONHASHSEED": "7"})
case("python path", "import sys; print(sys.path)", env={"PYTHONPATH": "/sandbox/data"})
case("python warnings", "import warnings; warnings.warn('w', DeprecationWarning); open('/dev/null')", env={"PYTHONWARNINGS": "default"})
case("optimize", "assert False", env={"PYTHONOPTIMIZE": "1"})
case("locale", "import sys, locale; print(sys.stdout.encoding, locale.getpreferredencoding(), locale.setlocale(locale.LC_ALL))", env={"LANG": "C"})
case("encodings", "import sys, locale; print([(s.encoding, s.errors, s.newlines, s.line_buffering, s.write_through, s.mode, s.name) for s in (sys.stdin, sys.stdout, sys.stderr)], sys.getfilesystemencoding(), locale.getlocale())")
case("streams", "import sys; print(sys.stdin, sys.stdout, sys.stderr, sys.stdin.buffer, sys.stdout.buffer, sys.stdin.buffer.raw, sys.__stdout__ is sys.stdout, sys.__stdin__ is sys.stdin, sys.stdin.seekable(), sys.stdout.seekable(), sys.stdin.isatty())")
case("descriptor", "f = open('/dev/null'); print(f.fileno())")
case("descriptors", "import os; print(sorted(map(int, os.listdir('/proc/self/fd'))))")
case("recursion", "import sys; print(sys.getrecursionlimit())\ndef f(n):\n    try: return f(n + 1)\n    except RecursionError: return n\nprint(f(0))")
case("recursion unhandled", "def f(): f()\nf()")
case("frames", "import inspect, sys, traceback; print(len(inspect.stack()), sys._getframe().f_back); traceback.print_stack()")
case("signals", "import signal; print([(s.name, signal.getsignal(s)) for s in signal.valid_signals() if signal.getsignal(s) != signal.SIG_DFL and s < 32]); print(signal.pthread_sigmask(signal.SIG_BLOCK, []))")
case("threads", "import threading, os; m = threading.main_thread(); print(m is threading.current_thread(), m.native_id == os.getpid() == threading.get_native_id(), m.ident == threading.get_ident(), threading.active_count(), threading.enumerate())")
case("hooks", "import sys; print(sys.excepthook, sys.displayhook, sys.unraisablehook, sys.meta_path, sys.path_hooks, sys.gettrace(), sys.getprofile())")
case("importers", "import sys; print(sorted((k, type(v).__name__) for k, v in sys.path_importer_cache.items() if k.endswith('main.py')))")
case("gc", "import gc; print(gc.isenabled(), gc.get_threshold(), gc.garbage, gc.callbacks, gc.get_debug())")
case("cwd", "import os; print(os.getcwd(), os.umask(0o22))")
case("parent", "import os; print(os.getppid() > 0)")
case("builtins", "import builtins; print(sorted(dir(builtins)), exit, quit, copyright is not None)")
case("last", "import sys; print(hasattr(sys, 'last_value'), sys.exc_info(), hasattr(sys, 'ps1'))")
case("site", "import site; print(site.USER_SITE, site.ENABLE_USER_SITE, site.getsitepackages())")
case("docstring", "'''doc'''\nprint(__doc__, __annotations__, __spec__, __package__, __name__)\nx: int = 1\nprint(__annotations__)")
# What an import gives: the modules that are found as attributes of it, and of those below it. collections.abc is where
# somebody has imported it, and importlib.util likewise. Each in a fork, so that one import does not load for the next.
case("modules", """
    import os, sys
    NAMES = '''argparse asyncio bisect collections concurrent.futures contextlib copy csv ctypes dataclasses datetime dbm decimal
        email enum fractions functools heapq html http importlib inspect io itertools json logging math operator os pathlib queue
        random re statistics string struct subprocess tempfile textwrap threading traceback types typing unittest urllib uuid
        xml zipfile zoneinfo'''.split()
    def found(name, deep=2):
        for attribute, value in sorted(vars(sys.modules[name]).items()):
            if type(value) is type(sys):
                yield f"{name}.{attribute}"
                if deep and value.__name__ == f"{name}.{attribute}":
                    yield from found(value.__name__, deep - 1)
    for name in NAMES:
        sys.stdout.flush()
        if os.fork() == 0:
            __import__(name)
            text = " ".join(found(name))
            import collections
            print(name, text, hasattr(collections, 'abc'), flush=True)
            os._exit(0)
        os.wait()
""")
case("modules by others", "import collections\nprint(hasattr(collections, 'abc'))\nimport importlib\nimportlib.import_module('typing')\nprint(collections.abc.Mapping)\nimport collections.abc\nprint(collections.abc.__spec__)")
case("modules by itself", "import collections.abc\nprint(collections.abc.__name__, collections.abc.__spec__, collections.abc.Mapping)\nimport dataclasses, inspect\nprint(collections.abc.__spec__, inspect.__spec__, dataclasses.__spec__._initializing)")
case("modules of threads", "import threading\nthreads = [threading.Thread(target=__import__, args=(name,)) for name in ('typing', 'traceback', 'dataclasses', 'pathlib')]\n[t.start() for t in threads], [t.join() for t in threads]\nimport collections\nprint(collections.abc.Set)")
case("main", "if __name__ == '__main__':\n    import __main__, sys\n    print(__main__.__file__, sys.modules['__main__'] is __main__, __main__.__dict__ is globals())")
case("main again", "import sys\nif len(sys.argv) == 1:\n    sys.argv.append('x')\n    import runpy\n    print(sorted(runpy.run_path(__file__, run_name='other')))\nelse:\n    print(__name__, __file__)")
case("entry elsewhere", "import sys, helper; print(sys.argv, __file__, sys.path[0], helper.x)", entry="sub/run.py", files={"sub/helper.py": "x = 1\n"})
case("entry odd name", "import sys; print(sys.argv, __file__)", entry="a b'c\"ä.txt")
case("future", "from __future__ import annotations\ndef f(x: nothing): pass\nprint(f.__annotations__)\nexec('def g(y: none): pass')\nprint(g.__annotations__)")

# What it reads
case("stdin", "import sys; print(repr(sys.stdin.read()))", stdin="a\nb\r\nc")
case("input", "print(input('? '), input())\ntry: input()\nexcept EOFError as e: print('end', e)", stdin="one\ntwo\n")
case("stdin lines", "import sys\nfor l in sys.stdin: print(repr(l))", stdin="1\n2\n\n3")
case("stdin bytes", "import sys; print(sys.stdin.buffer.read())", stdin="ä")
case("stdin fd", "import os; print(os.read(0, 100), open(0, closefd=False).read())", stdin="raw")

# How it is read
case("empty", "")
case("syntax", "x = 1\nprint('a'\ny = 2\n")
case("indent", "if 1:\n\tx = 1\n        y = 2\n")
case("indent none", "def f():\nreturn 1\n")
case("cookie", "# -*- coding: latin-1 -*-\nprint(ascii('ä'))\n".encode("latin-1"))
case("cookie unknown", "# -*- coding: nonsense -*-\nprint(1)\n")
case("bom", b"\xef\xbb\xbfprint('bom')\n")
case("bom cookie", b"\xef\xbb\xbf# coding: latin-1\nprint('bom')\n")
case("not utf-8", b"print('a')\nx = '\xff'\n")
case("nul", b"print(1)\n\0print(2)\n")
case("crlf", b"print(1)\r\nif 1:\r\n    print('''a\r\nb''')\r\n")
case("no newline", b"print('end')")
case("form feed", b"\x0cprint('ff')\n")
case("long line", "x = [" + "1, " * 20000 + "]\nprint(len(x))\n")
case("deep", "print(" + "(" * 250 + ")" * 250 + ")")
case("archive", archive(**{"__main__.py": "import sys, other; print(__name__, __file__, __spec__.name, sys.path[0], other.x)", "other.py": "x = 1"}))
case("archive prefixed", b"#!/usr/bin/python3\n" + archive(**{"__main__.py": "print('zipped', __name__)"}))
case("archive text", "print('PK\\5\\6', b'PK\x05\x06')")
case("archive import", "import sys; sys.path.insert(0, CODE + '/lib.zip'); import inside; print(inside.__file__, inside.x)".replace("CODE", "__file__.rpartition('/')[0]"), files={"lib.zip": archive(**{"inside.py": "x = 2"})})
case("directory", "", entry="folder", files={"folder/__main__.py": "import sys; print(__file__, sys.path[0], sys.argv)"})
case("directory plain", "", entry="folder", files={"folder/x.py": "print(1)"})
case("missing", "", entry="nowhere.py", files={"main.py": ""})
case("syntax in module", "import bad", files={"bad.py": "x = (\n"})

# Its own modules
case("module", "import helper; from pkg import part, json as own; print(helper.x, part.y, own.z)\nimport json; print(json.dumps([1]))", files={"helper.py": "x = 1", "pkg/__init__.py": "", "pkg/part.py": "y = 2", "pkg/json.py": "z = 3"})
for _name in ("json", "random", "re", "types", "typing", "enum", "threading", "copy", "collections", "token", "queue", "urllib"):
    case(f"own {_name}", f"import {_name}; print({_name}.__file__, getattr({_name}, 'mine', None))", files={f"{_name}.py": "mine = 1"})
case("own package", "import json; print(json.mine)", files={"json/__init__.py": "mine = 2"})
case("own below", "import sys; sys.path.insert(0, __file__.rpartition('/')[0] + '/lib'); import dataclasses; print(dataclasses.mine)", files={"lib/dataclasses.py": "mine = 3"})
case("own used by others", "import json; print(json.loads('[1]'))", files={"re.py": "print('mine')\nraise ImportError('own re')"})
case("own is main", "import random; print(__name__, hasattr(random, 'seed'))", entry="random.py")
case("own os", "import os; print(os.sep)", files={"os.py": "1/0", "abc.py": "1/0", "sys.py": "1/0"})
case("own sitecustomize", "print('main')", files={"sitecustomize.py": "print('site')", "usercustomize.py": "print('user')"})
case("no submodule", "import urllib\ntry: print(urllib.parse)\nexcept AttributeError as e: print(e)\nimport importlib\ntry: print(importlib.util)\nexcept AttributeError as e: print(e)\nimport xml, concurrent\nprint(hasattr(xml, 'etree'), hasattr(concurrent, 'futures'))")
case("imports", "import json, re, random, collections, datetime, typing, dataclasses, pathlib, decimal, urllib.parse, asyncio, logging, hashlib, subprocess, uuid, secrets, unittest, sqlite3, csv, statistics\nprint(json.dumps({'a': 1}), re.sub('a', 'b', 'aa'), urllib.parse.quote('ä'), pathlib.Path('/ä').as_uri(), hashlib.sha256(b'').hexdigest()[:8], statistics.mean([1, 2]), decimal.Decimal(1) / 3)")
case("no compiled files", "import helper, os; print(sorted(os.listdir(os.path.dirname(__file__))))", files={"helper.py": ""})
case("reload", "import importlib, json; print(importlib.reload(json).dumps(1), json.__spec__.name)")
case("seeded", "import random; random.seed(5); print(random.random(), random.sample(range(100), 5), random.gauss(0, 1))")

# How it ends
for _code in ("", "None", "0", "3", "256", "-1", "True", "2 ** 70", "'text'", "1.5", "[1, 2]", "(4,)", "b'x'", "object"):
    case(f"exit {_code or 'nothing'}", f"import sys; print('a'); sys.exit({_code})")
case("exit quit", "print(1); exit(4)")
case("exit raise", "raise SystemExit")
case("exit raise class", "class E(SystemExit):\n    code = property(lambda self: print('asked') or 9)\nraise E(2)")
case("exit in finally", "import sys\ntry:\n    sys.exit(1)\nfinally:\n    print('finally')")
case("exit chained", "import sys\ntry: 1/0\nexcept ZeroDivisionError: sys.exit('bad')")
case("exit nested", "import sys\ndef f():\n    with open('/dev/null') as g:\n        sys.exit(5)\nf()")
case("exit in thread", "import threading, sys; t = threading.Thread(target=sys.exit, args=(3,)); t.start(); t.join(); print('on')")
case("_exit", "import os, sys; sys.stdout.write('a'); os._exit(6)")
case("abort", "import os; print(1); os.abort()")
case("killed", "import os, signal; print(1); os.kill(os.getpid(), signal.SIGTERM)")
case("segfault", "import ctypes; print(1); ctypes.string_at(0)")
case("fault handler", "import faulthandler, ctypes; faulthandler.enable(); ctypes.string_at(0)")
case("fatal", "import ctypes; ctypes.pythonapi.Py_FatalError(b'over')")
case("interrupt", "import signal\nprint(1)\nraise KeyboardInterrupt")
case("interrupt signal", "import os, signal, atexit\natexit.register(print, 'end')\nos.kill(os.getpid(), signal.SIGINT)\nfor i in range(10**6): pass")
case("interrupt caught", "import os, signal\ntry:\n    os.kill(os.getpid(), signal.SIGINT)\n    for i in range(10**6): pass\nexcept KeyboardInterrupt: print('caught')")
case("interrupt derived", "class K(KeyboardInterrupt): pass\nraise K('x')")
case("signal handler", "import signal, os\nsignal.signal(signal.SIGUSR1, lambda n, f: print('got', n, f.f_code.co_name))\nos.kill(os.getpid(), signal.SIGUSR1)\nprint('after')")
case("alarm", "import signal\nsignal.setitimer(signal.ITIMER_REAL, 0.02)\nsignal.pause()")
case("exception", "def f(x):\n    return 1 / x\nprint('a')\nf(0)")
case("exception cause", "try:\n    {}['k']\nexcept KeyError as e:\n    raise ValueError('v') from e")
case("exception context", "try:\n    [][1]\nfinally:\n    int('x')")
case("exception group", "raise ExceptionGroup('many', [ValueError(1), TypeError('t')])")
case("exception notes", "e = ValueError('v'); e.add_note('note'); raise e")
case("exception unprintable", "class E(Exception):\n    def __str__(self): raise TypeError\nraise E")
case("exception surrogate", "raise ValueError('\\udcff ä')")
case("exception in import", "import bad", files={"bad.py": "def f():\n    raise OSError(2, 'x')\nf()\n"})
case("exception hint", "import collections\ncollections.namedtoplo", )
case("exception name", "foo = 1\nprint(fooo)")
case("exception hook", "import sys\ndef hook(t, v, tb): print('hook', t, v, tb.tb_lineno)\nsys.excepthook = hook\n1/0")
case("exception hook exits", "import sys\ndef hook(t, v, tb): print('hook'); sys.exit(7)\nsys.excepthook = hook\n1/0")
case("exception hook fails", "import sys\ndef hook(t, v, tb): raise TypeError('in hook')\nsys.excepthook = hook\n1/0")
case("exception hook deleted", "import sys\ndel sys.excepthook\n1/0")
case("exception limit", "import sys\nsys.tracebacklimit = 1\ndef f(): g()\ndef g(): 1/0\nf()")
case("exception thread", "import threading\nt = threading.Thread(target=lambda: 1/0, name='T'); t.start(); t.join(); print('on')")
case("exception no stderr", "import sys; sys.stderr = None; 1/0")
case("last after", "import sys, atexit\natexit.register(lambda: print(repr(sys.last_value), sys.last_traceback.tb_lineno))\n1/0")
case("atexit", "import atexit\n@atexit.register\ndef f(): print('f')\natexit.register(print, 'g')\natexit.register(lambda: atexit.register(print, 'late'))\nprint('end')")
case("atexit fails", "import atexit\natexit.register(print, 'first')\natexit.register(lambda: 1/0)\n")
case("atexit exits", "import atexit, sys\natexit.register(print, 'first')\natexit.register(lambda: sys.exit(5))\n")
case("atexit exits after exit", "import atexit, sys\natexit.register(lambda: sys.exit(5))\nsys.exit(3)")
case("atexit file", "import atexit\natexit.register(lambda: print('__file__' in globals(), '__cached__' in globals()))")
case("atexit file exit", "import atexit, sys\natexit.register(lambda: print('__file__' in globals(), '__cached__' in globals()))\nsys.exit()")
case("atexit thread", "import atexit, threading\ndef f():\n    t = threading.Thread(target=print, args=('thread',)); t.start(); t.join()\natexit.register(f)")
case("atexit os._exit", "import atexit, os\natexit.register(os._exit, 9)")
case("threads end", "import threading, time, atexit\natexit.register(print, 'exit')\ndef f():\n    time.sleep(0.05); print('thread')\nthreading.Thread(target=f).start()\nprint('main')")
case("threads after exit", "import threading, time, sys\ndef f():\n    time.sleep(0.05); print('thread')\nthreading.Thread(target=f).start()\nsys.exit(3)")
case("threads daemon", "import threading, time\nclass A:\n    def __del__(self): print('del')\na = A()\ndef f():\n    while True: time.sleep(0.001)\nthreading.Thread(target=f, daemon=True).start()\nprint('main')")
case("threads raw", "import _thread, time\n_thread.start_new_thread(time.sleep, (100,))\nprint('main')")
case("pool", "from concurrent.futures import ThreadPoolExecutor\np = ThreadPoolExecutor(2)\nprint(list(p.map(abs, [-1, -2])))\np.submit(print, 'late')")
case("timer", "import threading; threading.Timer(0.03, print, ['timer']).start(); print('main')")

# What dies with it
case("del", "class A:\n    def __init__(self, n): self.n = n\n    def __del__(self): print('del', self.n, A, print)\na = A(1); b = A(2); _c = A(3)")
case("del one", "class A:\n    def __del__(self): print('del')\nA()\nprint('end')\na = A()")
case("del cycle", "class A:\n    def __del__(self): print('del', sorted(k for k in globals() if not k.startswith('__')))\na = A(); a.a = a; b = A(); b.o = a")
case("del collected", "import gc\nclass A:\n    def __del__(self): print('del')\na = A(); a.a = a; del a\nprint(gc.collect() > 0, gc.collect())\nprint('end')")
case("del no members", "class A:\n    __slots__ = ()\n    def __del__(self): print('del')\na = A()\nb = [A(), A()]")
case("del in module", "import helper; print('main')", files={"helper.py": "class A:\n    def __del__(self): print('del', __name__)\na = A()\n"})
case("del fails", "class A:\n    def __del__(self): 1/0\na = A()")
case("del after exception", "class A:\n    def __del__(self): print('del')\ndef f():\n    a = A()\n    1/0\nf()")
case("del after exit", "import sys\nclass A:\n    def __del__(self): print('del')\ndef f():\n    a = A()\n    sys.exit(2)\nf()")
case("del after exit text", "import sys\nclass A:\n    def __del__(self): print('del')\na = A()\nsys.exit('text')")
case("del hook exits", "import sys\nclass A:\n    def __del__(self): print('del')\na = A()\nsys.excepthook = lambda *a: sys.exit(8)\n1/0")
case("del interrupt", "class A:\n    def __del__(self): print('del')\na = A()\nraise KeyboardInterrupt")
case("del in patched", "import random, json\nclass A:\n    def __del__(self): print('del', A is None)\na = A()\nrandom.keep = a\njson.dumps = lambda: a\ndel a")
case("del in class", "class M(type):\n    def __del__(cls): print('class', cls.__name__)\nclass A(metaclass=M): pass")
case("del in stdlib object", "import collections\nclass A:\n    def __del__(self): print('del')\nd = collections.OrderedDict(a=A()); q = collections.deque([A()])")
case("del in locals of generator", "class A:\n    def __del__(self): print('del')\ndef g():\n    a = A()\n    try: yield\n    finally: print('finally')\nx = g(); next(x)")
case("del frozen", "import gc\nclass A:\n    def __del__(self): print('del')\na = A(); a.a = a\ngc.freeze()\ngc.collect()")
case("del disabled gc", "import gc; gc.disable()\nclass A:\n    def __del__(self): print('del')\na = A(); a.a = a; del a")
case("del assigned later", "class A: pass\na = A()\nA.__del__ = lambda self: print('del')")
case("del finalizing", "import sys\nclass A:\n    def __del__(self): print(sys and sys.is_finalizing())\na = A()")
case("generator", "def g():\n    try:\n        yield 1\n    finally:\n        print('closed')\nx = g(); print(next(x))")
case("coroutine", "async def f(): pass\nx = f()")
case("weakref", "import weakref\nclass A: pass\na = A()\nr = weakref.ref(a, lambda r: print('gone'))")
case("weakref kept", "import weakref, builtins\nclass A: pass\na = A()\nbuiltins.r = weakref.ref(a, lambda r, print=print: print('gone'))")
case("weakref proxy", "import weakref, builtins\nclass A: pass\na = A()\nbuiltins.r = weakref.proxy(a, lambda r, print=print: print('gone'))")
case("weakref derived", "import weakref, builtins\nclass R(weakref.ref): pass\nclass A: pass\na = A()\nbuiltins.r = R(a, lambda r, print=print: print('gone'))")
case("weakref finalize", "import weakref\nclass A: pass\na = A()\nweakref.finalize(a, print, 'finalized')\nf = weakref.finalize(a, print, 'never'); f.atexit = False")
case("weak tables", "import weakref\nclass A: pass\na = A()\nd = weakref.WeakValueDictionary(a=a); s = weakref.WeakSet([a]); k = weakref.WeakKeyDictionary({a: 1})\nprint(len(d), len(s), len(k))")
case("file unflushed", "import atexit, os, subprocess\nf = open('/tmp/emberbox-case', 'w'); f.write('text')\nclass A:\n    def __init__(self): self.open, self.f = open, f\n    def __del__(self): self.f.close(); print(self.open('/tmp/emberbox-case').read())\na = A()")
case("file left open", "import os\npid = os.fork()\nif pid == 0:\n    f = open('/tmp/emberbox-case', 'w'); f.write('kept')\nelse:\n    os.waitpid(pid, 0); print(open('/tmp/emberbox-case').read())")
case("file in binary", "import os\npid = os.fork()\nif pid == 0:\n    f = [open('/tmp/emberbox-case', 'wb')]; f[0].write(b'kept')\nelse:\n    os.waitpid(pid, 0); print(open('/tmp/emberbox-case').read())")
case("temporary", "import os, tempfile\npid = os.fork()\nif pid == 0:\n    f = tempfile.NamedTemporaryFile(prefix='emberbox-case-x'); d = tempfile.TemporaryDirectory(prefix='emberbox-case-x')\nelse:\n    os.waitpid(pid, 0); print([n for n in os.listdir('/tmp') if n.startswith('emberbox-case-x')])")
case("database", "import os, sqlite3\npath = '/tmp/emberbox-case.db'\npid = os.fork()\nif pid == 0:\n    c = sqlite3.connect(path); c.execute('pragma journal_mode=wal'); c.execute('create table t (a)'); c.commit()\nelse:\n    os.waitpid(pid, 0); print(sorted(n for n in os.listdir('/tmp') if n.startswith('emberbox-case.db'))); os.unlink(path)")
case("c stdio", "import ctypes; ctypes.CDLL(None).printf(b'from c\\n')")
case("c atexit", "import ctypes\nf = ctypes.CFUNCTYPE(None)(lambda: None)\nctypes.CDLL(None).puts(b'c')")
case("logging", "import logging; logging.basicConfig(); logging.warning('w'); logging.getLogger('x').error('e')")
case("logging memory", "import logging, logging.handlers\nh = logging.handlers.MemoryHandler(10, target=logging.StreamHandler())\nlogging.getLogger().addHandler(h); logging.getLogger().warning('kept')")
case("audit", "import sys\nsys.addaudithook(lambda e, a: print(e) if e.startswith(('gc.', 'cpython.')) else None)\nprint('end')")
case("audit same", "import sys; print(sys.addaudithook, sys.addaudithook.__text_signature__); sys.addaudithook(lambda e, a: None)\ntry: sys.addaudithook()\nexcept TypeError as e: print(e)")
case("unraisable hook", "import sys\nsys.unraisablehook = lambda a: print('unraisable', a.exc_value)\nclass A:\n    def __del__(self): 1/0\na = A()")
case("trace at end", "import sys, atexit, threading\natexit.register(lambda: None)\nsys.setprofile(lambda f, e, a: print(e, f.f_code.co_name) if e == 'call' else None)")
case("many objects", "class A:\n    def __init__(self, n): self.n = n\nall = [A(n) for n in range(200000)]; all.append(all); print(len(all))")
case("many types", "all = [type(f'T{n}', (), {})() for n in range(1500)]; print(len(all))")

# What it writes
case("stdout closed", "import sys; print('a'); sys.stdout.close()")
case("stdout closed printed", "import sys; sys.stdout.close()\nprint('b')")
case("stdout fd closed", "import os; print('a'); os.close(1)")
case("stdout fd closed printed", "import os, sys; os.close(1)\ntry: print('a')\nexcept OSError as e: print(e, file=sys.stderr)")
case("stdout replaced", "import sys, io\nclass W(io.StringIO):\n    def flush(self): sys.__stdout__.write('flushed\\n')\nsys.stdout = W(); print('lost')")
case("stdout none", "import sys; sys.stdout = None; print('x')")
case("stdout flush fails", "import sys, io\nclass W(io.StringIO):\n    def flush(self): raise OSError('flush')\nsys.stdout = W(); print('lost')")
case("stdout buffered", "import sys, io; sys.stdout = io.TextIOWrapper(io.BufferedWriter(sys.stdout.buffer), write_through=False); print('kept')")
case("stdout reconfigured", "import sys; sys.stdout.reconfigure(encoding='latin-1', errors='replace', write_through=False); print('ä€'); sys.stdout.write('tail')")
case("stdout detached", "import sys; b = sys.stdout.detach(); b.write(b'raw\\n')")
case("stdout deleted", "import sys; del sys.stdout")
case("stdout full", "import sys, os; os.dup2(os.open('/dev/full', os.O_WRONLY), 1)\nprint('x')")
case("stdout full late", "import sys, os; os.dup2(os.open('/dev/full', os.O_WRONLY), 1)\nsys.stdout.reconfigure(write_through=False)\nsys.stdout.write('x')")
case("stderr written", "import sys; print('e\\udcff', file=sys.stderr); sys.stderr.write('no newline')")
case("big output", "print('x' * 300000)")
case("surrogate output", "print('\\udcff')")
case("order", "import sys\nfor i in range(3): print('o', i); print('e', i, file=sys.stderr)")
case("warning", "import warnings; warnings.warn('careful'); open('/dev/null'); '\\d'\nimport imp")

# Other processes
case("fork", "import os, atexit\natexit.register(lambda: print('exit', flush=True))\npid = os.fork()\nif pid == 0: print('child', flush=True)\nelse: print('status', os.waitpid(pid, 0)[1])")
case("fork exits", "import os, sys\npid = os.fork()\nif pid == 0: sys.exit(5)\nprint(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))")
case("fork fails", "import os, sys\npid = os.fork()\nif pid == 0: 1/0\nprint(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))")
case("fork chance", "import os, random\nr, w = os.pipe()\nif os.fork() == 0:\n    os.write(w, str(random.random()).encode()); os._exit(0)\nos.wait()\nprint(os.read(r, 99) == str(random.random()).encode())")
case("fork in a thread", "import os, threading\ndef work():\n    pid = os.fork()\n    if pid == 0:\n        print(threading.active_count(), threading.main_thread() is threading.current_thread(), flush=True); os._exit(0)\n    os.waitpid(pid, 0)\nt = threading.Thread(target=work); t.start(); t.join()")
case("locks at the end", "import atexit, threading\natexit.register(lambda: print(threading.main_thread().is_alive(), len(threading._shutdown_locks)))\nprint(threading.main_thread().is_alive(), len(threading._shutdown_locks), threading.main_thread()._tstate_lock in threading._shutdown_locks)")
case("native id", "import os, threading\nprint(threading.main_thread().native_id == os.getpid() == threading.get_native_id(), threading.main_thread().ident == threading.get_ident())")
case("handlers of forks", "import os, random, threading\nos.register_at_fork(before=lambda: print('before', flush=True), after_in_parent=lambda: print('parent', flush=True))\nif os.fork() == 0: os._exit(0)\nos.wait()\nprint(os.register_at_fork.__module__)")
case("exec", "import os, sys\nif len(sys.argv) < 2: os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:], 'again'])\nprint(sys.argv[1:])")
case("subprocess", "import subprocess, sys\nprint(subprocess.run([sys.executable, '-c', 'import sys; print(sys.argv); sys.exit(3)', 'x'], capture_output=True))")
case("subprocess self", "import subprocess, sys\nif len(sys.argv) < 2: print(subprocess.run([sys.executable, __file__, 'x'], capture_output=True, text=True).stdout)\nelse: print(sys.argv[1:], __name__)")
for _method in ("fork", "spawn"):
    case(f"multiprocessing {_method}", f"import multiprocessing as m\nclass P:\n    def __init__(self, x): self.x = x\ndef f(p): return P(p.x * 2)\nif __name__ == '__main__':\n    m.set_start_method('{_method}')\n    with m.Pool(1) as pool: print([p.x for p in pool.map(f, [P(1), P(2)])])")
case("multiprocessing process", "import multiprocessing as m\nif __name__ == '__main__':\n    p = m.Process(target=print, args=('child',)); p.start(); p.join(); print(p.exitcode)")
case("asyncio", "import asyncio\nasync def f(n):\n    await asyncio.sleep(0); return n\nasync def main(): print(await asyncio.gather(f(1), f(2)))\nasyncio.run(main())")
case("asyncio pending", "import asyncio\nasync def f(): await asyncio.sleep(100)\nloop = asyncio.new_event_loop()\nt = loop.create_task(f())\nloop.call_later(0.01, loop.stop); loop.run_forever()")
case("asyncio lost", "import asyncio\nasync def f(): 1/0\nasync def main():\n    global t\n    t = asyncio.create_task(f()); await asyncio.sleep(0.01)\nasyncio.run(main())")

# The language's own
case("pickle", "import pickle\nclass A:\n    def __init__(self): self.x = 1\nd = pickle.dumps(A()); print(b'__main__' in d, pickle.loads(d).x)")
case("dataclass", "from dataclasses import dataclass, field\n@dataclass(order=True)\nclass P:\n    x: int\n    y: list = field(default_factory=list)\nprint(P(1), P(1) < P(2))")
case("enum", "import enum\nclass C(enum.Flag):\n    A = enum.auto(); B = enum.auto()\nprint(C.A | C.B, repr(C.A))")
case("typing", "import typing\nclass P(typing.Protocol):\n    def f(self) -> int: ...\nclass N(typing.NamedTuple):\n    a: int\nprint(typing.get_type_hints(P.f), N(1), typing.Optional[int])")
case("inspect source", "import inspect\ndef f():\n    return 1\nprint(inspect.getsource(f), inspect.getfile(f))")
case("linecache", "import traceback\ntry:\n    raise ValueError('x')\nexcept ValueError: print(traceback.format_exc())")
case("doctest", "import doctest\ndef f():\n    '''\n    >>> f()\n    2\n    '''\n    return 1\nprint(doctest.testmod())")
case("unittest", "import unittest\nclass T(unittest.TestCase):\n    def test(self): self.assertEqual(1, 2)\nimport io, sys\ns = io.StringIO()\nr = unittest.main(exit=False, testRunner=unittest.TextTestRunner(stream=s)).result\nprint(len(r.failures))")
case("unittest main", "import unittest\nclass T(unittest.TestCase):\n    def test(self): self.assertEqual(1, 1)\nunittest.main(testRunner=unittest.TextTestRunner(stream=open('/dev/null', 'w')))")
case("argparse", "import argparse\np = argparse.ArgumentParser(); p.add_argument('--n', type=int); print(p.parse_args())", "--n", "x")
case("argparse help", "import argparse\np = argparse.ArgumentParser(); p.add_argument('--n', type=int, help='number'); p.parse_args()", "-h")
case("int digits", "import sys; print(sys.get_int_max_str_digits()); int('1' * 5000)")
case("context", "import contextvars, decimal\nv = contextvars.ContextVar('v', default=1); print(v.get(), decimal.getcontext())")
case("warn filters", "import warnings; print(warnings.filters)")
case("codecs", "import codecs; print(codecs.lookup('utf-8').name, 'ä'.encode('cp1252'), codecs.encode('abc', 'rot13'))")
case("subclasses", "import abc, collections.abc as c\nclass S(c.Sequence):\n    def __len__(self): return 0\n    def __getitem__(self, i): raise IndexError\nprint(isinstance(S(), c.Iterable), c.Sequence.register(str))")
case("copyreg", "import copyreg, re, copy; print(copy.copy(re.compile('a')).pattern, complex in copyreg.dispatch_table)")
