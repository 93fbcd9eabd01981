from __future__ import annotations

import pytest

from culvert.proof.limits import (
    Ceiling,
    Offered,
    connection_is_not_the_limit,
    generator_is_not_the_limit,
    receiver_is_not_the_limit,
)
from culvert.vpns import registry
from culvert.vpns.base import Vpn

CEILING = Ceiling(sent_pps=100_000, received_pps=100_000)


def vpn(name: str) -> Vpn:
    return registry.create(registry.parse(name))


@pytest.mark.parametrize(
    ("offered", "passed"),
    [
        (Offered(95_000, 1.0, 0), False),
        (Offered(95_000, 1.0, 90), False),
        (Offered(95_000, 1.0, 2_000), True),  # the tunnel loses: it is the limit
        (Offered(50_000, 1.0, 0), True),  # the tunnel holds the sender back
        (Offered(95_000, 1.0, 0, scheduled=95_000), True),  # what was asked was offered
        (Offered(95_000, 1.0, 0, scheduled=150_000), False),
        (Offered(20_000, 1.0, 0, scheduled=150_000), True),
    ],
)
def test_the_generator_is_the_limit_near_its_ceiling(offered: Offered, *, passed: bool) -> None:
    assert generator_is_not_the_limit(vpn("vxlan/plain"), offered, CEILING).passed is passed


def test_of_the_baseline_nothing_is_asked() -> None:
    none = vpn("none")
    assert generator_is_not_the_limit(none, Offered(100_000, 1.0, 0), CEILING).passed
    assert receiver_is_not_the_limit(none, 10, 90).passed


@pytest.mark.parametrize(("arrived", "drops", "passed"), [(995, 5, True), (900, 100, False)])
def test_the_receivers_socket(arrived: int, drops: int, *, passed: bool) -> None:
    check = receiver_is_not_the_limit(vpn("vxlan/plain"), arrived, drops)
    assert check.passed is passed
    assert str(drops) in check.detail
    assert check.remedy


def test_a_connection_much_faster_than_the_bare_link() -> None:
    assert connection_is_not_the_limit(5e9, None) == []
    assert [check.passed for check in connection_is_not_the_limit(1e9, 5e9)] == [True]
    assert [check.passed for check in connection_is_not_the_limit(4.9e9, 5e9)] == [True]
    assert [check.passed for check in connection_is_not_the_limit(8e9, 5e9)] == [False]
