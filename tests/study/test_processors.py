"""What a condition says of the processors."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from culvert.errors import NotPossible, StudyError
from culvert.study.conditions.processors import own_cores
from culvert.study.study import Study
from culvert.topology.spec import LabSpec, Processors, Steering
from tests.study.dummies import CATALOGUE

STUDY = """
name = "p"
vpns = ["none"]
[lab]
topology = "pair"
cpus = "split"
link = {{ kind = "{kind}" }}
[[condition]]
name = "c"
{condition}
[[measurement]]
kind = "tcp"
"""
FOUR = [(0,), (1,), (2,), (3,)]


def spec(condition: str, kind: str = "veth", cores: list[tuple[int, ...]] | None = None) -> LabSpec:
    study = Study.parse(STUDY.format(condition=condition, kind=kind), CATALOGUE)
    return study.lab_spec("c", cores or FOUR)


def test_nothing_said_changes_nothing() -> None:
    assert spec("").processors == Processors()
    assert spec("").link.queues == 1
    assert spec("").cpus == {"a": (0, 1), "b": (2, 3)}


@pytest.mark.parametrize(
    ("condition", "wanted"),
    [
        ("aes = false", Processors(aes=False)),
        ("aes = true", Processors(aes=True)),
        ("rps = true\nrfs = false", Processors(steering=Steering(rps=True, rfs=False))),
        ('router = { quota = "20%" }', Processors(quota={"b": 0.2})),
        ('router = { quota = "5%", node = "a" }', Processors(quota={"a": 0.05})),
    ],
)
def test_what_is_asked(condition: str, wanted: Processors) -> None:
    assert spec(condition).processors == wanted


def star(condition: str) -> LabSpec:
    text = STUDY.format(condition=condition, kind="veth")
    text = text.replace('"pair"', '"star"\nclients = 3')
    return Study.parse(text, CATALOGUE).lab_spec("c", FOUR)


def test_the_gateway_of_a_star_has_cores_of_its_own() -> None:
    generators = ("c1", "c2", "c3", "core")
    assert star("").cpus == {"gateway": (0, 1), **dict.fromkeys(generators, (2, 3))}
    assert star("cores = 1").cpus == {"gateway": (0,), **dict.fromkeys(generators, (1, 2, 3))}
    assert star("cores = 3").cpus == {"gateway": (0, 1, 2), **dict.fromkeys(generators, (3,))}
    with pytest.raises(NotPossible, match="none is left for the generators"):
        star("cores = 4")
    with pytest.raises(NotPossible, match="one node with 5 CPUs needs 5"):
        star("cores = 5")


def test_cores_and_cpus_assign_cpus_to_nodes() -> None:
    assert spec("cores = 1").cpus == {"a": (0,), "b": (1,)}
    assert spec("cpus = { a = [3] }").cpus == {"a": (3,)}
    assert spec('cpus = "shared"').cpus is None
    assert spec('router = { quota = "20%", cores = 1 }').cpus == {"a": (0, 1), "b": (2,)}
    shared = 'cpus = "shared"\nrouter = { quota = "20%", cores = 1 }'
    assert spec(shared, cores=[(6, 7), (8,)]).cpus == {"b": (6,)}
    assert spec("xps = true").link.queues == 4


def test_more_cpus_than_the_machine_has_are_refused() -> None:
    with pytest.raises(NotPossible, match="2 nodes with 3 CPUs each need 6"):
        spec("cores = 3")
    with pytest.raises(NotPossible, match="node b has 2"):
        spec('router = { quota = "20%", cores = 3 }')
    with pytest.raises(NotPossible, match="CPU 9"):
        spec("cpus = { a = [9] }")


@pytest.mark.parametrize(
    ("condition", "why"),
    [
        ("cores = 0", "cores"),
        ("cores = 1\ncpus = { a = [0] }", "both determine"),
        ("cpus = { router = [0] }", 'has no node "router"'),
        ("aes = 1", "aes"),
        ('router = { quota = "0%" }', "quota"),
        ('router = { quota = "120%" }', "quota"),
        ("router = { cores = 1 }", "quota"),
        ('router = { quota = "20%", node = "router" }', "node"),
    ],
)
def test_what_cannot_be(condition: str, why: str) -> None:
    with pytest.raises(StudyError, match=why):
        spec(condition)


def test_a_wire_has_one_queue() -> None:
    with pytest.raises(StudyError, match="single queue"):
        spec("xps = true", kind="wire")
    assert spec("rps = true", kind="wire").processors.steering.rps


@given(st.integers(1, 12), st.integers(1, 2), st.integers(1, 6))
def test_own_cores_are_nobody_elses(count: int, threads: int, each: int) -> None:
    machine = [tuple(core + count * thread for thread in range(threads)) for core in range(count)]
    nodes = ("a", "b")
    if count * threads < each * len(nodes):
        with pytest.raises(NotPossible, match="cores"):
            own_cores(machine, nodes, each)
        return
    found = own_cores(machine, nodes, each)
    assert [len(found[node]) for node in nodes] == [each, each]
    assert not set(found["a"]) & set(found["b"])
    if count >= each * len(nodes):
        assert all(cpu < count for cpus in found.values() for cpu in cpus)  # no hardware threads
