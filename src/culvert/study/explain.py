"""Rewords pydantic's errors for authors of studies (https://docs.pydantic.dev/latest/errors)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from culvert.study.table import near, similar

SEE = "see docs/study-file.md"

_TYPES = {
    "int": "a whole number",
    "float": "a number",
    "string": "text in quotes",
    "bool": "true or false",
    "list": "an array",
    "tuple": "an array",
    "dict": "a table",
    "model": "a table",
}
_CHOICES = frozenset({"literal_error", "enum"})
_BOUNDS = {
    "greater_than": ("gt", "more than"),
    "greater_than_equal": ("ge", "at least"),
    "less_than": ("lt", "less than"),
    "less_than_equal": ("le", "at most"),
}


@dataclass(frozen=True)
class Explanation:
    """A reason and a remedy. If the value has a wrong type or range, ``wanted`` is the valid one
    and ``shown`` the value. ``guessed``: the remedy names words similar to the value."""

    why: str
    remedy: str
    wanted: str = ""
    shown: str = ""
    guessed: bool = False


def merged(findings: Sequence[Explanation]) -> tuple[str, str]:
    """Reason and remedy of all alternatives that one value failed."""
    wanted = list(dict.fromkeys(finding.wanted for finding in findings if finding.wanted))
    if len(wanted) < 2:
        # A specific reason is more useful than the expected type of another alternative.
        best = min(findings, key=lambda finding: bool(finding.wanted))
        return best.why, best.remedy
    first = next(finding for finding in findings if finding.wanted)
    remedy = next((f.remedy for f in findings if f.guessed), SEE)
    return f"it must be {' or '.join(wanted)}, not {first.shown}", remedy


def explain(
    kind: str, message: str, value: object, context: Mapping[str, Any], path: Sequence[str | int]
) -> Explanation:
    """One error of pydantic: its type, its message, the value and the context it gives."""
    if "why" in context:
        return Explanation(str(context["why"]), str(context["remedy"]))
    if kind == "missing":
        return Explanation(f'"{path[-1]}" is missing', f"add it; {SEE}")
    if kind in ("too_short", "string_too_short"):
        return Explanation("it is empty", f"add at least {context['min_length']}")
    if kind == "string_pattern_mismatch":
        return Explanation(
            f"{shown(value)} has the wrong form", f"it must match {context['pattern']}"
        )
    wanted, remedy = _wanted(kind, value, context)
    if wanted:
        why = f"it must be {wanted}, not {shown(value)}"
        return Explanation(why, remedy, wanted, shown(value), _guessed(kind, value, context))
    return Explanation(message.removeprefix("Value error, "), SEE)


def _guessed(kind: str, value: object, context: Mapping[str, Any]) -> bool:
    return kind in _CHOICES and bool(similar(str(value), _expected(context)))


def _expected(context: Mapping[str, Any]) -> list[str]:
    return [word.strip("'") for word in _quoted(context)]


def _quoted(context: Mapping[str, Any]) -> list[str]:
    """As pydantic writes them: texts in quotes, numbers without."""
    return [word.strip() for word in context["expected"].replace(" or ", ",").split(",")]


def _wanted(kind: str, value: object, context: Mapping[str, Any]) -> tuple[str, str]:
    if kind in _CHOICES:
        wanted = " or ".join(word.replace("'", '"') for word in _quoted(context))
        words = _expected(context)
        return wanted, "write it without quotes" if value in words else near(str(value), words)
    if kind in _BOUNDS:
        name, relation = _BOUNDS[kind]
        return f"{relation} {context[name]}", SEE
    return _TYPES.get(kind.partition("_")[0], ""), SEE


def shown(value: object) -> str:
    """A value of a study, shortened for a message."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f'"{value}"' if len(value) <= 60 else f'"{value[:57]}..."'
    if isinstance(value, dict):
        return "a table"
    if isinstance(value, list | tuple):
        return "an array"
    return str(value)
