"""Several solvers: every stream is solved, none starves, and how many there are changes no law.  pool.py MIXSTREAMD"""

import json
import random
import signal
import subprocess
import sys
import time

from daemon import Daemon, check, place, row, wait_until

STREAMS = 12


def write_rows(folder):
    """A file for each stream."""
    for number in range(STREAMS):
        numbers = random.Random(number)
        with open(f"{folder}/rows{number}.csv", "w") as file:
            file.writelines("{:.6f},{:.6f}\n".format(*row(numbers)) for _ in range(2000))


def streams(folder, more=""):
    return "".join(f'\n[[stream]]\nname = "pump{number}"\nreplay = ["{folder}/rows{number}.csv"]\nformat = "csv"\ncolumns = ["t", "y"]\n'
                   f'features = "1,t"\nresponse = "y"\nk = 2\n{more}' for number in range(STREAMS))


def laws(daemon, number):
    model = json.loads(daemon.get(f"/api/v1/streams/pump{number}/model"))
    return model["rows"], [law["coefficients"] for law in model["components"]]


def solved(program, solvers):
    """The laws of every stream, asked for once all rows are in; each is solved again and again meanwhile."""
    with place() as (folder, started):
        write_rows(folder)
        daemon = Daemon(program, folder, streams(folder, "refit_interval = 0\nrefit_on_drift = false\n"))
        with open(daemon.config) as file:
            text = file.read()
        with open(daemon.config, "w") as file:
            file.write(f"solvers = {solvers}\n" + text)
        started.append(daemon)
        daemon.start().wait_ready()
        wait_until(lambda: all(daemon.metric("mixstream_rows_folded_total", f"pump{n}") == 2000 for n in range(STREAMS)), 60, "all rows")
        for _ in range(2):
            before = {n: daemon.metric("mixstream_refits_total", f"pump{n}") for n in range(STREAMS)}
            daemon.process.send_signal(signal.SIGUSR1)
            wait_until(lambda: all(daemon.metric("mixstream_refits_total", f"pump{n}") > before[n] for n in before), 120,
                       "each stream is solved")
        check(daemon.terminate() == 0, "exit 0")
        daemon.start().wait_ready()
        wait_until(lambda: all(daemon.metric("mixstream_refits_total", f"pump{n}") >= 1 for n in range(STREAMS)), 120, "solved anew")
        found = [laws(daemon, n) for n in range(STREAMS)]
        check(daemon.terminate() == 0, "exit 0")
        return found


def close(one, two):
    return one[0] == two[0] and len(one[1]) == len(two[1]) and all(
        abs(a - b) < 0.05 for x, y in zip(sorted(one[1]), sorted(two[1]), strict=True) for a, b in zip(x, y, strict=True))


if __name__ == "__main__":
    begun = time.monotonic()
    one, four = solved(sys.argv[1], 1), solved(sys.argv[1], 4)
    check(all(close(a, b) for a, b in zip(one, four, strict=True)), f"{one}\n{four}")
    with place() as (folder, _):
        daemon = Daemon(sys.argv[1], folder, streams(folder))
        with open(daemon.config) as file:
            text = file.read()
        with open(daemon.config, "w") as file:
            file.write("solvers = 0\n" + text)
        said = subprocess.run([sys.argv[1], "-c", daemon.config, "--check-config"], capture_output=True, text=True, check=False)
        check(said.returncode == 78 and "from 1 to 64" in said.stderr, said.stderr)
    print(f"pool: {time.monotonic() - begun:.1f} s")
