#!/usr/bin/python3
"""The playground as a person uses it; what is tested is in playground.mjs."""
# tests/run: args=--as root
# tests/run: timeout=420

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit
from playground import drive


@kit.test(timeout=400)
def playground():
    drive("playground.mjs")


kit.main()
