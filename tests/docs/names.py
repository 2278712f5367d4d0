"""What the pages name is there: programs, tests, test cases, source files, names in code; and so are the pages that sources name.
names.py SOURCE_ROOT BUILD_ROOT"""

import fnmatch
import json
import pathlib
import re
import shlex
import subprocess
import sys

ROOT, BUILD = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PAGES.remove(ROOT / "docs/changelog.md")  # what a version brought may have gone since
TARGETS = {name: target for target in json.loads((BUILD / "meson-info/intro-targets.json").read_text()) for name in target["filename"]}
TESTS = {test["name"] for test in json.loads((BUILD / "meson-info/intro-tests.json").read_text())}
TRACKED = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True).stdout.split("\n")
FILES = set(TRACKED) if len(TRACKED) > 1 else {str(path.relative_to(ROOT)) for path in ROOT.rglob("*")}
PLACES = {str(parent) for name in FILES for parent in (pathlib.PurePath(name), *pathlib.PurePath(name).parents)}
STEMS = {name.rsplit(".", 1)[0] for name in FILES}
LIBRARY = "lib/mixstream/"
CODE = "\n".join((ROOT / name).read_text() for name in FILES if re.fullmatch(LIBRARY + r".*\.(h|hpp|cpp)", name))
faults, checked = [], {"programs": 0, "tests": 0, "test cases": 0, "files": 0, "names": 0, "pages": 0}


def check(kind, good, page, what):
    checked[kind] += 1
    if not good:
        faults.append(f"{page.relative_to(ROOT)}: {kind}: {what}")


def spans(page):
    """What stands between backquotes, line ends within taken for blanks, and every indented line."""
    text = page.read_text()
    return re.findall(r"`([^`]+)`", re.sub(r"\n(?!\n)", " ", text)) + re.findall(r"^    (.*)$", text, re.M)


def test_cases(target):
    for sources in target["target_sources"]:
        for source in sources["sources"]:
            if source.endswith(".cpp"):
                yield from re.findall(r'TEST_CASE\(\s*"((?:[^"\\]|\\.)*)"', pathlib.Path(source).read_text())


def commands(page, text):
    for program in re.findall(r"(?<![\w/])build/((?:apps|tests|lib)/[\w/.-]*[\w-])", text):
        check("programs", str(BUILD / program) in TARGETS or str(BUILD / program) in TARGETS_FOLDERS, page, program)
    for study in re.findall(r"(?<![\w/-])(study-\w+)", text):
        check("programs", str(BUILD / "tests/studies" / study) in TARGETS, page, study)
    match = re.search(r"build/(tests/unit/\S+) --test-case='([^']*)'", text)
    if match:
        target = TARGETS.get(str(BUILD / match[1]))
        found = target and any(fnmatch.fnmatch(case, match[2]) for case in test_cases(target))
        check("test cases", found and "," not in match[2], page, text)
    match = re.search(r"meson test -C build ([^|;&]*)", text)
    if match and "..." not in text:
        words = shlex.split(match[1])
        for i, word in enumerate(words):
            if not word.startswith("-") and (i == 0 or not words[i - 1].startswith("--")):
                check("tests", word in TESTS, page, word)


def paths(page, text):
    """One path, from the root of the sources; on the pages of the method also from the library's, without its ending."""
    if not re.fullmatch(r"[\w.-]+(/[\w.-]+)+/?|[\w-]+/", text):
        return
    name = text.rstrip("/")
    if re.match(r"(lib|apps|tests|docs)/", name):
        check("files", name in PLACES or name in STEMS, page, text)
    elif page.parent.name == "method":
        check("files", LIBRARY + name in PLACES or LIBRARY + name in STEMS, page, text)


def cells(page, column):
    """What stands between backquotes in a column of the page's tables."""
    for row in re.findall(r"^\|(.*)\|$", page.read_text(), re.M):
        cell = re.split(r"(?<!\\)\|", row)[column:column + 1]
        yield from re.findall(r"`([^`]+)`", "".join(cell))


def names(page, column):
    """Each stands in the code."""
    for name in cells(page, column):
        for part in re.sub(r"\(.*\)", "", name).split("::"):
            check("names", re.search(rf"\b{part}\b", CODE), page, name)


def pages_named_by(source):
    """Paths below docs in a comment, a text for users, another language's page."""
    try:
        text = (ROOT / source).read_text()
    except (UnicodeDecodeError, IsADirectoryError):
        return []
    return re.findall(r"(?<![\w/.-])(docs/[\w./-]*[\w-])", text)


TARGETS_FOLDERS = {str(parent) for name in TARGETS for parent in pathlib.PurePath(name).parents}
for each in PAGES:
    for span in spans(each):
        commands(each, span)
        paths(each, span)
for source in sorted(FILES):
    if not source.startswith("docs/") and (ROOT / source).is_file():
        for named in pages_named_by(source):
            check("pages", named in PLACES, ROOT / source, named)
names(ROOT / "docs/method/notation.md", 2)
names(ROOT / "docs/reference/settings.md", 3)
print("\n".join(faults) or checked)
assert all(count > 10 for count in checked.values()), f"too few: are they still found? {checked}"
sys.exit(1 if faults else 0)
