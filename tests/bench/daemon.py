"""What the daemon carries: rows a second over MQTT with 64-row messages on one core, the share of processor time outside
the broker, and the time from a message to its acknowledgement with and without re-solves, in turns. One JSON object a line.
daemon.py MIXSTREAMD [SECONDS [TURNS]]"""

import json
import os
import random
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "daemon"))
from daemon import Broker, Daemon, place, row, wait_until  # noqa: E402
from wire import OneClientBroker  # noqa: E402

ROWS = 64
STREAM = """
[[stream]]
name = "pump"
topic = "plant/pump"
columns = ["t", "y"]
features = "1,t,t^4,t^7"
response = "y"
k = 3
{refit}
"""


def processor_seconds(process):
    with open(f"/proc/{process.pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def payloads(count, seed):
    numbers = random.Random(seed)
    for i in range(count):
        rows = [[round(v, 6) for v in row(numbers)] for _ in range(ROWS)]
        yield json.dumps({"sensor": "a", "seq": i * ROWS, "rows": rows}, separators=(",", ":"))


def load(program, seconds):
    with place() as (folder, started):
        broker = Broker(folder, queued=0)
        daemon = Daemon(program, folder, STREAM.format(refit='refit_interval = "1s"'), broker, log="warning")
        started.extend([broker, daemon])
        daemon.start().wait_ready()
        subprocess.run(["taskset", "-a", "-p", "-c", "1", str(daemon.process.pid)], check=True, capture_output=True)
        lines = "\n".join(payloads(300 * seconds, 1)) + "\n"
        before = processor_seconds(daemon.process), processor_seconds(broker.process)
        began = time.monotonic()
        feeder = subprocess.Popen(["mosquitto_pub", "-p", str(broker.port), "-q", "1", "-t", "plant/pump", "-l"],
                                  stdin=subprocess.PIPE, text=True)
        feeder.stdin.write(lines)
        feeder.stdin.close()
        rows = 300 * seconds * ROWS
        wait_until(lambda: daemon.metric("mixstream_rows_folded_total", "pump") == rows, 600, "all rows")
        passed = time.monotonic() - began
        own = processor_seconds(daemon.process) - before[0]
        brokers = processor_seconds(broker.process) - before[1]
        print(json.dumps({"what": "MQTT, 64 rows a message, QoS 1, one sync a message, a re-solve every second",
                          "rows": rows, "rows_per_second": round(rows / passed),
                          "daemon_cpu_seconds": round(own, 2), "broker_cpu_seconds": round(brokers, 2),
                          "share_outside_broker": round(own / (own + brokers), 3),
                          "daemon_core_share": round(own / passed, 3),
                          "daemon_microseconds_per_row": round(own / rows * 1e6, 2)}), flush=True)


def waits(program, count, refit):
    """Seconds from PUBLISH to PUBACK, one message at a time, by a broker of our own; sorted. And how many re-solves."""
    with place() as (folder, started):
        broker = OneClientBroker()
        daemon = Daemon(program, folder, STREAM.format(refit=refit), broker, mqtt='version = "3.1.1"', log="warning")
        started.append(daemon)
        daemon.start()
        wire = broker.accept()
        times = []
        for i, payload in enumerate(payloads(count, 2)):
            began = time.perf_counter()
            wire.publish(b"plant/pump", payload.encode(), i % 60000 + 1)
            wire.until(4)
            times.append(time.perf_counter() - began)
        return sorted(times), int(daemon.metric("mixstream_refits_total", "pump"))


def acknowledgements(program, count, turns):
    """p50 and p99 without and with re-solves all the time; the ratio of each turn's two, which are neighbours in time."""
    pairs = []
    re_solves = 0
    for _ in range(turns):
        quiet, _ = waits(program, count, "refit_interval = 0")
        busy, refits = waits(program, count, f"refit_interval = 0\nrefit_rows = {ROWS}")
        re_solves += refits
        pairs.append([[times[int(count * share)] * 1e3 for times in (quiet, busy)] for share in (0.5, 0.99)])

    def of(share, which):
        return round(statistics.median(pair[share][which] for pair in pairs), 3)
    ratios = sorted(round(tail[1] / tail[0], 2) for _, tail in pairs)
    print(json.dumps({"what": "message to acknowledgement, milliseconds, without and with re-solves all the time, medians over turns",
                      "messages": count, "turns": turns, "re_solves": re_solves, "p50": [of(0, 0), of(0, 1)],
                      "p99": [of(1, 0), of(1, 1)], "p99_ratio": statistics.median(ratios), "p99_ratios": ratios}))


def main():
    program = sys.argv[1]
    seconds = int(sys.argv[2]) if len(sys.argv) > 2 else 10
    load(program, seconds)
    acknowledgements(program, 200 * seconds, int(sys.argv[3]) if len(sys.argv) > 3 else 5)


if __name__ == "__main__":
    main()
