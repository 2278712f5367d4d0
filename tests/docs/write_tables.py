#!/usr/bin/env python3
"""Runs the command of a page in docs/evaluation/tables and puts what it prints in the page.
write_tables.py BUILD_ROOT PAGE...

The command is the page's first indented line. A table of the page is filled from the printed table, or the printed JSON objects, one a line,
that has all its columns; other columns are left out. FOLDER in a command is an empty one."""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLE = re.compile(r"(?:^\|.*\n)+", re.M)


def cells(line):
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip())[1:-1]]


def printed_tables(text):
    """(columns, rows) of each."""
    for table in TABLE.findall(text):
        lines = table.splitlines()
        if len(lines) > 1 and lines[1].startswith("|-"):
            yield cells(lines[0]), [cells(line) for line in lines[2:]]
    objects = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    for columns in dict.fromkeys(tuple(entry) for entry in objects):
        yield list(columns), [[str(value) for value in entry.values()] for entry in objects if tuple(entry) == columns]


def filled(columns, printed):
    """The rows of the first printed table that has all columns, in their order; of several of one name, the first stands for the first."""
    for have, rows in printed:
        if set(columns) <= set(have):
            places = [[at for at, name in enumerate(have) if name == column][columns[:i].count(column)] for i, column in enumerate(columns)]
            return [[row[place] for place in places] for row in rows]
    raise SystemExit(f"nothing printed has the columns {columns}, but " + "; ".join(str(have) for have, _ in printed))


def command_of(page, build):
    line = re.search(r"^    (.*)$", page, re.M)[1]
    return re.sub(r"(?<![\w/])build(?=[/ ])", str(build), line)


def write(path, build):
    page = path.read_text()
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(["bash", "-c", command_of(page, build).replace("FOLDER", folder)], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    printed = list(printed_tables(done.stdout))

    def again(match):
        columns = cells(match[0].splitlines()[0])
        lines = match[0].splitlines()[:2] + ["| " + " | ".join(row) + " |" for row in filled(columns, printed)]
        return "\n".join(lines) + "\n"

    path.write_text(TABLE.sub(again, page))
    return done.returncode


if __name__ == "__main__":
    sys.exit(max(write(pathlib.Path(name), pathlib.Path(sys.argv[1]).resolve()) for name in sys.argv[2:]))
