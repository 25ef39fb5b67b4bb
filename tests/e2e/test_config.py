#!/usr/bin/python3
"""Settings from four places, tokens, and profiles of the registry, as the command line has them."""
# tests/run: args=--as root | --as user
# tests/run: builds=release asan
# tests/run: asan=--as root
# tests/run: timeout=240

import fcntl
import hashlib
import json
import os
import stat
import struct
import sys
import termios

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit
from service import Service

SHELL = ("run", "-l", "sh", "--cold", "-c", "true")


def config(home, *args, env=None, code=0):
    r = kit.emberbox("config", "--json", *args, env={"EMBERBOX_HOME": home, **(env or {})})
    kit.equal((r.code, r.errtext), (code, ""))
    return {row["name"]: row for row in r.json["settings"]}


def refused(sentence, *args, home, env=None, help=None):
    r = kit.emberbox(*args, env={"EMBERBOX_HOME": home, **(env or {})})
    where = "man emberbox-config" if help == "config" and args[0] != "config" else f"emberbox {help} --help"
    end = f"See: {where}\n" if help else ""
    kit.equal((r.code, r.text, r.errtext), (2, "", f"emberbox: {sentence}\n{end}"))


def on_terminal(columns, *args, env):
    """What it prints at a terminal of this width."""
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    if kit.mode != "root":
        os.fchown(theirs, kit.UID, kit.UID)
    process = kit.start([kit.built(), *args], stdout=theirs, env={"NO_COLOR": "1", **env})
    kit.equal(process.wait(timeout=10), 0)
    os.close(theirs)
    text = os.read(ours, 65536).decode()
    os.close(ours)
    return text


def mode(path):
    return stat.S_IMODE(os.stat(path).st_mode)


# Settings


@kit.test
def each_value_tells_where_it_came_from():
    home = kit.tmp()
    registry = kit.write(f"{home}/registry.yaml", "settings:\n  SANDBOX_TIMEOUT_SEC: 1\n  auto_cleanup: false\n")
    names = config(home)
    kit.equal([names["SANDBOX_TIMEOUT_SEC"][k] for k in ("value", "source", "file", "line")], ["1", "registry", registry, 2])
    kit.equal([names["auto_cleanup"][k] for k in ("value", "source", "file", "line")], ["false", "registry", registry, 3])
    kit.equal([names["max_concurrent"][k] for k in ("value", "source", "file", "line")], ["3", "default", None, None])
    kit.equal([names["DOCKER_MEMORY_LIMIT"][k] for k in ("value", "source")], ["512m", "default"])
    kit.equal([names["EMBERBOX_HOME"][k] for k in ("value", "source")], [home, "environment"])
    kit.equal(names["EMBERBOX_SOCKET"]["value"], f"{home}/emberbox.sock")
    kit.equal(names["EMBERBOX_REGISTRY"]["value"], registry)
    dotenv = kit.write(f"{home}/.env", "#\nSANDBOX_TIMEOUT_SEC=2\n")
    kit.equal([config(home)["SANDBOX_TIMEOUT_SEC"][k] for k in ("value", "source", "file", "line")], ["2", ".env", dotenv, 2])
    found = config(home, env={"SANDBOX_TIMEOUT_SEC": "3"})["SANDBOX_TIMEOUT_SEC"]
    kit.equal([found[k] for k in ("value", "source", "file", "line")], ["3", "environment", None, None])
    found = config(home, "--listen", "[::1]:80", env={"EMBERBOX_LISTEN": "none"})["EMBERBOX_LISTEN"]
    kit.equal([found[k] for k in ("value", "source")], ["[::1]:80", "option"])


