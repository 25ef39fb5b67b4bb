#!/usr/bin/python3
# tests/run: args=--as root | --as user
# tests/run: builds=release asan
# tests/run: asan=--as root
# tests/run: timeout=120
"""Files into the box and out of it: --file, --project, --output."""

import hashlib
import os
import stat
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit

MIB = 1 << 20


def run(code, *args, language="python", **options):
    return kit.emberbox("run", "-l", language, "-c", code, *args, **options)


def good(r, text=None):
    kit.equal((r.code, r.errtext), (0, ""))
    if text is not None:
        kit.equal(r.text, text)


def refused(r, *words):
    """Bad usage: nothing ran, and the sentence names what is wrong."""
    kit.equal((r.code, r.text), (2, ""), r.errtext)
    for word in words:
        kit.contains(r.errtext, word)


def tree(directory):
    """{path: (mode, content or link target)} of all below a directory."""
    found = {}
    for base, directories, files in os.walk(directory):
        for name in directories + files:
            path = os.path.join(base, name)
            status = os.lstat(path)
            content = None
            if stat.S_ISLNK(status.st_mode):
                content = os.readlink(path)
            elif stat.S_ISREG(status.st_mode):
                with open(path, "rb") as file:
                    content = hashlib.sha256(file.read()).hexdigest()
            found[os.path.relpath(path, directory)] = (status.st_mode, content)
    return found


# Files in


@kit.test
def file_beside_the_code():
    path = kit.write(f"{kit.tmp()}/words.txt", "one\ntwo\n")
    good(run("print(open('words.txt').read(), end='')", "--file", path), "one\ntwo\n")


@kit.test
def file_at_a_place():
    path = kit.write(f"{kit.tmp()}/a", "content")
    for box, place in (
        ("/sandbox/data/b", "/sandbox/data/b"),
        ("/tmp/deep/er/b", "/tmp/deep/er/b"),
        ("sub/b.txt", "/sandbox/code/sub/b.txt"),
    ):
        good(run(f"cat {place}", "--file", f"{path}:{box}", language="bash"), "content")


@kit.test
def files_of_any_bytes():
    data = bytes(range(256)) * 5000
    path = kit.write(f"{kit.tmp()}/b", data)
    want = hashlib.sha256(data).hexdigest()
    code = "import hashlib; print(hashlib.sha256(open('b', 'rb').read()).hexdigest())"
    good(run(code, "--file", path), want + "\n")


@kit.test
def several_files_and_an_empty_one():
    directory = kit.tmp()
    args = []
    for i in range(5):
        args += ["--file", kit.write(f"{directory}/f{i}", "x" * i)]
    good(run("wc -c < f0; wc -c < f4", *args, language="bash"), "0\n4\n")


@kit.test
def a_file_is_a_copy():
    path = kit.write(f"{kit.tmp()}/a", "host")
    good(run("echo box > a; cat a", "--file", path, language="bash"), "box\n")
    with open(path, encoding="utf-8") as file:
        kit.equal(file.read(), "host")


@kit.test
def a_file_that_only_its_owner_reads():
    path = kit.write(f"{kit.tmp()}/secret", "mine", 0o600)
    good(run("cat secret", "--file", path, language="bash"), "mine")


@kit.test
def files_that_cannot_be_given():
    directory = kit.tmp()
    path = kit.write(f"{directory}/a", "x")
    os.mkfifo(f"{directory}/fifo")
    r = run("1", "--file", f"{directory}/absent")
    refused(r, "file", "absent", "No such file")
    refused(run("1", "--file", directory), "file", directory)
    refused(run("1", "--file", f"{directory}/fifo"), "file", "fifo")
    refused(run("1", "--file", "/dev/zero"), "file", "/dev/zero")
    for box in ("../x", "/etc/passwd", "/sandbox/x", "/sandbox/data/../../etc/x", "a//b", ".", "", "/", "/sandbox/code2/x", "x" * 300):
        r = run("1", "--file", f"{path}:{box}")
        refused(r, "file")
    refused(run("1", "--file", f"{path}:main.py"), "file", "main.py")
    refused(run("1", "--file", f"{path}:x", "--file", f"{path}:x"), "file", "x")
    refused(run("1", "--file", f"{path}:x", "--file", f"{path}:x/y"), "file", "x/y")


