"""The parameters of a cell: stored, compared and sorted as canonical JSON, read by name."""

from __future__ import annotations

import json
import re
from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Self

from culvert.json_text import read_json


def canonical_json(value: object) -> str:
    """JSON with sorted keys and fixed separators: equal content gives equal text."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


class Parameters(str):
    """Canonical JSON of an object. A data frame or a journal holds it as text: ``Parameters(text)``
    reads it again."""

    __slots__ = ()

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        return cls(canonical_json(values))

    @property
    def values(self) -> Mapping[str, Any]:
        """By name; not to be changed."""
        return _values(str(self))

    def get(self, name: str) -> Any:
        """The value; None if it is not stated, or null."""
        return self.values.get(name)

    def has(self, name: str, value: str) -> bool:
        """Whether it is stated, with this value (canonical JSON)."""
        return name in self.values and canonical_json(self.values[name]) == value

    def without(self, names: Container[str]) -> Self:
        return self.of({name: value for name, value in self.values.items() if name not in names})


@lru_cache(4096)
def _values(text: str) -> Mapping[str, Any]:
    values: dict[str, Any] = read_json(text or "{}")
    return values


_QUANTITY = re.compile(r"(\d+(?:\.\d+)?)([a-zA-Zµ%]+(?:/s)?)")


@dataclass(frozen=True, eq=False)
class Label:
    """``Annotated[int, Field(ge=1), Label("{} flows", {1: "one flow"})]``.

    ``text`` has {} for the value; ``words`` are texts of single values, an empty one hides it.
    ``unit`` is that of bare numbers, which imported data may have.
    """

    text: str
    words: Mapping[object, str] = field(default_factory=dict)
    unit: str = ""
    always: bool = False
    """Shown also where all cells of a study have one value."""
    where: tuple[str, str] | None = None
    """Another parameter and its value: with others this one has no effect and is not shown."""

    def among(self, values: Mapping[str, Any], name: str) -> str:
        """The text of the parameter ``name`` among a cell's ``values``; empty if it is hidden."""
        if self.where is not None and values.get(self.where[0]) != self.where[1]:
            return ""
        return self.of(values[name])

    def of(self, value: object) -> str:
        if not isinstance(value, list | dict) and value in self.words:
            return self.words[value]
        return self.text.format(self._value(value))

    def _value(self, value: object) -> str:
        if value is None:
            return "not set"
        if isinstance(value, bool):
            return "on" if value else "off"
        if isinstance(value, int | float):
            number = f"{value:g}" if abs(value) < 1e5 else f"{value:.0f}"
            return f"{number} {self.unit}".rstrip()
        # A text includes its unit: separate them by a space, as everywhere else.
        found = _QUANTITY.fullmatch(str(value))
        return f"{found[1]} {found[2].replace('us', 'µs')}" if found else str(value)


def undeclared(name: str) -> Label:
    """The name and the value, of a parameter that no installed measurement declares."""
    return Label(f"{name.replace('_', ' ').replace('{', '').replace('}', '')} {{}}")
