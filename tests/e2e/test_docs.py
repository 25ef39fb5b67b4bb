#!/usr/bin/python3
"""The manual pages and docs/ say what the program says: every option, field and error, both ways."""
# tests/run: args=--as root

import glob
import json
import os
import re
import shutil
import sys

import yaml

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit
import schema
from service import Service

PAGES = {"run": "emberbox-run.1", "doctor": "emberbox-doctor.1", "serve": "emberbox-serve.1",
         "mcp": "emberbox-mcp.1", "session": "emberbox-session.1",
         "repl": "emberbox-repl.1", "languages": "emberbox-languages.1", "config": "emberbox-config.1",
         "token": "emberbox-token.1", "why": "emberbox-why.1"}


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
def serve_options():
    compare("serve")


@kit.test
def mcp_options():
    compare("mcp")


@kit.test
def repl_options():
    compare("repl")


@kit.test
def session_options():
    compare("session")


@kit.test
def history_options():
    """One page for four commands: a subsection each."""
    for command in ("history", "show", "stats", "audit"):
        part = page("emberbox-history.1").split(f"\n.Ss emberbox {command}\n", 1)[1].split("\n.S", 1)[0]
        kit.equal(sorted(options_of_page(part)), sorted(options_of_help(command)), command)


@kit.test
def options_of_other_commands():
    for command in ("config", "token", "why"):
        compare(command)


@kit.test
def every_command_has_a_page():
    commands = re.findall(r"(?m)^  ([a-z]+) +\S", kit.emberbox("--help").text.partition("Commands:\n")[2])
    kit.true(len(commands) > 10, str(commands))
    installed = text_of("meson.build")
    for command in commands:
        name = "history" if command in ("show", "stats", "audit") else command
        kit.contains(page(f"emberbox-{name}.1"), f"emberbox {command}" if name == "history" else f".Nm emberbox-{name}")
        kit.contains(installed, f"'man/emberbox-{name}.1'")
        kit.contains(page("emberbox.1"), f".It Ic {command}")
        kit.contains(page("emberbox.1"), f".Xr emberbox-{name} 1")


@kit.test
def settings_are_documented():
    """Each with its default, and no other; the program shows the same."""
    text = section(text_of("docs", "configuration.md"), "Settings")
    rows = {cells[1].strip(" `"): cells[2].strip() for cells in (line.split("|") for line in text.splitlines()) if len(cells) > 4 and "`" in cells[1]}
    table = text_of("src", "registry", "setting.c").split("settings[CONFIG_KEYS] = {", 1)[1].split("\n};", 1)[0]
    known = dict(re.findall(r'\[CONFIG_\w+\]\s*=\s*\{\s*"(\w+)",\s*(?:NULL|"[^"]*"),\s*(NULL|"[^"]*")', table))
    kit.true(len(known) > 15, f"{known}")
    kit.equal(sorted(rows), sorted(known))
    kit.equal({name: rows[name] for name in known if known[name] != "NULL"},
              {name: f"`{value[1:-1]}`" for name, value in known.items() if value != "NULL"})
    r = kit.emberbox("config", "--json", env={"EMBERBOX_HOME": kit.tmp()})
    kit.equal(sorted(row["name"] for row in r.json["settings"]), sorted([*known, "auto_cleanup", "max_concurrent"]))


@kit.test
def registry_keys_are_documented():
    text = section(text_of("docs", "configuration.md"), "The registry")
    named = set(first_column(text))
    source = text_of("src", "registry", "registry.c")
    groups = [re.findall(r'\{ "([a-z_]+)", (?:registry_)?read_\w+ \}', part) for part in re.findall(r"readers\[\] = \{(.*?)\{ NULL \}", source, re.S)]
    kit.equal(sorted(map(len, groups)), [4, 8], f"{groups}")
    known = {"auto_cleanup", "max_concurrent"} | {"resources." + name for name in schema.limits()}
    known |= {"LANGUAGE." + key for key in re.findall(r'yaml_map_get\(item, "(\w+)"\)', source)}
    for group in groups:
        prefix = {4: "security.", 8: ""}[len(group)]
        known |= {prefix + key for key in group}
    kit.equal(sorted(named), sorted(known - {"security", "resources"}))


