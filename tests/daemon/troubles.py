"""Five troubles at the broker's edge: it falls silent for half a second, refuses our subscription, hears another client with our name;
the disk is full; a clock runs ten hours ahead. Each is an alarm that a person understands within a minute, and no acknowledged row is
lost or doubled: counted from outside, by a publisher that shares no code with the daemon.  troubles.py MIXSTREAMD MIXSTREAM [TEST...]"""

import os
import random
import signal
import subprocess
import sys
import threading
import time

from daemon import STREAM, Broker, Daemon, check, place, run, small_disk, wait_until
from outside import Publisher, Thief, sums_held, sums_sent
from subscriptions import DYNAMIC_SECURITY, administer, alarm

PATIENCE = 60  # seconds until a person must know


def refused(daemon):
    return sum(value for key, value in daemon.metrics().items() if key.startswith("mixstream_rows_refused_total{"))


def told(daemon, kind, since, *parts):
    """Waits for the alarm and sees that its words name the trouble and what to do about it."""
    def understood():
        words = alarm(daemon, kind)
        return words if words and all(part in words for part in parts) else ""
    try:
        words = wait_until(understood, max(0.1, PATIENCE - (time.monotonic() - since)), f"alarm {kind} that says {parts}")
    except AssertionError as error:
        raise AssertionError(f"{error}: {alarm(daemon, kind) or 'there is none'}") from None
    print(f"  {kind} after {time.monotonic() - since:.1f} s: {words}", flush=True)


class Scene:
    """Broker, daemon and publisher, and the count at the end."""

    def __init__(self, program, tool, folder, started, more="", broker=None, **settings):
        self.program, self.tool = program, tool
        self.broker = broker or Broker(folder)
        self.daemon = Daemon(program, folder, STREAM + 'refit_interval = 0\n' + more, self.broker, **settings)
        started.extend([self.broker, self.daemon])
        self.next = 0

    def publish(self, publisher, messages, rows=10, **more):
        self.next = publisher.publish(self.next, messages, rows, **more)

    def count(self, rows, seconds=90, wrong=0):
        """Every row once, in the metrics and in the files, now and after a restart."""
        def folded():
            return self.daemon.metric("mixstream_rows_folded_total", "pump")
        wait_until(lambda: folded() >= len(rows), seconds, f"{len(rows)} rows")
        time.sleep(0.5)
        check(folded() == len(rows) and refused(self.daemon) == wrong, f"{folded()} rows folded of {len(rows)}, {refused(self.daemon)} refused")
        check(self.daemon.metric("mixstream_sequence_gaps_total", "pump") == 0, "no gap")
        for _ in range(2):
            check(self.daemon.terminate() == 0, "exit 0")
            held = sums_held(self.program, self.tool, self.daemon)
            check(held == sums_sent(rows), f"held {held}, sent {sums_sent(rows)}")
            self.daemon.start().wait_ready()


def stand_still(daemon, seconds):
    """As a thread does that no processor is free for."""
    daemon.process.send_signal(signal.SIGSTOP)
    time.sleep(seconds)
    daemon.process.send_signal(signal.SIGCONT)


def silence(program, tool):
    """500 ms without a word, again and again, at any moment, while rows are published: the shortest that is promised to be told. On a
    busy machine the daemon stands still now and then meanwhile."""
    numbers = random.Random()
    for is_busy in (False, True, False, True):
        with place() as (folder, started):
            scene = Scene(program, tool, folder, started)
            scene.daemon.start().wait_ready()
            publisher = Publisher(scene.broker.port)
            scene.publish(publisher, 50)
            wait_until(lambda: scene.daemon.metric("mixstream_rows_folded_total", "pump") == 500, 20, "rows")
            time.sleep(2 + 0.3 * numbers.random())
            check(not alarm(scene.daemon, "broker_slow"), "no alarm before there is a reason")
            ending = threading.Event()

            def go_on():
                while not ending.is_set():
                    scene.publish(publisher, 5)
            talking = threading.Thread(target=go_on)
            talking.start()
            try:
                wait_until(lambda: len(publisher.rows) > 600, 20, "rows go on")
                since = time.monotonic()
                scene.broker.process.send_signal(signal.SIGSTOP)
                rows = scene.next
                while time.monotonic() < since + 0.5:
                    if is_busy:
                        stand_still(scene.daemon, 0.08)
                    time.sleep(0.045)
                check(scene.next <= rows + 50, "nobody is acknowledged meanwhile")
                scene.broker.process.send_signal(signal.SIGCONT)
                told(scene.daemon, "broker_slow", since, "answer", "nothing is lost", "look at its load")
                wait_until(lambda: scene.next > rows + 100, 20, "rows go on behind it")
            finally:
                ending.set()
                talking.join(60)
            scene.count(publisher.rows)


