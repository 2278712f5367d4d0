"""A million rows through the aggregate beside DuckDB's own regression, over a Parquet file, one after the other.

    duckdb.py LIBRARY EXTENSION [ROWS]

One JSON object a line: rows a second of mixstream_state and of regr_slope over the same rows (the better of three runs, taken in
turn), and their ratio."""

import json
import pathlib
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bindings" / "duckdb"))

from database import Database  # noqa: E402

RIVAL = "regr_slope(y, x1)"
OURS = {
    "state": "mixstream_state(y, [x1, x2])",
    "state, polish off": "mixstream_state(y, [x1, x2], NULL, NULL, '{\"polish\": \"off\"}')",
    "state, row numbers, polish off": "mixstream_state(y, [x1, x2], NULL, id, '{\"polish\": \"off\"}')",
    "state, 1,000 groups": "mixstream_state(y, [x1, x2], NULL, id, '{\"polish\": \"off\"}') AS s FROM rows GROUP BY id % 1000",
    "a list made and counted": "count([x1, x2])",
}
ROWS = """COPY (SELECT i AS id, x1, x2, CASE WHEN draw < 0.4 THEN 1 + 2 * x1 - x2 ELSE -2 + x1 + x2 END + noise AS y
  FROM (SELECT i, random() AS x1, random() AS x2, random() AS draw, random() AS noise FROM range({}) AS t (i)))
  TO '{}' (FORMAT parquet)"""


def seconds(database, expression):
    began = time.perf_counter()
    if "GROUP BY" in expression:
        database.sql(f"SELECT count(s) FROM (SELECT {expression})")
    else:
        database.sql(f"SELECT {expression} IS NULL FROM rows")
    return time.perf_counter() - began


def main(library, extension, count):
    with tempfile.TemporaryDirectory(prefix="mixstream-duckdb-") as folder, Database(library, extension) as database:
        file = folder + "/rows.parquet"
        database.sql(ROWS.format(count, file))
        database.sql(f"CREATE VIEW rows AS FROM '{file}'")
        for threads in (1, 2):
            database.sql(f"SET threads = {threads}")
            for name, expression in OURS.items():
                ours, rival = [], []
                for _ in range(3):
                    ours.append(seconds(database, expression))
                    rival.append(seconds(database, RIVAL))
                print(json.dumps({"name": f"DuckDB {name}, beside regr_slope", "threads": threads, "rows_per_s": round(count / min(ours)),
                                  "rival_rows_per_s": round(count / min(rival)), "ratio": round(min(rival) / min(ours), 3)}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 1_000_000)
