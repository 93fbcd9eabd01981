"""Text without invisible characters and without those that change how others are shown.

Direction marks can show ``enon`` as ``none``; zero-width characters make two names look alike.
Imported data and titles may contain them; the journal keeps them, the report shows U+FFFD instead.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from culvert import hidden

HIDDEN = f"[{hidden.HIDDEN}]"
"""The pattern in polars' syntax; ``_HIDDEN`` is the same in Python's."""
_HIDDEN = re.compile(f"[{hidden.IN_PYTHON}]")
SHOWN = "\ufffd"


def visible(text: str) -> str:
    """The text with U+FFFD in place of every hidden character."""
    return _HIDDEN.sub(SHOWN, text) if _HIDDEN.search(text) else text


def visible_tree(value: Any) -> Any:
    """A JSON value with U+FFFD for every hidden character of its texts, including keys."""
    text = json.dumps(value, ensure_ascii=False)
    # An escape may hide a control character; without one, the whole text is looked at once.
    return value if "\\" not in text and not _HIDDEN.search(text) else _shown(value)


def _shown(value: Any) -> Any:
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, Mapping):
        return {visible(str(key)): _shown(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        return [_shown(item) for item in value]
    return value


def visible_output(value: object) -> object:
    """For Jinja's ``finalize``: only plain texts; our own markup is unchanged."""
    return visible(value) if type(value) is str else value
