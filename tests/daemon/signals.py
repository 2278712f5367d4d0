"""Signals, exit codes, a second daemon, secrets and the manager's protocol.  signals.py MIXSTREAMD"""

import json
import os
import random
import signal
import socket
import subprocess
import sys
import time

from daemon import STREAM, Broker, Daemon, check, free_port, place, row, wait_until

SOCKET = """
[[stream]]
name = "lines"
socket = "127.0.0.1:{port}"
format = "csv"
columns = ["t", "y"]
features = "1,t"
response = "y"
k = {k}
refit_interval = "{interval}"
"""


def lines(count, seed=1):
    numbers = random.Random(seed)
    return "".join("%.6f,%.6f\n" % row(numbers) for _ in range(count)).encode()


def send(port, data):
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(data)


def folded(daemon, stream="lines"):
    return daemon.metric("mixstream_rows_folded_total", stream)


def run(program, *words):
    return subprocess.run([program, *words], capture_output=True, text=True, timeout=60)


def terminates_with_everything_saved(program):
    with place() as (folder, started):
        port = free_port()
        daemon = Daemon(program, folder, SOCKET.format(port=port, k=2, interval="1h"))
        started.append(daemon)
        daemon.start().wait_ready()
        send(port, lines(5000))
        wait_until(lambda: folded(daemon) == 5000, what="5000 rows")
        began = time.monotonic()
        check(daemon.terminate() == 0, "SIGTERM: exit 0")
        check(time.monotonic() - began < 10, "SIGTERM within 10 s")
        state = os.path.join(folder, "state", "lines")
        check(any(name.startswith("snapshot") for name in os.listdir(state)), "a snapshot")
        daemon.start().wait_ready()
        check(folded(daemon) == 5000, "rows are there again")
        daemon.process.send_signal(signal.SIGUSR1)
        wait_until(lambda: daemon.metric("mixstream_fit_components", "lines") == 2, what="SIGUSR1 makes a fit")


def reloads(program):
    with place() as (folder, started):
        port, other = free_port(), free_port()
        daemon = Daemon(program, folder, SOCKET.format(port=port, k=2, interval="0.1s"))
        started.append(daemon)
        daemon.start().wait_ready()
        send(port, lines(3000))
        wait_until(lambda: folded(daemon) == 3000, what="rows")
        for text, words in (("nonsense = 3\n", "knows no key 'nonsense'"),
                            (SOCKET.format(port=port, k=2, interval="0.1s").replace("1,t", "1,t,t^2"), "its state has features")):
            daemon.write_config(text)
            daemon.process.send_signal(signal.SIGHUP)
            wait_until(lambda: words in daemon.log(), what=f"refusal: {words}")
            wait_until(daemon.ready, what="ready again")
            check(daemon.metrics()["mixstream_config_last_reload_successful"] == 0, "the gauge says so")
            before = folded(daemon)
            send(port, lines(100, 2))
            wait_until(lambda: folded(daemon) == before + 100, what="the old configuration still works")
        daemon.write_config(SOCKET.format(port=other, k=1, interval="0.1s"))
        daemon.process.send_signal(signal.SIGHUP)
        wait_until(lambda: "the new configuration is in force" in daemon.log(), what="reload")
        send(other, lines(100, 3))
        wait_until(lambda: folded(daemon) == 3300, what="rows at the new port")
        wait_until(lambda: daemon.metric("mixstream_fit_components", "lines") == 1, what="a fit with the new k")
        check(daemon.metrics()["mixstream_config_last_reload_successful"] == 1, "the gauge says so")


def remembers(program):
    """Fits and alarms are there again after a restart; after a kill, alarms of what no snapshot held are made again."""
    with place() as (folder, started):
        port = free_port()
        daemon = Daemon(program, folder, SOCKET.format(port=port, k=2, interval="0.1s"))
        started.append(daemon)
        daemon.start().wait_ready()

        def stream():
            return json.loads(daemon.get("/api/v1/streams/lines"))

        def history():
            wait_until(lambda: stream()["fit"], what="a fit")
            return json.loads(daemon.get("/api/v1/streams/lines/history"))["fits"]

        def kinds():
            return [alarm["kind"] for alarm in stream()["alarms"]]
        for i in range(1, 4):
            send(port, lines(1000, i))
            wait_until(lambda: stream()["fit"] and stream()["fit"]["rows"] == 1000 * i, what=f"fit {i}")
        send(port, b"nonsense\n")
        wait_until(lambda: "refused" in kinds(), what="an alarm")
        before, fits = stream()["alarms"], history()
        check(len(fits) >= 3, f"{len(fits)} fits")
        check(daemon.terminate() == 0, "exit 0")
        daemon.start().wait_ready()
        check(stream()["alarms"] == before, f"alarms over a restart: {stream()['alarms']} instead of {before}")
        kept = fits[:-1]  # the last is the newest fit, which is made anew
        check(history()[:len(kept)] == kept, f"the history over a restart: {history()} instead of {fits}")
        state = os.path.join(folder, "state", "lines")
        rows = b"0.5,inf\n"
        send(port, rows)
        wait_until(lambda: "2 rows refused" in daemon.get("/api/v1/streams/lines"), what="its words follow")
        daemon.kill()
        daemon.start().wait_ready()
        wait_until(lambda: "2 rows refused" in daemon.get("/api/v1/streams/lines"), 10, "told again after a kill")
        check(history()[:len(kept)] == kept, "the history after a kill")
        modes = {name: os.stat(os.path.join(state, name)).st_mode & 0o777 for name in os.listdir(state)}
        check(all(mode & 0o077 == 0 for mode in modes.values()), f"files are their owner's: {modes}")
        check(os.stat(state).st_mode & 0o777 == 0o700, "and so is the folder")


