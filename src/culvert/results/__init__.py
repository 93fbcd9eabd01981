"""The words of results, for all that produce, store, analyse or show them."""

from culvert.results.figures import Histogram, Metric, Series
from culvert.results.status import Status

__all__ = ["Histogram", "Metric", "Series", "Status"]
