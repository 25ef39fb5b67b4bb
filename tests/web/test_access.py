#!/usr/bin/python3
"""The playground for everybody: by keyboard, by screen reader, at every width and in both themes; what is tested is in access.mjs."""
# tests/run: args=--as root
# tests/run: timeout=420

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit
from playground import drive


@kit.test(timeout=400)
def access():
    drive("access.mjs")


kit.main()
