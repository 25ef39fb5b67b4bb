"""Cells run by IPython's InteractiveShell: magics, its history, its formatters. Loaded when a cell first needs it."""

import builtins
import sys
import warnings

from IPython.core.compilerop import CachingCompiler
from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import DisplayPublisher
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

show = load("session_show")  # noqa: F821  # of session.py


class Compiler(CachingCompiler):
    """Cells are called as the built-in driver calls them."""

    def get_code_name(self, raw_code, transformed_code, number):
        return f"<cell {number}>"


class Hook(DisplayHook):
    """The value of a cell goes to the channel instead of standard output."""

    def write_output_prompt(self):
        pass

    def write_format_data(self, format_dict, md_dict=None):
        value, found = self.exec_result.result, dict(format_dict)
        text = found.pop("text/plain", "")
        if type(value) not in show["BRACKETS"]:
            for mime, data in show["parts_of"](value).items():
                found.setdefault(mime, data)
        self.shell.last = show["encoded"](found, show["cut"](text))

    def finish_displayhook(self):
        pass


class Publisher(DisplayPublisher):
    """display() of IPython."""

    def publish(self, data, metadata=None, source=None, *, transient=None, update=False, **kwargs):
        found = dict(data)
        text = found.pop("text/plain", "")
        text = show["cut"](text if isinstance(text, str) else str(text))
        self.shell.driver.output(show["encoded"](found, text), text)

    def clear_output(self, wait=False):
        pass


class Shell(InteractiveShell):
    """One shell on the session's own __main__."""

    driver = None
    last = None  # payload of the value of the cell that runs
    told = None  # the error that IPython would have shown
    compiler_class = Compiler
    system = InteractiveShell.system_raw  # no terminal between a command and the cell's streams

    def ask_exit(self):
        raise SystemExit(0)

    def enable_gui(self, gui=None):
        pass

    def showtraceback(self, exc_tuple=None, *args, **kwargs):
        """The driver prints it; what a formatter could not do is an error of the cell, too."""
        self.told = exc_tuple[1] if exc_tuple else sys.exc_info()[1]

    def excepthook(self, kind, error, trace):
        """In place of Python's while a cell runs, and after one that was left in the middle of an await."""
        sys.__excepthook__(kind, error, trace)

    def showsyntaxerror(self, *args, **kwargs):
        """The driver prints it."""

    def cell(self, code, count):
        """Runs a cell; the message that shows its value, if it has one."""
        self.last, self.told, self.execution_count = None, None, count
        if ".show(" in code:
            show["quiet_show"]()
        try:
            done = self.run_cell(code, store_history=True)
        finally:
            if getattr(sys.excepthook, "__self__", None) is self:  # an interrupt came before it was put back
                sys.excepthook = sys.__excepthook__
        if done.error_before_exec is not None:  # it could not be read: no frame is the cell's
            raise done.error_before_exec.with_traceback(None)
        error = done.error_in_exec or self.told
        if error is not None:
            raise error
        allowed = self.last is not None and self.driver.allows(len(self.last))
        return ((b"output", self.last),) if allowed else ()


def start(driver):
    """The shell, with what the session has so far."""
    config = Config()
    config.HistoryManager.enabled = False  # no file, no thread
    config.InteractiveShell.colors = "NoColor"
    config.InteractiveShell.cache_size = 1000
    config.InteractiveShell.separate_in = ""
    config.InteractiveShell.display_page = True
    config.Completer.use_jedi = False
    kept = sys.stdin, sys.excepthook, sys.displayhook, sys.path[:], dict(vars(builtins))
    shell = Shell.instance(
        config=config,
        user_module=sys.modules["__main__"],
        user_ns=driver.space,
        displayhook_class=Hook,
        display_pub_class=Publisher,
        ipython_dir="/tmp/.ipython",
    )
    shell.driver = driver
    shell.page = print
    sys.excepthook, sys.path[:] = kept[1], kept[3]
    for name in ("_", "__", "___"):
        driver.space[name] = getattr(builtins, name, "")
    shell.user_ns["Out"].update(driver.history)
    for name in ("Out", "In", "_", "__", "___"):
        vars(builtins).pop(name, None)  # they are in __main__ now, as IPython has it
    warnings.filterwarnings("ignore", message="To exit: use")
    return shell
