"""Topologies in a study file: what their keys mean, and what is refused with line and remedy."""

from __future__ import annotations

from pathlib import Path as FilePath

import pytest

from culvert.errors import StudyError
from culvert.topology.graph import Path, Role
from culvert.topology.link.impairment import Impairment, OneWay
from culvert.topology.nat import Nat
from culvert.topology.shapes import mesh, pair, routed, star
from culvert.topology.spec import LabSpec
from tests.cli import Cli
from tests.study.dummies import parse

HEAD = 'name = "s"\nvpns = ["none"]\n[[measurement]]\nkind = "udp"\n[lab]\n'
CONDITION = '[[condition]]\nname = "c"\n'
WIRE = 'topology = "mesh"\nlink = { kind = "wire" }\n'
FIFTY_MS = Impairment.both(OneWay(delay_ns=50_000_000))


def spec(lab: str, condition: str = "") -> LabSpec:
    text = HEAD + lab + "\n" + CONDITION + condition + "\n"
    return parse(text).lab_spec("c", [(0,), (1,)])


@pytest.mark.parametrize(
    ("lab", "meant"),
    [
        ("", pair()),
        ('topology = "routed"', routed()),
        ('topology = "routed"\nnat = { b = ["symmetric"] }', routed({"b": Nat.SYMMETRIC})),
        ('topology = "star"', star(3)),
        ('topology = "star"\nclients = 5', star(5)),
        ('topology = "star"\nclients = 1\npaths = "first"', star(1)),
        ('topology = "star"\nclients = 2\npaths = "every"', star(2, every_path=True)),
        (
            'topology = "star"\npaths = ["c1>c2", "c3>gateway"]',
            star(3, paths=[Path("c1", "c2"), Path("c3", "gateway")]),
        ),
        ('topology = "mesh"', mesh(3)),
        ('topology = "mesh"\nmembers = 30', mesh(30)),
        (
            'topology = "mesh"\npaths = ["a>b", "c>b"]',
            mesh(3, paths=[Path("a", "b"), Path("c", "b")]),
        ),
        ('topology = "mesh"\nnat = "symmetric"', mesh(3, nats={"a": [Nat.SYMMETRIC]})),
        (
            'topology = "mesh"\nnat = { b = ["full-cone", "symmetric"] }\nblock_udp = ["c"]',
            mesh(3, nats={"b": [Nat.FULL_CONE, Nat.SYMMETRIC]}, block_udp=["c"]),
        ),
    ],
)
def test_what_a_lab_means(lab: str, meant: object) -> None:
    assert spec(lab).topology == meant


def test_a_condition_goes_before_the_lab() -> None:
    lab = 'topology = "mesh"\nnat = { a = "symmetric" }\nblock_udp = ["b"]'
    assert spec(lab).topology == mesh(3, nats={"a": [Nat.SYMMETRIC]}, block_udp=["b"])
    assert spec(lab, "nat = {}\nblock_udp = []").topology == mesh(3)
    other = 'nat = { c = ["full-cone", "symmetric"] }\nblock_udp = ["a"]'
    found = spec(lab, other).topology
    assert found == mesh(3, nats={"c": [Nat.FULL_CONE, Nat.SYMMETRIC]}, block_udp=["a"])


def test_a_condition_has_links_of_its_own() -> None:
    condition = 'rate = "1Gbit/s"\nlinks = { "b-core" = { delay = "50ms", rate = "10Mbit/s" } }'
    found = spec(WIRE, condition)
    assert (found.link.rate_bps, found.link.impairment) == (10**9, Impairment())
    single = found.link_of("b-core")
    assert (single.kind, single.rate_bps, single.impairment) == ("wire", 10**7, FIFTY_MS)
    assert found.path_link(Path("a", "b")).impairment == FIFTY_MS
    assert found.path_link(Path("a", "b")).rate_bps == 10**7
    assert found.path_link(Path("a", "c")).rate_bps == 10**9


def test_a_single_links_directions_are_its_own() -> None:
    # Up is from the link's left end, b, to its right one.
    found = spec(WIRE, 'links = { "b-core" = { up = { delay = "50ms" } } }')
    assert found.link_of("b-core").impairment.a_to_b.delay_ns == 50_000_000
    assert found.path_link(Path("a", "b")).impairment.b_to_a.delay_ns == 50_000_000
    assert found.path_link(Path("a", "b")).impairment.a_to_b.delay_ns == 0


