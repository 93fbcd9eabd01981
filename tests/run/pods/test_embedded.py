"""The embedded cluster over WireGuard and over nothing: life, proof, trials between pods."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path

import pytest

from culvert.errors import LabError, NotPossible
from culvert.labs.kubernetes.embedded.programs.built import BUILD_IT, built
from culvert.labs.kubernetes.image import PROBE_IMAGE
from culvert.labs.kubernetes.pods import choice, lost, manifests
from culvert.labs.kubernetes.pods.choice import By, Wish
from culvert.labs.kubernetes.pods.lab import NO_WISHES, KubernetesLab, Wishes
from culvert.labs.kubernetes.pods.node import PodNode
from culvert.labs.kubernetes.pods.workspace import Options
from culvert.labs.namespace.places import run_directory
from culvert.labs.probes import static_probe
from culvert.machine import cgroup
from culvert.measurements.kubernetes.k8s_api import ApiInstrument, K8sApi, K8sApiParameters
from culvert.measurements.rtt.rtt import Rtt, RttParameters
from culvert.measurements.tcp.tcp import Tcp, TcpParameters
from culvert.proof.alive import still_carries
from culvert.proof.cluster.judge import Protection
from culvert.results import Status
from culvert.run.pods import check, prove
from culvert.run.pods.cluster import ReachedCluster
from culvert.run.pods.embedded import EmbeddedClusters, UnderEmbedded
from culvert.run.pods.possible import allowed_in
from culvert.run.pods.session import PodSession
from culvert.run.pods.stage import execute
from culvert.run.trials.finding import TrialFinding
from culvert.topology.spec import LabSpec, Placement
from culvert.trial.check import Check
from culvert.trial.outcome import Outcome
from culvert.trial.session import Session
from culvert.vpns import registry
from tests.here import HERE
from tests.labs.host import left_of
from tests.run.pods.leaks import KINDS, beside_the_vpn, copied_clear
from tests.run.pods.shells import pods_with_a_shell
from tests.trial.interruptions import hold

pytestmark = [pytest.mark.lab, pytest.mark.vpn, pytest.mark.slow, pytest.mark.timeout(600)]

OURS = (
    *("kernel/panic", "kernel/panic_on_oops", "vm/overcommit_memory", "vm/panic_on_oom"),
    *("net/ipv4/ip_forward", "net/netfilter/nf_conntrack_max", "kernel/keys/root_maxkeys"),
)
WIREGUARD, NOTHING = "wireguard/go", "none"
STEPS: list[str] = []
"""What the clusters were about to do."""


def settings() -> dict[str, str]:
    """The machine's own, which a cluster must not change."""
    paths = {name: Path("/proc/sys") / name for name in OURS}
    return {name: path.read_text() for name, path in paths.items() if path.exists()}


def groups_of(name: str) -> list[Path]:
    """The control groups of that name."""
    return [each.path / name for each in cgroup.hierarchies() if (each.path / name).is_dir()]


def mounts() -> set[str]:
    return {line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()}


@pytest.fixture(scope="module")
def clusters() -> Iterator[EmbeddedClusters]:
    """One cluster at a time; tests are in the order of the VPNs."""
    pytest.importorskip("kubernetes", reason="pip install 'culvert[kubernetes]'")
    if built() is None or os.geteuid() != 0:
        pytest.skip(f"the programs of the embedded cluster are not built: {BUILD_IT}")
    try:
        static_probe("the probe's image")
    except NotPossible as error:
        pytest.skip(str(error))
    if lacks := registry.create(registry.parse(WIREGUARD)).missing(HERE):
        pytest.skip(f"{lacks[0].what}: {lacks[0].remedy}")
    before = settings()
    made = EmbeddedClusters()
    made.say = STEPS.append
    with made:
        yield made
    assert settings() == before


def over(clusters: EmbeddedClusters, vpn: str) -> UnderEmbedded:
    under = clusters.under(registry.create(registry.parse(vpn)), LabSpec())
    assert isinstance(under, UnderEmbedded)
    return under