@kit.test(modes=("user",))
def a_file_that_the_caller_may_not_read():
    directory = kit.tmp("root")
    path = f"{directory}/roots"
    with open(path, "w", encoding="utf-8") as file:
        file.write("secret")
    os.chmod(path, 0o600)
    refused(run("cat roots", "--file", path, language="bash"), "file", "Permission denied")


@kit.test
def a_file_larger_than_the_disk():
    path = kit.write(f"{kit.tmp()}/big", bytes(4 * MIB))
    r = run("print('ran')", "--file", path, "--disk", "1m")
    kit.true(r.code in (2, 125) and r.text == "", repr(r))
    kit.matches(r.errtext, r"big|disk")
    good(run("print('ran')", "--file", path, "--disk", "8m"), "ran\n")


# Projects


def project():
    """A directory with a module for each language, nested ones, and odd things beside."""
    directory = f"{kit.tmp()}/project"
    kit.write(f"{directory}/helper.py", "def answer(): return 42\n")
    kit.write(f"{directory}/package/__init__.py", "name = 'package'\n")
    kit.write(f"{directory}/helper.js", "module.exports = () => 42\n")
    kit.write(f"{directory}/helper.sh", "answer() { echo 42; }\n")
    kit.write(f"{directory}/data/table.csv", "a,b\n1,2\n")
    os.symlink("/etc/passwd", f"{directory}/link")
    for base, directories, _ in os.walk(directory):
        for path in [base] + [os.path.join(base, name) for name in directories]:
            kit._chown(path, kit.mode)
    return directory


@kit.test
def project_modules_can_be_imported():
    directory = project()
    code = "import helper, package; print(helper.answer(), package.name, open('data/table.csv').readline().strip())"
    good(run(code, "--project", directory), "42 package a,b\n")
    good(run("console.log(require('./helper')())", "--project", directory, language="js"), "42\n")
    good(run(". ./helper.sh; answer", "--project", directory, language="bash"), "42\n")


@kit.test
def a_project_never_changes_on_the_host():
    directory = project()
    before = tree(directory)
    code = """
import helper, os, shutil
tried = 0
for action in (
    lambda: open('helper.py', 'w').write('changed'),
    lambda: open('new.py', 'w').write('new'),
    lambda: os.remove('helper.js'),
    lambda: os.rename('helper.sh', 'other.sh'),
    lambda: os.chmod('helper.sh', 0o777),
    lambda: shutil.rmtree('data'),
    lambda: os.utime('helper.py', (0, 0)),
):
    try:
        action()
    except OSError:
        pass
    tried += 1
print(tried)
"""
    good(run(code, "--project", directory), "7\n")
    kit.equal(tree(directory), before)


@kit.test
def a_file_of_the_project_can_be_run():
    directory = project()
    path = kit.write(f"{directory}/start.py", "import helper; print(helper.answer())")
    r = kit.emberbox("run", path, "--project", directory)
    good(r, "42\n")


@kit.test
def a_file_of_the_project_runs_in_its_place():
    directory = project()
    path = kit.write(f"{directory}/tools/start.py", "import near; print(__file__, near.word)\nprint(open('helper.py').readline())")
    kit.write(f"{directory}/tools/near.py", "word = 'near'\n")
    want = "/sandbox/code/tools/start.py near\ndef answer(): return 42\n\n"
    good(kit.emberbox("run", path, "--project", directory), want)
    good(kit.emberbox("run", "tools/start.py", "--project", ".", cwd=directory), want)
    good(kit.emberbox("run", "start.py", "--project", "..", cwd=f"{directory}/tools"), want)
    path = kit.write(f"{directory}/app.js", "console.log(__filename, require('./helper')())")
    good(kit.emberbox("run", path, "--project", directory), "/sandbox/code/app.js 42\n")
    path = kit.write(f"{directory}/again.py", "if __name__ == '__main__':\n    import again\n    print(again.__file__)")
    good(kit.emberbox("run", path, "--project", directory), "/sandbox/code/again.py\n")
    kit.equal(kit.emberbox("run", path, "--project", directory, "--json").json["files"], [])


