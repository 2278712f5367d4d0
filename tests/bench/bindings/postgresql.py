"""A million rows through the aggregate beside PostgreSQL's own regression, in one run, one process after the other.

    postgresql.py MODULE LIBRARY EXTENSION_FOLDER [ROWS]

One JSON object a line: rows a second of processor time of mixstream_state and of regr_slope over the same rows (the better of
three runs, taken in turn), and their ratio."""

import json
import os
import pathlib
import sys

TESTS = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TESTS / "bindings"), str(TESTS / "bindings" / "postgresql")]

from cluster import Cluster  # noqa: E402

RIVAL = "regr_slope(y, x1)"
OURS = {
    "state": "mixstream_state(y, ARRAY[x1, x2])",
    "state, polish off": "mixstream_state(y, ARRAY[x1, x2], NULL, NULL, '{\"polish\": \"off\"}')",
    "state, row numbers, polish off": "mixstream_state(y, ARRAY[x1, x2], NULL, id, '{\"polish\": \"off\"}')",
    "an array made and counted": "count(ARRAY[x1, x2])",
}


def seconds(server, expression):
    """Processor time of the one process that the session has."""
    spent = "SELECT pg_read_file('/proc/self/stat')"
    before, _, after = server.sql(f"SET max_parallel_workers_per_gather = 0; {spent}; SELECT {expression} IS NULL FROM rows; {spent}").split("\n")
    ticks = [sum(map(int, stat.rsplit(")", 1)[1].split()[11:13])) for stat in (before, after)]
    return (ticks[1] - ticks[0]) / os.sysconf("SC_CLK_TCK")


def main(files, count):
    with Cluster(*files) as cluster:
        server = cluster.server("bench")
        server.sql("SELECT setseed(0.5); CREATE UNLOGGED TABLE rows AS SELECT i AS id, x1, x2, CASE WHEN draw < 0.4 THEN 1 + "
                   "2 * x1 - x2 ELSE -2 + x1 + x2 END + noise AS y FROM (SELECT i::bigint, random() AS x1, random() AS x2, "
                   f"random() AS draw, random() AS noise FROM generate_series(1, {count}) AS i) AS made; VACUUM ANALYZE rows")
        for name, expression in OURS.items():
            ours, rival = [], []
            for _ in range(3):
                ours.append(seconds(server, expression))
                rival.append(seconds(server, RIVAL))
            print(json.dumps({"name": f"PostgreSQL {name}, beside regr_slope", "rows_per_s": round(count / min(ours)),
                              "rival_rows_per_s": round(count / min(rival)), "ratio": round(min(rival) / min(ours), 3)}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:4], int(sys.argv[4]) if len(sys.argv) > 4 else 1_000_000)
