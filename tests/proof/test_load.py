"""Load that nobody's CPU time carried."""

from __future__ import annotations

import pytest

from culvert.probe.results import Accounted, Captured, ProcessUse
from culvert.probe.results.accounting import DeviceUse
from culvert.proof.load import load_costs_time
from culvert.trial.watch import NodeWatch, Watched
from culvert.vpns.base import Vpn
from culvert.vpns.none import NoVpn
from culvert.vpns.variant import DataPath
from tests.measurements.fakes import NOTHING_CAPTURED, Tunnel, session


class InUserSpace(Tunnel):
    @property
    def data_path(self) -> DataPath:
        return DataPath.USER


class InTheKernel(Tunnel):
    @property
    def data_path(self) -> DataPath:
        return DataPath.KERNEL


class NotAttributable(InUserSpace):
    cpu_attributable = False


def watched(*processes: ProcessUse, packets: int = 100_000) -> Watched:
    link = DeviceUse(name="eth0", rx_packets=0, rx_bytes=0, tx_packets=packets, tx_bytes=0)
    used = Accounted(seconds=1, cpus=[], processes=list(processes), devices=[link])
    node = NodeWatch(used, Captured.model_validate(NOTHING_CAPTURED))
    return Watched({"a": node, "b": node}, 1.0)


def passes(vpn: Vpn, seen: Watched) -> bool:
    return all(check.passed for check in load_costs_time(session(vpn=vpn), seen))


def process(run_ns: int | None = 0, **more: float) -> ProcessUse:
    return ProcessUse.model_validate({"label": "vpn", "pid": 7, "run_ns": run_ns, **more})


@pytest.mark.parametrize(
    ("processes", "possible"),
    [
        ((), False),
        ((process(0),), False),
        ((process(90_000),), False),
        ((process(50_000_000),), True),
        ((process(0, children_s=0.05),), True),
        ((process(0), process(50_000_000)), True),
        ((process(0, children_s=0.05), process(None, used_before_ns=50_000_000)), False),
    ],
)
def test_a_vpn_in_user_space_needs_time(
    *, processes: tuple[ProcessUse, ...], possible: bool
) -> None:
    vpn = InUserSpace(Tunnel.variants[0])
    assert passes(vpn, watched(*processes)) is possible


def test_a_check_names_node_load_and_time() -> None:
    vpn = InUserSpace(Tunnel.variants[0])
    first, _ = load_costs_time(session(vpn=vpn), watched(process(90_000)))
    assert first.name == "the load costs CPU time, node a"
    assert "0.09 ms for 100,000 packets" in first.detail


@pytest.mark.parametrize("vpn", [InTheKernel, NotAttributable, NoVpn])
def test_what_the_kernel_carries_needs_no_process(vpn: type[Vpn]) -> None:
    assert load_costs_time(session(vpn=vpn(vpn.variants[0])), watched()) == []


def test_little_load_is_not_judged() -> None:
    vpn = InUserSpace(Tunnel.variants[0])
    assert load_costs_time(session(vpn=vpn), watched(packets=100)) == []
