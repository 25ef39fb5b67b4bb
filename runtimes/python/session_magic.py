"""Lines that are no Python, where there is no IPython: !command, name = !command, %timeit, %time, %cd, %pwd, name?"""

import builtins
import posix
import re
import sys

HINT = "; IPython has more of them: sudo apt-get install python3-ipython"
LINE = re.compile(r"(?P<indent>\s*)(?:(?P<name>[\w., ]+?)\s*=\s*)?(?P<mark>[!%])(?P<text>.*)", re.DOTALL)
ASKED = re.compile(r"\s*(?:\?{1,2}\s*(?P<before>[\w.]+)|(?P<after>[\w.]+)\s*\?{1,2})\s*$")
FILLED = re.compile(r"\{\{|\}\}|\{([^{}]+)\}|\$\$|\$(\w+)")
HELPER = "__emberbox_line__"  # in builtins while there are such lines


def plain(driver, code, name, error):
    """The cell as Python. The parser says which line it cannot take; it is one of ours, or the error stands."""
    setattr(builtins, HELPER, lambda mark, text: run(driver, mark, text))
    if code.startswith("%%"):
        return cell_magic(code, error)
    lines = code.split("\n")
    for _ in range(len(lines) + 1):
        at = (error.lineno or 0) - 1
        changed = changed_line(lines[at]) if 0 <= at < len(lines) else None
        if changed is None:
            raise error
        lines[at] = changed
        code = "\n".join(lines)
        try:
            driver.compiled(code, name)
            return code
        except SyntaxError as other:
            error = other
    raise error


def cell_magic(code, error):
    head, _, rest = code.partition("\n")
    words = head[2:].split(None, 1)
    if words[:1] not in (["timeit"], ["time"], ["bash"], ["sh"]):
        raise error
    mark = "!" if words[0] in ("bash", "sh") else "%"
    return f"{HELPER}({mark!r}, {rest if mark == '!' else words[0] + ' ' + rest!r})"


def changed_line(line):
    if found := ASKED.fullmatch(line):
        return f"{HELPER}('?', {found['before'] or found['after']!r})"
    found = LINE.fullmatch(line)
    if not found:
        return None
    mark = found["mark"]
    call = f"{HELPER}({'=' + mark if found['name'] else mark!r}, {found['text'].strip()!r})"
    return found["indent"] + (f"{found['name']} = " if found["name"] else "") + call


def filled(driver, text):
    """With {expression} and $name of the session's own."""

    def value(match):
        expression = match[1] or match[2]
        if expression is None:
            return match[0][0]
        try:
            return str(eval(expression, driver.space))
        except Exception:
            return match[0]

    return FILLED.sub(value, text)


def run(driver, mark, text):
    """What a line does; its value."""
    if mark == "!":
        driver.space["_exit_code"] = command(filled(driver, text))
        return None
    if mark == "=!":
        import subprocess

        return subprocess.run(filled(driver, text), shell=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    if mark == "?":
        body = driver.load("session_assist")["described"](driver, text)
        print(body or f"Object `{text}` not found.")
        return None
    name, _, rest = text.partition(" ")
    function = MAGICS.get(name)
    if not function:
        raise NameError(f"the magic function %{name} is not known{HINT}")
    return function(driver, rest.strip())


def command(text):
    """Runs a command of the shell's, with the cell's own streams; its exit code."""
    import subprocess

    driver_flush()
    return subprocess.run(text, shell=True).returncode


def driver_flush():
    sys.stdout.flush()
    sys.stderr.flush()


def timed(driver, text):
    import time

    began, cpu = time.perf_counter(), time.process_time()
    first, last = driver.compiled(text, "<time>")
    if first:
        driver.evaluate(first)
    value = driver.evaluate(last) if last else None
    print(f"CPU time: {short(time.process_time() - cpu)}, wall time: {short(time.perf_counter() - began)}")
    return value


def timeit(driver, text):
    import timeit as library

    timer = library.Timer(text, globals=driver.space)
    number, _ = timer.autorange()
    runs = [each / number for each in timer.repeat(7, number)]
    mean = sum(runs) / len(runs)
    spread = (sum([(each - mean) ** 2 for each in runs]) / len(runs)) ** 0.5
    print(f"{short(mean)} ± {short(spread)} per loop (mean ± std. dev. of 7 runs, {number:,} loops each)")


def short(seconds):
    for factor, unit in ((1, "s"), (1e3, "ms"), (1e6, "µs")):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def change(driver, text):
    import os

    posix.chdir(os.path.expanduser(filled(driver, text) or "~"))
    print(posix.getcwd())


MAGICS = {
    "time": timed,
    "timeit": timeit,
    "cd": change,
    "pwd": lambda driver, text: posix.getcwd(),
    "matplotlib": lambda driver, text: None,  # figures are shown anyway
}
