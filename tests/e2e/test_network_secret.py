#!/usr/bin/python3
"""--secret and rules for requests: a value that never enters the box, and requests that no rule allows."""
# tests/run: args=--as root | --as user
# tests/run: timeout=180

import base64
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit
from service import Service
from web import Web
from world import world

VALUE = "s3cret-value-123"
ASK = """
import json, os, sys, urllib.request, urllib.error
for method, url, header in json.loads(sys.argv[1]):
    request = urllib.request.Request(url, method=method, headers={k: v.replace("$TOKEN", os.environ.get("TOKEN", "")) for k, v in header.items()})
    try:
        print(urllib.request.urlopen(request, timeout=20).read().decode().strip())
    except urllib.error.HTTPError as e:
        print(e.code, e.headers.get("x-emberbox-denied"), json.loads(e.read())["error"]["message"])
    except OSError as e:
        print(type(e).__name__)
"""


def run(requests, net, *options, code=ASK, env=None, stdin=None):
    """What a cold run says. The test's authority stands in for those that the host trusts."""
    with world().inside():
        done = kit.emberbox("run", "--cold", "--json", "-l", "python", "--net", net, *options, "-c", code, "--", json.dumps(requests),
                            env={"SSL_CERT_FILE": world().authority, **(env or {})}, stdin=stdin, timeout=60)
    kit.true(done.text.startswith("{"), done.errtext)
    return json.loads(done.text)


def seen(name):
    """Header fields that the server got, newest last."""
    return [r["fields"] for r in world()._seen("request") if r["fields"].get("host") == name]


@kit.test(timeout=90)
def the_server_gets_the_value_and_the_program_never_has_it():
    world().tls("token.example.com")
    code = ASK + "print(os.environ['TOKEN'])\nprint(open('/proc/self/environ').read().count('s3cret'))"
    result = run([["GET", "https://token.example.com/echo", {"Authorization": "Bearer $TOKEN"}]], "token.example.com",
                 "--secret", "TOKEN@token.example.com", code=code, env={"TOKEN": VALUE})
    kit.equal(seen("token.example.com")[-1]["authorization"], f"Bearer {VALUE}", f"{result}")
    lines = result["stdout"].splitlines()
    # The server's answer has the value in it: the program gets it masked.
    kit.true(VALUE not in json.dumps(result), f"{result}")
    kit.matches(lines[1], r"^ember-secret-[0-9a-f]{32}$")
    kit.equal(lines[2], "0")
    kit.equal(result["meta"]["network"]["connections"][0]["level"], "request", f"{result}")


@kit.test(timeout=90)
def another_host_does_not_get_it():
    world().tls("token.example.com")
    world().tls("other.example.com")
    run([["GET", "https://other.example.com/x", {"Authorization": "Bearer $TOKEN"}]], "token.example.com,other.example.com",
        "--secret", "TOKEN@token.example.com", env={"TOKEN": VALUE})
    kit.true(all(VALUE not in json.dumps(fields) for fields in seen("other.example.com")), f"{seen('other.example.com')}")


@kit.test(timeout=90)
def basic_authentication_gets_it_too():
    world().tls("basic.example.com")
    code = ASK.replace("$TOKEN\", os.environ.get(\"TOKEN\", \"\")", "$BASIC\", __import__('base64').b64encode(('me:' + os.environ['TOKEN']).encode()).decode()")
    result = run([["GET", "https://basic.example.com/x", {"Authorization": "Basic $BASIC"}]], "basic.example.com",
                 "--secret", "TOKEN=-@basic.example.com", code=code, stdin=f"{VALUE}\n".encode())
    want = "Basic " + base64.b64encode(f"me:{VALUE}".encode()).decode()
    kit.equal(seen("basic.example.com")[-1]["authorization"], want, f"{result}")


@kit.test(timeout=60)
def what_could_fail_open_is_refused_before_anything_runs():
    def refused(*words, env=None):
        r = kit.emberbox("run", "--cold", "-l", "sh", "-c", "echo ran", *words, env=env)
        kit.equal((r.code, r.text), (2, ""), f"{words}: {r.errtext}")
        kit.true(VALUE not in r.errtext, r.errtext)
        return r.errtext

    kit.contains(refused("--secret", "TOKEN@a.example.com", env={"TOKEN": VALUE}), "has no network")
    kit.contains(refused("--net", "b.example.com", "--secret", "TOKEN@a.example.com", env={"TOKEN": VALUE}), "a.example.com")
    kit.contains(refused("--net", "a.example.com:80", "--secret", "TOKEN@a.example.com", env={"TOKEN": VALUE}), "a.example.com")
    kit.contains(refused("--net", "a.example.com", "--secret", "TOKEN@a.example.com"), "the variable TOKEN is not set")
    kit.contains(refused("--net", "a.example.com", "--secret", f"TOKEN={VALUE}@a.example.com"), "cannot be given here")
    refused("--net", "a.example.com", "--secret", "TOKEN@a.example.com", env={"TOKEN": f"{VALUE}\r\nx"})


@kit.test(timeout=90)
def requests_that_no_rule_allows_are_answered_with_403():
    world().tls("rules.example.com")
    result = run([["GET", "https://rules.example.com/repos/a", {}], ["GET", "https://rules.example.com/other", {}],
                  ["POST", "https://rules.example.com/repos/a", {}], ["GET", "https://rules.example.com/repos/../other", {}]],
                 "GET https://rules.example.com/repos/*")
    lines = result["stdout"].splitlines()
    kit.equal(lines[0], "GET /repos/a from rules.example.com", f"{result}")
    kit.equal(lines[1], "403 request GET https://rules.example.com/other is not allowed; allow it with --net 'GET https://rules.example.com/other'.")
    kit.contains(lines[2], "403 request POST https://rules.example.com/repos/a is not allowed")
    kit.true(lines[3].startswith("403 ") or lines[3].startswith("400 "), lines[3])
    paths = [r["target"] for r in world()._seen("request") if r["fields"].get("host") == "rules.example.com"]
    kit.equal(set(paths), {"/repos/a"})


@kit.test(timeout=90)
def over_http_and_nowhere_kept():
    world().tls("http.example.com")
    with world().inside():
        running = Service(env={"SSL_CERT_FILE": world().authority})
    client = Web(running, unix=True)
    code = "import os, urllib.request\nr = urllib.request.Request('https://http.example.com/x', headers={'X-Key': os.environ['TOKEN']})\nprint(urllib.request.urlopen(r, timeout=20).read())"
    result = client.post("/v1/execute", {"language": "python", "code": code, "network": {"allow": ["http.example.com"]},
                                         "secrets": [{"name": "TOKEN", "hosts": ["http.example.com"], "value": VALUE}]}).json
    kit.equal(result["status"], "ok", f"{result}")
    kit.equal(seen("http.example.com")[-1]["x-key"], VALUE)
    client.get(f"/v1/executions/{result['id']}")
    for directory, _, names in os.walk(running.home):
        for name in names:
            path = os.path.join(directory, name)
            if os.path.isfile(path):
                with open(path, "rb") as file:
                    kit.true(VALUE.encode() not in file.read(), f"the value is in {name}")
    bad = client.post("/v1/execute", {"language": "python", "code": "1", "network": {"allow": ["a.example.com"]},
                                      "secrets": [{"name": "TOKEN", "hosts": ["a.example.com"], "value": "short"}]})
    kit.equal((bad.status, bad.json["error"]["field"][:10]), (400, "secrets[0]"), repr(bad))


kit.main()
