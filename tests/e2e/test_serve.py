#!/usr/bin/python3
# tests/run: args=--as root | --as user | --as userns
# tests/run: builds=release asan
# tests/run: asan=--as root
# tests/run: timeout=240
"""`emberbox serve`: runs over the socket, roles that die, the end, and how each role is confined."""

import concurrent.futures
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import time
import uuid

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit
import service
from service import Service, box


def begin(client):
    """A run that does not end, whose program has printed its first line; how long it sleeps tells it from others."""
    seconds = f"1000.{uuid.uuid4().int}"
    client.ask({"language": "bash", "code": f"echo ready; sleep {seconds}", "timeout": 300}, stream=True)
    kit.equal(client.until("1")[-1][1], b"ready\n")
    return seconds


def status(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        return dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)


def wakeups(pid):
    """How often any thread of it was given the CPU back."""
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/status", encoding="utf-8") as file:
            total += sum(int(n) for n in re.findall(r"ctxt_switches:\t(\d+)", file.read()))
    return total


# Runs


@kit.test
def a_run_over_the_socket():
    running = Service()
    with running.connect() as client:
        frames, result = client.request({"language": "python", "code": "print(6 * 7)"})
        kit.equal([kind for kind, _ in frames], ["J"])
        kit.equal((result["status"], result["stdout"], result["exit_code"]), ("ok", "42\n", 0), result["error_message"])
        # The same connection carries the next one.
        frames, result = client.request({"language": "bash", "code": "echo oops >&2; exit 3"})
        kit.equal((result["status"], result["stderr"], result["exit_code"]), ("failed", "oops\n", 3))
    kit.equal(running.stop().code, 0)


def said_on_a_terminal(*options, **env):
    """What `serve` says where its standard error is a terminal, until it says no more; its home."""
    home, (ours, theirs) = kit.tmp(), os.openpty()
    process = kit.start([kit.built(), "serve", "--listen", "127.0.0.1:0", *options], env={"EMBERBOX_HOME": home, **env},
                        stdout=subprocess.DEVNULL, stderr=theirs)
    os.close(theirs)
    text = b""
    # The socket answers once all was said, and the audit log has the start behind it.
    kit.eventually(lambda: b"service_started" in (service.read(os.path.join(home, "audit.log")) or b""), "it does not start")
    yield home
    process.send_signal(signal.SIGTERM)
    try:
        while data := os.read(ours, 65536):
            text += data
    except OSError:  # the other end is closed
        pass
    os.close(ours)
    kit.equal(process.wait(20), 0)
    yield text.decode().replace("\r\n", "\n")


@kit.test(timeout=60)
def a_person_is_shown_the_page_and_a_log_no_token():
    talk = said_on_a_terminal()
    home = next(talk)
    token, address = kit.emberbox("token", "show", env={"EMBERBOX_HOME": home}).text.split()
    said = next(talk)
    kit.contains(said, f"emberbox: the playground, signed in: {address}/#token={token}\n")
    kit.contains(said, "emberbox: `emberbox token show` prints the token\n")
    # Who chose it knows it; what is written for programs is kept.
    for options, env, line in (((), {"EMBERBOX_TOKEN": token}, "(its token is EMBERBOX_TOKEN)"), (("--log", "json"), {}, '"serving at ')):
        talk = said_on_a_terminal(*options, **env)
        home = next(talk)
        token = kit.emberbox("token", "show", env={"EMBERBOX_HOME": home, **env}).text.split()[0]
        said = next(talk)
        kit.contains(said, line)
        kit.true(token not in said, said)
    running = Service(listen=True)
    running.process.send_signal(signal.SIGTERM)
    said = running.heard(r"ended\n")
    kit.true(running.token not in said and "playground" not in said, said)


