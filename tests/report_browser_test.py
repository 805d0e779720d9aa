#!/usr/bin/env python3
"""The HTML report as its readers use it: opened in a headless Chromium, clicked, dragged, read out and printed.

    FARSCALE=build/dev/bin/farscale tests/report_browser_test.py
"""

import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import unittest

import busy
from browser import Browser, find_browser

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = str(pathlib.Path(os.environ["FARSCALE"]).resolve())
CHECKS = (ROOT / "tests/report_accessibility.js").read_text()
HOSTILE = "</script><script>alert(1)</script>"
# Work of opening a large report, as a share of that of a page with as many bytes of plain text.
LARGEST_WORK_TO_OPEN = 1


def farscale(*arguments):
    subprocess.run([PROGRAM, "-q", *map(str, arguments)], check=True, timeout=120)


def phases_of(results):
    """Every list in which the phases of a results file are told, with the key of their names."""
    yield results["phases"], "name"
    for part in (results, *results.get("variants", [])):
        yield part["factors"]["rows"], "phase"
        yield part["projections"], "phase"
    for run in results["runs"]:
        yield run["phases"], "phase"
    for part in ("losses", "lossProjections"):
        yield results.get(part, []), "phase"


def add_phase(results, old, new):
    """The same phase again, by another name."""
    for entries, key in phases_of(results):
        entries.extend(dict(entry, **{key: new}) for entry in entries[:] if entry[key] == old)


