"""What the wire is asked, asked of netem: on this kernel if it has it, else in a guest."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from culvert.labs.guest import guest
from culvert.labs.vm.build import built
from culvert.machine.features import has
from culvert.results import Status
from culvert.topology.link.impairment import CLEAN, Bursts, Impairment, OneWay
from culvert.topology.link.jitter import Jitter, JitterShape
from culvert.topology.link.spec import LinkSpec
from culvert.topology.spec import LabSpec
from tests.guests import pass_in_a_guest
from tests.measurements.test_underlay import figures, verify
from tests.quiet import quiet
from tests.run.cells import execute, vpn

pytestmark = pytest.mark.lab
MS = 1_000_000
needs_netem = pytest.mark.skipif(not has("netem"), reason="this kernel has no netem")


def link(one_way: OneWay) -> LinkSpec:
    return LinkSpec(kind="netem", impairment=Impairment.both(one_way), seed=5)


@needs_netem
@pytest.mark.parametrize(
    ("one_way", "metric", "low", "high"),
    [
        (OneWay(loss=0.1), "delivered_loss_ratio", 0.05, 0.15),
        (OneWay(delay_ns=50_000_000), "delivered_loss_ratio", 0, 0),
        (OneWay(delay_ns=20_000_000, reorder=0.2), "reordered_packets", 1, 5000),
        (OneWay(duplicate=0.1), "duplicate_packets", 1, 5000),
        (OneWay(loss=Bursts(0.02, 0.25)), "longest_loss_run", 4, 100),
        (OneWay(loss=Bursts(0.3, 0.3, 0.1, 0.5), delay_ns=MS), "delivered_loss_ratio", 0.2, 0.4),
        (
            OneWay(delay_ns=20 * MS, jitter=Jitter(2 * MS, JitterShape.NORMAL, reorders=True)),
            "reordered_packets",
            1,
            5000,
        ),
    ],
)
def test_what_is_asked_is_found_and_agrees(
    one_way: OneWay, metric: str, low: float, high: float
) -> None:
    finding = quiet(lambda: verify(link(one_way), link(one_way)), unmarked=True)
    assert (finding.status, finding.reason) == (Status.OK, "")
    assert low <= figures(finding)[metric] <= high


@needs_netem
@pytest.mark.parametrize(
    "asked", [OneWay(loss=0.1), OneWay(delay_ns=50_000_000), OneWay(loss=Bursts(0.02, 0.25))]
)
def test_a_link_that_does_not_do_it_is_invalid(asked: OneWay) -> None:
    finding = verify(link(asked), replace(link(asked), impairment=CLEAN))
    assert finding.status is Status.INVALID


@needs_netem
@pytest.mark.parametrize("kind", ["udp", "rtt"])
def test_a_long_path_is_waited_for(kind: str) -> None:
    spec = LabSpec(link=link(OneWay(delay_ns=300_000_000)))
    finding = quiet(lambda: execute(vpn("none"), kind, spec))
    assert (finding.status, finding.reason) == (Status.OK, "")


@pytest.mark.skipif(has("netem"), reason="this kernel has netem: it was tested on it")
@pytest.mark.guest
@pytest.mark.skipif(built() is None, reason="no guest kernel: culvert vm build")
@pytest.mark.skipif(guest() is not None, reason="this is the guest")
def test_netem_in_a_guest() -> None:
    pass_in_a_guest(Path(__file__), deadline_s=300)
