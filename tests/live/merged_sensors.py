#!/usr/bin/env python3
"""Two processes that each follow half of the sensors merge to the laws of one. merged_sensors.py MIXSTREAM"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

MIXSTREAM = sys.argv.pop(1)
BEFORE = pathlib.Path(__file__).resolve().parents[1] / "compat" / "modes-uncounted.state"
ROWS = 40000  # of each half
NEAR = 0.3  # standard errors: what anchors that met other rows make of it
UNIT = 10.0, 30.0  # scale and shift of u in the second half: its coordinates are others


def ran(*words, **more):
    done = subprocess.run([MIXSTREAM, *map(str, words)], capture_output=True, text=True, timeout=300, **more)
    assert done.returncode == 0, (words, done.stderr)
    return done.stdout


def fit_of(text):
    return json.loads(text.splitlines()[-1])


def half(number, laws):
    """Rows of two sensors as (sensor, u, y); laws are those of u in the second half's unit, told in the first's."""
    scale, shift = UNIT if number else (1.0, 0.0)
    coefficients = ",".join(f"{a + b * shift},{b * scale}" for a, b in laws)
    lines = ran("simulate", "-x", "1,u", "-k", len(laws), "--coefficients", coefficients, "-n", ROWS, "--noise", "0.25", "--stay",
                "0.98", "--wander", "0.9", "--sensors", 2, "--seed", number + 1).splitlines()[1:]
    rows = [line.split(",") for line in lines]
    return [f"{int(sensor) + 2 * number},{scale * float(u) + shift!r},{y}" for sensor, u, y in rows]


class MergedSensors(unittest.TestCase):
    def check(self, *words):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            halves = [half(number, ((1.0, 1.0), (-1.0, 0.8))) for number in range(2)]
            both = [row for pair in zip(*halves) for row in pair]
            fit = ["fit", "-q", "-k", 2, "-y", "y", "-x", "1,u", "--sensor", "sensor", "--json", *words]
            for name, rows in (("one", both), ("a", halves[0]), ("b", halves[1])):
                (root / f"{name}.csv").write_text("\n".join(["sensor,u,y", *rows]) + "\n")
            one = fit_of(ran(*fit, root / "one.csv"))
            for name in "ab":
                ran(*fit, root / f"{name}.csv", "--save", root / f"{name}.mix")
            for order in ("ab", "ba"):
                ran("merge", *(root / f"{name}.mix" for name in order), "-o", root / "both.mix")
                merged = fit_of(ran("refit", root / "both.mix", "--json"))
                self.assertEqual((merged["rows"], merged["stage"], merged["status"]), (2 * ROWS, "polished", "ok"))
                self.assertEqual(merged["modes"]["chains_cut"], 0)  # no sensor is in both
                self.assert_near(merged, one)

    def assert_near(self, merged, one):
        pairs = []
        for ours, theirs in zip(merged["components"], one["components"]):
            for name in ("weight", "noise_variance"):
                pairs.append((ours[name], theirs[name], theirs[name + "_se"]))
            pairs += zip(ours["coefficients"], theirs["coefficients"], theirs["coefficients_se"])
        for name in ("transitions", "transitions_se"):
            self.assertEqual(len(merged["modes"][name]), 2)
        for ours, theirs, errors in zip(merged["modes"]["transitions"], one["modes"]["transitions"], one["modes"]["transitions_se"]):
            pairs += zip(ours, theirs, errors)
        for ours, theirs, error in pairs:
            self.assertLess(abs(ours - theirs), NEAR * error)

    def test_a_state_from_before_cuts_between_files_were_counted(self):
        # of two files with 150 rows each; a run that goes on from it counts as ever
        with tempfile.TemporaryDirectory() as folder:
            more = pathlib.Path(folder) / "more.csv"
            more.write_text("\n".join(["sensor,u,y", *half(0, ((1.0, 1.0), (-1.0, 0.8)))]) + "\n")
            fit = fit_of(ran("fit", "-q", "--json", "--load", BEFORE, more, more))
            self.assertEqual((fit["rows"], fit["modes"]["chains_cut"]), (300 + 2 * ROWS, 1))

    def test_persistent_modes(self):
        self.check("--modes", "persistent")

    def test_persistent_modes_that_the_rows_chose(self):
        self.check()


unittest.main(verbosity=2)
