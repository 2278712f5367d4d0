"""A million rows through the aggregate beside PostgreSQL's own regression, in one run, one process after the other.

    postgresql.py MODULE LIBRARY EXTENSION_FOLDER ROWS.CSV

One JSON object a line: rows a second of processor time of mixstream_state and of regr_slope over the same rows (the better of
three runs, taken in turn), and their ratio."""

import json
import pathlib
import sys

TESTS = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TESTS / "bindings"), str(TESTS / "bindings" / "postgresql")]

from cluster import Cluster  # noqa: E402

RIVAL = "regr_slope(y, a)"
OPTIONS = '\'{"modes": "independent", "noise": "shared", "polish": "%s"}\''
OURS = {
    "state, polish off": "mixstream_state(y, ARRAY[a, b, c, d], NULL, id, " + OPTIONS % "off" + ")",
    "state, polish scoring": "mixstream_state(y, ARRAY[a, b, c, d], NULL, id, " + OPTIONS % "scoring" + ")",
    "an array made and counted": "count(ARRAY[a, b, c, d])",
}


def seconds(server, expression):
    """Processor time of the one process that the session has."""
    spent = "SELECT split_part(pg_read_file('/proc/self/schedstat'), ' ', 1)"
    before, _, after = server.sql(f"SET max_parallel_workers_per_gather = 0; {spent}; SELECT {expression} IS NULL FROM rows; {spent}").split("\n")
    return (int(after) - int(before)) / 1e9


def main(files, rows):
    with Cluster(*files) as cluster:
        server = cluster.server("bench")
        server.sql("CREATE UNLOGGED TABLE rows (id bigint, a float8, b float8, c float8, d float8, y float8);"
                   f"\\copy rows FROM '{rows}' WITH (FORMAT csv, HEADER)\nVACUUM ANALYZE rows")
        count = int(server.sql("SELECT count(*) FROM rows"))
        for name, expression in OURS.items():
            ours, rival = [], []
            for _ in range(3):
                ours.append(seconds(server, expression))
                rival.append(seconds(server, RIVAL))
            print(json.dumps({"name": f"PostgreSQL {name}, beside regr_slope", "rows_per_s": round(count / min(ours)),
                              "rival_rows_per_s": round(count / min(rival)), "ratio": round(min(rival) / min(ours), 3)}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:4], sys.argv[4])
