"""The loop of a Python session: reads requests from descriptor 3, runs cells in __main__, answers. See session.py.

All that an ordinary cell needs is here, and little else: a session begins by compiling this file.
"""

import builtins
import linecache
import os
import posix
import sys

import _ast
import _signal
from _json import encode_basestring as quote

CHANNEL = 3
READ_MAX = 1 << 16
CELL_MAX = 15 << 20  # bytes of a cell's rich results; the keeper takes 16 MiB
SOURCES_MAX = 8 << 20  # characters of cells that tracebacks can show lines of
HISTORY_MAX = 1000  # values in Out
BRIEF = 1000  # characters of a text that is shown without more ado

ONLY_AST = 0x400  # flags of compile(), without the module ast
AWAIT = 0x2000
FUTURES = 0x1FE0000
COROUTINE = 0x80  # of code

SIGINT = _signal.SIGINT
PLAIN = frozenset((int, float, bool, complex))
MAGIC = ("!", "%", "?")  # what only IPython's syntax has
GOOD = b'{"ok":true,"exit":0}'


class Driver:
    """One session."""

    def __init__(self, space, load, how):
        self.space, self.load = space, load
        self.how = how  # auto, builtin or ipython
        self.secret = None  # of the request that is being answered
        self.spent = 0  # bytes of rich results of this cell
        self.futures = 0  # flags of `from __future__ import …` so far
        self.handler = _signal.default_int_handler  # of SIGINT in cells; they may set their own
        self.runner = None  # of top-level await
        self.shell = None  # IPython's, once it is needed
        self.sources, self.held = {}, 0  # {name of a cell: its size}, their sum
        self.history = {}  # Out
        self.inputs = [""]  # In
        self.forked = False  # in a process that a cell forked
        self.cells = 0  # that ran, with the one that does
        self.buffer = b""  # what came by the channel and was not taken yet
        self.early = False  # an interrupt came while no cell ran
        self.input = "pipe"  # what descriptor 0 is
        self.made = {"pipe": sys.stdin}  # sys.stdin by that
        self.prepare()

    def prepare(self):
        """Makes the process look as an interactive interpreter's."""
        posix.set_inheritable(CHANNEL, False)
        _signal.signal(SIGINT, self.idle)
        self.pipe = posix.dup(0)  # the box's standard input
        posix.set_inheritable(self.pipe, False)
        sys.path[0] = ""
        sys.argv = [""]
        space = self.space
        kept = {"__name__": "__main__", "__doc__": None, "__package__": None, "__spec__": None}
        kept |= {"__loader__": sys.modules["_frozen_importlib"].BuiltinImporter, "__builtins__": builtins}
        space.clear()
        space.update(kept)
        # Figures are drawn without a display; whoever imports matplotlib finds it said.
        os.environ.setdefault("MPLBACKEND", "agg")
        sys.unraisablehook = self.unraisable
        posix.register_at_fork(after_in_child=self.after_fork)

        def display(*objects, **options):
            """Shows objects as rich results: display(object, …, raw=False)."""
            load("session_show")["display"](output, objects, **options)

        load, output = self.load, self.output
        display.__module__ = "builtins"
        for name in ("_", "__", "___"):
            setattr(builtins, name, "")
        builtins.display, builtins.Out, builtins.In = display, self.history, self.inputs

    def after_fork(self):
        """A process that a cell forked has no channel: what it displays is printed."""
        self.forked, self.secret = True, None
        try:
            posix.close(CHANNEL)
        except OSError:
            pass

    def unraisable(self, what, /):
        """Python drops what is raised in a destructor. An interrupt is not dropped: it comes again, a little later."""
        if what.exc_type is not KeyboardInterrupt or self.forked:
            sys.__unraisablehook__(what)
            return
        import _thread
        from time import sleep

        def again(cell):
            sleep(0.01)
            if self.cells == cell and _signal.getsignal(SIGINT) != self.idle:
                posix.kill(posix.getpid(), SIGINT)

        _thread.start_new_thread(again, (self.cells,))

    # Interrupts

    def idle(self, _signum, _frame):
        """One that comes while no cell runs; it may be the next one's, whose request was not read yet."""
        self.early = True

    def is_interrupted(self):
        """Whether the channel says that it is this cell's."""
        self.early = False
        posix.set_blocking(CHANNEL, False)
        try:
            self.buffer += posix.read(CHANNEL, READ_MAX)
        except BlockingIOError:
            pass
        finally:
            posix.set_blocking(CHANNEL, True)
        return self.buffer.startswith(b"interrupt %s " % self.secret)

    # The channel

    def send(self, *messages):
        """Writes (word, payload)…, in one piece."""
        data = b"".join([b"%s %s %d\n%s" % (word, self.secret, len(body), body) for word, body in messages])
        while data:
            try:
                data = data[posix.write(CHANNEL, data) :]
            except OSError:
                self.unheard()

    def requests(self):
        """(words, payload) of each request."""
        while True:
            while (end := self.buffer.find(b"\n")) < 0:
                data = posix.read(CHANNEL, READ_MAX)
                if not data:
                    return
                self.buffer += data
            buffer = self.buffer
            words = buffer[:end].split()
            size, end = int(words[2]), end + 1
            if len(buffer) - end < size:
                parts = [buffer[end:]]
                have = len(parts[0])
                while have < size:
                    data = posix.read(CHANNEL, READ_MAX)
                    if not data:
                        return
                    parts.append(data)
                    have += len(data)
                buffer, end = b"".join(parts), 0
            payload, self.buffer = buffer[end : end + size], buffer[end + size :]
            if words[0] != b"interrupt":  # of a cell that is over
                yield words, payload

    def serve(self):
        """Until the channel ends."""
        available = self.how != "builtin" and self.finds_ipython()
        if self.how == "ipython":
            self.upgrade()
        elif not available:
            self.how = "builtin"
        about = b'{"driver":"%s","complete":true,"inspect":true,"interrupt":true}' % (b"ipython" if available else b"builtin")
        self.secret = b"-"
        self.send((b"ready", about))
        try:
            for words, payload in self.requests():
                self.secret = words[1]
                if words[0] == b"execute":
                    self.execute(payload, int(words[3]), words[4].decode())
                else:
                    self.assist(words[0].decode(), payload.decode("utf-8", "replace"), payload[: int(words[3])])
                self.secret = None
        except OSError:
            self.unheard()
        posix._exit(0)

    def unheard(self):
        """A cell closed the channel. The keeper sees that, and tells so, unless there is an exit code to tell of."""
        while not self.forked:
            _signal.pause()
        posix._exit(1)

    # A cell

    def execute(self, payload, count, stdin):
        if stdin.isdigit():
            size = len(payload) - int(stdin)
            payload, data = payload[:size], payload[size:]
            self.give("data", data)
        elif stdin != self.input:
            self.give(stdin, b"")
        code = payload.decode("utf-8", "replace")
        name = f"<cell {count}>"
        self.spent = 0
        self.cells += 1
        try:
            self.remember(name, code)
        except Exception:
            pass  # a cell put something else in its place
        error, last = None, ()
        try:
            try:
                _signal.signal(SIGINT, self.handler)
                if self.early and self.is_interrupted() and callable(self.handler):
                    self.handler(SIGINT, None)
                last = self.run(code, name, count)
            except BaseException as raised:
                error = raised
            # What it drew before it failed is its own, not the next cell's. One that is to end, ends.
            if "matplotlib.pyplot" in sys.modules and (error is None or isinstance(error, Exception)):
                try:
                    self.load("session_show")["figures"](self.output)
                except BaseException as raised:
                    error = error or raised
            self.flush()
            self.handler = _signal.signal(SIGINT, self.idle) or self.handler
        except KeyboardInterrupt as raised:  # it came late
            error = error or raised
            self.handler = _signal.signal(SIGINT, self.idle) or self.handler
        if isinstance(error, SystemExit):
            raise error
        self.space.pop("__warningregistry__", None)  # the same line of another cell may warn again
        if self.forked:
            if error:
                self.load("session_error")["report"](error)
            posix._exit(1 if error else 0)
        if error is None:
            self.send(*last, (b"done", GOOD))
        else:
            body, exit = self.load("session_error")["report"](error)
            self.flush()
            self.send((b"error", body), (b"done", b'{"ok":false,"exit":%d}' % exit))

    def run(self, code, name, count):
        """Runs a cell; the message that shows its value, if it has one."""
        if self.shell is None and self.how == "auto" and ("IPython" in code or "get_ipython" in code):
            self.upgrade()
        if self.shell:
            return self.shell.cell(code, count)
        if ".show(" in code:
            self.load("session_show")["quiet_show"]()
        try:
            first, last = self.compiled(code, name)
        except SyntaxError as error:
            if not any([mark in code for mark in MAGIC]):
                raise
            if self.how == "auto":
                self.upgrade()
                return self.shell.cell(code, count)
            code = self.load("session_magic")["plain"](self, code, name, error)
            first, last = self.compiled(code, name)
        if first:
            self.evaluate(first)
        value = self.evaluate(last) if last else None
        if value is None:
            return ()
        builtins.___, builtins.__, builtins._ = builtins.__, builtins._, value
        self.history[count] = value
        if len(self.history) > HISTORY_MAX:
            del self.history[next(iter(self.history))]
        kind = type(value)
        if kind in PLAIN or kind is str and len(value) < BRIEF:
            body = ('{"text/plain":' + quote(repr(value)) + "}").encode("utf-8", "replace")
        else:
            body = self.load("session_show")["bundle"](value)
        return ((b"output", body),) if body and self.allows(len(body)) else ()

    def compiled(self, code, name):
        """Code of the statements, and of the last of them if it is an expression; each may be None."""
        flags = self.futures | AWAIT
        if "\n" not in code and "=" not in code and ";" not in code:
            try:
                return None, compile(code, name, "eval", flags, True)
            except SyntaxError:
                pass
        tree = compile(code, name, "exec", flags | ONLY_AST, True)
        first = last = None
        if tree.body and type(tree.body[-1]) is _ast.Expr and not quiet(code, tree.body[-1]):
            node = _ast.Expression(tree.body.pop().value)
            last = compile(node, name, "eval", flags, True)
        if tree.body:
            first = compile(tree, name, "exec", flags, True)
            self.futures |= first.co_flags & FUTURES
        return first, last

    def evaluate(self, code):
        if code.co_flags & COROUTINE:
            return self.awaited(eval(code, self.space))
        return eval(code, self.space)

    def awaited(self, coroutine):
        """Runs a coroutine in a loop that lives as long as the session."""
        import asyncio

        if self.runner is None:
            self.runner = asyncio.Runner() if hasattr(asyncio, "Runner") else asyncio.new_event_loop()
        if hasattr(self.runner, "run"):
            return self.runner.run(coroutine)
        task = self.runner.create_task(coroutine)
        try:
            return self.runner.run_until_complete(task)
        except KeyboardInterrupt:
            task.cancel()
            try:
                self.runner.run_until_complete(task)
            except asyncio.CancelledError:
                pass
            raise

    def remember(self, name, code):
        """Keeps a cell's text for tracebacks, warnings and inspect.getsource()."""
        self.inputs.append(code)
        lines = code.splitlines(True)
        if lines and lines[-1][-1] != "\n":
            lines[-1] += "\n"  # tracebacks count on it
        linecache.cache[name] = (len(code), None, lines, name)
        self.sources[name] = len(code)
        self.held += len(code) + BRIEF
        while self.held > SOURCES_MAX:
            oldest = next(iter(self.sources))
            linecache.cache.pop(oldest, None)
            self.held -= self.sources.pop(oldest) + BRIEF
            self.inputs[len(self.inputs) - len(self.sources) - 1] = ""

    def allows(self, size):
        """Whether a rich result of this size fits into what the keeper takes of a cell."""
        before, self.spent = self.spent, self.spent + size
        if self.spent <= CELL_MAX:
            return True
        if before <= CELL_MAX and self.secret:
            text = "[this and further rich results of the cell are left out: more than 15 MiB]"
            self.send((b"output", b'{"text/plain":"%s"}' % text.encode()))
            self.spent = CELL_MAX + 1
        return False

    def output(self, body, text):
        """Sends a rich result at once; where there is nobody to send it to, its text is printed."""
        if self.secret is None:
            print(text, flush=True)
        elif self.allows(len(body)):
            self.flush()
            self.send((b"output", body))

    def flush(self):
        """What cells wrote has to be in the pipes before the answer."""
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except Exception:
                pass  # a cell closed it, or put something else in its place

    # Standard input

    def give(self, kind, data):
        """Makes descriptor 0, and sys.stdin, what this cell is to read."""
        if kind == "pipe":
            posix.dup2(self.pipe, 0)
        else:
            if kind == "none":
                fd = posix.open("/dev/null", posix.O_RDONLY)
            else:
                fd = self.load("session_input")["file_of"](data)
            if fd != 0:
                posix.dup2(fd, 0)
                posix.close(fd)
        ours = sys.stdin is self.made.get(self.input)
        self.input = kind
        if kind != "pipe" or kind not in self.made:
            self.made[kind] = open(0, encoding="utf-8", errors="surrogateescape", closefd=False)
        if ours:  # unless a cell put something else there
            sys.stdin = sys.__stdin__ = self.made[kind]

    # What is not there at once

    def finds_ipython(self):
        for place in sys.path[1:]:
            try:
                posix.stat(place + "/IPython/core/interactiveshell.py")
                return True
            except OSError:
                pass
        return False

    def upgrade(self):
        """From here on cells are IPython's."""
        self.shell = self.load("session_ipython")["start"](self)

    def assist(self, word, code, before):
        """complete and inspect; an interrupt ends them without an answer."""
        try:
            _signal.signal(SIGINT, _signal.default_int_handler)
            body = self.load("session_assist")[word](self, code, before)
            _signal.signal(SIGINT, self.idle)
        except BaseException:
            _signal.signal(SIGINT, self.idle)
            end = len(before)
            nothing = b'{"matches":[],"start":%d,"end":%d}' % (end, end)
            body = nothing if word == "complete" else b'{"found":false,"text/plain":""}'
        self.flush()
        self.send((b"reply", body))


def quiet(code, node):
    """Whether a semicolon follows the expression: then its value is not shown, as in IPython."""
    line = code.split("\n")[node.end_lineno - 1].encode("utf-8", "replace")
    return line[node.end_col_offset :].lstrip()[:1] == b";"
