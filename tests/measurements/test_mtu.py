"""Sizes, black holes and clamping: by property, and on paths that were broken on purpose."""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import IPv4Network
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from culvert.labs.base import Lab
from culvert.labs.netns.lab import NetnsLab
from culvert.measurements.mtu.mtu import Mtu, MtuParameters
from culvert.measurements.mtu.path import Fate, fate, largest
from culvert.measurements.tcp.mss import Announced, announce
from culvert.results import Status
from culvert.run.trials.execution import Execution
from culvert.run.trials.finding import TrialFinding
from culvert.run.trials.stage import Tunnels
from culvert.runid import new_run_id
from culvert.topology.shapes import pair, routed
from culvert.topology.spec import LabSpec
from tests.here import HERE
from tests.measurements.fakes import NOTHING_CAPTURED, session
from tests.run.cells import value, vpn


@given(low=st.integers(0, 100), span=st.integers(0, 2000), edge=st.integers(-10, 2200))
def test_the_largest_is_found_in_few_steps(low: int, span: int, edge: int) -> None:
    asked: list[int] = []

    def good(size: int) -> bool:
        asked.append(size)
        return size <= edge

    found = largest(low, low + span, good)
    assert found == (min(edge, low + span) if edge >= low else None)
    assert len(asked) <= 2 + max(span, 1).bit_length()
    assert all(low <= size <= low + span for size in asked)


@pytest.mark.parametrize(
    ("arrived", "fragments", "error", "pmtu", "meaning"),
    [
        (True, 0, None, 1500, Fate.WHOLE),
        (True, 4, None, 1500, Fate.FRAGMENTED),
        (False, 0, "EMSGSIZE", 1400, Fate.REFUSED),
        (False, 0, None, 1400, Fate.REFUSED),
        (False, 0, None, 1500, Fate.VANISHED),
        (False, 0, "ECONNREFUSED", None, Fate.VANISHED),
        (False, 9, None, 1500, Fate.VANISHED),
    ],
)
def test_what_observations_mean(
    *, arrived: bool, fragments: int, error: str | None, pmtu: int | None, meaning: Fate
) -> None:
    found = fate(arrived=arrived, fragments=fragments, error=error, pmtu=pmtu, size=1450)
    assert found is meaning


SYN: dict[str, Any] = {"realtime_ns": 1, "protocol": 6, "length": 60}
SENT: dict[str, Any] = {
    "bytes_written": 9,
    "seconds": 0.1,
    "congestion_control": "cubic",
    "mss": 1288,
    "retransmits": 0,
    "data_segs_out": 1,
    "final_tcp_info": {},
}


@pytest.mark.parametrize(("arrived", "clamped"), [(1460, False), (1200, True), (None, None)])
def test_an_mss_that_arrives_smaller_was_clamped(
    *, arrived: int | None, clamped: bool | None
) -> None:
    assert Announced(sent=1460, arrived=arrived).clamped is clamped
    assert Announced(sent=None, arrived=arrived).clamped is None


def test_each_end_is_told_by_the_other_ends_syn() -> None:
    def segments(out: int, into: int) -> dict[str, Any]:
        plain = {**SYN, "outgoing": True, "mss": None}
        syns = [{**SYN, "outgoing": True, "mss": out}, {**SYN, "outgoing": False, "mss": into}]
        return {**NOTHING_CAPTURED, "recorded": [plain, *syns]}

    made = session(
        {"tcp_source": SENT, "capture": segments(1460, 1300)},
        {"tcp_sink": {"bytes": 9}, "capture": segments(1400, 1460)},
    )
    found = announce(made)
    assert found["a_to_b"] == Announced(sent=1400, arrived=1300, used=1288)
    assert found["b_to_a"] == Announced(sent=1460, arrived=1460)


Break = Callable[[Lab], None]
TABLE = "add table ip t; add chain ip t f { type filter hook forward priority 10; }; "


