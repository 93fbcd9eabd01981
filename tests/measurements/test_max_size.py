"""The search for the largest packet, on tunnels whose limit is known."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from culvert.errors import ProbeError, VpnError
from culvert.measurements.mtu.max_size import find_max_size
from culvert.trial.session import Session
from tests.measurements.fakes import NOTHING_CAPTURED, Tunnel, fake, session

VARIANT = Tunnel.variants[0]


def tunnel(limit: int, mtu: int, *, fragments_above: int | None = None) -> Session:
    """Packets beyond ``limit`` are lost; those beyond ``fragments_above`` are cut outside."""
    sizes: list[int] = []

    def echo_once(given: dict[str, Any]) -> dict[str, Any]:
        sizes.append(given["payload_size"] + 28)
        return {"answered": sizes[-1] <= limit}

    made = session({"echo_once": echo_once}, vpn=Tunnel(VARIANT), mtu=mtu)
    probe = fake(made.a)
    capture = dict(NOTHING_CAPTURED)  # read when the capture ends, after the echo
    original = probe.call

    def call(task: str, timeout_s: float, **parameters: Any) -> Any:
        answer = original(task, timeout_s, **parameters)
        cut = fragments_above is not None and sizes[-1] > fragments_above
        capture["fragments"] = 2 if cut else 0
        return answer

    probe.answers = {**probe.answers, "capture": capture}
    probe.call = call  # type: ignore[method-assign]
    return made


@given(st.integers(64, 65535), st.integers(576, 65535))
def test_the_limit_is_found_to_the_byte(limit: int, mtu: int) -> None:
    assert find_max_size(tunnel(limit, mtu)) == min(limit, mtu)


@given(st.integers(64, 9000))
def test_fragments_on_the_underlay_are_the_limit_too(limit: int) -> None:
    assert find_max_size(tunnel(65535, 9000, fragments_above=limit)) == limit


def test_it_is_found_once_in_a_run() -> None:
    made = tunnel(1372, 1420)
    assert find_max_size(made) == 1372
    asked = len(fake(made.a).asked)
    assert find_max_size(made) == 1372
    assert len(fake(made.a).asked) == asked


def test_a_tunnel_that_carries_nothing_is_an_error() -> None:
    with pytest.raises(VpnError, match="not even 64-byte packets") as caught:
        find_max_size(tunnel(0, 1500))
    assert caught.value.remedy


def test_an_interface_that_is_gone_is_an_error() -> None:
    with pytest.raises(VpnError, match="its interface is gone"):
        find_max_size(session(vpn=Tunnel(VARIANT), mtu=0))


def test_an_answer_that_says_nothing_is_an_error() -> None:
    with pytest.raises(ProbeError, match="answered"):
        find_max_size(session({"echo_once": {}}, vpn=Tunnel(VARIANT)))
