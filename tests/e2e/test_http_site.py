#!/usr/bin/python3
"""The playground's files over HTTP: who gets them, in which form, and with which headers."""
# tests/run: args=--as root | --as user

import gzip
import http.client
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit
from service import Service
from web import Web

PLAIN = {"Accept-Encoding": "identity"}


def ask(running, path, headers=None, method="GET"):
    connection = http.client.HTTPConnection(*running.address, timeout=20)
    connection.request(method, path, headers=PLAIN if headers is None else headers)
    answer = connection.getresponse()
    answer.content = answer.read()
    connection.close()
    return answer


def assets(page):
    return re.findall(r'"(/assets/[^"]+)"', page.decode())


@kit.test
def the_page_needs_no_token_and_the_api_does():
    running = Service(listen=True)
    page = ask(running, "/")
    kit.equal((page.status, page.headers["content-type"]), (200, "text/html; charset=utf-8"))
    kit.contains(page.content, b"<title>emberbox playground</title>")
    kit.equal(Web(running, token=None).get("/v1/languages").error[0], 401)
    foreign = ask(running, "/", {"Host": "pages.example"})
    kit.equal(foreign.status, 403)
    kit.equal(ask(running, "/assets/../token").status in (400, 404), True)
    missing = ask(running, "/assets/nothing.js")
    kit.equal((missing.status, missing.headers["cache-control"]), (404, "no-store"))
    kit.contains(missing.content, b"the playground has no such file")


@kit.test
def headers_are_strict():
    running = Service(listen=True)
    page = ask(running, "/")
    policy = page.headers["content-security-policy"]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    kit.equal((rules["default-src"], rules["script-src"], rules["connect-src"]), ("'none'", "'self'", "'self'"))
    kit.equal((rules["frame-ancestors"], rules["base-uri"], rules["form-action"]), ("'none'", "'none'", "'none'"))
    for name, value in (("x-content-type-options", "nosniff"), ("x-frame-options", "DENY"),
                        ("referrer-policy", "no-referrer"), ("cross-origin-resource-policy", "same-origin")):
        kit.equal(page.headers[name], value)
    kit.equal(re.search(rb"<script(?![^>]*\bsrc=)", page.content), None)
    kit.equal(page.headers["cache-control"], "no-cache")
    found = assets(page.content)
    kit.true(found, "the page has no files")
    for path in found:
        part = ask(running, path)
        kit.equal((part.status, part.headers["cache-control"]), (200, "public, max-age=31536000, immutable"))
        kit.equal(part.headers["content-security-policy"], policy)


@kit.test
def gzip_is_sent_to_who_takes_it():
    running = Service(listen=True)
    path = next(name for name in assets(ask(running, "/").content) if name.endswith(".js"))
    plain, squeezed = ask(running, path), ask(running, path, {"Accept-Encoding": "br, gzip"})
    kit.equal((plain.headers["content-encoding"], squeezed.headers["content-encoding"]), (None, "gzip"))
    kit.equal(gzip.decompress(squeezed.content), plain.content)
    kit.equal((plain.headers["vary"], squeezed.headers["vary"]), ("Accept-Encoding", "Accept-Encoding"))
    kit.equal(plain.headers["content-type"], "text/javascript; charset=utf-8")
    kit.equal(ask(running, path, {"Accept-Encoding": "gzip;q=0"}).headers["content-encoding"], None)
    kit.equal(int(squeezed.headers["content-length"]), len(squeezed.content))


@kit.test
def what_a_client_has_is_not_sent_again():
    running = Service(listen=True)
    page = ask(running, "/")
    tag = page.headers["etag"]
    known = ask(running, "/", {"If-None-Match": tag})
    kit.equal((known.status, known.content, known.headers["etag"]), (304, b"", tag))
    kit.equal(ask(running, "/", {"If-None-Match": '"other"'}).status, 200)
    head = ask(running, "/", PLAIN, "HEAD")
    kit.equal((head.status, head.content, head.headers["content-length"]), (200, b"", str(len(page.content))))
    post = ask(running, "/", PLAIN, "POST")
    kit.equal((post.status, post.headers["allow"]), (405, "GET, HEAD"))


kit.main()