@kit.test
def the_table_says_the_same():
    home = kit.tmp()
    kit.write(f"{home}/.env", "SANDBOX_TIMEOUT_SEC=2\n")
    kit.write(f"{home}/registry.yaml", "settings: {DOCKER_CPU_LIMIT: \"0.5\"}\n")
    r = kit.emberbox("config", "--socket", "/x/s", env={"EMBERBOX_HOME": home, "DOCKER_MEMORY_LIMIT": "64m"})
    kit.equal((r.code, r.errtext), (0, ""))
    lines = r.text.splitlines()
    kit.equal(lines[0].split(), ["SETTING", "VALUE", "SOURCE", "WHERE"])
    rows = {line.split()[0]: line.split()[1:] for line in lines[1:]}
    # Every column begins where its title does.
    for name, at in (("VALUE", 1), ("SOURCE", 2)):
        for line in lines[1:]:
            kit.equal(line[lines[0].index(name) - 1:].split()[0], line.split()[at], line)
    kit.equal(rows["SANDBOX_TIMEOUT_SEC"], ["2", ".env", f"{home}/.env:1"])
    kit.equal(rows["DOCKER_CPU_LIMIT"], ["0.5", "registry", f"{home}/registry.yaml:1"])
    kit.equal(rows["DOCKER_MEMORY_LIMIT"], ["64m", "environment"])
    kit.equal(rows["EMBERBOX_SOCKET"], ["/x/s", "option", "--socket"])
    kit.equal(rows["EMBERBOX_LOG"], ["events", "default"])
    kit.equal(rows["EMBERBOX_HOSTS"], ["-", "default"])
    kit.equal(set(rows), set(config(home)))
    # For a person what is below his home is short.
    text = on_terminal(100, "config", env={"EMBERBOX_HOME": home, "HOME": os.path.dirname(home)})
    short = f"~/{os.path.basename(home)}"
    kit.matches(text, rf"\nSANDBOX_TIMEOUT_SEC +2 +\.env +\.env:1\r\n")
    kit.matches(text, rf"\nEMBERBOX_HOME +{short} +environment\r\n")
    kit.matches(text, r"\nDOCKER_CPU_LIMIT +0\.5 +registry +registry\.yaml:1\r\n")
    # On a narrow one it is the value that is cut, not where it came from.
    text = on_terminal(80, "config", "--socket", "/" + "x" * 60, env={"EMBERBOX_HOME": home})
    kit.matches(text, r"\nDOCKER_CPU_LIMIT +0\.5 +registry +registry\.yaml:1\r\n")
    kit.matches(text, r"\nEMBERBOX_SOCKET +/x+… +option +--socket\r\n")
    kit.true(all(len(line) <= 80 for line in text.split("\r\n")), text)


@kit.test
def a_token_is_never_shown():
    home = kit.tmp()
    secret = "a-secret-of-mine-0123"
    for text, env, source in ((None, {"EMBERBOX_TOKEN": secret}, "environment"), (f"EMBERBOX_TOKEN={secret}\n", {}, ".env")):
        if text:
            kit.write(f"{home}/.env", text, 0o600)
        for args in ((), ("--json",)):
            r = kit.emberbox("config", *args, env={"EMBERBOX_HOME": home, **env})
            kit.equal((r.code, secret in r.text, "EMBERBOX_TOKEN" in r.text), (0, False, True))
        row = config(home, env=env)["EMBERBOX_TOKEN"]
        kit.equal((row["value"], row["set"], row["source"]), (None, True, source))
    refused("EMBERBOX_TOKEN: it has to be 16 to 255 visible ASCII characters without blanks", "config",
            home=kit.tmp(), env={"EMBERBOX_TOKEN": "hunter2"})


def doctor(home, **env):
    """Its exit code, the last line of the table, and the settings of --json."""
    env = {"EMBERBOX_HOME": home, **env}
    text, told = kit.emberbox("doctor", env=env), kit.emberbox("doctor", "--json", env=env)
    kit.equal((text.code, text.err, told.err), (told.code, b"", b""))
    kit.equal(told.json["healthy"], told.code == 0)
    for row in told.json["settings"]:
        kit.contains(text.text, f"{row['name']:18} {row['state']:9} {row['detail']}\n")
    return text.code, text.text.splitlines()[-1], [(row["name"], row["state"], row["detail"]) for row in told.json["settings"]]


@kit.test
def doctor_looks_at_the_settings():
    home = kit.tmp()
    dotenv, registry = os.path.join(home, ".env"), os.path.join(home, "registry.yaml")
    variables = "environment, .env"
    # A host may lack a layer; with settings that are right doctor says of it what it says.
    code, last, rows = doctor(home)
    kit.equal(rows, [(variables, "good", f"there is no {dotenv}"), ("registry.yaml", "good", f"there is no {registry}")])
    kit.true("setting" not in last, last)
    kit.write(dotenv, "SANDBOX_TIMEOUT_SEC=5\n")
    kit.write(registry, "containers:\n  a: {language: python}\n")
    kit.equal(doctor(home), (code, last, [
        (variables, "good", f"{dotenv} is read; `emberbox config` shows what it sets"),
        ("registry.yaml", "good", f"{registry} has 1 profile")]))
    wrong = (1, "A setting is wrong: runs and the service are refused until it is corrected.")
    kit.write(registry, "containers:\n  a:\n    languag: python\n")
    kit.equal(doctor(home), (*wrong, [
        (variables, "good", f"{dotenv} is read; `emberbox config` shows what it sets"),
        ("registry.yaml", "wrong", f'{registry}:3:5: containers.a: unknown key "languag"; did you mean "language"?')]))
    kit.write(dotenv, "\nSANDBOX_TIMEOUT_SEC=soon\n")
    kit.equal(doctor(home), (*wrong, [
        (variables, "wrong", f'"{dotenv}", line 2: SANDBOX_TIMEOUT_SEC: "soon" is not a time between 0.001 and 86400 seconds; write it as 30, 500ms, 2m or 1h30m')]))
    if kit.mode == "root":
        os.chown(dotenv, kit.UID, kit.UID)
        kit.equal(doctor(home)[2][0], (variables, "good", f"{dotenv} belongs to another user, and is not read"))
    os.unlink(dotenv)
    code, _, rows = doctor(home, SANDBOX_TIMEOUT_SEC="soon")
    kit.equal((code, rows), (1, [(variables, "wrong", 'SANDBOX_TIMEOUT_SEC: "soon" is not a time between 0.001 and 86400 seconds; write it as 30, 500ms, 2m or 1h30m')]))


