"""How a parameter is written for people; measurements declare it beside the parameter."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

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

    def of(self, value: object) -> str:
        """The text of a value."""
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
