#!/usr/bin/env python3
"""The parts of scripts/accuracy: the methods beside farscale, statistics, tables, and their places in the page; and of
scripts/calibrate_priors."""

import importlib.machinery
import importlib.util
import pathlib
import sys
import tempfile
import unittest

SCRIPTS = pathlib.Path(__file__).resolve().parent.parent / "scripts"
sys.path.insert(0, str(SCRIPTS))
sys.dont_write_bytecode = True
import accuracy_data  # noqa: E402
import accuracy_methods  # noqa: E402
import accuracy_stability  # noqa: E402
import accuracy_statistics  # noqa: E402
import accuracy_tables  # noqa: E402
import extrap_models  # noqa: E402
import plain_amdahl  # noqa: E402
import simple_models  # noqa: E402


def load_script(name):
    loader = importlib.machinery.SourceFileLoader(name, str(SCRIPTS / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    sys.modules[name] = module  # its data classes ask for their module
    loader.exec_module(module)
    return module


accuracy = load_script("accuracy")
calibrate_priors = load_script("calibrate_priors")

CORES = [2, 4, 8, 16, 32]


def made_point(measured, values, **parts):
    """A point with a value, or a value and the interval of both levels, by method."""
    methods = {name: {"value": value[0], "intervals": {level: value[1:] for level in (80, 95)}}
               if isinstance(value, tuple) else {"value": value, "intervals": {}} for name, value in values.items()}
    return {"kind": "sorting", "table": "sorting", "application": "a", "series": "a/b", "phase": "", "ratio": 2.0,
            "factor": "parallelEfficiency", "train_max": 16.0, "cores": 32.0, "repeat": 1, "counts": 4, "trained": [],
            "measured": measured, "methods": methods} | parts


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

    def test_without_a_limit_the_value_at_one_core_is_free(self):
        # Of run times efficiency is relative to the smallest run: 1.5 / (1 + 0.5) is 1 on 51 cores, 0.75 on 101.
        e0, serial = plain_amdahl.fit_amdahl([51, 101], [1.0, 0.75], float("inf"))
        self.assertAlmostEqual(e0, 1.5, places=3)
        self.assertAlmostEqual(serial, 0.01, places=4)

    def test_bootstrap_is_the_same_for_a_seed_and_wider_for_more_scatter(self):
        quiet = [plain_amdahl.amdahl(cores, 0.95, 0.01) for cores in CORES]
        loud = [value + shift for value, shift in zip(quiet, (0.03, -0.03, 0.03, -0.03, 0.03))]
        value, draws = plain_amdahl.bootstrap_amdahl(CORES, quiet, [64], "seed")
        self.assertEqual(draws, plain_amdahl.bootstrap_amdahl(CORES, quiet, [64], "seed")[1])
        self.assertAlmostEqual(value[64], 0.95 / (1 + 0.01 * 63), places=3)
        _, wide = plain_amdahl.bootstrap_amdahl(CORES, loud, [64], "seed")
        self.assertGreater(max(wide[64]) - min(wide[64]), 5 * (max(draws[64]) - min(draws[64])))
        self.assertTrue(all(0 <= draw <= 1 for draw in wide[64]))


class SimpleModelsTest(unittest.TestCase):
    def test_each_model_is_chosen_for_its_own_values(self):
        # 0.9 / (1 + 0.1 g) with g = P - 1, log2 P and 1 - 1/P.
        for model in ("amdahl", "logarithm", "saturation"):
            points = [(cores, 0.9 / (1 + 0.1 * simple_models.MODELS[model](cores))) for cores in CORES]
            chosen = simple_models.choose_model(points)
            self.assertEqual(chosen[0], model)
            self.assertAlmostEqual(simple_models.model_value(chosen, 128),
                                   0.9 / (1 + 0.1 * simple_models.MODELS[model](128)), places=3)
        self.assertEqual(simple_models.MODELS["logarithm"](8), 3)
        self.assertEqual(simple_models.MODELS["saturation"](4), 0.75)

    def test_equally_good_models_give_the_constant(self):
        self.assertEqual(simple_models.choose_model([(cores, 0.8) for cores in CORES])[0], "constant")

    def test_what_was_predicted_then_counts(self):
        # From 2 and 4 cores with the same value all predict 0.9, and the mean of the last two runs is 0.5: the constant
        # comes first, and all four runs make its value, (0.9 + 0.9 + 0.4 + 0.6) / 4. Its error was 0.9 / 0.5 - 1.
        self.assertAlmostEqual(simple_models.squared_errors("constant", [(2, 0.9), (4, 0.9), (8, 0.4), (8, 0.6)],
                                                            [2, 4, 8], 1.0), 0.64)
        chosen = simple_models.choose_model([(2, 0.9), (4, 0.9), (8, 0.4), (8, 0.6)])
        self.assertEqual(chosen[0], "constant")
        self.assertAlmostEqual(chosen[1], 0.7)

    def test_two_counts_give_amdahl(self):
        # 1 / (1 + s) = 0.8 and 1 / (1 + 3 s) = 4/7: s = 0.25.
        chosen = simple_models.choose_model([(2, 0.8), (4, 4 / 7)])
        self.assertEqual(chosen[0], "amdahl")
        self.assertAlmostEqual(chosen[2], 0.25, places=3)

    def test_persistence_is_the_mean_of_the_largest_runs(self):
        self.assertAlmostEqual(simple_models.last_value([(2, 0.9), (8, 0.4), (8, 0.6), (4, 0.7)]), 0.5)


class ExtrapModelsTest(unittest.TestCase):
    def test_every_default_term_is_recovered(self):
        # As Extra-P's own tests do: 200 + 10 P^i log2(P)^j on 2 to 32 processes.
        self.assertEqual(len(extrap_models.TERMS), 42)
        for term in extrap_models.TERMS:
            points = [(cores, 200 + 10 * extrap_models.term_value(term, cores)) for cores in CORES]
            c0, c1, found = extrap_models.fit_extrap(points)
            self.assertEqual(found, term)
            self.assertAlmostEqual(c0, 200, places=5)
            self.assertAlmostEqual(c1, 10, places=5)

    def test_falling_terms_are_recovered_where_they_are_asked_for(self):
        for term in ((-1.0, 0), (-0.5, -1), (-0.0, -2)):
            points = [(cores, 3 + 50 * extrap_models.term_value(term, cores)) for cores in CORES]
            self.assertEqual(extrap_models.fit_extrap(points, is_falling=True)[2], term)
        # With one core no logarithm is in the denominator.
        points = [(cores, 3 + 50 / cores) for cores in (1, 2, 4, 8, 16)]
        self.assertEqual(extrap_models.fit_extrap(points, is_falling=True)[2], (-1.0, 0))

    def test_a_constant_is_kept_unless_a_term_predicts_better(self):
        self.assertEqual(extrap_models.fit_extrap([(2, 5.0), (4, 5.0), (8, 5.0)]), (5.0, 0.0, None))
        # No term with a rise explains a value that goes up and down: each, cross-validated, does worse.
        self.assertIsNone(extrap_models.fit_extrap([(2, 1.0), (4, 1.1), (8, 1.0), (16, 1.1), (32, 1.0)])[2])

    def test_lines_and_costs(self):
        # Through (1, 3) and (3, 7): 1 + 2 g. The shortest (c0, c1) with c0 + 2 c1 = 5 is (1, 2).
        self.assertEqual(extrap_models.fit_line([1, 3], [3, 7]), (1, 2))
        self.assertEqual(extrap_models.fit_line([2], [5]), (1, 2))
        # 2 |3 - 1| / (3 + 1)
        self.assertEqual(extrap_models.smape_of(3, 1), 1)
        self.assertEqual(extrap_models.means([(4, 1), (2, 5), (4, 3)]), [(2, 5), (4, 2)])
        # 2, 4, 9 at g = 1, 2, 3. From the others: of the first 4 + 5 (g - 2) = -1, of the second (2 + 9) / 2 = 5.5, of
        # the third 2 + 2 (g - 1) = 6, whose constant is 0 as it is: 2 · 3 / 3, 2 · 1.5 / 9.5, 2 · 3 / 15.
        self.assertAlmostEqual(extrap_models.cross_validated([1, 2, 3], [2, 4, 9]), (2 + 3 / 9.5 + 0.4) / 3)


class MethodsTest(unittest.TestCase):
    def test_parents_are_products_of_their_leaves(self):
        rows = [{"cores": str(cores), "loadBalance": "0.9", "serializationEfficiency": "0.8",
                 "transferEfficiency": "0.5"} for cores in (2, 4, 8)]
        found = accuracy_methods.predict_split(accuracy_methods.Split("traces", rows, [16.0], "seed"))
        for method in ("simple", "persistence", "amdahl", "extrap"):
            self.assertAlmostEqual(found["communicationEfficiency"][16.0][method]["value"], 0.4, places=6)
            self.assertAlmostEqual(found["parallelEfficiency"][16.0][method]["value"], 0.36, places=6)
        self.assertEqual(set(found["parallelEfficiency"][16.0]["amdahl"]["intervals"]), {80, 95})
        self.assertEqual(found["parallelEfficiency"][16.0]["extrap"]["intervals"], {})
        self.assertEqual(accuracy_methods.predict_split(accuracy_methods.Split("traces", rows[:1], [4.0], "seed")), {})

    def test_tables_without_serialization_have_two_leaves(self):
        rows = [{"cores": "2", "loadBalance": "0.9", "communicationEfficiency": "0.5"}]
        self.assertEqual(accuracy_methods.leaves_of(rows), ["loadBalance", "communicationEfficiency"])

    def test_parents_that_a_table_leaves_out_are_multiplied(self):
        rows = [{"cores": "2", "loadBalance": "0.9", "communicationEfficiency": "0.5"}]
        self.assertEqual(accuracy_methods.measured_of("sorting", rows, "parallelEfficiency"), [(2.0, 0.45)])
        self.assertEqual(accuracy_methods.measured_of("sorting", rows, "communicationEfficiency"), [(2.0, 0.5)])
        rows[0]["parallelEfficiency"] = "0.44"
        self.assertEqual(accuracy_methods.measured_of("sorting", rows, "parallelEfficiency"), [(2.0, 0.44)])

    def test_extrap_models_reciprocals_and_keeps_within_what_a_factor_can_be(self):
        # 1 / y = 1 + P / 8: 1 / 9 on 64.
        points = [(cores, 1 / (1 + cores / 8)) for cores in (2, 4, 8, 16, 32)]
        self.assertAlmostEqual(accuracy_methods.predict_reciprocal(points, [64])[64][0], 1 / 9)
        rising = [(cores, 1 / (2 - cores / 20)) for cores in (2, 4, 8, 16)]
        self.assertEqual(accuracy_methods.predict_reciprocal(rising, [64])[64][0], 1.0)

    def test_extrap_itself_is_asked_where_it_is_installed(self):
        # A stand-in with the names that Extra-P's own tests use; its model is the sum of all means times the cores,
        # less 1 where exponents may be negative.
        modules = {"__init__": "", "entities/__init__": "", "modelers/__init__": "",
                   "modelers/single_parameter/__init__": "", "entities/coordinate": "Coordinate = float\n",
                   "entities/measurement": "def Measurement(coordinate, callpath, metric, value):\n    return value\n",
                   "modelers/single_parameter/basic": """
from types import SimpleNamespace

class SingleParameterModeler:
    allow_negative_exponents = False

    def model(self, measurements):
        shift = 1 if self.allow_negative_exponents else 0
        function = SimpleNamespace(evaluate=lambda cores: sum(measurements[0]) * cores - shift)
        return [SimpleNamespace(hypothesis=SimpleNamespace(function=function))]
"""}
        with tempfile.TemporaryDirectory() as folder:
            for name, text in modules.items():
                path = pathlib.Path(folder) / "extrap" / f"{name}.py"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            sys.path.insert(0, folder)
            try:
                self.assertTrue(accuracy_methods.has_extrap())
                points = [(2, 1.0), (2, 3.0), (4, 5.0)]
                self.assertEqual(accuracy_methods.fit_extrap(points)(10), 70)
                self.assertEqual(accuracy_methods.fit_extrap(points, is_falling=True)(10), 69)
            finally:
                sys.path.remove(folder)
                for name in [name for name in sys.modules if name.split(".")[0] == "extrap"]:
                    del sys.modules[name]

    def test_run_times_are_efficiencies_of_the_smallest_run(self):
        # P T = 90 + P: 100 on 10 cores, so that 100 / (90 + P) is predicted.
        rows = [{"cores": str(cores), "runtime": str((90 + cores) / cores)} for cores in (10, 20, 40, 80, 160)]
        self.assertEqual(accuracy_methods.reference_of(rows), 100)
        self.assertEqual(accuracy_methods.efficiencies_of(rows)[1], (20.0, 100 / 110))
        found = accuracy_methods.predict_split(accuracy_methods.Split("run times", rows, [320.0], "seed"))
        values = {method: one["value"] for method, one in found["globalEfficiency"][320.0].items()}
        self.assertAlmostEqual(values["extrap"], 100 / 410, places=6)
        self.assertAlmostEqual(values["extrapTime"], 100 / 410, places=6)
        self.assertAlmostEqual(values["amdahl"], 100 / 410, places=3)
        self.assertAlmostEqual(values["persistence"], 100 / 250, places=6)


class StatisticsTest(unittest.TestCase):
    def test_quantiles_scores_and_ratios(self):
        self.assertAlmostEqual(accuracy_statistics.quantile([3, 1, 2], 0.9), 2.8)
        # Width 0.2; a value 0.05 below costs 2 / 0.2 * 0.05 more.
        self.assertAlmostEqual(accuracy_statistics.interval_score(0.4, 0.6, 0.5, 0.2), 0.2)
        self.assertAlmostEqual(accuracy_statistics.interval_score(0.4, 0.6, 0.35, 0.2), 0.7)
        # 125 / 64 = 1.95; 2.82 is just below 2 √2, 2.83 above.
        self.assertEqual([accuracy_statistics.nearest_power(ratio) for ratio in (1.95, 2.82, 2.83)], [2, 2, 4])

    def test_summary(self):
        # Errors +0.2, -0.1 and +0.5; the first two measured values are in their intervals, which are 0.4 wide.
        points = [made_point(0.5, {"farscale": (0.6, 0.4, 0.8)}), made_point(0.5, {"farscale": (0.45, 0.3, 0.7)}),
                  made_point(0.4, {"farscale": (0.6, 0.5, 0.9)})]
        found = accuracy_statistics.summary(points, "farscale")
        self.assertAlmostEqual(found["median"], 0.2)
        self.assertAlmostEqual(found["bias"], 0.2)
        self.assertAlmostEqual(found["percentile"], 0.44)  # 0.2 + 0.8 (0.5 - 0.2)
        self.assertAlmostEqual(found["cover80"], 2 / 3)
        self.assertAlmostEqual(found["width80"], 0.8)  # of 0.8, 0.8 and 1
        self.assertAlmostEqual(found["score80"], 0.4 + 2 / 0.2 * 0.1 / 3)
        self.assertAlmostEqual(found["score95"], 0.4 + 2 / 0.05 * 0.1 / 3)
        self.assertNotIn("score80", accuracy_statistics.summary([made_point(0.5, {"simple": 0.4})], "simple"))

    def test_every_application_counts_the_same(self):
        # Medians 0.1 of three points and 0.3 of one.
        points = [made_point(1.0, {"simple": 1.1})] * 3 + [made_point(1.0, {"simple": 0.7}, application="b")]
        found = accuracy_statistics.summary_of_applications(points, "simple")
        self.assertEqual(found["points"], 2)
        self.assertAlmostEqual(found["median"], 0.2)
        self.assertAlmostEqual(found["bias"], -0.1)

    def test_only_what_all_methods_predict_is_compared(self):
        points = [made_point(0.5, {"farscale": 0.5}), made_point(0.5, {"farscale": 0.5, "simple": 0.5}),
                  made_point(0.0, {"farscale": 0.5, "simple": 0.5})]
        self.assertEqual(accuracy_statistics.with_methods(points, ["farscale", "simple"]), [points[1]])


class DataTest(unittest.TestCase):
    def test_repeats_are_kept_apart_and_missing_intervals_left_out(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "backtest.csv"
            file.write_text("series,phase,group,factor,train_max,cores,ratio,measured,value,"
                            "low80,high80,low95,high95,model\n"
                            "a,,,loadBalance,16,32,2,0.8,0.9,0.85,0.95,0.7,1,constant\n"
                            "a,,,loadBalance,16,32,2,0.7,0.9,,,,,constant\n"
                            "a,p,g,loadBalance,16,32,2,0.7,0.9,,,,,constant\n")
            points = accuracy.read_backtest(file)
        first = points["a", "", "loadBalance", 16.0, 32.0, 1]["methods"]["farscale"]
        self.assertEqual(first, {"value": 0.9, "intervals": {80: (0.85, 0.95), 95: (0.7, 1.0)}})
        self.assertEqual(points["a", "", "loadBalance", 16.0, 32.0, 2]["methods"]["farscale"]["intervals"], {})
        self.assertIn(("a", "p / g", "loadBalance", 16.0, 32.0, 1), points)

    def test_applications(self):
        def table(name, kind):
            return accuracy_data.Table(name, kind, pathlib.Path(), "weak")

        self.assertEqual(accuracy_data.application_of(table("lulesh-weak-cpu", "traces"), "lulesh-weak-cpu"), "LULESH")
        self.assertEqual(accuracy_data.application_of(table("runtimes", "run times"), "castep/al3x3/Athena/1"),
                         "CASTEP")
        self.assertEqual(accuracy_data.application_of(table("sorting", "sorting"), "team1/SampleSort/67108864/Sorted"),
                         "team1/SampleSort")

    def test_tables_of_different_columns_become_one(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "table.csv"
            accuracy_data.write_rows(file, [{"series": "a", "cores": "2"}, {"series": "a", "phase": "p", "cores": "4"}])
            self.assertEqual(accuracy_data.read_series(file),
                             {("a", ""): [{"series": "a", "cores": "2", "phase": ""}],
                              ("a", "p"): [{"series": "a", "cores": "4", "phase": "p"}]})


class StabilityTest(unittest.TestCase):
    def test_noise_moves_leaves_alone_and_stays_within_one(self):
        rows = [{"series": "a", "phase": "p", "cores": str(cores), "loadBalance": "1", "communicationEfficiency": "0.5",
                 "parallelEfficiency": "0.5"} for cores in (2, 4, 8)]
        still, *moved = accuracy_stability.variants(rows, "seed")
        self.assertEqual(still[0], {"series": "a", "phase": "p", "cores": "2", "loadBalance": "1",
                                    "communicationEfficiency": "0.5"})
        self.assertEqual(len(moved), accuracy_stability.DRAWS)
        self.assertEqual(moved, accuracy_stability.variants(rows, "seed")[1:])
        for row in (row for variant in moved for row in variant):
            self.assertLessEqual(float(row["loadBalance"]), 1)
            self.assertLess(abs(float(row["communicationEfficiency"]) - 0.5), 5 * 0.0025)
            self.assertNotIn("parallelEfficiency", row)


class TablesTest(unittest.TestCase):
    METHODS = {"simple": 0.55, "persistence": 0.7, "amdahl": (0.8, 0.4, 0.9), "extrap": 0.65}

    def test_farscale_is_bold_where_another_method_is_better(self):
        # Errors of 20 % against 10 % of the simple selection.
        points = [made_point(0.5, {"farscale": (0.6, 0.4, 0.7)} | self.METHODS)]
        table = accuracy_tables.errors_table([("sorting", points)])
        self.assertIn("| sorting | 2× | 1 | **20.0 %**, **20.0 %** | 10.0 %, 10.0 % |", table)
        self.assertIn("- sorting, median error: 2× 20.0 % (simple selection 10.0 %)",
                      accuracy_tables.worse_list([("sorting", points)]))
        # Its interval is narrower than plain Amdahl's and holds, too.
        self.assertNotIn("score", accuracy_tables.worse_list([("sorting", points)]))
        best = [made_point(0.5, {"farscale": (0.5, 0.4, 0.7)} | self.METHODS)]
        self.assertEqual(accuracy_tables.worse_list([("sorting", best)]), "Nowhere in these tables.")

    def test_aims_of_traces_are_numbers_and_of_others_the_best_method(self):
        points = [made_point(0.5, {"farscale": (0.502, 0.4, 0.7)} | self.METHODS)]
        self.assertIn("| traces | 2× | 1 | 0.4 % (≤ 1 %) | 0.4 % (≤ 8 %) | 0.30 | 0.30 |",
                      accuracy_tables.aims_table([("traces", points)]))
        self.assertIn("0.4 % (< 10.0 %, simple selection)", accuracy_tables.aims_table([("sorting", points)]))
        self.assertIn("**100.0 %** (75 – 88)", accuracy_tables.coverage_table([("traces", points)]))

    def test_several_applications_have_a_row_that_weighs_them_alike(self):
        points = [made_point(0.5, {"farscale": (0.5, 0.4, 0.7)} | self.METHODS),
                  made_point(0.5, {"farscale": (0.6, 0.4, 0.7)} | self.METHODS, application="b")]
        self.assertIn("| sorting, by application | 2× | 2 |", accuracy_tables.errors_table([("sorting", points)]))

    def test_an_application_has_one_row_with_the_best_of_the_others(self):
        points = [made_point(0.5, {"farscale": (0.6, 0.4, 0.7)} | self.METHODS),
                  made_point(0.5, {"farscale": (0.52, 0.51, 0.7)} | self.METHODS, ratio=8.0)]
        # Errors of 20 and 4 %, and 10 % of the simple selection; the median of +20 and +4 % is +12 %.
        self.assertIn("| sorting: a | 2 | **20.0 %**; 10.0 % (simple selection) |  | 4.0 %; 10.0 % (simple selection) "
                      "|  | +12.0 % | 50.0 % | 50.0 % |", accuracy_tables.applications_table(points))

    def test_few_points_are_split_by_how_many(self):
        points = [made_point(0.5, {"farscale": (0.6, 0.4, 0.7)} | self.METHODS, counts=counts) for counts in (2, 3, 4)]
        table = accuracy_tables.few_table(points)
        for counts in (2, 3):
            self.assertIn(f"| sorting, {counts} counts | 2× | 1 | **20.0 %**; 10.0 % (simple selection) | +20.0 % | "
                          "100.0 % | 60.0 % |", table)
        self.assertNotIn("4 counts", table)

    def test_stability(self):
        moved = [{"table": "t", "phase": "p", "method": "farscale", "move": move} for move in (0.01, 0.03, 0.2)]
        self.assertIn("| farscale | 3 | **3.0 %** (≤ 2 %) | **20.0 %** (≤ 10 %) | t p |",
                      accuracy_tables.stability_table(moved))

    def test_the_leaf_that_is_off_most_is_to_blame(self):
        points = [made_point(measured, {"farscale": value}, factor=factor) for factor, measured, value in (
            ("parallelEfficiency", 0.2, 0.4), ("loadBalance", 0.9, 0.8), ("communicationEfficiency", 0.2, 0.5),
            ("serializationEfficiency", 0.8, 0.81), ("transferEfficiency", 0.25, 0.6))]
        self.assertEqual(accuracy_tables.to_blame(points[0], points)["factor"], "transferEfficiency")
        self.assertIs(accuracy_tables.to_blame(points[0], points[:1]), points[0])

    def test_a_table_takes_its_place_in_the_page(self):
        page = "a\n<!-- accuracy:x -->\nold\n<!-- /accuracy:x -->\nb\n"
        renewed = accuracy.put_tables(page, {"x": "| new |"})
        self.assertEqual(renewed, "a\n<!-- accuracy:x -->\n\n| new |\n\n<!-- /accuracy:x -->\nb\n")
        self.assertEqual(accuracy.put_tables(renewed, {"x": "| new |"}), renewed)
        with self.assertRaises(SystemExit):
            accuracy.put_tables(page, {"y": ""})


class CalibrationTest(unittest.TestCase):
    INTERVALS = "# drift = 9\n# Losses.\ndrift = 0.06\ndrift_power = 0.25\n"
    GROWING = ("prior = [5.0]   # chosen\nprior_of_times = [0.002]\n\n[parameters.p]\nstarts = [0.3]\n"
               "prior_mean = 0.15\n\n[parameters.c]\nprior_mean = 1e-2\n")

    @staticmethod
    def constant(key, section="", file="fits/growing.toml", **parts):
        return calibrate_priors.Constant(file, section, key, **parts)

    @staticmethod
    def scores(score80, cover80=0.8, cover95=0.95, points=4):
        return {"points": points, "score80": score80, "cover80": cover80, "cover95": cover95, "median": 0.1,
                "bias": 0.0}

    def test_numbers_are_found_and_replaced_in_their_section(self):
        self.assertEqual(calibrate_priors.get_number(self.INTERVALS, self.constant("drift")), 0.06)
        self.assertEqual(calibrate_priors.put_number(self.INTERVALS, self.constant("drift"), 0.084),
                         self.INTERVALS.replace("0.06", "0.084"))
        self.assertEqual(calibrate_priors.put_number(self.GROWING, self.constant("prior"), 2.0),
                         self.GROWING.replace("[5.0]", "[2.0]"))
        for section, value in (("parameters.p", 0.15), ("parameters.c", 0.01)):
            self.assertEqual(calibrate_priors.get_number(self.GROWING, self.constant("prior_mean", section)), value)
        for section in ("", "parameters"):
            with self.assertRaises(SystemExit):
                calibrate_priors.get_number(self.GROWING, self.constant("prior_mean", section))

    def test_every_constant_is_in_its_file(self):
        present = calibrate_priors.present_configuration(calibrate_priors.ROOT)
        for constant, value in zip(calibrate_priors.CONSTANTS, present):
            near = constant.values_near(value)
            self.assertIn(len(near), (1, 2))
            self.assertTrue(all(constant.least <= one <= constant.most for one in near))

    def test_values_near_keep_within_limits(self):
        self.assertEqual(self.constant("a", factors=(0.7, 1.4)).values_near(0.06), [0.042, 0.084])
        self.assertEqual(self.constant("a", steps=(-0.15, 0.15)).values_near(0.1), [0.0, 0.25])
        self.assertEqual(self.constant("a", factors=(0.6, 1.6), most=1.0).values_near(1.0), [0.6])

    def test_three_counts_or_more_are_learned_from(self):
        counts = [2 ** i for i in range(11)]
        with tempfile.TemporaryDirectory() as name:
            path = pathlib.Path(name) / "table.csv"

            def splits(kind, counts):
                accuracy_data.write_rows(path, [{"series": "a", "cores": str(cores)} for cores in counts])
                return calibrate_priors.splits_of(accuracy_data.Table("t", kind, path, "strong"))

            self.assertEqual(splits("sorting", counts), counts[2:-1])
            self.assertEqual(splits("traces", [2, 4]), [])
            self.assertEqual(splits("run times", counts), counts)

    def test_loss_weighs_kinds_alike_and_charges_coverage(self):
        present = {"traces: a": self.scores(0.1), "traces: b": self.scores(0.2), "sorting: c": self.scores(0.4)}
        self.assertAlmostEqual(calibrate_priors.loss(present, present), 1)
        # Traces: √(0.5 · 2) = 1, coverage 0.9 and 0.8 on average within 0.75 to 0.88; sorting 0.5, and 0.02 above 0.98.
        scores = {"traces: a": self.scores(0.05, cover80=0.9), "traces: b": self.scores(0.4),
                  "sorting: c": self.scores(0.2, cover95=1.0)}
        self.assertAlmostEqual(calibrate_priors.loss(scores, present), (1 + 0.52) / 2)
        # Without b traces have 0.5, and 0.9 is 0.02 above 0.88.
        self.assertAlmostEqual(calibrate_priors.loss(scores, present, "traces: b"), 0.52)
        self.assertAlmostEqual(calibrate_priors.loss(scores, present, "sorting: c"), 1)

    def test_search_finds_the_least_loss_and_scores_nothing_twice(self):
        # The score is least where drift is 0.03 and all else as it is.
        present = tuple(0.1 for _ in calibrate_priors.CONSTANTS)
        asked = []

        def score(configuration):
            asked.append(configuration)
            far = abs(configuration[0] - 0.03) + sum(abs(value - 0.1) for value in configuration[1:])
            return {"traces: a": self.scores(0.1 + far)}

        found = calibrate_priors.search(present, score, 2)
        best = calibrate_priors.best_of(found, present)
        self.assertEqual(best, (0.049, *present[1:]))  # 0.7 · 0.1 in the first pass, 0.7 · 0.07 in the second
        self.assertEqual(len(asked), len(set(asked)))
        self.assertEqual(list(found), asked)

    def test_a_search_without_an_application_may_go_elsewhere(self):
        # a wants the first constant to be smaller, b, with more to gain, larger.
        present = tuple(0.1 for _ in calibrate_priors.CONSTANTS)
        found = calibrate_priors.search(present, lambda one: {"traces: a": self.scores(one[0]),
                                                              "traces: b": self.scores(one[0] ** -2)}, 1)
        self.assertEqual(calibrate_priors.best_of(found, present)[0], 0.14)
        self.assertEqual(calibrate_priors.held_out(found, present, 1, "traces: a"), ((0.14, *present[1:]), True))
        # Without b the search goes on from 0.07, which the search with all did not.
        self.assertEqual(calibrate_priors.held_out(found, present, 1, "traces: b"), ((0.07, *present[1:]), False))

    def test_left_out_applications_choose_without_themselves(self):
        # The second configuration helps b alone, so b itself does not choose it.
        places = len(calibrate_priors.CONSTANTS)
        first, second = (0.1,) * places, (0.2,) * places
        found = {first: {"traces: a": self.scores(0.1), "traces: b": self.scores(0.1)},
                 second: {"traces: a": self.scores(0.11), "traces: b": self.scores(0.05)}}
        self.assertEqual(calibrate_priors.best_of(found, first), second)
        self.assertEqual(calibrate_priors.best_of(found, first, "traces: b"), first)
        chosen = {label: (calibrate_priors.best_of(found, first, label), label == "traces: a")
                  for label in found[first]}
        table = calibrate_priors.scores_table(found, first, chosen)
        self.assertIn("| traces: b* | 4 | 80.0 % | 95.0 % | 10.0 % | +0.0 % | 1.000 | 80.0 % | 95.0 % | 10.0 % | +0.0 % |",
                      table)
        self.assertIn("| traces: a | 4 | 80.0 % | 95.0 % | 10.0 % | +0.0 % | **1.100** |", table)
        # On all the second one is better by a quarter, on those left out worse by a twentieth.
        self.assertFalse(calibrate_priors.is_better(found, first, chosen))
        self.assertTrue(calibrate_priors.is_better(found, first, dict.fromkeys(chosen, (second, True))))
        self.assertIn("| 0.1 | 0.1, 0.2 | 0.2 | 0.1 (1), 0.2 (1) |",
                      calibrate_priors.constants_table(found, first, chosen))

    def test_scores_are_kept_for_the_same_fingerprint(self):
        with tempfile.TemporaryDirectory() as name:
            path = pathlib.Path(name) / "scores.json"
            calibrate_priors.KeptScores(path, "mark").get((0.1, 2.0), lambda _: {"traces: a": self.scores(0.1)})
            kept = calibrate_priors.KeptScores(path, "mark").get((0.1, 2.0), lambda _: self.fail())
            self.assertEqual(kept, {"traces: a": self.scores(0.1)})
            self.assertEqual(calibrate_priors.KeptScores(path, "other").found, {})


if __name__ == "__main__":
    unittest.main()
