"""Handles of the library as Python objects. One call at a time for each: a lock sees to it."""

from __future__ import annotations

import ctypes
import json
import threading
import weakref
from ctypes import byref, c_size_t, c_uint32, c_uint64
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Tuple, Union

import numpy

from . import _library
from ._library import Block, Interruptible, Prediction, call, check, made, refuse
from ._report import Report
from ._rows import Array

STEP = 65536  # rows a call: between two of them Ctrl-C and other threads have their turn
MOMENTS = ("sigma", "cross", "mean")


class Rows(NamedTuple):
    """What belongs to rows: arrays of one length, or nothing."""

    features: Array
    responses: Optional[Array] = None
    weights: Optional[Array] = None
    times: Optional[Array] = None
    sensors: Optional[Array] = None
    positions: Optional[Array] = None

    def steps(self) -> Iterator["Rows"]:
        for first in range(0, len(self.features), STEP):
            yield self.chosen(slice(first, first + STEP))

    def chosen(self, which: Union[Array, slice]) -> "Rows":
        return Rows(self.features[which], *(None if one is None else one[which] for one in self[1:]))

    def block(self) -> Block:
        """The rows where they lie; only what is no double there is copied. Keep the result: it holds the copies."""
        features = self.features
        if not lies_ready(features):
            features = numpy.ascontiguousarray(features, dtype=numpy.float64)
        held = [features, *(None if one is None else numpy.ascontiguousarray(one) for one in self[1:])]
        strides = [stride // 8 for stride in features.strides]
        block = Block(ctypes.sizeof(Block), len(features), features.shape[1], features.ctypes.data, *strides,
                      *(None if one is None else one.ctypes.data for one in held[1:]))
        block.held = held
        return block


def lies_ready(array: Array) -> bool:
    return array.dtype == numpy.float64 and array.dtype.isnative and array.flags.aligned and \
        all(stride % 8 == 0 for stride in array.strides)


class Handle:
    """Owns what a call made, and gives it back with the last reference."""

    def __init__(self, address: int, destroy: str) -> None:
        self.address = address
        self.lock = threading.RLock()
        weakref.finalize(self, call, destroy, address)


class Model(Handle):
    def __init__(self, feature_count: int, options: Dict[str, Any]) -> None:
        super().__init__(made("model_create", feature_count, words_of(options)), "model_destroy")

    @classmethod
    def load(cls, content: bytes, options: Dict[str, Any]) -> "Model":
        model = cls.__new__(cls)
        Handle.__init__(model, made("model_load", content, len(content), words_of(options) if options else None), "model_destroy")
        return model

    @property
    def feature_count(self) -> int:
        return int(call("model_feature_count", self.address))

    def rows(self) -> int:
        return int(call("model_rows", self.address))

    def absorb(self, rows: Rows) -> int:
        """How many were refused."""
        refused, all_refused = c_uint64(0), 0
        with self.lock, Interruptible() as asked:
            for step in rows.steps():
                asked.check()
                block = step.block()
                check(call("model_absorb", self.address, byref(block), byref(refused)))
                all_refused += refused.value
        return all_refused

    def merge(self, other: "Model") -> None:
        if other is self:
            raise _library.Error("a model cannot be merged with itself: its rows would count twice")
        with self.lock, other.lock:
            status = call("model_merge", self.address, other.address)
            check(status, call("model_words", self.address).decode())

    def save(self) -> bytes:
        size, status = c_size_t(0), c_uint32(0)
        with self.lock:
            return taken(call("model_save", self.address, byref(size), byref(status)), size, status)

    def inspect(self) -> Dict[str, Any]:
        status = c_uint32(0)
        with self.lock:
            return dict(json.loads(taken(call("model_inspect", self.address, byref(status)), None, status)))

    def fit(self) -> Report:
        with self.lock, Interruptible():
            fitted = Fit(made("model_fit", self.address, None), "report_destroy")
        return Report(call("report_json", fitted.address).decode(), call("report_table", fitted.address).decode(),
                      lambda: self.page(fitted))

    def page(self, fitted: "Fit") -> str:
        with self.lock:
            page = made("report_page", fitted.address, self.address)
        return taken(page, None, c_uint32(0)).decode()

    def modes(self, sensor: int, count: int) -> Array:
        probabilities = numpy.empty(count)
        with self.lock:
            check(call("model_modes", self.address, sensor, probabilities.ctypes.data, count),
                  "no modes are followed yet: they are where modes_kind=\"persistent\" was said or chosen, after some thousand rows, "
                  "and for sensors that have had rows")
        return probabilities

    def moments(self, degree: int) -> Dict[str, Array]:
        found = {}
        with self.lock:
            for kind, name in enumerate(MOMENTS):
                needed = c_size_t(0)
                call("model_moments", self.address, kind, degree, None, 0, byref(needed))
                values = numpy.empty(needed.value)
                check(call("model_moments", self.address, kind, degree, values.ctypes.data, len(values), byref(needed)),
                      f"moments have degree 1, 2 or 3, not {degree}")
                found[name] = values
        found["sigma"] = found["sigma"].reshape(len(found["mean"]), -1)
        return found

    def sample(self) -> Dict[str, Array]:
        """Rows kept, in the order of their keys."""
        needed, d = c_size_t(0), self.feature_count
        with self.lock:
            call("model_sample", self.address, None, None, None, 0, byref(needed))
            n = needed.value
            features, responses, weights = numpy.empty((n, d)), numpy.empty(n), numpy.empty(n)
            check(call("model_sample", self.address, features.ctypes.data, responses.ctypes.data, weights.ctypes.data, n,
                       byref(needed)))
        return {"features": features, "response": responses, "weight": weights}


class Fit(Handle):
    """A report as the library holds it."""


class Predictor(Handle):
    def __init__(self, report: Report) -> None:
        super().__init__(made("predictor_create", report.json.encode()), "predictor_destroy")
        self.component_count = len(report.laws)

    def predict(self, rows: Rows, level: float, wanted: Tuple[str, ...]) -> "Predicted":
        """Only what is wanted is computed: an interval costs far more than an expectation."""
        n, k = len(rows.features), self.component_count
        into = Predicted(numpy.empty(n if "component" in wanted else 0, dtype=numpy.int32),
                         numpy.empty((n if "probabilities" in wanted else 0, k)),
                         *(numpy.empty(n if name in wanted else 0) for name in ("expected", "low", "high")))
        done = 0
        with self.lock:
            call("predictor_restart", self.address)
            for step in rows.steps():
                block = step.block()
                places = [array[done:].ctypes.data if len(array) else None for array in into]
                check(call("predict", self.address, byref(block), byref(Prediction(ctypes.sizeof(Prediction), level, *places))))
                done += len(step.features)
        return into


class Predicted(NamedTuple):
    """Arrays of a number a row, empty where nobody asked."""

    component: Array
    probabilities: Array
    expected: Array
    low: Array
    high: Array


class Map(Handle):
    """Features from columns; without columns given, those that the text names."""

    def __init__(self, features: str, columns: List[str]) -> None:
        names = (ctypes.c_char_p * len(columns))(*(column.encode() for column in columns)) if columns else None
        super().__init__(made("map_create", features.encode(), names, len(columns)), "map_destroy")
        self.text, self.given = features, columns
        self.feature_count = int(call("map_feature_count", self.address))
        self.names = [call("map_feature", self.address, index).decode() for index in range(self.feature_count)]
        self.columns = [call("map_column", self.address, index).decode()
                        for index in range(int(call("map_column_count", self.address)))]

    def again(self) -> "Map":
        """The same, with no rows before."""
        return Map(self.text, self.given)

    def features(self, columns: Array) -> Array:
        """NaN where a feature has no value. Lags go on from the rows before."""
        features = numpy.empty((len(columns), self.feature_count))
        with self.lock:
            block = Rows(columns).block()
            check(call("map_rows", self.address, byref(block), features.ctypes.data))
        return features


def words_of(options: Dict[str, Any]) -> bytes:
    return json.dumps({name: value for name, value in options.items() if value is not None}, default=plain).encode()


def plain(value: Any) -> Any:
    """numpy's numbers and arrays as Python's."""
    if isinstance(value, (numpy.generic, numpy.ndarray)):
        return value.tolist()
    raise TypeError(f"an option is {value!r}: give numbers, texts or lists of them")


def taken(address: Optional[int], size: Optional[c_size_t], status: c_uint32) -> bytes:
    """The bytes that a call gave away, and their memory back."""
    if not address:
        refuse(status.value)
    assert address
    try:
        return ctypes.string_at(address, -1 if size is None else size.value)
    finally:
        call("free", address)
