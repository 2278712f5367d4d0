#!/usr/bin/env python3
"""The tool's face on a terminal: a table, colours, a progress line, narrow windows. terminal.py MIXSTREAM"""
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
import unittest

from tool import PATIENCE, rows

PROGRAM = sys.argv.pop(1)
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def on_terminal(words, lines, columns=80, pause=0.0, **variables):
    """Runs the tool with stdout and stderr on a terminal; what it shows."""
    main, side = pty.openpty()
    fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    environment = {**os.environ, "TERM": "xterm", **variables}
    for name in ("NO_COLOR", "COLUMNS"):
        if name not in variables:
            environment.pop(name, None)
    process = subprocess.Popen([PROGRAM, *words], stdin=subprocess.PIPE, stdout=side, stderr=side, env=environment)
    os.close(side)
    for part in (lines[: len(lines) // 2], lines[len(lines) // 2:]):
        process.stdin.write("".join(line + "\n" for line in part).encode())
        process.stdin.flush()
        time.sleep(pause)
    process.stdin.close()
    shown = b""
    while True:
        try:
            data = os.read(main, 1 << 16)
        except OSError:
            break
        if not data:
            break
        shown += data
    os.close(main)
    assert process.wait(PATIENCE) in (0, 3)
    return shown.decode().replace("\r\n", "\n")


class Stream:
    """The tool with a stream that goes on, its stderr on a terminal; its stdin too where rows are typed."""

    def __init__(self, words, lines=(), typed=False):
        self.main, side = pty.openpty()
        fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 80, 0, 0))
        self.process = subprocess.Popen([PROGRAM, *words], stdin=side if typed else subprocess.PIPE, stdout=side, stderr=side)
        os.close(side)
        self.shown = ""
        if lines:
            self.send(lines)

    def send(self, lines):
        self.process.stdin.write("".join(line + "\n" for line in lines).encode())
        self.process.stdin.flush()

    def wait_for(self, text):
        end = time.monotonic() + PATIENCE
        while text not in self.shown:
            left = end - time.monotonic()
            assert left > 0 and select.select([self.main], [], [], left)[0], f"'{text}' is not shown: {self.shown!r}"
            self.shown += os.read(self.main, 1 << 16).decode()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()
        os.close(self.main)


def screen_lines(shown):
    return [COLOUR.sub("", line.split("\x1b[K")[-1]) for line in shown.split("\n")]


class Terminal(unittest.TestCase):
    words = ["fit", "-k", "2", "-y", "y", "-x", "1,t"]
    lines = ["t,y"] + rows(3000)

    def test_a_table_with_errors_and_a_verdict_in_words(self):
        shown = on_terminal(self.words, self.lines)
        for part in ("2 laws of y ~ 1 + t", "3,000 rows", "law 1", "law 2", "weight", "constant", "noise sd",
                     " \u00b1 ", "the moments agree", "ok"):
            self.assertIn(part, shown)
        self.assertIn("\x1b[", shown)
        self.assertNotIn('"schema"', shown)

    def test_json_on_request(self):
        self.assertIn('{"schema":1', on_terminal(self.words + ["--json"], self.lines))

    def test_no_colour_when_told(self):
        for words, variables in ((["--color", "never"], {}), ([], {"NO_COLOR": "1"})):
            shown = on_terminal(self.words + words + ["-q"], self.lines, **variables)
            self.assertNotIn("\x1b", shown)
            self.assertIn("law 1", shown)

    def test_no_line_is_wider_than_the_terminal(self):
        many = ["fit", "-k", "7", "-y", "y", "-x", "1,t", "--method", "em"]
        for columns in (40, 60, 80, 132):
            shown = on_terminal(many, self.lines[:600], columns)
            for law in range(1, 8):
                self.assertIn(f"law {law}", shown)
            self.assertLessEqual(max(map(len, screen_lines(shown))), columns, shown)

    def test_the_progress_line_is_shown_and_taken_back(self):
        lines = ["t,y"] + rows(60000)
        shown = on_terminal(self.words, lines, pause=0.5)
        self.assertRegex(shown, r"\r\x1b\[K[\d,]+ rows, [\d,]+ rows/s, [0-9.]+ MB/s")
        self.assertNotIn("rows/s", "\n".join(screen_lines(shown)))
        self.assertNotIn("rows/s", on_terminal(self.words + ["-q"], lines, pause=0.5))
        narrow = on_terminal(self.words, lines, columns=20, pause=0.5)
        for piece in re.findall(r"\r\x1b\[K([^\r\n\x1b]*)", narrow):
            self.assertLess(len(piece), 20)

    def test_progress_is_right_to_the_last_row_while_the_stream_stands_still(self):
        for first, more in ((10, 1), (1000, 1500), (10, 4000)):
            lines = ["t,y"] + rows(first + more)
            with Stream([*self.words], lines[: 1 + first]) as stream:
                stream.wait_for(f"{first:,} row")
                stream.send(lines[1 + first:])
                stream.wait_for(f"{first + more:,} rows, ")

    def test_without_a_file_it_says_that_it_waits(self):
        with Stream(self.words, typed=True) as stream:
            stream.wait_for("waiting for rows on the keyboard: give a file, or type rows and end with Ctrl-D")


unittest.main(verbosity=2)
