"""What users give as rows, checked and named. Refusals say what to do."""

from __future__ import annotations

import sys
import warnings
from typing import Any, List, Optional

import numpy
from numpy.typing import NDArray

Array = NDArray[Any]


def column_names(X: Any) -> Optional[List[str]]:
    """Those of a data frame, if they are texts."""
    columns = getattr(X, "columns", None)
    if columns is None:
        return None
    names = list(columns)
    texts = [isinstance(name, str) for name in names]
    if any(texts) and not all(texts):
        raise TypeError("Feature names are only supported if all input features have string names, but your input has "
                        f"other ones, such as {names[texts.index(False)]!r}: X.columns = X.columns.astype(str)")
    return names if all(texts) and names else None


def response_name(y: Any) -> Optional[str]:
    name = getattr(y, "name", None)
    return name if isinstance(name, str) else None


def table(X: Any) -> Array:
    """X as an array of rows of numbers; not yet of doubles."""
    if hasattr(X, "toarray"):
        raise TypeError("X is sparse, and rows are taken dense: give X.toarray()")
    rows = numpy.asarray(X)
    if rows.dtype.kind == "c":
        raise ValueError("Complex data not supported: give real and imaginary parts as two columns")
    if rows.ndim != 2:
        raise ValueError(f"X has {rows.ndim} dimensions instead of 2. Reshape your data: X.reshape(-1, 1) where it is one "
                         "column, X.reshape(1, -1) where it is one row")
    if rows.shape[1] == 0:
        raise ValueError(f"0 feature(s) (shape={rows.shape}) while a minimum of 1 is required: X has no columns")
    return rows if rows.dtype.kind in "fiub" else doubles(rows, column_names(X) or [])


def vector(name: str, values: Any, rows: int, kind: Any = numpy.float64) -> Optional[Array]:
    """One number a row, or nothing."""
    if values is None:
        return None
    array = numpy.asarray(values)
    if array.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: {name} is complex")
    if array.ndim == 2 and array.shape[1] == 1:
        kind_of = getattr(sys.modules.get("sklearn.exceptions"), "DataConversionWarning", UserWarning)
        warnings.warn(f"A column-vector {name} was passed when a 1d array was expected: say {name}.ravel()", kind_of, stacklevel=5)
        array = array[:, 0]
    if array.shape != (rows,):
        shape = " x ".join(map(str, array.shape)) or "a single number"
        raise ValueError(f"{name} has {shape} values for {rows} rows: give one number for each row of X")
    return doubles(array, [name], kind)


def numbers(name: str, values: Any, rows: int) -> Optional[Array]:
    """One whole number a row, or nothing: a sensor's, or the row's own."""
    if values is None:
        return None
    array = numpy.asarray(values)
    if array.dtype.kind not in "iu" or (array.size and array.min() < 0):
        raise ValueError(f"{name} takes whole numbers from 0 on, not {array.dtype} such as {array.reshape(-1)[:1].tolist()}: of names "
                         "make numbers by pandas.factorize(names)[0]")
    return vector(name, array, rows, numpy.uint64)


def listed(heading: str, names: List[str]) -> str:
    return f"{heading}:\n" + "".join(f"- {name}\n" for name in names) if names else ""


def doubles(array: Array, names: List[str], kind: Any = numpy.float64) -> Array:
    try:
        return numpy.ascontiguousarray(array, dtype=kind)
    except (ValueError, TypeError) as error:
        raise type(error)(text_words(array, names) or str(error)) from None


def text_words(array: Array, names: List[str]) -> str:
    """Which column holds what is no number, and what to do."""
    columns = array.reshape(len(array), -1)
    for index in range(columns.shape[1]):
        for row, value in enumerate(columns[:, index]):
            try:
                float(value)
            except (ValueError, TypeError):
                name = names[index] if index < len(names) else f"x{index}"
                return (f"{name!r} holds {value!r} in row {row}, which is no number (argument must be a string or a number "
                        "that float() reads): leave the column out, or make columns of numbers of its values "
                        "(pandas.get_dummies)")
    return ""


def refuse_gaps(values: Array, names: List[str]) -> None:
    """NaN and infinity are an error here, unless na="skip" was said."""
    if values.dtype.kind != "f" or numpy.isfinite(values.sum()):
        return
    bad = ~numpy.isfinite(values.reshape(len(values), -1))
    rows, columns = numpy.nonzero(bad)
    if len(rows) == 0:  # only the sum was too large
        return
    name = names[columns[0]] if columns[0] < len(names) else f"x{columns[0]}"
    what = "NaN" if numpy.isnan(values.reshape(len(values), -1)[rows[0], columns[0]]) else "infinity"
    count = int(bad.any(axis=1).sum())
    raise ValueError(f"Input contains {what}: {name!r} in row {rows[0]}; {count} of {len(values)} rows hold NaN or infinity. Drop "
                     'them, fill them in, or say na="skip" to have them counted and left out')
