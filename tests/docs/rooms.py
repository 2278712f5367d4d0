"""What the folders of the library include of each other: no way leads back, and docs/reference/source.md draws it as it is.
rooms.py SOURCE_ROOT [--write]    --write draws it anew. A folder of tests/unit mirrors a folder of the library or of an app."""

import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1]).resolve()
PAGE = ROOT / "docs/reference/source.md"
BEGIN, END = "<!-- drawn by: tests/docs/rooms.py . --write -->\n", "<!-- end of the drawing -->\n"
FACE = "the face"  # what stands in lib/mixstream itself


def folders():
    """Each folder of lib/mixstream, and lib/input."""
    yield from sorted(path for path in (ROOT / "lib/mixstream").iterdir() if path.is_dir())
    yield ROOT / "lib/input"


def name_of(path):
    """The room that a file of lib stands in."""
    parts = path.relative_to(ROOT / "lib").parts
    return parts[0] if parts[0] != "mixstream" else parts[1] if len(parts) > 2 else FACE


def rooms():
    """Room -> rooms that its files include, each with one file that does."""
    found = {FACE: {}, **{path.name: {} for path in folders()}}
    for file in sorted((ROOT / "lib").rglob("*")):
        if file.suffix not in (".hpp", ".cpp", ".h") or "bindings" in file.relative_to(ROOT).parts:
            continue
        for header in re.findall(r'^#include "((?:mixstream|input)/[^"]+)"', file.read_text(), re.M):
            target = ROOT / "lib" / header
            if target.exists() and name_of(target) != name_of(file):
                found[name_of(file)].setdefault(name_of(target), f"{file.relative_to(ROOT)} includes {header}")
    return found


def way_back(graph):
    """A cycle as a list of rooms, or nothing."""
    done = set()

    def walk(room, way):
        if room in way:
            return way[way.index(room):] + [room]
        if room in done:
            return None
        found = next(filter(None, (walk(other, way + [room]) for other in graph[room])), None)
        done.add(room)
        return found

    return next(filter(None, (walk(room, []) for room in graph)), None)


def reached(graph, room, without=None):
    seen, ahead = set(), [other for other in graph[room] if other != without]
    while ahead:
        other = ahead.pop()
        if other not in seen:
            seen.add(other)
            ahead += graph[other]
    return seen


def drawing(graph):
    """A room stands above those that it includes. An arrow that a longer way says already is left out."""
    lines = ["```mermaid", "flowchart TD", f"  face[{FACE}]"]
    for room in sorted(graph):
        for other in sorted(graph[room]):
            if other not in reached(graph, room, without=other):
                lines.append(f"  {room} --> {other}".replace(FACE, "face"))
    return "\n".join(lines + ["```"]) + "\n"


def mirrors():
    """Folders of tests/unit that mirror nothing."""
    known = {path.name for path in folders()} | {path.name for path in (ROOT / "apps/mixstreamd").iterdir()} | {"daemon", "tool"}
    return [path.name for path in (ROOT / "tests/unit").iterdir() if path.is_dir() and path.name not in known]


graph = rooms()
cycle = way_back(graph)
if cycle:
    print("the rooms include each other in a circle:")
    print("\n".join(graph[one][other] for one, other in zip(cycle, cycle[1:])))
    sys.exit(1)
before, rest = PAGE.read_text().split(BEGIN)
drawn, after = rest.split(END)
if "--write" in sys.argv:
    PAGE.write_text(before + BEGIN + drawing(graph) + END + after)
elif drawn != drawing(graph):
    sys.exit("docs/reference/source.md draws other rooms: tests/docs/rooms.py . --write")
if mirrors():
    sys.exit(f"tests/unit mirrors no folder of the library or an app: {mirrors()}")
if list((ROOT / "tests/unit").glob("*.cpp")) != [ROOT / "tests/unit/main.cpp"]:
    sys.exit("a unit test stands in no folder")
print(f"{len(graph)} rooms, {sum(map(len, graph.values()))} ways between them, none back")
