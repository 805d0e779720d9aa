#!/usr/bin/env python3
"""The parts of scripts/accuracy: plain Amdahl and its bootstrap, reading of backtests, scores, tables in the page."""

import importlib.machinery
import importlib.util
import pathlib
import sys
import tempfile
import unittest

SCRIPTS = pathlib.Path(__file__).resolve().parent.parent / "scripts"
sys.path.insert(0, str(SCRIPTS))
sys.dont_write_bytecode = True
import accuracy_tables  # noqa: E402
import plain_amdahl  # noqa: E402

loader = importlib.machinery.SourceFileLoader("accuracy", str(SCRIPTS / "accuracy"))
accuracy = importlib.util.module_from_spec(importlib.util.spec_from_loader("accuracy", loader))
loader.exec_module(accuracy)

CORES = [2, 4, 8, 16, 32]


class PlainAmdahlTest(unittest.TestCase):
    def test_comes_back_from_points_without_noise(self):
        for e0, serial in ((0.96, 0.0001), (1.0, 0.5), (0.7, 0.02), (0.9, 0.0)):
            values = [plain_amdahl.amdahl(cores, e0, serial) for cores in CORES]
            found = plain_amdahl.fit_amdahl(CORES, values)
            self.assertAlmostEqual(found[0], e0, places=3)
            self.assertAlmostEqual(found[1], serial, places=3)

    def test_stays_within_its_bounds(self):
        # Rising values are best met by their mean, (0.5 + 0.6 + 0.7) / 3, without a serial share.
        e0, serial = plain_amdahl.fit_amdahl([2, 4, 8], [0.5, 0.6, 0.7])
        self.assertAlmostEqual(e0, 0.6)
        self.assertEqual(serial, 0)
        self.assertEqual(plain_amdahl.fit_amdahl([2, 4], [1.2, 1.1]), (1.0, 0.0))

    def test_bootstrap_is_the_same_for_a_seed_and_wider_for_more_scatter(self):
        quiet = [plain_amdahl.amdahl(cores, 0.95, 0.01) for cores in CORES]
        loud = [value + shift for value, shift in zip(quiet, (0.03, -0.03, 0.03, -0.03, 0.03))]
        value, draws = plain_amdahl.bootstrap_amdahl(CORES, quiet, [64], "seed")
        self.assertEqual(draws, plain_amdahl.bootstrap_amdahl(CORES, quiet, [64], "seed")[1])
        self.assertAlmostEqual(value[64], 0.95 / (1 + 0.01 * 63), places=3)
        _, wide = plain_amdahl.bootstrap_amdahl(CORES, loud, [64], "seed")
        self.assertGreater(max(wide[64]) - min(wide[64]), 5 * (max(draws[64]) - min(draws[64])))
        self.assertTrue(all(0 <= draw <= 1 for draw in wide[64]))

    def test_parents_are_products_of_their_leaves(self):
        rows = [{"cores": str(cores), "loadBalance": "0.9", "serializationEfficiency": "0.8",
                 "transferEfficiency": "0.5"} for cores in (2, 4, 8)]
        result = accuracy.bootstrap_phase(rows, 4, [8.0], "seed")
        self.assertAlmostEqual(result["communicationEfficiency"][8.0][0], 0.4, places=6)
        self.assertAlmostEqual(result["parallelEfficiency"][8.0][0], 0.36, places=6)
        self.assertEqual(accuracy.bootstrap_phase(rows, 2, [8.0], "seed"), {})


class ReadingTest(unittest.TestCase):
    def test_repeats_are_kept_apart_and_missing_intervals_left_out(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "backtest.csv"
            file.write_text("series,phase,group,factor,train_max,cores,ratio,measured,value,low80,high80,low95,high95,model\n"
                            "a,,,loadBalance,16,32,2,0.8,0.9,0.85,0.95,0.7,1,constant\n"
                            "a,,,loadBalance,16,32,2,0.7,0.9,,,,,constant\n"
                            "a,p,g,loadBalance,16,32,2,0.7,0.9,,,,,constant\n")
            points = accuracy.read_backtest(file)
        first = points["a", "", "loadBalance", 16.0, 32.0, 1]
        self.assertEqual(first["farscale"], {"value": 0.9, "intervals": {80: (0.85, 0.95), 95: (0.7, 1.0)}})
        self.assertEqual(points["a", "", "loadBalance", 16.0, 32.0, 2]["farscale"]["intervals"], {})
        self.assertIn(("a", "p / g", "loadBalance", 16.0, 32.0, 1), points)


class TablesTest(unittest.TestCase):
    def test_quantiles_scores_and_ratios(self):
        self.assertAlmostEqual(accuracy_tables.quantile([3, 1, 2], 0.9), 2.8)
        # Width 0.2; a value 0.05 below costs 2 / 0.2 * 0.05 more.
        self.assertAlmostEqual(accuracy_tables.score(0.4, 0.6, 0.5, 0.2), 0.2)
        self.assertAlmostEqual(accuracy_tables.score(0.4, 0.6, 0.35, 0.2), 0.7)
        # 125 / 64 = 1.95; 2.82 is just below 2 √2, 2.83 above.
        self.assertEqual([accuracy_tables.nearest_power(ratio) for ratio in (1.95, 2.82, 2.83)], [2, 2, 4])

    def test_the_leaf_that_is_off_most_is_to_blame(self):
        def point(factor, measured, predicted):
            return {"factor": factor, "measured": measured, "series": "a", "phase": "", "train_max": 16, "cores": 32,
                    "repeat": 1, "farscale": {"value": predicted}}

        points = [point("parallelEfficiency", 0.2, 0.4), point("loadBalance", 0.9, 0.8),
                  point("communicationEfficiency", 0.2, 0.5), point("serializationEfficiency", 0.8, 0.81),
                  point("transferEfficiency", 0.25, 0.6)]
        self.assertEqual(accuracy_tables.to_blame(points[0], points)["factor"], "transferEfficiency")

    def test_a_table_takes_its_place_in_the_page(self):
        page = "a\n<!-- accuracy:x -->\nold\n<!-- /accuracy:x -->\nb\n"
        renewed = accuracy.put_tables(page, {"x": "| new |"})
        self.assertEqual(renewed, "a\n<!-- accuracy:x -->\n\n| new |\n\n<!-- /accuracy:x -->\nb\n")
        self.assertEqual(accuracy.put_tables(renewed, {"x": "| new |"}), renewed)
        with self.assertRaises(SystemExit):
            accuracy.put_tables(page, {"y": ""})


if __name__ == "__main__":
    unittest.main()