def executed(
    clusters: EmbeddedClusters,
    vpn: str,
    measurement: Tcp | Rtt | K8sApi,
    parameters: object,
    placement: Placement = Placement.TWO_NODES,
) -> TrialFinding:
    spec = replace(LabSpec(), pods=placement)
    driver = registry.create(registry.parse(vpn))
    return execute(driver, spec, measurement, parameters, clusters)  # type: ignore[arg-type]


def pods(under: UnderEmbedded) -> list[str]:
    core = under.workspace.api.core
    label = f"{manifests.MANAGED}={manifests.MANAGER}"
    found = core.list_pod_for_all_namespaces(label_selector=label).items
    return [each.metadata.name for each in found if not each.metadata.name.startswith("observer")]


# -- over WireGuard --------------------------------------------------------------------------------


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
    proved = {one.placement: one for one in check.check(clusters, WIREGUARD, check.PLACEMENTS)}
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
    (proved,) = check.check(clusters, WIREGUARD, [Placement.TWO_NODES])
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


@pytest.mark.parametrize("leaking", list(KINDS))
def test_a_leak_of_one_kind_of_traffic_is_found_and_named(
    clusters: EmbeddedClusters, leaking: Placement
) -> None:
    with beside_the_vpn(over(clusters, WIREGUARD), leaking):
        proved = {one.placement: one for one in check.check(clusters, WIREGUARD, list(KINDS))}
    verdict = proved[leaking].verdict
    assert verdict is not None, proved[leaking].reason
    assert verdict.wire is Protection.CLEAR
    assert f"{KINDS[leaking]}: clear" in proved[leaking].text
    assert "u0 of a" in proved[leaking].text
    expected = {leaking} | ({Placement.SERVICE} if leaking is Placement.TWO_NODES else set())
    assert {kind for kind, one in proved.items() if not one.ok} == expected


def test_a_clear_copy_over_a_second_link_without_addresses_is_found(
    clusters: EmbeddedClusters,
) -> None:
    under = over(clusters, WIREGUARD)
    with copied_clear(under):
        (proved,) = check.check(clusters, WIREGUARD, [Placement.TWO_NODES])
        found = reached_and_proved(under)
    assert not proved.ok
    assert "clear, readable in" in proved.text
    assert "on second of a" in proved.text
    assert found.status is Status.INVALID
    assert "second of a" in found.reason


def test_the_probe_is_copied_into_pods_of_the_users_and_removed(
    clusters: EmbeddedClusters, monkeypatch: pytest.MonkeyPatch
) -> None:
    under = over(clusters, WIREGUARD)
    with pods_with_a_shell(under) as theirs:
        near, far = (Wish(By.POD, f"{one.where.namespace}/{one.where.pod}") for one in theirs)
        monkeypatch.setattr(under, "wishes", Wishes(near, far))
        kinds = [Placement.TWO_NODES, Placement.HOST_NETWORK, Placement.SERVICE, Placement.ONE_NODE]
        proved, host, service, one_node = check.check(clusters, WIREGUARD, kinds)
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


class Restarted(Rtt):
    """Between two measurements Calico's agent is killed, and until it is back packets of pods to
    node b leave a beside the VPN."""

    def __init__(self, under: UnderEmbedded) -> None:
        assert under.over.cluster is not None
        self.under, self.cluster = under, under.over.cluster
        self.ended = False

    def run(self, session: Session, parameters: RttParameters) -> Outcome:
        super().run(session, parameters)
        self.cluster.nodes["a"].run(["/bin/sh", "-c", KILL_AGENT])
        with beside_the_vpn(self.under, Placement.TWO_NODES):
            outcome = super().run(session, parameters)
        if self.ended:
            raise LabError("the measurement", "has ended early", "none")
        return outcome


KILL_AGENT = """
for process in /proc/[0-9]*; do
  [ "$(cat $process/comm)" = calico-node ] && kill -9 ${process#/proc/} && killed=yes
done
[ "$killed" = yes ]
"""


