#!/usr/bin/python3
"""--net: a program reaches what its rules name, nothing else, and the result tells which. Cold, and through a service."""
# tests/run: args=--as root | --as user
# tests/run: timeout=240

import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit
from service import Service
from world import world

FETCH = """
import sys, urllib.request
for url in sys.argv[1:]:
    try:
        print(url, urllib.request.urlopen(url, timeout=10).read().decode().strip())
    except Exception as e:
        print(url, type(e).__name__, e)
"""
CONNECT = """
import errno, socket, sys
for to in sys.argv[1:]:
    host, port = to.rsplit(":", 1)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    s = socket.socket(family)
    s.settimeout(10)
    try:
        s.connect((host.strip("[]"), int(port)))
        print(to, "connected")
    except OSError as e:
        print(to, errno.errorcode.get(e.errno, e))
"""
RESOLVE = """
import socket, sys
for name in sys.argv[1:]:
    try:
        print(name, sorted({a[4][0] for a in socket.getaddrinfo(name, 80, type=socket.SOCK_STREAM)}))
    except socket.gaierror as e:
        print(name, e.errno == socket.EAI_NONAME, e)
"""


def run_once(start, code, args, net, options, env):
    words = ["--net", net] if net else []
    words += ["--cold"] if start == "cold" else []
    with world().inside():
        done = kit.emberbox("run", "--json", "-l", "python", *words, *options, "-c", code, "--", *args, env=env)
    kit.true(done.text.startswith("{"), done.errtext)
    result = json.loads(done.text)
    kit.equal(result["meta"]["start"], start, f"{result}")
    return result


running = None  # a service in the world's machine, with boxes of Python that wait; it ends with its test


def through_service():
    global running
    if running is None or running.process.poll() is not None:
        with world().inside():
            running = Service()
            env = {"EMBERBOX_HOME": running.home, "EMBERBOX_SERVICE": "auto"}
            kit.eventually(lambda: '"start":"warm"' in kit.emberbox("run", "--json", "-l", "python", "-c", "1", env=env).text, "no box waits")
    return {"EMBERBOX_HOME": running.home, "EMBERBOX_SERVICE": "auto"}


def run(code, *args, net=None, options=(), same=True):
    """The result of a run in the world's machine, cold; a warm one has to print the same, unless what it prints may differ: a
    connection that is refused after connect() is reset at one call or the next."""
    cold = run_once("cold", code, args, net, options, None)
    warm = run_once("warm", code, args, net, options, through_service())
    if same:
        kit.equal(warm["stdout"], cold["stdout"], f"{warm}")
    for key in ("mode", "refused"):
        kit.equal(warm["meta"]["network"][key], cold["meta"]["network"][key], f"{key}: {warm['meta']['network']}")
    return cold


def lines(result):
    return result["stdout"].splitlines()


@kit.test
def an_allowed_name_is_reached_and_no_other():
    world().http("allowed.example.com")
    world().http("other.example.com")
    result = run(FETCH, "http://allowed.example.com/a", "http://other.example.com/b", net="allowed.example.com")
    kit.equal(lines(result)[0], "http://allowed.example.com/a GET /a from allowed.example.com", f"{result}")
    kit.contains(lines(result)[1], "http://other.example.com/b URLError", f"{result}")
    network = result["meta"]["network"]
    kit.equal((network["mode"], network["allowed"]), ("allow", 1), f"{network}")
    kit.equal([(c["host"], c["port"], c["verdict"]) for c in network["connections"] if c["verdict"] == "allowed"],
              [("allowed.example.com", 80, "allowed")])
    kit.contains([c["host"] for c in network["connections"] if c["verdict"] == "refused"], "other.example.com", f"{network}")


@kit.test
def a_refused_name_is_not_asked_for_outside():
    world().http("allowed.example.com")
    world().http("secret-data.example.com")
    result = run(RESOLVE, "secret-data.example.com", "allowed.example.com", net="allowed.example.com")
    kit.contains(lines(result)[0], "secret-data.example.com True", f"{result}")
    kit.contains(lines(result)[1], "allowed.example.com ['198.18.", f"{result}")
    kit.true(all("secret-data" not in name for _, name in world().queries()), world().queries())


