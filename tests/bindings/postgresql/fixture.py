"""What the tests of the extension share: `python test.py MODULE LIBRARY EXTENSION_FOLDER TOOL [unittest's words]`."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from cluster import Cluster, Failed  # noqa: E402  (the tests take it from here)


class Given:
    """The words of the call, and a cluster for the whole program."""

    def __init__(self):
        self.module, self.library, self.extension, self.tool = sys.argv[1:5]
        del sys.argv[1:5]
        self.kept = tempfile.TemporaryDirectory(prefix="mixstream-postgresql-files-")
        self.folder = pathlib.Path(self.kept.name)
        self.folder.chmod(0o755)
        self.cluster = Cluster(self.module, self.library, self.extension)


CASE = Given()


def setUpModule():
    CASE.cluster.__enter__()


def tearDownModule():
    CASE.cluster.__exit__()


class Case(unittest.TestCase):
    @staticmethod
    def tool(*words):
        done = subprocess.run([CASE.tool, *map(str, words)], capture_output=True, text=True, check=False,
                              env={"OPENBLAS_NUM_THREADS": "1", "PATH": "/usr/bin:/bin"})
        if done.returncode != 0:
            raise AssertionError(f"{words}: {done.stderr}")
        return done.stdout

    def refused(self, server, text, *words):
        """The statement ends in an error that has all these words."""
        with self.assertRaises(Failed) as caught:
            server.sql(text)
        for word in words:
            self.assertIn(word, str(caught.exception))
