"""Devices that send states instead of rows.  devices.py MIXSTREAMD MIXSTREAM FLEET_STATES EXAMPLE_DEVICE [TEST...]"""

import json
import os
import random
import subprocess
import sys
import time
import urllib.error

from daemon import Broker, Daemon, check, place, row, wait_until
from subscriptions import alarm

FLEET = """
[[stream]]
name = "fleet"
topic = "fleet/+/state"
format = "state"
features = "1,t"
response = "y"
k = 2
modes = "independent"
noise = "shared"
sample_rows = 1000
refit_interval = 0
"""


def publish(broker, path, device):
    subprocess.run(["mosquitto_pub", "-p", str(broker.port), "-q", "1", "-t", f"fleet/{device}/state", "-f", path], check=True)


def figure(daemon, name):
    return daemon.metric(f"mixstream_{name}_total", "fleet")


def refused(daemon):
    return {key.split('reason="')[1].split('"')[0]: value for key, value in daemon.metrics().items()
            if key.startswith("mixstream_rows_refused_total{")}


def laws(report):
    """Weights and coefficients, by the constant."""
    return sorted([*law["coefficients"], law["weight"]] for law in report["components"])


def distance(one, two):
    return max(abs(a - b) for x, y in zip(one, two, strict=True) for a, b in zip(x, y, strict=True))


def asked(daemon):
    """Whether a refit could be asked for: not twice in a second."""
    try:
        daemon.post("/api/v1/streams/fleet/refit")
    except urllib.error.HTTPError as error:
        check(error.code == 429, error)
        return False
    return True


def solved(daemon):
    before = daemon.metric("mixstream_refits_total", "fleet")
    wait_until(lambda: asked(daemon), 30, "a refit can be asked for")
    wait_until(lambda: daemon.metric("mixstream_refits_total", "fleet") > before, 60, "a fit")
    return json.loads(daemon.get("/api/v1/streams/fleet/model"))


def refit(tool, state):
    return json.loads(subprocess.run([tool, "refit", "--json", state], capture_output=True, text=True, check=False).stdout)


def fleet(program, tool, states, _device):
    """50 devices reboot, repeat and reorder, the daemon is killed in between: the laws of all rows, in daemon and export."""
    with place() as (folder, started):
        sent = os.path.join(folder, "sent")
        os.mkdir(sent)
        rows = int(subprocess.run([states, sent, "50"], capture_output=True, text=True, check=True).stdout)
        messages = sorted(name for name in os.listdir(sent) if name != "all.state")
        messages += random.Random(1).sample(messages, 40)
        random.Random(2).shuffle(messages)
        broker = Broker(folder)
        daemon = Daemon(program, folder, FLEET, broker)
        started.extend([broker, daemon])
        daemon.start().wait_ready()
        for place_in_order, name in enumerate(messages):
            publish(broker, os.path.join(sent, name), name.split(".")[0])
            if place_in_order == len(messages) // 2:
                daemon.kill()
                daemon.start().wait_ready()
        wait_until(lambda: figure(daemon, "rows_folded") == rows, 60, "the newest state of each device")
        check(not refused(daemon), f"nothing is refused: {refused(daemon)}")
        model = solved(daemon)
        check(model["rows"] == rows, f"the fit is of {model['rows']} rows, not of {rows}")
        whole = laws(refit(tool, os.path.join(sent, "all.state")))
        far = distance(laws(model), whole)
        print(f"laws of 50 devices and of all {rows} rows differ by {far:.1e}")
        check(far < 1e-9, f"the laws differ by {far}")
        repeated = figure(daemon, "rows_duplicate")
        check(repeated >= 40, f"{repeated} states came twice or late")
        daemon.kill()
        daemon.start().wait_ready()
        check(figure(daemon, "rows_folded") == rows, "the same after a crash")
        check(daemon.terminate() == 0, "exit 0")
        out = os.path.join(folder, "fleet.state")
        said = subprocess.run([program, "-c", daemon.config, "export", "fleet", out], capture_output=True, text=True, check=True)
        check(json.loads(said.stdout)["folded"] == rows and json.loads(said.stdout)["sensors"] == 50, said.stdout)
        check(distance(laws(refit(tool, out)), whole) < 1e-9, "the exported state has the same laws")
        with open(daemon.config) as file:
            text = file.read()
        with open(daemon.config, "w") as file:
            file.write(text.replace('format = "state"', 'format = "json"'))
        said = subprocess.run([program, "-c", daemon.config, "verify", "fleet"], capture_output=True, text=True, check=False)
        check(said.returncode == 78 and "states of devices" in said.stderr, said.stderr)


