"""Consecutive JSON documents of a file; a truncated one as far as it is complete."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from culvert.journal.readers.reading import Text
from culvert.json_text import Resolve, once, read_json

MOST_DEPTH = 64
"""The deepest nesting of brackets: output of the tools is far below."""
MOST_TOKENS = 5_000_000
"""Texts, brackets and commas of a document: 60 MB of output of the tools."""

# An unterminated string extends to the end of the text. Possessive: no backtracking.
_TOKEN = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[{}\[\],]', re.DOTALL)
_BEGIN = re.compile(r"^[ \t]*[{\[]", re.MULTILINE)
_CLOSERS = {"{": "}", "[": "]"}


@dataclass(frozen=True)
class Document:
    """A JSON value, its first line, and whether it is complete."""

    value: Any
    line: int
    whole: bool


@dataclass(frozen=True)
class _Extent:
    """The end of a document; ``closers`` are the brackets missing after it."""

    end: int
    closers: str = ""
    trouble: str = ""


def documents(text: Text, resolve: Resolve = once) -> Iterator[Document]:
    """Every document; other text and damaged documents go to ``text.lost`` with their line.
    ``resolve`` is as of ``read_json``."""
    content, position = text.text, 0
    lines = _Lines(content)
    while (begin := _BEGIN.search(content, position)) is not None:
        start = begin.end() - 1
        _tell_skipped(text, lines, position, start)
        line = lines.at(start)
        extent = _extent(content, start)
        if extent.trouble:
            text.lose(line, extent.trouble)
            return
        position = extent.end if not extent.closers else len(content)
        try:
            value = read_json(content[start : extent.end] + extent.closers, resolve)
        except ValueError as error:
            # Only the message of a JSONDecodeError: its position is relative to the document.
            why = getattr(error, "msg", "") or str(error).partition(":")[0]
            text.lose(line, f"this is not JSON: {why}")
            continue
        if extent.closers:
            text.lose(lines.at(extent.end), "the file is truncated here")
        yield Document(value, line, whole=not extent.closers)
    _tell_skipped(text, lines, position, len(content))


class _Lines:
    """Line numbers of positions, which must be requested in ascending order."""

    def __init__(self, content: str) -> None:
        self._content = content
        self._place, self._line = 0, 1

    def at(self, place: int) -> int:
        self._line += self._content.count("\n", self._place, place)
        self._place = max(self._place, place)
        return self._line


def _extent(content: str, start: int) -> _Extent:
    """The end of the document that starts at ``start``, or the last position at which it is
    valid."""
    stack: list[str] = []
    # Whatever is closed changes it, so that the brackets that are open there stay in the stack.
    end, depth = start, 0
    for count, token in enumerate(_TOKEN.finditer(content, start)):
        mark = token[0]
        if count > MOST_TOKENS:
            return _Extent(start, "", f"it has more than {MOST_TOKENS} texts and brackets")
        if mark == ",":
            end, depth = token.start(), len(stack)
        elif mark in "{[":
            stack.append(_CLOSERS[mark])
            if len(stack) > MOST_DEPTH:
                return _Extent(start, "", f"it is nested more than {MOST_DEPTH} deep")
        elif mark in "}]":
            if mark != stack[-1]:
                return _Extent(start, "", f"this is not JSON: {mark} where {stack[-1]} is expected")
            stack.pop()
            end, depth = token.end(), len(stack)
            if not stack:
                return _Extent(end)
    if end == start:
        return _Extent(start, "", "it is truncated before its first value")
    return _Extent(end, "".join(reversed(stack[:depth])))


def _tell_skipped(text: Text, lines: _Lines, begin: int, end: int) -> None:
    skipped = text.text[begin:end].strip("\x00 \t\r\n,;")
    if skipped:
        line = lines.at(text.text.index(skipped, begin))
        text.lose(line, f"{len(skipped)} characters that are not JSON")
