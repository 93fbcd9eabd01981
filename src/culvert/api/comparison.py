"""Two runs, or two VPNs of one run, compared."""

from __future__ import annotations

import polars as pl

from culvert.api.shown import as_html
from culvert.compare.document import document
from culvert.compare.junit import junit
from culvert.compare.outcome import CompareOutcome
from culvert.compare.sheet import markdown, render
from culvert.compare.words import sheet, summary
from culvert.journal.codec import json_text


class Comparison:
    """As ``culvert compare``: faster, slower, same or cannot tell, with one error rate for all."""

    def __init__(self, outcome: CompareOutcome) -> None:
        self._outcome = outcome

    @property
    def regressed(self) -> bool:
        """Whether a VPN became slower in any metric."""
        return self._outcome.regressed

    @property
    def warnings(self) -> tuple[str, ...]:
        """What limits the comparison, such as different machines."""
        return self._outcome.warnings

    @property
    def table(self) -> pl.DataFrame:
        """One row per cell and metric, in the journal's units; ``change`` is the verdict."""
        found = document(self._outcome)["comparisons"]
        texts = ("parameters", "labels")
        rows = [one | {name: json_text(one[name]) for name in texts} for one in found]
        return pl.DataFrame(rows, infer_schema_length=None)

    def markdown(self) -> str:
        """For a pull request."""
        return markdown(sheet(self._outcome))

    def junit(self) -> str:
        """For a CI system."""
        return junit(self._outcome)

    def __repr__(self) -> str:
        return f"<Comparison: {summary(self._outcome)}>"

    def _repr_html_(self) -> str:
        return as_html(render(sheet(self._outcome)))
