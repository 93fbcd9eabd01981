"""The line of each key and each array item of a TOML text.

``tomllib`` does not report positions. This scan runs after ``tomllib`` has accepted the text, so it
handles valid TOML only (https://toml.io/en/v1.0.0).
"""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_right
from collections.abc import Mapping, Sequence

Path = tuple[str | int, ...]

_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_SPACES = re.compile(r"[ \t]*")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_SCALAR = re.compile(r"[^,\]}#\n]*")
_STRINGS = (
    re.compile(r'"""(?:[^\\]|\\.)*?"{3,5}', re.DOTALL),
    re.compile(r"'''.*?'{3,5}", re.DOTALL),
    re.compile(r'"(?:[^"\\\n]|\\.)*"'),
    re.compile(r"'[^'\n]*'"),
)


def line_numbers(toml: str) -> Mapping[Path, int]:
    """Lines (from 1) of all keys, tables and array items of a valid TOML text."""
    return _Scan(toml).run()


def nearest_line(lines: Mapping[Path, int], path: Sequence[str | int]) -> int | None:
    """The line of ``path``, or of its nearest parent that is in the text."""
    for length in range(len(path), 0, -1):
        line = lines.get(tuple(path[:length]))
        if line is not None:
            return line
    return None


class _Scan:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.starts = [0, *(found.end() for found in re.finditer("\n", text))]
        self.lines: dict[Path, int] = {}
        self.tables_in: dict[Path, int] = {}

    def run(self) -> Mapping[Path, int]:
        table: Path = ()
        self.skip(_BLANK)
        while self.at < len(self.text):
            if self.text.startswith("[", self.at):
                table = self.header()
            else:
                self.pair(table)
            self.skip(_BLANK)
        return self.lines

    def header(self) -> Path:
        line = self.line()
        array = self.text.startswith("[[", self.at)
        self.at += 2 if array else 1
        *parents, last = self.key()
        self.at = self.text.index("]", self.at) + (2 if array else 1)
        path: Path = ()
        for part in parents:
            path = self.inside((*path, part), line)
        path = (*path, last)
        self.lines.setdefault(path, line)
        if array:
            count = self.tables_in.get(path, 0)
            self.tables_in[path] = count + 1
            path = (*path, count)
            self.lines[path] = line
        else:
            self.lines[path] = line
        return path

    def inside(self, path: Path, line: int) -> Path:
        """The path for keys below ``path``: its last table, if it is an array of tables."""
        self.lines.setdefault(path, line)
        count = self.tables_in.get(path)
        return path if count is None else (*path, count - 1)

    def pair(self, table: Path) -> None:
        line = self.line()
        path = table
        for part in self.key():
            path = (*path, part)
            self.lines.setdefault(path, line)
        self.at = self.text.index("=", self.at) + 1
        self.skip(_SPACES)
        self.value(path)

    def key(self) -> list[str]:
        parts = []
        while True:
            self.skip(_SPACES)
            if self.text[self.at] in "\"'":
                parts.append(_unquoted(self.take_string()))
            else:
                parts.append(self.take(_BARE_KEY))
            self.skip(_SPACES)
            if not self.text.startswith(".", self.at):
                return parts
            self.at += 1

    def value(self, path: Path) -> None:
        start = self.text[self.at : self.at + 1]
        if start == "[":
            self.array(path)
        elif start == "{":
            self.inline_table(path)
        elif start in ('"', "'"):
            self.take_string()
        else:
            self.skip(_SCALAR)

    def array(self, path: Path) -> None:
        self.at += 1
        item = 0
        self.skip(_BLANK)
        while self.text[self.at] != "]":
            self.lines[(*path, item)] = self.line()
            self.value((*path, item))
            item += 1
            self.comma()
        self.at += 1

    def inline_table(self, path: Path) -> None:
        self.at += 1
        self.skip(_BLANK)
        while self.text[self.at] != "}":
            self.pair(path)
            self.comma()
        self.at += 1

    def comma(self) -> None:
        self.skip(_BLANK)
        if self.text[self.at] == ",":
            self.at += 1
            self.skip(_BLANK)

    def line(self) -> int:
        return bisect_right(self.starts, self.at)

    def skip(self, pattern: re.Pattern[str]) -> None:
        self.take(pattern)

    def take(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self.text, self.at)
        if found is None:
            raise AssertionError(f"not valid TOML at character {self.at}")
        self.at = found.end()
        return found[0]

    def take_string(self) -> str:
        for pattern in _STRINGS:
            found = pattern.match(self.text, self.at)
            if found is not None:
                self.at = found.end()
                return found[0]
        raise AssertionError(f"not a TOML string at character {self.at}")


def _unquoted(quoted: str) -> str:
    # tomllib decodes the escapes, in a document with one key.
    (key,) = tomllib.loads(f"{quoted} = 0")
    return key
