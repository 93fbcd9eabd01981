"""A wait for a fact that does not come says what was last seen of it."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Callable
from itertools import chain, repeat
from operator import call

import pytest

from culvert.errors import VpnError
from culvert.vpns.facts import listens, wait_for_fact
from tests.here import HERE


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


@pytest.mark.parametrize(
    ("protocol", "kind"), [("tcp", socket.SOCK_STREAM), ("udp", socket.SOCK_DGRAM)]
)
def test_a_socket_that_receives_from_anybody_listens(protocol: str, kind: int) -> None:
    with socket.socket(socket.AF_INET, kind) as bound:
        bound.bind(("127.0.0.1", 0))
        port = bound.getsockname()[1]
        if protocol == "tcp":
            assert not listens(HERE, os.getpid(), port, protocol)
            bound.listen()
        assert listens(HERE, os.getpid(), port, protocol)
    assert not listens(HERE, os.getpid(), port, protocol)
