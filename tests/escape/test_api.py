"""A: what callers hand in, and what they get out.

tests/run: args=--as root | --as user | --as userns | --as root --warm | --as user --warm
tests/run: timeout=90
"""

import os
import stat
import sys
import tarfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import box
import kit


def refused(*options, says=""):
    """Bad usage: said before any box is made, nothing on stdout."""
    r = kit.emberbox("run", "--cold", "-l", "bash", *options, "-c", "echo ran")
    kit.equal((r.code, r.out), (2, b""), f"{options}: {r!r}"[:300])
    kit.contains(r.errtext, says)


def source(name="in"):
    return kit.write(os.path.join(kit.tmp(), name), "content")


@kit.test
def A1_names_that_lead_elsewhere():
    host = source()
    for name in ("../x", "/etc/x", "a/../../b", "", "/sandbox/code/../../etc/x", "a//b", "./x", "a/.", "x" * 4096, "/" + "y" * 256):
        refused("--file", f"{host}:{name}", says="file")
    r = kit.emberbox("run", "--cold", "-l", "bash", "--file", f"{host}:sub/..x", "-c", "cat sub/..x")
    kit.equal((r.code, r.text), (0, "content"))


@kit.test
def A2_prefix_twins():
    host = source()
    for name in ("/sandbox2/x", "/sandbox/data2/x", "/sandbox/codex", "/tmpx", "/tmp2/x", "/sandbox/x", "/sandbox/data"):
        refused("--file", f"{host}:{name}", says="file")


@kit.test
def A3_uploads_through_planted_links():
    project = kit.tmp()
    outside = kit.tmp()
    os.symlink(outside, os.path.join(project, "link"))
    os.symlink("/tmp", os.path.join(project, "inside"))
    host = source()
    # Where the project has a link, the file gets a directory of its own: nothing goes through the link.
    code = "cat link/x; test -L link && echo link; ls /tmp"
    r = kit.emberbox("run", "--cold", "-l", "bash", "--project", project, "--file", f"{host}:link/x", "-c", code)
    kit.equal((r.code, r.text), (0, "content"))
    kit.equal(os.listdir(outside), [])
    kit.equal(os.readlink(os.path.join(project, "link")), outside)
    # The code itself goes the same way.
    os.symlink(os.path.join(outside, "made"), os.path.join(project, "main.sh"))
    r = kit.emberbox("run", "--cold", "-l", "bash", "--project", project, "-c", "echo ran; test -L main.sh && echo link")
    kit.equal((r.text, os.listdir(outside)), ("ran\n", []))


def collected():
    """What comes out of an output directory with links and special files in it: (result, {path: type and content})."""
    if hasattr(collected, "found"):
        return collected.found
    out = os.path.join(kit.tmp(), "out")
    code = f"""
cd /sandbox/output && ln -s /etc/passwd passwd && ln -s /proc/self/environ environ && ln -s .. up && ln -s / root
mkfifo fifo && {box.PLACE} unix-socket=/sandbox/output/socket && mkdir dir && echo plain >dir/plain && ln dir/plain twin
"""
    r = box.run(code=code, options=["--output", out], timeout=15)
    kit.equal((r.json["status"], r.json["stderr"]), ("ok", ""))
    found = {}
    for root, dirs, files in os.walk(out):
        for name in dirs + files:
            path = os.path.join(root, name)
            kind = stat.S_IFMT(os.lstat(path).st_mode)
            content = None
            if kind == stat.S_IFREG:
                with open(path, encoding="utf-8") as file:
                    content = file.read()
            found[os.path.relpath(path, out)] = (kind, content)
    collected.found = r, found
    return collected.found


WANTED = {"dir": (stat.S_IFDIR, None), "dir/plain": (stat.S_IFREG, "plain\n"), "twin": (stat.S_IFREG, "plain\n")}


@kit.test
def A4_links_are_not_collected():
    r, found = collected()
    kit.equal(sorted(f["path"] for f in r.json["files"]), ["dir/plain", "twin"])
    kit.equal([name for name in ("passwd", "environ", "up", "root") if name in found], [])
    kit.equal({name: found.get(name) for name in WANTED}, WANTED)


@kit.test
def A5_special_files_are_not_collected():
    r, found = collected()
    kit.equal(found, WANTED)
    kit.true(r.process.seconds < 5, f"{r.process.seconds:.1f} s")


