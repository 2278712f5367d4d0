"""What the tests of the extension share: `python test.py LIBRARY EXTENSION TOOL [unittest's words]`. Without DuckDB's library they
are skipped."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from database import Database, Refused  # noqa: E402


class Given:
    """The words of the call, and a folder for the whole program."""

    def __init__(self):
        self.library, self.extension, self.program = (str(pathlib.Path(word).resolve()) for word in sys.argv[1:4])
        del sys.argv[1:4]
        if not pathlib.Path(self.library).exists():
            print(f"DuckDB is not at {self.library}: run apps/setup test where npm can be reached")
            sys.exit(77)
        self.kept = tempfile.TemporaryDirectory(prefix="mixstream-duckdb-")
        self.folder = pathlib.Path(self.kept.name)


CASE = Given()


class Case(unittest.TestCase):
    @staticmethod
    def database(**settings):
        return Database(CASE.library, CASE.extension, temp_directory=CASE.folder / "spill", **settings)

    @staticmethod
    def tool(*words):
        done = subprocess.run([CASE.program, *map(str, words)], capture_output=True, text=True, check=False,
                              env={"OPENBLAS_NUM_THREADS": "1", "PATH": "/usr/bin:/bin"})
        if done.returncode != 0:
            raise AssertionError(f"{words}: {done.stderr}")
        return done.stdout

    def refused(self, database, text, *words):
        """The statement ends in an error that has all these words."""
        with self.assertRaises(Refused) as caught:
            database.sql(text)
        for word in words:
            self.assertIn(word, str(caught.exception))
