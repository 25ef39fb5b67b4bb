#!/usr/bin/python3
"""Two small programs of nine languages say the same bare, in a box of their own and in one made ahead; tests/corpus/run has all.

Go is left out here: its compiler builds the standard library first where nobody did.
"""
# tests/run: timeout=180

import os
import sys

RUN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "corpus", "run")
LANGUAGES = ("bash", "c", "javascript", "lua", "perl", "php", "python", "ruby", "typescript")
sys.stdout.flush()
os.execv(sys.executable, [sys.executable, RUN, "--quick", *LANGUAGES])
