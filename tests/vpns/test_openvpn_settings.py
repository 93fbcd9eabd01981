from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from culvert.errors import UsageError
from culvert.vpns import registry
from culvert.vpns.openvpn.driver import OpenVpn
from culvert.vpns.openvpn.settings import Settings, refused


@given(st.integers(576, 65535), st.integers(0, 65535), st.integers(4096, 1 << 30))
def test_numbers_are_what_is_written(mtu: int, mssfix: int, buffers: int) -> None:
    options = [f"tun-mtu-{mtu}", f"mssfix-{mssfix}", f"buffers-{buffers}"]
    assert Settings.of(options).lines() == [
        f"tun-mtu {mtu}",
        f"mssfix {mssfix}",
        f"sndbuf {buffers}",
        f"rcvbuf {buffers}",
    ]
    assert refused(options, udp=True, offloaded=False) == []


def test_nothing_is_set_unless_asked() -> None:
    assert Settings.of(["tcp", "psk"]).lines() == []
    assert Settings.of(["tcp", "psk"]).facts() == {}


def test_server_processes_are_no_line_of_a_configuration() -> None:
    found = Settings.of(["processes-4"])
    assert (found.processes, found.lines()) == (4, [])
    assert "server processes" in found.facts()
    assert refused(["processes-1"], udp=True, offloaded=False) == [
        ("processes between 2 and 64", "processes-1")
    ]


def test_fragment_brings_mssfix_along() -> None:
    settings = Settings.of(["fragment-1300"])
    assert settings.lines() == ["fragment 1300"]
    assert settings.facts()["mssfix"] == "1300 (as fragment)"
    assert Settings.of(["fragment-1300", "mssfix-0"]).facts()["mssfix"] == "off"
    assert refused(["fragment-1300"], udp=True, offloaded=False) == []


def test_the_guide_and_what_goes_before_it() -> None:
    assert Settings.of(["gigabit"]).lines() == ["tun-mtu 6000", "mssfix 0"]
    assert Settings.of(["gigabit", "tun-mtu-9000"]).lines() == ["tun-mtu 9000", "mssfix 0"]


@pytest.mark.parametrize(
    ("options", "udp", "offloaded"),
    [
        (["tun-mtu-100"], True, False),
        (["tun-mtu-70000"], True, False),
        (["buffers-10"], True, False),
        (["mssfix-1400", "mssfix-1300"], True, False),
        (["fast-io"], False, False),
        (["fast-io"], True, True),
        (["fragment-100"], True, False),
        (["fragment-1300"], False, False),
        (["fragment-1300"], True, True),
    ],
)
def test_what_cannot_be_is_refused(options: list[str], udp: bool, offloaded: bool) -> None:
    assert refused(options, udp=udp, offloaded=offloaded)


def test_a_study_can_ask_for_them() -> None:
    vpn = registry.create(registry.parse("openvpn/aes-128-gcm+tun-mtu-9000"))
    assert isinstance(vpn, OpenVpn)
    assert vpn.choice.settings.tun_mtu == 9000
    assert vpn.variant.facts["tunnel MTU"] == "9000"


@pytest.mark.parametrize("option", ["tun-mtu", "tun-mtu-", "tun-mtu-09", "gigabit-3", "mtu-9000"])
def test_an_option_without_its_number_is_unknown(option: str) -> None:
    with pytest.raises(UsageError, match="unknown"):
        registry.parse(f"openvpn/aes-128-gcm+{option}")
