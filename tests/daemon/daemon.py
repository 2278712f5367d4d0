"""What the daemon's tests share: a private broker, a daemon with its configuration, publishers, and looks at its state."""

import contextlib
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until(condition, seconds=60, what="condition"):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    raise AssertionError(f"not within {seconds} s: {what}")


def check(condition, words):
    if not condition:
        raise AssertionError(words)


class Skipped(Exception):
    """This machine does not let the test be made."""


def run(tests, *arguments, wanted=()):
    """Each of them, or the wanted ones. Exit 1: one failed; 77: none, but one could not be made."""
    exits = set()
    for test in tests:
        if wanted and test.__name__ not in wanted:
            continue
        began = time.monotonic()
        try:
            test(*arguments)
            print(f"passed: {test.__name__} ({time.monotonic() - began:.0f} s)", flush=True)
        except Skipped as reason:
            exits.add(77)
            print(f"SKIPPED: {test.__name__}: {reason}", flush=True)
        except (AssertionError, OSError, subprocess.SubprocessError) as error:
            exits.add(1)
            print("FAILED:", test.__name__, str(error)[:600], flush=True)
    sys.exit(min(exits, default=0))


@contextlib.contextmanager
def small_disk(state, started):
    """A disk of 6 MB of our own; whoever is started on it is ended before it goes."""
    os.mkdir(state)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=6m,mode=0700", "tmpfs", state], capture_output=True).returncode != 0:
        raise Skipped("no file system of our own can be mounted here")
    try:
        yield
    finally:
        for thing in started:
            if thing.process.poll() is None:
                thing.process.kill()
                thing.process.wait()
        subprocess.run(["umount", state], check=False)


class Broker:
    """A mosquitto of our own on a free loopback port, with everything kept on disk."""

    def __init__(self, folder, extra="", queued=100000):
        self.folder = folder
        self.port = free_port()
        self.config = os.path.join(folder, "mosquitto.conf")
        with open(self.config, "w") as file:
            file.write(f"listener {self.port} 127.0.0.1\nallow_anonymous true\npersistence true\n"
                       f"persistence_location {folder}/\n"
                       f"max_queued_messages {queued}\nuser root\nset_tcp_nodelay true\n{extra}\n")
        self.process = None
        self.start()

    def start(self):
        with open(os.path.join(self.folder, "mosquitto.log"), "a") as log:
            self.process = subprocess.Popen(["/usr/sbin/mosquitto", "-c", self.config], stdout=log, stderr=log)

        def answers():
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
                return True
        wait_until(answers, what="broker answers")

    def change(self, old, new):
        """Another line in its configuration, in force."""
        with open(self.config) as file:
            text = file.read()
        check(old in text, f"{old} is in the configuration")
        with open(self.config, "w") as file:
            file.write(text.replace(old, new))
        self.stop()
        self.start()

    def stop(self, sig=signal.SIGTERM):
        self.process.send_signal(sig)
        self.process.wait(20)


class Daemon:
    """A mixstreamd; `streams` is the text of its [[stream]] tables."""

    def __init__(self, program, folder, streams, broker=None, log="info", mqtt="", http=True, arguments=()):
        self.program = program
        self.folder = folder
        self.broker = broker
        self.mqtt = mqtt
        self.http_port = free_port() if http else 0
        self.level = log
        self.arguments = list(arguments)
        self.config = os.path.join(folder, "mixstreamd.toml")
        self.log_path = os.path.join(folder, "mixstreamd.log")
        self.process = None
        self.write_config(streams)

    def write_config(self, streams):
        text = f'state_folder = "{self.folder}/state"\n[log]\nlevel = "{self.level}"\n[http]\n'
        text += f"enabled = {'true' if self.http_port else 'false'}\nport = {self.http_port}\n"
        if self.broker:
            text += f"[mqtt]\nport = {self.broker.port}\n{self.mqtt}\n"
        with open(self.config, "w") as file:
            file.write(text + streams)

    def start(self, environment=None, stdin=subprocess.DEVNULL):
        with open(self.log_path, "a") as log:
            self.process = subprocess.Popen([self.program, "--config", self.config, *self.arguments], stdout=log,
                                            stderr=log, stdin=stdin, umask=0o022, env={**os.environ, **(environment or {})})
        return self

    def log(self):
        with open(self.log_path) as file:
            return file.read()

    def get(self, path):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.http_port}{path}", timeout=10) as answer:
            return answer.read().decode()

    def post(self, path, body=b""):
        request = urllib.request.Request(f"http://127.0.0.1:{self.http_port}{path}", body,
                                         {"Content-Type": "application/json"}, method="POST")
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.read().decode()

    def stream(self, name):
        """What the API says of a stream, as text; nothing while it does not answer."""
        with contextlib.suppress(OSError):
            return self.get("/api/v1/streams/" + name)
        return ""

    def ready(self):
        with contextlib.suppress(OSError):
            self.get("/readyz")
            return True
        return False

    def wait_ready(self):
        def ready_or_dead():
            check(self.process.poll() is None, f"the daemon ended: {self.log()[-2000:]}")
            return self.ready()
        wait_until(ready_or_dead, what="daemon ready")
        return self

    def metrics(self):
        """Name with labels -> number."""
        figures = {}
        for line in self.get("/metrics").splitlines():
            if not line.startswith("#") and line:
                name, value = line.rsplit(" ", 1)
                figures[name] = float(value)
        return figures

    def metric(self, name, stream):
        for key, value in self.metrics().items():
            if key.startswith(name + "{") and f'stream="{stream}"' in key:
                return value
        return 0.0

    def kill(self):
        self.process.kill()
        self.process.wait(300)  # it is dead at once; a machine under load takes its time to say so

    def terminate(self, seconds=10):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(seconds)


@contextlib.contextmanager
def place():
    """A folder that goes away, and with it every process in the list. No daemon among them may have made a sanitizer speak."""
    folder = tempfile.mkdtemp(prefix="mixstreamd-test-")
    started = []
    try:
        yield folder, started
        for daemon in started:
            log = daemon.log() if isinstance(daemon, Daemon) else ""
            check("Sanitizer" not in log and "runtime error:" not in log, log[-20000:])
    finally:
        for thing in started:
            process = getattr(thing, "process", thing)
            if process and process.poll() is None:
                process.kill()
                process.wait()
        shutil.rmtree(folder, ignore_errors=True)


def row(random_numbers, laws=((1.0, 2.0), (-1.0, 0.5)), noise=0.1):
    """t, y of one of the laws."""
    t = random_numbers.uniform(-1, 1)
    a, b = laws[random_numbers.randrange(len(laws))]
    return t, a + b * t + random_numbers.gauss(0, noise)


STREAM = """
[[stream]]
name = "pump"
topic = "plant/pump"
format = "json"
columns = ["t", "y"]
features = "1,t"
response = "y"
k = 2
"""
