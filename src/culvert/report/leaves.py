"""Leaves of the journal's nested dictionaries, as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from culvert.json_text import read_json


@lru_cache(maxsize=2048)
def evidence(text: str) -> Mapping[str, Any]:
    """A trial's evidence. Cached: many trials have the same."""
    found: Mapping[str, Any] = read_json(text)
    return found


def find(tree: object, *path: str) -> Any:
    """The value at the end of a path of keys; None if it is missing."""
    for key in path:
        tree = tree.get(key) if isinstance(tree, Mapping) else None
    return tree


def at(tree: Mapping[str, Any], *path: str) -> str:
    """A leaf as text; empty if it is missing."""
    found = find(tree, *path)
    return leaf(found) if found not in (None, [], {}) else ""


def leaf(value: object) -> str:
    """A value of the environment as text."""
    if value is None:
        return "\u2013"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(leaf(item) for item in value) or "\u2013"
    return str(value)
