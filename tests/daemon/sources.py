"""Sources besides MQTT: sockets, stdin, replay that is killed and goes on.  sources.py MIXSTREAMD SAME_STATE"""

import json
import os
import random
import signal
import socket
import struct
import subprocess
import sys
import time

from daemon import Daemon, check, free_port, place, row, wait_until

CSV = """
[[stream]]
name = "rows"
{source}
format = "csv"
columns = ["t", "y"]
features = "1,t"
response = "y"
k = 2
refit_interval = "0.1s"
snapshot_interval = "0.2s"
"""


def text(count, seed):
    numbers = random.Random(seed)
    return "".join("%.6f,%.6f\n" % row(numbers) for _ in range(count))


def count(daemon, name="folded"):
    return daemon.metric(f"mixstream_rows_{name}_total", "rows")


def unix_socket(program, same_state):
    with place() as (folder, started):
        path = os.path.join(folder, "rows.sock")
        daemon = Daemon(program, folder, CSV.format(source=f'socket = "unix:{path}"'))
        started.append(daemon)
        daemon.start().wait_ready()
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(path)
        data = text(2000, 1).encode()
        for at in range(0, len(data), 777):  # cut anywhere
            connection.sendall(data[at:at + 777])
        connection.sendall(b"1,2\r\n\nno,number\n" + b"x" * (3 << 20) + b"\n0.5,0.25")  # the last without newline
        connection.close()
        wait_until(lambda: count(daemon) == 2002, what="rows of a Unix socket")
        figures = daemon.metrics()
        refused = {key.split('reason="')[1].split('"')[0]: value for key, value in figures.items()
                   if key.startswith("mixstream_rows_refused_total{")}
        check(refused == {"not_a_number": 1, "line_too_long": 1}, f"refused: {refused}")
        check(daemon.terminate() == 0, "exit 0")
        check(not os.path.exists(path), "the socket is gone")


def tcp_json(program, same_state):
    with place() as (folder, started):
        port = free_port()
        stream = CSV.format(source=f'socket = "127.0.0.1:{port}"').replace('"csv"', '"json"')
        daemon = Daemon(program, folder, stream)
        started.append(daemon)
        daemon.start().wait_ready()
        numbers = random.Random(5)
        with socket.create_connection(("127.0.0.1", port)) as connection:
            for i in range(500):
                t, y = row(numbers)
                connection.sendall((json.dumps({"t": t, "y": y, "sensor": "s", "seq": i // 2}) + "\n").encode())
        wait_until(lambda: count(daemon, "in") == 500, what="rows")
        check(count(daemon) == 250 and count(daemon, "duplicate") == 250, "each number once")


def public_socket_is_refused(program, same_state):
    with place() as (folder, started):
        daemon = Daemon(program, folder, CSV.format(source='socket = "0.0.0.0:7070"'))
        result = subprocess.run([program, "--config", daemon.config, "--check-config"], capture_output=True, text=True)
        check(result.returncode == 78 and "socket_public" in result.stderr, result.stderr)


def standard_input(program, same_state):
    with place() as (folder, started):
        daemon = Daemon(program, folder, CSV.format(source="stdin = true").replace('"csv"', '"f64"'),
                        arguments=["--exit-when-done"], http=False)
        numbers = random.Random(3)
        data = b"".join(struct.pack("<2d", *row(numbers)) for _ in range(3000))
        result = subprocess.run([program, "--config", daemon.config, "--exit-when-done"], input=data,
                                capture_output=True, timeout=60)
        check(result.returncode == 0, result.stderr.decode())
        counts = subprocess.run([same_state, daemon.config, daemon.config], capture_output=True, text=True)
        check(counts.returncode == 0 and '"folded":3000' in counts.stdout, counts.stdout + counts.stderr)


def half_a_row_outlives_a_reload(program, same_state):
    with place() as (folder, started):
        daemon = Daemon(program, folder, CSV.format(source="stdin = true").replace('"csv"', '"f64"'), http=False)
        numbers = random.Random(4)
        data = b"".join(struct.pack("<2d", *row(numbers)) for _ in range(3000))
        process = subprocess.Popen([program, "--config", daemon.config, "--exit-when-done"], stdin=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        half = 1000 * 16 + 5
        process.stdin.write(data[:half])
        process.stdin.flush()
        time.sleep(1)
        process.send_signal(signal.SIGHUP)
        time.sleep(1)
        process.stdin.write(data[half:])
        process.stdin.close()
        check(process.wait(60) == 0, process.stderr.read().decode())
        counts = subprocess.run([same_state, daemon.config, daemon.config], capture_output=True, text=True)
        check('"folded":3000' in counts.stdout, counts.stdout + counts.stderr)


def replay_goes_on_where_it_was(program, same_state):
    with place() as (folder, started):
        files = []
        for i in range(2):
            files.append(os.path.join(folder, f"{i}.csv"))
            with open(files[-1], "w") as file:
                file.write("t,y\n" + text(60000, 10 + i))
        source = "replay = " + json.dumps(files)
        one, two = os.path.join(folder, "one"), os.path.join(folder, "two")
        os.mkdir(one)
        os.mkdir(two)
        numbers = random.Random(7)
        beaten = Daemon(program, one, CSV.format(source=source), http=False, arguments=["--exit-when-done"])
        started.append(beaten)
        kills = 0
        for _ in range(30):
            beaten.start()
            time.sleep(0.05 + numbers.random() * 0.2)
            if beaten.process.poll() is not None:
                break
            beaten.kill()
            kills += 1
        beaten.start()
        check(beaten.process.wait(120) == 0, beaten.log()[-2000:])
        calm = Daemon(program, two, CSV.format(source=source), http=False, arguments=["--exit-when-done"])
        started.append(calm)
        calm.start()
        check(calm.process.wait(120) == 0, calm.log()[-2000:])
        result = subprocess.run([same_state, beaten.config, calm.config], capture_output=True, text=True)
        check(result.returncode == 0 and '"folded":120000' in result.stdout, result.stdout + result.stderr)
        print(f"{kills} kills")
        with open(files[-1], "a") as file:
            file.write("broken,row\n")
        calm.start()
        check(calm.process.wait(120) == 0, calm.log()[-2000:])
        result = subprocess.run([same_state, beaten.config, calm.config], capture_output=True, text=True)
        check(result.returncode == 1, f"one refused row more is another state: {result.stdout + result.stderr}")


def long_last_line(program, same_state):
    """A line beyond the limit at the end of a replayed file is counted once, however often we start."""
    with place() as (folder, started):
        path = os.path.join(folder, "long.csv")
        with open(path, "w") as file:
            file.write("t,y\n" + text(2000, 3) + "9" * (3 << 20))
        daemon = Daemon(program, folder, CSV.format(source=f'replay = ["{path}"]'), http=False, arguments=["--exit-when-done"])
        started.append(daemon)
        for _ in range(3):
            daemon.start()
            check(daemon.process.wait(60) == 0, daemon.log()[-2000:])
        counts = subprocess.run([same_state, daemon.config, daemon.config], capture_output=True, text=True)
        check('"folded":2000,"duplicate":0,"refused":1,' in counts.stdout, counts.stdout + counts.stderr)


def main():
    for test in (long_last_line, unix_socket, tcp_json, public_socket_is_refused, standard_input, half_a_row_outlives_a_reload,
                 replay_goes_on_where_it_was):
        test(*sys.argv[1:3])
        print("passed:", test.__name__, flush=True)


main()
