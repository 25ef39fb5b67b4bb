#!/usr/bin/python3
"""The manual pages say what the program says: every option, both ways."""
# tests/run: args=--as root

import os
import re
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit

PAGES = {"run": "emberbox-run.1", "doctor": "emberbox-doctor.1"}


def page(name):
    with open(os.path.join(kit.REPO, "man", name), encoding="utf-8") as file:
        return file.read()


def options_of_help(command):
    r = kit.emberbox(command, "--help")
    kit.equal((r.code, r.err), (0, b""), command)
    rows = re.findall(r"^  (?:-(\w), |    )--([a-z-]+)(?: (\S+))? {2,}\S", r.text, re.M)
    kit.true(len(rows) > 1, f"{command} --help lists no options: {r.text!r}")
    return {(letter, name) for letter, name, _ in rows}


def options_of_page(text):
    """Of every `.It Fl c , Fl Fl code Ar code` the letter and the name."""
    found = re.findall(r"^\.It (?:Fl (\w) , )?Fl Fl ([a-z-]+)", text, re.M)
    return {(letter, name) for letter, name in found}


def compare(command):
    in_help, in_page = options_of_help(command), options_of_page(page(PAGES[command]))
    kit.equal(sorted(in_page - in_help), [], "in the manual but not in --help")
    kit.equal(sorted(in_help - in_page), [], "in --help but not in the manual")


@kit.test
def run_options():
    compare("run")


@kit.test
def doctor_options():
    compare("doctor")


@kit.test
def languages_options():
    kit.equal(options_of_help("languages"), {("", "json"), ("h", "help")})
    kit.contains(page("emberbox.1"), ".It Ic languages Op Fl Fl json")


@kit.test
def every_command_is_in_the_manual():
    r = kit.emberbox("--help")
    kit.equal((r.code, r.err), (0, b""))
    listed = re.findall(r"^  ([a-z]+) +\S", r.text.split("Commands:\n", 1)[1].split("\n\n")[0], re.M)
    kit.equal(sorted(listed), sorted(re.findall(r"^\.It Ic ([a-z]+)", page("emberbox.1"), re.M)))


@kit.test
def exit_codes_are_in_the_manual():
    text = page("emberbox-run.1").split(".Sh EXIT STATUS", 1)[1]
    for code in ("2", "124", "125", "127", "137", "141", "128+N"):
        kit.matches(text, rf"(?m)^\.It {re.escape(code)}$")


@kit.test
def readme_names_every_option():
    with open(os.path.join(kit.REPO, "README.md"), encoding="utf-8") as file:
        text = file.read()
    missing = [name for _, name in sorted(options_of_help("run")) if f"--{name}" not in text]
    kit.equal(missing, [], "options that README.md does not name")


@kit.test
def architecture_names_every_operation():
    with open(os.path.join(kit.REPO, "ARCHITECTURE.md"), encoding="utf-8") as file:
        table = file.read().split("## The plan and its operations", 1)[1].split("\n## ", 1)[0]
    named = set(re.findall(r"`([a-z-]+)`", " ".join(line.split("|")[1] for line in table.splitlines() if "|" in line)))
    directory = kit.tmp()
    given = kit.write(f"{directory}/given", "x")
    r = kit.emberbox("run", "-l", "python", "-c", "1", "--project", directory, "--file", given, "--cpu-time", "1", "--explain")
    kit.equal((r.code, r.errtext), (0, ""))
    used = {line.split()[0] for line in r.text.splitlines()}
    # A language that binds something of the host's.
    used |= {line.split()[0] for line in kit.emberbox("run", "-l", "php", "-c", "1", "--explain").text.splitlines()}
    kit.equal(sorted(used - named), [], "operations that ARCHITECTURE.md does not name")
    kit.equal(sorted(named - used), [], "names in ARCHITECTURE.md that no plan has")


@kit.test
def pages_are_well_formed():
    for name in ("emberbox.1", "emberbox-run.1", "emberbox-doctor.1"):
        text = page(name)
        kit.matches(text, r"\A\.Dd [A-Z][a-z]+ \d+, \d{4}\n\.Dt [A-Z-]+ 1\n\.Os\n\.Sh NAME\n", name)
        for section in ("SYNOPSIS", "DESCRIPTION", "EXIT STATUS", "SEE ALSO"):
            kit.contains(text, f"\n.Sh {section}\n", name)
        kit.equal(len(re.findall(r"^\.Bl ", text, re.M)), len(re.findall(r"^\.El$", text, re.M)), f"{name}: lists")
        for reference in re.findall(r"^\.Xr (\S+) 1", text, re.M):
            kit.true(os.path.exists(os.path.join(kit.REPO, "man", f"{reference}.1")), f"{name}: no page {reference}")
        if shutil.which("mandoc"):
            r = kit.command(["mandoc", "-Tlint", os.path.join(kit.REPO, "man", name)])
            # Our own pages are not installed yet when this runs.
            complaints = [line for line in r.text.splitlines() if "referenced manual not found" not in line]
            kit.equal(complaints, [], name)


kit.main()