@kit.test
def a_bad_value_is_refused_by_name_and_by_every_command():
    home = kit.tmp()
    sentence = 'SANDBOX_STORE_CODE: "no" is not one of always, on_error, never'
    for command in ("config", "run"):
        args = SHELL if command == "run" else (command,)
        refused(sentence, *args, home=home, env={"SANDBOX_STORE_CODE": "no"}, help="config" if command == "run" else None)
    refused('--listen: "x" is not HOST:PORT such as 127.0.0.1:7320 or [::1]:7320, and not the word none', "config", "--listen", "x", home=home)
    kit.write(f"{home}/.env", "EMBERBOX_AUDIT=no\n")
    sentence = f'"{home}/.env", line 1: EMBERBOX_AUDIT: "no" is not one of required, best_effort, off'
    refused(sentence, "config", home=home)
    for command in (["history"], ["stats"], ["show", "last"], ["audit"], ["token", "show"], SHELL):
        refused(sentence, *command, home=home, help="config")
    kit.write(f"{home}/.env", "NOTHING=1\n")
    refused(f'"{home}/.env", line 1: "NOTHING": there is no such setting', "config", home=home)
    refused('unexpected argument "x"', "config", "x", home=home, help="config")
    refused("unknown option --jsn; did you mean --json?", "config", "--jsn", home=home, help="config")


@kit.test
def name_servers_are_addresses():
    home = kit.tmp()
    for value in ("192.0.2.53", "192.0.2.53:5353", "2001:db8::53", "[2001:db8::53]", "[2001:db8::53]:5353", "192.0.2.53,192.0.2.54:54,::1"):
        kit.equal(config(home, env={"EMBERBOX_RESOLVER": value})["EMBERBOX_RESOLVER"]["value"], value)
    for value in ("dns.example.com", "192.0.2.53:", "192.0.2.53:0", "192.0.2.53:65536", "[192.0.2.53]", "[2001:db8::53", "[2001:db8::53]5", "192.0.2.53,",
                  ",192.0.2.53", "192.0.2.053", "192.0.2.53 ", ""):
        refused(f'EMBERBOX_RESOLVER: "{value}" is not a list of addresses such as 192.0.2.53,[2001:db8::53]:5353', "config", home=home,
                env={"EMBERBOX_RESOLVER": value})


@kit.test
def a_wrong_registry_is_refused_with_its_place():
    home = kit.tmp()
    path = f"{home}/registry.yaml"
    for text, place, why in (
        ("settings:\n  DOCKER_MEMORY_LIMIT: 1q\n", "2:24",
         'settings.DOCKER_MEMORY_LIMIT: "1q" is not a size between 4m and 1024g; write it as 64m, 1g or a number of bytes'),
        ("containers:\n  a:\n    langage: sh\n", "3:5", 'containers.a: unknown key "langage"; did you mean "language"?'),
        ("containers: [\n", "2:1", "did not find expected node content, while parsing a flow node that begins on line 2"),
    ):
        kit.write(path, text)
        refused(f"{path}:{place}: {why}", "config", home=home)
        refused(f"{path}:{place}: {why}", *SHELL, home=home, help="config")
    kit.write(path, "containers: {a: {language: pyhton}}\n")
    r = kit.emberbox("config", env={"EMBERBOX_HOME": home})
    kit.equal(r.code, 2)
    kit.contains(r.errtext, f'emberbox: {path}:1:28: containers.a.language: Unknown language "pyhton"; available: ')
    kit.contains(r.errtext, "did you mean python?")
    kit.write(path, "containers: {a: {language: python}}\n")
    config(home)
    kit.write(path, "containers: {a: {language: python}}\n", 0o666)
    refused(f"{path}: others can write to it; use: chmod go-w {path}", "config", home=home)
    os.remove(path)
    kit.write(f"{home}/.env", "SANDBOX_TIMEOUT_SEC=7\n", 0o666)
    refused(f"{home}/.env: others can write to it; use: chmod go-w {home}/.env", "config", home=home)
    os.chmod(f"{home}/.env", 0o644)
    config(home)
    # What cannot be read would be a limit that is not set.
    if kit.mode != "root":
        os.chmod(f"{home}/.env", 0)
        refused(f'cannot read the settings in "{home}/.env": Permission denied', "config", home=home)
    os.remove(f"{home}/.env")
    os.symlink(f"{home}/nowhere", f"{home}/.env")
    refused(f'cannot read the settings in "{home}/.env": Too many levels of symbolic links', "config", home=home)
    os.remove(f"{home}/.env")
    refused(f"{home}/none.yaml: cannot be read: No such file or directory", "config", "--registry", f"{home}/none.yaml", home=home)


