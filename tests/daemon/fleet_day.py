"""A simulated day of 20 pumps whose modes persist: no alarm; then one pump's law shifts, and an alarm names it.
fleet_day.py MIXSTREAMD HOURS"""

import json
import random
import subprocess
import sys
import time

from daemon import Broker, Daemon, check, place, wait_until

PUMPS = [f"pump-{number:02}" for number in range(1, 21)]
SHIFTED = "pump-13"
NOISE = 0.1
LAWS = ((1.0, 2.0), (-1.0, 0.5))
LASTS = (600, 300)  # seconds that a mode holds in the mean
A_MESSAGE = 60      # rows: a minute of one pump
WITHIN = 2000       # rows of the pump, after the shift
FLEET = """
[[stream]]
name = "pumps"
topic = "plant/+/rows"
group = "topic:2"
sensor = "topic:2"
features = "1,t"
response = "y"
k = 2
modes = "persistent"
columns = ["t", "y"]
refit_interval = 0.5
refit_on_drift = false
"""


class Pump:
    def __init__(self, name, seed):
        self.name = name
        self.numbers = random.Random(seed)
        self.mode = self.numbers.randrange(2)
        self.clock = 0

    def minute(self, shift=0.0):
        rows = []
        for _ in range(A_MESSAGE):
            if self.numbers.random() < 1.0 / LASTS[self.mode]:
                self.mode = 1 - self.mode
            t = self.numbers.uniform(-1, 1)
            constant, slope = LAWS[self.mode]
            y = constant + slope * t + shift * (self.mode == 1) + self.numbers.gauss(0, NOISE)
            rows.append([round(t, 5), round(y, 5)])
            self.clock += 1
        return f'{{"seq":{self.clock - A_MESSAGE},"time":{1.7e9 + self.clock - A_MESSAGE:.0f},"rows":{json.dumps(rows, separators=(",", ":"))}}}'


class Plant:
    """Publishes minutes of all pumps by turns, each through a publisher of its own, and waits for the daemon."""

    def __init__(self, broker, daemon):
        self.daemon = daemon
        self.pumps = [Pump(name, 100 + place) for place, name in enumerate(PUMPS)]
        self.publishers = [subprocess.Popen(["mosquitto_pub", "-p", str(broker.port), "-q", "1", "-t", f"plant/{name}/rows", "-l"],
                                            stdin=subprocess.PIPE, text=True) for name in PUMPS]
        self.sent = 0

    def minutes(self, count, shift=0.0):
        for _ in range(count):
            for pump, publisher in zip(self.pumps, self.publishers, strict=True):
                publisher.stdin.write(pump.minute(shift if pump.name == SHIFTED else 0.0) + "\n")
                self.sent += A_MESSAGE
        for publisher in self.publishers:
            publisher.stdin.flush()
        wait_until(lambda: self.daemon.metric("mixstream_rows_folded_total", "pumps") == self.sent, 120, "the rows")

    def close(self):
        for publisher in self.publishers:
            publisher.stdin.close()
            publisher.wait(20)


def fleet(daemon):
    return json.loads(daemon.get("/api/v1/streams/pumps"))["fleet"]


def alarms(daemon):
    return json.loads(daemon.get("/api/v1/streams/pumps"))["alarms"]


def round_of_looks(daemon):
    """Waits until each pump was looked at with all its rows: those without laws of their own say nothing of it, and have a second."""
    def looked():
        return all(one["fit_rows"] == one["rows"] or one["status"] not in (None, "ok", "approximate")
                   for one in json.loads(daemon.get("/api/v1/streams/pumps/models"))["models"])
    wait_until(looked, 120, "looks")
    time.sleep(1.2)  # alarms are made once a second


def main(program, hours):
    with place() as (folder, started):
        broker = Broker(folder)
        daemon = Daemon(program, folder, FLEET, broker)
        started.extend([broker, daemon])
        daemon.start().wait_ready()
        plant = Plant(broker, daemon)
        began = time.monotonic()
        for _ in range(hours * 6):
            plant.minutes(10)
            round_of_looks(daemon)
            told = alarms(daemon)
            check(not told, f"a stationary fleet has no alarm, after {plant.sent} rows: {told}")
        found = fleet(daemon)
        check(found["models"] == found["looked"] == len(PUMPS), found)
        print(f"{plant.sent} rows of {len(PUMPS)} pumps, {hours} hours, in {time.monotonic() - began:.0f} s; {hours * 6} "
              "looks at each: no alarm")
        seen = 0
        while not any(alarm["kind"] in ("model_departs", "model_drift") for alarm in alarms(daemon)):
            check(seen < WITHIN, f"no alarm within {seen} rows of the shift: {fleet(daemon)}")
            plant.minutes(2, 3.0 * NOISE)
            seen += 2 * A_MESSAGE
            round_of_looks(daemon)
        words = [alarm["words"] for alarm in alarms(daemon) if alarm["kind"].startswith("model_")]
        print(f"{seen} rows after the shift: {words}")
        check(all(f": {SHIFTED} (" in word for word in words), words)
        check(not any(name in word for word in words for name in PUMPS if name != SHIFTED), f"no other pump is named: {words}")
        plant.close()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