@pytest.mark.parametrize("ended", [False, True])
def test_a_leak_while_the_agent_restarts_makes_the_trial_invalid(
    clusters: EmbeddedClusters, ended: bool
) -> None:
    """Whether the measurement then has a figure or not."""
    measurement = Restarted(over(clusters, WIREGUARD))
    measurement.ended = ended
    parameters = RttParameters.model_validate({"probes": 500, "rate": "1000/s"})
    found = executed(clusters, WIREGUARD, measurement, parameters)
    assert found.status is Status.INVALID, found.reason
    assert "nothing clear during the measurement (pod to pod): readable in" in found.reason
    assert "u0 of a" in found.reason
    assert not found.evidence.proved


class TenLeaked(Rtt):
    """Ten of its packets leave a beside the VPN."""

    def __init__(self, under: UnderEmbedded) -> None:
        self.under = under

    def run(self, session: Session, parameters: RttParameters) -> Outcome:
        outcome = super().run(session, parameters)
        with beside_the_vpn(self.under, Placement.TWO_NODES):
            super().run(session, parameters.model_copy(update={"probes": 10}))
        return outcome


def test_ten_packets_that_leak_make_the_trial_invalid(clusters: EmbeddedClusters) -> None:
    measurement = TenLeaked(over(clusters, WIREGUARD))
    parameters = RttParameters.model_validate({"probes": 500, "rate": "1000/s"})
    found = executed(clusters, WIREGUARD, measurement, parameters)
    assert found.status is Status.INVALID, found.reason
    assert "nothing clear during the measurement (pod to pod): readable in 1" in found.reason


