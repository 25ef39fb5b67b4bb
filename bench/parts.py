"""The parts of the bench: each takes a Bench and returns its figures as plain data."""

import functools
import json
import math
import os
import shutil
import statistics
import subprocess
import time

import census
import over_http
import peers
import series
import sessions

ROUNDS = 5
PAUSE = ("--pause", "30")  # milliseconds: an ember that was used is made anew meanwhile, also a large one
HELLO = ("--expect", "1\n")
COLD_EACH = 20  # cold runs of a language
BUILDS_EACH = 8
NOBODY = "nobody"  # PostgreSQL refuses to run as root, and as a uid without a name
WORKERS = 2
OUTPUT = "import os\nn={size}\nb=b'x'*65536\nwhile n>0: n-=os.write(1,b[:n])\n"
SIZES = {"1 KB": 1 << 10, "64 KB": 1 << 16, "1 MB": 1 << 20, "16 MB": 16 << 20}
AT_ONCE = (1, 10, 100, 1000)
AT_ONCE_BARE = 100  # a thousand bare interpreters would measure the memory


def share(runs, rounds=ROUNDS):
    """How many of so many runs a round has."""
    return ("--count", str(max(1, math.ceil(runs / rounds))))


def request_of(language):
    return {"language": language, "code": peers.PROGRAMS[language][1]}


def bare_of(bench, language):
    argv = peers.PROGRAMS[language][0]
    return tuple(os.path.join(bench.scratch, "programs", os.path.basename(word)) if word.startswith("/bench/") else word
                 for word in argv)


def our_command(bench, language, *words):
    """The program as a file: a command line is short, and a compiled program is one."""
    path = os.path.join(bench.scratch, f"hello-{language}")
    with open(path, "w", encoding="utf-8") as file:
        file.write(peers.PROGRAMS[language][1])
    return (bench.emberbox, "run", *words, "-l", language, path)


def cold_home(bench):
    """Caches of cold runs."""
    home = os.path.join(bench.scratch, "home-cold")
    os.makedirs(home, mode=0o700, exist_ok=True)
    return {**bench.env, "EMBERBOX_HOME": home}


def latency(bench):
    """{language: {contender: figures}}"""
    service = bench.service()
    try:
        return {language: latency_of(bench, service, language) for language in peers.PROGRAMS if language not in bench.missing}
    finally:
        service.stop()


def latency_of(bench, service, language):
    runs = bench.options.runs
    bare, request = bare_of(bench, language), request_of(language)
    warm = bench.warm_up(service, request)
    bench.say(f"bench:   {language}{'' if warm else ', never warm'}")
    # Without embers each of them is a cold box.
    asked, typed = (runs * 10, runs) if warm else (min(runs, COLD_EACH), min(runs, COLD_EACH))
    contenders = {
        "bare": lambda: bench.command(bare, *HELLO, *PAUSE, *share(runs)),
        "service": lambda: bench.requests(service, request, *HELLO, *PAUSE, *share(asked)),
        "command": lambda: command_measure(bench, service, language, typed, warm),
    }
    if bench.cold_left > COLD_EACH + 5:
        cold = our_command(bench, language, "--cold")
        contenders["cold"] = lambda: bench.command(cold, *HELLO, *PAUSE, *share(min(runs, COLD_EACH)), env=cold_home(bench), cold=1)
    for peer in bench.peers:
        if peer.version:
            contenders[peer.name] = functools.partial(peer_measure, bench, peer, language)
    if "cold" in contenders:  # caches are filled, and the files read once
        contenders["cold"]()
    return series.take_turns(bench, contenders, ROUNDS)


def command_measure(bench, service, language, runs, warm):
    """The command line prints what the program did; that the service did it is seen beside, once a round."""
    argv = our_command(bench, language)
    if warm:
        done = subprocess.run([*argv, "--json"], env=service.env, timeout=60, capture_output=True, check=False)
        if json.loads(done.stdout)["meta"]["start"] != "warm":
            raise RuntimeError("a run by the command line is cold, although the service has embers")
    return bench.command(argv, *HELLO, *PAUSE, *share(runs), env=service.env, cold=0 if warm else 1)


