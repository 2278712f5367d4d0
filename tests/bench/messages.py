"""Messages of one row each: how many a second the daemon takes in over several connections, and how long each waits for its
acknowledgement.
messages.py MIXSTREAMD... [--streams 8] [--seconds 10] [--messages 200000] [--rounds 1] [--ways wire,one,broker] [--folder FOLDER]

`wire`: a broker of our own that keeps twenty messages on their way in each connection, as mosquitto does, and takes the times. `one`: the same
with one message on its way. `broker`: a real mosquitto with one publisher. All share the machine. Several programs go by
turns. One JSON object a line."""

import argparse
import json
import os
import pathlib
import random
import selectors
import socket
import struct
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "daemon"))
from daemon import Broker, Daemon, check, place, wait_until
from growth import Publisher, folded, processor_seconds, quantile

STREAM = """
[[stream]]
name = "s{number}"
topic = "plant/s{number}"
features = "1,t"
response = "y"
k = 2
refit_interval = "1s"
"""
IN_FLIGHT = 20  # messages of a connection that are not yet acknowledged
SETTLING = 2    # seconds at first that do not count


def rows(count):
    numbers = random.Random(1)
    for i in range(count):
        t = numbers.uniform(-1, 1)
        y = (1 + 2 * t if numbers.random() < 0.5 else -1 + t / 2) + numbers.gauss(0, 0.1)
        yield f'{{"sensor":"a","seq":{i},"t":{t:.5f},"y":{y:.5f}}}'.encode()


class Connection:
    """One client of our broker. It is given messages once it has subscribed."""

    def __init__(self, accepted):
        self.socket = accepted
        accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.bytes = b""
        self.topic = None
        self.sent_at = {}
        self.times = []
        self.sent = 0

    def serve(self, texts, in_flight):
        """Takes what came; then as many new messages are on their way."""
        more = self.socket.recv(1 << 16)
        if not more:
            return False
        self.bytes += more
        now = time.perf_counter()
        at = 0
        while (packet := self.packet(at)) is not None:
            head, begin, at = packet
            self.answer(head >> 4, begin, at, now)
        self.bytes = self.bytes[at:]
        self.feed(texts, in_flight)
        return True

    def packet(self, at):
        size = shift = 0
        place = at + 1
        while place < len(self.bytes):
            byte = self.bytes[place]
            size |= (byte & 127) << shift
            shift += 7
            place += 1
            if byte < 128:
                return (self.bytes[at], place, place + size) if place + size <= len(self.bytes) else None
        return None

    def answer(self, kind, begin, end, now):
        if kind == 4:
            self.times.append(now - self.sent_at.pop(self.bytes[begin:begin + 2]))
        elif kind == 1:
            self.socket.sendall(b"\x20\x02\x00\x00")
        elif kind == 8:
            self.topic = self.bytes[begin + 4:end - 1]
            self.socket.sendall(b"\x90\x03" + self.bytes[begin:begin + 2] + b"\x01")
        elif kind == 10:
            self.socket.sendall(b"\xb0\x02" + self.bytes[begin:begin + 2])
        elif kind == 12:
            self.socket.sendall(b"\xd0\x00")
        elif kind == 3:
            size = struct.unpack(">H", self.bytes[begin:begin + 2])[0]
            self.socket.sendall(b"\x40\x02" + self.bytes[begin + 2 + size:begin + 4 + size])

    def feed(self, texts, in_flight):
        if self.topic is None:
            return
        out = []
        now = time.perf_counter()
        while len(self.sent_at) < in_flight and self.sent < len(texts):
            number = struct.pack(">H", self.sent % 65535 + 1)
            body = struct.pack(">H", len(self.topic)) + self.topic + number + texts[self.sent]
            check(len(body) < 128, "short messages only")
            out.append(b"\x32" + bytes([len(body)]) + body)
            self.sent_at[number] = now
            self.sent += 1
        if out:
            self.socket.sendall(b"".join(out))


