"""``culvert kubernetes check``: the proof alone, for every kind of traffic of a cluster."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from typing import Any

from culvert.errors import CulvertError, NotPossible
from culvert.proof.cluster.judge import TRAFFIC, Protection, Verdict
from culvert.run.pods import prove
from culvert.run.pods.cluster import Clusters, Under
from culvert.run.pods.session import ClusterNetwork, first_packet, open_session
from culvert.run.pods.sweep import sweep
from culvert.topology.spec import LabSpec, Placement
from culvert.trial.check import Check
from culvert.vpns import registry
from culvert.vpns.base import Vpn

PLACEMENTS = (Placement.TWO_NODES, Placement.SERVICE, Placement.HOST_NETWORK, Placement.ONE_NODE)


@dataclass(frozen=True)
class Proved:
    """One kind of traffic: what became of it, or why that is not known."""

    placement: Placement
    verdict: Verdict | None
    checks: tuple[Check, ...]
    reason: str = ""
    remedy: str = ""
    bound: str = ""
    """What leak would have been seen."""

    @property
    def ok(self) -> bool:
        """Whether it is encrypted, or does not leave the node."""
        return self.verdict is not None and all(check.passed for check in self.checks)

    @property
    def known(self) -> bool:
        """Whether it was seen what became of it."""
        return self.verdict is not None and self.verdict.wire.known

    @property
    def text(self) -> str:
        if self.verdict is None:
            return f"{self.placement}: {self.reason}"
        failed = next((check for check in self.checks if not check.passed), None)
        if failed is None or self.verdict.wire is Protection.CLEAR:
            return "; ".join(filter(None, (self.verdict.text(), self.bound)))
        return f"{self.verdict.text()}; {failed.failure}"

    def as_json(self) -> dict[str, Any]:
        verdict = self.verdict
        return {
            "placement": str(self.placement),
            "ok": self.ok,
            "known": self.known,
            "wire": None if verdict is None else str(verdict.wire),
            "encapsulation": None if verdict is None else verdict.encapsulation,
            "reason": self.reason,
            "remedy": self.remedy,
            "bound": self.bound,
            "checks": [asdict(check) for check in self.checks],
        }


def _one(vpn: Vpn, under: Under, placement: Placement) -> Proved:
    try:
        return _prove(vpn, under, placement)
    except CulvertError as error:
        cause = under.broken() or error
        return Proved(placement, None, (), str(cause), cause.remedy)


def _prove(vpn: Vpn, under: Under, placement: Placement) -> Proved:
    spec = replace(LabSpec(), pods=placement)
    network = ClusterNetwork(vpn)
    with ExitStack() as stack:
        lab = stack.enter_context(under.lab(spec))
        watched = under.observers.on(lab)
        network.prepare(lab)
        session = open_session(stack, lab, network)
        first_packet(session)
        proof = prove.prove(session, watched)
        verdict = proof.verdict
        checks = prove.checks_of(verdict, encrypted=True)
        if not all(each.passed for each in checks):
            return Proved(placement, verdict, tuple(checks))
        swept = sweep(session, proof.watch)
        bound = swept.check(TRAFFIC[placement])
        return Proved(placement, verdict, (*checks, bound), bound=swept.text)


@dataclass(frozen=True)
class Summary:
    """All kinds of traffic together; ``seconds`` is the duration of the proof."""

    proved: tuple[Proved, ...]
    seconds: float

    @property
    def ok(self) -> bool:
        """Whether nothing is clear between the nodes."""
        return all(one.ok for one in self.proved)

    @property
    def exit_code(self) -> int:
        """0: nothing is clear; 1: a part is, or its packets do not agree; 3: neither is known."""
        if self.ok:
            return 0
        bad = any(one.known and not one.ok for one in self.proved)
        return CulvertError.exit_code if bad else NotPossible.exit_code


def summary(clusters: Clusters, vpn: str, placements: Sequence[Placement]) -> Summary:
    """Prove each kind of traffic in turn; ``vpn`` is under the cluster, if Culvert makes it."""
    begun = time.monotonic()
    driver = registry.create(registry.parse(vpn))
    under = clusters.under(driver, LabSpec())
    proved = []
    for placement in placements:
        clusters.say(f"proving {placement}")
        proved.append(_one(driver, under, placement))
    return Summary(tuple(proved), time.monotonic() - begun)
