"""The laws of rows as a scikit-learn regressor. Works without scikit-learn; then it has no get_params and no score."""

from __future__ import annotations

import warnings
from typing import Any, Dict, List, Optional, Union

import numpy

from . import _rows
from ._library import Error, not_fitted
from ._model import Map, Model, Predicted, Predictor, Rows
from ._report import Report, preformatted
from ._rows import Array

try:
    from sklearn.base import BaseEstimator, RegressorMixin
except ImportError:
    BaseEstimator = RegressorMixin = object

GOOD = ("ok", "approximate")


class PoorFit(UserWarning):
    """There are laws, and the rows speak against them."""


class Mixstream(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Hidden linear laws y = beta_h . x + noise, from rows that come once.

    k          number of laws, or "auto"
    features   of the columns, in the language of docs/guide/features.md: "1,flow,flow^2,log(speed)". Default: a constant and
               every column. Columns of a data frame have their names, others are x0, x1, ...
    modes_kind "auto", "independent", "persistent" (rows are in order, a law holds for a while) or "gated" (the features choose)
    noise      "auto", or a list such as "per-law,tails,memory"
    polish     "scoring", "stepwise-em" or "off"
    na         "error", or "skip": rows with NaN or infinity are left out and counted
    options    further ones by name, those of the tool: {"window_rows": 100000, "gate": ["flow"]} (docs/reference/c-interface.md)
    """

    def __init__(self, k: Union[int, str] = 2, features: Optional[str] = None, *, modes_kind: str = "auto", noise: str = "auto",
                 polish: str = "scoring", method: str = "default", sample_rows: int = 0, seed: int = 1, na: str = "error",
                 options: Optional[Dict[str, Any]] = None) -> None:
        self.k = k
        self.features = features
        self.modes_kind = modes_kind
        self.noise = noise
        self.polish = polish
        self.method = method
        self.sample_rows = sample_rows
        self.seed = seed
        self.na = na
        self.options = options

    _map: Optional[Map]
    _report: Optional[Report]
    _predictor: Optional[Predictor]

    # ---- rows in ----

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, time: Any = None, sensor: Any = None,
            row: Any = None) -> "Mixstream":
        """Forgets what was there, absorbs the rows and solves. Raises where there is no fit; warns where it is poor."""
        self._begin(X, y)
        self._absorb(X, y, sample_weight, time, sensor, row)
        report = self.report()
        if not report.laws:
            raise Error(f"{report.status}: {report.words} (n_samples = {report['rows']}, n_features = {self.n_features_in_})")
        if report.status not in GOOD:
            warnings.warn(f"{report.status}: {report.words}", PoorFit, stacklevel=2)
        return self

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None, *, time: Any = None, sensor: Any = None,
                    row: Any = None) -> "Mixstream":
        """Absorbs further rows. Solves when it is asked for: by report(), predict() or a law's attribute.

        row: the rows' own numbers. With them the sample depends on nothing else, so any cut into parts, in any
        order, on any machine, has the same one. Without them it depends on what the rows hold, and so has no
        order or cut either, but where many rows are alike."""
        if getattr(self, "_model", None) is None:
            self._begin(X, y)
        self._absorb(X, y, sample_weight, time, sensor, row)
        return self

    def merge(self, other: "Mixstream") -> "Mixstream":
        """Adds the other's rows to these. The two must have the same features, response, sample and seed."""
        self._own().merge(other._own())
        self._forget_fit()
        return self

    # ---- what was found ----

    def report(self) -> Report:
        """The whole verdict; made anew where rows have come since the last one."""
        model = self._own()
        if self._report is None:
            self._report = model.fit()
            self._predictor = Predictor(self._report) if self._report.laws else None
        return self._report

    @property
    def status_(self) -> str:
        return self.report().status

    @property
    def weights_(self) -> Array:
        return numpy.array([law["weight"] for law in self._laws()])

    @property
    def coef_(self) -> Array:
        """One law a line, in the order of features_out_; the constant's coefficient is among them."""
        return numpy.array([law["coefficients"] for law in self._laws()])

    @property
    def coef_se_(self) -> Array:
        return numpy.array([law["coefficients_se"] for law in self._laws()], dtype=float)

    @property
    def noise_variance_(self) -> Array:
        return numpy.array([law["noise_variance"] for law in self._laws()])

    @property
    def features_out_(self) -> List[str]:
        return list(self.report()["features"])

    # ---- rows out ----

    def predict(self, X: Any) -> Array:
        """E[y | x] of each row."""
        return self._predict(X, None, "expected").expected

    def predict_interval(self, X: Any, level: float = 0.95) -> Array:
        """Two columns: where y falls with this probability."""
        predicted = self._predict(X, None, "low", "high", level=level)
        return numpy.column_stack([predicted.low, predicted.high])

    def predict_proba(self, X: Any, y: Any = None, *, sensor: Any = None) -> Array:
        """Probabilities of the laws, one column each: given y too, or beforehand. Where modes persist rows are in order."""
        return self._predict(X, y, "probabilities", sensor=sensor).probabilities

    def predict_law(self, X: Any, y: Any = None, *, sensor: Any = None) -> Array:
        """The likeliest law of each row, from 0."""
        return self._predict(X, y, "component", sensor=sensor).component

    def modes(self, sensor: int = 0) -> Array:
        """Probabilities of the mode that a sensor is in after its last row; of models whose modes persist."""
        return self._own().modes(sensor, len(self._laws()))

    # ---- what the state holds ----

    @property
    def rows_(self) -> int:
        return self._own().rows()

    def sample(self) -> Dict[str, Array]:
        """Rows kept of the stream: features, response, and the weights with which they speak for all, 1 in the mean."""
        return self._own().sample()

    def moments(self, degree: int = 1) -> Dict[str, Array]:
        """sigma = E[phi phi'], cross = E[y^p phi], mean = E[phi] of degree 1, 2 or 3 (docs/reference/json.md)."""
        return self._own().moments(degree)

    def to_bytes(self) -> bytes:
        """The state as the tool's --save writes it: for files, other machines, SQL and R."""
        return self._own().save()

    @classmethod
    def from_bytes(cls, content: bytes, **options: Any) -> "Mixstream":
        """A model that goes on from such bytes, whoever wrote them. Options: how to solve from now on: k=4."""
        model = Model.load(bytes(content), options)
        state = model.inspect()
        made = cls(k=state["k"] or "auto", features=",".join(state["features"]))
        made._map = Map(made.features or "", [])
        made._model = model
        made._forget_fit()
        made._columns = made._map.columns
        made.n_features_in_ = len(made._columns)
        made.feature_names_in_ = numpy.array(made._columns, dtype=object)
        return made

    # ---- inside ----

    def _options(self) -> Dict[str, Any]:
        return {"k": self.k, "modes": self.modes_kind, "noise": self.noise, "polish": self.polish, "method": self.method,
                "seed": self.seed, "sample": self.sample_rows, **(self.options or {})}

    def _begin(self, X: Any, y: Any) -> None:
        if self.na not in ("error", "skip"):
            raise ValueError(f'na is "error" or "skip", not {self.na!r}')
        rows, names = _rows.table(X), _rows.column_names(X)
        columns = names or [f"x{index}" for index in range(rows.shape[1])]
        options = {"response": _rows.response_name(y) or "y", **self._options()}
        if self.features is None:
            self._map = None
            self._model = Model(rows.shape[1], {"features": columns, "intercept": True, **options})
        else:
            self._map = Map(self.features, columns)
            self._model = Model(self._map.feature_count, {"features": ",".join(self._map.names), **options})
        self._forget_fit()
        self.n_features_in_ = rows.shape[1]
        self._columns = columns
        if names:
            self.feature_names_in_ = numpy.array(names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _own(self) -> Model:
        model: Optional[Model] = getattr(self, "_model", None)
        if model is None:
            raise not_fitted(f"This {type(self).__name__} has seen no rows yet: call fit or partial_fit first")
        return model

    def _forget_fit(self) -> None:
        self._report = None
        self._predictor = None

    def _laws(self) -> List[Any]:
        report = self.report()
        if not report.laws:
            raise Error(f"there is no fit ({report.status}): {report.words}")
        return report.laws

    def _absorb(self, X: Any, y: Any, weight: Any, time: Any, sensor: Any, row: Any) -> None:
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None: a law says how y follows from the columns")
        columns = self._table(X)
        n = len(columns)
        rows = Rows(columns, self._checked("y", y, n), self._checked("sample_weight", weight, n), self._checked("time", time, n),
                    _rows.numbers("sensor", sensor, n), _rows.numbers("row", row, n))
        if rows.weights is not None and not rows.weights.all():  # a row that counts nothing is not there
            rows = rows.chosen(rows.weights != 0)
        model = self._own()
        self._forget_fit()
        for part in rows.steps():
            model.absorb(part if self._map is None else part._replace(features=self._map.features(part.features)))

    def _table(self, X: Any) -> Array:
        """X as rows of this model's columns."""
        rows, names = _rows.table(X), _rows.column_names(X)
        known = getattr(self, "feature_names_in_", None)
        if known is not None and names is not None and names != list(known):
            if set(names) < set(known) or set(known) - set(names):
                lacking = [name for name in known if name not in names]
                raise ValueError("The feature names should match those that were passed during fit.\n" +
                                 _rows.listed("Feature names unseen at fit time", [n for n in names if n not in known]) +
                                 _rows.listed("Feature names seen at fit time, yet now missing", lacking))
            return self._table(X[list(known)])
        if rows.shape[1] != self.n_features_in_:
            raise ValueError(f"X has {rows.shape[1]} features, but {type(self).__name__} is expecting {self.n_features_in_} features "
                             f"as input: {', '.join(map(repr, self._columns))}")
        if len(rows) == 0:
            raise ValueError(f"Found array with 0 sample(s) (shape={rows.shape}) while a minimum of 1 is required: X has no rows")
        self._refuse_gaps(rows, self._columns)
        return rows

    def _checked(self, name: str, values: Any, rows: int) -> Optional[Array]:
        vector = _rows.vector(name, values, rows)
        if vector is not None:
            self._refuse_gaps(vector, [name])
        return vector

    def _refuse_gaps(self, values: Array, names: List[str]) -> None:
        if self.na == "error":
            _rows.refuse_gaps(values, names)

    def _predict(self, X: Any, y: Any, *wanted: str, level: float = 0.95, sensor: Any = None) -> Predicted:
        self._laws()
        columns = self._table(X)
        rows = Rows(columns if self._map is None else self._map.again().features(columns), self._checked("y", y, len(columns)),
                    sensors=_rows.numbers("sensor", sensor, len(columns)))
        assert self._predictor is not None  # there are laws
        return self._predictor.predict(rows, level, wanted)

    # ---- as an object ----

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        report = getattr(self, "_report", None)
        if report is not None:
            return str(report.table.rstrip("\n"))
        if BaseEstimator is object:
            words = ", ".join(f"{name}={value!r}" for name, value in self._options().items())
            call = f"{type(self).__name__}({words})"
        else:
            call = str(super().__repr__(N_CHAR_MAX))
        model = getattr(self, "_model", None)
        return call if model is None else f"{call}: {model.rows():,} rows, not solved since the last of them; report() does"

    def _repr_html_(self) -> str:
        return preformatted(repr(self))

    def _repr_mimebundle_(self, **_: Any) -> Dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    def __getstate__(self) -> Dict[str, Any]:
        content = dict(self.__dict__)
        for handle in ("_predictor", "_report"):
            content.pop(handle, None)
        if "_model" in content:
            content["_model"] = self._model.save()
            content["_map"] = None if self._map is None else self.features
        return content

    def __setstate__(self, content: Dict[str, Any]) -> None:
        self.__dict__.update(content)
        if "_model" in content:
            self._model = Model.load(content["_model"], {})
            self._map = None if content["_map"] is None else Map(content["_map"], self._columns)
            self._forget_fit()

    def _more_tags(self) -> Dict[str, Any]:
        return {"poor_score": False}
