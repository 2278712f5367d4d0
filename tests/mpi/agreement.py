#!/usr/bin/env python3
"""The fit of many processes is the fit of one. agreement.py MIXSTREAM MIXSTREAM_MPI"""
import gzip
import pathlib
import subprocess
import tempfile
import unittest

from jobs import MIXSTREAM, as_ndjson, awkward_csv, deviations, farthest, fits, job, simulate, single

RANKS = (1, 2, 4, 7)


class Agreement(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.root = pathlib.Path(cls.folder.name)
        first = simulate(cls.root / "a.csv", 60000, 5)
        as_ndjson(simulate(cls.root / "plain", 8000, 6), cls.root / "b.ndjson")
        (cls.root / "c.csv.gz").write_bytes(gzip.compress(simulate(cls.root / "plain", 7000, 7).read_bytes()))
        (cls.root / "d.csv").write_bytes(simulate(cls.root / "plain", 45000, 8).read_bytes().rstrip(b"\n"))
        cls.files = [first, cls.root / "b.ndjson", cls.root / "c.csv.gz", cls.root / "d.csv"]
        cls.words = ["-q", "-k", "2", "-y", "y", "-x", "1,t,t^3"]

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def last(self, done, code=0):
        self.assertEqual(done.returncode, code, done.stderr)
        return fits(done)[-1]

    def test_every_number_without_the_polish(self):
        words = [*self.words, "--polish", "off", *self.files]
        one = self.last(single(*words))
        self.assertEqual(one["rows"], 120000)
        for ranks in RANKS:
            with self.subTest(ranks=ranks):
                first, second = self.last(job(ranks, *words)), self.last(job(ranks, *words))
                self.assertIsNone(farthest(first, one, 1e-9))
                self.assertEqual(first, second)

    def test_the_polish_within_a_tenth_of_its_errors(self):
        words = [*self.words, *self.files]
        one = self.last(single(*words))
        self.assertEqual(one["stage"], "polished")
        for ranks in RANKS:
            with self.subTest(ranks=ranks):
                first, second = self.last(job(ranks, *words)), self.last(job(ranks, *words))
                self.assertEqual((first["rows"], first["stage"]), (one["rows"], "polished"))
                self.assertLess(deviations(first, one), 0.1)
                self.assertEqual(first, second)

    def test_raw_rows_patterns_and_weights(self):
        for number in range(3):
            simulate(self.root / f"raw{number}.f64", 3000, number, words=["--format", "f64"])
        words = ["-q", "-k", "2", "-y", "c2", "-x", "1,c1,c1^3", "--polish", "off", "--format", "f64", "--width", "2"]
        one = self.last(single(*words, *sorted(self.root.glob("raw*.f64"))))
        self.assertEqual(one["rows"], 9000)
        self.assertIsNone(farthest(self.last(job(4, *words, self.root / "raw*.f64")), one, 1e-9))
        weighted = self.root / "weighted.csv"
        lines = self.files[0].read_text().splitlines()
        weighted.write_text("\n".join(["w," + lines[0]] + [f"{1 + i % 3},{line}" for i, line in enumerate(lines[1:])]))
        words = [*self.words, "--polish", "off", "--weight", "w", weighted]
        self.assertIsNone(farthest(self.last(job(3, *words)), self.last(single(*words)), 1e-9))

    def test_the_number_of_laws_found_by_itself(self):
        files = [simulate(self.root / f"three{seed}.csv", 6000, seed, laws=3) for seed in (1, 2)]
        words = ["-q", "-k", "auto", "-y", "y", "-x", "1,t,t^3", "--polish", "off", *files]
        one = self.last(single(*words))
        self.assertEqual(one["k"], 3)
        self.assertIsNone(farthest(self.last(job(4, *words)), one, 1e-9))

    def test_fits_while_reading(self):
        words = [*self.words, "--every", "50000", "--polish", "off", *self.files]
        done = job(4, *words)
        self.assertEqual([fit["rows"] for fit in fits(done)], [50000, 100000, 120000])
        self.assertEqual([fit["final"] for fit in fits(done)], [False] * 2 + [True])
        self.assertEqual(fits(done), fits(job(4, *words)))
        self.assertLess(deviations(self.last(done), self.last(single(*words))), 0.1)

    def test_saved_states_go_on_as_those_of_one_process(self):
        ours, theirs = self.root / "ours.mix", self.root / "theirs.mix"
        words = [*self.words, "--polish", "off"]
        self.last(job(3, *words, *self.files[:2], "--save", ours))
        self.last(single(*words, *self.files[:2], "--save", theirs))
        # the sample goes on at the same place in the stream
        one = self.last(single("-q", "--load", theirs, *self.files[2:]))
        self.assertIsNone(farthest(self.last(single("-q", "--load", ours, *self.files[2:])), one, 1e-9))
        self.assertIsNone(farthest(self.last(job(4, "-q", "--load", ours, *self.files[2:])), one, 1e-9))

    def test_the_report_page(self):
        page = self.root / "page.html"
        done = job(2, *self.words, self.files[0], "--report", page)
        if "built without" in done.stderr:
            self.skipTest("no report page in this build")
        self.last(done)
        self.assertIn("<html", page.read_text())

    def test_no_row_is_lost_or_doubled(self):
        for seed, ranks in ((1, 7), (2, 4), (3, 2), (4, 7), (5, 5)):
            text, accepted, refused = awkward_csv(1300, seed)
            path = self.root / "awkward.csv"
            path.write_bytes(text)
            words = ["-q", "-k", "2", "-y", "y", "-x", "1,t", "--polish", "off", "--comment", "#", path]
            fit = self.last(job(ranks, *words))
            with self.subTest(seed=seed, ranks=ranks):
                self.assertEqual((fit["rows"], sum(fit["refused"].values())), (accepted, refused))
                self.assertIsNone(farthest(fit, self.last(single(*words)), 1e-9))

    def test_more_processes_than_rows(self):
        few = self.root / "few.csv"
        for rows in (3, 400, 1024, 1027):
            few.write_text("\n".join(self.files[0].read_text().splitlines()[:rows + 1]))
            words = ["-q", "-k", "1", "-y", "y", "-x", "1,t", "--polish", "off", few]
            one = single(*words)
            done = job(7, *words)
            self.assertEqual(done.returncode, one.returncode)
            self.assertEqual(fits(done)[-1]["rows"], rows)
            self.assertIsNone(farthest(fits(done)[-1], fits(one)[-1], 1e-9))


unittest.main(verbosity=2)