@kit.test
def without_rules_there_is_no_network():
    world().http("allowed.example.com")
    result = run(CONNECT, "93.184.216.1:80", "10.99.0.1:53", "169.254.169.254:80")
    kit.equal(lines(result), ["93.184.216.1:80 ENETUNREACH", "10.99.0.1:53 ENETUNREACH", "169.254.169.254:80 ENETUNREACH"])
    kit.equal(result["meta"]["network"]["mode"], "none")


@kit.test
def with_rules_all_other_addresses_are_unreachable():
    address = world().http("allowed.example.com")
    result = run(CONNECT, f"{address}:80", "10.99.0.1:53", "10.99.0.2:22", "169.254.169.254:80", "127.0.0.1:80", "[2001:db8::1]:80",
                 net="allowed.example.com")
    kit.equal([line.rsplit(" ", 1)[1] for line in lines(result)],
              ["ENETUNREACH", "ENETUNREACH", "ENETUNREACH", "ENETUNREACH", "ECONNREFUSED", "ENETUNREACH"], f"{result}")


@kit.test
def an_address_rule_allows_that_address_and_port():
    address = world().serve("http")
    result = run(CONNECT, f"{address}:80", f"{address}:81", net=f"{address}:80")
    kit.equal(lines(result), [f"{address}:80 connected", f"{address}:81 ECONNREFUSED"])


@kit.test
def tls_is_end_to_end():
    world().tls("tls.example.com")
    code = FETCH.replace("timeout=10", "timeout=10, context=__import__('ssl').create_default_context(cafile='/sandbox/code/ca.pem')")
    result = run(code, "https://tls.example.com/x", net="tls.example.com", options=["--file", f"{world().authority}:ca.pem"])
    kit.equal(lines(result), ["https://tls.example.com/x GET /x from tls.example.com"], f"{result}")
    kit.equal(result["meta"]["network"]["connections"][0]["level"], "sni", f"{result}")


@kit.test
def a_name_that_leads_to_a_private_address_is_refused():
    world().name("inside.example.com", "10.99.0.1")
    result = run(FETCH, "http://inside.example.com/", net="inside.example.com", same=False)
    kit.true("GET" not in result["stdout"], f"{result}")
    refused = [c for c in result["meta"]["network"]["connections"] if c["verdict"] == "refused"]
    kit.equal([(c["host"], c["reason"]) for c in refused][:1], [("inside.example.com", "scope")], f"{result}")


@kit.test
def public_reaches_public_addresses_and_no_others():
    address = world().serve("http", port=8080)
    world().http("any.example.net")
    result = run(CONNECT, f"{address}:8080", net="public")
    kit.equal(lines(result), [f"{address}:8080 connected"], f"{result}")
    result = run(FETCH, "http://any.example.net/", "http://10.99.0.1:53/", net="public", same=False)
    kit.equal(lines(result)[0], "http://any.example.net/ GET / from any.example.net", f"{result}")
    kit.true("GET" not in lines(result)[1], lines(result))


@kit.test
def name_servers_can_be_set_in_a_file():
    """Cold and by a service; the machine's own resolv.conf names none that answers."""
    world().http("allowed.example.com")
    home = kit.tmp()
    kit.write(os.path.join(home, ".env"), f"EMBERBOX_RESOLVER={world().resolver}\n")
    words = ("run", "--json", "-l", "python", "--net", "allowed.example.com", "-c", FETCH, "--", "http://allowed.example.com/")
    with world().inside(resolver=False):
        running = Service(home=home)
        for start, env in (("cold", "never"), ("warm", "auto")):
            done = kit.emberbox(*words, env={"EMBERBOX_HOME": home, "EMBERBOX_SERVICE": env})
            kit.equal(done.json["stdout"], "http://allowed.example.com/ GET / from allowed.example.com\n", f"{start}: {done.json}")
        running.stop()


def environment_of(pid):
    with open(f"/proc/{pid}/environ", "rb") as file:
        return {variable.partition(b"=")[0].decode() for variable in file.read().split(b"\0") if variable}


