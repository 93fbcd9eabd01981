"""Reads the text of a study file into tables, within bounds that keep the parsing time short."""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

from culvert.errors import StudyError
from culvert.study.lines import Path, line_numbers
from culvert.study.problems import Problem, study_error

MOST_BYTES = 1 << 19
"""Ten times the longest shipped study."""
MOST_PARTS = 32
"""Parts of a dotted key, and levels of nesting: a study has six."""
MOST_VALUES = 20_000
MOST_INTEGER = 2**63 - 1
"""TOML's own bound (https://toml.io/en/v1.0.0#integer)."""

_BOM = "\ufeff"
_PLACE = re.compile(r"\s*\(at (?:line (\d+), column \d+|end of document)\)$")
_PART = r"(?:[A-Za-z0-9_-]++|\"\")"
_LONG_KEY = re.compile(rf"(?<![A-Za-z0-9_-]){_PART}(?:[ \t]*+\.[ \t]*+{_PART}){{{MOST_PARTS}}}")
_LONG_NUMBER = re.compile(r"(?<![\w.])[+-]?+[0-9_]{40,}+(?![\w.])")
_OPENINGS = re.compile(r"(?:[\[{][ \t\r\n]*+){33}")
_STRING = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'|#[^\n]*', re.DOTALL
)


def read_toml(text: str, source: str) -> tuple[dict[str, Any], Mapping[Path, int]]:
    """The tables, and the line of each key. Raises StudyError."""
    _refuse_by_sight(text, source)
    try:
        data, lines = tomllib.loads(text), line_numbers(text)
    except tomllib.TOMLDecodeError as error:
        message = str(error)
        place = _PLACE.search(message)
        line = place[1] if place and place[1] else str(text.count("\n") + 1)
        why = _PLACE.sub("", message)
        raise StudyError(
            f"{source}, line {line}", f"this is not TOML: {why}", "correct it; see https://toml.io"
        ) from error
    except ValueError as error:  # a date that does not exist
        raise StudyError(source, f"this is not TOML: {error}", "correct it") from error
    except RecursionError as error:
        raise StudyError(source, "its arrays are nested too deeply", "flatten it") from error
    _refuse_by_size(data, lines, source)
    return data, lines


def _refuse_by_sight(text: str, source: str) -> None:
    """Refuse text that would take long to parse."""
    if len(text) > MOST_BYTES:
        raise StudyError(source, f"it is larger than {MOST_BYTES >> 10} KiB", "split it")
    if text.startswith(_BOM):
        raise StudyError(
            f"{source}, line 1", "it begins with a byte order mark", "save it as UTF-8 without one"
        )
    bare = _STRING.sub(_blank, text)
    if bare.count(",") + bare.count("=") > MOST_VALUES:
        raise _too_many(source)
    for pattern, why, remedy in (
        (_LONG_KEY, f"a key has more than {MOST_PARTS} parts", "flatten it"),
        (_LONG_NUMBER, "a number has too many digits", "correct it"),
        (_OPENINGS, "its arrays are nested too deeply", "flatten it"),
    ):
        found = pattern.search(bare)
        if found is not None:
            line = bare.count("\n", 0, found.start()) + 1
            raise StudyError(f"{source}, line {line}", why, remedy)


def _too_many(source: str) -> StudyError:
    return StudyError(source, f"it has more than {MOST_VALUES} values", "split it")


def _blank(found: re.Match[str]) -> str:
    """Comments become empty and strings ``""``, which still counts as a part of a key; line breaks
    are kept."""
    return ("" if found[0].startswith("#") else '""') + "\n" * found[0].count("\n")


def _refuse_by_size(data: Mapping[str, Any], lines: Mapping[Path, int], source: str) -> None:
    for count, (path, value) in enumerate(_values(data, ())):
        if count > MOST_VALUES:
            raise _too_many(source)
        if len(path) > MOST_PARTS:
            problem = Problem(path, "it is nested too deeply", "flatten it")
        elif isinstance(value, float) and not math.isfinite(value):
            problem = Problem(path, "it is not a finite number", "write one")
        elif isinstance(value, int) and abs(value) > MOST_INTEGER:
            problem = Problem(path, "the number is out of bounds", "write a smaller one")
        else:
            continue
        raise study_error(source, [problem], lines)


def _values(value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    """All values with their paths, without recursion: the nesting may be deep."""
    todo: list[tuple[Path, Any]] = [(path, value)]
    while todo:
        here, one = todo.pop()
        yield here, one
        if len(here) > MOST_PARTS:
            continue
        if isinstance(one, dict):
            todo += [((*here, key), item) for key, item in one.items()]
        elif isinstance(one, list):
            todo += [((*here, index), item) for index, item in enumerate(one)]


def literal(value: Any) -> str:
    """A string, number or truth as TOML: JSON's are TOML's, only DEL has to be escaped too."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