def refuses(program):
    with place() as (folder, started):
        port = free_port()
        daemon = Daemon(program, folder, SOCKET.format(port=port, k=2, interval="1h"))
        started.append(daemon)
        daemon.start().wait_ready()
        send(port, lines(1000))
        wait_until(lambda: folded(daemon) == 1000, what="rows")
        second = Daemon(program, folder, SOCKET.format(port=free_port(), k=2, interval="1h"))
        result = run(program, "--config", second.config)
        check(result.returncode == 1, f"a second daemon ends with 1, not {result.returncode}: {result.stderr}")
        check(daemon.terminate() == 0, "exit 0")
        state = os.path.join(folder, "state", "lines")
        for name in os.listdir(state):
            if name.startswith("snapshot"):
                path = os.path.join(state, name)
                data = bytearray(open(path, "rb").read())
                data[len(data) // 2] ^= 1
                open(path, "wb").write(data)
            elif name.startswith("journal"):  # else it would be folded from its first record
                os.remove(os.path.join(state, name))
        result = run(program, "--config", daemon.config)
        check(result.returncode == 78, f"a damaged state ends with 78, not {result.returncode}: {result.stderr}")


def keeps_secrets(program):
    with place() as (folder, started):
        secret = os.path.join(folder, "password")
        with open(secret, "w") as file:
            file.write("hunter2-very-secret\n")
        os.chmod(secret, 0o644)
        passwords = os.path.join(folder, "passwords")
        open(passwords, "w").close()
        subprocess.run(["mosquitto_passwd", "-b", passwords, "mixstream", "hunter2-very-secret"], check=True)
        os.chmod(passwords, 0o600)
        broker = Broker(folder, extra=f"password_file {passwords}\n")
        started.append(broker)
        broker.change("allow_anonymous true", "allow_anonymous false")
        mqtt = f'username = "mixstream"\npassword_file = "{secret}"'
        daemon = Daemon(program, folder, STREAM, broker, mqtt=mqtt, log="debug")
        started.append(daemon)
        result = run(program, "--config", daemon.config)
        check(result.returncode == 78 and "0600" in result.stderr.replace("chmod 600", "0600"),
              f"a secret that others can read is refused: {result.returncode} {result.stderr}")
        os.chmod(secret, 0o600)
        daemon.start().wait_ready()
        check("hunter2" not in daemon.log(), "no secret in the log")
        check("hunter2" not in open(f"/proc/{daemon.process.pid}/cmdline").read(), "no secret in the arguments")
        check(daemon.terminate() == 0, "exit 0")
        credentials = os.path.join(folder, "credentials")  # as the service manager hands them over
        os.mkdir(credentials)
        os.rename(secret, os.path.join(credentials, "mqtt"))
        os.chmod(os.path.join(credentials, "mqtt"), 0o440)
        daemon.mqtt = 'username = "mixstream"\npassword_file = "credential:mqtt"'
        daemon.write_config(STREAM)
        daemon.start({"CREDENTIALS_DIRECTORY": credentials}).wait_ready()
        plain = run(program, "--config", daemon.config, "--check-config")
        check("hunter2" not in plain.stdout + plain.stderr, "no secret in --check-config")


def speaks_to_the_manager(program):
    with place() as (folder, started):
        path = os.path.join(folder, "notify")
        manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        manager.bind(path)
        manager.settimeout(30)
        port = free_port()
        daemon = Daemon(program, folder, SOCKET.format(port=port, k=2, interval="1h"))
        started.append(daemon)
        daemon.start({"NOTIFY_SOCKET": path, "WATCHDOG_USEC": "600000", "JOURNAL_STREAM": "1:2"})
        heard = []

        def hear(word):
            while not any(word in text for text in heard):
                heard.append(manager.recv(4096).decode())
            heard.clear()
        hear("READY=1")
        hear("WATCHDOG=1")
        hear("STATUS=lines: 0 rows")
        hear("WATCHDOG=1")
        daemon.process.send_signal(signal.SIGHUP)
        hear("RELOADING=1\nMONOTONIC_USEC=")
        hear("READY=1")
        daemon.process.send_signal(signal.SIGTERM)
        hear("STOPPING=1")
        check(daemon.process.wait(10) == 0, "exit 0")
        check(daemon.log().startswith("<6>"), "priorities for journald")


def logs_as_json(program):
    with place() as (folder, started):
        port = free_port()
        daemon = Daemon(program, folder, SOCKET.format(port=port, k=2, interval="0.1s"))
        with open(daemon.config) as file:
            text = file.read().replace("[log]", '[log]\nformat = "json"')
        with open(daemon.config, "w") as file:
            file.write(text)
        started.append(daemon)
        daemon.start().wait_ready()
        send(port, b"\x1b[31mno row \xff\n")
        wait_until(lambda: "refused" in daemon.log(), what="a warning")
        check(daemon.terminate() == 0, "exit 0")
        said = [json.loads(line) for line in daemon.log().splitlines()]
        check(all({"time", "level", "message"} <= line.keys() for line in said), f"every line: {said}")
        warnings = [line for line in said if line["level"] == "warning"]
        check(warnings and warnings[0]["stream"] == "lines" and "1 rows refused" in warnings[0]["message"], f"{said}")


def solves_when_the_stream_changes(program):
    """Two streams with the same rows, in one daemon; only one of them solves when it sees a change."""
    with place() as (folder, started):
        ports = {name: free_port() for name in ("lines", "patient")}
        text = "".join(SOCKET.format(port=port, k=2, interval=0).replace('"0"', "0").replace('"lines"', f'"{name}"') +
                       f"refit_on_drift = {'true' if name == 'lines' else 'false'}\n" for name, port in ports.items())
        daemon = Daemon(program, folder, text)
        started.append(daemon)
        daemon.start().wait_ready()
        check(len(json.loads(daemon.get("/api/v1/streams"))["streams"]) == 2, "two streams")
        total = 0

        def fits(name):
            return daemon.metric("mixstream_refits_total", name)

        def send_both(data, count):
            nonlocal total
            total += count
            for name, port in ports.items():
                send(port, data)
                wait_until(lambda: folded(daemon, name) == total, what=f"{total} rows of {name}")
        for seed in range(60):
            send_both(lines(1000, 100 + seed), 1000)
        wait_until(lambda: fits("patient") > 0 and fits("lines") > 0, what="first fits")
        seen = []

        def settled():  # what was due is solved, on a slow machine too
            seen.append([fits(name) for name in ports] + ["running\":true" in daemon.stream(name).replace(" ", "") for name in ports])
            time.sleep(1)
            return len(seen) > 2 and seen[-1] == seen[-2] == seen[-3] and not any(seen[-1][2:])
        wait_until(settled, what="solves of what came so far")
        before = {name: fits(name) for name in ports}
        numbers = random.Random(9)
        changed = "".join("%.6f,%.6f\n" % row(numbers, ((1.0, -2.0), (-1.0, 1.5))) for _ in range(3000)).encode()
        send_both(changed, 3000)
        wait_until(lambda: fits("lines") > before["lines"], what="a solve by the change")
        wait_until(lambda: '"drift"' in daemon.get("/api/v1/streams/patient"), what="both see it")
        check(fits("patient") == before["patient"], "who is told not to does not solve")


def terminates_amid_a_solve(program):
    """A solve that takes long (six laws in noise that has none) holds up neither the end nor what is saved."""
    with place() as (folder, started):
        port = free_port()
        names = [f"c{i}" for i in range(12)]
        stream = SOCKET.format(port=port, k=6, interval="1h").replace('"1,t"', f'"1,{",".join(names)}"')
        daemon = Daemon(program, folder, stream.replace('["t", "y"]', json.dumps([*names, "y"])))
        started.append(daemon)
        daemon.start().wait_ready()
        numbers = random.Random(4)
        noise = "".join(",".join(f"{numbers.gauss(0, 1):.4f}" for _ in range(13)) + "\n" for _ in range(10000))
        send(port, noise.encode())
        wait_until(lambda: folded(daemon) == 10000, what="10000 rows")
        daemon.process.send_signal(signal.SIGUSR1)
        wait_until(lambda: '"running":true' in daemon.stream("lines").replace(" ", ""), what="a solve")
        began = time.monotonic()
        check(daemon.terminate(20) == 0, "SIGTERM amid a solve: exit 0")
        check(time.monotonic() - began < 10, "SIGTERM within 10 s")
        check("all saved" in daemon.log(), "all saved")


def main():
    for test in (terminates_with_everything_saved, terminates_amid_a_solve, reloads, remembers, refuses, keeps_secrets, logs_as_json,
                 solves_when_the_stream_changes, speaks_to_the_manager):
        test(sys.argv[1])
        print("passed:", test.__name__, flush=True)


main()
