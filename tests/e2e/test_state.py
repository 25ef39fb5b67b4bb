#!/usr/bin/python3
"""Where files are kept without EMBERBOX_HOME, and how they come there from where an earlier version had them."""
# tests/run: args=--as root | --as user
# tests/run: builds=release
# tests/run: timeout=120

import json
import os
import stat
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit
from service import Service

POLICY = "settings: {EMBERBOX_POLICY: block}\n"
OWN = "display: Mine\nfile: x.mine\ntools: {cat: [/bin/cat]}\nversion: [\"{cat}\", --version]\ninstall: none\nrun: [\"{cat}\", \"{entry}\"]\n"


def environment(home, **others):
    """Nothing of the caller's own places."""
    names = ("XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME")
    return {"HOME": home, **{name: "" for name in names}, **others}


def earlier(home):
    """As an earlier version left it, all below ~/.cache/emberbox. The id of its one run."""
    os.makedirs(os.path.join(home, ".cache"), 0o700)
    kit._chown(os.path.join(home, ".cache"), kit.mode)
    old = os.path.join(home, ".cache", "emberbox")
    env = {"EMBERBOX_HOME": old}
    run = kit.emberbox("run", "-l", "python", "-c", "print('kept')", "--json", env=env)
    kit.equal(kit.emberbox("token", "add", "ci", env=env).code, 0)
    kit.write(os.path.join(old, "registry.yaml"), POLICY, 0o600)
    kit.write(os.path.join(old, ".env"), "SANDBOX_TIMEOUT_SEC=7\n", 0o600)
    kit.write(os.path.join(old, "runtimes", "mine", "runtime.yaml"), OWN)
    for name in ("runtimes", "runtimes/mine"):
        os.chmod(os.path.join(old, name), 0o755)
        kit._chown(os.path.join(old, name), kit.mode)
    return run.json["id"]


def settled(home, id, note=None):
    """All of it is found, in its new place; what is said about it is said once."""
    env = environment(home)
    r = kit.emberbox("history", "--json", env=env)
    kit.equal((r.code, [run["id"] for run in r.json["executions"]][-1]), (0, id), r.errtext)
    if note is not None:
        kit.equal(r.errtext, note)
    kit.equal(kit.emberbox("show", id, "--stdout", env=env).text, "kept\n")
    kit.equal([t["name"] for t in kit.emberbox("token", "list", "--json", env=env).json["tokens"]][-1:], ["ci"])
    kit.equal(kit.emberbox("audit", "verify", env=env).code, 0)
    rows = {row["name"]: row for row in kit.emberbox("config", "--json", env=env).json["settings"]}
    kit.equal((rows["SANDBOX_TIMEOUT_SEC"]["value"], rows["SANDBOX_TIMEOUT_SEC"]["file"]), ("7", f"{home}/.config/emberbox/.env"))
    kit.equal((rows["EMBERBOX_POLICY"]["value"], rows["EMBERBOX_POLICY"]["file"]), ("block", f"{home}/.config/emberbox/registry.yaml"))
    kit.equal(rows["EMBERBOX_HOME"]["value"], f"{home}/.local/state/emberbox")
    r = kit.emberbox("run", "-l", "mine", "-c", "own\n", env=env)
    kit.equal((r.code, r.text, r.errtext), (0, "own\n", ""))
    left = sorted(os.listdir(os.path.join(home, ".cache", "emberbox")))
    kit.true(all(name.startswith("version-") or name in ("builds", "prepared") for name in left), str(left))
    kit.true("version-python" in left, str(left))
    kit.equal(os.listdir(os.path.join(home, ".local", "state")), ["emberbox"])
    for place in (".local/state/emberbox", ".config/emberbox", ".local/share/emberbox"):
        kit.equal(stat.S_IMODE(os.stat(os.path.join(home, place)).st_mode), 0o700, place)


def said(home):
    return (f"emberbox: moved files out of the cache directory {home}/.cache/emberbox: the state to {home}/.local/state/emberbox, "
            f"settings to {home}/.config/emberbox, languages to {home}/.local/share/emberbox\n")


@kit.test
def a_new_home_has_four_places():
    home = kit.tmp()
    env = environment(home)
    r = kit.emberbox("run", "-l", "python", "-c", "print(1)", env=env)
    kit.equal((r.code, r.text, r.errtext), (0, "1\n", ""))
    kit.equal(sorted(os.listdir(os.path.join(home, ".cache", "emberbox"))), ["version-python"])
    kit.equal(sorted(os.listdir(os.path.join(home, ".local", "state", "emberbox"))), ["journal", "writers"])
    # The variables of the specification name others, and EMBERBOX_HOME names one for all.
    for name, found in (("XDG_STATE_HOME", "journal"), ("XDG_CACHE_HOME", "version-python")):
        place = kit.tmp()
        kit.equal(kit.emberbox("run", "-l", "python", "-c", "1", env={**env, name: place}).code, 0)
        kit.true(found in os.listdir(os.path.join(place, "emberbox")), name)
    place = kit.tmp()
    kit.equal(kit.emberbox("run", "-l", "python", "-c", "1", env={**env, "EMBERBOX_HOME": place}).code, 0)
    kit.equal(sorted(os.listdir(place)), ["journal", "version-python", "writers"])
    place = kit.tmp()
    kit.write(os.path.join(place, "emberbox", "registry.yaml"), POLICY, 0o600)
    r = kit.emberbox("run", "-l", "python", "-c", "import os", env={**env, "XDG_CONFIG_HOME": place})
    kit.equal((r.code, r.errtext), (126, "emberbox: Security policy blocked import: os\n"))


