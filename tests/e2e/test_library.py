#!/usr/bin/python3
"""What `make install` installs can be built against, as pkg-config says, shared and static."""
# tests/run: args=--as root
# tests/run: timeout=90

import glob
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit

PROGRAM = """
#include <emberbox.h>
#include <stdio.h>

int main(void)
{
	eb_error err;
	eb_options options = EB_OPTIONS_INIT;
	eb_request *request = eb_request_new();
	eb_result *result = NULL;
	const char *json;

	if (eb_request_set(request, "language", "bash", &err) < 0 ||
	    eb_request_set_code(request, "echo 42", 7, &err) < 0 || eb_execute(request, &options, &result, &err) < 0) {
		fprintf(stderr, "%s\\n", err.message);
		return 1;
	}
	json = eb_result_json(result);
	puts(json ? eb_result_status(result) : "no memory");
	eb_result_free(result);
	eb_request_free(request);
	return 0;
}
"""


def installed():
    """A directory that holds what is installed."""
    place = kit.tmp()
    r = kit.command(["meson", "install", "-C", kit.BUILD, "--no-rebuild", "--destdir", place], timeout=60)
    kit.equal(r.code, 0, repr(r))
    return place


def flags(place, *args):
    found = subprocess.run(["find", place, "-name", "emberbox.pc"], capture_output=True, text=True, check=True).stdout.split()
    kit.equal(len(found), 1, "emberbox.pc")
    # Only our own paths are below the place; Jansson's are the system's, which the compiler knows anyway.
    r = kit.command(["pkg-config", *args, "emberbox"], env={"PATH": kit.PATH, "PKG_CONFIG_PATH": os.path.dirname(found[0])})
    kit.equal((r.code, r.errtext), (0, ""))
    return [word.replace("/usr/local", f"{place}/usr/local") for word in r.text.split()]


def build(place, compiler, *extra, text=PROGRAM):
    directory = kit.tmp()
    source = kit.write(f"{directory}/program.c", text)
    static = ["--static"] if "-static" in extra else []
    language = ["-x", "c++"] if compiler == "c++" else []
    argv = [compiler, "-Wall", "-Wextra", "-Werror", *language, source, "-x", "none", *extra]
    r = kit.command([*argv, "-o", f"{directory}/program", *flags(place, "--cflags", "--libs", *static)], timeout=60)
    kit.equal(r.code, 0, r.errtext[-600:])
    return f"{directory}/program"


def example():
    """The C program of docs/library.md."""
    with open(os.path.join(kit.REPO, "docs", "library.md"), encoding="utf-8") as file:
        return re.search(r"^```c\n(.*?)^```$", file.read(), re.M | re.S)[1]


def looked_at():
    """Directories below which the system's own pkg-config and ld.so find what is there."""
    configs = kit.command(["pkg-config", "--variable", "pc_path", "pkg-config"]).text.strip().split(":")
    libraries = ["/lib", "/usr/lib", "/lib64", "/usr/lib64"]
    for path in glob.glob("/etc/ld.so.conf.d/*.conf"):
        with open(path, encoding="utf-8") as file:
            libraries += file.read().split()
    return configs, libraries


@kit.test(timeout=80)
def programs_can_be_linked():
    if not shutil.which("pkg-config"):
        kit.skip("no pkg-config")
    place = installed()
    where = [word[2:] for word in flags(place, "--libs") if word.startswith("-L")][0]
    r = kit.command([build(place, "cc")], env={"PATH": kit.PATH, "LD_LIBRARY_PATH": where})
    kit.equal((r.code, r.text, r.errtext), (0, "ok\n", ""), "shared")
    r = kit.command([build(place, "cc", text=example())], env={"PATH": kit.PATH, "LD_LIBRARY_PATH": where})
    kit.equal((r.code, r.text, r.errtext), (0, "42\n", ""), "the example of docs/library.md")
    configs, libraries = looked_at()
    kit.contains(libraries, where[len(place) :], "ld.so does not look there")
    kit.contains(configs, f"{where[len(place):]}/pkgconfig", "pkg-config does not look there")
    r = kit.command([build(place, "cc", "-static")])
    kit.equal((r.code, r.text, r.errtext), (0, "ok\n", ""), "static")
    if shutil.which("c++"):
        r = kit.command([build(place, "c++")], env={"PATH": kit.PATH, "LD_LIBRARY_PATH": where})
        kit.equal((r.code, r.text, r.errtext), (0, "ok\n", ""), "C++")


def symbols(*args):
    """{name: kind} as nm has them."""
    r = kit.command(["nm", *args], timeout=60)
    kit.equal(r.code, 0, r.errtext[-600:])
    found = {}
    for line in r.text.splitlines():
        words = line.split()
        if len(words) >= 2 and len(words[-2]) == 1:
            found[words[-1]] = words[-2]
    return found


# One function of each tier that only the service, its clients or the program have.
ELSEWHERE = ("http_parse", "tls_context_new", "websocket_take", "mcp_era_of", "frame_encode", "service_socket_connect", "client_run",
             "message_send", "front_run", "keeper_run", "serve_run", "sessions_start")


@kit.test(timeout=80)
def the_library_is_the_api_alone():
    """No HTTP server, no MCP, no TLS, no service: whoever links it does not carry them, and does not need Mbed TLS."""
    program = symbols("--defined-only", kit.built())
    place = installed()
    archive, = glob.glob(f"{place}/**/libemberbox.a", recursive=True)
    shared = os.path.realpath(glob.glob(f"{place}/**/libemberbox.so", recursive=True)[0])
    defined = symbols("--defined-only", archive)
    for name in ELSEWHERE:
        kit.true(name in program, f"{name} is not in the program: the test looks for what is nowhere")
        kit.true(name not in defined, f"{name} is in libemberbox.a")
    for name in ("eb_execute", "run_explain", "gate_look"):
        kit.contains(defined, name)
    kit.equal([name for name in symbols("--undefined-only", archive) if name.startswith("mbedtls_")], [])
    needed = kit.command(["readelf", "-d", shared]).text
    kit.contains(needed, "libjansson")
    kit.true("mbed" not in needed, needed)
    # What the shared object shows is the public header's, each of it and nothing else.
    with open(os.path.join(kit.REPO, "include", "emberbox.h"), encoding="utf-8") as file:
        public = set(re.findall(r"\b(eb_\w+)\(", file.read()))
    kit.equal({name for name, kind in symbols("-D", "--defined-only", shared).items() if kind == "T"}, public)


kit.main()
