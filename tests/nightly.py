"""Tests that take long run in scripts/check --full, which sets FARSCALE_ALL_TESTS; daily checks run a part of them."""

import os
import unittest

IS_BRIEF = not os.environ.get("FARSCALE_ALL_TESTS")

nightly = unittest.skipIf(IS_BRIEF, "runs in scripts/check --full")


def some(items, step):
    """All of them, or in daily checks every `step`-th, with the first."""
    items = list(items)
    return items[::step] if IS_BRIEF else items