@kit.test
def the_service_and_its_clients_read_the_same_files():
    home = kit.tmp()
    kit.write(f"{home}/.env", f"EMBERBOX_SOCKET={home}/other.sock\nEMBERBOX_LISTEN=none\n")
    kit.write(f"{home}/registry.yaml", REGISTRY)
    service = Service("--embers", "0", home=home, env={"EMBERBOX_LISTEN": "none"})
    kit.true(os.path.exists(f"{home}/other.sock") and not os.path.exists(f"{home}/emberbox.sock"), "listens elsewhere")
    r = kit.emberbox("run", "--json", "--profile", "box", "-c", "echo 1", env={"EMBERBOX_HOME": home, "EMBERBOX_SERVICE": "auto"})
    kit.equal((r.code, r.json["stdout"], r.json["meta"]["resource_limits"]["timeout"], r.json["meta"]["resource_limits"]["memory"]),
              (0, "1\n", 11, 64 << 20))
    # The same profile by name, resolved by the service; it ran there.
    service.path = f"{home}/other.sock"
    with service.connect() as client:
        answer = client.request({"profile": "box", "code": "echo 2"})[1]
    kit.equal((answer["stdout"], answer["language"], answer["meta"]["resource_limits"]["timeout"]), ("2\n", "sh", 11))


def waits(pid):
    """Whether it watches files."""
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            if os.readlink(f"/proc/{pid}/fd/{fd}") == "anon_inode:inotify":
                return True
        except FileNotFoundError:
            pass  # closed meanwhile
    return False


@kit.test(timeout=60)
def half_a_file_is_waited_for():
    """An editor that truncates and writes: what a command would read meanwhile has fewer rules."""
    home = kit.tmp()
    env = {"EMBERBOX_HOME": home}
    command = ("run", "--cold", "-l", "python", "-c", "import json")
    for file, half, rest in (("registry.yaml", "containers: {}\n", "policy: {python: {block: [json]}}\n"), (".env", "#\n", "EMBERBOX_POLICY=block\n")):
        place = os.path.join(home, file)
        kit.write(place, "", 0o600)
        if kit.mode != "root":
            os.chown(place, kit.UID, kit.UID)
        with open(place, "w", encoding="ascii") as writing:
            writing.write(half)
            writing.flush()
            r = kit.emberbox(*command, "--policy", "block", env=env)
            kit.equal((r.code, r.errtext.splitlines()[0]), (2, f"emberbox: {place}: another process is writing to it; close the file there and try again"), file)
            waiting = kit.start([kit.built(), *command, *(("--policy", "block") if file != ".env" else ())], env=env)
            kit.eventually(lambda: waits(waiting.pid), "it does not wait")
            writing.write(rest)
        r = kit.finish(waiting)
        kit.equal((r.code, r.errtext), (126, "emberbox: Security policy blocked import: json\n"), file)


@kit.test
def what_needs_no_registry_does_without_a_wrong_one():
    home = kit.tmp()
    kit.equal(kit.emberbox(*SHELL, env={"EMBERBOX_HOME": home}).code, 0)
    good = {args: kit.emberbox(*args, env={"EMBERBOX_HOME": home, "TZ": "UTC"}) for args in (
        ("history",), ("show", "last"), ("stats",), ("audit",), ("token", "show"))}
    path = kit.write(f"{home}/registry.yaml", "settings:\n  SANDBOX_TIMEOUT_SEC: abc\n")
    refused(f'{path}:2:24: settings.SANDBOX_TIMEOUT_SEC: "abc" is not a time between 0.001 and 86400 seconds; write it as 30, 500ms, 2m or 1h30m', *SHELL,
            home=home, help="config")
    for args, before in good.items():
        r = kit.emberbox(*args, env={"EMBERBOX_HOME": home, "TZ": "UTC"})
        kit.equal((r.code, r.text), (0, before.text), str(args))
        kit.equal(before.errtext, "", str(args))
        kit.matches(r.errtext, rf"\Aemberbox: {path}:2:24: settings\.SANDBOX_TIMEOUT_SEC: .*; this command continues without the registry\n\Z")


# Tokens


