"""Other ways to run a program apart from the host, with the programs that are measured.

Each gets about what emberbox always does by namespaces and mounts. None gets a seccomp
filter: that is in their favour, and some kernels stall when filters are loaded and freed
by the thousand.
"""

import json
import os
import shutil
import subprocess

PATH = "/usr/local/bin:/usr/bin:/bin"
UNIFIED = "/sys/fs/cgroup/unified"
LINKS = {"bin": "usr/bin", "lib": "usr/lib", "lib64": "usr/lib64"}
NAMESPACES = ("pid", "network", "ipc", "uts", "mount")

# What is printed is a line with a 1. Go and C are built before: the others get the finished program.
PROGRAMS = {
    "python": (("/usr/bin/python3", "-c", "print(1)"), "print(1)"),
    "node": (("/usr/bin/node", "-e", "console.log(1)"), "console.log(1)"),
    "bash": (("/usr/bin/bash", "-c", "echo 1"), "echo 1"),
    "ruby": (("/usr/bin/ruby", "-e", "puts 1"), "puts 1"),
    "go": (("/bench/go",), 'package main\n\nimport "fmt"\n\nfunc main() {\n\tfmt.Println(1)\n}\n'),
    "c": (("/bench/c",), "#include <stdio.h>\n\nint main(void)\n{\n\treturn puts(\"1\") < 0;\n}\n"),
}
BUILD = {
    "go": ("main.go", "/usr/bin/go build -o {out} main.go"),
    "c": ("main.c", "/usr/bin/gcc -O2 -o {out} main.c"),
}


def build_programs(scratch, env):
    """{language: why it is left out}; the programs of the others are in scratch/programs."""
    missing = {}
    programs = os.path.join(scratch, "programs")
    os.makedirs(programs)
    for language, (argv, source) in PROGRAMS.items():
        if language not in BUILD:
            if not os.path.exists(argv[0]):
                missing[language] = f"{argv[0]} is not installed"
            continue
        file, command = BUILD[language]
        directory = os.path.join(scratch, "build-" + language)
        os.makedirs(directory)
        with open(os.path.join(directory, file), "w", encoding="utf-8") as out:
            out.write(source)
        command = command.format(out=os.path.join(programs, language))
        done = subprocess.run(["/bin/sh", "-c", command], cwd=directory, env=env, timeout=300, capture_output=True, check=False)
        if done.returncode != 0:
            missing[language] = done.stderr.decode("utf-8", "replace").strip()[-200:] or "it cannot be built"
    return missing


class Peer:
    """How one of them is started. `version` is None when it cannot be, and then `reason` says why."""

    name = tool = ""
    share = 1.0  # of the runs that bare has: the slow ones get few
    root_only = True

    def __init__(self, scratch):
        self.scratch = scratch
        self.programs = os.path.join(scratch, "programs")
        self.version = self.reason = None
        self.path = shutil.which(self.tool, path=PATH)

    def prepare(self):
        """Makes what it needs."""

    def argv(self, program):
        raise NotImplementedError

    def around(self):
        """What the whole series of runs is started in, which is not measured."""
        return ()

    def try_out(self, env):
        if not self.path:
            self.reason = "not installed"
        elif self.root_only and os.geteuid() != 0:
            self.reason = "needs root as it is set up here"
        if self.reason:
            return
        try:
            self.prepare()
            words = [*self.around(), *self.argv(PROGRAMS["bash"][0])]
            done = subprocess.run(words, env=env, timeout=60, capture_output=True, check=False)
            if done.stdout != b"1\n" or done.returncode != 0:
                self.reason = done.stderr.decode("utf-8", "replace").strip()[-200:] or f"it ended with {done.returncode}"
            else:
                shown = subprocess.run([self.path, "--version"], env=env, timeout=60, capture_output=True, check=False)
                self.version = shown.stdout.decode().splitlines()[0].split()[-1]
        except (OSError, subprocess.SubprocessError) as error:
            self.reason = str(error)


class Bubblewrap(Peer):
    name, tool, share, root_only = "bubblewrap", "bwrap", 0.5, False

    def argv(self, program):
        links = [word for name, to in LINKS.items() for word in ("--symlink", to, "/" + name)]
        return (self.path, "--unshare-all", "--die-with-parent", "--ro-bind", "/usr", "/usr", *links,
                "--ro-bind", self.programs, "/bench", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", *program)


class _Container(Peer):
    """A root directory of empty directories, into which /usr is bound."""

    def __init__(self, scratch):
        super().__init__(scratch)
        self.base = os.path.join(scratch, self.name)
        self.rootfs = os.path.join(self.base, "rootfs")

    def prepare(self):
        for name in ("usr", "bench", "proc", "dev", "sys", "tmp", "etc", "run"):
            os.makedirs(os.path.join(self.rootfs, name))
        for name, to in LINKS.items():
            os.symlink(to, os.path.join(self.rootfs, name))

    def around(self):
        """No mount of theirs is seen outside. crun refuses a host that has both kinds of cgroups: it is not shown the newer."""
        hide = f"umount {UNIFIED} && " if os.path.ismount(UNIFIED) else ""
        return ("/usr/bin/unshare", "-m", "/bin/sh", "-c", hide + 'exec "$@"', "sh")


class Crun(_Container):
    name, tool, share = "crun", "crun", 0.2

    def bundle(self, program):
        """A bundle for each program; the path of its directory."""
        directory = os.path.join(self.base, "bundle-" + "-".join(program).replace("/", "_")[:40])
        if os.path.isdir(directory):
            return directory
        os.makedirs(directory)
        mounts = [
            {"destination": "/proc", "type": "proc", "source": "proc"},
            {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "mode=755"]},
            {"destination": "/tmp", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "nodev"]},
            {"destination": "/usr", "type": "bind", "source": "/usr", "options": ["rbind", "ro"]},
            {"destination": "/bench", "type": "bind", "source": self.programs, "options": ["rbind", "ro"]},
        ]
        config = {
            "ociVersion": "1.0.0",
            "process": {"terminal": False, "user": {"uid": 0, "gid": 0}, "args": list(program), "cwd": "/",
                        "env": ["PATH=/usr/bin:/bin"], "noNewPrivileges": True, "capabilities": {}},
            "root": {"path": self.rootfs, "readonly": True},
            "mounts": mounts,
            "linux": {"namespaces": [{"type": kind} for kind in NAMESPACES]},
        }
        with open(os.path.join(directory, "config.json"), "w", encoding="utf-8") as file:
            json.dump(config, file)
        return directory

    def argv(self, program):
        return (self.path, "--root", os.path.join(self.base, "state"), "run", "--bundle", self.bundle(program),
                f"emberbox-bench-{os.getpid()}")


class Podman(_Container):
    name, tool, share = "podman", "podman", 0.1

    def argv(self, program):
        return (self.path, "--root", os.path.join(self.base, "root"), "--runroot", os.path.join(self.base, "run"),
                "--cgroup-manager=cgroupfs", "--events-backend=file", "run", "--rm", "--network", "none",
                "--security-opt", "seccomp=unconfined", "--ulimit", "nofile=1024:1024", "--ulimit", "nproc=4096:4096",
                "-v", "/usr:/usr:ro", "-v", f"{self.programs}:/bench:ro", "--rootfs", self.rootfs, *program)


def all_of_them(scratch, env):
    peers = [Bubblewrap(scratch), Crun(scratch), Podman(scratch)]
    for peer in peers:
        peer.try_out(env)
    return peers
