"""Every relative link of a page resolves, its heading too, and every page of docs is reached from docs/index.md.  links.py SOURCE_ROOT"""

import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1]).resolve()
LINK = re.compile(r"\]\(([^)\s]+)\)")


def prose(page):
    """Without blocks and code, where brackets mean something else."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.M | re.S)
    return re.sub(r"`[^`\n]*`", "``", re.sub(r"^    .*$", "", text, flags=re.M))


def anchors(page):
    """The headings' names, as the forges make them."""
    titles = re.findall(r"^#+ (.*)$", page.read_text(), flags=re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def links(page):
    """(as written, file or folder, heading or nothing) of every relative link."""
    for written in LINK.findall(prose(page)):
        if not re.match(r"[a-z]+:", written):
            path, _, heading = written.partition("#")
            yield written, (page.parent / path).resolve() if path else page, heading


def broken(page):
    for written, target, heading in links(page):
        if not target.exists() or ROOT not in target.parents:
            yield f"{page.relative_to(ROOT)}: {written} leads nowhere"
        elif heading and heading not in anchors(target):
            yield f"{page.relative_to(ROOT)}: {written} names no heading"


def reached_from(start):
    """Pages, and how many clicks each is away; a link to a folder reaches nothing in it."""
    clicks, waiting = {start: 0}, [start]
    for page in waiting:
        for _, target, _ in links(page):
            if target.suffix == ".md" and target.is_file() and target not in clicks:
                clicks[target] = clicks[page] + 1
                waiting.append(target)
    return clicks


def main():
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    faults = [fault for page in pages for fault in broken(page)]
    clicks = reached_from(ROOT / "docs/index.md")
    faults += [f"{page.relative_to(ROOT)} is not reached from docs/index.md" for page in pages[1:] if page not in clicks]
    verdict = ROOT / "docs/method/verdict.md"
    if clicks.get(verdict, 9) > 2 or "| finding | status |" not in verdict.read_text():
        faults.append("how a fit is judged is not a table within two clicks of docs/index.md")
    count = sum(1 for page in pages for _ in links(page))
    assert count > 60, f"only {count} links: are they still found?"
    print("\n".join(faults) or f"{len(pages)} pages, {count} links")
    return 1 if faults else 0


sys.exit(main())
