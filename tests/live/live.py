#!/usr/bin/env python3
"""The tool in live use: fits while the stream goes on, signals, closed pipes. live.py MIXSTREAM"""
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from tool import PATIENCE, Tool, rows, wait_until

PROGRAM = sys.argv.pop(1)
WORDS = ["fit", "-k", "2", "-y", "y", "-x", "1,t"]


def state(tool):
    """As ps shows it: S sleeps, R runs."""
    with open(f"/proc/{tool.process.pid}/stat") as file:
        return file.read().rpartition(")")[2].split()[0]


def catches(tool, number):
    with open(f"/proc/{tool.process.pid}/status") as file:
        caught = next(line for line in file if line.startswith("SigCgt"))
    return int(caught.split()[1], 16) >> (number - 1) & 1


class Live(unittest.TestCase):
    def start(self, *words):
        tool = Tool(PROGRAM, *WORDS, *words)
        self.addCleanup(tool.close)
        tool.write(["t,y"])
        return tool

    def test_a_fit_of_every_appears_before_the_stream_ends(self):
        tool = self.start("--every", "500")
        for part in range(3):
            tool.write(rows(500, part))
            fit = tool.fit()  # the input is still open: nothing but these rows can have caused it
            self.assertEqual((fit["rows"], fit["final"]), (500 * (part + 1), False))
        fits, code, _ = tool.end()
        self.assertEqual([(fit["rows"], fit["final"]) for fit in fits], [(1500, True)])
        self.assertEqual(code, 0)

    def test_rows_in_small_pieces_are_not_held_back(self):
        tool = self.start("--every", "100")
        for line in rows(99):
            tool.write([line])
        self.assertTrue(tool.silent(0.3))
        tool.write(rows(1, 2))
        self.assertEqual(tool.fit()["rows"], 100)
        tool.end()

    def test_sigusr1_prints_a_fit_while_the_tool_waits(self):
        tool = self.start("--every", "300")
        tool.write(rows(300))
        self.assertEqual(tool.fit()["rows"], 300)
        tool.write(rows(100, 2))
        for _ in range(2):
            tool.signal(signal.SIGUSR1)
            self.assertFalse(tool.fit()["final"])
        self.assertEqual(tool.end()[1], 0)

    def waiting(self, *words):
        """A tool that has begun to wait for its header."""
        tool = Tool(PROGRAM, *WORDS, *words)
        self.addCleanup(tool.close)
        wait_until(lambda: catches(tool, signal.SIGUSR1) and state(tool) == "S")
        return tool

    def test_sigusr1_before_the_header_does_no_harm(self):
        tool = self.waiting()
        tool.signal(signal.SIGUSR1)
        wait_until(lambda: state(tool) == "S")  # and not round and round
        self.assertEqual({state(tool) for _ in range(5) if not time.sleep(0.05)}, {"S"})
        tool.write(["t,y"])
        tool.write(rows(300))
        fits, code, _ = tool.end()
        self.assertEqual((fits[-1]["rows"], fits[-1]["final"], code), (300, True, 0))

    def test_sigint_and_sigterm_end_with_a_final_fit_and_a_saved_state(self):
        for number, expected in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            with tempfile.TemporaryDirectory() as folder:
                state = os.path.join(folder, "state.mix")
                tool = self.start("--every", "400", "--save", state)
                tool.write(rows(400))
                self.assertEqual(tool.fit()["rows"], 400)
                tool.signal(number)  # the input stays open
                fit = tool.fit()
                self.assertEqual((fit["rows"], fit["final"]), (400, True))
                self.assertEqual(tool.process.wait(PATIENCE), expected)
                seen = subprocess.run([PROGRAM, "inspect", state], capture_output=True, check=True)
                self.assertIn(b'"rows":400', seen.stdout)

    def test_sigint_before_the_header_ends_without_a_word(self):
        tool = self.waiting()
        tool.signal(signal.SIGINT)
        self.assertEqual(tool.process.wait(PATIENCE), 130)
        self.assertEqual(tool.process.stderr.read(), b"")

    def test_a_closed_pipe_ends_quietly_and_the_state_is_saved(self):
        with tempfile.TemporaryDirectory() as folder:
            state = os.path.join(folder, "state.mix")
            data = os.path.join(folder, "rows.csv")
            with open(data, "w") as file:
                file.write("\n".join(["t,y"] + rows(30000)) + "\n")
            command = f"'{PROGRAM}' {' '.join(WORDS)} --every 100 --save '{state}' '{data}' | head -n 1 | wc -l"
            done = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, timeout=PATIENCE)
            self.assertEqual((done.stdout.strip(), done.stderr, done.returncode), (b"1", b"", 0))
            self.assertTrue(os.path.exists(state))

    def test_interval_fires_in_silence_only_after_new_rows(self):
        tool = self.start("--interval", "0.5s")
        tool.write(rows(300))
        self.assertEqual(tool.fit()["rows"], 300)  # nothing comes any more: only the clock can have asked
        self.assertTrue(tool.silent(2.0))
        tool.write(rows(50, 2))
        self.assertEqual(tool.fit()["rows"], 350)
        tool.end()

    def test_a_full_disk_is_told(self):
        with open("/dev/full", "w") as full:
            done = subprocess.run([PROGRAM, *WORDS], input="\n".join(["t,y"] + rows(300)).encode(), stdout=full,
                                  stderr=subprocess.PIPE, timeout=PATIENCE)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"No space left", done.stderr)


unittest.main(verbosity=2)
