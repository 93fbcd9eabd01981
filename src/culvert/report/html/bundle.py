"""Vega, Vega-Lite and Vega-Embed as one script, cached between reports: bundling takes seconds."""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import vl_convert
from altair.vegalite.v6.schema import SCHEMA_VERSION

from culvert.errors import UsageError
from culvert.files.plain import open_plain
from culvert.files.target import write
from culvert.tools import cache_directory

_VEGA_LITE = ".".join(SCHEMA_VERSION.removeprefix("v").split(".")[:2])
"""The version for which Altair writes specifications."""


@cache
def bundle() -> str:
    """The libraries in their own scope. Without a cache directory they are bundled again."""
    name = f"vega-{_VEGA_LITE}-{version('vl-convert-python')}.js"
    kept = cache_directory() / name
    with suppress(OSError, UnicodeDecodeError, UsageError), open_plain(kept) as file:
        found = file.read(_MOST_BYTES).decode()
        if found.startswith(_BEGIN) and found.endswith(_END):
            return found
    whole: Any = None  # no snippet: the complete libraries, as globals
    made = _BEGIN + vl_convert.javascript_bundle(whole, vl_version=_VEGA_LITE) + _END
    _keep(kept, made)
    return made


_MOST_BYTES = 1 << 25
_BEGIN = "(function(){"
_END = "\n})();"


def _keep(path: Path, text: str) -> None:
    """Write the cache atomically; if it cannot be written, the next report only takes longer."""
    with suppress(OSError):
        write(path, text.encode())
