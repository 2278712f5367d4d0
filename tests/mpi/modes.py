#!/usr/bin/env python3
"""Rows in order over many processes: chains run within a sensor, never over a cut. modes.py MIXSTREAM MIXSTREAM_MPI"""
import pathlib
import tempfile
import unittest

from jobs import deviations, fits, job, simulate_in_order, single

SENSORS = 4
ROWS = 30000  # of a file
NEAR = 0.3  # standard errors: what cuts cost, and anchors that move after other rows


class Modes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        root = pathlib.Path(cls.folder.name)
        cls.files = [simulate_in_order(root / f"{seed}.csv", ROWS, seed, SENSORS) for seed in (1, 2, 3)]
        cls.words = ["-q", "-k", "2", "-y", "y", "-x", "1,u", "--modes", "persistent", "--sensor", "sensor", *cls.files]
        cls.one = cls.last(cls, single(*cls.words))

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def last(self, done):
        assert done.returncode == 0, done.stderr
        return fits(done)[-1]

    def test_one_process_cuts_between_files_alone(self):
        self.assertEqual(self.one["modes"]["chains_cut"], 2 * SENSORS)

    def test_the_laws_of_one_process(self):
        for ranks in (1, 2, 3):
            with self.subTest(ranks=ranks):
                first, second = self.last(job(ranks, *self.words)), self.last(job(ranks, *self.words))
                self.assertEqual((first["rows"], first["stage"]), (len(self.files) * ROWS, "polished"))
                self.assertLess(deviations(first, self.one), NEAR)
                for ours, theirs, error in zip(sum(first["modes"]["transitions"], []), sum(self.one["modes"]["transitions"], []),
                                               sum(self.one["modes"]["transitions_se"], [])):
                    self.assertLess(abs(ours - theirs), NEAR * error)
                self.assertEqual(first, second)

    def test_every_cut_is_counted(self):
        # One process reads file 1 and half of file 2, and some rank goes on from file 2 to file 3. Every rank cuts each sensor
        # where it begins, and where the fit that is due at 80,000 rows parts its rows.
        for ranks in (1, 2):
            with self.subTest(ranks=ranks):
                fit = self.last(job(ranks, *self.words))
                self.assertEqual(fit["modes"]["chains_cut"], SENSORS * (2 + 2 * ranks))


unittest.main(verbosity=2)
