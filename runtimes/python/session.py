"""Keeps a Python session: session.py [builtin|ipython]. docs/sessions.md has what a session does.

This file is __main__, and so is what cells see; it leaves nothing there. The driver itself is session_cells.py, and what
it loads when it is first needed: each runs in a dictionary of its own, with built-in functions of its own, and so goes on
when a cell takes those of its own apart. Nothing of it is in sys.modules.
"""

import sys


def loader(folder, builtins, codes):
    """A function that gives the dictionary of a file of the driver's; `codes` has what a zygote compiled ahead."""
    loaded = {}

    def load(name):
        if name not in loaded:
            path = f"{folder}/{name}.py"
            code = codes.get(path)
            if code is None:
                with open(path, "rb") as file:
                    code = compile(file.read(), path, "exec", dont_inherit=True)
            space = {"__name__": name, "__file__": path, "__builtins__": builtins, "load": load}
            exec(code, space)
            loaded[name] = space
        return loaded[name]

    return load


def start(space):
    builtins = dict(vars(sys.modules["builtins"]))
    # This function's dictionary is about to be the cells'.
    own = type(loader)(loader.__code__, {"__builtins__": builtins})
    load = own(sys.path[0], builtins, vars(sys).pop("_session_codes", {}))
    how = sys.argv[1] if len(sys.argv) > 1 else "auto"
    return load("session_cells")["Driver"](space, load, how)


# The only frame of this file that is left while cells run holds nothing.
start(globals()).serve()