@kit.test
def tokens_are_added_listed_and_removed():
    home = kit.tmp()
    env = {"EMBERBOX_HOME": home}
    r = kit.emberbox("token", "add", "ci", "--scope", "read,execute", "--timeout", "10", "--memory", "64m", "--max-concurrent", "2", env=env)
    kit.equal((r.code, r.errtext), (0, ""))
    kit.matches(r.text, r"\Aebt_[A-Za-z0-9_-]{43}\n\Z")
    path = f"{home}/tokens.json"
    with open(path, encoding="utf-8") as file:
        text = file.read()
    kit.true(r.text.strip() not in text, "the token's text is stored")
    kit.equal(json.loads(text), {"tokens": [{
        "name": "ci", "sha256": hashlib.sha256(r.out.strip()).hexdigest(), "scopes": ["execute", "read"], "max_concurrent": 2,
        "limits": {"timeout": "10", "memory": "64m"}}]})
    kit.equal(mode(path), 0o600)
    kit.equal(kit.emberbox("token", "add", "other", env=env).code, 0)
    r = kit.emberbox("token", "list", "--json", env=env)
    kit.equal([(t["name"], t["scopes"], t["max_concurrent"]) for t in r.json["tokens"]],
              [("default", ["execute", "read", "metrics", "admin", "trusted"], None), ("ci", ["execute", "read"], 2), ("other", ["execute"], None)])
    r = kit.emberbox("token", "list", env=env)
    kit.equal([line.split() for line in r.text.splitlines()],
              [["NAME", "SCOPES", "LIMITS"], ["default", "execute,read,metrics,admin,trusted"], ["ci", "execute,read", "timeout=10", "memory=64m", "max_concurrent=2"], ["other", "execute"]])
    refused('there is a token "ci" already; remove it first', "token", "add", "ci", home=home, help="token")
    kit.equal(kit.emberbox("token", "remove", "ci", env=env).code, 0)
    kit.equal([t["name"] for t in kit.emberbox("token", "list", "--json", env=env).json["tokens"]], ["default", "other"])
    refused('there is no token "ci"; `emberbox token list` names them', "token", "remove", "ci", home=home, help="token")
    kit.equal(sorted(os.listdir(home)), ["tokens.json", "tokens.lock"])


@kit.test
def the_first_token_is_shown_with_the_address():
    home = kit.tmp()
    r = kit.emberbox("token", "show", env={"EMBERBOX_HOME": home})
    kit.equal((r.code, r.errtext), (0, ""))
    token, address = r.text.splitlines()
    kit.matches(token, r"\Aebt_[A-Za-z0-9_-]{43}\Z")
    kit.equal(address, "http://127.0.0.1:7320 (not running)")
    kit.equal(mode(f"{home}/token"), 0o600)
    kit.equal(kit.emberbox("token", "show", env={"EMBERBOX_HOME": home}).text, r.text)
    r = kit.emberbox("token", "show", env={"EMBERBOX_HOME": home, "EMBERBOX_TOKEN": "x" * 16, "EMBERBOX_LISTEN": "none"})
    kit.equal((r.code, r.text), (0, "x" * 16 + "\n"))
    os.chmod(f"{home}/token", 0o644)
    refused(f"{home}/token: others can read it (mode 0644); use: chmod 600 {home}/token", "token", "show", home=home)
    os.chmod(f"{home}/token", 0o600)
    kit.equal(kit.emberbox("token", "show", env={"EMBERBOX_HOME": home}).text.splitlines()[0], token)


@kit.test
def the_address_is_the_running_services():
    home = kit.tmp()

    def told():
        return kit.emberbox("token", "show", env={"EMBERBOX_HOME": home}).text.splitlines()

    service = Service("--embers", "0", home=home, listen=True)
    kit.equal(told(), [service.token, f"http://127.0.0.1:{service.address[1]}"])
    kit.equal(mode(f"{home}/address"), 0o600)
    with open(f"{home}/address", encoding="ascii") as file:
        kit.equal(file.read(), f"http://127.0.0.1:{service.address[1]}\n")
    kit.equal(service.stop().code, 0)
    kit.true(not os.path.exists(f"{home}/address"), "its address stays")
    kit.equal(told()[1], "http://127.0.0.1:7320 (not running)")
    # What a killed one leaves is not believed, and is the next one's to write.
    service = Service("--embers", "0", home=home, listen=True)
    watch = kit.Watch([service.pid, *kit.descendants(service.pid)])
    service.process.kill()
    service.process.wait()
    kit.equal(watch.survivors(), [])
    kit.true(os.path.exists(f"{home}/address"), "a killed service has cleaned up")
    kit.equal(told()[1], "http://127.0.0.1:7320 (not running)")
    service = Service("--embers", "0", home=home)
    kit.equal(told()[1], "(the service runs without HTTP over TCP; see: emberbox serve --help)")
    kit.equal(service.stop().code, 0)