def test_a_leak_that_begins_at_the_end_makes_the_trial_invalid(
    clusters: EmbeddedClusters, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From then on, when nobody watches the VPN any more, packets of pods to node b leave a beside
    it."""
    parameters = RttParameters.model_validate({"probes": 100, "rate": "1000/s"})
    with ExitStack() as stack:

        def leaking(session: PodSession) -> Check:
            check = still_carries(session)
            stack.enter_context(beside_the_vpn(over(clusters, WIREGUARD), Placement.TWO_NODES))
            return check

        monkeypatch.setattr("culvert.run.pods.stage.still_carries", leaking)
        found = executed(clusters, WIREGUARD, Rtt(), parameters)
    assert found.status is Status.INVALID, found.reason
    assert "encrypted between the nodes (pod to pod, after the measurement)" in found.reason


def reached_and_proved(under: UnderEmbedded) -> TrialFinding:
    """A trial on it as on a cluster of the user's: nothing is known of its nodes."""
    driver = registry.create(registry.parse(NOTHING))
    parameters = RttParameters.model_validate({"probes": 100, "rate": "500/s"})
    with ReachedCluster(
        under.workspace.api, Options(PROBE_IMAGE), NO_WISHES, prove=True
    ) as reached:
        return execute(driver, LabSpec(), Rtt(), parameters, reached)


def test_a_cluster_that_is_reached_is_proved_over_wireguard(clusters: EmbeddedClusters) -> None:
    found = reached_and_proved(over(clusters, WIREGUARD))
    assert (found.status, found.reason) == (Status.OK, "")
    assert found.evidence.proved
    (proof, _) = [one for one in found.evidence.checks if one.name.startswith("encrypted")]
    assert proof.detail.endswith("; captured on u0 of a, u0 of b")


def test_a_pod_that_goes_away_is_named_and_none_is_left(clusters: EmbeddedClusters) -> None:
    core = over(clusters, WIREGUARD).workspace.api.core

    class Deleted(Rtt):
        def run(self, session: Session, parameters: RttParameters) -> Outcome:
            assert isinstance(session.target, PodNode)
            where = session.target.where
            core.delete_namespaced_pod(where.pod, where.namespace, grace_period_seconds=0)
            return super().run(session, parameters)

    parameters = RttParameters.model_validate({"probes": 2000, "rate": "1000/s"})
    found = executed(clusters, WIREGUARD, Deleted(), parameters)
    assert found.status is Status.FAILED
    assert "-b" in found.reason
    assert found.remedy
    assert pods(over(clusters, WIREGUARD)) == []


@pytest.mark.parametrize("what", ["was stopped (SIGSTOP)", "had other settings (queue length 1"])
@pytest.mark.parametrize("node", ["a", "b"])
def test_a_vpn_below_it_that_is_interrupted_in_a_trial_gives_no_figure(
    clusters: EmbeddedClusters, node: str, what: str
) -> None:
    below = over(clusters, WIREGUARD).over
    assert below is not None
    process, device = below.vpn.processes[node][0], below.vpn.interface(below.lab.nodes[node])

    def interrupt() -> None:
        if "stopped" in what:
            os.kill(process.pid, signal.SIGSTOP)
            hold(0.2)
            os.kill(process.pid, signal.SIGCONT)
        else:
            run = below.lab.nodes[node].run
            # Its queue: a device that is down loses the routes of the cluster.
            run(["ip", "link", "set", device, "txqueuelen", "1"])
            hold(0.2)
            run(["ip", "link", "set", device, "txqueuelen", "500"])

    class Interrupted(Tcp):
        def run(self, session: Session, parameters: TcpParameters) -> Outcome:
            timer = threading.Timer(0.5, interrupt)
            timer.start()
            try:
                return super().run(session, parameters)
            finally:
                timer.join()

    parameters = TcpParameters.model_validate({"duration": "1500ms", "warmup": "200ms"})
    found = executed(clusters, WIREGUARD, Interrupted(), parameters)
    assert found.status is Status.INVALID, found.reason
    assert f"on node {node} {what}" in found.reason


def test_a_vpn_that_ends_in_a_trial_is_named(clusters: EmbeddedClusters) -> None:
    """The last one over WireGuard: the cluster is replaced."""
    under = over(clusters, WIREGUARD)
    vpn = under.over.vpn

    class Ended(Rtt):
        def run(self, session: Session, parameters: RttParameters) -> Outcome:
            vpn.processes["a"][0].stop(grace_s=0)
            return super().run(session, parameters)

    parameters = RttParameters.model_validate({"probes": 500, "rate": "1000/s"})
    found = executed(clusters, WIREGUARD, Ended(), parameters)
    assert found.status is Status.FAILED
    assert vpn.id in found.reason
    assert "on node a" in found.reason


# -- over nothing ----------------------------------------------------------------------------------


def test_a_cluster_without_encryption_is_caught(clusters: EmbeddedClusters) -> None:
    (proved,) = check.check(clusters, NOTHING, [Placement.TWO_NODES])
    assert proved.verdict is not None, proved.reason
    assert (proved.verdict.wire, proved.verdict.encapsulation) == (Protection.CLEAR, "VXLAN")
    assert not proved.ok


def test_a_cluster_that_is_reached_without_encryption_is_invalid(
    clusters: EmbeddedClusters,
) -> None:
    found = reached_and_proved(over(clusters, NOTHING))
    assert found.status is Status.INVALID, found.reason
    assert "encrypted between the nodes (pod to pod): pod to pod: clear" in found.reason
    assert not found.evidence.proved


def test_the_baseline_is_clear_and_counts(clusters: EmbeddedClusters) -> None:
    parameters = RttParameters.model_validate({"probes": 100, "rate": "500/s"})
    found = executed(clusters, NOTHING, Rtt(), parameters)
    assert (found.status, found.reason) == (Status.OK, "")


def test_an_image_that_cannot_be_pulled_leaves_no_pod(clusters: EmbeddedClusters) -> None:
    api = over(clusters, NOTHING).workspace.api
    options = Options(image="registry.invalid/probe:1")
    with ReachedCluster(api, options, NO_WISHES, prove=False) as reached:
        driver = registry.create(registry.parse(NOTHING))
        parameters = RttParameters.model_validate({"probes": 10, "rate": "1000/s"})
        found = execute(driver, LabSpec(), Rtt(), parameters, reached)
        assert found.status is Status.FAILED
        assert "ErrImagePull" in found.reason or "ImagePullBackOff" in found.reason
        assert "registry.invalid/probe:1" in found.reason
        assert "culvert kubernetes image" in found.remedy
        assert pods(over(clusters, NOTHING)) == []
    assert [each.run_id for each in lost.runs_in(api)] == [over(clusters, NOTHING).workspace.run_id]


def test_without_the_proof_a_trial_counts_and_is_not_proved(clusters: EmbeddedClusters) -> None:
    under = over(clusters, NOTHING)
    with ReachedCluster(
        under.workspace.api, Options(PROBE_IMAGE), NO_WISHES, prove=False
    ) as reached:
        driver = registry.create(registry.parse(NOTHING))
        parameters = RttParameters.model_validate({"probes": 100, "rate": "500/s"})
        found = execute(driver, LabSpec(), Rtt(), parameters, reached)
    assert (found.status, found.reason) == (Status.OK, "")
    assert found.evidence.checks
    assert not found.evidence.proved
    assert ["--prove" in each.reason for each in found.evidence.withheld] == [True]


def test_what_its_pods_may_not_use_is_known_before_a_trial(clusters: EmbeddedClusters) -> None:
    """Of a cluster that is reached pods have no rights; of the embedded one they have."""
    under = over(clusters, NOTHING)
    driver, parameters = registry.create(registry.parse(NOTHING)), TcpParameters.model_validate({})
    with ReachedCluster(
        under.workspace.api, Options(PROBE_IMAGE), NO_WISHES, prove=False
    ) as reached:
        place = reached.under(driver, LabSpec()).workspace
        with KubernetesLab(place, LabSpec()) as lab:
            allowed = allowed_in((lab.a, lab.b))
            assert allowed == allowed_in((lab.a,))
        assert allowed is not None
        wanted = next((one for one in ("cubic", "vegas", "dctcp") if one not in allowed), "none")
        unusual = parameters.model_copy(update={"congestion_control": wanted})
        with pytest.raises(NotPossible, match=f"tcp with {wanted}: pods of this cluster may use"):
            reached.require(driver, LabSpec(), Tcp(), unusual)
        found = execute(driver, LabSpec(), Tcp(), unusual, reached)
        assert found.status is Status.UNSUPPORTED
        usual = parameters.model_copy(update={"congestion_control": min(allowed)})
        reached.require(driver, LabSpec(), Tcp(), usual)
        assert len(pods(under)) == 0
    clusters.require(driver, LabSpec(), Tcp(), parameters)
    unknown = parameters.model_copy(update={"congestion_control": "nobody"})
    with pytest.raises(NotPossible, match="tcp with nobody: this kernel: No such file"):
        clusters.require(driver, LabSpec(), Tcp(), unknown)


def test_a_node_that_goes_away_in_a_trial_is_named_and_nothing_is_left(
    clusters: EmbeddedClusters,
) -> None:
    under = over(clusters, NOTHING)
    cluster, run_id = under.over.cluster, under.over.lab.run_id
    assert cluster is not None
    names = [node.group for node in cluster.nodes.values()]
    assert all(groups_of(name) for name in names)
    first_process = cluster.nodes["b"].pid

    class Gone(Rtt):
        def run(self, session: Session, parameters: RttParameters) -> Outcome:
            os.kill(first_process, signal.SIGKILL)  # all others of the node end too
            return super().run(session, parameters)

    parameters = RttParameters.model_validate({"probes": 500, "rate": "1000/s"})
    found = executed(clusters, NOTHING, Gone(), parameters)
    assert found.status is Status.FAILED
    assert "on node b" in found.reason
    assert found.remedy
    assert pods(under) == []
    clusters.close()
    assert not any(groups_of(name) for name in names)
    assert not run_directory(run_id).exists()
    assert not [path for path in mounts() if run_id in path]
    assert left_of(run_id) == []