@kit.test
def a_refused_request_names_its_field():
    with Service().connect() as client:
        frames, answer = client.request({"language": "python", "code": "1", "timeout": "soon"})
        kit.equal([kind for kind, _ in frames], ["E"])
        kit.equal((answer["error"]["code"], answer["error"]["field"]), ("bad_request", "timeout"))
        frames, answer = client.request({"language": "nonesuch", "code": "1"})
        kit.equal((frames[-1][0], answer["error"]["code"]), ("E", "unknown_language"))
        # What was refused leaves the connection as it was.
        kit.equal(client.request({"language": "bash", "code": "echo on"})[1]["stdout"], "on\n")


@kit.test
def output_comes_in_order_while_the_program_runs():
    code = "import sys\nprint('ready', flush=True)\nsys.stdin.readline()\nfor i in range(2000): print(i)\n"
    with Service().connect() as client:
        client.ask({"language": "python", "code": code, "input": "stream"}, stream=True)
        # The program waits for what we send only after its first line arrived here.
        first = client.until("1")
        kit.equal([kind for kind, _ in first], ["S", "1"])
        client.send("I", b"go on\n")
        client.send("I")
        frames, result = client.answer()
        output = b"".join(data for kind, data in first + frames if kind == "1").decode()
        kit.equal(output, "ready\n" + "".join(f"{i}\n" for i in range(2000)))
        kit.equal((frames[-1][0], result["status"]), ("J", "ok"))


@kit.test
def two_clients_at_once():
    running = Service()
    with running.connect() as one, running.connect() as two:
        begin(one)
        # The second is answered while the first runs.
        kit.equal(two.request({"language": "bash", "code": "echo two"})[1]["stdout"], "two\n")
        one.send("C")
        result = one.answer()[1]
        kit.equal((result["status"], result["error_message"]), ("killed", "Execution was cancelled"))


@kit.test(timeout=120, modes=("root", "user"))
def nobody_gets_the_output_of_another():
    """A14: a hundred requests over four connections, two running at once."""
    running = Service("--max-running", "2")

    def ask(requests):
        wrong = []
        with running.connect(timeout=100) as client:
            for _ in range(requests):
                token = uuid.uuid4().hex
                result = client.request({"language": "bash", "code": f"echo {token}; echo {token} >&2"})[1]
                if (result.get("stdout"), result.get("stderr")) != (f"{token}\n", f"{token}\n"):
                    wrong.append(result)
        return wrong

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        kit.equal([wrong for wrongs in pool.map(ask, [25] * 4) for wrong in wrongs], [])


@kit.test
def a_client_that_leaves_ends_its_run():
    """A15."""
    running = Service()
    client = running.connect()
    watch = box(running, begin(client))
    client.close()
    kit.equal(watch.survivors(), [])
    with running.connect() as other:
        kit.equal(other.request({"language": "bash", "code": "echo on"})[1]["stdout"], "on\n")


# Roles that die


@kit.test
def a_killed_front_is_restarted():
    running = Service()
    client = running.connect()
    watch, keeper = box(running, begin(client)), running.role("keeper")
    os.kill(running.role("front"), signal.SIGKILL)
    try:
        client.answer()
        kit.fail("there was an answer")
    except service.Gone:
        pass
    running.heard(r"emberbox: the front was ended by SIGKILL; restarted\n")
    # Its runs were ended, and the keeper is the same.
    kit.equal(watch.survivors(), [])
    with running.connect() as other:
        kit.equal(other.request({"language": "bash", "code": "echo on"})[1]["stdout"], "on\n")
    kit.equal(running.role("keeper"), keeper)


@kit.test
def a_killed_keeper_ends_its_boxes_and_is_restarted():
    """X8."""
    running = Service()
    with running.connect() as client:
        box(running, begin(client))
        watch, front = kit.Watch(kit.descendants(running.role("keeper"))), running.role("front")
        os.kill(running.role("keeper"), signal.SIGKILL)
        frames, answer = client.answer()
        kit.equal((frames[-1][0], answer["error"]["code"]), ("E", "failed"))
        kit.equal(answer["error"]["message"], "the keeper ended while this ran; it is being restarted")
        kit.equal(watch.survivors(), [])
        running.heard(r"emberbox: the keeper was ended by SIGKILL; restarted\n")
        # What the keeper may have been writing cannot be told from an answer: the connection is over.
        kit.equal(client.socket.recv(1), b"")
    with running.connect() as client:
        kit.equal(client.request({"language": "bash", "code": "echo on"})[1]["stdout"], "on\n")
    kit.equal(running.role("front"), front)


