"""A daemon that grew: many streams, each with a session at a real broker, sensors and models of its own.
growth.py MIXSTREAMD [--streams 1000] [--models 10] [--sensors 10] [--seconds 60] [--folder FOLDER]

Models are those of a stream, sensors those of a model: 1,000 streams, 10,000 models and 100,000 sensors. First 100 rows for each model,
then for so many seconds messages of one row each, one a second and stream. Prints one line of figures; times are milliseconds, and
those of messages upper bounds of a histogram's bucket."""

import argparse
import json
import os
import pathlib
import random
import select
import socket
import struct
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "daemon"))
from daemon import Broker, Daemon, check, place, wait_until

STREAM = """
[[stream]]
name = "s{number}"
topic = "plant/s{number}/+"
group = "topic:3"
features = "1,t"
response = "y"
k = 2
modes = "independent"
noise = "shared"
refit_interval = "60s"
snapshot_interval = "10m"
most_sensors = 1000
"""
ROWS = 100     # of a model at first


def memory(daemon, name):
    with open(f"/proc/{daemon.process.pid}/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(name + ":"))


def processor_seconds(process):
    with open(f"/proc/{process.pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def quantile(samples, share):
    return sorted(samples)[min(int(share * len(samples)), len(samples) - 1)]


def rows(numbers, sensors, first, count):
    """Of one model: each sensor's in turn."""
    made = []
    for i in range(first, first + count):
        t = numbers.uniform(-1, 1)
        y = (1 + 2 * t if numbers.random() < 0.5 else -1 + t / 2) + numbers.gauss(0, 0.1)
        made.append({"sensor": str(i % sensors), "seq": i // sensors, "t": round(t, 4), "y": round(y, 4)})
    return made


class Publisher:
    """One client of the broker (MQTT 3.1.1, QoS 1), with at most so many messages on their way."""

    AHEAD = 200

    def __init__(self, port, name):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        body = b"\x00\x04MQTT\x04\x02\x00\x00" + struct.pack(">H", len(name)) + name.encode()
        self.socket.sendall(b"\x10" + length_of(body) + body)
        check(len(self.socket.recv(4, socket.MSG_WAITALL)) == 4, "CONNACK")
        self.waiting = 0
        self.number = 0

    def publish(self, topic, payload):
        while self.waiting >= self.AHEAD:
            self.take_answers()
        self.number = self.number % 65535 + 1
        body = struct.pack(">H", len(topic)) + topic.encode() + struct.pack(">H", self.number) + payload
        self.socket.sendall(b"\x32" + length_of(body) + body)
        self.waiting += 1

    def take_answers(self):
        """A PUBACK is four bytes."""
        answer = self.socket.recv(4, socket.MSG_WAITALL)
        check(answer[:1] == b"\x40", answer)
        more = self.socket.recv(65536 - 65536 % 4, socket.MSG_DONTWAIT | socket.MSG_PEEK) if self.readable() else b""
        whole = len(more) // 4
        if whole:
            self.socket.recv(4 * whole, socket.MSG_WAITALL)
        self.waiting -= 1 + whole

    def readable(self):
        return bool(select.select([self.socket], [], [], 0)[0])

    def drain(self):
        while self.waiting:
            self.take_answers()


def length_of(body):
    size, out = len(body), b""
    while True:
        out += bytes([size & 127 | (128 if size > 127 else 0)])
        size >>= 7
        if not size:
            return out


def folded(figures):
    return sum(value for name, value in figures.items() if name.startswith("mixstream_rows_folded_total{"))


def slowest(before, after, share):
    """The bucket of mixstream_message_seconds, all streams together, that holds this share of what came in between."""
    buckets = {}
    for name, value in after.items():
        if name.startswith("mixstream_message_seconds_bucket{"):
            bound = float(name.split('le="')[1].split('"')[0].replace("+Inf", "inf"))
            buckets[bound] = buckets.get(bound, 0) + value - before.get(name, 0)
    return next(bound for bound in sorted(buckets) if buckets[bound] >= share * buckets[float("inf")])


class Watcher(threading.Thread):
    """Asks for /metrics every second and keeps the times."""

    def __init__(self, daemon):
        super().__init__(daemon=True)
        self.daemon_process = daemon
        self.times = []
        self.ending = False

    def run(self):
        while not self.ending:
            began = time.monotonic()
            self.daemon_process.get("/metrics")
            self.times.append(1e3 * (time.monotonic() - began))
            time.sleep(1)


def fill(publisher, given, numbers):
    """The first rows of each model, in messages of 50; the same bytes for the models of a stream."""
    for number in range(given.streams):
        halves = [json.dumps(rows(numbers, given.sensors, first, ROWS // 2)).encode() for first in (0, ROWS // 2)]
        for half in halves:
            for model in range(given.models):
                publisher.publish(f"plant/s{number}/p{model}", half.replace(b'"sensor": "', f'"sensor": "{model}-'.encode()))
    publisher.drain()


def trickle(publisher, given, numbers):
    """Messages of one row, one a second and stream."""
    began = time.monotonic()
    sent = 0
    while (passed := time.monotonic() - began) < given.seconds:
        while sent < passed * given.streams:
            turn, number = divmod(sent, given.streams)
            [row] = rows(numbers, given.sensors, ROWS + turn, 1)
            row["sensor"] = f"{turn % given.models}-{row['sensor']}"
            publisher.publish(f"plant/s{number}/p{turn % given.models}", json.dumps(row).encode())
            sent += 1
        time.sleep(0.001)
    publisher.drain()
    return sent


def measure(given, folder, started):
    broker = Broker(folder, "max_queued_messages 60000", queued=60000)
    daemon = Daemon(given.program, folder, "".join(STREAM.format(number=number) for number in range(given.streams)), broker, log="warning")
    started.extend([broker, daemon])
    line = {"streams": given.streams, "models": given.streams * given.models, "sensors": given.streams * given.models * given.sensors}
    began = time.monotonic()
    daemon.start()
    wait_until(daemon.ready, 600, "ready")
    line["first_start_seconds"] = round(time.monotonic() - began, 1)
    line["mib_empty"] = memory(daemon, "VmRSS") >> 10
    publisher = Publisher(broker.port, "feeder")
    numbers = random.Random(1)
    began = time.monotonic()
    fill(publisher, given, numbers)
    sent = given.streams * given.models * ROWS
    wait_until(lambda: folded(daemon.metrics()) == sent, 1800, "the first rows")
    line["fill_rows_per_second"] = round(sent / (time.monotonic() - began))
    before, used = daemon.metrics(), processor_seconds(daemon.process)
    watcher = Watcher(daemon)
    watcher.start()
    began = time.monotonic()
    sent += trickle(publisher, given, numbers)
    wait_until(lambda: folded(daemon.metrics()) == sent, 600, "the rows")
    line["messages_per_second"] = round(given.streams * given.seconds / (time.monotonic() - began))
    watcher.ending = True
    watcher.join()
    line["daemon_core_share"] = round((processor_seconds(daemon.process) - used) / (time.monotonic() - began), 2)
    after = daemon.metrics()
    line["message_p50_below_ms"] = 1e3 * slowest(before, after, 0.5)
    line["message_p99_below_ms"] = 1e3 * slowest(before, after, 0.99)
    line["metrics_p99_ms"] = round(quantile(watcher.times, 0.99), 1)
    line["metrics_kib"] = len(daemon.get("/metrics")) >> 10
    line["mib"] = memory(daemon, "VmRSS") >> 10
    line["threads"] = len(os.listdir(f"/proc/{daemon.process.pid}/task"))
    line["descriptors"] = len(os.listdir(f"/proc/{daemon.process.pid}/fd"))
    daemon.kill()
    began = time.monotonic()
    daemon.start()
    wait_until(daemon.ready, 600, "ready after kill -9")
    line["restart_after_kill_seconds"] = round(time.monotonic() - began, 1)
    check(folded(daemon.metrics()) == sent, "the rows after kill -9")
    began = time.monotonic()
    line["stop_exit"] = daemon.terminate(60)
    line["stop_seconds"] = round(time.monotonic() - began, 1)
    began = time.monotonic()
    daemon.start()
    wait_until(daemon.ready, 600, "ready after a stop")
    line["restart_seconds"] = round(time.monotonic() - began, 1)
    check(folded(daemon.metrics()) == sent, "the rows after a restart")
    line["load"] = os.getloadavg()[0]
    print(json.dumps(line), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--streams", type=int, default=1000)
    parser.add_argument("--models", type=int, default=10)
    parser.add_argument("--sensors", type=int, default=10)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--folder")
    given = parser.parse_args()
    tempfile.tempdir = given.folder
    with place() as (folder, started):
        measure(given, folder, started)


if __name__ == "__main__":
    main()
