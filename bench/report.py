"""RESULTS.md out of results.json: tables, and the goals with what was measured.

    bench/report.py results.json                           prints it
    bench/report.py results.json README.md docs/speed.md   writes the parts of those pages that stand between markers
"""

import json
import sys

NAMES = {"python": "Python", "node": "Node", "bash": "Bash", "ruby": "Ruby", "go": "Go", "c": "C"}
ROWS = {
    "bare": "bare", "http": "emberbox, HTTP over TCP", "http_socket": "emberbox, HTTP over the socket", "mcp": "emberbox, MCP on stdin and stdout", "service": "emberbox, over the socket", "command": "emberbox, command line",
    "cold": "emberbox, cold", "bubblewrap": "bubblewrap", "crun": "crun", "podman": "podman",
}
MEGABYTE = 1 << 20
NOT_MEASURED = "not measured"


def at(data, *keys):
    """A value below keys, or None."""
    for key in keys:
        data = data.get(key) if isinstance(data, dict) else None
    return data


def ms(seconds):
    return "–" if seconds is None else f"{seconds * 1000:.2f}"


def times(value):
    return "–" if value is None else f"{value:.3g} ×"


def ratio(over, under):
    return over / under if over is not None and under else None


def mb(size):
    return "–" if size is None else f"{size / MEGABYTE:.2f}"


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]) + "\n"


def starts(figures):
    """How its runs started, where it is ours and the service told."""
    if not figures.get("warm") and not figures.get("cold"):
        return ""
    text = f'{figures["warm"]} warm, {figures["cold"]} cold' if figures["cold"] else f'{figures["warm"]} warm'
    return text + (", stopped: too many are cold" if figures.get("stopped") else "")


def note(figures):
    parts = [starts(figures), f'{figures["failed"]} failed: {figures["problem"]}' if figures.get("failed") else "",
             f'{figures["refused"]} times told to come back' if figures.get("refused") else "",
             f'left out: {figures["left_out"]}' if figures.get("left_out") else ""]
    return "; ".join(part for part in parts if part).replace("|", "\\|").replace("\n", " ")


# Goals: (work, goal, function of the parts that gives the value or None, how it is written, whether it is met)


def sound(figures):
    """Figures of runs that all went well, or nothing."""
    return figures if figures and figures.get("count") and not figures.get("failed") and not figures.get("stopped") else {}


def _latency(language, who, rank="p50"):
    def value(parts):
        row = at(parts, "latency", language) or {}
        over = sound(row.get("service"))
        # Some of a thousand may be cold, and are in the figures.
        if over.get("warm", 0) < 9 * over.get("cold", 0):
            return None
        return ratio(sound(row.get(who)).get(rank) if over else None, sound(row.get("bare")).get("p50"))

    return value


def _throughput(language):
    def value(parts):
        row = at(parts, "throughput", language) or {}
        return ratio(sound(row.get("service")).get("per_second"), sound(row.get("bare")).get("per_second"))

    return value


def _roles_rss(parts):
    roles = at(parts, "memory", "alone", "roles")
    return sum(role["rss"] for role in roles.values()) if roles else None


def _pipe(parts):
    """Of the speed from the first byte to the last."""
    row = at(parts, "growth", "output", "16 MB") or {}
    return ratio(sound(row.get("bare")).get("transfer_p50"), sound(row.get("service")).get("transfer_p50"))


def _more(way, rank):
    """Seconds that a way takes more than the frames, of runs that took turns."""

    def value(parts):
        row = at(parts, "http", "hello") or {}
        over, under = sound(row.get(way)).get(rank), sound(row.get("service")).get(rank)
        return over - under if over is not None and under is not None else None

    return value


def _health(parts):
    rates = [sound(figures).get("per_second", 0) for figures in (at(parts, "http", "health") or {}).values()]
    return max(rates, default=None)


def _streams(key):
    def value(parts):
        row = at(parts, "http", "streams") or {}
        return row.get(key) if row.get("streams") == 1000 and not row.get("failed") else None

    return value


def _at_most(most):
    return lambda value: value <= most


def _at_least(least):
    return lambda value: value >= least


def _megabytes(value):
    return f"{value / MEGABYTE:.2f} MB"


def _milliseconds(value):
    return f"{value * 1000:.3f} ms"


