#!/usr/bin/python3
"""The texts of the playground, and drafts that were replaced; what is tested is in texts.mjs."""
# tests/run: args=--as root
# tests/run: timeout=420

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit
from playground import drive


@kit.test(timeout=400)
def texts():
    drive("texts.mjs")


kit.main()
