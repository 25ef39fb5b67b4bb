#!/usr/bin/python3
"""Some of CPython's own tests say the same inside a box as outside; tests/cpython/run has all of them."""
# tests/run: args=--as root
# tests/run: timeout=240

import functools
import importlib.machinery
import importlib.util
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit

PATH = os.path.join(kit.REPO, "tests", "cpython", "run")
TOOL = importlib.util.module_from_spec(
    importlib.util.spec_from_loader("cpython_run", importlib.machinery.SourceFileLoader("cpython_run", PATH))
)
TOOL.__loader__.exec_module(TOOL)

# Quick ones of every kind: types, text, numbers, files, processes, threads, memory, compression, C extensions. Not every
# Python has all of them.
NAMED = """
    test_array test_base64 test_binascii test_bytes test_collections test_configparser test_contextlib test_copy
    test_csv test_ctypes test_dataclasses test_dict test_enum test_fcntl test_fractions test_functools
    test_glob test_gzip test_hashlib test_heapq test_json test_locale test_math test_mmap
    test_os test_pathlib test_pipes test_platform test_posix test_re test_resource test_select
    test_shelve test_shutil test_struct test_tempfile test_textwrap test_time test_unicodedata
    test_urlparse test_uuid test_xml_etree test_zlib
""".split()
MODULES = [name for name in NAMED if importlib.util.find_spec(f"test.{name}")]
# Those that ask the kernel for something, where a box differs from the host; what only computes is for make test-all.
QUICK = "test_fcntl test_locale test_mmap test_os test_platform test_posix test_resource test_select test_tempfile test_time".split()
if os.environ.get("EB_NIGHTLY") == "no":
    MODULES = [name for name in MODULES if name in QUICK]
ENOUGH = 8 if os.environ.get("EB_NIGHTLY") == "no" else 30
EXPECTED = TOOL.read_expected()


results = None  # {module: differences}


def found(module):
    """One box for all of them, and another for those that differ; tried once, however it ends."""
    global results
    if results is None:
        results = {}
        results, _ = TOOL.compare(kit.built(), MODULES, EXPECTED)
    kit.contains(results, module, "the comparison did not come to its end")
    return results[module]


def check(module):
    names = found(module)
    kit.equal(TOOL.unexpected(names, EXPECTED), [], (list(names.values()) or [""])[0][-300:])


@kit.test
def there_are_enough_modules():
    """All would be well if none was there."""
    kit.true(len(MODULES) >= ENOUGH, f"only {len(MODULES)} of {len(NAMED)} modules are installed")


@kit.test(timeout=200)
def the_comparison_sees_a_difference():
    """The positive control: what a box denies to every program is found, and is expected for this reason only."""
    names = found("test_os")
    kit.contains(names, "test.test_os.TestInvalidFD.test_fsync")
    kit.equal(TOOL.unexpected(names, {}), sorted(names))


for module in MODULES:
    kit.test(functools.partial(check, module), name=module, timeout=200)
kit.main()
