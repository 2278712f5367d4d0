"""Every statement of docs/guide/postgresql.md runs, and prints what the page says behind "prints", whatever plan the server takes."""

import pathlib
import re
import unittest

from fixture import CASE, Case, setUpModule, tearDownModule  # noqa: F401

PAGE = pathlib.Path(__file__).resolve().parents[3] / "docs" / "guide" / "postgresql.md"


def blocks():
    """(is output, text) of every indented block."""
    found, prose, lines = [], "", []
    for line in PAGE.read_text().splitlines() + ["end"]:
        if line.startswith("    "):
            lines.append(line[4:])
        elif lines and line.strip():
            found.append((prose == "prints", "\n".join(lines)))
            lines, prose = [], line
        elif line.strip():
            prose = line
    return found


class Docs(Case):
    def test_the_page_says_what_is_so(self):
        server = CASE.cluster.server("docs")
        for workers in (0, 1, 2, 4, 7):
            with self.subTest(workers=workers):
                self.follow(server, f"workers_{workers}", workers)

    def follow(self, server, database, workers):
        """The whole page in a database of its own, where every table is read by so many workers."""
        server.sql(f"CREATE DATABASE {database}")
        server.sql(f"ALTER DATABASE {database} SET max_parallel_workers_per_gather = {workers}")
        printed, outputs = "", 0
        for is_output, text in blocks():
            if is_output:
                self.assertEqual(printed, text)
                outputs += 1
            elif text.startswith(("SELECT", "CREATE")):
                printed = server.sql(text, database)
                for table in re.findall("CREATE TABLE (\\w+)", text):
                    server.sql(f"ALTER TABLE {table} SET (parallel_workers = {workers}); ANALYZE {table}", database)
        self.assertGreaterEqual(outputs, 3)
        state = "SELECT mixstream_table(mixstream_state(power, ARRAY[flow], NULL, id, '{\"response\": \"power\"}')) FROM pump"
        self.assertIn("power", server.sql(state, database))
        plan = server.sql("EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) " + state, database)
        self.assertEqual(f"Workers Launched: {workers}" in plan, workers > 0, plan)


if __name__ == "__main__":
    unittest.main()
