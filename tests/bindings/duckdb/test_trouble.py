"""What goes wrong: rows that are not whole, damaged states, ten thousand groups, windows, errors in the middle, no memory given
back twice or never. Every error is DuckDB's, with a hint, and the next statement works."""

import json
import pathlib
import threading
import unittest

from fixture import CASE, Case, Refused

VERSION_1 = pathlib.Path(__file__).resolve().parents[2] / "compat" / "version-1.state"
MAKE_ROWS = """
CREATE TABLE few AS
  SELECT i AS id, a, b, CASE WHEN i % 3 = 0 THEN 1 + 2 * a ELSE -2 + a END + 0.1 * b AS y
  FROM (SELECT i, sin(i * 12.9898) AS a, cos(i * 78.233) AS b FROM range(1, 4001) AS t (i)) AS made;
"""


def resident_kib():
    status = pathlib.Path("/proc/self/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0])


class Trouble(Case):
    def setUp(self):
        self.db = self.database(threads=2)
        self.db.sql(MAKE_ROWS)

    def tearDown(self):
        self.db.close()

    def test_rows_that_are_not_whole(self):
        found = json.loads(self.db.sql(
            "SELECT mixstream_inspect(mixstream_state(y, x)) FROM (VALUES (1.0::DOUBLE, [1.0, 2.0]::DOUBLE[]), (NULL, [1, 2]), "
            "(1, NULL), (1, [NULL, 2]), ('NaN', [1, 2]), (1, ['Infinity'::DOUBLE, 2]), (2, [3, 4])) AS t (y, x)"))
        self.assertEqual((found["rows"], found["refused"]), (2, {"infinite": 1, "missing": 3, "not_a_number": 1}))
        self.assertEqual(self.db.sql("SELECT mixstream_state(y, [a]) IS NULL FROM few WHERE id < 0"), "true")
        self.assertEqual(self.db.sql("SELECT mixstream_fit(NULL) IS NULL"), "true")
        for arguments, missing in (("y, [a], nullif(b, b)", 4000), ("y, [a], 1, nullif(id, 5)", 1),
                                   ("y, [a], nullif(b, b), id", 0), ("y, [a], NULL, nullif(id, 5), '{}'", 0)):
            found = json.loads(self.db.sql(f"SELECT mixstream_inspect(mixstream_state({arguments})) FROM few"))
            self.assertEqual(found["refused"].get("missing", 0), missing, arguments)

    def test_refusals(self):
        for statement, *words in (
                ("SELECT mixstream_state(y, CASE WHEN id = 9 THEN [a] ELSE [a, b] END) FROM few", "same length"),
                ("SELECT mixstream_state(y, [a], NULL, id, '{\"kk\": 3}') FROM few", "kk", "guide"),
                ("SELECT mixstream_state(y, [a], NULL, id, '[]') FROM few", "guide"),
                ("SELECT mixstream_fit(mixstream_state(y, [a]), 99) FROM few", "32"),
                ("SELECT mixstream_fit(mixstream_state(y, [a]), 2, '{\"sample\": 9}') FROM few", "sample"),
                ("SELECT mixstream_fit('no state'::BLOB)", "mixstream_state"),
                ("SELECT mixstream_merge('no state'::BLOB) FROM few", "mixstream_state"),
                ("SELECT mixstream_predict('{}', [1.0])", "fit"),
                ("SELECT mixstream_predict((SELECT mixstream_fit(mixstream_state(y, [a])) FROM few), [1.0, 2.0, 3.0])", "features"),
                ("SELECT mixstream_moments(mixstream_state(y, [a]), 'third', 1) FROM few", "sigma"),
                ("SELECT mixstream_moments(mixstream_state(y, [a]), 'mean', 4) FROM few", "degree"),
                ("WITH s AS (SELECT mixstream_state(y, [a]) AS one FROM few UNION ALL SELECT mixstream_state(y, [a, b]) FROM few) "
                 "SELECT mixstream_merge(one) FROM s", "same")):
            with self.subTest(statement):
                self.refused(self.db, statement, "mixstream", *words)
        self.assertEqual(self.db.sql("SELECT mixstream_fit(mixstream_state(y, [a]))->'rows' FROM few"), "4000")

    def test_wider_rows_with_a_leading_one(self):
        """A row one value too wide is no row that brings its constant: an error, in one thread, in parts that combine, in windows."""
        for rule in ("= 1", "< 2000", "> 2000", "<> 4000"):
            self.refused(self.db, f"SELECT mixstream_state(y, CASE WHEN id {rule} THEN [a] ELSE [1.0, a] END) FROM few", "same length")
        self.refused(self.db, "SELECT mixstream_state(y, CASE WHEN id = 1 THEN [NULL] ELSE [1.0, a] END) FROM few", "same length")
        self.db.sql("CREATE TABLE halves AS SELECT i, sin(i) AS y, CASE WHEN i < 122880 THEN [cos(i)] ELSE [1.0, cos(i)] END AS x "
                    "FROM range(245760) AS t (i)")
        for threads in (1, 2, 4):
            self.db.sql(f"SET threads = {threads}")
            for few in ("i >= 0", "i % 200 = 0"):
                self.refused(self.db, f"SELECT mixstream_state(y, x) FROM halves WHERE {few}", "same length")
        self.refused(self.db, "SELECT mixstream_inspect(mixstream_state(y, x) OVER (ORDER BY i ROWS 50 PRECEDING)) FROM halves "
                              "WHERE i BETWEEN 122800 AND 123000", "same length")
        self.assertEqual(self.db.sql("SELECT mixstream_inspect(mixstream_state(y, x))->'rows' FROM halves GROUP BY len(x)"), "122880\n122880")
        fit = self.db.sql("SELECT mixstream_fit(mixstream_state(y, [a])) FROM few")
        for x in ("1.0, 0.5", "5.0, 0.5", "0.5, 1.0, 2.0"):
            self.refused(self.db, f"SELECT mixstream_predict('{fit}', [{x}])", "fit 1", "same length")

    def test_every_bit_of_a_small_state(self):
        data = self.db.blob("(SELECT mixstream_state(y, [a]) FROM few WHERE id <= 3)")
        damaged = [data[:at // 8] + bytes([data[at // 8] ^ 1 << at % 8]) + data[at // 8 + 1:] for at in range(8 * len(data))]
        damaged += [data[:length] for length in range(len(data))]
        self.assertEqual(json.loads(self.db.sql(f"SELECT mixstream_inspect(unhex('{data.hex()}'))"))["rows"], 3)
        for bytes_ in damaged:
            with self.assertRaises(Refused):
                self.db.sql(f"SELECT mixstream_inspect(unhex('{bytes_.hex()}'))")
        self.assertGreater(len(damaged), 2000)

    def test_ten_thousand_groups(self):
        """Of twenty rows each: few rows stay rows, in any number of threads."""
        self.db.sql("CREATE TABLE sensors AS SELECT i % 10000 AS sensor, sin(i * 12.9898) AS a, 1 + 2 * sin(i * 12.9898) + "
                    "0.1 * cos(i * 78.233) AS y FROM range(1, 200001) AS t (i)")
        before = resident_kib()
        for threads in (1, 4):
            self.db.sql(f"SET threads = {threads}")
            self.assertEqual(self.db.sql("SELECT count(*), sum((mixstream_inspect(state)->>'rows')::INT) FROM (SELECT sensor, "
                                         "mixstream_state(y, [a]) AS state FROM sensors GROUP BY sensor)"), "10000|200000")
        self.assertLess(resident_kib() - before, 800_000)  # ten thousand models of moments would be four million
        low, slope = json.loads(self.db.sql("SELECT mixstream_fit(mixstream_state(y, [a]), 1)->'components'->0->'coefficients' "
                                            "FROM sensors WHERE sensor = 7"))
        self.assertAlmostEqual(low, 1.0, delta=0.1)
        self.assertAlmostEqual(slope, 2.0, delta=0.2)

    def test_windows(self):
        """States combine into states that others still hold; DuckDB gives rows of a whole partition in its own way."""
        counted = "(mixstream_inspect({})->>'rows')::INT"
        moving = "mixstream_state(y, [a]) OVER (ORDER BY id ROWS BETWEEN 1500 PRECEDING AND CURRENT ROW)"
        self.assertEqual(self.db.sql(f"SELECT id, n FROM (SELECT id, {counted.format(moving)} AS n FROM few) WHERE id IN "
                                     "(1, 1000, 1500, 2500, 4000) ORDER BY id"), "1|1\n1000|1000\n1500|1500\n2500|1501\n4000|1501")
        whole = "mixstream_state(y, [a]) OVER (PARTITION BY id % 7)"
        self.assertEqual(self.db.sql(f"SELECT DISTINCT id % 7 AS part, {counted.format(whole)} FROM few ORDER BY part").split(),
                         [f"{part}|{571 if part > 3 or part == 0 else 572}" for part in range(7)])

    def test_ordered_rows(self):
        """By the rows' order within groups, of one row and of many."""
        plain = self.db.sql("SELECT md5(mixstream_state(y, [a])) FROM few")
        self.db.sql("CREATE TABLE turned AS FROM few ORDER BY id DESC")
        self.assertEqual(self.db.sql("SELECT md5(mixstream_state(y, [a] ORDER BY id)) FROM turned"), plain)
        for size in (1, 2, 3, 900):
            found = self.db.rows(f"SELECT id // {size}, md5(mixstream_state(y, [a] ORDER BY id)) FROM turned GROUP BY 1 ORDER BY 1")
            self.db.sql("SET threads = 1")
            wanted = self.db.rows(f"SELECT id // {size}, md5(mixstream_state(y, [a])) FROM few GROUP BY 1 ORDER BY 1")
            self.db.sql("SET threads = 2")
            self.assertEqual(found, wanted)

    def test_no_leak(self):
        """Errors in the middle of an aggregate, and answers, give their models back."""
        def rounds(count):
            for i in range(count):
                with self.assertRaises(Refused):
                    self.db.sql("SELECT mixstream_state(y, CASE WHEN id = 3900 THEN [a] ELSE [a, b] END) FROM few")
                self.db.sql("SELECT octet_length(mixstream_state(y, [a, b])) FROM few GROUP BY id % 3")
                self.db.sql("SELECT mixstream_inspect(mixstream_state(y, [a, b])) FROM few")
        rounds(40)
        before = resident_kib()
        rounds(100)
        self.assertLess(resident_kib() - before, 20_000)  # a model has 400 KiB and more: a hundred would be 40,000

    def test_interrupt(self):
        """A query over a thousand million rows ends when it is told to, and the connection goes on."""
        timer = threading.Timer(0.5, self.db.interrupt)
        timer.start()
        with self.assertRaises(Refused) as caught:
            self.db.sql("SELECT mixstream_inspect(mixstream_state(sin(i * i), [sin(i)])) FROM range(1000000000) AS t (i)")
        timer.join()
        self.assertIn("INTERRUPT", str(caught.exception).upper())
        self.assertEqual(self.db.sql("SELECT count(*) FROM few"), "4000")

    def test_states_of_before(self):
        old = VERSION_1.read_bytes().hex()
        found = json.loads(self.db.sql(f"SELECT mixstream_inspect(unhex('{old}'))"))
        both = json.loads(self.db.sql(f"SELECT mixstream_inspect(mixstream_merge(state)) FROM (VALUES (unhex('{old}')), "
                                      f"(unhex('{old}')), (NULL)) AS t (state)"))
        self.assertGreater(found["rows"], 0)
        self.assertEqual(both["rows"], 2 * found["rows"])
        later = bytearray(VERSION_1.read_bytes())
        later[8] = 9
        self.refused(self.db, f"SELECT mixstream_inspect(unhex('{later.hex()}'))", "later")

    def test_predictions(self):
        """As the tool's, in any order; NULL where a row is not whole."""
        csv = CASE.folder / "few.csv"
        self.db.sql(f"COPY few TO '{csv}'")
        fit = self.tool("fit", "-q", "-k", "2", "-y", "y", "-x", "1,a", "--modes", "independent", "--noise", "shared", "--json",
                        csv).strip().split("\n")[-1]
        (CASE.folder / "fit.json").write_text(fit + "\n")
        predicted = self.tool("predict", "-m", CASE.folder / "fit.json", csv).split("\n")
        head = predicted[0].split(",")
        found = self.db.rows(f"SELECT p.component, p.expected, p.low, p.high, list_sum(p.probabilities) FROM (SELECT id, "
                             f"mixstream_predict('{fit}', [a], y) AS p FROM few) ORDER BY id")
        for line, answer in zip(predicted[1:301], found):
            by_tool = dict(zip(head, line.split(",")))
            self.assertEqual(by_tool["component"], answer[0])
            for name, value in zip(("expected", "low", "high"), answer[1:4]):
                self.assertAlmostEqual(float(by_tool[name]), float(value), delta=0.01)
            self.assertAlmostEqual(float(answer[4]), 1.0)
        self.assertEqual(self.db.rows(f"SELECT p IS NULL, p.component, p.probabilities::VARCHAR FROM (SELECT mixstream_predict('{fit}', "
                                      "['NaN'::DOUBLE]) AS p)"), [("true", None, None)])
        self.assertEqual(self.db.sql(f"SELECT mixstream_predict('{fit}', NULL) IS NULL AND mixstream_predict(NULL, [1.0]) IS NULL "
                                     f"AND mixstream_predict('{fit}', [1.0], NULL, 0.5).low IS NOT NULL"), "true")


if __name__ == "__main__":
    unittest.main()