def test_every_node_can_have_cpus() -> None:
    lab = 'topology = "star"\nclients = 2\ncpus = { c2 = [0], core = [1], gateway = [0, 1] }'
    assert spec(lab).cpus == {"c2": (0,), "core": (1,), "gateway": (0, 1)}


def test_the_digest_tells_topologies_apart_and_stays_what_it_was() -> None:
    digests = {
        parse(HEAD + lab).digest
        for lab in (
            "",
            'topology = "star"\n',
            'topology = "star"\nclients = 2\n',
            'topology = "star"\npaths = "every"\n',
            'topology = "mesh"\n',
            'topology = "mesh"\nmembers = 4\n',
        )
    }
    assert len(digests) == 6
    for key in ("clients", "members", "paths", "links"):
        assert f'"{key}"' not in parse(HEAD + CONDITION).canonical


def test_members_of_a_study_are_members() -> None:
    assert [node.role for node in spec('topology = "star"\nclients = 1').topology.members] == [
        Role.CLIENT,
        Role.GATEWAY,
    ]


@pytest.mark.parametrize(
    ("lab", "line", "key", "why", "remedy"),
    [
        ('topology = "ring"', 6, "lab.topology", '"star" or "mesh"', ""),
        ("clients = 3", 6, "lab.clients", 'for the topology "star"', 'topology = "star"'),
        ("members = 3", 6, "lab.members", 'for the topology "mesh"', 'topology = "mesh"'),
        ('topology = "star"\nmembers = 3', 7, "lab.members", 'topology "mesh"', "leave it out"),
        ('topology = "mesh"\nclients = 3', 7, "lab.clients", 'topology "star"', "leave it out"),
        ('topology = "star"\nclients = 0', 7, "lab.clients", "at least 1", ""),
        ('topology = "mesh"\nmembers = 1', 7, "lab.members", "between 2 and 1000", "members = 3"),
        ('topology = "mesh"\nmembers = 1001', 7, "lab.members", "at most 1000", ""),
        ('paths = "every"', 6, "lab.paths", 'for the topology "star"', "name the paths"),
        ('topology = "mesh"\npaths = "every"', 7, "lab.paths", 'topology "star"', '["a>b"]'),
        ('topology = "routed"\npaths = ["a>b"]', 7, "lab.paths", '"star" and "mesh"', "leave"),
        ('topology = "star"\npaths = ["c1>c9"]', 7, "lab.paths", 'no member "c9"', "c1, c2, c3"),
        ('topology = "star"\npaths = ["gateway>c1"]', 7, "lab.paths", "starts at", '"c1>gateway"'),
        ('topology = "mesh"\npaths = ["a-b"]', 7, "lab.paths[0]", "wrong form", ">"),
        ('topology = "mesh"\npaths = []', 7, "lab.paths", "empty", "at least 1"),
        ('topology = "mesh"\npaths = ["a>z"]', 7, "lab.paths", 'no member "z"', "a, b, c"),
        ('topology = "mesh"\npaths = ["a>a"]', 7, "lab.paths", "are the same member", "a>b"),
        ('topology = "mesh"\npaths = ["core>a"]', 7, "lab.paths", 'no member "core"', "a, b, c"),
        ('topology = "mesh"\npaths = ["a>b", "a>b"]', 7, "lab.paths", "listed twice", "once"),
        ('nat = "symmetric"', 6, "lab.nat", '"pair" has no router', "routed"),
        ('topology = "star"\nnat = "symmetric"', 7, "lab.nat", "no router", "mesh"),
        ('topology = "star"\nblock_udp = true', 7, "lab.block_udp", "no router", "mesh"),
        ('topology = "star"\nblock_udp = ["c1"]', 7, "lab.block_udp", "no router", "mesh"),
        (
            'topology = "routed"\nnat = { a = ["symmetric", "full-cone"] }',
            7,
            "lab.nat",
            "several NATs in a row",
            'topology = "mesh"',
        ),
        ('topology = "routed"\nblock_udp = ["a"]', 7, "lab.block_udp", "true or false", "true"),
        ('topology = "mesh"\nblock_udp = true', 7, "lab.block_udp", "no member", '["a"]'),
        ('topology = "mesh"\nblock_udp = ["z"]', 7, "lab.block_udp", "node 'z'", "a, b, c"),
        (
            'topology = "mesh"\nnat = { a = "symmetric" }\nblock_udp = ["z"]',
            8,
            "lab.block_udp",
            "node 'z'",
            "a, b, c",
        ),
        ('topology = "mesh"\nnat = { core = "symmetric" }', 7, "lab.nat", "'core'", "a, b, c"),
        ('topology = "mesh"\nnat = { a = ["cone"] }', 7, "lab.nat.a[0]", "symmetric", "full-"),
        ('topology = "mesh"\nnat = { a = [] }', 7, "lab.nat.a", "empty", "at least 1"),
        ('topology = "mesh"\ncpus = { z = [0] }', 7, "lab.cpus.z", 'no node "z"', "a, b, c, core"),
    ],
)
def test_a_lab_that_cannot_be(lab: str, line: int, key: str, why: str, remedy: str) -> None:
    with pytest.raises(StudyError) as caught:
        parse(HEAD + lab + "\n")
    refused(caught.value, line, key, why, remedy)