@kit.test
def a_killed_egress_is_restarted():
    running = Service()
    keeper = running.role("keeper")
    with running.connect() as client:
        begin(client)
        os.kill(running.role("egress"), signal.SIGKILL)
        running.heard(r"emberbox: the egress was ended by SIGKILL; restarted\n")
        # Runs without a network have nothing to do with it.
        client.send("C")
        kit.equal(client.answer()[1]["status"], "killed")
    kit.equal(running.role("keeper"), keeper)


# Starts a program that can make no netlink socket, without which egress does not start.
WITHOUT_NETLINK = """
import ctypes, os, struct, sys
number = {"x86_64": 41, "aarch64": 198}[os.uname().machine]
rules = [(0x20, 0, 0, 0), (0x15, 0, 3, number), (0x20, 0, 0, 16), (0x15, 0, 1, 16), (0x06, 0, 0, 0x50000 | 97), (0x06, 0, 0, 0x7fff0000)]
text = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *rule) for rule in rules))
program = ctypes.create_string_buffer(struct.pack("H6xQ", len(rules), ctypes.addressof(text)))
prctl = ctypes.CDLL(None, use_errno=True).prctl
assert prctl(38, 1, 0, 0, 0) == 0 and prctl(22, 2, program, 0, 0) == 0, ctypes.get_errno()
os.execv(sys.argv[1], sys.argv[1:])
"""


@kit.test
def a_service_goes_on_without_egress():
    running = Service(before=["/usr/bin/python3", "-c", WITHOUT_NETLINK], ready=False)
    said = running.heard(r"(?s)(goes on without it\n.*serving at|serving at.*goes on without it).*\n")
    kit.contains(said, "emberbox: the egress exited with 125; it ended 5 times in a row soon after its start, and the service "
                       "goes on without it\n")
    kit.contains(said, "emberbox: egress: cannot ask the kernel for routes: Address family not supported by protocol\n")
    with running.connect() as client:
        kit.equal(client.request({"language": "bash", "code": "echo on"})[1]["stdout"], "on\n")


@kit.test
def a_killed_supervisor_takes_everything_with_it():
    """X8."""
    running = Service()
    with running.connect() as client:
        box(running, begin(client))
        watch = kit.Watch(kit.descendants(running.pid))
        kit.true(len(watch.fds) >= 4, "roles and boxes were not found")
        os.kill(running.pid, signal.SIGKILL)
        kit.equal(watch.survivors(), [])
        try:
            client.answer()
            kit.fail("there was an answer")
        except service.Gone:
            pass
    # What it left behind is in nobody's way.
    kit.true(os.path.exists(running.path), "the socket is gone")
    again = Service(home=running.home)
    with again.connect() as client:
        kit.equal(client.request({"language": "bash", "code": "echo on"})[1]["stdout"], "on\n")


@kit.test
def a_role_that_is_killed_again_and_again_comes_back():
    running = Service()
    said = ""
    for _ in range(7):
        os.kill(running.role("front"), signal.SIGKILL)
        said += running.heard(r"emberbox: the front was ended by SIGKILL; .*\n")
        # It is not there until the second is over; then it accepts.
        with running.connect() as client:
            kit.equal(client.request({"language": "bash", "code": "echo on"})[1]["stdout"], "on\n")
    kit.equal(said.count("; restarted\n") + said.count("; it is restarted in 1 s\n"), 7)
    kit.true(said.count("; it is restarted in 1 s\n") >= 4, said)
    running.stop()


# The end


