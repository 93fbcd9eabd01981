"""The words of results, for all that produce, store, analyse or show them."""

from culvert.results.figures import MOST_FIGURE, Histogram, Metric, Series, is_figure
from culvert.results.label import Label, undeclared
from culvert.results.parameters import Parameters, canonical_json
from culvert.results.status import Status

__all__ = [
    "MOST_FIGURE",
    "Histogram",
    "Label",
    "Metric",
    "Parameters",
    "Series",
    "Status",
    "canonical_json",
    "is_figure",
    "undeclared",
]
