"""Who a row is from, which of its rows it is, and when it was: wrong clocks, wrong numbers, other people's names, too many
sensors.  identities.py MIXSTREAMD [TEST...]"""

import concurrent.futures
import json
import random
import subprocess
import sys
import time
import urllib.error

from daemon import STREAM, Broker, Daemon, check, place, row, wait_until
from subscriptions import alarm

LARGEST = (1 << 53) - 1


def publish(broker, messages, topic="plant/pump"):
    text = "".join(json.dumps(message, separators=(",", ":")) + "\n" for message in messages)
    subprocess.run(["mosquitto_pub", "-p", str(broker.port), "-q", "1", "-t", topic, "-l"], input=text, text=True, check=True)


def rows(numbers, count):
    return [[round(v, 6) for v in row(numbers)] for _ in range(count)]


def dated(numbers, count, when, **more):
    """Rows that carry a time."""
    return {"rows": [{"t": t, "y": y, "time": when} for t, y in rows(numbers, count)], **more}


def folded(daemon):
    return daemon.metric("mixstream_rows_folded_total", "pump")


def refused(daemon, reason):
    return sum(value for key, value in daemon.metrics().items()
               if key.startswith("mixstream_rows_refused_total{") and f'reason="{reason}"' in key)


def effective_rows(daemon):
    """Of a fit that is made now, of all rows."""
    before = daemon.metric("mixstream_refits_total", "pump")
    daemon.post("/api/v1/streams/pump/refit")
    wait_until(lambda: daemon.metric("mixstream_refits_total", "pump") > before, 30, "a fit")
    return json.loads(daemon.get("/api/v1/streams/pump/model"))["effective_rows"]


def begin(program, folder, started, more, topic="plant/pump"):
    broker = Broker(folder)
    daemon = Daemon(program, folder, STREAM.replace("plant/pump", topic) + more, broker)
    started.extend([broker, daemon])
    daemon.start().wait_ready()
    return broker, daemon


def clock_ahead(program):
    """One row ten hours ahead, and a sensor that counts in milliseconds: refused, told, and the stream keeps its weight."""
    cases = [(key, when) for key in ('half_life = "10m"', 'gap = "10s"')
             for when in (lambda: time.time() + 36000, lambda: time.time() * 1000)]
    for key, when in cases:
        with place() as (folder, started):
            broker, daemon = begin(program, folder, started, key + "\nrefit_interval = 0\n")
            numbers = random.Random(1)
            publish(broker, [dated(numbers, 100, time.time()) for _ in range(20)])
            publish(broker, [dated(numbers, 20, when(), sensor="odd")])
            publish(broker, [dated(numbers, 100, time.time()) for _ in range(20)])
            wait_until(lambda: folded(daemon) + refused(daemon, "clock_ahead") >= 4020, 20, "all rows")
            check(refused(daemon, "clock_ahead") == 20, "the wrong ones are refused")
            check(effective_rows(daemon) > 3000, "the stream keeps its weight")
            words = wait_until(lambda: alarm(daemon, "refused"), 60, "an alarm")
            check("clock" in words and "set the sensor's clock" in words, words)


def clock_of_one(program):
    """A sensor whose clock began at 0 does not set back the clock of the others; alone it would be believed."""
    with place() as (folder, started):
        broker, daemon = begin(program, folder, started, 'half_life = "10s"\nrefit_interval = 0\n')
        numbers = random.Random(2)
        for _ in range(10):
            publish(broker, [dated(numbers, 100, time.time(), sensor=name) for name in ("a", "b")])
            publish(broker, [dated(numbers, 40, 17.0, sensor="odd")])
        wait_until(lambda: daemon.metric("mixstream_rows_in_total", "pump") == 2400, 20, "all rows")
        check(folded(daemon) == 2000, f"{folded(daemon)} rows folded instead of 2000")
        check(refused(daemon, "clock_jump") == 400, "the odd ones are refused")
        check(effective_rows(daemon) > 1000, "the stream keeps its weight")
    with place() as (folder, started):
        broker, daemon = begin(program, folder, started, 'half_life = "10s"\n')
        publish(broker, [dated(numbers, 100, 1e6, sensor="a") for _ in range(20)] + [dated(numbers, 100, 17.0, sensor="a")])
        wait_until(lambda: folded(daemon) == 2085, 20, "a clock that is set back is believed after 16 rows")