@kit.test
def sigterm_lets_runs_finish():
    running = Service()
    code = "echo ready; read -r line; echo got $line"
    with running.connect() as client:
        client.ask({"language": "bash", "code": code, "input": "stream"}, stream=True)
        client.until("1")
        os.kill(running.pid, signal.SIGTERM)
        running.heard(r"emberbox: ending; runs may finish for 10 s\n")
        # Nobody new gets in, but who is in is served to the end.
        try:
            running.connect()
            kit.fail("a connection was made")
        except FileNotFoundError:
            pass
        client.send("I", b"it\n")
        frames, result = client.answer()
        kit.equal((result["status"], result["stdout"]), ("ok", "ready\ngot it\n"))
    r = kit.finish(running.process)
    kit.equal((r.code, r.errtext), (0, "emberbox: ended\n"))
    kit.equal(os.listdir(running.home).count("emberbox.sock"), 0)


@kit.test
def a_second_signal_ends_runs_at_once():
    running = Service()
    with running.connect() as client:
        begin(client)
        watch = kit.Watch(kit.descendants(running.pid))
        os.kill(running.pid, signal.SIGINT)
        running.heard(r"ending; .*\n")
        os.kill(running.pid, signal.SIGINT)
        result = client.answer()[1]
        kit.equal((result["status"], result["error_message"]), ("killed", "The service ended while this ran"))
        r = kit.finish(running.process, timeout=8)
        kit.equal((r.code, r.errtext), (0, "emberbox: ended\n"))
        kit.equal(watch.survivors(), [])


@kit.test
def runs_get_no_more_than_the_grace():
    running = Service()
    with running.connect() as client:
        begin(client)
        watch = kit.Watch(kit.descendants(running.pid))
        r = running.stop(timeout=20)
        kit.equal(r.code, 0)
        kit.true(9 < r.seconds < 16, f"it took {r.seconds} s")
        kit.equal(client.answer()[1]["status"], "killed")
        kit.equal(watch.survivors(), [])


@kit.test
def sighup_reads_languages_again():
    running = Service()
    with open(os.path.join(kit.REPO, "runtimes", "sh", "runtime.yaml"), encoding="utf-8") as file:
        definition = file.read()
    definition = re.sub(r"(?m)^(display|aliases|extensions|interpreters):.*\n", "", definition)
    request = {"language": "novel", "code": "echo new"}
    with running.connect() as client:
        kit.equal(client.request(request)[1]["error"]["code"], "unknown_language")
        kit.write(f"{running.home}/runtimes/novel/runtime.yaml", "display: Novel\n" + definition)
        for directory in ("runtimes", "runtimes/novel"):
            if os.geteuid() == 0 and kit.mode != "root":
                os.chown(os.path.join(running.home, directory), kit.UID, kit.UID)
        before = (running.role("front"), running.role("keeper"))
        with running.connect() as other:
            begin(other)
            os.kill(running.pid, signal.SIGHUP)
            running.heard(r"emberbox: reloaded\n")
            answer = client.request(request)[1]
            kit.equal(answer.get("stdout"), "new\n", f"{answer}")
            # Nothing was restarted, and what ran runs.
            kit.equal((running.role("front"), running.role("keeper")), before)
            other.send("C")
            kit.equal(other.answer()[1]["status"], "killed")


@kit.test
def own_languages_have_boxes_of_their_own():
    """Also one that has the name of a built-in one, whose boxes made ahead would be another's."""
    home = kit.tmp()
    definition = "file: main.sh\ntools:\n  sh: [/bin/sh]\nversion: [/bin/sh, -c, 'echo 1.0']\ninstall: none\n"
    kit.write(f"{home}/runtimes/sh/runtime.yaml", f'display: Mine\n{definition}run: ["{{sh}}", "{{drivers}}/mine", "{{entry}}"]\n')
    kit.write(f"{home}/runtimes/sh/mine", 'echo mine; cat "$1"\n')
    for directory in ("runtimes", "runtimes/sh"):
        if os.geteuid() == 0 and kit.mode != "root":
            os.chown(os.path.join(home, directory), kit.UID, kit.UID)
    running = Service(home=home)
    with running.connect() as client:
        built_in = "cold"
        while True:
            answer = client.request({"language": "sh", "code": "it"})[1]
            kit.equal((answer.get("stdout"), answer["meta"]["start"]), ("mine\nit", "cold"), f"{answer}")
            if built_in == "warm":
                break
            # It is asked for later, and is warm: so the other could be. The alarm ends this.
            built_in = client.request({"language": "bash", "code": ":"})[1]["meta"]["start"]
            time.sleep(0.2)
    kit.equal(running.stop().errtext, "emberbox: ending; runs may finish for 10 s\nemberbox: ended\n")


