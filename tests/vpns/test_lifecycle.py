"""A tunnel that is up can be used."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from culvert.errors import DeadlineExceeded
from culvert.vpns import lifecycle
from culvert.vpns.lifecycle import await_usable

TENTATIVE = "7: tun0    inet6 2001:2:0:ffff::2/64 scope global tentative \n"


def node(listed: Iterator[str], *, there: bool = True) -> Any:
    return SimpleNamespace(
        name="b",
        link=lambda _: object() if there else None,
        run=lambda _: SimpleNamespace(stdout=next(listed)),
    )


def test_an_address_is_awaited_until_it_can_be_bound() -> None:
    listed = iter([TENTATIVE, TENTATIVE, "", "never read"])
    await_usable("tun0", node(listed))
    assert next(listed) == "never read"


def test_one_that_another_has_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lifecycle, "_USABLE_S", 0.01)
    with pytest.raises(DeadlineExceeded, match="the IPv6 addresses of tun0 on node b"):
        await_usable("tun0", node(iter(lambda: TENTATIVE, "")))


def test_a_device_that_is_started_later_is_not_awaited() -> None:
    listed = iter([TENTATIVE])
    await_usable("tun0", node(listed, there=False))
    assert next(listed) == TENTATIVE