def device_states(device, folder, name, epoch, rows, every, seed):
    """What the example in C publishes: paths by generation."""
    numbers = random.Random(seed)
    text = "".join("{:.6f} {:.6f}\n".format(*row(numbers)) for _ in range(rows))
    subprocess.run([device, name, str(epoch), str(every), folder], input=text, text=True, check=True)
    return [os.path.join(folder, f"{name}-{epoch}-{generation + 1}") for generation in range(rows // every)]


def hostile(program, _tool, _states, device):
    """The C example's states are taken; damaged, foreign and contradictory ones are refused by name, counted, told, and harmless."""
    with place() as (folder, started):
        broker = Broker(folder)
        daemon = Daemon(program, folder, FLEET + 'device_rows = 5000\n', broker)
        started.extend([broker, daemon])
        daemon.start().wait_ready()
        pump = device_states(device, folder, "pump", 1, 3000, 1000, 1)
        fan = device_states(device, folder, "fan", 1, 2000, 2000, 2)
        for path, name in ((pump[0], "pump"), (pump[2], "pump"), (pump[1], "pump"), (fan[0], "fan")):
            publish(broker, path, name)
        wait_until(lambda: figure(daemon, "rows_folded") == 5000, 20, "both devices")
        before = laws(solved(daemon))
        with open(pump[2], "rb") as file:
            sound = file.read()
        for number, content in enumerate((sound[:-1], sound[:200] + b"x" + sound[201:], b"no state at all", b"{}")):
            path = os.path.join(folder, f"bad{number}")
            with open(path, "wb") as file:
                file.write(content)
            publish(broker, path, "pump")
        reborn = device_states(device, folder, "pump", 1, 500, 100, 3)  # counts anew in its old epoch: the fifth holds fewer rows
        publish(broker, reborn[4], "pump")
        publish(broker, device_states(device, folder, "large", 1, 6000, 6000, 4)[0], "large")
        expected = {"bad_state": 4, "fewer_rows": 1, "too_many_rows": 1}
        wait_until(lambda: refused(daemon) == expected, 20, f"the refusals {refused(daemon)}")
        wait_until(lambda: all(words in alarm(daemon, "refused", "fleet") for words in ("raise device_rows", "raise its epoch")), 60,
                   "the alarm says what to do")
        check("fleet/pump/state: a state is refused (bad_state)" in daemon.log(), "the log says whose state it was")
        check(figure(daemon, "rows_folded") == 5000 and laws(solved(daemon)) == before, "they have changed nothing")
        daemon.post("/api/v1/streams/fleet/reset", b'{"sensor":"fan"}')
        wait_until(lambda: figure(daemon, "rows_folded") == 3000, 20, "the fan's rows have left the sum")
        publish(broker, fan[0], "fan")
        wait_until(lambda: figure(daemon, "rows_folded") == 5000, 20, "the fan is back")
        daemon.kill()
        daemon.start().wait_ready()
        check(figure(daemon, "rows_folded") == 5000 and refused(daemon) == expected, "the same after a crash")


def by_topic(program, _tool, _states, device):
    """sensor = "topic:2": who may publish there is the device, whatever the message says."""
    with place() as (folder, started):
        broker = Broker(folder)
        daemon = Daemon(program, folder, FLEET + 'sensor = "topic:2"\n', broker)
        started.extend([broker, daemon])
        daemon.start().wait_ready()
        pump = device_states(device, folder, "pump", 1, 2000, 1000, 1)
        publish(broker, pump[1], "pump")
        publish(broker, pump[0], "fan")
        wait_until(lambda: figure(daemon, "rows_folded") == 3000, 20, "two devices")


def configuration(program, _tool, _states, _device):
    """What does not go together with states is refused when the configuration is read."""
    with place() as (folder, _):
        for old, new, words in (('modes = "independent"\n', "", "which order its rows came"), ('noise = "shared"\n', "", "noise"),
                                ("k = 2", 'k = 2\nhalf_life = "1h"', "half_life"), ("k = 2", "k = 2\nrefit_rows = 5", "refit_rows"),
                                ('topic = "fleet/+/state"', 'topic = "$share/g/fleet/+/state"', "shared"),
                                ('topic = "fleet/+/state"', 'socket = "127.0.0.1:0"', "needs a topic"),
                                ('format = "state"', "devices_mib = 5", "belongs to format"),
                                ('format = "state"', 'format = "state"\ncolumns = ["t", "y"]', "columns")):
            daemon = Daemon(program, folder, "[mqtt]\n" + FLEET.replace(old, new))
            said = subprocess.run([program, "-c", daemon.config, "--check-config"], capture_output=True, text=True, check=False)
            check(said.returncode == 78 and words in said.stderr, f"{new}: {said.stderr}")


TESTS = {test.__name__: test for test in (fleet, hostile, by_topic, configuration)}

if __name__ == "__main__":
    for name in sys.argv[5:] or TESTS:
        begun = time.monotonic()
        TESTS[name](*sys.argv[1:5])
        print(f"{name}: {time.monotonic() - begun:.1f} s", flush=True)
