"""GRE over IPsec, as far as it can be tried without its kernel."""

from __future__ import annotations

import stat

import pytest

from culvert.vpns.outer import largest_inner

from ..conftest import LabFactory
from .tunnels import driver

BOTH = ["gre/esp-aes128gcm", "gre/esp-aes256gcm"]


@pytest.mark.parametrize("word", BOTH)
def test_lengths_on_the_underlay(word: str) -> None:
    vpn = driver(word)
    # IP 20, ESP 8, IV 8, GRE 4, trailer 2 to 5, ICV 16
    assert [vpn.outer_length(inner) for inner in (64, 1442)] == [124, 1500]
    assert largest_inner(vpn.outer_length, 1500) == 1442


@pytest.mark.lab
@pytest.mark.parametrize(("word", "key_bytes"), [(BOTH[0], 16 + 4), (BOTH[1], 32 + 4)])
def test_gre_is_encrypted_between_the_addresses_of_the_underlay(
    lab: LabFactory, word: str, key_bytes: int
) -> None:
    vpn, nodes = driver(word), lab()
    vpn.prepare(nodes)
    path = nodes.a.directory / "xfrm/up"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    text = path.read_text()
    a, b = (node.underlay.address.ip for node in (nodes.a, nodes.b))
    for source, target, way in ((a, b, "out"), (b, a, "in")):
        assert f"policy add src {source}/32 dst {target}/32 proto 47 dir {way} " in text
    keys = [word for word in text.split() if word.startswith("0x") and len(word) > len("0x1001")]
    assert [len(key) for key in keys] == [2 + 2 * key_bytes] * 2
    assert keys[0] != keys[1]
    assert text.count("mode transport") == 4
    assert "route" not in text
