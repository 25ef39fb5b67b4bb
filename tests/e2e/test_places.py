#!/usr/bin/python3
"""What a program finds at names that every Linux has: the time zone, terminals, /etc, /var/tmp.

tests/run: args=--as root | --as user | --as root --warm
tests/run: nightly=--as userns | --as user --warm
tests/run: timeout=240
"""

import json
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit
import service

def python(code, *options, **more):
    r = kit.emberbox("run", "--cold", "-l", "python", *options, "-c", code, **more)
    kit.equal(r.code, 0, r.errtext)
    return r.text


def bash(code, *options, **more):
    return kit.emberbox("run", "--cold", "-l", "bash", *options, "-c", code, **more)


# The time zone


class Host:
    """A mount namespace whose /etc is a directory of the test's, with little in it."""

    # What the interpreters of these tests need.
    NEEDED = ("alternatives", "ld.so.cache", "passwd", "group", "nsswitch.conf", "R", "java-17-openjdk")

    def __init__(self, zone=None, text=None, copied=None):
        self.etc = kit.tmp()
        for name in self.NEEDED:
            source = os.path.join("/etc", name)
            if os.path.isdir(source):
                shutil.copytree(source, os.path.join(self.etc, name), symlinks=True)
            elif os.path.exists(source):
                shutil.copy(source, os.path.join(self.etc, name))
        self.set(zone, text, copied)

    def set(self, zone=None, text=None, copied=None):
        local, name = os.path.join(self.etc, "localtime"), os.path.join(self.etc, "timezone")
        for path in (local, name):
            if os.path.lexists(path):
                os.unlink(path)
        if zone:
            os.symlink("/usr/share/zoneinfo/" + zone, local)
        if copied:
            shutil.copy("/usr/share/zoneinfo/" + copied, local)
        if text:
            kit.write(name, text + "\n")

    @property
    def before(self):
        enter = 'mount --bind "$0" /etc && exec "$@"'
        # Who has an own user namespace already has the right to.
        return ["/usr/bin/unshare", "-m", "--", "/bin/sh", "-c", enter, self.etc]

    def run(self, language, code, *options, env=None):
        r = kit.command([*self.before, kit.built(), "run", "--cold", "-l", language, *options, "-c", code],
                        env=env, cold=True)
        kit.equal(r.code, 0, r.errtext)
        return r.text


ASK = 'cat /etc/timezone; readlink /etc/localtime; date -d @1720000000 +%Z%z'


@kit.test(modes=("root", "userns"), timeout=60)
def the_zone_has_its_name():
    host = Host("Europe/Berlin", "Europe/Berlin")
    kit.equal(host.run("bash", ASK), "Europe/Berlin\n/usr/share/zoneinfo/Europe/Berlin\nCEST+0200\n")
    host.set("America/Argentina/Buenos_Aires")
    kit.equal(host.run("bash", ASK),
              "America/Argentina/Buenos_Aires\n/usr/share/zoneinfo/America/Argentina/Buenos_Aires\n-03-0300\n")
    # A file without a link, whose name stands beside it, or in TZ, or nowhere.
    host.set(copied="Asia/Kolkata", text="Asia/Kolkata")
    kit.equal(host.run("bash", ASK), "Asia/Kolkata\n/usr/share/zoneinfo/Asia/Kolkata\nIST+0530\n")
    host.set(copied="Asia/Kolkata")
    kit.equal(host.run("bash", ASK, env={"TZ": "Asia/Kolkata"}).split()[0], "Asia/Kolkata")
    kit.equal(host.run("bash", ASK), "Etc/UTC\n/usr/share/zoneinfo/Etc/UTC\nUTC+0000\n")


@kit.test(modes=("root", "userns"), timeout=60)
def languages_say_the_zone():
    host = Host("Europe/Berlin")
    code = "console.log(Intl.DateTimeFormat().resolvedOptions().timeZone, new Date(1720000000000).getHours())"
    kit.equal(host.run("javascript", code), "Europe/Berlin 11\n")
    code = "import time; print(time.tzname, time.localtime(1720000000).tm_hour)"
    kit.equal(host.run("python", code), "('CET', 'CEST') 11\n")
    if shutil.which("Rscript"):
        kit.equal(host.run("r", 'cat(Sys.timezone(), "\\n")'), "Europe/Berlin \n")
    if shutil.which("java"):
        code = "class Main { public static void main(String[] a) { System.out.println(java.time.ZoneId.systemDefault()); } }"
        kit.equal(host.run("java", code), "Europe/Berlin\n")


@kit.test(modes=("root", "userns"), timeout=60)
def a_profile_has_the_zone():
    host = Host("Europe/Berlin")
    text = host.run("bash", "date -d @1720000000 +%Z; ls /usr/share/zoneinfo", "--profile", "restricted")
    kit.equal(text, "CEST\nEurope\n")


