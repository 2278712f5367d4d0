"""Columns from several topics: one value a message, joined to rows.  columns.py MIXSTREAMD SAME_STATE [TEST...]"""

import json
import random
import subprocess
import sys
import time

from daemon import Broker, Daemon, check, place, row, wait_until
from subscriptions import alarm

PLANT = """
[[stream]]
name = "pump"
features = "1,t"
response = "y"
k = 2
refit_interval = 0
join_tolerance = "1h"
[stream.columns]
t = "plant/+/t"
y = "plant/+/y"
"""


def publish(broker, topic, values):
    text = "".join((value if isinstance(value, str) else json.dumps(value)) + "\n" for value in values)
    subprocess.run(["mosquitto_pub", "-p", str(broker.port), "-q", "1", "-t", topic, "-l"], input=text, text=True, check=True)


def figure(daemon, name):
    return daemon.metric(f"mixstream_rows_{name}_total", "pump")


def refused(daemon):
    return {key.split('reason="')[1].split('"')[0]: value for key, value in daemon.metrics().items()
            if key.startswith("mixstream_rows_refused_total{")}


def begin(program, folder, started, more=""):
    broker = Broker(folder)
    daemon = Daemon(program, folder, PLANT.replace("[stream.columns]", more + "[stream.columns]"), broker)
    started.extend([broker, daemon])
    daemon.start().wait_ready()
    return broker, daemon


def send(broker, daemon, numbers, start, count, sensor="7", between=lambda: None):
    """Values of one topic, then of the other, with their own times: a session has them in this order. `between`: done before the rows
    are whole."""
    rows = [row(numbers) for _ in range(count)]
    before = figure(daemon, "folded")
    publish(broker, f"plant/{sensor}/t", [{"value": round(t, 6), "time": start + i} for i, (t, _) in enumerate(rows)])
    between()
    publish(broker, f"plant/{sensor}/y", [{"value": round(y, 6), "time": start + i, "seq": start + i} for i, (_, y) in enumerate(rows)])
    wait_until(lambda: figure(daemon, "folded") >= before + count, 30, "the rows have come")


def laws(daemon):
    before = daemon.metric("mixstream_refits_total", "pump")
    daemon.post("/api/v1/streams/pump/refit")
    wait_until(lambda: daemon.metric("mixstream_refits_total", "pump") > before, 60, "a fit")
    return json.loads(daemon.get("/api/v1/streams/pump/model"))


def run(program, folder, started, kills):
    """320 rows; the daemon, which is killed between the topics of some blocks and after these, and has ended."""
    broker, daemon = begin(program, folder, started)
    numbers = random.Random(1)

    def kill():
        daemon.kill()
        daemon.start().wait_ready()
    for block in range(40):
        if block not in kills:
            send(broker, daemon, numbers, 1000 + 8 * block, 8)  # within the values that are kept of a column
            continue
        arrived = daemon.metric("mixstream_message_seconds_count", "pump") + 8
        send(broker, daemon, numbers, 1000 + 8 * block, 8, between=lambda: (
            wait_until(lambda: daemon.metric("mixstream_message_seconds_count", "pump") >= arrived, 20, "the first column"), kill()))
        kill()
    check(figure(daemon, "folded") == 320 and not refused(daemon), f"{figure(daemon, 'folded')} rows, {refused(daemon)}")
    found = sorted(law["coefficients"] for law in laws(daemon)["components"])
    check(all(abs(a - b) < 0.1 for x, y in zip(found, ([-1.0, 0.5], [1.0, 2.0]), strict=True) for a, b in zip(x, y, strict=True)), found)
    before = figure(daemon, "duplicate")
    publish(broker, "plant/7/y", [{"value": 0.5, "time": 1319, "seq": 1319}])
    wait_until(lambda: figure(daemon, "duplicate") == before + 1, 20, "a row that comes again counts once")
    check(daemon.terminate() == 0, "exit 0")
    return daemon


def joined(program, same_state):
    """Rows of two topics make the laws; killed in between and replayed, the state is that of a run without it."""
    with place() as (folder, started), place() as (other, others):
        whole = run(program, folder, started, ())
        killed = run(program, other, others, (5, 20))
        result = subprocess.run([same_state, whole.config, killed.config], capture_output=True, text=True, check=False)
        check(result.returncode == 0, result.stdout + result.stderr)


def counted(program, _same_state):
    """Values that are missing, stale, no numbers: refused by name, with what to do."""
    with place() as (folder, started):
        broker, daemon = begin(program, folder, started)
        publish(broker, "plant/7/y", ["5"])
        wait_until(lambda: refused(daemon).get("no_value_yet") == 1, 20, "a row without its other column")
        publish(broker, "plant/7/t", ["1", "abc"])
        wait_until(lambda: refused(daemon).get("not_a_number") == 1, 20, "a value that is none")
        publish(broker, "plant/7/y", ["5"])  # at its arrival, an hour at most after the other's: fresh
        wait_until(lambda: figure(daemon, "folded") == 1, 20, "a row by times of arrival")
        publish(broker, "plant/8/t", [{"value": 1, "time": 1000}])
        publish(broker, "plant/8/y", [{"value": 1, "time": 4600}, {"value": 1, "time": 4600.5}])
        wait_until(lambda: figure(daemon, "folded") == 2 and refused(daemon).get("stale_value") == 1, 20, "a stale value")
        wait_until(lambda: "raise it" in alarm(daemon, "refused"), 30, "the alarm says what to do")
        check(json.loads(daemon.stream("pump"))["source"] == "MQTT plant/+/t, plant/+/y", daemon.stream("pump"))


def configuration(program, _same_state):
    with place() as (folder, _):
        for old, new, words in (('y = "plant/+/y"\n', "", "two topics"), ('"plant/+/y"', '"plant/y"', "numbers of +"),
                                ('"plant/+/y"', '"plant/#"', "any number of levels"), ('"plant/+/y"', '"$share/g/plant/+/y"', "shared"),
                                ('"plant/+/y"', '"+/+/t"', "overlap"), ("k = 2", 'k = 2\nformat = "csv"', "means nothing"),
                                ("k = 2", 'k = 2\ntopic = "a"', "one source"), ("k = 2", 'k = 2\njoin_on = "z"', "make the rows"),
                                ('"1,t"', '"1,u"', "no column 'u'"), ('y = "plant/+/y"', "y = 5", "filter in quotes")):
            daemon = Daemon(program, folder, "[mqtt]\n" + PLANT.replace(old, new, 1))
            said = subprocess.run([program, "-c", daemon.config, "--check-config"], capture_output=True, text=True, check=False)
            check(said.returncode == 78 and words in said.stderr, f"{new}: {said.stderr}")


TESTS = {test.__name__: test for test in (joined, counted, configuration)}

if __name__ == "__main__":
    for name in sys.argv[3:] or TESTS:
        begun = time.monotonic()
        TESTS[name](*sys.argv[1:3])
        print(f"{name}: {time.monotonic() - begun:.1f} s", flush=True)
