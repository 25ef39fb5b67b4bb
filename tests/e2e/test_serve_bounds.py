"""What one client does to the service must not reach another: places that are used again, descriptors, logs, tokens.

tests/run: args=--as root | --as user
tests/run: timeout=180
"""

import json
import os
import resource
import socket
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit
from service import Service
from web import Web


@kit.test(timeout=90)
def stdin_of_a_run_is_not_cut_by_the_end_of_the_one_before():
    # The second gets the place of the first, whose pipe breaks in the same moment. The front is kept busy, so that
    # both events come at once.
    running = Service("--max-running", "1", "--embers", "4")
    over = threading.Event()

    def noise():
        while not over.is_set():
            Web(running, unix=True).get("/v1/health")

    noises = [threading.Thread(target=noise, daemon=True) for _ in range(2)]
    for each in noises:
        each.start()
    read = []
    for _ in range(40):
        with running.connect() as first, running.connect() as second:
            first.ask({"language": "bash", "code": "sleep 0.02", "input": "stream"})
            for _ in range(2):
                first.send("I", b"a" * 60000)
            second.ask({"language": "bash", "code": "wc -c", "input": "stream"})
            for _ in range(2):
                second.send("I", b"b" * 60000)
            second.send("I")
            first.answer()
            read.append(second.answer()[1]["stdout"].strip())
    over.set()
    for each in noises:
        each.join()
    kit.equal([size for size in read if size != "120000"], [], f"of {len(read)}")
    running.stop()


# The driver is stopped for good: a question to it is answered when it is given up, after seconds.
DEAF = """
import os, signal, time
driver = os.getpid()
if os.fork() == 0:
    os.setsid()
    time.sleep(0.3)
    open('/sandbox/output/deaf', 'w').close()
    while True:
        os.kill(driver, signal.SIGSTOP)
        time.sleep(0.001)
"""


