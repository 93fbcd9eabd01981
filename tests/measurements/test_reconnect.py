"""Blocked time from lost packets; events on real tunnels."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Interface
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from culvert.errors import NotPossible
from culvert.labs.netns.lab import NetnsLab
from culvert.measurements.streams.udp_stream import UdpTrial
from culvert.measurements.tunnel import reconnect
from culvert.measurements.tunnel.events import Event, EventAction, action_for, roamed
from culvert.measurements.tunnel.reconnect import Reconnect, ReconnectParameters
from culvert.measurements.tunnel.stream import lost_packets
from culvert.probe.results import UdpSource, UdpSunk
from culvert.results import Status
from culvert.run.trials.execution import Execution
from culvert.run.trials.finding import TrialFinding
from culvert.run.trials.stage import Tunnels
from culvert.runid import new_run_id
from culvert.topology.spec import LabSpec
from culvert.trial.outcome import Outcome
from culvert.trial.session import Session
from culvert.vpns.none import NoVpn
from tests.here import HERE
from tests.measurements.fakes import NOTHING_CAPTURED, Tunnel, session
from tests.run.cells import value, vpn

SEEN = {
    **NOTHING_CAPTURED,
    "packets": 9,
    "matching": {"in": {"packets": 9, "bytes": 900}, "out": {"packets": 0, "bytes": 0}},
}
SENT: dict[str, Any] = {"packets": 1000, "bytes": 56_000, "seconds": 1.0}


@given(prefix=st.integers(8, 29), host=st.integers(1, 2**24))
def test_a_roamed_address_is_another_one_of_the_same_network(prefix: int, host: int) -> None:
    network = IPv4Interface(f"10.0.0.0/{prefix}").network
    offset = 1 + host % (network.num_addresses // 2 - 1)
    address = IPv4Interface(f"{network.network_address + offset}/{prefix}")
    other = roamed(address)
    assert other.network == address.network
    assert other.ip != address.ip
    assert other.ip not in (network.network_address, network.broadcast_address)


def test_the_labs_addresses_roam_clear_of_each_other() -> None:
    assert roamed(IPv4Interface("198.18.0.1/24")).ip == IPv4Address("198.18.0.129")


@given(
    packets=st.integers(0, 10**6),
    refused=st.dictionaries(st.sampled_from(["ENETUNREACH", "ENOBUFS"]), st.integers(0, 10**5)),
    arrived=st.integers(0, 10**6),
    duplicates=st.integers(0, 10),
)
def test_what_the_kernel_refused_is_lost(
    packets: int, refused: dict[str, int], arrived: int, duplicates: int
) -> None:
    sent = UdpSource(packets=packets, bytes=0, seconds=1, send_errors=refused)
    trial = UdpTrial(84, sent, UdpSunk(packets=arrived, bytes=0, duplicates=duplicates))
    lost = lost_packets(trial)
    assert lost == max(packets + sum(refused.values()) - (arrived - duplicates), 0)


class Nothing(EventAction):
    """An event of no consequence."""

    def cause(self, session: Session) -> None: ...


def measure(
    monkeypatch: pytest.MonkeyPatch, sent: dict[str, Any], arrived: int, **seen: Any
) -> Outcome:
    monkeypatch.setattr(reconnect, "LEAD_S", 0)
    monkeypatch.setattr(Nothing, "tail_s", 0)
    monkeypatch.setattr(reconnect, "action_for", lambda *_, **__: Nothing())
    answered = {"first_sent_ns": 1, "answered_ns": 2, "attempts": 3}
    sunk = {"packets": arrived, "bytes": 56 * arrived}
    capture = {"capture": SEEN | seen}
    made = session(
        {"udp_source": sent, "first_answer": answered, **capture},
        {"udp_sink": sunk, **capture},
        vpn=Tunnel(NoVpn.variants[0]),
    )
    return Reconnect().run(made, ReconnectParameters.model_validate({"rate": "500/s"}))


def test_blocked_time_is_lost_packets_over_the_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    sent = SENT | {"send_errors": {"ENETUNREACH": 50}}
    outcome = measure(monkeypatch, sent, 900)
    found = {metric.name: metric.value for metric in outcome.metrics}
    assert found["lost_packets"] == 150
    assert found["outage_ms"] == pytest.approx(300)
    assert found["resolution_ms"] == pytest.approx(2)
    assert all(check.passed for check in outcome.doubts)


@pytest.mark.parametrize(
    ("seen", "doubt"),
    [
        ({"canary_hits": 1}, "no clear text"),
        ({"other": {"packets": 1, "bytes": 100}}, "nothing beside"),
    ],
)
def test_what_leaks_while_the_tunnel_is_down_is_a_doubt(
    monkeypatch: pytest.MonkeyPatch, seen: dict[str, Any], doubt: str
) -> None:
    outcome = measure(monkeypatch, SENT, 1000, **seen)
    failed = [check.name for check in outcome.doubts if not check.passed]
    assert failed
    assert all(name.startswith(doubt) for name in failed)


def test_the_baseline_has_nothing_to_restart_to_rekey_or_to_roam() -> None:
    made = session()
    made.vpn.processes = {"a": [], "b": []}
    for event in (Event.RESTART_SELF, Event.RESTART_PEER, Event.REKEY, Event.ROAM):
        with pytest.raises(NotPossible) as caught:
            action_for(event, silence_s=1).cause(made)
        assert caught.value.remedy


@pytest.mark.parametrize("wrong", [{"event": "earthquake"}, {"rate": "1/s"}, {"silence": "0s"}])
def test_impossible_parameters_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        ReconnectParameters.model_validate(wrong)


def after(word: str, event: str) -> TrialFinding:
    contestant = vpn(word)
    if missing := contestant.missing(HERE):
        pytest.skip(missing[0].remedy)
    return Execution(
        contestant,
        LabSpec(),
        Reconnect(),
        ReconnectParameters.model_validate({"event": event, "silence": "500ms"}),
        Tunnels(lambda asked: NetnsLab(new_run_id(), asked)),
    ).execute()


@pytest.mark.lab
def test_silence_does_not_matter_to_a_bare_link() -> None:
    finding = after("none", "silence")
    assert (finding.status, finding.reason) == (Status.OK, "")
    assert value(finding, "lost_packets") == 0


@pytest.mark.lab
def test_the_baseline_cannot_be_restarted_and_says_so() -> None:
    finding = after("none", "restart-self")
    assert finding.status is Status.UNSUPPORTED
    assert "no process" in finding.reason
    assert finding.remedy


@pytest.mark.lab
@pytest.mark.vpn
@pytest.mark.parametrize(
    "word", ["wireguard/go", "openvpn/aes-256-gcm", "strongswan/esp-aes256gcm"]
)
def test_a_restart_of_ones_own_side_loses_packets(word: str) -> None:
    finding = after(word, "restart-self")
    assert (finding.status, finding.reason) == (Status.OK, "")
    assert value(finding, "lost_packets") > 0
    assert value(finding, "outage_ms") == value(finding, "lost_packets")  # at 1000/s


MOVING = ("wireguard/go", "openvpn/aes-256-gcm", "strongswan/esp-aes256gcm+mobike")


@pytest.mark.lab
@pytest.mark.vpn
@pytest.mark.parametrize("word", MOVING)
def test_what_can_roam_comes_back(word: str) -> None:
    finding = after(word, "roam")
    assert (finding.status, finding.reason) == (Status.OK, "")
    assert value(finding, "recovered_ms") > 0


@pytest.mark.lab
@pytest.mark.vpn
@pytest.mark.parametrize("word", ["openvpn/aes-256-gcm+dpd+tcp", "strongswan/esp-aes256gcm+dpd"])
def test_a_peer_that_was_restarted_is_found_again(word: str) -> None:
    finding = after(word, "restart-peer")
    assert (finding.status, finding.reason) == (Status.OK, "")
    assert value(finding, "lost_packets") > 0


@pytest.mark.lab
@pytest.mark.vpn
def test_a_rekey_on_demand() -> None:
    finding = after("strongswan/esp-aes256gcm", "rekey")
    assert (finding.status, finding.reason) == (Status.OK, "")
    assert after("openvpn/aes-256-gcm", "rekey").status is Status.UNSUPPORTED
