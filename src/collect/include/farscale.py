"""Regions of a Python program that farscale measures; see farscale.h.

    import farscale

    with farscale.region("solve"):
        ...

    @farscale.region("assemble")
    def assemble():
        ...

Nothing is compiled, and without farscale all of it does nothing.
"""

import contextlib
import ctypes

OK, NOT_MEASURING, NO_SUCH_REGION, NOT_STARTED, TOO_MANY_REGIONS, OTHER_THREAD = range(6)


class Metrics(ctypes.Structure):
    """Seconds; efficiencies between 0 and 1."""

    _fields_ = [("ranks", ctypes.c_int), ("nodes", ctypes.c_int), ("elapsed", ctypes.c_double),
                ("useful", ctypes.c_double), ("mpi", ctypes.c_double), ("starts", ctypes.c_ulonglong),
                ("mpi_calls", ctypes.c_ulonglong), ("parallel_efficiency", ctypes.c_double),
                ("communication_efficiency", ctypes.c_double), ("load_balance", ctypes.c_double),
                ("load_balance_in", ctypes.c_double), ("load_balance_out", ctypes.c_double)]


def _function(name):
    """Of the library that `farscale measure` and `farscale trace` have loaded; without it one that does nothing."""
    try:
        return getattr(ctypes.CDLL(None), name)
    except (AttributeError, OSError):
        return lambda *arguments: NOT_MEASURING


_start, _stop, _query, _report = (_function(f"farscale_{name}") for name in ("region_start", "region_stop", "query",
                                                                             "region_report"))


class region(contextlib.ContextDecorator):
    """A block, or every call of a function, as an occurrence of the region."""

    def __init__(self, name):
        self.name = name.encode()

    def __enter__(self):
        _start(self.name)
        return self

    def __exit__(self, *error):
        _stop(self.name)


def query(name="", all_ranks=False):
    """What is known so far of a region, or of the whole run; None where nothing is. All ranks must ask for all."""
    metrics = Metrics()
    return metrics if _query(name.encode(), int(all_ranks), ctypes.byref(metrics)) == OK else None


def report(name=""):
    """Rank 0 prints a line; all ranks must call."""
    return _report(name.encode())
