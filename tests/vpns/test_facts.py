"""A wait for a fact that does not come says what was last seen of it."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import chain, repeat
from operator import call

import pytest

from culvert.errors import VpnError
from culvert.vpns.facts import wait_for_fact


def refused() -> bool:
    raise ConnectionRefusedError("its console refused")


@pytest.mark.parametrize(
    ("fact", "evidence", "reason"),
    [
        (refused, str, "not after 0.01 s: it came (its console refused)"),
        (refused, lambda: "1 of 2", "not after 0.01 s: it came (1 of 2; its console refused)"),
        (bool, str, "not after 0.01 s: it came"),
    ],
)
def test_what_was_last_seen_is_said(
    fact: Callable[[], bool], evidence: Callable[[], str], reason: str
) -> None:
    with pytest.raises(VpnError, match=re.escape(reason) + "$") as raised:
        wait_for_fact(
            fact, vpn="v", process=None, what="it came", deadline_s=0.01, evidence=evidence
        )
    assert raised.value.remedy


def test_an_error_that_is_over_is_not_said() -> None:
    looks = chain([refused], repeat(bool))
    with pytest.raises(VpnError, match=r"it came$"):
        wait_for_fact(
            lambda: call(next(looks)), vpn="v", process=None, what="it came", deadline_s=0.01
        )
