#!/usr/bin/env python3
"""Resume equals continuous: any cut of a stream into saved and loaded parts gives the same final JSON.

resume.py MIXSTREAM [SEEDS]
"""
import json
import os
import random
import subprocess
import sys
import tempfile
import time
import unittest

from tool import PATIENCE, rows

PROGRAM = sys.argv.pop(1)
BEGAN = time.monotonic()
SEEDS = int(sys.argv.pop(1)) if len(sys.argv) > 1 and sys.argv[1].isdigit() else 2

KINDS = {
    "everything": [],
    "every": ["--every", "700"],
    "half-life": ["--half-life", "900"],
    "half-life-time": ["--half-life", "15m", "--time", "s"],
    "window": ["--window", "1600", "--every", "500"],
    "weights": ["--weight", "w"],
    "per-component": ["--noise", "per-component", "--every", "900"],
    "em": ["--method", "em"],
}


def fit(words, lines):
    done = subprocess.run([PROGRAM, "fit", "-q", *words], input="\n".join(lines).encode(), capture_output=True,
                          timeout=PATIENCE)
    assert done.returncode in (0, 3), done.stderr
    last = json.loads(done.stdout.splitlines()[-1])
    del last["seconds"]
    return json.dumps(last)


def told(words):
    """How far it is: forty seeds take minutes."""
    print(f"{words}, {time.monotonic() - BEGAN:.0f} s", file=sys.stderr, flush=True)


def stream(count, seed):
    """Rows with a weight and a time, some of them broken."""
    generator = random.Random(seed)
    lines = []
    for i, line in enumerate(rows(count, seed)):
        fields = f"{generator.choice((0.5, 1, 3))},{i},{line}"
        lines.append(fields if generator.random() > 0.01 else generator.choice(("x", "1,2,,3", "0,1,1,1", "")))
    return lines


class Resume(unittest.TestCase):
    header = "w,s,t,y"

    def in_parts(self, words, lines, cuts):
        with tempfile.TemporaryDirectory() as folder:
            state = os.path.join(folder, "state.mix")
            for number, (begin, end) in enumerate(zip([0] + cuts, cuts + [len(lines)])):
                more = ["--load", state] if number > 0 else ["-k", "2", "-y", "y", "-x", "1,t"]
                last = fit([*more, *words, "--save", state], [self.header] + lines[begin:end])
        return last

    def check(self, count, seed, words, most_cuts=6):
        generator = random.Random(seed + 1000)
        lines = stream(count, seed)
        whole = fit(["-k", "2", "-y", "y", "-x", "1,t", *words], [self.header] + lines)
        cuts = sorted(generator.randrange(len(lines) + 1) for _ in range(generator.randint(1, most_cuts)))
        parts = self.in_parts(words, lines, cuts)
        self.assertEqual(parts, whole, f"cut at {cuts}")

    def test_random_cuts(self):
        for kind, words in KINDS.items():
            for seed in range(SEEDS):
                with self.subTest(kind=kind, seed=seed):
                    self.check(3000, seed, words)
            told(f"{kind}: {SEEDS} streams")

    def test_cuts_around_the_first_anchor_of_the_polish(self):
        for seed in range(max(1, SEEDS // 2)):
            with self.subTest(seed=seed):
                self.check(130000, seed, [], 4)
            told(f"130,000 rows: {seed + 1} of {max(1, SEEDS // 2)} streams")

    def test_cuts_inside_the_first_block(self):
        for seed in range(SEEDS):
            with self.subTest(seed=seed):
                self.check(300, seed, ["--every", "50"])


unittest.main(verbosity=2)