@kit.test
def A6_deep_and_wide_trees():
    out = os.path.join(kit.tmp(), "out")
    deep = "many-deep=/sandbox/output:1000"
    code = f"{box.PLACE} {deep}; cd /sandbox/output; printf x >$'name\\xff\\n'"
    r = box.run(code=code, options=["--output", out], timeout=25)
    kit.equal(r[deep], "1000")
    kit.equal((r.json["status"], r.json["meta"]["files_truncated"]), ("ok", True))
    kit.true(r.process.seconds < 10, f"{r.process.seconds:.1f} s")
    wide = "many-files=/sandbox/output:90000"
    r = box.run(wide, options=["--memory", "1g"], timeout=25)
    kit.equal(r[wide], "90000 OK")
    kit.true(len(r.process.out) < 16 << 20, f"{len(r.process.out)} bytes of result")
    kit.true(r.process.seconds < 15, f"{r.process.seconds:.1f} s")


@kit.test
def A7_archives():
    # There is no unpacking on the host's side: an archive is no project, and as a file it stays a file.
    directory = kit.tmp()
    archive = os.path.join(directory, "evil.tar")
    with tarfile.open(archive, "w") as tar:
        for name in ("../evil", "/tmp/emberbox-evil", "dir/../../evil"):
            tar.addfile(tarfile.TarInfo(name))
        link = tarfile.TarInfo("link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc"
        tar.addfile(link)
    os.chmod(archive, 0o644)
    r = kit.emberbox("run", "--cold", "-l", "bash", "--project", archive, "-c", "echo ran")
    kit.true(r.code in (2, 125) and r.out == b"", r)
    r = kit.emberbox("run", "--cold", "-l", "bash", "--file", archive, "-c", "ls")
    kit.equal((r.code, r.text.split()), (0, ["evil.tar", "main.sh"]))
    kit.equal(os.listdir(directory), ["evil.tar"])
    kit.true(not os.path.exists("/tmp/emberbox-evil"), "unpacked")


@kit.test
def A9_arguments_and_variables_are_data():
    words = ["a\nb", "$(touch /tmp/pwned)", "`id`", "'\"; exit 3 #", "", "-x", "*", "\\", "é\x01"]
    code = 'printf "%s\\0" "$@" "$EVIL"'
    evil = "x\n$(id)'\"; exit 4"
    r = kit.emberbox("run", "--cold", "-l", "bash", "--env", f"EVIL={evil}", "-c", code, "--", *words)
    kit.equal((r.code, r.err), (0, b""))
    kit.equal(r.out.decode().split("\0"), [*words, evil, ""])
    for bad in ("NOVALUE", "=x", ""):
        refused("--env", bad, says="env")


@kit.test
def A10_limits_that_cannot_be_meant():
    huge = "9" * 30
    for option in ("--timeout", "--cpu-time", "--cpus"):
        for value in ("-1", "0", "nan", "inf", "1e400", huge, "", "1x", " 1", "0x10", "--"):
            refused(option, value, says=option.lstrip("-"))
    for option in ("--memory", "--disk", "--max-output"):
        for value in ("-1", "0", "nan", huge, "99999999999g", "18446744073709551617", "", "1x", "1.5.5m"):
            refused(option, value, says=option.lstrip("-"))
    for value in ("-1", "0", "4294967297", huge, "1.5", ""):
        refused("--pids", value, says="pids")


@kit.test
def A16_a_file_where_a_directory_has_to_be():
    a, b = source("a"), source("b")
    refused("--file", f"{a}:dir", "--file", f"{b}:dir/f", says="cannot both be there")
    refused("--file", f"{a}:dir/f", "--file", f"{b}:dir", says="cannot both be there")
    refused("--file", f"{a}:same", "--file", f"{b}:same", says="cannot both be there")
    refused("--file", f"{a}:main.sh", says="main.sh")


@kit.test
def A17_no_link_is_followed_when_results_are_copied():
    base = kit.tmp()
    canary = kit.write(os.path.join(base, "canary"), "canary", 0o640)
    out = os.path.join(base, "out")
    os.mkdir(out)
    kit._chown(out, kit.mode)
    before = os.lstat(canary)
    # Planted on the host before, and in the box now: both lead to the canary.
    os.symlink(canary, os.path.join(out, "planted"))
    os.symlink(base, os.path.join(out, "dir"))
    code = f"cd /sandbox/output; echo overwritten >planted; mkdir dir; echo overwritten >dir/canary; ln -s {canary} link"
    r = box.run(code=code, options=["--output", out])
    # What stands in the way on the host's side is ours to say.
    kit.equal((r.json["status"], r.json["exit_code"]), ("error", 125))
    after = os.lstat(canary)
    kit.equal((after.st_uid, after.st_gid, after.st_mode, after.st_ino), (before.st_uid, before.st_gid, before.st_mode, before.st_ino))
    with open(canary, encoding="utf-8") as file:
        kit.equal(file.read(), "canary")
    # Where nothing is in the way, the same comes out.
    out = os.path.join(base, "fresh")
    r = box.run(code=code, options=["--output", out])
    kit.equal((r.json["status"], sorted(os.listdir(out))), ("ok", ["dir", "planted"]))


kit.main()