GOALS = [
    ("Python hello, warm, over the socket, p50", "≤ 0.05 × bare p50", _latency("python", "service"), times, _at_most(0.05)),
    ("the same, p99", "≤ 0.3 × bare p50", _latency("python", "service", "p99"), times, _at_most(0.3)),
    ("the same through the command line, p50", "≤ 0.15 × bare p50", _latency("python", "command"), times, _at_most(0.15)),
    ("Python hello, two workers, a second", "≥ 4 × bare", _throughput("python"), times, _at_least(4)),
    ("Node hello, warm, p50", "≤ 0.05 × bare p50", _latency("node", "service"), times, _at_most(0.05)),
    ("Node hello, two workers, a second", "≥ 4 × bare", _throughput("node"), times, _at_least(4)),
    ("Ruby hello, warm, p50", "≤ 0.05 × bare p50", _latency("ruby", "service"), times, _at_most(0.05)),
    ("Bash hello, warm, p50", "≤ 0.5 × bare p50", _latency("bash", "service"), times, _at_most(0.5)),
    ("an idle Python ember among many", "≤ 2.5 MB PSS", lambda parts: at(parts, "memory", "many", "pss"), _megabytes,
     _at_most(2.5 * MEGABYTE)),
    ("idle embers there at once", "1000", lambda parts: at(parts, "memory", "many", "reached"), str, _at_least(1000)),
    ("wake-ups of the idle service, no embers", "0 a minute", lambda parts: at(parts, "memory", "alone", "idle", "wakeups"), str,
     _at_most(0)),
    ("wake-ups of the idle service, with embers", "0 a minute",
     lambda parts: at(parts, "memory", "embers", "python", "idle", "wakeups"), str, _at_most(0)),
    ("RSS of the service, no embers", "< 10 MB", _roles_rss, _megabytes, lambda value: value < 10 * MEGABYTE),
    ("Python hello over HTTP, p50, above the socket", "≤ 0.3 ms", _more("http", "p50"), _milliseconds, _at_most(0.0003)),
    ("Python hello by MCP, p50, above the socket", "≤ 2 ms", _more("mcp", "p50"), _milliseconds, _at_most(0.002)),
    ("/v1/health, a second", "≥ 20000", _health, lambda value: f"{value:.0f}", _at_least(20000)),
    ("1000 idle event streams, memory", "< 50 MB", _streams("pss"), _megabytes, lambda value: value < 50 * MEGABYTE),
    ("1000 idle event streams, CPU", "< 0.5 %", lambda parts: ratio(_streams("cpu")(parts), at(parts, "http", "streams", "seconds")),
     lambda value: f"{value * 100:.2f} %", lambda value: value < 0.005),
    ("a new Python session, warm, p50", "≤ 3 ms", lambda parts: at(parts, "sessions", "start", "p50"), _milliseconds, _at_most(0.003)),
    ("a cell x + 1 over the socket, p50", "≤ 1 ms", lambda parts: at(parts, "sessions", "cell", "p50"), _milliseconds, _at_most(0.001)),
    ("cells of one session, a second", "≥ 2000", lambda parts: at(parts, "sessions", "cell", "per_second"),
     lambda value: f"{value:.0f}", _at_least(2000)),
    ("the last tenth of 10000 cells, to the first", "≤ 1.1 ×", lambda parts: ratio(at(parts, "sessions", "cell", "last"),
     at(parts, "sessions", "cell", "first")), times, _at_most(1.1)),
    ("idle Python sessions there at once", "1000", lambda parts: at(parts, "sessions", "idle", "reached"), str, _at_least(1000)),
    ("their memory, for 1000", "≤ 6 GB", lambda parts: ratio(at(parts, "sessions", "idle", "bytes"),
     at(parts, "sessions", "idle", "reached")), lambda value: f"{value * 1000 / 1e9:.2f} GB", _at_most(6e6)),
    ("16 MB of output", "≥ 0.5 × a bare pipe", _pipe, times, _at_least(0.5)),
]


def goals(results):
    """[(work, goal, measured, met or not)]"""
    rows = []
    for work, goal, measure, written, met in GOALS:
        value = measure(results["parts"])
        rows.append((work, goal, NOT_MEASURED, "–") if value is None else (work, goal, written(value), "met" if met(value) else "**not met**"))
    return rows


