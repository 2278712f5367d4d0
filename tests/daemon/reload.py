"""SIGHUP: what does not change goes on, what hangs holds nothing up, certificates are renewed, and a stream that changes is let go
before its files are opened again.  reload.py MIXSTREAMD [TEST...]"""

import os
import random
import signal
import socket
import ssl
import subprocess
import sys
import time

from availability import HARD, LINES, BlackHole, Manager, folded, publish
from daemon import STREAM, Broker, Daemon, check, free_port, place, run, wait_until
from subscriptions import alarm

IN_FORCE = "the new configuration is in force"


def reload(daemon, seconds, manager=None):
    """SIGHUP, until it is in force; how long that took, and how long the watchdog waited meanwhile."""
    before, began, waited = daemon.log().count(IN_FORCE), time.monotonic(), 0.0
    daemon.process.send_signal(signal.SIGHUP)

    def done():
        return daemon.log().count(IN_FORCE) > before
    if manager:
        waited = manager.longest_wait(done, seconds)
    wait_until(done, max(0.1, seconds - (time.monotonic() - began)), "the new configuration is in force")
    return time.monotonic() - began, waited


def on_their_way(hole):
    """Connections to it that hang."""
    with open("/proc/net/tcp") as file:
        lines = [line.split() for line in file.readlines()[1:]]
    return sum(words[2].endswith(f":{hole.port:04X}") and words[3] == "02" for words in lines)


def many_in_vain(program):
    """Forty sessions hang on their way to a broker that cannot be reached. Another broker, then other streams: all of them end together,
    and the watchdog hears of us."""
    with place() as (folder, started):
        manager, holes, count = Manager(folder), (BlackHole(), BlackHole()), 40
        lines = LINES.format(name="lines", port=free_port())
        text = "".join(STREAM.replace('"pump"', f'"s{i}"').replace("plant/pump", f"plant/s{i}") for i in range(count))
        daemon = Daemon(program, folder, lines + text, holes[0])
        started.append(daemon)
        daemon.start(manager.environment)
        for what in ("another broker", "other streams"):
            hole = daemon.broker
            wait_until(lambda: on_their_way(hole) >= count, 30, "all of them hang")
            if what == "another broker":
                daemon.broker = holes[1]
            else:
                text = text.replace("k = 2", "k = 3")
            daemon.write_config(lines + text)
            took, waited = reload(daemon, 25, manager)
            check(took < 10 and waited < 5, f"{what}: it took {took:.1f} s, the watchdog waited {waited:.1f} s")
            print(f"  {what}: it took {took:.1f} s, the watchdog waited {waited:.1f} s", flush=True)
        check(daemon.terminate(20) == 0, "exit 0")


def calm_reload(program):
    """SIGHUP leaves the connections of a stream alone that it does not change, at sockets and at the broker; and a changed one comes
    back at once."""
    with place() as (folder, started):
        ports = free_port(), free_port()
        broker = Broker(folder)
        text = LINES.format(name="still", port=ports[0]) + STREAM
        daemon = Daemon(program, folder, text + LINES.format(name="changed", port=ports[1]), broker)
        started.extend([broker, daemon])
        daemon.start().wait_ready()
        connection = socket.create_connection(("127.0.0.1", ports[0]))
        connection.sendall(b"0.5,1.5\n")
        wait_until(lambda: folded(daemon, "still") == 1, 10, "a row")
        for k in (3, 2, 3):
            daemon.write_config(text + LINES.format(name="changed", port=ports[1]).replace("k = 2", f"k = {k}"))
            reload(daemon, 10)
        connection.sendall(b"0.25,1.5\n")
        wait_until(lambda: folded(daemon, "still") == 2, 10, "the connection is still there")
        with open(os.path.join(folder, "mosquitto.log")) as file:
            greeted = [line.split(" as ")[1].split()[0] for line in file if "New client connected" in line and " as mixstreamd" in line]
        check(sorted(greeted) == ["mixstreamd", "mixstreamd-pump"], f"the broker saw us come {greeted}")
        connection.close()


def shared_session(program):
    """Where all streams share a session, one that changes gets its rows as before."""
    with place() as (folder, started):
        broker = Broker(folder)
        other = STREAM.replace('"pump"', '"still"').replace("plant/pump", "plant/still")
        daemon = Daemon(program, folder, STREAM + other, broker, mqtt='sessions = "shared"')
        started.extend([broker, daemon])
        daemon.start().wait_ready()
        publish(broker, b'{"t":0.5,"y":1.5}')
        wait_until(lambda: folded(daemon) == 1, 20, "a row")
        daemon.write_config(STREAM.replace("k = 2", "k = 3") + other)
        reload(daemon, 10)
        for topic, stream, rows in (("plant/pump", "pump", 2), ("plant/still", "still", 1)):
            publish(broker, b'{"t":0.25,"y":1.5}', topic)
            wait_until(lambda: folded(daemon, stream) == rows, 20, f"rows of {stream}, have {folded(daemon, stream)}")


