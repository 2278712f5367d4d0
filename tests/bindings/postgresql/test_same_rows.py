"""The same rows through the tool and through PostgreSQL: workers, partitions, two servers. The same sample,
moments to 1e-10 of their scale, laws to 1e-8 by the rows' own numbers; without numbers the same for any number
of workers, partitions and servers."""

import json
import unittest

import numpy

from fixture import CASE, Case, setUpModule, tearDownModule  # noqa: F401
import blob
import rows

OPTIONS = {"k": 2, "polish": "off", "features": ["x1", "x2"]}
COUNT = 60_000


def moments_in_sql(server, state):
    """{degree: {...}} of a state that an expression gives."""
    found = {}
    for degree in (1, 2, 3):
        found[degree] = {}
        for name in ("sigma", "cross", "mean"):
            text = server.sql(f"SELECT to_json(mixstream_moments({state}, '{name}', {degree}))")
            found[degree][name] = json.loads(text)
    return found


class SameRows(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        x, y = rows.make(COUNT)
        cls.csv = CASE.folder / "rows.csv"
        rows.write_csv(cls.csv, x, y)
        cls.saved = CASE.folder / "tool.mix"
        cls.tool_fit = json.loads(
            cls.tool("fit", "-k", "2", "-y", "y", "-x", "1,x1,x2", "--polish", "off", "--json", "--save",
                     cls.saved, cls.csv))
        cls.state = blob.State(cls.saved.read_bytes())
        moments = json.loads(cls.tool("inspect", cls.saved, "--moments"))["moments"]
        cls.moments = {one["degree"]: one for one in moments}
        cls.server = CASE.cluster.server("one")
        cls.server.sql(
            "CREATE TABLE rows (id bigint, x1 float8, x2 float8, y float8);"
            "CREATE TABLE parts (LIKE rows) PARTITION BY HASH (id);"
            + "".join(f"CREATE TABLE part{i} PARTITION OF parts FOR VALUES WITH (MODULUS 4, REMAINDER {i});"
                      for i in range(4))
            + f"\\copy rows FROM '{cls.csv}' WITH (FORMAT csv, HEADER)\n"
            + "INSERT INTO parts SELECT * FROM rows; ANALYZE;")

    def options(self, **more):
        return json.dumps({**OPTIONS, "source": self.state.source, **more})

    def store(self, name, settings, source, state):
        """Makes a table of one state, and gives the plan that made it: only CREATE TABLE AS writes what workers found."""
        return self.server.sql(f"{settings}; EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) CREATE TABLE {name} AS "
                               f"SELECT {state} AS state FROM {source}")

    def by_number(self):
        return f"mixstream_state(y, ARRAY[x1, x2], NULL, id, '{self.options()}')"

    def by_content(self):
        return f"mixstream_state(y, ARRAY[x1, x2], NULL, NULL, '{json.dumps(OPTIONS)}')"

    def check_alike(self, names):
        """States of the same rows without numbers: one sample, one set of moments, the same laws."""
        samples, fits = [], []
        for name in names:
            state = f"(SELECT state FROM {name})"
            samples.append(blob.State(bytes.fromhex(self.server.sql(f"SELECT encode({state}::bytea, 'hex')"))).sample())
            fits.append(self.server.sql(f"SELECT mixstream_fit({state})"))
            self.assertLess(rows.largest_moment_difference(self.moments, moments_in_sql(self.server, state)), 1e-10)
            self.assertEqual(samples[-1], samples[0], name)
            self.assertLess((abs(rows.laws(fits[-1]) - rows.laws(fits[0])) / rows.errors(fits[0])).max(), 1e-6, name)

    def check_same(self, name):
        state = f"(SELECT state FROM {name})"
        data = bytes.fromhex(self.server.sql(f"SELECT encode({state}::bytea, 'hex')"))
        kept = blob.State(data)
        self.assertEqual(kept.rows, COUNT)
        self.assertEqual(kept.sample(), self.state.sample())
        self.assertLess(rows.largest_moment_difference(self.moments, moments_in_sql(self.server, state)), 1e-10)
        fit = self.server.sql(f"SELECT mixstream_fit({state})")
        numpy.testing.assert_allclose(rows.laws(fit), rows.laws(self.tool_fit), rtol=0, atol=1e-8)
        return data

    def test_workers(self):
        for workers in (0, 1, 2, 4):
            with self.subTest(workers=workers):
                name = f"workers_{workers}"
                settings = (f"SET max_parallel_workers_per_gather = {workers}; "
                            f"ALTER TABLE rows SET (parallel_workers = {workers})")
                plan = self.store(name, settings, "rows", self.by_number())
                self.assertEqual("Finalize Aggregate" in plan and f"Workers Launched: {workers}" in plan, workers > 0, plan)
                self.check_same(name)

    def test_partitions(self):
        settings = "SET enable_partitionwise_aggregate = on; SET max_parallel_workers_per_gather = "
        for workers in (0, 2):
            with self.subTest(workers=workers):
                name = f"partitions_{workers}"
                plan = self.store(name, settings + str(workers), "parts", self.by_number())
                self.assertGreaterEqual(plan.count("Partial Aggregate"), 4)
                self.assertEqual("Workers Launched: 2" in plan, workers > 0, plan)
                self.check_same(name)

    def two_servers(self, name, state):
        """A relation of two states, each made of half of the rows on a server of its own."""
        other = CASE.cluster.server(name)
        other.sql("CREATE TABLE rows (id bigint, x1 float8, x2 float8, y float8);"
                  f"\\copy rows FROM '{self.csv}' WITH (FORMAT csv, HEADER)\n"
                  "DELETE FROM rows WHERE id % 2 = 0;"
                  f"CREATE VIEW half AS SELECT {state} AS state FROM rows")
        self.server.sql(
            "CREATE EXTENSION IF NOT EXISTS postgres_fdw;"
            f"CREATE SERVER {name} FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '{other.folder}', dbname "
            f"'postgres'); CREATE USER MAPPING FOR postgres SERVER {name} OPTIONS (user 'postgres');"
            f"CREATE FOREIGN TABLE {name}_there (state mixstream) SERVER {name} OPTIONS (table_name 'half');"
            f"CREATE VIEW {name}_here AS SELECT {state} AS state FROM rows WHERE id % 2 = 0")
        return f"(SELECT state FROM {name}_here UNION ALL SELECT state FROM {name}_there) AS halves"

    def test_two_servers(self):
        plan = self.store("servers", "SET max_parallel_workers_per_gather = 0", self.two_servers("two", self.by_number()),
                          "mixstream_merge(state)")
        self.assertIn("Foreign Scan", plan)
        self.check_same("servers")

    def test_without_numbers(self):
        """What a row holds is its number: workers, partitions and servers change nothing."""
        names = []
        for workers in (0, 1, 2, 4):
            names.append(f"unnumbered_{workers}")
            plan = self.store(names[-1], f"SET max_parallel_workers_per_gather = {workers}; ALTER TABLE rows SET (parallel_workers = "
                              f"{workers})", "rows", self.by_content())
            self.assertEqual(f"Workers Launched: {workers}" in plan, workers > 0, plan)
        names.append("unnumbered_parts")
        plan = self.store(names[-1], "SET enable_partitionwise_aggregate = on; SET max_parallel_workers_per_gather = 2", "parts",
                          self.by_content())
        self.assertGreaterEqual(plan.count("Partial Aggregate"), 4)
        names.append("unnumbered_servers")
        self.store(names[-1], "SET max_parallel_workers_per_gather = 0", self.two_servers("unnumbered", self.by_content()),
                   "mixstream_merge(state)")
        self.check_alike(names)

    def test_one_blob_everywhere(self):
        """A state of the tool is read in SQL, one of SQL by the tool, and the two merge in either."""
        x, y = rows.make(5000, seed=6)
        more = CASE.folder / "more.csv"
        rows.write_csv(more, x, y)
        saved = CASE.folder / "more.mix"
        self.tool("fit", "-q", "-k", "2", "-y", "y", "-x", "1,x1,x2", "--polish", "off", "--save", saved, more)
        self.store("blob", "SET max_parallel_workers_per_gather = 0", "rows", self.by_number())
        from_sql = CASE.folder / "sql.mix"
        from_sql.write_bytes(bytes.fromhex(
            self.server.sql("SELECT encode(state::bytea, 'hex') FROM blob")))
        merged = CASE.folder / "merged.mix"
        self.tool("merge", from_sql, saved, "-o", merged)
        by_tool = json.loads(self.tool("refit", merged, "--json"))
        by_sql = json.loads(self.server.sql(
            "WITH pair AS (SELECT state FROM blob UNION ALL "
            f"SELECT '\\x{saved.read_bytes().hex()}'::bytea::mixstream) "
            "SELECT mixstream_fit(mixstream_merge(state)) FROM pair"))
        self.assertEqual(by_tool["rows"], COUNT + 5000)
        numpy.testing.assert_allclose(rows.laws(by_sql), rows.laws(by_tool), rtol=0, atol=1e-8)
        self.assertEqual(json.loads(self.tool("inspect", from_sql, "--json"))["rows"], COUNT)


if __name__ == "__main__":
    unittest.main()
