"""What a user of the module does: rows in, laws out, in parts, saved, merged, pickled, from threads."""

import copy
import json
import os
import pickle
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from unittest import mock

import numpy
import pandas

import mixstream
from mixstream import _library, _model
import rows

MAP = "1,flow,flow^2"


def fitted(n=30000, seed=7, **parameters):
    frame, _ = rows.pump(n, seed)
    return mixstream.Mixstream(k=3, features=MAP, **parameters).fit(frame[["flow"]], frame["power"])


class Laws(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = fitted()

    def test_the_laws_are_those_that_made_the_rows(self):
        order = rows.matched(self.model.coef_)
        self.assertEqual(sorted(order), [0, 1, 2])
        errors = (self.model.coef_ - rows.COEFFICIENTS[order]) / self.model.coef_se_
        self.assertLess(numpy.abs(errors).max(), 4.5)
        self.assertTrue(numpy.allclose(self.model.weights_, rows.WEIGHTS[order], atol=0.02))
        self.assertTrue(numpy.allclose(self.model.noise_variance_, rows.NOISE**2, rtol=0.05))
        self.assertEqual(self.model.status_, "ok")

    def test_names_are_those_of_the_data_frame(self):
        self.assertEqual(self.model.features_out_, ["1", "flow", "flow^2"])
        self.assertEqual(self.model.report()["response"], "power")
        self.assertEqual(list(self.model.feature_names_in_), ["flow"])

    def test_the_object_reads_like_the_table_of_the_tool(self):
        text = repr(self.model)
        self.assertIn("3 laws of power ~ 1 + flow + flow^2   30,000 rows", text)
        self.assertIn("law 1, 5", text)
        self.assertIn("noise sd", text)

    def test_a_notebook_shows_the_table_and_the_report_its_page(self):
        self.assertTrue(self.model._repr_html_().startswith("<pre>"))
        page = self.model.report()._repr_html_()
        self.assertTrue(page.startswith("<iframe srcdoc="))
        self.assertIn("&lt;canvas" if "&lt;canvas" in page else "&lt;script", page)
        self.assertIn("sandbox=", page)

    def test_predictions_follow_from_the_laws(self):
        flow = numpy.array([[0.0], [0.5], [-0.25]])
        features = numpy.column_stack([numpy.ones(3), flow, flow**2])
        self.assertTrue(numpy.allclose(self.model.predict(pandas.DataFrame(flow, columns=["flow"])),
                                       features @ self.model.coef_.T @ self.model.weights_))
        interval = self.model.predict_interval(flow)
        self.assertTrue((interval[:, 0] < self.model.predict(flow)).all() and (self.model.predict(flow) < interval[:, 1]).all())

    def test_probabilities_are_those_of_bayes(self):
        frame, law = rows.pump(2000, 99)
        given = self.model.predict_proba(frame[["flow"]], frame["power"])
        features = numpy.column_stack([numpy.ones(2000), frame.flow, frame.flow**2])
        residual = frame.power.to_numpy()[:, None] - features @ self.model.coef_.T
        density = self.model.weights_ * numpy.exp(-0.5 * residual**2 / self.model.noise_variance_)
        self.assertTrue(numpy.allclose(given, density / density.sum(axis=1, keepdims=True), atol=1e-9))
        self.assertTrue(numpy.allclose(self.model.predict_proba(frame[["flow"]]), self.model.weights_))
        found = numpy.array(rows.matched(self.model.coef_))[self.model.predict_law(frame[["flow"]], frame["power"])]
        self.assertGreater((found == law).mean(), 0.9)

    def test_more_rows_in_parts_are_the_same_as_all_at_once(self):
        frame, _ = rows.pump(30000)
        parts = mixstream.Mixstream(k=3, features=MAP)
        for first in range(0, 30000, 7001):
            part = frame[first:first + 7001]
            parts.partial_fit(part[["flow"]], part["power"])
        self.assertIn("30,000 rows, not solved", repr(parts))
        self.assertTrue(numpy.array_equal(parts.coef_, self.model.coef_))


class Bytes(unittest.TestCase):
    def test_bytes_and_pickles_go_on_where_the_model_was(self):
        frame, _ = rows.pump(24000)
        first, second = frame[:12000], frame[12000:]
        whole = mixstream.Mixstream(k=3, features=MAP).fit(frame[["flow"]], frame["power"])
        half = mixstream.Mixstream(k=3, features=MAP).partial_fit(first[["flow"]], first["power"])
        for again in (mixstream.Mixstream.from_bytes(half.to_bytes()), pickle.loads(pickle.dumps(half)), copy.deepcopy(half)):
            again.partial_fit(second[["flow"]], second["power"])
            self.assertTrue(numpy.array_equal(again.coef_, whole.coef_))
        self.assertEqual(half.rows_, 12000)

    def test_from_bytes_solves_otherwise_if_asked(self):
        self.assertEqual(len(mixstream.Mixstream.from_bytes(fitted(6000).to_bytes(), k=2).coef_), 2)

    def test_merged_halves_have_all_rows(self):
        left, right = fitted(9000, 1), fitted(9000, 2)
        moments = [model.moments(2)["cross"] for model in (left, right)]
        left.merge(right)
        self.assertEqual(left.rows_, 18000)
        self.assertEqual(left.report()["rows"], 18000)
        self.assertTrue(numpy.allclose(left.moments(2)["cross"], (moments[0] + moments[1]) / 2, rtol=1e-12))

    def test_the_tool_reads_what_python_wrote_and_python_what_the_tool_wrote(self):
        tool = os.environ["MIXSTREAM_TOOL"]
        frame, _ = rows.pump(8000)
        frame.insert(1, "flow2", frame.flow**2)
        x = frame[["flow", "flow2"]]
        model = mixstream.Mixstream(k=3).fit(x, frame["power"])
        with tempfile.TemporaryDirectory() as folder:
            frame.to_csv(f"{folder}/pump.csv", index=False)
            subprocess.run([tool, "fit", "-k", "3", "-y", "power", "-q", f"{folder}/pump.csv", "--save", f"{folder}/tool.mix"],
                           check=True, stdout=subprocess.DEVNULL)
            with open(f"{folder}/python.mix", "wb") as file:
                file.write(model.to_bytes())
            words = subprocess.run([tool, "inspect", "--json", f"{folder}/python.mix"], check=True, stdout=subprocess.PIPE)
            with open(f"{folder}/tool.mix", "rb") as file:
                of_tool = mixstream.Mixstream.from_bytes(file.read())
            solved = {name: json.loads(subprocess.run([tool, "refit", "--json", f"{folder}/{name}.mix"], check=True, stdout=subprocess.PIPE).stdout)
                      for name in ("python", "tool")}
        seen = json.loads(words.stdout)
        self.assertEqual((seen["rows"], seen["features"], seen["response"]), (8000, ["1", "flow", "flow2"], "power"))
        for name, one in (("python", model), ("tool", of_tool)):
            laws = [law["coefficients"] for law in solved[name]["components"]]
            self.assertTrue(numpy.allclose(one.coef_, laws, rtol=1e-9), name)


class Arrays(unittest.TestCase):
    def test_doubles_are_taken_where_they_lie(self):
        plain = numpy.random.default_rng(1).standard_normal((1000, 4))
        for array in (plain, plain[:, ::2], plain[::3], numpy.asfortranarray(plain), pandas.DataFrame(plain).to_numpy()):
            block = _model.Rows(array).block()
            self.assertEqual(block.features, array.ctypes.data)
        self.assertNotEqual(_model.Rows(plain.astype(numpy.float32)).block().features, plain.ctypes.data)

    def test_any_layout_gives_the_same_model(self):
        random = numpy.random.default_rng(1)
        x = random.standard_normal((3000, 2)).astype(numpy.float32).astype(float)
        y = numpy.where(random.random(3000) < 0.5, x[:, 0], 1 - x[:, 1]) + 0.1 * random.standard_normal(3000)
        wide = numpy.zeros((3000, 4))
        wide[:, ::2] = x
        models = [mixstream.Mixstream().fit(layout, y) for layout in
                  (x, numpy.asfortranarray(x), wide[:, ::2], x.astype(numpy.float32), x.tolist(), pandas.DataFrame(x))]
        for model in models[1:]:
            self.assertEqual(model.to_bytes(), models[0].to_bytes())

    def test_columns_of_a_frame_may_come_in_another_order(self):
        random = numpy.random.default_rng(2)
        frame = pandas.DataFrame(random.standard_normal((3000, 2)), columns=["a", "b"])
        y = frame.a - 2 * frame.b + 0.1 * random.standard_normal(3000)
        model = mixstream.Mixstream(k=1).fit(frame, y)
        self.assertTrue(numpy.array_equal(model.predict(frame[["b", "a"]]), model.predict(frame)))

    def test_a_weight_of_two_is_two_rows_and_one_of_zero_none(self):
        frame, _ = rows.pump(3000)
        x, y = frame[["flow"]], frame["power"]
        twice = mixstream.Mixstream(k=3, features=MAP).fit(pandas.concat([x, x]), pandas.concat([y, y]))
        weighed = mixstream.Mixstream(k=3, features=MAP).fit(x, y, numpy.full(3000, 2.0))
        self.assertTrue(numpy.allclose(twice.moments(3)["cross"], weighed.moments(3)["cross"], rtol=1e-12))
        weights = numpy.ones(3000)
        weights[::3] = 0
        without = mixstream.Mixstream(k=3, features=MAP).fit(x[weights > 0], y[weights > 0])
        self.assertTrue(numpy.array_equal(mixstream.Mixstream(k=3, features=MAP).fit(x, y, weights).coef_, without.coef_))

    def test_the_sample_is_the_same_whatever_the_order_and_the_parts(self):
        frame, _ = rows.pump(20000)
        order = numpy.random.default_rng(3).permutation(20000)
        samples = []
        for numbered in (True, False):
            with self.subTest(numbered=numbered):
                whole = mixstream.Mixstream(k=3, features=MAP)
                whole.partial_fit(frame[["flow"]], frame["power"], row=numpy.arange(20000) if numbered else None)
                parts = [mixstream.Mixstream(k=3, features=MAP) for _ in range(3)]
                for model, part in zip(parts, numpy.array_split(order, [700, 12000])):
                    model.partial_fit(frame[["flow"]].iloc[part], frame["power"].iloc[part], row=part if numbered else None)
                merged = parts[0].merge(parts[1]).merge(parts[2])
                samples.append(merged.sample()["response"])
                self.assertTrue(numpy.array_equal(samples[-1], whole.sample()["response"]))
                self.assertEqual(len(samples[-1]), 5000)
        self.assertFalse(numpy.array_equal(*samples))

    def test_rows_that_repeat_have_their_share_of_the_sample(self):
        random = numpy.random.default_rng(4)
        x = random.standard_normal(40000)
        y = numpy.where(random.random(40000) < 0.4, 1 + x, -1 - x) + 0.2 * random.standard_normal(40000)
        off = numpy.arange(40000) // 300 % 2 == 1
        x[off] = y[off] = 0.0
        parts = [mixstream.Mixstream().partial_fit(x[part, None], y[part]) for part in numpy.array_split(numpy.arange(40000), 3)]
        share = (parts[0].merge(parts[1]).merge(parts[2]).sample()["response"] == 0.0).mean()
        self.assertAlmostEqual(share, off.mean(), delta=0.04)  # six standard errors


class Modes(unittest.TestCase):
    def test_modes_that_last_are_followed(self):
        random = numpy.random.default_rng(5)
        u = random.standard_normal(60000)
        mode = numpy.cumsum(random.random(60000) < 0.01) % 2
        y = numpy.where(mode == 0, 1 + u, -1 - u) + 0.8 * random.standard_normal(60000)
        model = mixstream.Mixstream(modes_kind="persistent").fit(u[:, None], y)
        self.assertAlmostEqual(model.report()["modes"]["dwell"][0], 100, delta=15)
        now = model.modes()
        self.assertAlmostEqual(now.sum(), 1)
        self.assertTrue(numpy.allclose(now, model.report()["modes"]["now"], atol=1e-6))
        filtered = model.predict_law(u[:, None], y)
        alone = numpy.abs((filtered == mode).mean() - 0.5) + 0.5
        self.assertGreater(alone, 0.95)
        with self.assertRaisesRegex(mixstream.Error, "no modes are followed"):
            model.modes(sensor=7)


class Threads(unittest.TestCase):
    def test_python_runs_on_while_the_library_computes(self):
        """Turns of this thread inside the calls: none where they keep Python's lock, however busy the machine is, since nobody
        asks another thread for it within an hour."""
        frame, _ = rows.pump(60000)
        turns, inside, call = 0, {"model_absorb": 0, "model_fit": 0, "predict": 0}, _library.call

        def counted(name, *words):
            before = turns
            result = call(name, *words)
            inside[name] = inside.get(name, 0) + turns - before
            return result

        def work():
            model = mixstream.Mixstream(k=2, features=MAP, polish="off", modes_kind="independent", noise="shared")
            model.partial_fit(frame[["flow"]], frame["power"]).report()
            for _ in range(10):
                model.predict_interval(frame[["flow"]][:2000])

        self.addCleanup(sys.setswitchinterval, sys.getswitchinterval())
        sys.setswitchinterval(3600)
        thread = threading.Thread(target=work)
        with mock.patch.object(_library, "call", counted), mock.patch.object(_model, "call", counted):
            thread.start()
            while thread.is_alive():
                turns += 1
                time.sleep(0.0002)
        for name in ("model_absorb", "model_fit", "predict"):
            self.assertGreater(inside[name], 0, name)

    def test_two_threads_may_have_one_model(self):
        frame, _ = rows.pump(20000)
        model = mixstream.Mixstream(k=3, features=MAP, polish="off").partial_fit(frame[["flow"]][:10], frame["power"][:10])
        halves = [frame[10:10000], frame[10000:]]
        threads = [threading.Thread(target=lambda half=half: model.partial_fit(half[["flow"]], half["power"])) for half in halves]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(model.rows_, 20000)
        self.assertEqual(model.report().status, "ok")


if __name__ == "__main__":
    unittest.main()
