"""Turns the errors of pydantic into those of a study: the line, the key, the reason, the remedy."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import ValidationError

from culvert.errors import StudyError
from culvert.study.explain import Explanation, explain, merged
from culvert.study.lines import Path, nearest_line
from culvert.units import plural

MOST_LINES = 8
"""Line numbers that an error lists."""


@dataclass(frozen=True)
class Problem:
    """One error of a study. ``path`` leads to it through the tables and arrays.

    ``repeated``: the only error is that the same cell is requested twice. ``unknown`` is a key that
    is no slip of one of its table's.
    """

    path: Path
    why: str
    remedy: str
    repeated: bool = False
    unknown: str = ""

    @property
    def key(self) -> str:
        """The path as text: ``measurement[1].packet_size``."""
        text = ""
        for part in self.path:
            text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
        return text


def problems_of(error: ValidationError, data: object) -> list[Problem]:
    """The errors that pydantic found in ``data``.

    The alternatives of a union that failed on the same value become one problem.
    """
    found: dict[Path, list[Explanation]] = {}
    unknown: dict[Path, str] = {}
    for detail in error.errors(include_url=False):
        context: Mapping[str, Any] = detail.get("ctx", {})
        loc = (*detail["loc"], *context.get("key", ()))
        path = _path_in(data, loc, missing=detail["type"] == "missing")
        finding = explain(detail["type"], detail["msg"], detail["input"], context, path)
        found.setdefault(path, []).append(finding)
        unknown[path] = context.get("unknown", "")
    for path in list(found):
        # pydantic counts valid items only: an array with one invalid item is "too short" as well.
        if any(len(other) > len(path) and other[: len(path)] == path for other in found):
            del found[path]
    return [
        Problem(path, *merged(findings), unknown=unknown[path] if len(findings) == 1 else "")
        for path, findings in found.items()
    ]


def placed(problems: Iterable[Problem], places_of: Callable[[str], Sequence[str]]) -> list[Problem]:
    """The problems; the remedy for a key that other tables have names these."""
    return [
        replace(one, remedy=f"write {one.unknown} into {' or '.join(places)}")
        if one.unknown and (places := places_of(one.unknown))
        else one
        for one in problems
    ]


def study_error(source: str, problems: Sequence[Problem], lines: Mapping[Path, int]) -> StudyError:
    """An error for the first problem in the file, with the number and lines of the others."""
    ordered = sorted(problems, key=lambda problem: nearest_line(lines, problem.path) or 0)
    first, *others = ordered
    why = first.why
    if others:
        where = sorted({nearest_line(lines, other.path) or 0 for other in others} - {0})
        count = plural(len(others), "more problem")
        more = ", ..." if len(where) > MOST_LINES else ""
        at = f", line {', '.join(map(str, where[:MOST_LINES]))}{more}" if where else ""
        why += f" ({count}{at})"
    return StudyError(
        _place(source, first, lines),
        why,
        first.remedy,
        [StudyError(_place(source, one, lines), one.why, one.remedy) for one in ordered],
    )


def _place(source: str, problem: Problem, lines: Mapping[Path, int]) -> str:
    line = nearest_line(lines, problem.path)
    return ", ".join(filter(None, [source, f"line {line}" if line else "", problem.key]))


def _path_in(data: object, loc: Iterable[str | int], *, missing: bool) -> Path:
    """``loc`` without the parts for unions and validators, which are not in the file."""
    path: list[str | int] = []
    parts = list(loc)
    for index, part in enumerate(parts):
        if _holds(data, part):
            data = data[part]  # type: ignore[index]
        elif not (missing and index == len(parts) - 1):
            continue
        path.append(part)
    return tuple(path)


def _holds(data: object, part: str | int) -> bool:
    if isinstance(data, list):
        return isinstance(part, int) and part < len(data)
    return isinstance(data, dict) and part in data
