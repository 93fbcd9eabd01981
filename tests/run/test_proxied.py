"""Cells through a proxy, which makes connections of its own."""

from __future__ import annotations

import pytest

from culvert.results import Status
from tests.run.cells import execute, vpn
from tests.vpns.tunnels import skip_reason

pytestmark = [pytest.mark.lab, pytest.mark.vpn]


@pytest.mark.parametrize("word", ["sing-box/vless", "sing-box/shadowtls", "sing-box/hysteria2"])
def test_a_connection_for_each_request_is_proved(word: str) -> None:
    if why_not := skip_reason(word):
        pytest.skip(why_not)
    finding = execute(vpn(word), "tcp_crr")
    assert (finding.status, finding.reason) == (Status.OK, "")
