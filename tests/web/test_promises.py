#!/usr/bin/python3
"""What the playground promises: nothing is lost, nothing untrue is said, nobody is asked; what is tested is in promises.mjs."""
# tests/run: args=--as root
# tests/run: timeout=420

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit
from playground import drive


@kit.test(timeout=400)
def promises():
    drive("promises.mjs")


kit.main()
