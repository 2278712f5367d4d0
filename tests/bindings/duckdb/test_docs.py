"""Every statement of docs/guide/duckdb.md runs, and prints what the page says behind "prints"."""

import os
import pathlib
import unittest

from fixture import CASE, Case

PAGE = pathlib.Path(__file__).resolve().parents[3] / "docs" / "guide" / "duckdb.md"


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
        os.chdir(CASE.folder)
        for threads in (4, 2, 1):
            printed, outputs = "", 0
            with self.database(threads=threads) as database:
                for is_output, text in blocks():
                    if is_output:
                        self.assertEqual(printed, text)
                        outputs += 1
                    elif text.startswith(("SELECT", "CREATE", "COPY")):
                        printed = database.sql(text)
                self.assertEqual(outputs, 3)
                self.assertIn("law 2", database.sql("SELECT mixstream_table(mixstream_state(power, [flow]), 2) FROM 'pump.parquet'"))


if __name__ == "__main__":
    unittest.main()
