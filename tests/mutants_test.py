#!/usr/bin/env python3
"""The parts of scripts/mutate that choose changes and recognise them again."""

import importlib.machinery
import importlib.util
import pathlib
import sys
import unittest

SCRIPTS = pathlib.Path(__file__).resolve().parent.parent / "scripts"
sys.path.insert(0, str(SCRIPTS))
sys.dont_write_bytecode = True
import mutants  # noqa: E402

loader = importlib.machinery.SourceFileLoader("mutate", str(SCRIPTS / "mutate"))
mutate = importlib.util.module_from_spec(importlib.util.spec_from_loader("mutate", loader))
loader.exec_module(mutate)

SOURCE = '''// a < b && 1
#include "a/1.h"
static_assert(1 < 2);
constexpr double kLimit = 1e-6;
struct S {
  int first = 0;
  std::array<int, 3> values{};
  int Twice() const { return 2 * first; }
};
template <typename T>
bool Less(const T& a, T* b) {
  std::vector<int> list;
  list.reserve(7);
  if (a < *b && !list.empty()) list.push_back(std::min(a, 4));
  for (int i = 0; i < 5; ++i) {
    if (const int n = list[i]; n > 0) continue;
  }
  list.clear();
  return "x < 1" == std::get<0>(a);
}
'''


def changes(source, seed=1):
    return mutants.changes_of("a.cc", source, seed)


def in_function(body):
    return [(change.what, change.apply(f"void F() {{\n{body}\n}}\n").split("\n")[1])
            for change in changes(f"void F() {{\n{body}\n}}\n")]


class PlacesTest(unittest.TestCase):
    def test_of_every_line(self):
        lines = {}
        for change in changes(SOURCE):
            lines.setdefault(change.line, []).append(change.what.split(" to ")[0].split(" dropped")[0])
        self.assertEqual(lines, {
            4: ["'1e-6'"],
            8: ["'2'", "'*'"],
            14: ["condition negated", "'<'", "'&&'", "'!'", "statement", "'min'", "'4'"],
            15: ["'0'", "'<'", "'5'"],
            16: ["'>'", "'0'", "statement"],
            18: ["statement"],
            19: ["'=='"],
        })

    def test_comments_strings_and_directives_stay(self):
        for change in changes(SOURCE):
            self.assertNotIn(change.line, (1, 2, 3))
            for kept in ("// a < b && 1", '#include "a/1.h"', "static_assert(1 < 2)", '"x < 1"', "reserve(7)"):
                self.assertIn(kept, change.apply(SOURCE))
        self.assertEqual(in_function('Say(R"(1 < 2)", \'<\', "\\" + 1");'), [("statement dropped", ";")])

    def test_statements(self):
        self.assertEqual(in_function("a.b[i] = f();"), [("statement dropped", ";")])
        self.assertEqual(in_function("std::string text = f();"), [])
        self.assertEqual(in_function("Posts posts(view);"), [])
        self.assertEqual(in_function("Tick& of = f();"), [])
        self.assertEqual(in_function("return f();"), [])
        self.assertEqual(in_function("throw Error();"), [("statement dropped", ";")])
        self.assertEqual(in_function("while (f()) g();"),
                         [("condition negated", "while (!(f())) g();"), ("statement dropped", "while (f()) ;")])

    def test_numbers(self):
        self.assertEqual(mutants.replacements_of("0"), ("1",))
        self.assertEqual(mutants.replacements_of("1'000u"), ("1001u", "999u"))
        self.assertEqual(mutants.replacements_of("0.5"), ("1.0", "0.25"))
        self.assertEqual(mutants.replacements_of("0.0"), ("1.0",))


class IdentityTest(unittest.TestCase):
    def test_every_change_has_a_name_of_its_own(self):
        source = "void F() {\n  a = b + c + d;\n  a = b + c + d;\n}\n"
        keys = [change.key for change in changes(source)]
        self.assertEqual(len(keys), 6)
        self.assertEqual(len(set(keys)), 6)
        self.assertIn("a.cc|a = b + c + d;|'+' to '-', 2nd on the line, 2nd such line", keys)

    def test_the_same_wherever_the_line_stands(self):
        keys = {change.key for change in changes(SOURCE)}
        self.assertEqual(keys, {change.key for change in changes("int More();\n\n" + SOURCE)})

    def test_the_seed_takes_one_of_several_replacements(self):
        taken = {change.what for seed in range(20) for change in changes("bool F() { return a < b; }\n", seed)}
        self.assertEqual(taken, {"'<' to '<='", "'<' to '>'"})

    def test_all_sources_of_the_rooms(self):
        chosen = mutate.Changes(["gate", "growth"], 1)
        self.assertGreater(len(chosen.all), 5000)
        self.assertEqual(len({change.key for change in chosen.all}), len(chosen.all))
        self.assertEqual([c.key for c in chosen.all], [c.key for c in mutate.Changes(["gate", "growth"], 1).all])
        for change in chosen.all:
            source = chosen.sources[change.file]
            self.assertEqual(source.split("\n")[change.line - 1].strip(), change.text)
            self.assertNotEqual(change.apply(source), source)

    def test_equivalent_ones_are_named_with_a_reason(self):
        for key, one in mutate.read_equivalent().items():
            self.assertTrue((mutate.ROOT / one.file).is_file(), key)
            self.assertTrue(key.startswith(f"{one.file}|{one.text}|"), key)
            self.assertGreater(len(one.reason), 20, key)


if __name__ == "__main__":
    unittest.main()
