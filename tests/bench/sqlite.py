"""What a durable record costs in SQLite (WAL, synchronous FULL) beside our journal's way, a write and fdatasync; beside the same into a
file of zeros; and beside sixteen records that share a sync. In turns, medians and 99th percentiles. One JSON object a line.
sqlite.py FOLDER [ROUNDS]       the folder decides which disk is measured"""

import json
import os
import sqlite3
import sys
import tempfile
import time

RECORD = 4000  # bytes
SHARE = 16     # records of a group commit


def timed(work):
    begun = time.perf_counter()
    work()
    return (time.perf_counter() - begun) * 1e3


def main():
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 500
    with tempfile.TemporaryDirectory(dir=sys.argv[1]) as folder:
        database = sqlite3.connect(os.path.join(folder, "journal.db"), isolation_level=None)
        database.execute("PRAGMA journal_mode=WAL")
        database.execute("PRAGMA synchronous=FULL")
        database.execute("CREATE TABLE record (number INTEGER PRIMARY KEY, payload BLOB)")
        growing = os.open(os.path.join(folder, "growing"), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        shared = os.open(os.path.join(folder, "shared"), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        zeros = os.open(os.path.join(folder, "zeros"), os.O_WRONLY | os.O_CREAT)
        os.write(zeros, bytes(RECORD * (rounds + 1)))
        os.fsync(zeros)
        os.lseek(zeros, 0, os.SEEK_SET)
        record = os.urandom(RECORD)

        def append(file, count=1):
            for _ in range(count):
                os.write(file, record)
            os.fdatasync(file)

        ways = {"journal": lambda: append(growing), "journal of zeros": lambda: append(zeros),
                "sqlite": lambda: database.execute("INSERT INTO record (payload) VALUES (?)", (record,)),
                f"{SHARE} records, one sync": lambda: append(shared, SHARE)}
        times = {name: [] for name in ways}
        for _ in range(rounds):
            for name, work in ways.items():
                times[name].append(timed(work))
        base = sorted(times["journal"])[rounds // 2]
        for name, values in times.items():
            values.sort()
            count = SHARE if "one sync" in name else 1
            print(json.dumps({"bench": name, "p50_ms": round(values[rounds // 2], 4), "p99_ms": round(values[rounds * 99 // 100], 4),
                              "of_journal_p50_per_record": round(values[rounds // 2] / count / base, 3)}))


if __name__ == "__main__":
    main()
