"""A million rows through the aggregate beside DuckDB's own regression, over a Parquet file, one after the other.

    duckdb.py LIBRARY EXTENSION ROWS.CSV

One JSON object a line: rows a second of processor time of mixstream_state and of regr_slope over the same rows (the better of
three runs, taken in turn), and their ratio."""

import json
import pathlib
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bindings" / "duckdb"))

from database import Database  # noqa: E402

RIVAL = "regr_slope(y, a)"
OPTIONS = '\'{"modes": "independent", "noise": "shared", "polish": "%s"}\''
STATE = "mixstream_state(y, [a, b, c, d], NULL, id, " + OPTIONS + ")"
OURS = {
    "state, polish off": STATE % "off",
    "state, polish scoring": STATE % "scoring",
    "state, polish off, 1,000 groups": STATE % "off" + " AS s FROM rows GROUP BY id % 1000",
}


def seconds(database, expression):
    began = time.process_time()
    if "GROUP BY" in expression:
        database.sql(f"SELECT count(s) FROM (SELECT {expression})")
    else:
        database.sql(f"SELECT {expression} IS NULL FROM rows")
    return time.process_time() - began


def main(library, extension, csv):
    with tempfile.TemporaryDirectory(prefix="mixstream-duckdb-") as folder, Database(library, extension) as database:
        file = folder + "/rows.parquet"
        database.sql(f"COPY (FROM '{csv}') TO '{file}' (FORMAT parquet)")
        database.sql(f"CREATE VIEW rows AS FROM '{file}'")
        count = int(database.sql("SELECT count(*) FROM rows"))
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
    main(*sys.argv[1:4])