def goals_text(results):
    return "\n".join(f"{work:<44} {goal:<20} {measured:<14} {met.strip('*')}" for work, goal, measured, met in goals(results))


# The parts of pages: the short one of the README, the long one of docs/speed.md


def beside(figures, bare, rank="p50"):
    """Milliseconds, and in brackets the part of the bare time."""
    p50 = at(figures, rank)
    return "–" if p50 is None else f"{ms(p50)} ({ratio(p50, bare):.3g})" if bare else ms(p50)


def page_hello(part):
    columns = ("service", "command", "cold", "bubblewrap", "podman")
    rows = []
    for language, row in part.items():
        bare = at(row, "bare", "p50")
        rows.append((NAMES[language], ms(bare), *(beside(row.get(column), bare) for column in columns)))
    return table(("hello in", "bare", "warm, over the socket", "warm, the whole command", "cold", "bubblewrap", "podman"), rows)


def page_builds(part):
    rows = []
    for name, row in part.items():
        rank = "first_p50" if name.endswith("first row") else "p50"
        bare = at(row, "bare", rank)
        rows.append((name, ms(bare), *(beside(row.get(column), bare, rank) for column in ("service", "cold"))))
    return table(("hello", "bare", "warm", "cold"), rows)


def page_throughput(part):
    rows = []
    for language, row in part.items():
        bare, ours = at(row, "bare", "per_second"), at(row, "service", "per_second")
        rows.append((NAMES[language], f"{bare:.0f}", f"{ours:.0f}", times(ratio(ours, bare))))
    return table(("hello in", "bare", "warm", "of bare"), rows)


def page_text(results):
    part = results["parts"]
    return "\n".join((
        f'On {results["machine"]["cores"]} cores of a virtual machine, as {results["machine"]["user"]}, in milliseconds, p50; in brackets '
        "the part of the bare interpreter's time:\n", page_hello(part["latency"]),
        "Go and C are built before; the bare side is the program alone. Built each time by hand, they look so:\n",
        page_builds(part["builds"]),
        "Two callers, each with the next run as soon as the last has ended, runs a second:\n",
        page_throughput(part["throughput"]), "What we aim at, and where it stands:\n",
        table(("work", "goal", "measured", ""), goals(results)),
        "Where the time of a warm run goes, and what would be needed for the rest, is in "
        "[ARCHITECTURE.md](../ARCHITECTURE.md#where-the-time-goes); all figures are in [bench/RESULTS.md](../bench/RESULTS.md).\n",
    ))  # fmt: skip


def page_short(results):
    rows = []
    for language, row in results["parts"]["latency"].items():
        bare = at(row, "bare", "p50")
        pair = at(results["parts"], "throughput", language)
        rows.append((NAMES[language], ms(bare), *(beside(row.get(column), bare) for column in ("service", "command", "cold", "bubblewrap")),
                     times(ratio(at(pair, "service", "per_second"), at(pair, "bare", "per_second")))))
    head = ("hello in", "bare", "warm, over the socket", "warm, the whole command", "cold", "bubblewrap", "warm runs a second, two callers")
    return (f'p50 in milliseconds on {results["machine"]["cores"]} cores of a virtual machine, as {results["machine"]["user"]}; '
            "in brackets the ratio to the bare interpreter, or for Go and C to the bare program. The last column is a ratio to bare "
            f"runs.\n\n{table(head, rows)}")


PARTS = {"speed": page_text, "speed-short": page_short}


def page_write(path, results):
    """Writes each part whose markers the page has."""
    with open(path, encoding="utf-8") as file:
        page = file.read()
    found = 0
    for name, text in PARTS.items():
        begin, end = f"<!-- {name}:begin -->\n", f"<!-- {name}:end -->"
        before, middle, rest = page.partition(begin)
        if middle:
            if end not in rest:
                sys.exit(f"bench/report.py: {path}: {begin.strip()} has no {end}")
            page = before + begin + text(results) + end + rest.partition(end)[2]
            found += 1
    if not found:
        sys.exit(f"bench/report.py: {path} has none of the markers of {', '.join(PARTS)}")
    with open(path, "w", encoding="utf-8") as file:
        file.write(page)


