"""Every key that the loader takes stands in the example, the manual page and the guide, and no other does.
keys.py SOURCE_ROOT"""

import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
source = "".join(path.read_text() for path in sorted((root / "apps/mixstreamd").rglob("*.cpp")) if "TableReader" in path.read_text())
taken = set(re.findall(r'\btake\w*\(\s*"(\w+)"', source)) - {"log", "http", "mqtt", "stream"}
example = set(re.findall(r"^(?:# )?(\w+) = ", (root / "docs/reference/mixstreamd.toml").read_text(), re.M))
manual = set(re.findall(r"^\.B (\w+)(?:\\fR.*)?$", (root / "docs/reference/man/mixstreamd.toml.5").read_text(), re.M))
guide = set(re.findall(r"^\| `(\w+)` \|", (root / "docs/guide/daemon.md").read_text().split("## Every key")[1], re.M))
assert len(taken) > 50, taken
for name, found in (("docs/reference/mixstreamd.toml", example), ("mixstreamd.toml(5)", manual), ("docs/guide/daemon.md", guide)):
    assert found == taken, f"{name}: lacks {sorted(taken - found)}, knows too much {sorted(found - taken)}"
shared = set(re.findall(r"^\|[^|]*\|[^|]*\| `(\w+)` \|", (root / "docs/reference/settings.md").read_text(), re.M))
assert len(shared) > 15 and shared <= taken, f"settings.md knows too much: {sorted(shared - taken)}"
print(len(taken), "keys")
