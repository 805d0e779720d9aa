"""Tests that take long run in scripts/check --full, which sets FARSCALE_ALL_TESTS; daily checks run a part of them."""

import os
import sys
import unittest

IS_BRIEF = not os.environ.get("FARSCALE_ALL_TESTS")

# Over a test that takes long or says what others say of another case: in scripts/check --full alone.
alone = unittest.skipIf(IS_BRIEF, "in scripts/check --full")


def some(items, step):
    """All of them, or in daily checks every `step`-th, with the first."""
    items = list(items)
    return items[::step] if IS_BRIEF else items


def main():
    """Runs the tests of the calling script, or that part of its classes which FARSCALE_PART names: "2/4"."""
    part = os.environ.get("FARSCALE_PART")
    if part is None or len(sys.argv) > 1:
        unittest.main()
    number, parts = map(int, part.split("/"))
    module = sys.modules["__main__"]
    classes = [value for value in vars(module).values() if isinstance(value, type) and issubclass(value, unittest.TestCase)]
    shares = [[] for _ in range(parts)]
    load = unittest.defaultTestLoader.loadTestsFromTestCase
    for one in sorted(classes, key=lambda one: -load(one).countTestCases()):
        min(shares, key=lambda share: sum(suite.countTestCases() for suite in share)).append(load(one))
    result = unittest.TextTestRunner().run(unittest.TestSuite(shares[number - 1]))
    sys.exit(not result.wasSuccessful())