def peer_measure(bench, peer, language):
    runs = max(5, bench.options.runs * peer.share)
    return bench.command(peer.argv(peers.PROGRAMS[language][0]), *HELLO, *PAUSE, *share(runs), around=peer.around())


# Languages that are built

GO = 'package main\n\nimport "fmt"\n\nfunc main() {\n\tfmt.Println("hello") // @N@\n}\n'
C = '#include <stdio.h>\n\nint main(void)\n{\n\treturn puts("hello") < 0; // @N@\n}\n'
TYPESCRIPT = 'const word: string = "hello"; // @N@\nconsole.log(word);\n'
SQL = "select 'hello'; -- @N@\n"
POSTGRES_BIN = "$(ls -d /usr/lib/postgresql/*/bin | sort -V | tail -n 1)"
BARE_GO = "exec /usr/bin/go run main.go"
BARE_C = "/usr/bin/gcc -O2 -o main main.c && exec ./main"
BARE_TYPESCRIPT = "tsc --strict --target es2022 --module nodenext --outDir js main.ts && exec /usr/bin/node js/main.js"
BARE_POSTGRES = f"""PATH={POSTGRES_BIN}:$PATH
rm -rf db && initdb -D db -U me -A trust --no-sync >log &&
pg_ctl -D db -w -l log -o "-k $PWD -c listen_addresses=" start >log &&
psql -h "$PWD" -U me -d postgres -qtA -f main.sql
pg_ctl -D db -m immediate stop >log"""

# name: (language, file, source, bare commands, a new program each time, needed)
BUILDS = {
    "Go, first": ("go", "main.go", GO, BARE_GO, True, "/usr/bin/go"),
    "Go, again": ("go", "main.go", GO, BARE_GO, False, "/usr/bin/go"),
    "C, first": ("c", "main.c", C, BARE_C, True, "/usr/bin/gcc"),
    "C, again": ("c", "main.c", C, BARE_C, False, "/usr/bin/gcc"),
    "TypeScript, first": ("typescript", "main.ts", TYPESCRIPT, BARE_TYPESCRIPT, True, "tsc"),
    "TypeScript, again": ("typescript", "main.ts", TYPESCRIPT, BARE_TYPESCRIPT, False, "tsc"),
    "PostgreSQL, to the first row": ("postgres", "main.sql", SQL, BARE_POSTGRES, True, "/usr/lib/postgresql"),
}


def builds(bench):
    """{row: {contender: figures}}; what a caller of the service waits for is the first output there."""
    service = bench.service()
    try:
        return {name: build_of(bench, service, *row) for name, row in BUILDS.items()}
    finally:
        service.stop()


def build_of(bench, service, language, file, source, commands, fresh, needed):
    if not (os.path.exists(needed) if needed.startswith("/") else shutil.which(needed, path=bench.env["PATH"])):
        return {"left_out": f"{needed} is not installed"}
    directory = os.path.join(bench.scratch, f"bare-{language}-{fresh}")
    os.makedirs(directory)
    source = source if fresh else source.replace("@N@", "0")
    # The source is written by a redirection of the shell: both sides get another program each time.
    script = f"cd {directory} || exit\ncat >{file} <<'END'\n{source}END\n{commands}"
    bare = ("/bin/sh", "-c", script)
    if language == "postgres" and os.geteuid() == 0:
        shutil.chown(directory, NOBODY)
        bare = ("/usr/bin/setpriv", f"--reuid={NOBODY}", "--regid=nogroup", "--clear-groups", "--", *bare)
    request = {"language": language, "code": source, "stream": True}
    ours = (bench.emberbox, "run", "--cold", "-l", language, "-c", source)
    runs = min(bench.options.runs, BUILDS_EACH)
    words = ("--contains", "hello", *share(runs, 4))
    contenders = {
        "bare": lambda: bench.command(bare, *words),
        "service": lambda: bench.requests(service, request, *words, builds=fresh),
        "cold": lambda: bench.command(ours, *words, env=cold_home(bench), cold=2 if fresh else 1),
    }
    bench.say(f"bench:   {language}{', a new program each time' if fresh else ''}")
    for measure in contenders.values():
        measure()
    return series.take_turns(bench, contenders, 4)


