"""Its life over WireGuard, what is proved of it, and trials between its pods."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network

import pytest

from culvert.labs.kubernetes.pods import choice
from culvert.labs.kubernetes.pods.choice import By, Wish
from culvert.labs.kubernetes.pods.lab import Wishes
from culvert.measurements.kubernetes.k8s_api import ApiInstrument, K8sApi, K8sApiParameters
from culvert.measurements.tcp.tcp import Tcp, TcpParameters
from culvert.proof.cluster.judge import Protection
from culvert.results import Status
from culvert.run.pods import check, prove
from culvert.run.pods.embedded import EmbeddedClusters
from culvert.topology.spec import Placement
from tests.run.pods.embedded.running import (
    MARKS,
    STEPS,
    WIREGUARD,
    executed,
    over,
    pods,
    reached_and_proved,
)
from tests.run.pods.shells import pods_with_a_shell

pytestmark = MARKS


def test_two_workers_are_ready_over_the_vpn(clusters: EmbeddedClusters) -> None:
    under = over(clusters, WIREGUARD)
    nodes = choice.nodes_of(under.workspace.api)
    assert [(node.name, node.usable) for node in nodes] == [("a", True), ("b", True)]
    inside = {IPv4Address(node.address) for node in nodes}
    assert all(address in IPv4Network("198.19.0.0/16") for address in inside)


def test_each_step_of_its_start_is_said_before(clusters: EmbeddedClusters) -> None:
    over(clusters, WIREGUARD)
    assert [step.partition("cluster over wireguard/go: ")[2] for step in STEPS[:6]] == [
        "starting its nodes and links",
        "bringing the VPN up",
        "starting etcd and the API server",
        "starting containerd and loading images",
        "starting kubelet and Calico",
        "waiting until all nodes accept pods",
    ]
    assert "ready after" in STEPS[6]


def test_everything_is_encrypted_over_wireguard(clusters: EmbeddedClusters) -> None:
    proved = {
        one.placement: one for one in check.summary(clusters, WIREGUARD, check.PLACEMENTS).proved
    }
    for placement in (Placement.TWO_NODES, Placement.SERVICE, Placement.HOST_NETWORK):
        verdict = proved[placement].verdict
        assert verdict is not None, proved[placement].reason
        assert (verdict.wire, verdict.encapsulation) == (Protection.ENCRYPTED, "WireGuard")
        assert proved[placement].ok, proved[placement].text
    one = proved[Placement.ONE_NODE].verdict
    assert one is not None
    assert one.wire is Protection.NOT_LEAVING


def test_packets_are_recognised_at_both_ends_where_addresses_are_not_the_nodes_own(
    clusters: EmbeddedClusters, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As behind a NAT: nothing passes between the addresses that are known of the nodes."""
    elsewhere = (IPv4Address("192.0.2.1"),)
    monkeypatch.setattr(prove, "watch_of", lambda _, seen_by: prove.Watch(seen_by, elsewhere))
    (proved,) = check.summary(clusters, WIREGUARD, [Placement.TWO_NODES]).proved
    assert proved.ok, proved.text
    assert proved.verdict is not None
    assert (proved.verdict.wire, proved.verdict.encapsulation) == (
        Protection.ENCRYPTED,
        "WireGuard",
    )


@pytest.mark.parametrize("placement", [Placement.TWO_NODES, Placement.SERVICE])
def test_a_trial_between_pods(clusters: EmbeddedClusters, placement: Placement) -> None:
    parameters = TcpParameters.model_validate({"duration": "500ms", "warmup": "200ms"})
    found = executed(clusters, WIREGUARD, Tcp(), parameters, placement)
    assert (found.status, found.reason) == (Status.OK, "")
    metrics = {metric.name: metric.value for metric in found.outcome.metrics}
    assert metrics["goodput_bps"] > 1e6
    assert 0 < metrics["pod_running_s"] < metrics["pod_first_packet_s"]
    assert found.evidence.proved
    assert pods(over(clusters, WIREGUARD)) == []


@pytest.mark.parametrize("instrument", list(ApiInstrument))
def test_every_request_to_the_api_is_kept(
    clusters: EmbeddedClusters, instrument: ApiInstrument
) -> None:
    given = {"requests": 20, "rate": "20/s", "instrument": instrument}
    parameters = K8sApiParameters.model_validate(given)
    found = executed(clusters, WIREGUARD, K8sApi(), parameters)
    assert (found.status, found.reason) == (Status.OK, "")
    series = {one.name: one for one in found.outcome.series}
    assert len(series["response_ms"].values) == 20
    assert all(value > 0 for value in series["response_ms"].values)
    assert list(series["response_status"].values) == [200] * 20
    late = series.get("sent_late_ms")
    assert (late is not None) == (instrument is ApiInstrument.PROBE)
    assert late is None or len(late.values) == 20


def test_pods_are_listed_with_the_pods_own_token(clusters: EmbeddedClusters) -> None:
    given = {"requests": 10, "rate": "20/s", "path": "/api/v1/pods", "token": True}
    found = executed(clusters, WIREGUARD, K8sApi(), K8sApiParameters.model_validate(given))
    assert (found.status, found.reason) == (Status.OK, "")
    (statuses,) = [one for one in found.outcome.series if one.name == "response_status"]
    assert list(statuses.values) == [200] * 10
    refused = executed(
        clusters, WIREGUARD, K8sApi(), K8sApiParameters.model_validate({**given, "token": False})
    )
    assert refused.status is Status.INVALID
    assert "refused: 10 times 403" in refused.reason
    assert "service account" in refused.remedy


def test_the_probe_is_copied_into_pods_of_the_users_and_removed(
    clusters: EmbeddedClusters, monkeypatch: pytest.MonkeyPatch
) -> None:
    under = over(clusters, WIREGUARD)
    with pods_with_a_shell(under) as theirs:
        near, far = (Wish(By.POD, f"{one.where.namespace}/{one.where.pod}") for one in theirs)
        monkeypatch.setattr(under, "wishes", Wishes(near, far))
        kinds = [Placement.TWO_NODES, Placement.HOST_NETWORK, Placement.SERVICE, Placement.ONE_NODE]
        proved, host, service, one_node = check.summary(clusters, WIREGUARD, kinds).proved
        assert proved.ok, proved.text
        assert proved.verdict is not None
        assert proved.verdict.wire is Protection.ENCRYPTED
        assert "host-network with pod default/near: the pod has a network of its own" in host.reason
        assert str(Placement.TWO_NODES) in host.remedy
        assert "service to pod default/far: the run's service passes packets on" in service.reason
        assert "no node is both" in one_node.reason
        for one in theirs:
            assert one.run(["ls", "/tmp"]).stdout == ""
    assert pods(under) == []


def test_a_cluster_that_is_reached_is_proved_over_wireguard(clusters: EmbeddedClusters) -> None:
    found = reached_and_proved(over(clusters, WIREGUARD))
    assert (found.status, found.reason) == (Status.OK, "")
    assert found.evidence.proved
    (proof, _) = [one for one in found.evidence.checks if one.name.startswith("encrypted")]
    assert proof.detail.endswith("; captured on u0 of a, u0 of b")
