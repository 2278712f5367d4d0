"""Every statement of docs/guide/postgresql.md runs, and prints what the page says behind "prints"."""

import pathlib
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
        server.sql("DROP EXTENSION mixstream")
        printed, outputs = "", 0
        for is_output, text in blocks():
            if is_output:
                self.assertEqual(printed, text)
                outputs += 1
            elif text.startswith(("SELECT", "CREATE")):
                printed = server.sql(text)
        self.assertGreaterEqual(outputs, 3)
        self.assertIn("power", server.sql("SELECT mixstream_table(mixstream_state(power, ARRAY[flow], NULL, id, "
                                          "'{\"response\": \"power\"}')) FROM pump"))


if __name__ == "__main__":
    unittest.main()