def large_results(folder):
    """4,096 ranks in the largest of 12 runs, 20 phases, on three machines; pictures in which hardly a cell is as its neighbour."""
    rows = ["phase,cores,nodes,loadBalance,serializationEfficiency,transferEfficiency,instructionScaling,ipcScaling,"
            "frequencyScaling,runtime,iterations"]
    for i in range(12):
        share = [1 - loss * (i + 1) / 12 for loss in (0.15, 0.05, 0.25, 0.02, 0.01, 0.005)]
        factors = ",".join(f"{value:.4f}" for value in share)
        rows.append(f"phase 0,{2 << i},1,{factors},{100 / (2 << i):.4f},400")
    (folder / "table.csv").write_text("\n".join(rows) + "\n")
    farscale("predict", folder / "table.csv", "-o", folder / "small.json", "--report", folder / "table")
    results = json.loads((folder / "table/results.json").read_text())
    some = random.Random(1)
    for i in range(12):
        cores = 2 << i
        picture = {"seconds": 4, "ranks": cores, "ranksPerRow": max(1, cores // 64), "columns": 360,
                   "nodeBegins": [0], "shares": {name: {"mean": 0.5, "least": 0, "leastRank": 0, "most": 1, "mostRank": 1}
                              for name in ("computation", "waiting")},
                   "rows": [" ".join(f"c{level}w{8 - level}" for level in some.choices(range(1, 8), k=360))
                            for _ in range(min(64, cores))]}
        iterations = [{"begin": 0.01 * k, "end": 0.01 * k + 0.009, "elapsed": 0.009, "useful": 0.001 * some.random(),
                       "parallelEfficiency": 0.8, "loadBalance": 0.9} for k in range(400)]
        results["runs"].append({
            "path": f"{cores}.otf2", "program": "p", "format": "OTF2", "creator": "c", "sha256": "a" * 64, "bytes": 1,
            "events": 1, "seconds": 4, "cores": cores, "ranks": cores, "threads": 1, "nodes": 1, "repeat": 0,
            "coverage": 1, "diagnostics": [], "phases": [{"phase": "phase 0", "iterations": iterations}],
            "picture": picture})
    for number in range(1, 20):
        add_phase(results, "phase 0", f"phase {number}")
    parts = {"isNoise": True, "factors": results["factors"], "projections": results["projections"]}
    results["variants"] = [{"id": "network", "name": "without network noise", "description": "replayed", **parts},
                           {"id": "all", "name": "without any noise", "description": "replayed", **parts}]
    return results


def add_losses(results, small):
    """Those of a small study for every phase, on 4,096 ranks, with three long call paths that all cause waiting."""
    losses, projections = small["losses"][0], [p for p in small["lossProjections"] if p["phase"] == small["losses"][0]["phase"]]
    path = dict(losses["callPaths"][0])
    path["byRank"] = {key: {str(rank): 0.001 for rank in (17, 4095)} for key in ("waiting", "costs")}
    path.pop("costsByRankAndIteration", None)  # of more than eight phases none is kept
    paths = [dict(path, path=" / ".join(["main", "a_region_with_a_long_name"] * 4 + [str(i)])) for i in range(3)]
    phases = [phase["name"] for phase in results["phases"]]
    results["losses"] = [dict(losses, phase=phase, runRanks=4096, ranks=list(range(4096)), callPaths=paths) for phase in phases]
    results["lossProjections"] = [dict(one, phase=phase) for phase in phases for one in projections]


def decoded(phase, codes):
    """Texts of the codes that the script of the page picks from (src/report/sections.h)."""
    width = phase["width"]
    numbers = [int(codes[at:at + width], 36) for at in range(0, len(codes), width)]
    return [f"0.{number:03}" if number < 1000 else phase["texts"][number - 1000] for number in numbers]


@unittest.skipUnless(find_browser(), "no browser is installed: apt-get install chromium")
class ReportBrowserTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls._folder = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls._folder.name)
        farscale("run", ROOT / "sample-runs/comd-noise/study.toml", "-o", cls.folder / "run")
        results = json.loads((cls.folder / "run/results.json").read_text())
        cls.phase = results["phases"][0]["name"]
        add_phase(results, cls.phase, HOSTILE)
        cls.results = results
        cls.report = cls.render(results, "report")
        cls.browser = Browser(find_browser())

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        cls._folder.cleanup()

    @classmethod
    def render(cls, results, name):
        path = cls.folder / f"{name}.json"
        path.write_text(json.dumps(results))
        farscale("report", path, "-o", cls.folder / name, "--format", "html")
        return cls.folder / name / "report.html"

    def setUp(self):
        self.browser.prefer("light")
        self.browser.open(self.report)
        self.choices = json.loads(self.browser.run("document.getElementById('choices').textContent"))["phases"]

    def tearDown(self):
        self.assertEqual(self.browser.complaints(), [])
        self.assertEqual([url for url in self.browser.requests() if not url.endswith(("/report.html", "/index.html"))], [])

    def run_js(self, script):
        return self.browser.run(script)

    def visible(self, selector):
        """How many of them can be seen. (Browsers do not tell checkVisibility() the truth about <g>.)"""
        return self.run_js(f"""
            const hidden = (e) => e && (getComputedStyle(e).display === "none" || hidden(e.parentElement));
            const seen = (e) => !hidden(e) && !e.closest("details:not([open]) > :not(summary)");
            return [...document.querySelectorAll({selector!r})].filter(seen).length;""")

    def open_all(self):
        self.run_js("for (const details of document.querySelectorAll('main details')) details.open = true")

    def readings(self, anchor):
        """What the table at the target says: [factor, value, interval] of what was measured."""
        return self.run_js(f"""
            const rows = document.querySelector('.readings[data-phase="{anchor}"]').tBodies[0].rows;
            return [...rows].map((row) => [row.dataset.factor, row.cells[1].querySelector("span").textContent,
                                           row.cells[1].querySelector("small")?.textContent ?? ""]);""")

    def expected(self, phase, place, side=0):
        """The same, as the data has it."""
        rows = []
        for factor, texts in phase["sides"][side]["factors"].items():
            value, low, high = decoded(phase, texts["values"])[3 * place:3 * place + 3]
            is_unknown = value == "-" and low == "-"
            level = "unknown" if is_unknown else "uncertain"
            rows.append([factor, level if value == "-" else value, "" if is_unknown else f"{low} – {high}"])
        return rows

    @staticmethod
    def level(phase, place):
        if place <= phase["lastReliable"]:
            return "reliable"
        return "uncertain" if place <= phase["lastUncertain"] else "unknown"

    def test_what_is_on_the_page(self):
        self.assertEqual(self.visible("main > section.phase"), 2)
        self.assertEqual(self.visible(".phase-row svg[data-plot]"), 2)
        self.assertEqual(self.visible(".overview svg[data-plot]"), 1)  # the second phase is folded
        self.open_all()
        self.assertGreaterEqual(self.visible("svg[data-plot]"), 12)
        self.assertEqual(self.run_js("window.alert.toString().includes('native code')"), True)
        self.assertIn(HOSTILE, self.run_js("document.querySelectorAll('h2')[2].textContent"))
        self.assertEqual(self.run_js("document.scripts.length"), 2)

    def test_the_policy_stops_what_is_not_ours(self):
        self.assertEqual(self.run_js("""
            window.ran = false;
            const script = document.createElement("script");
            script.textContent = "window.ran = true";
            document.body.append(script);
            return window.ran;"""), False)
        self.assertTrue(self.browser.complaints())
        self.browser.events.clear()
        self.assertIn("Failed to fetch", self.run_js(
            "return fetch('data:text/plain,x').then(() => 'fetched').catch((error) => String(error))"))
        self.browser.events.clear()

    def test_the_target_moves_all_numbers(self):
        for place in (0, 7, len(self.choices[0]["counts"]) - 1):
            self.run_js(f"""
                const range = document.querySelector(".target");
                range.value = {place};
                range.dispatchEvent(new Event("input"));
                return 0;""")
            for phase in self.choices:
                self.assertEqual(self.readings(phase["anchor"]), self.expected(phase, place))
            count = self.choices[0]["counts"][place]
            self.assertEqual(self.run_js("document.querySelector('.at-cores').textContent"), count)
            level = self.level(self.choices[0], place)
            self.assertEqual(self.run_js("document.querySelector('.target').getAttribute('aria-valuetext')"),
                             f"{count} cores" + ("" if level == "reliable" else f", {level}"))
        self.assertTrue({"uncertain", "unknown"} & {row[1] for row in self.readings(self.choices[0]["anchor"])})

    def test_what_is_reliable_is_as_the_results_say(self):
        projection = self.results["projections"][0]
        end, last = projection["reliableRange"]["cores"], projection["reliableRange"]["uncertainUpTo"]
        values = self.choices[0]["sides"][0]["factors"]["parallelEfficiency"]["values"]
        texts = decoded(self.choices[0], values)
        for number, text, low in zip(self.choices[0]["numbers"], texts[::3], texts[1::3]):
            self.assertEqual(text == "-", number > end, (number, end, text))
            self.assertEqual(low == "-", number > last, (number, last, low))

    def test_counts_to_choose_from(self):
        projection = self.results["projections"][0]
        for phase in self.choices:
            numbers = phase["numbers"]
            self.assertEqual(numbers, sorted(set(numbers)))
            self.assertTrue(all(isinstance(number, int) for number in numbers), numbers)
            targets = [target["cores"] for target in projection["factors"][0]["targets"]]
            for count in (*projection["fittedCores"], *targets, projection["reliableRange"]["cores"]):
                self.assertIn(count, numbers)
            self.assertEqual(numbers[phase["lastReliable"]], projection["reliableRange"]["cores"])

    def type_count(self, cores):
        self.run_js(f"""
            const count = document.querySelector(".count");
            count.focus();
            count.value = {cores};
            count.dispatchEvent(new Event("input"));
            return 0;""")
        return self.run_js("[document.querySelector('.at-cores').textContent, document.querySelector('.note').textContent]")

    def test_a_count_typed_in_chooses_the_nearest_and_says_so(self):
        numbers, counts, last = (self.choices[0][key] for key in ("numbers", "counts", "lastReliable"))
        within = f"Reliable up to {counts[last]} cores."
        beyond = f"{self.level(self.choices[0], last + 1).capitalize()}: reliable only up to {counts[last]} cores."
        far = f"{self.level(self.choices[0], len(counts) - 1).capitalize()}: reliable only up to {counts[last]} cores."
        self.assertEqual(self.type_count(numbers[3]), [counts[3], within])
        self.assertEqual(self.type_count(numbers[3] + 0.1),
                         [counts[3], f"Nearest count with numbers: {counts[3]}. {within}"])
        # On its own side of the end of the reliable range, however near the other is.
        self.assertEqual(self.type_count(numbers[last] + 0.1)[0], counts[last + 1])
        self.assertEqual(self.type_count(numbers[last + 1]), [counts[last + 1], beyond])
        self.assertEqual(self.type_count(1e9)[1],
                         f"Nearest count with numbers: {counts[-1]}. {far}")
        self.run_js("document.querySelector('.count').dispatchEvent(new Event('change'))")
        self.assertEqual(self.run_js("Number(document.querySelector('.count').value)"), numbers[-1])

    def test_arrow_keys_step_through_the_counts(self):
        self.open_all()
        numbers, counts, last = (self.choices[0][key] for key in ("numbers", "counts", "lastReliable"))
        value = "Number(document.querySelector('.count').value)"
        self.type_count(numbers[last] + 0.1)
        self.browser.press("ArrowDown", 40)
        self.assertEqual(self.run_js(value), numbers[last])
        self.assertNotIn("Beyond", self.run_js("document.querySelector('.note').textContent"))
        self.browser.press("ArrowUp", 38)
        self.assertEqual(self.run_js(value), numbers[last + 1])
        self.assertIn(": reliable only up to", self.run_js("document.querySelector('.note').textContent"))
        self.assertEqual(self.readings(self.choices[0]["anchor"]), self.expected(self.choices[0], last + 1))
        self.browser.press("PageDown", 34)
        self.assertEqual(self.run_js(value), numbers[last - 4])
        for _ in range(len(numbers)):
            self.browser.press("ArrowUp", 38)
        self.assertEqual(self.run_js(value), numbers[-1])

    def test_the_keyboard_moves_the_target(self):
        self.open_all()
        self.run_js("document.querySelector('.target').focus()")
        before = int(self.run_js("document.querySelector('.target').value"))
        self.browser.press("ArrowLeft", 37)
        self.assertEqual(int(self.run_js("document.querySelector('.target').value")), before - 1)
        self.assertEqual(self.readings(self.choices[0]["anchor"]), self.expected(self.choices[0], before - 1))

    def test_pointing_at_a_chart_reads_its_values(self):
        left, top, width, height = self.run_js("""
            const svg = document.querySelector(".overview svg[data-plot]");
            svg.scrollIntoView({block: "center"});
            const box = svg.getBoundingClientRect();
            return [box.left, box.top, box.width, box.height];""")
        for share in (0.2, 0.8):
            self.browser.point_at(left + share * width, top + height / 2)
            text = self.run_js("document.getElementById('readout').hidden ? '' : "
                               "document.getElementById('readout').innerText")
            count = re.match(r"([\d,.]+) cores", text)
            self.assertTrue(count, text)
            place = self.choices[0]["counts"].index(count.group(1))
            for factor, value, interval in self.expected(self.choices[0], place):
                if factor in ("parallelEfficiency", "loadBalance"):
                    self.assertRegex(text, f"{value}\\s+{interval}")
        self.browser.point_at(left + 0.06 * width, top + height / 2)
        self.assertRegex(self.run_js("document.getElementById('readout').innerText"), "measured 0.9")
        self.browser.point_at(1, 1)
        self.assertTrue(self.run_js("document.getElementById('readout').hidden"))

    def test_a_chart_is_read_by_the_keyboard(self):
        self.run_js("document.querySelector('.plot').focus({focusVisible: true})")
        self.browser.press("Home", 36)
        first = self.run_js("document.getElementById('readout').innerText")
        self.browser.press("ArrowRight", 39)
        second = self.run_js("document.getElementById('readout').innerText")
        self.assertTrue(first.startswith(f"{self.choices[0]['counts'][0]} cores"), first)
        self.assertTrue(second.startswith(f"{self.choices[0]['counts'][1]} cores"), second)
        self.browser.press("Escape", 27)
        self.assertTrue(self.run_js("document.getElementById('readout').hidden"))

    def read_picture(self, selector, keys):
        """What the readout says of a picture, after each key."""
        self.open_all()
        self.run_js(f"document.querySelector('{selector}').focus({{focusVisible: true}})")
        said = [self.run_js("document.getElementById('readout').innerText")]
        for key, code in keys:
            self.browser.press(key, code)
            said.append(self.run_js("document.getElementById('readout').innerText"))
        return said

    def test_a_timeline_is_read(self):
        selector = ".plot:has(svg[data-cells])"
        first, right, down, last = self.read_picture(selector, [("ArrowRight", 39), ("ArrowDown", 40), ("End", 35)])
        self.assertRegex(first, r"^Rank 0, about 0 s after the begin")
        self.assertRegex(right, r"^Rank 0, about [\d.]+ [mµ]s after the begin")
        self.assertRegex(down, r"^Rank 1, about [\d.]+ [mµ]s after the begin")
        for text in (first, right, down, last):
            parts = [int(part) for part in re.findall(r"(\d)/8 of the time", text)]
            self.assertEqual(sum(parts), 8, text)
        self.assertRegex(last, r"phase\s+time step: 2 iterations")
        left, top, width, height = self.run_js("""
            const rect = document.querySelector("svg[data-cells] rect[data-mix]");
            rect.scrollIntoView({block: "center"});
            const box = rect.getBoundingClientRect();
            return [box.left, box.top, box.width, box.height];""")
        self.browser.point_at(left + width / 2, top + 0.99 * height)
        self.assertRegex(self.run_js("document.getElementById('readout').innerText"), "^Rank 7, about")
        self.assertEqual(self.visible("line.cursor"), 2)
        self.browser.point_at(1, 1)
        self.assertEqual(self.visible("line.cursor"), 0)

    def test_iterations_are_read(self):
        results = json.loads(json.dumps(self.results))
        for run in results["runs"]:
            run["phases"] = [{"phase": self.phase, "iterations": [
                {"begin": 0.01 * k, "end": 0.01 * k + 0.009, "elapsed": 0.001 * (k + 1), "useful": 0.001,
                 "parallelEfficiency": 0.8, "loadBalance": 0.9} for k in range(5)]}]
        self.browser.open(self.render(results, "iterations"))
        first, second, below = self.read_picture(".iterated .plot", [("ArrowRight", 39), ("ArrowDown", 40)])
        self.assertRegex(first, r"^8 cores, iteration 1\s+Length\s+1.00 ms")
        self.assertRegex(second, r"^8 cores, iteration 2\s+Length\s+2.00 ms\s+Useful\s+1.00 ms")
        self.assertRegex(below, r"^16 cores, iteration 2\s")
        self.browser.press("Escape", 27)
        self.assertTrue(self.run_js("document.getElementById('readout').hidden"))
        self.assertEqual(self.run_js(CHECKS), [])

    def test_factors_and_phases_can_be_left_out(self):
        self.open_all()
        self.assertGreater(self.visible('[data-factor="transferEfficiency"]'), 10)
        self.run_js("document.querySelector('.choose').open = true")
        click = "document.querySelector('input[value=\"{}\"]').click()"
        self.run_js(click.format("transferEfficiency"))
        self.assertEqual(self.visible('[data-factor="transferEfficiency"]'), 0)
        self.assertGreater(self.visible('[data-factor="loadBalance"]'), 10)
        self.run_js(click.format("transferEfficiency"))
        self.assertGreater(self.visible('[data-factor="transferEfficiency"]'), 10)
        anchor = self.choices[1]["anchor"]
        self.run_js(click.format(anchor))
        self.assertEqual(self.visible(f"#{anchor}"), 0)
        self.assertEqual(self.visible("main > section.phase"), 1)
        self.run_js(click.format("transferEfficiency"))
        link = self.run_js("location.hash")
        self.browser.open(self.report)
        self.assertEqual(self.visible("main > section.phase"), 2)
        self.run_js(f"location.hash = {link!r}")
        self.run_js("return new Promise((done) => setTimeout(done, 50))")
        self.assertEqual(self.visible("main > section.phase"), 1)
        self.assertEqual(self.visible('[data-factor="transferEfficiency"]'), 0)

    def test_measured_beside_noise_free(self):
        self.open_all()
        name = self.results["variants"][0]["name"]
        self.assertEqual(self.visible(".overlay"), 0)
        self.run_js("document.querySelector('input.side').click()")
        self.assertGreater(self.visible("polyline.overlay"), 5)
        self.assertEqual(self.visible("g.overlay"), 1)  # in the legend
        self.assertEqual(self.run_js("document.querySelector('g.overlay.shown').textContent"), name)
        self.assertTrue(self.run_js("document.querySelector('g.overlay.shown line').getAttribute('stroke-dasharray')"))
        place = self.choices[0]["place"]
        shown = self.run_js("""
            const table = document.querySelector(".readings");
            const shown = (cell) => cell.checkVisibility();
            return [[...table.tHead.rows[0].cells].filter(shown).map((cell) => cell.textContent),
                    [...table.tBodies[0].rows].map((row) => [...row.cells].filter(shown)[2].textContent)];""")
        self.assertEqual(shown[0][2], name)
        self.assertEqual(shown[1], [value + interval for _, value, interval in
                                    self.expected(self.choices[0], place, side=1)])

    def test_themes(self):
        ground = "getComputedStyle(document.body).backgroundColor"
        self.assertEqual(self.run_js(ground), "rgb(255, 255, 255)")
        self.run_js("document.getElementById('theme').click()")
        self.assertEqual(self.run_js(ground), "rgb(20, 25, 30)")
        self.assertEqual(self.run_js("document.getElementById('theme').getAttribute('aria-pressed')"), "true")
        self.browser.prefer("dark", media="print")
        self.assertEqual(self.run_js(ground), "rgb(255, 255, 255)")
        self.browser.prefer("dark")
        self.browser.open(self.report)
        self.assertEqual(self.run_js(ground), "rgb(20, 25, 30)")

    def test_accessibility(self):
        for scheme in ("light", "dark"):
            self.browser.prefer(scheme)
            self.browser.open(self.report)
            self.run_js("for (const details of document.querySelectorAll('details')) details.open = true")
            self.run_js("for (const box of document.querySelectorAll('input.side')) box.click()")
            self.assertEqual(self.run_js(CHECKS), [], scheme)

    def test_everything_is_reached_by_the_keyboard(self):
        self.browser.press("Tab", 9)
        self.assertEqual(self.run_js("document.activeElement.className"), "skip")
        self.browser.press("Tab", 9)
        self.assertEqual(self.run_js("document.activeElement.id"), "theme")
        self.assertNotEqual(self.run_js("getComputedStyle(document.activeElement).outlineStyle"), "none")

    def test_narrow_pages_do_not_scroll_sideways(self):
        self.browser.open(self.report, width=400)
        self.assertEqual(self.run_js("document.documentElement.scrollWidth"), 400)
        self.assertEqual(self.visible(".contents li"), 0)
        results = json.loads(json.dumps(self.results).replace(json.dumps(HOSTILE)[1:-1], "x" * 90))
        results["study"]["title"] = "y" * 90
        for run in results["runs"]:
            run["path"] = "z" * 120
        self.browser.open(self.render(results, "long"), width=400)
        self.run_js("for (const details of document.querySelectorAll('main details')) details.open = true")
        self.run_js("for (const box of document.querySelectorAll('input.side')) box.click()")
        self.assertEqual(self.run_js("document.documentElement.scrollWidth"), 400)
        self.assertEqual(self.run_js("[...document.querySelectorAll('main table')].filter((table) => !table.closest('.scroll')).length"), 0)

    def test_a_report_without_a_projection(self):
        results = json.loads(json.dumps(self.results))
        results["projections"][1] = {"series": "comd", "phase": HOSTILE, "obstacle": "there is one run",
                                     "fittedCores": [], "factors": [], "dominance": [], "dominantAt": []}
        self.browser.open(self.render(results, "obstacle"))
        self.open_all()
        self.assertEqual(self.visible("input.target"), 1)
        self.assertIn("there is one run", self.run_js("document.querySelectorAll('section.phase')[1].textContent"))
        self.assertEqual(self.run_js(CHECKS), [])

    def test_print(self):
        pdf = self.browser.print()
        self.assertTrue(pdf.startswith(b"%PDF"))
        self.assertGreaterEqual(len(re.findall(rb"/Type\s*/Page\b", pdf)), 4)
        self.browser.prefer("light", media="print")
        for selector in (".controls", ".contents", ".skip", ".mark"):
            self.assertEqual(self.visible(selector), 0, selector)
        self.assertGreater(self.visible("table"), 8)
        self.assertEqual(self.visible(".data > summary"), 0)
        self.assertNotIn("chosen above", self.run_js("document.body.innerText"))
        # Nothing is smaller than 7 points; pictures shrink to the width of a page, where they are largest.
        self.assertEqual(self.run_js("""
            const small = (e) => e.checkVisibility() && parseFloat(getComputedStyle(e).fontSize) < 7 * 96 / 72 - 0.1;
            const says = (e) => [...e.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
            const found = [...document.querySelectorAll("body *")].filter((e) => !e.closest("svg, script, .unseen"));
            return [...new Set(found.filter((e) => says(e) && small(e)).map((e) => e.outerHTML.slice(0, 60)))];"""), [])

    def sample(self, name):
        """The report of a study of sample-runs/."""
        folder = self.folder / name
        if not folder.exists():
            farscale("run", ROOT / "sample-runs" / name / "study.toml", "-o", folder)
        return folder / "report.html"

    def bottom(self, selector):
        """Where the lowest of these ends, in pixels from the top of the page."""
        return self.run_js(f"""
            return Math.max(...[...document.querySelectorAll({selector!r})].map((e) => e.getBoundingClientRect().bottom));""")

    def test_the_first_screen_answers(self):
        for name, parts in (("comd-noise", ".phase "), ("lulesh", ".phase-row "), ("npb-lu", ".phase-row ")):
            self.browser.open(self.sample(name), width=1400)
            for part in (".verdict", ".numbers strong", ".lost svg", ".lost table", "svg[data-plot]", ".sure"):
                within = parts + (".overview " if parts == ".phase " and part != ".verdict" else "")
                self.assertGreater(self.run_js(f"document.querySelectorAll({within + part!r}).length"), 0, (name, part))
                self.assertLess(self.bottom(within + part), 900, (name, part))
            rows = self.run_js("document.querySelectorAll('.phase-row').length") or 1
            self.assertEqual(self.run_js(f"document.querySelectorAll('{parts}.numbers strong').length"), 3 * rows)

    def test_reports_are_short(self):
        for name in ("comd-noise", "lulesh", "npb-lu", "lammps-lj"):
            self.browser.open(self.sample(name), width=1400)
            self.assertLessEqual(self.run_js("document.documentElement.scrollHeight"), 6 * 900, name)
            phases = self.run_js("document.querySelectorAll('section.phase').length")
            lines = [line for line in (self.folder / name / "report.md").read_text().splitlines() if line]
            self.assertLessEqual(len(lines), 200 * max(1, phases / 3), name)

    def test_three_pages_and_an_appendix_are_printed(self):
        for name in ("comd-noise", "lulesh", "npb-lu", "lammps-lj"):
            self.browser.open(self.sample(name))
            self.run_js("""
                document.getElementById("appendix").remove();
                for (const phase of document.querySelectorAll("#phases + .phase ~ .phase")) phase.remove();""")
            self.assertLessEqual(len(re.findall(rb"/Type\s*/Page\b", self.browser.print())), 3, name)

    def test_labels_of_charts_are_legible_and_apart(self):
        for name in ("comd-noise", "lulesh", "npb-lu", "lammps-lj"):
            self.browser.open(self.sample(name), width=1400)
            self.open_all()
            self.assertEqual(self.run_js("""
                const problems = [];
                for (const svg of document.querySelectorAll(".overview svg[data-plot], .phase-row svg[data-plot]")) {
                  const texts = [...svg.querySelectorAll("text")].filter((text) => text.getBoundingClientRect().width > 0);
                  const scale = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
                  const boxes = texts.map((text) => text.getBoundingClientRect());
                  texts.forEach((text, i) => {
                    const size = scale * parseFloat(getComputedStyle(text).fontSize);
                    if (size < 11.95) problems.push(`${size} px: ${text.textContent}`);
                    boxes.forEach((box, j) => {
                      // Boxes of texts are higher than what is seen of them.
                      if (j < i && box.left < boxes[i].right && boxes[i].left < box.right && box.top + 2 < boxes[i].bottom - 2 &&
                          boxes[i].top + 2 < box.bottom - 2) {
                        problems.push(`"${text.textContent}" touches "${texts[j].textContent}"`);
                      }
                    });
                  });
                }
                return problems;"""), [], name)

    def test_charts_on_a_phone_keep_the_size_of_their_text(self):
        for name in ("comd-noise", "npb-lu"):
            self.browser.open(self.sample(name), width=420, height=800)
            self.open_all()
            self.assertGreater(self.visible(".overview .narrow svg"), 0)
            self.assertEqual(self.visible(".overview .broad svg"), 0)
            self.assertEqual(self.run_js("document.documentElement.scrollWidth"), 420)
            self.assertEqual(self.run_js("""
                const problems = [];
                for (const svg of document.querySelectorAll("main svg[data-plot], main .lost svg")) {
                  const box = svg.getBoundingClientRect();
                  const scale = box.width / svg.viewBox.baseVal.width;
                  for (const text of svg.querySelectorAll("text")) {
                    if (text.getBoundingClientRect().width === 0) continue;
                    const size = scale * parseFloat(getComputedStyle(text).fontSize);
                    if (size < 11.95) problems.push(`${size} px: ${text.textContent}`);
                    const isWhole = text.getBoundingClientRect().right <= box.right + 1;
                    if (svg.closest(".narrow") && !isWhole) problems.push(`cut off: ${text.textContent}`);
                  }
                }
                return problems.slice(0, 5);"""), [], name)

    def test_several_studies(self):
        folder = self.folder / "studies"
        results = [self.sample(name).parent / "results.json" for name in ("npb-lu", "lulesh")]
        farscale("report", *results, "-o", folder)
        for scheme in ("light", "dark"):
            self.browser.prefer(scheme)
            self.browser.open(folder / "index.html", width=1400)
            self.assertEqual(self.run_js(CHECKS), [], scheme)
        self.assertEqual(self.run_js("document.querySelectorAll('.phase-row').length"), 6)
        for part in (".verdict", ".numbers strong", ".lost svg", "svg[data-plot]", ".sure"):
            self.assertGreaterEqual(self.run_js(f"document.querySelectorAll('.phase-row {part}').length"), 6, part)
        self.run_js("document.querySelector('.phase-row .plot').focus({focusVisible: true})")
        self.assertRegex(self.run_js("document.getElementById('readout').innerText"), r"cores.*\s+Global efficiency\s+0\.\d+")
        self.browser.open(folder / "index.html", width=400)
        self.assertEqual(self.run_js("document.documentElement.scrollWidth"), 400)

    def test_what_if_a_factor_were_perfect(self):
        self.run_js("document.querySelector('.overview .perfect[value=loadBalance]').click()")
        self.assertEqual(self.visible(".overview polyline.what-if"), 2)  # of parallel and of global efficiency
        phase = self.choices[0]
        place = phase["place"]
        whole, part = (float(decoded(phase, phase["sides"][0]["factors"][factor]["values"])[3 * place])
                       for factor in ("parallelEfficiency", "loadBalance"))
        self.run_js("document.querySelector('.overview .plot').focus({focusVisible: true})")
        self.assertRegex(self.run_js("document.getElementById('readout').innerText"),
                         rf"Parallel efficiency with what is switched off\s+{whole / part:.2f}")
        self.assertIn("perfect=", self.run_js("location.hash"))
        self.run_js("document.querySelector('.overview .perfect[value=loadBalance]').click()")
        self.assertEqual(self.visible("polyline.what-if"), 0)

    def test_links_open_what_is_folded_and_choose(self):
        anchor, counts = self.choices[1]["anchor"], self.choices[1]["numbers"]
        self.assertEqual(self.visible(f"[id='{anchor}.fits'] .fit"), 0)
        self.run_js(f"location.hash = '#{anchor}.fits&cores={counts[2]}&perfect={anchor}:transferEfficiency'")
        self.run_js("return new Promise((done) => setTimeout(done, 50))")
        self.assertGreater(self.visible(f"[id='{anchor}.fits'] .fit"), 0)
        self.assertEqual(self.run_js(f"document.querySelector('.count[data-phase=\"{anchor}\"]').value"), str(counts[2]))
        self.assertTrue(self.run_js(f"document.querySelector('.perfect[data-phase=\"{anchor}\"][value=transferEfficiency]').checked"))

    def test_tables_are_copied_as_csv(self):
        self.run_js("""
            navigator.clipboard.writeText = (text) => { window.copied = text; return Promise.resolve(); };
            document.querySelector(".scroll:has(> .factors) > .copy").click();""")
        lines = self.run_js("window.copied").splitlines()
        self.assertEqual(lines[0].split(",")[0], "Cores")
        row = next(line for line in lines if line.startswith("Load balance,"))
        self.assertEqual(row.count(","), lines[0].count(","))

    def test_tables_on_a_phone_cut_no_number_beside_their_headings(self):
        self.browser.open(self.sample("npb-lu"), width=420)
        self.assertEqual(self.run_js("""
            const table = document.querySelector(".phase .factors");
            table.scrollIntoView();
            const [head, value] = [table.rows[1].cells[0], table.rows[1].cells[1]];
            const box = table.parentElement.getBoundingClientRect();
            return [Math.round(head.getBoundingClientRect().left - box.left),
                    value.getBoundingClientRect().left >= head.getBoundingClientRect().right - 1];"""), [0, True])

    def work_to_open(self, path):
        """Milliseconds of the page's thread, so that it does not matter what else the machine does."""
        self.browser.send("Performance.enable", timeDomain="threadTicks")
        self.browser.open(path)
        self.run_js("""
            return new Promise((painted) => requestAnimationFrame(() => requestAnimationFrame(() => painted(0))));""")
        metrics = {entry["name"]: entry["value"] for entry in self.browser.send("Performance.getMetrics")["metrics"]}
        self.browser.send("Performance.disable")
        return 1000 * metrics["TaskDuration"]

    @busy.tried
    def test_a_large_report_is_small_and_fast(self):
        results = large_results(self.folder)
        add_losses(results, json.loads((self.folder / "run/results.json").read_text()))
        path = self.render(results, "large")
        size = path.stat().st_size
        milliseconds = self.work_to_open(path)
        self.assertEqual(self.visible("main > section.phase"), 20)
        # A page of as many bytes that is nothing but text, on the same machine at the same time.
        text = self.folder / "text/index.html"
        text.parent.mkdir()
        line = "<p>" + "0.974 of the time on 4,096 ranks " * 8 + "</p>\n"
        text.write_text("<!DOCTYPE html><meta charset=utf-8><title>text</title>\n" + line * (size // len(line)))
        plain = self.work_to_open(text)
        print(f"20 phases, 12 runs, 4,096 ranks, 3 machines: {size / 1e6:.2f} MB, {milliseconds:.0f} ms of work to open, "
              f"{milliseconds / plain:.2f} times as much text", file=sys.stderr)
        self.assertLess(size, 3_000_000)
        self.assertLess(milliseconds, LARGEST_WORK_TO_OPEN * plain)


@unittest.skipUnless(find_browser(), "no browser is installed: apt-get install chromium")
class LossesPageTest(unittest.TestCase):
    """The page of farscale imbalance: no script, heat maps with tables behind them."""

    @classmethod
    def setUpClass(cls):
        cls._folder = tempfile.TemporaryDirectory()
        cls.page = pathlib.Path(cls._folder.name) / "losses.html"
        farscale("imbalance", ROOT / "sample-runs/comd-noise/study.toml", "-o", cls.page)
        cls.browser = Browser(find_browser())

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        cls._folder.cleanup()

    @staticmethod
    def level(phase, place):
        if place <= phase["lastReliable"]:
            return "reliable"
        return "uncertain" if place <= phase["lastUncertain"] else "unknown"

    def test_what_is_on_the_page(self):
        for scheme, ground in (("light", "rgb(255, 255, 255)"), ("dark", "rgb(20, 25, 30)")):
            self.browser.prefer(scheme)
            self.browser.open(self.page)
            self.browser.run("for (const details of document.querySelectorAll('details')) details.open = true")
            self.assertEqual(self.browser.run("getComputedStyle(document.body).backgroundColor"), ground)
            self.assertEqual(self.browser.run(CHECKS), [], scheme)
            maps = self.browser.run("[...document.querySelectorAll('svg.heat')].map((map) => map.getBoundingClientRect().height)")
            self.assertGreaterEqual(len(maps), 2)
            self.assertTrue(all(20 < height <= 170 for height in maps), maps)
            self.assertEqual(self.browser.run("document.querySelectorAll('figure').length"),
                             self.browser.run("document.querySelectorAll('figure table').length"))
        self.assertEqual(self.browser.complaints(), [])
        self.assertEqual({url.split("/")[-1] for url in self.browser.requests()}, {"losses.html"})

    def test_narrow_pages_do_not_scroll_sideways(self):
        self.browser.open(self.page, width=400)
        self.browser.run("for (const details of document.querySelectorAll('details')) details.open = true")
        self.assertEqual(self.browser.run("document.documentElement.scrollWidth"), 400)


if __name__ == "__main__":
    unittest.main()
