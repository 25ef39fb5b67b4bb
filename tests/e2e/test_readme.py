#!/usr/bin/python3
# tests/run: args=--as user
# tests/run: nightly=--as root
# tests/run: timeout=180
"""Every example of README.md and of the pages in docs/ is true.

Blocks marked `console` are run in order, all of one page in one directory, each block in a shell of its own; only
docs/http.md has one shell for all. `$ ` begins a command, `> ` continues it, other lines are what it prints on standard
output and standard error together. `…` stands for anything. A service that an example starts listens where no other
does. Examples that name the address of the service have one, at an address of its own that stands in for it. The registry
is that of docs/containers.md, for the pages that need one. Those of docs/network.md run in a network of the test's own. The C example is compiled and run with the shared library, the
Python example with a service.
"""

import contextlib
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit
from service import Service
from world import world

MARK = "<<<command>>>"

ADDRESS = "127.0.0.1:7320"


def document(*path):
    with open(os.path.join(kit.REPO, *path), encoding="utf-8") as file:
        return file.read()


README, HTTP = document("README.md"), document("docs", "http.md")

# Pages with examples, and whether they have the registry of docs/containers.md. docs/http.md is apart.
PAGES = {
    "README.md": False,
    "docs/cli.md": False,
    "docs/containers.md": True,
    "docs/errors.md": False,
    "docs/languages.md": False,
    "docs/network.md": False,
    "docs/policy.md": False,
    "docs/result.md": False,
    "docs/sessions.md": False,
}


def blocks(kind, text):
    """(line number, text) of each block of that kind."""
    for match in re.finditer(rf"^```{kind}\n(.*?)^```$", text, re.M | re.S):
        yield text[: match.start()].count("\n") + 2, match.group(1)


def examples(text):
    """[command, expected output] of a console block."""
    found = []
    for line in text.splitlines():
        if line.startswith("$ "):
            found.append([line[2:], ""])
        elif line.startswith("> ") and found and not found[-1][1]:
            found[-1][0] += "\n" + line[2:]
        else:
            found[-1][1] += line + "\n"
    return found


def pattern(expected):
    return "".join(r"[\s\S]*?" if part == "…" else re.escape(part) for part in re.split("(…)", expected)) + r"\Z"


def registry():
    found = list(blocks("yaml", document("docs", "containers.md")))
    kit.equal(len(found), 1, "docs/containers.md: one registry")
    return found[0][1]


def service(with_registry):
    home = kit.tmp()
    if with_registry:
        kit.write(os.path.join(home, "registry.yaml"), registry())
    return Service(home=home, listen=True)


def run_block(number, text, directory, running=None, name="README.md"):
    if running:
        text = text.replace(ADDRESS, "{}:{}".format(*running.address))
    found = examples(text)
    script = "eb_status=0\n"
    for command, _ in found:
        script += f"eb_status=$?; echo '{MARK}'; (exit $eb_status)\n{command}\n"
    path = f"{os.path.dirname(kit.built())}:{kit.PATH}"
    env = {"PATH": path, "EMBERBOX_SERVICE": "auto", "EMBERBOX_LISTEN": "none", "EMBERBOX_HOME": directory}
    if running:
        env["EMBERBOX_HOME"] = running.home
    # It ends when the last process that has its output does: also a service.
    r = kit.command(["/bin/bash", "-c", f"exec 2>&1\n{script}"], cwd=directory, env=env, timeout=60)
    outputs = r.text.split(f"{MARK}\n")[1:]
    kit.equal(len(outputs), len(found), f"{name}:{number}: commands that ran; {r!r}")
    for (command, expected), output in zip(found, outputs):
        if not re.match(pattern(expected), output):
            kit.fail(f"{name}:{number}: `{command}` printed {output!r}, not {expected!r}")


def network():
    """What the examples of docs/network.md reach: while it lasts, processes are started there."""
    for place in ("example.com", "example.org"):
        world().http(place)
    world().serve("http", world().http("api.example.com"), 8080)
    world().serve("http", world().address("93.184.216.34"), 5432)
    world().name("inside.example.com", world().serve("http", world().address("10.1.2.3"), 8080))
    world().serve("http", "127.0.0.1", 8090, on_machine=True)
    return world().inside()


def run_page(name):
    directory = kit.tmp()
    found = list(blocks("console", document(*name.split("/"))))
    kit.true(found, f"{name} has no console blocks")
    if PAGES[name]:
        kit.write(os.path.join(directory, "registry.yaml"), registry())
    running = service(PAGES[name]) if any(ADDRESS in text for _, text in found) else None
    with network() if name == "docs/network.md" else contextlib.nullcontext():
        for number, text in found:
            run_block(number, text, directory, running if ADDRESS in text else None, name)


for page in PAGES:
    kit.test(lambda page=page: run_page(page), name=f"examples_of_{page.removeprefix('docs/').removesuffix('.md').lower()}", timeout=90)


