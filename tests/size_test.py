#!/usr/bin/env python3
"""The budget of sizes: what it counts, and when it complains."""

import unittest

import size


def table(*lines):
    return size.parse("# head\n# room lines files comments names  why\n" + "\n".join(lines))


class Comments(unittest.TestCase):
    def test_neighbouring_lines_are_one(self):
        text = "// Of a rank,\n// and what it does.\nint a;  // By number\n\n// Rows\n"
        self.assertEqual(size.comments_of(text), ["Of a rank, and what it does.", "By number", "Rows"])

    def test_openings_are_whole_words(self):
        self.assertIsNotNone(size.OPENINGS.match("Of ranks"))
        self.assertIsNone(size.OPENINGS.match("Offsets of ranks"))
        self.assertIsNone(size.OPENINGS.match("Bytes of a message"))


class Names(unittest.TestCase):
    def test_definitions_and_declarations_count_and_calls_do_not(self):
        text = "double ShareOf(int rank);\n  const Rows& Table::RowsOf(int a) const {\n  return SumOf(a);\n"
        self.assertEqual({found.group(1) for found in size.NAME_OF.finditer(text)}, {"ShareOf", "RowsOf"})


class Headers(unittest.TestCase):
    def test_those_included_by_headers_count(self):
        texts = {"a/a.cc": '#include "a/a.h"\n#include <map>\n', "a/a.h": '#include "b/b.h"\n', "b/b.h": "", "c/c.h": ""}
        self.assertEqual(size.own_headers(texts), {"a/a.cc": 2})
        self.assertEqual(size.percentile_95(list(range(100))), 95)

    def test_types_are_those_with_a_body(self):
        text = "struct A;\nstruct B { int a; };\nclass C final : B {\n  enum class D { kE };\n"
        self.assertEqual(len(size.TYPE.findall(text)), 3)


class Table(unittest.TestCase):
    def test_more_is_named_and_much_less_is_to_be_lowered(self):
        rooms = {"plot": dict(dict.fromkeys(size.NUMBERS, 0), lines=101, files=3)}
        self.assertEqual(size.exceeded(rooms, table("plot 100 3 0 0")), ["plot: 101 lines, 100 allowed"])
        self.assertIn("lower it", size.exceeded(rooms, table("plot 200 3 0 0"))[0])
        self.assertEqual(size.exceeded(rooms, table("plot 102 3 0 0")), [])
        self.assertEqual(size.exceeded(rooms, table("plot 101 3 0 0", "gone 1 1 0 0")), ["gone: is no folder of src"])

    def test_rising_needs_a_new_reason(self):
        before = table("plot 100 3 0 0  legends")
        self.assertEqual(len(size.raised(table("plot 110 3 0 0  legends"), before)), 1)
        self.assertEqual(len(size.raised(table("plot 110 3 0 0"), before)), 1)
        self.assertEqual(size.raised(table("plot 110 3 0 0  heat maps"), before), [])
        self.assertEqual(size.raised(table("plot 90 3 0 0"), before), [])

    def test_all_never_rises_beyond_the_limit(self):
        before = table("all 99000 3 0 0")
        self.assertEqual(size.raised(table("all 99900 3 0 0"), before), [])
        self.assertEqual(len(size.raised(table("all 100001 3 0 0  needed"), before)), 1)


if __name__ == "__main__":
    unittest.main()
