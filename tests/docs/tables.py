"""A page of tables is filled with what its command prints: columns by their names, in the page's order; and every page of tables has a
command and a table.  tables.py SOURCE_ROOT"""

import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(sys.argv[1]).resolve()
WRITE = ROOT / "tests/docs/write_tables.py"
PAGE = "# A page\n\n    {}\n\nWords.\n\n| b | a | b |\n|---|---|---|\n| old | old | old |\n\n| c |\n|---|\n| old |\n"
PRINTS = r"""printf '%s\n' 'words' '| a | x | b | b |' '|---|---|---|---|' '| 1 | 0 | 2 | 9 |' '| 3 | 0 | 4 | 8 |' '{"c":5,"d":6}' '{"c":7,"d":8}'"""


def written(folder, command):
    page = pathlib.Path(folder, "page.md")
    page.write_text(PAGE.format(command))
    done = subprocess.run([sys.executable, WRITE, folder, page], capture_output=True, text=True)
    return done, page.read_text()


with tempfile.TemporaryDirectory() as folder:
    done, text = written(folder, PRINTS)
    assert done.returncode == 0, done.stderr
    assert text.endswith("Words.\n\n| b | a | b |\n|---|---|---|\n| 2 | 1 | 9 |\n| 4 | 3 | 8 |\n\n| c |\n|---|\n| 5 |\n| 7 |\n"), text
    done, text = written(folder, PRINTS.replace('"c"', '"e"'))
    assert done.returncode != 0 and "['c']" in done.stderr and "old" in text, "a page whose columns nobody prints is left as it is"

pages = sorted((ROOT / "docs/evaluation/tables").glob("*.md"))
assert len(pages) > 10
for page in pages:
    lines = page.read_text().splitlines()
    assert lines[2].startswith("    ") and any(line.startswith("|---|") for line in lines), page
print(len(pages), "pages of tables")
