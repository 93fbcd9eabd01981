"""``nat_pairs`` in a study file."""

from __future__ import annotations

import pytest

from culvert.errors import StudyError
from culvert.study.study import Study
from culvert.topology.nat import Access, access_of
from tests.study.dummies import parse

STUDY = """
name = "pairs"
vpns = ["none"]
lab = {{ topology = "{topology}"{lab} }}
[[condition]]
name = "nat"
{condition}
[[measurement]]
kind = "rtt"
"""


def study(condition: str, topology: str = "mesh", lab: str = "") -> Study:
    return parse(STUDY.format(topology=topology, lab=lab, condition=condition))


def accesses(made: Study, name: str, source: str = "a", target: str = "b") -> list[Access | None]:
    """The kinds in front of the path's ends, by the routers that the lab would have."""
    topology = made.lab_spec(name, [(0,)]).topology
    found = []
    for end in (source, target):
        way = [node for network, _ in topology.between(end, "core") for node in network.ends]
        routers = [topology.node(node) for node in dict.fromkeys(way)]
        found.append(
            access_of(
                [node.nat for node in routers if node.nat is not None],
                blocks_udp=any(node.blocks_udp for node in routers),
            )
        )
    return found


def test_all_pairs_each_once_with_the_routers_of_their_names() -> None:
    made = study('nat_pairs = "all"')
    names = [condition.name for condition in made.file.condition]
    assert len(names) == len(set(names)) == 28
    pairs = set()
    for name in names:
        left, right = accesses(made, name)
        assert name == f"nat.{left}.{right}"
        pairs.add(frozenset((left, right)))
    assert len(pairs) == 28


def test_a_list_pairs_its_kinds_in_one_order() -> None:
    made = study('nat_pairs = ["symmetric", "none", "symmetric"]', lab=', paths = ["b>c"]')
    names = [condition.name for condition in made.file.condition]
    assert names == ["nat.none.none", "nat.none.symmetric", "nat.symmetric.symmetric"]
    assert accesses(made, names[1], "b", "c") == [Access.NONE, Access.SYMMETRIC]


def test_other_keys_apply_to_each_pair() -> None:
    made = study('nat_pairs = ["none", "cgnat"]\nmtu = 1400')
    assert {condition.mtu for condition in made.file.condition} == {1400}


def test_the_journal_recalls_the_study() -> None:
    made = study('nat_pairs = ["none"]')
    assert '"nat_pairs"' not in made.canonical
    assert parse(made.text).digest == made.digest


@pytest.mark.parametrize(
    ("condition", "why", "remedy"),
    [
        ('nat_pairs = "every"', "all", ""),
        ('nat_pairs = ["cone"]', "udp-blocked", "full-cone"),
        ("nat_pairs = []", "empty", "at least 1"),
        ('nat_pairs = "all"\nnat = { a = "symmetric" }', "nat_pairs sets nat", "leave nat out"),
        ('nat_pairs = "all"\nblock_udp = ["a"]', "sets block_udp", "leave block_udp out"),
    ],
)
def test_what_nat_pairs_cannot_be(condition: str, why: str, remedy: str) -> None:
    with pytest.raises(StudyError, match=why) as caught:
        study(condition)
    assert remedy in caught.value.remedy


def test_an_expanded_name_can_be_taken() -> None:
    with pytest.raises(StudyError, match="there are two conditions"):
        study('nat_pairs = "all"\n[[condition]]\nname = "nat.none.none"')


@pytest.mark.parametrize("topology", ["pair", "routed", "star"])
def test_only_a_mesh_has_routers_in_front_of_both(topology: str) -> None:
    with pytest.raises(StudyError, match="no routers in front of both") as caught:
        study('nat_pairs = "all"', topology)
    assert "mesh" in caught.value.remedy
