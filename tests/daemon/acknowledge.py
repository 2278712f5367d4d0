"""Pins what the daemon stands on: a QoS 1 message is acknowledged after the callback has returned, that is, after it is
on disk.  A broker of our own speaks MQTT 3.1.1 and watches the daemon's journal.  acknowledge.py MIXSTREAMD"""

import os
import signal
import socket
import struct
import subprocess
import sys
import urllib.error

from daemon import STREAM, Daemon, check, place
from scheduling import SHORTEST, slices_of
from wire import OneClientBroker


def journal(folder):
    state = os.path.join(folder, "state", "pump")
    names = [name for name in os.listdir(state) if name.startswith("journal")] if os.path.isdir(state) else []
    return b"".join(open(os.path.join(state, name), "rb").read() for name in sorted(names))


def check_promptness(pid):
    """Of all threads only the one that takes messages in asks for short slices, where the kernel knows of such."""
    slices = slices_of(pid)
    check(not slices or slices.count(SHORTEST) == 1, f"slices of the threads: {slices}")
    print("the thread that takes messages is prompt" if slices else "this kernel has no slices to ask for")


def acknowledge_together(daemon, wire, folder):
    """Messages that come together share syncs, and none is acknowledged before it is in the journal."""
    def syncs():
        return daemon.metric("mixstream_append_seconds_count", "pump")
    before = syncs()
    texts = [b'{"t":0.5,"y":%d,"seq":%d,"sensor":"together"}' % (number, number) for number in range(200)]
    for number, text in enumerate(texts):
        wire.publish(b"plant/pump", text, 1000 + number)
    for number, text in enumerate(texts):
        check(struct.unpack(">H", wire.until(4))[0] == 1000 + number, "acknowledged in order")
        check(text in journal(folder), f"message {number} of many was acknowledged before it was in the journal")
    check(daemon.metric("mixstream_rows_folded_total", "pump") == 300, "each is folded once")
    check(syncs() - before < len(texts) / 2, f"{syncs() - before} syncs for {len(texts)} messages that came together")
    print(f"{len(texts)} messages that came together: {syncs() - before:.0f} syncs")


def main():
    program = sys.argv[1]
    with place() as (folder, started):
        broker = OneClientBroker()
        daemon = Daemon(program, folder, STREAM, broker, mqtt='version = "3.1.1"')
        started.append(daemon)
        daemon.start()
        wire = broker.accept()
        for number in range(1, 101):
            payload = b'{"t":0.5,"y":%d,"seq":%d,"sensor":"s"}' % (number, number)
            check(payload not in journal(folder), "not yet")
            wire.publish(b"plant/pump", payload, number)
            acknowledged = wire.until(4)
            check(payload in journal(folder), f"message {number} was acknowledged before it was in the journal")
            check(struct.unpack(">H", acknowledged)[0] == number, "acknowledged in order")

        check_promptness(daemon.process.pid)
        acknowledge_together(daemon, wire, folder)

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
        wire = broker.accept()
        wire.publish(b"plant/pump", b'{"t":0.5,"y":1,"seq":101,"sensor":"s"}', 101)
        wire.until(4)
        print("100 acknowledged after their journal, 1 held back while the disk refused")


if __name__ == "__main__":
    main()