@kit.test
def languages_options():
    compare("languages")


@kit.test
def helps_fit_a_terminal():
    commands = re.findall(r"^  ([a-z]+) +\S", kit.emberbox("--help").text.split("Commands:\n", 1)[1].split("\n\n")[0], re.M)
    kit.true("run" in commands, commands)
    for args in (["--help"], *([command, "--help"] for command in commands)):
        for line in kit.emberbox(*args).text.splitlines():
            kit.true(len(line) <= 80, f"emberbox {' '.join(args)}: {line!r}")
    # Broken between words, below where the explanation began.
    kit.contains(kit.emberbox("run", "--help").text,
                 "      --stdin FILE|-        the program's input; default: standard input, unless\n"
                 "                            that is the code\n")


@kit.test
def every_command_is_in_the_manual():
    r = kit.emberbox("--help")
    kit.equal((r.code, r.err), (0, b""))
    listed = re.findall(r"^  ([a-z]+) +\S", r.text.split("Commands:\n", 1)[1].split("\n\n")[0], re.M)
    kit.equal(sorted(listed), sorted(re.findall(r"^\.It Ic ([a-z]+)", page("emberbox.1"), re.M)))


@kit.test
def exit_codes_are_in_the_manual():
    text = page("emberbox-run.1").split(".Sh EXIT STATUS", 1)[1]
    for code in ("2", "124", "125", "126", "127", "137", "141", "128+N"):
        kit.matches(text, rf"(?m)^\.It {re.escape(code)}$")


@kit.test
def the_page_of_the_command_line_names_every_option():
    text = text_of("docs", "cli.md")
    missing = [name for _, name in sorted(options_of_help("run")) if not re.search(rf"--{name}\b", text)]
    kit.equal(missing, [], "options that docs/cli.md does not name")


def text_of(*path):
    with open(os.path.join(kit.REPO, *path), encoding="utf-8") as file:
        return file.read()


def sources():
    return sorted(glob.glob(os.path.join(kit.REPO, "src", "**", "*.[ch]"), recursive=True))


def source_of(name):
    """A file of src/, wherever it is: no two have one name."""
    found = glob.glob(os.path.join(kit.REPO, "src", "**", name), recursive=True)
    kit.equal(len(found), 1, f"{name}: {found}")
    return text_of(found[0])


def section(text, title):
    return text.split(f"\n## {title}\n", 1)[1].split("\n## ", 1)[0]


def first_column(text):
    """The words in backquotes of the first cells of a section's tables."""
    cells = [line.split("|")[1] for line in text.splitlines() if line.startswith("| ")]
    return [word for cell in cells for word in re.findall(r"`([^`]+)`", cell)]


@kit.test
def the_ways_in_are_named():
    """Who looks for the API or for a manual finds it where he looks first."""
    kit.matches(kit.emberbox("--help").text, r"\n +serve +serve runs over HTTP and a Unix socket, with boxes made ahead\n")
    more = section(text_of("README.md"), "More")
    for path in glob.glob(os.path.join(kit.REPO, "man", "emberbox-*.1")):
        kit.contains(more, f"`man {os.path.basename(path)[:-2]}`")


@kit.test
def service_fields_are_documented():
    named = first_column(section(text_of("docs", "service.md"), "The request"))
    known = [*schema.fields()] + [f"limits.{name}" for name in schema.limits()]
    kit.equal(sorted(named), sorted(known))