# Throughput


def throughput(bench):
    """{language: {contender: figures}}, two at a time for --seconds, in two turns each."""
    service = bench.service("--max-running", str(2 * WORKERS), "--embers", "64")
    words = (*HELLO, "--connections", str(WORKERS), "--seconds", str(bench.options.seconds / 2))
    found = {}
    try:
        for language in (one for one in peers.PROGRAMS if one not in bench.missing):
            bare, request = bare_of(bench, language), request_of(language)
            contenders = {"bare": functools.partial(bench.command, bare, *words)}
            if bench.warm_up(service, request):
                bench.requests(service, request, *HELLO, "--connections", str(WORKERS), "--seconds", "2")  # demand is seen
                contenders["service"] = functools.partial(bench.requests, service, request, *words)
            bench.say(f"bench:   {language}")
            found[language] = series.take_turns(bench, contenders, 2)
            found[language].setdefault("service", {"count": 0, "left_out": "never warm"})
    finally:
        service.stop()
    return found


# Memory, and what an idle service does


def memory(bench):
    service = bench.service()
    try:
        time.sleep(1)
        alone = {"roles": sizes(service.pid), "idle": idle(bench, service.pid)}
    finally:
        service.stop()
    return {"alone": alone, "embers": embers_few(bench), "many": embers_many(bench, bench.options.embers)}


def sizes(pid):
    return {role: {"rss": census.rss(one), "pss": census.pss(one)} for role, one in census.roles(pid).items()}


def idle(bench, pid):
    """Wake-ups and CPU of everything the service has, while nobody asks."""
    names = {one.pid: one.name for one in census.descendants(pid)} | {one: role for role, one in census.roles(pid).items()}
    before = {one: census.effort(one) for one in names}
    time.sleep(bench.options.idle)
    found = {}
    for one, name in names.items():
        row = found.setdefault(name, {"wakeups": 0, "cpu": 0.0, "processes": 0})
        if not census.process(one):  # the pool shrinks
            continue
        wakeups, seconds = census.effort(one)
        row["wakeups"] += wakeups - before[one][0]
        row["cpu"] += seconds - before[one][1]
        row["processes"] += 1
    return {"seconds": bench.options.idle, "by": found, "wakeups": sum(row["wakeups"] for row in found.values()),
            "cpu": sum(row["cpu"] for row in found.values())}


def idle_embers(pid):
    """Boxes made ahead, each a list of processes: one of them was forked from a process of another box."""
    keeper = census.roles(pid).get("keeper")
    found = census.boxes(keeper) if keeper else {}
    where = {one.pid: box for box, some in found.items() for one in some}
    return [some for box, some in found.items() if any(where.get(one.parent, box) != box for one in some)]


def wait_still(pid, seconds):
    """Until the number of embers has been the same for two seconds."""
    end = time.monotonic() + seconds
    count, since = len(idle_embers(pid)), time.monotonic()
    while time.monotonic() < end and time.monotonic() - since < 2:
        time.sleep(0.2)
        now = len(idle_embers(pid))
        if now != count:
            count, since = now, time.monotonic()
    return count


def ember_sizes(pid):
    found = idle_embers(pid)
    whole = [sum(census.pss(one.pid) for one in box) for box in found]
    return {"count": len(found), "processes": statistics.mean(map(len, found)), "pss": statistics.mean(whole),
            "pss_max": max(whole)}


