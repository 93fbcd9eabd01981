"""Reads a page as a browser does: elements, attributes, text, scripts."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from typing import Any


class Page(HTMLParser):
    """What a page consists of."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.scripts: list[tuple[dict[str, str], str]] = []
        self.styles: list[str] = []
        self.texts: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = {name: value or "" for name, value in attrs}
        self.elements.append((tag, named))
        self._open.append(tag)
        if tag == "script":
            self.scripts.append((named, ""))

    def handle_endtag(self, tag: str) -> None:
        if tag in self._open:
            while self._open.pop() != tag:
                pass

    def handle_data(self, data: str) -> None:
        inside = self._open[-1] if self._open else ""
        if inside == "script":
            attributes, text = self.scripts[-1]
            self.scripts[-1] = (attributes, text + data)
        elif inside == "style":
            self.styles.append(data)
        else:
            self.texts.append(data)

    @property
    def text(self) -> str:
        """All that a reader can read."""
        return " ".join(" ".join(self.texts).split())

    @property
    def charts(self) -> dict[str, Any]:
        """Specifications by place."""
        for attributes, text in self.scripts:
            if attributes.get("id") == "charts":
                panels: dict[str, Any] = json.loads(text)["panels"]
                return panels
        raise AssertionError("the page has no charts element")
