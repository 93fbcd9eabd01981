"""A policy's figures, on a VPN whose policy is nftables at the target."""

from __future__ import annotations

import time
from typing import ClassVar
from unittest.mock import Mock

import pytest

from culvert.labs.node import Node
from culvert.measurements.acl import acl
from culvert.measurements.acl.acl import Acl
from culvert.results import Metric, Status
from culvert.run.trials.finding import TrialFinding
from culvert.vpns.abilities import Permit, Policy, Protocol
from culvert.vpns.variant import Variant
from culvert.vpns.wireguard.driver import WireGuard
from culvert.vpns.wireguard.variants import DEVICE
from tests.checks import failed_check
from tests.run.cells import measure, value, vpn
from tests.vpns.tunnels import skip_reason

pytestmark = [
    pytest.mark.lab,
    pytest.mark.vpn,
    pytest.mark.skipif(bool(skip_reason("wireguard/go")), reason=skip_reason("wireguard/go")),
]
SHORT = {"try": "200ms", "settle_max": "3s"}
_TABLE = "table ip permits"


class Filtered(WireGuard):
    """Answers to what is permitted leave the target; nothing else is filtered there."""

    name = "filtered"
    summary = "WireGuard behind a filter"
    variants: ClassVar[tuple[Variant, ...]] = WireGuard.variants[:1]
    pings_always: ClassVar[bool] = False
    ignores: ClassVar[bool] = False

    def apply_policy(self, policy: Policy) -> None:
        rules = [] if policy.everything else [*map(self._rule, policy.permits), "drop"]
        if self.pings_always and (policy.permits or policy.everything):
            rules.insert(0, "meta l4proto icmp accept")
        if not self.ignores:
            load(self.target, rules)

    def _rule(self, permit: Permit) -> str:
        if permit.protocol is Protocol.ICMP:
            return "meta l4proto icmp accept"
        return f"{permit.protocol} dport {permit.port} accept"


class Leaks(Filtered):
    """As Tailscale: a ping passes where anything is permitted."""

    pings_always = True


class Ignores(Filtered):
    ignores = True


def load(node: Node, rules: list[str]) -> None:
    """Of what arrives by the tunnel."""
    lines = "\n".join(f'iifname "{DEVICE}" {rule}' for rule in rules)
    hook = "type filter hook input priority filter; policy accept;"
    anew = f"{_TABLE} {{\n}}\ndelete {_TABLE}\n"
    node.run(
        ["nft", "-f", "-"], stdin=f"{anew}{_TABLE} {{\nchain arrives {{\n{hook}\n{lines}\n}}\n}}\n"
    )


@pytest.fixture(autouse=True)
def _another_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the nodes were other machines, whose clocks this machine's says nothing of."""
    monkeypatch.setattr(acl, "time", Mock(sleep=time.sleep, monotonic_ns=lambda: 0))


def trial(driver: type[Filtered]) -> TrialFinding:
    return measure(driver(driver.variants[0]), Acl(), SHORT)


def share(finding: TrialFinding, name: str, protocol: Protocol) -> float:
    found: list[Metric] = [
        metric
        for metric in finding.outcome.metrics
        if metric.name == name and metric.labels == {"protocol": protocol.value}
    ]
    (one,) = found
    return one.value


def test_a_policy_that_does_what_it_states() -> None:
    finding = trial(Filtered)
    assert (finding.status, finding.reason) == (Status.OK, "")
    assert value(finding, "permitted_share") == 1
    assert value(finding, "forbidden_share") == 0
    for protocol in Protocol:
        assert share(finding, "permitted_share", protocol) == 1
    most_ms = 1e3 * (acl.EVENT_S + 3 + acl.SLACK_S)
    assert 0 <= value(finding, "enforcement_delay_ms") < most_ms
    assert 0 < value(finding, "open_ms") < most_ms
    (series,) = (each for each in finding.outcome.series if each.name == "enforcement_delay_ms")
    assert len(series.values) == 4


def test_a_ping_that_passes_is_a_result() -> None:
    finding = trial(Leaks)
    assert (finding.status, finding.reason) == (Status.OK, "")
    # forbidden in three policies; the one that permits nothing drops it
    assert share(finding, "forbidden_share", Protocol.ICMP) == pytest.approx(2 / 3)
    assert share(finding, "forbidden_share", Protocol.TCP) == 0
    assert share(finding, "forbidden_share", Protocol.UDP) == 0


def test_a_policy_that_never_holds_is_invalid() -> None:
    finding = measure(Ignores(Ignores.variants[0]), Acl(), {**SHORT, "settle_max": "1s"})
    assert finding.status is Status.INVALID
    assert failed_check(finding).name == "the policy holds (only tcp)"
    assert failed_check(finding).detail.startswith("a forbidden flow was still answered")
    assert "settle_max" in finding.remedy


def test_a_vpn_without_a_policy_is_unsupported() -> None:
    finding = measure(vpn("wireguard/go"), Acl(), SHORT)
    assert finding.status is Status.UNSUPPORTED
    assert "has no policy" in finding.reason
