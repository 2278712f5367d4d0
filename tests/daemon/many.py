"""Many streams and daemons: two on disjoint filters make the moments of one, and no stream starves another of its solves.  many.py MIXSTREAMD MIXSTREAM [TEST...]"""

import json
import os
import random
import socket
import subprocess
import sys
import threading
import time

from daemon import Broker, Daemon, check, free_port, place, row, run, wait_until
from fleet import folded, rows_of

PLANT = """
[[stream]]
name = "pumps"
topic = "plant/{filter}"
sensor = "topic:2"
features = "1,t"
response = "y"
k = 2
refit_interval = "0.2s"
"""


def said(*words):
    result = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=60, check=False)
    check(result.returncode == 0, f"{words}: {result.stderr}")
    return result.stdout


def numbers_in(text):
    """Of a table of moments: name -> number."""
    return {name: float(value) for name, value in (line.rsplit(",", 1) for line in text.splitlines()[1:])}


def scaled_out(program, tool):
    """Each of two daemons has the sensors of one filter; their states together have the moments of one that has all."""
    with place() as (folder, started):
        broker = Broker(folder)
        started.append(broker)
        daemons = []
        for name, filter_of in (("all", "+/+"), ("north", "+/north"), ("south", "+/south")):
            os.mkdir(f"{folder}/{name}")
            daemons.append(Daemon(program, f"{folder}/{name}", PLANT.format(filter=filter_of), broker, mqtt=f'client_id = "{name}"'))
            started.append(daemons[-1])
            daemons[-1].start().wait_ready()
        numbers = random.Random(1)
        for start in (0, 700):
            for sensor, side in (("a", "north"), ("b", "south"), ("c", "north")):
                text = "".join(json.dumps(one) + "\n" for one in rows_of(numbers, 700, start))
                subprocess.run(["mosquitto_pub", "-p", str(broker.port), "-q", "1", "-t", f"plant/{sensor}/{side}", "-l"], input=text,
                               text=True, check=True)
        for daemon, rows in zip(daemons, (4200, 2800, 1400), strict=True):
            wait_until(lambda: folded(daemon) == rows, 60, f"{rows} rows, have {folded(daemon)}")
            check(daemon.terminate() == 0, "exit 0")
        states = [f"{folder}/{name}.state" for name in ("all", "north", "south")]
        for daemon, state in zip(daemons, states, strict=True):
            said(program, "-c", daemon.config, "export", "pumps", state)
        said(tool, "merge", *states[1:], "-o", f"{folder}/merged.state")
        whole, merged = (numbers_in(said(tool, "inspect", "--moments", "--csv", state)) for state in (states[0], f"{folder}/merged.state"))
        check(whole.keys() == merged.keys() and len(whole) > 10, f"{whole.keys()} and {merged.keys()}")
        far = max(abs(whole[name] - merged[name]) / max(1.0, abs(whole[name])) for name in whole)
        print(f"{len(whole)} moments of 4200 rows differ by {far:.1e}")
        check(far < 1e-9, f"the moments differ by {far}")


STREAMS = """
[[stream]]
name = "{name}"
socket = "127.0.0.1:{port}"
format = "csv"
columns = {columns}
features = "{features}"
response = "y"
k = {k}
modes = "independent"
noise = "shared"
refit_rows = 1
refit_interval = 0
"""


class Feeder(threading.Thread):
    """A row of each stream every few milliseconds."""

    def __init__(self, ports):
        super().__init__(daemon=True)
        self.sockets = [socket.create_connection(("127.0.0.1", port)) for port in ports]
        self.ending = False

    def run(self):
        numbers = random.Random(3)
        while not self.ending:
            for connection, count in zip(self.sockets, (4, *[1] * len(self.sockets)), strict=False):
                t, y = row(numbers)
                more = [numbers.uniform(-1, 1) for _ in range(count - 1)]
                connection.sendall((",".join(f"{value:.5f}" for value in (t, *more, y)) + "\n").encode())
            time.sleep(0.003)


def hog(program, _tool):
    """One stream has heavy solves and is always due; every other, always due as well, is solved as often."""
    names = ("a-hog", *(f"small{number}" for number in range(5)))
    with place() as (folder, started):
        ports = [free_port() for _ in names]
        text = "".join(
            STREAMS.format(name=name, port=port, k=3 if number == 0 else 2, features="1,t,u,v,w" if number == 0 else "1,t",
                           columns='["t", "u", "v", "w", "y"]' if number == 0 else '["t", "y"]')
            for number, (name, port) in enumerate(zip(names, ports, strict=True)))
        daemon = Daemon(program, folder, text, log="warning")
        started.append(daemon)
        daemon.start().wait_ready()
        feeder = Feeder(ports)
        feeder.start()

        def solves():
            figures = daemon.metrics()
            return [figures[f'mixstream_refits_total{{stream="{name}"}}'] for name in names]

        def seconds():
            figures = daemon.metrics()
            return [figures[f'mixstream_solve_seconds_total{{stream="{name}"}}'] for name in names]
        wait_until(lambda: min(solves()) >= 1 and daemon.metric("mixstream_rows_folded_total", "a-hog") > 300, 120, "all have begun")
        before, spent = solves(), seconds()
        wait_until(lambda: solves()[0] >= before[0] + 4, 300, "the hog is solved again and again")
        taken = [after - earlier for after, earlier in zip(solves(), before, strict=True)]
        spent = [after - earlier for after, earlier in zip(seconds(), spent, strict=True)]
        feeder.ending = True
        feeder.join()
        print(f"solves: {taken}, of the hog in {spent[0]:.1f} s, of the others in {sum(spent[1:]):.1f} s")
        check(min(taken[1:]) >= taken[0] - 2, f"solves of the hog and of the others: {taken}")
        check(daemon.terminate(20) == 0, "exit 0")


if __name__ == "__main__":
    run((scaled_out, hog), *sys.argv[1:3], wanted=sys.argv[3:])
