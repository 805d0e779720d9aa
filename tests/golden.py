#!/usr/bin/env python3
"""Runs every study of sample-runs/ and tests/studies/ and compares the results with its expected/ folder.

Words must be the same. Numbers may differ by one unit of their last printed digit, or by a millionth where they are
printed in full: fits end in other last digits on other processors.

The factors that BSC published with their traces of EPOCH must come out of these to 1e-4, where the traces are at hand: under
$FARSCALE_SHARED_DATA, ../shared/data beside the checkout unless it is set.

    tests/golden.py --program build/dev/bin/farscale            compare
    tests/golden.py --program build/dev/bin/farscale --update   write expected/ anew
"""

import argparse
import csv
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
FILES = ["factors.csv", "projection.csv", "report.md", "appendix.md"]
NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?(?![\w])")  # not within hashes and names


def tolerance(text):
    """One unit of the last digit as printed, at least a millionth of the number."""
    mantissa, _, exponent = text.partition("e")
    digits = len(mantissa.partition(".")[2])
    unit = 10.0 ** (int(exponent or 0) - digits)
    return max(unit, 1e-6 * abs(float(text))) * 1.01


def difference(expected, actual):
    """The first difference between two texts, or None."""
    expected_lines, actual_lines = expected.splitlines(), actual.splitlines()
    for number, (a, b) in enumerate(zip(expected_lines, actual_lines), 1):
        if NUMBER.sub("#", a) != NUMBER.sub("#", b):
            return f"line {number}: expected\n  {a}\ngot\n  {b}"
        for x, y in zip(NUMBER.findall(a), NUMBER.findall(b)):
            if abs(float(x) - float(y)) > tolerance(x):
                return f"line {number}: {x} became {y} in\n  {b}"
    if len(expected_lines) != len(actual_lines):
        return f"{len(expected_lines)} lines became {len(actual_lines)}"
    return None


def run(program, study, folder):
    subprocess.run([program, "run", str(study.relative_to(ROOT)), "-o", folder, "--quiet"], cwd=ROOT, check=True)


PUBLISHED = {"Global efficiency": "globalEfficiency", "Parallel efficiency": "parallelEfficiency",
             "Load balance": "loadBalance", "Communication efficiency": "communicationEfficiency",
             "Serialization efficiency": "serializationEfficiency", "Transfer efficiency": "transferEfficiency",
             "Computation scalability": "computationScalability", "IPC scalability": "ipcScaling",
             "Instruction scalability": "instructionScaling", "Frequency scalability": "frequencyScaling"}


def published_differences(program):
    """What differs from the table published with the traces of EPOCH, a line each."""
    shared = pathlib.Path(os.environ.get("FARSCALE_SHARED_DATA", ROOT / "../shared/data"))
    epoch = shared / "traces/others/epoch"
    if not (epoch / "published-factors.csv").exists():
        print(f"no traces of EPOCH in {epoch}: their published factors are not compared")
        return []
    with open(epoch / "published-factors.csv", newline="") as file:
        published = {line[0]: line[1:] for line in csv.reader(file, delimiter=";")}
    counts = published["Number of processes"]
    traces = [str(epoch / count / f"epoch_{count}proc.prv.gz") for count in counts]
    with tempfile.TemporaryDirectory() as folder:
        output = pathlib.Path(folder, "factors.json")
        subprocess.run([program, "factors", *traces, "--scaling", "strong", "-o", str(output), "--quiet"], check=True)
        rows = {str(row["ranks"]): row["factors"] for row in json.loads(output.read_text())["rows"]}
    found = []
    expected = [(name, factor, 100) for name, factor in PUBLISHED.items()] + [("Speedup", "speedup", 1)]
    for name, factor, scale in expected:
        for count, value in zip(counts, published[name]):
            ours, theirs = rows[count][factor], float(value) / scale
            if abs(ours - theirs) > 1e-4:
                found.append(f"EPOCH on {count} processes: {factor} is {ours:.6f}, published is {theirs:.6f}")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--update", action="store_true")
    arguments = parser.parse_args()
    program = str(pathlib.Path(arguments.program).resolve())
    failures = 0
    for study in sorted([*ROOT.glob("sample-runs/*/study.toml"), *ROOT.glob("tests/studies/*/study.toml")]):
        expected = study.parent / "expected"
        with tempfile.TemporaryDirectory() as folder:
            run(program, study, folder)
            for name in FILES:
                if arguments.update:
                    expected.mkdir(exist_ok=True)
                    shutil.copyfile(pathlib.Path(folder, name), expected / name)
                    continue
                found = difference((expected / name).read_text(), pathlib.Path(folder, name).read_text())
                if found:
                    failures += 1
                    print(f"{expected / name}: {found}\n")
    for line in published_differences(program):
        failures += 1
        print(line + "\n")
    if failures:
        print("If the change is meant, run tests/golden.py --update and look at the difference.")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
