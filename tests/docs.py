#!/usr/bin/env python3
"""Keeps the docs true.

Runs every command shown in a ```console block of README.md and docs/**/*.md and compares what it prints with what the
page shows; checks that links lead somewhere, and that every factor, anomaly, study key and template tag has its line.

    tests/docs.py --program build/dev/bin/farscale            check
    tests/docs.py --program build/dev/bin/farscale --update   write the outputs anew
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from golden import ROOT, difference  # noqa: E402

BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)")


def pages():
    return [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "sample-runs/README.md")] + sorted(
        (ROOT / "docs").rglob("*.md"))


def run_block(text, program, folder):
    """The block with every command's output as it is now."""
    environment = {**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}", "COLUMNS": "100"}
    lines = []
    for command in (line[2:] for line in text.splitlines() if line.startswith("$ ")):
        result = subprocess.run(["sh", "-c", command], cwd=folder, env=environment, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        lines += ["$ " + command] + [line.rstrip() for line in result.stdout.splitlines()]
    return "\n".join(lines) + "\n"


def check_commands(page, program, update):
    """Commands of one page share a folder in which the samples stand as in the project."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ("sample-runs", "configs", "fits", "tests", "templates"):
            (pathlib.Path(folder) / name).symlink_to(ROOT / name)
        text = page.read_text()
        faults = []

        def renew(match):
            now = run_block(match.group(1), program, folder)
            fault = difference(match.group(1), now)
            if fault:
                faults.append(fault)
            return f"```console\n{now if fault else match.group(1)}```"

        renewed = BLOCK.sub(renew, text)
    if update and faults:
        page.write_text(renewed)
        return []
    return faults


def anchors(page):
    """Anchors of the headings of a page, as web views of Markdown make them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def check_links(page):
    faults = []
    for match in LINK.finditer(re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)):
        target, _, anchor = (match.group(1) or match.group(2)).partition("#")
        if re.match(r"[a-z]+:", target):
            continue
        file = page if not target else page.parent / target
        if not file.exists():
            faults.append(f"the link to {target} leads nowhere")
        elif anchor and anchor not in anchors(file):
            faults.append(f"{target or 'the page'} has no heading #{anchor}")
    return faults


def missing(names, page):
    text = (ROOT / "docs" / page).read_text()
    return [f"`{name}` is not described" for name in sorted(set(names))
            if not re.search(rf"`\[*{re.escape(name)}\]*`", text)]


def check_coverage():
    """What the sources define and the pages must describe."""
    source = {name: (ROOT / "src" / name).read_text() for name in
              ("factors/factor.cc", "study/study.cc", "study/group_phases.cc",
               "models/scaling_model.cc", "replay/network.cc", "gate/rules.cc")}
    key = r'(?:->|\.)(?:String|Strings|Bool|Integer|Integers|Number|Numbers|Table|Tables|RequiredString|RequiredNumber)' \
          r'\("(\w+)"\)'
    # Keys of networks, some read by functions for several; names of collectives, growths and sizes.
    network = key + r'|(?:ReadNumber|ParseLink|ParseTransfers|ParseHalf)\(\*?\w+, "(\w+)"' \
                    r'|\{"([\w+]+)", Collective(?:Kind|Growth|Size)::'
    network_names = ["".join(groups) for groups in re.findall(network, source["replay/network.cc"])]
    anomalies = re.findall(r'constexpr Anomaly k\w+\{\s*"(\w+)"', "".join(
        file.read_text() for file in (ROOT / "src").rglob("*.*") if not file.stem.endswith("_test")))
    assert anomalies, "the sources declare no anomalies"
    # Tags of sentences are the fields of the structs that the page names.
    templates = {file.name.removesuffix(".mustache"): file.read_text() for file in (ROOT / "templates").glob("*.mustache")}
    tags = "".join(text for name, text in templates.items() if not name.endswith(".txt"))
    tags += "".join(templates[name] for name in sorted(set(re.findall(r"\{\{> (\w+\.txt)\}\}", tags))))  # sections
    return {
        "formulas.md": missing(re.findall(r'\{k\w+, "(\w+)"', source["factors/factor.cc"]), "formulas.md"),
        "file-formats.md": missing(anomalies, "file-formats.md") + [
            f"`{name}` is the name of two anomalies" for name in sorted(set(anomalies)) if anomalies.count(name) > 1],
        "study-file.md": missing(re.findall(key, source["study/study.cc"] + source["study/group_phases.cc"]),
                                 "study-file.md"),
        "gate.md": missing(re.findall(key, source["gate/rules.cc"]) + re.findall(r'read\("(\w+)"', source["gate/rules.cc"]),
                           "gate.md"),
        "model-files.md": missing(re.findall(key, source["models/scaling_model.cc"]), "model-files.md"),
        "network-files.md": missing(network_names, "network-files.md"),
        "templates.md": missing(re.findall(r"\{\{\{?[#^/]?(\w+)\}", tags), "templates.md"),
        "bibliography.md": missing_references(),
    }


def missing_references():
    """Keys such as [Rosas14, eq. 1] in sources, models and pages."""
    known = set(re.findall(r"^\*\*\[(\w+)\]\*\*", (ROOT / "docs/bibliography.md").read_text(), re.MULTILINE))
    files = [*(ROOT / "src").rglob("*.h"), *(ROOT / "src").rglob("*.cc"), *(ROOT / "fits").glob("*.toml"),
             *(ROOT / "configs").glob("*.toml"), *(ROOT / "docs").rglob("*.md")]
    used = {key for file in files for key in re.findall(r"\[([A-Z][a-z]+\d\d)\b", file.read_text())}
    return [f"[{key}] is cited and not listed" for key in sorted(used - known)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, type=pathlib.Path)
    parser.add_argument("--update", action="store_true")
    arguments = parser.parse_args()
    failures = 0
    faults_of = check_coverage()
    for page in pages():
        faults = check_commands(page, arguments.program.resolve(), arguments.update) + check_links(page)
        faults += faults_of.get(page.name, []) if page.parent.name == "docs" else []
        for fault in faults:
            print(f"{page.relative_to(ROOT)}: {fault}", file=sys.stderr)
        failures += len(faults)
    if failures:
        print("after looking at the differences: tests/docs.py --program ... --update", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
