"""Captures that run while a tunnel may be down: nothing may leak."""

from __future__ import annotations

from collections.abc import Sequence

from culvert.labs.node import Node
from culvert.labs.witness import View
from culvert.proof.capture import judge_capture
from culvert.trial.check import Check
from culvert.trial.outside import SNAPLEN, Sighting
from culvert.trial.session import Session


def look(session: Session, name: str) -> Sighting:
    """Capture all that the link carries towards a node from now on."""
    sighting = session.outside.begin(name, View.TOWARDS, snaplen=SNAPLEN, record=0)
    sighting.ready()
    return sighting


def judge_looks(
    session: Session, nodes: Sequence[Node], sightings: Sequence[Sighting]
) -> list[Check]:
    """End the captures; checks of all of them."""
    captured = [sighting.end() for sighting in sightings]
    return [
        check
        for node, seen in zip(nodes, captured, strict=True)
        for check in judge_capture(session.vpn, seen, f"towards {node.name}")
    ]