@kit.test
def a_file_beside_the_project_does_not():
    directory = project()
    path = kit.write(f"{directory}-other/start.py", "import helper; print(__file__, helper.answer())")
    good(kit.emberbox("run", path, "--project", directory), "/sandbox/code/start.py 42\n")


@kit.test
def a_link_in_a_project_shows_no_host_file():
    directory = project()
    mark = "mark-of-the-host"
    outside = kit.write(f"{kit.tmp()}/outside", mark)
    os.symlink(outside, f"{directory}/escape")
    r = run("cat escape || echo absent; cat helper.sh", "--project", directory, language="bash")
    kit.true(mark not in r.text, "the link was followed on the host")
    kit.contains(r.text, "absent")
    kit.contains(r.text, "answer")


@kit.test
def a_file_below_the_project_is_in_the_project():
    """A project of a stranger's may have links: FILE below it is not a way to what its caller can read elsewhere."""
    directory, elsewhere = project(), kit.tmp()
    kit.write(f"{elsewhere}/secret.sh", "echo secret\n")
    os.symlink(f"{elsewhere}/secret.sh", f"{directory}/sh.sh")
    os.symlink(os.path.relpath(f"{elsewhere}/secret.sh", directory), f"{directory}/relative.sh")
    os.symlink(elsewhere, f"{directory}/out")
    os.symlink("helper.sh", f"{directory}/inside.sh")
    for file in ("sh.sh", "./sh.sh", f"{directory}/sh.sh", "relative.sh", "out/secret.sh", f"{directory}/out/secret.sh"):
        r = kit.emberbox("run", file, "--project", ".", cwd=directory)
        kit.equal((r.code, r.out), (2, b""), repr(r))
        kit.contains(r.errtext, f'"{file}" leads out of the project "."; run its target, or name the project that contains it')
    # However the project's own directory is written.
    named = f"{kit.tmp()}/project"
    os.symlink(directory, named)
    os.mkdir(f"{directory}/sub")
    for file in (f"{named}/out/secret.sh", f"{named}//out/secret.sh", f"{named}/./sub/../out/secret.sh", f"{named}/out/../{os.path.basename(elsewhere)}/secret.sh",
                 f"/{directory}/out/secret.sh", "sub/../out/secret.sh"):
        r = kit.emberbox("run", file, "--project", named, cwd=directory)
        kit.equal((r.code, r.out), (2, b""), f"{file}: {r!r}")
        kit.contains(r.errtext, f'"{file}" leads out of the project "{named}"')
    good(kit.emberbox("run", f"{named}//sub/.././inside.sh", "--project", directory), "")
    good(kit.emberbox("run", f"{directory}/../{os.path.basename(directory)}/inside.sh", "--project", named), "")
    # Links that stay inside are followed, and what is elsewhere by its own name is what the caller chose.
    good(kit.emberbox("run", f"sub/../../{os.path.relpath(elsewhere, os.path.dirname(directory))}/secret.sh", "--project", ".", cwd=directory), "secret\n")
    good(kit.emberbox("run", "inside.sh", "--project", ".", cwd=directory), "")
    good(kit.emberbox("run", f"{elsewhere}/secret.sh", "--project", ".", cwd=directory), "secret\n")
    good(kit.emberbox("run", "sh.sh", cwd=directory), "secret\n")


@kit.test
def a_fifo_as_the_file_is_refused():
    directory = kit.tmp()
    os.mkfifo(f"{directory}/p.py")
    for command in ("run", "check"):
        r = kit.emberbox(command, f"{directory}/p.py")
        kit.equal(r.code, 2, repr(r))
        kit.contains(r.errtext, f'"{directory}/p.py" is a fifo, not a file; to wait for its writer give it as input: - <')
    # The shell's own pipe has a writer.
    r = kit.finish(kit.start(["bash", "-c", f"exec {kit.built()} run -l sh <(echo echo piped)"]))
    kit.equal((r.code, r.out), (0, b"piped\n"), repr(r))


