from __future__ import annotations

from culvert.vpns import registry
from culvert.vpns.variant import DataPath
from tests.here import HERE


def test_the_baseline_adds_nothing() -> None:
    vpn = registry.create(registry.parse("none"))
    assert vpn.id == "none"
    assert vpn.missing(HERE) == []
    assert vpn.outer_flow is None
    assert vpn.data_path is DataPath.NONE
    assert not vpn.variant.encrypts
    assert [vpn.outer_length(n) for n in (28, 64, 1500)] == [28, 64, 1500]
