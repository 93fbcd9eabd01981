"""Where keys stand, compared with tomllib on texts that are made up."""

from __future__ import annotations

import json
import tomllib
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from culvert.study.lines import Path, line_numbers, nearest_line

KEYS = st.text("abcdefg-_1", min_size=1, max_size=4) | st.text(min_size=1, max_size=4).filter(
    lambda text: all(0x20 <= ord(c) != 0x7F and not 0xD800 <= ord(c) < 0xE000 for c in text)
)
SCALARS: st.SearchStrategy[Any] = st.one_of(
    st.integers(-(10**9), 10**9),
    st.booleans(),
    st.floats(allow_nan=False, allow_infinity=False, min_value=-1e6, max_value=1e6),
    st.text("ab \"'#[]{}=,\\.", max_size=8),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)
DOCUMENTS = st.dictionaries(KEYS, VALUES, max_size=5)


def paths(data: Any, base: Path = ()) -> set[Path]:
    found: set[Path] = set()
    items: Any = data.items() if isinstance(data, dict) else enumerate(data)
    for key, value in items:
        path = (*base, key)
        found.add(path)
        if isinstance(value, dict | list):
            found |= paths(value, path)
    return found


def quoted(text: object) -> str:
    return json.dumps(text, ensure_ascii=False)


class Writer:
    """Writes TOML in styles that the draw chooses and notes the line of every path."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.text = ""
        self.lines: dict[Path, int] = {}

    def note(self, path: Path) -> None:
        self.lines[path] = self.text.count("\n") + 1

    def document(self, data: dict[str, Any]) -> None:
        tables = {}
        for key, value in data.items():
            headed = isinstance(value, dict) or (
                isinstance(value, list) and value and all(isinstance(v, dict) for v in value)
            )
            if headed and self.draw(st.booleans()):
                tables[key] = value
            else:
                self.pair((key,), value)
        for key, value in tables.items():
            for index, table in enumerate(value if isinstance(value, list) else [value]):
                array = isinstance(value, list)
                self.text += self.draw(st.sampled_from(["", "\n", "# [x] = 1\n", "  "]))
                path: Path = (key, index) if array else (key,)
                self.note(path)
                if index == 0:
                    self.note((key,))
                name = quoted(key)
                self.text += f"[[ {name} ]]\n" if array else f"[{name}] # y = ]\n"
                for inner, content in table.items():
                    self.pair((*path, inner), content)

    def pair(self, path: Path, value: Any) -> None:
        self.note(path)
        key = path[-1]
        self.text += f"{quoted(key)} = "
        self.value(path, value)
        self.text += self.draw(st.sampled_from(["\n", "  # a = [\n", "\r\n", "\n\n"]))

    def value(self, path: Path, value: Any) -> None:
        if isinstance(value, list):
            self.text += "["
            for index, item in enumerate(value):
                self.text += self.draw(st.sampled_from(["", "\n", " # ]\n  "]))
                self.note((*path, index))
                self.value((*path, index), item)
                self.text += ","
            self.text += "]"
        elif isinstance(value, dict):
            self.text += "{"
            for index, (key, item) in enumerate(value.items()):
                self.text += ", " if index else " "
                self.note((*path, key))
                self.text += f"{quoted(key)} = "
                self.value((*path, key), item)
            self.text += "}"
        elif isinstance(value, str):
            self.string(value)
        else:
            self.text += json.dumps(value)

    def string(self, value: str) -> None:
        styles = [quoted(value)]
        if "'" not in value:
            styles += [f"'{value}'", f"'''\n{value}'''"]
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        styles.append(f'"""\n{escaped}"""')
        self.text += self.draw(st.sampled_from(styles))


@st.composite
def toml(draw: st.DrawFn) -> tuple[str, dict[Path, int], dict[str, Any]]:
    data = draw(DOCUMENTS)
    writer = Writer(draw)
    writer.document(data)
    return writer.text, writer.lines, data


@given(toml())
def test_every_path_is_on_its_line(written: tuple[str, dict[Path, int], dict[str, Any]]) -> None:
    text, lines, data = written
    assert tomllib.loads(text) == data
    found = line_numbers(text)
    assert paths(data) <= found.keys()
    assert {path: found[path] for path in lines} == lines


def test_dotted_keys_and_nested_tables() -> None:
    text = """\
a.b = 1
a.c = 1979-05-27 07:32:00
[[x]]
[x.y]
z = 1
[[x]]
[[x.w]]
k = "]"
[[x.w]]
k = ''
"""
    data = tomllib.loads(text)
    found = line_numbers(text)
    assert paths(data) <= found.keys()
    assert found["a", "b"] == 1
    assert found["a", "c"] == 2
    assert found["x", 0, "y", "z"] == 5
    assert found["x", 1] == 6
    assert found["x", 1, "w", 1, "k"] == 10


def test_what_the_text_does_not_hold_is_near_what_it_holds() -> None:
    found = line_numbers("[a]\nb = 1\n")
    assert nearest_line(found, ("a", "c", 3)) == 1
    assert nearest_line(found, ("z",)) is None
