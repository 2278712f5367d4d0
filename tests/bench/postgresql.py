"""A million rows through the aggregate beside PostgreSQL's own regression, in one run, one process after the other.

    postgresql.py MODULE LIBRARY EXTENSION_FOLDER [ROWS]

One JSON object a line: rows a second of mixstream_state and of regr_slope over the same rows (the better of
three runs, taken in turn), and their ratio."""

import json
import pathlib
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "bindings"), str(HERE.parent / "bindings" / "postgresql")]

from cluster import Cluster  # noqa: E402

RIVAL = "regr_slope(y, x1)"
OURS = {
    "state": "mixstream_state(y, ARRAY[x1, x2])",
    "state, polish off": "mixstream_state(y, ARRAY[x1, x2], NULL, NULL, '{\"polish\": \"off\"}')",
    "state, row numbers, polish off": "mixstream_state(y, ARRAY[x1, x2], NULL, id, '{\"polish\": \"off\"}')",
    "an array made and counted": "count(ARRAY[x1, x2])",
}


def seconds(server, workers, expression):
    began = time.perf_counter()
    server.sql(f"SET max_parallel_workers_per_gather = {workers}; SELECT {expression} IS NULL FROM rows")
    return time.perf_counter() - began


def main(files, count):
    with Cluster(*files) as cluster:
        server = cluster.server("bench")
        server.sql("SELECT setseed(0.5); CREATE UNLOGGED TABLE rows AS SELECT i AS id, x1, x2, CASE WHEN draw < 0.4 THEN 1 + "
                   "2 * x1 - x2 ELSE -2 + x1 + x2 END + noise AS y FROM (SELECT i::bigint, random() AS x1, random() AS x2, "
                   f"random() AS draw, random() AS noise FROM generate_series(1, {count}) AS i) AS made; "
                   "ALTER TABLE rows SET (parallel_workers = 4); VACUUM ANALYZE rows")
        for workers in (0, 2):
            for name, expression in OURS.items():
                ours, rival = [], []
                for _ in range(3):
                    ours.append(seconds(server, workers, expression))
                    rival.append(seconds(server, workers, RIVAL))
                print(json.dumps({"what": name, "workers": workers, "rows": count, "rows_per_second": count / min(ours),
                                  "regr_slope_rows_per_second": count / min(rival),
                                  "ratio": min(rival) / min(ours)}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:4], int(sys.argv[4]) if len(sys.argv) > 4 else 1_000_000)
