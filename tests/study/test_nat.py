"""NAT and blocked UDP in a study file."""

from __future__ import annotations

import pytest

from culvert.errors import StudyError
from culvert.topology.nat import Nat
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
    assert spec(f'nat = "{kind}"').nat == {"a": kind}
    assert spec(f'nat = {{ b = "{kind}" }}').nat == {"b": kind}
    assert spec(lab=f', nat = "{kind}"').nat == {"a": kind}


def test_a_condition_goes_before_the_lab() -> None:
    assert spec('nat = "symmetric"', ', nat = "full-cone"').nat == {"a": Nat.SYMMETRIC}
    assert spec("block_udp = false", ", block_udp = true").block_udp is False
    assert spec("", ", block_udp = true").block_udp is True
    assert spec() == LabSpec(topology=routed())


@pytest.mark.parametrize(
    ("wrong", "why", "remedy"),
    [
        ('nat = "symetric"', 'line 7.*"symetric" is not a kind of NAT', "symmetric"),
        ('nat = { a = "cone" }', '"cone" is not a kind of NAT', "full-cone"),
        ("nat = {}", "one node", "a or b"),
        ('nat = { a = "symmetric", b = "symmetric" }', "one node", "a or b"),
        ('nat = { router = "symmetric" }', '"router" is not a key', "a"),
    ],
)
def test_what_no_router_is(wrong: str, why: str, remedy: str) -> None:
    with pytest.raises(StudyError, match=why) as caught:
        spec(wrong)
    assert remedy in caught.value.remedy


@pytest.mark.parametrize("key", ['nat = "symmetric"', "block_udp = true"])
def test_a_pair_has_no_router(key: str) -> None:
    for place in ({"condition": key}, {"lab": f", {key}"}):
        with pytest.raises(StudyError, match="needs a router") as caught:
            spec(**place, topology="pair")
        assert "routed" in caught.value.remedy
