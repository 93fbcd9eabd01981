"""The words of results, for all that produce, store, analyse or show them."""

from culvert.results.figures import (
    LEAST_FIGURE,
    MOST_FIGURE,
    Histogram,
    Metric,
    Series,
    Status,
    is_figure,
    measured,
)
from culvert.results.parameters import Label, Parameters, canonical_json, undeclared

__all__ = [
    "LEAST_FIGURE",
    "MOST_FIGURE",
    "Histogram",
    "Label",
    "Metric",
    "Parameters",
    "Series",
    "Status",
    "canonical_json",
    "is_figure",
    "measured",
    "undeclared",
]
