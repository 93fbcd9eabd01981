"""Text in CSV that a spreadsheet would run as a formula (OWASP, CSV injection)."""

from __future__ import annotations

import polars as pl

_FORMULA = r"^[=+\-@\t\r\n\x{FF0B}\x{FF0D}\x{FF1D}\x{FF20}]"
"""Also the wide forms, which some spreadsheets take for the narrow ones."""


def without_formulas(table: pl.DataFrame) -> pl.DataFrame:
    """Prefix such texts with an apostrophe; numbers are unchanged."""
    text = pl.col(pl.String)
    return table.with_columns(
        pl.when(text.str.contains(_FORMULA)).then("'" + text).otherwise(text).name.keep()
    )
