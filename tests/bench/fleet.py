"""What a fleet takes: memory, snapshot, restart, /metrics and a page of the API.
fleet.py MIXSTREAMD [--models 10000] [--rows 990] [--streams 1]

Every model has its rows as rows (under 1,000) at d = 4. Prints one line of figures; asks for less than a GiB."""

import argparse
import json
import os
import pathlib
import random
import socket
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "daemon"))
from daemon import Daemon, check, free_port, place, wait_until

STREAM = """
[[stream]]
name = "s{number}"
socket = "127.0.0.1:{port}"
features = "1,a,b,c"
response = "y"
k = 2
group = "sensor"
sample_rows = 1000
modes = "independent"
noise = "shared"
refit_interval = 0
snapshot_interval = "1d"
journal_mib = 8192
"""
GIB = 1 << 30


def memory(daemon, name):
    with open(f"/proc/{daemon.process.pid}/status") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith(name + ":"))


def message(numbers, rows):
    """All but the sensor's name: the same rows for each model, which changes no byte of what they take."""
    kept = []
    for _ in range(rows):
        a, b, c = (round(numbers.uniform(-1, 1), 4) for _ in range(3))
        law = numbers.randrange(2)
        kept.append({"a": a, "b": b, "c": c, "y": round((a - b if law else 1.0 + c) + numbers.gauss(0, 0.1), 4)})
    return json.dumps({"rows": kept}, separators=(",", ":"))[1:]


def quantile(samples, share):
    return sorted(samples)[min(int(share * len(samples)), len(samples) - 1)]


def timed(act):
    began = time.monotonic()
    act()
    return time.monotonic() - began


def folded(daemon, streams):
    figures = daemon.metrics()
    return sum(figures[f'mixstream_rows_folded_total{{stream="s{number}"}}'] for number in range(streams))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--models", type=int, default=10000)
    parser.add_argument("--rows", type=int, default=990)
    parser.add_argument("--streams", type=int, default=1)
    given = parser.parse_args()
    each = given.models // given.streams
    with place() as (folder, started):
        ports = [free_port() for _ in range(given.streams)]
        daemon = Daemon(given.program, folder, "".join(STREAM.format(number=number, port=port) for number, port in enumerate(ports)))
        started.append(daemon)
        daemon.start().wait_ready()
        empty = memory(daemon, "VmRSS")
        text = message(random.Random(1), given.rows)
        began = time.monotonic()
        for port in ports:
            with socket.create_connection(("127.0.0.1", port)) as connection:
                for number in range(each):
                    connection.sendall(f'{{"sensor":"pump-{number:05}",{text}\n'.encode())
        wait_until(lambda: folded(daemon, given.streams) == each * given.rows * given.streams, 1800, "the rows")
        ingest = time.monotonic() - began
        full = memory(daemon, "VmRSS")
        metrics = [timed(daemon.metrics) for _ in range(50)]
        page = [timed(lambda: daemon.get("/api/v1/streams/s0/models?from=0&count=100")) for _ in range(50)]
        check(json.loads(daemon.get("/api/v1/streams/s0/models?count=1"))["total"] == each, "the models")
        began = time.monotonic()
        saved = daemon.terminate(600) == 0
        check(saved or "the journal has all rows" in daemon.log(), daemon.log()[-2000:])
        stop = time.monotonic() - began
        kept = sum(path.stat().st_size for path in pathlib.Path(folder, "state").rglob("snapshot*"))
        began = time.monotonic()
        daemon.start().wait_ready()
        restart = time.monotonic() - began
        check(folded(daemon, given.streams) == each * given.rows * given.streams, "the rows after a restart")
        peak = memory(daemon, "VmHWM")
        print(json.dumps({"streams": given.streams, "models": each * given.streams, "rows_each": given.rows,
                          "mib": round((full - empty) / (1 << 20)), "kib_a_model": round((full - empty) / each / given.streams / 1024, 1),
                          "ingest_rows_per_second": round(each * given.rows * given.streams / ingest),
                          "metrics_p99_ms": round(1e3 * quantile(metrics, 0.99), 1), "page_p99_ms": round(1e3 * quantile(page, 0.99), 1),
                          "stop_seconds": round(stop, 1), "saved_at_stop": saved, "snapshot_mib": round(kept / (1 << 20)),
                          "restart_seconds": round(restart, 1), "restart_peak_mib": round(peak / (1 << 20)), "load": os.getloadavg()[0]}))
        check(full - empty < GIB, "the models take more than a GiB")


if __name__ == "__main__":
    main()
