#!/usr/bin/env python3
"""Help, manual pages, completion and docs/reference/json.md say the same. pages.py MIXSTREAM SOURCE_ROOT"""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from tool import PATIENCE, rows

PROGRAM = sys.argv.pop(1)
ROOT = pathlib.Path(sys.argv.pop(1))
MAN = ROOT / "docs" / "reference" / "man"
COMPLETION = ROOT / "apps" / "mixstream" / "completion" / "mixstream"
OPTION = re.compile(r"(?<![\w-])--?[a-zA-Z][\w-]*")


def run(*words, **options):
    return subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE, **options)


def commands():
    text = run(PROGRAM, "--help").stdout
    return re.findall(r"^  (\w+) ", text.split("Subcommands:")[1].split("Start here")[0], flags=re.M)


def options_of(command):
    """Those at the beginning of a line of help: what the program really takes."""
    found = set()
    for line in run(PROGRAM, command, "--help").stdout.splitlines():
        match = re.match(r"  (-[\w-]+(?:,-[\w-]+)*)", line)
        if match:
            found.update(match.group(1).split(","))
    return found


def completed(*words):
    script = f"source '{COMPLETION}'; COMP_WORDS=({' '.join(repr(word) for word in words)}); " \
             "COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _mixstream; printf '%s\\n' \"${COMPREPLY[@]}\""
    return set(run("bash", "-c", script).stdout.split())


class Pages(unittest.TestCase):
    def test_every_command_is_known_everywhere(self):
        self.assertEqual(len(commands()), 8)
        for command in commands():
            self.assertIn(command, completed("mixstream", ""))
            self.assertTrue((MAN / f"mixstream-{command}.1").exists(), command)

    def test_every_option_has_its_place_in_the_manual_page(self):
        for command in commands():
            text = (MAN / f"mixstream-{command}.1").read_text().replace("\\-", "-")
            options = text.split(".SH OPTIONS")[1].split(".SH")[0]
            documented = set()
            for head in re.findall(r"^\.TP\n\.B (.*)", options, flags=re.M):
                documented.update(OPTION.findall(head))
            self.assertEqual(options_of(command) - {"-h", "--help"}, documented, command)

    def test_every_option_is_completed(self):
        for command in commands():
            self.assertEqual(completed("mixstream", command, "-"), options_of(command), command)

    def test_values_are_completed(self):
        self.assertEqual(completed("mixstream", "fit", "--method", ""), {"default", "paper", "em"})
        self.assertEqual(completed("mixstream", "fit", "--na", "s"), {"skip"})

    def test_columns_are_completed_also_with_blanks_and_in_lists(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "pump.csv")
            path.write_text("Flow (m3/h),power,pressure\n1,2,3\n")
            script = f"source '{COMPLETION}'; COMP_WORDS=({PROGRAM} fit {path} \"$1\" \"$2\"); COMP_CWORD=4; _mixstream; " \
                     "printf '%s\\n' \"${COMPREPLY[@]}\""
            complete = lambda option, word: run("bash", "-c", script, "bash", option, word).stdout.splitlines()
            self.assertEqual(complete("-y", "Fl"), ["Flow\\ \\(m3/h\\)"])
            self.assertEqual(complete("-x", "1,p"), ["1,power", "1,pressure"])
            self.assertEqual(complete("-x", "1,power,F"), ["1,power,Flow\\ \\(m3/h\\)"])

    def test_columns_are_completed_inside_an_open_quote(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "pump.csv")
            path.write_text("Flow (m3/h),power,pressure\n1,2,3\n")
            self.assertEqual(self.offers(path, "-y", "'Fl"), ["Flow (m3/h)"])
            self.assertEqual(self.offers(path, "-x", "'1,Flow (m"), ["1,Flow (m3/h)"])
            self.assertEqual(self.offers(path, "-x", '"1,power,F'), ["1,power,Flow (m3/h)"])

    def test_columns_are_completed_below_a_preamble_and_of_objects(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "pump log.csv")
            path.write_text("Telemetry, station 7\n\ntime;\"odd;flow\";power\n1;2;3\n2;3;4\n")
            self.assertEqual(self.offers(path, "-y", ""), ["time", "odd\\;flow", "power"])
            path = pathlib.Path(folder, "pump.ndjson")
            path.write_text('{"t":1,"pump":{"flow":2}}\n')
            self.assertEqual(self.offers(path, "-x", "1,p"), ["1,pump.flow"])

    @staticmethod
    def offers(path, option, word):
        script = f"source '{COMPLETION}'; COMP_WORDS=(\"$1\" fit \"$2\" \"$3\" \"$4\"); COMP_CWORD=4; _mixstream; " \
                 "printf '%s\\n' \"${COMPREPLY[@]}\""
        return run("bash", "-c", script, "bash", PROGRAM, path, option, word).stdout.splitlines()

    def test_help_teaches_by_example(self):
        for command in commands():
            self.assertRegex(run(PROGRAM, command, "--help").stdout, rf"Examples?:\n(?s:.*)mixstream {command} ")

    @unittest.skipUnless(shutil.which("man"), "man is not installed")
    def test_manual_pages_are_set_without_a_warning(self):
        for page in MAN.glob("*.1"):
            done = run("man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", str(page))
            self.assertEqual((done.returncode, done.stderr), (0, ""), page.name)

    def test_every_field_of_a_fit_is_documented(self):
        text = (ROOT / "docs" / "reference" / "json.md").read_text()
        for words in ([], ["--group", "t"], ["--method", "paper", "--noise-variance", "0.01"]):
            done = run(PROGRAM, "fit", "-q", "-x", "1,t" if not words or words[0] != "--group" else "1",
                       "-y", "y", *words, input="\n".join(["t,y"] + rows(500)))
            for line in done.stdout.splitlines()[:2]:
                for name in self.names(json.loads(line)):
                    self.assertIn(f"`{name}`", text)

    def test_the_settings_page_has_every_choice_of_a_fit(self):
        page = (ROOT / "docs" / "reference" / "settings.md").read_text()
        told = set(re.findall(r"^\|[^|]*\| `(-[\w-]+)`", page, flags=re.M))
        help_text = run(PROGRAM, "fit", "--help").stdout
        choices = set()
        for part in ("How to solve:", "The past:"):
            choices.update(re.findall(r"^  (?:-\w,)?(-[\w-]+)", help_text.split(part)[1].split("\n\n")[0], flags=re.M))
        self.assertGreater(len(choices), 20)
        known = options_of("fit")
        self.assertEqual(told - known, set())
        self.assertEqual({name for name in choices if name not in told} - {"--load", "--save", "--components"}, set())

    def names(self, value):
        if isinstance(value, dict):
            for name, inner in value.items():
                yield name
                if name != "refused":
                    yield from self.names(inner)
        if isinstance(value, list):
            for inner in value:
                yield from self.names(inner)


unittest.main(verbosity=2)
