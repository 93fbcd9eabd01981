"""The cluster without a VPN below it, and what is known of one that is reached."""

from __future__ import annotations

import pytest

from culvert.errors import NotPossible
from culvert.labs.kubernetes.image import PROBE_IMAGE
from culvert.labs.kubernetes.pods import lost
from culvert.labs.kubernetes.pods.lab import NO_WISHES, KubernetesLab
from culvert.labs.kubernetes.pods.workspace import Options
from culvert.measurements.rtt.rtt import Rtt, RttParameters
from culvert.measurements.tcp.tcp import Tcp, TcpParameters
from culvert.proof.cluster.judge import Protection
from culvert.results import Status
from culvert.run.pods import check
from culvert.run.pods.cluster import ReachedCluster
from culvert.run.pods.embedded import EmbeddedClusters
from culvert.run.pods.possible import allowed_in
from culvert.run.pods.stage import execute
from culvert.topology.spec import LabSpec, Placement
from culvert.vpns import registry
from tests.run.pods.embedded.running import (
    MARKS,
    NOTHING,
    executed,
    over,
    pods,
    reached_and_proved,
)

pytestmark = MARKS


def test_a_cluster_without_encryption_is_caught(clusters: EmbeddedClusters) -> None:
    (proved,) = check.summary(clusters, NOTHING, [Placement.TWO_NODES]).proved
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