class OurBroker:
    """Listens on a free loopback port; `port` as a Broker has it."""

    def __init__(self):
        self.server = socket.create_server(("127.0.0.1", 0))
        self.port = self.server.getsockname()[1]
        self.connections = []
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.server, selectors.EVENT_READ)

    def serve(self, texts, in_flight, seconds):
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            for key, _ in self.selector.select(0.1):
                if key.data is None:
                    self.connections.append(Connection(self.server.accept()[0]))
                    self.selector.register(self.connections[-1].socket, selectors.EVENT_READ, self.connections[-1])
                elif not key.data.serve(texts, in_flight):
                    self.selector.unregister(key.data.socket)

    def take_times(self):
        """Seconds from message to acknowledgement since the last call."""
        times = [seconds for connection in self.connections for seconds in connection.times]
        for connection in self.connections:
            connection.times.clear()
        return times


def streams(count):
    return "".join(STREAM.format(number=number) for number in range(count))


def over_wire(program, given, in_flight):
    with place() as (folder, started):
        broker = OurBroker()
        daemon = Daemon(program, folder, streams(given.streams), broker, mqtt='version = "3.1.1"\nslow_after = 0', log="warning")
        started.append(daemon)
        daemon.start()
        broker.serve(given.texts, in_flight, SETTLING)
        broker.take_times()
        used, began = processor_seconds(daemon.process), time.perf_counter()
        broker.serve(given.texts, in_flight, given.seconds)
        passed = time.perf_counter() - began
        times = broker.take_times()
        used = processor_seconds(daemon.process) - used
        check(times, daemon.log()[-2000:])
        return {"way": f"wire, {in_flight} on their way", "messages_per_second": round(len(times) / passed),
                "daemon_cores": round(used / passed, 2), "us_of_daemon": round(1e6 * used / len(times), 1),
                "p50_ms": round(1e3 * quantile(times, 0.5), 3), "p99_ms": round(1e3 * quantile(times, 0.99), 3)}


def over_broker(program, given):
    with place() as (folder, started):
        broker = Broker(folder, queued=60000)
        daemon = Daemon(program, folder, streams(given.streams), broker, log="warning")
        started.extend([broker, daemon])
        daemon.start().wait_ready()
        each = given.texts[:given.messages // given.streams]
        publisher = Publisher(broker.port, "feeder")
        used = processor_seconds(daemon.process), processor_seconds(broker.process)
        began = time.perf_counter()
        for text in each:
            for number in range(given.streams):
                publisher.publish(f"plant/s{number}", text)
        total = len(each) * given.streams
        wait_until(lambda: folded(daemon.metrics()) == total, 600, "the rows")
        passed = time.perf_counter() - began
        used = processor_seconds(daemon.process) - used[0], processor_seconds(broker.process) - used[1]
        return {"way": "broker", "messages_per_second": round(total / passed), "daemon_cores": round(used[0] / passed, 2),
                "us_of_daemon": round(1e6 * used[0] / total, 1), "broker_cores": round(used[1] / passed, 2),
                "us_of_broker": round(1e6 * used[1] / total, 1)}


WAYS = {"wire": lambda program, given: over_wire(program, given, IN_FLIGHT), "one": lambda program, given: over_wire(program, given, 1),
        "broker": over_broker}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("programs", nargs="+")
    parser.add_argument("--streams", type=int, default=8)
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--messages", type=int, default=200000)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--ways", default="wire,one,broker")
    parser.add_argument("--folder")
    given = parser.parse_args()
    tempfile.tempdir = given.folder
    given.texts = list(rows(200000))
    for _ in range(given.rounds):
        for way in given.ways.split(","):
            for program in given.programs:
                line = {"program": os.path.basename(program), "streams": given.streams, **WAYS[way](program, given), "load": os.getloadavg()[0]}
                print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
