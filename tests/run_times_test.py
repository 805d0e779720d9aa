#!/usr/bin/env python3
"""Run times as people bring them: a bad repeat, unstated scaling, divided cores, speedups. Every kind is judged by values
that are known by construction, on random tables and on published ones.

    FARSCALE=build/dev/bin/farscale tests/run_times_test.py
"""

import collections
import csv
import io
import json
import os
import pathlib
import random
import statistics
import subprocess
import tempfile
import unittest

import nightly

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = str(pathlib.Path(os.environ["FARSCALE"]).resolve())
SHARED = pathlib.Path(os.environ.get("FARSCALE_SHARED_DATA", ROOT.parent / "shared/data"))
COMMANDS = (["predict", "t.csv"], ["backtest", "t.csv"], ["factors", "t.csv"], ["compare", "t.csv", "t.csv"],
            ["report", "t.csv", "--form", "allocation", "-o", "a"],
            ["history", "add", "t.csv", "--into", "h", "--commit", "a", "--date", "2026-11-20"], ["gate", "t.csv"])


class RunTimesTest(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self._folder.name)

    def tearDown(self):
        self._folder.cleanup()

    def write(self, rows, head="cores,runtime"):
        (self.folder / "t.csv").write_text("\n".join([head, *(",".join(map(str, row)) for row in rows)]) + "\n")

    def farscale(self, *arguments):
        return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, cwd=self.folder, timeout=300)

    def run_ok(self, *arguments):
        result = self.farscale(*arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result

    def refused(self, sentence, *arguments):
        result = self.farscale(*arguments)
        self.assertEqual(result.returncode, 2, " ".join(arguments) + "\n" + result.stdout + result.stderr)
        self.assertIn(sentence, result.stderr)
        return result.stderr

    def efficiencies(self, *arguments):
        """Of every row, by cores and threads."""
        rows = csv.DictReader(io.StringIO(self.run_ok("factors", "t.csv", "-o", "-", *arguments).stdout))
        return {(row["series"], int(row["cores"]), int(row["threads"]), int(row["repeat"])): float(row["globalEfficiency"])
                for row in rows}


class Repeats(RunTimesTest):
    def test_sample(self):
        self.write([(1, 100), (1, 101), (1, 180), (2, 52), (2, 51), (4, 28), (4, 29), (8, 16), (8, 17)])
        efficiencies = self.efficiencies()
        self.assertAlmostEqual(statistics.mean([efficiencies["", 8, 1, 0], efficiencies["", 8, 1, 1]]), 0.765, delta=0.003)
        for command in COMMANDS[:4]:
            self.assertIn("repeat 2 on 1 core takes 180 s, the median 101 s", self.run_ok(*command).stderr, command)

    def test_random_tables(self):
        """The prediction is that of the table without the bad repeat."""
        random.seed(1)
        for case in range(10):
            first, serial = random.randint(1, 64), random.uniform(0.001, 0.05)
            rows = [(first * 2 ** i, 1000 * (serial + (1 - serial) / 2 ** i) * random.gauss(1, 0.005))
                    for i in range(5) for _ in range(4)]
            place = random.randrange(len(rows))
            bad = list(rows)
            bad[place] = (rows[place][0], rows[place][1] * random.uniform(1.4, 3))
            good = rows[:place] + rows[place + 1:]
            predicted = {}
            for name, table in (("good", good), ("bad", bad)):
                self.write(table)
                result = self.run_ok("predict", "t.csv", "--scaling", "strong", "--targets", first * 64, "-o", "-")
                predicted[name] = {row["factor"]: float(row["value"]) for row in csv.DictReader(io.StringIO(result.stdout))}
            self.assertIn(f"on {bad[place][0]} core", result.stderr, case)
            for factor in ("globalEfficiency", "speedup", "runtime"):
                self.assertAlmostEqual(predicted["bad"][factor] / predicted["good"][factor], 1, delta=0.02, msg=(case, factor))

    def test_comparisons(self):
        """One bad repeat is no regression, and hides none."""
        random.seed(2)
        for case in range(10):
            times = {cores: 100 / cores for cores in (1, 2, 4, 8)}
            def table(name, factor, bad):
                rows = [(cores, seconds * factor * random.gauss(1, 0.005)) for cores, seconds in times.items() for _ in range(4)]
                if bad:
                    place = random.randrange(len(rows))
                    rows[place] = (rows[place][0], rows[place][1] * 2)
                self.write(rows)
                (self.folder / "t.csv").rename(self.folder / name)
            table("before.csv", 1, False)
            table("same.csv", 1, True)
            table("worse.csv", 1.2, True)
            (self.folder / "g.toml").write_text('[[rule]]\nfactor = "timePerIteration"\nmax_rise = 0.05\n')
            for name, code in (("same.csv", 0), ("worse.csv", 1)):
                result = self.farscale("gate", name, "--baseline", "before.csv", "--rules", "g.toml")
                self.assertEqual(result.returncode, code, result.stdout + result.stderr)
                self.assertIn("takes", result.stderr)

    def test_repeats_in_files(self):
        """Each file a repeat with its own reference, one of which is bad."""
        for i, first in enumerate((100, 101, 180)):
            self.write([(1, first), (2, 51 + i / 10), (4, 28 + i / 10)])
            (self.folder / "t.csv").rename(self.folder / f"{i}.csv")
        (self.folder / "g.toml").write_text('[[rule]]\nfactor = "globalEfficiency"\ncores = 4\nmin = 0.5\n')
        result = self.farscale("gate", "0.csv", "1.csv", "2.csv", "--rules", "g.toml", "--json", "-")
        value = json.loads(result.stdout)["judgements"][0]["value"]
        self.assertAlmostEqual(value, 101 / 28.1 / 4, delta=0.002)
        self.assertIn("repeat 2 on 1 core takes 180 s", result.stderr)


class Scaling(RunTimesTest):
    def test_times_that_do_not_tell(self):
        for rows in ([(24, 20), (48, 20), (72, 20)], [(1, 10), (2, 10.5), (4, 11)], [(8, 100), (64, 180)]):
            self.write(rows)
            strong, weak = rows[0][1] / rows[-1][1] * rows[0][0] / rows[-1][0], rows[0][1] / rows[-1][1]
            for command in COMMANDS:
                said = self.refused(f"efficiency {strong:.3f} if strong, {weak:.3f} if weak", *command)
                self.assertIn("--scaling", said)
            for scaling, value in (("strong", strong), ("weak", weak)):
                self.assertAlmostEqual(self.efficiencies("--scaling", scaling)["", rows[-1][0], 1, 0], value, places=9)

    @nightly.alone
    def test_what_times_exclude(self):
        random.seed(3)
        tables = [[(16, 100), (32, 52), (64, 28)]]
        for _ in range(10):
            first, exponent = random.randint(1, 500), random.uniform(0.6, 1)
            tables.append([(first * 2 ** i, 1000 / 2 ** (i * exponent) * random.gauss(1, 0.01)) for i in range(random.randint(3, 6))])
        for rows in tables:
            self.write(rows)
            for command in COMMANDS:
                self.refused("the problem does not grow with the cores", *command, "--scaling", "weak")
            self.assertIn("strong scaling", self.run_ok("factors", "t.csv").stderr)

    def test_series(self):
        """Strong and weak series in one table, by a column; without it the weak one is asked about."""
        random.seed(4)
        for case in nightly.some(range(10), 4):
            rows, truth = [], {}
            for series in "abcd":
                scaling = random.choice(("strong", "weak")) if series > "b" else ("strong" if series == "a" else "weak")
                first = random.randint(1, 16)
                for i in range(4):
                    efficiency = random.uniform(0.9, 1) ** i
                    seconds = 50 / efficiency / (2 ** i if scaling == "strong" else 1)
                    rows.append((series, scaling, first * 2 ** i, seconds))
                    truth[series, first * 2 ** i, 1, 0] = efficiency
            self.write([(row[0], *row[2:]) for row in rows], "series,cores,runtime")
            self.refused("series b: ", "factors", "t.csv")
            self.write(rows, "series,scaling,cores,runtime")
            for key, efficiency in self.efficiencies().items():
                self.assertAlmostEqual(efficiency, truth[key], places=9, msg=(case, key))
            self.run_ok("factors", "t.csv", "-o", "f.json")
            self.run_ok("factors", "t.csv", "-o", "f.csv")
            predictions = {self.run_ok("predict", name, "--targets", 512, "-o", "-").stdout for name in ("t.csv", "f.json", "f.csv")}
            self.assertEqual(len(predictions), 1, case)
            self.refused("show", "predict", "t.csv", "--scaling", "weak")
        self.write([("a", "weak", 1, 10), ("a", "strong", 2, 10)], "series,scaling,cores,runtime")
        self.assertIn("both strong and weak", self.farscale("predict", "t.csv").stderr)

    def test_published_series(self):
        """82 series whose scaling is known, whole and their first three core counts: no guess is wrong."""
        table = SHARED / "scaling-tables/real-runtimes.csv"
        if not table.exists():
            self.skipTest(f"no {table}; set FARSCALE_SHARED_DATA")
        series = collections.defaultdict(list)
        for row in csv.DictReader(io.StringIO(table.read_text())):
            series[row["series"]].append(row)
        self.assertEqual(len(series), 82)
        series = dict(nightly.some(series.items(), 5))
        right = {"strong": "strong", "weak": "refused"}
        expected = collections.Counter((rows[0]["scaling"], right[rows[0]["scaling"]]) for rows in series.values())
        self.assertEqual(len(expected), 2)
        for most in (None, 3):
            guesses = collections.Counter()
            for rows in series.values():
                counts = sorted({int(row["cores"]) for row in rows})[:most]
                self.write([(row["cores"], row["runtime_s"]) for row in rows if int(row["cores"]) in counts])
                result = self.farscale("factors", "t.csv")
                guess = "refused" if result.returncode == 2 else "strong" if "strong scaling" in result.stderr else "weak"
                guesses[rows[0]["scaling"], guess] += 1
            self.assertEqual(guesses, expected)


class Splits(RunTimesTest):
    HEAD = "cores,ranks,threads,runtime"

    def test_random_tables(self):
        random.seed(5)
        for case in range(10):
            first, best = random.choice((8, 16, 24)), {}
            rows = []
            for i in range(4):
                cores = first * 2 ** i
                for threads in (1, 2, 4, 8):
                    seconds = 100 / 1.9 ** i * random.uniform(1, 1.3)
                    rows.append((cores, cores // threads, threads, seconds))
                    best[cores] = min(best.get(cores, (seconds, threads)), (seconds, threads))
            self.write(rows, self.HEAD)
            efficiencies = self.efficiencies()
            for cores, (seconds, threads) in best.items():
                got = next(value for key, value in efficiencies.items() if key[1:3] == (cores, threads))
                self.assertAlmostEqual(got, best[first][0] / seconds * first / cores, places=9, msg=case)
            predict = ["predict", "t.csv", "--scaling", "strong", "--targets", first * 16, "-o", "-"]
            of_all = self.run_ok(*predict, "-v")
            self.assertIn(f"{first} = {first // best[first][1]} × {best[first][1]}", of_all.stderr)
            self.assertNotIn("phase  ", of_all.stderr)
            self.assertFalse(any(line.endswith("phase") for line in of_all.stderr.splitlines()))
            self.write([(cores, seconds) for cores, (seconds, _) in best.items()])
            self.assertEqual(self.run_ok(*predict).stdout, of_all.stdout, case)


class Speedups(RunTimesTest):
    def test_random_tables(self):
        random.seed(6)
        for case in range(10):
            first = random.randint(1, 100)
            speedups = [(first * 2 ** i, 2 ** i * random.uniform(0.85, 0.95) ** i) for i in range(5)]
            base = random.choice((1, first))  # what they compare with
            self.write([(cores, base * value) for cores, value in speedups], "cores,speedup")
            efficiencies = self.efficiencies()
            for cores, value in speedups:
                self.assertAlmostEqual(efficiencies["", cores, 1, 0], value * first / cores, places=9, msg=case)
            self.assertIn("globalEfficiency", self.run_ok("predict", "t.csv", "--targets", first * 64, "-o", "-").stdout)
            self.run_ok("backtest", "t.csv")
            self.run_ok("compare", "t.csv", "t.csv")


if __name__ == "__main__":
    unittest.main()