# The socket


@kit.test
def the_socket_is_private():
    running = Service()
    kit.equal(stat.S_IMODE(os.stat(running.path).st_mode), 0o600)


@kit.test
def a_second_service_is_refused():
    running = Service()
    r = kit.emberbox("serve", env={"EMBERBOX_HOME": running.home})
    # In a user namespace of its own the other may not see who it is.
    kit.equal((r.code, r.errtext), (125, f"emberbox: emberbox is already served at {running.path} (pid {running.pid})\n"))
    with running.connect() as client:
        kit.equal(client.request({"language": "bash", "code": "echo on"})[1]["stdout"], "on\n")


@kit.test
def somebody_elses_socket_is_left_alone():
    home = kit.tmp()
    path = f"{home}/emberbox.sock"
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(path)
        other.listen()
        os.chmod(path, 0o777)
        r = kit.emberbox("serve", env={"EMBERBOX_HOME": home})
        kit.equal((r.code, r.errtext), (125, f"emberbox: emberbox is already served at {path} (pid {os.getpid()})\n"))
        kit.true(os.path.exists(path), "it was removed")
    os.unlink(path)
    kit.write(path, "a file")
    r = kit.emberbox("serve", env={"EMBERBOX_HOME": home})
    kit.equal((r.code, r.errtext), (2, f"emberbox: socket: {path} is there, and is not a socket\n"))


@kit.test
def a_stale_socket_is_replaced():
    home = kit.tmp()
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(f"{home}/emberbox.sock")
    if os.geteuid() == 0 and kit.mode != "root":
        os.chown(f"{home}/emberbox.sock", kit.UID, kit.UID)
    with Service(home=home).connect() as client:
        kit.equal(client.request({"language": "bash", "code": "echo on"})[1]["stdout"], "on\n")


@kit.test
def a_place_that_others_can_write_to_is_refused():
    home = kit.tmp()
    shared = os.path.join(home, "shared")
    os.mkdir(shared)
    os.chmod(shared, 0o777)
    r = kit.emberbox("serve", "--socket", f"{shared}/s", env={"EMBERBOX_HOME": home})
    kit.equal((r.code, r.errtext), (
        2, f'emberbox: socket: the directory "{shared}" must belong to you, and no other user may be able to write to it\n'))
    # A path that is too long is named, also where nobody chose it.
    for args, long, env in ((["--socket", f"{home}/{'x' * 120}"], f"{home}/{'x' * 120}", home),
                            ([], f"{home}/{'y' * 110}/emberbox.sock", f"{home}/{'y' * 110}")):
        r = kit.emberbox("serve", *args, env={"EMBERBOX_HOME": env, "EMBERBOX_LISTEN": "none"})
        kit.equal((r.code, r.errtext), (2, f'emberbox: socket: the path has to have 1 to 107 bytes, and "{long}" has {len(long)}; '
                                           "use --socket or EMBERBOX_SOCKET\n"))