def hang(running, path, headers, body):
    """A question whose client does not wait for the answer, once it is sent."""
    connected = socket.create_connection(running.address, timeout=10)
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    connected.sendall(f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{head}Content-Length: {len(body)}\r\n\r\n{body}".encode())
    return connected


@kit.test(timeout=90)
def questions_that_take_long_hold_up_nobody_else():
    running = Service("--max-running", "2", listen=True)
    headers = {"Authorization": f"Bearer {running.token}"}
    question = json.dumps({"code": "x", "cursor": 1})
    attacker, victim = Web(running), Web(running, unix=True)
    ids = [attacker.post("/v1/sessions", {"language": "python"}).json["id"] for _ in range(6)]
    for id in ids:
        kit.equal(attacker.post(f"/v1/sessions/{id}/execute", {"code": DEAF}).json["status"], "ok")
    for id in ids:
        kit.eventually(lambda: attacker.get(f"/v1/sessions/{id}/files/output/deaf").status == 200, "it is not deaf")
    asking = [hang(running, f"/v1/sessions/{id}/complete", headers, question) for id in ids]
    # They are on their way through the same front, before this.
    kit.equal(attacker.get("/v1/health").status, 200)
    began = time.monotonic()
    kit.equal(victim.post("/v1/execute", {"language": "python", "code": "print(6 * 7)"}).json["stdout"], "42\n")
    kit.equal(victim.get("/v1/sessions").status, 200)
    took = time.monotonic() - began
    kit.true(took < 3, f"others waited {took:.1f} s")
    for connected in asking:
        connected.close()
    running.stop()


@kit.test(timeout=90)
def questions_of_clients_that_went_count_for_who_asked():
    running = Service("--max-running", "8", listen=True)
    headers = {"Authorization": f"Bearer {running.token}"}
    question = json.dumps({"code": "x", "cursor": 1})
    attacker, victim = Web(running), Web(running, unix=True)
    ids = [attacker.post("/v1/sessions", {"language": "python"}).json["id"] for _ in range(5)]
    cells = [hang(running, f"/v1/sessions/{id}/execute", headers, json.dumps({"code": "import time; time.sleep(20)"})) for id in ids]
    for id in ids:
        kit.eventually(lambda: attacker.get(f"/v1/sessions/{id}").json["status"] == "busy", "no cell runs")
    # More than the keeper may be asked at once, of which each takes half a second.
    for _ in range(7):
        for connected in [hang(running, f"/v1/sessions/{ids[i % 5]}/complete", headers, question) for i in range(45)]:
            connected.close()
    kit.equal(victim.get("/v1/sessions").status, 200)
    for connected in cells:
        connected.close()
    running.stop()


@kit.test(timeout=60)
def a_front_without_descriptors_keeps_its_keeper_and_store():
    # As many connections as there may be descriptors, by whoever; a result that comes with one.
    def few():
        resource.setrlimit(resource.RLIMIT_NOFILE, (1024, 1024))

    # Boxes that wait need higher numbers.
    running = Service("--max-running", "4", "--embers", "0", listen=True, preexec_fn=few)
    strangers = []
    with running.connect() as client:
        client.ask({"language": "bash", "code": "sleep 1; head -c 200000 /dev/zero | tr '\\0' x", "limits": {"max_output": "1m"}})
        for _ in range(1024):
            stranger = socket.socket()
            stranger.settimeout(5)
            try:
                stranger.connect(running.address)
            except OSError:
                break
            strangers.append(stranger)
        kit.true(len(strangers) > 900, f"only {len(strangers)} connections")
        frames, result = client.answer()
        kit.equal((frames[-1][0], result.get("stdout_bytes")), ("J", 200000))
    for stranger in strangers:
        stranger.close()
    web = Web(running, unix=True)
    kit.eventually(lambda: web.get("/v1/health").json["status"] == "ok", "it stays degraded")
    kit.equal(web.get("/v1/executions?limit=1").status, 200)
    running.stop()


@kit.test(timeout=60)
def a_log_that_nobody_reads_holds_nobody_up():
    home = kit.tmp()
    reader, writer = os.pipe()
    process = kit.start(
        [kit.built(), "serve", "--embers", "0", "--log", "json"],
        env={"EMBERBOX_HOME": home, "EMBERBOX_LISTEN": "none"},
        stdout=subprocess.DEVNULL,
        stderr=writer,
    )
    os.close(writer)
    path = os.path.join(home, "emberbox.sock")
    kit.eventually(lambda: os.path.exists(path), "there is no socket")

    def health():
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(10)
            connection.connect(path)
            connection.sendall(b"GET /v1/health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            return connection.recv(64)[:15]

    kit.eventually(lambda: health() == b"HTTP/1.1 200 OK", "it does not serve")
    for _ in range(1000):
        kit.equal(health(), b"HTTP/1.1 200 OK")
    process.terminate()
    kit.equal(process.wait(15), 0)
    # What was said before the pipe was full is whole lines.
    with open(reader, "rb") as log:
        lines = log.read().splitlines()
    kit.true(100 < len(lines) < 1000, f"{len(lines)} lines")
    kit.equal({type(json.loads(line)) for line in lines}, {dict})


@kit.test(timeout=60)
def what_waits_when_its_token_is_removed_does_not_run():
    home = kit.tmp()
    kit.write(os.path.join(home, "registry.yaml"), "containers: {shell: {language: bash}}\n", 0o600)
    running = Service("--max-running", "1", "--embers", "0", home=home, listen=True)
    made = kit.emberbox("token", "add", "gone", env={"EMBERBOX_HOME": home}).text
    other = Web(running, token=next(word for word in made.split() if word.startswith("ebt_")))
    kit.eventually(lambda: other.get("/v1/languages").status == 200, "the token is not known")
    with running.connect() as first:
        first.ask({"language": "bash", "code": "sleep 2"})
        time.sleep(0.3)
        waiting = [other.connect(), other.connect()]
        waiting[0].send("POST", "/v1/execute", {"language": "bash", "code": "echo ran"})
        waiting[1].send("POST", "/containers/start", {"container": "shell"})
        time.sleep(0.3)
        kit.equal(kit.emberbox("token", "remove", "gone", env={"EMBERBOX_HOME": home}).code, 0)
        kit.eventually(lambda: other.get("/v1/languages").status == 401, "the token is still known")
        kit.equal(first.answer()[1]["status"], "ok")
    for each in waiting:
        answer = each.answer()
        kit.equal(answer.error[:2] + (answer.message,), (401, "unauthorized", "the token was removed while this waited"))
    kit.equal(Web(running).get("/containers/status").json["containers"], [])
    running.stop()


kit.main()
