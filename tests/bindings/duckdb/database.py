"""DuckDB through its C interface: with Database(LIBRARY, EXTENSION) as db: db.sql("SELECT 1"). Everything comes back as text."""

import ctypes
from ctypes import POINTER, byref, c_char_p, c_uint64, c_void_p

SUCCESS = 0


class Refused(Exception):
    """What DuckDB said."""


class Result(ctypes.Structure):
    _fields_ = [("columns", c_uint64), ("rows", c_uint64), ("changed", c_uint64), ("data", c_void_p), ("error", c_char_p),
                ("internal", c_void_p)]


SIGNATURES = {
    "create_config": (ctypes.c_int, POINTER(c_void_p)),
    "set_config": (ctypes.c_int, c_void_p, c_char_p, c_char_p),
    "destroy_config": (None, POINTER(c_void_p)),
    "open_ext": (ctypes.c_int, c_char_p, POINTER(c_void_p), c_void_p, POINTER(c_char_p)),
    "connect": (ctypes.c_int, c_void_p, POINTER(c_void_p)),
    "disconnect": (None, POINTER(c_void_p)),
    "close": (None, POINTER(c_void_p)),
    "interrupt": (None, c_void_p),
    "query": (ctypes.c_int, c_void_p, c_char_p, POINTER(Result)),
    "result_error": (c_char_p, POINTER(Result)),
    "destroy_result": (None, POINTER(Result)),
    "column_count": (c_uint64, POINTER(Result)),
    "row_count": (c_uint64, POINTER(Result)),
    "value_varchar": (c_void_p, POINTER(Result), c_uint64, c_uint64),
    "free": (None, c_void_p),
}


def load(path):
    library = ctypes.CDLL(str(path))
    for name, (result, *arguments) in SIGNATURES.items():
        function = getattr(library, "duckdb_" + name)
        function.restype, function.argtypes = result, arguments
    return library


class Database:
    def __init__(self, library, extension=None, **settings):
        self.library = load(library)
        self.database, self.connection = c_void_p(), c_void_p()
        config, fault = c_void_p(), c_char_p()
        self.library.duckdb_create_config(byref(config))
        for name, value in {"allow_unsigned_extensions": "true", **settings}.items():
            self.library.duckdb_set_config(config, name.encode(), str(value).encode())
        if self.library.duckdb_open_ext(None, byref(self.database), config, byref(fault)) != SUCCESS:
            raise Refused(fault.value.decode())
        self.library.duckdb_destroy_config(byref(config))
        self.library.duckdb_connect(self.database, byref(self.connection))
        if extension is not None:
            self.sql(f"LOAD '{extension}'")

    def close(self):
        self.library.duckdb_disconnect(byref(self.connection))
        self.library.duckdb_close(byref(self.database))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def rows(self, text):
        """Tuples of text of the last statement; None for NULL."""
        result = Result()
        try:
            if self.library.duckdb_query(self.connection, text.encode(), byref(result)) != SUCCESS:
                raise Refused(self.library.duckdb_result_error(byref(result)).decode())
            columns, rows = self.library.duckdb_column_count(byref(result)), self.library.duckdb_row_count(byref(result))
            return [tuple(self.value(result, column, row) for column in range(columns)) for row in range(rows)]
        finally:
            self.library.duckdb_destroy_result(byref(result))

    def value(self, result, column, row):
        address = self.library.duckdb_value_varchar(byref(result), column, row)
        if not address:
            return None
        try:
            return ctypes.string_at(address).decode()
        finally:
            self.library.duckdb_free(address)

    def sql(self, text):
        """The rows as psql prints them, unaligned."""
        return "\n".join("|".join("" if value is None else value for value in row) for row in self.rows(text))

    def blob(self, expression):
        return bytes.fromhex(self.sql(f"SELECT hex({expression})"))

    def interrupt(self):
        self.library.duckdb_interrupt(self.connection)
