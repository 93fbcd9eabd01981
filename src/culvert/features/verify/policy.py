"""Tests of access control lists, by one trial of ``acl``."""

from __future__ import annotations

from collections.abc import Mapping

from culvert.features.criteria import Criterion
from culvert.features.verify.bench import Bench, FeatureTest, Finding, figures
from culvert.vpns.abilities import Protocol

_PORTS = (Protocol.TCP, Protocol.UDP)
"""Pings have no port, and some VPNs let them pass: they decide nothing."""


class ForbiddenFlows(FeatureTest):
    """Acl: of the flows that a policy forbids, none over TCP or UDP is answered."""

    name = "forbidden-flows"
    criterion = Criterion.ACL

    def run(self, bench: Bench) -> Finding:
        """Flows that were answered although they were forbidden."""
        forbidden = _shares(bench, "forbidden_share")
        return Finding(
            not any(forbidden[one] for one in _PORTS),
            f"forbidden and answered: {_words(forbidden)}",
        )


class PermittedPort(FeatureTest):
    """Acl: a policy permits one TCP or UDP port: that port answers, others do not."""

    name = "permitted-port"
    criterion = Criterion.GRANULAR_ACL

    def run(self, bench: Bench) -> Finding:
        """Flows that were answered, permitted ones and others."""
        permitted = _shares(bench, "permitted_share")
        forbidden = _shares(bench, "forbidden_share")
        holds = all(permitted[one] == 1 and not forbidden[one] for one in _PORTS)
        words = f"permitted and answered: {_words(permitted)}; forbidden: {_words(forbidden)}"
        return Finding(holds, words)


def _shares(bench: Bench, name: str) -> Mapping[str, float]:
    """The share of flows that were answered, by protocol."""
    figures(bench.policies)
    return {
        metric.labels["protocol"]: metric.value
        for metric in bench.policies.outcome.metrics
        if metric.name == name and "protocol" in metric.labels
    }


def _words(shares: Mapping[str, float]) -> str:
    return ", ".join(f"{protocol} {share:.0%}" for protocol, share in shares.items())
