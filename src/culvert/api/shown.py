"""How an object shows itself in a notebook: as in the terminal, as HTML."""

from __future__ import annotations

import io

from rich.console import RenderableType

from culvert.console import SafeConsole

_WIDTH = 120
"""Columns."""
_FORMAT = '<pre style="white-space:pre;overflow-x:auto;line-height:1.3">{code}</pre>'


def as_html(shown: RenderableType) -> str:
    """Preformatted text; foreign text is escaped."""
    console = SafeConsole(
        record=True, width=_WIDTH, highlight=False, force_jupyter=False, file=io.StringIO()
    )
    console.print(shown)
    return console.export_html(inline_styles=True, code_format=_FORMAT)
