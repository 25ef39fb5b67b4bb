"""`emberbox doctor --prove`: the same attempts, as a user sees them.

tests/run: args=--as root | --as user | --as userns
"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit


@kit.test
def doctor_proves_this_host():
    r = kit.emberbox("doctor", "--prove")
    rows = r.text.splitlines()
    kit.equal((r.code, r.err), (0, b""), "\n".join(line for line in rows if " FAILS " in line or line.startswith("     ")))
    kit.true(not any(" FAILS " in row for row in rows), r.text)
    # One row for each sentence of expect.def, and the limits.
    shown = {row.split()[0] for row in rows if " holds " in row}
    kit.true({"F1", "P1", "X1", "R1", "N1", "S1", "T1", "O1"} <= shown, shown)
    kit.matches(rows[-1], rf"^{len(shown)} of {len(shown)} hold, by \d+ attempts in 6 boxes\.$")


kit.main()
