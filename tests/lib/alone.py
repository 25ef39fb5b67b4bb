"""A zygote without boxes: an interpreter with tests/unit/ember_alone.c preloaded, whose forks are compared with fresh starts."""

import array
import os
import select
import shutil
import socket
import subprocess
import tempfile
import threading

import kit

LONGEST = 20  # seconds that one program may take


class Zygote:
    """An interpreter that waits, and the directory where its programs are put."""

    def __init__(self, cold, waits, main, variables):
        """Command lines without the program, of a fresh start and of the one that waits; the program's usual name."""
        self.command = cold
        self.main = main
        self.place = tempfile.mkdtemp()  # kit.tmp() is one test's
        self.code = os.path.join(self.place, "code")
        os.mkdir(self.code)
        self.environment = {"HOME": self.place, "PATH": kit.PATH, "LANG": "C.UTF-8"}
        self.socket = os.path.join(self.place, "socket")
        entry = os.path.join(self.code, main)
        alone = {
            "LD_PRELOAD": kit.built("tests/unit/libember.so"),
            "ALONE_SOCKET": self.socket,
            "ALONE_ENTRY": entry,
            **variables,
        }
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            [*waits, entry], env={**self.environment, **alone}, stdin=pipe, stdout=pipe, stderr=pipe, cwd=self.code
        )

    def stop(self):
        self.process.kill()
        self.process.communicate()
        shutil.rmtree(self.place)

    def connect(self):
        """A connection to the zygote; it listens when it has loaded its modules."""
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        while True:
            try:
                connection.connect(self.socket)
                return connection
            except (FileNotFoundError, ConnectionRefusedError):
                ended = select.select([self.process.stderr], [], [], 0.01)[0]
                kit.true(not ended, f"the zygote ended: {ended and self.process.stderr.read()}")

    def put(self, files):
        for name in os.listdir(self.code):
            path = os.path.join(self.code, name)
            shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)
        for name, content in files.items():
            kit.write(os.path.join(self.code, name), content)

    def files_of(self, case):
        """The case's files and its program; an empty one elsewhere stands for none."""
        missing = case.source == "" and case.entry != self.main
        return case.files if missing else {**case.files, case.entry: case.source}

    def cold(self, case):
        self.put(self.files_of(case))
        result = subprocess.run(
            [*self.command, os.path.join(self.code, case.entry), *case.args],
            env={**self.environment, **case.env},
            input=case.stdin.encode(),
            capture_output=True,
            cwd=self.code,
            timeout=LONGEST,
            check=False,
        )
        return result.returncode, result.stdout, result.stderr

    def warm(self, case):
        self.put({})
        pipes = [os.pipe() for _ in range(3)]
        theirs = [pipes[0][0], pipes[1][1], pipes[2][1]]
        with self.connect() as connection:
            connection.settimeout(LONGEST)
            connection.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", theirs))])
            for fd in theirs:
                os.close(fd)
            kit.equal(connection.recv(16), b"ready")
            self.put(self.files_of(case))
            variables = [f"{name}={value}" for name, value in {**self.environment, **case.env}.items()]
            words = [os.path.join(self.code, case.entry), str(len(case.args)), *case.args, *variables]
            connection.send(b"".join(os.fsencode(word) + b"\0" for word in words))
            outputs = [Reader(pipes[1][0]), Reader(pipes[2][0])]
            with open(pipes[0][1], "wb", buffering=0) as stdin:
                try:
                    stdin.write(case.stdin.encode())
                except BrokenPipeError:
                    pass  # it does not read
            status = os.waitstatus_to_exitcode(int(connection.recv(32)))
        return status, outputs[0].all(), outputs[1].all()


class Reader(threading.Thread):
    """Reads a pipe to its end."""

    def __init__(self, fd):
        super().__init__(daemon=True)
        self.file = open(fd, "rb")
        self.data = None
        self.start()

    def run(self):
        with self.file:
            self.data = self.file.read()

    def all(self):
        self.join(LONGEST)
        return self.data