@kit.test
def projects_that_cannot_be_given():
    directory = kit.tmp()
    path = kit.write(f"{directory}/file", "x")
    refused(run("1", "--project", f"{directory}/absent"), "project", "absent", "No such file")
    refused(run("1", "--project", path), "project", "file", "Not a directory")
    refused(run("1", "--project", ""), "project")


# Files out


@kit.test
def files_made_are_listed():
    code = """
import os
os.makedirs('/sandbox/output/sub')
open('/sandbox/output/a.txt', 'w').write('hello')
open('/sandbox/output/sub/b', 'w').write('')
open('/sandbox/data/not-output', 'w').write('x')
"""
    r = run(code, "--json")
    kit.equal(sorted(r.json["files"], key=lambda f: f["path"]),
              [{"path": "a.txt", "size": 5, "kept": True}, {"path": "sub/b", "size": 0, "kept": True}])
    kit.equal(run("1", "--json").json["files"], [])


@kit.test
def files_are_listed_of_a_failed_run_too():
    r = run("echo x > /sandbox/output/x; exit 3", "--json", language="bash")
    kit.equal((r.code, r.json["files"]), (3, [{"path": "x", "size": 2, "kept": True}]))
    r = run("echo x > /sandbox/output/x; sleep 60", "--json", "--timeout", "0.5", language="bash")
    kit.equal((r.code, r.json["files"]), (124, [{"path": "x", "size": 2, "kept": True}]))


@kit.test
def output_copies_the_files():
    target = kit.tmp()
    code = """
import os
os.makedirs('/sandbox/output/sub/deep')
open('/sandbox/output/a.bin', 'wb').write(bytes(range(256)) * 1000)
open('/sandbox/output/sub/deep/b', 'w').write('b')
"""
    good(run(code, "--output", target))
    with open(f"{target}/a.bin", "rb") as file:
        kit.true(file.read() == bytes(range(256)) * 1000, "a.bin is another")
    with open(f"{target}/sub/deep/b", "rb") as file:
        kit.equal(file.read(), b"b")
    owner = os.stat(f"{target}/a.bin")
    kit.equal(owner.st_uid, os.stat(target).st_uid, "the caller owns the copy")
    kit.equal(owner.st_mode & 0o7000, 0, "no set-uid bits")


@kit.test
def output_makes_the_directory():
    target = f"{kit.tmp()}/new"
    good(run("echo x > /sandbox/output/x", "--output", target, language="bash"))
    kit.equal(sorted(os.listdir(target)), ["x"])


@kit.test
def output_follows_no_link():
    target = kit.tmp()
    outside = kit.write(f"{kit.tmp()}/outside", "host content")
    code = f"""
cd /sandbox/output
ln -s /etc/passwd link
ln -s {outside} absolute
ln -s ../../../../../../../../etc up
ln -s / dir
mkfifo fifo
echo real > real
"""
    r = run(code, "--output", target, "--json", language="bash")
    kit.equal(r.code, 0, repr(r))
    kit.equal([f["path"] for f in r.json["files"]], ["real"])
    for base, directories, files in os.walk(target):
        for name in directories + files:
            mode = os.lstat(os.path.join(base, name)).st_mode
            kit.true(stat.S_ISREG(mode), f"{name} has mode {mode:o}")
    kit.equal(os.listdir(target), ["real"])


@kit.test
def output_does_not_write_through_links_of_the_host():
    target = kit.tmp()
    victim = kit.write(f"{kit.tmp()}/victim", "untouched")
    os.symlink(victim, f"{target}/x")
    good(run("echo changed > /sandbox/output/x", "--output", target, language="bash"))
    with open(victim, encoding="utf-8") as file:
        kit.equal(file.read(), "untouched")
    kit.true(not os.path.islink(f"{target}/x"), "the link is still there")
    with open(f"{target}/x", encoding="utf-8") as file:
        kit.equal(file.read(), "changed\n")


