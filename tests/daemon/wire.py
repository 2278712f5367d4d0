"""A broker of our own for one stream: it speaks MQTT 3.1.1 and sees when each message is acknowledged."""

import contextlib
import select
import socket
import struct
import threading
import time

from daemon import check


class Wire:
    """One connection of a client, as the broker sees it."""

    def __init__(self, connection):
        self.connection = connection
        connection.settimeout(30)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # as a broker should: else an answer delays what follows

    def read(self):
        head = self.exactly(1)[0]
        size = shift = 0
        while True:
            byte = self.exactly(1)[0]
            size |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return head, self.exactly(size)

    def exactly(self, size):
        data = b""
        while len(data) < size:
            more = self.connection.recv(size - len(data))
            if not more:
                raise EOFError
            data += more
        return data

    def write(self, head, body):
        size = len(body)
        check(size < 16384, "short messages only")
        length = bytes([size]) if size < 128 else bytes([size & 127 | 128, size >> 7])
        self.connection.sendall(bytes([head]) + length + body)

    def publish(self, topic, payload, number):
        self.write(0x32, struct.pack(">H", len(topic)) + topic + struct.pack(">H", number) + payload)

    def answer(self, head, body):
        """What a broker must answer."""
        if head >> 4 == 8:
            self.write(0x90, body[:2] + b"\x01")
        elif head >> 4 == 3 and head & 6:
            size = struct.unpack(">H", body[:2])[0]
            self.write(0x40, body[2 + size:4 + size])
        elif head >> 4 == 10:
            self.write(0xb0, body[:2])
        elif head >> 4 == 12:
            self.write(0xd0, b"")

    def until(self, kind):
        """Answers, until a packet of this kind comes."""
        while True:
            head, body = self.read()
            self.answer(head, body)
            if head >> 4 == kind:
                return body

    def rest(self, seconds):
        """Answers for so long."""
        end = time.monotonic() + seconds
        while select.select([self.connection], [], [], max(0, end - time.monotonic()))[0]:
            self.answer(*self.read())


class OneClientBroker:
    """Listens on a free loopback port; `port` as a Broker has it."""

    def __init__(self):
        self.server = socket.socket()
        self.server.bind(("127.0.0.1", 0))
        self.server.listen()
        self.server.settimeout(30)
        self.port = self.server.getsockname()[1]

    def accept(self):
        """The stream's session, once it has subscribed. The daemon's own, which only publishes, is answered meanwhile."""
        while True:
            wire = Wire(self.server.accept()[0])
            head, body = wire.read()
            check(head >> 4 == 1, "CONNECT")
            check(body[7] & 2 == 0, "a session that lasts: CleanSession=0")
            wire.write(0x20, b"\x01\x00")
            head, body = wire.read()
            wire.answer(head, body)
            if head >> 4 == 8:
                return wire
            threading.Thread(target=answer_all, args=(wire,), daemon=True).start()


def answer_all(wire):
    wire.connection.settimeout(None)
    with contextlib.suppress(OSError, EOFError):
        while True:
            wire.answer(*wire.read())
