"""The same rows through the tool and through DuckDB: tables, CSV, Parquet, any number of threads, groups that merge. With the
rows' own numbers the tool's sample, moments to 1e-10 of their scale, laws to 1e-8; without, the same for any number of threads."""

import json
import unittest

import numpy

from fixture import CASE, Case
import blob
import rows

COUNT = 200_000  # more than one row group of DuckDB's, so that threads share them
SOLVE = {"k": 2, "polish": "off", "modes": "independent", "noise": "shared", "features": ["x1", "x2"]}


class SameRows(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        x, y = rows.make(COUNT)
        cls.csv, cls.saved = CASE.folder / "rows.csv", CASE.folder / "tool.mix"
        rows.write_csv(cls.csv, x, y)
        cls.tool_fit = json.loads(cls.tool("fit", "-k", "2", "-y", "y", "-x", "1,x1,x2", "--polish", "off", "--modes",
                                           "independent", "--noise", "shared", "--json", "--save", cls.saved, cls.csv))
        cls.state = blob.State(cls.saved.read_bytes())
        moments = json.loads(cls.tool("inspect", cls.saved, "--moments"))["moments"]
        cls.moments = {one["degree"]: one for one in moments}
        cls.parquet = CASE.folder / "rows.parquet"
        with cls.database() as database:
            database.sql(f"COPY (FROM '{cls.csv}') TO '{cls.parquet}' (ROW_GROUP_SIZE 10000)")

    def options(self, **more):
        return json.dumps({**SOLVE, **more})

    def numbered(self):
        return f"mixstream_state(y, [x1, x2], NULL, id, '{self.options(source=self.state.source)}')"

    def moments_of(self, database, state):
        return {degree: {name: json.loads(database.sql(f"SELECT mixstream_moments({state}, '{name}', {degree})::JSON"))
                         for name in ("sigma", "cross", "mean")} for degree in (1, 2, 3)}

    def check_same(self, database):
        """The table `states` has one state, of all rows."""
        state = "(SELECT state FROM states)"
        kept = blob.State(database.blob(state))
        self.assertEqual(kept.rows, COUNT)
        self.assertEqual(kept.sample(), self.state.sample())
        self.assertLess(rows.largest_moment_difference(self.moments, self.moments_of(database, state)), 1e-10)
        numpy.testing.assert_allclose(rows.laws(database.sql(f"SELECT mixstream_fit({state})")), rows.laws(self.tool_fit),
                                      rtol=0, atol=1e-8)

    def test_files_and_threads(self):
        for threads in (1, 2, 4):
            for file in (self.csv, self.parquet):
                with self.subTest(threads=threads, file=file.suffix), self.database(threads=threads) as database:
                    database.sql(f"CREATE TABLE states AS SELECT {self.numbered()} AS state FROM '{file}'")
                    self.check_same(database)

    def test_groups_that_merge(self):
        with self.database(threads=4) as database:
            database.sql(f"CREATE TABLE groups AS SELECT id % 50 AS part, {self.numbered()} AS state FROM '{self.parquet}' "
                         "GROUP BY part")
            database.sql("CREATE TABLE states AS SELECT mixstream_merge(state) AS state FROM groups")
            self.check_same(database)

    def test_many_small_groups_that_merge(self):
        """Few rows stay rows in their states."""
        with self.database(threads=2) as database:
            database.sql(f"CREATE TABLE states AS SELECT mixstream_merge(state) AS state FROM (SELECT {self.numbered()} AS state "
                         f"FROM '{self.parquet}' GROUP BY id // 100)")
            self.check_same(database)

    def test_lists_of_any_making(self):
        """A list may be a column, a slice, a fixed array, or computed; numbers of other types are taken."""
        with self.database(threads=1) as database:
            database.sql(f"CREATE TABLE made AS SELECT id, y, [x1, x2] AS x FROM '{self.csv}'")
            plain = database.sql("SELECT md5(mixstream_state(y, x)) FROM made")
            for way in ("list_transform(x, lambda v: v)", "[9.0, x[1], x[2], 8.0][2:3]", "list_reverse(list_reverse(x))",
                        "array_value(x[1], x[2])", "list_concat([x[1]], [x[2]])", "list_select([x[2], x[1]], [2, 1])",
                        "list_filter([x[1], NULL, x[2]], lambda v: v IS NOT NULL)",
                        "(SELECT list(v) FROM (SELECT unnest(x) AS v))"):
                self.assertEqual(database.sql(f"SELECT md5(mixstream_state(y, {way})) FROM made"), plain, way)
            self.assertEqual(database.sql("SELECT md5(mixstream_state(y, x)) FROM made WHERE id % 2 = 0 OR id % 2 = 1"), plain)
            self.assertEqual(database.sql("SELECT md5(mixstream_state(y, x, 1)) FROM made"), plain)
            self.assertEqual(database.sql("SELECT md5(mixstream_state(y, x, NULL, NULL, '{}')) FROM made"), plain)
            filtered = database.sql("SELECT md5(mixstream_state(y, x)) FROM made WHERE id % 3 = 0")
            self.assertEqual(database.sql("SELECT md5(mixstream_state(y, x) FILTER (id % 3 = 0)) FROM made"), filtered)

    def test_without_numbers(self):
        """What a row holds is its number: threads and groups change nothing."""
        plain = f"mixstream_state(y, [x1, x2], NULL, NULL, '{self.options()}') AS state"
        ways = {1: f"SELECT {plain} FROM '{self.parquet}'", 4: f"SELECT {plain} FROM '{self.parquet}'",
                3: f"SELECT mixstream_merge(state) AS state FROM (SELECT {plain} FROM '{self.parquet}' GROUP BY id % 50)",
                2: f"SELECT mixstream_merge(state) AS state FROM (SELECT {plain} FROM '{self.parquet}' GROUP BY id // 100)"}
        sample = fit = None
        for threads, make in ways.items():
            with self.subTest(threads=threads), self.database(threads=threads) as database:
                database.sql(f"CREATE TABLE states AS {make}")
                state = "(SELECT state FROM states)"
                self.assertLess(rows.largest_moment_difference(self.moments, self.moments_of(database, state)), 1e-10)
                found, kept = json.loads(database.sql(f"SELECT mixstream_fit({state})")), blob.State(database.blob(state)).sample()
                sample, fit = sample or kept, fit or found
                self.assertEqual(kept, sample)
                self.assertLess((abs(rows.laws(found) - rows.laws(fit)) / rows.errors(fit)).max(), 1e-6)

    def test_rows_in_order_have_modes(self):
        x, y = rows.make(20_000, seed=9, dwell=100)
        csv, saved = CASE.folder / "modes.csv", CASE.folder / "modes.mix"
        rows.write_csv(csv, x, y)
        self.tool("fit", "-q", "-k", "2", "-y", "y", "-x", "1,x1,x2", "--modes", "persistent", "--noise", "shared", "--save",
                  saved, csv)
        options = self.options(polish="scoring", modes="persistent", source=blob.State(saved.read_bytes()).source)
        with self.database(threads=4) as database:
            in_sql = json.loads(database.sql("SELECT mixstream_fit(mixstream_state(y, [x1, x2], NULL, id, "
                                             f"'{options}' ORDER BY id)) FROM '{csv}'"))
        by_tool = json.loads(self.tool("refit", saved, "--json"))
        self.assertEqual((in_sql["modes"]["kind"], in_sql["rows"]), ("persistent", 20_000))
        self.assertAlmostEqual(in_sql["modes"]["dwell"][0], 100.0, delta=25.0)
        numpy.testing.assert_allclose(rows.laws(in_sql), rows.laws(by_tool), rtol=0, atol=1e-8)
        numpy.testing.assert_allclose(in_sql["modes"]["dwell"], by_tool["modes"]["dwell"], rtol=1e-8)

    def test_one_blob(self):
        """Made in SQL, inspected by the tool, merged with one of the tool's in SQL, solved by both."""
        x, y = rows.make(5000, seed=77)
        csv, device, mine, merged = (CASE.folder / name for name in ("device.csv", "device.mix", "sql.mix", "merged.mix"))
        rows.write_csv(csv, x, y)
        self.tool("fit", "-q", "-k", "2", "-y", "y", "-x", "1,x1,x2", "--polish", "off", "--modes", "independent", "--noise",
                  "shared", "--save", device, csv)
        with self.database() as database:
            database.sql(f"CREATE TABLE states AS SELECT {self.numbered()} AS state FROM '{self.parquet}'")
            mine.write_bytes(database.blob("(SELECT state FROM states)"))
            self.assertEqual(json.loads(self.tool("inspect", mine, "--json"))["rows"], COUNT)
            database.sql(f"INSERT INTO states SELECT content FROM read_blob('{device}')")
            by_sql = json.loads(database.sql("SELECT mixstream_fit(mixstream_merge(state)) FROM states"))
        self.tool("merge", mine, device, "-o", merged)
        by_tool = json.loads(self.tool("refit", merged, "--json"))
        self.assertEqual(by_sql["rows"], COUNT + 5000)
        numpy.testing.assert_allclose(rows.laws(by_sql), rows.laws(by_tool), rtol=0, atol=1e-8)


if __name__ == "__main__":
    unittest.main()
