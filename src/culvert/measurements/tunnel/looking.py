"""Captures that run while a tunnel may be down: nothing may leak."""

from __future__ import annotations

from collections.abc import Sequence

from culvert.labs.node import Node
from culvert.labs.witness import View
from culvert.proof.capture import judge_capture
from culvert.trial.check import Check
from culvert.trial.outside import Capture
from culvert.trial.session import Session


def look(session: Session, name: str) -> Capture:
    """Capture all that the link carries towards a node from now on."""
    capture = session.outside.begin(name, View.TOWARDS, record=0)
    capture.ready()
    return capture


def judge_looks(
    session: Session, nodes: Sequence[Node], captures: Sequence[Capture]
) -> list[Check]:
    """End the captures; checks of all of them."""
    captured = [capture.end() for capture in captures]
    return [
        check
        for node, seen in zip(nodes, captured, strict=True)
        for check in judge_capture(session.vpn, seen, f"towards {node.name}")
    ]