@kit.test
def service_examples_are_taken():
    """In two requests, because some say the same in other words; a profile is a shell's."""
    apart = ("limits.timeout", "limits.memory", "limits.pids", "input", "entry", "profile")
    rows = re.findall(r"^\| `([a-z_.]+)` \| .*?`(.+?)` \|", section(text_of("docs", "service.md"), "The request"), re.M)
    kit.true(len(rows) > 20, f"only {len(rows)} examples: {rows}")
    first, second = {}, {"language": "bash", "code": "true"}
    for name, example in rows:
        outer, _, inner = name.partition(".")
        request = second if name in apart else first
        if inner:
            request.setdefault(outer, {})[inner] = json.loads(example)
        elif name != "check":  # TypeScript's, which would have to be installed
            request[name] = json.loads(example)
    with Service("--embers", "0").connect() as client:
        for request in (first, second):
            client.ask(request)
            client.send("I")
            answer = client.answer()[1]
            kit.equal((answer.get("status"), answer["error"]), ("ok", None), f"{request}")


def error_codes():
    """{code: (status, exit code, meaning)} of src/base/error_codes.def, which all doors derive theirs from."""
    rows = re.findall(r'^ERROR_CODE\([A-Z_]+, "([a-z_]+)", (\d+), (\d+), "([^"]+)"\)$', source_of("error_codes.def"), re.M)
    kit.true(len(rows) > 20, f"{rows}")
    kit.equal(len(rows), len(re.findall(r"^ERROR_CODE\(", source_of("error_codes.def"), re.M)), "rows of another form")
    return {code: (int(status), int(exit_code), meaning) for code, status, exit_code, meaning in rows}


@kit.test
def service_errors_are_documented():
    """Those of runs."""
    named = first_column(section(text_of("docs", "service.md"), "Errors"))
    kit.equal([code for code in named if code not in error_codes()], [])
    kit.true(len(named) > 10, f"{named}")


def routes():
    """("GET", "/v1/executions/*") of the front's table."""
    table = source_of("front_routes.c").split("http_routes[] = {", 1)[1].split("};", 1)[0]
    found = re.findall(r'\{ HTTP_([A-Z]+), "([^"]+)"', table)
    kit.true(len(found) > 10, f"{table}")
    return sorted(found)


@kit.test
def http_paths_are_documented():
    words = first_column(section(text_of("docs", "http.md"), "Paths").split("\n### ", 1)[0])
    words = [word.replace("/ID", "/*").replace("/PATH", "/**") for word in words]
    kit.equal(sorted(tuple(word.split(" ", 1)) for word in words), routes())


@kit.test
def http_paths_are_in_the_description():
    methods = ("get", "post", "put", "delete", "patch")
    paths = yaml.safe_load(text_of("api", "openapi.yaml"))["paths"]
    found = [(method.upper(), re.sub(r"\{\w+\}", "*", path.replace("{path}", "**")))
             for path in paths for method in paths[path] if method in methods]
    kit.equal(sorted(found), routes())


@kit.test
def http_errors_are_documented():
    text = section(text_of("docs", "http.md"), "Errors")
    rows = {code: int(row[1]) for row in (line.split("|")[1:3] for line in text.splitlines() if line.startswith("| `"))
            for code in re.findall(r"`([a-z_]+)`", row[0])}
    kit.equal(rows, {code: status for code, (status, _, _) in error_codes().items()})
    error = yaml.safe_load(text_of("api", "openapi.yaml"))["components"]["schemas"]["Error"]["properties"]["error"]
    kit.equal(sorted(error["properties"]["code"]["enum"]), sorted(rows))


@kit.test
def http_example_of_an_error_is_true():
    example = json.loads(re.search(r"```json\n(.*?)\n```", text_of("docs", "http.md"), re.S).group(1))
    with Service("--embers", "0").connect() as client:
        frames, answer = client.request({"language": "python", "code": "1", "timout": 1})
    kit.equal((frames[-1][0], answer), ("E", example))


@kit.test
def http_events_are_documented():
    text = text_of("docs", "http.md").split("| event | |", 1)[1].split("\n\n", 1)[0]
    source = source_of("front_execute.c")
    used = set(re.findall(r'event_send\(\w+, "([a-z]+)"', source)) | set(re.findall(r'[?:] "(std[a-z]+)"', source))
    kit.equal(sorted(first_column(text)), sorted(used))


