"""What goes wrong in a database: rows that are not whole, damaged values, cancelled queries, no memory, ten
thousand groups, dumps, versions. Every error is a SQL error with a hint, and leaks nothing."""

import json
import pathlib
import re
import subprocess
import time
import unittest

from fixture import CASE, Case, setUpModule, tearDownModule  # noqa: F401
import rows

VERSION_1 = pathlib.Path(__file__).resolve().parents[2] / "compat" / "version-1.state"
RESIDENT = "(SELECT substring(pg_read_file('/proc/self/status') FROM 'VmRSS:\\s+(\\d+)')::bigint)"
PEAK = "(SELECT substring(pg_read_file('/proc/self/status') FROM 'VmHWM:\\s+(\\d+)')::bigint)"
MAKE_ROWS = """
CREATE TABLE few AS
  SELECT i AS id, a, b, CASE WHEN i % 3 = 0 THEN 1 + 2 * a ELSE -2 + a END + 0.1 * b AS y
  FROM (SELECT i, sin(i * 12.9898) AS a, cos(i * 78.233) AS b FROM generate_series(1, 4000) AS i) AS made;
"""


class Trouble(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server = CASE.cluster.server("one")
        cls.server.sql(MAKE_ROWS)

    def test_rows_that_are_not_whole(self):
        found = json.loads(self.server.sql(
            "SELECT mixstream_inspect(mixstream_state(y, x)) FROM (VALUES (1.0::float8, ARRAY[1.0, 2.0]::float8[]),"
            "(NULL, ARRAY[1, 2]), (1, NULL), (1, ARRAY[NULL, 2]), ('NaN', ARRAY[1, 2]), (1, ARRAY['Infinity'::float8, 2])) "
            "AS t (y, x)"))
        self.assertEqual(found["rows"], 1)
        self.assertEqual(found["refused"], {"infinite": 1, "missing": 3, "not_a_number": 1})
        self.assertEqual(self.server.sql("SELECT mixstream_state(y, ARRAY[a]) IS NULL FROM few WHERE id < 0"), "t")
        self.assertEqual(self.server.sql("SELECT mixstream_fit(NULL) IS NULL"), "t")
        missing = json.loads(self.server.sql(
            "SELECT mixstream_inspect(mixstream_state(y, ARRAY[a], nullif(b, b))) FROM few"))
        self.assertEqual(missing["refused"], {"missing": 4000})

    def test_refusals_are_sql_errors(self):
        few = "FROM few"
        for statement, words in (
                (f"SELECT mixstream_state(y, CASE WHEN id = 9 THEN ARRAY[a] ELSE ARRAY[a, b] END) {few}",
                 ("2202E", "same length")),
                (f"SELECT mixstream_state(y, ARRAY[[a], [b]]) {few}", ("2202E",)),
                (f"SELECT mixstream_state(y, ARRAY[a], NULL, id, '{{\"kk\": 3}}') {few}", ("22023", "kk", "HINT")),
                (f"SELECT mixstream_state(y, ARRAY[a], NULL, id, '[]') {few}", ("22023", "HINT")),
                (f"SELECT mixstream_fit(mixstream_state(y, ARRAY[a]), 99) {few}", ("22023", "32")),
                (f"SELECT mixstream_fit(mixstream_state(y, ARRAY[a]), 2, '{{\"sample\": 9}}') {few}",
                 ("22023", "sample")),
                ("SELECT 'no state'::mixstream", ("22P02", "HINT")),
                ("SELECT '\\x00'::bytea::mixstream", ("22P03", "HINT")),
                ("SELECT mixstream_predict('{}', ARRAY[1.0])", ("22023",)),
                (f"SELECT mixstream_moments(mixstream_state(y, ARRAY[a]), 'third', 1) {few}", ("22023",)),
                (f"SELECT mixstream_moments(mixstream_state(y, ARRAY[a]), 'mean', 4) {few}", ("22023",)),
                (f"WITH s AS (SELECT mixstream_state(y, ARRAY[a]) AS one {few} UNION ALL SELECT "
                 f"mixstream_state(y, ARRAY[a, b]) {few}) SELECT mixstream_merge(one) FROM s", ("22000", "same"))):
            with self.subTest(statement):
                self.refused(self.server, statement, *words)

    def test_wider_rows_with_a_leading_one(self):
        """A row one value too wide is no row that brings its constant: an error, in one process, by partitions that combine, by
        workers; in states of few rows, which stay rows, and of many."""
        wide = "SELECT mixstream_state(y, CASE WHEN id {} THEN ARRAY[a] ELSE ARRAY[1.0, a] END{}) FROM few"
        for rule in ("= 1", "< 2000", "> 2000", "<> 4000"):
            self.refused(self.server, wide.format(rule, ""), "2202E", "same length")
            self.refused(self.server, wide.format(rule, ", NULL, id, '{\"intercept\": false, \"features\": [\"1\", \"a\"]}'"),
                         "2202E" if rule == "> 2000" else "22023")
        self.refused(self.server, "SELECT mixstream_state(y, CASE WHEN id = 1 THEN ARRAY[NULL::float8] ELSE ARRAY[1.0, a] END) FROM few", "2202E")
        for count in (900, 5000):
            self.server.sql(f"CREATE TABLE uneven (id int, y float8, x float8[]) PARTITION BY LIST (id); CREATE TABLE uneven_0 "
                            "PARTITION OF uneven FOR VALUES IN (0); CREATE TABLE uneven_1 PARTITION OF uneven FOR VALUES IN (1); "
                            "INSERT INTO uneven SELECT i % 2, sin(i), CASE i % 2 WHEN 0 THEN ARRAY[cos(i)] ELSE ARRAY[1, cos(i)] END "
                            f"FROM generate_series(1, {count}) AS i; ANALYZE uneven")
            for workers in (0, 2):
                settings = ("SET enable_partitionwise_aggregate = on; SET "
                            f"max_parallel_workers_per_gather = {workers}; ")
                self.assertEqual(self.server.sql(settings + "EXPLAIN SELECT mixstream_state(y, x) FROM uneven")
                                 .count("Partial Aggregate"), 2)
                self.refused(self.server, settings + "SELECT mixstream_state(y, x) FROM uneven", "2202E", "same length")
            self.assertEqual(self.server.sql("SELECT count(mixstream_inspect(state)) FROM (SELECT id, mixstream_state(y, x) AS state "
                                             "FROM uneven GROUP BY id) AS two"), "2")
            self.server.sql("DROP TABLE uneven")
        fit = self.server.sql("SELECT mixstream_fit(mixstream_state(y, ARRAY[a])) FROM few")
        for x in ("1.0, 0.5", "5.0, 0.5", "0.5, 1.0, 2.0"):
            self.refused(self.server, f"SELECT mixstream_predict('{fit}', ARRAY[{x}])", "2202E", "fit 1")
        whole = self.server.sql("SELECT mixstream_fit(mixstream_state(y, ARRAY[1, a], NULL, NULL, '{\"intercept\": false, "
                                "\"features\": [\"1\", \"a\"]}')) FROM few")
        self.assertEqual(self.server.sql(f"SELECT mixstream_predict('{whole}', ARRAY[0.5]) = mixstream_predict('{fit}', ARRAY[0.5])"), "t")

    def test_every_bit_of_a_small_value(self):
        """No damaged value gets in, by any of its ways, and the server lives."""
        counts = self.server.sql("""
            CREATE FUNCTION flipped(data bytea) RETURNS text LANGUAGE plpgsql AS $$
            DECLARE accepted int := 0; refused int := 0;
            BEGIN
              FOR i IN 0 .. 8 * length(data) - 1 LOOP
                BEGIN
                  PERFORM mixstream_inspect(set_bit(data, i, 1 - get_bit(data, i))::mixstream);
                  accepted := accepted + 1;
                EXCEPTION WHEN invalid_binary_representation OR feature_not_supported OR program_limit_exceeded THEN
                  refused := refused + 1;
                END;
              END LOOP;
              RETURN accepted || ' ' || refused || ' ' || 8 * length(data);
            END $$;
            SELECT flipped(mixstream_state(y, ARRAY[a])::bytea) FROM few WHERE id <= 3;""")
        accepted, refused, bits = map(int, counts.split())
        self.assertEqual(accepted, 0)
        self.assertEqual(refused, bits)
        self.assertGreater(bits, 2000)

    def test_cut_short(self):
        counts = self.server.sql("""
            CREATE FUNCTION cut(data bytea) RETURNS int LANGUAGE plpgsql AS $$
            DECLARE accepted int := 0;
            BEGIN
              FOR i IN 0 .. length(data) - 1 LOOP
                BEGIN
                  PERFORM substring(data FROM 1 FOR i)::mixstream;
                  accepted := accepted + 1;
                EXCEPTION WHEN invalid_binary_representation THEN NULL;
                END;
              END LOOP;
              RETURN accepted;
            END $$;
            SELECT cut(mixstream_state(y, ARRAY[a])::bytea) FROM few WHERE id <= 3;""")
        self.assertEqual(int(counts), 0)

    def test_cancel_in_the_middle_of_a_fit(self):
        """Eight features and six laws take seconds; the query ends when it is told to, and the session goes on."""
        slow = """
            CREATE TABLE wide AS SELECT mixstream_state(s, x, NULL, NULL, '{"k": 6, "polish": "off"}') AS state
            FROM (SELECT sin(i * 3.7) * 5 + cos(i * 0.11) AS s,
                  ARRAY(SELECT sin(i * (1.3 + j) * 12.9898) FROM generate_series(1, 8) AS j) AS x
                  FROM generate_series(1, 20000) AS i) AS made;"""
        self.server.sql(slow)
        began = time.monotonic()
        self.refused(self.server, "SET statement_timeout = '300ms'; SELECT mixstream_fit(state, 6) FROM wide",
                     "57014")
        self.assertLess(time.monotonic() - began, 20.0)
        self.assertEqual(self.server.sql(
            "DO $$ BEGIN SET LOCAL statement_timeout = '200ms'; PERFORM mixstream_fit(state, 6) FROM wide; "
            "EXCEPTION WHEN query_canceled THEN NULL; END $$; SELECT count(*) FROM few"), "4000")

    def test_cancel_in_the_middle_of_an_aggregate(self):
        """A thousand million rows would take minutes; the session goes on, and so do workers that were under way."""
        endless = ("SELECT mixstream_state(sin(i), ARRAY[cos(i)]) FROM (SELECT generate_series(1, 1000000000) AS i) AS made")
        self.refused(self.server, f"SET statement_timeout = '300ms'; {endless}", "57014")
        self.server.sql("CREATE TABLE many AS SELECT i AS id, sin(i) AS a FROM generate_series(1, 400000) AS i; "
                        "ALTER TABLE many SET (parallel_workers = 2)")
        parallel = ("SELECT mixstream_state(b.a, ARRAY[b.a], NULL, b.id) FROM many AS b, generate_series(1, 1000) "
                    "WHERE b.a < 2")
        with_workers = "SET max_parallel_workers_per_gather = 2; "
        plan = self.server.sql(f"{with_workers} EXPLAIN (COSTS OFF) {parallel}")
        self.assertRegex(plan, r"(?s)Finalize Aggregate.*Workers Planned: 2.*Partial Aggregate")
        for _ in range(3):
            self.refused(self.server, f"{with_workers} SET statement_timeout = '300ms'; {parallel}", "57014")
        self.assertEqual(self.server.sql("SELECT count(*) FROM few"), "4000")
        self.server.sql("DROP TABLE many")

    def test_no_leak_across_aborts(self):
        """Aggregates that end in an error in their middle give their models back."""
        resident = self.server.sql(f"""
            CREATE TABLE resident (round int, kib bigint);
            DO $$ BEGIN
              FOR i IN 1 .. 120 LOOP
                BEGIN
                  PERFORM mixstream_state(y / (id - 3900), ARRAY[a, b]) FROM few;
                EXCEPTION WHEN division_by_zero THEN NULL;
                END;
                INSERT INTO resident VALUES (i, {RESIDENT});
              END LOOP; END $$;
            SELECT max(kib) FILTER (WHERE round > 110) - max(kib) FILTER (WHERE round <= 30) FROM resident""")
        one_model = 400  # KiB at least: ninety that leak would be 36 MB
        self.assertLess(int(resident), 20 * one_model)

    def test_out_of_memory(self):
        """Where the system has no more memory the query fails, and the session goes on."""
        small = CASE.cluster.server("small", limit_kib=700_000)
        small.sql(MAKE_ROWS)
        big = "mixstream_state(y, ARRAY[a, b], NULL, NULL, '{\"sample\": 3000000, \"pilot_rows\": %d}')"
        self.refused(small, "SELECT " + ", ".join(big % (1 + i) for i in range(20)) + " FROM few", "53200", "HINT")
        self.assertEqual(small.sql(
            "DO $$ BEGIN PERFORM " + ", ".join(big % (1 + i) for i in range(20)) + " FROM few; EXCEPTION WHEN "
            "out_of_memory THEN NULL; END $$; SELECT mixstream_fit(mixstream_state(y, ARRAY[a, b]))->'rows' FROM few"),
            "4000")
        self.refused(small, "SELECT mixstream_state(y, ARRAY[a], NULL, NULL, '{\"sample\": 9000000000}') FROM few",
                     "22023")

    def grouped(self, table, workers, work_mem):
        """(batches of each hash, KiB that the leader grew by) of states of all sensors."""
        state = f"mixstream_state(y, ARRAY[a]) AS state FROM {table}"
        found = self.server.sql(
            f"SET max_parallel_workers_per_gather = {workers}; SET work_mem = '{work_mem}'; SET hash_mem_multiplier = 1; "
            f"SET enable_sort = off; SELECT mixstream_inspect(state) IS NULL FROM (SELECT {state} WHERE sensor = 7) AS one; "
            f"SELECT {RESIDENT}; EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) SELECT count(*), "
            f"sum((mixstream_inspect(state)->>'rows')::int) FROM (SELECT sensor, {state} GROUP BY sensor) AS models; SELECT {PEAK}")
        _, before, *plan, peak = found.split("\n")
        plan = "\n".join(plan)
        self.assertEqual(f"Workers Launched: {workers}" in plan, workers > 0, plan)
        return [int(count) for count in re.findall(r"^ +Batches: (\d+)", plan, re.M)], int(peak) - int(before)

    def test_ten_thousand_groups(self):
        """Of twenty rows each, by hashing within work_mem: groups are spilled, in one process and with workers."""
        self.server.sql("CREATE TABLE sensors AS SELECT i % 10000 AS sensor, sin(i * 12.9898) AS a, "
                        "1 + 2 * sin(i * 12.9898) + 0.1 * cos(i * 78.233) AS y FROM generate_series(1, 200000) AS i; "
                        "ANALYZE sensors")
        for workers in (0, 2):
            with self.subTest(workers=workers):
                self.assertEqual(self.server.sql(
                    f"SET max_parallel_workers_per_gather = {workers}; SET work_mem = '4MB'; SET enable_sort = off; SELECT count(*), "
                    "sum((mixstream_inspect(state)->>'rows')::int) FROM (SELECT sensor, mixstream_state(y, ARRAY[a]) AS state FROM "
                    "sensors GROUP BY sensor) AS models"), "10000|200000")
                spilled, little = self.grouped("sensors", workers, "4MB")
                whole, much = self.grouped("sensors", workers, "1GB")
                self.assertEqual(len(spilled), 1 + (workers > 0))  # a hash; with workers those of parts too
                self.assertGreater(spilled[0], 4)
                self.assertEqual(set(whole), {1})
                self.assertLess(little, 0.6 * much)
                self.assertLess(much, 250_000)  # KiB; ten thousand models of moments would be four million
        one = self.server.sql("SELECT mixstream_fit(mixstream_state(y, ARRAY[a]), 1)->'components'->0->'coefficients' "
                              "FROM sensors GROUP BY sensor HAVING sensor = 7")
        low, slope = json.loads(one)
        self.assertAlmostEqual(low, 1.0, delta=0.1)
        self.assertAlmostEqual(slope, 2.0, delta=0.2)

    def test_what_models_hold_is_counted(self):
        """Five hundred groups are few: a hash is only too large for work_mem if the rows in their models count. Sensor after sensor,
        since groups already in the hash grow on."""
        self.server.sql("CREATE TABLE large AS SELECT i / 900 AS sensor, sin(i) AS a, cos(i) AS y FROM generate_series(0, 449999) AS i; "
                        "ANALYZE large")
        spilled, little = self.grouped("large", 0, "4MB")
        whole, much = self.grouped("large", 0, "1GB")
        self.assertGreater(spilled[0], 1)
        self.assertEqual(whole, [1])
        self.assertLess(little, 0.6 * much)

    def test_dump_and_restore(self):
        self.server.sql("CREATE DATABASE before")
        self.server.sql("CREATE EXTENSION mixstream; " + MAKE_ROWS + "CREATE TABLE states AS SELECT id % 5 AS sensor, "
                        "mixstream_state(y, ARRAY[a, b]) AS state FROM few GROUP BY 1; CREATE VIEW fits AS SELECT "
                        "sensor, mixstream_fit(state) FROM states", "before")
        dumped = subprocess.run(["pg_dump", "-h", self.server.folder, "-U", "postgres", "before"], text=True,
                                capture_output=True, check=True, env=self.server.environment).stdout
        self.assertIn("800 rows, 3 features", dumped)
        self.server.sql("CREATE DATABASE after")
        self.server.sql(dumped, "after")
        digest = "SELECT string_agg(md5(state::bytea), ' ' ORDER BY sensor) FROM states"
        self.assertEqual(self.server.sql(digest, "before"), self.server.sql(digest, "after"))
        self.assertEqual(self.server.sql("SELECT count(*) FROM fits", "after"), "5")
        binary = "CREATE TABLE again (LIKE states); COPY states TO '{0}' (FORMAT binary); COPY again FROM '{0}' (FORMAT binary);"
        self.server.sql(binary.format(self.server.folder / "states.copy"), "after")
        self.assertEqual(self.server.sql(digest.replace("states", "again"), "after"), self.server.sql(digest, "after"))

    def test_versions_of_the_value(self):
        """A value of the first version is read, fitted and merged; one of a later version is refused by name."""
        old = VERSION_1.read_bytes().hex()
        found = json.loads(self.server.sql(f"SELECT mixstream_inspect('\\x{old}'::bytea::mixstream)"))
        self.assertGreater(found["rows"], 0)
        both = json.loads(self.server.sql(
            f"WITH old AS (SELECT '\\x{old}'::bytea::mixstream AS state), pair AS (SELECT state FROM old UNION ALL "
            "SELECT state FROM old) SELECT mixstream_inspect(mixstream_merge(state)) FROM pair"))
        self.assertEqual(both["rows"], 2 * found["rows"])
        self.refused(self.server, "SELECT set_byte(mixstream_state(y, ARRAY[a])::bytea, 8, 9)::mixstream FROM few",
                     "0A000", "later")

    def test_extension_is_updated(self):
        """ALTER EXTENSION goes to a later version, and values stay."""
        control = "mixstream--0.2--0.3.sql"
        (CASE.cluster.programs.extension / control).write_text(
            "CREATE FUNCTION mixstream_later() RETURNS int LANGUAGE sql AS 'SELECT 3';")
        self.server.sql("CREATE DATABASE updated")
        self.server.sql("CREATE EXTENSION mixstream VERSION '0.2'; " + MAKE_ROWS + "CREATE TABLE states AS SELECT "
                        "mixstream_state(y, ARRAY[a]) AS state FROM few", "updated")
        before = self.server.sql("SELECT md5(state::bytea) FROM states", "updated")
        self.assertEqual(self.server.sql("ALTER EXTENSION mixstream UPDATE TO '0.3'; SELECT mixstream_later(), "
                                         "md5(state::bytea), mixstream_fit(state)->'rows' FROM states", "updated"),
                         f"3|{before}|4000")

    def test_nothing_died(self):
        self.assertNotIn("was terminated by signal", self.server.log())


class Answers(Case):
    """Fits, tables, predictions and modes say what the tool says."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server = CASE.cluster.server("answers")
        x, y = rows.make(20_000, seed=9, dwell=100)
        cls.csv = CASE.folder / "modes.csv"
        rows.write_csv(cls.csv, x, y)
        cls.server.sql("CREATE TABLE rows (id bigint, x1 float8, x2 float8, y float8);"
                       f"\\copy rows FROM '{cls.csv}' WITH (FORMAT csv, HEADER)")

    def without_times(self, text):
        fit = json.loads(text)
        fit.pop("seconds")
        return fit

    def check_alike(self, one, other, name="fit"):
        """The same, but for how numbers were rounded: sums of parts of other sizes end in other digits."""
        if isinstance(one, dict):
            self.assertEqual(one.keys(), other.keys(), name)
            one, other = ([part[key] for key in sorted(one)] for part in (one, other))
        if isinstance(one, list):
            self.assertEqual(len(one), len(other), name)
            for left, right in zip(one, other):
                self.check_alike(left, right, name)
        elif isinstance(one, float):
            self.assertAlmostEqual(one, other, delta=1e-9 * max(1.0, abs(one)))
        else:
            self.assertEqual(one, other, name)

    def test_rows_in_order_have_modes(self):
        options = json.dumps({"k": 2, "modes": "persistent", "noise": "shared", "features": ["x1", "x2"]})
        in_sql = self.without_times(self.server.sql(
            f"SELECT mixstream_fit(mixstream_state(y, ARRAY[x1, x2], NULL, NULL, '{options}' ORDER BY id)) FROM rows"))
        saved = CASE.folder / "modes.mix"
        self.tool("fit", "-q", "-k", "2", "-y", "y", "-x", "1,x1,x2", "--modes", "persistent", "--noise", "shared",
                  "--save", saved, self.csv)
        by_tool = self.without_times(self.tool("refit", saved, "--json"))
        self.assertEqual(in_sql["modes"]["kind"], "persistent")
        self.assertAlmostEqual(in_sql["modes"]["dwell"][0], 100.0, delta=25.0)
        self.check_alike(in_sql, by_tool)

    def test_predictions(self):
        fit = self.tool("fit", "-q", "-k", "2", "-y", "y", "-x", "1,x1,x2", "--modes", "independent", "--noise", "shared",
                        "--json", self.csv).strip().split("\n")[-1]
        (CASE.folder / "fit.json").write_text(fit + "\n")
        predicted = self.tool("predict", "-m", CASE.folder / "fit.json", self.csv).split("\n")[1:201]
        found = self.server.sql(
            f"SELECT id, (p).component, (p).expected, (p).low, (p).high FROM (SELECT id, mixstream_predict('{fit}', "
            "ARRAY[x1, x2], y) AS p FROM rows WHERE id < 200 ORDER BY id) AS done").split("\n")
        for line, answer in zip(predicted, found):
            by_tool = line.split(",")[4:]
            in_sql = answer.split("|")[1:]
            self.assertEqual(by_tool[0], in_sql[0])
            for one, other in zip(by_tool[-3:], in_sql[1:]):
                self.assertAlmostEqual(float(one), float(other), delta=0.01)
        blind = self.server.sql(f"SELECT (mixstream_predict('{fit}', ARRAY[0.5, 0.5])).probabilities")
        self.assertAlmostEqual(sum(map(float, blind.strip("{}").split(","))), 1.0)
        self.assertEqual(self.server.sql(f"SELECT mixstream_predict('{fit}', ARRAY['NaN'::float8, 1]) IS NULL"), "t")

    def test_table(self):
        found = self.server.sql("SELECT mixstream_table(mixstream_state(y, ARRAY[x1, x2], NULL, id, "
                                "'{\"response\": \"power\", \"features\": [\"flow\", \"speed\"]}'), 2) FROM rows")
        self.assertIn("power", found)
        self.assertIn("flow", found)


if __name__ == "__main__":
    unittest.main()
