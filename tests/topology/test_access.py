"""Kinds of access."""

from __future__ import annotations

import pytest

from culvert.topology.nat import Access, Nat, access_of


@pytest.mark.parametrize("kind", Access)
def test_a_kind_is_recognised_by_its_routers(kind: Access) -> None:
    assert access_of(kind.nats, blocks_udp=kind.blocks_udp) is kind


def test_every_nat_is_a_kind_and_the_provider_adds_one() -> None:
    assert {kind.nats for kind in Access if len(kind.nats) == 1} == {(nat,) for nat in Nat}
    assert len(Access.CGNAT.nats) == 2


def test_other_combinations_have_no_name() -> None:
    assert access_of((Nat.SYMMETRIC, Nat.SYMMETRIC), blocks_udp=False) is None
    assert access_of((Nat.SYMMETRIC,), blocks_udp=True) is None
