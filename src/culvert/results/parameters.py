"""The parameters of a cell: stored, compared and sorted as canonical JSON, read by name."""

from __future__ import annotations

import json
from collections.abc import Container, Mapping
from functools import lru_cache
from typing import Any, Self


def canonical_json(value: object) -> str:
    """JSON with sorted keys and fixed separators: equal content gives equal text."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


class Parameters(str):
    """Canonical JSON of an object. A data frame or a journal holds it as text: ``Parameters(text)``
    reads it again."""

    __slots__ = ()

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """Write values as canonical JSON."""
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
        """The others."""
        return self.of({name: value for name, value in self.values.items() if name not in names})


@lru_cache(4096)
def _values(text: str) -> Mapping[str, Any]:
    values: dict[str, Any] = json.loads(text or "{}")
    return values
