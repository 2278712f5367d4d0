#!/usr/bin/env python3
"""What a job says when something is wrong, and that a killed one goes on. failures.py MIXSTREAM MIXSTREAM_MPI [ROUNDS]"""
import json
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from jobs import ENVIRONMENT, MIXSTREAM, PATIENCE, command, farthest, fits, job, simulate, single

ROUNDS = int(sys.argv.pop(1)) if len(sys.argv) > 1 and sys.argv[1].isdigit() else 3
SEED = int(os.environ.get("MIXSTREAM_SEED", time.time_ns() % 100000))


def processes_of(launcher):
    """The ranks that this mpirun started, by their numbers."""
    found = {}
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            parent = re.search(r"^PPid:\s*(\d+)", (folder / "status").read_text(), flags=re.M)
            if int(parent.group(1)) != launcher:
                continue
            rank = re.search(rb"OMPI_COMM_WORLD_RANK=(\d+)", (folder / "environ").read_bytes())
            if rank and b"mixstream-mpi" in (folder / "cmdline").read_bytes().split(b"\0")[0]:
                found[int(rank.group(1))] = int(folder.name)
        except (OSError, AttributeError):
            continue
    return found


class Failures(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.root = pathlib.Path(cls.folder.name)
        cls.first = simulate(cls.root / "a.csv", 60000, 5)
        cls.second = simulate(cls.root / "b.csv", 60000, 6)
        cls.words = ["-k", "2", "-y", "y", "-x", "1,t,t^3"]

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def with_line(self, number, text):
        lines = self.second.read_text().splitlines()
        lines[number - 1] = text
        path = self.root / "bad.csv"
        path.write_text("\n".join(lines) + "\n")
        return path

    def ours(self, done):
        """What the program itself said, without the launcher's words."""
        return [line for line in done.stderr.splitlines() if line.startswith("mixstream")]

    def test_a_bad_row_is_told_with_file_and_line(self):
        bad = self.with_line(20000, "1,x")
        words = [*self.words, "--polish", "off", self.first, bad]
        one, done = single(*words), job(4, *words)
        self.assertEqual(self.ours(done), one.stderr.splitlines())
        self.assertIn("bad.csv: line 20000: ", done.stderr)
        self.assertEqual(done.returncode, 0)
        self.assertIsNone(farthest(fits(done)[-1], fits(one)[-1], 1e-9))

    def test_a_strict_job_ends_with_the_first_bad_row(self):
        bad = self.with_line(20000, "1,x")
        done = job(4, *self.words, "--strict", self.first, bad)
        self.assertEqual(self.ours(done), [f'mixstream: {bad}: line 20000: column "y": "x" is not a number'])
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        missing = self.with_line(29000, "1,NA")
        done = job(4, *self.words, "--na", "error", self.first, missing)
        self.assertEqual(self.ours(done), [f'mixstream: {missing}: line 29000: column "y": missing value'])
        self.assertEqual(done.returncode, 1)

    def test_broken_files_are_told(self):
        other = self.root / "other.csv"
        other.write_text("t,z\n1,2\n")
        done = job(3, *self.words, self.first, other)
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"{other}: ", "".join(self.ours(done)))
        self.assertIn("\"y\"", "".join(self.ours(done)))
        damaged = self.root / "damaged.csv.gz"
        packed = subprocess.run(["gzip", "-c", str(self.second)], capture_output=True, check=True).stdout
        damaged.write_bytes(packed[:len(packed) // 2])
        done = job(3, *self.words, self.first, damaged)
        self.assertEqual(self.ours(done), [f"mixstream: {damaged}: the compressed data end too early: the file is "
                                           "truncated"])
        self.assertEqual((done.returncode, done.stdout), (1, ""))

    def test_wrong_words(self):
        for words, code, told in (([], 2, "name the files"), (["-"], 2, "standard input"),
                                  ([self.first, "--group", "t"], 2, "--group"),
                                  ([self.first, "--window", "100"], 2, "memory of everything"),
                                  ([self.first, "--threads", "2"], 2, "--threads"),
                                  ([self.first, "-k", "0"], 2, "-k takes"),
                                  ([self.root / "no*.csv"], 1, "no file matches"),
                                  ([self.root], 1, "no plain file"),
                                  ([self.root / "none.csv"], 1, "No such file"),
                                  ([self.first, "--nonsense"], 2, "--nonsense")):
            with self.subTest(words=words):
                done = job(2, *words)
                self.assertEqual(done.returncode, code, done.stderr)
                self.assertEqual(done.stdout, "")
                self.assertEqual(done.stderr.count(told), 1, done.stderr)

    def test_a_checkpoint_of_another_job_is_refused(self):
        folder = self.root / "kept"
        self.interrupted(folder, 2, [*self.words, self.first, self.second], 0.0)
        if not (folder / "checkpoint.mix").exists():
            self.skipTest("ended before its first checkpoint")
        for words in (["-k", "3"], ["--modes", "persistent"], ["--modes", "gated", "--gate", "1,t"], ["--sensor", "t"],
                      ["--time", "t"], ["--time", "t", "--gap", "1s"], ["--noise", "per-law"], ["--tolerance", "0.2"],
                      ["--decimal", ","]):
            with self.subTest(words=words):
                same = self.words[2:] if "-k" in words else self.words
                done = job(2, *same, *words, "--checkpoint", folder, self.first, self.second)
                self.assertEqual(done.returncode, 1)
                self.assertIn("belongs to another job", done.stderr)

    # kill -9

    def checkpointed(self, folder, words):
        return [*words, "--piece", "20000", "--checkpoint", folder, "--times"]

    def interrupted(self, folder, ranks, words, moment, rank=None):
        """Starts a job and kills a rank `moment` seconds after its first checkpoint (or its start, if negative). What
        it said, or None when it ended before."""
        process = subprocess.Popen(command(ranks, *self.checkpointed(folder, words)), stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, env=ENVIRONMENT, stdin=subprocess.DEVNULL)
        began = time.monotonic()
        while moment >= 0 and process.poll() is None and not (folder / "checkpoint.mix").exists():
            assert time.monotonic() < began + PATIENCE
            time.sleep(0.005)
        time.sleep(abs(moment))
        found = processes_of(process.pid)
        victim = found.get(ranks - 1 if rank is None else rank)
        if victim is not None:
            try:
                os.kill(victim, signal.SIGKILL)
            except ProcessLookupError:
                victim = None
        output, errors = process.communicate(timeout=PATIENCE)
        if victim is None or process.returncode == 0:
            return None
        return errors.decode()

    def test_killed_jobs_go_on(self):
        generator = random.Random(SEED)
        words = [*self.words, "--every", "7000", self.first, self.second]
        began = time.monotonic()
        whole = job(4, *self.checkpointed(self.root / "whole", words))
        lasts = time.monotonic() - began
        self.assertEqual(whole.returncode, 0, whole.stderr)
        self.assertFalse((self.root / "whole" / "checkpoint.mix").exists())
        total = self.first.stat().st_size + self.second.stat().st_size
        killed = resumed = 0
        for number in range(20 * ROUNDS):
            if killed == ROUNDS:
                break
            folder = self.root / f"round{number}"
            rank = generator.randrange(4)
            # one in four at any moment, also before the first checkpoint
            moment = generator.uniform(0, lasts) * (-1 if number % 4 == 1 else 0.5)
            told = self.interrupted(folder, 4, words, moment, rank)
            if told is None:
                continue
            killed += 1
            with self.subTest(seed=SEED, round=number, rank=rank, moment=moment):
                self.assertRegex(told, rf"rank {rank} |a rank")
                left = folder / "checkpoint.mix"
                existed = left.exists()
                if existed:
                    self.assertEqual(subprocess.run([MIXSTREAM, "inspect", left], capture_output=True).returncode, 0)
                done = job(4, *self.checkpointed(folder, words))
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(fits(done)[-1], fits(whole)[-1])
                going_on = re.search(r"going on from .* with (\d+) rows", done.stderr)
                self.assertEqual(bool(going_on), existed)
                if going_on:
                    resumed += 1
                    read = json.loads(done.stderr[done.stderr.index('{"ranks"'):].splitlines()[0])["bytes_read"]
                    share = 1 - int(going_on.group(1)) / 120000
                    self.assertLess(read, total * (share + 0.01))
        print(f"killed {killed}, resumed from a checkpoint {resumed}, seed {SEED}", file=sys.stderr)
        self.assertEqual(killed, ROUNDS)
        self.assertGreater(resumed, 0)

    def test_another_number_of_processes_goes_on(self):
        folder = self.root / "other"
        words = [*self.words, "--polish", "off", self.first, self.second]
        told = self.interrupted(folder, 4, words, 0.05)
        if told is None or not (folder / "checkpoint.mix").exists():
            self.skipTest("ended too soon")
        done = job(3, *self.checkpointed(folder, words))
        self.assertIn("going on", done.stderr)
        self.assertIsNone(farthest(fits(done)[-1], fits(single("-q", *words))[-1], 1e-9))


unittest.main(verbosity=2)