@kit.test(modes=("root", "userns"), timeout=90)
def boxes_made_ahead_follow_the_zone():
    host = Host("Europe/Berlin")
    own = service.Service("--embers", "2", before=host.before)

    def ask(language, code):
        with own.connect() as client:
            result = client.request({"language": language, "code": code})[1]
        kit.equal(result["status"], "ok", result["stderr"])
        return result

    def warm(language, code):
        return kit.eventually(lambda: (r := ask(language, code))["meta"]["start"] == "warm" and r, "never warm", 30)

    kit.equal(warm("bash", ASK)["stdout"].split(), ["Europe/Berlin", "/usr/share/zoneinfo/Europe/Berlin", "CEST+0200"])
    code = "console.log(Intl.DateTimeFormat().resolvedOptions().timeZone)"
    kit.equal(warm("javascript", code)["stdout"], "Europe/Berlin\n")
    host.set("Asia/Tokyo", "Asia/Tokyo")
    for language, code, said in ("javascript", code, "Asia/Tokyo\n"), ("bash", "cat /etc/timezone", "Asia/Tokyo\n"):
        # The very next one, and those of the next stem.
        kit.equal(ask(language, code)["stdout"], said)
        kit.equal(warm(language, code)["stdout"], said)


# Files


@kit.test
def files_of_every_linux():
    code = """
import json, os
print(json.dumps({path: open(path, "rb").read().decode("latin-1") for path in
    ("/etc/services", "/etc/protocols", "/etc/mime.types", "/etc/ssl/openssl.cnf", "/etc/os-release",
     "/etc/ssl/certs/ca-certificates.crt") if os.path.exists(path)}))
"""
    inside = json.loads(python(code, "--max-output", "4m"))
    for path, text in inside.items():
        with open(path, encoding="latin-1") as file:
            kit.equal(text, file.read(), path)
    # Here is what the host has, and nothing beside it.
    for path in ("/etc/services", "/etc/protocols", "/etc/mime.types", "/etc/ssl/openssl.cnf", "/etc/os-release",
                 "/etc/ssl/certs/ca-certificates.crt"):
        kit.equal(path in inside, os.path.exists(path), path)
    kit.equal(python("import os; print(os.path.exists('/etc/ssl/private'), os.path.exists('/etc/shadow'))"), "False False\n")
    if "/etc/services" in inside and "/etc/protocols" in inside:
        kit.equal(python("import socket; print(socket.getservbyname('https'), socket.getprotobyname('udp'))"), "443 17\n")


@kit.test
def openssl_makes_a_request():
    if not shutil.which("openssl") or not os.path.exists("/etc/ssl/openssl.cnf"):
        kit.skip("the host has no openssl")
    r = bash("openssl req -x509 -newkey rsa:2048 -nodes -keyout /tmp/k -out /tmp/c -days 1 -subj /CN=box 2>/dev/null &&"
             " openssl x509 -in /tmp/c -noout -subject")
    kit.equal((r.code, r.text), (0, "subject=CN = box\n"), r.errtext)


PHP = """<?php
session_start(); $_SESSION["a"] = 1; session_write_close();
session_start(); $said = $_SESSION["a"] . " " . session_save_path();
foreach (ini_get_all(null, false) as $name => $value) $all[$name] = $value;
echo $said, "\\n", json_encode($all);
"""


@kit.test
def php_is_as_the_host_has_it():
    if not shutil.which("php"):
        kit.skip("the host has no php")
    path = kit.write(os.path.join(kit.tmp(), "a.php"), PHP)
    inside = kit.emberbox("run", "--cold", "--max-output", "1m", path)
    said, values = inside.text.split("\n", 1)
    kit.equal((said, inside.errtext), ("1 /var/lib/php/sessions", ""))
    code = "foreach (ini_get_all(null, false) as $name => $value) $all[$name] = $value; echo json_encode($all);"
    bare = json.loads(kit.command(["php", "-r", code], env={"TERM": "dumb", "LANG": "C.UTF-8"}).text)
    kit.equal({n: v for n, v in json.loads(values).items() if bare.get(n) != v}, {})


@kit.test
def var_tmp_is_for_everybody():
    r = bash("echo there > /var/tmp/a && cat /var/tmp/a && rm /var/tmp/a && touch /var/b")
    kit.equal((r.code, r.text), (1, "there\n"))
    kit.contains(r.errtext, "Read-only file system")


