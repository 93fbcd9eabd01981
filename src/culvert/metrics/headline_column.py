"""A metric as a column of the report's headline."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Effect(StrEnum):
    """How a VPN's trial is compared with the baseline's of the same block."""

    RATIO = "ratio"
    DIFFERENCE = "difference"


@dataclass(frozen=True)
class HeadlineColumn:
    """How the headline shows a metric of one measurement, and how a sentence on a VPN puts it."""

    title: str
    key: str = ""
    """A short name for other columns to refer to; without one, ``measurement.metric``."""
    place: int = 100
    """Columns are sorted by place, then by measurement and metric."""
    effect: Effect = Effect.RATIO
    """How a VPN is compared with the baseline of the same block."""
    superlative: str = ""
    """The title of the winner's card, "Highest TCP goodput"; empty: no card."""
    sentence: str = ""
    """What a VPN does, {} for the figure: "carries {} of TCP"; empty: not in the sentence. The
    figure is the effect against the baseline for a time or a cost, else the value."""
    unchanged: str = ""
    """The same if the interval of a difference includes 0, {} for the interval."""
    absolute: bool = False
    """Only the absolute value is shown: a link without a VPN has no value to compare with."""
    unless: str = ""
    """Key of a column whose sentence makes this one superfluous."""
    smallest: str = ""
    """A parameter: of several cells, the one where it is least is shown. Empty: the one with most
    trials."""
    common: str = ""
    """A parameter without which VPNs are not under one load (a flood offers each what it takes): a
    cell without a value for it is no column, nor is one of data that do not state it."""
