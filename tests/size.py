#!/usr/bin/env python3
"""Holds the size of the rooms in src: lines, files, types and so on that tests/size.txt allows.

Numbers only fall. A number may rise in a commit that also changes the reason in that room's line; all lines together may
not rise beyond 100,000. `--update` lowers the numbers to what is there.

  tests/size.py [--update]
"""

import argparse
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TABLE = ROOT / "tests/size.txt"
MOST_LINES = 100_000
SLACK = 0.01  # of a number, by which it may lie above what is there
NUMBERS = ("lines", "files", "small", "types", "headers", "comments", "names")
SMALL = 40  # lines
OPENINGS = re.compile(r"(Of|By|What|Whether|How|Says|Tells)\b", re.IGNORECASE)
# A word that ends in Of and is defined here: the name before a list of parameters, behind a type.
INCLUDE = re.compile(r'^#include "([^"]+)"', re.M)
TYPE = re.compile(r"^\s*(?:struct|class|enum)\b[^;{]*\{", re.M)
NAME_OF = re.compile(r"^(?!\s*return\b)\s*(?:[\w:<>,*&\[\]]+\s)+[\w:]*?(\w*[a-z]Of)\(", re.M)


def comments_of(text):
    """Every comment that stands for itself or behind code, neighbouring lines joined."""
    joined = []
    previous = -2
    for number, line in enumerate(text.split("\n")):
        found = re.match(r"\s*//+ ?(.*)", line)
        if found is None:
            behind = re.search(r"[;{,)}]\s+// (.*)", line)
            if behind:
                joined.append(behind.group(1))
            continue
        if number == previous + 1 and found.group(1).strip():
            joined[-1] += " " + found.group(1)
        else:
            joined.append(found.group(1))
        previous = number
    return [text.strip() for text in joined if text.strip()]


def sources_of(folder):
    """Sources and headers without tests: texts by path within src."""
    return {path.relative_to(ROOT / "src").as_posix(): path.read_text() for path in sorted(folder.rglob("*"))
            if path.suffix in (".cc", ".h") and not path.name.endswith("_test.cc")}


def own_headers(texts):
    """How many headers of this tree each source includes, directly or not."""
    direct = {path: [name for name in INCLUDE.findall(text) if name in texts] for path, text in texts.items()}
    counts = {}
    for path in texts:
        if path.endswith(".h"):
            continue
        found, open_ones = set(), list(direct[path])
        while open_ones:
            header = open_ones.pop()
            if header not in found:
                found.add(header)
                open_ones += direct[header]
        counts[path] = len(found)
    return counts


def percentile_95(counts):
    return sorted(counts)[int(0.95 * len(counts))] if counts else 0


def measure(texts):
    numbers = dict.fromkeys(NUMBERS, 0)
    for text in texts.values():
        lines = text.count("\n")
        numbers["lines"] += lines
        numbers["files"] += 1
        numbers["small"] += lines < SMALL
        numbers["types"] += len(TYPE.findall(text))
        numbers["comments"] += sum(OPENINGS.match(comment) is not None for comment in comments_of(text))
        numbers["names"] += len({match.group(1) for match in NAME_OF.finditer(text)})
    return numbers


def measure_rooms():
    texts = sources_of(ROOT / "src")
    headers = own_headers(texts)
    rooms = {}
    for folder in sorted(path.name for path in (ROOT / "src").iterdir() if path.is_dir()):
        rooms[folder] = measure({path: text for path, text in texts.items() if path.startswith(folder + "/")})
        rooms[folder]["headers"] = percentile_95([n for path, n in headers.items() if path.startswith(folder + "/")])
    rooms["all"] = {number: sum(room[number] for room in rooms.values()) for number in NUMBERS}
    rooms["all"]["headers"] = percentile_95(list(headers.values()))
    return rooms


def parse(text):
    """Rooms with their numbers and reason, by the names in the line `# room lines files ... why`."""
    rooms, columns = {}, NUMBERS
    for line in text.splitlines():
        if line.startswith("# room "):
            columns = line.split(" why")[0].split()[2:]
        if not line or line.startswith("#"):
            continue
        fields = line.split(None, 1 + len(columns))
        rooms[fields[0]] = dict(zip(columns, map(int, fields[1 : 1 + len(columns)])))
        rooms[fields[0]]["reason"] = fields[1 + len(columns)] if len(fields) > 1 + len(columns) else ""
    return rooms


def table_of(rooms, head):
    lines = [head.rstrip("\n")]
    for room, numbers in rooms.items():
        line = f"{room:<12}" + "".join(f"{numbers[number]:>9}" for number in NUMBERS)
        lines.append((line + "  " + numbers.get("reason", "")).rstrip())
    return "\n".join(lines) + "\n"


def earlier_table():
    """The table before its last change: that of HEAD if it differs from the file, else that before the commit which
    changed it last. None without a history."""
    def git(*arguments):
        try:
            done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
        except OSError:
            return None
        return done.stdout if done.returncode == 0 else None
    last = git("show", "HEAD:./tests/size.txt")
    if last is None or last != TABLE.read_text():
        return last
    commits = (git("log", "-2", "--format=%H", "--", "tests/size.txt") or "").split()
    return git("show", f"{commits[1]}:./tests/size.txt") if len(commits) == 2 else None


def raised(allowed, earlier):
    problems = []
    for room, numbers in allowed.items():
        before = earlier.get(room)
        if before is None:
            continue
        for number in NUMBERS:
            if numbers.get(number, 0) <= before.get(number, numbers.get(number, 0)):
                continue
            if room == "all":
                if number == "lines" and numbers[number] > MOST_LINES:
                    problems.append(f"all: {numbers[number]} lines allowed, {before[number]} before; not beyond {MOST_LINES}")
            elif numbers["reason"] in ("", before["reason"]):
                problems.append(f"{room}: {number} raised from {before[number]} to {numbers[number]} without a new reason")
    return problems


def exceeded(rooms, allowed):
    problems = []
    for room, numbers in rooms.items():
        if room not in allowed:
            problems.append(f"{room}: no line in tests/size.txt")
            continue
        for number in NUMBERS:
            value, most = numbers[number], allowed[room].get(number, 0)
            if value > most:
                problems.append(f"{room}: {value} {number}, {most} allowed")
            elif most > value + max(1, SLACK * value):
                problems.append(f"{room}: {value} {number}, {most} allowed; lower it with tests/size.py --update")
    problems += [f"{room}: is no folder of src" for room in allowed if room not in rooms]
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--update", action="store_true", help="lower the numbers of the table to what is there")
    args = parser.parse_args()
    rooms = measure_rooms()
    text = TABLE.read_text()
    allowed = parse(text)
    if args.update:
        for room, numbers in rooms.items():
            of_table = allowed.get(room, {"reason": ""})
            numbers["reason"] = of_table["reason"]
            for number in NUMBERS:
                numbers[number] = min(numbers[number], of_table.get(number, numbers[number]))
        head = "".join(line + "\n" for line in text.splitlines() if line.startswith("#"))
        TABLE.write_text(table_of(rooms, head))
        allowed = parse(TABLE.read_text())
        rooms = measure_rooms()
    earlier = earlier_table()
    problems = exceeded(rooms, allowed) + (raised(allowed, parse(earlier)) if earlier else [])
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
