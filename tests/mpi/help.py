#!/usr/bin/env python3
"""Help and manual page of mixstream-mpi say the same, and only one process says it. help.py MIXSTREAM MIXSTREAM_MPI"""
import pathlib
import re
import subprocess
import unittest

from jobs import ENVIRONMENT, MIXSTREAM, MPI, PATIENCE, command

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "reference" / "man" / "mixstream-mpi.1"
OPTION = re.compile(r"(?<![\w-])--?[a-zA-Z][\w-]*")


def run(*words):
    return subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE, env=ENVIRONMENT)


def options_of(text):
    found = set()
    for match in re.finditer(r"^  (-[\w-]+(?:,-[\w-]+)*)", text, flags=re.M):
        found.update(match.group(1).split(","))
    return found


class Help(unittest.TestCase):
    def test_help_is_printed_once_and_teaches_by_example(self):
        done = run(*command(3, "--help"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.count("Usage:"), 1)
        self.assertIn("mpirun -n 8 mixstream-mpi fit", done.stdout)

    def test_it_takes_the_options_of_the_stream_tool(self):
        own = options_of(run(MPI, "fit", "--help").stdout)
        theirs = options_of(run(MIXSTREAM, "fit", "--help").stdout)
        self.assertEqual(own - theirs, {"--checkpoint", "--piece", "--times"})
        self.assertEqual(theirs - own, {"--threads", "--unordered", "--group", "--max-groups", "--half-life", "--window", "--split"})

    def test_the_manual_page_has_what_is_not_the_stream_tools(self):
        text = PAGE.read_text().replace("\\-", "-")
        options = text.split(".SH OPTIONS")[1].split(".SH")[0]
        documented = {name for head in re.findall(r"^\.TP\n\.B (.*)", options, flags=re.M)
                      for name in OPTION.findall(head)}
        self.assertEqual(documented, {"--checkpoint", "--piece", "--times"})

    def test_the_version(self):
        self.assertRegex(run(MPI, "--version").stdout, r"^mixstream-mpi \d")


unittest.main(verbosity=2)
