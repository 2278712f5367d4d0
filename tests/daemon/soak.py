"""Days of simulated time in minutes: ten rows a simulated second, a re-solve every simulated minute, clients on HTTP all
the while. Memory and descriptors stay flat, every row is accounted for.  soak.py MIXSTREAMD [MINUTES]"""

import contextlib
import json
import os
import random
import socket
import statistics
import sys
import threading
import time

from daemon import Daemon, check, place, row, wait_until

ROWS = 600  # of a simulated minute
DAY_LOOKS = 144  # at the memory, in a day
STREAM = """
[[stream]]
name = "lines"
socket = "unix:{path}"
format = "csv"
columns = ["t", "y", "time", "seq"]
features = "1,t"
response = "y"
k = 2
half_life = "1h"
refit_interval = 0
refit_rows = {rows}
snapshot_interval = "0.5s"
journal_mib = 1
"""


def memory(process):
    with open(f"/proc/{process.pid}/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))


def descriptors(process):
    return len(os.listdir(f"/proc/{process.pid}/fd"))


class Visitor(threading.Thread):
    """Asks for everything that there is, again and again."""
    paths = ("/metrics", "/api/v1/streams", *(f"/api/v1/streams/lines{leaf}" for leaf in ("", "/model", "/history", "/data")),
             "/healthz", "/readyz", "/")
    question = json.dumps({"rows": [{"t": 0.5, "y": 0.9}, {"t": -0.5}]}).encode()

    def __init__(self, daemon):
        super().__init__(daemon=True)
        self.target = daemon
        self.ending = False
        self.answers = 0

    def run(self):
        while not self.ending:
            for path in self.paths:
                self.ask(lambda: self.target.get(path))
            self.ask(lambda: self.target.post("/api/v1/streams/lines/predict", self.question))
            time.sleep(0.05)

    def ask(self, question):
        with contextlib.suppress(OSError):
            question()
            self.answers += 1


def growth(figures):
    """Of memory, from the second quarter to the last, by medians: what the allocator holds goes up and down by a tenth. In a day the history
    of fits is full in both, and a daemon that loses 1 KiB a fit shows 4 %. An hour sees the history grow."""
    memories = [kib for kib, _ in figures]
    quarter = len(memories) // 4
    return statistics.median(memories[3 * quarter:]) / statistics.median(memories[quarter:2 * quarter]) - 1


def main():
    program = sys.argv[1]
    minutes = int(sys.argv[2]) if len(sys.argv) > 2 else 1440
    with place() as (folder, started):
        path = os.path.join(folder, "lines.sock")
        daemon = Daemon(program, folder, STREAM.format(path=path, rows=ROWS), log="warning")
        started.append(daemon)
        daemon.start().wait_ready()
        visitor = Visitor(daemon)
        visitor.start()
        numbers = random.Random(24)
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(path)
        figures = []
        sent = repeated = spoilt = 0
        for minute in range(minutes):
            lines = []
            for i in range(ROWS):
                t, y = row(numbers)
                number = minute * ROWS + i
                lines.append("%.6f,%.6f,%.1f,%d\n" % (t, y, number / 10, number))
                sent += 1
                if i % 100 == 7:
                    lines.append(lines[-1])
                    repeated += 1
                if i % 200 == 9:
                    lines.append("broken,row\n")
                    spoilt += 1
            connection.sendall("".join(lines).encode())
            wait_until(lambda: daemon.metric("mixstream_refits_total", "lines") > minute, 60, f"re-solve {minute}")
            if minute % max(minutes // (DAY_LOOKS if minutes >= 1440 else 20), 1) == 0:
                figures.append((memory(daemon.process), descriptors(daemon.process)))
        wait_until(lambda: daemon.metric("mixstream_rows_in_total", "lines") == sent + repeated + spoilt, what="all rows")
        visitor.ending = True
        visitor.join()
        counts = {name: daemon.metric(f"mixstream_rows_{name}_total", "lines")
                  for name in ("in", "folded", "duplicate")}
        refused = sum(value for key, value in daemon.metrics().items()
                      if key.startswith("mixstream_rows_refused_total{"))
        print(f"{minutes} simulated minutes, {counts}, refused {refused:.0f}, {visitor.answers} answers, "
              f"RSS KiB and descriptors: {figures}")
        check(counts["in"] == counts["folded"] + counts["duplicate"] + refused, "rows add up")
        check(counts["folded"] == sent and counts["duplicate"] == repeated and refused == spoilt, "and as sent")
        warm = figures[len(figures) // 2:]
        check(growth(figures) < (0.02 if minutes >= 1440 else 0.10), f"memory grew by {growth(figures):.1%}")
        # Clients and snapshots open some for a moment; the least of several looks is what stays open.
        earlier, later = (min(f for _, f in half) for half in (warm[:len(warm) // 2], warm[len(warm) // 2:]))
        check(later <= earlier + 1, f"descriptors grew from {earlier} to {later}")
        check(daemon.terminate() == 0, "exit 0")


main()