def full_disk(program, tool):
    with place() as (folder, started):
        state = os.path.join(folder, "state")
        with small_disk(state, started):
            scene = Scene(program, tool, folder, started, 'snapshot_interval = "0.5s"\nsample_rows = 100\n')
            scene.daemon.start().wait_ready()
            publisher = Publisher(scene.broker.port)
            scene.publish(publisher, 50)
            filler = os.path.join(state, "filler")  # somebody else's file
            since = time.monotonic()
            subprocess.run(["dd", "if=/dev/zero", f"of={filler}", "bs=4096"], capture_output=True)
            scene.publish(publisher, 200, 100)
            told(scene.daemon, "disk", since, "No space left", "make room on the disk", "wait at their source")
            check(scene.daemon.process.poll() is None, "the daemon lives")
            os.remove(filler)
            scene.count(publisher.rows)
            wait_until(lambda: not alarm(scene.daemon, "disk"), 20, "the alarm is over")
            scene.daemon.terminate()


def access_list(program, tool):
    """The right to subscribe is taken away from a daemon that had it; what waits for it still comes, once, and what is published when
    the right is back."""
    with place() as (folder, started):
        rules = os.path.join(folder, "dynamic-security.json")
        subprocess.run(["mosquitto_ctrl", "dynsec", "init", rules, "admin", "secret"], check=True, capture_output=True)
        broker = Broker(folder, extra=f"plugin {DYNAMIC_SECURITY}\nplugin_opt_config_file {rules}\n")
        secret = os.path.join(folder, "password")
        with open(secret, "w") as file:
            file.write("daemon-password")
        os.chmod(secret, 0o600)
        for name in ("daemon", "sensor"):
            administer(broker, "createClient", name, "-p", name + "-password")
            administer(broker, "createRole", name)
            administer(broker, "addClientRole", name, name, "1")
        administer(broker, "addRoleACL", "sensor", "publishClientSend", "plant/pump", "allow", "1")
        administer(broker, "addRoleACL", "daemon", "subscribePattern", "plant/pump", "allow", "1")
        scene = Scene(program, tool, folder, started, broker=broker, mqtt=f'username = "daemon"\npassword_file = "{secret}"')
        scene.daemon.start().wait_ready()
        publisher = Publisher(broker.port, user="sensor", password="sensor-password")
        scene.publish(publisher, 50)
        wait_until(lambda: scene.daemon.metric("mixstream_rows_folded_total", "pump") == 500, 20, "rows")
        check(scene.daemon.terminate() == 0, "exit 0")
        scene.publish(publisher, 50)  # the broker holds them
        administer(broker, "removeRoleACL", "daemon", "subscribePattern", "plant/pump")
        since = time.monotonic()
        scene.daemon.start()
        wait_until(lambda: scene.daemon.stream("pump"), 20, "it answers")
        told(scene.daemon, "subscription", since, "plant/pump", "access list")
        check(not scene.daemon.ready(), "/readyz says so")
        scene.publish(publisher, 50)
        administer(broker, "addRoleACL", "daemon", "subscribePattern", "plant/pump", "allow", "1")
        wait_until(scene.daemon.ready, 60, "ready once it is allowed")
        check(not alarm(scene.daemon, "subscription"), "the alarm is over")
        scene.publish(publisher, 50)
        scene.count(publisher.rows)


def clock_ahead(program, tool):
    """Rows of a sensor whose clock is ten hours ahead are refused by name and change nothing of the others."""
    with place() as (folder, started):
        scene = Scene(program, tool, folder, started, 'half_life = "10000d"\n')
        scene.daemon.start().wait_ready()
        publisher, odd = Publisher(scene.broker.port), Publisher(scene.broker.port, "odd")
        scene.publish(publisher, 50, time=time.time())
        since = time.monotonic()
        odd.publish(0, 3, sensor="odd", time=time.time() + 36000)
        told(scene.daemon, "refused", since, "30 clock_ahead", "ahead of ours", "set the sensor's clock")
        scene.publish(publisher, 50, time=time.time())
        scene.count(publisher.rows, wrong=len(odd.rows))


def session_taken(program, tool):
    """Somebody connects with our name again and again, and keeps what he hears to himself."""
    with place() as (folder, started):
        scene = Scene(program, tool, folder, started)
        scene.daemon.start().wait_ready()
        publisher = Publisher(scene.broker.port)
        scene.publish(publisher, 50)
        since = time.monotonic()
        thief = Thief(scene.broker.port, "mixstreamd-pump")
        scene.publish(publisher, 50)
        told(scene.daemon, "session_taken", since, "another client connects as 'mixstreamd-pump'", "client_id")
        thief.end()
        scene.publish(publisher, 50)
        scene.count(publisher.rows)


TESTS = (silence, full_disk, access_list, clock_ahead, session_taken)


if __name__ == "__main__":
    run(TESTS, *sys.argv[1:3], wanted=sys.argv[3:])