@kit.test
def what_an_earlier_version_left_is_moved_once():
    home = kit.tmp()
    id = earlier(home)
    # Neither a help text nor the version touches it, and with EMBERBOX_HOME all stays there.
    for args in (["--help"], ["--version"], ["help", "run"]):
        kit.equal(kit.emberbox(*args, env=environment(home)).errtext, "")
    old = os.path.join(home, ".cache", "emberbox")
    kit.equal(kit.emberbox("history", env=environment(home, EMBERBOX_HOME=old)).errtext, "")
    kit.true(not os.path.exists(os.path.join(home, ".local")), "moved too early")
    settled(home, id, said(home))
    settled(home, id, "")


@kit.test
def of_several_starters_one_moves_it():
    home = kit.tmp()
    id = earlier(home)
    processes = [kit.start([kit.built(), "history", "--json"], env=environment(home)) for _ in range(8)]
    done = [kit.finish(process) for process in processes]
    for r in done:
        kit.equal((r.code, [run["id"] for run in r.json["executions"]]), (0, [id]), r.errtext)
    kit.equal(sorted(r.errtext for r in done), [""] * 7 + [said(home)])
    settled(home, id, "")


@kit.test
def one_that_died_is_followed_by_the_next():
    home = kit.tmp()
    id = earlier(home)
    old, state = os.path.join(home, ".cache", "emberbox"), os.path.join(home, ".local", "state")
    for path in (os.path.join(home, ".local"), state, state + "/emberbox.moving", home + "/.config", home + "/.config/emberbox"):
        os.mkdir(path, 0o700)
        kit._chown(path, kit.mode)
    os.rename(f"{old}/registry.yaml", f"{home}/.config/emberbox/registry.yaml")
    for name in ("journal", "writers", "tokens.json"):
        os.rename(f"{old}/{name}", f"{state}/emberbox.moving/{name}")
    settled(home, id, said(home))
    # Also one that had moved all and only the name was missing.
    os.rename(f"{state}/emberbox", f"{state}/emberbox.moving")
    settled(home, id, said(home))


@kit.test
def a_file_that_is_there_already_is_not_replaced():
    home = kit.tmp()
    id = earlier(home)
    for path in (home + "/.config", home + "/.config/emberbox"):
        os.mkdir(path, 0o700)
        kit._chown(path, kit.mode)
    kit.write(f"{home}/.config/emberbox/registry.yaml", POLICY + "# new\n", 0o600)
    settled(home, id, said(home))
    with open(f"{home}/.config/emberbox/registry.yaml", encoding="utf-8") as new, \
            open(f"{home}/.local/state/emberbox/registry.yaml", encoding="utf-8") as kept:
        kit.equal((new.read(), kept.read()), (POLICY + "# new\n", POLICY))


@kit.test
def what_cannot_be_moved_is_used_where_it_is():
    # A link, whose target may be relative: nothing is moved, and its policy is in force.
    home = kit.tmp()
    earlier(home)
    old = os.path.join(home, ".cache", "emberbox")
    os.rename(f"{old}/registry.yaml", f"{old}/policy.yaml")
    os.symlink("policy.yaml", f"{old}/registry.yaml")
    r = kit.emberbox("run", "-l", "python", "-c", "import os", env=environment(home))
    kit.equal((r.code, r.errtext), (126, "emberbox: Security policy blocked import: os\n"))
    kit.true(not os.path.exists(f"{home}/.local/state/emberbox"), "moved")
    # Another file system.
    if os.stat("/dev/shm").st_dev != os.stat(home).st_dev:
        home = kit.tmp()
        id = earlier(home)
        place = f"/dev/shm/emberbox-test-{os.getpid()}"
        os.mkdir(place, 0o700)
        try:
            kit._chown(place, kit.mode)
            r = kit.emberbox("history", "--json", env=environment(home, XDG_STATE_HOME=place))
            kit.equal((r.errtext, [run["id"] for run in r.json["executions"]]), ("", [id]))
            kit.equal(os.listdir(place), [])
        finally:
            os.rmdir(place)


@kit.test
def a_service_that_runs_is_not_moved_away_from():
    home = kit.tmp()
    id = earlier(home)
    service = Service(home=os.path.join(home, ".cache", "emberbox"))
    env = environment(home, EMBERBOX_SERVICE="auto")
    r = kit.emberbox("session", "list", "--json", env=env)
    kit.equal((r.code, r.errtext, r.json), (0, "", {"sessions": []}))
    kit.equal(kit.emberbox("history", "--json", env=env).errtext, "")
    kit.true(not os.path.exists(f"{home}/.local/state/emberbox"), "moved")
    service.stop()
    settled(home, id, said(home))


@kit.test
def a_service_has_four_places_too():
    home = kit.tmp()
    env = environment(home, EMBERBOX_SERVICE="auto")
    service = Service(home=os.path.join(home, ".local", "state", "emberbox"), env=env,
                      before=("/usr/bin/env", "-u", "EMBERBOX_HOME"))
    r = kit.emberbox("run", "-l", "python", "-c", "import os", env=env)
    kit.equal((r.code, r.errtext), (0, ""))
    kit.equal(kit.emberbox("history", "--json", env=env).json["executions"][0]["language"], "python")
    # A registry that is made while it runs is heard of.
    kit.write(os.path.join(home, ".config", "emberbox", "registry.yaml"), POLICY, 0o600)
    kit.eventually(lambda: kit.emberbox("run", "-l", "python", "-c", "import os", env=env).code == 126, "no policy", 20)
    service.stop()
    kit.true({"history.db", "audit.log"} <= set(os.listdir(service.home)), "no state")


kit.main()