@kit.test
def set_uid_bits_are_not_copied():
    target = kit.tmp()
    code = "cp /bin/true /sandbox/output/t; chmod 4755 /sandbox/output/t; chmod 2755 /sandbox/output; stat -c %a /sandbox/output/t"
    good(run(code, "--output", target, language="bash"), "4755\n")
    kit.equal(os.stat(f"{target}/t").st_mode & 0o7000, 0)


@kit.test
def odd_names_come_out():
    target = kit.tmp()
    code = r"""
import os
for name in (b'a b', b'new\nline', b'\xff\xfe', b'-rf', b'x' * 255, 'ü'.encode()):
    open(b'/sandbox/output/' + name, 'w').close()
"""
    r = run(code, "--output", target, "--json")
    kit.equal((r.code, len(r.json["files"])), (0, 6))
    names = sorted(os.listdir(os.fsencode(target)))
    kit.equal(names, sorted([b"a b", b"new\nline", b"\xff\xfe", b"-rf", b"x" * 255, "ü".encode()]))


@kit.test(timeout=60)
def trees_that_are_too_much_are_bounded():
    deep = "import os\nos.chdir('/sandbox/output')\nfor _ in range(1000):\n  os.mkdir('d'); os.chdir('d')\nopen('f', 'w').close()"
    many = "import os\nos.chdir('/sandbox/output')\nfor i in range(30000): os.close(os.open(str(i), os.O_CREAT))"
    giant = "import os\nfd = os.open('/sandbox/output/g', os.O_CREAT | os.O_RDWR)\n" \
            "try: os.ftruncate(fd, 1 << 50)\nexcept OSError: os.ftruncate(fd, 1 << 29)"
    closed = "import os\nos.makedirs('/sandbox/output/a/b')\nopen('/sandbox/output/a/b/c', 'w').close()\nos.chmod('/sandbox/output/a', 0)"
    for name, code in (("deep", deep), ("many", many), ("giant", giant), ("closed", closed)):
        target = kit.tmp()
        r = run(code, "--output", target, "--json")
        kit.equal(r.json["status"], "ok", name)
        kit.true(r.seconds < 20, f"{name} took {r.seconds:.1f} s")
        kit.true(len(r.out) < 4 * MIB, f"{name}: the result has {len(r.out)} bytes")
        used = sum(os.lstat(os.path.join(base, f)).st_blocks * 512 for base, _, files in os.walk(target) for f in files)
        kit.true(used < 64 * MIB, f"{name}: {used} bytes of the host's disk")


@kit.test
def outputs_that_cannot_be_written():
    path = kit.write(f"{kit.tmp()}/file", "x")
    r = run("print('ran')", "--output", path)
    kit.true(r.code in (2, 125), repr(r))
    kit.contains(r.errtext, "output")
    # It is said beforehand also to root, who may write there and still makes nothing.
    r = run("print('ran')", "--output", "/proc/x")
    kit.equal((r.code, r.text, r.errtext), (2, "", 'emberbox: output: cannot make the directory "/proc/x": Operation not permitted\n'))


@kit.test
def nothing_stays_for_the_next_run():
    marks = "/tmp/mark /dev/shm/mark /sandbox/temp/mark /sandbox/data/mark /sandbox/output/mark /sandbox/code/mark"
    good(run(f"touch {marks} && ls {marks} | wc -l", language="bash"), "6\n")
    r = run(f"ls {marks} 2>/dev/null | wc -l", language="bash")
    kit.equal(r.text, "0\n")


@kit.test
def only_the_writable_places_are_writable():
    code = """
import os
for place in ('/sandbox/code', '/sandbox/data', '/sandbox/output', '/sandbox/temp', '/tmp', '/dev/shm',
              '/', '/sandbox', '/etc', '/usr', '/usr/bin', '/dev', '/proc'):
    try:
        os.close(os.open(place + '/mark', os.O_CREAT | os.O_WRONLY))
        print(place, 'yes')
    except OSError as error:
        print(place, 'no')
"""
    r = run(code)
    kit.equal([line.split()[1] for line in r.text.splitlines()], ["yes"] * 6 + ["no"] * 7, r.text)


kit.main()