@kit.test
def egress_has_no_variables_that_could_be_secrets():
    """Of a service, and of a run alone. Its name servers, which are a variable too, are there."""
    secrets = {"EMBERBOX_TOKEN": "a-token-of-this-test-0123456789", "AWS_SECRET_ACCESS_KEY": "x"}
    known = {"EMBERBOX_RESOLVER", "RES_OPTIONS", "https_proxy", "HTTPS_PROXY", "no_proxy", "NO_PROXY", "TZ", *kit.KEPT_ENVIRONMENT, "HOME", "EMBERBOX_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "SSL_CERT_FILE"}
    with world().inside():
        service = Service(env=secrets)
        run = kit.start([kit.built(), "run", "--cold", "-l", "bash", "--net", "allowed.example.com", "-c", "echo up; read x"],
                        env=secrets, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    kit.equal(run.stdout.readline(), b"up\n")

    def own():
        for pid in kit.descendants(run.pid):
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                if b"--role=egress-own" in file.read():
                    return pid
        return None

    for parent, egress in ((service.pid, service.role("egress")), (run.pid, kit.eventually(own, "the run has no egress"))):
        kit.true(set(secrets) <= environment_of(parent), "the variables are the caller's")
        found = environment_of(egress)
        kit.true("EMBERBOX_RESOLVER" in found and found <= known, f"{found}")
    kit.finish(run, stdin=b"\n")
    service.stop()


@kit.test
def a_failed_run_says_what_was_refused_and_how_to_allow_it():
    world().http("allowed.example.com")
    result = run("import urllib.request; urllib.request.urlopen('http://blocked.example.com/')", net="allowed.example.com")
    kit.equal(result["error_message"], "Network access to blocked.example.com is not allowed; allow it with --net blocked.example.com")
    verdict = result["verdict"]
    kit.equal((verdict["cause"], verdict["certain"], verdict["host"], verdict["allow"]),
              ("network", True, "blocked.example.com", "blocked.example.com"), f"{verdict}")
    # Also if the program swallows the error.
    result = run("import sys, urllib.request\ntry: urllib.request.urlopen('http://blocked.example.com/')\nexcept OSError: sys.exit(3)",
                 net="allowed.example.com")
    kit.equal(result["error_message"], "Network access to blocked.example.com is not allowed; allow it with --net blocked.example.com")
    # Also if the connection was reset: only the address told that the name is not allowed.
    world().name("inside.example.com", "10.99.0.1")
    result = run("import urllib.request; urllib.request.urlopen('http://inside.example.com/')", net="inside.example.com")
    kit.equal(result["error_message"], "Network access to inside.example.com:80 is not allowed: the name leads to 10.99.0.1, a private address; "
                                       "allow it with --net inside.example.com:80#private")
    # Not if it failed by something else.
    result = run("import socket\ntry: socket.getaddrinfo('blocked.example.com', 80)\nexcept OSError: pass\nprint(1 // 0)", net="allowed.example.com")
    kit.equal(result["error_message"], "Execution failed: ZeroDivisionError: integer division or modulo by zero")
    kit.equal(result["verdict"], None)


@kit.test
def the_command_line_says_what_was_refused_once():
    world().http("allowed.example.com")
    code = "import sys, urllib.request\ntry: urllib.request.urlopen('http://blocked.example.com/')\nexcept OSError: sys.exit({})"
    for env in (None, through_service()):
        with world().inside():
            done = kit.emberbox("run", "-l", "python", "--net", "allowed.example.com", "-c", code.format(3), env=env)
            kit.equal((done.code, done.errtext),
                      (3, "emberbox: Network access to blocked.example.com is not allowed; allow it with --net blocked.example.com\n"))
            # Not with --quiet, and not if the program made do without.
            for words in (("-q", "-c", code.format(3)), ("-c", code.format(0))):
                done = kit.emberbox("run", "-l", "python", "--net", "allowed.example.com", *words, env=env)
                kit.equal(done.errtext, "")


kit.main()
