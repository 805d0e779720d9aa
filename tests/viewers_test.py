#!/usr/bin/env python3
"""Files for other tools: timelines for Perfetto, annotations, profiles for Cube.

    FARSCALE=build/dev/bin/farscale tests/viewers_test.py
"""

import json
import os
import pathlib
import struct
import subprocess
import tarfile
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = str(pathlib.Path(os.environ["FARSCALE"]).resolve())
TRACE = str(ROOT / "sample-runs/npb-lu/traces/4/traces.otf2")
IMBALANCED = str(ROOT / "sample-runs/comd-noise/traces/8/traces.otf2")


def run(*arguments, code=0):
    result = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True)
    assert result.returncode == code, result.stderr
    return result.stdout if code == 0 else result.stderr


def profile_of(path):
    """Metrics of a Cube file by name: parent, and values by call path and rank, as the format says."""
    with tarfile.open(path) as archive:
        files = {member.name: archive.extractfile(member).read() for member in archive.getmembers()}
    root = ElementTree.fromstring(files["anchor.xml"])
    regions = {region.get("id"): region.findtext("name") for region in root.iter("region")}
    ranks = len(list(root.iter("location")))
    paths = {}

    def walk(node, names):
        names = names + [regions[node.get("calleeId")]]
        paths[int(node.get("id"))] = " / ".join(names[1:])
        for child in node.findall("cnode"):
            walk(child, names)

    for node in root.find("program").findall("cnode"):
        walk(node, [])
    metrics = {}

    def read(metric, parent):
        number, name = metric.get("id"), metric.findtext("uniq_name")
        index, data = files[f"{number}.index"], files[f"{number}.data"]
        assert index[:11] == b"CUBEX.INDEX" and data[:10] == b"CUBEX.DATA"
        one, version, kind, count = struct.unpack("<iHBI", index[11:22])
        assert (one, version, kind) == (1, 0, 1)
        numbers = struct.unpack(f"<{count}I", index[22:])
        assert list(numbers) == sorted(numbers)  # in the order of the tree
        values = struct.unpack(f"<{count * ranks}{'Q' if metric.findtext('dtype') == 'UINT64' else 'd'}", data[10:])
        metrics[name] = (parent, {paths[one]: values[i * ranks:(i + 1) * ranks] for i, one in enumerate(numbers)})
        for child in metric.findall("metric"):
            read(child, name)

    for metric in root.find("metrics").findall("metric"):
        read(metric, None)
    return metrics, paths


