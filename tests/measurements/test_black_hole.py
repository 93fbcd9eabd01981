"""Traffic that a link drops silently: the path has failed, and the reason names the size."""

from __future__ import annotations

import pytest

from culvert.labs.netns.lab import NetnsLab
from culvert.measurements.tcp.tcp import Tcp, TcpParameters
from culvert.measurements.tunnel.reconnect import ReconnectParameters, _came_back
from culvert.results import Status
from culvert.run.trials.execution import Execution
from culvert.run.trials.stage import Tunnels
from culvert.runid import new_run_id
from culvert.topology.link.impairment import Impairment, OneWay
from culvert.topology.link.spec import LinkSpec
from culvert.topology.spec import LabSpec
from culvert.vpns.registry import installed
from tests.run.cells import vpn


@pytest.mark.parametrize(
    ("one_way", "words"),
    [
        (OneWay(delay_ns=1, loss=0.5), ""),
        (OneWay(drop_size_and_above=1453), "packets of 1453 bytes and more (drop_size_and_above)"),
        (
            OneWay(drop_udp=True, drop_fragments=True),
            "UDP packets (drop_udp), fragments (drop_fragments)",
        ),
    ],
)
def test_what_a_link_drops_is_named(one_way: OneWay, words: str) -> None:
    assert one_way.filters == words


@pytest.mark.lab
def test_tcp_in_a_black_hole_fails_and_names_the_size() -> None:
    hole = Impairment.both(OneWay(drop_size_and_above=1453))
    finding = Execution(
        vpn("none"),
        LabSpec(link=LinkSpec(kind="wire", rate_bps=50_000_000, impairment=hole)),
        Tcp(),
        TcpParameters.model_validate({"duration": "1s"}),
        Tunnels(lambda wanted: NetnsLab(new_run_id(), wanted)),
    ).execute()
    assert finding.status is Status.FAILED
    assert "drops packets of 1453 bytes and more" in finding.reason
    assert "the slowest connection carried 0 bytes" in finding.reason
    assert "let its packets pass: a lower MTU" in finding.remedy


@pytest.mark.parametrize(
    ("word", "options"),
    [
        ("strongswan/esp-aes256gcm", "add +dpd or +mobike (culvert vpns), or give it more time"),
        ("strongswan/esp-aes256gcm+dpd", "add +mobike (culvert vpns), or"),
        ("openvpn/aes-256-gcm+tcp", "add +dpd (culvert vpns), or"),
        ("openvpn/aes-256-gcm+dpd", "configured: give it more time"),
        ("wireguard/go", "configured: give it more time"),
    ],
)
def test_the_remedy_has_the_vpns_own_options(word: str, options: str) -> None:
    check = _came_back(vpn(word), ReconnectParameters.model_validate({}), None)
    assert not check.passed
    assert options in check.remedy


def test_recovering_options_are_options() -> None:
    for driver in installed().drivers.values():
        assert driver.recovering <= set(driver.options)
