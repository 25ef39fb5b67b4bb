#!/usr/bin/python3
# tests/run: args=--as root
# tests/run: timeout=300
"""What a model is sent of our tools' results by frameworks for agents, as npm has them: the AI SDK, LangChain and OpenAI
Agents. tools/setup installs them; the model is a server on this machine that keeps what it is sent."""

import base64
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit
from npm import MODULES, NODE
from service import Service

REGISTRY = """
containers:
  careful: {language: bash, security: {needs_confirm: true}}
"""
# A picture whose bytes are like no others, for a search of all that is sent.
DRAW = """import os, struct, zlib
def chunk(kind, data): return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))
rows = b''.join(b'\\0' + os.urandom(120) for _ in range(40))
picture = b'\\x89PNG\\r\\n\\x1a\\n' + chunk(b'IHDR', struct.pack('>IIBBBBB', 40, 40, 8, 2, 0, 0, 0)) + chunk(b'IDAT', zlib.compress(rows)) + chunk(b'IEND', b'')
"""
FILES = DRAW + """open('/sandbox/output/plot.png', 'wb').write(picture)
open('/sandbox/output/data.csv', 'w').write('a,b')
print('drawn')"""
FIGURE = DRAW + """class Figure:
    def _repr_png_(self): return picture
    def __repr__(self): return '<a figure>'
Figure()"""
CALLS = [
    {"name": "run_code", "arguments": {"language": "python", "code": "print('hello')"}},
    {"name": "run_code", "arguments": {"language": "python", "code": FILES}},
    {"name": "run_in_session", "arguments": {"language": "python", "code": FIGURE, "end": True}},
    {"name": "run_code", "arguments": {"language": "bash", "code": "echo oops >&2; exit 3"}},
    {"name": "run_code", "arguments": {"language": "bash", "code": "echo no", "profile": "careful"}},
]
CONFIRM = 'profile "careful" needs a confirmation by a person, whom this client cannot ask'


def parts(body):
    """What stands for the tool's result in the last message of a request, as [(kind, text)]: a picture's text is its base64."""
    message = body.get("messages", body.get("input"))[-1]
    if message.get("role") == "user":  # Anthropic
        kit.equal([part["type"] for part in message["content"]], ["tool_result"])
        content = message["content"][0]["content"]
    else:
        kit.contains(({"role": "tool"}, {"type": "function_call_output"}), {key: message[key] for key in ("role", "type") if key in message})
        content = message.get("content", message.get("output"))
    if isinstance(content, str):
        return [("text", content)]
    found = []
    for part in content:
        if part["type"] in ("text", "input_text"):
            found.append(("text", part["text"]))
        elif part["type"] == "image":
            kit.equal((part["source"]["type"], part["source"]["media_type"]), ("base64", "image/png"))
            found.append(("picture", part["source"]["data"]))
        else:
            kit.contains(("input_image", "image_url"), part["type"])
            url = part["image_url"]["url"] if part["type"] == "image_url" else part["image_url"]
            kit.equal(url[:22], "data:image/png;base64,")
            found.append(("picture", url[22:]))
    return found


def sends(pictures, *frameworks):
    """That each of them gives a model what there is to read, and pictures as such, or not at all."""
    if not os.path.exists(os.path.join(MODULES, "@openai", "agents")) or not os.path.exists(NODE):
        kit.skip("the packages of npm are not there; tools/setup test")
    home = kit.tmp()
    kit.write(os.path.join(home, "registry.yaml"), REGISTRY, 0o600)
    running = Service(listen=True, home=home)
    env = {"MODULES": MODULES, "SERVICE": f"http://127.0.0.1:{running.address[1]}/mcp", "TOKEN": running.token}
    r = kit.command([NODE, os.path.join(kit.REPO, "tests", "lib", "mcp_agents.mjs"), json.dumps(CALLS), *frameworks], env=env, timeout=150)
    kit.equal(r.code, 0, r.errtext[-1500:])
    for framework, bodies in r.json.items():
        hello, files, figure, failed, careful = [parts(body) for body in bodies]
        kit.contains(hello[0][1], "hello")
        for drawn, words in ((files, ("drawn", "plot.png", "data.csv")), (figure, ("ok",))):
            kit.equal([kind for kind, _ in drawn], ["text", "picture"] if pictures else ["text"], framework)
            for word in words:
                kit.contains(drawn[0][1], word, framework)
            # Its bytes are nowhere in what is text.
            kit.true("iVBOR" not in drawn[0][1] and len(drawn[0][1]) < 4000, f"{framework}: {drawn[0][1][:600]}")
            if pictures:
                kit.equal(base64.b64decode(drawn[1][1])[:8], b"\x89PNG\r\n\x1a\n", framework)
        kit.contains(failed[0][1], "oops", framework)
        kit.contains(careful[0][1], CONFIRM, framework)
    kit.equal(sorted(r.json), sorted(frameworks))
    running.stop()


@kit.test(timeout=170)
def the_ai_sdk_shows_pictures():
    sends(True, "ai-openai", "ai-anthropic")


@kit.test(timeout=170)
def langchain_shows_pictures():
    sends(True, "langchain-anthropic", "langchain-openai", "langchain-responses")


@kit.test(timeout=170)
def openai_agents_show_pictures():
    sends(True, "agents")


@kit.test(timeout=170)
def who_takes_no_pictures_gets_no_base64():
    """OpenAI Agents over the older interface or with useStructuredContent, and LangChain that keeps pictures aside."""
    sends(False, "agents-chat", "agents-structured", "langchain-artifact")


kit.main()
