#!/usr/bin/env python3
"""The words of everything that users read: templates, messages, help texts and pages keep to those of docs/glossary.md."""

import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Each with what stands for it. Ids in files keep theirs.
BANNED = {
    r"evidence horizon": "reliable range", r"(is|are) (no )?evidence": "reliable, too uncertain",
    r"remarks": "warnings", r"\brivals?\b": "candidate models", r"patience": "startup timeout",
    r"next best run": "suggested next run", r"would bring": "would gain", r"lets? expect": "suggests",
    r"still to be said": "missing information", r"bad ends?\b": "abnormal termination",
    r"larger runs hidden": "larger runs predicted from smaller ones", r"first fix": "largest potential gain",
    r"scales (well|poorly|with losses)": "keeps 75 % efficiency up to", r"the runs scatter": "run-to-run noise",
    r"(is|are) told (of|about|apart by)": "report, notify", r"no matter of course": "on request",
    r"do(es)? nothing longer until": "exit skew", r"never in it lose": "waiting of other ranks",
    r"memory to get along with": "memory limit", r"contributes most": "mostly because of",
    r"what is odd": "warnings", r"no decomposition helps": "what helps instead",
}
ID = re.compile(r"[\w./-]*")


def literals(path):
    code = re.sub(r"//.*", "", path.read_text())
    # Literals that follow each other are one text.
    code = re.sub(r'"\s*\n\s*"', "", code)
    return [text for text in re.findall(r'"((?:[^"\\\n]|\\.)*)"', code) if not ID.fullmatch(text)]


def template(path):
    return [re.sub(r"\{\{!.*?\}\}", "", path.read_text(), flags=re.S)]


def page(path):
    return [re.sub(r"`[^`\n]*`", "", path.read_text())]


class WordsTest(unittest.TestCase):
    def texts(self):
        for path in sorted(ROOT.glob("templates/*.mustache")):
            yield path, template(path)
        for path in sorted([*ROOT.glob("src/**/*.cc"), *ROOT.glob("src/**/*.h")]):
            if not path.name.endswith("_test.cc"):
                yield path, literals(path)
        for path in sorted([*ROOT.glob("docs/**/*.md"), ROOT / "README.md"]):
            if path.name != "glossary.md":
                yield path, page(path)

    def test_nothing_uses_a_banned_word(self):
        found = []
        for path, texts in self.texts():
            for text in texts:
                for pattern, instead in BANNED.items():
                    for match in re.finditer(pattern, text, re.IGNORECASE):
                        found.append(f"{path.relative_to(ROOT)}: '{match.group()}' (instead: {instead})")
        self.assertEqual(found, [])

    def test_the_search_finds_them(self):
        self.assertTrue(re.search("|".join(BANNED), "LU scales well up to 196 cores"))
        self.assertIn("Look at noise of the system, the network,", " ".join(literals(ROOT / "src/results/cause_text.cc")))

    def test_terms_of_the_glossary_are_in_use(self):
        terms = re.findall(r"^\| \*\*(.+?)\*\*", (ROOT / "docs/glossary.md").read_text(), re.MULTILINE)
        self.assertGreater(len(terms), 20)
        everything = " ".join(" ".join(texts) for _, texts in self.texts()).lower()
        self.assertEqual([term for term in terms if term.lower() not in everything], [])

    def test_anomalies_fit_into_two_lines_of_a_terminal(self):
        found = 0
        for path in sorted((ROOT / "src").rglob("*.h")):
            for name, body in re.findall(r"Anomaly (k\w+)\{(.*?)\};", path.read_text(), re.S):
                sentence = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', body)[1:])
                self.assertLessEqual(len(sentence), 120, f"{path}: {name}")
                found += 1
        self.assertGreater(found, 50)


if __name__ == "__main__":
    unittest.main()