@kit.test
def bad_words_about_tokens_are_refused():
    home = kit.tmp()
    for args, why in (
        ((), "the action is missing: list, add NAME, remove NAME or show"),
        (("make",), '"make" is not one of list, add, remove, show'),
        (("add",), "add: the token's name is missing"),
        (("show", "x"), "show takes no more words"),
        (("add", "A"), '"A" cannot be a name: use at most 32 of a-z, 0-9, "_", "." and "-"'),
        (("add", "default"), '"default" is the first token, which the service creates; choose another name'),
        (("add", "a", "--scope", "read,root"), '--scope: "root" is not one of execute, read, metrics, admin, trusted'),
        (("add", "a", "--scope", ""), '--scope: "" is not one of execute, read, metrics, admin, trusted'),
        (("add", "a", "--timeout", "x"), '--timeout: "x" is not a time between 0.001 and 86400 seconds; write it as 30, 500ms, 2m or 1h30m'),
        (("add", "a", "--max-concurrent", "0"), '--max-concurrent: "0" is not a number from 1 to 1000'),
        (("list", "--timeout", "1"), "list takes no limits and scopes; `emberbox token add` does"),
        (("show", "--json"), "show has no --json; `emberbox token list` does"),
        (("remove", "default"), 'the first token cannot be removed; delete the file "token" in the state directory, and a new one is created'),
    ):
        refused(why, "token", *args, home=home, help="token")
    path = kit.write(f"{home}/tokens.json", '{"tokens": [{"name": "a"}]}', 0o600)
    refused(f"{path}: tokens[0].sha256: expected a string", "token", "list", home=home)
    os.chmod(path, 0o640)
    refused(f"{path}: others can read it (mode 0640); use: chmod 600 {path}", "token", "add", "b", home=home)


# Profiles


REGISTRY = """\
containers:
  box: {language: sh, resources: {timeout: 11, memory: 64m, pids: 7, max_output: 2k}}
  locked: {language: sh, security: {read_only: true}}
  net: {language: sh, security: {network_mode: bridge}}
  web: {language: sh, security: {network_mode: {allow: [a.example, "b.example:443"]}}}
  closed: {language: sh, security: {network_mode: none}}
  docker: {dockerfile: ./Dockerfile}
  asks: {language: sh, security: {needs_confirm: true}}
  py: {language: python}
settings: {SANDBOX_TIMEOUT_SEC: 13, SANDBOX_MAX_OUTPUT_KB: 3}
"""


def limits(home, *args, env=None):
    r = kit.emberbox("run", "--cold", "--json", "-c", "true", *args, env={"EMBERBOX_HOME": home, **(env or {})})
    kit.equal((r.code, r.errtext), (0, ""))
    found = r.json["meta"]["resource_limits"]
    return [r.json["language"], found["timeout"], found["memory"] >> 20, found["pids"], found["max_output"]]


@kit.test
def a_value_that_cannot_be_used_is_blamed_where_it_stands():
    home = kit.tmp()
    pem = kit.write(f"{home}/cert.pem", "nothing\n", 0o600)
    for value, sentence in ((f"EMBERBOX_LISTEN=nowhere.example:80\n", 'EMBERBOX_LISTEN: expected HOST:PORT with an IP address, or none'),
                            (f"EMBERBOX_TLS_CERT={home}/gone\nEMBERBOX_TLS_KEY={pem}\n", "EMBERBOX_TLS_CERT: cannot read "),
                            (f"EMBERBOX_TLS_CERT={pem}\n", "EMBERBOX_TLS_CERT: it also needs EMBERBOX_TLS_KEY"),
                            ("SANDBOX_TYPE=docker\n", "SANDBOX_TYPE: docker is not available yet; use local")):
        kit.write(f"{home}/.env", f"# first\n{value}", 0o600)
        for command in (("run", "-l", "sh", "-c", "echo"), ("serve",)) if "TYPE" in value else (("serve",),):
            r = kit.emberbox(*command, env={"EMBERBOX_HOME": home, **({} if "LISTEN" in value else {"EMBERBOX_LISTEN": "none"})})
            kit.contains(r.errtext, f'"{home}/.env", line 2: {sentence}')
            kit.equal(r.code in (2, 125), True, repr(r))
    os.unlink(f"{home}/.env")
    kit.write(f"{home}/registry.yaml", f"settings:\n  EMBERBOX_LISTEN: nowhere.example:80\n", 0o600)
    r = kit.emberbox("serve", env={"EMBERBOX_HOME": home})
    kit.contains(r.errtext, f"{home}/registry.yaml:2: EMBERBOX_LISTEN: expected HOST:PORT")


@kit.test
def a_profile_sets_what_nobody_said():
    home = kit.tmp()
    kit.write(f"{home}/registry.yaml", REGISTRY)
    kit.equal(limits(home, "--profile", "box"), ["sh", 11, 64, 7, 2048])
    kit.equal(limits(home, "--profile", "box", "-l", "sh", "--timeout", "5"), ["sh", 5, 64, 7, 2048])
    # The environment beats the profile, which beats the registry's settings, which beat the default.
    kit.equal(limits(home, "--profile", "box", env={"SANDBOX_TIMEOUT_SEC": "6"}), ["sh", 6, 64, 7, 2048])
    kit.equal(limits(home, "-l", "sh"), ["sh", 13, 512, 64, 3072])
    elsewhere = kit.write(f"{kit.tmp()}/r.yaml", "containers: {box: {language: sh, resources: {timeout: 2}}}\n")
    kit.equal(limits(home, "--profile", "box", "--registry", elsewhere), ["sh", 2, 512, 64, 20480])
    kit.equal(limits(home, "--profile", "box", env={"EMBERBOX_REGISTRY": elsewhere}), ["sh", 2, 512, 64, 20480])


