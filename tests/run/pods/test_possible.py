"""What cells request that pods cannot do: found before the first trial, each reason once."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from culvert.errors import NotPossible
from culvert.labs.kubernetes.pods.node import PodNode
from culvert.measurements.base import Measurement
from culvert.plan.plan import Plan
from culvert.run.outlook.shortfalls import summed
from culvert.run.pods.cluster import Clusters, Under
from culvert.run.pods.possible import (
    allowed_in,
    between_pods,
    congestion_of,
    refuse,
    refuse_as_it_is,
)
from culvert.study.catalogue import installed_measurements
from culvert.study.study import Study
from culvert.topology.graph import NodeSpec, Role
from culvert.topology.graph import Path as Way
from culvert.topology.ip import IpVersion
from culvert.topology.link.impairment import Impairment, OneWay
from culvert.topology.nat import Nat
from culvert.topology.shapes import mesh
from culvert.topology.spec import LabSpec, Placement, Processors, Steering
from culvert.vpns.base import Vpn
from culvert.vpns.registry import installed_catalogue
from tests.run.fakes import Recorder, made, runner, study

KINDS = installed_measurements()
PLAIN = LabSpec()


def routed() -> LabSpec:
    topology = PLAIN.topology
    router = NodeSpec("r", Role.ROUTER, nat=next(iter(Nat)), inside="a")
    return replace(PLAIN, topology=replace(topology, nodes=(*topology.nodes, router)))


@pytest.mark.parametrize(
    ("spec", "kind", "parameters", "words"),
    [
        pytest.param(PLAIN, "initiation", {}, "it starts a tunnel", id="a tunnel"),
        pytest.param(PLAIN, "underlay", {}, "measures a link", id="a link"),
        pytest.param(replace(PLAIN, underlay=IpVersion.V6), "rtt", {}, "IPv6", id="IPv6"),
        pytest.param(
            PLAIN, "tcp", {"instrument": "iperf3", "warmup": "0s"}, "tcp by iperf3", id="iperf3"
        ),
        pytest.param(PLAIN, "rtt", {"instrument": "ping"}, "rtt by ping", id="ping"),
        pytest.param(replace(PLAIN, cpus={"a": (0,)}), "rtt", {}, "CPUs of each node", id="CPUs"),
        pytest.param(replace(PLAIN, links={"a-b": PLAIN.link}), "rtt", {}, "links", id="links"),
        pytest.param(routed(), "rtt", {}, "router r", id="a NAT"),
        pytest.param(
            replace(PLAIN, topology=mesh(3, paths=(Way("a", "b"), Way("b", "c")))),
            *("rtt", {}, "2 paths"),
            id="two paths",
        ),
    ],
)
def test_no_cluster_can(spec: LabSpec, kind: str, parameters: dict[str, Any], words: str) -> None:
    measurement = KINDS[kind]
    given = measurement.Parameters.model_validate(parameters)
    with pytest.raises(NotPossible, match=words) as caught:
        refuse(spec, measurement(), given)
    assert caught.value.remedy


@pytest.mark.parametrize("kind", ["tcp", "rtt", "udp", "k8s_api"])
def test_a_usual_cell_can(kind: str) -> None:
    with suppress(NotPossible):
        refuse(PLAIN, KINDS[kind](), KINDS[kind].Parameters.model_validate({}))
        refuse_as_it_is(PLAIN)
        return
    pytest.fail("it was refused")


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (replace(PLAIN, link=replace(PLAIN.link, rate_bps=1)), "impairments"),
        (replace(PLAIN, link=PLAIN.link.requesting(1400)), "mtu = 1400"),
        (replace(PLAIN, processors=Processors(aes=False)), "aes"),
        (replace(PLAIN, processors=Processors(quota={"b": 0.2})), "router"),
        (replace(PLAIN, processors=Processors(steering=Steering(rps=True))), "rps"),
        (replace(PLAIN, processors=Processors(interrupts=(0,))), "interrupts"),
        (replace(PLAIN, overlay_mtu=1230), "overlay_mtu = 1230"),
    ],
)
def test_a_cluster_that_is_not_culverts_own_is_as_it_is(spec: LabSpec, words: str) -> None:
    with pytest.raises(NotPossible, match=words):
        refuse_as_it_is(spec)


# -- congestion control ----------------------------------------------------------------------------


def pod(allowed: str, default: str = "bbr", capabilities: str = "0") -> PodNode:
    def read_all(paths: list[str]) -> dict[str, str]:
        texts = (f"{allowed}\n", f"{default}\n", f"Name:\tx\nCapEff:\t{capabilities}\n")
        return dict(zip(paths, texts, strict=True))

    return cast(PodNode, SimpleNamespace(read_all=read_all))


def unreadable() -> PodNode:
    def read_all(paths: list[str]) -> dict[str, str]:
        raise OSError(f"{paths[0]}: No such file or directory")

    return cast(PodNode, SimpleNamespace(read_all=read_all))


@pytest.mark.parametrize(
    ("pods", "allowed"),
    [
        ([pod("reno"), pod("reno cubic")], frozenset({"reno", "bbr"})),
        ([pod("reno", "cubic"), pod("reno bbr")], frozenset({"reno"})),
        ([pod("reno"), pod("reno", capabilities="1000")], frozenset({"reno", "bbr"})),
        ([pod("reno", capabilities="000001ffffffffff"), unreadable()], None),
    ],
)
def test_what_both_pods_may_use(pods: list[PodNode], allowed: frozenset[str] | None) -> None:
    assert allowed_in(pods) == allowed


def test_only_some_measurements_request_one() -> None:
    tcp, rtt = KINDS["tcp"].Parameters, KINDS["rtt"].Parameters
    assert congestion_of(tcp.model_validate({})) == "cubic"
    assert congestion_of(rtt.model_validate({})) is None


# -- a plan ----------------------------------------------------------------------------------------


class Without(Clusters):
    """A cluster whose pods may not use some congestion controls."""

    def __init__(self, *forbidden: str | None) -> None:
        self.forbidden = forbidden

    def require(
        self, vpn: Vpn, spec: LabSpec, measurement: Measurement[Any], parameters: Any
    ) -> None:
        super().require(vpn, spec, measurement, parameters)
        if (wanted := congestion_of(parameters)) in self.forbidden:
            raise NotPossible(f"with {wanted}", "they may not", "use another")

    def under(self, vpn: Vpn, spec: LabSpec) -> Under:
        raise AssertionError("no trial is started")

    def close(self) -> None:
        """Nothing was made."""


def found(clusters: Clusters) -> tuple[Plan, dict[str, NotPossible]]:
    catalogue = installed_catalogue()
    of = Study.load("pods", catalogue)
    plan = Plan.of(of)
    return plan, clusters.refusals(of, plan, catalogue, KINDS, [(0,), (1,)])


def test_the_cells_of_a_study_that_are_not_possible_are_named_once() -> None:
    plan, refused = found(Without("cubic"))
    kinds = {cell.measurement for cell in plan.cells if cell.key in refused}
    assert kinds == {"tcp", "loaded_rtt"}
    assert len(refused) == 8
    (shortfall,) = summed(plan, refused)
    assert str(shortfall) == (
        "with cubic: they may not, so 8 cells (two-nodes, one-node, service, host-network) would "
        "be unsupported here: use another"
    )


def test_a_plan_without_a_possible_cell_ends_before_the_run() -> None:
    with pytest.raises(NotPossible, match="they may not"):
        found(Without("cubic", None))


@pytest.mark.usefixtures("fake_drivers")
def test_a_refused_cell_is_recorded_once_and_never_started(tmp_path: Path) -> None:
    of = study("fake/good", plan="blocks = 4")
    refused = {cell.key: NotPossible("it", "cannot", "leave it out") for cell in Plan.of(of).cells}
    with made(tmp_path, of) as journal:
        runner(of, journal, Recorder(), clusters=Without(), refused=refused).run()
        trials = journal.trials()
    assert (
        trials.select("block", "status", "reason", "remedy").rows()
        == [(1, "unsupported", "it: cannot", "leave it out")] * 2
    )


def test_pods_of_one_node_have_no_link_between_them() -> None:
    slow = replace(PLAIN.link, rate_bps=10**6, impairment=Impairment.both(OneWay(delay_ns=10**7)))
    spec = replace(PLAIN, link=slow)
    assert between_pods(spec).link == slow
    assert between_pods(replace(spec, pods=Placement.HOST_NETWORK)).link == slow
    assert between_pods(replace(spec, pods=Placement.ONE_NODE)).link == PLAIN.link