@kit.test
def what_was_given_as_an_option_is_called_so():
    home = kit.tmp()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        r = kit.emberbox("serve", "--listen", f"127.0.0.1:{port}", env={"EMBERBOX_HOME": home})
        kit.equal((r.code, r.errtext), (125, f"emberbox: cannot listen at 127.0.0.1:{port}: Address already in use; "
                                             "choose another with --listen or EMBERBOX_LISTEN; port 0 is any that is free\n"))
    for args, env, why in (
        (["--tls-cert", "/x"], {}, "--tls-cert: it also needs --tls-key"),
        (["--tls-key", "/x"], {}, "--tls-key: it also needs --tls-cert"),
        (["--tls-cert", "/x"], {"EMBERBOX_TLS_KEY": "/nonexistent"}, '--tls-cert: cannot read "/x": No such file or directory'),
        ([], {"EMBERBOX_TLS_CERT": "/x", "EMBERBOX_TLS_KEY": "/x"}, 'EMBERBOX_TLS_CERT: cannot read "/x": No such file or directory'),
        (["--listen", "a.example:1"], {}, '--listen: expected HOST:PORT with an IP address, or none, not "a.example:1"'),
        ([], {"EMBERBOX_LISTEN": "a.example:1"}, 'EMBERBOX_LISTEN: expected HOST:PORT with an IP address, or none, not "a.example:1"'),
    ):
        r = kit.emberbox("serve", *args, env={"EMBERBOX_HOME": home, **env})
        kit.equal((r.code, r.errtext), (2, f"emberbox: {why}\n"))


@kit.test
def the_socket_can_be_elsewhere():
    place = kit.tmp()
    running = Service("--socket", f"{place}/other.sock")
    running.path = f"{place}/other.sock"
    with running.connect() as client:
        kit.equal(client.request({"language": "bash", "code": "echo on"})[1]["stdout"], "on\n")
    kit.equal(running.stop().code, 0)
    kit.equal(sorted(os.listdir(place)), ["other.sock.lock"])


ACTIVATE = """
import os, socket, sys
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1])
listener.listen()
if listener.fileno() != 3:
    os.dup2(listener.fileno(), 3)
os.set_inheritable(3, True)
os.environ.update(LISTEN_FDS=sys.argv[2], LISTEN_PID=str(os.getpid()), LISTEN_FDNAMES="emberbox.socket")
os.execv(sys.argv[3], sys.argv[3:])
"""


def activate(home, fds, *args, **options):
    argv = ["/usr/bin/python3", "-c", ACTIVATE, f"{home}/passed", fds, kit.built(), "serve", *args]
    return kit.start(argv, env={"EMBERBOX_HOME": home}, **options)


@kit.test
def a_socket_that_was_passed_is_served():
    home = kit.tmp()
    running = Service.__new__(Service)
    running.home, running.path, running._said = home, f"{home}/passed", b""
    running.process = activate(home, "1")
    running.heard(r"emberbox: serving at the socket that was passed\n")
    with running.connect() as client:
        result = client.request({"language": "bash", "code": "env | grep -c LISTEN"})[1]
        kit.equal((result["status"], result["stdout"]), ("failed", "0\n"))
    kit.equal(running.stop().code, 0)
    # It is the service manager's, and stays; nothing was made beside it.
    kit.true(os.path.exists(running.path), "the socket was removed")
    kit.true(not os.path.exists(f"{home}/emberbox.sock"), "another socket was made")


@kit.test
def what_is_passed_has_to_be_one_socket():
    home = kit.tmp()
    r = kit.finish(activate(home, "2"))
    kit.equal((r.code, r.errtext), (2, 'emberbox: socket activation: one socket is expected, LISTEN_FDS is "2"\n'))
    os.unlink(f"{home}/passed")
    r = kit.finish(activate(home, "1", "--socket", f"{home}/x"))
    kit.equal((r.code, r.errtext), (2, "emberbox: --socket: the service manager passed a socket already\n"))


@kit.test
def the_service_manager_is_told():
    home = kit.tmp()
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(f"{home}/notify")
        os.chmod(f"{home}/notify", 0o777)
        manager.settimeout(10)
        running = Service(home=home, env={"NOTIFY_SOCKET": f"{home}/notify"})
        kit.equal(manager.recv(100), b"READY=1")
        os.kill(running.pid, signal.SIGHUP)
        kit.matches(manager.recv(100).decode(), r"\ARELOADING=1\nMONOTONIC_USEC=\d+\Z")
        kit.equal(manager.recv(100), b"READY=1")
        kit.equal(running.stop().code, 0)
        kit.equal(manager.recv(100), b"STOPPING=1")


