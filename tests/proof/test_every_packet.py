"""One clear packet among thousands of encrypted ones, or one beside the tunnel: it is found."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

import pytest

from culvert.topology.link.spec import LinkSpec
from tests.proof.planted import assert_each_is_found
from tests.trial.test_strangers import opened

pytestmark = [pytest.mark.lab, pytest.mark.vpn]


@pytest.mark.parametrize("link", [{"kind": "wire"}, {"kind": "veth"}, {"offloads": True}])
@pytest.mark.parametrize("text", ["wireguard/go", "openvpn/aes-256-gcm"])
def test_one_packet_is_found(text: str, link: Mapping[str, Any]) -> None:
    with ExitStack() as stack:
        assert_each_is_found(opened(stack, text, LinkSpec(**link)), text)
