#!/usr/bin/python3
"""emberbox why: which rule would decide about a connection. Nothing is run and no name is resolved."""
# tests/run: args=--as root | --as user
# tests/run: timeout=60

import json
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit

REGISTRY = """containers:
  open: {description: "any", language: python, security: {network_mode: bridge}}
  some: {description: "some", language: python, security: {network_mode: {allow: ["api.example.com:443", "*.example.net"]}}}
  closed: {description: "none", language: python, security: {network_mode: none}}
"""


def home(text=REGISTRY):
    directory = kit.tmp()
    kit.write(os.path.join(directory, "registry.yaml"), text)
    return directory


def why(net, *options, env=None, code):
    done = kit.emberbox("why", "--json", "--net", net, *options, env=env)
    kit.equal((done.code, done.errtext), (code, ""), f"{net} {options}: {done!r}")
    kit.equal(len(done.text.splitlines()), 1, done.text)
    answer = json.loads(done.text)
    kit.equal(sorted(answer), sorted(["host", "port", "verdict", "rule", "reason", "message", "allow"]))
    plain = kit.emberbox("why", "--net", net, *options, env=env)
    kit.equal((plain.code, plain.text, plain.errtext), (code, answer["message"] + "\n", ""))
    return answer


def decided(*args, **named):
    answer = why(*args, **named)
    return answer["verdict"], answer["reason"], answer["rule"], answer["allow"]


@kit.test
def the_rule_that_allows_is_named():
    rules = ("--rules", "pypi.org,*.example.com:8443,10.1.0.0/16:5432,[2001:db8::7]:443")
    for net, rule in (("pypi.org", "pypi.org"), ("PyPI.org.:443", "pypi.org"), ("a.example.com:8443", "*.example.com:8443"),
                      ("10.1.2.3:5432", "10.1.0.0/16:5432"), ("[2001:db8::7]:443", "[2001:db8::7]:443")):
        kit.equal(decided(net, *rules, code=0), ("allowed", "rule", rule, None), net)
    kit.equal(decided("anything.example.org:25", "--rules", "public", code=0), ("allowed", "rule", "public", None))


@kit.test
def a_refusal_says_what_would_allow_it():
    rules = ("--rules", "pypi.org,*.example.com:8443")
    kit.equal(decided("pypi.org:22", *rules, code=1), ("refused", "port", "pypi.org", "pypi.org:22"))
    kit.equal(decided("example.com:8443", *rules, code=1), ("refused", "no-rule", None, "example.com:8443"))
    kit.equal(decided("example.com:8443", code=1), ("refused", "no-rule", None, "example.com:8443"))
    kit.equal(decided("10.0.0.1:5432", "--rules", "public", code=1), ("refused", "scope", "public", "10.0.0.1:5432"))
    # The rule that it names does allow it.
    kit.equal(decided("10.0.0.1:5432", "--rules", "public,10.0.0.1:5432", code=0)[0], "allowed")
    kit.equal(decided("pypi.org:22", "--rules", "pypi.org,pypi.org:22", code=0)[0], "allowed")


@kit.test
def host_and_port_are_canonical():
    answer = why("ExAmple.COM.:443", code=1)
    kit.equal((answer["host"], answer["port"]), ("example.com", 443))
    answer = why("[2001:DB8:0::7]:443", code=1)
    kit.equal((answer["host"], answer["port"]), ("2001:db8::7", 443))
    answer = why("example.com", code=1)
    kit.equal((answer["host"], answer["port"]), ("example.com", None))


@kit.test
def a_profile_gives_rules_and_narrows():
    env = {"EMBERBOX_HOME": home()}
    kit.equal(decided("api.example.com:443", "--profile", "some", env=env, code=0), ("allowed", "rule", "api.example.com:443", None))
    kit.equal(decided("www.example.net:80", "--profile", "some", env=env, code=0)[2], "*.example.net")
    kit.equal(decided("api.example.com:80", "--profile", "some", env=env, code=1)[1], "port")
    kit.equal(decided("example.org:25", "--profile", "open", env=env, code=0)[2], "public")
    kit.equal(decided("example.org:25", "--profile", "closed", env=env, code=1)[1], "no-rule")
    # The rules of the run can ask for less than the profile has, and not for more.
    kit.equal(decided("www.example.net:80", "--profile", "some", "--rules", "public", env=env, code=0)[2], "public")
    kit.equal(decided("example.org:443", "--profile", "some", "--rules", "public", env=env, code=1), ("refused", "narrowed", "public", None))
    kit.equal(decided("api.example.com:443", "--profile", "some", "--rules", "none", env=env, code=1)[1], "no-rule")


@kit.test
def a_registry_can_be_named():
    path = os.path.join(home(), "registry.yaml")
    kit.equal(decided("example.org:25", "--profile", "open", "--registry", path, code=0)[0], "allowed")
    done = kit.emberbox("why", "--net", "example.org:25", "--profile", "open")
    kit.equal(done.code, 2)
    kit.contains(done.errtext, 'there is no "open"')


@kit.test
def the_settings_narrow():
    env = {"EMBERBOX_NET": "pypi.org"}
    kit.equal(decided("pypi.org:443", "--rules", "public", env=env, code=0)[0], "allowed")
    kit.equal(decided("example.org:443", "--rules", "public", env=env, code=1), ("refused", "narrowed", "public", None))
    # They give nothing.
    kit.equal(decided("pypi.org:443", env=env, code=1)[1], "no-rule")
    kit.equal(decided("host:8080", "--rules", "host:8080", env={"EMBERBOX_NET_HOST": "true"}, code=0)[2], "host:8080")
    done = kit.emberbox("why", "--net", "host:8080", "--rules", "host:8080")
    kit.equal(done.code, 2)
    kit.contains(done.errtext, "opens no services of its own machine")


@kit.test
def bad_usage_is_2_and_named():
    for words, message in (
        ((), "nothing to explain: give --net HOST[:PORT]"),
        (("--net",), "option --net needs a value: HOST[:PORT]"),
        (("--net", "https://example.com/"), "is a URL"),
        (("--net", "example.com:0"), "has a port that is not a number from 1 to 65535"),
        (("--net", "example.com:65536"), "has a port that is not a number from 1 to 65535"),
        (("--net", "0x7f.1"), "--net: "),
        (("--net", "a..b"), "--net: "),
        (("--net", "example.com", "--rules", "10.0.0.1"), "--rules: "),
        (("--net", "example.com", "extra"), 'unexpected argument "extra"'),
    ):
        done = kit.emberbox("why", *words)
        kit.equal((done.code, done.text), (2, ""), f"{words}: {done!r}")
        kit.contains(done.errtext, message)


@kit.test(modes=("root",))
def no_name_is_resolved():
    """Under strace the program makes no socket at all; the control is that strace sees that it looks for the registry."""
    strace = shutil.which("strace")
    if not strace:
        kit.skip("strace is not installed")
    trace = os.path.join(kit.tmp(), "trace")
    done = kit.command([strace, "-f", "-o", trace, kit.built(), "why", "--net", "example.com", "--rules", "example.com"])
    kit.equal((done.code, done.text), (0, "Network access to example.com is allowed, by the rule example.com\n"), f"{done!r}")
    with open(trace, encoding="utf-8", errors="replace") as file:
        seen = file.read()
    kit.contains(seen, "access(")
    for call in (" socket(", " connect(", "clone", "fork("):
        kit.true(call not in seen, call)


kit.main()
