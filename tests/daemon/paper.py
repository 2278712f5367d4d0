"""A stream by the paper's method, solved again and again as it grows, each solve begun where the last ended.  paper.py MIXSTREAMD"""

import json
import os
import random
import socket
import sys

from daemon import Daemon, check, place, wait_until

STREAM = """
[[stream]]
name = "rows"
socket = "unix:{path}"
format = "csv"
columns = ["u", "v", "y"]
features = "1,u,v,u^2*v^2"
response = "y"
k = 2
method = "paper"
objective = "published"
noise_variance = 0.1
refit_interval = 0
refit_rows = 1000
snapshot_interval = "0.2s"
"""
LAWS = [(1.0, 2.0, -1.0, 1.5), (-1.0, -0.5, 1.0, 2.0)]
SOLVES = 100


def rows(numbers, count):
    lines = []
    for _ in range(count):
        u, v = numbers.uniform(-1, 1), numbers.uniform(-1, 1)
        law = LAWS[numbers.random() < 0.5]
        y = law[0] + law[1] * u + law[2] * v + law[3] * u * u * v * v + numbers.gauss(0, 0.1 ** 0.5)
        lines.append(f"{u:.6f},{v:.6f},{y:.6f}\n")
    return "".join(lines).encode()


def settled(daemon, solves):
    """Iterations of a solve of all rows sent so far."""
    wait_until(lambda: refits(daemon) >= solves, what=f"solve {solves}")
    return iterations(daemon)


def cold_iterations(program, sent):
    """Of one solve of the same rows by a daemon that has solved nothing before."""
    with place() as (folder, started):
        path = os.path.join(folder, "rows.sock")
        rows_at_once = sent.count(b"\n")
        daemon = Daemon(program, folder, STREAM.replace("refit_rows = 1000", f"refit_rows = {rows_at_once}").format(path=path))
        started.append(daemon)
        daemon.start().wait_ready()
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(path)
        connection.sendall(sent)
        count = settled(daemon, 1)
        connection.close()
        check(daemon.terminate() == 0, "exit 0")
        return count


def refits(daemon):
    return daemon.metric("mixstream_refits_total", "rows")


def iterations(daemon):
    """Of the newest fit; its regressions must have ended."""
    spectral = json.loads(daemon.get("/api/v1/streams/rows/model"))["spectral"]
    total = 0
    for regression in ("m2", "m3"):
        check(spectral[regression]["converged"], f"{regression} has converged")
        check(spectral[regression]["primal_residual"] < 1e-8, f"residual of {regression}")
        total += spectral[regression]["iterations"]
    return total


def main():
    program = sys.argv[1]
    numbers = random.Random(3)
    with place() as (folder, started):
        path = os.path.join(folder, "rows.sock")
        daemon = Daemon(program, folder, STREAM.format(path=path))
        started.append(daemon)
        daemon.start().wait_ready()
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(path)
        counts = []
        sent = b""
        while len(counts) < SOLVES:
            before = refits(daemon)
            more = rows(numbers, 1000)
            sent += more
            connection.sendall(more)
            wait_until(lambda: refits(daemon) > before, what=f"solve {len(counts) + 1}")
            counts.append(iterations(daemon))
        print(f"{len(counts)} solves; iterations from {min(counts)} to {max(counts)}, in mean {sum(counts) / len(counts):.0f}")
        check(daemon.metric("mixstream_solve_p99_seconds", "rows") > 0.0, "quantiles of the solves' times")
        connection.close()
        check(daemon.terminate() == 0, "exit 0")
    cold, warm = 0, 0
    for solves in (25, 50, 75, 100):
        cold += cold_iterations(program, b"".join(sent.splitlines(keepends=True)[:1000 * solves]))
        warm += counts[solves - 1]
    print(f"four of these solves: {cold} iterations from nothing, {warm} from where the last one ended")
    check(warm < cold, "a warm start saves iterations")


main()
