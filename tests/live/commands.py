#!/usr/bin/env python3
"""Every command of README.md and docs/tutorial.md that the stream tool can run by itself runs, in their order.
commands.py MIXSTREAM SOURCE_ROOT"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

PROGRAM = pathlib.Path(sys.argv.pop(1)).resolve()
ROOT = pathlib.Path(sys.argv.pop(1)).resolve()

# What needs another program, a terminal, or a stream that never ends.
ELSEWHERE = ("tail -n +1 -f", "mixstreamd", "mpirun", "curl", "apps/", "build/", "meson", "export", "tests/run", "tail -n +2")


def commands(path):
    """Indented lines that begin with a program; a backslash goes on with the next line."""
    text = re.sub(r"\\\n\s+", " ", path.read_text())
    for line in text.splitlines():
        if re.match(r"    (mixstream|head|cat|printf) ", line) and not line.strip().startswith(ELSEWHERE):
            yield line.strip()


class Commands(unittest.TestCase):
    def run_all(self, path, folder):
        count = 0
        env = dict(os.environ, PATH=f"{PROGRAM.parent}{os.pathsep}{os.environ['PATH']}", LC_ALL="C.UTF-8")
        for command in commands(path):
            done = subprocess.run(["bash", "-c", command], cwd=folder, env=env, capture_output=True, text=True, timeout=100)
            with self.subTest(command=command):
                self.assertEqual(done.returncode, 0, done.stderr)
            count += 1
            self.prepare(pathlib.Path(folder))
        return count

    def prepare(self, folder):
        """Files that a reader has: two days of the log, and their states."""
        pump = folder / "pump.csv"
        if not pump.exists() or (folder / "monday.csv").exists():
            return
        lines = pump.read_text().splitlines()
        (folder / "monday.csv").write_text("\n".join(lines[:100001]) + "\n")
        (folder / "tuesday.csv").write_text("\n".join(lines[:1] + lines[100001:]) + "\n")
        for day, state in (("monday", "mon"), ("tuesday", "tue")):
            subprocess.run([PROGRAM, "fit", "-q", "-k", "3", "-y", "power", "-x", "1,flow,flow^2", f"{day}.csv", "--save",
                            f"{state}.mix"], cwd=folder, check=True, capture_output=True, timeout=100)

    def test_tutorial(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertGreater(self.run_all(ROOT / "docs" / "tutorial.md", folder), 10)


unittest.main(verbosity=2)