def leftovers(program):
    """A session that streams once shared still brings a message: it goes to the stream as a reload left it."""
    with place() as (folder, started):
        broker = Broker(folder)
        daemon = Daemon(program, folder, STREAM, broker)
        started.extend([broker, daemon])
        subprocess.run(["mosquitto_sub", "-p", str(broker.port), "-i", "mixstreamd", "-c", "-q", "1", "-t", "plant/+", "-x", "1000",
                        "-V", "5", "-E"], check=True)
        daemon.start().wait_ready()

        def comes_twice(number, k):
            publish(broker, b'{"t":0.5,"y":1.5,"sensor":"a","seq":%d}' % number)
            wait_until(lambda: folded(daemon) == number + 1, 20, f"a row with k = {k}")
            wait_until(lambda: daemon.metric("mixstream_rows_duplicate_total", "pump") == number + 1, 5,
                       f"with k = {k} the other session's copy is taken, too")
        comes_twice(0, 2)
        for number, k in ((1, 3), (2, 2)):
            daemon.write_config(STREAM.replace("k = 2", f"k = {k}"))
            reload(daemon, 10)
            comes_twice(number, k)
        wait_until(lambda: not alarm(daemon, "source") and daemon.ready(), 20, "every session goes on")


class Certificate:
    """Of the daemon's HTTPS, made anew under another name."""

    def __init__(self, folder):
        self.files = [os.path.join(folder, name) for name in ("web.pem", "web.key")]

    def make(self, name):
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                        "-days", "1", "-subj", f"/CN={name}", "-keyout", self.files[1], "-out", self.files[0]], check=True,
                       capture_output=True)
        os.chmod(self.files[1], 0o600)


def shown_by(daemon):
    """The name in the certificate that it shows."""
    text = ssl.get_server_certificate(("127.0.0.1", daemon.http_port))
    result = subprocess.run(["openssl", "x509", "-noout", "-subject"], input=text, capture_output=True, text=True)
    return result.stdout.split("=")[-1].strip()


def renewed_certificate(program):
    """A new certificate is in use after SIGHUP, also while a stream cannot store its rows."""
    with place() as (folder, started):
        certificate, port = Certificate(folder), free_port()
        certificate.make("first")
        daemon = Daemon(program, folder, LINES.format(name="lines", port=port) + 'snapshot_interval = "0.2s"\n')
        with open(daemon.config) as file:
            text = file.read().replace("[http]", '[http]\ncertificate_file = "{}"\nkey_file = "{}"'.format(*certificate.files))
        with open(daemon.config, "w") as file:
            file.write(text)
        started.append(daemon)
        daemon.start()
        wait_until(lambda: "the page is at" in daemon.log(), 20, "it listens")
        check(shown_by(daemon) == "first", "the first certificate")
        certificate.make("second")
        reload(daemon, 10)
        check(shown_by(daemon) == "second", f"the second certificate, not {shown_by(daemon)}")
        state = os.path.join(folder, "state", "lines")
        os.rename(state, state + ".away")
        with socket.create_connection(("127.0.0.1", port)) as connection:
            connection.sendall(b"0.5,1.5\n")
        certificate.make("third")
        wait_until(lambda: "No such file" in daemon.log(), 20, "the stream is in trouble")
        daemon.process.send_signal(signal.SIGHUP)
        wait_until(lambda: "the old configuration stays: not while this is so" in daemon.log(), 10, "no reload")
        check(shown_by(daemon) == "third", f"the third certificate, not {shown_by(daemon)}")


def in_a_solve(program):
    """A stream changes while it is solved: its files are free at once, every row is there, and what the old solve finds changes nothing."""
    with place() as (folder, started):
        text = HARD.format(number=0, folder=folder).replace("k = 3", "k = 8")
        daemon = Daemon(program, folder, text)
        started.append(daemon)
        daemon.start().wait_ready()
        numbers = random.Random(8)
        laws = [[numbers.gauss(0, 1) for _ in range(3)] for _ in range(8)]
        lines = []
        for _ in range(20000):
            x = [1.0] + [numbers.uniform(-1, 1) for _ in range(2)]
            y = sum(b * v for b, v in zip(numbers.choice(laws), x)) + numbers.gauss(0, 0.5)
            lines.append(",".join("%.6f" % v for v in (*x[1:], y)) + "\n")
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(f"{folder}/s0.sock")
            connection.sendall("".join(lines).encode())
        wait_until(lambda: folded(daemon, "s0") == 20000, 20, "rows")
        daemon.post("/api/v1/streams/s0/refit")
        wait_until(lambda: '"running":true' in daemon.stream("s0"), 10, "it is being solved")
        daemon.write_config(text.replace("k = 8", "k = 2"))
        took, _ = reload(daemon, 20)
        check(daemon.metric("mixstream_refits_total", "s0") == 0, "the old solve goes on")
        check(folded(daemon, "s0") == 20000, f"{folded(daemon, 's0')} rows")
        print(f"  it took {took:.1f} s", flush=True)


TESTS = (many_in_vain, calm_reload, shared_session, leftovers, renewed_certificate, in_a_solve)


if __name__ == "__main__":
    run(TESTS, sys.argv[1], wanted=sys.argv[2:])
