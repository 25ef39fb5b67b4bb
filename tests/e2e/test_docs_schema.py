#!/usr/bin/python3
"""Everything that lists limits or fields has the rows of src/schema/limits.def and fields.def, and no others."""
# tests/run: args=--as root

import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit
import schema
from web import description

VALUE = {"SECONDS": "SEC", "BYTES": "SIZE", "CORES": "N", "COUNT": "N"}
OPENAPI = {"SECONDS": "Duration", "BYTES": "Size", "CORES": "Cores", "COUNT": "CountLimit"}
COMMANDS = {"run": ("help", ""), "repl": ("session", ""), "session": ("session", "start: "), "token": ("token", "add: ")}


def text_of(*path):
    with open(os.path.join(kit.REPO, *path), encoding="utf-8") as file:
        return file.read()


def options(command):
    """{name: (value, help)} of --help; each help on one line."""
    text = re.sub(r"\n {10,}", " ", kit.emberbox(command, "--help").text)
    return {name: (value, help) for name, value, help in re.findall(r"^  (?:-\w, |    )--([a-z-]+)(?: (\S+))? +(.+)$", text, re.M)}


def written(row, amount):
    """As people write it: 512m, 0.5."""
    if row.kind != "BYTES":
        return f"{amount:g}"
    unit = next(unit for unit, size in (("g", 1 << 30), ("m", 1 << 20), ("k", 1 << 10), ("", 1)) if amount % size == 0)
    return f"{amount // {'g': 1 << 30, 'm': 1 << 20, 'k': 1 << 10, '': 1}[unit]}{unit}"


@kit.test
def limits_are_options_with_their_help():
    for command, (column, before) in COMMANDS.items():
        found = options(command)
        for row in schema.limits().values():
            kit.equal(found.get(row.key), (VALUE[row.kind], before + getattr(row, column)), f"{command} --{row.key}")


@kit.test
def a_help_that_names_a_default_names_that_of_the_row():
    for row in schema.limits().values():
        for text in (row.help, row.session):
            named = re.findall(r"\(([0-9.]+[kmg]?)\)$", text)
            kit.true(named == [] or named == [written(row, row.default)], f"{row.name}: {text}, but {row.default}")
        kit.equal(bool(re.search(r"\([0-9]", row.help)), row.default != 0, f"{row.name}: {row.help}")


@kit.test
def limits_are_in_the_manuals():
    for command in COMMANDS:
        text = text_of("man", f"emberbox-{command}.1")
        for row in schema.limits().values():
            part = re.search(rf"^\.It Fl Fl {row.key} Ar (\w+)\n((?:(?!\.It |\.El).*\n)+)", text, re.M)
            kit.true(part, f"emberbox-{command}.1 has no --{row.key}")
            kit.equal(part[1], VALUE[row.kind].lower(), f"emberbox-{command}.1: --{row.key}")
            if command == "run" and row.default:
                kit.matches(part[2], rf"\b{written(row, row.default)}\b")


@kit.test
def limits_are_in_the_documents():
    service, runtimes, header = text_of("docs", "service.md"), text_of("docs", "runtimes.md"), text_of("include", "emberbox.h")
    keys = re.search(r"Keys of eb_request_set\(\)(.*?)\*/", header, re.S)[1]
    definition = re.search(r"^\| `limits` \|.*$", runtimes, re.M)[0]
    for row in schema.limits().values():
        kit.contains(service, f"| `limits.{row.name}` |")
        kit.matches(keys, rf"\b{row.key}\b")
        kit.equal(f"`{row.name}`" in definition, "LIMIT_IN_DEFINITION" in row.flags, f"docs/runtimes.md: {row.name}")


@kit.test
def documents_name_the_defaults_of_the_rows():
    page = dict(re.findall(r"^\| `--([a-z-]+ [A-Z]+)` \| .* \| ([^|]+) \|$", text_of("docs", "cli.md"), re.M))
    for row in schema.limits().values():
        shown = page.get(f"{row.key} {VALUE[row.kind]}", "")
        kit.true(shown == written(row, row.default) if row.default else shown.startswith("none"), f"docs/cli.md: {row.key}: {shown!r}")
    named = 0
    for file in sorted(os.listdir(os.path.join(kit.REPO, "api", "tools"))):
        if not file.endswith(".json"):
            continue
        found = json.loads(text_of("api", "tools", file))["inputSchema"].get("properties", {})
        for field, name in (("timeout", "timeout"), ("memory_limit", "memory")):
            for value in re.findall(r"default ([0-9]+[kmg]?)", found.get(field, {}).get("description", "")):
                named += 1
                kit.equal(value, written(schema.limits()[name], schema.limits()[name].default), f"{file}: {field}")
    kit.true(named > 2, f"the tools name {named} defaults")


@kit.test
def limits_are_in_the_description():
    schemas, rows = description()["components"]["schemas"], schema.limits()
    found = schemas["Limits"]["properties"]
    kit.equal(sorted(found), sorted(rows))
    for name, row in rows.items():
        kit.equal(found[name].get("$ref", "").rpartition("/")[2], OPENAPI[row.kind], name)
    shown = schemas["Meta"]["properties"]["resource_limits"]
    kit.equal(shown["required"], list(rows))
    kit.equal(sorted(shown["properties"]), sorted(rows))
    for name, row in rows.items():
        one = shown["properties"][name]
        kit.equal("null" in one.get("type", ()), "LIMIT_OR_NULL" in row.flags, name)
    # What a cell has for itself is what may stand beside its code.
    cell = set(schemas["CellRequest"]["properties"]) & set(rows)
    kit.equal(sorted(cell), sorted(name for name, row in rows.items() if "LIMIT_OF_RUN" in row.flags))


