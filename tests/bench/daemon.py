"""What the daemon carries: rows a second over MQTT with 64-row messages on one core, the share of processor time outside
the broker, and the time from a message to its acknowledgement with and without re-solves, on a disk and in memory. One JSON
object a line.
daemon.py MIXSTREAMD [SECONDS [SLICES]]"""

import json
import os
import random
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "daemon"))
from daemon import Broker, Daemon, place, wait_until  # noqa: E402
from scheduling import be_prompt  # noqa: E402
from wire import OneClientBroker  # noqa: E402

ROWS = 64
LAWS = (1, 2, -1, 0.5), (-1, 0.5, 1, -2), (0.2, -1.5, 2, 1)
SLICE = 200    # messages of one stream before it is the other's turn
AHEAD = 10     # of them, not counted: the other stream's last solve may still run
PAUSE = 0.001  # seconds between an acknowledgement and the next message
STREAM = """
[[stream]]
name = "{name}"
topic = "plant/{name}"
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


def payloads(numbers, first, count):
    """Messages of the three laws, from number `first` on."""
    for i in range(first, first + count):
        rows = []
        for _ in range(ROWS):
            t = numbers.uniform(-1, 1)
            law = LAWS[numbers.randrange(3)]
            y = law[0] + law[1] * t + law[2] * t**4 + law[3] * t**7 + numbers.gauss(0, 0.1)
            rows.append(f"[{t:.6f},{y:.6f}]")
        yield f'{{"sensor":"a","seq":{i * ROWS},"rows":[{",".join(rows)}]}}'


def load(program, seconds):
    with place() as (folder, started):
        broker = Broker(folder, queued=0)
        daemon = Daemon(program, folder, STREAM.format(name="pump", refit='refit_interval = "1s"'), broker, log="warning")
        started.extend([broker, daemon])
        daemon.start().wait_ready()
        subprocess.run(["taskset", "-a", "-p", "-c", "1", str(daemon.process.pid)], check=True, capture_output=True)
        lines = "\n".join(payloads(random.Random(1), 0, 300 * seconds)) + "\n"
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


def waits(wire, topic, first, messages):
    """Milliseconds from PUBLISH to PUBACK, one message at a time."""
    times = []
    for i, message in enumerate(messages, first):
        wire.rest(PAUSE)  # fits are published meanwhile
        began = time.perf_counter()
        wire.publish(topic, message, i % 60000 + 1)
        wire.until(4)
        times.append((time.perf_counter() - began) * 1e3)
    return times[AHEAD:]


SCHEDULES = {"once a second": 'refit_interval = "1s"', "all the time": f"refit_interval = 0\nrefit_rows = {ROWS}"}


def slices(program, pairs, schedule):
    """Waits in slices by turns of two streams of one daemon, which differ in that one is solved again: neighbours in time, so
    that the moods of a disk and of other programs meet both. And how many re-solves each stream had."""
    with place() as (folder, started):
        broker = OneClientBroker()
        text = "".join(STREAM.format(name=name, refit=refit)
                       for name, refit in (("still", "refit_interval = 0"), ("solved", SCHEDULES[schedule])))
        daemon = Daemon(program, folder, text, broker, mqtt='version = "3.1.1"\nsessions = "shared"\nslow_after = 0',
                        log="warning")
        started.append(daemon)
        daemon.start()
        wire = broker.accept()
        be_prompt()  # who holds the clock should not wait for a core
        numbers = random.Random(2)
        taken = {"still": [], "solved": []}
        for pair in range(pairs):
            messages = [text.encode() for text in payloads(numbers, pair * SLICE, SLICE)]
            for name in ("still", "solved") if pair % 2 else ("solved", "still"):
                taken[name].append(waits(wire, b"plant/" + name.encode(), pair * SLICE, messages))
        return taken, [int(daemon.metric("mixstream_refits_total", name)) for name in taken]


def quantile_of(parts, drawn, share):
    """Of the slices in `drawn` (how often each counts); parts: (wait, slice), the longest first."""
    left = (1 - share) * (SLICE - AHEAD) * sum(drawn)
    for wait, place_of in parts:
        left -= drawn[place_of]
        if left <= 0:
            return wait
    return parts[-1][0]


def ratio_with_interval(taken, share):
    """With re-solves against without, all slices together, and what 95 % of draws of pairs of slices give."""
    still, solved = (sorted(((wait, i) for i, part in enumerate(parts) for wait in part), reverse=True)
                     for parts in (taken["still"], taken["solved"]))
    pairs = len(taken["still"])
    numbers = random.Random(3)

    def ratio(drawn):
        return quantile_of(solved, drawn, share) / quantile_of(still, drawn, share)
    draws = []
    for _ in range(2000):
        drawn = [0] * pairs
        for _ in range(pairs):
            drawn[numbers.randrange(pairs)] += 1
        draws.append(ratio(drawn))
    draws.sort()
    once = [1] * pairs
    return {"without": round(quantile_of(still, once, share), 3), "with": round(quantile_of(solved, once, share), 3),
            "ratio": round(ratio(once), 3), "interval": [round(draws[50], 3), round(draws[1949], 3)]}


def acknowledgements(program, pairs, where, schedule):
    taken, refits = slices(program, pairs, schedule)
    line = {"what": f"message to acknowledgement, milliseconds, without and with re-solves {schedule}", "journal": where,
            "slices": pairs, "messages_each": pairs * (SLICE - AHEAD), "re_solves": refits}
    for name, share in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999)):
        line[name] = ratio_with_interval(taken, share)
    print(json.dumps(line), flush=True)


def main():
    program = sys.argv[1]
    seconds = int(sys.argv[2]) if len(sys.argv) > 2 else 10
    pairs = int(sys.argv[3]) if len(sys.argv) > 3 else 200
    load(program, seconds)
    for where, folder in (("disk", None), ("memory", "/dev/shm")):
        tempfile.tempdir = folder
        for schedule in SCHEDULES:
            acknowledgements(program, pairs, where, schedule)


if __name__ == "__main__":
    main()