@kit.test
def metrics_are_documented():
    text = section(text_of("docs", "http.md"), "Request ids, logs, metrics")
    named = [word for word in first_column(text) if word.startswith("emberbox_")]
    known = set(re.findall(r'add_(?:head|plain)\(out, "(emberbox_[a-z_]+)"', source_of("metrics.c")))
    kit.true(len(known) > 15, f"{known}")
    kit.equal(sorted(named), sorted(known))


@kit.test
def bounds_are_documented():
    """Those with a name in the sources, by their numbers."""
    text = section(text_of("docs", "http.md"), "Bounds")
    source = source_of("front_http.c") + text_of("src", "http", "http.h")
    sizes = {name: eval(value) for name, value in re.findall(r"\b([A-Z_]+) = ([0-9]+(?: << [0-9]+)?),", source)}
    front = source_of("front.c")
    seconds = {name: int(value) // 1000 for name, value in re.findall(r"times->(\w+) = times->\w+ \?: (\d+);", front)}
    for row, words in {
        "head of a request": f"{sizes['HTTP_HEAD_MAX'] >> 10} KiB, {sizes['HTTP_HEADERS_MAX']} fields",
        "first byte of a connection": f"{seconds['first']} s",
        "a head, from its first byte": f"{seconds['head']} s",
        "a body": f"{seconds['body']} s, and a second more for each {sizes['BODY_RATE'] >> 10} KiB",
        "between two requests": f"{seconds['idle']} s",
        "an answer that is not read": f"{seconds['idle']} s",
        "connections": re.search(r"max_clients \?: (\d+)", front).group(1),
    }.items():
        kit.matches(text, rf"(?m)^\| {re.escape(row)} \| {re.escape(words)}")


@kit.test
def audit_events_are_documented():
    named = first_column(section(text_of("docs", "history.md"), "The audit log"))
    used = set()
    for path in sources():
        source = text_of(path)
        used |= set(re.findall(r'\b(?:front_audit|setup_record|keeper_note|record_event)\([^";]*?"([a-z_]+)"', source))
        # Those that the front has, as the store takes them.
        if path.endswith("store_role.c"):
            used |= set(re.findall(r'"([a-z_]+)"', source.split("known[] = {", 1)[1].split("}", 1)[0]))
        used |= set(re.findall(r'\b(?:audit_append|audit_run|store_audit)\([^";]*?(?:"", )?"([a-z_]+)"', source))
    kit.true(len(used) > 8, f"{used}")
    kit.equal(sorted(named), sorted(used))


@kit.test
def service_frames_are_documented():
    named = first_column(section(text_of("docs", "service.md"), "Frames"))
    kit.equal(sorted(named), sorted(re.findall(r"FRAME_\w+ = '(.)'", source_of("frame.h"))))


@kit.test
def service_example_of_an_error_is_true():
    example = re.search(r"```json\n(.*?)\n```", text_of("docs", "service.md"), re.S).group(1)
    with Service("--embers", "0").connect() as client:
        frames, answer = client.request({"language": "python", "code": "1", "timeout": "x"})
    kit.equal((frames[-1][0], answer), ("E", json.loads(example)))


@kit.test
def ember_points_are_documented():
    text = section(text_of("docs", "runtimes.md"), "Embers")
    keys, points = text.split("| `point` | where |", 1)
    fields = source_of("definition.c").split("struct definition_field ember_fields[]", 1)[1].split("{ NULL }", 1)[0]
    known = re.findall(r'(?:TEXT|COMMAND|LIST)\("([a-z_]+)"|\{ "([a-z_]+)"|(ENVIRONMENT)\(', fields)
    kit.equal(sorted(set(first_column(keys)) - {"ember"}), sorted("environment" if e else a or b for a, b, e in known))
    kit.equal(sorted(first_column(points)), sorted(re.search(r"one of ([a-z, ]+)", fields).group(1).split(", ")))
    # Who uses which; docs/service.md names the same languages.
    users = {}
    for path in glob.glob(os.path.join(kit.REPO, "runtimes", "*", "runtime.yaml")):
        definition = text_of(path)
        if found := re.search(r"^ember:\s*\{?\s*point: ([a-z]+)", definition, re.M):
            users.setdefault(found.group(1), []).append(re.search(r"^display: (.*)", definition, re.M).group(1))
    rows = {point: listed.split(", ") for point, listed in re.findall(r"^\| `([a-z]+)` \|.*\| ([^|]+) \|$", points, re.M)}
    kit.equal(rows, {point: sorted(names, key=str.lower) for point, names in users.items()})
    forked = re.search(r"Programs in ([^.]*?) are\s+forked", text_of("docs", "service.md")).group(1)
    kit.equal(sorted(re.split(r", | and ", forked.replace("\n", " "))), sorted(name for names in rows.values() for name in names))


@kit.test
def architecture_names_functions_and_files_that_are_there():
    """A walk that leads to a function of long ago is worse than none."""
    text = text_of("ARCHITECTURE.md")
    code = "".join(text_of(path) for path in sources())
    names = re.findall(r"`([a-z_]+)\(\)`", text)
    kit.true(len(names) > 30, f"only {len(names)} functions")
    kit.equal([name for name in names if not re.search(rf"\b{name}\(", code)], [], "functions that src/ does not have")
    paths = [path for path in re.findall(r"`((?:src|api|tools|web|runtimes|tests)/[\w./]+)`", text) if "/NAME/" not in path]
    there = [path for path in paths if os.path.exists(os.path.join(kit.REPO, path))]
    kit.equal([path for path in paths if path not in there], [], "files that are not there")
    here = {os.path.basename(path) for path in sources()}
    kit.equal([name for name in re.findall(r"`(\w+\.[ch])`", text) if name not in here and name not in ("crash.c", "cmd_NAME.c", "NAME_entry.c")], [], "files that src/ does not have")


@kit.test
def architecture_names_every_operation():
    with open(os.path.join(kit.REPO, "ARCHITECTURE.md"), encoding="utf-8") as file:
        table = file.read().split("## The plan and its operations", 1)[1].split("\n## ", 1)[0]
    named = set(re.findall(r"`([a-z-]+)`", " ".join(line.split("|")[1] for line in table.splitlines() if "|" in line)))
    directory = kit.tmp()
    given = kit.write(f"{directory}/given", "x")
    r = kit.emberbox("run", "-l", "python", "-c", "1", "--project", directory, "--file", given, "--cpu-time", "1", "--read-only", "-t", "--explain")
    kit.equal((r.code, r.errtext), (0, ""))
    used = {line.split()[0] for line in r.text.splitlines()}
    # A language that binds something of the host's.
    used |= {line.split()[0] for line in kit.emberbox("run", "-l", "php", "-c", "1", "--explain").text.splitlines()}
    kit.equal(sorted(used - named), [], "operations that ARCHITECTURE.md does not name")
    kit.equal(sorted(named - used), [], "names in ARCHITECTURE.md that no plan has")


@kit.test
def pages_are_well_formed():
    for name in ("emberbox.1", "emberbox-run.1", "emberbox-doctor.1", "emberbox-serve.1", "emberbox-history.1", "emberbox-config.1",
                 "emberbox-session.1", "emberbox-session-driver.7", "emberbox-repl.1", "emberbox-mcp.1", "emberbox-check.1", "emberbox-detect.1",
                 "emberbox-why.1"):
        text = page(name)
        kit.matches(text, r"\A\.Dd [A-Z][a-z]+ \d+, \d{4}\n\.Dt [A-Z-]+ [17]\n\.Os\n\.Sh NAME\n", name)
        command = name.endswith(".1")
        for section in ("SYNOPSIS", "DESCRIPTION", "EXIT STATUS", "SEE ALSO") if command else ("DESCRIPTION", "SEE ALSO"):
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
