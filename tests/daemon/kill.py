"""kill -9 at random moments under QoS 1 load: nothing acknowledged is lost, nothing is folded twice, and the state is
that of a run that nobody interrupted.  kill.py MIXSTREAMD SAME_STATE [ROUNDS [SEED]] [persistent]

persistent: the laws of the rows last, the stream follows modes, and no kill may cut a chain."""

import json
import os
import random
import re
import shutil
import subprocess
import sys
import threading
import time
import urllib.error

from daemon import STREAM, Broker, Daemon, check, place, row, wait_until

ROWS = 16  # of a message
LEAST_MESSAGES = 2  # that a round must take in before it is killed
BURST = 10  # messages that are on their way when the kill falls
AT_ONCE = 20000  # messages that a broker may hold: from 65,536 on mosquitto 2.0.11 stands still, for every client
MOST_IDLE = 0.1  # share of rounds that may be killed with nothing on its way
LAWS = ((1.0, 2.0), (-1.0, 0.5))
STAY = 0.98  # of persistent laws
OPENING = 600  # messages, by which a polish of modes has begun: every kill falls inside a run
IN_SNAPSHOTS = 0.25  # share of rounds whose kill waits for a snapshot that is being written


class Feeder(threading.Thread):
    """Publishes numbered messages at QoS 1 until stopped; what it sent stays in `lines`."""

    def __init__(self, broker, seed, stay):
        super().__init__(daemon=True)
        self.numbers = random.Random(seed)
        self.stay = stay  # chance that the next row follows the law of the one before
        self.law = 0
        self.lines = []
        self.ending = False
        self.pub = subprocess.Popen(["mosquitto_pub", "-p", str(broker.port), "-q", "1", "-t", "plant/pump", "-l"],
                                    stdin=subprocess.PIPE, text=True)
        self.wanted = 0  # messages that may be out

    def run(self):
        while not self.ending:
            if len(self.lines) >= self.wanted:
                time.sleep(0.002)
                continue
            rows = [[round(v, 6) for v in self.row()] for _ in range(ROWS)]
            line = json.dumps({"sensor": "a", "seq": len(self.lines) * ROWS, "rows": rows}, separators=(",", ":"))
            self.pub.stdin.write(line + "\n")
            self.pub.stdin.flush()
            self.lines.append(line)
            time.sleep(self.numbers.random() * 0.002)

    def row(self):
        if self.stay == 0:
            return row(self.numbers)
        if self.numbers.random() > self.stay:
            self.law = 1 - self.law
        return row(self.numbers, LAWS[self.law:self.law + 1])

    def end(self):
        self.ending = True
        self.join()
        self.pub.stdin.close()
        check(self.pub.wait(60) == 0, "the publisher was not acknowledged")


def stored(folder):
    """How many messages the stream's journal has seen, by the newest sequence number in it."""
    names = os.listdir(folder) if os.path.isdir(folder) else []
    for name in sorted((name for name in names if re.fullmatch(r"journal-\d+", name)), reverse=True):
        try:
            with open(os.path.join(folder, name), "rb") as file:
                numbers = re.findall(rb'"seq":(\d+),', file.read())
        except OSError:  # a snapshot has deleted it meanwhile
            continue
        if numbers:
            return int(numbers[-1]) // ROWS + 1
    return 0


def writes_snapshot(folder):
    return any(name.startswith("snapshot-") and name.endswith(".tmp") for name in os.listdir(folder))


def wait_for_snapshot(folder, feeder):
    """Until one is being written while messages go on coming; not for ever, for it may be over between two looks."""
    feeder.wanted = len(feeder.lines) + 10 * BURST
    end = time.monotonic() + 0.4
    while not writes_snapshot(folder) and time.monotonic() < end:
        pass
    feeder.wanted = len(feeder.lines) + BURST


def play_round(daemon, feeder, state, numbers, words):
    """Starts the daemon and kills it while a burst comes; how many messages of it were not stored."""
    before = stored(state)
    feeder.wanted = len(feeder.lines) + BURST

    def has_stored(count):
        check(daemon.process.poll() is None, f"{words}: the daemon ended: {daemon.log()[-2000:]}")
        return stored(state) >= count
    while numbers.random() < 0.3:  # killed while it starts, reads back, or makes its first snapshot
        daemon.start()
        time.sleep(numbers.random() * 0.06)
        daemon.kill()
        play_round.starts += 1
    daemon.start()
    wait_until(lambda: has_stored(before + LEAST_MESSAGES), 60, f"{words} takes messages in")
    time.sleep(numbers.random() ** 3 * 0.4)
    feeder.wanted = len(feeder.lines) + BURST
    begun = len(feeder.lines)
    while len(feeder.lines) == begun:  # as soon as it has begun: a quick daemon stores it in some milliseconds
        time.sleep(0.0002)
    if numbers.random() < IN_SNAPSHOTS:
        wait_for_snapshot(state, feeder)
    else:
        time.sleep(numbers.random() * 0.003)
    daemon.kill()
    play_round.in_snapshots += writes_snapshot(state)  # what it was writing lies there unfinished
    return feeder.wanted - stored(state)


play_round.starts = play_round.in_snapshots = 0


def play(rounds, *round_of):
    """All rounds; how many messages of each were not stored."""
    unstored = []
    for number in range(rounds):
        unstored.append(play_round(*round_of, f"round {number}"))
        if (number + 1) % 500 == 0:
            print(f"{number + 1} rounds, {play_round.starts} kills at the start, {play_round.in_snapshots} inside snapshots", flush=True)
    return unstored


