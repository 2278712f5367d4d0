"""scikit-learn's own checks of an estimator, all that apply; what does not is named with its reason."""

import unittest
import warnings

import numpy
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import mixstream
import rows

# Checks that do not apply: they fit 10 to 20 rows of 2 to 5 columns and want laws. From so few a fit is refused, in words.
TOO_FEW_ROWS = {"check_estimators_dtypes", "check_sample_weights_pandas_series", "check_sample_weights_not_an_array",
                "check_sample_weights_shape", "check_sample_weights_invariance", "check_estimators_nan_inf",
                "check_regressors_no_decision_function"}


class Checks(unittest.TestCase):
    def test_every_check_that_applies_passes(self):
        failed, passed = {}, []
        for estimator, check in check_estimator(mixstream.Mixstream(k=1), generate_only=True):
            name = getattr(check, "func", check).__name__
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", mixstream.PoorFit)
                    check(estimator)
                passed.append(name)
            except Exception as error:  # whatever a check raises
                failed[name] = f"{type(error).__name__}: {error} {error.__cause__ or error.__context__ or ''}"
        for name in TOO_FEW_ROWS & set(failed):
            self.assertRegex(failed[name], "too_few_rows|raises error if 'sample_weight'")
        self.assertEqual({name: why for name, why in failed.items() if name not in TOO_FEW_ROWS}, {})
        self.assertEqual(TOO_FEW_ROWS - set(failed), set())
        self.assertGreater(len(passed), 30)


class Together(unittest.TestCase):
    def test_pipelines_clones_and_cross_validation(self):
        frame, _ = rows.pump(6000)
        model = make_pipeline(StandardScaler(), mixstream.Mixstream(k=1))
        self.assertGreater(cross_val_score(model, frame[["flow"]], frame["power"], cv=3).min(), 0.15)
        copy = clone(mixstream.Mixstream(k=3, features="1,flow", modes_kind="independent"))
        self.assertEqual((copy.k, copy.features, copy.modes_kind), (3, "1,flow", "independent"))


if __name__ == "__main__":
    unittest.main()
