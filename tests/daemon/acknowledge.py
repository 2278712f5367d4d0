"""Pins what the daemon stands on: a QoS 1 message is acknowledged after the callback has returned, that is, after it is
on disk.  A broker of our own speaks MQTT 3.1.1 and watches the daemon's journal.  acknowledge.py MIXSTREAMD"""

import os
import signal
import socket
import struct
import subprocess
import sys
import time
import urllib.error

from daemon import STREAM, Daemon, check, free_port, place, wait_until


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

    def until(self, kind):
        """Answers what a broker must answer, until a packet of this kind comes."""
        while True:
            head, body = self.read()
            if head >> 4 == 8:
                self.write(0x90, body[:2] + b"\x01")
            elif head >> 4 == 3 and head & 6:
                size = struct.unpack(">H", body[:2])[0]
                self.write(0x40, body[2 + size:4 + size])
            elif head >> 4 == 12:
                self.write(0xd0, b"")
            if head >> 4 == kind:
                return body


def journal(folder):
    state = os.path.join(folder, "state", "pump")
    names = [name for name in os.listdir(state) if name.startswith("journal")] if os.path.isdir(state) else []
    return b"".join(open(os.path.join(state, name), "rb").read() for name in sorted(names))


def accept(server):
    wire = Wire(server.accept()[0])
    head, body = wire.read()
    check(head >> 4 == 1, "CONNECT")
    check(body[7] & 2 == 0, "a session that lasts: CleanSession=0")
    wire.write(0x20, b"\x01\x00")
    wire.until(8)
    return wire


def main():
    program = sys.argv[1]
    with place() as (folder, started):
        server = socket.socket()
        server.bind(("127.0.0.1", 0))
        server.listen()
        server.settimeout(30)

        class Port:
            port = server.getsockname()[1]
        daemon = Daemon(program, folder, STREAM, Port, mqtt='version = "3.1.1"')
        started.append(daemon)
        daemon.start()
        wire = accept(server)
        for number in range(1, 101):
            payload = b'{"t":0.5,"y":%d,"seq":%d,"sensor":"s"}' % (number, number)
            check(payload not in journal(folder), "not yet")
            wire.publish(b"plant/pump", payload, number)
            acknowledged = wire.until(4)
            check(payload in journal(folder), f"message {number} was acknowledged before it was in the journal")
            check(struct.unpack(">H", acknowledged)[0] == number, "acknowledged in order")

        # A daemon that cannot write must not acknowledge: files may not grow any more.
        subprocess.run(["prlimit", f"--pid={daemon.process.pid}", "--fsize=1:1"], check=True)
        wire.publish(b"plant/pump", b'{"t":0.5,"y":1,"seq":101,"sensor":"s"}', 101)
        wire.connection.settimeout(3)
        try:
            wire.until(4)
            raise AssertionError("acknowledged without having stored it")
        except socket.timeout:
            pass
        check(daemon.process.poll() is None, "it waits for the disk instead of dying: " + daemon.log()[-500:])
        try:
            raise AssertionError("healthy: " + daemon.get("/healthz"))
        except urllib.error.HTTPError as error:
            check(error.code == 503, f"/healthz says {error.code}")
        daemon.process.send_signal(signal.SIGTERM)
        check(daemon.process.wait(12) == 1, "it says that it could not save")
        wire.connection.settimeout(5)
        try:
            while True:
                head, _ = wire.read()
                check(head >> 4 != 4, "acknowledged at the end without having stored it")
        except (EOFError, OSError):
            pass
        wire.connection.close()

        # It comes again, and now it is stored.
        daemon.start()
        wire = accept(server)
        wire.publish(b"plant/pump", b'{"t":0.5,"y":1,"seq":101,"sensor":"s"}', 101)
        wire.until(4)
        print("100 acknowledged after their journal, 1 held back while the disk refused")


if __name__ == "__main__":
    main()