def compare_with_a_replay(same_state, daemon, folder):
    """The last snapshot, which the live daemon wrote, against the journal read again from the one before: every byte of the state,
    polish and labels included."""
    copy = os.path.join(folder, "copy")
    shutil.copytree(daemon.folder, copy)
    state = os.path.join(copy, "state", "pump")
    os.remove(max(os.path.join(state, name) for name in os.listdir(state) if name.startswith("snapshot-")))
    config = os.path.join(copy, "mixstreamd.toml")
    with open(daemon.config) as file:
        text = file.read().replace(f'"{daemon.folder}/state"', f'"{copy}/state"')
    with open(config, "w") as file:
        file.write(text)
    result = subprocess.run([same_state, daemon.config, config, "--exactly"], capture_output=True, text=True)
    check(result.returncode == 0, f"the replayed state is another: {result.stdout + result.stderr}")


def fit_of(daemon):
    """The newest fit; of no rows while there is none."""
    try:
        return json.loads(daemon.get("/api/v1/streams/pump/model"))
    except urllib.error.HTTPError:
        return {"rows": 0}


def settle(daemon, rows):
    """Waits for the rows as long as more of them come."""
    have, since = -1, time.monotonic()
    while have < rows:
        now = daemon.metric("mixstream_rows_folded_total", "pump")
        if now != have:
            have, since = now, time.monotonic()
        check(time.monotonic() - since < 60, f"{have} rows folded of {rows}, and no more come")
        time.sleep(0.05)


def check_modes(fit):
    """The modes are followed, and no chain ever began anew: a restart goes on in the middle of a run."""
    modes = fit.get("modes")
    check(modes is not None and fit["stage"] == "polished", f"no polish of modes: {fit}")
    check(modes["chains_cut"] == 0, f"{modes['chains_cut']} chains were cut")
    away = [1.0 - modes["transitions"][h][h] for h in range(2)]
    check(all(0.5 * (1.0 - STAY) < share < 2.0 * (1.0 - STAY) for share in away), f"transitions {modes['transitions']}")


def main():
    persistent = "persistent" in sys.argv
    words = [word for word in sys.argv[1:] if word != "persistent"]
    program, same_state = words[:2]
    rounds = int(words[2]) if len(words) > 2 else 200
    seed = int(words[3]) if len(words) > 3 else random.randrange(1 << 30)
    print(f"seed {seed}", flush=True)
    numbers = random.Random(seed)
    stream = STREAM + 'refit_interval = "0.2s"\nsnapshot_interval = "0.1s"\n'
    stream += 'modes = "persistent"\n' if persistent else ""
    with place() as (folder, started):
        broker = Broker(folder)
        started.append(broker)
        beaten = os.path.join(folder, "beaten")
        calm = os.path.join(folder, "calm")
        os.mkdir(beaten)
        os.mkdir(calm)
        daemon = Daemon(program, beaten, stream, broker, mqtt='client_id = "beaten"', log="warning")
        started.append(daemon)
        daemon.start().wait_ready()  # the broker keeps what comes from here on
        time.sleep(0.5)
        daemon.kill()
        feeder = Feeder(broker, seed + 1, STAY if persistent else 0)
        started.append(feeder.pub)
        feeder.start()
        if persistent:
            daemon.start().wait_ready()
            feeder.wanted = OPENING
            wait_until(lambda: fit_of(daemon).get("stage") == "polished", 60, "modes are followed")
            daemon.kill()
        state = os.path.join(beaten, "state", "pump")
        unstored = play(rounds, daemon, feeder, state, numbers)
        idle = sum(count <= 0 for count in unstored)
        check(idle <= MOST_IDLE * rounds, f"{idle} of {rounds} kills fell when nothing was on its way: too little load")
        feeder.wanted = 0
        feeder.end()
        rows = len(feeder.lines) * ROWS
        daemon.start().wait_ready()
        settle(daemon, rows)
        if persistent:
            wait_until(lambda: fit_of(daemon)["rows"] == rows, 60, "a fit of all rows")
            check_modes(fit_of(daemon))
        check(daemon.terminate() == 0, "SIGTERM does not end it with 0")

        other = Daemon(program, calm, stream, broker, mqtt='client_id = "calm"', log="warning")
        started.append(other)
        other.start().wait_ready()
        time.sleep(0.5)
        for begin in range(0, len(feeder.lines), AT_ONCE):
            lines = feeder.lines[begin:begin + AT_ONCE]
            subprocess.run(["mosquitto_pub", "-p", str(broker.port), "-q", "1", "-t", "plant/pump", "-l"],
                           input="\n".join(lines) + "\n", text=True, check=True)
            settle(other, (begin + len(lines)) * ROWS)
        check(other.terminate() == 0, "SIGTERM does not end the calm one with 0")

        result = subprocess.run([same_state, daemon.config, other.config], capture_output=True, text=True)
        print(result.stdout + result.stderr)
        beaten_counts = json.loads(result.stdout.splitlines()[0])
        check(beaten_counts["folded"] == rows, f"{beaten_counts['folded']} folded of {rows} (seed {seed})")
        check(beaten_counts["gaps"] == 0, "a gap")
        check(result.returncode == 0, f"the states differ (seed {seed})")
        compare_with_a_replay(same_state, daemon, folder)
        if rounds >= 100:
            check(beaten_counts["duplicate"] > 0, "no redelivery was ever seen: the test proves nothing")
            check(play_round.starts > 0 and play_round.in_snapshots > 0, "no kill fell at the start, or none inside a snapshot")
        print(f"{rounds} rounds, {play_round.in_snapshots} of them killed inside a snapshot, and {play_round.starts} kills at the start; "
              f"{rows} rows, {beaten_counts['duplicate']} redelivered rows not folded again; "
              f"{sum(unstored) / rounds:.1f} messages on their way at a kill, none at {idle}")


main()