def collapse(program):
    """Rows that no longer count are an alarm, whatever made them so."""
    with place() as (folder, started):
        broker, daemon = begin(program, folder, started, 'half_life = "10m"\nrefit_interval = 0\n')
        numbers = random.Random(3)
        publish(broker, [dated(numbers, 100, 1e6) for _ in range(20)])
        wait_until(lambda: folded(daemon) == 2000, 20, "rows")
        effective_rows(daemon)
        publish(broker, [dated(numbers, 50, 1e6 + 30000)])  # fifty half-lives later
        wait_until(lambda: folded(daemon) == 2050, 20, "rows")
        time.sleep(1.1)
        check(effective_rows(daemon) < 100, "the weight is gone")
        words = wait_until(lambda: alarm(daemon, "forgotten"), 10, "an alarm")
        check("collapsed" in words, words)


def wrong_number(program):
    """One number of 2^53 - 1 locks nobody out, over a restart too; a sensor that goes on far ahead is believed."""
    with place() as (folder, started):
        broker, daemon = begin(program, folder, started, "")
        numbers = random.Random(4)
        publish(broker, [{"sensor": "a", "seq": 0, "rows": rows(numbers, 10)}])
        publish(broker, [{"sensor": "a", "seq": LARGEST, "rows": rows(numbers, 1)}])
        publish(broker, [{"sensor": "new", "seq": LARGEST, "rows": rows(numbers, 1)}])
        publish(broker, [{"sensor": "a", "seq": 10, "rows": rows(numbers, 10)}])
        publish(broker, [{"sensor": "new", "seq": 0, "rows": rows(numbers, 10)}])
        wait_until(lambda: daemon.metric("mixstream_rows_in_total", "pump") == 32, 20, "all rows")
        check(folded(daemon) == 30 and refused(daemon, "sequence_jump") == 2, f"{folded(daemon)} rows folded instead of 30")
        check(daemon.terminate() == 0, "exit 0")
        daemon.start().wait_ready()
        publish(broker, [{"sensor": "a", "seq": 5_000_000_000, "rows": rows(numbers, 40)}])
        wait_until(lambda: daemon.metric("mixstream_rows_in_total", "pump") == 72, 20, "all rows")
        check(folded(daemon) == 55, f"16 rows that agree are believed: {folded(daemon)}")
        check("largest_jump" in wait_until(lambda: alarm(daemon, "refused"), 10, "an alarm"), "it says what to do")


def reset(program):
    """A sensor that counts anew without a new epoch is locked out, and let in again by a person."""
    with place() as (folder, started):
        broker, daemon = begin(program, folder, started, "")
        numbers = random.Random(5)
        publish(broker, [{"sensor": "a", "seq": 50000, "rows": rows(numbers, 10)}, {"sensor": "a", "seq": 0, "rows": rows(numbers, 10)}])
        wait_until(lambda: refused(daemon, "too_old") == 10, 20, "too old")
        check("/reset" in wait_until(lambda: alarm(daemon, "refused"), 10, "an alarm"), "it says what to do")
        daemon.post("/api/v1/streams/pump/reset", b'{"sensor":"a"}')
        wait_until(lambda: "forgotten, as asked" in daemon.log(), 10, "it is done")
        publish(broker, [{"sensor": "a", "seq": 0, "rows": rows(numbers, 10)}])
        wait_until(lambda: folded(daemon) == 20, 20, "its rows count again")
        daemon.kill()
        daemon.start().wait_ready()
        publish(broker, [{"sensor": "a", "seq": 0, "rows": rows(numbers, 20)}])
        wait_until(lambda: daemon.metric("mixstream_rows_in_total", "pump") == 50, 20, "all rows")
        check(folded(daemon) == 30, f"the journal remembers the reset: {folded(daemon)}")


def name_by_topic(program):
    """sensor = "topic:2": a payload that claims to be another sensor takes nothing from it, and one sensor may use several topics."""
    with place() as (folder, started):
        broker, daemon = begin(program, folder, started, 'sensor = "topic:2"\n', "plant/+/+")
        numbers = random.Random(6)
        publish(broker, [{"seq": 0, "rows": rows(numbers, 10)}], "plant/a/pump")
        publish(broker, [{"sensor": "a", "seq": 9000, "rows": rows(numbers, 10)}], "plant/b/pump")
        publish(broker, [{"sensor": "b", "seq": 10, "rows": rows(numbers, 10)}], "plant/a/pump")
        publish(broker, [{"seq": 15, "rows": rows(numbers, 10)}], "plant/a/valve")
        wait_until(lambda: daemon.metric("mixstream_rows_in_total", "pump") == 40, 20, "all rows")
        check(folded(daemon) == 35, f"{folded(daemon)} rows folded instead of 35")
        check(daemon.metric("mixstream_sensors", "pump") == 2, "two sensors")
        for wrong in ("topic:4", "topic:x", "topic:0"):
            other = Daemon(program, folder, STREAM.replace("plant/pump", "plant/+/pump") + f'sensor = "{wrong}"\n', broker)
            result = subprocess.run([program, "--config", other.config, "--check-config"], capture_output=True, text=True)
            check(result.returncode == 78 and "sensor" in result.stderr, f"{wrong}: {result.stderr}")