def chosen(row):
    """A value that is neither the default nor a bound, and in which a small program runs."""
    return {"SECONDS": 17, "BYTES": 9 << 20 if row.name == "max_output" else 96 << 20, "CORES": 0.5, "COUNT": 23}[row.kind]


@kit.test(timeout=60)
def limits_go_all_the_way():
    """Said by an option, by a profile, by the registry's text: each is in force, by its own name."""
    rows = schema.limits()
    want = {name: chosen(row) for name, row in rows.items()}
    program = ("-l", "sh", "-c", "true", "--json", "--cold", "--allow-weaker", "cgroup")
    home = kit.tmp()
    resources = ", ".join(f'{name}: "{written(row, want[name])}"' for name, row in rows.items())
    kit.write(os.path.join(home, "registry.yaml"), f"containers:\n  all:\n    language: sh\n    resources: {{{resources}}}\n", 0o600)
    said = [word for name, row in rows.items() for word in (f"--{row.key}", written(row, want[name]))]
    for args in (said, ["--profile", "all"]):
        r = kit.emberbox("run", *program, *args, env={"EMBERBOX_HOME": home})
        kit.equal((r.code, r.errtext), (0, ""), args[0])
        found = r.json["meta"]["resource_limits"]
        kit.equal(list(found), list(rows))
        # Where no group has the controller, there is no such limit, and the result says so.
        kit.equal({name: found[name] for name in want if found[name] is not None or name != "cpus"},
                  {name: want[name] for name in want if found[name] is not None or name != "cpus"})
    # And one more than a row's most is refused everywhere by the same sentence.
    for name, row in rows.items():
        more = written(row, row.most + 1)
        sentence = kit.emberbox("run", *program, f"--{row.key}", more).errtext.splitlines()[0].partition(f'"{more}" ')[2]
        kit.true(sentence, f"--{row.key} {more} is taken")
        kit.contains(kit.emberbox("token", "add", "x", f"--{row.key}", more, env={"EMBERBOX_HOME": home}).errtext, sentence)
        path = kit.write(os.path.join(kit.tmp(), "r.yaml"), f"containers: {{a: {{language: sh, resources: {{{name}: {more}}}}}}}\n", 0o600)
        kit.contains(kit.emberbox("run", *program, "--registry", path).errtext, sentence)


@kit.test
def limits_have_a_test_that_they_hold():
    text = text_of("tests", "e2e", "test_limits.py")
    kit.equal([row.key for row in schema.limits().values() if f'"--{row.key}"' not in text], [])


@kit.test
def fields_are_in_the_description():
    schemas = description()["components"]["schemas"]
    run = set(schemas["RunFields"]["properties"])
    found = run | set(schemas["ExecuteRequest"]["allOf"][1]["properties"])
    kit.equal(sorted(found), sorted(name for name, row in schema.fields().items() if "FIELD_FRAMES" not in row.flags))
    # What a box is made of is said when there is to be one: for a run, a container or a session.
    box = {name for name, row in schema.fields().items() if "FIELD_BOX" in row.flags}
    kit.equal(sorted(box), ["engine", "image", "packages"])
    for name in ("RunFields", "SessionRequest"):
        kit.equal(sorted((box | {"network"}) - set(schemas[name]["properties"])), [], name)


@kit.test
def keys_are_in_the_header():
    keys = re.search(r"Keys of eb_request_set\(\)(.*?)\*/", text_of("include", "emberbox.h"), re.S)[1]
    for row in schema.keys():
        kit.matches(keys, rf"(?<![\w-]){row.key}(?![\w-])")


@kit.test
def fields_are_options():
    found = options("run")
    manual = text_of("man", "emberbox-run.1")
    for name, row in schema.fields().items():
        if row.option:
            kit.true(row.option in found, f"{name}: run has no --{row.option}")
            kit.matches(manual, rf"(?m)^\.It (?:Fl \w , )?Fl Fl {row.option}\b")


@kit.test
def fields_of_the_tool():
    tool = json.loads(text_of("api", "tools", "run_code.json"))["inputSchema"]["properties"]
    kit.equal(sorted(set(tool) - {"max_tokens"}), sorted(name for name, row in schema.fields().items() if "FIELD_TOOL" in row.flags))
    # Those of other tools are fields, or their own.
    own = {"id", "max_tokens", "ttl", "end"}
    for file in ("run_in_session", "container_start", "container_exec"):
        names = json.loads(text_of("api", "tools", f"{file}.json"))["inputSchema"]["properties"]
        kit.equal(sorted(set(names) - set(schema.fields()) - own), [], file)


@kit.test
def completions_have_each_option():
    script = """
        source completions/emberbox.bash
        COMP_WORDS=("$1" run --) COMP_CWORD=2
        _emberbox
        printf '%s\\n' "${COMPREPLY[@]}"
    """
    r = kit.command(["bash", "-c", script, "bash", kit.built()], cwd=kit.REPO)
    wanted = {row.key for row in schema.limits().values()} | {row.option for row in schema.fields().values() if row.option}
    kit.equal(sorted(wanted - {word.removeprefix("--") for word in r.text.split()}), [])


kit.main()