def rule(text: str) -> Break:
    """A rule on the router."""

    def apply(lab: Lab) -> None:
        lab.nodes["router"].run(["nft", TABLE + f"add rule ip t f {text}"])

    return apply


def examine(word: str, damage: Break | None = None) -> TrialFinding:
    def make(asked: LabSpec) -> Lab:
        lab = NetnsLab(new_run_id(), asked)
        if damage is not None:
            opened = lab.open

            def open_and_break() -> None:
                opened()
                damage(lab)

            lab.open = open_and_break  # type: ignore[method-assign]
        return lab

    spec = LabSpec(topology=routed() if damage else pair())
    return Execution(vpn(word), spec, Mtu(), MtuParameters(), Tunnels(make)).execute()


@pytest.mark.lab
def test_a_bare_link() -> None:
    finding = examine("none")
    assert (finding.status, finding.reason) == (Status.OK, "")
    for way in ("a_to_b", "b_to_a"):
        assert value(finding, f"largest_{way}_bytes") == 1500
        assert value(finding, f"unfragmented_{way}_bytes") == 1500
        assert value(finding, f"black_hole_{way}") == 0
        assert value(finding, f"fragments_inside_{way}") == 1
        assert value(finding, f"mss_{way}_bytes") == 1460
        assert value(finding, f"mss_announced_{way}_bytes") == 1460
        assert value(finding, f"mss_clamped_{way}") == 0


@pytest.mark.lab
def test_a_black_hole_in_one_direction_is_found_to_the_byte() -> None:
    finding = examine("none", rule("ip saddr 198.18.0.0/24 ip length > 1301 drop"))
    assert (finding.status, finding.reason) == (Status.OK, "")
    assert value(finding, "largest_a_to_b_bytes") == 1301
    assert value(finding, "black_hole_a_to_b") == 1
    assert value(finding, "largest_b_to_a_bytes") == 1500
    assert value(finding, "black_hole_b_to_a") == 0


@pytest.mark.lab
def test_a_router_that_says_so_is_no_black_hole() -> None:
    def narrow(lab: Lab) -> None:
        lab.nodes["router"].run(["ip", "route", "change", *_route(lab), "mtu", "lock", "1280"])

    finding = examine("none", narrow)
    assert (finding.status, finding.reason) == (Status.OK, "")
    assert value(finding, "largest_a_to_b_bytes") == 1280
    assert value(finding, "black_hole_a_to_b") == 0


def _route(lab: Lab) -> list[str]:
    """The router's route towards b, as words of ip-route."""
    network = IPv4Network(lab.b.underlay.address.network)
    listed = lab.nodes["router"].run(["ip", "route", "show", str(network)]).stdout
    return listed.split()


@pytest.mark.lab
def test_mss_clamping_on_the_way() -> None:
    finding = examine("none", rule("tcp flags syn tcp option maxseg size set 1200"))
    assert (finding.status, finding.reason) == (Status.OK, "")
    assert value(finding, "mss_a_to_b_bytes") == 1200
    assert value(finding, "mss_announced_a_to_b_bytes") == 1460
    assert value(finding, "mss_arrived_a_to_b_bytes") == 1200
    assert value(finding, "mss_clamped_a_to_b") == 1
    assert value(finding, "mss_clamped_b_to_a") == 1
    assert value(finding, "largest_a_to_b_bytes") == 1500


@pytest.mark.lab
@pytest.mark.vpn
def test_openvpn_fragments_outside_and_clamps() -> None:
    """Its MTU is 1500 by default, and mssfix makes up for it."""
    contestant = vpn("openvpn/aes-256-gcm")
    if missing := contestant.missing(HERE):
        pytest.skip(missing[0].remedy)
    finding = examine("openvpn/aes-256-gcm")
    assert (finding.status, finding.reason) == (Status.OK, "")
    assert value(finding, "largest_a_to_b_bytes") == 1500
    assert value(finding, "unfragmented_a_to_b_bytes") == 1448
    assert value(finding, "fragments_outside_a_to_b") == 1
    assert value(finding, "mss_clamped_a_to_b") == 1
