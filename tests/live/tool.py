"""What the tests of the running tool share: rows, and a process to feed by hand."""
import json
import os
import random
import select
import subprocess
import time

PATIENCE = 120.0  # seconds; far more than any step takes, also on a busy machine


def rows(count, seed=1, laws=((1.0, 2.0), (-1.0, -2.0)), noise=0.1):
    """Lines `t,y` of a mixture of lines, from a generator of our own."""
    generator = random.Random(seed)
    lines = []
    for _ in range(count):
        t = generator.uniform(-1, 1)
        a, b = generator.choice(laws)
        lines.append(f"{t!r},{a + b * t + generator.gauss(0, noise)!r}")
    return lines


class Tool:
    """A running mixstream whose input we write and whose output we read line by line."""

    def __init__(self, program, *words, **options):
        self.process = subprocess.Popen([program, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, **options)
        self.rest = b""

    def write(self, lines):
        self.process.stdin.write("".join(line + "\n" for line in lines).encode())
        self.process.stdin.flush()

    def fit(self, patience=PATIENCE):
        """The next line of output, or None at the end; fails when it does not come in time."""
        end = time.monotonic() + patience
        while b"\n" not in self.rest:
            left = end - time.monotonic()
            assert left > 0, "no fit in time"
            if not select.select([self.process.stdout], [], [], left)[0]:
                continue
            data = os.read(self.process.stdout.fileno(), 1 << 16)
            if not data:
                return None
            self.rest += data
        line, _, self.rest = self.rest.partition(b"\n")
        return json.loads(line)

    def silent(self, seconds):
        return b"\n" not in self.rest and not select.select([self.process.stdout], [], [], seconds)[0]

    def signal(self, number):
        self.process.send_signal(number)

    def close(self):
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            try:
                stream.close()
            except BrokenPipeError:
                pass

    def end(self):
        """Closes the input; the remaining fits, the exit code and stderr."""
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        fits = []
        while (fit := self.fit()) is not None:
            fits.append(fit)
        errors = self.process.stderr.read().decode()
        return fits, self.process.wait(PATIENCE), errors


def wait_until(true, patience=PATIENCE):
    end = time.monotonic() + patience
    while not true():
        assert time.monotonic() < end, "did not happen in time"
        time.sleep(0.02)
