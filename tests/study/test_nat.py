"""NAT and blocked UDP in a study file."""

from __future__ import annotations

import pytest

from culvert.errors import StudyError
from culvert.topology.nat import Nat
from culvert.topology.shapes import routed
from culvert.topology.spec import LabSpec
from tests.study.dummies import parse

STUDY = """
name = "nat"
vpns = ["none"]
lab = {{ topology = "{topology}" {lab} }}
[[condition]]
name = "c"
{condition}
[[measurement]]
kind = "rtt"
"""


def spec(condition: str = "", lab: str = "", topology: str = "routed") -> LabSpec:
    text = STUDY.format(topology=topology, lab=lab, condition=condition)
    return parse(text).lab_spec("c", [(0,)])


@pytest.mark.parametrize("kind", Nat)
def test_a_word_is_node_as(kind: Nat) -> None:
    assert spec(f'nat = "{kind}"').topology == routed({"a": kind})
    assert spec(f'nat = {{ b = "{kind}" }}').topology == routed({"b": kind})
    assert spec(f'nat = {{ b = ["{kind}"] }}').topology == routed({"b": kind})
    assert spec(lab=f', nat = "{kind}"').topology == routed({"a": kind})


def test_a_condition_goes_before_the_lab() -> None:
    symmetric = routed({"a": Nat.SYMMETRIC})
    assert spec('nat = "symmetric"', ', nat = "full-cone"').topology == symmetric
    assert spec("nat = {}", ', nat = "full-cone"').topology == routed()
    assert spec("block_udp = false", ", block_udp = true").topology == routed()
    assert spec("", ", block_udp = true").topology == routed(block_udp=True)
    assert spec() == LabSpec(topology=routed())


@pytest.mark.parametrize(
    ("wrong", "why", "remedy"),
    [
        ('nat = "symetric"', 'line 7.*not "symetric"', "symmetric"),
        ('nat = { a = "cone" }', 'not "cone"', "full-cone"),
        ('nat = { a = "symmetric", b = "symmetric" }', "for one of the nodes a and b", "node a"),
        ('nat = { router = "symmetric" }', "NAT for router", "node a"),
        ('nat = { a = ["symmetric", "cone"] }', 'not "cone"', "full-cone"),
        ('nat = { a = ["symmetric", "full-cone"] }', "several NATs in a row", "mesh"),
        ("nat = { a = [] }", "empty", "at least 1"),
        ('block_udp = ["a"]', "true or false", "block_udp = true"),
    ],
)
def test_what_no_router_is(wrong: str, why: str, remedy: str) -> None:
    with pytest.raises(StudyError, match=why) as caught:
        spec(wrong)
    assert remedy in caught.value.remedy


@pytest.mark.parametrize("key", ['nat = "symmetric"', "block_udp = true"])
def test_a_pair_has_no_router(key: str) -> None:
    for place in ({"condition": key}, {"lab": f", {key}"}):
        with pytest.raises(StudyError, match='"pair" has no router') as caught:
            spec(**place, topology="pair")
        assert "routed" in caught.value.remedy
