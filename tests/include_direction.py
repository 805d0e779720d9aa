#!/usr/bin/env python3
"""Checks that data flows one way: a room includes headers only from rooms above it, `collect` from none but the formulas
of factors, and only `measure` and `cli` from `collect`.

Rooms are the folders of src/, in the order of the stages. Tests may also use tests/support.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
ROOMS = ["base", "parallel", "stats", "trace", "phases", "replay", "factors", "growth", "imbalance", "balance", "models", "projection", "results",
         "planning", "plot", "pages", "report", "gate", "study", "measure", "cli"]
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
# Which room alone may know a library, by a part of the include.
OWNERS = {"otf2/": ["trace", "collect"], "mpi.h": ["collect", "parallel"], "ceres/": ["models"], "toml++/": ["base"], "CLI/": ["cli"], "mustache.hpp": ["pages"],
          "muParser": ["models"], "tbb/": ["base", "cli"], "isa-l": ["trace"], "gelf.h": ["cli"], "boost/": ["stats", "parallel"], "cereal/": ["parallel"], "openssl/": ["base"], "trace/paraver_": ["trace"],
          "trace/format_readers": ["trace"]}
ANY_INCLUDE = re.compile(r'^\s*#\s*include\s+[<"]([^>"]+)[>"]', re.MULTILINE)


def violations():
    for path in sorted((ROOT / "src").rglob("*")):
        if path.suffix not in (".h", ".cc"):
            continue
        room = path.relative_to(ROOT / "src").parts[0]
        text = path.read_text()
        is_test = path.stem.endswith("_test")
        for included in INCLUDE.findall(text):
            target = included.split("/")[0]
            if room == "collect":
                is_generated = target == "mpi_functions.h" or target == f"{path.stem}_c.h"
                allowed = target == "collect" or is_generated or included == "factors/formulas.h"
            elif target == "collect":
                allowed = room in ("measure", "cli")
            elif target in ROOMS:
                # Tests of the rooms above may read their factor tables from files.
                allowed = ROOMS.index(target) <= ROOMS.index(room) or (is_test and target == "results")
            else:
                allowed = is_test and target == "support"
            if not allowed:
                yield f"{path.relative_to(ROOT)} includes {included}"
        for included in ANY_INCLUDE.findall(text):
            for library, owners in OWNERS.items():
                if library in included and room not in owners and not is_test:
                    yield f"{path.relative_to(ROOT)} includes {included}, which only {', '.join(owners)} may know"


def main():
    rooms = {path.name for path in (ROOT / "src").iterdir() if path.is_dir()}
    problems = [f"src/{room} is no room of the architecture" for room in sorted(rooms - set(ROOMS) - {"collect"})]
    problems += list(violations())
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
