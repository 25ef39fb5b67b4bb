#!/usr/bin/python3
"""The playground's editor, files and answers, as somebody who works with them all day; what is tested is in workbench.mjs."""
# tests/run: args=--as root
# tests/run: timeout=420

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit
from playground import drive


@kit.test(timeout=400)
def workbench():
    drive("workbench.mjs")


kit.main()
