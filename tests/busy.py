"""Tests of times on machines that others use, too: three attempts, and wider bounds in the last one where processes wait.

Linux says for how much of the last ten seconds something waited for a processor (/proc/pressure/cpu). Bounds are as
given on an idle machine, and five times as wide where something waited all the time.
"""

import functools
import pathlib
import re
import unittest

ATTEMPTS = 3
attempts_left = 0


def share_waited():
    try:
        pressure = pathlib.Path("/proc/pressure/cpu").read_text()
    except OSError:
        return 0
    return float(re.search(r"some avg10=([\d.]+)", pressure)[1]) / 100


def bound(quiet):
    """The bound in a test that is `tried`: as given, wider in the last attempt alone."""
    return quiet if attempts_left else quiet * (1 + 4 * share_waited())


def tried(test):
    """Once more where it fails. Calls `clear` of the test's class, if there is one, before each attempt."""
    @functools.wraps(test)
    def repeated(self, *arguments, **named):
        global attempts_left
        for attempts_left in reversed(range(ATTEMPTS)):  # 0 in the last one
            getattr(self, "clear", lambda: None)()
            try:
                result = test(self, *arguments, **named)
            except unittest.SkipTest:
                raise
            except Exception:
                if attempts_left == 0:
                    raise
                continue
            attempts_left = 0
            return result
    return repeated


def all_tried(cls):
    for name, test in list(vars(cls).items()):
        if name.startswith("test_"):
            setattr(cls, name, tried(test))
    return cls