@kit.test(timeout=60)
def http_examples():
    found = list(blocks("console", HTTP))
    kit.true(len(found) >= 5, f"only {len(found)} console blocks")
    run_block(found[0][0], "".join(text for _, text in found), kit.tmp(), service(True), "docs/http.md")


def pages():
    """(name, text) of each page of the project that people read."""
    names = [name for name in os.listdir(kit.REPO) if name.endswith(".md")]
    for directory, _, files in os.walk(os.path.join(kit.REPO, "docs")):
        names += [os.path.relpath(os.path.join(directory, file), kit.REPO) for file in files if file.endswith(".md")]
    return [(name, document(*name.split("/"))) for name in sorted(names)]


@kit.test
def every_page_with_examples_is_run():
    found = [name for name, text in pages() if list(blocks("console", text))]
    kit.equal(sorted(found), sorted([*PAGES, "docs/http.md"]))


@kit.test
def the_readme_can_be_read_in_one_sitting():
    kit.true(len(README.splitlines()) <= 200, f"README.md has {len(README.splitlines())} lines; at most 200: move it to docs/")


def anchors(text):
    """The names by which a page's headings are linked to."""
    text = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)
    return [re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in re.findall(r"^#+ (.*)$", text, re.M)]


@kit.test
def links_lead_somewhere():
    checked, broken = 0, []
    for name, text in pages():
        text = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)
        for target in re.findall(r"\]\(([^)\s]+)\)", text):
            if re.match(r"[a-z]+:", target):
                continue
            path, _, anchor = target.partition("#")
            path = os.path.normpath(os.path.join(os.path.dirname(name), path)) if path else name
            whole = os.path.join(kit.REPO, path)
            checked += 1
            if not os.path.exists(whole):
                broken.append(f"{name}: {target}: no such file")
            elif anchor and path.endswith(".md") and anchor not in anchors(document(*path.split("/"))):
                broken.append(f"{name}: {target}: no such heading")
    kit.true(checked > 50, f"only {checked} links")
    kit.equal(broken, [])


@kit.test
def a_false_example_would_be_noticed():
    directory = kit.tmp()
    run_block(0, "$ echo a\na\n$ false\n$ echo $?\n1\n$ echo 12 b\n… b\n", directory)
    for text in ("$ echo -n a\na\n", "$ echo a\nb\n", "$ echo a\n", "$ true\na\n", "$ false\n$ echo $?\n0\n", "$ echo a b\n… c\n"):
        try:
            run_block(0, text, directory)
        except kit.Failed:
            continue
        kit.fail(f"{text!r} was taken for true")


@kit.test
def no_example_escapes_the_test():
    """Blocks of other kinds in the README hold only what cannot be run here: building and installing."""
    for number, text in blocks("sh", README):
        for line in text.splitlines():
            kit.matches(line, r"^(make|git clone|cd|sudo|#)( |$)", f"README.md:{number}")
    kit.equal(re.findall(r"^```(?!console$|sh$|json$|$)(.*)$", README, re.M), [], "kinds of blocks nobody checks")


@kit.test(modes=("root",))
def c_example_runs():
    found = list(blocks("c", document("docs", "library.md")))
    kit.equal(len(found), 1)
    directory = kit.tmp()
    source = kit.write(os.path.join(directory, "example.c"), found[0][1])
    argv = ["cc", "-Wall", "-Wextra", "-Werror", "-I", os.path.join(kit.REPO, "include"), source]
    found = [os.path.join(kit.BUILD, part, "libemberbox.so") for part in ("", "src")]
    library = next((path for path in found if os.path.exists(path)), None)
    kit.true(library, "libemberbox.so is not built")
    where = os.path.dirname(library)
    r = kit.command([*argv, "-o", os.path.join(directory, "example"), library, f"-Wl,-rpath,{where}"])
    kit.equal((r.code, r.errtext), (0, ""))
    r = kit.command([os.path.join(directory, "example")])
    kit.equal((r.code, r.text, r.errtext), (0, "42\n", ""))


@kit.test
def python_example_runs():
    found = list(blocks("python", document("docs", "service.md")))
    kit.equal(len(found), 1)
    running = Service()
    argv = ["/usr/bin/python3", kit.write(os.path.join(kit.tmp(), "example.py"), found[0][1])]
    r = kit.command(argv, env={"EMBERBOX_SOCKET": running.path})
    kit.equal((r.code, r.text, r.errtext), (0, "42\n", ""))
    # Without the variable it looks where a service listens that was told no place.
    home = kit.tmp()
    os.makedirs(os.path.join(home, ".local", "state"))
    os.symlink(running.home, os.path.join(home, ".local", "state", "emberbox"))
    r = kit.command(argv, env={"EMBERBOX_SOCKET": "", "HOME": home})
    kit.equal((r.code, r.text, r.errtext), (0, "42\n", ""))


kit.main()
