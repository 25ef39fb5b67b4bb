"""Runs in boxes that were made ahead: what --warm of a test program means.

A service of the program's own is started with the first run and ends with the program.  Runs lose
their --cold and are sent there.  The first of a language, or with another set of layers given up,
makes the service start what boxes of it are made from; so a trivial one is repeated until it was
warm.  After that every result has to say how its box came to be: warm, or, for what only a box of
its own can do (COLD), cold.
"""

import json
import os
import shutil
import subprocess
import time
import uuid

import kit
import service

# --project and --output never reach the service.
COLD = ("--project", "--output")
TRIVIAL = {"bash": ":", "c": "int main(void) { return 0; }", "javascript": "0", "lua": "", "perl": "1", "python": "pass", "ruby": "0", "sh": ":", "zsh": ":"}
SECRET = uuid.uuid4().hex  # in the service's environment: no box may find it

_service = None
_ready = set()  # (language, layers given up) that were warm


def _words(argv):
    """The options of a run and their values, up to the program's own; None if this is no run."""
    argv = [os.fspath(word) for word in argv]
    if kit.built() not in argv or argv[argv.index(kit.built()) + 1 :][:1] != ["run"]:
        return None
    words = argv[argv.index(kit.built()) + 2 :]
    return words[: words.index("--")] if "--" in words else words


def _values(words, *options):
    return [value for option, value in zip(words, words[1:]) if option in options]


def _is_cold(words):
    # Root can make the disk of a waiting box smaller; that of an ordinary user is another box. None of the tests has a larger one.
    return any(option in words for option in COLD) or ("--disk" in words and kit.mode != "root")


def start():
    """The service; started if there is none."""
    global _service
    if _service is None:
        _service = service.Service("--embers", "4", "--max-running", "12", env={"CANARY_SECRET": SECRET})
        # Not the running test's: it stays.
        kit._started.remove(_service.process)
        kit._dirs.remove(_service.home)
    return _service


def end():
    global _service
    if _service is not None:
        _service.process.terminate()
        try:
            _service.process.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            kit.kill(_service.process)
        shutil.rmtree(_service.home, ignore_errors=True)
    _service = None
    _ready.clear()


def environment():
    return {"EMBERBOX_SERVICE": "auto", "EMBERBOX_SOCKET": start().path}


def prepare(language, weaker=()):
    """Repeats a trivial run until its box was made ahead."""
    key = language, tuple(sorted(weaker))
    if key in _ready or language not in TRIVIAL:
        return
    options = [word for layer in weaker for word in ("--allow-weaker", layer)]
    argv = [kit.built(), "run", "-l", language, "--json", *options, "-c", TRIVIAL[language]]
    until = time.monotonic() + 20
    while True:
        process = kit.start(argv, env=environment(), cold=True)
        result = kit.finish(process)
        if json.loads(result.out)["meta"]["start"] == "warm":
            break
        kit.true(time.monotonic() < until, f"no run of {language} is warm: {result!r}")
        # Every one that is not warm yet is a filter.
        time.sleep(0.2)
    _ready.add(key)


def redirect(argv, env):
    """A command and its environment as they are when boxes are warm."""
    words = _words(argv)
    if words is None:
        return argv, env
    for language in _values(words, "-l"):
        prepare(language, _values(words, "--allow-weaker"))
    return [word for word in argv if word != "--cold"], {**(env or {}), **environment()}


def check(argv, found):
    words = _words(argv)
    if words is None or "--cold" in words or "start" not in (found.get("meta") or {}) or found["status"] == "error":
        return
    kit.equal(found["meta"]["start"], "cold" if _is_cold(words) else "warm", "the box")