@kit.test
def who_the_program_is():
    code = "import getpass, os, pwd; print(getpass.getuser(), os.environ['SHELL'], pwd.getpwuid(os.getuid())[5:])"
    kit.equal(python(code), "sandbox /bin/sh ('/sandbox/temp', '/bin/sh')\n")
    kit.equal(python("import os; print(os.environ['USER'], os.environ['SHELL'])", "--env", "USER=me"), "me /bin/sh\n")


# Interpreters


@kit.test
def node_shows_nothing_of_ours():
    path = kit.write(os.path.join(kit.tmp(), "a.js"), """
console.log(JSON.stringify([process.execArgv, process._preload_modules ?? [], process.argv0, process.title,
    Object.keys(require.cache), module.children.length, module.parent ?? null, Object.values(require('module')._pathCache)]));
""")
    want = json.loads(kit.command(["/usr/bin/node", path]).text.replace(path, "/sandbox/code/a.js"))
    kit.equal(want[:3] + want[4:5], [[], [], "/usr/bin/node", ["/sandbox/code/a.js"]])
    kit.equal(json.loads(kit.emberbox("run", "--cold", path).text), want)


@kit.test(timeout=60)
def node_finds_no_modules_of_the_host():
    code = """
const places = require('module').globalPaths.filter((path) => !path.startsWith('/sandbox/'));
const names = %s;
console.log(JSON.stringify([places, names.filter((name) => { try { require(name); return true; } catch { return false; } })]));
""" % json.dumps(sorted(os.listdir("/usr/share/nodejs"))[:40] if os.path.isdir("/usr/share/nodejs") else [])
    for options in [], ["--env", "HOME=/sandbox/data"]:
        r = kit.emberbox("run", "--cold", "-l", "javascript", *options, "-c", code)
        kit.equal((r.text, r.errtext), ("[[],[]]\n", ""))
    # A program's own are found.
    mine = kit.write(os.path.join(kit.tmp(), "mine.js"), "module.exports = 7")
    r = kit.emberbox("run", "--cold", "-l", "javascript", "--file", mine + ":node_modules/mine.js", "-c", "console.log(require('mine'))")
    kit.equal((r.text, r.errtext), ("7\n", ""))


# Terminals


@kit.test
def pairs_of_terminals():
    code = """
import os, pty
master, slave = pty.openpty()
print(os.ttyname(slave), os.isatty(slave))
os.write(slave, b"line\\n")
print(os.read(master, 100))
pid, fd = pty.fork()
if pid == 0:
    os.execvp("tty", ["tty"])
print(os.read(fd, 100), os.waitpid(pid, 0)[1])
"""
    kit.equal(python(code), "/dev/pts/0 True\nb'line\\r\\n'\nb'/dev/pts/1\\r\\n' 0\n")


@kit.test
def terminals_are_few_and_no_others():
    code = """
import errno, os
pairs = []
try:
    while True:
        pairs.append(os.openpty())
except OSError as e:
    print(len(pairs), errno.errorcode[e.errno], sorted(os.listdir("/dev/pts"))[-1])
"""
    kit.equal(python(code), "16 ENOSPC ptmx\n")


@kit.test
def script_records():
    if not shutil.which("script"):
        kit.skip("the host has no script")
    r = bash("script -qc 'tty; echo said' /tmp/typescript </dev/null >/dev/null; tr -d '\\r' < /tmp/typescript | grep -Ev '^Script|^$'")
    kit.equal(r.text, "/dev/pts/0\nsaid\n", r.errtext)


# Messages

MESSAGES = """
import ctypes, errno, os
libc = ctypes.CDLL(None, use_errno=True)
class Attr(ctypes.Structure):
    _fields_ = [(n, ctypes.c_long) for n in ("flags", "most", "size", "now")] + [("rest", ctypes.c_long * 4)]
queues = []
while True:
    attr = Attr(0, 10, 8192, 0)
    q = libc.mq_open(b"/q%d" % len(queues), os.O_CREAT | os.O_RDWR, 0o600, ctypes.byref(attr))
    if q < 0:
        break
    queues.append(q)
why = errno.errorcode[ctypes.get_errno()]
if queues:
    libc.mq_send(queues[0], b"hello", 5, 1)
    text = ctypes.create_string_buffer(8192)
    size = libc.mq_receive(queues[0], text, 8192, None)
    print(text.raw[:size])
    print(sorted(os.listdir("/dev/mqueue"))[0])
print(0 < len(queues) < 11, why)
"""


@kit.test
def messages_are_bounded():
    # What a queue of this size is charged is its messages and a little more; 819 200 bytes are all there is.
    said = python(MESSAGES)
    if any(layer.startswith("accounting") for layer in bash("true", "--json").json["meta"]["isolation"]):
        kit.equal(said, "False ENOSYS\n")
    else:
        kit.equal(said, "b'hello'\nq0\nTrue EMFILE\n")


kit.main()
