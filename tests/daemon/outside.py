"""A client that shares no code with the daemon: MQTT 3.1.1 by hand, on a socket of its own. It knows which of its rows the broker has
acknowledged."""

import contextlib
import json
import os
import socket
import struct
import subprocess
import threading
import time


def length(size):
    """As MQTT writes it: seven bits a byte."""
    out = b""
    while True:
        out += bytes([size & 127 | (128 if size > 127 else 0)])
        size >>= 7
        if not size:
            return out


def text(words):
    words = words.encode()
    return struct.pack(">H", len(words)) + words


class Client:
    def __init__(self, port, name, clean=True, user=None, password=None):
        self.socket = socket.create_connection(("127.0.0.1", port), 60)
        self.bytes = b""
        flags = (2 if clean else 0) | (0xC0 if user else 0)
        body = text("MQTT") + bytes([4, flags]) + struct.pack(">H", 600) + text(name)
        if user:
            body += text(user) + text(password)
        self.send(0x10, body)
        head, body = self.receive()
        if head != 0x20 or body[1] != 0:
            raise AssertionError(f"the broker refused {name}: {body}")

    def send(self, head, body):
        self.socket.sendall(bytes([head]) + length(len(body)) + body)

    def exactly(self, count):
        while len(self.bytes) < count:
            more = self.socket.recv(1 << 16)
            if not more:
                raise ConnectionError("the broker closed the connection")
            self.bytes += more
        out, self.bytes = self.bytes[:count], self.bytes[count:]
        return out

    def receive(self):
        head = self.exactly(1)[0]
        size = shift = 0
        while True:
            byte = self.exactly(1)[0]
            size |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return head, self.exactly(size)

    def close(self):
        self.socket.close()


class Thief(threading.Thread):
    """Connects with somebody else's name, and again whenever the broker ends that; acknowledges nothing that it hears."""

    def __init__(self, port, name):
        super().__init__(daemon=True)
        self.port, self.name, self.ending = port, name, False
        self.times = 0
        self.start()

    def run(self):
        while not self.ending:
            with contextlib.suppress(OSError):
                client = Client(self.port, self.name, clean=False)
                self.times += 1
                client.socket.settimeout(0.2)
                while not self.ending:
                    with contextlib.suppress(TimeoutError):
                        client.receive()
            time.sleep(0.5)

    def end(self):
        self.ending = True
        self.join()


class Publisher(Client):
    """Sends rows t = 1/1000, 2/1000, ... and counts those that the broker acknowledged."""

    def __init__(self, port, name="outside", topic="plant/pump", **more):
        super().__init__(port, name, **more)
        self.topic = topic
        self.rows = []  # numbers of those acknowledged

    def publish(self, first, count, rows=10, **more):
        """Messages of consecutive rows that carry their own number; returns when all of them are acknowledged."""
        waiting = {}
        for i in range(count):
            numbers = range(first + i * rows, first + (i + 1) * rows)
            body = {"sensor": "outside", "seq": numbers[0], "rows": [[n / 1000, n % 7] for n in numbers], **more}
            waiting[i + 1] = numbers
            self.send(0x32, text(self.topic) + struct.pack(">H", i + 1) + json.dumps(body).encode())
            if len(waiting) >= 20:
                self.take_acknowledgement(waiting)
        while waiting:
            self.take_acknowledgement(waiting)
        return first + count * rows

    def take_acknowledgement(self, waiting):
        head, body = self.receive()
        if head >> 4 == 4:
            self.rows.extend(waiting.pop(struct.unpack(">H", body[:2])[0]))


def sums_held(program, tool, daemon, stream="pump"):
    """Count, sum and sum of squares of the numbers of the rows that the stream holds, out of its files."""
    path = os.path.join(daemon.folder, "outside.state")
    for words in ([program, "-c", daemon.config, "export", stream, path], [tool, "inspect", path, "--moments"]):
        result = subprocess.run(words, capture_output=True, text=True, timeout=60)
        if result.returncode != 0:
            raise AssertionError(f"{words}: {result.stdout} {result.stderr}")
    os.remove(path)
    held = json.loads(result.stdout)
    sigma = held["moments"][0]["sigma"]
    return held["rows"], round(1e3 * held["weight"] * sigma[0][1], 3), round(1e6 * held["weight"] * sigma[1][1], 1)


def sums_sent(rows):
    """The same of rows that were sent: no row can be missing or come twice without one of the three changing."""
    return len(rows), sum(rows), sum(row * row for row in rows)
