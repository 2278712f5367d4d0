"""The extension under valgrind: states, merges, fits, predictions, every bit flip of a small value, aggregates that end in an
error. No memory error and no lost memory has a frame of ours; a function that reads beyond its memory shows that such would be seen.

    python test_valgrind.py MODULE LIBRARY EXTENSION_FOLDER TOOL CONTROL_MODULE [unittest's words]"""

import shutil
import sys
import unittest
import xml.etree.ElementTree as ElementTree

from fixture import CASE, Case, setUpModule, tearDownModule  # noqa: F401
from cluster import Server

CONTROL = sys.argv.pop(1)
OURS = ("/mixstream.so", "/libmixstream.so")

ROWS = ("CREATE TABLE few AS SELECT i AS id, a, b, CASE WHEN i % 3 = 0 THEN 1 + 2 * a ELSE -2 + a END + 0.1 * b AS y FROM (SELECT i, "
        "sin(i * 12.9898) AS a, cos(i * 78.233) AS b FROM generate_series(1, 2500) AS i) AS made")
FLIPPED = ("CREATE FUNCTION flipped(data bytea) RETURNS text LANGUAGE plpgsql AS $$ DECLARE refused int := 0; BEGIN FOR i IN 0 .. 8 * "
           "length(data) - 1 LOOP BEGIN PERFORM mixstream_inspect(set_bit(data, i, 1 - get_bit(data, i))::mixstream); EXCEPTION WHEN "
           "invalid_binary_representation OR feature_not_supported OR program_limit_exceeded THEN refused := refused + 1; END; END LOOP; "
           "RETURN 'refused ' || refused || ' of ' || 8 * length(data); END $$")
STATEMENTS = [
    "CREATE EXTENSION mixstream", ROWS, FLIPPED,
    "CREATE TABLE states AS SELECT id % 3 AS part, mixstream_state(y, ARRAY[a, b]) AS state FROM few GROUP BY 1",
    "SELECT length(mixstream_state(y, ARRAY[a, b], NULL, id, '{\"modes\": \"independent\"}' ORDER BY id)::bytea) FROM few",
    "SELECT 'merged', mixstream_inspect(mixstream_merge(state))->'rows' FROM states",
    "SELECT mixstream_table(mixstream_merge(state), 2), length(state::text) FROM states GROUP BY state",
    "CREATE TABLE fits AS SELECT mixstream_fit(mixstream_merge(state), 2) AS fit FROM states",
    "SELECT 'fitted', fit->>'status' FROM fits",
    "SELECT count(mixstream_predict(fit, ARRAY[a, b], y)) FROM fits, few WHERE id < 200",
    "SELECT mixstream_moments(state, 'sigma', 3) FROM states", "SELECT count(state::text::mixstream) FROM states",
    "SELECT flipped(mixstream_state(y, ARRAY[a])::bytea) FROM few WHERE id <= 3",
    "SELECT mixstream_state(y / (id - 2400), ARRAY[a, b]) FROM few",
    "SELECT mixstream_state(y, CASE WHEN id < 2400 THEN ARRAY[a] ELSE ARRAY[1.0, a] END) FROM few",
    "SELECT mixstream_state(y, ARRAY[a], NULL, id, '{\"kk\": 3}') FROM few",
    "SELECT mixstream_fit(state, 99) FROM states", "SELECT mixstream_predict('{}', ARRAY[1.0])",
    "DO $$ BEGIN FOR i IN 1 .. 5 LOOP BEGIN PERFORM mixstream_state(y / (id - 2400), ARRAY[a, b]) FROM few; EXCEPTION WHEN "
    "division_by_zero THEN NULL; END; END LOOP; END $$",
    "SELECT 'the end', count(*) FROM few",
]


class Valgrind(Case):
    def under_valgrind(self, name, statements):
        """What is printed, and the errors that have a frame of ours: [kind, functions]."""
        server = Server(CASE.cluster.programs, CASE.cluster.folder / name, starts=False)
        log = server.folder / "valgrind.xml"
        printed = server.alone(statements, "valgrind", "--quiet", "--xml=yes", f"--xml-file={log}", "--leak-check=full",
                               "--show-leak-kinds=definite", "--num-callers=60", "--error-limit=no")
        found = []
        for error in ElementTree.parse(log).iter("error"):
            objects = [frame.findtext("obj") or "" for frame in error.iter("frame")]
            if any(our in name for our in OURS for name in objects):
                found.append([error.findtext("kind"), [frame.findtext("fn") for frame in error.iter("frame")][:12]])
        return printed, found

    def test_the_extension(self):
        printed, found = self.under_valgrind("alone", STATEMENTS)
        self.assertEqual(found, [])
        for words in ("merged", "fitted", "the end", "division by zero", "same length"):
            self.assertIn(words, printed)
        refused = printed.split('"refused ')[1].split('"')[0].split(" of ")
        self.assertEqual(refused[0], refused[1])
        self.assertGreater(int(refused[0]), 2000)

    def test_a_read_beyond_memory_is_seen(self):
        module = shutil.copy(CONTROL, CASE.cluster.folder / "control.so")
        call = f"CREATE FUNCTION read_beyond() RETURNS int LANGUAGE C AS '{module}', 'read_beyond'"
        printed, found = self.under_valgrind("control", [call, "SELECT read_beyond()"])
        self.assertIn("InvalidRead", [kind for kind, _ in found], printed)


if __name__ == "__main__":
    if shutil.which("valgrind") is None:
        print("valgrind is missing: run apps/setup test")
        sys.exit(77)
    unittest.main()