def many_sensors(program):
    """Beyond most_sensors rows are refused and an alarm says so."""
    with place() as (folder, started):
        broker, daemon = begin(program, folder, started, "most_sensors = 5\n")
        numbers = random.Random(7)
        publish(broker, [{"sensor": f"s{i}", "seq": 0, "rows": rows(numbers, 2)} for i in range(8)])
        wait_until(lambda: daemon.metric("mixstream_rows_in_total", "pump") == 16, 20, "all rows")
        check(folded(daemon) == 10 and refused(daemon, "too_many_sensors") == 6, f"{folded(daemon)} rows folded")
        check("most_sensors" in wait_until(lambda: alarm(daemon, "sensors"), 10, "an alarm"), "it says what to do")


def expiry(program):
    """A sensor that has not sent for sensor_expiry gives its place to a new one; one that goes on sending keeps its own. All is as
    before after a restart."""
    with place() as (folder, started):
        broker, daemon = begin(program, folder, started, 'most_sensors = 3\nsensor_expiry = "60s"\n')
        numbers = random.Random(9)
        publish(broker, [{"sensor": name, "seq": 0, "rows": rows(numbers, 2)} for name in ("a", "b", "c", "early")])
        wait_until(lambda: refused(daemon, "too_many_sensors") == 2, 20, "the fourth is refused")
        check("sensor_expiry" in wait_until(lambda: alarm(daemon, "sensors"), 10, "an alarm"), "it says what to do")
        daemon.kill()
        daemon.start().wait_ready()
        time.sleep(40)
        publish(broker, [{"sensor": "a", "seq": 2, "rows": rows(numbers, 2)}])
        time.sleep(25)
        publish(broker, [{"sensor": name, "seq": 0, "rows": rows(numbers, 2)} for name in ("d", "e", "late")])
        wait_until(lambda: daemon.metric("mixstream_rows_in_total", "pump") == 16, 20, "all rows")
        check(folded(daemon) == 12 and refused(daemon, "too_many_sensors") == 4, f"{folded(daemon)} rows folded instead of 12")
        publish(broker, [{"sensor": "a", "seq": 2, "rows": rows(numbers, 3)}])
        wait_until(lambda: folded(daemon) == 13, 20, "what is known of the first is still known")


def gaps(program):
    """A counter that never falls, a gauge that does; a storm of gaps is one alarm and drives no other out."""
    with place() as (folder, started):
        broker, daemon = begin(program, folder, started, "")
        numbers = random.Random(8)
        publish(broker, [{"sensor": "a", "seq": s, "rows": rows(numbers, 1)} for s in (0, 10, 5)])
        wait_until(lambda: folded(daemon) == 3, 20, "rows")
        check(daemon.metric("mixstream_sequence_gaps_total", "pump") == 9, "the counter does not fall")
        check(daemon.metric("mixstream_sequence_missing", "pump") == 8, "the gauge does")
        publish(broker, [{"nonsense": 1}])
        wait_until(lambda: alarm(daemon, "refused"), 10, "an alarm that stays")
        for i in range(90):
            publish(broker, [{"sensor": "a", "seq": 100 + 10 * i, "rows": rows(numbers, 1)}])
            time.sleep(0.12)
        alarms = json.loads(daemon.stream("pump"))["alarms"]
        check(sum(entry["kind"] == "gap" for entry in alarms) == 1, f"{len(alarms)} alarms")
        check(alarm(daemon, "refused"), "the other alarm is still there")


TESTS = (clock_ahead, clock_of_one, collapse, wrong_number, reset, name_by_topic, many_sensors, gaps)


def passes(test):
    try:
        test(sys.argv[1])
        print("passed:", test.__name__, flush=True)
        return True
    except (AssertionError, subprocess.CalledProcessError, urllib.error.HTTPError) as error:
        print("FAILED:", test.__name__, str(error)[:300], flush=True)
        return False


def main():
    wanted = [test for test in (expiry, *TESTS) if not sys.argv[2:] or test.__name__ in sys.argv[2:]]
    with concurrent.futures.ThreadPoolExecutor(1) as beside:  # it waits for a minute: the others go on meanwhile
        waiting = [beside.submit(passes, test) for test in wanted if test is expiry]
        results = [passes(test) for test in wanted if test is not expiry]
        results += [future.result() for future in waiting]
    sys.exit(not all(results))


if __name__ == "__main__":
    main()
