"""Wrong input: every message says what is wrong, where, and what to do."""

import os
import signal
import subprocess
import sys
import threading
import time
import unittest
import warnings

import numpy
import pandas

import mixstream
import rows

MAP = "1,flow,flow^2"


class Refused(unittest.TestCase):
    def setUp(self):
        self.frame, _ = rows.pump(3000)
        self.x, self.y = self.frame[["flow"]], self.frame["power"]

    def refused(self, words, call, error=ValueError):
        with self.assertRaisesRegex(error, words):
            call()

    def fit(self, x=None, y=None, **parameters):
        parameters = {"k": 3, "features": MAP, **parameters}
        return mixstream.Mixstream(**parameters).fit(self.x if x is None else x, self.y if y is None else y)

    def test_nan_is_refused_with_its_place_or_skipped_and_counted(self):
        holes = self.x.copy()
        holes.iloc[[17, 40], 0] = numpy.nan
        self.refused(r"Input contains NaN: 'flow' in row 17; 2 of 3000 rows .* na=\"skip\"", lambda: self.fit(holes))
        self.refused("Input contains infinity: 'y' in row 5", lambda: self.fit(y=self.y.where(self.y.index != 5, numpy.inf)))
        model = self.fit(holes, na="skip")
        self.assertEqual(model.rows_, 2998)
        self.assertEqual(model.report()["refused"], {"not_a_number": 2})
        self.refused('na is "error" or "skip"', lambda: self.fit(na="drop"))

    def test_a_refused_part_leaves_the_model_as_it_was(self):
        model = self.fit()
        before = model.to_bytes()
        holes = self.x.copy()
        holes.iloc[2999, 0] = numpy.nan
        self.refused("NaN", lambda: model.partial_fit(holes, self.y))
        self.assertEqual(model.to_bytes(), before)

    def test_wrong_width(self):
        model = mixstream.Mixstream(k=1).fit(self.x, self.y)
        self.refused("X has 2 features, but Mixstream is expecting 1 features as input: 'flow'",
                     lambda: model.predict(numpy.zeros((3, 2))))
        self.refused("X has 2 features", lambda: model.partial_fit(numpy.zeros((3, 2)), numpy.zeros(3)))
        self.refused("feature names should match.*\n.*unseen.*\n- speed\n.*missing.*\n- flow",
                     lambda: model.predict(pandas.DataFrame({"speed": [1.0]})))

    def test_one_dimension(self):
        self.refused(r"X has 1 dimensions instead of 2. Reshape your data: X.reshape\(-1, 1\)",
                     lambda: self.fit(self.x["flow"].to_numpy()))

    def test_lengths_that_differ(self):
        self.refused("y has 2999 values for 3000 rows", lambda: self.fit(y=self.y[:-1]))
        self.refused("sample_weight has 2 values", lambda: mixstream.Mixstream().fit(self.x, self.y, [1, 2]))

    def test_texts(self):
        frame = self.x.assign(mode="eco")
        self.refused("'mode' holds 'eco' in row 0, which is no number .*get_dummies", lambda: self.fit(frame))
        self.refused("'y' holds 'n/a' in row 3", lambda: self.fit(self.x[:4], [1, 2, 3, "n/a"]))

    def test_too_few_rows(self):
        self.refused("too_few_rows: .*rows", lambda: self.fit(self.x[:5], self.y[:5]))
        model = mixstream.Mixstream(k=3, features=MAP).partial_fit(self.x[:5], self.y[:5])
        self.assertEqual(model.report().status, "too_few_rows")
        self.refused(r"there is no fit \(too_few_rows\)", lambda: model.predict(self.x))
        self.refused("0 sample", lambda: self.fit(self.x[:0], self.y[:0]))

    def test_parameters(self):
        self.refused("k takes a whole number from 1 to 32, or auto; not '0'", lambda: self.fit(k=0))
        self.refused("k", lambda: self.fit(k=-1))
        self.refused("k", lambda: self.fit(k=2.5))
        self.refused("sometimes", lambda: self.fit(modes_kind="sometimes"))
        self.refused("loud", lambda: self.fit(noise="loud"))
        self.refused('no option "windows"', lambda: self.fit(options={"windows": 3}))
        self.refused("give numbers, texts or lists", lambda: self.fit(options={"gate": object()}), TypeError)

    def test_features(self):
        self.refused("flwo.*flow", lambda: self.fit(features="1,flwo"))
        self.refused("flow", lambda: self.fit(features="1,flow^"))
        self.refused("undefined_feature|refused|rows", lambda: self.fit(features="1,log(flow)", x=-self.x.abs()))

    def test_sensors_and_rows(self):
        model = mixstream.Mixstream()
        self.refused("sensor takes whole numbers .*factorize", lambda: model.fit(self.x, self.y, sensor=["a"] * 3000))
        self.refused("row takes whole numbers", lambda: model.fit(self.x, self.y, row=-numpy.arange(3000)))

    def test_before_any_row(self):
        self.refused("has seen no rows yet: call fit or partial_fit", lambda: mixstream.Mixstream().predict(self.x))
        self.refused("has seen no rows yet", lambda: mixstream.Mixstream().report())

    def test_merging_what_does_not_belong_together(self):
        one, other = self.fit(), mixstream.Mixstream(k=3).fit(self.x, self.y)
        before = one.to_bytes()
        self.refused("merge|differ", lambda: one.merge(other))
        self.refused("itself", lambda: one.merge(one))
        self.assertEqual(one.to_bytes(), before)

    def test_bytes_that_are_no_state(self):
        self.refused("state|snapshot|damaged", lambda: mixstream.Mixstream.from_bytes(b"no state"))
        content = bytearray(self.fit().to_bytes())
        content[len(content) // 2] ^= 1
        self.refused("damaged|checksum", lambda: mixstream.Mixstream.from_bytes(content))
        self.refused("features.*settled", lambda: mixstream.Mixstream.from_bytes(self.fit().to_bytes(), features="1"))

    def test_a_poor_fit_warns_and_says_why(self):
        random = numpy.random.default_rng(4)
        u = random.uniform(-1, 1, 20000)
        y = numpy.sin(9 * u) + 0.1 * random.standard_normal(20000)
        with self.assertWarnsRegex(mixstream.PoorFit, "poor_fit: .+"):
            mixstream.Mixstream(k=2).fit(u[:, None], y)


INTERRUPTED = """
import numpy, mixstream, signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever runs this test may ignore it
random = numpy.random.default_rng(1)
x = random.standard_normal((40000, 9))
y = numpy.where(random.random(40000) < 0.5, x.sum(axis=1), -x[:, 0]) + random.standard_normal(40000)
model = mixstream.Mixstream(k=6, modes_kind="independent")
print("begun", flush=True)

try:
    while True:
        model.fit(x, y)
except KeyboardInterrupt:
    print("interrupted", flush=True)
print(mixstream.Mixstream.from_bytes(model.to_bytes()).rows_ > 0)
"""


class Interrupted(unittest.TestCase):
    def test_control_c_ends_a_call_and_the_model_lives(self):
        process = subprocess.Popen([sys.executable, "-W", "ignore", "-c", INTERRUPTED], stdout=subprocess.PIPE, text=True)
        watchdog = threading.Timer(90, process.kill)
        watchdog.start()
        self.addCleanup(watchdog.cancel)
        self.addCleanup(process.stdout.close)
        self.assertEqual(process.stdout.readline(), "begun\n")
        time.sleep(1.0)
        begin = time.monotonic()
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.stdout.readline(), "interrupted\n")
        waited = time.monotonic() - begin
        self.assertEqual(process.stdout.read(), "True\n")
        self.assertEqual(process.wait(), 0)
        self.assertLess(waited, 20)


class Library(unittest.TestCase):
    def imported(self, **environment):
        return subprocess.run([sys.executable, "-c", "import mixstream"], env={**os.environ, **environment}, capture_output=True,
                              text=True)

    def test_a_library_that_is_not_there_or_another_says_so(self):
        self.assertEqual(self.imported(MIXSTREAM_LIBRARY=os.environ["MIXSTREAM_INSTALLED"]).returncode, 0)
        self.assertIn("MIXSTREAM_LIBRARY=", self.imported(MIXSTREAM_LIBRARY="/nowhere/libmixstream.so.0").stderr)
        self.assertIn("too old: it has no mixstream_", self.imported(MIXSTREAM_LIBRARY="libc.so.6").stderr)


if __name__ == "__main__":
    unittest.main()
