"""Which variants the bench's table has to fill."""

from __future__ import annotations

from bench.goals.variants import _is_measured, _left_out

from culvert.vpns.listing import Row
from culvert.vpns.registry import all_variants


def rows() -> list[Row]:
    return [Row(str(one), "", "", {}, {}, "1", []) for one in all_variants()]


def test_only_what_can_give_figures_on_a_pair_is_measured() -> None:
    measured = {row.vpn for row in rows() if _is_measured(row)}
    assert {"none", "wireguard/go", "openvpn/aes-256-gcm"} <= measured
    assert not {"none/mtu-1450", "vxlan/plain", "headscale/direct"} & measured


def test_each_variant_is_measured_or_has_a_reason() -> None:
    measured = [row.vpn for row in rows() if _is_measured(row)]
    reasons = _left_out(rows())
    assert reasons["as only a cluster has it"] == ["none/mtu-1450"]
    left_out = [vpn for names in reasons.values() for vpn in names]
    assert sorted(measured + left_out) == sorted(row.vpn for row in rows())