# The roles


@kit.test
def the_front_has_no_privilege():
    running = Service()
    front = status(running.role("front"))
    kit.equal((front["CapEff"], front["CapPrm"], front["CapInh"], front["CapAmb"]), ("0" * 16,) * 4)
    kit.equal((front["NoNewPrivs"], front["Seccomp"], front["Threads"]), ("1", "2", "1"))
    uids = set(front["Uid"].split())
    kit.equal(len(uids), 1)
    if kit.mode == "root":
        kit.equal(front["CapBnd"], "0" * 16)
        kit.equal(front["Groups"].split(), [])
        kit.true(0x7E000000 <= int(uids.pop()) < 0x7E010000, f"its uids are {front['Uid']}")
    else:
        kit.equal(uids, {str(kit.UID)})


@kit.test
def egress_has_no_privilege():
    running = Service()
    egress, front = status(running.role("egress")), status(running.role("front"))
    kit.equal((egress["CapEff"], egress["CapPrm"], egress["CapInh"], egress["CapAmb"]), ("0" * 16,) * 4)
    kit.equal((egress["NoNewPrivs"], egress["Seccomp"], egress["Threads"]), ("1", "2", "1"))
    uids = set(egress["Uid"].split())
    kit.equal(len(uids), 1)
    if kit.mode == "root":
        kit.equal(egress["CapBnd"], "0" * 16)
        kit.equal(egress["Groups"].split(), [])
        kit.true(0x7E000000 <= int(min(uids)) < 0x7E010000, f"its uids are {egress['Uid']}")
        kit.true(uids != set(front["Uid"].split()), "front and egress have one uid")
    else:
        kit.equal(uids, {str(kit.UID)})


@kit.test
def the_store_has_no_privilege():
    running = Service()
    store = status(running.role("store"))
    kit.equal((store["CapEff"], store["CapPrm"], store["CapInh"], store["CapAmb"]), ("0" * 16,) * 4)
    kit.equal((store["NoNewPrivs"], store["Seccomp"], store["Threads"]), ("1", "2", "1"))


@kit.test
def a_kernel_without_landlock_is_accepted_by_request_alone():
    """Nothing else keeps the store in its directory: the service does not start, and says what to write."""
    without = [kit.built("tests/kern/enosys"), "--no", "landlock_create_ruleset", "--", kit.built(), "serve", "--listen", "none"]
    home = kit.tmp()
    r = kit.command(without, env={"EMBERBOX_HOME": home})
    kit.equal((r.code, r.errtext), (125, "emberbox: this host cannot enforce landlock for the store: the kernel has no "
                                         "Landlock; accept that with `emberbox serve --allow-weaker landlock` or "
                                         "EMBERBOX_SERVICE_WEAKER=landlock\n"))
    for given, env in ((["--allow-weaker", "landlock"], {}), ([], {"EMBERBOX_SERVICE_WEAKER": "landlock"})):
        process = kit.start([*without, *given], env={"EMBERBOX_HOME": home, **env})
        line = process.stderr.readline()
        kit.true(line.startswith(b"emberbox: serving at "), f"{line} {process.stderr.read() if not line else b''}")
        process.send_signal(signal.SIGTERM)
        kit.equal(kit.finish(process).code, 0)
    r = kit.emberbox("serve", "--allow-weaker", "seccomp")
    kit.equal((r.code, r.errtext), (2, 'emberbox: --allow-weaker: expected landlock, not "seccomp"\nSee: emberbox serve --help\n'))