@pytest.mark.parametrize(
    ("lab", "condition", "key", "why", "remedy"),
    [
        (
            WIRE,
            'links = { "b-cor" = { delay = "50ms" } }',
            "links.b-cor",
            'no link "b-cor"',
            "a-core, b-core, c-core",
        ),
        (
            WIRE,
            'links = { "b-core" = { dely = "50ms" } }',
            "links.b-core.dely",
            "not a key",
            '"delay"',
        ),
        (WIRE, 'links = { "b-core" = { delay = "50" } }', "links.b-core.delay", "unit", "ms"),
        (WIRE, 'links = { "b-core" = { name = "x" } }', "links.b-core.name", "not a key", ""),
        (
            WIRE,
            'links = { "b-core" = { reorder = "1%" } }',
            "links.b-core.reorder",
            "it needs a delay",
            "add a delay",
        ),
        (
            'topology = "mesh"\nlink = { kind = "veth" }\n',
            'links = { "b-core" = { delay = "50ms" } }',
            "links.b-core.delay",
            "a veth link does not support",
            'kind = "wire"',
        ),
        (
            WIRE,
            'links = { "b-core" = { jitter = "5ms" }, "a-core" = { jitter = "2ms" } }',
            "links",
            "the links of path a>b",
            "one link of the path",
        ),
        (WIRE, 'router = { quota = "20%", node = "z" }', "router.node", 'no node "z"', "a, b, c"),
        (WIRE, "cpus = { nata = [0] }", "cpus.nata", 'no node "nata"', "a, b, c, core"),
        (WIRE, 'nat = { z = "symmetric" }', "nat", "node 'z'", "a, b, c"),
        (WIRE, "block_udp = true", "block_udp", "names no member", '["a"]'),
        ('topology = "star"\nclients = 2\n', 'nat = "symmetric"', "nat", "no router", "mesh"),
    ],
)
def test_a_condition_that_cannot_be(
    lab: str, condition: str, key: str, why: str, remedy: str
) -> None:
    text = HEAD + lab + CONDITION + condition + "\n"
    with pytest.raises(StudyError) as caught:
        parse(text)
    line = text.splitlines().index(condition) + 1
    refused(caught.value, line, f"condition[0].{key}", why, remedy)


def refused(error: StudyError, line: int, key: str, why: str, remedy: str) -> None:
    """The first problem is that one."""
    assert error.what == f"s.toml, line {line}, {key}"
    assert why in error.why
    assert remedy in error.remedy
    assert error.remedy


@pytest.mark.parametrize(
    ("lab", "why", "remedy"),
    [
        ('topology = "mesh"\nmembers = 1', "is not between 2 and 1000", "write members = 3"),
        ('topology = "mesh"\npaths = ["a>z"]', 'no member "z"', "its members are a, b, c"),
        ('topology = "star"\nnat = "symmetric"', "no router", 'write topology = "routed"'),
    ],
)
def test_study_check_names_line_and_remedy(
    say: Cli, tmp_path: FilePath, lab: str, why: str, remedy: str
) -> None:
    path = tmp_path / "s.toml"
    path.write_text(HEAD + lab + "\n")
    said = say("study", "check", path)
    shown = said.out + said.err
    assert said.code == 2
    assert "s.toml, line " in shown
    assert why in shown
    assert f"remedy: {remedy}" in shown