class Viewers(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.temporary.name)
        self.addCleanup(self.temporary.cleanup)

    def test_timeline(self):
        """Slices nest on every rank, waits lie in their calls and add up to the waiting of the phase."""
        path = self.folder / "timeline.json"
        run("timeline", TRACE, "-o", path)
        events = json.loads(path.read_text())["traceEvents"]
        losses = json.loads(run("imbalance", TRACE, "-o", "-"))["phases"][0]
        at_end = losses["waiting"].get("waitAtEnd", 0)
        waits = [event for event in events if event.get("cat") == "wait" and event["ph"] == "X"]
        self.assertAlmostEqual(sum(event["dur"] for event in waits) / 1e6, sum(losses["waiting"].values()) - at_end,
                               delta=1e-9 * len(waits) + 1e-9)
        lanes = {}
        for event in events:
            self.assertIn(event["ph"], "XMsf")
            if event["ph"] == "X":
                self.assertGreaterEqual(event["dur"], 0)
                lanes.setdefault((event["pid"], event["tid"]), []).append((event["ts"], event["ts"] + event["dur"]))
        names = {(event["pid"], event["tid"]) for event in events if event["ph"] == "M" and event["name"] == "thread_name"}
        self.assertEqual(set(lanes), names)
        for slices in lanes.values():
            open_until = []
            for begin, end in sorted(slices, key=lambda one: (one[0], -one[1])):
                while open_until and open_until[-1] <= begin + 1e-3:
                    open_until.pop()
                self.assertTrue(not open_until or end <= open_until[-1] + 2e-3)
                open_until.append(end)
        flows = [event for event in events if event["ph"] in "sf"]
        starts = {event["id"] for event in flows if event["ph"] == "s"}
        self.assertEqual(starts, {event["id"] for event in flows if event["ph"] == "f"})
        self.assertEqual(len(flows), 2 * len(starts))

    def test_devices_have_tracks(self):
        """Kernels of both devices, which take as long as their factors say."""
        trace = ROOT.parent / "shared/data/traces/others/fastotf2/mi300-1rank/traces.otf2"
        if not trace.exists():
            self.skipTest("the shared data are missing")
        events = json.loads(run("timeline", trace))["traceEvents"]
        tracks = {event["tid"]: event["args"]["name"] for event in events if event["name"] == "thread_name"}
        self.assertEqual([name for name in tracks.values() if "device" in name],
                         ["rank 0, device 0 (node 2)", "rank 0, device 1 (node 3)"])
        kernels = [event for event in events if event.get("cat") == "device" and event["name"] == "kernel"]
        self.assertTrue(all("device" in tracks[event["tid"]] for event in kernels))
        factors = json.loads(run("factors", trace, "--format", "json"))["rows"][0]
        expected = factors["factors"]["deviceParallelEfficiency"] * 2 * factors["runtime"]
        self.assertAlmostEqual(sum(event["dur"] for event in kernels) / 1e6, expected, delta=1e-6 * expected)
        losses = json.loads(run("imbalance", trace, "-o", "-"))["phases"][0]["deviceCalls"]
        self.assertEqual(losses["largest"], "hipEventSynchronize")
        self.assertIn("most of it in hipEventSynchronize (88.5 %)", run("imbalance", trace))

    def test_ideal_timeline(self):
        """No shorter than what ranks compute, no longer than measured."""
        ends = []
        for more in ([], ["--ideal"]):
            events = json.loads(run("timeline", TRACE, "--phase", "ssor_iter", *more))["traceEvents"]
            slices = [event for event in events if event["ph"] == "X" and event["cat"] in ("region", "mpi")]
            ends.append(max(one["ts"] + one["dur"] for one in slices) - min(one["ts"] for one in slices))
        self.assertLess(ends[1], ends[0])

    def test_annotations(self):
        """Each cause with a worst instance has a command that works."""
        found = json.loads(run("timeline", IMBALANCED, "--format", "annotations"))
        losses = json.loads(run("imbalance", IMBALANCED, "-o", "-"))["phases"][0]
        self.assertEqual([one["description"] for one in found["annotations"]],
                         [one["description"] for one in losses.get("causes", [])])
        for one in found["annotations"]:
            if "command" not in one:
                continue
            self.assertLessEqual(one["waitBegin"], one["end"])
            arguments = one["command"].split()[1:]
            arguments[-1] = str(self.folder / arguments[-1])
            run(*arguments)

    def test_profile(self):
        """Values are those of the JSON form, and a metric holds those below it."""
        path = self.folder / "profile.cubex"
        run("imbalance", TRACE, "--phase", "ssor_iter", "-o", path)
        metrics, _ = profile_of(path)
        losses = json.loads(run("imbalance", TRACE, "--phase", "ssor_iter", "-o", "-"))["phases"][0]
        outside = ("(before", "(between", "(after")
        for record in losses["callPaths"]:
            if record["path"].startswith(outside):
                continue
            values = {name: sum(of[1].get(record["path"], ())) for name, of in metrics.items()}
            self.assertAlmostEqual(values["time"], record["time"], delta=1e-9)
            self.assertEqual(values["visits"], record["visits"])
            self.assertAlmostEqual(values["mpi_latesender"], record["waiting"].get("lateSender", 0), delta=1e-9)
            self.assertAlmostEqual(values["delay_latesender"], record["shortTerm"].get("lateSender", 0), delta=1e-9)
            self.assertAlmostEqual(values["critical_path"], record["criticalPath"], delta=1e-9)
        for name, (parent, values) in metrics.items():
            for call_path, of_ranks in values.items():
                if parent is not None:
                    for own, whole in zip(of_ranks, metrics[parent][1][call_path]):
                        self.assertLessEqual(own, whole + 1e-9, name)
        error = run("imbalance", TRACE, IMBALANCED, "-o", self.folder / "two.cubex", code=2)
        self.assertIn("one phase of one run", error)


if __name__ == "__main__":
    unittest.main()
