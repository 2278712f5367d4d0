"""The broker goes away, loses sessions, drops messages: gaps are counted, never silent.  broker.py MIXSTREAMD"""

import json
import random
import signal
import subprocess
import sys
import time

from daemon import STREAM, Broker, Daemon, check, place, row, wait_until

ROWS = 16


def message(sensor, number, numbers, laws=((1.0, 2.0), (-1.0, 0.5)), count=ROWS):
    rows = [[round(v, 6) for v in row(numbers, laws)] for _ in range(count)]
    return json.dumps({"sensor": sensor, "seq": number * count, "rows": rows}, separators=(",", ":"))


def publish(broker, lines, topic="plant/pump"):
    subprocess.run(["mosquitto_pub", "-p", str(broker.port), "-q", "1", "-t", topic, "-l"],
                   input="\n".join(lines) + "\n", text=True, check=True)


def folded(daemon):
    return daemon.metric("mixstream_rows_folded_total", "pump")


def listen(broker, topic, count, seconds=30):
    return subprocess.Popen(["mosquitto_sub", "-p", str(broker.port), "-q", "1", "-t", topic, "-C", str(count), "-W",
                             str(seconds)], stdout=subprocess.PIPE, text=True)


def first_event(events, kind):
    """The first of that kind among those that come: few rows may raise others beside it."""
    for line in events.stdout:
        event = json.loads(line)
        if event["kind"] == kind:
            events.kill()
            return event
    check(False, f"an event of kind {kind}")


def restarts(program):
    """The broker restarts again and again, gently; what it holds for us comes later. Nothing is lost."""
    with place() as (folder, started):
        broker = Broker(folder)
        daemon = Daemon(program, folder, STREAM, broker)
        started.extend([broker, daemon])
        daemon.start().wait_ready()
        numbers = random.Random(1)
        sent = 0
        for _ in range(5):
            publish(broker, [message("a", sent + i, numbers) for i in range(20)])
            sent += 20
            broker.stop()
            broker.start()
        wait_until(daemon.ready, 30, "connected again")
        publish(broker, [message("a", sent, numbers)])
        sent += 1
        wait_until(lambda: folded(daemon) == sent * ROWS, 60, f"{sent * ROWS} rows, have {folded(daemon)}")
        check(daemon.metric("mixstream_sequence_gaps_total", "pump") == 0, "no gap")
        check(daemon.log().count("session kept") >= 1, "the session was kept")


def partition(program):
    """The broker falls silent without a word, longer than the keepalive. Nothing is lost."""
    with place() as (folder, started):
        broker = Broker(folder)
        daemon = Daemon(program, folder, STREAM, broker, mqtt="keepalive = 5")
        started.extend([broker, daemon])
        daemon.start().wait_ready()
        numbers = random.Random(4)
        publish(broker, [message("a", i, numbers) for i in range(20)])
        broker.process.send_signal(signal.SIGSTOP)
        try:
            wait_until(lambda: "connection lost" in daemon.log(), 40, "the silence is noticed")
            wait_until(lambda: not daemon.ready(), 10, "/readyz tells")
        finally:
            broker.process.send_signal(signal.SIGCONT)
        wait_until(daemon.ready, 60, "connected again")
        publish(broker, [message("a", 20 + i, numbers) for i in range(20)])
        wait_until(lambda: folded(daemon) == 40 * ROWS, 60, f"all rows, have {folded(daemon)}")
        check(daemon.metric("mixstream_sequence_gaps_total", "pump") == 0, "no gap")


def losses_are_counted(program):
    """A broker that drops what does not fit its queue, and one that forgets everything."""
    with place() as (folder, started):
        broker = Broker(folder, queued=5, extra="max_inflight_messages 5")
        daemon = Daemon(program, folder, STREAM, broker)
        started.extend([broker, daemon])
        daemon.start().wait_ready()
        numbers = random.Random(2)
        publish(broker, [message("a", i, numbers) for i in range(10)])
        wait_until(lambda: folded(daemon) == 10 * ROWS, what="rows")
        check(daemon.terminate() == 0, "exit 0")
        publish(broker, [message("a", 10 + i, numbers) for i in range(50)])  # most do not fit
        daemon.start().wait_ready()
        events = listen(broker, "mixstream/pump/event", 9)
        publish(broker, [message("a", 60, numbers)])
        wait_until(lambda: daemon.metric("mixstream_sequence_gaps_total", "pump") > 0, what="the gap is counted")
        gaps = daemon.metric("mixstream_sequence_gaps_total", "pump")
        check(folded(daemon) + gaps == 61 * ROWS, f"every row is folded or a gap: {folded(daemon)} + {gaps}")
        event = first_event(events, "gap")
        check("missing" in event["words"], f"an event: {event}")

        broker.stop(signal.SIGKILL)
        subprocess.run(["rm", "-f", folder + "/mosquitto.db"], check=True)
        broker.start()
        wait_until(lambda: '"session_lost"' in daemon.get("/api/v1/streams/pump"), 40, "a lost session is an alarm")


def says_who_is_there(program):
    """Status with last will, retained fit, and the regime change as an event."""
    with place() as (folder, started):
        broker = Broker(folder)
        stream = STREAM + 'refit_interval = "0.3s"\nhalf_life = 20000\n'
        daemon = Daemon(program, folder, stream, broker)
        started.extend([broker, daemon])
        daemon.start().wait_ready()

        def status():
            return json.loads(listen(broker, "mixstream/status", 1).communicate()[0])["status"]
        wait_until(lambda: status() == "online", 20, "online")
        numbers = random.Random(3)
        publish(broker, [message("a", i, numbers, count=256) for i in range(280)])
        wait_until(lambda: folded(daemon) == 280 * 256, 120, "71,680 rows")
        wait_until(lambda: daemon.metric("mixstream_fit_components", "pump") == 2, what="a fit")
        fit = json.loads(listen(broker, "mixstream/pump/fit", 1).communicate()[0])
        check(fit["schema"] == 1 and len(fit["components"]) == 2 and fit["stale"] is False, f"the retained fit: {fit}")
        check('"drift"' not in daemon.get("/api/v1/streams/pump"), "no alarm without a change")
        events = listen(broker, "mixstream/pump/event", 1, 60)
        time.sleep(0.5)
        changed = ((1.0, 2.0), (0.0, -1.5))
        publish(broker, [message("a", 280 + i, numbers, changed, 256) for i in range(100)])
        event = json.loads(events.communicate()[0])
        check(event["kind"] in ("drift", "poor_fit"), f"the change is an event: {event}")
        wait_until(lambda: '"drift"' in daemon.get("/api/v1/streams/pump"), 30, "drift is an alarm")
        daemon.kill()
        wait_until(lambda: status() == "offline", 20, "the last will")


def main():
    for test in (restarts, partition, losses_are_counted, says_who_is_there):
        test(sys.argv[1])
        print("passed:", test.__name__, flush=True)


main()
