"""A session's box holds what the box of a run does: the same layers, and the same answers to the same attempts.

The probe is started by a cell, made ahead and not, in every language whose cells start programs; what an interpreter can
try itself is tried by the driver's very process. Attempts are those of expect.def, and their answers too.

tests/run: args=--as root | --as user
tests/run: timeout=400
"""

import os
import re
import shlex
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import box
import kit
from service import Service
from web import Web

LETTERS = "FNPSXRTO"
PLACE = "/sandbox/data/probe"

# A cell that starts the probe with these words, its output that of the cell.
STARTS = {
    "python": lambda words: f"import subprocess; _ = subprocess.run({words!r}, close_fds=False)",
    "javascript": lambda words: f"child_process.spawnSync({words[0]!r}, {words[1:]!r}, {{stdio: 'inherit'}}), undefined",
    "bash": shlex.join,
    "ruby": lambda words: f"system({', '.join(map(repr, words))}); nil",
    "postgres": lambda words: "set client_min_messages = warning; drop table if exists o; create table o (n serial, l text); copy o (l) from program "
                + "'" + shlex.join(words).replace("'", "''") + "' (format csv, delimiter e'\\x01', quote e'\\x02'); select l from o order by n",
}


class Session:
    """A session with the probe in its box."""

    def __init__(self, web, language, **fields):
        answer = web.post("/v1/sessions", {"language": language, **fields})
        kit.equal(answer.status, 201, answer.body[:500])
        self.web, self.made, self.path = web, answer.json, "/v1/sessions/" + answer.json["id"]

    def cell(self, code, **fields):
        answer = self.web.post(self.path + "/execute", {"code": code, "max_output": "1m", **fields})
        kit.equal(answer.status, 200, answer.body[:500])
        return answer.json

    def place_probe(self):
        with open(box.probe(), "rb") as file:
            answer = self.web.request("PUT", f"{self.path}/files/data/probe", file.read())
        kit.true(answer.status in (200, 201, 204), answer.body[:500])
        done = self.cell(STARTS[self.made["language"]](["/usr/bin/chmod", "755", PLACE]))
        kit.equal((done["status"], done["stderr"]), ("ok", ""))


def start(language, cold):
    """A service, and the first session of the kind that is asked for."""
    web = Web(Service(*(["--embers", "0"] if cold else []), listen=True), timeout=120)

    def one():
        session = Session(web, language)
        return session if session.made["start"] == ("cold" if cold else "warm") else None

    return kit.eventually(one, "no session is warm")


def answers_are_those_of_a_run(language, cold):
    session = start(language, cold)
    session.place_probe()
    for letter in LETTERS if language != "postgres" else LETTERS.replace("O", ""):  # its streams are the server's
        expected = box.expected(letter)
        attempts = list(dict.fromkeys(attempt for _, attempt, _ in expected))
        done = session.cell(STARTS[language]([PLACE, *attempts]), timeout=60)
        kit.equal((done["status"], done["stderr"], done["session"]["state"]), ("ok", "", "kept"), f"{letter}: {str(done)[:600]}")
        text = done["stdout"]
        if language == "postgres":
            text = "\n".join(row["l"] for row in done["outputs"][-1]["application/json"]["rows"])
        found = box.answers(text)
        # PostgreSQL's server, which starts the program, has its own files and sockets open and works where its data is.
        own = ("fds", "reach=/proc/self/fd", "cwd", "walk-sockets") if language == "postgres" else ()
        wrong = [f"{attempt}: {found.get(attempt)}, want {want}" for _, attempt, want in expected
                 if (found.get(attempt) or [None])[-1] != want and attempt not in own]
        kit.true(not wrong, f"{letter}: " + "; ".join(wrong))


for name in STARTS:
    for how in (True, False) if name != "postgres" else (True,):  # of which there are no embers
        kit.test(lambda name=name, how=how: answers_are_those_of_a_run(name, how), name=f"{name}.{'cold' if how else 'warm'}",
                 timeout=120)


def layers(found):
    """meta.isolation without what is the box's own."""
    return [re.sub(r"host uid \d+, of this box", "host uid N, of this box", line) for line in found]


@kit.test(timeout=120)
def its_layers_are_those_of_a_run():
    for language, code in (("python", "pass"), ("bash", ":"), ("javascript", "0"), ("ruby", "0")):
        run = layers(kit.emberbox("run", "--cold", "-l", language, "--json", "-c", code).json["meta"]["isolation"])
        for cold in (True, False):
            session = start(language, cold)
            made = layers(session.made["isolation"])
            kit.equal(layers(session.cell(code)["meta"]["isolation"]), made, "of a cell")
            # The one that differs: the driver's channel.
            own = [line for line in made if line not in run]
            kit.equal(own, ["fds: 0, 1, 2; 3 is the driver's channel"], f"{language}, {session.made['start']}")
            kit.equal([line.split(":")[0] for line in made], [line.split(":")[0] for line in run], language)


@kit.test(timeout=120)
def attempts_by_the_driver_itself():
    run = kit.emberbox("run", "--cold", "-l", "python", "--json", "--max-output", "1m", "-c", box.attempts_code())
    control = box.attempts(run.json)
    # 3 is the channel; beside that there is the pipe that cells may read, and of one made ahead the driver's own script.
    for cold, descriptors in ((True, "[0, 1, 2, 3, 4]"), (False, "[0, 1, 2, 3, 4, 5]")):
        found = box.attempts(start("python", cold).cell(box.attempts_code()))
        box.same_attempts(found, control, warm=not cold, descriptors=descriptors)


kit.main()