def machine_text(results):
    about = results["machine"]
    versions = ", ".join(f"{name} {text}" for name, text in about["versions"].items())
    lines = [
        f'{about["cores"]} cores ({about["cpu"]}), {about["memory"] / (1 << 30):.0f} GB, Linux {about["kernel"]}, {about["system"]}, '
        f'cgroup {about["cgroups"]}, as {about["user"]}; {results["date"]}.',
        f"{versions}.",
    ]
    lines += [f"Left out: {name}: {' '.join(why.split())}." for name, why in about["left_out"].items()]
    if results.get("not_idle"):
        lines.append(f'{results["not_idle"]} series began although the machine was busy with something else.')
    return "\n\n".join(lines) + "\n"


def latency_text(part):
    head = ("hello in", "how", "runs", "p50", "p95", "p99", "of bare p50", "")
    rows = []
    for language, contenders in part.items():
        bare = at(contenders, "bare", "p50")
        for key, name in ROWS.items():
            if key in contenders:
                figures = contenders[key]
                rows.append((NAMES[language], name, figures["count"], *(ms(figures.get(rank)) for rank in ("p50", "p95", "p99")),
                             times(ratio(figures.get("p50"), bare)), note(figures)))
    return ("Milliseconds from the start, or from sending the request, to the end of output and the result. Thirty milliseconds "
            "lie between two runs. Go and C are built before for all but emberbox, which gets the source and has built it "
            "once. The other sandboxes have no seccomp filter.\n\n" + table(head, rows))


def builds_text(part):
    head = ("hello in", "bare p50 (p95)", "over the socket p50 (p95)", "of bare", "cold p50 (p95)", "of bare", "")
    rows = []
    for name, row in part.items():
        if "left_out" in row:
            rows.append((name, *["–"] * 5, row["left_out"]))
            continue
        rank = "first_" if "first row" in name else ""
        cells = {who: f'{ms(at(row, who, rank + "p50"))} ({ms(at(row, who, rank + "p95"))})' for who in row}
        of_bare = {who: times(ratio(at(row, who, rank + "p50"), at(row, "bare", rank + "p50"))) for who in row}
        rows.append((name, cells["bare"], cells["service"], of_bare["service"], cells["cold"], of_bare["cold"], note(row["service"])))
    return ('Milliseconds. "first" is a program never seen before, "again" the same once more. Bare is what a person would type, '
            "with the caches that the tools have themselves: `go run`, gcc and then the program, tsc and then node, initdb and "
            "psql.\n\n" + table(head, rows))


def throughput_text(part):
    head = ("hello in", "how", "a second", "of bare", "p50 ms", "p99 ms", "")
    rows = []
    for language, contenders in part.items():
        bare = at(contenders, "bare", "per_second")
        for key, figures in contenders.items():
            rate = figures.get("per_second")
            rows.append((NAMES[language], ROWS[key], "–" if rate is None else f"{rate:.0f}", times(ratio(rate, bare)),
                         ms(figures.get("p50")), ms(figures.get("p99")), note(figures)))
    return "Two workers, each with the next run as soon as the last has ended.\n\n" + table(head, rows)


def idle_rows(name, idle):
    for who, row in sorted(idle["by"].items()):
        yield (name, f'{who}{" × " + str(row["processes"]) if row["processes"] > 1 else ""}', row["wakeups"], f'{row["cpu"]:.2f}')


def memory_text(part):
    roles = part["alone"]["roles"]
    rows = [(role, mb(size["rss"]), mb(size["pss"])) for role, size in roles.items()]
    rows.append(("together", mb(sum(size["rss"] for size in roles.values())), mb(sum(size["pss"] for size in roles.values()))))
    text = "The service without embers, MB:\n\n" + table(("role", "RSS", "PSS"), rows)
    rows = [(NAMES[language], size["count"], mb(size["pss"]), mb(size["pss_max"]), "") if "pss" in size
            else (NAMES[language], "–", "–", "–", size["left_out"]) for language, size in part["embers"].items()]
    text += "\nAn idle ember, all processes of its box, MB; the fewer share the interpreter, the more each has of it:\n\n" + table(("language", "embers there", "PSS", "the largest", ""), rows)
    many = part["many"]
    if "left_out" in many:
        text += f'\nMany embers: {many["left_out"]}.\n'
    else:
        text += f'\nOf {many["wanted"]} idle Python embers that were allowed, {many["reached"]} were there at once.'
        if "fit" in many:
            text += (f' Each takes {mb(many["pss"])} MB PSS, and {mb(many["all_memory"])} MB of the machine with what the kernel '
                     f'needs for it: by that {many["fit"]} fit into {many["available"] / (1 << 30):.1f} GB.')
        text += "\n"
    idle = [*idle_rows("no embers", part["alone"]["idle"])]
    with_embers = at(part, "embers", "python", "idle")
    idle += [*idle_rows("with embers", with_embers)] if with_embers else []
    text += f'\nWhat an idle service does in {part["alone"]["idle"]["seconds"]:.0f} s:\n\n'
    return text + table(("", "who", "wake-ups", "CPU seconds"), idle)