@kit.test
def roles_have_only_their_descriptors():
    running = Service()
    for name in ("front", "keeper", "store", "egress"):
        directory = f"/proc/{running.role(name)}/fd"
        links = sorted(re.sub(r":.*", "", os.readlink(f"{directory}/{fd}")) for fd in os.listdir(directory))
        standard = ["/dev/null", "/dev/null", "pipe"]
        # Control and the other role, of which the keeper has two; the front has the listening socket, the store and an epoll as well. The others
        # have the eventfd that tells of records (the store also an inotify), and files of the state directory.
        links = [link.replace(running.home, "STATE") for link in links]
        own = {
            "keeper": ["socket"] * 3 + ["anon_inode", "STATE", "STATE/journal", "STATE/writers"],
            "front": ["socket"] * 4 + ["anon_inode"],
            # The kernel's routes, which it asks for the machine's own addresses, and the launcher of interceptors.
            "egress": ["socket"] * 4 + ["anon_inode"],
            "store": ["socket"] * 2 + ["anon_inode"] * 2 + ["STATE"] * 3 + ["STATE/journal"] * 2 + [
                f"STATE/{file}" for file in ("writers", "history.lock", "history.db", "history.db-wal",
                                             "history.db-shm", "audit.log", "executions")],
        }[name]
        kit.equal(sorted(links), sorted(standard + own), name)


@kit.test(modes=("root",))
def the_keeper_keeps_what_boxes_need():
    running = Service()
    keeper = status(running.role("keeper"))
    kit.equal(keeper["NoNewPrivs"], "1")
    # chown, dac_override, setgid, setuid, sys_admin
    wanted = 1 << 0 | 1 << 1 | 1 << 6 | 1 << 7 | 1 << 21
    for name in ("CapEff", "CapPrm", "CapBnd"):
        kit.equal(int(keeper[name], 16), wanted, name)
    kit.equal((int(keeper["CapInh"], 16), int(keeper["CapAmb"], 16)), (0, 0))
    with open(f"/proc/{running.role('keeper')}/net/dev", encoding="utf-8") as file:
        kit.equal([line.split(":")[0].strip() for line in file.readlines()[2:]], ["lo"])


@kit.test
def a_role_cannot_be_started_by_hand():
    for name in ("keeper", "store", "front", "egress"):
        r = kit.emberbox("serve", f"--role={name}")
        kit.equal((r.code, r.errtext), (
            2, f"emberbox: {name}: --role is for emberbox itself: `emberbox serve` starts its roles\n"))
    r = kit.emberbox("serve", "--role=cook")
    kit.equal(r.code, 2)
    kit.contains(r.errtext, 'unknown option "--role=cook"')


@kit.test(timeout=60)
def an_idle_service_sleeps():
    running = Service()
    with running.connect() as client:
        kit.equal(client.request({"language": "bash", "code": "echo on", })[1]["stdout"], "on\n")
        pids = [running.pid, *(running.role(name) for name in ("front", "keeper", "egress", "store"))]
        # A box of two seconds is the clock: the run itself wakes all but the supervisor.
        before = wakeups(running.pid)
        client.request({"language": "bash", "code": "sleep 2"})
        kit.equal(wakeups(running.pid), before)
    subprocess.run(["/usr/bin/sleep", "2"], check=True)  # what ended has settled, and is on the disk
    before = [wakeups(pid) for pid in pids]
    subprocess.run(["/usr/bin/sleep", "3"], check=True)
    kit.equal([wakeups(pid) for pid in pids], before)


@kit.test
def options_are_checked():
    for args, sentence in (
        (["--listen", "example.com:80"],
         '--listen: expected HOST:PORT with an IP address, or none, not "example.com:80"'),
        (["--max-running", "0"], '--max-running: expected a number from 1 to 1024, not "0"'),
        (["--max-queued", "many"], '--max-queued: expected a number from 1 to 65536, not "many"'),
        (["--embers", "-1"], '--embers: expected a number from 0 to 4096, not "-1"'),
        (["--ember-memory", "lots"], '--ember-memory: expected a size like 256m, not "lots"'),
        (["now"], 'unexpected argument "now"'),
    ):
        r = kit.emberbox("serve", *args, env={"EMBERBOX_HOME": kit.tmp()})
        kit.equal((r.code, r.errtext.splitlines()[0]), (2, f"emberbox: {sentence}"))


kit.main()
