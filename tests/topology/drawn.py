"""Topologies by hypothesis: every shape, with NATs, blocked UDP and servers."""

from __future__ import annotations

from hypothesis import strategies as st

from culvert.topology.graph import Path, Role, Topology
from culvert.topology.nat import Nat
from culvert.topology.shapes import member_names, mesh, pair, public, routed, serving, star

KINDS = st.sampled_from(list(Nat))


@st.composite
def routed_labs(draw: st.DrawFn) -> Topology:
    nat = draw(st.dictionaries(st.sampled_from("ab"), KINDS, max_size=1))
    return routed(nat, block_udp=draw(st.booleans()))


@st.composite
def meshes(draw: st.DrawFn) -> Topology:
    names = member_names(draw(st.integers(2, 8)))
    some = st.sampled_from(names)
    ends = draw(st.lists(some, min_size=2, max_size=2, unique=True))
    made = mesh(
        len(names),
        nats=draw(st.dictionaries(some, st.lists(KINDS, min_size=1, max_size=3))),
        block_udp=draw(st.lists(some, max_size=5)),
        paths=[Path(*ends)],
    )
    return serving(made, draw(st.lists(st.sampled_from(list(Role)), max_size=3)))


def stars() -> st.SearchStrategy[Topology]:
    return st.builds(star, st.integers(1, 8), every_path=st.booleans(), behind=st.booleans())


def topologies() -> st.SearchStrategy[Topology]:
    return st.just(pair()) | st.just(public()) | routed_labs() | stars() | meshes()