def embers_few(bench):
    """{language: sizes of an idle ember}, a service each, and what an idle pool does."""
    found = {}
    for language in ("python", "node", "bash", "ruby"):
        if language in bench.missing:
            continue
        service = bench.service()
        try:
            if not bench.warm_up(service, request_of(language)):
                found[language] = {"left_out": "never warm"}
                continue
            if not wait_still(service.pid, 15):
                found[language] = {"left_out": "no idle ember is seen"}
                continue
            found[language] = ember_sizes(service.pid)
            if language == "python":
                found[language]["idle"] = idle(bench, service.pid)
        finally:
            service.stop()
    return found


def embers_many(bench, wanted):
    """As many idle Python embers as demand brings about, up to what is wanted."""
    available = census.memory_available()
    service = bench.service("--embers", str(wanted), "--ember-memory", f"{available // 2}", "--max-running", "64")
    request = request_of("python")
    try:
        if not bench.warm_up(service, request):
            return {"left_out": "never warm"}
        wait_still(service.pid, 10)
        first = {"count": len(idle_embers(service.pid)), "available": census.memory_available()}
        most = first["count"]
        for connections in (16, 64, 256, 1000):
            figures = bench.requests(service, request, *HELLO, "--connections", str(min(connections, wanted)), "--seconds", "3")
            most = max(most, wait_still(service.pid, 30))
            if most >= wanted or figures["stopped"]:
                break
        used = first["available"] - census.memory_available()
        count = len(idle_embers(service.pid))
        found = {"wanted": wanted, "reached": most, "available": available}
        if count > first["count"]:
            found |= ember_sizes(service.pid)
            found["all_memory"] = used / (count - first["count"])
            found["fit"] = int(available * 0.9 / max(found["all_memory"], found["pss"]))
        return found
    finally:
        service.stop(60)


# How cost grows


def growth(bench):
    service = bench.service("--max-queued", "2048", "--embers", "64")
    try:
        warm = bench.warm_up(service, request_of("python"))
        return {"at_once": at_once(bench, service, warm), "output": output(bench, service, warm)}
    finally:
        service.stop()


def at_once(bench, service, warm):
    found = {}
    bare = bare_of(bench, "python")
    for count in AT_ONCE:
        words = (*HELLO, "--connections", str(count), "--seconds", str(bench.options.seconds / 2))
        contenders = {}
        if count <= AT_ONCE_BARE:
            contenders["bare"] = functools.partial(bench.command, bare, *words)
        if warm:
            contenders["service"] = functools.partial(bench.requests, service, request_of("python"), *words)
        bench.say(f"bench:   {count} at once")
        found[str(count)] = series.take_turns(bench, contenders, 1)
        found[str(count)].setdefault("service", {"count": 0, "left_out": "never warm"})
    return found


def output(bench, service, warm):
    found = {}
    runs = bench.options.runs if warm else min(bench.options.runs, COLD_EACH)
    for name, size in SIZES.items():
        code = OUTPUT.format(size=size)
        request = {"language": "python", "code": code, "stream": True}
        words = ("--expect-bytes", str(size), *PAUSE, *share(runs if size < 1 << 24 else min(runs, 40)))
        cli = (bench.emberbox, "run", "-l", "python", "-c", code)
        contenders = {
            "bare": functools.partial(bench.command, ("/usr/bin/python3", "-c", code), *words),
            "service": functools.partial(bench.requests, service, request, *words),
        }
        if warm:
            contenders["command"] = functools.partial(bench.command, cli, *words, env=service.env)
        bench.say(f"bench:   {name} of output")
        found[name] = series.take_turns(bench, contenders, ROUNDS)
    return found


def http(bench):
    return over_http.http(bench, request_of("python"), share(bench.options.runs * 10), PAUSE)


PARTS = {"latency": latency, "builds": builds, "throughput": throughput, "memory": memory, "growth": growth, "http": http,
         "sessions": sessions.sessions}  # fmt: skip