def growth_text(part):
    rows = []
    for count, contenders in part["at_once"].items():
        for key, figures in contenders.items():
            rate = figures.get("per_second")
            rows.append((count, ROWS[key], figures["count"], "–" if rate is None else f"{rate:.0f}", ms(figures.get("p50")),
                         ms(figures.get("p99")), note(figures)))
    text = "Python hello, so many callers at once; the service lets some run and the others wait:\n\n"
    text += table(("at once", "how", "runs", "a second", "p50 ms", "p99 ms", ""), rows)
    rows = []
    for size, contenders in part["output"].items():
        for key, figures in contenders.items():
            moved = figures.get("transfer_p50")
            speed = f'{figures["bytes"] / figures["count"] / moved / 1e6:.0f}' if moved and figures["count"] else "–"
            rows.append((size, ROWS[key], figures["count"], ms(figures.get("p50")), ms(figures.get("first_p50")), speed, note(figures)))
    text += "\nOutput of a Python program, streamed; MB/s from the first byte to the last:\n\n"
    return text + table(("output", "how", "runs", "whole, p50 ms", "first byte, p50 ms", "MB/s", ""), rows)


def http_text(part):
    hello = part["hello"]
    if "left_out" in hello:
        text = f'Hello: {hello["left_out"]}.\n'
    else:
        rows = [(ROWS[key], figures["count"], *(ms(figures.get(rank)) for rank in ("p50", "p95", "p99")), note(figures))
                for key, figures in hello.items()]
        text = "Python hello by several ways to the same service, which took turns; milliseconds:\n\n"
        text += table(("how", "runs", "p50", "p95", "p99", ""), rows)
    rows = [(connections, f'{figures["per_second"]:.0f}', *(ms(figures[rank]) for rank in ("p50", "p95", "p99")), note(figures))
            for connections, figures in part["health"].items()]
    text += "\n`GET /v1/health` over TCP, one thread on each side; milliseconds:\n\n"
    text += table(("connections", "a second", "p50", "p95", "p99", ""), rows)
    held = part["streams"]
    if "left_out" in held:
        return text + f'\nEvent streams: {held["left_out"]}.\n'
    text += (f'\n{held["streams"]} event streams on which nothing happens: {mb(held["pss"])} MB PSS more in the service, {mb(held["machine"])} MB '
             f'of the machine with their sockets; {held["cpu"]:.2f} s of CPU and {held["wakeups"]} wake-ups in {held["seconds"]:.0f} s.')
    return text + (f' {held["failed"]} failed: {held["problem"]}.' if held["failed"] else "") + "\n"


SECTIONS = {
    "latency": ("Latency", latency_text), "builds": ("Languages that are built", builds_text),
    "throughput": ("Throughput", throughput_text), "memory": ("Memory, and doing nothing", memory_text),
    "growth": ("How cost grows", growth_text), "http": ("HTTP", http_text),
}


def markdown(results):
    text = ("# Results of `make bench`\n\nRatios are of one run on one machine, where what is compared took turns; compare no "
            "absolute figures of two runs. Percentiles are nearest ranks.\n\n" + machine_text(results))
    text += "\n## Goals\n\n" + table(("work", "goal", "measured", ""), goals(results))
    for name, (title, write) in SECTIONS.items():
        part = results["parts"].get(name)
        if part:
            text += f"\n## {title}\n\n" + (f'Left out: {part["left_out"]}\n' if "left_out" in part else write(part))
    return text + f'\n{results.get("cold_starts", 0)} cold boxes were started for all of this.\n'


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as source:
        measured_results = json.load(source)
    if sys.argv[2:]:
        for page in sys.argv[2:]:
            page_write(page, measured_results)
    else:
        print(markdown(measured_results), end="")
