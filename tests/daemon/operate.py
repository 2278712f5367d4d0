"""What a person does with a stream's files: verify, export, backup; and a record that ends the daemon is put aside.
operate.py MIXSTREAMD MIXSTREAM [TEST...]"""

import json
import os
import random
import resource
import shutil
import subprocess
import sys

from availability import folded, messages, send
from daemon import STREAM, Broker, Daemon, check, place, wait_until


def run(*words):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=60)


def commands(program, tool):
    """Against a daemon that runs, and one that has ended."""
    with place() as (folder, started):
        broker = Broker(folder)
        daemon = Daemon(program, folder, STREAM + 'snapshot_interval = "0.2s"\n', broker)
        started.extend([broker, daemon])
        daemon.start().wait_ready()
        numbers = random.Random(1)
        send(broker, messages(numbers, 0, 100))
        wait_until(lambda: folded(daemon) == 1600, 20, "rows")
        pub = subprocess.Popen(["mosquitto_pub", "-p", str(broker.port), "-q", "1", "-t", "plant/pump", "-l"],
                               stdin=subprocess.PIPE, text=True)
        for i in range(10):  # while rows come and files go
            pub.stdin.write("\n".join(messages(numbers, 100 + 20 * i, 20)) + "\n")
            pub.stdin.flush()
            result = run(program, "-c", daemon.config, "verify", "pump")
            check(result.returncode == 0, result.stderr)
            said = json.loads(result.stdout)
            check(said["sound"] and said["folded"] >= 1600 and said["gaps"] == 0, result.stdout)
            result = run(program, "-c", daemon.config, "backup", "pump", f"{folder}/backup{i}")
            check(result.returncode == 0, result.stderr)
        pub.stdin.close()
        check(pub.wait(20) == 0, "published")
        wait_until(lambda: folded(daemon) == 4800, 20, "rows")
        result = run(program, "-c", daemon.config, "export", "pump", f"{folder}/pump.state")
        check(result.returncode == 0, result.stderr)
        result = run(tool, "inspect", f"{folder}/pump.state")
        check(result.returncode == 0 and "4800" in result.stdout.replace(",", ""), result.stdout + result.stderr)
        check(daemon.terminate() == 0, "exit 0")

        shutil.rmtree(f"{folder}/state/pump")
        os.rename(f"{folder}/backup9", f"{folder}/state/pump")
        daemon.start().wait_ready()
        check(1600 <= folded(daemon) <= 4800, "a daemon starts from a backup")
        send(broker, messages(random.Random(1), 0, 300))
        wait_until(lambda: daemon.metric("mixstream_rows_in_total", "pump") >= 4800, 20, "rows")
        check(daemon.terminate() == 0, "exit 0")

        for words, code in ((("verify", "none"), 78), (("backup", "pump", folder), 1), (("verify",), 2)):
            result = run(program, "-c", daemon.config, *words)
            check(result.returncode == code, f"{words}: {result.returncode} {result.stderr}")
        state = f"{folder}/state/pump"
        for name in os.listdir(state):
            if name.startswith("snapshot"):
                with open(os.path.join(state, name), "r+b") as file:
                    file.seek(200)
                    file.write(b"damage")
        result = run(program, "-c", daemon.config, "verify", "pump")
        check(result.returncode == 78 and "damaged" in result.stderr, f"{result.returncode} {result.stdout}{result.stderr}")


def quarantine(program, tool):
    """A message that the memory cannot hold ends the daemon at every start; the third time it is put aside."""
    with place() as (folder, started):
        broker = Broker(folder)
        daemon = Daemon(program, folder, STREAM + "refit_interval = 0\n", broker)
        started.extend([broker, daemon])
        one_arena = {**os.environ, "MALLOC_ARENA_MAX": "1"}  # else the limit is met at random
        daemon.start(one_arena).wait_ready()
        numbers = random.Random(2)
        send(broker, messages(numbers, 0, 20))
        wait_until(lambda: folded(daemon) == 320, 20, "rows")
        with open(f"/proc/{daemon.process.pid}/status") as file:
            peak = next(int(line.split()[1]) for line in file if line.startswith("VmPeak")) << 10
        daemon.kill()
        limit = peak + (40 << 20)
        plain = daemon.start

        def start():
            with open(daemon.log_path, "a") as log:
                daemon.process = subprocess.Popen([program, "--config", daemon.config], stdout=log, stderr=log, env=one_arena,
                                                  preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
        start()
        daemon.wait_ready()
        subprocess.run(["mosquitto_pub", "-p", str(broker.port), "-q", "1", "-t", "plant/pump", "-s"],
                       input=b"[" + b'{"t":1},' * 500_000 + b"1]", check=True)
        deaths = 0
        for _ in range(6):
            try:
                daemon.process.wait(10)
                deaths += 1
                start()
            except subprocess.TimeoutExpired:
                break
        check(deaths > 0, "the message ends it")
        check(deaths <= 4 and daemon.process.poll() is None, f"it ended {deaths} times: {daemon.log()[-500:]}")
        daemon.wait_ready()
        send(broker, messages(numbers, 20, 20))
        wait_until(lambda: folded(daemon) == 640, 20, f"rows before and behind it: {folded(daemon)}")
        text = daemon.stream("pump")
        check('"quarantine"' in text and "put aside" in text and '"quarantined":' in text, text)
        check(any(name.startswith("quarantine-") for name in os.listdir(os.path.join(folder, "state", "pump"))), "its bytes are kept")
        check(daemon.terminate() == 0, "exit 0")
        plain().wait_ready()
        check(folded(daemon) == 640, "and after a restart")


def histograms(program, tool):
    with place() as (folder, started):
        broker = Broker(folder)
        daemon = Daemon(program, folder, STREAM + 'refit_interval = "0.1s"\n', broker)
        started.extend([broker, daemon])
        daemon.start().wait_ready()
        send(broker, messages(random.Random(3), 0, 100))
        wait_until(lambda: folded(daemon) == 1600 and daemon.metric("mixstream_refit_seconds_count", "pump") > 0, 20, "a fit")
        figures = daemon.metrics()
        for name, least in (("append", 1), ("message", 100), ("refit", 1)):
            buckets = [value for key, value in figures.items() if key.startswith(f"mixstream_{name}_seconds_bucket{{")]
            count = daemon.metric(f"mixstream_{name}_seconds_count", "pump")
            check(len(buckets) == 14 and buckets == sorted(buckets) and buckets[-1] >= least, f"{name}: {buckets}")
            check(count >= least and daemon.metric(f"mixstream_{name}_seconds_sum", "pump") > 0, f"{name}: {count}")


def main():
    for test in (commands, quarantine, histograms):
        if sys.argv[3:] and test.__name__ not in sys.argv[3:]:
            continue
        test(*sys.argv[1:3])
        print("passed:", test.__name__, flush=True)


if __name__ == "__main__":
    main()
