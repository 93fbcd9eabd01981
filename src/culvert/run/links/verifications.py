"""Which links are verified before each block, and the cell that does it."""

from __future__ import annotations

from collections.abc import Callable

from culvert.errors import CulvertError
from culvert.measurements.underlay.underlay import Underlay, UnderlayParameters
from culvert.plan.plan import Cell
from culvert.results import Parameters
from culvert.study.table import BASELINE
from culvert.topology.link.spec import LinkSpec

LinkOf = Callable[[str], LinkSpec]
"""The link that a condition requests. It may raise CulvertError; the condition's trials report it.
"""


def emulated(link_of: LinkOf, condition: str) -> bool:
    """Whether a condition requests a link with impairments or an emulated rate."""
    try:
        link = link_of(condition)
    except CulvertError:
        return False
    return bool(link.impairment) or (link.kind != "veth" and link.rate_bps is not None)


def verification_of(condition: str) -> Cell:
    """The cell that verifies the condition's link before each block, if the link is emulated."""
    parameters = UnderlayParameters.model_validate({}).model_dump(mode="json", by_alias=True)
    return Cell(BASELINE, condition, Underlay.kind, Parameters.of(parameters))
