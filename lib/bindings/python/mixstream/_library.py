"""The shared library: its functions with their types, and its refusals as exceptions. ctypes lets other threads of Python
run while a call computes."""

from __future__ import annotations

import ctypes
import ctypes.util
import os
import signal
import sys
import threading
from ctypes import POINTER, c_char_p, c_double, c_int32, c_size_t, c_uint32, c_uint64, c_void_p
from typing import Any, Iterator, List

from ._place import FOLDER

ABI_VERSION = 1
OK, INTERRUPTED = 0, 19
TEXT = 2048  # bytes for a refusal in words


class Error(ValueError):
    """The library refuses; the message says why and what to do."""


class Block(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("row_count", c_size_t), ("feature_count", c_size_t), ("features", c_void_p),
                ("row_stride", ctypes.c_ssize_t), ("feature_stride", ctypes.c_ssize_t), ("responses", c_void_p),
                ("weights", c_void_p), ("times", c_void_p), ("sensors", c_void_p), ("positions", c_void_p)]


class Prediction(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("level", c_double), ("components", c_void_p), ("probabilities", c_void_p),
                ("expected", c_void_p), ("low", c_void_p), ("high", c_void_p)]


QUESTION = ctypes.CFUNCTYPE(ctypes.c_int, c_void_p)
STATUS = POINTER(c_uint32)
REASON = (STATUS, c_char_p, c_size_t)  # where a call says why it refuses

SIGNATURES = {
    "abi_version": (c_uint32,),
    "status_name": (c_char_p, c_uint32),
    "status_text": (c_char_p, c_uint32),
    "interrupt_by": (None, QUESTION, c_void_p),
    "free": (None, c_void_p),
    "model_create": (c_void_p, c_size_t, c_char_p, *REASON),
    "model_load": (c_void_p, c_void_p, c_size_t, c_char_p, *REASON),
    "model_destroy": (None, c_void_p),
    "model_absorb": (c_uint32, c_void_p, POINTER(Block), POINTER(c_uint64)),
    "model_merge": (c_uint32, c_void_p, c_void_p),
    "model_words": (c_char_p, c_void_p),
    "model_rows": (c_uint64, c_void_p),
    "model_feature_count": (c_size_t, c_void_p),
    "model_save": (c_void_p, c_void_p, POINTER(c_size_t), STATUS),
    "model_inspect": (c_void_p, c_void_p, STATUS),
    "model_moments": (c_uint32, c_void_p, c_uint32, c_int32, c_void_p, c_size_t, POINTER(c_size_t)),
    "model_modes": (c_uint32, c_void_p, c_uint64, c_void_p, c_size_t),
    "model_sample": (c_uint32, c_void_p, c_void_p, c_void_p, c_void_p, c_size_t, POINTER(c_size_t)),
    "model_fit": (c_void_p, c_void_p, c_char_p, *REASON),
    "report_destroy": (None, c_void_p),
    "report_json": (c_char_p, c_void_p),
    "report_table": (c_char_p, c_void_p),
    "report_page": (c_void_p, c_void_p, c_void_p, *REASON),
    "predictor_create": (c_void_p, c_char_p, *REASON),
    "predictor_destroy": (None, c_void_p),
    "predictor_restart": (None, c_void_p),
    "predict": (c_uint32, c_void_p, POINTER(Block), POINTER(Prediction)),
    "map_create": (c_void_p, c_char_p, POINTER(c_char_p), c_size_t, *REASON),
    "map_destroy": (None, c_void_p),
    "map_feature_count": (c_size_t, c_void_p),
    "map_column_count": (c_size_t, c_void_p),
    "map_column": (c_char_p, c_void_p, c_size_t),
    "map_feature": (c_char_p, c_void_p, c_size_t),
    "map_rows": (c_uint32, c_void_p, POINTER(Block), c_void_p),
}


def candidates() -> Iterator[str]:
    """MIXSTREAM_LIBRARY, where the module was built, then the system's."""
    if "MIXSTREAM_LIBRARY" in os.environ:
        yield os.environ["MIXSTREAM_LIBRARY"]
        return
    yield os.path.join(FOLDER, "libmixstream.so.0")
    yield ctypes.util.find_library("mixstream") or "libmixstream.so.0"


def load() -> ctypes.CDLL:
    tried: List[str] = []
    for path in candidates():
        try:
            library = ctypes.CDLL(path)
        except OSError as error:
            tried.append(str(error))
            continue
        for name, (result, *arguments) in SIGNATURES.items():
            function = getattr(library, "mixstream_" + name, None)
            if function is None:
                raise ImportError(f"{path} is too old: it has no mixstream_{name}. Install the library of this module's version")
            function.restype, function.argtypes = result, arguments
        if library.mixstream_abi_version() != ABI_VERSION:
            raise ImportError(f"{path} has version {library.mixstream_abi_version()} of the interface, this module knows "
                              f"{ABI_VERSION}: install the two of one version")
        return library
    raise ImportError("the shared library mixstream is not there (" + "; ".join(tried) + "). Install it (meson install), or say "
                      "where it lies: MIXSTREAM_LIBRARY=/.../libmixstream.so.0")


library = load()


def call(name: str, *arguments: Any) -> Any:
    return getattr(library, "mixstream_" + name)(*arguments)


def made(name: str, *arguments: Any) -> int:
    """What a call makes, or its refusal as an exception."""
    status, text = c_uint32(0), ctypes.create_string_buffer(TEXT)
    result = call(name, *arguments, ctypes.byref(status), text, TEXT)
    if not result:
        refuse(status.value, text.value.decode())
    return int(result)


def refuse(status: int, words: str = "") -> None:
    if status == INTERRUPTED:
        raise KeyboardInterrupt
    if status == 54:
        raise MemoryError("the system has no memory left")
    raise Error(words or call("status_text", status).decode())


def check(status: int, words: str = "") -> None:
    if status != OK:
        refuse(status, words)


class Interruptible:
    """Within, Ctrl-C ends a call of the main thread; outside Python's own handler has it. A user's handler stays in place."""

    def __init__(self) -> None:
        self.wanted = False
        self._question = QUESTION(lambda _: int(self.wanted))  # Python runs the handler before it

    def __enter__(self) -> "Interruptible":
        main = threading.current_thread() is threading.main_thread()
        self._watches = main and signal.getsignal(signal.SIGINT) is signal.default_int_handler
        if self._watches:
            signal.signal(signal.SIGINT, self._note)
            call("interrupt_by", self._question, None)
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        if self._watches:
            call("interrupt_by", QUESTION(0), None)
            signal.signal(signal.SIGINT, signal.default_int_handler)
        if kind is None:
            self.check()

    def _note(self, *_: Any) -> None:
        self.wanted = True

    def check(self) -> None:
        """Between two calls."""
        if self.wanted:
            raise KeyboardInterrupt


def not_fitted(words: str) -> Exception:
    """scikit-learn's exception where it is in use."""
    exceptions = sys.modules.get("sklearn.exceptions")
    kind: type[Exception] = exceptions.NotFittedError if exceptions else Error
    return kind(words)
