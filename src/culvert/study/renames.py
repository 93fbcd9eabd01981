"""Studies with names of measurements and metrics that have changed since they were written."""

from __future__ import annotations

from typing import Any

from culvert.metrics.renamed import renamed

_KEYS = frozenset({"kind", "measurement", "measurements", "metric", "test", "until"})
"""Keys whose texts name measurements or metrics."""


def with_new_names(data: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The parsed file with the new names, and a note for each text that changed."""
    notes: dict[str, None] = {}

    def visit(value: Any, *, names: bool) -> Any:
        match value:
            case dict():
                return {key: visit(one, names=key in _KEYS) for key, one in value.items()}
            case list():
                return [visit(one, names=names) for one in value]
            case str() if names and (new := renamed(value)) != value:
                notes[f'"{value}" is now "{new}"'] = None
                return new
            case _:
                return value

    return visit(data, names=False), list(notes)
