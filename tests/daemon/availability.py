"""The daemon stays up and quick: hundreds of streams, a broker that stands still, messages of many megabytes, a full disk, dead
peers.  availability.py MIXSTREAMD [TEST...]"""

import contextlib
import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
import urllib.error

from daemon import STREAM, Broker, Daemon, check, free_port, place, row, run, small_disk, wait_until
from subscriptions import alarm

LINES = """
[[stream]]
name = "{name}"
socket = "127.0.0.1:{port}"
format = "csv"
columns = ["t", "y"]
features = "1,t"
response = "y"
k = 2
"""


def memory(daemon, field="VmRSS"):
    """MiB."""
    with open(f"/proc/{daemon.process.pid}/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(field)) / 1024


def publish(broker, payload, topic="plant/pump"):
    subprocess.run(["mosquitto_pub", "-p", str(broker.port), "-q", "1", "-t", topic, "-s"], input=payload, check=True)


def messages(numbers, first, count, rows=16):
    for i in range(first, first + count):
        values = [[round(v, 6) for v in row(numbers)] for _ in range(rows)]
        yield json.dumps({"sensor": "a", "seq": i * rows, "rows": values}, separators=(",", ":"))


def send(broker, lines, topic="plant/pump"):
    subprocess.run(["mosquitto_pub", "-p", str(broker.port), "-q", "1", "-t", topic, "-l"], input="\n".join(lines) + "\n",
                   text=True, check=True)


def folded(daemon, stream="pump"):
    return daemon.metric("mixstream_rows_folded_total", stream)


def many_streams(program):
    """Six hundred streams of one broker, each connected."""
    with place() as (folder, started):
        broker = Broker(folder)
        text = "".join(STREAM.replace('"pump"', f'"s{i}"').replace("plant/pump", f"plant/s{i}") + "sample_rows = 50\n"
                       for i in range(600))
        daemon = Daemon(program, folder, text, broker, log="warning")
        started.extend([broker, daemon])
        daemon.start()
        wait_until(daemon.ready, 120, "all are ready")
        for i in (0, 300, 599):
            publish(broker, b'{"t":0.5,"y":1.5}', f"plant/s{i}")
            wait_until(lambda: folded(daemon, f"s{i}") == 1, 20, f"a row of stream {i}")
        code = daemon.terminate(15)  # six hundred last snapshots in nine seconds: a busy machine does not make them all
        check(code == 0 or (code == 1 and "the journal has all rows" in daemon.log()), f"exit {code}")
        daemon.start()
        wait_until(daemon.ready, 120, "all are ready again")
        for i in (0, 300, 599):
            check(folded(daemon, f"s{i}") == 1, f"the row of stream {i} is still there")


class BlackHole:
    """A port whose queue is full: a connect to it waits for minutes."""

    def __init__(self):
        self.server = socket.socket()
        self.server.bind(("127.0.0.1", 0))
        self.server.listen(0)
        self.port = self.server.getsockname()[1]
        self.waiting = []
        for _ in range(4):
            connection = socket.socket()
            connection.setblocking(False)
            connection.connect_ex(("127.0.0.1", self.port))
            self.waiting.append(connection)
        time.sleep(0.2)


class Manager:
    """Hears what the daemon tells systemd, and how long the watchdog waited."""

    def __init__(self, folder):
        self.path = os.path.join(folder, "notify")
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(self.path)
        self.socket.settimeout(0.2)
        self.environment = {"NOTIFY_SOCKET": self.path, "WATCHDOG_USEC": "1000000"}

    def longest_wait(self, condition, seconds):
        """Between two signs of life, until the condition holds."""
        longest, last, end = 0.0, time.monotonic(), time.monotonic() + seconds
        while time.monotonic() < end and not condition():
            with contextlib.suppress(socket.timeout):
                if "WATCHDOG=1" in self.socket.recv(4096).decode():
                    last = time.monotonic()
            longest = max(longest, time.monotonic() - last)
        return longest


def still_broker(program):
    """Brokers that do not answer, one that stands still and one that cannot even be reached: SIGHUP and SIGTERM are done at once, the
    watchdog hears of us, and everything is saved."""
    for reachable in (True, False):
        with place() as (folder, started):
            manager = Manager(folder)
            broker = Broker(folder) if reachable else BlackHole()
            port = free_port()
            text = LINES.format(name="lines", port=port)
            daemon = Daemon(program, folder, text + STREAM, broker)
            started.extend([broker, daemon] if reachable else [daemon])
            daemon.start(manager.environment)
            wait_until(lambda: daemon.stream("lines"), 20, "it answers")
            with socket.create_connection(("127.0.0.1", port)) as connection:
                connection.sendall(b"0.5,1.5\n" * 100)
            wait_until(lambda: folded(daemon, "lines") == 100, 20, "rows")
            if reachable:
                daemon.wait_ready()
                broker.process.send_signal(signal.SIGSTOP)
            try:
                daemon.write_config(text + STREAM + "refit_rows = 100000\n")
                daemon.process.send_signal(signal.SIGHUP)
                waited = manager.longest_wait(lambda: "the new configuration is in force" in daemon.log(), 15)
                check("the new configuration is in force" in daemon.log() and waited < 5, f"the watchdog waited {waited:.1f} s")
                began = time.monotonic()
                check(daemon.terminate(20) == 0, "exit 0")
                check(time.monotonic() - began < 6, f"SIGTERM took {time.monotonic() - began:.1f} s")
                names = os.listdir(os.path.join(folder, "state", "lines"))
                check(any(name.startswith("snapshot") for name in names), "a snapshot")
            finally:
                if reachable:
                    broker.process.send_signal(signal.SIGCONT)


HARD = """
[[stream]]
name = "s{number}"
socket = "unix:{folder}/s{number}.sock"
format = "csv"
columns = ["a", "b", "y"]
features = "1,a,b"
response = "y"
k = 3
refit_interval = 0
"""


def hard_solves(program):
    """Many streams that are hard to solve: the watchdog times each of them, not the pass over all."""
    with place() as (folder, started):
        manager = Manager(folder)
        count = 60
        text = "".join(HARD.format(number=i, folder=folder) for i in range(count))
        daemon = Daemon(program, folder, text)
        started.append(daemon)
        daemon.start(manager.environment).wait_ready()
        numbers = random.Random(6)
        for i in range(count):
            laws = [[numbers.gauss(0, 1) for _ in range(3)] for _ in range(3)]
            lines = []
            for _ in range(1500):
                x = [1.0] + [numbers.uniform(-1, 1) for _ in range(2)]
                y = sum(b * v for b, v in zip(numbers.choice(laws), x)) + numbers.gauss(0, 0.5)
                lines.append(",".join("%.6f" % v for v in (*x[1:], y)) + "\n")
            with socket.socket(socket.AF_UNIX) as connection:
                connection.connect(f"{folder}/s{i}.sock")
                connection.sendall("".join(lines).encode())
        wait_until(lambda: all(folded(daemon, f"s{i}") == 1500 for i in range(count)), 60, "rows")

        def solved():
            return sum(daemon.metric("mixstream_refits_total", f"s{i}") for i in range(count))

        def solve(streams):
            """How long it took, and how long the watchdog waited meanwhile."""
            before, began = solved(), time.monotonic()
            for i in range(streams):
                daemon.post(f"/api/v1/streams/s{i}/refit")
            waited = manager.longest_wait(lambda: solved() >= before + streams, 400)
            check(solved() >= before + streams, "all are solved")
            return time.monotonic() - began, waited
        longest = max(1.0, solve(8)[0])  # far more than one stream needs, far less than all
        with open(daemon.config) as file:
            text = file.read()
        with open(daemon.config, "w") as file:
            file.write(f"longest_solve = {longest:.1f}\n" + text)
        daemon.process.send_signal(signal.SIGHUP)
        wait_until(lambda: "the new configuration is in force" in daemon.log(), 20, "reload")
        took, waited = solve(count)
        check(took > 2.5 * longest, f"a pass of {took:.1f} s is too short to tell")
        check(waited < took / 2, f"the watchdog waited {waited:.1f} s in a pass of {took:.1f} s")
        print(f"  a pass of {took:.1f} s, the watchdog waited {waited:.1f} s, longest_solve {longest:.1f} s")


def large_messages(program):
    """What is no row costs no memory, however much of it comes. The client library holds a message of 200 MB twice while it reads it;
    nobody holds it a third time."""
    with place() as (folder, started):
        broker = Broker(folder)
        daemon = Daemon(program, folder, STREAM, broker, mqtt='version = "3.1.1"')
        started.extend([broker, daemon])
        daemon.start().wait_ready()
        send(broker, messages(random.Random(1), 0, 5))
        wait_until(lambda: folded(daemon) == 80, 20, "rows")
        before = memory(daemon)
        publish(broker, b"[" + b"1," * 1_900_000 + b"1]")
        wait_until(lambda: daemon.metric("mixstream_rows_in_total", "pump") >= 81, 20, "the array")
        publish(broker, b"x" * 200_000_000)
        send(broker, messages(random.Random(1), 5, 5))
        wait_until(lambda: folded(daemon) == 160, 60, "rows behind it")
        grown = memory(daemon) - before
        check(grown < 60, f"{grown:.0f} MiB stayed")
        peak = memory(daemon, "VmHWM") - before
        check(peak < 2.3 * 200e6 / (1 << 20), f"{peak:.0f} MiB at the worst")
        check(daemon.metric("mixstream_rows_in_total", "pump") == 1_900_162, "every element is counted")


def one_fails(program):
    """A stream that cannot store its rows stops no other; its own come when it can."""
    with place() as (folder, started):
        broker = Broker(folder)
        text = "".join(STREAM.replace('"pump"', f'"{name}"').replace("plant/pump", f"plant/{name}") +
                       'snapshot_interval = "0.2s"\n' for name in ("sick", "well"))
        daemon = Daemon(program, folder, text, broker)
        started.extend([broker, daemon])
        daemon.start().wait_ready()
        numbers = random.Random(2)
        for name in ("sick", "well"):
            send(broker, messages(numbers, 0, 5), f"plant/{name}")
            wait_until(lambda: folded(daemon, name) == 80, 20, "rows")
        state = os.path.join(folder, "state", "sick")
        time.sleep(0.5)
        os.rename(state, state + ".away")
        for i in range(5, 15):
            send(broker, messages(numbers, i, 1), "plant/sick")
            time.sleep(0.1)
        words = wait_until(lambda: alarm(daemon, "disk", "sick"), 60, "an alarm")
        send(broker, messages(numbers, 5, 20), "plant/well")
        wait_until(lambda: folded(daemon, "well") == 400, 10, f"the other goes on: {folded(daemon, 'well')}")
        os.rename(state + ".away", state)
        wait_until(lambda: folded(daemon, "sick") == 240, 60, f"all rows of the sick one, once: {folded(daemon, 'sick')}")
        check("No such file" in words, words)


def full_disk(program):
    """A disk that our own journal fills: an alarm, no acknowledged row lost, and the daemon frees it by itself."""
    with place() as (folder, started):
        state = os.path.join(folder, "state")
        with small_disk(state, started):
            broker = Broker(folder)
            daemon = Daemon(program, folder, STREAM + 'snapshot_interval = "1h"\nsample_rows = 100\nrefit_interval = 0\n', broker)
            started.extend([broker, daemon])
            daemon.start().wait_ready()
            numbers = random.Random(3)
            send(broker, messages(numbers, 0, 40, 1000))
            heard = []

            def told():
                heard.append(alarm(daemon, "disk"))
                return heard[-1] or folded(daemon) == 1_200_000
            pub = subprocess.Popen(["mosquitto_pub", "-p", str(broker.port), "-q", "1", "-t", "plant/pump", "-l"],
                                   stdin=subprocess.PIPE, text=True)
            pub.stdin.write("\n".join(messages(numbers, 40, 560, 1000)) + "\n")
            pub.stdin.close()
            wait_until(told, 60, "an alarm")
            wait_until(lambda: folded(daemon) == 600_000, 60, f"all rows once, without help: {folded(daemon)}")
            check(pub.wait(20) == 0, "the publisher is acknowledged")
            check(daemon.metric("mixstream_sequence_gaps_total", "pump") == 0, "no gap")
            wait_until(lambda: not alarm(daemon, "disk"), 20, "the alarm is over")
            check(any(heard), "the alarm was heard")
            check(daemon.terminate() == 0, "exit 0")
            daemon.start().wait_ready()
            check(folded(daemon) == 600_000, "and after a restart")


def longest_journal(program):
    """At journal_mib rows wait for a snapshot instead of the journal growing on."""
    with place() as (folder, started):
        broker = Broker(folder)
        daemon = Daemon(program, folder, STREAM + 'snapshot_interval = "1h"\njournal_mib = 1\nrefit_interval = 0\n', broker)
        started.extend([broker, daemon])
        daemon.start().wait_ready()
        pub = subprocess.Popen(["mosquitto_pub", "-p", str(broker.port), "-q", "1", "-t", "plant/pump", "-l"],
                               stdin=subprocess.PIPE, text=True)
        numbers = random.Random(4)
        pub.stdin.write("\n".join(messages(numbers, 0, 300, 1000)) + "\n")
        pub.stdin.close()
        state, largest = os.path.join(folder, "state", "pump"), 0

        def journal():
            """Of the same moment: no segment went or came while they were looked at."""
            for _ in range(100):
                names = sorted(name for name in os.listdir(state) if name.startswith("journal"))
                with contextlib.suppress(OSError):
                    sizes = sum(os.path.getsize(os.path.join(state, name)) for name in names)
                    if names == sorted(name for name in os.listdir(state) if name.startswith("journal")):
                        return sizes
            return 0
        end = time.monotonic() + 120
        while folded(daemon) < 300_000:
            check(time.monotonic() < end, f"rows wait for ever: {folded(daemon)} folded")
            largest = max(largest, journal())
            check(pub.poll() in (None, 0), "the publisher goes on")
        check(largest < 1.1 * (1 << 20) + 25_000, f"the journal grew to {largest} bytes")
        check(folded(daemon) == 300_000, "every row once")


def timer_of(port, peer):
    """The kernel's timer of the daemon's end of a connection: its kind (2: keepalive) and when it fires, in seconds."""
    with open("/proc/net/tcp") as file:
        for line in file.readlines()[1:]:
            words = line.split()
            if int(words[1].split(":")[1], 16) == port and int(words[2].split(":")[1], 16) == peer:
                kind, when = words[5].split(":")
                return int(kind, 16), int(when, 16) / os.sysconf("SC_CLK_TCK")
    return 0, 0.0


def dead_peers(program):
    """Sixty-four connections that say nothing do not keep a sensor out for ever; one that speaks stays. A peer that is gone without a
    word is looked for within a minute."""
    with place() as (folder, started):
        port = free_port()
        daemon = Daemon(program, folder, LINES.format(name="lines", port=port) + 'socket_idle = "2s"\n')
        started.append(daemon)
        daemon.start().wait_ready()
        talker = socket.create_connection(("127.0.0.1", port))

        def is_watched():
            kind, when = timer_of(port, talker.getsockname()[1])
            return kind == 2 and 0 < when <= 61
        wait_until(is_watched, 20, "the kernel looks for a dead peer")
        dead = [socket.create_connection(("127.0.0.1", port)) for _ in range(63)]
        for _ in range(8):
            talker.sendall(b"0.5,1.5\n")
            time.sleep(0.5)
        with socket.create_connection(("127.0.0.1", port)) as connection:
            connection.sendall(b"0.5,1.5\n" * 10)
            wait_until(lambda: folded(daemon, "lines") == 18, 10, "rows of the sixty-fifth")
        talker.sendall(b"0.5,1.5\n")
        wait_until(lambda: folded(daemon, "lines") == 19, 10, "who speaks stays")
        for connection in [*dead, talker]:
            connection.close()


def asked_too_much(program):
    """Brackets a hundred deep, refits by the hundred, a folder of another user."""
    with place() as (folder, started):
        port = free_port()
        daemon = Daemon(program, folder, LINES.format(name="lines", port=port) + "refit_interval = 0\n")
        started.append(daemon)
        with open(daemon.log_path, "a") as log:
            daemon.process = subprocess.Popen(["prlimit", "--stack=262144", program, "--config", daemon.config], stdout=log, stderr=log)
        daemon.wait_ready()
        numbers = random.Random(5)
        with socket.create_connection(("127.0.0.1", port)) as connection:
            connection.sendall("".join("%.6f,%.6f\n" % row(numbers) for _ in range(3000)).encode())
        wait_until(lambda: folded(daemon, "lines") == 3000, 10, "rows")
        answers = []
        for _ in range(20):
            try:
                daemon.post("/api/v1/streams/lines/refit")
                answers.append(202)
            except urllib.error.HTTPError as error:
                answers.append(error.code)
        check(answers.count(202) <= 2 and answers.count(429) >= 18, f"{answers}")
        wait_until(lambda: daemon.metric("mixstream_fit_components", "lines") == 2, 30, "a fit")
        deep = b"[" * 32000 + b"]" * 32000
        for body in (b'{"rows":' + deep + b"}", b'{"rows":[{"t":' + deep + b"}]}", b"[" * 65000):
            try:
                daemon.post("/api/v1/streams/lines/predict", body)
                raise AssertionError("taken")
            except urllib.error.HTTPError as error:
                check(error.code == 400, f"{error.code}")
        check(daemon.process.poll() is None, "it runs on")
        check(daemon.terminate() == 0, "exit 0")
        if os.geteuid() == 0:
            for change in (lambda: os.chown(os.path.join(folder, "state"), 12345, -1),
                           lambda: (os.chown(os.path.join(folder, "state"), 0, -1), os.chmod(os.path.join(folder, "state"), 0o777))):
                change()
                result = subprocess.run([program, "--config", daemon.config], capture_output=True, text=True, timeout=20)
                check(result.returncode == 78 and "state" in result.stderr, f"{result.returncode} {result.stderr}")


TESTS = (many_streams, still_broker, hard_solves, large_messages, one_fails, full_disk, longest_journal, dead_peers, asked_too_much)


if __name__ == "__main__":
    run(TESTS, sys.argv[1], wanted=sys.argv[2:])
