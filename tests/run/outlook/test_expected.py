"""How long a run takes, before it is begun."""

from __future__ import annotations

import pytest

from culvert.measurements.underlay.underlay import Underlay, UnderlayParameters
from culvert.plan.plan import Plan
from culvert.run.outlook.expected import OVERHEAD_S, estimate_of
from culvert.study.study import Study
from culvert.vpns.registry import installed_catalogue

STUDY = """
name = "s"
vpns = ["none", "mesh/relay"]
[lab]
link = {link}
[[condition]]
name = "clean"
[[condition]]
name = "other"
mtu = 1400
[[measurement]]
kind = "rtt"
[[lacking]]
kind = "vpn"
name = "mesh/relay"
reason = "no NAT"
"""


def block_s(link: str) -> float:
    catalogue = installed_catalogue()
    study = Study.parse(STUDY.format(link=link), catalogue)
    return estimate_of(study, Plan.of(study), catalogue).block_s


def test_each_emulated_link_is_verified_in_each_block() -> None:
    verified_s = Underlay.estimate_s(UnderlayParameters.model_validate({})) + OVERHEAD_S
    wire_s = block_s('{ kind = "wire", rate = "1Gbit/s" }')
    assert wire_s - block_s('{ kind = "veth" }') == pytest.approx(2 * verified_s)
    assert block_s('{ kind = "wire" }') == block_s('{ kind = "veth" }')