@kit.test
def a_profile_that_cannot_be_meant_is_refused():
    home = kit.tmp()
    kit.write(f"{home}/registry.yaml", REGISTRY)
    have = "the registry has: box, locked, net, web, closed, docker, asks, py"
    for args, why in (
        (("--profile", "bax", "-l", "sh"), f'profile: there is no "bax"; did you mean box? {have}; Shell has: restricted'),
        (("--profile", "zzzzzzzzzz", "-l", "sh"), f'profile: there is no "zzzzzzzzzz"; {have}; Shell has: restricted'),
        (("--profile", "zzzzzzzzzz", "-l", "python"), f'profile: there is no "zzzzzzzzzz"; {have}'),
        (("--profile", "restricted", "-l", "python"), f'profile: there is no "restricted"; {have}; it is a profile of Bash, Shell, Zsh, '
         "and Python has none of that name"),
        # Before anybody asks for the language, which would not help.
        (("--profile", "zzzzzzzzzz"), f'profile: there is no "zzzzzzzzzz"; {have}'),
        (("--profile", "py", "-l", "sh"), 'language: the profile "py" is for python, not for "sh"'),
        (("--profile", "docker"), 'profile: "docker" is made from "dockerfile", which is not available yet; write language: python instead of it, '
                                'or another that emberbox languages has, see: man emberbox-config'),
        (("--profile", "closed", "--net", "a.example"), 'net: the profile "closed" has no network; leave it out'),
    ):
        refused(why, "run", "--cold", "-c", "true", *args, home=home, help="run")
    r = kit.emberbox("run", "--cold", "-c", "echo 1", "--profile", "net", "--net", "none", env={"EMBERBOX_HOME": home})
    kit.equal((r.code, r.text, r.errtext), (0, "1\n", ""))
    refused('profile: there is no "zzzzzzzzzz"; the registry has none', "run", "--cold", "-c", "true", "--profile", "zzzzzzzzzz",
            home=kit.tmp(), help="run")
    # A profile of some language may be that of the code, which tells its language later.
    r = kit.emberbox("run", "--cold", "-c", "#!/bin/bash\necho 1", "--profile", "restricted", env={"EMBERBOX_HOME": home})
    kit.equal((r.code, r.text, r.errtext), (0, "1\n", ""))


@kit.test
def a_profile_can_be_read_only():
    home = kit.tmp()
    kit.write(f"{home}/registry.yaml", REGISTRY)
    code = "if echo x > /sandbox/code/x; then echo written; else echo denied; fi 2>/dev/null"
    for profile, said in (("locked", "denied\n"), ("box", "written\n")):
        r = kit.emberbox("run", "--cold", "-c", code, "--profile", profile, env={"EMBERBOX_HOME": home})
        kit.equal((r.code, r.text), (0, said))


# Confirmation


@kit.test
def without_a_terminal_nobody_can_agree():
    home = kit.tmp()
    kit.write(f"{home}/registry.yaml", REGISTRY)
    sentence = 'blocked: profile "asks" needs confirmation, and there is no terminal to ask at; use --yes'
    env = {"EMBERBOX_HOME": home}
    r = kit.emberbox("run", "--cold", "--profile", "asks", "-c", "echo ran", stdin=b"y\n", env=env)
    kit.equal((r.code, r.text, r.errtext), (126, "", f"emberbox: {sentence}\n"))
    r = kit.emberbox("run", "--cold", "--profile", "asks", "--json", "-c", "echo ran", env=env)
    kit.equal((r.code, r.json["status"], r.json["exit_code"], r.json["error_message"], r.json["success"]),
              (126, "blocked", 126, sentence, False))
    for yes in ("--yes", "-y"):
        r = kit.emberbox("run", "--cold", "--profile", "asks", yes, "-c", "echo ran", env=env)
        kit.equal((r.code, r.text, r.errtext), (0, "ran\n", ""))


def past_of(home):
    """The runs, the oldest first, and the events that are not runs, by some of their fields."""
    env = {"EMBERBOX_HOME": home}
    r = kit.emberbox("audit", "--json", "-n", "100", env=env)
    events = [json.loads(line) for line in r.text.splitlines()]
    runs = kit.emberbox("history", "--json", env=env).json["executions"][::-1]
    return ([(run["status"], run["profile"]) for run in runs],
            [tuple(e.get(k) for k in ("event", "caller", "door", "profile", "how"))
             for e in events if e["event"] in ("denied", "confirm_asked", "confirmed")])


