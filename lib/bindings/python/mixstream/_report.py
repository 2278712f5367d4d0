"""What a fit says, as data that prints as the tool's table and shows as its page."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping
from typing import Any, Callable, Iterator, List


class Report(Mapping):  # type: ignore[type-arg]
    """The JSON of a fit (docs/reference/json.md) as a mapping. print(report) is a table; a notebook shows the page."""

    def __init__(self, text: str, table: str, page: Callable[[], str]) -> None:
        self.json = text
        self.table = table
        self._content = json.loads(text)
        self._page = page

    def __getitem__(self, name: str) -> Any:
        return self._content[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._content)

    def __len__(self) -> int:
        return len(self._content)

    @property
    def status(self) -> str:
        return str(self["status"])

    @property
    def words(self) -> str:
        return str(self["words"])

    @property
    def laws(self) -> List[Any]:
        return list(self["components"])

    def page(self) -> str:
        """One self-contained HTML page: rows, laws, residuals, diagnosis in words."""
        return self._page()

    def __repr__(self) -> str:
        return self.table

    def _repr_html_(self) -> str:
        try:
            page = self.page()
        except ValueError:  # a library built without the plots
            return preformatted(self.table)
        return (f'<iframe srcdoc="{html.escape(page, quote=True)}" sandbox="allow-scripts" '
                'style="width:100%;height:46em;border:0"></iframe>')


def preformatted(text: str) -> str:
    return f"<pre>{html.escape(text)}</pre>"
