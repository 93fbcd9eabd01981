"""The one reader of JSON text. A key that is there twice with two values has no value: which one
counts would be an accident of the library (RFC 8259, section 4)."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

Pairs = Sequence[tuple[str, Any]]
"""The keys and values of an object, in the order of the text."""
Resolve = Callable[[Pairs], dict[str, Any]]
"""Makes an object of its pairs."""


def once(pairs: Pairs) -> dict[str, Any]:
    """An object of these pairs. Raises ValueError for a key with two values."""
    found = dict(pairs)
    if len(found) < len(pairs):
        for key, value in pairs:
            if value != found[key]:
                raise ValueError(f"the key {key[:40]!r} has two values")
    return found


def read_json(text: str | bytes, resolve: Resolve = once) -> Any:
    """As ``json.loads``. Raises ValueError, for what is nested too deeply too.

    The ``resolve`` of a program that is known to repeat keys says what each of them means.
    """
    try:
        return json.loads(text, object_pairs_hook=resolve)  # noqa: TID251 - the door
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