@kit.test
def who_agreed_is_written_down():
    home = kit.tmp()
    kit.write(f"{home}/registry.yaml", REGISTRY)
    env = {"EMBERBOX_HOME": home}
    uid = f"uid {0 if kit.mode == 'root' else kit.UID}"
    r = kit.emberbox("run", "--cold", "--profile", "asks", "--json", "-c", "echo ran", env=env)
    blocked = r.json["id"]
    kit.equal(past_of(home), ([("blocked", "asks")], [("denied", uid, "cli", "asks", "nobody to ask")]))
    shown = kit.emberbox("show", blocked, "--json", env=env)
    kit.equal((shown.code, shown.json["status"], shown.json["exit_code"], shown.json["error_message"]),
              (0, "blocked", 126, r.json["error_message"]))
    kit.equal(kit.emberbox("show", blocked, "--code", env=env).text, "echo ran")
    kit.equal(kit.emberbox("run", "--cold", "--profile", "asks", "--yes", "-c", "true", env=env).code, 0)
    runs, events = past_of(home)
    kit.equal((runs[1:], events[1:]), ([("ok", "asks")], [("confirmed", uid, "cli", "asks", "--yes")]))
    # To look at what would be run is nothing to agree to.
    kit.equal(kit.emberbox("run", "--explain", "--profile", "asks", "-c", "true", env=env).code, 0)
    kit.equal(past_of(home), (runs, events))
    at_terminal(home, b"y\n", "-c", "true")
    at_terminal(home, b"n\n", "-c", "true")
    after, more = past_of(home)
    asked = ("confirm_asked", uid, "cli", "asks", "terminal")
    kit.equal(after[2:], [("ok", "asks"), ("blocked", "asks")])
    kit.equal(more[2:], [asked, ("confirmed", uid, "cli", "asks", "terminal"), asked, ("denied", uid, "cli", "asks", "terminal")])
    # By the service the same is told.
    service = Service("--embers", "0", home=home)
    auto = {**env, "EMBERBOX_SERVICE": "auto"}
    kit.equal(kit.emberbox("run", "--profile", "asks", "-y", "-c", "true", env=auto).code, 0)
    kit.equal(kit.emberbox("run", "-l", "sh", "-c", "true", env=auto).code, 0)
    kit.equal(past_of(home)[0][4:], [("ok", "asks"), ("ok", None)])
    kit.equal(past_of(home)[1][-1], ("confirmed", uid, "cli", "asks", "--yes"))
    row = kit.emberbox("history", "--json", "-n", "2", env=env).json["executions"][1]
    kit.equal((row["door"], row["profile"]), ("socket", "asks"))
    kit.equal(service.stop().code, 0)


def at_terminal(home, answer, *args):
    """Runs with a controlling terminal, answers the question, and returns the code and all that was seen."""
    ours, theirs = os.openpty()
    if kit.mode != "root":
        os.fchown(theirs, kit.UID, kit.UID)
    process = kit.start([kit.built(), "run", "--cold", "--profile", "asks", *args], env={"EMBERBOX_HOME": home},
                        stdin=theirs, stdout=theirs, stderr=theirs, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
    os.close(theirs)
    seen = b""
    while True:
        try:
            data = os.read(ours, 4096)
        except OSError:  # the last one that had it open is gone
            data = b""
        if not data:
            break
        before, seen = seen, seen + data
        question = b'Run with profile "asks"? [y/N] '
        if question in seen and question not in before:
            os.write(ours, answer)
    os.close(ours)
    return process.wait(timeout=10), seen.decode().replace("\r\n", "\n")


@kit.test
def at_a_terminal_a_person_is_asked():
    home = kit.tmp()
    kit.write(f"{home}/registry.yaml", REGISTRY)
    question = 'Run with profile "asks"? [y/N] '
    for answer in (b"y\n", b"Yes\n"):
        kit.equal(at_terminal(home, answer, "-c", "echo ran"), (0, f"{question}{answer.decode()}ran\n"))
    for answer in (b"n\n", b"\n", b"x y\n"):
        kit.equal(at_terminal(home, answer, "-c", "echo ran"),
                  (126, f'{question}{answer.decode()}emberbox: blocked: profile "asks" needs confirmation\n'))
    code, seen = at_terminal(home, b"\4", "-c", "echo ran")
    kit.equal((code, "ran" in seen, 'blocked: profile "asks" needs confirmation' in seen), (126, False, True))
    # What is typed after the answer is the program's.
    code, seen = at_terminal(home, b"y\nword\n", "-c", "read x; echo got $x")
    kit.equal((code, "got word" in seen), (0, True))
    kit.equal(at_terminal(home, b"", "--yes", "-c", "echo ran"), (0, "ran\n"))


kit.main()
