#!/usr/bin/python3
"""The examples of the playground; what is tested is in examples.mjs."""
# tests/run: args=--as root
# tests/run: timeout=420

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit
from playground import drive


@kit.test(timeout=400)
def examples():
    drive("examples.mjs")


kit.main()
