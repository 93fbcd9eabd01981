"""What a trial's error is attributed to: a part that is broken, clocks that differ, or nothing."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import cast

import pytest

from culvert.errors import CulvertError, LabError, NotPossible, VpnError
from culvert.labs.base import Lab
from culvert.run.trials.causes import naming_the_cause
from culvert.vpns.base import Vpn
from culvert.vpns.facts import ProgramEnded

HOUR_NS = 3_600_000_000_000
VPN = cast(Vpn, SimpleNamespace(id="v", processes={}))
CLOCK = "v: the clock of node b is 3600 s ahead of that of node a; noticed as: "


def raised(error: CulvertError, *, ahead_ns: int = 0, broken: CulvertError | None = None) -> str:
    """The error that leaves the block."""
    clocks = {"a": 0, "b": ahead_ns}
    nodes = {
        name: SimpleNamespace(realtime_ns=lambda ahead=ahead: time.time_ns() + ahead)
        for name, ahead in clocks.items()
    }
    lab = cast(Lab, SimpleNamespace(nodes=nodes, broken=lambda: broken))
    with pytest.raises(CulvertError) as caught, naming_the_cause(VPN, lab):
        raise error
    assert caught.value.remedy
    return str(caught.value)


VPN_ERROR = VpnError("v", "not after 6 s", "see its log")
ENDED = ProgramEnded("v", "it ended with code 1", "see its log")
LINK = LabError("the wire of a", "was killed", "repeat the trial")


def test_an_error_without_another_cause_stays() -> None:
    assert raised(VPN_ERROR) == "v: not after 6 s"
    assert raised(NotPossible("v", "has no relay", "leave it out"), ahead_ns=HOUR_NS) == (
        "v: has no relay"
    )


@pytest.mark.parametrize("error", [VPN_ERROR, ENDED])
def test_clocks_are_the_cause_of_what_only_the_vpn_noticed(error: VpnError) -> None:
    assert raised(error, ahead_ns=HOUR_NS) == f"{CLOCK}{error}"


def test_a_broken_link_goes_before_clocks() -> None:
    found = raised(VPN_ERROR, ahead_ns=HOUR_NS, broken=LINK)
    assert found == "the wire of a: was killed; noticed as: v: not after 6 s"
