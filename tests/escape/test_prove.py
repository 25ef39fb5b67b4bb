"""`emberbox doctor --prove`: the same attempts, as a user sees them.

tests/run: args=--as root | --as user | --as userns
"""

import os
import pty
import shutil
import subprocess
import sys
import termios

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit


@kit.test
def doctor_proves_this_host():
    r = kit.emberbox("doctor", "--prove")
    rows = r.text.splitlines()
    kit.equal((r.code, r.err), (0, b""), "\n".join(line for line in rows if " FAILS " in line or line.startswith("     ")))
    kit.true(not any(" FAILS " in row for row in rows), r.text)
    # One row for each sentence of expect.def, and the limits.
    shown = [row.split()[0] for row in rows if " holds " in row]
    kit.equal(shown, [str(i + 1) for i in range(len(shown))], "the rows' numbers")
    kit.matches(rows[-1], rf"^{len(shown)} of {len(shown)} hold, by \d+ attempts in 6 boxes\.$")
    r = kit.emberbox("doctor", "--prove", "--json")
    kit.equal((r.code, r.err, r.json["all_hold"], r.json["hold"]), (0, b"", True, len(shown)))
    kit.equal([row["number"] for row in r.json["rows"]], [int(number) for number in shown], "the rows' numbers")
    kit.true({"F1", "P1", "X1", "R1", "N1", "S1", "T1", "O1"} <= {row["id"] for row in r.json["rows"]}, r.text)
    kit.equal([row for row in r.json["rows"] if not row["holds"] or row["wrong"] or not row["attempt"]], [])


@kit.test
def doctor_wraps_at_the_terminals_width():
    """A row goes on below its last column, and no word is lost."""
    wide = kit.emberbox("doctor")
    main, terminal = pty.openpty()
    termios.tcsetwinsize(terminal, (24, 60))
    process = kit.start([kit.built(), "doctor"], stdin=subprocess.DEVNULL, stdout=terminal, stderr=subprocess.PIPE)
    os.close(terminal)
    out = b""
    while True:
        try:
            data = os.read(main, 1 << 16)
        except OSError:  # nobody has the other side any more
            break
        out += data
    os.close(main)
    kit.equal(process.wait(), wide.code)
    rows = out.decode().splitlines()
    layers = rows[: rows.index("", 2)]
    kit.equal([row for row in layers[2:] if len(row) > 60], [])
    kit.equal(out.decode().split(), wide.text.split())
    kit.true(any(row.startswith(" " * 29) for row in layers), "no row goes on below its last column")


@kit.test(modes=("root",))
def doctor_names_a_chroot():
    """There the kernel refuses user namespaces; nothing that needs one is called weaker, nor new kernels old."""
    place = kit.tmp()
    for name in ("proc", "sys", "tmp", "run"):
        os.mkdir(os.path.join(place, name))
    shutil.copy(kit.built(), os.path.join(place, "emberbox"))
    script = 'mount -t proc proc "$1/proc" && exec chroot "$1" /emberbox doctor $2'
    r = kit.command(["/usr/bin/unshare", "-m", "/bin/sh", "-c", script, "sh", place, "--json"], env={"PATH": f"{kit.PATH}:/usr/sbin", "HOME": "/tmp"})
    rows = {row["name"]: row for row in r.json["layers"]}
    user = rows["user-namespace"]
    kit.equal((r.code, user["state"], user["detail"]), (1, "missing", "the kernel refuses user namespaces in a chroot (EPERM)"))
    kit.matches(user["fix"], "systemd-nspawn -D DIR")
    kit.equal((rows["overlay"]["state"], rows["overlay"]["fix"]), ("missing", "see user-namespace"))
    r = kit.command(["/usr/bin/unshare", "-m", "/bin/sh", "-c", script, "sh", place], env={"PATH": f"{kit.PATH}:/usr/sbin", "HOME": "/tmp"})
    kit.equal("or later" in r.text or "container" in r.text, False, r.text)
    kit.matches(r.text, r"runs are refused until it is available\.\n$")


kit.main()
